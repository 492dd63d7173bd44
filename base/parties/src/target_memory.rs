//! Memory of a host for targets that let the drive move pages to and from their own buffers.

use alloc::vec;
use alloc::vec::Vec;
use aster_ports::dram::{Buffers, SharedDram};
use aster_ports::link::{BadAddress, HostMemory};
use aster_units::{BufferId, Content, SECTOR_BYTES};
use core::ops::Range;

/// A byte region for queues and lists, and the target's page buffers, each in its own content: DMA of a
/// drive that keeps fingerprints moves the tags of data buffers, and the bytes of metadata buffers.
///
/// | addresses | what |
/// |---|---|
/// | from [`BYTES_BASE`](TargetMemory::BYTES_BASE) | bytes |
/// | from [`BUFFERS_BASE`](TargetMemory::BUFFERS_BASE) | page buffers, one after the other |
pub struct TargetMemory {
    bytes: Vec<u8>,
    buffers: SharedDram,
}

impl TargetMemory {
    /// Where the byte region begins. There is no memory below, so that address zero is an error.
    pub const BYTES_BASE: u64 = 1 << 20;
    /// Where the page buffers begin.
    pub const BUFFERS_BASE: u64 = 1 << 40;

    /// Memory of `bytes` bytes, all zero, and of `buffers`.
    pub fn new(bytes: usize, buffers: &SharedDram) -> Self {
        TargetMemory { bytes: vec![0; bytes], buffers: SharedDram::clone(buffers) }
    }

    /// The address of byte `offset` of a page buffer. Offsets count host bytes, whatever the content.
    pub fn address_of(&self, buffer: BufferId, offset: u32) -> u64 {
        let page = (self.buffers.borrow().sectors() * SECTOR_BYTES) as u64;
        TargetMemory::BUFFERS_BASE + u64::from(buffer.0) * page + u64::from(offset)
    }

    /// The bytes at an address of the byte region.
    ///
    /// # Errors
    /// When part of the range is not in the byte region.
    pub fn bytes(&self, address: u64, length: usize) -> Result<&[u8], BadAddress> {
        self.range(address, length).and_then(|range| self.bytes.get(range)).ok_or(BadAddress(address))
    }
    /// As [`TargetMemory::bytes`], mutable.
    ///
    /// # Errors
    /// As [`TargetMemory::bytes`].
    pub fn bytes_mut(&mut self, address: u64, length: usize) -> Result<&mut [u8], BadAddress> {
        let range = self.range(address, length);
        range.and_then(|range| self.bytes.get_mut(range)).ok_or(BadAddress(address))
    }
    fn range(&self, address: u64, length: usize) -> Option<Range<usize>> {
        let start = usize::try_from(address.checked_sub(TargetMemory::BYTES_BASE)?).ok()?;
        Some(start..start.checked_add(length)?)
    }
}

/// The buffer at `address` and the range of its content that `count` bytes of this content take, from
/// there on. `None` if they don't lie within one buffer of that content.
fn in_buffer(
    buffers: &Buffers,
    address: u64,
    count: usize,
    content: Content,
) -> Option<(BufferId, Range<usize>)> {
    let page = buffers.sectors() * SECTOR_BYTES;
    let at = address.checked_sub(TargetMemory::BUFFERS_BASE)?;
    let buffer = u32::try_from(at / page as u64).ok()?;
    if buffer >= buffers.data_buffers() + buffers.metadata_buffers() {
        return None;
    }
    let (buffer, offset) = (BufferId(buffer), (at % page as u64) as usize);
    let ratio = SECTOR_BYTES / content.sector_len();
    let fits = buffers.content_of(buffer) == content
        && offset.is_multiple_of(ratio)
        && offset / ratio + count <= page / ratio;
    fits.then(|| (buffer, offset / ratio..offset / ratio + count))
}

impl HostMemory for TargetMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        if address < TargetMemory::BUFFERS_BASE {
            into.copy_from_slice(self.bytes(address, into.len())?);
            return Ok(());
        }
        self.read_as(address, into, Content::Full)
    }
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        if address < TargetMemory::BUFFERS_BASE {
            self.bytes_mut(address, from.len())?.copy_from_slice(from);
            return Ok(());
        }
        self.write_as(address, from, Content::Full)
    }
    fn read_tags(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        self.read_as(address, into, Content::Fingerprint)
    }
    fn write_tags(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        self.write_as(address, from, Content::Fingerprint)
    }
}

impl TargetMemory {
    fn read_as(&self, address: u64, into: &mut [u8], content: Content) -> Result<(), BadAddress> {
        let buffers = self.buffers.borrow();
        let (buffer, range) = in_buffer(&buffers, address, into.len(), content).ok_or(BadAddress(address))?;
        into.copy_from_slice(&buffers.page(buffer)[range]);
        Ok(())
    }
    fn write_as(&self, address: u64, from: &[u8], content: Content) -> Result<(), BadAddress> {
        let mut buffers = self.buffers.borrow_mut();
        let (buffer, range) = in_buffer(&buffers, address, from.len(), content).ok_or(BadAddress(address))?;
        buffers.page_mut(buffer)[range].copy_from_slice(from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::dram::Dram;

    fn memory() -> TargetMemory {
        TargetMemory::new(64, &Dram::new(Content::Fingerprint, 4, 0, 2, 1, 0))
    }

    #[test]
    fn data_buffers_take_tags_and_metadata_buffers_take_bytes() {
        let mut memory = memory();
        let data = memory.address_of(BufferId(1), 8192);
        memory.write_tags(data, &[7; 16]).unwrap();
        assert_eq!(memory.buffers.borrow().page(BufferId(1))[16..], [7; 16]);
        let mut tag = [0; 8];
        memory.read_tags(data + 4096, &mut tag).unwrap();
        assert_eq!((tag, memory.read(data, &mut tag)), ([7; 8], Err(BadAddress(data))));
        let metadata = memory.address_of(BufferId(2), 5);
        memory.write(metadata, &[1, 2]).unwrap();
        assert_eq!(memory.buffers.borrow().page(BufferId(2))[4..8], [0, 1, 2, 0]);
        assert_eq!(memory.write_tags(metadata, &[0; 8]), Err(BadAddress(metadata)));
    }

    #[test]
    fn what_lies_outside_of_it_is_refused() {
        let mut memory = memory();
        let end = memory.address_of(BufferId(1), 12_288);
        for address in [end, end + 1, memory.address_of(BufferId(3), 0), u64::MAX] {
            assert_eq!(memory.write_tags(address, &[0; 16]), Err(BadAddress(address)));
        }
        for address in [0, TargetMemory::BYTES_BASE - 1, TargetMemory::BYTES_BASE + 61] {
            assert_eq!(memory.write(address, &[0; 4]), Err(BadAddress(address)));
        }
        memory.write(TargetMemory::BYTES_BASE + 60, &[1; 4]).unwrap();
        assert_eq!(memory.bytes(TargetMemory::BYTES_BASE + 60, 4), Ok(&[1; 4][..]));
    }
}
