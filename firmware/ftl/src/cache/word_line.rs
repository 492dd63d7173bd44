//! Whole word lines: evictions that are programmed together (C83).
//!
//! Where the pages of a word line go to the array at once, a page by itself costs as much as three. So
//! an eviction takes other entries of the LUN along, the least recently used first, and only where there
//! are none does padding complete the line (G8). Nobody waits for company: a line is submitted as a whole or
//! not at all, and between two of them the LUN's open block stands at the beginning of a line.

use crate::cache::buffer::EntryId;
use crate::cache::state::Cache;
use crate::mapping::{Mapping, pin};
use crate::terms::cause::Cause;
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use aster_events::Function;
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Ppa};

/// Entries that are looked at for one to go along.
const SEARCH_MAX: u32 = 512;

/// Entries that are evicted together, the first of them on somebody's behalf.
struct Together {
    entries: [EntryId; PAGES_PER_WORD_LINE_MAX],
    count: usize,
}

impl Together {
    fn entries(&self) -> &[EntryId] {
        &self.entries[..self.count]
    }
    fn push(&mut self, entry: EntryId) {
        self.entries[self.count] = entry;
        self.count += 1;
    }
}

impl<M: Mapping> Cache<M> {
    /// As [`Cache::evict`], with others of the LUN on the same word line.
    pub(crate) async fn evict_line(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        let mut line = Together { entries: [entry; PAGES_PER_WORD_LINE_MAX], count: 0 };
        // Each page stays pinned until the map has its new place.
        let mut pins = [const { None }; PAGES_PER_WORD_LINE_MAX];
        let mut result = None;
        for &one in self.with_companions(entry).entries() {
            let (lpn, _) = self.to_evict(one);
            let Ok(pin) = pin!(self.mapping, lpn) else {
                let refused = self.evicted(one, lpn, Err(HostStatus::WriteFault));
                if one == entry {
                    result = Some(refused);
                }
                continue;
            };
            self.fill(one, self.journal.pages().whole_page(), Cause::Merge, None).await;
            // What has lost something goes by itself: its notes are made in a buffer that others may be
            // waiting for.
            if self.to_evict(one).1 == 0 {
                pins[line.count] = Some(pin);
                line.push(one);
                continue;
            }
            let written = self.evict_filled(one, &pin).await;
            if one == entry {
                result = Some(written);
            }
        }
        let of_line = self.evict_together(line.entries(), &pins).await;
        result.or(of_line).expect("the entry goes by itself or with the line")
    }
    /// The entry, and others that may go along, all marked as being evicted.
    fn with_companions(&self, entry: EntryId) -> Together {
        let mut together = Together { entries: [entry; PAGES_PER_WORD_LINE_MAX], count: 1 };
        let mut buffer = self.buffer.borrow_mut();
        let lun = self.journal.blocks().lun_of(buffer.lpn(entry));
        while together.count < self.journal.config.pages_at_once() as usize {
            self.journal.spend(Function::DataBufferManager, self.journal.config.costs.buffer);
            let Some(one) =
                buffer.evict_oldest_of(SEARCH_MAX, |lpn| self.journal.blocks().lun_of(lpn) == lun)
            else {
                break;
            };
            together.push(one);
        }
        together
    }
    /// Programs whole entries of one LUN, their pages pinned, on one word line. The result is that of the
    /// first of them.
    async fn evict_together(
        &self,
        entries: &[EntryId],
        pins: &[Option<M::Pin>],
    ) -> Option<Result<Ppa, HostStatus>> {
        let lun = self.journal.blocks().lun_of(self.to_evict(*entries.first()?).0);
        let mut buffers = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        for (&entry, buffer) in entries.iter().zip(&mut buffers) {
            *buffer = BufferId(entry.0);
            self.note_owner(self.to_evict(entry).0, *buffer, 0);
        }
        let begun = self.begin_host_programs(lun, &buffers[..entries.len()]).await;
        let mut first = None;
        let Ok(programs) = begun else {
            let refused = begun.err().unwrap_or(HostStatus::WriteFault);
            for &entry in entries {
                let (lpn, _) = self.to_evict(entry);
                let ended = self.evicted(entry, lpn, Err(refused));
                first.get_or_insert(ended);
            }
            return first;
        };
        for ((&entry, pin), (ppa, tag)) in entries.iter().zip(pins.iter().flatten()).zip(programs.data()) {
            let (lpn, _) = self.to_evict(entry);
            let written = if self.journal.program_done(ppa, tag).await {
                self.mapping.moved(pin, ppa);
                Ok(ppa)
            } else {
                self.program_host(pin, BufferId(entry.0)).await
            };
            let ended = self.evicted(entry, lpn, written);
            first.get_or_insert(ended);
        }
        self.journal.padded(programs.padding()).await;
        first
    }
}
