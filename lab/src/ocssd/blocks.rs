//! What becomes of a drive's blocks while it works: erased, opened by a first program, left erased.

use aster_events::Event;
use aster_observe::FlashKind;
use aster_units::{Geometry, LunIndex, RowAddr};

/// A block since the beginning of the watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// As it was found.
    Untouched,
    Erased,
    Written,
}

/// Follows every block by the drive's events.
pub(super) struct Blocks {
    geometry: Geometry,
    blocks: Vec<State>,
    erased: u64,
    opened: u64,
    taken_fresh: u64,
}

/// What has happened to the blocks of a drive. Each plane's are counted for themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct BlockCounts {
    /// Erases.
    pub(super) erased: u64,
    /// Blocks that were begun to be written.
    pub(super) opened: u64,
    /// Of these, blocks that the drive hadn't erased before: they came erased from the factory.
    pub(super) taken_fresh: u64,
    /// Blocks that it has erased and not written since.
    pub(super) kept: u64,
}

impl Blocks {
    /// All untouched.
    pub(super) fn new(geometry: &Geometry) -> Self {
        let blocks = geometry.total_luns() as usize * geometry.blocks_per_lun as usize;
        Blocks {
            geometry: *geometry,
            blocks: vec![State::Untouched; blocks],
            erased: 0,
            opened: 0,
            taken_fresh: 0,
        }
    }
    pub(super) fn event(&mut self, event: &Event) {
        let Event::FlashFinished { lun, kind, row, status: 0, .. } = *event else { return };
        let (_, block, page) = self.geometry.split_row(RowAddr(row));
        let place = LunIndex(lun).index() * self.geometry.blocks_per_lun as usize + block.0 as usize;
        let Some(state) = self.blocks.get_mut(place) else { return };
        if kind == FlashKind::Erase as u8 {
            self.erased += 1;
            *state = State::Erased;
        } else if kind == FlashKind::Program as u8 {
            // A block that was open before goes on with a later page.
            let fresh = *state == State::Untouched && page.0 == 0;
            self.taken_fresh += u64::from(fresh);
            self.opened += u64::from(fresh || *state == State::Erased);
            *state = State::Written;
        }
    }
    pub(super) fn counts(&self) -> BlockCounts {
        let kept = self.blocks.iter().filter(|state| **state == State::Erased).count();
        BlockCounts {
            erased: self.erased,
            opened: self.opened,
            taken_fresh: self.taken_fresh,
            kept: kept as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::{BlockAddr, PageInBlock};

    const GEOMETRY: Geometry = Geometry {
        channels: 2,
        ways: 1,
        luns: 1,
        planes: 2,
        blocks_per_lun: 8,
        pages_per_block: 4,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };

    fn after(operations: &[(FlashKind, u32, u32, u16, u8)]) -> BlockCounts {
        let mut blocks = Blocks::new(&GEOMETRY);
        for &(kind, lun, block, page, status) in operations {
            let row = GEOMETRY.row(0, BlockAddr(block), PageInBlock(page)).0;
            blocks.event(&Event::FlashFinished { lun, kind: kind as u8, row, status, corrected: 0 });
        }
        blocks.counts()
    }

    #[test]
    fn erases_are_those_of_blocks_opened_and_kept_unless_one_is_erased_twice() {
        use FlashKind::{Erase, Program, Read};
        let mut operations = vec![
            (Program, 0, 3, 0, 0), // As it came.
            (Program, 0, 3, 1, 0),
            (Program, 0, 5, 2, 0), // It was open before.
            (Erase, 1, 3, 0, 0),
            (Program, 1, 3, 0, 0),
            (Erase, 0, 3, 0, 0),
            (Erase, 0, 4, 0, 1), // It has failed.
            (Read, 0, 4, 0, 0),
        ];
        let counts = after(&operations);
        assert_eq!(counts, BlockCounts { erased: 2, opened: 2, taken_fresh: 1, kept: 1 });
        let derived = |counts: BlockCounts| counts.opened - counts.taken_fresh + counts.kept;
        assert_eq!(derived(counts), counts.erased);
        operations.push((Erase, 0, 3, 0, 0));
        let twice = after(&operations);
        assert_eq!((twice.erased, derived(twice)), (3, 2));
    }
}
