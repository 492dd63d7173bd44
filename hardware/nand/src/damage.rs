//! The place where an image is damaged.

use aster_units::{BlockAddr, LunIndex, PageInBlock};
use core::fmt;

/// A page of an image whose bytes differ from what was programmed: something else has written to the file
/// or device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedPage {
    /// Its LUN.
    pub lun: LunIndex,
    /// Its block in the LUN.
    pub block: BlockAddr,
    /// The page in the block.
    pub page: PageInBlock,
    /// Where the damage is, in bytes from the start of the file or device that holds the medium. The
    /// damage is in the 4096 bytes, or in the record, that begin there.
    pub offset: u64,
}

impl fmt::Display for DamagedPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DamagedPage { lun, block, page, offset } = self;
        write!(f, "at byte {offset}: page {} of block {} on LUN {}", page.0, block.0, lun.0)
    }
}
