//! Deallocation of whole pages (G9).

use crate::buffer::{EntryId, Want};
use crate::drive::Drive;
use crate::slice::Slice;
use aster_ports::host::HostStatus;
use aster_units::{Lpn, Ppa};

impl Drive {
    /// Unmaps pages from the slice's on; they read as zeroes afterwards.
    pub(crate) async fn unmap_slice(&self, slice: &Slice, pages: u32) -> Result<(), HostStatus> {
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
        Ok(())
    }
    fn drop_entry(&self, entry: EntryId) {
        self.buffer.borrow_mut().discard(entry);
        self.entry_changed(entry);
    }
    fn unmap(&self, lpn: Lpn) {
        if self.map.borrow().get(lpn).is_some() {
            self.mark_dirty();
            self.remap(lpn, Ppa::NONE);
        }
    }
}
