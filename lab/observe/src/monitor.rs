//! The operation monitor (C45 to C48): modules that listen to the drive, each with entries of its own in one
//! statistics table.
//!
//! Modules only listen: simulated time is the same with and without them, and they use no host bandwidth
//! (C48).

mod counted;
mod firmware;
mod module;
mod modules;
mod names;
mod shipped;
mod temperature;

pub use counted::{MapCache, Packets};
pub use firmware::FirmwareTime;
pub use module::{EntryKind, MonitorModule, TableEntry};
pub use modules::{
    Bandwidth, BitErrors, Channels, FlashLatency, OutstandingCommands, Ways, WriteAmplification,
};
pub use names::ShippedModule;
pub use temperature::Temperature;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_units::{Duration, Instant};
use core::fmt::{self, Display, Formatter};

/// A sample of all modules.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// When it begins.
    pub from: Instant,
    /// When it ends.
    pub until: Instant,
    /// The table, one element per entry; NaN for an entry without a value.
    pub values: &'a [f64],
}

/// Why a module was not inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InsertError {
    /// A module of this name has been inserted already.
    Module(String),
    /// Another module, or the same one, fills an entry of this name.
    Entry(String),
    /// A name has other characters than lower case letters, digits and underscores, which the formats for
    /// samples can't hold.
    Name(String),
}

impl Display for InsertError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            InsertError::Module(name) => write!(f, "the module {name} is inserted already"),
            InsertError::Entry(name) => write!(f, "another module fills the entry {name}"),
            InsertError::Name(name) => {
                write!(f, "{name:?} has other characters than lower case letters, digits and underscores")
            }
        }
    }
}

impl core::error::Error for InsertError {}

/// A module, and how much of the table is its own.
struct Inserted {
    module: Box<dyn MonitorModule>,
    entries: usize,
    /// When it started to listen.
    since: Instant,
}

/// The statistics manager (C46): gives each module its entries of the table, passes events to it, and
/// takes samples. Modules can be inserted and removed at any time. The table's entries are in the order
/// in which their modules were inserted.
///
/// A sample is taken at the first event after an interval has ended. Intervals without events are merged
/// into one.
pub struct OperationMonitor<F> {
    modules: Vec<Inserted>,
    entries: Vec<TableEntry>,
    table: Vec<f64>,
    interval: Duration,
    from: Instant,
    /// Whether the current interval has had an event.
    heard: bool,
    each: F,
}

impl<F: FnMut(&[TableEntry], Sample<'_>)> OperationMonitor<F> {
    /// Takes a sample every `interval` from `from` on, and passes each sample to `each`. It has no
    /// modules yet.
    pub fn new(interval: Duration, from: Instant, each: F) -> Self {
        assert!(!interval.is_zero(), "an interval takes time");
        let (modules, entries, table) = Default::default();
        OperationMonitor { modules, entries, table, interval, from, heard: false, each }
    }

    /// Inserts a module that listens from `at` on: its first sample covers the time since then. Samples
    /// that are already due are taken without it.
    ///
    /// # Errors
    /// If a name is taken or has other characters. Nothing is inserted then.
    pub fn insert(&mut self, at: Instant, module: Box<dyn MonitorModule>) -> Result<(), InsertError> {
        let is_word = |name: &str| {
            let part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            !name.is_empty() && name.bytes().all(part)
        };
        let name = module.name();
        if self.modules.iter().any(|inserted| inserted.module.name() == name) {
            return Err(InsertError::Module(name.into()));
        }
        let entries = module.entries();
        let names = entries.iter().map(|entry| entry.name.as_str());
        if let Some(name) = names.chain([name]).find(|name| !is_word(name)) {
            return Err(InsertError::Name(name.into()));
        }
        for (place, TableEntry { name, .. }) in entries.iter().enumerate() {
            if self.entries.iter().chain(&entries[..place]).any(|other| other.name == *name) {
                return Err(InsertError::Entry(name.clone()));
            }
        }
        self.advance(at);
        self.table.resize(self.table.len() + entries.len(), f64::NAN);
        self.modules.push(Inserted { module, entries: entries.len(), since: at.max(self.from) });
        self.entries.extend(entries);
        Ok(())
    }

    /// Removes a module and its entries from the table; `None` if there is no module of this name. What
    /// it has heard since the last sample is in no sample.
    pub fn remove(&mut self, name: &str) -> Option<Box<dyn MonitorModule>> {
        let place = self.modules.iter().position(|inserted| inserted.module.name() == name)?;
        let first: usize = self.modules[..place].iter().map(|inserted| inserted.entries).sum();
        let Inserted { module, entries, .. } = self.modules.remove(place);
        self.entries.drain(first..first + entries);
        self.table.drain(first..first + entries);
        Some(module)
    }

    /// The table's entries.
    pub fn entries(&self) -> &[TableEntry] {
        &self.entries
    }

    /// Takes samples so far apart from now on.
    pub fn set_interval(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "an interval takes time");
        self.interval = interval;
    }

    /// Takes the samples that are due at `at`, for times without events.
    pub fn advance(&mut self, at: Instant) {
        while at.since(self.from) >= self.interval {
            let due = at.since(self.from).as_picos() / self.interval.as_picos();
            let intervals = if self.heard { 1 } else { due };
            self.heard = false;
            self.take(self.from + Duration::from_picos(self.interval.as_picos() * intervals));
        }
    }

    /// Takes a sample now, for the part of the interval that has passed, if any.
    pub fn sample_now(&mut self, at: Instant) {
        self.advance(at);
        if at > self.from {
            self.heard = false;
            self.take(at);
        }
    }

    fn take(&mut self, until: Instant) {
        let mut table = self.table.as_mut_slice();
        for Inserted { module, entries, since } in &mut self.modules {
            let (own, others) = table.split_at_mut(*entries);
            module.sample(until, until.since(*since), own);
            (table, *since) = (others, until);
        }
        (self.each)(&self.entries, Sample { from: self.from, until, values: &self.table });
        self.from = until;
    }
}

impl<F: FnMut(&[TableEntry], Sample<'_>)> EventSink for OperationMonitor<F> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.advance(at);
        self.heard = true;
        for inserted in &mut self.modules {
            inserted.module.event(at, event);
        }
    }
}

#[cfg(test)]
mod tests;
