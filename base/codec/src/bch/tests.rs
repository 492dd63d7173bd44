//! Tests of whole codes. Each test runs on all backends that this processor has.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::vectors::{VECTORS, Vector};
use super::*;

fn backends() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|backend| backend.is_available())
}

fn on(backend: Backend, degree: u32, correction: usize, data_bytes: usize) -> Bch {
    Bch::with_backend(degree, correction, correction, data_bytes, backend).unwrap()
}

/// The xorshift that [`vectors`] names.
fn bytes_of(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
        .collect()
}

impl Vector {
    fn data(&self) -> Vec<u8> {
        bytes_of(0x0123_4567 + 256 * self.degree + self.correction as u32, self.data_bytes)
    }

    fn parity(&self) -> Vec<u8> {
        let digits: Vec<u8> = self.parity.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
        digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }
}

fn flip(data: &mut [u8], parity: &mut [u8], bit: usize) {
    let byte = bit / 8;
    if byte < data.len() {
        data[byte] ^= 0x80 >> (bit % 8)
    } else {
        parity[byte - data.len()] ^= 0x80 >> (bit % 8)
    }
}

/// `count` different bit numbers below `bits`.
fn distinct_bits(seed: u32, count: usize, bits: usize) -> Vec<usize> {
    let mut state = seed | 1;
    let mut chosen = Vec::new();
    while chosen.len() < count {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let bit = state as usize % bits;
        if !chosen.contains(&bit) {
            chosen.push(bit);
        }
    }
    chosen
}

#[test]
fn parity_equals_that_of_independent_implementations() {
    for vector in &VECTORS {
        for backend in backends() {
            let code = on(backend, vector.degree, vector.correction, vector.data_bytes);
            let (mut data, mut parity) = (vector.data(), vec![0; code.parity_bytes()]);
            code.encode(&data, &mut parity);
            assert_eq!(parity, vector.parity(), "m {} t {} on {backend:?}", vector.degree, vector.correction);
            assert!(code.detect(&data, &parity));
            // And a word that the other implementation made is corrected.
            let mut scratch = BchScratch::new(&code);
            for bit in distinct_bits(7, vector.correction, code.word_bits()) {
                flip(&mut data, &mut parity, bit);
            }
            assert!(!code.detect(&data, &parity));
            assert_eq!(code.decode(&mut data, &mut parity, &mut scratch), Ok(vector.correction));
            assert_eq!((data, parity), (vector.data(), vector.parity()));
        }
    }
}

/// The encoder as the textbook draws it: a shift register of r bits, one data bit per step.
fn parity_by_shift_register(code: &Bch, data: &[u8]) -> Vec<u8> {
    let generator = Generator::new(code.field(), code.correction()).unwrap();
    let taps: Vec<bool> =
        (0..generator.degree).map(|i| generator.words[i / 64] >> (63 - i % 64) & 1 == 1).collect();
    let mut register = vec![false; taps.len()];
    for bit in 0..data.len() * 8 {
        let feedback = register[0] ^ (data[bit / 8] >> (7 - bit % 8) & 1 == 1);
        register.rotate_left(1);
        *register.last_mut().unwrap() = false;
        for (cell, tap) in register.iter_mut().zip(&taps) {
            *cell ^= feedback & tap;
        }
    }
    let mut parity = vec![0u8; taps.len().div_ceil(8)];
    for (i, _) in register.iter().enumerate().filter(|(_, set)| **set) {
        parity[i / 8] |= 0x80 >> (i % 8);
    }
    parity
}

/// Any field, strength and size for which there is a code: (m, t, data bytes).
fn any_code() -> impl Strategy<Value = (u32, usize, usize)> {
    (FIELD_DEGREE_MIN..=14)
        .prop_flat_map(|degree| {
            let order = (1usize << degree) - 1;
            (Just(degree), 1..=(order / 2 / degree as usize).clamp(1, 90))
        })
        .prop_flat_map(|(degree, correction)| {
            let order = (1usize << degree) - 1;
            let room = (order - (correction * degree as usize).min(order - 8)) / 8;
            (Just(degree), Just(correction), 1..=room.clamp(1, 700))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn backends_agree_with_the_shift_register((degree, correction, data_bytes) in any_code(), seed in 1u32..,
        chunks in 1usize..7) {
        let data = bytes_of(seed, data_bytes * chunks);
        for backend in backends() {
            let code = on(backend, degree, correction, data_bytes);
            let expected: Vec<u8> =
                data.chunks(data_bytes).flat_map(|chunk| parity_by_shift_register(&code, chunk)).collect();
            let mut one_by_one = vec![0; expected.len()];
            for (chunk, parity) in data.chunks(data_bytes).zip(one_by_one.chunks_mut(code.parity_bytes())) {
                code.encode(chunk, parity);
            }
            prop_assert_eq!(&one_by_one, &expected, "{:?}", backend);
        }
    }

    #[test]
    fn up_to_t_errors_are_corrected((degree, correction, data_bytes) in any_code(), seed in 1u32..,
        share in 0.0f64..=1.0) {
        let clean = bytes_of(seed, data_bytes);
        for backend in backends() {
            let code = on(backend, degree, correction, data_bytes);
            let mut scratch = BchScratch::new(&code);
            let mut stored = vec![0; code.parity_bytes()];
            code.encode(&clean, &mut stored);
            let errors = ((correction as f64 * share).round() as usize).min(code.word_bits());
            let (mut data, mut parity) = (clean.clone(), stored.clone());
            for bit in distinct_bits(seed, errors, code.word_bits()) {
                flip(&mut data, &mut parity, bit);
            }
            prop_assert_eq!(code.detect(&data, &parity), errors == 0);
            prop_assert_eq!(code.decode(&mut data, &mut parity, &mut scratch), Ok(errors));
            prop_assert_eq!(&data, &clean);
            prop_assert_eq!(&parity, &stored);
        }
    }

    /// Garbage is either refused and left unchanged, or corrected to a word of the code within the limit.
    /// Nothing else may happen.
    #[test]
    fn whatever_decode_accepts_is_a_code_word((degree, correction, data_bytes) in any_code(), seed in 1u32..,
        extra in 1usize..40) {
        let mut verdicts = Vec::new();
        for backend in backends() {
            let code = on(backend, degree, correction, data_bytes);
            let mut scratch = BchScratch::new(&code);
            let mut parity = vec![0; code.parity_bytes()];
            let mut data = bytes_of(seed, data_bytes);
            code.encode(&data, &mut parity);
            for bit in distinct_bits(seed, (correction + extra).min(code.word_bits()), code.word_bits()) {
                flip(&mut data, &mut parity, bit);
            }
            let (received, received_parity) = (data.clone(), parity.clone());
            let verdict = code.decode(&mut data, &mut parity, &mut scratch);
            let changed: u32 = data.iter().zip(&received).chain(parity.iter().zip(&received_parity))
                .map(|(a, b)| (a ^ b).count_ones()).sum();
            match verdict {
                Ok(errors) => {
                    prop_assert!(errors <= correction);
                    prop_assert_eq!(changed as usize, errors);
                    prop_assert!(code.detect(&data, &parity));
                }
                Err(Uncorrectable) => prop_assert_eq!(changed, 0),
            }
            verdicts.push((verdict, data));
        }
        prop_assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "backends agree");
    }

    #[test]
    fn a_wrong_bit_of_data_or_parity_is_detected(seed in 1u32.., bit in 0usize..(256 + 21) * 8) {
        for backend in backends() {
            let code = on(backend, 12, 14, 256);
            let mut data = bytes_of(seed, 256);
            let mut parity = vec![0; code.parity_bytes()];
            code.encode(&data, &mut parity);
            prop_assert!(code.detect(&data, &parity));
            let byte = bit / 8;
            if byte < 256 { data[byte] ^= 1 << (bit % 8) } else { parity[byte - 256] ^= 1 << (bit % 8) }
            prop_assert!(!code.detect(&data, &parity));
        }
    }
}

#[test]
fn the_limit_leaves_the_last_designed_correction_uncorrected() {
    // G6: designed for 14, accepted up to 13.
    for backend in backends() {
        let code = Bch::with_backend(12, 14, 13, 256, backend).unwrap();
        assert_eq!((code.parity_bits(), code.parity_bytes()), (168, 21));
        let mut scratch = BchScratch::new(&code);
        let clean = bytes_of(3, 256);
        let mut stored = vec![0; 21];
        code.encode(&clean, &mut stored);
        for seed in 1..200 {
            for errors in [13, 14, 15] {
                let (mut data, mut parity) = (clean.clone(), stored.clone());
                for bit in distinct_bits(seed * 77, errors, code.word_bits()) {
                    flip(&mut data, &mut parity, bit);
                }
                let received = (data.clone(), parity.clone());
                let verdict = code.decode(&mut data, &mut parity, &mut scratch);
                if errors == 13 {
                    assert_eq!(verdict, Ok(13));
                    assert_eq!((&data, &parity), (&clean, &stored));
                } else {
                    // 14 and 15 errors are 13 away from no other word: words of the code are 29 apart.
                    assert_eq!(verdict, Err(Uncorrectable));
                    assert_eq!((data, parity), received);
                }
            }
        }
    }
}

#[test]
fn errors_in_parity_alone_are_corrected() {
    for backend in backends() {
        let code = on(backend, 13, 8, 512);
        let mut scratch = BchScratch::new(&code);
        let clean = bytes_of(5, 512);
        let mut stored = vec![0; code.parity_bytes()];
        code.encode(&clean, &mut stored);
        for bit in 0..code.parity_bits() {
            let (mut data, mut parity) = (clean.clone(), stored.clone());
            flip(&mut data, &mut parity, 512 * 8 + bit);
            flip(&mut data, &mut parity, 512 * 8 + (bit + 1) % code.parity_bits());
            assert_eq!(code.decode(&mut data, &mut parity, &mut scratch), Ok(2));
            assert_eq!((data, parity), (clean.clone(), stored.clone()));
        }
    }
}

#[test]
fn filling_bits_are_no_errors_and_come_back_clear() {
    // 156 bits of parity in 20 bytes.
    let code = Bch::new(13, 12, 512).unwrap();
    assert_eq!((code.parity_bits(), code.parity_bytes()), (156, 20));
    let mut scratch = BchScratch::new(&code);
    let mut data = bytes_of(9, 512);
    let mut stored = vec![0; 20];
    code.encode(&data, &mut stored);
    assert_eq!(stored[19] & 0x0F, 0);
    let mut parity = stored.clone();
    parity[19] |= 0x0A;
    assert!(code.detect(&data, &parity));
    data[0] ^= 1;
    assert_eq!(code.decode(&mut data, &mut parity, &mut scratch), Ok(1));
    assert_eq!(parity, stored);
}

#[test]
fn a_location_in_the_shortened_part_is_uncorrectable() {
    // A single error at x^p for p beyond the word has the syndromes α^p, α^3p, …: build its remainder by
    // hand.
    for (degree, correction) in [(12, 1), (12, 14)] {
        for backend in backends() {
            let code = on(backend, degree, correction, 256);
            let long = on(backend, degree, correction, 300);
            let mut scratch = BchScratch::new(&code);
            let mut word = vec![0u8; 300];
            word[10] = 1;
            let mut parity = vec![0; code.parity_bytes()];
            long.encode(&word, &mut parity);
            let mut data = vec![0u8; 256];
            // In the longer code that parity says: one error among the 44 bytes that the shorter one doesn't
            // have.
            assert_eq!(code.decode(&mut data, &mut parity, &mut scratch), Err(Uncorrectable));
            assert_eq!(data, vec![0u8; 256]);
        }
    }
}

#[test]
fn the_three_steps_give_the_textbook_values() {
    let code = Bch::new(12, 14, 256).unwrap();
    let field = code.field();
    let mut scratch = BchScratch::new(&code);
    let (mut data, mut parity) = (vec![0u8; 256], vec![0u8; 21]);
    let places = [0usize, 5, 167, 168, 1000, code.word_bits() - 1];
    for place in places {
        flip(&mut data, &mut parity, code.word_bits() - 1 - place);
    }
    assert!(!code.syndromes(&data, &parity, &mut scratch));
    for (i, syndrome) in scratch.syndromes().iter().enumerate() {
        let sum = places.iter().fold(0, |sum, place| sum ^ field.alpha(place * (i + 1)));
        assert_eq!(*syndrome, sum, "S_{}", i + 1);
    }
    assert_eq!(code.solve_key_equation(&mut scratch), Ok(places.len()));
    // Λ(x) = Π (1 + α^p · x).
    let mut expected = vec![1u16];
    for place in places {
        expected.push(0);
        for i in (1..expected.len()).rev() {
            expected[i] ^= field.multiply(expected[i - 1], field.alpha(place));
        }
    }
    assert_eq!(scratch.locator()[..=places.len()], expected);
    assert_eq!(code.locate_errors(places.len(), &mut scratch), Ok(places.len()));
    assert!(scratch.positions().iter().zip(places).all(|(found, place)| *found as usize == place));
}

#[test]
fn every_field_degree_makes_a_working_code() {
    for degree in FIELD_DEGREE_MIN..=FIELD_DEGREE_MAX {
        let longest = ((1usize << degree) - 1 - 3 * degree as usize) / 8;
        for backend in backends() {
            for data_bytes in [1, longest] {
                let code = on(backend, degree, 3, data_bytes);
                let mut scratch = BchScratch::new(&code);
                let clean = bytes_of(degree, data_bytes);
                let mut stored = vec![0; code.parity_bytes()];
                code.encode(&clean, &mut stored);
                assert_eq!(stored, parity_by_shift_register(&code, &clean));
                let (mut data, mut parity) = (clean.clone(), stored.clone());
                for bit in [0, 3, code.word_bits() - 1] {
                    flip(&mut data, &mut parity, bit);
                }
                assert_eq!(code.decode(&mut data, &mut parity, &mut scratch), Ok(3));
                assert_eq!((data, parity), (clean, stored));
            }
        }
    }
}

#[test]
fn impossible_codes_are_refused_with_the_reason() {
    assert_eq!(Bch::new(4, 1, 1).unwrap_err(), BchError::FieldDegree { degree: 4 });
    assert_eq!(Bch::new(12, 0, 256).unwrap_err(), BchError::Correction { degree: 12, correction: 0 });
    assert_eq!(Bch::new(5, 16, 1).unwrap_err(), BchError::Correction { degree: 5, correction: 16 });
    assert_eq!(Bch::with_limit(12, 14, 15, 256).unwrap_err(), BchError::Limit { limit: 15, correction: 14 });
    assert_eq!(Bch::with_limit(12, 14, 0, 256).unwrap_err(), BchError::Limit { limit: 0, correction: 14 });
    let too_long = BchError::WordLength { data_bytes: 512, parity_bits: 168, bits_max: 4095 };
    assert_eq!(Bch::new(12, 14, 512).unwrap_err(), too_long);
    let empty = BchError::WordLength { data_bytes: 0, parity_bits: 168, bits_max: 4095 };
    assert_eq!(Bch::new(12, 14, 0).unwrap_err(), empty);
    // 16·129, less 8: α^257 lies in GF(2^8), so that its minimal polynomial has degree 8.
    assert_eq!(Bch::new(16, 129, 1024).unwrap_err(), BchError::ParityLength { parity_bits: 2056 });
    assert!(Bch::new(16, 128, 4096).is_ok());
}
