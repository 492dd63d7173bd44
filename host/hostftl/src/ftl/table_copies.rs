//! Pages of block group tables that a search has found (H25): which of them make a copy.
//!
//! A copy is a page of each number, one behind the other, in a block of an area. The blocks of an area have
//! the same copies, so that pages of several blocks can make one as well.

use super::block_table::Members;
use super::table_place::lanes_of;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A block of a lane.
pub(super) type LaneBlock = (u8, u16);
/// A page of a block of a lane.
pub(super) type LanePage = (LaneBlock, u16);

/// Pages of tables of an array of so many lanes.
pub(super) struct TableCopies {
    lanes: u8,
    /// By generation and number of the page.
    found: BTreeMap<(u64, u32), Vec<LanePage>>,
}

impl TableCopies {
    pub fn new(lanes: u8) -> Self {
        TableCopies { lanes, found: BTreeMap::new() }
    }
    /// There is a page of a table: of this generation, with this number.
    pub fn add(&mut self, page: (u64, u32), at: LanePage) {
        self.found.entry(page).or_default().push(at);
    }
    /// The generations, the newest one first.
    pub fn generations(&self) -> Vec<u64> {
        let all: BTreeSet<u64> = self.found.keys().map(|&(generation, _)| generation).collect();
        all.into_iter().rev().collect()
    }
    /// The newest generation of which anything is or was on flash, of which `kept` was known.
    pub fn newest(&self, kept: Option<u64>) -> u64 {
        let found = self.found.last_key_value().map(|(&(generation, _), _)| generation);
        found.max(kept).unwrap_or(0)
    }
    fn of(&self, generation: u64, n: u16) -> &[LanePage] {
        self.found.get(&(generation, n.into())).map_or(&[], Vec::as_slice)
    }
    /// Where copies of so many pages begin, the most complete ones first.
    pub fn starts(&self, generation: u64, pages: u16) -> Vec<LanePage> {
        let mut starts = self.of(generation, 0).to_vec();
        starts.sort_by_key(|&(block, page)| {
            (0..pages).filter(|&n| !self.of(generation, n).contains(&(block, page + n))).count()
        });
        starts
    }
    /// The area of a lane.
    pub fn area(&self, lane: u8) -> u8 {
        u8::from(!lanes_of(0, self.lanes).contains(&lane))
    }
    /// Pages of each number of a copy that begins here: its own first, then those of the area's other blocks.
    pub fn of_copy(
        &self,
        generation: u64,
        pages: u16,
        ((lane, block), page): LanePage,
    ) -> Vec<Vec<LanePage>> {
        let lanes = lanes_of(self.area(lane), self.lanes);
        let of_page = |n: u16| {
            let mut of: Vec<LanePage> = self.of(generation, n).to_vec();
            of.retain(|((lane, _), at)| lanes.contains(lane) && *at == page + n);
            of.sort_by_key(|&(of, _)| of != (lane, block));
            of
        };
        (0..pages).map(of_page).collect()
    }
    /// Whether the blocks of a group have a page of each number of a copy.
    pub fn are_of(copy: &[Vec<LanePage>], group: &Members) -> bool {
        let has = |&((lane, block), _): &LanePage| group[usize::from(lane)] == block;
        copy.iter().all(|of| of.iter().any(has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use aster_wire::array::NO_BLOCK;

    const LEFT: LaneBlock = (0, 7);
    const TABLE: LaneBlock = (1, 5);

    /// Two pages of generation 9 in a block, and the first one of them in another one.
    fn partial_and_whole() -> TableCopies {
        let mut copies = TableCopies::new(4);
        copies.add((8, 0), ((2, 5), 0));
        copies.add((9, 0), (LEFT, 2));
        copies.add((9, 0), (TABLE, 4));
        copies.add((9, 1), (TABLE, 5));
        copies
    }

    #[test]
    fn a_number_that_nvram_knows_or_that_is_on_flash_is_not_used_again() {
        let copies = partial_and_whole();
        assert_eq!(copies.generations(), [9, 8]);
        assert_eq!([None, Some(8), Some(11)].map(|kept| copies.newest(kept)), [9, 9, 11]);
        assert_eq!([None, Some(3)].map(|kept| TableCopies::new(4).newest(kept)), [0, 3]);
    }

    #[test]
    fn a_block_with_part_of_a_copy_comes_after_one_with_all_of_it() {
        let copies = partial_and_whole();
        assert_eq!(copies.starts(9, 2), [(TABLE, 4), (LEFT, 2)]);
        assert_eq!(copies.of_copy(9, 2, (TABLE, 4)), [vec![(TABLE, 4)], vec![(TABLE, 5)]]);
        assert_eq!(copies.of_copy(9, 2, (LEFT, 2)), [vec![(LEFT, 2)], vec![]]);
    }

    #[test]
    fn pages_of_several_blocks_of_an_area_make_a_copy_of_the_group_that_has_them() {
        let mut copies = TableCopies::new(4);
        // The other area, and another place.
        copies.add((9, 0), ((2, 7), 2));
        copies.add((9, 1), (LEFT, 6));
        copies.add((9, 1), (TABLE, 3));
        copies.add((9, 0), (LEFT, 2));
        copies.add((9, 0), ((1, 6), 2));
        let copy = copies.of_copy(9, 2, (LEFT, 2));
        assert_eq!(copy, [vec![(LEFT, 2), ((1, 6), 2)], vec![(TABLE, 3)]]);
        let group = |first, second| {
            let mut members = [NO_BLOCK; 8];
            (members[0], members[1]) = (first, second);
            members
        };
        assert!(TableCopies::are_of(&copy, &group(7, 5)));
        assert!(!TableCopies::are_of(&copy, &group(8, 5)), "it has no first page");
        assert!(!TableCopies::are_of(&copy, &group(7, 6)), "it has no second page");
        assert_eq!((copies.area(1), copies.area(2)), (0, 1));
    }
}
