//! A few threads that take turns at the pieces of one job at a time.
//!
//! A step of training is a dozen jobs of some ten microseconds, so what counts is how soon a waiting thread begins. These
//! look for the next job for a while before they sleep, and whoever brings one works at it too and never waits for a
//! thread that has not begun. A general pool puts the bringer to sleep and wakes a thread by a system call, which takes
//! longer than most jobs here.
#![allow(unsafe_code)]

use crate::error::{Error, Result, check_memory, try_with_capacity};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often a thread looks for the next job before it sleeps: some 50 to 100 microseconds.
const LOOKS: usize = 4000;

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

struct Shared {
    /// Jobs so far.
    jobs: AtomicUsize,
    gate: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
    /// The next piece to take.
    next: AtomicUsize,
    panicked: AtomicBool,
    stop: AtomicBool,
    /// Held by whoever has brought the job at work.
    bringer: Mutex<()>,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    alarm: Condvar,
}

// SAFETY: `job` is written only by the holder of `bringer` while the gate is closed and no thread inside, and read only by
// threads that have entered through the open gate.
unsafe impl Sync for Shared {}
// SAFETY: as above; the pointer in `job` is used only while the function behind it is borrowed by `Pool::run`.
unsafe impl Send for Shared {}

impl Pool {
    /// Starts `count` threads.
    pub fn start(count: usize) -> Result<Pool> {
        let shared = Arc::new(Shared {
            jobs: AtomicUsize::new(0),
            gate: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            next: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bringer: Mutex::new(()),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            alarm: Condvar::new(),
        });
        let mut pool = Pool { shared, handles: Vec::new(), process: std::process::id() };
        for i in 1..=count {
            // The C library ends the process if it has no memory for what it keeps of a thread. See that there is some.
            drop(try_with_capacity::<u8>(1 << 16)?);
            check_memory()?;
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new().name(format!("plimsoll-{i}")).spawn(move || shared.serve());
            let failed = |e| Error::OutOfMemory(format!("cannot start {count} threads: {e}"));
            pool.handles.push(thread.map_err(failed)?);
        }
        Ok(pool)
    }

    /// Whether the threads still exist: not in a child after `fork`.
    pub fn alive(&self) -> bool {
        self.process == std::process::id()
    }

    /// Calls `work(i)` once for each `i` in `0 .. pieces`, on the caller's and any other threads. All on the caller's if
    /// another job is at work.
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
        shared.next.store(0, Ordering::Relaxed);
        shared.gate.fetch_or(OPEN, Ordering::Release);
        let visit = Visit(shared);
        shared.jobs.fetch_add(1, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            let _bed = shared.bed.lock().unwrap_or_else(PoisonError::into_inner);
            shared.alarm.notify_all();
        }
        shared.take_pieces(job);
        drop(visit);
        if shared.panicked.swap(false, Ordering::Relaxed) {
            panic!("a piece of a job panicked on another thread");
        }
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
        self.shared.jobs.fetch_add(1, Ordering::SeqCst);
        {
            let _bed = self.shared.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.alarm.notify_all();
        }
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

impl Shared {
    /// What a thread does all its life.
    fn serve(&self) {
        let mut seen = 0;
        loop {
            self.wait(seen);
            seen = self.jobs.load(Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            if self.gate.fetch_add(1, Ordering::AcqRel) & OPEN != 0 {
                // SAFETY: the gate was open when this thread entered, so the job stays until it leaves.
                if let Some(job) = unsafe { *self.job.get() } {
                    let taken = catch_unwind(AssertUnwindSafe(|| self.take_pieces(job)));
                    if taken.is_err() {
                        self.panicked.store(true, Ordering::Relaxed);
                    }
                }
            }
            self.gate.fetch_sub(1, Ordering::Release);
        }
    }

    /// Returns when there have been more than `seen` jobs.
    fn wait(&self, seen: usize) {
        for _ in 0..LOOKS {
            if self.jobs.load(Ordering::Relaxed) != seen {
                return;
            }
            std::hint::spin_loop();
        }
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.jobs.load(Ordering::SeqCst) == seen {
            bed = self.alarm.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn take_pieces(&self, job: Job) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= job.pieces {
                return;
            }
            (job.work)(piece);
        }
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
