//! The decoder that SoftSSD's ECC engine calls, alone. A drive that keeps fingerprints doesn't run it.

use crate::callgrind::Places;
use aster_codec::{Backend, Bch, BchScratch};
use aster_tests::profile;

/// Where the instructions belong.
pub const PLACES: Places = Places { step_of, shared: &[] };
/// Syndromes and key equation.
pub const EQUATION: &str = "equation";
/// The search of the equation's roots.
pub const SEARCH: &str = "search";

fn step_of(file: &str, function: &str) -> Option<&'static str> {
    let file = file.strip_prefix("base/codec/src/bch/")?;
    let searches = file.starts_with("chien") || function == "locate_errors";
    Some(if searches { SEARCH } else { EQUATION })
}

/// Corrects so many frames, each with this many wrong bits. It is the portable decoder: others have
/// instructions that a core of the board lacks.
pub fn run(errors: u64, frames: u64) {
    let ecc = profile("softssd", |_| ()).ecc;
    let (bytes, errors) = (usize::from(ecc.chunk_bytes), errors as usize);
    let code = Bch::with_backend(ecc.field, ecc.designed, ecc.corrected, bytes, Backend::Portable);
    let code = code.unwrap_or_else(|e| panic!("{e}"));
    let mut scratch = BchScratch::new(&code);
    let clean: Vec<u8> = (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (mut data, mut parity) = (clean.clone(), vec![0; code.parity_bytes()]);
    // Set outside of the loop, so that the difference of two runs has none of it.
    code.encode(&data, &mut parity);
    let (bits, sound) = (8 * bytes, parity.clone());
    for frame in 0..frames as usize {
        for error in 0..errors {
            // An odd stride: the bits of a frame differ.
            let bit = (7919 * frame + 337 * error) % bits;
            data[bit / 8] ^= 0x80 >> (bit % 8);
        }
        let corrected = code.decode(&mut data, &mut parity, &mut scratch);
        assert_eq!(corrected, Ok(errors), "as many as were flipped");
    }
    assert!(data == clean && parity == sound, "every frame is as it was");
}

#[cfg(test)]
mod tests {
    #[test]
    fn frames_are_corrected() {
        super::run(12, 3);
    }
}
