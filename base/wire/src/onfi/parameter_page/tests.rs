extern crate std;
use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn sample() -> ParameterPage {
    ParameterPage {
        revisions: Revisions(0).with_onfi_3_0(true).with_onfi_4_0(true),
        features: Features(0).with_multiple_lun(true).with_nv_ddr2(true),
        optional_commands: OptionalCommands(0).with_features(true).with_read_status_enhanced(true),
        copies: 3,
        manufacturer: *b"ASTER       ",
        model: *b"AST8G08            A",
        jedec_id: 0x2c,
        page_bytes: 16_384,
        spare_bytes: 1_664,
        pages_per_block: 256,
        blocks_per_lun: 2_192,
        luns: 2,
        address_cycles: AddressCycles(0).with_row(3).with_column(2),
        bits_per_cell: 2,
        bad_blocks_max: 50,
        endurance: Endurance { value: 3, exponent: 3 },
        guaranteed_valid_blocks: 1,
        programs_per_page: 1,
        ecc_bits: 40,
        plane_address_bits: 1,
        sdr_modes: 0x3f,
        t_prog_us: 2_300,
        t_bers_us: 10_000,
        t_r_us: 100,
        t_ccs_ns: 400,
        nv_ddr2_modes: 0xff,
        vendor_revision: 7,
        ..ParameterPage::default()
    }
}

fn copies(page: &ParameterPage) -> Vec<u8> {
    page.to_bytes().repeat(COPIES_MIN)
}

/// Byte numbers typed from the table of ONFI 5.1 §5.7.1.
#[test]
fn fields_lie_where_the_standard_puts_them() {
    let b = sample().to_bytes();
    let u16_at = |i: usize| u16::from_le_bytes([b[i], b[i + 1]]);
    let u32_at = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
    assert_eq!(&b[0..4], b"ONFI");
    assert_eq!((u16_at(4), u16_at(6), u16_at(8), b[14]), (0x0240, 0x0402, 0x000c, 3));
    assert_eq!((&b[32..44], &b[44..51], b[64]), (&b"ASTER       "[..], &b"AST8G08"[..], 0x2c));
    assert_eq!((u32_at(80), u16_at(84), u32_at(92), u32_at(96), b[100]), (16_384, 1_664, 256, 2_192, 2));
    assert_eq!((b[101], b[102], u16_at(103)), (0x23, 2, 50));
    assert_eq!((b[105], b[106], b[107], b[110], b[112], b[113]), (3, 3, 1, 1, 40, 1));
    assert_eq!(
        (u16_at(129), u16_at(133), u16_at(135), u16_at(137), u16_at(139)),
        (0x3f, 2300, 10_000, 100, 400)
    );
    assert_eq!((b[141], b[142], u16_at(164)), (0, 0xff, 7));
    assert_eq!(u16_at(254), crc16(&b[..254]));
}

#[test]
fn a_page_reads_back_and_answers_in_units() {
    let page = ParameterPage::parse(&copies(&sample())).unwrap();
    assert_eq!(page, sample());
    assert_eq!((page.register_bytes(), page.planes()), (18_048, 2));
    assert_eq!((page.t_r(), page.t_ccs()), (Duration::from_micros(100), Duration::from_nanos(400)));
    assert_eq!(page.endurance.cycles(), Some(3_000));
    assert_eq!(Endurance { value: 1, exponent: 20 }.cycles(), None);
}

#[test]
fn the_first_valid_copy_wins() {
    let mut other = sample();
    other.t_r_us = 53;
    let mut bytes = copies(&sample());
    bytes[256..512].copy_from_slice(&other.to_bytes());
    assert_eq!(ParameterPage::parse(&bytes).unwrap(), sample());
    bytes[137] ^= 1;
    assert_eq!(ParameterPage::parse(&bytes).unwrap(), other);
}

#[test]
fn three_broken_copies_are_repaired_by_majority() {
    let mut bytes = copies(&sample());
    for (copy, at) in [(0, 80), (1, 81), (2, 254)] {
        bytes[copy * 256 + at] ^= 0xff;
    }
    assert_eq!(ParameterPage::parse(&bytes).unwrap(), sample());
    bytes[80 + 256] ^= 0xff;
    assert_eq!(ParameterPage::parse(&bytes), Err(ParameterPageError::Corrupt));
}

#[test]
fn what_is_no_onfi_page_is_refused() {
    assert_eq!(ParameterPage::parse(&[0; 767]), Err(ParameterPageError::TooShort { bytes: 767 }));
    assert_eq!(ParameterPage::parse(&[0; 768]), Err(ParameterPageError::Corrupt));
    let mut jedec = sample().to_bytes();
    jedec[..4].copy_from_slice(b"JESD");
    let crc = crc16(&jedec[..254]).to_le_bytes();
    jedec[254..].copy_from_slice(&crc);
    assert_eq!(ParameterPage::parse(&jedec.repeat(3)), Err(ParameterPageError::NotOnfi));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1024)) {
        let _ = ParameterPage::parse(&bytes);
    }

    #[test]
    fn any_body_with_a_right_crc_parses_to_a_page_that_round_trips(
        body in proptest::collection::vec(any::<u8>(), 250),
    ) {
        let mut page = [0; PARAMETER_PAGE_BYTES];
        page[..4].copy_from_slice(b"ONFI");
        page[4..254].copy_from_slice(&body);
        let crc = crc16(&page[..254]).to_le_bytes();
        page[254..].copy_from_slice(&crc);
        let value = ParameterPage::parse(&page.repeat(3)).unwrap();
        prop_assert_eq!(ParameterPage::parse(&copies(&value)), Ok(value));
        let _ = (value.planes(), value.endurance.cycles(), value.register_bytes());
    }

    #[test]
    fn one_broken_copy_never_matters(copy in 0usize..3, at in 0usize..256, flip in 1u8..) {
        let mut bytes = copies(&sample());
        bytes[copy * 256 + at] ^= flip;
        prop_assert_eq!(ParameterPage::parse(&bytes), Ok(sample()));
    }
}
