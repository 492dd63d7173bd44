//! Arrays of bits or numbers that can be changed through a shared reference.

use alloc::boxed::Box;
use core::cell::Cell;

/// An array of `count` cells, each with `value`.
pub(crate) fn cells<T: Copy>(count: usize, value: T) -> Box<[Cell<T>]> {
    (0..count).map(|_| Cell::new(value)).collect()
}

/// An array of bits.
pub(crate) struct Bits {
    words: Box<[Cell<u64>]>,
}

impl Bits {
    /// All clear.
    pub(crate) fn new(count: usize) -> Self {
        Bits { words: cells(count.div_ceil(64), 0) }
    }
    #[inline]
    pub(crate) fn is_set(&self, at: usize) -> bool {
        self.words[at / 64].get() >> (at % 64) & 1 == 1
    }
    #[inline]
    pub(crate) fn set(&self, at: usize) {
        let word = &self.words[at / 64];
        word.set(word.get() | 1 << (at % 64));
    }
    #[inline]
    pub(crate) fn clear(&self, at: usize) {
        let word = &self.words[at / 64];
        word.set(word.get() & !(1 << (at % 64)));
    }
    pub(crate) fn clear_all(&self) {
        self.words.iter().for_each(|word| word.set(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_is_its_own() {
        let bits = Bits::new(130);
        [0, 63, 64, 129].iter().for_each(|&at| bits.set(at));
        let set = |bits: &Bits| (0..130).filter(|&at| bits.is_set(at)).collect::<std::vec::Vec<_>>();
        assert_eq!(set(&bits), [0, 63, 64, 129]);
        bits.clear(64);
        assert_eq!(set(&bits), [0, 63, 129]);
        bits.clear_all();
        assert_eq!(set(&bits), []);
    }
}
