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

/// Finds out which way is fastest by going each for some steps, in turn and many times, and then the fastest for many. What
/// one core has computed has to travel to the other, and on some machines that takes longer than it takes to compute. The numbers
/// are the same every way.
pub struct Trial {
    /// Turns since it began; all when it is over.
    turn: usize,
    /// Steps of the turn, and the seconds they took.
    steps: usize,
    sum: f64,
    /// Seconds that it has waited for another thread to come.
    waited: f64,
    /// The seconds of a step each way, by turns.
    seconds: [[f64; Self::TURNS]; Self::WAYS.len()],
    /// Long steps, one after the other.
    long: usize,
    fastest: Way,
    /// Steps until the next trial begins.
    left: usize,
}

impl Default for Trial {
    fn default() -> Self {
        let seconds = [[0.0; Self::TURNS]; Self::WAYS.len()];
        Trial { turn: 0, steps: 0, sum: 0.0, waited: 0.0, seconds, long: 0, fastest: Way::Ahead, left: 0 }
    }
}

impl Trial {
    const WAYS: [Way; 3] = [Way::Ahead, Way::Shared, Way::Alone];
    /// How often each way has its turn: what else goes on in a machine comes and goes, and is to meet all of them.
    const TURNS: usize = 9;
    /// Steps of a turn, which ends with a sequence of estimates where it can: the first and the last of a sequence take another time
    /// than the others, and are to be in every turn. Enough for this core's cache to have again what the other one has written.
    const FEWEST: usize = 5;
    const MOST: usize = 40;
    /// All turns of a trial.
    const ALL: usize = Self::WAYS.len() * Self::TURNS;
    /// So many steps, and so many seconds, the fastest way is kept before there is another trial.
    const LASTS: usize = 4000;
    const LASTS_SECONDS: f64 = 1.0;
    /// It begins when another thread has come, which has to be woken, and on some systems waits for a core that is free; or
    /// after so many seconds.
    const PATIENCE: f64 = 0.02;
    /// Threads that are not worth while are left to others. What travels between the cores outside of an estimate, the shuffled
    /// list among it, is not in the times.
    const WORTH_WHILE: f64 = 0.9;
    /// Seconds of a step that is long enough for threads to be worth while anywhere, and too long for trials; and how many of
    /// them show that it is not the machine that has paused.
    const LONG: f64 = 1e-3;
    const LONG_ENOUGH: usize = 3;

    /// The way that the next step is to go.
    pub fn way(&self) -> Way {
        match self.turn < Self::ALL {
            true => Self::WAYS[self.turn % Self::WAYS.len()],
            false => self.fastest,
        }
    }

    /// The time, if the next step is one of the trial's.
    pub fn start(&self) -> Option<Instant> {
        (self.turn < Self::ALL).then(Instant::now)
    }

    /// The step has been done that started then, with the help of another thread or without, perhaps the last of a sequence.
    pub fn count(&mut self, start: Option<Instant>, helped: bool, last: bool) {
        self.count_seconds(start.map_or(0.0, |start| start.elapsed().as_secs_f64()), helped, last);
    }

    fn count_seconds(&mut self, seconds: f64, helped: bool, last: bool) {
        if self.turn == Self::ALL {
            self.left -= 1;
            self.turn = if self.left == 0 { 0 } else { Self::ALL };
            return;
        }
        if (self.turn, self.steps) == (0, 0) && !helped && self.waited < Self::PATIENCE {
            self.waited += seconds;
            return;
        }
        self.waited = 0.0;
        self.steps += 1;
        self.sum += seconds;
        self.long = if seconds > Self::LONG { self.long + 1 } else { 0 };
        if self.long == Self::LONG_ENOUGH {
            self.end(Way::Ahead, Self::LASTS);
        } else if self.steps == Self::MOST || last && self.steps >= Self::FEWEST {
            let (way, turn) = (self.turn % Self::WAYS.len(), self.turn / Self::WAYS.len());
            self.seconds[way][turn] = self.sum / self.steps as f64;
            (self.turn, self.steps, self.sum) = (self.turn + 1, 0, 0.0);
            if self.turn == Self::ALL {
                self.decide();
            }
        }
    }

    fn decide(&mut self) {
        let [ahead, shared, alone] = self.seconds.map(|mut seconds| {
            // Not the middle one: what disturbs a step only ever makes it longer, and may meet more than half of them.
            seconds.sort_unstable_by(f64::total_cmp);
            seconds[seconds.len() / 4]
        });
        let fastest = match ahead.min(shared) < Self::WORTH_WHILE * alone {
            false => Way::Alone,
            true if ahead < shared => Way::Ahead,
            true => Way::Shared,
        };
        let a_step = ahead.min(shared).min(alone).max(1e-7);
        self.end(fastest, Self::LASTS.max((Self::LASTS_SECONDS / a_step) as usize));
    }

    /// Goes on this way for so many steps.
    fn end(&mut self, fastest: Way, left: usize) {
        *self = Trial { turn: Self::ALL, fastest, left, ..Trial::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of so many steps, in sequences of ten, that take so many seconds ahead, shared and alone, some of them far more; other
    /// threads come after so many steps.
    fn ways(steps: usize, seconds: [f64; 3], asleep: usize, more: impl Fn(usize) -> f64) -> Vec<Way> {
        let mut trial = Trial::default();
        let choose = |step: usize| {
            let way = trial.way();
            let at = Trial::WAYS.iter().position(|w| *w == way).expect("a way");
            trial.count_seconds(seconds[at] * more(step), way != Way::Alone && step >= asleep, step % 10 == 9);
            way
        };
        (0..steps).map(choose).collect()
    }

    /// Steps of a trial with sequences of ten.
    const TRIED: usize = 10 * Trial::ALL;

    #[test]
    fn every_way_is_tried_and_the_fastest_one_is_kept() {
        for (seconds, fastest) in [
            ([2e-5, 3e-5, 4e-5], Way::Ahead),
            ([3e-5, 2e-5, 4e-5], Way::Shared),
            ([3e-5, 2e-5, 1e-5], Way::Alone),
            ([1.85e-5, 3e-5, 2e-5], Way::Alone),
        ] {
            // Many steps are disturbed, or more than half of all turns.
            let many = ways(Trial::LASTS, seconds, 0, |step| if step % 7 < 2 { 20.0 } else { 1.0 });
            let half = ways(Trial::LASTS, seconds, 0, |step| if step / 30 % 2 == 0 { 20.0 } else { 1.0 });
            for ways in [many, half] {
                let (tried, kept) = ways.split_at(TRIED);
                for (steps, way) in tried.chunks(10).zip(Trial::WAYS.iter().cycle()) {
                    assert!(steps.iter().all(|w| w == way));
                }
                assert!(kept.iter().all(|w| *w == fastest), "{seconds:?}");
            }
        }
    }

    #[test]
    fn a_step_that_is_always_short_does_not_stand_for_the_others() {
        // The last of a sequence cuts nothing ahead.
        let ways = ways(Trial::LASTS, [3e-5, 2.1e-5, 2e-5], 0, |step| if step % 10 == 9 { 0.1 } else { 1.0 });
        assert!(ways[TRIED..].iter().all(|w| *w == Way::Alone));
    }

    #[test]
    fn there_is_another_trial_after_many_steps_and_a_second() {
        for (a_step, lasts) in [(1e-5, 100_000), (8e-4, Trial::LASTS)] {
            let ways = ways(2 * TRIED + lasts, [1.2 * a_step, a_step, 1.2 * a_step], 0, |_| 1.0);
            let (kept, tried) = ways[TRIED..].split_at(lasts - 10);
            assert!(kept.iter().all(|w| *w == Way::Shared));
            assert!(Trial::WAYS.iter().all(|way| tried.contains(way)));
        }
    }

    #[test]
    fn the_trial_waits_for_a_thread_that_is_still_asleep_but_not_for_ever() {
        let ways_of = |asleep| ways(1000, [1e-4, 2e-4, 1.5e-4], asleep, |_| 1.0);
        let soon = ways_of(51);
        assert!(soon[..60].iter().all(|w| *w == Way::Ahead) && soon[60] == Way::Shared, "a turn ends with a sequence");
        let never = ways_of(usize::MAX);
        let begins = never.iter().position(|w| *w != Way::Ahead).expect("another way");
        assert!((200..=220).contains(&begins), "after twenty milliseconds, not {begins} steps");
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
        assert!(ways[TRIED..].iter().all(|w| *w == Way::Alone));
    }
}
