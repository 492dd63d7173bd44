//! Remainders modulo the generator polynomial, by the backend that was chosen.
//!
//! With w words of parity, g′ = g · x^(64w − r) is the generator moved up to a whole number of words: then
//! data · x^64w mod g′ is the parity, already aligned to the top of its words.

use super::Backend;
#[cfg(target_arch = "x86_64")]
use super::folding::Folding;
use super::generator::Generator;
use super::remainder::Remainder;
use super::slicing;
#[cfg(target_arch = "x86_64")]
use super::{avx512, pclmul};

#[derive(Clone, Debug)]
enum Engine {
    Portable(slicing::Tables),
    #[cfg(target_arch = "x86_64")]
    Pclmul(Folding, pclmul::Proof),
    #[cfg(target_arch = "x86_64")]
    Avx512(Folding, avx512::Proof),
}

/// Divides chunks of a fixed size by the generator polynomial.
#[derive(Clone, Debug)]
pub(super) struct Divider {
    data_bytes: usize,
    words: usize,
    engine: Engine,
}

impl Divider {
    /// `None` when this processor lacks what `backend` needs.
    pub fn new(generator: &Generator, data_bytes: usize, backend: Backend) -> Option<Divider> {
        let engine = match backend {
            Backend::Portable => Engine::Portable(slicing::Tables::new(&generator.words)),
            #[cfg(target_arch = "x86_64")]
            Backend::Pclmul => {
                Engine::Pclmul(Folding::new(generator, data_bytes), pclmul::Proof::of_support()?)
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => {
                Engine::Avx512(Folding::new(generator, data_bytes), avx512::Proof::of_support()?)
            }
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Pclmul | Backend::Avx512 => return None,
        };
        Some(Divider { data_bytes, words: generator.words.len(), engine })
    }

    /// Words of a remainder, w.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The parity of one chunk.
    pub fn remainder(&self, data: &[u8], out: &mut Remainder) {
        assert_eq!(data.len(), self.data_bytes, "a chunk has the code's data size");
        match &self.engine {
            Engine::Portable(tables) => tables.remainder(data, &mut out[..self.words]),
            #[cfg(target_arch = "x86_64")]
            Engine::Pclmul(folding, proof) => pclmul::remainder(*proof, folding, data, out),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512(folding, proof) => avx512::remainder(*proof, folding, data, out),
        }
    }
}
