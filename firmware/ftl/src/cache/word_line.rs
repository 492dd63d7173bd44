//! Whole word lines: evictions that are programmed together (C83).
//!
//! If the array programs the pages of a word line together, one page by itself costs as much as all of
//! them. So an eviction takes other entries of the LUN along, the least recently used first. Padding
//! completes the line only if there are no other entries (G8). An eviction never waits for others to join.
//! A word line is submitted as a whole or not at all, so between two submissions the LUN's open block is
//! at the beginning of a word line.

use crate::cache::buffer::EntryId;
use crate::cache::state::Cache;
use crate::mapping::{Mapping, pin};
use crate::terms::cause::Cause;
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use aster_events::Function;
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Ppa};

/// How many entries a search for one that goes along looks at.
const SEARCH_MAX: u32 = 512;

/// Entries of one LUN that are evicted together.
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
    /// As [`Cache::evict`], but evicts other entries of the LUN to the same word line.
    pub(crate) async fn evict_line(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        let mut line = Together { entries: [entry; PAGES_PER_WORD_LINE_MAX], count: 0 };
        // Each page stays pinned until the map has its new place.
        let mut pins = [const { None }; PAGES_PER_WORD_LINE_MAX];
        let mut result = None;
        for &one in self.with_companions(entry).entries() {
            let (frame, _) = self.to_evict(one);
            let Ok(pin) = pin!(self.mapping, self.journal.units.first_of(frame)) else {
                let refused = self.evicted(one, frame, Err(HostStatus::WriteFault));
                if one == entry {
                    result = Some(refused);
                }
                continue;
            };
            self.fill(one, self.journal.pages().whole_page(), Cause::Merge, None).await;
            // An entry with lost granules is programmed by itself: the notes about them are made in a
            // merge buffer, which other tasks may be waiting for.
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
    /// The entry and those that go along. All are marked as being evicted.
    fn with_companions(&self, entry: EntryId) -> Together {
        let mut together = Together { entries: [entry; PAGES_PER_WORD_LINE_MAX], count: 1 };
        let mut buffer = self.buffer.borrow_mut();
        let lun = self.journal.blocks().lun_of(buffer.frame(entry));
        while together.count < self.journal.config.pages_at_once() as usize {
            self.journal.spend(Function::DataBufferManager, self.journal.config.costs.buffer);
            let Some(one) =
                buffer.evict_oldest_of(SEARCH_MAX, |frame| self.journal.blocks().lun_of(frame) == lun)
            else {
                break;
            };
            together.push(one);
        }
        together
    }
    /// Programs complete entries of one LUN to one word line; `pins` are on their pages. Returns the first
    /// entry's result, or `None` if there are no entries.
    async fn evict_together(
        &self,
        entries: &[EntryId],
        pins: &[Option<M::Pin>],
    ) -> Option<Result<Ppa, HostStatus>> {
        let lun = self.journal.blocks().lun_of(self.to_evict(*entries.first()?).0);
        let mut buffers = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        for (&entry, buffer) in entries.iter().zip(&mut buffers) {
            *buffer = BufferId(entry.0);
            self.note_owner(self.journal.units.first_of(self.to_evict(entry).0), *buffer, 0);
        }
        let begun = self.begin_host_programs(lun, &buffers[..entries.len()]).await;
        let mut first = None;
        let Ok(programs) = begun else {
            let refused = begun.err().unwrap_or(HostStatus::WriteFault);
            for &entry in entries {
                let (frame, _) = self.to_evict(entry);
                let ended = self.evicted(entry, frame, Err(refused));
                first.get_or_insert(ended);
            }
            return first;
        };
        for ((&entry, pin), (ppa, tag)) in entries.iter().zip(pins.iter().flatten()).zip(programs.data()) {
            let (frame, _) = self.to_evict(entry);
            let written = if self.journal.program_done(ppa, tag).await {
                self.mapping.moved(pin, self.journal.units.first_in(ppa));
                Ok(ppa)
            } else {
                self.program_host(pin, BufferId(entry.0)).await
            };
            let ended = self.evicted(entry, frame, written);
            first.get_or_insert(ended);
        }
        self.journal.padded(programs.padding()).await;
        first
    }
}
