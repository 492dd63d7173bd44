//! Which blocks a sequential reader will want next.

/// Blocks that are read ahead at most: 128 KiB, Linux's `read_ahead_kb`.
pub const WINDOW: u32 = 32;
/// Readers that are followed at once. The one that has read nothing for the longest time is forgotten first.
const READERS: usize = 32;

/// A reader that may be sequential.
#[derive(Clone, Copy, Debug)]
struct Reader {
    /// The block behind its last read.
    next: u32,
    /// All blocks before this one were asked for, by itself or ahead of it.
    ahead: u32,
    /// When it read last, in reads.
    at: u64,
}

/// The readers of a drive.
#[derive(Debug, Default)]
pub struct Readahead {
    readers: alloc::vec::Vec<Reader>,
    reads: u64,
}

impl Readahead {
    /// Somebody reads the blocks `from..to`. Gives the blocks to read ahead of them, below `end`: none unless
    /// the read begins where another one has ended, and none while more than half of the window is ahead
    /// already.
    pub fn read(&mut self, from: u32, to: u32, end: u32) -> core::ops::Range<u32> {
        self.reads += 1;
        let at = self.reads;
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.next == from) {
            let begin = reader.ahead.max(to);
            (reader.next, reader.at, reader.ahead) = (to, at, begin);
            if begin - to > WINDOW / 2 {
                return begin..begin;
            }
            let ahead = to.saturating_add(WINDOW).min(end).max(begin);
            reader.ahead = ahead;
            return begin..ahead;
        }
        let new = Reader { next: to, ahead: to, at };
        if self.readers.len() < READERS {
            self.readers.push(new);
        } else if let Some(oldest) = self.readers.iter_mut().min_by_key(|reader| reader.at) {
            *oldest = new;
        }
        to..to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_reads_have_nothing_read_ahead() {
        let mut readers = Readahead::default();
        for n in 0..100 {
            let from = n * 7919 % 10_007 * 3;
            assert!(readers.read(from, from + 1, 1 << 20).is_empty());
        }
    }
    #[test]
    fn a_sequential_reader_has_half_a_window_ahead_at_least() {
        let mut readers = Readahead::default();
        let (mut ahead, mut asked) = (1, 0);
        readers.read(0, 1, 1000);
        for from in 1..800 {
            let blocks = readers.read(from, from + 1, 1000);
            if !blocks.is_empty() {
                assert_eq!(blocks.start, ahead.max(from + 1), "no block twice, and none left out");
                ahead = blocks.end;
                asked += 1;
            }
            assert!(ahead > from + WINDOW / 2 && ahead <= from + 1 + WINDOW, "{ahead} at {from}");
        }
        assert!((40..=60).contains(&asked), "one run for each half of a window: {asked}");
    }
    #[test]
    fn nothing_is_read_beyond_the_end() {
        let mut readers = Readahead::default();
        readers.read(0, 32, 40);
        assert_eq!(readers.read(32, 36, 40), 36..40);
        assert!(readers.read(36, 40, 40).is_empty());
    }
    #[test]
    fn two_readers_are_told_apart() {
        let mut readers = Readahead::default();
        readers.read(0, 8, 10_000);
        readers.read(5000, 5008, 10_000);
        assert_eq!(readers.read(8, 16, 10_000), 16..48);
        assert_eq!(readers.read(5008, 5016, 10_000), 5016..5048);
    }
    #[test]
    fn the_oldest_reader_is_forgotten() {
        let mut readers = Readahead::default();
        for n in 0..=READERS as u32 {
            readers.read(n * 100, n * 100 + 1, 100_000);
        }
        assert!(readers.read(1, 2, 100_000).is_empty(), "the first reader is forgotten");
        assert!(!readers.read(201, 202, 100_000).is_empty());
    }
}
