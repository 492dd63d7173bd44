//! Division by table, eight bytes per step: works on every processor.

use alloc::vec;
use alloc::vec::Vec;

use super::remainder::PARITY_WORDS_MAX;

/// Multiplies a remainder by x modulo g′ (given without its leading term): one step of the encoder's shift
/// register.
pub(super) fn multiply_by_x(remainder: &mut [u64], generator: &[u64]) {
    let feedback = 0u64.wrapping_sub(remainder[0] >> 63);
    for j in 0..remainder.len() {
        let carry = remainder.get(j + 1).map_or(0, |next| next >> 63);
        remainder[j] = (remainder[j] << 1 | carry) ^ (generator[j] & feedback);
    }
}

/// Byte b (0 lowest) of the feedback word, of value v, contributes v · x^(8b) · x^64w mod g′, found at
/// (256·b + v) · w. That is 16 KiB per word of parity.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    words: usize,
    entries: Vec<u64>,
}

impl Tables {
    pub fn new(generator: &[u64]) -> Tables {
        let words = generator.len();
        let mut entries = vec![0u64; 8 * 256 * words];
        let mut power = generator.to_vec();
        for bit in 0..64 {
            let (table, weight) = (bit / 8, 1usize << (bit % 8));
            let base = table * 256;
            // An entry is the entry without its highest bit, plus that bit's power.
            for value in weight..2 * weight {
                for j in 0..words {
                    entries[(base + value) * words + j] =
                        entries[(base + value - weight) * words + j] ^ power[j];
                }
            }
            multiply_by_x(&mut power, generator);
        }
        Tables { words, entries }
    }

    /// Writes the remainder of `data` to `out`, `out.len()` = w.
    pub fn remainder(&self, data: &[u8], out: &mut [u64]) {
        // The common widths have code with unrolled inner loops.
        match self.words {
            1 => self.divide::<1>(data, out),
            2 => self.divide::<2>(data, out),
            3 => self.divide::<3>(data, out),
            4 => self.divide::<4>(data, out),
            _ => self.divide_any(data, out),
        }
    }

    fn divide<const W: usize>(&self, data: &[u8], out: &mut [u64]) {
        let (rows, _) = self.entries.as_chunks::<W>();
        let tables: &[[u64; W]; 8 * 256] = rows.try_into().expect("eight tables of 256 rows");
        let mut state = [0u64; W];
        feed(data, |word| {
            let feedback = state[0] ^ word;
            state.copy_within(1.., 0);
            state[W - 1] = 0;
            for b in 0..8 {
                let row = &tables[b * 256 + (feedback >> (8 * b) & 0xFF) as usize];
                for j in 0..W {
                    state[j] ^= row[j];
                }
            }
        });
        out.copy_from_slice(&state);
    }

    fn divide_any(&self, data: &[u8], out: &mut [u64]) {
        let words = self.words;
        let mut buffer = [0u64; PARITY_WORDS_MAX];
        let state = &mut buffer[..words];
        feed(data, |word| {
            let feedback = state[0] ^ word;
            state.copy_within(1.., 0);
            state[words - 1] = 0;
            let row = |b: usize| {
                let from = (b * 256 + (feedback >> (8 * b) & 0xFF) as usize) * words;
                &self.entries[from..from + words]
            };
            for half in [0, 4] {
                let (a, b, c, d) = (row(half), row(half + 1), row(half + 2), row(half + 3));
                for j in 0..words {
                    state[j] ^= a[j] ^ b[j] ^ c[j] ^ d[j];
                }
            }
        });
        out.copy_from_slice(state);
    }
}

/// Feeds `data` as big-endian words. If the first part isn't a whole word, it gets leading zeroes, which
/// don't change the zero state.
#[inline(always)]
fn feed(data: &[u8], mut step: impl FnMut(u64)) {
    let (head, body) = data.split_at(data.len() % 8);
    if !head.is_empty() {
        step(head.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    for bytes in body.as_chunks::<8>().0 {
        step(u64::from_be_bytes(*bytes));
    }
}
