//! The operation monitor (C45 to C48): modules that listen to the drive, each with entries of its own in one statistics table.
//!
//! Modules only listen: simulated time is the same with and without them, and no bandwidth of the host's is used (C48).

mod firmware;
mod modules;

pub use firmware::FirmwareTime;
pub use modules::{
    Bandwidth, BitErrors, Channels, FlashLatency, OutstandingCommands, Ways, WriteAmplification,
};

use crate::{Event, EventSink, Firmware};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Duration, Geometry, Instant};
use core::ops::Range;

/// An entry of the statistics table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name, `snake_case`, the unit at its end.
    pub name: String,
    /// What it says.
    pub help: &'static str,
}

impl Entry {
    /// An entry.
    pub fn new(name: impl Into<String>, help: &'static str) -> Self {
        Entry { name: name.into(), help }
    }
}

/// A module of the operation monitor (C45). Own ones can be inserted.
pub trait MonitorModule {
    /// The entries that the module fills, in their order.
    fn entries(&self) -> Vec<Entry>;
    /// Hears an event.
    fn event(&mut self, at: Instant, event: &Event);
    /// Writes its entries for the time from the sample before to `until`, `over` long, and begins the next sample.
    /// What there is nothing to say about is [`f64::NAN`].
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]);
}

/// A sample of all modules.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Begin.
    pub from: Instant,
    /// End.
    pub until: Instant,
    /// The table: an element an entry; NaN where there is nothing to say.
    pub values: &'a [f64],
}

/// The statistics manager (C46): gives each module its entries of the table, tells it events, and takes samples.
///
/// A sample is taken at the first event after an interval has ended. Intervals in which nothing happened are joined to one.
pub struct OperationMonitor<F> {
    modules: Vec<(Box<dyn MonitorModule>, Range<usize>)>,
    entries: Vec<Entry>,
    table: Vec<f64>,
    interval: Duration,
    from: Instant,
    /// True when the current interval has had an event.
    heard: bool,
    each: F,
}

impl<F: FnMut(&[Entry], Sample<'_>)> OperationMonitor<F> {
    /// Takes a sample every `interval` from `from` on, and gives each to `each`.
    pub fn new(modules: Vec<Box<dyn MonitorModule>>, interval: Duration, from: Instant, each: F) -> Self {
        assert!(!interval.is_zero(), "an interval takes time");
        let mut entries = Vec::new();
        let modules: Vec<_> = modules
            .into_iter()
            .map(|module| {
                let first = entries.len();
                entries.extend(module.entries());
                (module, first..entries.len())
            })
            .collect();
        let table = vec![f64::NAN; entries.len()];
        OperationMonitor { modules, entries, table, interval, from, heard: false, each }
    }

    /// The table's entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes the samples that are due at `at`: for times at which nothing happens.
    pub fn advance(&mut self, at: Instant) {
        while at.since(self.from) >= self.interval {
            let due = at.since(self.from).as_picos() / self.interval.as_picos();
            let intervals = if self.heard { 1 } else { due };
            self.heard = false;
            self.take(self.from + Duration::from_picos(self.interval.as_picos() * intervals));
        }
    }

    /// Takes a sample at once, for what has passed of the interval, if any time has.
    pub fn sample_now(&mut self, at: Instant) {
        self.advance(at);
        if at > self.from {
            self.heard = false;
            self.take(at);
        }
    }

    fn take(&mut self, until: Instant) {
        let over = until.since(self.from);
        for (module, range) in &mut self.modules {
            module.sample(until, over, &mut self.table[range.clone()]);
        }
        (self.each)(&self.entries, Sample { from: self.from, until, values: &self.table });
        self.from = until;
    }
}

impl<F: FnMut(&[Entry], Sample<'_>)> EventSink for OperationMonitor<F> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.advance(at);
        self.heard = true;
        for (module, _) in &mut self.modules {
            module.event(at, event);
        }
    }
}

/// The modules that come along, for a drive of this shape and firmware: one entry a channel, one a function of the firmware that
/// costs time, and with `each_way` one a way.
pub fn modules(geometry: &Geometry, firmware: &Firmware, each_way: bool) -> Vec<Box<dyn MonitorModule>> {
    vec![
        Box::new(Bandwidth::default()),
        Box::new(WriteAmplification::new(geometry)),
        Box::new(OutstandingCommands::default()),
        Box::new(Channels::new(geometry)),
        Box::new(Ways::new(geometry, each_way)),
        Box::new(FlashLatency::new(geometry)),
        Box::new(BitErrors::default()),
        Box::new(FirmwareTime::new(firmware)),
    ]
}

#[cfg(test)]
mod tests;
