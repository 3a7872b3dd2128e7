//! Cutting for the next estimate while this one is at work.

use crate::sample::Cut;
use std::time::Instant;

/// What another thread has cut for the next of several estimates.
#[derive(Default)]
pub struct Ahead {
    /// What has been cut.
    pub cut: Cut,
    /// The step and the items it is for, if any.
    pub step: Option<u64>,
    /// See `step`.
    pub items: Vec<i32>,
    /// Whether it is worth while.
    pub trial: Trial,
}

/// Finds out whether cutting ahead is faster, by doing both for a few steps and then what was faster for many: what one core has
/// cut has to travel to the other, and on some machines that takes as long as the cut. The numbers are the same either way.
pub struct Trial {
    /// Steps since it began.
    steps: usize,
    /// The seconds of the steps without and with it.
    seconds: [[f64; Self::TIMED]; 2],
    /// Whether it is faster.
    faster: bool,
}

impl Default for Trial {
    fn default() -> Self {
        Trial { steps: 0, seconds: [[0.0; Self::TIMED]; 2], faster: false }
    }
}

impl Trial {
    /// Steps of each kind that are timed, after some that are not: they end what the kind before has begun.
    const TIMED: usize = 25;
    const SKIPPED: usize = 3;
    const TRIED: usize = Self::SKIPPED + Self::TIMED;
    /// Steps before it is tried again.
    const LASTS: usize = 2000;
    /// It has to be faster by this much: the other thread could be somebody else's.
    const WORTH_WHILE: f64 = 0.97;

    /// Whether the next step is to cut ahead.
    pub fn ahead(&self) -> bool {
        match self.steps / Self::TRIED {
            0 => false,
            1 => true,
            _ => self.faster,
        }
    }

    /// Does the next step, and looks at the time if it is one of the trial's.
    pub fn step<R>(&mut self, step: impl FnOnce() -> R) -> R {
        if self.steps >= 2 * Self::TRIED {
            self.count(0.0);
            return step();
        }
        let start = Instant::now();
        let result = step();
        self.count(start.elapsed().as_secs_f64());
        result
    }

    /// A step has been done, in so many seconds.
    fn count(&mut self, seconds: f64) {
        let (kind, number) = (self.steps / Self::TRIED, self.steps % Self::TRIED);
        if kind < 2 && number >= Self::SKIPPED {
            self.seconds[kind][number - Self::SKIPPED] = seconds;
        }
        self.steps = (self.steps + 1) % Self::LASTS;
        if self.steps == 2 * Self::TRIED {
            let median = |mut seconds: [f64; Self::TIMED]| {
                seconds.sort_unstable_by(f64::total_cmp);
                seconds[Self::TIMED / 2]
            };
            self.faster = median(self.seconds[1]) < Self::WORTH_WHILE * median(self.seconds[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of so many steps cut ahead, when each takes so many seconds without and with it, now and then more.
    fn choices(steps: usize, seconds: [f64; 2]) -> Vec<bool> {
        let mut trial = Trial::default();
        let choose = |step: usize| {
            let ahead = trial.ahead();
            trial.count(seconds[usize::from(ahead)] * if step % 3 == 0 { 40.0 } else { 1.0 });
            ahead
        };
        (0..steps).map(choose).collect()
    }

    #[test]
    fn both_are_tried_and_the_faster_one_is_kept_until_the_next_trial() {
        for (seconds, faster) in [([2e-5, 3e-5], false), ([2e-5, 1.99e-5], false), ([3e-5, 2e-5], true)] {
            let choices = choices(2 * Trial::LASTS, seconds);
            let (first_time, second_time) = choices.split_at(Trial::LASTS);
            for time in [first_time, second_time] {
                let (without, rest) = time.split_at(Trial::TRIED);
                let (with, kept) = rest.split_at(Trial::TRIED);
                assert!(without.iter().all(|&ahead| !ahead) && with.iter().all(|&ahead| ahead));
                assert!(kept.iter().all(|&ahead| ahead == faster), "{seconds:?}");
            }
        }
    }

    #[test]
    fn a_step_is_done_once_and_gives_what_it_gives() {
        let (mut trial, mut done) = (Trial::default(), 0);
        for step in 0..Trial::LASTS + 5 {
            let answer = trial.step(|| {
                done += 1;
                step
            });
            assert_eq!((answer, done), (step, step + 1));
        }
    }
}
