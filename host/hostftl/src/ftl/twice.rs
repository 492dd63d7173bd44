//! Records that NVRAM has twice, so that a write that is cut off leaves one of them.

use aster_parties::NvramSlice;

/// Both copies of a record of `N` bytes.
pub(super) fn read<const N: usize>(nvram: &NvramSlice) -> [[u8; N]; 2] {
    [0, N].map(|at| {
        let mut bytes = [0; N];
        nvram.read(at, &mut bytes);
        bytes
    })
}
/// Writes both copies, one after the other.
pub(super) fn write<const N: usize>(nvram: &NvramSlice, bytes: &[u8; N]) {
    nvram.write(0, bytes);
    nvram.write(N, bytes);
}

/// Asserts that a record of `bytes` bytes, of which both copies are there, is read back with any bit of one
/// of them flipped, and isn't with that bit of both.
#[cfg(test)]
pub(super) fn assert_any_bit_may_flip<T>(
    nvram: &NvramSlice,
    bytes: usize,
    read: impl Fn(&NvramSlice) -> Option<T>,
) where
    T: PartialEq + core::fmt::Debug,
{
    let whole = read(nvram);
    assert!(whole.is_some(), "both copies are there");
    for bit in 0..8 * bytes {
        let flip = |at: usize| {
            let mut byte = [0];
            nvram.read(at + bit / 8, &mut byte);
            nvram.write(at + bit / 8, &[byte[0] ^ 1 << (bit % 8)]);
        };
        flip(0);
        assert_eq!(read(nvram), whole, "bit {bit}");
        flip(bytes);
        assert_eq!(read(nvram), None, "bit {bit}");
        flip(0);
        assert_eq!(read(nvram), whole, "bit {bit}");
        flip(bytes);
    }
}
