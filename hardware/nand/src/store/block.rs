//! The state of a block other than its pages' content, in 32 bytes.

use alloc::boxed::Box;
use aster_units::{CellMode, PageInBlock};
use core::ops::BitOr;

/// Properties of a block, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags(pub u8);

impl Flags {
    /// Left the factory bad.
    pub const FACTORY_BAD: Flags = Flags(1);
    /// An operation on it failed.
    pub const GROWN_BAD: Flags = Flags(2);
    /// An erase was interrupted or failed.
    pub const TORN: Flags = Flags(4);
    /// Some page has an entry in the side table.
    pub const SIDE: Flags = Flags(8);
    /// Its cells are used as SLC, since page 0 was programmed as SLC.
    pub const SLC: Flags = Flags(32);
    /// Page 0 came without a scrambler's seed, and the pages after it are expected to come without one.
    pub const UNSCRAMBLED: Flags = Flags(16);
    /// Only LSB pages are programmed: the page after page 0 was left out (C31).
    pub const LSB_ONLY: Flags = Flags(64);

    /// True when any bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    pub const fn set(&mut self, other: Flags) {
        self.0 |= other.0;
    }
    pub const fn clear(&mut self, other: Flags) {
        self.0 &= !other.0;
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A block.
#[derive(Debug)]
pub(crate) struct Block {
    /// Page memory, from the first program to the erase.
    pub pages: Option<Box<[u8]>>,
    /// P/E cycles.
    pub erases: u32,
    /// Reads since the erase.
    pub reads: u32,
    /// The array's age in hours when page 0 was programmed.
    pub stamp: u32,
    /// The page after the last one programmed. Those below are programmed, except for those that
    /// [`Flags::LSB_ONLY`] leaves out.
    pub next: u16,
    pub flags: Flags,
}

// 524,288 blocks of a big drive: 16 MiB.
const _: () = assert!(size_of::<Block>() <= 32);

impl Block {
    pub fn new(factory_bad: bool) -> Self {
        let flags = if factory_bad { Flags::FACTORY_BAD } else { Flags::default() };
        Block { pages: None, erases: 0, reads: 0, stamp: 0, next: 0, flags }
    }
    /// Distance between the pages that are programmed, with cells used as `cells`.
    #[inline]
    pub const fn page_step(&self, cells: CellMode) -> u16 {
        if self.flags.has(Flags::LSB_ONLY) { cells.bits() as u16 } else { 1 }
    }
    /// Whether a page is programmed.
    #[inline]
    pub const fn holds(&self, page: PageInBlock, cells: CellMode) -> bool {
        page.0 < self.next && (!self.flags.has(Flags::LSB_ONLY) || page.0.is_multiple_of(cells.bits() as u16))
    }
    /// Pages that are programmed.
    pub const fn programmed(&self, cells: CellMode) -> u16 {
        self.next.div_ceil(self.page_step(cells))
    }
}
