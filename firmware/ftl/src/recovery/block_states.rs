//! States of blocks: how recovery decides them, and how the allocator learns them.

use crate::checkpoint::error::BootError;
use crate::durability::outbox::LogEntry;
use crate::mapping::{Mapping, MappingFault};
use crate::recovery::log_read::{LogRead, NoRecovery};
use crate::recovery::probe::Probe;
use crate::recovery::state::Recovery;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use aster_units::Upa;

fn contradicts(why: &'static str) -> Result<(), BootError> {
    Err(BootError::MapInvalid { why })
}

fn set_of(blocks: impl IntoIterator<Item = BlockIndex>) -> BTreeSet<u32> {
    blocks.into_iter().map(|block| block.0).collect()
}

/// What blocks were found to be used for.
#[derive(Default)]
struct Uses {
    /// Set aside for the log.
    log: BTreeSet<u32>,
    /// Hold the stored map.
    map: BTreeSet<u32>,
    /// Being written when the last log page was written.
    active: BTreeSet<u32>,
    /// On the last log page's free list.
    listed: BTreeSet<u32>,
    /// Blocks on the free list that have been written since.
    written: BTreeSet<u32>,
}

impl Uses {
    /// The state of a block whose state in the replayed table is `before`.
    fn state_of(&self, block: BlockIndex, before: BlockState) -> BlockState {
        let is_in = |blocks: &BTreeSet<u32>| blocks.contains(&block.0);
        match before {
            BlockState::Bad | BlockState::Retired | BlockState::Failing => before,
            _ if is_in(&self.log) => BlockState::Log,
            _ if is_in(&self.map) => BlockState::Map,
            _ if is_in(&self.active) => BlockState::Closed,
            _ if is_in(&self.listed) && is_in(&self.written) => BlockState::Closed,
            _ if is_in(&self.listed) => BlockState::Free,
            BlockState::Open | BlockState::Map | BlockState::Log => BlockState::Closed,
            BlockState::Free | BlockState::Closed => before,
        }
    }
    /// Whether it must be logged that a block with this state was opened: according to the last log page, or
    /// to all log entries, it was free. If a page had no room for the entry, it lists the block as being
    /// written.
    fn is_unlogged(&self, block: BlockIndex, before: BlockState, state: BlockState) -> bool {
        let was_free = before == BlockState::Free || self.listed.contains(&block.0);
        was_free && state == BlockState::Closed
    }
}

impl<M: Mapping> Recovery<M> {
    /// Gives each block the state that agrees with what was found. Journals blocks that were opened since the
    /// last log page.
    pub(super) fn set_states(&self, log: &LogRead, probe: &Probe, table: &mut [BlockEntry]) {
        let last = log.last();
        let uses = Uses {
            log: set_of(self.journal.log.slot_blocks()),
            map: set_of(log.stored().blocks.iter().copied()),
            active: set_of(last.ranges.iter().map(|(block, _)| *block)),
            listed: set_of(last.free_list.iter().copied()),
            written: set_of(last.free_list.iter().copied().filter(|&block| probe.is_used(block))),
        };
        for (block, entry) in (0..).map(BlockIndex).zip(table.iter_mut()) {
            entry.unverified = false;
            let before = entry.state;
            entry.state = uses.state_of(block, before);
            if uses.is_unlogged(block, before, entry.state) {
                self.blocks.table().outbox.push(LogEntry::Opened(block));
            }
        }
        let is_log = |entry: &BlockEntry| entry.state == BlockState::Log;
        self.journal.log.judge_slots(|block| table.get(block.at()).is_some_and(is_log));
    }
    /// Hands the block table over to the allocator.
    pub(super) async fn adopt_blocks(&self, log: &LogRead, table: &[BlockEntry]) -> Result<(), NoRecovery> {
        self.journal.root.replace_stored_map(log.stored().clone());
        self.adopt_table(table).map_err(|_| NoRecovery::Unreadable)?;
        self.count_valid_units().await.map_err(|_| NoRecovery::Unreadable)
    }
    /// Marks the free blocks that the last log page doesn't list as unverified: it is unknown whether they
    /// are erased. The rest of the page's free list may be written without another log page.
    pub(super) fn mark_unverified(&self, log: &LogRead) {
        let free_list = &log.last().free_list;
        let blocks = self.blocks.table();
        for block in (0..blocks.layout.total()).map(BlockIndex) {
            if !free_list.contains(&block) && blocks.states.of(block) == BlockState::Free {
                blocks.free.set_unverified(block);
            }
        }
        let unused = |block: &BlockIndex| blocks.states.of(*block) == BlockState::Free;
        let listed: Vec<_> = free_list.iter().copied().filter(unused).collect();
        blocks.free.listed_at_power_on(listed.into_iter());
    }
    /// Has the blocks with torn pages collected.
    pub(super) fn evacuate_torn(&self, probe: &Probe) {
        let blocks = self.blocks.table();
        probe.torn().for_each(|block| blocks.evacuation.collect_torn(block));
    }
    /// Puts all blocks where the table says.
    pub(super) fn adopt_table(&self, table: &[BlockEntry]) -> Result<(), BootError> {
        let blocks = self.blocks.table();
        for (block, &entry) in (0..).map(BlockIndex).zip(table) {
            blocks.adopt(block, entry).map_err(|why| BootError::MapInvalid { why })?;
        }
        Ok(())
    }
    pub(super) async fn count_valid_units(&self) -> Result<(), BootError> {
        let mut wrong = None;
        let walked = self.mapping.map().walk(|_, at| {
            wrong = self.count_valid(at).err();
            wrong.is_none()
        });
        let walked = walked.await;
        match (wrong, walked) {
            (Some(why), _) => contradicts(why),
            (None, Err(MappingFault { .. })) => contradicts("an entry of the map can't be read"),
            (None, Ok(())) => Ok(()),
        }
    }
    fn count_valid(&self, at: Upa) -> Result<(), &'static str> {
        let ppa = self.runtime.units.page_of(at);
        if u64::from(ppa.0) >= self.runtime.geometry.total_pages() {
            return Err("a logical page lies beyond the drive");
        }
        let blocks = self.blocks.table();
        if blocks.valid.is_valid(at) {
            return Err("two logical pages lie in the same place");
        }
        if !blocks.may_hold_data(ppa) {
            return Err("a logical page lies where nothing is programmed");
        }
        blocks.valid.set(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BlockState::{Bad, Closed, Failing, Free, Log, Map, Open, Retired};

    const ALL: [BlockState; 8] = [Free, Open, Closed, Failing, Bad, Retired, Map, Log];
    const BLOCK: BlockIndex = BlockIndex(7);

    #[derive(Clone, Copy, Debug)]
    enum Found {
        InLog,
        InMap,
        Active,
        Listed,
        Written,
    }
    use Found::{Active, InLog, InMap, Listed, Written};

    /// A block for which all of this was found.
    fn with(found: &[Found]) -> Uses {
        let mut uses = Uses::default();
        for of in found {
            let blocks = match of {
                InLog => &mut uses.log,
                InMap => &mut uses.map,
                Active => &mut uses.active,
                Listed => &mut uses.listed,
                Written => &mut uses.written,
            };
            blocks.insert(BLOCK.0);
        }
        uses
    }

    #[test]
    fn a_block_that_is_bad_or_failing_stays_so_whatever_was_found() {
        for before in [Bad, Retired, Failing] {
            for found in [&[][..], &[InLog], &[InMap], &[Active], &[Listed], &[Listed, Written]] {
                assert_eq!(with(found).state_of(BLOCK, before), before, "{found:?}");
            }
        }
    }

    #[test]
    fn what_was_found_decides_over_what_the_table_has() {
        for before in [Free, Open, Closed, Map, Log] {
            for (found, state) in [
                (&[InLog][..], Log),
                (&[InLog, Active], Log),
                (&[InMap], Map),
                (&[Active], Closed),
                (&[Listed], Free),
                (&[Listed, Written], Closed),
            ] {
                assert_eq!(with(found).state_of(BLOCK, before), state, "{before:?} {found:?}");
            }
        }
    }

    /// No block is open after a loss of power, and the blocks of an earlier map are ordinary ones.
    #[test]
    fn of_blocks_that_nothing_was_found_of_only_free_ones_stay_free() {
        for before in [Open, Closed, Map, Log] {
            assert_eq!(with(&[]).state_of(BLOCK, before), Closed);
        }
        assert_eq!(with(&[]).state_of(BLOCK, Free), Free);
    }

    #[test]
    fn the_log_learns_of_free_blocks_that_were_written() {
        for state in ALL {
            assert_eq!(with(&[Listed]).is_unlogged(BLOCK, Closed, state), state == Closed);
            // If a block is being written, its entry may not have had room on a log page.
            assert_eq!(with(&[Active]).is_unlogged(BLOCK, Free, state), state == Closed);
            assert!(!with(&[Active]).is_unlogged(BLOCK, Open, state));
        }
    }
}
