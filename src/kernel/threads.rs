//! A private pool of threads, and the two ways work is shared among them without changing a bit of the result.

use super::{Pick, Rows, parts, table};
use crate::error::{Error, Result, try_resize};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Below this many flops a product stays on the calling thread: waking another one costs some microseconds.
const SERIAL_FLOPS: usize = 1 << 18;

/// The threads of one model. One thread means the caller's own, and then there is no pool.
pub struct Threads {
    pool: Option<Pool>,
    count: usize,
}

struct Pool {
    pool: Option<rayon::ThreadPool>,
    handles: Mutex<Vec<JoinHandle<()>>>,
    /// The process that started the threads: after a fork they exist only in the parent.
    process: u32,
}

impl Threads {
    /// `count` threads; 0 stands for all cores.
    pub fn new(count: usize) -> Result<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        let count = if count == 0 { cores() } else { count };
        let pool = if count > 1 { Some(Pool::start(count)?) } else { None };
        Ok(Threads { pool, count })
    }

    /// How many threads work, the caller's included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the threads still exist: not in a child after `fork`.
    pub fn alive(&self) -> bool {
        self.pool.as_ref().is_none_or(|p| p.process == std::process::id())
    }

    /// `out ← R·M`, rows shared among the threads. Each row is one thread's, so the bits are the same for any count.
    pub fn times(&self, rows: Rows<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
        let count = out.len() / width;
        let entries = match rows {
            Rows::Dense { width: depth, .. } => count * depth,
            Rows::Sparse(a) => a.indices.len() / a.num_rows().max(1) * count,
        };
        match self.pool_for(2 * entries * width) {
            None => table().times(rows, pick, m, width, out),
            Some(pool) => {
                // More pieces than threads even out rows of different length.
                let piece = count.div_ceil(8 * self.count).max(16);
                pool.install(|| {
                    out.par_chunks_mut(piece * width)
                        .enumerate()
                        .for_each(|(i, out)| table().times(rows, pick.skip(i * piece), m, width, out));
                });
            }
        }
    }

    /// `M ← Rᵀ·G`, a sum over rows, cut into [`parts`] that the threads share. `scratch` is reused from call to call.
    pub fn transposed_times(
        &self,
        rows: Rows<'_>,
        pick: Pick<'_>,
        g: &[f32],
        width: usize,
        m: &mut [f32],
        scratch: &mut Vec<f32>,
    ) -> Result<()> {
        let count = g.len() / width;
        let add = |range: Range<usize>, sum: &mut [f32]| {
            let g = &g[range.start * width..range.end * width];
            table().transposed_times(rows, pick.skip(range.start), g, width, sum);
        };
        let number = parts::number(count, m.len());
        match self.pool_for(if number == 1 { 0 } else { SERIAL_FLOPS }) {
            None => parts::sum(count, m, scratch, |range, sum| {
                add(range, sum);
                Ok(())
            }),
            Some(pool) => {
                try_resize(scratch, number * m.len())?;
                scratch.fill(0.0);
                pool.install(|| {
                    let sums = scratch.par_chunks_exact_mut(m.len()).enumerate();
                    sums.for_each(|(i, sum)| add(parts::range(i, number, count), sum));
                });
                parts::total(m, scratch);
                Ok(())
            }
        }
    }

    /// Whether a product of this many flops is shared among threads.
    pub fn shares(&self, flops: usize) -> bool {
        self.pool_for(flops).is_some()
    }

    fn pool_for(&self, flops: usize) -> Option<&rayon::ThreadPool> {
        if flops < SERIAL_FLOPS { None } else { self.pool.as_ref().and_then(|p| p.pool.as_ref()) }
    }
}

impl Pool {
    fn start(count: usize) -> Result<Pool> {
        let handles = Mutex::new(Vec::with_capacity(count));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(count)
            .spawn_handler(|thread| {
                let name = format!("plimsoll-{}", thread.index());
                let handle = std::thread::Builder::new().name(name).spawn(|| thread.run())?;
                handles.lock().unwrap_or_else(|e| e.into_inner()).push(handle);
                Ok(())
            })
            .build()
            .map_err(|e| Error::OutOfMemory(format!("cannot start {count} threads: {e}")))?;
        Ok(Pool { pool: Some(pool), handles, process: std::process::id() })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A child after fork: the threads are not here to be told or joined.
            std::mem::forget(self.pool.take());
            std::mem::forget(std::mem::take(&mut self.handles));
            return;
        }
        drop(self.pool.take());
        for handle in self.handles.get_mut().unwrap_or_else(|e| e.into_inner()).drain(..) {
            let _ = handle.join();
        }
    }
}
