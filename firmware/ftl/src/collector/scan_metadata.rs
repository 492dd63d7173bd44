//! Looking after the stored map and the log, which nobody else reads between two power-ons.
//!
//! Each round of the scan ends with all pages of the stored map, and those pages of the log that recovery
//! needs. If one of them fades or can't be read, the map is stored anew, which replaces all of them. If the
//! new pages are as bad because the cells are worn, they must lose half of the remaining margin to the limit
//! before the map is stored again, as with data (`space::refresh`).

use crate::collector::state::Collector;
use crate::journal::map_stripes::{self, part_at};
use crate::mapping::Mapping;
use crate::terms::cause::Cause;
use aster_ports::flash::Outcome;
use aster_units::{BufferId, Ppa};

/// A page of the drive's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetadataPage {
    /// At a place of the stored map.
    Map(u32),
    /// A copy of a line of the log, in a slot.
    Log { slot: usize, line: u32, copy: u32 },
}

impl<M: Mapping> Collector<M> {
    /// The next one to read; `None` while there is data to read.
    pub(crate) fn next_metadata_to_scan(&self) -> Option<MetadataPage> {
        let at = self.scan.metadata.borrow().at()?;
        let page = self.metadata_page(at);
        self.scan.metadata.borrow_mut().go_on(page.is_some());
        page
    }
    fn metadata_page(&self, nth: u32) -> Option<MetadataPage> {
        // While another map is being stored, it is unknown which pages count.
        if self.journal.due.is_storing() {
            return None;
        }
        let (blocks, pages) =
            self.journal.root.read_stored_map(|stored| (stored.blocks.len() as u32, stored.pages));
        let there = blocks * u32::from(self.runtime.geometry.pages_per_block);
        let groups = if self.blocks.sequence.last() == 0 { 0 } else { map_stripes::groups(pages) };
        let places = (map_stripes::places(pages) + groups).min(there);
        let Some(nth) = nth.checked_sub(places) else { return Some(MetadataPage::Map(nth)) };
        let (line, copy) = (nth / self.journal.own.log_copies(), nth % self.journal.own.log_copies());
        let (slot, line) = self.journal.log.needed_line(line as usize)?;
        Some(MetadataPage::Log { slot, line, copy })
    }
    fn place_of_metadata(&self, page: MetadataPage) -> Ppa {
        match page {
            MetadataPage::Map(place) => {
                let root = &self.journal.root;
                root.read_stored_map(|stored| self.journal.own.map_place(&stored.blocks, place))
            }
            MetadataPage::Log { slot, line, copy } => {
                let first = self.journal.own.log_line(self.journal.log.slot_block(slot), line);
                Ppa(first.0 + copy)
            }
        }
    }
    pub(crate) async fn scan_metadata(&self, page: MetadataPage) {
        let buffer = self.pages.dram().borrow().metadata_buffer(self.runtime.buffers.metadata_scan());
        let (at, commit) = (self.place_of_metadata(page), self.journal.log.naming_page());
        let outcome = self.blocks.read(at, self.pages.whole(), buffer, Cause::Scan).await;
        // Another map may have taken the place of this one meanwhile.
        if self.journal.due.is_storing() || self.journal.log.naming_page() != commit {
            return;
        }
        let is_there = match page {
            MetadataPage::Map(place) => self.is_map_page(place, &outcome, buffer),
            MetadataPage::Log { .. } => self.is_log_page(&outcome, buffer),
        };
        let fades =
            self.scan.metadata.borrow_mut().is_faded(outcome.worst_chunk, self.runtime.config.care.refresh);
        if !is_there || fades {
            self.scan.metadata.borrow_mut().break_off();
            self.journal.due.renew_map();
        }
    }
    fn is_map_page(&self, place: u32, outcome: &Outcome, buffer: BufferId) -> bool {
        self.journal.root.read_stored_map(|stored| {
            self.journal.own.is_part(stored, part_at(place, stored.pages), outcome, buffer)
        })
    }
    // If it is unknown which lines recovery needs, earlier lines are read as well. That does no harm.
    fn is_log_page(&self, outcome: &Outcome, buffer: BufferId) -> bool {
        self.journal.own.log_page_in(outcome, buffer).is_some()
    }
}
