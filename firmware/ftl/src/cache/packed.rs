//! Pages that are put together of units of several entries.

use crate::cache::buffer::EntryId;
use crate::terms::reused::Clear;
use alloc::vec::Vec;
use aster_units::BufferId;
use core::ops::Range;

/// A unit on its way into a page.
pub(super) struct PackedUnit<P> {
    pub(super) entry: EntryId,
    // In the entry, and in the page.
    pub(super) from: u32,
    pub(super) slot: u32,
    // Until the map has its new place.
    pub(super) pin: P,
}

/// A page that is put together.
pub(super) struct PackedPage {
    // Among those of its packing.
    pub(super) entries: Range<usize>,
    pub(super) units: Range<usize>,
    // An entry lacks granules of its units even after its fill.
    pub(super) has_lost: bool,
    pub(super) lost_sectors: u16,
    pub(super) buffer: BufferId,
}

impl PackedPage {
    /// It can't be programmed out of an entry.
    pub(super) fn needs_buffer(&self) -> bool {
        self.entries.len() > 1 || self.has_lost
    }
}

/// Pages that are put together to be programmed to one word line.
pub(super) struct Packing<P> {
    // Entries that go along, with the number of their page, and the slots that each page has left.
    pub(super) chosen: Vec<(EntryId, usize)>,
    pub(super) room: Vec<u32>,
    // What has joined, one page behind the other.
    pub(super) entries: Vec<EntryId>,
    pub(super) units: Vec<PackedUnit<P>>,
    pub(super) pages: Vec<PackedPage>,
}

impl<P> Default for Packing<P> {
    fn default() -> Self {
        let (chosen, room, entries) = (Vec::new(), Vec::new(), Vec::new());
        Packing { chosen, room, entries, units: Vec::new(), pages: Vec::new() }
    }
}

impl<P> Clear for Packing<P> {
    fn clear(&mut self) {
        self.chosen.clear();
        self.room.clear();
        self.entries.clear();
        self.units.clear();
        self.pages.clear();
    }
}

impl<P> Packing<P> {
    pub(super) fn pins(&self, page: usize) -> impl Iterator<Item = (u32, &P)> {
        self.units[self.pages[page].units.clone()].iter().map(|unit| (unit.slot, &unit.pin))
    }
}
