//! Filling entries from flash.

use crate::cache::buffer::EntryId;
use crate::cache::host_read::HostTransfer;
use crate::cache::state::Cache;
use crate::mapping::{Mapping, pin};
use crate::page::buffers::Granules;
use crate::page::buffers::span;
use crate::terms::cause::Cause;
use crate::terms::oob::PageKind;
use crate::terms::units::Frame;
use aster_events::Function;
use aster_units::{BufferId, Ppa, SectorRange};

impl<M: Mapping> Cache<M> {
    /// Fills in the wanted granules that an entry lacks: with zeroes if the page is unmapped, else from
    /// flash. Granules that can't be read stay invalid. The caller ensures that no other task changes the
    /// entry meanwhile. `transfer` goes along with a read that goes straight to the entry.
    pub(crate) async fn fill(
        &self,
        entry: EntryId,
        wanted: Granules,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) {
        self.journal.spend(Function::AddressTranslator, self.journal.config.costs.translate);
        self.journal.core.settle().await;
        let (frame, missing) = {
            let buffer = self.buffer.borrow();
            (buffer.frame(entry), wanted & !buffer.valid(entry))
        };
        if missing == 0 {
            return;
        }
        // If the map can't be read, the granules stay invalid, too.
        let Ok(pin) = pin!(self.mapping, self.journal.units.first_of(frame)) else { return };
        let at = self.mapping.get(&pin);
        drop(pin);
        if !at.is_some() {
            self.journal.pages().zero(BufferId(entry.0), missing);
            self.buffer.borrow_mut().add_valid(entry, missing);
            return;
        }
        let ppa = self.journal.units.page_of(at);
        let sectors = span(self.journal.pages().sectors_of(missing));
        // The read may go straight to the entry if it overwrites no data that only the entry holds.
        let direct = {
            let buffer = self.buffer.borrow();
            !buffer.is_dirty(entry)
                || buffer.valid(entry) & self.journal.pages().granules_of(sectors.mask()) == 0
        };
        if direct {
            self.fill_direct(entry, frame, ppa, sectors, cause, transfer).await;
        } else {
            self.fill_by_merge(entry, frame, sectors, missing, cause).await;
        }
    }
    async fn fill_direct(
        &self,
        entry: EntryId,
        frame: Frame,
        ppa: Ppa,
        sectors: SectorRange,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) {
        let into = BufferId(entry.0);
        let lost = self.read_page(ppa, frame, sectors, into, cause, transfer).await;
        let mut buffer = self.buffer.borrow_mut();
        buffer.forget_clean(entry, lost);
        buffer.add_valid(entry, self.journal.pages().granules_of(sectors.mask()) & !lost);
    }
    async fn fill_by_merge(
        &self,
        entry: EntryId,
        frame: Frame,
        sectors: SectorRange,
        missing: Granules,
        cause: Cause,
    ) {
        let merge = self.take_merge_buffer().await;
        // The page's place is looked up after the wait for a merge buffer: garbage collection may have
        // moved the page meanwhile.
        if let Ok(pin) = pin!(self.mapping, self.journal.units.first_of(frame)) {
            let ppa = self.journal.units.page_of(self.mapping.get(&pin));
            drop(pin);
            let lost = self.read_page(ppa, frame, sectors, merge, cause, None).await;
            let good = missing & !lost;
            self.journal.pages().copy_granules(merge, BufferId(entry.0), good);
            self.buffer.borrow_mut().add_valid(entry, good);
        }
        self.give_merge_buffer(merge);
    }
    /// Reads sectors of a logical page. Returns the granules that are lost: those that can't be corrected
    /// now, and those that were already lost when the page was written, as it notes.
    async fn read_page(
        &self,
        ppa: Ppa,
        frame: Frame,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) -> Granules {
        self.journal.blocks().table_mut().read_begins(ppa);
        let outcome = match transfer {
            Some(transfer) => self.read_for_host(ppa, frame, sectors, into, transfer).await,
            None => self.journal.blocks().read(ppa, sectors, into, cause).await,
        };
        self.journal.blocks().read_over(ppa);
        self.journal.blocks().check_retention(ppa, &outcome);
        let (lost, record) = self.journal.media().judge(&outcome, sectors, into);
        if lost != 0 {
            self.journal.count(|s| s.first_lost = s.first_lost.or(Some(ppa)));
        }
        if let Some(record) = record
            && (record.kind, record.lpn) != (PageKind::Data, frame.0)
        {
            // Data of another page must never be returned as this page's.
            self.journal.count(|s| s.uncorrectable_sectors += u64::from(sectors.count));
            return self.journal.pages().granules_of(sectors.mask());
        }
        match record {
            Some(record) if lost != 0 => {
                let failed =
                    self.journal.pages().failed_granules(&outcome) & self.journal.pages().granules_of(lost);
                self.journal.pages().take_notes(into, lost & record.lost_sectors, failed)
            }
            _ => self.journal.pages().granules_of(lost),
        }
    }
}
