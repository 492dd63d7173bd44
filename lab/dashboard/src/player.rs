//! Plays a recording to browsers.

use crate::hub::{Ask, Source};
use crate::recording::{Reached, Recording};
use aster_units::{Duration, Instant};
use std::time::{self, Instant as Wall};

/// Between two frames.
const PERIOD: time::Duration = time::Duration::from_millis(50);
/// Between two looks at a file whose end is reached.
const REST: time::Duration = time::Duration::from_millis(200);
/// Events between two looks at what is asked.
const BUDGET: u64 = 100_000;
/// By itself a recording is shown within so many seconds.
const SECONDS: f64 = 30.0;

/// Where the recording is to go.
#[derive(Clone, Copy, PartialEq)]
enum Goal {
    /// Nowhere.
    None,
    /// To a moment.
    Moment(Instant),
    /// To the end of a command.
    Command,
}

/// Shows a recording as it is asked to.
struct Player<'a> {
    recording: Recording,
    source: &'a Source,
    playing: bool,
    us_per_second: f64,
    goal: Goal,
    /// Something has changed since the last frame.
    changed: bool,
    last: Wall,
}

/// A speed that is easy to read, at which a recording takes about as long as it should.
fn fitting_speed(us: f64) -> f64 {
    let wanted = (us / SECONDS).max(1e-3);
    let decade = 10f64.powf(wanted.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * decade >= wanted);
    step.unwrap_or(10.0) * decade
}

fn moment(us: f64) -> Instant {
    // A question has at most 10^13 microseconds.
    Instant::from_picos((us * 1e6) as u64)
}

/// Plays `recording` to who looks until `stop` returns true. `at` is a moment at which it is to stand at
/// first; else it plays by itself as soon as somebody looks.
pub fn play(recording: Recording, source: &Source, at: Option<Instant>, stop: impl Fn() -> bool) {
    let us = recording.until().since(Instant::ZERO).as_micros_f64();
    let mut player = Player {
        us_per_second: fitting_speed(us),
        recording,
        source,
        playing: at.is_none(),
        goal: at.map_or(Goal::None, Goal::Moment),
        changed: true,
        last: Wall::now(),
    };
    while !stop() {
        if player.turn() {
            while let Some(ask) = source.asked() {
                player.take(ask);
            }
        } else if let Some(ask) = source.asked_within(player.rest()) {
            player.take(ask);
        }
    }
}

impl Player<'_> {
    /// How long it may wait for a question.
    fn rest(&self) -> time::Duration {
        let moves = self.playing && !self.recording.is_at_end();
        if moves { PERIOD.saturating_sub(self.last.elapsed()) } else { REST }
    }

    /// Goes on; true if there is more to do at once.
    fn turn(&mut self) -> bool {
        let passed = self.last.elapsed();
        let more = match self.goal {
            Goal::Moment(goal) => {
                let reached = self.recording.advance(goal, BUDGET);
                self.reached(reached)
            }
            Goal::Command => {
                let reached = self.recording.step_command(BUDGET);
                self.reached(reached)
            }
            Goal::None if self.playing && self.source.viewers() > 0 => {
                if passed < PERIOD {
                    return false;
                }
                self.go_on(passed);
                false
            }
            Goal::None => false,
        };
        if passed >= PERIOD {
            self.last = Wall::now();
        }
        if self.changed && (!more || passed >= PERIOD) {
            self.source.show(self.recording.frame(self.playing, self.us_per_second));
            self.changed = false;
        }
        more
    }

    fn reached(&mut self, reached: Reached) -> bool {
        self.changed = true;
        if reached == Reached::Budget {
            return true;
        }
        self.goal = Goal::None;
        false
    }

    /// Time goes on by itself.
    fn go_on(&mut self, passed: time::Duration) {
        if self.recording.is_at_end() {
            // What is written meanwhile is followed, however fast that is.
            if self.recording.has_changed() {
                let end = Instant::from_picos(u64::MAX);
                self.goal = Goal::Moment(end);
            }
            return;
        }
        // A machine that was asleep doesn't jump.
        let seconds = passed.min(REST).as_secs_f64();
        let picos = (self.us_per_second * 1e6 * seconds).min(1e18) as u64;
        let goal = self.recording.now() + Duration::from_picos(picos);
        // As much as can be done in time; at most speeds it's all.
        self.recording.advance(goal, BUDGET);
        self.changed = true;
    }

    fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Play(play) => self.playing = play,
            Ask::Speed(speed) => self.us_per_second = speed,
            Ask::Seek(us) => {
                let goal = moment(us);
                // What can't be read of the file is said in the frame.
                if self.recording.seek(goal).is_ok() {
                    self.goal = Goal::Moment(goal);
                }
            }
            Ask::StepEvent => {
                (self.playing, self.goal) = (false, Goal::None);
                self.recording.step();
            }
            Ask::StepCommand => (self.playing, self.goal) = (false, Goal::Command),
            Ask::Explain(number, answer) => {
                let told = self.recording.explain(number).map_err(|error| error.to_string());
                // Who asked may have gone.
                let _ = answer.send(told);
                return;
            }
        }
        self.changed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_round_and_brings_a_recording_to_its_end_in_time() {
        for (us, speed) in [(30e6, 1e6), (31e6, 2e6), (90_000.0, 5000.0), (0.0, 1e-3), (1.2e9, 5e7)] {
            let found = fitting_speed(us);
            assert!((found / speed - 1.0).abs() < 1e-9, "{us}: {found}");
        }
    }
}
