//! The part of the NVRAM that belongs to one party, and the report of damage in it.

use aster_ports::medium::SharedNvram;

/// The bytes of the board's NVRAM that belong to one party. The translation's are at its start, the front
/// end's at its end.
///
/// Every byte that was written to the front end's part survives a loss of power. The same is true of the
/// translation's part in a drive with `board.nvram_kept`. Without it, the translation's part comes back
/// as it was at the last [`save`](NvramSlice::save) if nothing was written to it since; otherwise it
/// comes back as zeroes.
#[derive(Clone)]
pub struct NvramSlice {
    nvram: SharedNvram,
    at: usize,
    bytes: usize,
}

impl NvramSlice {
    /// The `bytes` bytes of `nvram` from `at` on. Asserts that they exist.
    pub fn new(nvram: &SharedNvram, at: usize, bytes: usize) -> Self {
        assert!(
            at + bytes <= nvram.size(),
            "NVRAM of {} bytes has no bytes {at} to {}",
            nvram.size(),
            at + bytes
        );
        NvramSlice { nvram: nvram.clone(), at, bytes }
    }
    /// `bytes` bytes of it, from `at` on. Asserts that it has them.
    pub fn part(&self, at: usize, bytes: usize) -> Self {
        self.check(at, bytes);
        NvramSlice { nvram: self.nvram.clone(), at: self.at + at, bytes }
    }
    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }
    /// Reads from `offset` on; panics outside.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.check(offset, into.len());
        self.nvram.read(self.at + offset, into);
    }
    /// Writes from `offset` on; panics outside.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        self.nvram.write(self.at + offset, from);
    }
    /// Saves the translation's part: its present content survives a loss of power.
    pub fn save(&self) {
        self.nvram.save();
    }
    fn check(&self, offset: usize, length: usize) {
        let size = self.bytes;
        assert!(offset + length <= size, "{length} bytes from {offset} on of a part of {size} bytes");
    }
}

/// A damaged record in NVRAM that the drive can do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedRecord {
    /// Its first byte: an offset in the reporting party's part or, in the drive's report, in the whole
    /// NVRAM.
    pub at: usize,
    /// Which record it is.
    pub what: &'static str,
    /// What the drive does instead.
    pub instead: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn a_part_lies_where_it_was_put() {
        let nvram = Nvram::volatile(16);
        let slice = NvramSlice::new(&nvram, 12, 4);
        slice.write(1, &[5, 6]);
        let mut all = [0; 16];
        nvram.read(0, &mut all);
        assert_eq!(all[12..], [0, 5, 6, 0]);
        let mut back = [0; 2];
        slice.read(2, &mut back);
        assert_eq!((back, slice.size()), ([6, 0], 4));
    }

    #[test]
    fn what_was_saved_outlasts_the_power_until_it_is_written_again() {
        let nvram = Nvram::volatile(8);
        nvram.keep_only_saved(4);
        let (slice, mut byte) = (NvramSlice::new(&nvram, 0, 4), [0]);
        slice.write(0, &[5]);
        slice.save();
        nvram.power_off();
        slice.read(0, &mut byte);
        assert_eq!(byte, [5]);
        slice.write(1, &[6]);
        nvram.power_off();
        slice.read(0, &mut byte);
        assert_eq!(byte, [0]);
    }

    #[test]
    #[should_panic(expected = "of a part of 4 bytes")]
    fn what_is_beside_it_is_out_of_reach() {
        NvramSlice::new(&Nvram::volatile(16), 4, 4).write(3, &[1, 2]);
    }
}
