//! Replay: the log's entries are applied to the stored map and its block table.

use crate::durability::outbox::LogEntry;
use crate::mapping::Mapping;
use crate::recovery::log_read::{LogRead, NoRecovery};
use crate::recovery::state::Recovery;
use crate::terms::block::{BlockEntry, BlockState};
use alloc::vec::Vec;
use aster_events::Function;
use aster_units::{Lpn, Upa};
use core::ops::Range;

/// Logical pages were unmapped.
struct Trim {
    first: Lpn,
    count: u32,
    sequence: u64,
}

/// The trims in the log, oldest first.
#[derive(Default)]
pub(super) struct Trims(Vec<Trim>);

impl Trims {
    /// Whether a logical page was trimmed after the version with this sequence number was written.
    pub(super) fn has_after(&self, lpn: Lpn, sequence: u64) -> bool {
        let covers = |trim: &Trim| {
            trim.sequence > sequence && (trim.first.0..trim.first.0 + trim.count).contains(&lpn.0)
        };
        self.0.iter().rev().any(covers)
    }
    /// One trim alone.
    #[cfg(test)]
    pub(super) fn one(first: Lpn, count: u32, sequence: u64) -> Self {
        Trims(alloc::vec![Trim { first, count, sequence }])
    }
}

/// A replay in progress.
struct Replay<'a> {
    logical_units: u32,
    physical_units: u64,
    table: &'a mut [BlockEntry],
    trims: Trims,
}

/// Logical pages that an entry maps to a physical one, or unmaps.
struct Remapped {
    pages: Range<u32>,
    to: Upa,
}

impl Replay<'_> {
    /// Applies an entry to the block table and returns what it changes in the map. `None` if the entry names
    /// something that the drive doesn't have.
    fn apply(&mut self, entry: LogEntry) -> Option<Remapped> {
        let mut remapped = Remapped { pages: 0..0, to: Upa::NONE };
        match entry {
            LogEntry::Map { lpn, at } => {
                if lpn.0 >= self.logical_units || u64::from(at.0) >= self.physical_units {
                    return None;
                }
                remapped = Remapped { pages: lpn.0..lpn.0 + 1, to: at };
            }
            LogEntry::Trim { first, count, sequence } => {
                let end = first.0.checked_add(count).filter(|&end| end <= self.logical_units)?;
                remapped.pages = first.0..end;
                self.trims.0.push(Trim { first, count, sequence });
            }
            // A failing block is neither erased nor opened again. If a block is failing in the table, the
            // table was stored after this entry was written.
            LogEntry::Opened(block) => {
                let entry = self.table.get_mut(block.at())?;
                if entry.state != BlockState::Failing {
                    entry.state = BlockState::Closed;
                }
            }
            LogEntry::Erased { block, erases } => {
                let entry = self.table.get_mut(block.at())?;
                entry.erases = erases;
                if entry.state != BlockState::Failing {
                    entry.state = BlockState::Free;
                }
            }
            LogEntry::Retired(block) => self.table.get_mut(block.at())?.state = BlockState::Retired,
        }
        Some(remapped)
    }
}

impl<M: Mapping> Recovery<M> {
    /// Brings the map and the block table up to the end of the log.
    pub(super) async fn replay_log(
        &self,
        log: &LogRead,
        table: &mut [BlockEntry],
    ) -> Result<Trims, NoRecovery> {
        let mut replay = Replay {
            logical_units: self.mapping.pages(),
            physical_units: self.runtime.config.physical_units(),
            table,
            trims: Trims::default(),
        };
        for entry in log.entries() {
            self.runtime.spend(Function::Recovery, self.runtime.config.costs.replay);
            let Remapped { pages, to } = replay.apply(entry).ok_or(NoRecovery::Unreadable)?;
            for lpn in pages {
                self.mapping.restore(Lpn(lpn), to, true).await.map_err(|_| NoRecovery::Unreadable)?;
            }
        }
        // Later steps look these blocks up.
        let ranges = log.headers().flat_map(|header| &header.ranges).map(|(block, _)| block);
        let mut listed = ranges.chain(log.headers().flat_map(|header| &header.free_list));
        let all_there = listed.all(|block| block.at() < replay.table.len());
        if all_there { Ok(replay.trims) } else { Err(NoRecovery::Unreadable) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::{BlockIndex, Stream};
    use std::collections::BTreeMap;

    const LOGICAL_UNITS: u32 = 100;
    const PHYSICAL_UNITS: u64 = 160;

    fn closed() -> BlockEntry {
        BlockEntry {
            state: BlockState::Closed,
            stream: Stream::Host(0),
            next: 0,
            erases: 1,
            unverified: false,
        }
    }
    /// Replays entries over an empty map. Returns what is mapped then, and the trims. `None` if `apply`
    /// returns that.
    fn replay(table: &mut [BlockEntry], entries: &[LogEntry]) -> Option<(BTreeMap<u32, u32>, Trims)> {
        let mut mapped = BTreeMap::new();
        let (logical_units, physical_units) = (LOGICAL_UNITS, PHYSICAL_UNITS);
        let mut replay = Replay { logical_units, physical_units, table, trims: Trims::default() };
        for &entry in entries {
            let Remapped { pages, to } = replay.apply(entry)?;
            for lpn in pages {
                match to.is_some() {
                    true => mapped.insert(lpn, to.0),
                    false => mapped.remove(&lpn),
                };
            }
        }
        Some((mapped, replay.trims))
    }
    fn moved(lpn: u32, at: u32) -> LogEntry {
        LogEntry::Map { lpn: Lpn(lpn), at: Upa(at) }
    }
    fn trim(first: u32, count: u32, sequence: u64) -> LogEntry {
        LogEntry::Trim { first: Lpn(first), count, sequence }
    }

    #[test]
    fn a_page_is_where_the_last_entry_says() {
        let entries = [moved(3, 20), moved(4, 21), moved(5, 22), moved(3, 30), trim(4, 2, 9), moved(5, 40)];
        let (mapped, _) = replay(&mut [], &entries).unwrap();
        assert_eq!(mapped, BTreeMap::from([(3, 30), (5, 40)]));
    }

    #[test]
    fn a_trim_is_after_the_versions_of_its_pages_with_smaller_sequence_numbers() {
        let (_, trims) = replay(&mut [], &[trim(10, 2, 50), trim(11, 1, 70)]).unwrap();
        for (lpn, sequence, is_after) in [
            (9, 40, false),
            (10, 49, true),
            (10, 50, false),
            (11, 50, true),
            (11, 69, true),
            (11, 70, false),
            (12, 40, false),
        ] {
            assert_eq!(trims.has_after(Lpn(lpn), sequence), is_after, "page {lpn}, sequence {sequence}");
        }
    }

    /// A map may be stored while a block is failing, and the replay may begin before the block was opened.
    #[test]
    fn a_failing_block_stays_as_the_table_has_it() {
        let [failing, other] = [2, 4].map(BlockIndex);
        let states = |entries: &[LogEntry]| {
            let mut table = [closed(); 5];
            table[failing.at()].state = BlockState::Failing;
            replay(&mut table, entries).unwrap();
            [failing, other].map(|block| (table[block.at()].state, table[block.at()].erases))
        };
        let erased = [failing, other].map(|block| LogEntry::Erased { block, erases: 2 });
        let opened = [failing, other].map(LogEntry::Opened);
        assert_eq!(states(&erased), [(BlockState::Failing, 2), (BlockState::Free, 2)]);
        assert_eq!(states(&opened), [(BlockState::Failing, 1), (BlockState::Closed, 1)]);
        let all = [&erased[..], &opened].concat();
        assert_eq!(states(&all), [(BlockState::Failing, 2), (BlockState::Closed, 2)]);
        let all = [&all[..], &[LogEntry::Retired(failing)]].concat();
        assert_eq!(states(&all)[0], (BlockState::Retired, 2));
    }

    #[test]
    fn entries_that_name_what_the_drive_does_not_have_are_refused() {
        let last = [
            moved(LOGICAL_UNITS - 1, PHYSICAL_UNITS as u32 - 1),
            trim(LOGICAL_UNITS - 1, 1, 9),
            LogEntry::Opened(BlockIndex(4)),
            LogEntry::Erased { block: BlockIndex(4), erases: 2 },
            LogEntry::Retired(BlockIndex(4)),
        ];
        assert!(replay(&mut [closed(); 5], &last).is_some());
        for beyond in [
            moved(LOGICAL_UNITS, 0),
            moved(0, PHYSICAL_UNITS as u32),
            trim(LOGICAL_UNITS - 1, 2, 9),
            trim(u32::MAX, 2, 9),
            LogEntry::Opened(BlockIndex(5)),
            LogEntry::Erased { block: BlockIndex(5), erases: 2 },
            LogEntry::Retired(BlockIndex(5)),
        ] {
            assert!(replay(&mut [closed(); 5], &[beyond]).is_none(), "{beyond:?}");
        }
    }
}
