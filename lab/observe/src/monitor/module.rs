//! The interface of a module of the operation monitor, and the table entries that it fills.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::Event;
use aster_units::{Duration, Instant};

/// An entry of the statistics table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// Its name, `snake_case`, the unit at its end.
    pub name: String,
    /// What it means.
    pub help: &'static str,
    /// The time that it covers.
    pub kind: EntryKind,
}

/// The time that an entry covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// One sample.
    Gauge,
    /// All the time since its module was inserted. A reader who misses samples loses nothing of it.
    Counter,
}

impl TableEntry {
    /// An entry that covers one sample.
    pub fn new(name: impl Into<String>, help: &'static str) -> Self {
        TableEntry { name: name.into(), help, kind: EntryKind::Gauge }
    }
    /// An entry that counts since its module was inserted and never decreases. Its name is `counted`
    /// followed by `_total`.
    pub fn total(counted: &str, help: &'static str) -> Self {
        TableEntry { name: format!("{counted}_total"), help, kind: EntryKind::Counter }
    }
}

/// A module of the operation monitor (C45). [`ShippedModule`](super::ShippedModule) names the modules
/// that ship with the drive; readers' own modules are inserted in the same way.
pub trait MonitorModule {
    /// The name by which it is removed, in `snake_case`.
    fn name(&self) -> &str;
    /// The entries that the module fills, in order.
    fn entries(&self) -> Vec<TableEntry>;
    /// Takes notice of an event.
    fn event(&mut self, at: Instant, event: &Event);
    /// Writes its entries for the sample that ends at `until` and is `over` long, and starts the next
    /// sample. An entry without a value is [`f64::NAN`].
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]);
}
