//! Open blocks: those that are being filled, one per stream and LUN.

use crate::space::layout::BlockLayout;
use crate::terms::bits::cells;
use crate::terms::block::{BlockIndex, PoolIndex, Stream};
use alloc::boxed::Box;
use aster_units::{LunIndex, Ppa};
use core::cell::Cell;

/// The streams that are not the host's.
const OTHERS: usize = 2;

/// The open blocks of all LUNs.
pub(crate) struct OpenBlocks {
    layout: BlockLayout,
    // Streams of the host.
    hosts: u8,
    // LUN after LUN: one place for each of the host's streams, then one for each of the others.
    open: Box<[Cell<Option<Open>>]>,
}

/// An open block and its next page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub(crate) block: BlockIndex,
    pub(crate) next: u16,
}

impl OpenBlocks {
    /// No block is open. The host has `hosts` streams.
    pub(crate) fn new(layout: BlockLayout, hosts: u8) -> Self {
        assert!(hosts > 0, "the host has a stream at least");
        OpenBlocks { layout, hosts, open: cells(layout.total_luns() * (usize::from(hosts) + OTHERS), None) }
    }
    pub(crate) fn forget(&self) {
        self.open.iter().for_each(|open| open.set(None));
    }
    /// All streams.
    pub(crate) fn streams(&self) -> impl Iterator<Item = Stream> + use<> {
        Stream::all(self.hosts)
    }
    /// Whether there is such a stream.
    pub(crate) fn has(&self, stream: Stream) -> bool {
        !matches!(stream, Stream::Host(number) if number >= self.hosts)
    }
    #[inline]
    fn lun(&self, lun: LunIndex) -> &[Cell<Option<Open>>] {
        let streams = usize::from(self.hosts) + OTHERS;
        &self.open[lun.index() * streams..][..streams]
    }
    #[inline]
    fn slot(&self, lun: LunIndex, stream: Stream) -> &Cell<Option<Open>> {
        let at = match stream {
            Stream::Host(number) => {
                debug_assert!(number < self.hosts, "the host has {} streams", self.hosts);
                usize::from(number)
            }
            Stream::Gc => usize::from(self.hosts),
            Stream::Mapping => usize::from(self.hosts) + 1,
        };
        &self.lun(lun)[at]
    }
    /// The block that a stream fills in a LUN.
    #[inline]
    pub(crate) fn of(&self, lun: LunIndex, stream: Stream) -> Option<Open> {
        self.slot(lun, stream).get()
    }
    /// The stream that fills a block, and its next page.
    #[inline]
    pub(crate) fn find(&self, block: BlockIndex) -> Option<(Stream, u16)> {
        let lun = self.lun(self.layout.lun_of(block));
        let of_block = |slot: &Cell<Option<Open>>| slot.get().filter(|open| open.block == block);
        let (at, open) = (0u8..).zip(lun).find_map(|(at, slot)| Some((at, of_block(slot)?)))?;
        let stream = match at.checked_sub(self.hosts) {
            None => Stream::Host(at),
            Some(0) => Stream::Gc,
            Some(_) => Stream::Mapping,
        };
        Some((stream, open.next))
    }
    /// The open blocks of a LUN.
    pub(crate) fn of_lun(&self, lun: LunIndex) -> impl Iterator<Item = Open> + '_ {
        self.lun(lun).iter().filter_map(Cell::get)
    }
    /// The blocks that a stream fills in a pool.
    pub(crate) fn in_pool(&self, pool: PoolIndex, stream: Stream) -> impl Iterator<Item = Open> + '_ {
        self.layout.luns_of(pool).filter_map(move |lun| self.of(lun, stream))
    }
    /// The open blocks of a pool that the host fills: LUN by LUN, in the order of its streams.
    pub(crate) fn of_host_in(&self, pool: PoolIndex) -> impl Iterator<Item = Open> + '_ {
        self.layout.luns_of(pool).flat_map(|lun| self.of_host(lun))
    }
    /// The open blocks of a LUN that the host fills, in the order of its streams.
    pub(crate) fn of_host(&self, lun: LunIndex) -> impl Iterator<Item = Open> + '_ {
        self.lun(lun)[..usize::from(self.hosts)].iter().filter_map(Cell::get)
    }
    /// A stream begins to fill this block, from a given page on.
    pub(crate) fn open(&self, stream: Stream, open: Open) {
        assert!(u32::from(open.next) < self.layout.pages_per_block(), "a full block is open");
        let before = self.slot(self.layout.lun_of(open.block), stream).replace(Some(open));
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
        let lun = self.lun(self.layout.lun_of(block));
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
        for slot in self.lun(self.layout.lun_of(block)) {
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
    /// Whether one of the host's streams has begun a word line of a LUN and not completed it.
    pub(crate) fn is_host_line_begun(&self, lun: LunIndex) -> bool {
        (0..self.hosts).any(|number| self.next_of_line(lun, Stream::Host(number)).is_some())
    }
}
