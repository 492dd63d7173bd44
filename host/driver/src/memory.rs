use alloc::vec;
use alloc::vec::Vec;
use aster_ports::link::{BadAddress, HostMemory};
use aster_units::SECTOR_BYTES;
use core::cell::Cell;
use core::ops::Range;

/// Bytes of a host memory page: the driver sets CC.MPS to 0 (NVMe 1.4 §3.1.5).
pub const HOST_PAGE_BYTES: u64 = 4096;
/// Where the byte region begins. There is no memory below, so that address zero is an error.
pub const BYTES_BASE: u64 = 1 << 20;
/// Where the tag region begins; each 4 KiB of addresses stand for one tag.
pub const TAGS_BASE: u64 = 1 << 40;

const TAG_BYTES: usize = 8;

/// There is less memory than requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("host memory is too small: {asked} bytes more were asked for, {left} are left")]
pub struct OutOfMemory {
    /// Requested bytes (tags count 4 KiB each).
    pub asked: u64,
    /// Bytes that were left.
    pub left: u64,
}

/// Bytes that the device's DMA moved; a tag counts as the 4 KiB that it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// From host memory to the device.
    pub read: u64,
    /// From the device to host memory.
    pub written: u64,
}

/// The host's memory as the device's DMA reaches it: a byte region for queues, PRP lists, admin data and the
/// data of `full` drives, and a tag region for the data of `fingerprint` drives. Every access is checked
/// against the regions.
pub struct GuestMemory {
    bytes: Vec<u8>,
    bytes_used: u64,
    tags: Vec<[u8; TAG_BYTES]>,
    tags_used: u64,
    read: Cell<u64>,
    written: u64,
}

impl GuestMemory {
    /// Memory of `bytes` bytes and room for `tags` tags, all zero.
    pub fn new(bytes: usize, tags: usize) -> Self {
        GuestMemory {
            bytes: vec![0; bytes],
            bytes_used: 0,
            tags: vec![[0; TAG_BYTES]; tags],
            tags_used: 0,
            read: Cell::new(0),
            written: 0,
        }
    }

    /// Allocates `bytes` bytes of the byte region at a multiple of `align`, a power of two, permanently.
    /// Returns the address.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn alloc(&mut self, bytes: u64, align: u64) -> Result<u64, OutOfMemory> {
        let at = (BYTES_BASE + self.bytes_used).next_multiple_of(align) - BYTES_BASE;
        let size = self.bytes.len() as u64;
        let end = at.checked_add(bytes).filter(|&end| end <= size);
        self.bytes_used = end.ok_or(OutOfMemory { asked: bytes, left: size.saturating_sub(at) })?;
        Ok(BYTES_BASE + at)
    }

    /// Allocates room for `tags` tags permanently. Returns the address of the first, a multiple of 4 KiB.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn alloc_tags(&mut self, tags: u64) -> Result<u64, OutOfMemory> {
        let (at, size) = (self.tags_used, self.tags.len() as u64);
        let sector = SECTOR_BYTES as u64;
        let end = at.checked_add(tags).filter(|&end| end <= size);
        self.tags_used =
            end.ok_or(OutOfMemory { asked: tags.saturating_mul(sector), left: (size - at) * sector })?;
        Ok(TAGS_BASE + at * sector)
    }

    /// What DMA has moved so far; the driver's own accesses do not count.
    pub fn traffic(&self) -> Traffic {
        Traffic { read: self.read.get(), written: self.written }
    }

    /// The bytes at an address.
    ///
    /// # Errors
    /// When part of the range is not in the byte region.
    #[inline]
    pub fn bytes(&self, address: u64, length: usize) -> Result<&[u8], BadAddress> {
        range(address, BYTES_BASE, length, 1).and_then(|r| self.bytes.get(r)).ok_or(BadAddress(address))
    }
    /// The bytes at an address, mutable.
    ///
    /// # Errors
    /// When part of the range is not in the byte region.
    #[inline]
    pub fn bytes_mut(&mut self, address: u64, length: usize) -> Result<&mut [u8], BadAddress> {
        range(address, BYTES_BASE, length, 1).and_then(|r| self.bytes.get_mut(r)).ok_or(BadAddress(address))
    }
    /// `count` tags, the first at an address that is a multiple of 4 KiB.
    ///
    /// # Errors
    /// When part of the range is not in the tag region.
    #[inline]
    pub fn tags(&self, address: u64, count: usize) -> Result<&[[u8; TAG_BYTES]], BadAddress> {
        range(address, TAGS_BASE, count, SECTOR_BYTES as u64)
            .and_then(|r| self.tags.get(r))
            .ok_or(BadAddress(address))
    }
    /// `count` tags, mutable, the first at an address that is a multiple of 4 KiB.
    ///
    /// # Errors
    /// When part of the range is not in the tag region.
    #[inline]
    pub fn tags_mut(&mut self, address: u64, count: usize) -> Result<&mut [[u8; TAG_BYTES]], BadAddress> {
        range(address, TAGS_BASE, count, SECTOR_BYTES as u64)
            .and_then(|r| self.tags.get_mut(r))
            .ok_or(BadAddress(address))
    }
}

/// The elements of a region that begins at `base` and has one element per `scale` addresses.
#[inline]
fn range(address: u64, base: u64, count: usize, scale: u64) -> Option<Range<usize>> {
    let relative = address.checked_sub(base)?;
    if !relative.is_multiple_of(scale) {
        return None;
    }
    let start = usize::try_from(relative / scale).ok()?;
    Some(start..start.checked_add(count)?)
}

impl HostMemory for GuestMemory {
    #[inline]
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        into.copy_from_slice(self.bytes(address, into.len())?);
        self.read.set(self.read.get() + into.len() as u64);
        Ok(())
    }
    #[inline]
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        self.bytes_mut(address, from.len())?.copy_from_slice(from);
        self.written += from.len() as u64;
        Ok(())
    }
    #[inline]
    fn read_tags(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        let count = tag_count(address, into.len())?;
        into.copy_from_slice(self.tags(address, count)?.as_flattened());
        self.read.set(self.read.get() + (count * SECTOR_BYTES) as u64);
        Ok(())
    }
    #[inline]
    fn write_tags(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let count = tag_count(address, from.len())?;
        self.tags_mut(address, count)?.as_flattened_mut().copy_from_slice(from);
        self.written += (count * SECTOR_BYTES) as u64;
        Ok(())
    }
}

fn tag_count(address: u64, bytes: usize) -> Result<usize, BadAddress> {
    if bytes.is_multiple_of(TAG_BYTES) { Ok(bytes / TAG_BYTES) } else { Err(BadAddress(address)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_a_region_is_refused() {
        let mut memory = GuestMemory::new(8192, 2);
        let mut four = [0; 4];
        for address in [0, BYTES_BASE - 1, BYTES_BASE + 8189, u64::MAX - 1, TAGS_BASE] {
            assert_eq!(memory.read(address, &mut four), Err(BadAddress(address)));
            assert_eq!(memory.write(address, &four), Err(BadAddress(address)));
        }
        let mut tag = [0; 8];
        for address in [BYTES_BASE, TAGS_BASE + 8, TAGS_BASE + 2 * 4096] {
            assert_eq!(memory.read_tags(address, &mut tag), Err(BadAddress(address)));
            assert_eq!(memory.write_tags(address, &tag), Err(BadAddress(address)));
        }
        assert_eq!(memory.write_tags(TAGS_BASE, &[0; 7]), Err(BadAddress(TAGS_BASE)));
        assert_eq!(memory.traffic(), Traffic::default());
    }

    #[test]
    fn traffic_counts_a_tag_as_its_sector() {
        let mut memory = GuestMemory::new(4096, 4);
        memory.write_tags(TAGS_BASE + 4096, &[7; 16]).unwrap();
        memory.write(BYTES_BASE + 10, &[1, 2, 3]).unwrap();
        let mut back = [0; 8];
        memory.read_tags(TAGS_BASE + 8192, &mut back).unwrap();
        assert_eq!(back, [7; 8]);
        assert_eq!(memory.traffic(), Traffic { read: 4096, written: 8195 });
    }

    #[test]
    fn memory_is_given_out_aligned_until_there_is_none() {
        let mut memory = GuestMemory::new(10_000, 3);
        assert_eq!(memory.alloc(10, 4096), Ok(BYTES_BASE));
        assert_eq!(memory.alloc(10, 4096), Ok(BYTES_BASE + 4096));
        assert_eq!(memory.alloc(4096, 4096), Err(OutOfMemory { asked: 4096, left: 1808 }));
        assert_eq!(memory.alloc_tags(2), Ok(TAGS_BASE));
        assert_eq!(memory.alloc_tags(2), Err(OutOfMemory { asked: 8192, left: 4096 }));
        assert_eq!(memory.alloc_tags(1), Ok(TAGS_BASE + 8192));
    }
}
