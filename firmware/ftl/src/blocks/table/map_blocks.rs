//! The blocks of the stored map, and those that are erased or formatted outside of garbage collection.

use super::{Blocks, NO_VICTIM};
use crate::blocks::outbox::LogEntry;
use crate::terms::block::{BlockIndex, BlockState};
use aster_units::{BlockAddr, LunIndex};

impl Blocks {
    /// Sets free blocks aside for the stored map, up to the LUN's share, as far as garbage collection keeps
    /// its reserve without them. For after boot; each erased block is looked at by itself.
    pub(crate) fn keep_for_map(&mut self, lun: LunIndex) {
        let at = lun.index();
        while self.luns[at].in_map + self.luns[at].for_map.len() < self.map_share
            && self.luns[at].free.len() > self.reserve
        {
            let Some(block) = self.take_unnamed_free(lun) else { return };
            self.luns[at].for_map.push_back(block);
        }
    }
    // A free block that is known to be erased: the least worn of those that no log page lists, else the last.
    fn take_unnamed_free(&mut self, lun: LunIndex) -> Option<BlockIndex> {
        let known = |b: &BlockIndex| self.unverified[b.at() / 64] >> (b.at() % 64) & 1 == 0;
        let (lun, erases) = (&mut self.luns[lun.index()], &self.erases);
        let named = lun.journaled_free.max(lun.journaling_free);
        let free = &lun.free;
        let unnamed = (named..free.len()).rev().filter(|&at| known(&free[at]));
        let unnamed = unnamed.min_by_key(|&at| erases[free[at].at()]);
        let at = unnamed.or_else(|| free.iter().rposition(known))?;
        (lun.journaled_free, lun.journaling_free) = (lun.journaled_free.min(at), lun.journaling_free.min(at));
        lun.free.remove(at)
    }
    /// Takes a free block for the stored map: one set aside for it, else another, leaving one to garbage
    /// collection while that has use for it. `within_share`: none beyond the LUN's share.
    pub(crate) fn take_for_map(&mut self, lun: LunIndex, within_share: bool) -> Option<BlockIndex> {
        let at = lun.index();
        if within_share && self.luns[at].in_map >= self.map_share {
            return None;
        }
        let block = match self.luns[at].for_map.pop_front() {
            Some(block) => block,
            None if self.luns[at].free.len() < 2 && self.evacuates => return None,
            None => self.take_unnamed_free(lun)?,
        };
        let lun = &mut self.luns[at];
        lun.in_map += 1;
        self.pending.push(LogEntry::Opened(block));
        self.states[block.at()] = BlockState::Map;
        Some(block)
    }
    /// Takes a block of a stored map that nobody needs any more out of the candidates for collection, to be
    /// erased at once.
    pub(crate) fn take_old_map(&mut self) -> Option<BlockIndex> {
        while let Some(block) = self.of_old_maps.pop() {
            if self.victims[block.at()] == 0 {
                return Some(self.take_to_erase(block));
            }
        }
        None
    }
    /// Takes a block that holds nothing any more out of the candidates for collection, to be erased at once.
    pub(crate) fn take_empty(&mut self) -> Option<BlockIndex> {
        let block = self.victims.iter().position(|&valid| valid == 0)?;
        Some(self.take_to_erase(BlockIndex(block as u32)))
    }
    fn take_to_erase(&mut self, block: BlockIndex) -> BlockIndex {
        self.victims[block.at()] = NO_VICTIM;
        let lun = self.lun_of(block).index();
        self.luns[lun].erasing += 1;
        block
    }
    /// The erase of a block that [`Blocks::take_old_map`] or [`Blocks::take_empty`] gave has ended.
    pub(crate) fn erase_ended(&mut self, lun: LunIndex) {
        self.luns[lun.index()].erasing -= 1;
    }
    /// The LUN will have another free block soon, by no doing of garbage collection.
    pub(crate) fn is_erasing(&self, lun: LunIndex) -> bool {
        self.luns[lun.index()].erasing > 0
    }
    /// The LUN's next block from `first` on in which something of the host's may lie, mapped or not, bad or
    /// not.
    pub(crate) fn next_used(&self, lun: LunIndex, first: BlockAddr) -> Option<BlockIndex> {
        let used = |&block: &BlockIndex| {
            !matches!(
                self.states[block.at()],
                BlockState::Free | BlockState::Map | BlockState::Log | BlockState::Bad
            )
        };
        (first.0..self.blocks_per_lun).map(|block| self.block_index(lun, BlockAddr(block))).find(used)
    }
    /// Takes a used block, which holds no valid page, out of all lists: to be erased at once.
    pub(crate) fn take_used(&mut self, block: BlockIndex) {
        self.victims[block.at()] = NO_VICTIM;
        let lun = self.lun_of(block).index();
        let lun = &mut self.luns[lun];
        lun.failing.retain(|&failing| failing != block);
        for open in &mut lun.open {
            if open.is_some_and(|o| o.block == block) {
                *open = None;
            }
        }
    }
    /// A block of a map that is no longer needed: to be erased like any block without valid pages.
    pub(crate) fn release_from_map(&mut self, block: BlockIndex) {
        self.leave_map(block);
        self.close(block, BlockState::Closed);
        self.offer(block);
        self.of_old_maps.push(block);
    }
    /// A program of the stored map failed in this block.
    pub(crate) fn fail_map_block(&mut self, block: BlockIndex) {
        self.leave_map(block);
        self.close(block, BlockState::Failing);
        self.offer(block);
    }
    fn leave_map(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        self.luns[lun].in_map -= 1;
    }
}
