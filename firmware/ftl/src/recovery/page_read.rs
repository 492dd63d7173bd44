//! Reading whole pages, and what they are found to hold.

use crate::mapping::Mapping;
use crate::recovery::state::Recovery;
use crate::terms::cause::Cause;
use crate::terms::oob::{COUNT_MAX, OobRecord, PageKind, UnitRecord};
use aster_ports::flash::{FlashStatus, Outcome, Tag};
use aster_units::{BufferId, LunIndex, Ppa};

/// What a page was found to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probed {
    /// Nothing was programmed.
    Erased,
    /// The power went while the page was programmed or its block erased, or the page has become unreadable.
    Torn,
    /// A page with this record, and the unit in its first slot.
    Page(OobRecord),
}

impl<M: Mapping> Recovery<M> {
    /// Begins to read a whole page.
    pub(super) async fn begin_whole_read(&self, at: Ppa, into: BufferId) -> Tag {
        self.blocks.begin_read(at, self.pages.whole(), into, Cause::Metadata).await
    }
    /// What a page that was read as a whole holds.
    pub(super) fn found(&self, outcome: &Outcome, buffer: BufferId) -> Probed {
        if outcome.erased && outcome.status == FlashStatus::Done {
            return Probed::Erased;
        }
        // A page whose program has ended has a readable sector, unless the medium has lost the whole page.
        let all = self.pages.whole().mask();
        let torn = match outcome.status {
            FlashStatus::Done => false,
            FlashStatus::Uncorrectable => outcome.oob_failed || outcome.failed_sectors & all == all,
            FlashStatus::Failed | FlashStatus::Error | FlashStatus::Busy | FlashStatus::Dead => true,
        };
        let record = if torn { None } else { self.pages.record(buffer) };
        // No drive gives out a number that leaves no room for greater ones.
        record.filter(|record| record.sequence <= COUNT_MAX).map_or(Probed::Torn, Probed::Page)
    }
    /// The unit in a slot of a data page that was found.
    pub(super) fn unit_found(&self, record: &OobRecord, buffer: BufferId, slot: u32) -> Option<UnitRecord> {
        let unit = self.pages.unit_record(buffer, slot)?;
        (record.kind == PageKind::Data && unit.sequence <= COUNT_MAX).then_some(unit)
    }
    /// A buffer for the `n`th of the metadata pages that are read side by side.
    pub(super) fn probe_buffer(&self, n: usize) -> BufferId {
        self.pages.dram().borrow().metadata_buffer(n as u32)
    }
    /// A buffer for the `n`th of the data pages that are read side by side. It keeps content in the same form
    /// as they do.
    pub(super) fn data_buffer(&self, n: usize) -> BufferId {
        BufferId(self.runtime.buffers.gc(LunIndex(n as u32), 0))
    }
}
