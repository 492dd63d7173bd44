//! Free and open blocks of a pool while a drive is being filled, and which LUN the next page goes to.
//!
//! It is [`Striping`](crate::blocks::striping)'s choice without its time: no LUN is ever busy.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// How many free blocks less than another a LUN may have to open one.
const BEHIND_MAX: usize = 1;

/// A block that is being filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenBlock {
    pub(super) block: u32,
    /// Its next page.
    pub(super) next: u32,
}

/// Who fills an open block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Filler {
    Host,
    Gc,
}

pub(super) const FILLERS: [Filler; 2] = [Filler::Host, Filler::Gc];

/// Free blocks by LUN.
pub(super) struct FreeBlocks {
    luns: Vec<VecDeque<u32>>,
    count: usize,
    // The most of any LUN.
    most: usize,
}

impl FreeBlocks {
    pub(super) fn new(luns: Vec<VecDeque<u32>>) -> Self {
        let mut free = FreeBlocks { luns, count: 0, most: 0 };
        free.recount();
        free
    }
    fn recount(&mut self) {
        self.count = self.luns.iter().map(VecDeque::len).sum();
        self.most = self.luns.iter().map(VecDeque::len).max().unwrap_or(0);
    }
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }
    pub(super) fn of(&self, lun: usize) -> &VecDeque<u32> {
        &self.luns[lun]
    }
    pub(super) fn put(&mut self, lun: usize, block: u32) {
        self.luns[lun].push_back(block);
        self.recount();
    }
    pub(super) fn take(&mut self, lun: usize, at: usize) -> Option<u32> {
        let block = self.luns[lun].remove(at)?;
        self.recount();
        Some(block)
    }
    /// Whether a LUN may open one of its blocks, since it isn't behind the others.
    fn is_abreast(&self, lun: usize) -> bool {
        !self.luns[lun].is_empty() && self.luns[lun].len() + BEHIND_MAX >= self.most
    }
}

/// Open blocks by LUN, one per filler, and where the fillers' stripes are.
pub(super) struct OpenBlocks {
    luns: Vec<[Option<OpenBlock>; 2]>,
    // Per filler: how many, and the pages that they have left.
    counts: [usize; 2],
    left: [u64; 2],
    pages_per_block: u32,
    // LUNs in the order in which they take turns, and per filler the next place in it.
    order: Box<[u32]>,
    next: [usize; 2],
}

impl OpenBlocks {
    /// The LUNs in the order of the stripe.
    pub(super) fn new(order: Box<[u32]>, pages_per_block: u32) -> Self {
        let luns = vec![[None; 2]; order.len()];
        OpenBlocks { luns, counts: [0; 2], left: [0; 2], pages_per_block, order, next: [0; 2] }
    }
    #[inline]
    pub(super) fn luns(&self) -> usize {
        self.luns.len()
    }
    #[inline]
    pub(super) fn of(&self, lun: usize, filler: Filler) -> Option<OpenBlock> {
        self.luns[lun][filler as usize]
    }
    #[inline]
    pub(super) fn count(&self, filler: Filler) -> usize {
        self.counts[filler as usize]
    }
    /// The pages that a filler's blocks have left.
    #[inline]
    pub(super) fn pages_left(&self, filler: Filler) -> u64 {
        self.left[filler as usize]
    }
    pub(super) fn open(&mut self, lun: usize, filler: Filler, block: u32) {
        self.luns[lun][filler as usize] = Some(OpenBlock { block, next: 0 });
        self.counts[filler as usize] += 1;
        self.left[filler as usize] += u64::from(self.pages_per_block);
    }
    /// Takes the next page of a LUN's block, which is then no longer open if that was its last one. Returns
    /// block and page, and whether it was.
    #[inline]
    pub(super) fn take_page(&mut self, lun: usize, filler: Filler) -> (OpenBlock, bool) {
        let slot = &mut self.luns[lun][filler as usize];
        let open = slot.as_mut().expect("a block is open");
        let page = *open;
        open.next += 1;
        self.left[filler as usize] -= 1;
        let is_full = open.next == self.pages_per_block;
        if is_full {
            *slot = None;
            self.counts[filler as usize] -= 1;
        }
        (page, is_full)
    }
    /// A filler's page has gone to the LUN at this place of the stripe.
    #[inline]
    pub(super) fn placed(&mut self, filler: Filler, place: usize) {
        self.next[filler as usize] = if place + 1 == self.order.len() { 0 } else { place + 1 };
    }
    #[inline]
    pub(super) fn lun_at(&self, place: usize) -> usize {
        self.order[place] as usize
    }
    /// The place of the LUN that the last page went to if so many pages there are not complete.
    #[inline]
    pub(super) fn begun(&self, filler: Filler, pages: u32) -> Option<usize> {
        if pages == 1 {
            return None;
        }
        let place = match self.next[filler as usize] {
            0 => self.order.len() - 1,
            next => next - 1,
        };
        let open = self.of(self.lun_at(place), filler)?;
        (!open.next.is_multiple_of(pages)).then_some(place)
    }
    fn in_order(&self, filler: Filler) -> impl Iterator<Item = usize> + '_ {
        let next = self.next[filler as usize];
        (next..self.order.len()).chain(0..next)
    }
    /// The place of the next LUN in which the filler has a block, of those that are `wanted`.
    #[inline]
    pub(super) fn next_open_of(&self, filler: Filler, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        if self.count(filler) == 0 {
            return None;
        }
        let is_open = |lun| self.of(lun, filler).is_some() && wanted(lun);
        self.in_order(filler).find(|&place| is_open(self.lun_at(place)))
    }
    /// The place of the next LUN in which the filler has no block and may open one. If all such LUNs are
    /// behind, it is one of these.
    pub(super) fn next_to_open(&self, filler: Filler, free: &FreeBlocks) -> Option<usize> {
        let may_open = |&place: &usize| {
            let lun = self.lun_at(place);
            self.of(lun, filler).is_none() && !free.of(lun).is_empty()
        };
        let abreast =
            self.in_order(filler).filter(may_open).find(|&place| free.is_abreast(self.lun_at(place)));
        abreast.or_else(|| self.in_order(filler).find(may_open))
    }
    /// The place of the next LUN in which the filler has a block or, if `may_open` says that it may open any,
    /// can open one without being behind.
    #[inline]
    pub(super) fn next_in_turn(
        &self,
        filler: Filler,
        free: &FreeBlocks,
        may_open: impl Fn() -> bool,
    ) -> Option<usize> {
        let next = self.next[filler as usize];
        if self.of(self.lun_at(next), filler).is_some() {
            return Some(next);
        }
        let may_open = may_open();
        let of_turn = |&place: &usize| {
            let lun = self.lun_at(place);
            self.of(lun, filler).is_some() || may_open && free.is_abreast(lun)
        };
        let in_turn = self.in_order(filler).find(of_turn);
        in_turn.or_else(|| self.next_to_open(filler, free).filter(|_| may_open))
    }
}
