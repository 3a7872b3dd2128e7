//! A few threads that share the pieces of one job at a time.
//!
//! A training step is a dozen jobs of about ten microseconds, so what counts is how soon a waiting thread begins.
//! These threads spin for a while before they sleep, and the thread that brings a job works on it too and never waits
//! for a thread that has not begun. A general-purpose pool puts the calling thread to sleep and wakes another one by a
//! system call, which takes longer than most jobs here.
#![allow(unsafe_code)]

use super::place::{NOWHERE, core_here, leave};
use crate::error::{Error, ForThe, Result, check_memory, try_with_capacity};
use crate::fork;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often a thread checks for the next job before it yields: 50 to 100 microseconds.
const LOOKS: usize = 4000;

/// How often it yields and checks again before it sleeps: about a millisecond. Waking it takes at least a tenth of
/// that, and some systems wake a thread on the core of the thread that wakes it, where it waits for milliseconds.
const PAUSES: usize = 2000;

/// In [`Shared::gate`]: there is a job to enter. The bits below count the threads inside.
const OPEN: usize = 1 << (usize::BITS - 1);

/// The threads besides the caller's own; joined on drop.
pub struct Pool {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
    /// The process that started the threads: after a fork they exist only in the parent.
    process: u32,
}

/// A job as the threads see it: a function of the number of a piece. It lives on the stack of the thread that brought
/// the job, which waits until the others are done with it.
#[derive(Clone, Copy)]
struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    pieces: usize,
}

/// Alone on its cache line.
#[repr(align(64))]
struct Next(AtomicUsize);

type Side = &'static (dyn Fn() + Sync);

const NOTHING: usize = 0;
const OFFERED: usize = 1;
const TAKEN: usize = 2;
const DONE: usize = 3;

struct Shared {
    /// Number of jobs and side jobs so far.
    jobs: AtomicUsize,
    /// The core of the thread that brought the last one.
    core: AtomicUsize,
    gate: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
    /// The next piece of each thread's share; the share of the bringer comes first.
    next: Vec<Next>,
    /// What one thread does beside the jobs, and its state: [`NOTHING`], [`OFFERED`], [`TAKEN`] or [`DONE`].
    side: UnsafeCell<Option<Side>>,
    side_state: AtomicUsize,
    /// Held by the thread that offers it.
    offerer: Mutex<()>,
    panicked: AtomicBool,
    /// A thread other than the bringer has done something since [`Pool::helped`] was last called.
    helped: AtomicBool,
    stop: AtomicBool,
    /// Held by the thread that brought the current job.
    bringer: Mutex<()>,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    alarm: Condvar,
}

// SAFETY: `job` is written only by the holder of `bringer` while the gate is closed and no thread is inside, and read
// only by threads that entered through the open gate. `side` is written only by the holder of `offerer` in state
// NOTHING, and read only by the thread that changed OFFERED to TAKEN.
unsafe impl Sync for Shared {}
// SAFETY: as above; the pointers are used only while the functions behind them are borrowed by `Pool::run`, `Pool::beside`.
unsafe impl Send for Shared {}

impl Pool {
    /// Starts `count` threads.
    pub fn start(count: usize) -> Result<Pool> {
        let mut next = try_with_capacity(count + 1).for_the("threads")?;
        next.extend((0..=count).map(|_| Next(AtomicUsize::new(0))));
        let shared = Arc::new(Shared {
            jobs: AtomicUsize::new(0),
            core: AtomicUsize::new(NOWHERE),
            gate: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            next,
            side: UnsafeCell::new(None),
            side_state: AtomicUsize::new(NOTHING),
            offerer: Mutex::new(()),
            panicked: AtomicBool::new(false),
            helped: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bringer: Mutex::new(()),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            alarm: Condvar::new(),
        });
        let mut pool = Pool { shared, handles: Vec::new(), process: fork::process() };
        for i in 1..=count {
            // The C library ends the process if it has no memory for its records of a thread. Make sure that there is
            // some.
            drop(try_with_capacity::<u8>(1 << 16).for_the("threads")?);
            check_memory().for_the("threads")?;
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new().name(format!("plimsoll-{i}")).spawn(move || shared.serve(i));
            let failed = |e| Error::OutOfMemory(format!("cannot start {count} threads: {e}").into());
            pool.handles.push(thread.map_err(failed)?);
        }
        Ok(pool)
    }

    /// Whether the threads still exist: not in a child after `fork`.
    pub fn alive(&self) -> bool {
        self.process == fork::process()
    }

    /// Whether any of the threads has done something since the last call of this function.
    pub fn helped(&self) -> bool {
        self.shared.helped.swap(false, Ordering::Relaxed)
    }

    /// Calls `work(i)` once for each `i` in `0 .. pieces`, on the caller's thread and the others; on the caller's
    /// alone while another job runs. Each thread begins with its own share of consecutive pieces, which is the same in
    /// every job of as many pieces, so that it finds in its cache what it left there. A thread that is done helps the
    /// others.
    pub fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let Ok(_bringer) = self.shared.bringer.try_lock() else {
            (0..pieces).for_each(work);
            return;
        };
        let shared = &*self.shared;
        // SAFETY: the two types differ in a lifetime only, and it is kept: `Visit` waits for the threads before `work`
        // ends.
        let work = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) };
        let job = Job { work, pieces };
        // SAFETY: this thread holds `bringer`, the gate is closed and no thread is inside.
        unsafe { *shared.job.get() = Some(job) };
        for (i, next) in shared.next.iter().enumerate() {
            next.0.store(shared.first_of_share(i, pieces), Ordering::Relaxed);
        }
        shared.gate.fetch_or(OPEN, Ordering::Release);
        let visit = Visit(shared);
        shared.call();
        shared.take_pieces(job, 0);
        drop(visit);
        if shared.panicked.swap(false, Ordering::Relaxed) {
            panic!("a piece of a job panicked on another thread");
        }
    }

    /// Runs `main` on the caller's thread, and `side` on another thread that comes before `main` is done and then
    /// joins in its jobs. If none comes, runs `side` afterwards on the caller's thread.
    pub fn beside<R>(&self, side: &(dyn Fn() + Sync), main: impl FnOnce() -> R) -> R {
        let shared = &*self.shared;
        let Ok(_offerer) = shared.offerer.try_lock() else {
            let result = main();
            side();
            return result;
        };
        // SAFETY: the two types differ in a lifetime only, and it is kept: `Offer` ensures that no thread runs `side`,
        // now or later, before it ends.
        let lasting = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), Side>(side) };
        // SAFETY: this thread holds `offerer`, and nothing is on offer.
        unsafe { *shared.side.get() = Some(lasting) };
        shared.side_state.store(OFFERED, Ordering::Release);
        let offer = Offer(shared);
        shared.call();
        let result = main();
        let nobody_came = offer.take_back();
        drop(offer);
        if nobody_came {
            side();
        }
        if shared.panicked.swap(false, Ordering::Relaxed) {
            panic!("what was done beside a job panicked on another thread");
        }
        result
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.alive() {
            // A child after fork: the threads do not exist here and cannot be joined.
            std::mem::take(&mut self.handles).into_iter().for_each(std::mem::forget);
            return;
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.call();
        for handle in self.handles.drain(..) {
            let _ = handle.join();
        }
    }
}

/// Closes the gate and waits for the threads inside, also when a piece panics.
struct Visit<'a>(&'a Shared);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.gate.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0;
        while self.0.gate.load(Ordering::Acquire) != 0 {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

/// Takes back a side job that no thread has begun, or waits for its end; also on a panic.
struct Offer<'a>(&'a Shared);

impl Offer<'_> {
    /// Takes the side job back. Returns whether no thread had begun it.
    fn take_back(&self) -> bool {
        self.0.side_state.compare_exchange(OFFERED, NOTHING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        if self.0.side_state.load(Ordering::Acquire) == NOTHING || self.take_back() {
            return;
        }
        let mut looks = 0;
        while self.0.side_state.load(Ordering::Acquire) != DONE {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.0.side_state.store(NOTHING, Ordering::Release);
        if std::thread::panicking() {
            // One of two panics is enough.
            self.0.panicked.store(false, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// Wakes the threads because there is something to do.
    fn call(&self) {
        self.core.store(core_here(), Ordering::Relaxed);
        self.jobs.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.alarm.notify_all();
        }
    }

    /// Runs the side job on offer, if no other thread does.
    fn take_side(&self) {
        let taken = self.side_state.compare_exchange(OFFERED, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            return;
        }
        // SAFETY: this thread changed the state to TAKEN, so the function stays until the state is DONE.
        if let Some(side) = unsafe { *self.side.get() }
            && catch_unwind(AssertUnwindSafe(side)).is_err()
        {
            self.panicked.store(true, Ordering::Relaxed);
        }
        self.helped.store(true, Ordering::Relaxed);
        self.side_state.store(DONE, Ordering::Release);
    }

    /// The main loop of thread `me`.
    fn serve(&self, me: usize) {
        let mut seen = 0;
        loop {
            self.wait(seen);
            seen = self.jobs.load(Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.take_side();
            if self.gate.fetch_add(1, Ordering::AcqRel) & OPEN != 0 {
                // SAFETY: the gate was open when this thread entered, so the job stays until it leaves.
                if let Some(job) = unsafe { *self.job.get() } {
                    match catch_unwind(AssertUnwindSafe(|| self.take_pieces(job, me))) {
                        Ok(0) => {}
                        Ok(_) => self.helped.store(true, Ordering::Relaxed),
                        Err(_) => self.panicked.store(true, Ordering::Relaxed),
                    }
                }
            }
            self.gate.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits until there have been more than `seen` jobs.
    fn wait(&self, seen: usize) {
        for look in 0..LOOKS + PAUSES {
            if self.jobs.load(Ordering::Relaxed) != seen {
                return;
            }
            match look {
                ..LOOKS => std::hint::spin_loop(),
                LOOKS => self.leave_the_bringer(),
                _ => std::thread::yield_now(),
            }
        }
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.jobs.load(Ordering::SeqCst) == seen {
            bed = self.alarm.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        drop(bed);
        self.leave_the_bringer();
    }

    /// Moves to another core than the one that jobs come from, where this thread and the bringer would wait for each
    /// other.
    fn leave_the_bringer(&self) {
        let core = self.core.load(Ordering::Relaxed);
        if core == core_here() {
            leave(core, self.next.len());
        }
    }

    /// The first piece of a thread's share; for the number after the last thread, the end of all pieces.
    fn first_of_share(&self, thread: usize, pieces: usize) -> usize {
        thread * pieces / self.next.len()
    }

    /// Processes pieces until there are none, those of its own share first; returns the number it has processed.
    fn take_pieces(&self, job: Job, me: usize) -> usize {
        let (shares, mut done) = ((me..self.next.len()).chain(0..me), 0);
        for share in shares {
            let end = self.first_of_share(share + 1, job.pieces);
            let next = &self.next[share].0;
            // Loaded before it is changed, so that threads that come too late do not take the line from each other's
            // caches.
            while next.load(Ordering::Relaxed) < end {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= end {
                    break;
                }
                (job.work)(piece);
                done += 1;
            }
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_worked_once() {
        for count in [1, 3] {
            let pool = Pool::start(count).unwrap();
            for pieces in (0..40).chain([if cfg!(miri) { 100 } else { 1000 }]) {
                let done: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                pool.run(pieces, &|i| {
                    done[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn threads_that_sleep_are_woken() {
        let pool = Pool::start(1).unwrap();
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            // Two pieces that wait for each other: one thread alone would never end.
            let met = std::sync::Barrier::new(2);
            pool.run(2, &|_| {
                met.wait();
            });
        }
    }

    #[test]
    fn many_bring_jobs_at_once() {
        let pool = Pool::start(2).unwrap();
        let jobs = if cfg!(miri) { 5 } else { 500 };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..jobs {
                        let sum = AtomicUsize::new(0);
                        pool.run(17, &|i| {
                            sum.fetch_add(i, Ordering::Relaxed);
                        });
                        assert_eq!(sum.load(Ordering::Relaxed), 16 * 17 / 2);
                    }
                });
            }
        });
    }

    #[test]
    fn what_is_offered_beside_jobs_is_done_once_whoever_does_it() {
        let pool = Pool::start(1).unwrap();
        for round in 0..if cfg!(miri) { 20 } else { 2000 } {
            let (beside, pieces) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let side = || {
                beside.fetch_add(1, Ordering::Relaxed);
            };
            let answer = pool.beside(&side, || {
                for _ in 0..round % 4 {
                    pool.run(5, &|_| {
                        pieces.fetch_add(1, Ordering::Relaxed);
                    });
                }
                round
            });
            assert_eq!((answer, beside.into_inner(), pieces.into_inner()), (round, 1, 5 * (round % 4)));
        }
    }

    #[test]
    fn what_is_offered_runs_at_the_same_time() {
        let pool = Pool::start(1).unwrap();
        // Each waits for the other: one after the other they would never end.
        let met = std::sync::Barrier::new(2);
        let meet = || {
            met.wait();
        };
        pool.beside(&meet, meet);
    }

    #[test]
    fn a_panic_on_either_side_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::start(1).unwrap();
        for pause in [0, 3] {
            let side = || panic!("as it should");
            let main = || std::thread::sleep(std::time::Duration::from_millis(pause));
            assert!(catch_unwind(AssertUnwindSafe(|| pool.beside(&side, main))).is_err());
            let done = AtomicUsize::new(0);
            let side = || {
                std::thread::sleep(std::time::Duration::from_millis(2));
                done.fetch_add(1, Ordering::Relaxed);
            };
            let main = || {
                std::thread::sleep(std::time::Duration::from_millis(pause));
                panic!("as it should")
            };
            assert!(catch_unwind(AssertUnwindSafe(|| pool.beside(&side, main))).is_err());
            assert!(done.load(Ordering::Relaxed) <= 1);
        }
        assert_eq!(pool.beside(&|| {}, || 7), 7);
    }

    #[test]
    fn a_panic_reaches_the_bringer_and_the_pool_goes_on() {
        let pool = Pool::start(1).unwrap();
        for culprit in 0..8 {
            let run = || {
                pool.run(8, &|i| {
                    std::thread::sleep(std::time::Duration::from_micros(100));
                    assert!(i != culprit, "piece {culprit} fails as it should");
                })
            };
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        }
        let sum = AtomicUsize::new(0);
        pool.run(3, &|i| {
            sum.fetch_add(i, Ordering::Relaxed);
        });
        assert_eq!(sum.load(Ordering::Relaxed), 3);
    }
}
