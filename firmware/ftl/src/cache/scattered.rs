//! Pages that are read together for the units of an entry.

use crate::terms::reused::Clear;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_ports::flash::Tag;
use aster_units::{BufferId, Lpn, Ppa, SectorRange};

/// A unit that is to be read.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) lpn: Lpn,
    /// Its slot in the entry, and its slot in the page that it lies in.
    pub(super) to: u32,
    pub(super) slot: u32,
    /// That page's number among those that are read.
    pub(super) page: usize,
}

/// Pages that are read together.
#[derive(Default)]
pub(super) struct Scattered {
    pub(super) pages: Vec<Ppa>,
    pub(super) units: Vec<Wanted>,
    /// The number of each page, its buffer, and its read.
    pub(super) in_flight: VecDeque<(usize, BufferId, SectorRange, Tag)>,
}

impl Clear for Scattered {
    fn clear(&mut self) {
        self.pages.clear();
        self.units.clear();
        self.in_flight.clear();
    }
}

impl Scattered {
    /// The units of a page.
    pub(super) fn of(&self, page: usize) -> impl Iterator<Item = &Wanted> + Clone {
        self.units.iter().filter(move |unit| unit.page == page)
    }
    /// Leaves out all pages from this number on.
    pub(super) fn truncate(&mut self, pages: usize) {
        self.pages.truncate(pages);
        self.units.retain(|unit| unit.page < pages);
    }
}
