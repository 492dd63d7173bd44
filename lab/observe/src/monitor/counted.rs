//! What parts of the drive count by themselves: packets, and what a map on flash found in memory.

use super::module::{MonitorModule, TableEntry};
use super::names::ShippedModule;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Counter, DriveCounters, Event};
use aster_units::{Duration, Instant};

/// A counter, with its values when the module was made and at the last sample.
struct Counted {
    now: Counter,
    began: [u64; 2],
    before: [u64; 2],
}

impl Counted {
    fn new(counter: &Counter) -> Self {
        let began = counter();
        Counted { now: Rc::clone(counter), began, before: began }
    }
    /// What was counted since the module was made, and since the last sample.
    fn take(&mut self) -> [(u64, u64); 2] {
        let now = (self.now)();
        let before = core::mem::replace(&mut self.before, now);
        // A drive that has gone counts nothing.
        [0, 1].map(|of| (now[of].saturating_sub(self.began[of]), now[of].saturating_sub(before[of])))
    }
}

/// Packets of a drive whose firmware is PCIe's transaction layer (S3). Other drives have no entries.
///
/// A sample that ends by an event counts up to that event.
pub struct Packets(Option<Counted>);

impl Packets {
    /// The packets that `counters` tell of.
    pub fn new(counters: &DriveCounters) -> Self {
        Packets(counters.packets.as_ref().map(Counted::new))
    }
}

impl MonitorModule for Packets {
    fn name(&self) -> &str {
        ShippedModule::Packets.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        if self.0.is_none() {
            return Vec::new();
        }
        vec![
            TableEntry::new("packets_built_per_second", "packets that firmware built for the host"),
            TableEntry::total("packets_built", "packets that firmware built for the host"),
            TableEntry::new("packets_received_per_second", "packets of the host, completions and requests"),
            TableEntry::total("packets_received", "packets of the host, completions and requests"),
        ]
    }
    fn event(&mut self, _: Instant, _: &Event) {}
    fn sample(&mut self, _: Instant, over: Duration, entries: &mut [f64]) {
        let Some(counted) = &mut self.0 else { return };
        for (entries, (total, since)) in entries.chunks_exact_mut(2).zip(counted.take()) {
            entries[0] = since as f64 / over.as_secs_f64();
            entries[1] = total as f64;
        }
    }
}

/// What a map on flash found in the memory that it has (S24). Other drives have no entries.
///
/// A sample that ends by an event counts up to that event.
pub struct MapCache(Option<Counted>);

impl MapCache {
    /// The look-ups that `counters` tell of.
    pub fn new(counters: &DriveCounters) -> Self {
        MapCache(counters.map.as_ref().map(Counted::new))
    }
}

impl MonitorModule for MapCache {
    fn name(&self) -> &str {
        ShippedModule::MapCache.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        if self.0.is_none() {
            return Vec::new();
        }
        vec![
            TableEntry::new("map_hit_share", "share of look-ups whose entry of the map was in memory"),
            TableEntry::total("map_hits", "look-ups whose entry of the map was in memory"),
            TableEntry::total("map_misses", "look-ups whose entry of the map was on flash"),
        ]
    }
    fn event(&mut self, _: Instant, _: &Event) {}
    fn sample(&mut self, _: Instant, _: Duration, entries: &mut [f64]) {
        let Some(counted) = &mut self.0 else { return };
        let [(hits, hit), (misses, missed)] = counted.take();
        // Without look-ups there is no share.
        let share = if hit + missed == 0 { f64::NAN } else { hit as f64 / (hit + missed) as f64 };
        entries.copy_from_slice(&[share, hits as f64, misses as f64]);
    }
}
