//! Which blocks hold data that fades, by what reads of them found.
//!
//! Cells lose charge with time, and each read of a block disturbs it a little. Data that is written anew is
//! as good as on its first day, unless the block it goes to is worn out as well. So a page that was moved for
//! its wrong bits must have lost half of what was left to the code's limit before it is moved for that again:
//! worn cells are not worn further for nothing. Where the first reads of a block find few wrong bits the move
//! did help, and the next one is decided as if it were the first.

use super::{Blocks, NO_VICTIM};
use crate::terms::block::{BlockIndex, BlockState};
use aster_units::{LunIndex, Ppa};

/// Reads of each of a block's pages, on the average, that tell whether a move to it has helped.
const READS_A_PAGE: u32 = 2;

impl Blocks {
    fn is_wanted(&self, block: usize) -> bool {
        self.to_refresh[block / 64] >> (block % 64) & 1 == 1
    }
    fn is_bad_as_before(&self, block: usize) -> bool {
        self.bad_as_before[block / 64] >> (block % 64) & 1 == 1
    }
    /// A page is being read. True when its block has been read so often that its data should move.
    #[inline]
    pub(crate) fn count_read(&mut self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa);
        let reads = &mut self.reads_since[block.at()];
        *reads = reads.saturating_add(1);
        let reads = *reads;
        if reads == READS_A_PAGE * self.pages_per_block && !self.is_bad_as_before(block.at()) {
            self.moved_for_bits[block.at()] = 0;
        }
        self.refresh.reads > 0 && reads >= self.refresh.reads && self.want_refresh(block)
    }
    /// The worst code word of a page had so many wrong bits; more than can be corrected for one that could
    /// not. True when the data of its block should move for that.
    #[inline]
    pub(crate) fn found_wrong_bits(&mut self, ppa: Ppa, bits: u8) -> bool {
        let block = self.block_of(ppa);
        let refresh = self.refresh;
        let moves = self.moved_for_bits[block.at()];
        let is_too_many = |limit| bits >= limit;
        if moves > 0 && bits >= refresh.corrected {
            self.bad_as_before[block.at() / 64] |= 1 << (block.at() % 64);
        }
        if !refresh.limit(moves).is_some_and(is_too_many) {
            return false;
        }
        self.refresh_for_bits[block.at() / 64] |= 1 << (block.at() % 64);
        self.want_refresh(block)
    }
    /// The data of a block should move, and should until the block is erased: a try that finds no room for it
    /// is made again. True when that is new.
    pub(super) fn want_refresh(&mut self, block: BlockIndex) -> bool {
        let at = block.at();
        let holds_data = matches!(self.states[at], BlockState::Open | BlockState::Closed);
        if !holds_data || self.is_wanted(at) {
            return false;
        }
        self.to_refresh[at / 64] |= 1 << (at % 64);
        if self.victims[at] != NO_VICTIM {
            self.queue_refresh(block);
        }
        true
    }
    /// A closed block can be emptied from now on.
    pub(super) fn queue_refresh(&mut self, block: BlockIndex) {
        if self.is_wanted(block.at()) {
            let lun = self.lun_of(block).index();
            self.luns[lun].refresh_queue.push_back(block);
        }
    }
    /// Takes a block whose data should move, if garbage collection has room for it.
    pub(crate) fn take_for_refresh(&mut self, lun: LunIndex, scarce: bool) -> Option<BlockIndex> {
        while self.may_work_ahead(lun, scarce) {
            let block = self.luns[lun.index()].refresh_queue.pop_front()?;
            let at = block.at();
            if self.victims[at] != NO_VICTIM && self.is_wanted(at) {
                self.victims[at] = NO_VICTIM;
                return Some(block);
            }
        }
        None
    }
    /// What is copied from now on comes out of this block.
    pub(crate) fn copies_out_of(&mut self, block: BlockIndex) {
        let (lun, at) = (self.lun_of(block).index(), block.at());
        let for_bits = self.refresh_for_bits[at / 64] >> (at % 64) & 1 == 1;
        self.luns[lun].copies_moved = self.moved_for_bits[at].saturating_add(for_bits.into());
    }
    /// A page is being copied into a block.
    pub(super) fn copied_into(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        let moves = &mut self.moved_for_bits[block.at()];
        *moves = self.luns[lun].copies_moved.max(*moves);
    }
    /// A block is as new.
    pub(super) fn forget_refresh(&mut self, block: BlockIndex) {
        let at = block.at();
        self.to_refresh[at / 64] &= !(1 << (at % 64));
        self.refresh_for_bits[at / 64] &= !(1 << (at % 64));
        self.bad_as_before[at / 64] &= !(1 << (at % 64));
        (self.reads_since[at], self.moved_for_bits[at]) = (0, 0);
        self.forget_suspect(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::{BlockEntry, Stream};
    use crate::tests::bench::config;
    use aster_units::Content;
    use std::vec::Vec;

    const WORN: BlockIndex = BlockIndex(3);

    /// A LUN with one closed block and free ones, and refreshes from 32 bits of 40 on, or 10 reads.
    fn one_closed_block() -> Blocks {
        let mut config = config(Content::Fingerprint);
        (config.refresh.corrected, config.refresh.reads) = (32, 10);
        let mut blocks = Blocks::of(&config);
        for block in (0..config.geometry.blocks_per_lun).map(BlockIndex) {
            let state = if block == WORN { BlockState::Closed } else { BlockState::Free };
            blocks
                .adopt(
                    block,
                    BlockEntry { state, stream: Stream::Host, next: 0, erases: 0, unverified: false },
                )
                .unwrap();
        }
        blocks
    }

    #[test]
    fn what_should_move_is_asked_for_again_until_it_has_moved() {
        let lun = LunIndex(0);
        for by_reads in [false, true] {
            let mut blocks = one_closed_block();
            let page = blocks.first_page(WORN);
            if by_reads {
                let asked: Vec<_> = (0..12).filter(|_| blocks.count_read(page)).collect();
                assert_eq!(asked, [9]);
            } else {
                assert!(!blocks.found_wrong_bits(page, 31) && blocks.found_wrong_bits(page, 32));
            }
            for _ in 0..3 {
                assert_eq!(blocks.take_for_refresh(lun, false), Some(WORN));
                blocks.copies_out_of(WORN);
                assert_eq!(blocks.take_for_refresh(lun, false), None, "it is in work");
                assert_eq!(blocks.luns[0].copies_moved, u8::from(!by_reads));
                // There was no room.
                blocks.return_victim(WORN);
                assert_eq!(blocks.moved_for_bits[WORN.at()], 0, "nothing has moved");
            }
            assert_eq!(blocks.take_for_refresh(lun, false), Some(WORN));
            blocks.erased(WORN);
            assert_eq!(blocks.take_for_refresh(lun, false), None);
            blocks.copies_out_of(WORN);
            assert_eq!(blocks.luns[0].copies_moved, 0);
        }
    }

    #[test]
    fn a_move_that_helped_is_forgotten_and_one_that_did_not_is_remembered() {
        for (bits, moves) in [(0, 0), (31, 0), (32, 1)] {
            let mut blocks = one_closed_block();
            (blocks.refresh.reads, blocks.moved_for_bits[WORN.at()]) = (0, 1);
            let page = blocks.first_page(WORN);
            for _ in 0..READS_A_PAGE * blocks.pages_per_block {
                assert_eq!(blocks.moved_for_bits[WORN.at()], 1);
                assert!(!blocks.count_read(page) && !blocks.found_wrong_bits(page, bits));
            }
            assert_eq!(blocks.moved_for_bits[WORN.at()], moves, "{bits} bits");
            assert_eq!(blocks.found_wrong_bits(page, 33), moves == 0, "the limit is 32 again, or still 36");
        }
    }
}
