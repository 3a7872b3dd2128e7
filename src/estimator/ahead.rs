//! Cutting for the next estimate while this one is at work, and whether threads are worth while.

use crate::error::{Result, try_reserve_with_slack};
use crate::sample::Cut;
use std::time::Instant;

/// What another thread has cut for the next of several estimates.
#[derive(Default)]
pub struct Ahead {
    /// What has been cut.
    pub cut: Cut,
    /// The step and the items it is for, if any.
    step: Option<u64>,
    items: Vec<i32>,
}

impl Ahead {
    /// Whether it is for this step and these items; then it is taken.
    pub fn take(&mut self, step: u64, items: &[i32]) -> bool {
        self.step.take() == Some(step) && self.items == items
    }

    /// It is for this step and these items.
    pub fn remember(&mut self, step: u64, items: &[i32]) -> Result<()> {
        self.items.clear();
        try_reserve_with_slack(&mut self.items, items.len())?;
        self.items.extend_from_slice(items);
        self.step = Some(step);
        Ok(())
    }

    /// It is for none.
    pub fn forget(&mut self) {
        self.step = None;
    }
}

/// How the threads of a model work at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The caller's thread does it all.
    Alone,
    /// Large products are shared.
    Shared,
    /// They are, and another thread cuts for the next step.
    Ahead,
}

/// Finds out which way is fastest by going each for a few steps, in turn and several times, and then the fastest for many. What
/// one core has computed has to travel to the other, and on some machines that takes longer than it takes to compute. The numbers
/// are the same every way.
pub struct Trial {
    /// Steps since it began.
    steps: usize,
    /// The seconds of the steps each way.
    seconds: [[f64; Self::TIMED * Self::TURNS]; Self::WAYS.len()],
    /// Long steps, one after the other.
    long: usize,
    fastest: Way,
}

impl Default for Trial {
    fn default() -> Self {
        Trial { steps: 0, seconds: [[0.0; Self::TIMED * Self::TURNS]; Self::WAYS.len()], long: 0, fastest: Way::Ahead }
    }
}

impl Trial {
    const WAYS: [Way; 3] = [Way::Ahead, Way::Shared, Way::Alone];
    /// How often each way has its turn: what else goes on in a machine comes and goes, and is to meet all of them.
    const TURNS: usize = 5;
    /// Steps of a turn that are timed, after some that are not: they end what the way before has begun.
    const TIMED: usize = 5;
    const SKIPPED: usize = 3;
    const TRIED: usize = Self::SKIPPED + Self::TIMED;
    /// All steps of a trial, and those after which there is another one.
    const ALL: usize = Self::TRIED * Self::WAYS.len() * Self::TURNS;
    const LASTS: usize = 4000;
    /// Threads that are not worth while are left to others.
    const WORTH_WHILE: f64 = 0.97;
    /// Seconds of a step that is long enough for threads to be worth while anywhere, and too long for trials; and how many of
    /// them show that it is not the machine that has paused.
    const LONG: f64 = 1e-3;
    const LONG_ENOUGH: usize = 3;

    /// The way that the next step is to go.
    pub fn way(&self) -> Way {
        match self.steps < Self::ALL {
            true => Self::WAYS[self.steps / Self::TRIED % Self::WAYS.len()],
            false => self.fastest,
        }
    }

    /// The time, if the next step is one of the trial's.
    pub fn start(&self) -> Option<Instant> {
        (self.steps < Self::ALL).then(Instant::now)
    }

    /// The step has been done that started then.
    pub fn count(&mut self, start: Option<Instant>) {
        self.count_seconds(start.map_or(0.0, |start| start.elapsed().as_secs_f64()));
    }

    fn count_seconds(&mut self, seconds: f64) {
        if self.steps < Self::ALL {
            let (turn, number) = (self.steps / Self::TRIED, self.steps % Self::TRIED);
            if let Some(at) = number.checked_sub(Self::SKIPPED) {
                self.seconds[turn % Self::WAYS.len()][turn / Self::WAYS.len() * Self::TIMED + at] = seconds;
            }
            self.long = if seconds > Self::LONG { self.long + 1 } else { 0 };
        }
        self.steps = (self.steps + 1) % Self::LASTS;
        if self.long == Self::LONG_ENOUGH {
            (self.steps, self.long, self.fastest) = (Self::ALL, 0, Way::Ahead);
        } else if self.steps == Self::ALL {
            let [ahead, shared, alone] = self.seconds.map(|mut seconds| {
                seconds.sort_unstable_by(f64::total_cmp);
                seconds[seconds.len() / 2]
            });
            self.fastest = match ahead.min(shared) < Self::WORTH_WHILE * alone {
                false => Way::Alone,
                true if ahead < shared => Way::Ahead,
                true => Way::Shared,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of so many steps that take so many seconds ahead, shared and alone, some of them far more.
    fn ways(steps: usize, seconds: [f64; 3], more: impl Fn(usize) -> f64) -> Vec<Way> {
        let mut trial = Trial::default();
        let choose = |step: usize| {
            let way = trial.way();
            let at = Trial::WAYS.iter().position(|w| *w == way).expect("a way");
            trial.count_seconds(seconds[at] * more(step));
            way
        };
        (0..steps).map(choose).collect()
    }

    #[test]
    fn every_way_is_tried_and_the_fastest_one_is_kept_until_the_next_trial() {
        for (seconds, fastest) in [
            ([2e-5, 3e-5, 4e-5], Way::Ahead),
            ([3e-5, 2e-5, 4e-5], Way::Shared),
            ([3e-5, 2e-5, 1e-5], Way::Alone),
            ([1.99e-5, 3e-5, 2e-5], Way::Alone),
        ] {
            // Every third step is disturbed, or a part of the trial as long as a turn of each.
            let turns = |step: usize| step / (Trial::TRIED * Trial::WAYS.len());
            let third = ways(2 * Trial::LASTS, seconds, |step| if step.is_multiple_of(3) { 20.0 } else { 1.0 });
            let part = ways(2 * Trial::LASTS, seconds, |step| if turns(step) == 1 { 20.0 } else { 1.0 });
            for time in third.chunks(Trial::LASTS).chain(part.chunks(Trial::LASTS)) {
                let (tried, kept) = time.split_at(Trial::ALL);
                for (steps, way) in tried.chunks(Trial::TRIED).zip(Trial::WAYS.iter().cycle()) {
                    assert!(steps.iter().all(|w| w == way));
                }
                assert!(kept.iter().all(|w| *w == fastest), "{seconds:?}");
            }
        }
    }

    #[test]
    fn long_steps_end_the_trial_with_all_threads_at_work() {
        assert!(ways(500, [2e-3, 1e-3, 1e-3], |_| 1.0).iter().all(|w| *w == Way::Ahead));
    }

    #[test]
    fn a_pause_of_the_machine_does_not_end_the_trial() {
        let ways = ways(Trial::LASTS, [3e-5, 2e-5, 1e-5], |step| if step % 10 == 5 { 1000.0 } else { 1.0 });
        assert!(ways[Trial::ALL..].iter().all(|w| *w == Way::Alone));
    }
}
