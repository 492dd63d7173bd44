//! Pages that are assembled of units of several entries.

use crate::cache::buffer::EntryId;
use crate::terms::reused::Clear;
use alloc::vec::Vec;
use aster_units::BufferId;
use core::ops::Range;

/// A unit on its way into a page.
pub(super) struct PackedUnit<P> {
    pub(super) entry: EntryId,
    // The slot in the entry and the slot in the page.
    pub(super) from: u32,
    pub(super) slot: u32,
    // Held until the map has the unit's new place.
    pub(super) pin: P,
}

/// A page that is being assembled.
pub(super) struct PackedPage {
    // Its entries, as a range of the packing's.
    pub(super) entries: Range<usize>,
    pub(super) units: Range<usize>,
    // An entry still lacks granules of its units after it was filled.
    pub(super) has_lost: bool,
    pub(super) lost_sectors: u16,
    pub(super) buffer: BufferId,
}

impl PackedPage {
    /// Whether the page can't be programmed directly from an entry.
    pub(super) fn needs_buffer(&self) -> bool {
        self.entries.len() > 1 || self.has_lost
    }
}

/// Pages that are assembled to be programmed to one word line.
pub(super) struct Packing<P> {
    // The entries that are evicted together, each with the number of its page, and the slots that each page
    // has left.
    pub(super) chosen: Vec<(EntryId, usize)>,
    pub(super) room: Vec<u32>,
    // The entries that have joined, page after page.
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
