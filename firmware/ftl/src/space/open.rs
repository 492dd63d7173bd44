//! Open blocks: those that are being filled, one per stream and LUN.

use crate::space::layout::BlockLayout;
use crate::terms::block::{BlockIndex, Stream};
use alloc::boxed::Box;
use aster_units::{LunIndex, Ppa};
use core::cell::Cell;

type OfLun = [Cell<Option<Open>>; Stream::ALL.len()];

/// The open blocks of all LUNs.
pub(crate) struct OpenBlocks {
    layout: BlockLayout,
    luns: Box<[OfLun]>,
}

/// An open block and its next page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub(crate) block: BlockIndex,
    pub(crate) next: u16,
}

impl OpenBlocks {
    pub(crate) fn new(layout: BlockLayout) -> Self {
        OpenBlocks { layout, luns: layout.all_luns().map(|_| OfLun::default()).collect() }
    }
    pub(crate) fn forget(&self) {
        self.luns.iter().flatten().for_each(|open| open.set(None));
    }
    /// The block that a stream fills in a LUN.
    #[inline]
    pub(crate) fn of(&self, lun: LunIndex, stream: Stream) -> Option<Open> {
        self.luns[lun.index()][stream as usize].get()
    }
    /// The stream that fills a block, and its next page.
    pub(crate) fn find(&self, block: BlockIndex) -> Option<(Stream, u16)> {
        let lun = self.layout.lun_of(block);
        let of_block = |stream| self.of(lun, stream).filter(|open| open.block == block);
        Stream::ALL.into_iter().find_map(|stream| Some((stream, of_block(stream)?.next)))
    }
    /// The open blocks of a LUN.
    pub(crate) fn of_lun(&self, lun: LunIndex) -> impl Iterator<Item = Open> + '_ {
        self.luns[lun.index()].iter().filter_map(Cell::get)
    }
    /// A stream begins to fill this block, from a given page on.
    pub(crate) fn open(&self, stream: Stream, open: Open) {
        assert!(u32::from(open.next) < self.layout.pages_per_block(), "a full block is open");
        let lun = self.layout.lun_of(open.block).index();
        let before = self.luns[lun][stream as usize].replace(Some(open));
        assert_eq!(before, None, "two blocks of a LUN are open for the same");
    }
    /// The next page of a block.
    pub(crate) fn page_of(&self, open: Open) -> Ppa {
        Ppa(self.layout.first_page(open.block).0 + u32::from(open.next))
    }
    /// Takes the block's next page. Returns true if it was the last one: then the block isn't open any more.
    #[inline]
    pub(crate) fn take_page(&self, ppa: Ppa) -> bool {
        let block = self.layout.block_of(ppa);
        let lun = &self.luns[self.layout.lun_of(block).index()];
        let is_of = |slot: &&Cell<Option<Open>>| slot.get().is_some_and(|open| open.block == block);
        let slot = lun.iter().find(is_of).expect("a page is taken from an open block");
        let mut open = slot.get().expect("found as open");
        debug_assert_eq!(self.page_of(open), ppa, "pages are taken in their order");
        open.next += 1;
        let is_full = u32::from(open.next) == self.layout.pages_per_block();
        slot.set((!is_full).then_some(open));
        is_full
    }
    /// The block takes no more pages.
    pub(crate) fn close(&self, block: BlockIndex) {
        for slot in &self.luns[self.layout.lun_of(block).index()] {
            if slot.get().is_some_and(|open| open.block == block) {
                slot.set(None);
            }
        }
    }
    /// The stream that fills the open block of a page.
    pub(crate) fn filled_by(&self, page: Ppa) -> Stream {
        let found = self.find(self.layout.block_of(page));
        found.expect("a page is taken from an open block").0
    }
    /// The next page of a stream's word line, if one has been begun.
    pub(crate) fn next_of_line(&self, lun: LunIndex, stream: Stream) -> Option<Ppa> {
        let open = self.of(lun, stream)?;
        let is_begun = !u32::from(open.next).is_multiple_of(self.layout.pages_per_line());
        is_begun.then(|| self.page_of(open))
    }
}
