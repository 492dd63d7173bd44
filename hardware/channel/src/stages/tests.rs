//! Tests of what the stages leave unchanged.

use super::*;
use aster_ports::dram::Dram;
use aster_ports::layout::Placement;
use aster_txn::{Direction, Path};
use aster_units::{BufferId, SectorRange};

/// Sectors of a page, into the first buffer.
fn reads(sectors: SectorRange) -> Descriptor {
    Descriptor {
        direction: Direction::Out,
        path: Path::Page,
        buffer: BufferId(0),
        offset: 0,
        sectors,
        immediate: 0,
    }
}

#[test]
fn an_erased_page_fills_only_the_sectors_that_were_asked_for() {
    for content in [Content::Full, Content::Fingerprint] {
        let layout = PageLayout::new(4, 16_384 + 1_664, 256, 21, 16, Placement::Interleaved).unwrap();
        let mut stages = Stages::new(StageConfig {
            layout,
            ecc: Ecc::new(12, 14, 13, &layout).unwrap(),
            correction: Default::default(),
            detect_latency: Duration::ZERO,
            correct_latency: Duration::ZERO,
            solver: None,
        });
        let dram = Dram::new(content, 4, 16, 1, 0, 0);
        let mut memory = dram.borrow_mut();
        memory.page_and_oob_mut(BufferId(0)).0.fill(7);
        let sectors = SectorRange { first: 1, count: 2 };
        let descriptor = reads(sectors);
        for (part, span) in layout.bursts(sectors).as_slice().iter().enumerate() {
            let out = DataOut::Erased { column: span.column, flips: &[] };
            stages.receive(part as u8, span.length, &descriptor, &out, &mut memory).unwrap();
        }
        let (page, oob) = memory.page_and_oob_mut(BufferId(0));
        let sector = content.sector_len();
        assert!(page[sector..3 * sector].iter().chain(oob.iter()).all(|&byte| byte == 0xff));
        assert!(page[..sector].iter().chain(&page[3 * sector..]).all(|&byte| byte == 7), "{content:?}");
        assert!(stages.finish(Instant::ZERO).0.erased);
    }
}

/// Table 2's page in Fig 4's layout: blocks of 512 bytes, each followed by its 20 bytes of code (S9).
fn detecting(correction: Correction, detector: Detector) -> (Stages, PageLayout) {
    let code_bytes = 20 + detector.bytes() as u16;
    let layout = PageLayout::new(4, 16_384 + 1_872, 512, code_bytes, 16, Placement::Interleaved).unwrap();
    let stages = Stages::new(StageConfig {
        layout,
        ecc: Ecc::detected_by(detector, 13, 12, 12, &layout).unwrap(),
        correction,
        detect_latency: Duration::from_nanos(3_000),
        correct_latency: Duration::from_nanos(1_500),
        solver: None,
    });
    (stages, layout)
}

fn content_of_page() -> Vec<u8> {
    (0..16_384u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// The remainder of `message` · x^r by `generator`, which has degree r, one bit after the other.
fn remainder_bit_by_bit(message: &[u8], generator: &[bool]) -> Vec<bool> {
    let degree = generator.len() - 1;
    let bits = message.iter().flat_map(|byte| (0..8).map(move |bit| byte & 0x80 >> bit != 0));
    let mut register = vec![false; degree];
    for bit in bits {
        let out = register[0] ^ bit;
        register.rotate_left(1);
        register[degree - 1] = false;
        if out {
            register.iter_mut().zip(&generator[1..]).for_each(|(r, g)| *r ^= g);
        }
    }
    register
}

/// The product of two polynomials over GF(2), highest power first.
fn product(a: &[bool], b: &[bool]) -> Vec<bool> {
    let mut product = vec![false; a.len() + b.len() - 1];
    for (i, _) in a.iter().enumerate().filter(|(_, bit)| **bit) {
        b.iter().enumerate().for_each(|(j, bit)| product[i + j] ^= bit);
    }
    product
}

/// The generator of the code over GF(2^13) that corrects 12 bits, from the definition: the product of the
/// minimal polynomials of α, α^3, …, α^23, α being a root of x^13 + x^4 + x^3 + x + 1.
fn generator() -> Vec<bool> {
    const ORDER: usize = (1 << 13) - 1;
    let mut powers = vec![1u32];
    while powers.len() < ORDER {
        let next = powers[powers.len() - 1] << 1;
        powers.push(if next >> 13 & 1 == 1 { next ^ 0x201B } else { next });
    }
    let log = |x: u32| powers.iter().position(|&power| power == x).unwrap();
    let times = |a: u32, b: u32| if a == 0 || b == 0 { 0 } else { powers[(log(a) + log(b)) % ORDER] };
    let mut generator = vec![true];
    for exponent in (1..24).step_by(2) {
        // (x − α^e)(x − α^2e)(x − α^4e)…: 13 conjugates, since 2^13 − 1 is prime.
        let mut minimal = vec![1u32];
        let mut conjugate = exponent;
        for _ in 0..13 {
            let root = powers[conjugate % ORDER];
            let mut next = vec![0; minimal.len() + 1];
            for (i, &coefficient) in minimal.iter().enumerate() {
                next[i] ^= coefficient;
                next[i + 1] ^= times(coefficient, root);
            }
            minimal = next;
            conjugate = conjugate * 2 % ORDER;
        }
        let bits: Vec<bool> = minimal.iter().map(|&coefficient| coefficient == 1).collect();
        assert!(minimal.iter().all(|&coefficient| coefficient <= 1));
        generator = product(&generator, &bits);
    }
    generator
}

#[test]
fn code_bits_follow_each_block_and_are_those_of_the_codes_definition() {
    let (mut stages, _) = detecting(Correction::OnDemand, Detector::Syndromes);
    let data = content_of_page();
    let oob: Vec<u8> = (0..16).collect();
    let page = PageData { content: Content::Full, data: &data, oob: &oob, seed: 0 };
    let raw = stages.code_word(&page);
    let generator = generator();
    assert_eq!(generator.len() - 1, 156, "12 × 13 bits, padded to 20 bytes");
    for block in [0, 1, 17, 31] {
        let at = block * 532;
        assert_eq!(raw[at..at + 512], data[block * 512..(block + 1) * 512], "block {block}");
        let stored = &raw[at + 512..at + 532];
        let bits: Vec<bool> = (0..156).map(|bit| stored[bit / 8] & 0x80 >> (bit % 8) != 0).collect();
        assert_eq!(bits, remainder_bit_by_bit(&data[block * 512..(block + 1) * 512], &generator), "{block}");
        assert_eq!(stored[19] & 0x0F, 0, "padding");
    }
    // Behind the last block: seed, OOB and their code bits.
    assert_eq!(raw[32 * 532..32 * 532 + 4], [0; 4]);
    assert_eq!(raw[32 * 532 + 4..32 * 532 + 20], oob);
}

/// Reads the page of `content_of_page` with wrong bits, by sectors; `by_bytes` as the bytes on the bus.
/// Returns the frames flagged, the report, the buffer's data and the time behind the last byte.
fn read_with(
    (correction, detector): (Correction, Detector),
    sectors: SectorRange,
    flips: &[u32],
    by_bytes: bool,
) -> (Vec<u16>, FrameReport, Vec<u8>, Duration) {
    let (mut stages, layout) = detecting(correction, detector);
    let codes = CodeArea::of(&layout);
    let dram = Dram::with_codes(Content::Full, 4, 16, (1, 0), 0, codes.bytes());
    let mut memory = dram.borrow_mut();
    let (data, oob) = (content_of_page(), [0x5A; 16]);
    let page = PageData { content: Content::Full, data: &data, oob: &oob, seed: 0 };
    let raw = {
        let mut raw = stages.code_word(&page);
        flip(&mut raw, (flips, Span { column: aster_units::Column(0), length: 18_256 }));
        raw
    };
    let descriptor = reads(sectors);
    stages.reset();
    for (part, span) in layout.bursts(sectors).as_slice().iter().enumerate() {
        let from = usize::from(span.column.0);
        let out = match by_bytes {
            true => DataOut::Bytes(&raw[from..from + span.length as usize]),
            false => DataOut::Page { column: span.column, page, flips },
        };
        stages.receive(part as u8, span.length, &descriptor, &out, &mut memory).unwrap();
    }
    let (report, after) = stages.finish(Instant::ZERO);
    let area = memory.codes(BufferId(0));
    let mut flagged = Vec::new();
    let mut from = 0;
    while let Some(frame) = codes.next_flagged(area, from).filter(|_| report.flagged) {
        flagged.push(frame);
        from = frame + 1;
    }
    (flagged, report, memory.page(BufferId(0)).to_vec(), after)
}

/// S10: of a page as the timed channel reads it, and as the bytes that RTL delivers.
#[test]
fn the_detector_flags_frames_with_wrong_bits_and_leaves_them_as_they_are() {
    let whole = SectorRange::whole(4);
    let bit = |byte: u32, bit: u32| byte * 8 + bit;
    let on_demand = (Correction::OnDemand, Detector::Syndromes);
    // Data of frame 0, code bits of frame 9, padding behind the code bits of frame 12, a bit of OOB.
    let flips = [bit(3, 1), bit(9 * 532 + 520, 0), bit(12 * 532 + 531, 7), bit(32 * 532 + 10, 4)];
    for by_bytes in [false, true] {
        let (flagged, report, page, after) = read_with(on_demand, whole, &flips, by_bytes);
        assert_eq!(flagged, [0, 9, 32], "padding belongs to no code word");
        assert_eq!((report.failed_sectors, report.corrected, report.oob_failed), (0, 0, false));
        let mut expected = content_of_page();
        expected[3] ^= 0x40;
        assert!(page == expected);
        assert_eq!(after, Duration::from_nanos(3_000), "detection only");
        let (flagged, ..) = read_with(on_demand, whole, &[], by_bytes);
        assert_eq!(flagged, [] as [u16; 0]);
        // A frame of a sector that nobody asked for isn't looked at.
        let second = SectorRange { first: 1, count: 1 };
        let (flagged, ..) = read_with(on_demand, second, &flips, by_bytes);
        assert_eq!(flagged, [9, 32]);
        let (flagged, report, page, after) =
            read_with((Correction::InHardware, Detector::Syndromes), whole, &flips, by_bytes);
        assert_eq!((flagged.len(), report.corrected), (0, 3));
        assert!(page == content_of_page());
        assert!(after > Duration::from_nanos(3_000));
    }
}

/// S11: the checksum stands behind the parity, and covers both it and the padding in it.
#[test]
fn a_crc_flags_wrong_bits_in_data_parity_and_the_checksum_itself() {
    let whole = SectorRange::whole(4);
    let on_demand = (Correction::OnDemand, Detector::Crc);
    // Data of frame 0, parity of frame 9, padding of frame 12, checksums of frame 20 and of the OOB record.
    let flips = [3 * 8 + 1, (9 * 536 + 520) * 8, (12 * 536 + 531) * 8 + 7, (20 * 536 + 533) * 8 + 2];
    let flips = [&flips[..], &[(32 * 536 + 20 + 23) * 8]].concat();
    for by_bytes in [false, true] {
        let (flagged, report, page, after) = read_with(on_demand, whole, &flips, by_bytes);
        assert_eq!(flagged, [0, 9, 12, 20, 32]);
        assert_eq!((report.failed_sectors, report.corrected, report.oob_failed), (0, 0, false));
        let mut expected = content_of_page();
        expected[3] ^= 0x40;
        assert!(page == expected);
        assert_eq!(after, Duration::from_nanos(3_000), "detection only");
        let (flagged, ..) = read_with(on_demand, whole, &[], by_bytes);
        assert_eq!(flagged, [] as [u16; 0]);
    }
}

/// Without bits, what software gets is their number: those of the checksum flag a frame, but aren't counted.
#[test]
fn a_fingerprint_counts_wrong_bits_of_data_and_parity_alone() {
    let (mut stages, layout) = detecting(Correction::OnDemand, Detector::Crc);
    let codes = CodeArea::of(&layout);
    let dram = Dram::with_codes(Content::Fingerprint, 4, 16, (1, 0), 0, codes.bytes());
    let mut memory = dram.borrow_mut();
    let (data, oob) = ([7; 32], [0; 16]);
    let page = PageData { content: Content::Fingerprint, data: &data, oob: &oob, seed: 0 };
    // Two bits of data, one of parity and one of the checksum; of another frame a bit of the checksum alone.
    let flips = [8, 17, 515 * 8, 533 * 8, (536 + 535) * 8];
    let whole = SectorRange::whole(4);
    for (part, span) in layout.bursts(whole).as_slice().iter().enumerate() {
        let out = DataOut::Page { column: span.column, page, flips: &flips };
        stages.receive(part as u8, span.length, &reads(whole), &out, &mut memory).unwrap();
    }
    let area = memory.codes(BufferId(0));
    assert_eq!((codes.next_flagged(area, 0), codes.code(area, 0)[0]), (Some(0), 3));
    assert_eq!((codes.next_flagged(area, 1), codes.code(area, 1)[0]), (Some(1), 0));
    assert_eq!(codes.next_flagged(area, 2), None);
}
