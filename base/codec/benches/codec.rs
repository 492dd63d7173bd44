//! Throughput of the codes on one core: `cargo bench -p aster-codec`.
//!
//! MB are 10^6 bytes of chunk data. Each figure is the best of several rounds: other work on the machine only
//! ever slows one down. A first argument that names a backend (`portable`, `pclmul`, `avx512`) restricts the
//! run to it.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench measures wall time; nothing it measures is simulated"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use aster_codec::{Backend, Bch, BchScratch, Scrambler, checksum, xor_into};

const ROUNDS: usize = 60;
/// Shorter than a scheduler's time slice, so that some rounds run undisturbed.
const ROUND_TIME: Duration = Duration::from_millis(2);
/// A page's worth of chunks a round.
const PAGE_BYTES: usize = 16_384;

/// (m, designed t, data bytes): Cosmos+ (G6), the usual 8 bits in 512 bytes, SoftSSD, and two for denser
/// flash.
const CODES: [(u32, usize, usize); 6] =
    [(12, 13, 256), (12, 14, 256), (13, 8, 512), (13, 12, 512), (14, 40, 1024), (16, 100, 4096)];

/// MB/s of a call that processes `bytes` bytes.
fn rate(bytes: usize, mut call: impl FnMut()) -> f64 {
    call();
    let mut calls = 1u32;
    let mut best = 0f64;
    for _ in 0..ROUNDS {
        loop {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            let elapsed = start.elapsed();
            if elapsed >= ROUND_TIME {
                best = best.max(bytes as f64 * f64::from(calls) / elapsed.as_secs_f64() / 1e6);
                break;
            }
            calls *= 2;
        }
    }
    best
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// MB/s of decoding a chunk with `errors` errors, over many error patterns. Copying the damaged chunk in is
/// part of it.
fn decode_rate(code: &Bch, errors: usize) -> f64 {
    const PATTERNS: usize = 32;
    let mut scratch = BchScratch::new(code);
    let clean = noise(code.data_bytes(), 5);
    let mut stored = vec![0; code.parity_bytes()];
    code.encode(&clean, &mut stored);
    let damaged: Vec<Vec<u8>> = (0..PATTERNS)
        .map(|pattern| {
            let mut data = clean.clone();
            let places = noise(4 * errors, 77 + pattern as u64);
            for (i, place) in places.chunks_exact(4).enumerate() {
                // One error in each of `errors` equal stretches: all different.
                let stretch = data.len() * 8 / errors.max(1);
                let bit = i * stretch + u32::from_le_bytes(place.try_into().unwrap()) as usize % stretch;
                data[bit / 8] ^= 0x80 >> (bit % 8);
            }
            data
        })
        .collect();
    let mut data = clean.clone();
    rate(code.data_bytes() * PATTERNS, || {
        for chunk in &damaged {
            data.copy_from_slice(chunk);
            assert_eq!(code.decode(black_box(&mut data), &mut stored, &mut scratch), Ok(errors));
        }
    })
}

fn main() {
    // Cargo passes `--bench` on.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!("BCH, MB/s of chunk data, one core");
    println!("backend   m   t  chunk    encode    detect  dec 0 err     1 err     4 err   t errors");
    for backend in Backend::ALL {
        let name = format!("{backend:?}").to_lowercase();
        if !backend.is_available() || wanted.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        for (degree, correction, data_bytes) in CODES {
            let code =
                Bch::with_backend(degree, correction, correction, data_bytes, backend).expect("a valid code");
            let page = noise(PAGE_BYTES, 3);
            let mut parity = vec![0; PAGE_BYTES / data_bytes * code.parity_bytes()];
            let encode = rate(PAGE_BYTES, || {
                let slots = parity.chunks_exact_mut(code.parity_bytes());
                for (chunk, slot) in black_box(&page).chunks_exact(data_bytes).zip(slots) {
                    code.encode(chunk, slot);
                }
            });
            let detect = rate(PAGE_BYTES, || {
                let slots = parity.chunks_exact(code.parity_bytes());
                for (chunk, slot) in black_box(&page).chunks_exact(data_bytes).zip(slots) {
                    assert!(code.detect(chunk, slot));
                }
            });
            print!("{name:<9}{degree:>2} {correction:>3} {data_bytes:>6}");
            print!("{encode:>10.0}{detect:>10.0}");
            for (errors, width) in [(0, 11), (1, 10), (4, 10), (correction, 11)] {
                print!("{:>width$.0}", decode_rate(&code, errors));
            }
            println!();
        }
    }
    let (mut page, other) = (noise(PAGE_BYTES, 9), noise(PAGE_BYTES, 11));
    println!(
        "scrambler {:>8.0} MB/s",
        rate(PAGE_BYTES, || Scrambler::new(black_box(0x1234_5678)).apply(&mut page))
    );
    println!("XOR parity{:>8.0} MB/s", rate(PAGE_BYTES, || xor_into(black_box(&mut page), &other)));
    println!(
        "CRC-32C   {:>8.0} MB/s",
        rate(PAGE_BYTES, || {
            black_box(checksum::crc32c(black_box(&page)));
        })
    );
    println!(
        "CRC-64    {:>8.0} MB/s",
        rate(PAGE_BYTES, || {
            black_box(checksum::crc64(black_box(&page)));
        })
    );
}
