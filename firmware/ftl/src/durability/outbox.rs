//! Changes that have yet to be logged.

use crate::durability::moves::Context;
use crate::terms::block::BlockIndex;
use crate::terms::sizes::OPENED_SHARE;
use alloc::collections::VecDeque;
use aster_units::{Lpn, Upa};
use core::cell::RefCell;

/// Something that recovery must know, in the order in which it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogEntry {
    /// A logical unit lies here now.
    Map { lpn: Lpn, at: Upa },
    /// Logical units are unmapped. Versions with this sequence number or a lower one are stale.
    Trim { first: Lpn, count: u32, sequence: u64 },
    /// A free block was opened.
    Opened(BlockIndex),
    /// A block was erased, and how often so far. It is a count since the entry may be replayed over a table
    /// that has this erase already.
    Erased { block: BlockIndex, erases: u32 },
    /// A block has gone bad.
    Retired(BlockIndex),
}

impl LogEntry {
    /// The bytes of this entry after those that `context` has coded.
    #[inline]
    fn bytes(self, context: &mut Context) -> usize {
        match self {
            LogEntry::Map { lpn, at } => context.encode(lpn, at).bytes(),
            LogEntry::Trim { .. } => 17,
            LogEntry::Erased { .. } => 9,
            LogEntry::Opened(_) | LogEntry::Retired(_) => 5,
        }
    }
}

/// The entries that are in no log page yet.
pub(crate) struct PendingEntries {
    entries: VecDeque<LogEntry>,
    // The bytes that the entries take in a page of their own, and the context after coding them.
    bytes: usize,
    context: Context,
    // The numbers of entries added and taken so far, and the number of the last trim.
    pushed: u64,
    taken: u64,
    last_trim: u64,
    // Blocks opened among the entries.
    opened: usize,
}

impl PendingEntries {
    /// No entries. The drive has `track_units` units in each LUN.
    pub(crate) fn new(track_units: u32) -> Self {
        PendingEntries {
            entries: VecDeque::new(),
            bytes: 0,
            context: Context::new(track_units),
            pushed: 0,
            taken: 0,
            last_trim: 0,
            opened: 0,
        }
    }
    #[inline]
    pub(crate) fn push(&mut self, entry: LogEntry) {
        if let LogEntry::Trim { first, count, sequence } = entry {
            // Pages that are trimmed one after the other, with no other sequence number in between, become
            // one entry.
            if let Some(LogEntry::Trim { first: before, count: length, sequence: last }) =
                self.entries.back_mut()
                && before.0 + *length == first.0
                && *last + 1 == sequence
            {
                (*length, *last) = (*length + count, sequence);
                return;
            }
            self.last_trim = self.pushed + 1;
        }
        self.pushed += 1;
        self.opened += usize::from(matches!(entry, LogEntry::Opened(_)));
        self.bytes += entry.bytes(&mut self.context);
        self.entries.push_back(entry);
    }
    /// Units in each LUN of the drive.
    pub(crate) fn track_units(&self) -> u32 {
        self.context.track_units()
    }
    /// Bytes that all entries take in one log page.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
    /// The number of the last trim, counted among all entries since power-on; 0 before the first.
    pub(crate) fn last_trim(&self) -> u64 {
        self.last_trim
    }
    /// How many entries, the oldest first, fit `bytes`.
    pub(crate) fn fitting(&self, bytes: usize) -> usize {
        if self.bytes <= bytes {
            return self.entries.len();
        }
        let mut context = Context::new(self.context.track_units());
        let mut left = bytes;
        let fits = |entry: &&LogEntry| match left.checked_sub(entry.bytes(&mut context)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        self.entries.iter().take_while(fits).count()
    }
    /// The entries, oldest first.
    pub(crate) fn entries(&self) -> &VecDeque<LogEntry> {
        &self.entries
    }
    /// Removes the oldest entries, which are in a log page now. Returns how many were removed since power-on.
    pub(crate) fn take(&mut self, count: usize) -> u64 {
        for entry in self.entries.drain(..count) {
            self.opened -= usize::from(matches!(entry, LogEntry::Opened(_)));
        }
        // The next page begins with the remaining entries.
        self.context = Context::new(self.context.track_units());
        self.bytes = self.entries.iter().map(|entry| entry.bytes(&mut self.context)).sum();
        self.taken += count as u64;
        self.taken
    }
}

/// Changes that wait for a log page.
pub(crate) struct Outbox {
    entries: RefCell<PendingEntries>,
    // The most blocks that may be opened before a log page names the first of them.
    opened_max: usize,
}

impl Outbox {
    /// An empty outbox. The drive has `track_units` units in each LUN, and its log pages have `page_bytes`
    /// bytes.
    pub(crate) fn new(track_units: u32, page_bytes: u32) -> Self {
        Outbox {
            entries: RefCell::new(PendingEntries::new(track_units)),
            opened_max: page_bytes as usize / OPENED_SHARE,
        }
    }
    pub(crate) fn forget(&self) {
        let track_units = self.entries.borrow().track_units();
        *self.entries.borrow_mut() = PendingEntries::new(track_units);
    }
    /// Adds an entry to be logged.
    pub(crate) fn push(&self, entry: LogEntry) {
        self.entries.borrow_mut().push(entry);
    }
    /// Removes the oldest `count` entries, which are in a log page now. Returns how many were logged since
    /// power-on.
    pub(crate) fn take(&self, count: usize) -> u64 {
        self.entries.borrow_mut().take(count)
    }
    /// The result of `read` on the entries. It must not add any.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&PendingEntries) -> T) -> T {
        read(&self.entries.borrow())
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.borrow().entries.is_empty()
    }
    /// The number of opened blocks that are in no log page yet.
    pub(crate) fn opened(&self) -> usize {
        self.entries.borrow().opened
    }
    /// Whether the log has fallen behind: no block may be opened before it has caught up, since each block
    /// with unlogged pages takes up room in the log pages.
    pub(crate) fn is_behind(&self) -> bool {
        self.opened() >= self.opened_max
    }
    /// Whether half of the blocks have been opened that may be opened before a log page names the first of
    /// them. The log should be written now, so that no writer has to wait for it.
    pub(crate) fn falls_behind(&self) -> bool {
        self.opened() >= self.opened_max / 2
    }
    /// Bytes that all entries take in one log page.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.borrow().bytes()
    }
    /// The number of the last entry, counted among all since power-on.
    pub(crate) fn last(&self) -> u64 {
        self.entries.borrow().pushed
    }
    /// The number of the last trim, counted among all entries since power-on; 0 before the first.
    pub(crate) fn last_trim(&self) -> u64 {
        self.entries.borrow().last_trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LogEntry::{Erased, Map, Opened, Trim};

    const BLOCK: BlockIndex = BlockIndex(7);

    fn trim(first: u32, count: u32, sequence: u64) -> LogEntry {
        Trim { first: Lpn(first), count, sequence }
    }
    fn pending(entries: &[LogEntry]) -> PendingEntries {
        let mut pending = PendingEntries::new(1 << 20);
        entries.iter().for_each(|&entry| pending.push(entry));
        pending
    }

    #[test]
    fn trims_of_neighbours_one_after_the_other_are_one_entry() {
        let merged = pending(&[trim(4, 1, 10), trim(5, 2, 11), trim(7, 1, 12)]);
        assert!(merged.entries().iter().eq(&[trim(4, 4, 12)]));
        assert_eq!((merged.last_trim, merged.pushed), (1, 1));
        // These don't merge: there is a page in between, or a sequence number that was given to something
        // else.
        let apart = [trim(4, 1, 10), trim(6, 1, 11), trim(7, 1, 13)];
        let kept = pending(&apart);
        assert!(kept.entries().iter().eq(&apart) && kept.last_trim == 3);
    }

    #[test]
    fn entries_are_counted_from_power_on_and_blocks_that_were_opened_while_they_wait() {
        let mut pending = pending(&[Opened(BLOCK), trim(4, 1, 10), Opened(BlockIndex(8))]);
        assert_eq!((pending.opened, pending.pushed, pending.last_trim), (2, 3, 2));
        assert_eq!((pending.take(2), pending.opened), (2, 1));
        pending.push(Erased { block: BLOCK, erases: 3 });
        assert_eq!((pending.pushed, pending.last_trim), (4, 2));
        assert_eq!((pending.take(2), pending.opened, pending.bytes), (4, 0, 0));
    }

    #[test]
    fn as_many_entries_fit_as_their_bytes_say() {
        let moved = |n: u32| Map { lpn: Lpn(1000 * n), at: Upa(77 * n) };
        let entries = [moved(1), Opened(BLOCK), moved(2), trim(4, 1, 10), moved(3)];
        let all = pending(&entries);
        let bytes_of = |count: usize| pending(&entries[..count]).bytes;
        assert_eq!(all.bytes, bytes_of(5));
        for count in 1..=5 {
            assert_eq!((all.fitting(bytes_of(count)), all.fitting(bytes_of(count) - 1)), (count, count - 1));
        }
    }
}
