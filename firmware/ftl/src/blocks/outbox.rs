//! Changes that the log must say, and has not yet.

use crate::blocks::moves::Context;
use crate::terms::block::BlockIndex;
use alloc::collections::VecDeque;
use aster_units::{Lpn, Ppa};

/// Something that recovery must know, in the order in which it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogEntry {
    /// A logical page lies here now.
    Map { lpn: Lpn, ppa: Ppa },
    /// Logical pages are unmapped; what was written with this sequence number or before is stale.
    Trim { first: Lpn, count: u32, sequence: u64 },
    /// A free block was taken to be written.
    Opened(BlockIndex),
    /// A block was erased, and how often so far: the entry may be replayed over a table that has it already.
    Erased { block: BlockIndex, erases: u32 },
    /// A block has gone bad.
    Retired(BlockIndex),
}

impl LogEntry {
    /// Bytes behind the entries that `context` has coded.
    fn bytes(self, context: &mut Context) -> usize {
        match self {
            LogEntry::Map { lpn, ppa } => context.encode(lpn, ppa).bytes(),
            LogEntry::Trim { .. } => 17,
            LogEntry::Erased { .. } => 9,
            LogEntry::Opened(_) | LogEntry::Retired(_) => 5,
        }
    }
}

/// The entries that no log page has yet.
pub(crate) struct PendingEntries {
    entries: VecDeque<LogEntry>,
    // Bytes that all of them take in a page by themselves, and the context behind them.
    bytes: usize,
    context: Context,
    // Entries that went in and came out so far, and the number of the last trim among them.
    pushed: u64,
    taken: u64,
    last_trim: u64,
    // Blocks opened among the entries.
    opened: usize,
}

impl PendingEntries {
    /// None, of a drive with so many pages in each LUN.
    pub(crate) fn new(track_pages: u32) -> Self {
        PendingEntries {
            entries: VecDeque::new(),
            bytes: 0,
            context: Context::new(track_pages),
            pushed: 0,
            taken: 0,
            last_trim: 0,
            opened: 0,
        }
    }
    pub(crate) fn push(&mut self, entry: LogEntry) {
        if let LogEntry::Trim { first, count, sequence } = entry {
            // A run of pages trimmed one after the other, with no sequence number given out between, is one
            // entry.
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
    /// Pages in each LUN of the drive that the entries are of.
    pub(crate) fn track_pages(&self) -> u32 {
        self.context.track_pages()
    }
    /// Bytes that all entries take in one log page.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
    /// How many blocks were opened that no log page has yet.
    pub(crate) fn opened(&self) -> usize {
        self.opened
    }
    /// How many of the oldest entries fit `bytes`.
    pub(crate) fn fitting(&self, bytes: usize) -> usize {
        if self.bytes <= bytes {
            return self.entries.len();
        }
        let mut context = Context::new(self.context.track_pages());
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
    /// Oldest first.
    pub(crate) fn entries(&self) -> &VecDeque<LogEntry> {
        &self.entries
    }
    /// Takes the oldest entries out: a log page has them. Gives how many it is since power-on.
    pub(crate) fn take(&mut self, count: usize) -> u64 {
        for entry in self.entries.drain(..count) {
            self.opened -= usize::from(matches!(entry, LogEntry::Opened(_)));
        }
        // What stays comes first in the next page.
        self.context = Context::new(self.context.track_pages());
        self.bytes = self.entries.iter().map(|entry| entry.bytes(&mut self.context)).sum();
        self.taken += count as u64;
        self.taken
    }
    /// The number of the last entry, counted as the trims are.
    pub(crate) fn last(&self) -> u64 {
        self.pushed
    }
    /// The number of the last trim, counted among all entries since power-on; 0 before the first.
    pub(crate) fn last_trim(&self) -> u64 {
        self.last_trim
    }
}
