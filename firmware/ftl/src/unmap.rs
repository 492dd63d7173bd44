//! Deallocation of whole pages (G9).

use crate::buffer::{EntryId, Want};
use crate::drive::Drive;
use crate::slice::Slice;
use aster_events::{Event, Function};
use aster_ports::host::HostStatus;
use aster_units::{Lpn, Ppa};

impl Drive {
    /// Unmaps pages from the slice's on; they read as zeroes afterwards.
    /// With force unit access a loss of power doesn't bring back what was there.
    pub(crate) async fn unmap_slice(&self, slice: &Slice, pages: u32, fua: bool) -> Result<(), HostStatus> {
        for lpn in (slice.lpn.0..slice.lpn.0 + pages).map(Lpn) {
            let buffered = self.buffer.borrow().find(lpn).is_some();
            if buffered {
                let (entry, _) = self.hold(lpn, Want::Write).await?;
                self.unmap(lpn);
                self.drop_entry(entry);
            } else {
                self.unmap(lpn);
            }
        }
        if fua { self.log_trims().await } else { Ok(()) }
    }
    fn drop_entry(&self, entry: EntryId) {
        self.buffer.borrow_mut().discard(entry);
        self.entry_changed(entry);
    }
    fn unmap(&self, lpn: Lpn) {
        if !self.map.borrow().get(lpn).is_some() {
            return;
        }
        self.mark_dirty();
        self.spend(Function::AddressTranslator, self.config.costs.translate);
        let sequence = self.next_sequence();
        let from = self.map.borrow_mut().set(lpn, Ppa::NONE);
        {
            let mut blocks = self.blocks.borrow_mut();
            let lun = self.lun_of(lpn);
            blocks.unsettled.unmapped(lun, lpn);
            blocks.clear_valid(from);
            blocks.trimmed(lun, lpn, 1, sequence);
        }
        self.after_program(self.lun_of(lpn));
        self.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: Ppa::NONE.0 });
    }
}
