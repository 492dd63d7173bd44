//! What the entries of the data buffer hold, from events.

use crate::frame::BufferView;
use aster_events::Event;
use std::collections::HashMap;

/// Entries that are followed.
const FOLLOWED_MAX: usize = 1 << 16;
/// Entries that are shown one by one.
const SHOWN_MAX: usize = 2048;
/// Flash operations that are followed.
const OPERATIONS_MAX: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Unused,
    Clean,
    Dirty,
    Reading,
    Programming,
}

impl Entry {
    const fn letter(self) -> char {
        match self {
            Entry::Unused => '.',
            Entry::Clean => 'c',
            Entry::Dirty => 'd',
            Entry::Reading => 'r',
            Entry::Programming => 'p',
        }
    }
}

/// The data buffer.
#[derive(Clone, Default)]
pub(crate) struct Buffer {
    entries: Vec<Entry>,
    /// Tasks that write.
    writers: HashMap<u32, bool>,
    /// The entry of a flash operation: LUN, kind and row.
    operations: HashMap<(u32, u8, u32), usize>,
    hits: u64,
    misses: u64,
}

impl Buffer {
    /// Takes an event; those that tell nothing of the buffer are ignored.
    pub(crate) fn hear(&mut self, event: &Event) {
        match *event {
            Event::SliceStarted { task, write, .. } => {
                self.writers.insert(task, write);
            }
            Event::SliceEnded { task } => {
                self.writers.remove(&task);
            }
            Event::BufferHit { task, buffer, .. } => {
                self.hits += 1;
                self.taken(task, buffer, Entry::Clean);
            }
            Event::BufferMissed { task, buffer, .. } => {
                self.misses += 1;
                self.taken(task, buffer, Entry::Clean);
            }
            Event::FlashQueued { lun, kind, row, buffer, .. } if kind < 2 => {
                let Some(entry) = self.entry(buffer).filter(|_| self.operations.len() < OPERATIONS_MAX)
                else {
                    return;
                };
                self.entries[entry] = if kind == 0 { Entry::Reading } else { Entry::Programming };
                self.operations.insert((lun, kind, row), entry);
            }
            Event::FlashFinished { lun, kind, row, .. } => {
                let Some(entry) = self.operations.remove(&(lun, kind, row)) else { return };
                // It may have been written meanwhile.
                if matches!(self.entries[entry], Entry::Reading | Entry::Programming) {
                    self.entries[entry] = Entry::Clean;
                }
            }
            _ => {}
        }
    }

    /// An entry that slices have taken; others are buffers of the background, and of no interest.
    fn entry(&self, buffer: u32) -> Option<usize> {
        let place = buffer as usize;
        self.entries.get(place).is_some_and(|&entry| entry != Entry::Unused).then_some(place)
    }

    fn taken(&mut self, task: u32, buffer: u32, otherwise: Entry) {
        let place = buffer as usize;
        if place >= FOLLOWED_MAX {
            return;
        }
        if self.entries.len() <= place {
            self.entries.resize(place + 1, Entry::Unused);
        }
        let entry = &mut self.entries[place];
        match self.writers.get(&task) {
            Some(true) => *entry = Entry::Dirty,
            _ if *entry == Entry::Unused => *entry = otherwise,
            _ => {}
        }
    }

    /// Slices that found their page, and those that didn't.
    pub(crate) fn looked_up(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    pub(crate) fn view(&self) -> BufferView {
        let count =
            |wanted: &[Entry]| self.entries.iter().filter(|entry| wanted.contains(entry)).count() as u64;
        BufferView {
            cells: self.entries.iter().take(SHOWN_MAX).map(|entry| entry.letter()).collect(),
            used: self.entries.len() as u64 - count(&[Entry::Unused]),
            dirty: count(&[Entry::Dirty, Entry::Programming]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_dirty_until_it_is_programmed() {
        let mut buffer = Buffer::default();
        let mut cells = |event: Event| {
            buffer.hear(&event);
            buffer.view().cells
        };
        let program = |ended| match ended {
            false => Event::FlashQueued { task: 9, lun: 1, kind: 1, row: 5, buffer: 1 },
            true => Event::FlashFinished { lun: 1, kind: 1, row: 5, status: 0, corrected: 0 },
        };
        cells(Event::SliceStarted { command: 0, lpn: 3, write: true, task: 9 });
        assert_eq!(cells(Event::BufferMissed { task: 9, lpn: 3, buffer: 1 }), ".d");
        cells(Event::SliceEnded { task: 9 });
        assert_eq!(cells(program(false)), ".p");
        assert_eq!(cells(program(true)), ".c");
        // Written while it is programmed: it is still newer than flash.
        cells(program(false));
        cells(Event::SliceStarted { command: 0, lpn: 3, write: true, task: 9 });
        cells(Event::BufferHit { task: 9, lpn: 3, buffer: 1 });
        assert_eq!(cells(program(true)), ".d");
        cells(Event::SliceStarted { command: 0, lpn: 7, write: false, task: 9 });
        cells(Event::BufferMissed { task: 9, lpn: 7, buffer: 0 });
        assert_eq!(cells(Event::FlashQueued { task: 9, lun: 0, kind: 0, row: 1, buffer: 0 }), "rd");
        // Buffers that no slice uses, and any number.
        for buffer in [2, u32::MAX] {
            assert_eq!(cells(Event::FlashQueued { task: 9, lun: 0, kind: 0, row: 1, buffer }), "rd");
        }
        cells(Event::BufferMissed { task: 9, lpn: 7, buffer: u32::MAX });
        assert_eq!(buffer.looked_up(), (1, 3));
        assert_eq!((buffer.view().used, buffer.view().dirty), (2, 1));
    }
}
