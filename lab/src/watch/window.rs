//! The part of a run that is written to files.

use crate::warning::Warning;
use aster_units::{Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;

/// The part of a run that goes into the files of events and of Perfetto's trace, and that may be explained.
/// By default the whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowOptions {
    /// Nothing before this time of the work.
    pub from: Option<Duration>,
    /// Nothing from this time of the work on.
    pub until: Option<Duration>,
    /// Limits the files to this many commands, the slowest of those that begin in that time.
    pub slowest: Option<usize>,
}

/// A part of the work, in the drive's time; closed until the work begins.
#[derive(Clone)]
pub struct WorkWindow {
    from: Duration,
    until: Option<Duration>,
    /// How many commands are kept; `None` keeps everything.
    pub(super) slowest: Option<usize>,
    /// Whether the user chose a part.
    pub(super) chosen: bool,
    /// The first moment, and the first that is too late, during the work.
    open: Rc<Cell<Option<(Instant, Instant)>>>,
    /// When the work began, from then on.
    began: Rc<Cell<Option<Instant>>>,
}

impl WorkWindow {
    pub(super) fn new(part: WindowOptions) -> Self {
        WorkWindow {
            from: part.from.unwrap_or(Duration::ZERO),
            until: part.until,
            slowest: part.slowest,
            chosen: part != WindowOptions::default(),
            open: Rc::default(),
            began: Rc::default(),
        }
    }

    /// The work begins.
    pub(super) fn begin(&self, now: Instant) {
        let after = |time: Duration| Instant::from_picos(now.as_picos().saturating_add(time.as_picos()));
        self.began.set(Some(now));
        self.open.set(Some((after(self.from), self.until.map_or(Instant::MAX, after))));
    }

    /// The work has ended at `now`. Returns a warning when it ended before the window began.
    pub(super) fn end(&self, now: Instant) -> Option<Warning> {
        let (first, _) = self.open.take()?;
        let began = first.as_picos().checked_sub(self.from.as_picos())?;
        (first >= now && !self.from.is_zero()).then(|| {
            let took = Duration::from_picos(now.as_picos().saturating_sub(began));
            let (from, values) = (self.from, [("took_s", took.as_secs_f64())]);
            let message = format!(
                "--from {from} is behind the end of the work, which took {took}: there is \
                 nothing from there on"
            );
            Warning::new("window-empty", message).with(values)
        })
    }

    /// How long after the work's beginning this is; `None` before, and when the work has ended.
    pub(super) fn in_work(&self, at: Instant) -> Option<Duration> {
        let since = at.as_picos().checked_sub(self.began.get()?.as_picos())?;
        self.open.get().map(|_| Duration::from_picos(since))
    }

    /// When the work began.
    pub(super) fn began(&self) -> Option<Instant> {
        self.began.get()
    }

    /// The window's ends, while the work goes on.
    pub(super) fn ends(&self) -> Option<(Instant, Instant)> {
        self.open.get()
    }

    /// True for a moment in the window.
    pub(super) fn has(&self, at: Instant) -> bool {
        self.ends().is_some_and(|(first, end)| first <= at && at < end)
    }

    /// True for an interval that overlaps the window.
    pub(super) fn meets(&self, from: Instant, to: Instant) -> bool {
        self.ends().is_some_and(|(first, end)| to >= first && from < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_open_between_its_ends_while_the_work_goes_on() {
        let args = WindowOptions {
            from: Some(Duration::from_micros(2)),
            until: Some(Duration::from_micros(4)),
            slowest: None,
        };
        let window = WorkWindow::new(args);
        let at = |micros: u64| Instant::ZERO + Duration::from_micros(micros);
        assert!(!window.has(at(3)));
        window.begin(at(10));
        assert_eq!([11, 12, 13, 14].map(|t| window.has(at(t))), [false, true, true, false]);
        assert!(window.meets(at(0), at(12)) && window.meets(at(13), at(20)) && !window.meets(at(14), at(20)));
        assert_eq!(window.end(at(20)), None);
        assert!(!window.has(at(13)));
        window.begin(at(10));
        let behind = window.end(at(11)).unwrap();
        assert!(behind.message.contains("which took 1"), "{behind:?}");
    }
}
