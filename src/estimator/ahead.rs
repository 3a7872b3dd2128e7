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

/// Finds out which way is fastest by going each for two steps, in turn and many times, and then the fastest for many. What
/// one core has computed has to travel to the other, and on some machines that takes longer than it takes to compute. The numbers
/// are the same every way.
pub struct Trial {
    /// Steps since it began.
    steps: usize,
    /// Seconds that it has waited for another thread to come.
    waited: f64,
    /// The seconds of a step each way, by turns.
    seconds: [[f64; Self::TURNS]; Self::WAYS.len()],
    /// Long steps, one after the other.
    long: usize,
    fastest: Way,
    /// When the next trial begins.
    lasts: usize,
}

impl Default for Trial {
    fn default() -> Self {
        let seconds = [[0.0; Self::TURNS]; Self::WAYS.len()];
        Trial { steps: 0, waited: 0.0, seconds, long: 0, fastest: Way::Ahead, lasts: Self::LASTS }
    }
}

impl Trial {
    const WAYS: [Way; 3] = [Way::Ahead, Way::Shared, Way::Alone];
    /// How often each way has its turn: what else goes on in a machine comes and goes, and is to meet all of them.
    const TURNS: usize = 25;
    /// Steps of a turn. The last one is timed; those before it end what the way before has begun. So few, that the threads
    /// stay awake while the caller works alone.
    const TRIED: usize = 2;
    /// All steps of a trial.
    const ALL: usize = Self::TRIED * Self::WAYS.len() * Self::TURNS;
    /// So many steps, and so many seconds, the fastest way is kept before there is another trial.
    const LASTS: usize = 4000;
    const LASTS_SECONDS: f64 = 1.0;
    /// It begins when another thread has come, which has to be woken, and on some systems waits for a core that is free; or
    /// after so many seconds.
    const PATIENCE: f64 = 0.02;
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

    /// The step has been done that started then, with the help of another thread or without.
    pub fn count(&mut self, start: Option<Instant>, helped: bool) {
        self.count_seconds(start.map_or(0.0, |start| start.elapsed().as_secs_f64()), helped);
    }

    fn count_seconds(&mut self, seconds: f64, helped: bool) {
        if self.steps == 0 && !helped && self.waited < Self::PATIENCE {
            self.waited += seconds;
            return;
        }
        self.waited = 0.0;
        if self.steps < Self::ALL {
            let (turn, number) = (self.steps / Self::TRIED, self.steps % Self::TRIED);
            if number + 1 == Self::TRIED {
                self.seconds[turn % Self::WAYS.len()][turn / Self::WAYS.len()] = seconds;
            }
            self.long = if seconds > Self::LONG { self.long + 1 } else { 0 };
        }
        self.steps = (self.steps + 1) % self.lasts;
        if self.long == Self::LONG_ENOUGH {
            (self.steps, self.long, self.fastest, self.lasts) = (Self::ALL, 0, Way::Ahead, Self::LASTS);
        } else if self.steps == Self::ALL {
            let [ahead, shared, alone] = self.seconds.map(|mut seconds| {
                // Not the middle one: what disturbs a step only ever makes it longer, and may meet more than half of them.
                seconds.sort_unstable_by(f64::total_cmp);
                seconds[seconds.len() / 4]
            });
            self.fastest = match ahead.min(shared) < Self::WORTH_WHILE * alone {
                false => Way::Alone,
                true if ahead < shared => Way::Ahead,
                true => Way::Shared,
            };
            let a_step = ahead.min(shared).min(alone).max(1e-7);
            self.lasts = Self::LASTS.max((Self::LASTS_SECONDS / a_step) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of so many steps that take so many seconds ahead, shared and alone, some of them far more; other threads come
    /// after so many steps.
    fn ways(steps: usize, seconds: [f64; 3], asleep: usize, more: impl Fn(usize) -> f64) -> Vec<Way> {
        let mut trial = Trial::default();
        let choose = |step: usize| {
            let way = trial.way();
            let at = Trial::WAYS.iter().position(|w| *w == way).expect("a way");
            trial.count_seconds(seconds[at] * more(step), way != Way::Alone && step >= asleep);
            way
        };
        (0..steps).map(choose).collect()
    }

    #[test]
    fn every_way_is_tried_and_the_fastest_one_is_kept() {
        for (seconds, fastest) in [
            ([2e-5, 3e-5, 4e-5], Way::Ahead),
            ([3e-5, 2e-5, 4e-5], Way::Shared),
            ([3e-5, 2e-5, 1e-5], Way::Alone),
            ([1.99e-5, 3e-5, 2e-5], Way::Alone),
        ] {
            // Many steps are disturbed, or a part of the trial as long as a few turns of each.
            let turns = |step: usize| step / (Trial::TRIED * Trial::WAYS.len());
            let many = ways(Trial::LASTS, seconds, 0, |step| if step % 7 < 2 { 20.0 } else { 1.0 });
            let part = ways(Trial::LASTS, seconds, 0, |step| if turns(step) % 12 == 1 { 20.0 } else { 1.0 });
            for ways in [many, part] {
                let (tried, kept) = ways.split_at(Trial::ALL);
                for (steps, way) in tried.chunks(Trial::TRIED).zip(Trial::WAYS.iter().cycle()) {
                    assert!(steps.iter().all(|w| w == way));
                }
                assert!(kept.iter().all(|w| *w == fastest), "{seconds:?}");
            }
        }
    }

    #[test]
    fn there_is_another_trial_after_many_steps_and_a_second() {
        for (a_step, lasts) in [(1e-5, 100_000), (9e-4, Trial::LASTS)] {
            let ways = ways(lasts + Trial::ALL, [1.1 * a_step, a_step, 1.1 * a_step], 0, |_| 1.0);
            let (kept, tried) = ways[Trial::ALL..].split_at(lasts - Trial::ALL - 1);
            assert!(kept.iter().all(|w| *w == Way::Shared));
            assert!(Trial::WAYS.iter().all(|way| tried.contains(way)));
        }
    }

    #[test]
    fn the_trial_waits_for_a_thread_that_is_still_asleep_but_not_for_ever() {
        let ways_of = |asleep| ways(1000, [1e-4, 2e-4, 1.5e-4], asleep, |_| 1.0);
        let soon = ways_of(50);
        assert!(soon[..52].iter().all(|w| *w == Way::Ahead) && soon[52] == Way::Shared);
        let never = ways_of(usize::MAX);
        let begins = never.iter().position(|w| *w != Way::Ahead).expect("another way");
        assert!((200..=203).contains(&begins), "after twenty milliseconds, not {begins} steps");
    }

    #[test]
    fn long_steps_end_the_trial_with_all_threads_at_work() {
        let ways = ways(500, [3e-3, 2e-3, 2e-3], 0, |_| 1.0);
        assert!(ways[Trial::LONG_ENOUGH..].iter().all(|w| *w == Way::Ahead));
    }

    #[test]
    fn a_pause_of_the_machine_does_not_end_the_trial() {
        let disturbed = |step: usize| if step % 10 == 5 { 1000.0 } else { 1.0 };
        let ways = ways(Trial::LASTS, [3e-5, 2e-5, 1e-5], 0, disturbed);
        assert!(ways[Trial::ALL..].iter().all(|w| *w == Way::Alone));
    }
}
