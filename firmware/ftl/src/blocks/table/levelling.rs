//! Wear levelling: which free block is written next, and which block's data moves although nobody needs its
//! room.
//!
//! Both look at how often blocks were erased. *Dynamic* levelling chooses among free blocks: the host's data,
//! much of which will be stale soon, goes to the least worn, what garbage collection copies to the most worn.
//! Blocks whose data nobody touches never become free that way; *static* levelling moves that data once such
//! a block is too many erases behind.

use super::{Blocks, NO_VICTIM};
use crate::blocks::outbox::LogEntry;
use crate::terms::block::{BlockIndex, BlockState, Stream};
use crate::terms::config::WearLevelling;
use aster_units::LunIndex;

/// While a LUN is short of room, one block in so many that it empties may be one that makes none.
const BACKGROUND_SHARE: u32 = 8;

impl Blocks {
    /// Counts an erase. The log learns the count, so that no loss of power takes it back.
    pub(super) fn count_erase(&mut self, block: BlockIndex) {
        let erases = &mut self.erases[block.at()];
        *erases += 1;
        let erases = *erases;
        self.pending.push(LogEntry::Erased { block, erases });
        let lun = self.lun_of(block).index();
        if self.states[block.at()] != BlockState::Log {
            let lun = &mut self.luns[lun];
            lun.erases_max = erases.max(lun.erases_max);
            lun.erases_since = lun.erases_since.saturating_add(1);
        }
    }
    /// Puts an erased block among the free ones. Those that a log page lists, or is about to, stay in front;
    /// the others stand in the order of their wear.
    pub(super) fn make_free(&mut self, block: BlockIndex) {
        let erases = &self.erases;
        let lun = self.lun_of(block).index();
        let lun = &mut self.luns[lun];
        if self.levelling == WearLevelling::None {
            return lun.free.push_back(block);
        }
        let named = lun.journaled_free.max(lun.journaling_free);
        let (mut at, mut end) = (named.min(lun.free.len()), lun.free.len());
        while at < end {
            let middle = at.midpoint(end);
            match erases[lun.free[middle].at()] <= erases[block.at()] {
                true => at = middle + 1,
                false => end = middle,
            }
        }
        lun.free.insert(at, block);
    }
    /// Takes a free block to be written: one of those that a log page lists.
    pub(super) fn take_free(&mut self, lun: LunIndex, stream: Stream) -> Option<BlockIndex> {
        let erases = &self.erases;
        let lun = &mut self.luns[lun.index()];
        let among = lun.journaled_free;
        let wear = |&at: &usize| erases[lun.free[at].at()];
        let at = match (self.levelling, stream) {
            (WearLevelling::None, _) => Some(0),
            (_, Stream::Host | Stream::Mapping) => (0..among).min_by_key(wear),
            (_, Stream::Gc) => (0..among).rev().max_by_key(wear),
        };
        let block = lun.free.remove(at?)?;
        lun.journaled_free = lun.journaled_free.saturating_sub(1);
        lun.journaling_free = lun.journaling_free.saturating_sub(1);
        Some(block)
    }

    /// Takes the closed block that is further behind the most worn one than the spread allows, if there is
    /// one and garbage collection has room for its data. Where the LUN is short of room, that is done now and
    /// then only: it makes none.
    pub(crate) fn take_cold(&mut self, lun: LunIndex, scarce: bool) -> Option<BlockIndex> {
        let WearLevelling::Static { spread } = self.levelling else { return None };
        let most = self.luns[lun.index()].erases_max;
        if most <= spread || !self.may_work_ahead(lun, scarce) {
            return None;
        }
        let start = (lun.0 * self.blocks_per_lun) as usize;
        let closed =
            (start..start + self.blocks_per_lun as usize).filter(|&block| self.victims[block] != NO_VICTIM);
        let least = closed.min_by_key(|&block| (self.erases[block], self.closed_at[block]))?;
        if most - self.erases[least] <= spread {
            return None;
        }
        self.victims[least] = NO_VICTIM;
        Some(BlockIndex(least as u32))
    }
    /// Whether a block may be emptied that makes no room: never from what garbage collection is sure of.
    pub(super) fn may_work_ahead(&self, lun: LunIndex, scarce: bool) -> bool {
        let l = &self.luns[lun.index()];
        self.evacuates && l.free.len() > self.reserve && (!scarce || l.erases_since >= BACKGROUND_SHARE)
    }
    /// A block is being emptied that makes no room.
    pub(crate) fn works_ahead(&mut self, lun: LunIndex) {
        self.luns[lun.index()].erases_since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::BlockEntry;
    use crate::tests::bench::config;
    use aster_units::Content;
    use std::vec::Vec;

    const LUN: LunIndex = LunIndex(0);

    /// A LUN whose free blocks, from block 0 on, were erased so often; the log names the first `named` in its
    /// order.
    fn free(levelling: WearLevelling, erases: &[u32], named: usize) -> Blocks {
        let mut config = config(Content::Fingerprint);
        config.wear_levelling = levelling;
        let mut blocks = Blocks::of(&config);
        for (block, &erases) in (0..).map(BlockIndex).zip(erases) {
            let entry = BlockEntry {
                state: BlockState::Free,
                stream: Stream::Host,
                next: 0,
                erases,
                unverified: false,
            };
            blocks.adopt(block, entry).unwrap();
        }
        let _ = blocks.list_free(LUN, named);
        blocks.free_listed();
        blocks
    }
    fn taken(blocks: &mut Blocks, streams: &[Stream]) -> Vec<u32> {
        let erases = |blocks: &Blocks, block: BlockIndex| blocks.erases[block.at()];
        let mut take = |stream| blocks.take_free(LUN, stream).map(|block| erases(blocks, block));
        streams.iter().map_while(|&stream| take(stream)).collect()
    }

    #[test]
    fn the_host_gets_the_least_worn_block_and_what_is_copied_the_most_worn() {
        use Stream::{Gc, Host};
        let erases = [5, 1, 9, 3, 7, 1, 8];
        for levelling in [WearLevelling::Dynamic, WearLevelling::Static { spread: 20 }] {
            let all = |streams: &[Stream]| taken(&mut free(levelling, &erases, 7), streams);
            assert_eq!(all(&[Host; 8]), [1, 1, 3, 5, 7, 8, 9]);
            assert_eq!(all(&[Gc; 8]), [9, 8, 7, 5, 3, 1, 1]);
            assert_eq!(all(&[Host, Gc, Host, Gc]), [1, 9, 1, 8]);
        }
        let in_turn = taken(&mut free(WearLevelling::None, &erases, 7), &[Host, Gc, Host, Gc]);
        assert_eq!(in_turn, [5, 1, 9, 3], "without levelling, as they come");
    }

    #[test]
    fn one_of_the_blocks_that_the_log_names_is_worn_and_what_is_copied_goes_there() {
        use Stream::{Gc, Host};
        let erases = [40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 39, 41];
        for levelling in [WearLevelling::Dynamic, WearLevelling::Static { spread: 20 }] {
            let mut blocks = free(levelling, &erases, 0);
            let name = |blocks: &mut Blocks| {
                blocks.choose_free_to_list(LUN, 4);
                let named: Vec<_> = blocks.list_free(LUN, 4).collect();
                blocks.free_listed();
                named.into_iter().map(|block| blocks.erases[block.at()]).collect::<Vec<_>>()
            };
            assert_eq!(name(&mut blocks), [1, 2, 3, 41]);
            assert_eq!(taken(&mut blocks, &[Host, Host]), [1, 2]);
            assert_eq!(name(&mut blocks), [3, 41, 4, 5], "one is enough");
            assert_eq!(taken(&mut blocks, &[Gc, Host]), [41, 3]);
            assert_eq!(name(&mut blocks), [4, 5, 6, 40]);
        }
        let mut blocks = free(WearLevelling::None, &erases, 0);
        blocks.choose_free_to_list(LUN, 4);
        assert_eq!(taken_in_order(&blocks), erases, "without levelling, as they come");
    }
    fn taken_in_order(blocks: &Blocks) -> Vec<u32> {
        blocks.luns[0].free.iter().map(|block| blocks.erases[block.at()]).collect()
    }

    #[test]
    fn a_block_that_becomes_free_takes_its_place_behind_those_that_the_log_names() {
        let mut blocks = free(WearLevelling::Dynamic, &[4, 6, 8, 10, 12], 2);
        // Erased so often before, and once more now.
        for (block, erases) in [(5, 10), (6, 0), (7, 20)] {
            blocks.states[block] = BlockState::Closed;
            blocks.erases[block] = erases;
            blocks.erased(BlockIndex(block as u32));
        }
        let order: Vec<_> = blocks.luns[0].free.iter().map(|b| blocks.erases[b.at()]).collect();
        assert!(order[blocks.luns[0].journaled_free..].is_sorted(), "{order:?}");
        assert_eq!(order.len() + blocks.luns[0].for_map.len(), 8);
        assert_eq!(taken(&mut blocks, &[Stream::Gc; 2]), [6, 4], "only those that the log names");
    }
}
