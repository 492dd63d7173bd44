//! Block content that identifies itself: address, version and the seed of its run.
//!
//! With `full` content a block begins with [`HEADER_BYTES`] of header (address, version, seed, check),
//! followed by a body that is a function of the first three. Reading back compares every byte, and an error
//! says whether a wrong block is older, misplaced, zero, from another run or damaged. In `fingerprint`
//! [`tag`] packs address and version into the one 64-bit word that a sector keeps.
//!
//! Version 0 is a block that was never written or was deallocated: all zero, tag 0.

use aster_units::mix64;
use core::fmt;

/// Bytes of header at the front of each block: block address, version, seed and check word, each 64 bits,
/// little endian.
pub const HEADER_BYTES: usize = 32;
/// Block addresses that a tag can hold: 2⁴⁰, 4 EiB of 4 KiB sectors.
pub const TAG_BLOCKS: u64 = 1 << TAG_BLOCK_BITS;
/// The largest version of a tag.
pub const VERSION_MAX: u32 = (1 << 24) - 1;

const TAG_BLOCK_BITS: u32 = 40;
const WORD_BYTES: usize = 8;
const HEADER_WORDS: usize = HEADER_BYTES / WORD_BYTES;

/// The version after `version`; from [`VERSION_MAX`] it goes back to 1, as 0 is the empty block.
pub const fn next_version(version: u32) -> u32 {
    if version >= VERSION_MAX { 1 } else { version + 1 }
}

/// The word a sector keeps in `fingerprint`: address in the low 40 bits, version in the high 24. The empty
/// block's tag is 0 whatever its address. `block` is below [`TAG_BLOCKS`], `version` at most [`VERSION_MAX`].
pub const fn tag(block: u64, version: u32) -> u64 {
    assert!(block < TAG_BLOCKS && version <= VERSION_MAX, "a tag holds 40 bits of address and 24 of version");
    if version == 0 { 0 } else { (version as u64) << TAG_BLOCK_BITS | block }
}

/// Address and version of a tag.
pub const fn split_tag(tag: u64) -> (u64, u32) {
    (tag & (TAG_BLOCKS - 1), (tag >> TAG_BLOCK_BITS) as u32)
}

/// A block's identity, as its content says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Its address in logical blocks.
    pub block: u64,
    /// Its version, from 1.
    pub version: u32,
    /// The seed of the run that wrote it.
    pub seed: u64,
}

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundContent {
    /// All zero.
    Zero,
    /// An intact block that was written with this identity.
    Whole(Identity),
    /// Neither: the header is invalid, or the body doesn't match it.
    Damaged {
        /// The first byte that doesn't match the header; 0 if the header itself is invalid.
        byte: usize,
    },
}

/// A block that does not hold what it should.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The block that was read.
    pub block: u64,
    /// The version that it should hold; `None` for any of its own.
    pub version: Option<u32>,
    /// The content found.
    pub found: FoundContent,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { block, version, found } = self;
        match version {
            Some(version) => write!(f, "block {block} should hold version {version}, but ")?,
            None => write!(f, "block {block} should hold a version of its own, but ")?,
        }
        match found {
            FoundContent::Zero => write!(f, "is all zero"),
            FoundContent::Whole(is) if is.block != *block => {
                write!(f, "holds block {} version {}: misplaced", is.block, is.version)
            }
            FoundContent::Whole(is) if version.is_some_and(|version| is.version != version) => {
                write!(f, "holds version {}", is.version)
            }
            FoundContent::Whole(_) => write!(f, "was written by another run, or with another seed"),
            FoundContent::Damaged { byte } => write!(f, "is damaged from byte {byte} on"),
        }
    }
}
impl core::error::Error for Mismatch {}

/// The pseudo-random body of an identity: word `i` is a function of `i`, so that the loop has no carried
/// dependency.
#[derive(Clone, Copy)]
struct Body(u64);

impl Body {
    fn new(identity: Identity) -> Self {
        Body(mix64(identity.block ^ mix64(identity.seed ^ mix64(u64::from(identity.version)))))
    }

    fn word(self, index: usize) -> u64 {
        let x = self.0.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 29)
    }

    /// The header's check word, which detects bit errors in the header.
    fn check(self) -> u64 {
        mix64(self.0 ^ 0x4173_7465_7220_3031)
    }
}

fn assert_shape(block: &[u8]) {
    assert!(
        block.len() > HEADER_BYTES && block.len().is_multiple_of(WORD_BYTES),
        "a block is a multiple of 8 bytes above {HEADER_BYTES}, not {}",
        block.len()
    );
}

/// Writes the content of `identity` over a block of 512 or 4096 bytes (any multiple of 8 above
/// [`HEADER_BYTES`]). Version 0 gives zeroes.
pub fn fill(block: &mut [u8], identity: Identity) {
    assert_shape(block);
    if identity.version == 0 {
        block.fill(0);
        return;
    }
    let body = Body::new(identity);
    let header = [identity.block, u64::from(identity.version), identity.seed, body.check()];
    let (words, _) = block.as_chunks_mut::<WORD_BYTES>();
    let (head, rest) = words.split_at_mut(HEADER_WORDS);
    for (word, value) in head.iter_mut().zip(header) {
        *word = value.to_le_bytes();
    }
    for (i, word) in rest.iter_mut().enumerate() {
        *word = body.word(i).to_le_bytes();
    }
}

/// Identifies a block by its bytes alone.
pub fn identify(block: &[u8]) -> FoundContent {
    assert_shape(block);
    let (words, _) = block.as_chunks::<WORD_BYTES>();
    let (head, rest) = words.split_at(HEADER_WORDS);
    let header: [u64; HEADER_WORDS] = core::array::from_fn(|i| u64::from_le_bytes(head[i]));
    let identity = u32::try_from(header[1]).ok().filter(|&version| version > 0).map(|version| {
        let identity = Identity { block: header[0], version, seed: header[2] };
        (identity, Body::new(identity))
    });
    match identity.filter(|(_, body)| body.check() == header[3]) {
        Some((identity, body)) => match first_difference(rest, body) {
            None => FoundContent::Whole(identity),
            Some(byte) => FoundContent::Damaged { byte },
        },
        None if block.iter().all(|&byte| byte == 0) => FoundContent::Zero,
        None => FoundContent::Damaged { byte: 0 },
    }
}

fn first_difference(rest: &[[u8; WORD_BYTES]], body: Body) -> Option<usize> {
    // The sum of differences needs no branch; only if it isn't zero is the position searched for.
    let differs =
        rest.iter().enumerate().fold(0, |sum, (i, word)| sum | (u64::from_le_bytes(*word) ^ body.word(i)));
    if differs == 0 {
        return None;
    }
    rest.iter().enumerate().find_map(|(i, word)| {
        let difference = u64::from_le_bytes(*word) ^ body.word(i);
        let byte = difference.trailing_zeros() as usize / 8;
        (difference != 0).then_some(HEADER_BYTES + i * WORD_BYTES + byte)
    })
}

/// Checks that a block holds exactly `identity`; version 0 is all zero.
///
/// # Errors
/// What the block holds instead.
pub fn check(block: &[u8], identity: Identity) -> Result<(), Mismatch> {
    let found = identify(block);
    let right = match identity.version {
        0 => found == FoundContent::Zero,
        _ => found == FoundContent::Whole(identity),
    };
    if right {
        Ok(())
    } else {
        Err(Mismatch { block: identity.block, version: Some(identity.version), found })
    }
}

/// The version of `block` that a block holds, 0 if it is all zero, for [`crate::Oracle::complete_read`].
///
/// # Errors
/// What the block holds, if that isn't a version of `block` from the run with this seed.
pub fn version_of(bytes: &[u8], block: u64, seed: u64) -> Result<u32, Mismatch> {
    match identify(bytes) {
        FoundContent::Zero => Ok(0),
        FoundContent::Whole(is) if is.block == block && is.seed == seed => Ok(is.version),
        found => Err(Mismatch { block, version: None, found }),
    }
}

/// The version of `block` in a sector's tag (`fingerprint`); 0 for the empty tag.
///
/// # Errors
/// What the sector holds instead. A tag has no seed, so tags of another run aren't detected.
pub fn version_of_tag(found: u64, block: u64) -> Result<u32, Mismatch> {
    match (found, split_tag(found)) {
        (0, _) => Ok(0),
        // No write leaves an address with version 0.
        (_, (_, 0)) => Err(Mismatch { block, version: None, found: FoundContent::Damaged { byte: 0 } }),
        (_, (is, version)) if is == block => Ok(version),
        (_, (is, version)) => {
            let found = FoundContent::Whole(Identity { block: is, version, seed: 0 });
            Err(Mismatch { block, version: None, found })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;

    const ME: Identity = Identity { block: 77, version: 5, seed: 9 };

    #[test]
    fn a_wrong_block_is_named_for_what_it_is() {
        let mut block = [0u8; 512];
        let error = |block: &[u8]| check(block, ME).unwrap_err().to_string();
        assert_eq!(error(&block), "block 77 should hold version 5, but is all zero");
        fill(&mut block, ME);
        assert_eq!(check(&block, ME), Ok(()));
        fill(&mut block, Identity { version: 4, ..ME });
        assert_eq!(error(&block), "block 77 should hold version 5, but holds version 4");
        fill(&mut block, Identity { block: 78, ..ME });
        assert_eq!(error(&block), "block 77 should hold version 5, but holds block 78 version 5: misplaced");
        fill(&mut block, Identity { seed: 8, ..ME });
        assert_eq!(
            error(&block),
            "block 77 should hold version 5, but was written by another run, or with another seed"
        );
        fill(&mut block, ME);
        block[300] ^= 4;
        assert_eq!(error(&block), "block 77 should hold version 5, but is damaged from byte 300 on");
    }

    #[test]
    fn version_0_is_zero() {
        let mut block = [1u8; 512];
        let empty = Identity { version: 0, ..ME };
        assert!(check(&block, empty).is_err());
        fill(&mut block, empty);
        assert_eq!((identify(&block), check(&block, empty)), (FoundContent::Zero, Ok(())));
    }

    #[test]
    fn bodies_look_random_and_differ_between_neighbours() {
        let mut a = vec![0u8; 4096];
        let mut b = a.clone();
        fill(&mut a, ME);
        fill(&mut b, Identity { block: 78, ..ME });
        let ones: u32 = a.iter().map(|byte| byte.count_ones()).sum();
        assert!((16_000..16_800).contains(&ones), "{ones} of 32768 bits");
        let differing: u32 = a.iter().zip(&b).map(|(x, y)| (x ^ y).count_ones()).sum();
        assert!((15_700..16_800).contains(&differing), "{differing}");
    }

    #[test]
    fn versions_come_round_without_the_empty_one() {
        assert_eq!((next_version(0), next_version(VERSION_MAX)), (1, 1));
    }

    #[test]
    fn a_block_tells_its_version_to_the_oracle() {
        let mut bytes = [0u8; 512];
        assert_eq!(version_of(&bytes, 77, 9), Ok(0));
        fill(&mut bytes, ME);
        assert_eq!(version_of(&bytes, 77, 9), Ok(5));
        let message = version_of(&bytes, 78, 9).unwrap_err().to_string();
        assert_eq!(
            message,
            "block 78 should hold a version of its own, but holds block 77 version 5: misplaced"
        );
        assert!(version_of(&bytes, 77, 8).unwrap_err().to_string().contains("another run"));
    }

    #[test]
    fn a_wrong_tag_is_named() {
        assert_eq!(version_of_tag(tag(3, 2), 3), Ok(2));
        assert_eq!(version_of_tag(0, 3), Ok(0));
        assert_eq!(version_of_tag(3, 3).unwrap_err().found, FoundContent::Damaged { byte: 0 });
        assert!(version_of_tag(tag(4, 2), 3).unwrap_err().to_string().contains("misplaced"));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(block: u64, version in 1u32.., seed: u64, large: bool,
            bit in 0usize..4096) {
            let identity = Identity { block, version, seed };
            let mut bytes = vec![0u8; if large { 4096 } else { 512 }];
            fill(&mut bytes, identity);
            prop_assert_eq!(identify(&bytes), FoundContent::Whole(identity));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(check(&bytes, identity).is_err());
            let found = identify(&bytes);
            prop_assert!(matches!(found, FoundContent::Damaged { .. }), "{found:?}");
        }

        #[test]
        fn foreign_bytes_never_pass(bytes in proptest::collection::vec(any::<u8>(), 512)) {
            prop_assert!(!matches!(identify(&bytes), FoundContent::Whole(_)));
        }

        #[test]
        fn tags_round_trip(block in 0..TAG_BLOCKS, version in 1..=VERSION_MAX) {
            prop_assert_eq!(split_tag(tag(block, version)), (block, version));
        }
    }
}
