//! Bad chunks on which nothing counts, by a list in NVRAM.
//!
//! A bad chunk can't be erased. When all that counted on its line has been copied elsewhere, the other chunks
//! are erased, but this one still holds what it held. If the copies were erased later, since the host had
//! deallocated their blocks, recovery would take the bad chunk's old versions for the newest. So a line's bad
//! chunks are noted here before the line is free.

use alloc::vec;
use alloc::vec::Vec;
use aster_parties::NvramSlice;

/// Bytes of an entry: a chunk's number plus 1, or 0 behind the last one. A word is written in one piece.
const ENTRY_BYTES: usize = 4;
/// The most chunks. The drive's table has as many exceptions, and each of these chunks has one there.
const CHUNKS_MAX: usize = 4096;
/// Bytes of the list.
pub(crate) const SPENT_BYTES: usize = ENTRY_BYTES * CHUNKS_MAX;

/// The list.
pub(crate) struct Spent {
    nvram: NvramSlice,
    len: usize,
    chunks: Vec<bool>,
}

impl Spent {
    /// A list that fills `nvram`, for a drive of `chunks` chunks. [`Spent::read`] comes first.
    pub(crate) fn new(nvram: NvramSlice, chunks: usize) -> Self {
        Spent { nvram, len: 0, chunks: vec![false; chunks] }
    }

    /// Reads what was noted before. A chunk that is good is left out: somebody has changed the drive's table,
    /// and the chunk has been written again.
    pub(crate) fn read(&mut self, is_bad: impl Fn(usize) -> bool) {
        let mut bytes = vec![0; self.nvram.size()];
        self.nvram.read(0, &mut bytes);
        let entries = bytes.as_chunks::<ENTRY_BYTES>().0.iter().map(|entry| u32::from_le_bytes(*entry));
        let noted: Vec<u32> = entries.take_while(|&entry| entry != 0).collect();
        let mut kept = Vec::with_capacity(bytes.len());
        for &entry in &noted {
            let chunk = entry as usize - 1;
            if chunk < self.chunks.len()
                && is_bad(chunk)
                && !core::mem::replace(&mut self.chunks[chunk], true)
            {
                kept.extend(entry.to_le_bytes());
            }
        }
        self.len = kept.len() / ENTRY_BYTES;
        if self.len < noted.len() {
            kept.resize(bytes.len(), 0);
            self.nvram.write(0, &kept);
        }
    }
    /// A chunk has never been written.
    pub(crate) fn never_written(&mut self, chunk: usize) {
        self.chunks[chunk] = true;
    }
    /// Notes a chunk, if it isn't there. Returns `false` if the list is full.
    #[must_use]
    pub(crate) fn add(&mut self, chunk: usize) -> bool {
        if self.chunks[chunk] {
            return true;
        }
        let at = ENTRY_BYTES * self.len;
        if at == self.nvram.size() {
            return false;
        }
        self.nvram.write(at, &(chunk as u32 + 1).to_le_bytes());
        self.len += 1;
        self.chunks[chunk] = true;
        true
    }
    /// Whether nothing counts that a chunk holds.
    pub(crate) fn has(&self, chunk: usize) -> bool {
        self.chunks[chunk]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn chunks_are_read_back_unless_they_have_become_good() {
        let nvram = NvramSlice::new(&Nvram::volatile(16), 0, 16);
        let list = || Spent::new(nvram.clone(), 100);
        let mut spent = list();
        spent.read(|_| true);
        assert!([7, 99, 7, 0].into_iter().all(|chunk| spent.add(chunk)), "one of them twice");
        let has = |spent: &Spent| (0..100).filter(|&chunk| spent.has(chunk)).collect::<Vec<_>>();
        let mut again = list();
        again.read(|_| true);
        assert_eq!((has(&again), again.len), (vec![0, 7, 99], 3));
        assert!(again.add(50) && !again.add(51), "it has room for four");

        let mut fewer = list();
        fewer.read(|chunk| chunk != 7);
        assert_eq!(has(&fewer), [0, 50, 99]);
        assert!(fewer.add(8));
        let mut last = list();
        last.read(|_| true);
        assert_eq!(has(&last), [0, 8, 50, 99]);
    }

    #[test]
    fn numbers_that_the_drive_does_not_have_are_left_out() {
        let nvram = NvramSlice::new(&Nvram::volatile(16), 0, 16);
        nvram.write(0, &[5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 6, 0, 0, 0, 0, 0, 0, 0]);
        let mut spent = Spent::new(nvram, 100);
        spent.read(|_| true);
        assert_eq!((0..100).filter(|&chunk| spent.has(chunk)).collect::<Vec<_>>(), [4, 5]);
    }
}
