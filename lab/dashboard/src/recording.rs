//! A file of events, from its beginning to its end and back, while it may still be written.

mod lines;

use crate::frame::{Frame, Position};
use crate::picture::Picture;
use crate::slowest::Slowest;
use aster_events::EventSink;
use aster_lab::explain::{Collector, Explanation, Which};
use aster_lab::watch::{DriveShape, EventLine};
use aster_observe::{Lives, Piece};
use aster_units::Instant;
use lines::Lines;
pub use lines::RecordingError;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Events between two checkpoints at first.
const INTERVAL: u64 = 1 << 15;
/// The most checkpoints; of more, every second is left out.
const CHECKPOINTS_MAX: usize = 48;
/// Command slots that are followed: those that a profile may have, and those for admin commands.
const SLOTS: u16 = 8192;

/// What there is to know in order to go on from a place in the file.
#[derive(Clone)]
struct State {
    picture: Picture,
    slowest: Slowest,
    events: u64,
    fetched: u64,
}

struct Checkpoint {
    state: State,
    offset: u64,
    line: u64,
}

/// How far an advance came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// To where it should.
    Goal,
    /// As far as it was allowed at a time.
    Budget,
    /// To the end of the file, or to a line that can't be read.
    End,
}

/// A recording, at a moment.
pub struct Recording {
    path: PathBuf,
    shape: DriveShape,
    lines: Lines,
    /// A line that was read and isn't due yet.
    next: Option<EventLine>,
    state: State,
    clock: Instant,
    checkpoints: Vec<Checkpoint>,
    interval: u64,
    from: Option<Instant>,
    until: Instant,
    at_end: bool,
    problem: Option<String>,
    jumps: u64,
}

impl Recording {
    /// Opens the events file at `path`. `shape` is that of its drive, for files that don't tell it.
    ///
    /// # Errors
    /// When it can't be read, or doesn't begin as an events file does.
    pub fn open(path: &Path, shape: Option<DriveShape>) -> Result<Self, RecordingError> {
        let mut lines = Lines::open(path)?;
        let mut next = lines.next()?;
        let told = match next {
            Some(EventLine::Shape(told)) => {
                next = None;
                Some(told)
            }
            _ => None,
        };
        let Some(shape) = told.or(shape) else {
            return Err(lines.without_shape(next.is_some()));
        };
        let (offset, line) = if next.is_some() { (0, 0) } else { lines.place() };
        let picture = Picture::new(shape, true);
        let state = State { picture, slowest: Slowest::default(), events: 0, fetched: 0 };
        let until = lines.last_time()?;
        Ok(Recording {
            path: path.to_owned(),
            shape,
            lines,
            next,
            checkpoints: vec![Checkpoint { state: state.clone(), offset, line }],
            state,
            clock: Instant::ZERO,
            interval: INTERVAL,
            from: None,
            until,
            at_end: false,
            problem: None,
            jumps: 0,
        })
    }

    /// What its drive looks like.
    pub fn shape(&self) -> &DriveShape {
        &self.shape
    }

    /// The moment that it stands at.
    pub fn now(&self) -> Instant {
        self.clock
    }

    /// The last moment that the file tells of.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The first moment that the file tells of, once it was read.
    pub fn from(&self) -> Instant {
        self.from.unwrap_or_default()
    }

    /// Whether the file's end is reached, or what can't be read of it.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// What is wrong with the file.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether something was written to the file since its end was reached.
    pub fn has_changed(&self) -> bool {
        self.at_end && self.problem.is_none() && self.lines.have_changed()
    }

    /// The next event and its time, if there is one.
    fn peek(&mut self) -> Option<EventLine> {
        if self.next.is_none() && self.problem.is_none() {
            match self.lines.next() {
                Ok(next) => self.next = next,
                Err(error) => self.problem = Some(error.to_string()),
            }
        }
        self.at_end = self.next.is_none();
        self.next
    }

    /// Takes the next event. Returns whether it has completed a command; nothing at the end.
    fn take(&mut self) -> Option<bool> {
        let line = self.peek()?;
        self.next = None;
        let EventLine::Event { at, event, .. } = line else { return Some(false) };
        self.from.get_or_insert(at);
        let completed = self.state.picture.hear(at, &event);
        self.state.fetched += u64::from(is_fetch(&event));
        self.state.events += 1;
        if let Some(completed) = &completed {
            self.state.slowest.hear(completed);
        }
        self.until = self.until.max(self.state.picture.now());
        let last = self.checkpoints.last().map_or(0, |checkpoint| checkpoint.state.events);
        if self.state.events >= last + self.interval {
            self.keep();
        }
        Some(completed.is_some())
    }

    /// Keeps the present state, so that what comes behind it is found again soon.
    fn keep(&mut self) {
        let (offset, line) = self.lines.place();
        self.checkpoints.push(Checkpoint { state: self.state.clone(), offset, line });
        if self.checkpoints.len() > CHECKPOINTS_MAX {
            let mut place = 0;
            self.checkpoints.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.interval *= 2;
        }
    }

    /// Goes on to `goal`, by at most so many events at a time.
    pub fn advance(&mut self, goal: Instant, most: u64) -> Reached {
        for _ in 0..most {
            match self.peek() {
                None => {
                    self.clock = self.clock.max(goal.min(self.until)).max(self.state.picture.now());
                    return Reached::End;
                }
                Some(EventLine::Event { at, .. }) if at > goal => {
                    self.clock = self.clock.max(goal);
                    return Reached::Goal;
                }
                Some(_) => self.take(),
            };
        }
        self.clock = self.clock.max(self.state.picture.now());
        Reached::Budget
    }

    /// Goes on by one event.
    pub fn step(&mut self) -> Reached {
        let taken = self.take();
        self.clock = self.clock.max(self.state.picture.now());
        if taken.is_some() { Reached::Goal } else { Reached::End }
    }

    /// Goes on until the next command of an I/O queue is completed, by at most so many events.
    pub fn step_command(&mut self, most: u64) -> Reached {
        for _ in 0..most {
            let taken = self.take();
            self.clock = self.clock.max(self.state.picture.now());
            match taken {
                None => return Reached::End,
                Some(true) => return Reached::Goal,
                Some(false) => {}
            }
        }
        Reached::Budget
    }

    /// Goes to the last place from which `goal` is reached by going on. What was shown before no longer
    /// leads to where it stands.
    ///
    /// # Errors
    /// When the file can't be read there.
    pub fn seek(&mut self, goal: Instant) -> Result<(), RecordingError> {
        self.jumps += 1;
        let goes_on = self.clock <= goal;
        let before = |checkpoint: &Checkpoint| checkpoint.state.picture.now() <= goal;
        let place = self.checkpoints.partition_point(before).saturating_sub(1);
        let checkpoint = &self.checkpoints[place];
        if goes_on && checkpoint.state.events <= self.state.events {
            return Ok(());
        }
        self.lines.go_to(checkpoint.offset, checkpoint.line)?;
        self.state = checkpoint.state.clone();
        self.state.picture.show_again();
        (self.next, self.at_end, self.problem) = (None, false, None);
        self.clock = self.state.picture.now();
        Ok(())
    }

    /// What is to be shown, while time goes on by itself or not.
    pub fn frame(&mut self, playing: bool, us_per_second: f64) -> Frame {
        let us = |at: Instant| at.since(Instant::ZERO).as_micros_f64();
        Frame {
            slowest: self.state.slowest.view(),
            position: Some(Position {
                events: self.state.events,
                from_us: us(self.from()),
                until_us: us(self.until),
                playing,
                at_end: self.at_end,
                us_per_second,
                problem: self.problem.clone(),
                jumps: self.jumps,
            }),
            ..self.state.picture.frame(self.clock)
        }
    }

    /// The life of the slowest command that has this number in the frame's list, read from the file once
    /// more.
    ///
    /// # Errors
    /// When the list has no such command, or the file can't be read.
    pub fn explain(&self, number: u64) -> Result<Explanation, RecordingError> {
        let gone = || RecordingError::gone(&self.path);
        let completed = *self.state.slowest.of_number(number).ok_or_else(gone)?;
        // One checkpoint earlier than needed: what a command waits for may have begun before it.
        let before = |checkpoint: &Checkpoint| checkpoint.state.fetched <= number;
        let place = self.checkpoints.partition_point(before).saturating_sub(2);
        let checkpoint = &self.checkpoints[place];
        let mut collector = Collector::new(Which::Number(number - checkpoint.state.fetched + 1));
        collector.begin(0, Instant::ZERO, None);
        let collector = Rc::new(RefCell::new(collector));
        let into = Rc::clone(&collector);
        let hear = move |piece: &Piece| into.borrow_mut().hear(piece);
        let mut lives = Lives::new(self.shape.geometry, SLOTS, hear);
        let mut lines = Lines::open(&self.path)?;
        lines.go_to(checkpoint.offset, checkpoint.line)?;
        let mut ended = completed.began + completed.took;
        while let Some(line) = lines.next()? {
            let EventLine::Event { at, event, .. } = line else { continue };
            lives.event(at, &event);
            if at <= ended {
                continue;
            }
            let found = collector.borrow().explanations(&self.shape.geometry, false).pop();
            if let Some(mut found) = found {
                found.command = number + 1;
                return Ok(found);
            }
            // The FTL may finish it later than the front end has completed it.
            ended = at;
        }
        let found = collector.borrow().explanations(&self.shape.geometry, false).pop();
        let mut found = found.ok_or_else(gone)?;
        found.command = number + 1;
        Ok(found)
    }
}

fn is_fetch(event: &aster_events::Event) -> bool {
    use aster_events::Event::{CommandFetched, CommandResumed};
    matches!(event, CommandFetched { .. } | CommandResumed { .. })
}

#[cfg(test)]
mod tests;
