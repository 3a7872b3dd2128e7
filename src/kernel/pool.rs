//! A few threads that take turns at the pieces of one job at a time.
//!
//! A step of training is a dozen jobs of some ten microseconds, so what counts is how soon a waiting thread begins. These
//! look for the next job for a while before they sleep, and whoever brings one works at it too and never waits for a
//! thread that has not begun. A general pool puts the bringer to sleep and wakes a thread by a system call, which takes
//! longer than most jobs here.
#![allow(unsafe_code)]

use super::place::{NOWHERE, core_here, leave};
use crate::error::{Error, ForThe, Result, check_memory, try_with_capacity};
use crate::fork;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often a thread looks for the next job before it lets others have the core: some 50 to 100 microseconds.
const LOOKS: usize = 4000;

/// How often it does that, and looks again, before it sleeps: about a millisecond. To be woken takes a tenth of that at best, and
/// some systems wake a thread on the core of whoever wakes it, where it waits for milliseconds.
const PAUSES: usize = 2000;

/// In [`Shared::gate`]: there is a job to enter. The bits below count the threads inside.
const OPEN: usize = 1 << (usize::BITS - 1);

/// Threads besides the caller's own, joined when this is dropped.
pub struct Pool {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
    /// The process that started the threads: after a fork they exist only in the parent.
    process: u32,
}

/// A job as the threads see it: a function of the piece's number, on the stack of whoever brought it, who waits until
/// they are done with it.
#[derive(Clone, Copy)]
struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    pieces: usize,
}

/// On a line of the cache of its own.
#[repr(align(64))]
struct Next(AtomicUsize);

type Side = &'static (dyn Fn() + Sync);

const NOTHING: usize = 0;
const OFFERED: usize = 1;
const TAKEN: usize = 2;
const DONE: usize = 3;

struct Shared {
    /// Jobs so far, and what was offered beside them.
    jobs: AtomicUsize,
    /// The core of whoever has brought the last one.
    core: AtomicUsize,
    gate: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
    /// The next piece to take of each thread's share, the bringer's first.
    next: Vec<Next>,
    /// What one thread does beside the jobs, and how far that is: [`NOTHING`], [`OFFERED`], [`TAKEN`] or [`DONE`].
    side: UnsafeCell<Option<Side>>,
    side_state: AtomicUsize,
    /// Held by whoever has offered it.
    offerer: Mutex<()>,
    panicked: AtomicBool,
    /// A thread other than the bringer has done something, since it was asked last.
    helped: AtomicBool,
    stop: AtomicBool,
    /// Held by whoever has brought the job at work.
    bringer: Mutex<()>,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    alarm: Condvar,
}

// SAFETY: `job` is written only by the holder of `bringer` while the gate is closed and no thread inside, and read only by
// threads that have entered through the open gate. `side` is written only by the holder of `offerer` while there is NOTHING,
// and read only by whoever has made OFFERED TAKEN.
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
            // The C library ends the process if it has no memory for what it keeps of a thread. See that there is some.
            drop(try_with_capacity::<u8>(1 << 16).for_the("threads")?);
            check_memory()?;
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

    /// Whether any of the threads has done something since this was asked last.
    pub fn helped(&self) -> bool {
        self.shared.helped.swap(false, Ordering::Relaxed)
    }

    /// Calls `work(i)` once for each `i` in `0 .. pieces`, on the caller's and any other threads. All on the caller's if
    /// another job is at work. Each begins with its own share of the pieces, which follow each other and are the same in every
    /// job of as many, so that it meets in its cache what it has left there; whoever is done helps the others.
    pub fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let Ok(_bringer) = self.shared.bringer.try_lock() else {
            (0..pieces).for_each(work);
            return;
        };
        let shared = &*self.shared;
        // SAFETY: the two types differ in a lifetime alone, and it is kept: `Visit` waits for the threads before `work` goes.
        let work = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) };
        let job = Job { work, pieces };
        // SAFETY: this thread holds `bringer`, the gate is closed and no thread inside.
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

    /// Does `main` on the caller's thread, and `side` on another that comes before `main` is done, which then joins in its
    /// jobs; else `side` afterwards, on the caller's.
    pub fn beside<R>(&self, side: &(dyn Fn() + Sync), main: impl FnOnce() -> R) -> R {
        let shared = &*self.shared;
        let Ok(_offerer) = shared.offerer.try_lock() else {
            let result = main();
            side();
            return result;
        };
        // SAFETY: the two types differ in a lifetime alone, and it is kept: `Offer` sees to it that nobody is at work at `side`,
        // nor will be, before it goes.
        let lasting = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), Side>(side) };
        // SAFETY: this thread holds `offerer`, and there is nothing on offer.
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
            // A child after fork: the threads are not here to be told or joined.
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

/// Takes back what nobody has begun, or else waits for its end, also when something panics meanwhile.
struct Offer<'a>(&'a Shared);

impl Offer<'_> {
    /// Whether nobody has begun, and now nobody will.
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
            // Of two panics one is enough.
            self.0.panicked.store(false, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// Tells the threads that there is something to do.
    fn call(&self) {
        self.core.store(core_here(), Ordering::Relaxed);
        self.jobs.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.alarm.notify_all();
        }
    }

    /// Does what is on offer beside the jobs, if nobody else does.
    fn take_side(&self) {
        let taken = self.side_state.compare_exchange(OFFERED, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            return;
        }
        // SAFETY: this thread has made it TAKEN, so it stays until it is DONE.
        if let Some(side) = unsafe { *self.side.get() }
            && catch_unwind(AssertUnwindSafe(side)).is_err()
        {
            self.panicked.store(true, Ordering::Relaxed);
        }
        self.helped.store(true, Ordering::Relaxed);
        self.side_state.store(DONE, Ordering::Release);
    }

    /// What thread `me` does all its life.
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

    /// Returns when there have been more than `seen` jobs.
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

    /// Goes to another core than the one that jobs come from, where a thread and the bringer would wait for each other.
    fn leave_the_bringer(&self) {
        let core = self.core.load(Ordering::Relaxed);
        if core == core_here() {
            leave(core, self.next.len());
        }
    }

    /// Where a thread's share of so many pieces begins; that of the one after the last is where all end.
    fn first_of_share(&self, thread: usize, pieces: usize) -> usize {
        thread * pieces / self.next.len()
    }

    /// Works at pieces until there are none, its own share's first; gives how many it has done.
    fn take_pieces(&self, job: Job, me: usize) -> usize {
        let (shares, mut done) = ((me..self.next.len()).chain(0..me), 0);
        for share in shares {
            let end = self.first_of_share(share + 1, job.pieces);
            let next = &self.next[share].0;
            // Looked at before it is changed, so that those who come too late do not take it from each other's caches.
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
