//! What a module of the operation monitor is, and what it fills.

use crate::Event;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use aster_units::{Duration, Instant};

/// An entry of the statistics table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// Its name, `snake_case`, the unit at its end.
    pub name: String,
    /// What it says.
    pub help: &'static str,
    /// Of which time it tells.
    pub kind: EntryKind,
}

/// Of which time an entry tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// Of one sample.
    Gauge,
    /// Of all the time since its module was inserted: whoever misses samples misses nothing of it.
    Counter,
}

impl TableEntry {
    /// An entry that tells of a sample.
    pub fn new(name: impl Into<String>, help: &'static str) -> Self {
        TableEntry { name: name.into(), help, kind: EntryKind::Gauge }
    }
    /// An entry that counts since its module was inserted, and never goes down. Its name is `counted` and
    /// `_total`.
    pub fn total(counted: &str, help: &'static str) -> Self {
        TableEntry { name: format!("{counted}_total"), help, kind: EntryKind::Counter }
    }
}

/// A module of the operation monitor (C45). [`ShippedModule`](super::ShippedModule) names those that come
/// along; own ones are inserted like them.
pub trait MonitorModule {
    /// By which it is removed: `snake_case`.
    fn name(&self) -> &str;
    /// The entries that the module fills, in their order.
    fn entries(&self) -> Vec<TableEntry>;
    /// Hears an event.
    fn event(&mut self, at: Instant, event: &Event);
    /// Writes its entries for the time from the sample before to `until`, `over` long, and begins the next
    /// sample. What there is nothing to say about is [`f64::NAN`].
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]);
}
