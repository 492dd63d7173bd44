//! Deallocation of whole mapping units (G9).

use crate::cache::buffer::Want;
use crate::host::slices::Slice;
use crate::host::state::Host;
use crate::mapping::{Mapping, pin, room};
use crate::terms::units::Frame;
use aster_ports::host::HostStatus;

impl<M: Mapping> Host<M> {
    /// Unmaps `pages` frames from the slice's on, or the units that the slice touches if it names bytes. They
    /// read as zeroes afterwards. With force unit access the trim is journaled, so that no power cut brings
    /// the old data back.
    pub(crate) async fn unmap_slice(&self, slice: &Slice, pages: u32, fua: bool) -> Result<(), HostStatus> {
        let all = self.runtime.units.all();
        let part = if slice.bytes == 0 { all } else { self.pages.units_of(self.granules_in(slice)) };
        for frame in (slice.frame.0..slice.frame.0 + pages).map(Frame) {
            let room = room!(self.mapping, part.count_ones()).map_err(|_| HostStatus::ReadOnly)?;
            // The units are pinned first, since pinning may wait, and a unit that isn't in the buffer must be
            // unmapped right after the buffer was searched.
            let mut units = self.runtime.units.units_in(frame, part).map(|(_, lpn)| lpn);
            let first = units.next().ok_or(HostStatus::WriteFault)?;
            let first = pin!(self.mapping, first).map_err(|_| HostStatus::WriteFault)?;
            let others = self.mapping.pin_all(units).await.map_err(|_| HostStatus::WriteFault)?;
            let buffered = self.cache.entries.find(frame).is_some();
            let entry = match buffered {
                true => Some(self.cache.lock(frame, Want::Write).await?.0),
                false => None,
            };
            core::iter::once(&first).chain(&*others).for_each(|pin| self.mapping.unmap(&room, pin));
            match entry {
                Some(entry) if part == all => self.cache.entries.discard(entry),
                Some(entry) => self.cache.entries.drop_units(entry, part),
                None => {}
            }
        }
        if fua { self.journal.due.log_trims().await } else { Ok(()) }
    }
}
