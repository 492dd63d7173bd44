/// A field of a 64-bit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its least significant bit.
    pub lsb: u32,
    /// Its width in bits, 1 to 64.
    pub width: u32,
}

impl Field {
    /// The greatest value that it holds.
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
    /// Its value in `word`.
    #[inline]
    pub const fn get(self, word: u64) -> u64 {
        (word >> self.lsb) & self.max()
    }
    /// A word with `value` in this field and zeroes elsewhere. Bits that don't fit are cut off.
    #[inline]
    pub const fn put(self, value: u64) -> u64 {
        (value & self.max()) << self.lsb
    }
}
