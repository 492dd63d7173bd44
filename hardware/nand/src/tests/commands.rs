use super::bench::*;
use crate::NandArray;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_ports::package::{DataIn, DataMode, Package, PageData, ProtocolError};
use aster_units::{BlockAddr, Content, Duration, Instant};

const BOTH: [Content; 2] = [Content::Full, Content::Fingerprint];

#[test]
fn a_page_comes_back_as_it_was_programmed() {
    for content in BOTH {
        let (mut bus, inspect) = one(config(content));
        assert_eq!(bus.program(3, 0, 0x5a), 0xe0);
        assert_eq!(bus.program(3, 1, 0xa5), 0xe0);
        expect_page(&bus.read(3, 0), 0x5a);
        expect_page(&bus.read(3, 1), 0xa5);
        assert_eq!(bus.read(3, 2), Out::Erased { flips: vec![] });
        assert_eq!(bus.erase(3), 0xe0);
        assert_eq!(bus.read(3, 0), Out::Erased { flips: vec![] });
        let info = inspect.block(LUN, BlockAddr(3));
        assert_eq!((info.erases, info.reads, info.programmed), (1, 1, 0));
        assert_eq!(inspect.totals(LUN).reads, 4);
    }
}

#[test]
fn the_array_takes_the_time_of_its_page_type() {
    let (mut bus, _) = one(config(Content::Full));
    bus.program(1, 0, 1);
    bus.program(1, 1, 2);
    // C52: MLC LSB 58 µs, MSB 90 µs.
    for (page, micros) in [(0, 58), (1, 90)] {
        bus.start_read(1, page);
        let start = bus.now;
        assert!(!bus.package.ready(start + Duration::from_nanos(micros * 1000 - 1)));
        assert!(bus.package.ready(start + Duration::from_micros(micros)));
        bus.wait(Duration::from_micros(micros - 3));
        assert_eq!(bus.status(), 0x80, "busy: RDY and ARDY clear, WP_n set");
        assert_eq!(bus.until_ready(), 0xe0);
    }
}

#[test]
fn change_read_column_moves_within_the_register() {
    let (mut bus, _) = one(config(Content::Full));
    // Raw bytes: 80h, address, data; 85h C1 C2, data; 10h (ONFI 5.1, PAGE PROGRAM and CHANGE WRITE COLUMN).
    let row = bus.row(2, 0);
    bus.cmd(0x80).addr(&[0, 0]).addr(&row).bytes_in(&[1, 2, 3]);
    bus.cmd(0x85).addr(&[0x00, 0x23]).bytes_in(&[9, 8]).bytes_in(&[7]).cmd(0x10);
    assert_eq!(bus.until_ready(), 0xe0);
    bus.start_read(2, 0).until_ready();
    assert_eq!(bus.cmd(0x00).out(4), Out::Bytes(vec![1, 2, 3, 0xff]));
    assert_eq!(bus.out(1), Out::Bytes(vec![0xff]), "the column goes on");
    // 05h C1 C2 E0h (ONFI 5.1, CHANGE READ COLUMN).
    assert_eq!(bus.cmd(0x05).addr(&[0xff, 0x22]).cmd(0xe0).out(5), Out::Bytes(vec![0xff, 9, 8, 7, 0xff]));
    // 06h C1 C2 R1 R2 R3 E0h (ONFI 5.1, CHANGE READ COLUMN ENHANCED).
    assert_eq!(bus.cmd(0x06).addr(&[1, 0]).addr(&row).cmd(0xe0).out(2), Out::Bytes(vec![2, 3]));
    let error = bus.cmd(0x05).addr(&[0xff, 0x23]).cmd(0xe0).try_out(2);
    assert_eq!(error, Err(ProtocolError::Length { available: 1, requested: 2 }));
}

#[test]
fn a_read_begins_at_its_column() {
    let (mut bus, _) = one(config(Content::Full));
    bus.program(0, 0, 7);
    let row = bus.row(0, 0);
    bus.cmd(0x00).addr(&[0x00, 0x10]).addr(&row).cmd(0x30).until_ready();
    let Out::Page { column, .. } = bus.cmd(0x00).out(64) else { panic!() };
    assert_eq!(column, 4096);
    let Out::Page { column, .. } = bus.out(64) else { panic!() };
    assert_eq!(column, 4160);
}

#[test]
fn a_fingerprint_drive_keeps_metadata_pages_whole() {
    let (mut bus, inspect) = one(config(Content::Fingerprint));
    let data: Vec<u8> = (0..8192u32).map(|i| (i * 31) as u8).collect();
    let oob = [3; 16];
    let page = PageData { content: Content::Full, data: &data, oob: &oob, seed: 77 };
    bus.load(4, 0, &page).unwrap();
    assert_eq!(bus.cmd(0x10).until_ready(), 0xe0);
    assert_eq!(bus.program(4, 1, 9), 0xe0);
    let want = Out::Page {
        column: 0,
        content: Content::Full,
        data: data.clone(),
        oob: oob.to_vec(),
        seed: 77,
        flips: vec![],
    };
    assert_eq!(bus.read(4, 0), want);
    expect_page(&bus.read(4, 1), 9);
    let before = inspect.memory_bytes();
    bus.erase(4);
    assert!(inspect.memory_bytes() >= before - 1_000, "buffers are kept");
    bus.load(4, 0, &page).unwrap();
    bus.cmd(0x10).until_ready();
    assert_eq!(bus.read(4, 0), want);
    assert!(inspect.memory_bytes() <= before, "and used again");
}

#[test]
fn fingerprints_have_no_place_on_a_drive_with_real_bytes() {
    let (mut bus, _) = one(config(Content::Full));
    let (data, oob) = page_of(Content::Fingerprint, 1);
    let page = PageData { content: Content::Fingerprint, data: &data, oob: &oob, seed: 1 };
    assert_eq!(bus.load(1, 0, &page), Err(ProtocolError::NoBytes));
}

#[test]
fn a_page_of_another_size_is_refused() {
    let (mut bus, _) = one(config(Content::Full));
    let page = PageData { content: Content::Full, data: &[0; 4096], oob: &[0; 16], seed: 1 };
    let error = Err(ProtocolError::Length { available: 8192, requested: 4096 });
    assert_eq!(bus.load(1, 0, &page), error);
    let page = PageData { content: Content::Full, data: &[0; 8192], oob: &[0; 3], seed: 1 };
    assert_eq!(bus.load(1, 0, &page), Err(ProtocolError::Length { available: 16, requested: 3 }));
}

#[test]
fn a_program_of_nothing_leaves_a_blank_page_that_counts() {
    let (mut bus, inspect) = one(config(Content::Full));
    let row = bus.row(5, 0);
    assert_eq!(bus.cmd(0x80).addr(&[0, 0]).addr(&row).cmd(0x10).until_ready(), 0xe0);
    assert_eq!(inspect.block(LUN, BlockAddr(5)).programmed, 1);
    assert_eq!(bus.read(5, 0), Out::Erased { flips: vec![] });
}

#[test]
fn read_id_answers_jedec_and_onfi() {
    let (mut bus, _) = one(config(Content::Full));
    // ONFI 5.1 §5.6: address 20h answers 4Fh 4Eh 46h 49h.
    assert_eq!(bus.cmd(0x90).addr(&[0x20]).out(4).bytes(), [0x4f, 0x4e, 0x46, 0x49]);
    assert_eq!(bus.cmd(0x90).addr(&[0x00]).out(2).bytes(), [0x00, 0xa5]);
    bus.cmd(0x90);
    assert_eq!(bus.try_addr(0x55), Err(ProtocolError::UnexpectedAddress));
    assert_eq!(bus.try_out(1), Err(ProtocolError::Length { available: 0, requested: 1 }));
}

/// CRC of the parameter page by ONFI 5.1 §5.7.1: polynomial 8005h, preset 4F4Eh, bit by bit.
fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().flat_map(|b| (0..8).rev().map(move |i| b >> i & 1)).fold(0x4f4e, |crc: u16, bit| {
        let top = (crc >> 15) as u8 ^ bit;
        crc << 1 ^ if top == 1 { 0x8005 } else { 0 }
    })
}

#[test]
fn the_parameter_page_has_three_good_copies_that_describe_the_package() {
    let (mut bus, _) = one(config(Content::Full));
    bus.cmd(0xec).addr(&[0x00]);
    assert_eq!(bus.until_ready(), 0xe0);
    let all = bus.cmd(0x00).out(768).bytes().to_vec();
    for copy in all.chunks(256) {
        assert_eq!(copy, &all[..256]);
        assert_eq!(crc(&copy[..254]), u16::from_le_bytes([copy[254], copy[255]]));
    }
    // Byte offsets of ONFI 5.1 table "Parameter page definitions".
    let u32_at = |at: usize| u32::from_le_bytes(all[at..at + 4].try_into().unwrap());
    let u16_at = |at: usize| u16::from_le_bytes(all[at..at + 2].try_into().unwrap());
    assert_eq!(&all[..4], b"ONFI");
    assert_eq!((u32_at(80), u16_at(84)), (8_192, 1_024), "page and spare");
    assert_eq!((u32_at(92), u32_at(96), all[100]), (8, 16, 1), "pages, blocks, LUNs");
    assert_eq!(all[101], 0x23, "two column, three row cycles");
    assert_eq!((all[102], all[113]), (2, 0), "bits a cell, plane address bits");
    assert_eq!((u16_at(133), u16_at(135), u16_at(137)), (2_295, 5_000, 90), "tPROG, tBERS, tR");
    assert_eq!(u16_at(139), 300, "tCCS");
    assert_eq!((u16_at(129), all[141], all[142]), (0x3f, 0, 0xff), "SDR, NV-DDR, NV-DDR2 modes");
    // A second reader may begin at the second copy (CHANGE READ COLUMN works on the page, ONFI 5.1 §5.7).
    assert_eq!(bus.cmd(0x05).addr(&[0x00, 0x01]).cmd(0xe0).out(4).bytes(), b"ONFI");
}

#[test]
fn the_unique_id_comes_with_its_complement_sixteen_times() {
    let (mut bus, _) = one(config(Content::Full));
    bus.cmd(0xed).addr(&[0x00]).until_ready();
    let all = bus.cmd(0x00).out(512).bytes().to_vec();
    for pair in all.chunks(32) {
        assert_eq!(pair, &all[..32]);
        assert!((0..16).all(|i| pair[i] == !pair[16 + i]));
    }
    assert!(all[..16].iter().any(|b| *b != all[0]));
}

#[test]
fn set_features_switches_the_data_interface_and_reset_switches_back() {
    let (mut bus, _) = one(config(Content::Full));
    // EFh 01h, P1 = 27h: NV-DDR2 mode 7 (ONFI 5.1, timing mode feature).
    bus.cmd(0xef).addr(&[0x01]).bytes_in(&[0x27, 0, 0, 0]);
    bus.wait(Duration::from_micros(2));
    bus.cmd(0x70);
    assert_eq!(bus.try_out(1), Err(ProtocolError::DataMode));
    bus.mode = DataMode::NvDdr2;
    assert_eq!(bus.status(), 0xe0);
    // EEh 01h reads it back.
    bus.cmd(0xee).addr(&[0x01]).until_ready();
    assert_eq!(bus.cmd(0x00).out(4).bytes(), [0x27, 0, 0, 0]);
    bus.program(1, 0, 3);
    expect_page(&bus.read(1, 0), 3);
    bus.cmd(0xff).wait(Duration::from_micros(10)).cmd(0x70);
    assert_eq!(bus.try_out(1), Err(ProtocolError::DataMode));
    bus.mode = DataMode::Sdr;
    assert_eq!(bus.status(), 0xe0);
    bus.cmd(0xee).addr(&[0x01]).until_ready();
    assert_eq!(bus.cmd(0x00).out(4).bytes(), [0, 0, 0, 0]);
}

#[test]
fn a_mode_that_the_package_lacks_changes_nothing() {
    let (mut bus, _) = one(config(Content::Full));
    for p1 in [0x15, 0x28, 0x30, 0x06] {
        bus.cmd(0xef).addr(&[0x01]).bytes_in(&[p1, 0, 0, 0]).wait(Duration::from_micros(2));
        assert_eq!(bus.status(), 0xe0, "P1 = {p1:02X}h");
        bus.cmd(0xee).addr(&[0x01]).until_ready();
        assert_eq!(bus.cmd(0x00).out(4).bytes(), [0, 0, 0, 0]);
    }
}

#[test]
fn drive_strength_keeps_its_value_over_reset() {
    let (mut bus, _) = one(config(Content::Full));
    bus.cmd(0xee).addr(&[0x10]).until_ready();
    assert_eq!(bus.cmd(0x00).out(4).bytes(), [0x02, 0, 0, 0], "35 Ω after power-on");
    bus.cmd(0xef).addr(&[0x10]).bytes_in(&[0x01, 0, 0, 0]).until_ready();
    bus.cmd(0xff).until_ready();
    bus.cmd(0xee).addr(&[0x10]).until_ready();
    assert_eq!(bus.cmd(0x00).out(4).bytes(), [0x01, 0, 0, 0]);
}

#[test]
fn a_raw_page_on_any_drive_comes_back_as_bytes() {
    for content in BOTH {
        let (mut bus, _) = one(config(content));
        let row = bus.row(1, 0);
        let bytes: Vec<u8> = (0..9216u32).map(|i| (i % 251) as u8).collect();
        bus.cmd(0x80).addr(&[0, 0]).addr(&row).bytes_in(&bytes).cmd(0x10).until_ready();
        assert_eq!(bus.read(1, 0), Out::Bytes(bytes));
    }
}

#[test]
fn bytes_over_a_plain_page_are_refused() {
    let (mut bus, _) = one(config(Content::Full));
    let (data, oob) = page_of(Content::Full, 1);
    bus.load(1, 0, &PageData { content: Content::Full, data: &data, oob: &oob, seed: 5 }).unwrap();
    bus.cmd(0x85).addr(&[0, 0]);
    assert_eq!(bus.try_bytes_in(&[1]), Err(ProtocolError::UnexpectedData));
}

#[test]
fn a_foreign_seed_is_kept() {
    let (mut bus, _) = one(config(Content::Fingerprint));
    let (data, oob) = page_of(Content::Fingerprint, 1);
    bus.load(1, 0, &PageData { content: Content::Fingerprint, data: &data, oob: &oob, seed: 5 }).unwrap();
    bus.cmd(0x10).until_ready();
    let Out::Page { seed, .. } = bus.read(1, 0) else { panic!() };
    assert_eq!(seed, 5);
}

#[test]
fn the_same_calls_give_the_same_answers() {
    let run = || {
        let mut c = config(Content::Fingerprint);
        c.errors.fresh = 1e-4;
        c.timing.deviation_page = Duration::from_micros(9);
        c.failures.factory_bad_per_mille = 100;
        let (mut bus, inspect) = one(c);
        let mut seen = vec![];
        for block in 0..16 {
            for page in 0..8 {
                seen.push((bus.program(block, page, page as u8), bus.read(block, page), bus.now));
            }
        }
        (seen, inspect.bad_blocks(LUN))
    };
    assert_eq!(run(), run());
}

#[test]
fn a_deselected_package_hears_nothing() {
    let (mut bus, _) = one(config(Content::Full));
    bus.package.select(Instant::from_picos(1), false).unwrap();
    assert_eq!(bus.try_cmd(0x70), Err(ProtocolError::NotSelected));
    let timing = bus.timing();
    assert_eq!(bus.package.data_in(timing, 1, DataIn::Bytes(&[0])), Err(ProtocolError::NotSelected));
    let now = bus.now;
    bus.package.select(now, true).unwrap();
    assert_eq!(bus.status(), 0xe0);
}

#[test]
fn what_a_read_brought_stays_in_the_register_while_its_block_is_erased_and_written_again() {
    let c = config(Content::Full);
    let medium = TestMedium::for_config(&c);
    for medium in [None, medium.boxed()] {
        let mut array = NandArray::new(config(Content::Full), medium, &Recorder::default()).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        bus.program(1, 0, 7);
        bus.start_read(1, 0).until_ready();
        // One sector is fetched; the other is still in the cells when the block is erased.
        let Out::Page { data, .. } = bus.cmd(0x00).out(4096) else { panic!("a page") };
        assert_eq!(data[..4096], page_of(Content::Full, 7).0[..4096]);
        bus.erase(1);
        let whole = bus.cmd(0x05).addr(&[0, 0]).cmd(0xe0).out(9216);
        expect_page(&whole, 7);
        bus.program(1, 0, 9);
        expect_page(&bus.read(1, 0), 9);
    }
}

#[test]
fn copyback_moves_a_page_of_which_nothing_was_taken_out() {
    let c = rich(Content::Full);
    let medium = TestMedium::for_config(&c);
    for medium in [None, medium.boxed()] {
        let mut array = NandArray::new(rich(Content::Full), medium, &Recorder::default()).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        bus.program(1, 0, 7);
        let (from, to) = (bus.row(1, 0), bus.row(3, 0));
        bus.cmd(0x00).addr(&[0, 0]).addr(&from).cmd(0x35).until_ready();
        bus.cmd(0x85).addr(&[0, 0]).addr(&to).cmd(0x10).until_ready();
        bus.erase(1);
        expect_page(&bus.read(3, 0), 7);
    }
}
