//! Where each logical block is.

use crate::shape::SectorAddr;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Blocks of a segment.
const SEGMENT: usize = 1 << 14;
/// Stands for no address.
const NONE: u32 = u32::MAX;

/// The sector of each logical block's newest version that is on flash: four bytes per block, in segments
/// that exist once a block of theirs has been written.
pub struct Map {
    segments: Vec<Option<Box<[u32]>>>,
    blocks: u32,
}

impl Map {
    /// A map of `blocks` blocks, none of which is anywhere.
    pub fn new(blocks: u32) -> Self {
        Map { segments: vec![None; (blocks as usize).div_ceil(SEGMENT)], blocks }
    }
    /// Logical blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Where a block is; `None` if it was never written, or was deallocated.
    pub fn get(&self, block: u32) -> Option<SectorAddr> {
        assert!(block < self.blocks, "block {block} of {}", self.blocks);
        let segment = self.segments[block as usize / SEGMENT].as_ref()?;
        Some(segment[block as usize % SEGMENT]).filter(|&sector| sector != NONE).map(SectorAddr)
    }
    /// Changes where a block is. Returns where it was.
    pub fn set(&mut self, block: u32, sector: Option<SectorAddr>) -> Option<SectorAddr> {
        let before = self.get(block);
        if before == sector {
            return before;
        }
        let segment = &mut self.segments[block as usize / SEGMENT];
        let segment = segment.get_or_insert_with(|| vec![NONE; SEGMENT].into_boxed_slice());
        segment[block as usize % SEGMENT] = sector.map_or(NONE, |SectorAddr(sector)| sector);
        before
    }
    /// Forgets where all blocks are.
    pub fn clear(&mut self) {
        self.segments.fill(None);
    }
    /// All blocks that are somewhere, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, SectorAddr)> + '_ {
        self.segments.iter().enumerate().filter_map(|(n, segment)| Some((n, segment.as_ref()?))).flat_map(
            |(n, segment)| {
                let of_segment = segment.iter().enumerate().filter(|(_, sector)| **sector != NONE);
                of_segment.map(move |(at, &sector)| ((n * SEGMENT + at) as u32, SectorAddr(sector)))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_a_map_of_blocks_holds(
            steps in prop::collection::vec((0u32..40_000, prop::option::of(0u32..1_000)), 1..400),
        ) {
            let (mut map, mut model) = (Map::new(40_000), BTreeMap::new());
            for (block, sector) in steps {
                let before = map.set(block, sector.map(SectorAddr));
                let expected = match sector {
                    Some(sector) => model.insert(block, SectorAddr(sector)),
                    None => model.remove(&block),
                };
                prop_assert_eq!(before, expected);
                prop_assert_eq!(map.get(block), model.get(&block).copied());
            }
            prop_assert!(map.iter().eq(model.into_iter()));
            map.clear();
            prop_assert_eq!(map.iter().count(), 0);
        }
    }
}
