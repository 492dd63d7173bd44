//! Memory of this process that another process can change at any time: it is mapped, and accessed only by
//! atomic loads and stores.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

/// The page size by which host memory is mapped.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// A part of a file, mapped and shared. The caller has sealed the file against shrinking.
pub(crate) struct Mapping(MmapRegion);

/// Offsets were checked when they came from outside.
const INSIDE: &str = "inside the mapping";

impl Mapping {
    /// Maps `length` bytes of `file` from `offset`, a multiple of [`PAGE_BYTES`], on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new(file: Arc<File>, offset: u64, length: u64, writable: bool) -> Result<Self, Errno> {
        let length = usize::try_from(length).map_err(|_| Errno::NOMEM)?;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let (protection, flags) =
            (protection.bits() as i32, (MapFlags::SHARED | MapFlags::NORESERVE).bits() as i32);
        let region = MmapRegion::build(Some(FileOffset::from_arc(file, offset)), length, protection, flags);
        Ok(Mapping(region.map_err(|_| Errno::NOMEM)?))
    }
    #[inline]
    fn word(&self, offset: u64) -> &AtomicU32 {
        self.0.get_atomic_ref(offset as usize).expect(INSIDE)
    }
    /// The little-endian word at `offset`; what the other side wrote before it is visible afterwards.
    #[inline]
    pub(crate) fn load(&self, offset: u64) -> u32 {
        u32::from_le(self.word(offset).load(Ordering::Acquire))
    }
    /// Replaces the word at `offset`.
    #[inline]
    pub(crate) fn store(&self, offset: u64, value: u32) {
        self.word(offset).store(value.to_le(), Ordering::Release);
    }
}
