//! The slots of the log: blocks set aside for it, which of them are in use, and how many lines are left.

use crate::durability::outbox::LogEntry;
use crate::terms::block::BlockIndex;
use alloc::vec::Vec;

/// A block set aside for the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSlot {
    pub(crate) block: BlockIndex,
    /// The highest number of its pages; 0 if there are none.
    pub(crate) last: u64,
    pub(crate) good: bool,
}

/// Where the log stands.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) slots: Vec<LogSlot>,
    /// The slot in use, and the next line in it. `None` after a loss of power until a page is written.
    pub(crate) at: Option<(usize, u32)>,
    /// The slot after which to look for the next one.
    pub(crate) turn: usize,
    /// The newest slot found after a loss of power, and its first erased line. The log continues there if
    /// there is no spare slot.
    pub(crate) rest: Option<(usize, u32)>,
    pub(crate) lines_per_slot: u32,
    /// The number of the last page.
    pub(crate) number: u64,
    /// The page that comes next.
    pub(super) page: NextPage,
    /// The stored map.
    pub(crate) map: NamedMap,
    // Entries logged since power-on.
    pub(super) logged: u64,
    // If the map is on flash: the entries of pages that have been written, for the tasks that write the map.
    pub(super) told: Vec<LogEntry>,
    /// It is running short of lines. Cached, since every program asks for it and there are many slots.
    pub(super) short: bool,
    /// No log page can be written any more.
    pub(crate) ended: bool,
    /// No map will be stored any more: the room kept for the page that would name it is available to other
    /// pages.
    pub(crate) uses_reserve: bool,
}

/// The log page that comes next.
#[derive(Default)]
pub(crate) struct NextPage {
    pub(super) asked: bool,
    pub(super) writing: bool,
    // If the map is on flash: the entries of this page.
    pub(super) entries: Vec<LogEntry>,
    // Bytes of the last page's header and lists: those of this page are expected to take as many.
    pub(super) lists_bytes: usize,
    // A page has recorded that the drive is read-only.
    pub(super) says_read_only: bool,
}

/// The stored map that the log names, and what has happened since it was begun.
#[derive(Default)]
pub(crate) struct NamedMap {
    /// The page that names it.
    pub(crate) commit: u64,
    /// The first page with an entry that the map may lack.
    pub(crate) replay_from: u64,
    /// Where the log stood when storing began: earlier lines of that slot don't count any more. `None` if no
    /// map has been stored since power-on.
    pub(super) needed_from: Option<(usize, u32)>,
    // Data pages programmed, and where the log stood, when the last map to be stored was begun.
    pub(super) programs_then: u64,
    pub(super) begun_at: Option<(usize, u32)>,
    /// Another map should be stored soon. Either the log was read back after a loss of power, and a new map
    /// makes the next recovery short. Or a page of the stored map, or of the log since then, fades or can't
    /// be read any more.
    pub(crate) renew: bool,
}

impl Log {
    fn is_spare(&self, slot: &LogSlot) -> bool {
        slot.good && (slot.last == 0 || slot.last < self.map.replay_from)
    }
    /// Slots that have not gone bad.
    pub(super) fn good_slots(&self) -> u32 {
        self.slots.iter().filter(|slot| slot.good).count() as u32
    }
    fn spare_slots(&self) -> u32 {
        let current = self.at.map(|(slot, _)| slot);
        let spare = |&(n, slot): &(usize, &LogSlot)| Some(n) != current && self.is_spare(slot);
        self.slots.iter().enumerate().filter(spare).count() as u32
    }
    /// Slots that stay spare for the page that names a stored map: after a loss of power, and when others go
    /// bad.
    fn kept_slots(&self) -> u32 {
        (self.good_slots() / 4).max(1)
    }
    fn lines_here(&self) -> u32 {
        self.at.map_or(0, |(_, line)| self.lines_per_slot - line)
    }
    /// Lines that can be written before a newer map is stored.
    pub(crate) fn free_lines(&self) -> u32 {
        self.lines_here() + self.lines_per_slot * self.spare_slots()
    }
    /// Lines of all good slots.
    pub(super) fn lines(&self) -> u32 {
        self.lines_per_slot * self.good_slots()
    }
    /// Whether so few lines are left that a newer map should be stored.
    fn runs_short(&self) -> bool {
        let ahead = (self.lines_per_slot / 2).max(2);
        self.free_lines() <= self.lines_per_slot * self.kept_slots() + ahead || !self.has_room()
    }
    /// Updates `short` after the slots have changed.
    pub(crate) fn note_slots(&mut self) {
        self.short = self.runs_short();
    }
    /// Whether a page that names no stored map may be written.
    pub(super) fn has_room(&self) -> bool {
        if self.uses_reserve {
            return true;
        }
        let (spare, kept) = (self.spare_slots(), self.kept_slots());
        spare > kept || (spare == kept && self.lines_here() > 0)
    }
    /// The lines that recovery needs, each with its slot, as far as they are known.
    pub(crate) fn needed_lines(&self) -> impl Iterator<Item = (usize, u32)> {
        let wanted = self.map.replay_from.min(self.map.commit);
        let in_use =
            self.slots.iter().enumerate().filter(move |(_, slot)| slot.last > 0 && slot.last >= wanted);
        in_use.flat_map(|(n, _)| {
            let here = |(slot, line): (usize, u32)| (slot == n).then_some(line);
            let first = self.map.needed_from.and_then(here).unwrap_or(0);
            let end = self.at.and_then(here).unwrap_or(self.lines_per_slot);
            (first..end).map(move |line| (n, line))
        })
    }
    /// The spare slot that comes next in turn.
    pub(super) fn next_spare(&self) -> Option<usize> {
        let count = self.slots.len();
        (1..=count)
            .map(|n| (self.turn + n) % count)
            .find(|&n| self.at.is_none_or(|(current, _)| current != n) && self.is_spare(&self.slots[n]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// A log of eight slots of four lines each, none of them written.
    fn log() -> Log {
        let slot = |n| LogSlot { block: BlockIndex(n), last: 0, good: true };
        Log { slots: (0..8).map(slot).collect(), lines_per_slot: 4, turn: 7, ..Log::default() }
    }

    #[test]
    fn slots_are_used_in_turn_and_bad_ones_passed_over() {
        let mut log = log();
        assert_eq!(log.next_spare(), Some(0));
        log.at = Some((0, 1));
        (log.turn, log.slots[1].good) = (0, false);
        assert_eq!(log.next_spare(), Some(2));
        // Of the others, none is spare whose pages the stored map lacks.
        log.map.replay_from = 10;
        log.slots.iter_mut().for_each(|slot| slot.last = 10);
        assert_eq!(log.next_spare(), None);
        log.slots[5].last = 9;
        assert_eq!(log.next_spare(), Some(5));
    }

    /// A quarter of the good slots is kept for the page that names a stored map, as long as a map can be
    /// stored.
    #[test]
    fn the_last_slots_are_kept_until_no_map_will_be_stored() {
        let mut log = log();
        (log.at, log.map.replay_from) = (Some((0, 4)), 1);
        assert_eq!((log.free_lines(), log.has_room(), log.runs_short()), (28, true, false));
        (1..6).for_each(|slot| log.slots[slot].last = 1);
        assert_eq!((log.free_lines(), log.has_room(), log.runs_short()), (8, false, true));
        log.at = Some((0, 3));
        assert!(log.has_room() && log.runs_short(), "one line is left before the slots that are kept");
        log.at = Some((0, 4));
        log.uses_reserve = true;
        assert!(log.has_room());
    }

    #[test]
    fn recovery_needs_the_lines_since_the_stored_map_was_begun() {
        let mut log = log();
        (log.map.commit, log.map.replay_from, log.at) = (9, 8, Some((2, 1)));
        for (slot, last) in [(0, 5), (1, 9), (2, 10)] {
            log.slots[slot].last = last;
        }
        log.map.needed_from = Some((1, 2));
        assert_eq!(log.needed_lines().collect::<Vec<_>>(), vec![(1, 2), (1, 3), (2, 0)]);
    }
}
