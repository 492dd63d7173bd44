//! Which blocks hold data that fades, judged by the reads of them.
//!
//! Cells lose charge with time, and each read of a block disturbs it a little. Rewritten data is as good as
//! new, unless its new block is worn out as well. So data that was moved for its wrong bits must lose half of
//! the remaining margin to the code's limit before it is moved for that again: this avoids wearing worn cells
//! further in vain. If the first reads of the new block find few wrong bits, the move did help, and the next
//! one is decided as if it were the first.
//!
//! A page that can't be corrected makes its block *suspected* (S12). One such read doesn't make a block bad:
//! its data moves, and when nothing in it counts any more, the page is read again. The block is retired only
//! if that read fails, too. Suspicions are not stored: after power-on, the next read that fails makes the
//! block suspected again.

use crate::space::candidates::Candidates;
use crate::space::layout::BlockLayout;
use crate::space::states::States;
use crate::terms::bits::{Bits, cells};
use crate::terms::block::{BlockIndex, BlockState, PoolIndex, Suspect};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use aster_parties::Refresh;
use aster_units::Ppa;
use core::cell::{Cell, RefCell};

/// After this many reads per page, on average, it is known whether a move to the block has helped.
const READS_A_PAGE: u32 = 2;

/// What reads have found in all blocks, and which of them should be emptied for that.
pub(crate) struct Refreshing {
    layout: BlockLayout,
    limits: Refresh,
    states: Rc<States>,
    candidates: Rc<Candidates>,
    // Per block, since its erase or since power-on: pages read, and how often the data in it had been moved
    // for wrong bits.
    reads: Box<[Cell<u32>]>,
    moves: Box<[Cell<u8>]>,
    // Blocks whose data should move, and those of them whose data should move for wrong bits.
    wanted: Bits,
    for_bits: Bits,
    // Blocks with data that was moved for its wrong bits and again has too many.
    bad_as_before: Bits,
    // Pages that could not be corrected, at most one per block. Empty if no block is retired for such a page.
    suspects: Box<[Cell<Option<Suspect>>]>,
    pools: Box<[OfPool]>,
}

#[derive(Default)]
struct OfPool {
    // Closed blocks whose data should move.
    queue: RefCell<VecDeque<BlockIndex>>,
    // How often the data that is being copied has been moved for wrong bits.
    copies_moved: Cell<u8>,
}

impl Refreshing {
    /// `retires` says whether blocks may be suspected.
    pub(crate) fn new(
        layout: BlockLayout,
        limits: Refresh,
        retires: bool,
        states: &Rc<States>,
        candidates: &Rc<Candidates>,
    ) -> Self {
        let blocks = layout.total() as usize;
        Refreshing {
            layout,
            limits,
            states: Rc::clone(states),
            candidates: Rc::clone(candidates),
            reads: cells(blocks, 0),
            moves: cells(blocks, 0),
            wanted: Bits::new(blocks),
            for_bits: Bits::new(blocks),
            bad_as_before: Bits::new(blocks),
            suspects: cells(if retires { blocks } else { 0 }, None),
            pools: layout.all_pools().map(|_| OfPool::default()).collect(),
        }
    }
    pub(crate) fn forget(&self) {
        self.reads.iter().for_each(|count| count.set(0));
        self.moves.iter().for_each(|count| count.set(0));
        [&self.wanted, &self.for_bits, &self.bad_as_before].into_iter().for_each(Bits::clear_all);
        self.suspects.iter().for_each(|suspect| suspect.set(None));
        for pool in &self.pools {
            pool.queue.borrow_mut().clear();
            pool.copies_moved.set(0);
        }
    }
    fn pool_of(&self, block: BlockIndex) -> &OfPool {
        &self.pools[self.layout.pool_of_block(block).at()]
    }

    // ---- what reads find ----

    /// A page is being read. Returns true if its block has been read so often that its data should move.
    #[inline]
    pub(crate) fn count_read(&self, ppa: Ppa) -> bool {
        let block = self.layout.block_of(ppa);
        let reads = self.reads[block.at()].get().saturating_add(1);
        self.reads[block.at()].set(reads);
        if reads == READS_A_PAGE * self.layout.pages_per_block() && !self.bad_as_before.is_set(block.at()) {
            self.moves[block.at()].set(0);
        }
        self.limits.reads > 0 && reads >= self.limits.reads && self.want(block)
    }
    /// The worst code word of a page had `bits` wrong bits, or more than can be corrected if it was
    /// uncorrectable. Returns true if the data of its block should move for that.
    #[inline]
    pub(crate) fn found_wrong_bits(&self, ppa: Ppa, bits: u8) -> bool {
        if bits < self.limits.least() {
            return false;
        }
        let block = self.layout.block_of(ppa);
        let moves = self.moves[block.at()].get();
        if moves > 0 && bits >= self.limits.corrected {
            self.bad_as_before.set(block.at());
        }
        if self.limits.limit(moves).is_none_or(|limit| bits < limit) {
            return false;
        }
        self.for_bits.set(block.at());
        self.want(block)
    }
    /// A page that counts could not be corrected. `is_own` says that it belongs to the map itself. Returns
    /// true if the data of its block must move for that and didn't have to before.
    #[cold]
    pub(crate) fn suspect(&self, page: Ppa, is_own: bool) -> bool {
        let block = self.layout.block_of(page);
        let Some(suspect) = self.suspects.get(block.at()) else { return false };
        suspect.set(suspect.get().or(Some(Suspect { page, is_own })));
        self.want(block)
    }
    /// The page for which a block is suspected. Blocks in which a program failed go bad anyway.
    pub(crate) fn suspect_of(&self, block: BlockIndex) -> Option<Suspect> {
        let suspect = self.suspects.get(block.at())?.get();
        suspect.filter(|_| self.states.of(block) == BlockState::Closed)
    }

    // ---- which blocks should be emptied ----

    /// The data of a block should move. This stays so until the block is erased: an attempt that finds no
    /// room is repeated. Returns true if this is new.
    fn want(&self, block: BlockIndex) -> bool {
        if !self.states.holds_data(block) || self.wanted.is_set(block.at()) {
            return false;
        }
        self.wanted.set(block.at());
        if self.candidates.has(block) {
            self.queue(block);
        }
        true
    }
    /// A closed block can be emptied from now on: queues it if its data should move.
    pub(crate) fn queue(&self, block: BlockIndex) {
        if self.wanted.is_set(block.at()) {
            self.pool_of(block).queue.borrow_mut().push_back(block);
        }
    }
    /// Takes a block whose data should move.
    pub(crate) fn take(&self, pool: PoolIndex) -> Option<BlockIndex> {
        loop {
            let block = self.pools[pool.at()].queue.borrow_mut().pop_front()?;
            if self.wanted.is_set(block.at()) && self.candidates.take(block) {
                return Some(block);
            }
        }
    }

    // ---- how often data has moved ----

    /// Copies from now on come out of this block.
    pub(crate) fn copies_out_of(&self, block: BlockIndex) {
        self.pool_of(block).copies_moved.set(self.moves_out_of(block));
    }
    /// Units out of the blocks in `from` are being copied into a block.
    pub(crate) fn copied_into(&self, block: BlockIndex, from: impl Iterator<Item = BlockIndex>) {
        // A pool of one LUN empties one block at a time.
        let moved = match self.layout.has_one_lun() {
            true => self.pool_of(block).copies_moved.get(),
            false => from.map(|of| self.moves_out_of(of)).max().unwrap_or(0),
        };
        let moves = &self.moves[block.at()];
        moves.set(moved.max(moves.get()));
    }
    /// How often data that is copied out of a block has been moved for wrong bits then.
    fn moves_out_of(&self, block: BlockIndex) -> u8 {
        self.moves[block.at()].get().saturating_add(self.for_bits.is_set(block.at()).into())
    }
    /// A block is as new.
    pub(crate) fn erased(&self, block: BlockIndex) {
        let at = block.at();
        [&self.wanted, &self.for_bits, &self.bad_as_before].into_iter().for_each(|bits| bits.clear(at));
        self.reads[at].set(0);
        self.moves[at].set(0);
        if let Some(suspect) = self.suspects.get(at) {
            suspect.set(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::wear::Wear;
    use crate::terms::config::WearLevelling;
    use crate::tests::bench::config;
    use aster_units::Content;
    use std::vec::Vec;

    const POOL: PoolIndex = PoolIndex(0);
    const WORN: BlockIndex = BlockIndex(3);

    /// One closed block of a LUN. Its data moves if 32 bits are wrong and 40 correctable, or after `reads`
    /// reads.
    fn one_closed_block(reads: u32, retires: bool) -> Refreshing {
        let mut config = config(Content::Fingerprint);
        (config.care.refresh.corrected, config.care.refresh.reads) = (32, reads);
        let layout = BlockLayout::of(&config);
        let wear = Rc::new(Wear::new(layout, WearLevelling::None));
        let policy = Box::new(crate::blocks::victims::Greedy);
        let candidates = Rc::new(Candidates::new(layout, &wear, policy));
        let states = Rc::new(States::new(layout));
        states.adopt(WORN, BlockState::Closed);
        candidates.closed(WORN);
        candidates.offer(WORN, 1);
        Refreshing::new(layout, config.care.refresh, retires, &states, &candidates)
    }
    /// There was no room for the data of a block that was taken.
    fn give_back(refreshing: &Refreshing, block: BlockIndex) {
        refreshing.candidates.offer(block, 1);
        refreshing.queue(block);
    }

    #[test]
    fn what_should_move_is_asked_for_again_until_it_has_moved() {
        for by_reads in [false, true] {
            let refreshing = one_closed_block(10, false);
            let page = refreshing.layout.first_page(WORN);
            if by_reads {
                let asked: Vec<_> = (0..12).filter(|_| refreshing.count_read(page)).collect();
                assert_eq!(asked, [9]);
            } else {
                assert!(!refreshing.found_wrong_bits(page, 31) && refreshing.found_wrong_bits(page, 32));
            }
            for _ in 0..3 {
                assert_eq!(refreshing.take(POOL), Some(WORN));
                refreshing.copies_out_of(WORN);
                assert_eq!(refreshing.take(POOL), None, "it is in work");
                assert_eq!(refreshing.pools[0].copies_moved.get(), u8::from(!by_reads));
                give_back(&refreshing, WORN);
                assert_eq!(refreshing.moves[WORN.at()].get(), 0, "nothing has moved");
            }
            assert_eq!(refreshing.take(POOL), Some(WORN));
            refreshing.erased(WORN);
            assert_eq!(refreshing.take(POOL), None);
            refreshing.copies_out_of(WORN);
            assert_eq!(refreshing.pools[0].copies_moved.get(), 0);
        }
    }

    #[test]
    fn a_move_that_helped_is_forgotten_and_one_that_did_not_is_remembered() {
        for (bits, moves) in [(0, 0), (31, 0), (32, 1)] {
            let refreshing = one_closed_block(0, false);
            refreshing.moves[WORN.at()].set(1);
            let page = refreshing.layout.first_page(WORN);
            for _ in 0..READS_A_PAGE * refreshing.layout.pages_per_block() {
                assert_eq!(refreshing.moves[WORN.at()].get(), 1);
                assert!(!refreshing.count_read(page) && !refreshing.found_wrong_bits(page, bits));
            }
            assert_eq!(refreshing.moves[WORN.at()].get(), moves, "{bits} bits");
            let again = refreshing.found_wrong_bits(page, 33);
            assert_eq!(again, moves == 0, "the limit is 32 again, or still 36");
        }
    }

    #[test]
    fn a_block_is_suspected_until_it_is_erased() {
        let refreshing = one_closed_block(0, true);
        let page = Ppa(refreshing.layout.first_page(WORN).0 + 1);
        assert!(refreshing.suspect(page, true));
        assert_eq!(refreshing.suspect_of(WORN), Some(Suspect { page, is_own: true }));
        assert!(!refreshing.suspect(page, true), "its data moves already");
        assert_eq!(refreshing.take(POOL), Some(WORN));
        refreshing.erased(WORN);
        assert_eq!(refreshing.suspect_of(WORN), None);
    }

    #[test]
    fn nothing_is_suspected_without_the_key() {
        let refreshing = one_closed_block(0, false);
        assert!(!refreshing.suspect(refreshing.layout.first_page(WORN), false));
        assert_eq!((refreshing.suspect_of(WORN), refreshing.take(POOL)), (None, None));
    }
}
