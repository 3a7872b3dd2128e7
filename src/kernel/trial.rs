//! A trial of how many threads pay: on some machines one is faster than two.

use std::time::Instant;

/// How threads work at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The caller's thread does everything.
    Alone,
    /// Threads share large products.
    Shared,
    /// Threads share large products, and another thread prepares the next step.
    Ahead,
}

/// Finds out which mode is fastest: uses each of them for some steps, in turn and many times, and then the fastest one for many
/// steps. What one core has computed must travel to the other, and on some machines that takes longer than computing it. The
/// results of a step are the same in every mode.
pub struct Trial {
    /// Turns since the trial started; [`Trial::ALL`] when it is over.
    turn: usize,
    /// Steps of the turn so far.
    steps: usize,
    /// The seconds that they took.
    sum: f64,
    /// Seconds spent waiting for another thread to start working.
    waited: f64,
    /// The seconds of a step in each mode, by turn.
    seconds: [[f64; Self::TURNS]; Self::MODES.len()],
    /// The number of long steps in a row.
    long: usize,
    fastest: Mode,
    /// Steps until the next trial starts.
    left: usize,
}

impl Default for Trial {
    fn default() -> Self {
        let seconds = [[0.0; Self::TURNS]; Self::MODES.len()];
        Trial { turn: 0, steps: 0, sum: 0.0, waited: 0.0, seconds, long: 0, fastest: Mode::Ahead, left: 0 }
    }
}

impl Trial {
    const MODES: [Mode; 3] = [Mode::Ahead, Mode::Shared, Mode::Alone];
    /// The number of turns of each mode. Many, because other load on the machine comes and goes and should affect all modes.
    const TURNS: usize = 9;
    /// The least and the most steps of a turn, enough for this core's cache to recover what the other core has written. A turn
    /// ends with a sequence of steps if it can: the first and the last step of a sequence take a different time from the others,
    /// so each turn should include them.
    const FEWEST: usize = 5;
    const MOST: usize = 40;
    /// The number of turns of a trial.
    const ALL: usize = Self::MODES.len() * Self::TURNS;
    /// The fastest mode is kept for this many steps and seconds before the next trial.
    const LASTS: usize = 4000;
    const LASTS_SECONDS: f64 = 1.0;
    /// A trial starts when another thread has started working; it has to be woken, and on some systems it waits for a free core.
    /// After this many seconds the trial starts anyway.
    const PATIENCE: f64 = 0.02;
    /// More threads are used only if they take less than this share of the time. Traffic between the cores outside a step, such
    /// as for the shuffled list, is not in the times.
    const WORTH_WHILE: f64 = 0.9;
    /// A step of this many seconds is long enough for threads to pay on any machine, and too long for trials.
    const LONG: f64 = 1e-3;
    /// This many long steps in a row show that the machine has not merely paused.
    const LONG_ENOUGH: usize = 3;

    /// The mode of the next step.
    pub fn mode(&self) -> Mode {
        match self.turn < Self::ALL {
            true => Self::MODES[self.turn % Self::MODES.len()],
            false => self.fastest,
        }
    }

    /// The time, if the next step belongs to a trial.
    pub fn start(&self) -> Option<Instant> {
        (self.turn < Self::ALL).then(Instant::now)
    }

    /// Records a step that began at `start`: whether another thread helped, and whether it was the last of a sequence.
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
            self.end(Mode::Ahead, Self::LASTS);
        } else if self.steps == Self::MOST || last && self.steps >= Self::FEWEST {
            let (mode, turn) = (self.turn % Self::MODES.len(), self.turn / Self::MODES.len());
            self.seconds[mode][turn] = self.sum / self.steps as f64;
            (self.turn, self.steps, self.sum) = (self.turn + 1, 0, 0.0);
            if self.turn == Self::ALL {
                self.decide();
            }
        }
    }

    fn decide(&mut self) {
        let [ahead, shared, alone] = self.seconds.map(|mut seconds| {
            // The lower quartile: disturbances only make steps longer, and may affect more than half of them.
            seconds.sort_unstable_by(f64::total_cmp);
            seconds[seconds.len() / 4]
        });
        let fastest = match ahead.min(shared) < Self::WORTH_WHILE * alone {
            false => Mode::Alone,
            true if ahead < shared => Mode::Ahead,
            true => Mode::Shared,
        };
        let a_step = ahead.min(shared).min(alone).max(1e-7);
        self.end(fastest, Self::LASTS.max((Self::LASTS_SECONDS / a_step) as usize));
    }

    /// Ends the trial and keeps this mode for this many steps.
    fn end(&mut self, fastest: Mode, left: usize) {
        *self = Trial { turn: Self::ALL, fastest, left, ..Trial::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modes of this many steps in sequences of ten. `seconds` are those of a step ahead, shared and alone, multiplied by
    /// `more`; other threads start working after `asleep` steps.
    fn modes(steps: usize, seconds: [f64; 3], asleep: usize, more: impl Fn(usize) -> f64) -> Vec<Mode> {
        let mut trial = Trial::default();
        let choose = |step: usize| {
            let mode = trial.mode();
            let at = Trial::MODES.iter().position(|w| *w == mode).expect("a mode");
            trial.count_seconds(seconds[at] * more(step), mode != Mode::Alone && step >= asleep, step % 10 == 9);
            mode
        };
        (0..steps).map(choose).collect()
    }

    /// Steps of a trial with sequences of ten.
    const TRIED: usize = 10 * Trial::ALL;

    #[test]
    fn every_mode_is_tried_and_the_fastest_one_is_kept() {
        for (seconds, fastest) in [
            ([2e-5, 3e-5, 4e-5], Mode::Ahead),
            ([3e-5, 2e-5, 4e-5], Mode::Shared),
            ([3e-5, 2e-5, 1e-5], Mode::Alone),
            ([1.85e-5, 3e-5, 2e-5], Mode::Alone),
        ] {
            // Many steps are disturbed, or more than half of all turns.
            let many = modes(Trial::LASTS, seconds, 0, |step| if step % 7 < 2 { 20.0 } else { 1.0 });
            let half = modes(Trial::LASTS, seconds, 0, |step| if step / 30 % 2 == 0 { 20.0 } else { 1.0 });
            for modes in [many, half] {
                let (tried, kept) = modes.split_at(TRIED);
                for (steps, mode) in tried.chunks(10).zip(Trial::MODES.iter().cycle()) {
                    assert!(steps.iter().all(|w| w == mode));
                }
                assert!(kept.iter().all(|w| *w == fastest), "{seconds:?}");
            }
        }
    }

    #[test]
    fn a_step_that_is_always_short_does_not_stand_for_the_others() {
        // The last step of a sequence prepares nothing.
        let modes = modes(Trial::LASTS, [3e-5, 2.1e-5, 2e-5], 0, |step| if step % 10 == 9 { 0.1 } else { 1.0 });
        assert!(modes[TRIED..].iter().all(|w| *w == Mode::Alone));
    }

    #[test]
    fn there_is_another_trial_after_many_steps_and_a_second() {
        for (a_step, lasts) in [(1e-5, 100_000), (8e-4, Trial::LASTS)] {
            let modes = modes(2 * TRIED + lasts, [1.2 * a_step, a_step, 1.2 * a_step], 0, |_| 1.0);
            let (kept, tried) = modes[TRIED..].split_at(lasts - 10);
            assert!(kept.iter().all(|w| *w == Mode::Shared));
            assert!(Trial::MODES.iter().all(|mode| tried.contains(mode)));
        }
    }

    #[test]
    fn the_trial_waits_for_a_thread_that_is_still_asleep_but_not_for_ever() {
        let modes_of = |asleep| modes(1000, [1e-4, 2e-4, 1.5e-4], asleep, |_| 1.0);
        let soon = modes_of(51);
        assert!(
            soon[..60].iter().all(|w| *w == Mode::Ahead) && soon[60] == Mode::Shared,
            "a turn ends with a sequence"
        );
        let never = modes_of(usize::MAX);
        let begins = never.iter().position(|w| *w != Mode::Ahead).expect("another mode");
        assert!((200..=220).contains(&begins), "after twenty milliseconds, not {begins} steps");
    }

    #[test]
    fn long_steps_end_the_trial_with_all_threads_at_work() {
        let modes = modes(500, [3e-3, 2e-3, 2e-3], 0, |_| 1.0);
        assert!(modes[Trial::LONG_ENOUGH..].iter().all(|w| *w == Mode::Ahead));
    }

    #[test]
    fn a_pause_of_the_machine_does_not_end_the_trial() {
        let disturbed = |step: usize| if step % 10 == 5 { 1000.0 } else { 1.0 };
        let modes = modes(Trial::LASTS, [3e-5, 2e-5, 1e-5], 0, disturbed);
        assert!(modes[TRIED..].iter().all(|w| *w == Mode::Alone));
    }
}
