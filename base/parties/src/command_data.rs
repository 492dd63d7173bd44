//! The data of a host's command, as a target moves them: in parts of whole sectors, between bytes of its own
//! and the host, by a page buffer.

use aster_events::{Event, Recorder};
use aster_exec::Exec;
use aster_ports::dram::SharedDram;
use aster_ports::host::{CommandPort, DmaDirection, DmaError, DmaPart, DmaRequest, HostCommand, HostOp};
use aster_units::{BufferId, SECTOR_BYTES};
use core::ops::Range;

/// Part of a command: some sectors, of which the first and the last may be covered in part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPart {
    /// The first sector.
    pub first: u32,
    /// Sectors.
    pub count: u32,
    /// Bytes into the first sector.
    pub skip: usize,
    /// Bytes.
    pub bytes: usize,
    /// Bytes of the command before it.
    pub done: u64,
}

impl DataPart {
    /// Whether it covers all of its sectors in whole.
    pub fn is_whole(&self) -> bool {
        self.skip == 0 && self.bytes == self.count as usize * SECTOR_BYTES
    }
    /// Its sectors.
    pub fn sectors(&self) -> Range<u32> {
        self.first..self.first + self.count
    }
    /// The bytes of one of its sectors that it covers.
    pub fn of_sector(&self, sector: u32) -> Range<usize> {
        let at = (sector - self.first) as usize * SECTOR_BYTES;
        let end = (self.skip + self.bytes).min(at + SECTOR_BYTES);
        self.skip.max(at) - at..end - at
    }
}

/// The parts of a range of bytes, of `most` sectors each at most.
pub fn data_parts(offset: u64, length: u64, most: u32) -> impl Iterator<Item = DataPart> {
    let (end, sector) = (offset + length, SECTOR_BYTES as u64);
    let mut at = offset;
    core::iter::from_fn(move || {
        let begin = at / sector * sector;
        let bytes = (end - at).min(begin + u64::from(most) * sector - at);
        let part = DataPart {
            first: (at / sector) as u32,
            count: ((at + bytes).div_ceil(sector) - at / sector) as u32,
            skip: (at - begin) as usize,
            bytes: bytes as usize,
            done: at - offset,
        };
        at += bytes;
        (bytes > 0).then_some(part)
    })
}

/// What moves the data of commands.
#[derive(Clone, Copy)]
pub struct DataMover<'a> {
    /// The executor of the task that waits.
    pub exec: &'a Exec,
    /// I5, its back side.
    pub commands: &'a CommandPort,
    /// The page buffers.
    pub buffers: &'a SharedDram,
    /// Where the events of transfers go.
    pub recorder: &'a Recorder,
}

impl DataMover<'_> {
    /// Moves the bytes of a part, a page buffer at a time, between the host and `data`, which holds the
    /// part's sectors as the drive keeps content.
    ///
    /// # Errors
    /// When the host's memory can't be reached, or the host is gone.
    pub async fn transfer(
        &self,
        command: &HostCommand,
        part: &DataPart,
        direction: DmaDirection,
        buffer: BufferId,
        data: &mut [u8],
    ) -> Result<(), DmaError> {
        let (page, ratio) = {
            let buffers = self.buffers.borrow();
            (buffers.sectors() * SECTOR_BYTES, SECTOR_BYTES / buffers.content().sector_len())
        };
        let from_host = direction == DmaDirection::FromHost;
        for at in (0..part.bytes).step_by(page) {
            let bytes = page.min(part.bytes - at);
            let here = (part.skip + at) / ratio..(part.skip + at + bytes) / ratio;
            if !from_host {
                let mut buffers = self.buffers.borrow_mut();
                buffers.page_mut(buffer)[..here.len()].copy_from_slice(&data[here.clone()]);
            }
            let request = DmaRequest {
                command: command.id,
                direction,
                part: DmaPart::Data,
                offset: part.done as u32 + at as u32,
                buffer,
                buffer_offset: 0,
                length: bytes as u32,
                after: None,
            };
            let (task, compare) = (self.exec.current().number(), command.op == HostOp::Compare);
            let (bytes, number) = (bytes as u32, buffer.0);
            let queued = || Event::TransferQueued { task, from_host, bytes, buffer: number, compare };
            self.recorder.emit(self.exec.now(), queued);
            let moved = self.commands.dma(request).await;
            self.recorder.emit(self.exec.now(), || Event::TransferEnded { task, failed: moved.is_err() });
            moved?;
            if from_host {
                let buffers = self.buffers.borrow();
                data[here.clone()].copy_from_slice(&buffers.page(buffer)[..here.len()]);
            }
        }
        Ok(())
    }
    /// Brings the host's bytes of a part into `data`. Returns whether they are what stood there.
    ///
    /// # Errors
    /// As [`DataMover::transfer`].
    pub async fn compare(
        &self,
        command: &HostCommand,
        part: &DataPart,
        buffer: BufferId,
        data: &mut [u8],
    ) -> Result<bool, DmaError> {
        let ratio = SECTOR_BYTES / self.buffers.borrow().content().sector_len();
        let here = part.skip / ratio..(part.skip + part.bytes) / ratio;
        let stored = data[here.clone()].to_vec();
        self.transfer(command, part, DmaDirection::FromHost, buffer, data).await?;
        Ok(data[here] == stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn parts_cover_a_range_once_and_know_their_sectors() {
        for (offset, length) in [(0, 4096), (512, 512), (3584, 1024), (4096, 12_800), (100 << 10, 300 << 10)]
        {
            let parts: Vec<_> = data_parts(offset, length, 4).collect();
            let mut at = offset;
            for part in &parts {
                assert_eq!(at, u64::from(part.first) * 4096 + part.skip as u64);
                assert_eq!((part.done, part.count <= 4), (at - offset, true));
                let covered: usize = part.sectors().map(|sector| part.of_sector(sector).len()).sum();
                assert_eq!(covered, part.bytes);
                assert_eq!(part.is_whole(), part.bytes == part.count as usize * 4096);
                at += part.bytes as u64;
            }
            assert_eq!(at, offset + length);
        }
        assert_eq!(data_parts(4096, 0, 4).count(), 0);
    }
}
