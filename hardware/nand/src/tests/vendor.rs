//! Optional commands: COPYBACK, SLC prefix, one-shot programming, suspend, read retry, partial resets,
//! ODT and ZQ.

use super::bench::*;
use crate::{ErrorModel, NandArray, NandConfig};
use alloc::vec;
use aster_events::Recorder;
use aster_ports::package::{DataIn, DataMode, Package, PageData, ProtocolError};
use aster_units::{BlockAddr, CellMode, Content, Duration, PageInBlock, RowAddr};

const READY: u8 = 0xe0;
const FAIL: u8 = 0xe1;
/// The status byte of a ready LUN with a suspended operation: CSP is set.
const SUSPENDED: u8 = 0xe8;

fn triple(content: Content) -> NandConfig {
    let mut c = rich(content);
    c.cells = CellMode::Tlc;
    c.variant.commands.one_shot = everything().commands.one_shot;
    c
}

fn load(bus: &mut Bus, first: u8, block: u32, page: u16, fill: u8) {
    let (data, oob) = page_of(Content::Full, fill);
    let row = GEOMETRY.row(0, BlockAddr(block), PageInBlock(page));
    let page =
        PageData { content: Content::Full, data: &data, oob: &oob, seed: aster_codec::seed_of_row(row) };
    bus.load_with(first, row, &page).unwrap();
}

/// COPYBACK (ONFI 5.1 §5.22): 00h, address, 35h; 85h, address, 10h.
#[test]
fn a_copyback_moves_a_page_with_its_errors_and_its_seed() {
    let (mut bus, inspect) = one(rich(Content::Full));
    bus.program(2, 0, 0x2d);
    inspect.flip_bits(LUN, BlockAddr(2), PageInBlock(0), &[5, 4_000]);
    let (from, to) = (bus.row(2, 0), bus.row(6, 0));
    bus.cmd(0x00).addr(&[0, 0]).addr(&from).cmd(0x35).until_ready();
    let original = bus.cmd(0x00).out(9_216);
    assert_eq!(original.flips(), [5, 4_000]);
    assert_eq!(bus.cmd(0x85).addr(&[0, 0]).addr(&to).cmd(0x10).until_ready(), READY);
    bus.erase(2);
    assert_eq!(bus.read(6, 0), original);
}

#[test]
fn a_copyback_takes_changed_data() {
    let (mut bus, _) = one(rich(Content::Full));
    // A page of literal bytes, of which a part is changed on the way.
    let (from, to) = (bus.row(2, 0), bus.row(6, 0));
    bus.cmd(0x80).addr(&[0, 0]).addr(&from).bytes_in(&[7; 9_216]).cmd(0x10).until_ready();
    bus.cmd(0x00).addr(&[0, 0]).addr(&from).cmd(0x35).until_ready();
    bus.cmd(0x85).addr(&[2, 0]).addr(&to).bytes_in(&[1, 2]);
    bus.cmd(0x85).addr(&[0x00, 0x10]).bytes_in(&[3]).cmd(0x10).until_ready();
    let Out::Bytes(bytes) = bus.read(6, 0) else { panic!() };
    assert_eq!((&bytes[..5], bytes[0x1000], bytes[0x1001]), (&[7, 7, 1, 2, 7][..], 3, 7));
    // A page that the stages encoded is replaced as a whole: corrected and encoded again.
    bus.program(3, 0, 0x11);
    let (from, to) = (bus.row(3, 0), bus.row(7, 0));
    bus.cmd(0x00).addr(&[0, 0]).addr(&from).cmd(0x35).until_ready();
    bus.cmd(0x85).addr(&[0, 0]).addr(&to);
    let (data, oob) = page_of(Content::Full, 0x12);
    let timing = bus.timing();
    let page = PageData { content: Content::Full, data: &data, oob: &oob, seed: 1 };
    bus.package.data_in(timing, 8_905, DataIn::Page(page)).unwrap();
    bus.cmd(0x10).until_ready();
    expect_page(&bus.read(7, 0), 0x12);
}

#[test]
fn a_copyback_stays_in_its_plane_and_needs_its_read() {
    let (mut bus, _) = one(rich(Content::Full));
    bus.program(2, 0, 1);
    let refused = Err(ProtocolError::UnexpectedCommand { command: 0x85 });
    bus.read(2, 0);
    bus.cmd(0x85).addr(&[0, 0, 0x30, 0]);
    assert_eq!(bus.try_addr(0), refused, "30h is no COPYBACK READ");
    let from = bus.row(2, 0);
    bus.cmd(0x00).addr(&[0, 0]).addr(&from).cmd(0x35).until_ready();
    let [a, b, c] = bus.row(3, 0);
    bus.cmd(0x85).addr(&[0, 0, a, b]);
    assert_eq!(bus.try_addr(c), refused, "block 3 lies in the other plane");
}

/// Vendor prefix A2h before 60h, 80h and 00h.
#[test]
fn a_block_used_as_slc_is_fast_small_and_readable_only_so() {
    let (mut bus, inspect) = one(rich(Content::Full));
    let row = bus.row(5, 0);
    bus.cmd(0xa2).cmd(0x60).addr(&row).cmd(0xd0).until_ready();
    for page in 0..4 {
        bus.cmd(0xa2);
        let start = bus.now;
        load(&mut bus, 0x80, 5, page, 0x50 + page as u8);
        assert_eq!(bus.cmd(0x10).until_ready(), READY);
        assert!(bus.now.since(start) < Duration::from_micros(330), "300 µs, also where MLC has MSB pages");
    }
    for page in 0..4 {
        let row = bus.row(5, page);
        bus.cmd(0xa2).cmd(0x00).addr(&[0, 0]).addr(&row);
        let start = bus.now;
        bus.cmd(0x30).until_ready();
        assert!(bus.now.since(start) < Duration::from_micros(30));
        expect_page(&bus.cmd(0x00).out(9_216), 0x50 + page as u8);
    }
    assert!(bus.read(5, 1).flips().len() > 500, "MLC levels say nothing of SLC cells");
    // 8 pages of MLC are 4 word lines.
    let RowAddr(beyond) = GEOMETRY.row(0, BlockAddr(5), PageInBlock(4));
    bus.cmd(0xa2).cmd(0x80).addr(&[0, 0, beyond as u8, 0]);
    assert_eq!(bus.try_addr(0), Err(ProtocolError::Row { row: RowAddr(beyond) }));
    assert_eq!(inspect.block(LUN, BlockAddr(5)).programmed, 4);
}

#[test]
fn a_block_has_one_cell_mode_until_its_erase() {
    let (mut bus, _) = one(rich(Content::Full));
    assert_eq!(bus.program(1, 0, 1), READY);
    bus.cmd(0xa2);
    load(&mut bus, 0x80, 1, 1, 2);
    assert_eq!(bus.cmd(0x10).until_ready(), FAIL);
    bus.erase(1);
    bus.cmd(0xa2);
    load(&mut bus, 0x80, 1, 0, 2);
    assert_eq!(bus.cmd(0x10).until_ready(), READY);
    assert_eq!(bus.program(1, 1, 3), FAIL);
    // The prefix applies to one command: the READ STATUS in between ends it.
    bus.cmd(0xa2).status();
    assert!(bus.read(1, 0).flips().len() > 500);
}

#[test]
fn slc_use_survives_power_off() {
    let c = rich(Content::Full);
    let medium = TestMedium::for_config(&c);
    let mut array = NandArray::new(c.clone(), medium.boxed(), &Recorder::default()).unwrap();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    bus.cmd(0xa2);
    load(&mut bus, 0x80, 1, 0, 9);
    bus.cmd(0x10).until_ready();
    drop((bus, array));
    let mut array = NandArray::new(c, medium.boxed(), &Recorder::default()).unwrap();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    let row = bus.row(1, 0);
    bus.cmd(0xa2).cmd(0x00).addr(&[0, 0]).addr(&row).cmd(0x30).until_ready();
    expect_page(&bus.cmd(0x00).out(9_216), 9);
}

/// Vendor prefixes 01h, 02h, 03h; 1Ah after the first two pages, 10h after the third.
#[test]
fn a_word_line_is_programmed_in_one_shot() {
    let (mut bus, inspect) = one(triple(Content::Full));
    let start = bus.now;
    for (page, confirm) in [(0, 0x1a), (1, 0x1a), (2, 0x10)] {
        assert_eq!(inspect.block(LUN, BlockAddr(3)).programmed, 0);
        bus.cmd(page as u8 + 1);
        load(&mut bus, 0x80, 3, page, 0x30 + page as u8);
        assert_eq!(bus.cmd(confirm).until_ready(), READY);
    }
    let took = bus.now.since(start);
    assert!(took > Duration::from_micros(2_295) && took < Duration::from_micros(2_400), "{took}");
    for page in 0..3 {
        expect_page(&bus.read(3, page), 0x30 + page as u8);
    }
    // The same in two planes: 11h after all but the last plane's page.
    for (page, confirm) in [(0, 0x1a), (1, 0x1a), (2, 0x10)] {
        bus.cmd(page as u8 + 1);
        load(&mut bus, 0x80, 4, page, page as u8);
        bus.cmd(0x11).until_ready();
        bus.cmd(page as u8 + 1);
        load(&mut bus, 0x81, 5, page, 0x10 + page as u8);
        assert_eq!(bus.cmd(confirm).until_ready(), READY);
    }
    for page in 0..3 {
        expect_page(&bus.read(4, page), page as u8);
        expect_page(&bus.read(5, page), 0x10 + page as u8);
    }
}

#[test]
fn one_shot_needs_all_three_pages_in_order() {
    let (mut bus, inspect) = one(triple(Content::Full));
    bus.cmd(0x03);
    load(&mut bus, 0x80, 3, 2, 1);
    assert_eq!(bus.try_cmd(0x10), Err(ProtocolError::UnexpectedCommand { command: 0x10 }), "the other two");
    bus.cmd(0x02);
    load(&mut bus, 0x80, 3, 1, 1);
    assert_eq!(bus.try_cmd(0x1a), Err(ProtocolError::UnexpectedCommand { command: 0x1a }), "the first");
    bus.cmd(0x01).cmd(0x80).addr(&[0, 0, 0x19, 0]);
    assert_eq!(
        bus.try_addr(0),
        Err(ProtocolError::UnexpectedCommand { command: 0x80 }),
        "page 1 is no first page of a word line"
    );
    assert_eq!(inspect.totals(LUN).programs, 0);
}

/// ERASE SUSPEND (vendor 61h) and RESUME (D2h) with three row cycles.
#[test]
fn reads_come_between_the_parts_of_a_suspended_erase() {
    let (mut bus, inspect) = one(rich(Content::Full));
    bus.program(2, 0, 0x22);
    bus.program(4, 0, 0x44);
    let row = bus.row(4, 0);
    bus.cmd(0x60).addr(&row).cmd(0xd0).wait(Duration::from_millis(3));
    assert_eq!(bus.cmd(0x61).addr(&row).until_ready(), SUSPENDED);
    expect_page(&bus.read(2, 0), 0x22);
    bus.cmd(0x00).addr(&[0, 0]).addr(&row[..2]);
    let busy = |command| Err(ProtocolError::Busy { lun: 0, command });
    assert_eq!(bus.try_addr(row[2]), busy(0x00), "the block is half erased");
    bus.cmd(0x60).addr(&[0x30, 0]);
    assert_eq!(bus.try_addr(0), busy(0x60), "one erase is enough");
    assert_eq!(bus.program(6, 0, 0x66), SUSPENDED, "a program elsewhere is fine");
    let start = bus.now;
    assert_eq!(bus.cmd(0xd2).addr(&row).until_ready(), READY);
    let took = bus.now.since(start);
    assert!(
        took > Duration::from_micros(1_950) && took < Duration::from_micros(2_050),
        "what was left: {took}"
    );
    assert_eq!(inspect.block(LUN, BlockAddr(4)).erases, 1);
    expect_page(&bus.read(6, 0), 0x66);
    bus.cmd(0xd2).addr(&row[..2]);
    assert_eq!(bus.try_addr(row[2]), Err(ProtocolError::UnexpectedCommand { command: 0xd2 }));
}

/// PROGRAM SUSPEND (vendor 84h) and RESUME (13h) with three row cycles.
#[test]
fn a_suspended_program_keeps_its_data_while_others_are_read() {
    let (mut bus, _) = one(rich(Content::Full));
    bus.program(2, 0, 0x22);
    load(&mut bus, 0x80, 4, 0, 0x44);
    let row = bus.row(4, 0);
    bus.cmd(0x10).wait(Duration::from_micros(200));
    assert_eq!(bus.cmd(0x84).addr(&row).until_ready(), SUSPENDED);
    expect_page(&bus.read(2, 0), 0x22);
    bus.cmd(0x80).addr(&[0, 0, 0x30, 0]);
    assert_eq!(bus.try_addr(0), Err(ProtocolError::Busy { lun: 0, command: 0x80 }));
    assert_eq!(bus.cmd(0x13).addr(&row).until_ready(), READY);
    expect_page(&bus.read(4, 0), 0x44);
}

#[test]
fn a_suspend_that_comes_too_late_does_nothing_and_of_the_wrong_kind_is_refused() {
    let (mut bus, _) = one(rich(Content::Full));
    let row = bus.row(4, 0);
    assert_eq!(bus.cmd(0x61).addr(&row).until_ready(), READY, "nothing runs");
    bus.cmd(0x60).addr(&row).cmd(0xd0);
    bus.cmd(0x84).addr(&row[..2]);
    assert_eq!(bus.try_addr(row[2]), Err(ProtocolError::Busy { lun: 0, command: 0x84 }), "an erase runs");
    assert_eq!(bus.until_ready(), READY);
}

#[test]
fn reset_and_power_off_reach_what_is_suspended() {
    let (mut bus, inspect) = one(rich(Content::Full));
    bus.program(4, 0, 0x44);
    let row = bus.row(4, 0);
    bus.cmd(0x60).addr(&row).cmd(0xd0).wait(Duration::from_millis(1));
    bus.cmd(0x61).addr(&row).until_ready();
    assert_eq!(bus.cmd(0xff).until_ready(), READY);
    assert!(inspect.block(LUN, BlockAddr(4)).torn);
    load(&mut bus, 0x80, 6, 0, 1);
    bus.cmd(0x10).wait(Duration::from_micros(100));
    let row = bus.row(6, 0);
    bus.cmd(0x84).addr(&row).until_ready();
    drop(bus);
    let mut array = NandArray::power_up(inspect_cells(&inspect), &Recorder::default()).unwrap();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    assert!(bus.read(6, 0).flips().len() > 500, "torn");
}

fn inspect_cells(inspect: &crate::NandInspect) -> crate::NandCells {
    inspect.cells().clone()
}

/// MLC: even pages are LSB, odd pages the MSB of the same word line.
#[test]
fn a_cut_msb_program_loses_the_lsb_page_too() {
    for (image, keeps) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut c = rich(Content::Full);
        c.variant.pair_loss = !keeps;
        let medium = TestMedium::for_config(&c);
        let on = |medium: &TestMedium| if image { medium.boxed() } else { None };
        let mut array = NandArray::new(c.clone(), on(&medium), &Recorder::default()).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        for page in 0..3 {
            bus.program(2, page, 0x20 + page as u8);
        }
        load(&mut bus, 0x80, 2, 3, 0x23);
        bus.cmd(0x10).wait(Duration::from_micros(1_000));
        array.cells().power_off(bus.now);
        let cells = array.cells();
        drop((bus, array));
        let mut array = if image {
            drop(cells);
            NandArray::new(c, medium.boxed(), &Recorder::default()).unwrap()
        } else {
            NandArray::power_up(cells, &Recorder::default()).unwrap()
        };
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        expect_page(&bus.read(2, 0), 0x20);
        expect_page(&bus.read(2, 1), 0x21);
        assert_eq!(bus.read(2, 2).flips().is_empty(), keeps, "image {image}");
        assert!(bus.read(2, 3).flips().len() > 500);
    }
}

fn aged() -> (Bus, crate::NandInspect) {
    let mut c = rich(Content::Fingerprint);
    c.errors = ErrorModel {
        fresh: 2e-4,
        retention: 1e-5,
        retention_shift_mv: 10.0,
        level_width_mv: 25.0,
        ..ErrorModel::NONE
    };
    one(c)
}

fn flips_at(bus: &mut Bus, level: u8) -> usize {
    bus.cmd(0xef).addr(&[0x89]).bytes_in(&[level, 0, 0, 0]).until_ready();
    bus.read(1, 0).flips().len()
}

/// SET FEATURES (ONFI 5.1 §5.30) of the vendor's feature 89h.
#[test]
fn the_read_level_moves_the_errors_and_the_best_one_moves_with_time() {
    let (mut bus, inspect) = aged();
    bus.program(1, 0, 1);
    // Levels 0, −40, −80, −120 mV. The best level sinks by 10 mV per unit of ln(1 + hours): to −69 mV in
    // 1000 hours.
    let fresh = [0, 1, 2, 3].map(|level| flips_at(&mut bus, level));
    assert!(fresh.is_sorted() && fresh[0] < fresh[3], "{fresh:?}");
    inspect.set_age_hours(1_000).unwrap();
    let old = [0, 1, 2, 3].map(|level| flips_at(&mut bus, level));
    assert!(old[2] < old[0] && old[2] < old[1] && old[2] < old[3], "{old:?}");
    assert_eq!(bus.cmd(0xee).addr(&[0x89]).until_ready(), READY);
    assert_eq!(bus.cmd(0x00).out(4).bytes(), [3, 0, 0, 0]);
    bus.cmd(0xef).addr(&[0x89]).bytes_in(&[4, 0, 0, 0]).until_ready();
    bus.cmd(0xee).addr(&[0x89]).until_ready();
    assert_eq!(bus.cmd(0x00).out(4).bytes(), [3, 0, 0, 0], "there is no level 4");
}

#[test]
fn the_data_beside_a_page_decides_how_much_it_is_disturbed() {
    let flips_beside = |content: Content, seed: u32, fill: Option<u8>| {
        let mut c = rich(content);
        c.errors = ErrorModel { fresh: 1e-3, neighbour: 1.0, ..ErrorModel::NONE };
        let (mut bus, _) = one(c);
        bus.program(1, 0, 1);
        // Page 2 is the LSB page of the next word line.
        bus.program(1, 1, 1);
        if let Some(fill) = fill {
            let (data, oob) = page_of(content, fill);
            bus.load(1, 2, &PageData { content, data: &data, oob: &oob, seed }).unwrap();
            bus.cmd(0x10).until_ready();
        }
        bus.read(1, 0).flips().len()
    };
    let alone = flips_beside(Content::Full, 0, None);
    let ones = flips_beside(Content::Full, 0, Some(0xff));
    let mixed = flips_beside(Content::Full, 0, Some(0x0f));
    let zeroes = flips_beside(Content::Full, 0, Some(0x00));
    assert_eq!(alone, ones);
    assert!(ones < mixed && mixed < zeroes, "{ones} {mixed} {zeroes}");
    for content in [Content::Full, Content::Fingerprint] {
        assert_eq!(flips_beside(content, 77, Some(0x00)), mixed, "scrambled data is half zeroes");
    }
}

/// RESET LUN (ONFI 5.1 §5.5): FAh, three row cycles.
#[test]
fn reset_lun_leaves_the_others_alone() {
    let mut c = rich(Content::Full);
    c.geometry.luns = 2;
    let (mut bus, inspect) = one(c);
    let second = GEOMETRY.row(0, BlockAddr(0), PageInBlock(0)).0 | 0x80;
    let (a, b) = ([0x10, 0, 0], [second as u8, 0, 0]);
    bus.cmd(0x60).addr(&a).cmd(0xd0);
    bus.cmd(0x60).addr(&b).cmd(0xd0);
    bus.wait(Duration::from_millis(1)).cmd(0xfa).addr(&b).wait(Duration::from_millis(1));
    assert_eq!(bus.cmd(0x78).addr(&b).out(1).bytes(), [READY]);
    assert_eq!(bus.cmd(0x78).addr(&a).out(1).bytes(), [0x80], "goes on");
    bus.wait(Duration::from_millis(4));
    assert_eq!(bus.cmd(0x78).addr(&a).out(1).bytes(), [READY]);
    assert_eq!(inspect.block(LUN, BlockAddr(2)).erases, 1);
    assert!(inspect.block(aster_units::LunIndex(1), BlockAddr(0)).torn);
}

/// SYNCHRONOUS RESET (ONFI 5.1 §5.4): FCh.
#[test]
fn synchronous_reset_keeps_the_data_interface() {
    let (mut bus, _) = one(rich(Content::Full));
    assert_eq!(bus.try_cmd(0xfc), Err(ProtocolError::UnexpectedCommand { command: 0xfc }), "not in SDR");
    bus.cmd(0xef).addr(&[0x01]).bytes_in(&[0x27, 0, 0, 0]);
    bus.mode = DataMode::NvDdr2;
    bus.wait(Duration::from_micros(5));
    bus.start_read(0, 0).cmd(0xfc);
    assert_eq!(bus.until_ready(), READY);
    assert!(bus.cmd(0x00).try_out(1).is_err(), "the read is gone");
}

/// ODT CONFIGURE (ONFI 5.1 §5.25): E2h, LUN, M0, M1, Rtt1, Rtt2. ZQ CALIBRATION (§5.26): F9h or D9h, LUN.
#[test]
fn termination_is_kept_by_lun_and_calibration_takes_its_time() {
    let (mut bus, _) = one(rich(Content::Full));
    bus.cmd(0xe2).addr(&[0]).bytes_in(&[0x01, 0x00, 0x43, 0x02]);
    assert_eq!(bus.package.termination(0), Some([0x01, 0x00, 0x43, 0x02]));
    assert_eq!(bus.package.termination(1), None);
    bus.cmd(0xe2);
    assert_eq!(bus.try_addr(1), Err(ProtocolError::UnexpectedAddress), "there is one LUN");
    bus.gap = Duration::from_nanos(200);
    for (command, nanos) in [(0xf9, 1_000), (0xd9, 300)] {
        bus.cmd(command).addr(&[0]);
        let start = bus.now;
        assert!(!bus.package.ready(start + Duration::from_nanos(nanos - 1)));
        assert!(bus.package.ready(start + Duration::from_nanos(nanos)));
        bus.wait(Duration::from_micros(1));
    }
}

#[test]
fn a_package_refuses_what_it_does_not_have() {
    let (mut bus, _) = one(config(Content::Full));
    bus.program(0, 0, 1);
    bus.read(0, 0);
    for command in [0x31, 0x3f, 0x81, 0x85, 0xfa, 0xe2, 0xf9, 0xd9, 0xa2, 0x61, 0xd2, 0x84, 0x13, 0x01] {
        assert_eq!(bus.try_cmd(command), Err(ProtocolError::UnexpectedCommand { command }), "{command:02X}h");
    }
    for (first, confirm) in [(0x00, 0x32), (0x00, 0x35), (0x00, 0x31)] {
        bus.cmd(first).addr(&[0, 0, 0, 0, 0]);
        let refused = Err(ProtocolError::UnexpectedCommand { command: confirm });
        assert_eq!(bus.try_cmd(confirm), refused, "{confirm:02X}h");
    }
    for confirm in [0x11, 0x15, 0x1a] {
        load(&mut bus, 0x80, 0, 1, 1);
        assert_eq!(bus.try_cmd(confirm), Err(ProtocolError::UnexpectedCommand { command: confirm }));
    }
    bus.cmd(0x60).addr(&[0, 0, 0]);
    assert_eq!(bus.try_cmd(0xd1), Err(ProtocolError::UnexpectedCommand { command: 0xd1 }));
    expect_page(&bus.read(0, 0), 1);
}

#[test]
fn the_parameter_page_tells_of_optional_commands() {
    let parse = |config| {
        let (mut bus, _) = one(config);
        bus.cmd(0xec).addr(&[0]).until_ready();
        bus.cmd(0x00).out(256).bytes().to_vec()
    };
    let (plain, full) = (parse(config(Content::Full)), parse(rich(Content::Full)));
    // Bytes 8–9 (ONFI 5.1 §5.7.1): bits 0 cache program, 1 read cache, 4 copyback, 9 reset LUN, 11 ODT, 13 ZQ
    // calibration.
    let differs = u16::from_le_bytes([plain[8] ^ full[8], plain[9] ^ full[9]]);
    assert_eq!(differs, 1 | 1 << 1 | 1 << 4 | 1 << 9 | 1 << 11 | 1 << 13);
    // Bytes 6–7: bits 3 and 6 multi-plane program and read, 14 ZQ calibration.
    let differs = u16::from_le_bytes([plain[6] ^ full[6], plain[7] ^ full[7]]);
    assert_eq!(differs, 1 << 3 | 1 << 6 | 1 << 14);
}

#[test]
fn a_variant_that_contradicts_itself_is_refused_by_name() {
    type Change = fn(&mut NandConfig);
    let cases: [(&str, Change); 5] = [
        ("variant.commands", |c| c.variant.commands.pseudo_slc = Some(0x80)),
        ("variant.commands.one_shot", |c| c.variant.commands.one_shot = everything().commands.one_shot),
        ("variant.commands.pseudo_slc", |c| c.cells = CellMode::Slc),
        ("variant.read_levels_mv", |c| c.variant.read_levels_mv = vec![0]),
        ("timing.slc_read", |c| c.timing.slc_read = Duration::ZERO),
    ];
    for (name, change) in cases {
        let mut c = rich(Content::Full);
        assert_eq!(c.validate(), Ok(()));
        change(&mut c);
        let message = alloc::format!("{}", c.validate().unwrap_err());
        assert!(message.starts_with(name), "{message} doesn't name {name}");
    }
}
