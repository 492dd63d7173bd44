//! The choice of the closed block that garbage collection empties next.

use aster_units::{BlockAddr, LunIndex};
use core::fmt;

/// Chooses the block that garbage collection empties next.
///
/// # Who calls, in what order
/// The FTL calls [`choose`](VictimPolicy::choose) when a pool needs room and copying gains some. A pool is a
/// LUN, or all LUNs where they share their spare blocks. Before
/// that, it erases blocks without valid pages, and empties blocks in which a program has failed; it
/// doesn't call the policy for these. Nor does it call the policy for wear levelling or refresh, which
/// move data for other reasons.
///
/// The FTL may ask the same question again before the block has been emptied. It does so where the pages
/// of a word line are programmed together, to complete a word line with a page of the block that would be
/// next. The answer should therefore not depend on the number of calls. If it does, as with random
/// choices, word lines are completed with pages of other blocks.
///
/// One policy serves all pools of a drive. It is synchronous and takes no time of the simulated core.
///
/// # What is bounded
/// At most the blocks of one pool are offered: of all LUNs where they are one, tens of thousands on a large
/// drive. Each of them has at least one stale unit, so that any
/// choice gains room in the end. A policy therefore decides how much is copied, but not whether the drive
/// can continue.
///
/// # What survives a power cut
/// Nothing of the policy. The FTL recovers the valid units and the erases of blocks. Ages start over, in
/// the order of block numbers.
pub trait VictimPolicy: fmt::Debug {
    /// The block to empty: one of those offered.
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr;
}

/// A block that may be emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockFacts {
    /// Its number among the blocks of the pool: its address in the LUN where a pool is a LUN.
    pub block: BlockAddr,
    /// Mapping units that hold valid data, which must be copied before the block is erased.
    pub valid: u32,
    /// Mapping units of a block. A unit is a page or a part of one.
    pub units: u32,
    /// Blocks of the drive that were filled after this one, as [`ClosedBlocks::closings`] counts.
    pub age: u64,
    /// Times erased.
    pub erases: u32,
}

/// Blocks whose valid units are compared at once.
const ASKED_AT_ONCE: usize = 64;

/// The closed blocks of a pool, one of which is to be emptied.
///
/// Each property is an array indexed by block, so that a policy that only needs valid units walks through
/// one array. [`ClosedBlocks::iter`] gives all properties of each block.
#[derive(Clone, Copy, Debug)]
pub struct ClosedBlocks<'a> {
    lun: LunIndex,
    units: u32,
    closings: u64,
    fewest: u32,
    valid: &'a [u32],
    closed_at: &'a [u64],
    erases: &'a [u32],
}

impl<'a> ClosedBlocks<'a> {
    /// Stands in place of a block's valid units if the block can't be emptied, because it is open, free,
    /// bad or being emptied already.
    pub const NOT_OFFERED: u32 = u32::MAX;

    /// The blocks of the pool whose first LUN is `lun`, with `units` mapping units each. For each block there
    /// are: its valid units or [`ClosedBlocks::NOT_OFFERED`]; its number in the order in which the drive's
    /// blocks were closed, of which there are `closings` by now; and how often it was erased. `None` if no
    /// block has a stale unit.
    pub fn new(
        lun: LunIndex,
        units: u32,
        closings: u64,
        (valid, closed_at, erases): (&'a [u32], &'a [u64], &'a [u32]),
    ) -> Option<Self> {
        // By value, several at a time: comparing references, as `min` does, takes them one by one.
        let fewest = valid.iter().fold(ClosedBlocks::NOT_OFFERED, |fewest, &valid| fewest.min(valid));
        (fewest < units).then_some(ClosedBlocks { lun, units, closings, fewest, valid, closed_at, erases })
    }
    /// The first LUN of the pool that they belong to.
    pub fn lun(&self) -> LunIndex {
        self.lun
    }
    /// Blocks of the drive that have been filled by now and, where a pool has several LUNs, victims that have
    /// been chosen. Two calls for one pool see different values, unless nothing of that was between them.
    pub fn closings(&self) -> u64 {
        self.closings
    }
    /// The fewest valid units of any offered block.
    pub fn fewest_valid(&self) -> u32 {
        self.fewest
    }
    /// The block that was closed first among those with the fewest valid units.
    pub fn oldest_of_fewest_valid(&self) -> BlockAddr {
        let (mut oldest, mut closed_at) = (None, u64::MAX);
        // Whether any of several has the fewest is asked of all of them at once: most have more.
        for (first, some) in (0..).step_by(ASKED_AT_ONCE).zip(self.valid.chunks(ASKED_AT_ONCE)) {
            if !some.iter().fold(false, |found, &valid| found | (valid == self.fewest)) {
                continue;
            }
            for (block, _) in (first..).zip(some).filter(|&(_, &valid)| valid == self.fewest) {
                if self.closed_at[block] < closed_at || oldest.is_none() {
                    (oldest, closed_at) = (Some(block), self.closed_at[block]);
                }
            }
        }
        BlockAddr(oldest.expect("some block has the fewest") as u32)
    }
    /// Whether a block is offered: closed, with a stale unit.
    pub fn offers(&self, block: BlockAddr) -> bool {
        self.valid.get(block.0 as usize).is_some_and(|&valid| valid < self.units)
    }
    /// Each offered block, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = BlockFacts> + '_ {
        (0..self.blocks()).filter_map(|block| self.facts(BlockAddr(block)))
    }
    /// Blocks of the pool, offered or not.
    pub fn blocks(&self) -> u32 {
        self.valid.len() as u32
    }
    /// The properties of a block; `None` if it isn't offered.
    pub fn facts(&self, block: BlockAddr) -> Option<BlockFacts> {
        let at = block.0 as usize;
        self.offers(block).then(|| BlockFacts {
            block,
            valid: self.valid[at],
            units: self.units,
            age: self.closings - self.closed_at[at],
            erases: self.erases[at],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    const NOT: u32 = ClosedBlocks::NOT_OFFERED;

    #[test]
    fn blocks_with_a_stale_unit_are_offered_and_no_others() {
        let (closed_at, erases) = ([1, 2, 3, 4, 5], [9, 8, 7, 6, 5]);
        let of = |valid| ClosedBlocks::new(LunIndex(3), 16, 5, (valid, &closed_at, &erases));
        let closed = of(&[16, NOT, 4, 15, 4]).unwrap();
        let offered: Vec<_> = closed.iter().map(|b| (b.block.0, b.valid, b.age, b.erases)).collect();
        assert_eq!(offered, [(2, 4, 2, 7), (3, 15, 1, 6), (4, 4, 0, 5)]);
        assert_eq!((closed.lun(), closed.closings(), closed.fewest_valid()), (LunIndex(3), 5, 4));
        let facts: Vec<_> = (0..closed.blocks()).filter_map(|block| closed.facts(BlockAddr(block))).collect();
        assert!(facts.iter().copied().eq(closed.iter()) && closed.facts(BlockAddr(9)).is_none());
        assert_eq!(closed.oldest_of_fewest_valid(), BlockAddr(2), "the first to be closed of two");
        let offers: Vec<_> = (0..6).map(|block| closed.offers(BlockAddr(block))).collect();
        assert_eq!(offers, [false, false, true, true, true, false]);
        assert!(of(&[16, NOT, 16, NOT, NOT]).is_none(), "nothing to gain");
    }

    #[test]
    fn the_oldest_of_many_blocks_is_found_wherever_it_lies() {
        for blocks in [1, 63, 64, 65, 200] {
            for oldest in 0..blocks {
                let valid: Vec<u32> =
                    (0..blocks).map(|block| [7, 3, NOT][(oldest + 1 + block) % 3]).collect();
                let closed_at: Vec<u64> = (0..blocks).map(|block| u64::from(block != oldest)).collect();
                let erases = vec![0; blocks];
                let closed = ClosedBlocks::new(LunIndex(0), 16, 5, (&valid, &closed_at, &erases)).unwrap();
                let fewest = *valid.iter().min().unwrap();
                let expected = (0..blocks).filter(|&at| valid[at] == fewest).min_by_key(|&at| closed_at[at]);
                let found = closed.oldest_of_fewest_valid().0 as usize;
                assert_eq!((closed.fewest_valid(), Some(found)), (fewest, expected));
            }
        }
    }
}
