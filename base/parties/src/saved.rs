//! A part of the NVRAM that belongs to one party.

use aster_ports::medium::SharedNvram;

/// Bytes of the board's NVRAM that are one party's own.
#[derive(Clone)]
pub struct NvramSlice {
    nvram: SharedNvram,
    at: usize,
    bytes: usize,
}

impl NvramSlice {
    /// The `bytes` bytes of `nvram` from `at` on. Asserts that there are so many.
    pub fn new(nvram: &SharedNvram, at: usize, bytes: usize) -> Self {
        assert!(
            at + bytes <= nvram.size(),
            "NVRAM of {} bytes has no bytes {at} to {}",
            nvram.size(),
            at + bytes
        );
        NvramSlice { nvram: nvram.clone(), at, bytes }
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
    fn check(&self, offset: usize, length: usize) {
        let size = self.bytes;
        assert!(offset + length <= size, "{length} bytes from {offset} on of a part of {size} bytes");
    }
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
    #[should_panic(expected = "of a part of 4 bytes")]
    fn what_is_beside_it_is_out_of_reach() {
        NvramSlice::new(&Nvram::volatile(16), 4, 4).write(3, &[1, 2]);
    }
}
