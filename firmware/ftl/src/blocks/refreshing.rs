//! Which blocks hold data that fades, by what reads of them found.
//!
//! Cells lose charge with time, and each read of a block disturbs it a little. Data that is written anew is as good as on its
//! first day, unless the block it goes to is worn out as well. So a page that was moved for its wrong bits must have lost half of
//! what was left to the code's limit before it is moved for that again: worn cells are not worn further for nothing.

use super::{BlockIndex, BlockState, Blocks, NO_VICTIM};
use aster_units::{LunIndex, Ppa};

/// Wrong bits, in all of a code word, at which data is written anew, by how often it was for that.
fn limit(corrected: u8, correctable: u8, moves: u8) -> Option<u8> {
    let left = correctable.saturating_sub(corrected).checked_shr(moves.into()).unwrap_or(0);
    (corrected > 0 && (moves == 0 || left > 0)).then(|| correctable - left)
}

impl Blocks {
    fn is_wanted(&self, block: usize) -> bool {
        self.fading[block / 64] >> (block % 64) & 1 == 1
    }
    /// A page is being read. True when its block has been read so often that its data should move.
    #[inline]
    pub(crate) fn count_read(&mut self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa);
        let reads = &mut self.reads_since[block.at()];
        *reads = reads.saturating_add(1);
        let reads = *reads;
        self.refresh.reads > 0 && reads == self.refresh.reads && self.want_refresh(block)
    }
    /// The worst code word of a page had so many wrong bits; more than can be corrected for one that could not. True when
    /// the data of its block should move for that.
    #[inline]
    pub(crate) fn found_wrong_bits(&mut self, ppa: Ppa, bits: u8) -> bool {
        let block = self.block_of(ppa);
        let refresh = self.refresh;
        let moves = self.moved_for_bits[block.at()];
        let is_too_many = |limit| bits >= limit;
        if !limit(refresh.corrected, refresh.correctable, moves).is_some_and(is_too_many) {
            return false;
        }
        let newly = self.want_refresh(block);
        self.moved_for_bits[block.at()] += u8::from(newly);
        newly
    }
    /// The data of a block should move. True when that is new.
    fn want_refresh(&mut self, block: BlockIndex) -> bool {
        let at = block.at();
        let holds_data = matches!(self.states[at], BlockState::Open | BlockState::Closed);
        if !holds_data || self.is_wanted(at) {
            return false;
        }
        self.fading[at / 64] |= 1 << (at % 64);
        if self.victims[at] != NO_VICTIM {
            self.queue_fading(block);
        }
        true
    }
    /// A closed block can be emptied from now on.
    pub(super) fn queue_fading(&mut self, block: BlockIndex) {
        if self.is_wanted(block.at()) {
            let lun = self.lun_of(block).index();
            self.luns[lun].fading.push_back(block);
        }
    }
    /// Takes a block whose data should move, if garbage collection has room for it.
    pub(crate) fn take_fading(&mut self, lun: LunIndex, scarce: bool) -> Option<BlockIndex> {
        while self.may_work_ahead(lun, scarce) {
            let block = self.luns[lun.index()].fading.pop_front()?;
            let at = block.at();
            if self.victims[at] != NO_VICTIM && self.is_wanted(at) {
                self.fading[at / 64] &= !(1 << (at % 64));
                self.victims[at] = NO_VICTIM;
                return Some(block);
            }
        }
        None
    }
    /// What is copied from now on comes out of this block.
    pub(crate) fn copies_out_of(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        self.luns[lun].copies_moved = self.moved_for_bits[block.at()];
    }
    /// A page is being copied into a block.
    pub(super) fn copied_into(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        let moves = &mut self.moved_for_bits[block.at()];
        *moves = self.luns[lun].copies_moved.max(*moves);
    }
    /// A block is as new.
    pub(super) fn forget_fading(&mut self, block: BlockIndex) {
        let at = block.at();
        self.fading[at / 64] &= !(1 << (at % 64));
        (self.reads_since[at], self.moved_for_bits[at]) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn each_move_for_wrong_bits_halves_what_is_left_to_the_limit() {
        let limits = |corrected, correctable| (0..6).map(move |moves| limit(corrected, correctable, moves));
        assert!(limits(32, 40).eq([Some(32), Some(36), Some(38), Some(39), None, None]));
        assert!(limits(8, 8).eq([Some(8), None, None, None, None, None]));
        assert!(limits(0, 40).all(|limit| limit.is_none()), "switched off");
    }
}
