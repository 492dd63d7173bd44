//! Deallocation of whole pages (G9).

use crate::cache::buffer::Want;
use crate::host::slices::Slice;
use crate::host::state::Host;
use crate::mapping::{Mapping, pin};
use crate::terms::units::Frame;
use aster_ports::host::HostStatus;

impl<M: Mapping> Host<M> {
    /// Unmaps `pages` pages from the slice's page on; they read as zeroes afterwards. With force unit
    /// access the trim is journaled, so that no power cut brings the old data back.
    pub(crate) async fn unmap_slice(&self, slice: &Slice, pages: u32, fua: bool) -> Result<(), HostStatus> {
        for frame in (slice.frame.0..slice.frame.0 + pages).map(Frame) {
            // The page is pinned first, since that may wait: a page that isn't in the buffer must be
            // unmapped right after the look into the buffer.
            let pin =
                pin!(self.mapping, self.journal.units.first_of(frame)).map_err(|_| HostStatus::WriteFault)?;
            let buffered = self.cache.find(frame).is_some();
            if buffered {
                let (entry, _) = self.cache.lock(frame, Want::Write).await?;
                self.mapping.unmap(&pin);
                self.cache.drop_entry(entry);
            } else {
                self.mapping.unmap(&pin);
            }
        }
        if fua { self.journal.log_trims().await } else { Ok(()) }
    }
}
