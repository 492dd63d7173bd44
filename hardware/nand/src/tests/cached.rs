//! READ CACHE, PAGE CACHE PROGRAM and multi-plane commands. RDY is bit 6, ARDY bit 5, FAILC bit 1, FAIL bit 0
//! (ONFI 5.1 §5.13).

use super::bench::*;
use alloc::vec;
use aster_ports::package::{PageData, ProtocolError};
use aster_units::{BlockAddr, Content, Duration, PageInBlock, RowAddr};

const RDY_ONLY: u8 = 0xc0;
const READY: u8 = 0xe0;
const FAIL: u8 = 0x01;
const FAILC: u8 = 0x02;

fn filled(pages: u16) -> (Bus, crate::NandInspect) {
    let (mut bus, inspect) = one(rich(Content::Full));
    for page in 0..pages {
        assert_eq!(bus.program(2, page, 0x10 + page as u8), READY);
    }
    (bus, inspect)
}

/// READ CACHE SEQUENTIAL (ONFI 5.1 §5.15): 00h, address, 30h; 31h for each further page; 3Fh for the last.
#[test]
fn sequential_cache_reads_show_a_page_while_the_next_is_read() {
    let (mut bus, inspect) = filled(4);
    assert_eq!(bus.start_read(2, 0).until_ready(), READY);
    for page in 0..3 {
        bus.cmd(0x31);
        assert_eq!(bus.status(), 0x80, "busy for tRCBSY");
        assert_eq!(bus.until_ready(), RDY_ONLY, "page {} is being read", page + 1);
        expect_page(&bus.cmd(0x00).out(9_216), 0x10 + page);
    }
    bus.cmd(0x3f);
    assert_eq!(bus.until_ready(), READY);
    expect_page(&bus.cmd(0x00).out(9_216), 0x13);
    assert_eq!(inspect.totals(LUN).reads, 4);
    assert_eq!(
        bus.try_cmd(0x3f),
        Err(ProtocolError::UnexpectedCommand { command: 0x3f }),
        "nothing is ahead"
    );
}

#[test]
fn a_cache_read_waits_for_the_array_and_no_longer() {
    let (mut bus, _) = filled(3);
    bus.start_read(2, 0).until_ready();
    bus.cmd(0x31).until_ready();
    // Page 1 is an MSB page, which takes 90 µs from here. 3Fh then shows it tRCBSY later.
    let start = bus.now;
    bus.cmd(0x3f).until_ready();
    let took = bus.now.since(start);
    assert!(took > Duration::from_micros(88) && took < Duration::from_micros(100), "{took}");
    expect_page(&bus.cmd(0x00).out(9_216), 0x11);
}

/// READ CACHE RANDOM (ONFI 5.1 §5.15): 00h, address, 31h.
#[test]
fn random_cache_reads_go_anywhere() {
    let (mut bus, _) = filled(5);
    bus.start_read(2, 4).until_ready();
    for (next, shown) in [(1, 0x14), (3, 0x11), (0, 0x13)] {
        let row = bus.row(2, next);
        bus.cmd(0x00).addr(&[0, 0]).addr(&row).cmd(0x31).until_ready();
        expect_page(&bus.cmd(0x00).out(9_216), shown);
    }
    bus.cmd(0x3f).until_ready();
    expect_page(&bus.cmd(0x00).out(9_216), 0x10);
}

#[test]
fn random_cache_reads_show_each_page_from_its_own_plane() {
    let (mut bus, _) = one(rich(Content::Full));
    // Blocks 2 and 3 are in different planes.
    let fill = |block: u32, page: u16| (block as u8) << 4 | page as u8;
    for (block, page) in [(2, 0), (2, 1), (3, 0), (3, 1)] {
        assert_eq!(bus.program(block, page, fill(block, page)), READY);
    }
    bus.start_read(3, 0).until_ready();
    let mut shown = (3, 0);
    for next in [(2, 1), (3, 1), (3, 0), (2, 0)] {
        let row = bus.row(next.0, next.1);
        bus.cmd(0x00).addr(&[0, 0]).addr(&row).cmd(0x31).until_ready();
        expect_page(&bus.cmd(0x00).out(9_216), fill(shown.0, shown.1));
        shown = next;
    }
    bus.cmd(0x3f).until_ready();
    expect_page(&bus.cmd(0x00).out(9_216), fill(shown.0, shown.1));
}

#[test]
fn cache_reads_need_a_read_before_them_and_end_with_the_block() {
    let (mut bus, _) = filled(8);
    let refused = Err(ProtocolError::UnexpectedCommand { command: 0x31 });
    assert_eq!(bus.try_cmd(0x31), refused, "no page was read");
    bus.start_read(2, 7).until_ready();
    assert_eq!(bus.try_cmd(0x31), refused, "page 7 is the last of 8");
    bus.start_read(2, 6).until_ready();
    bus.cmd(0x31).until_ready();
    assert_eq!(bus.try_cmd(0x31), refused, "page 7 is on its way");
    bus.cmd(0x3f).until_ready();
    expect_page(&bus.cmd(0x00).out(9_216), 0x17);
}

#[test]
fn the_array_that_reads_ahead_starts_nothing_else() {
    let (mut bus, _) = filled(3);
    bus.start_read(2, 0).until_ready();
    bus.cmd(0x31).until_ready();
    let row = bus.row(4, 0);
    bus.cmd(0x60).addr(&row[..2]);
    assert_eq!(bus.try_addr(row[2]), Err(ProtocolError::Busy { lun: 0, command: 0x60 }));
    assert_eq!(bus.try_cmd(0xef), Err(ProtocolError::Busy { lun: 0, command: 0xef }));
    bus.cmd(0x3f).until_ready();
    assert_eq!(bus.erase(4), READY);
}

fn load(bus: &mut Bus, first: u8, block: u32, page: u16, fill: u8) {
    let (data, oob) = page_of(Content::Full, fill);
    let row = GEOMETRY.row(0, BlockAddr(block), PageInBlock(page));
    let page =
        PageData { content: Content::Full, data: &data, oob: &oob, seed: aster_codec::seed_of_row(row) };
    bus.load_with(first, row, &page).unwrap();
}

/// PAGE CACHE PROGRAM (ONFI 5.1 §5.21): 80h, address, data, 15h; the last page with 10h.
#[test]
fn cached_programs_overlap_with_the_next_page_s_data() {
    let (mut bus, _) = one(rich(Content::Full));
    for page in 0..3 {
        load(&mut bus, 0x80, 2, page, 0x20 + page as u8);
        assert_eq!(bus.cmd(0x15).until_ready(), RDY_ONLY, "page {page} is being programmed");
    }
    load(&mut bus, 0x80, 2, 3, 0x23);
    assert_eq!(bus.cmd(0x10).until_ready(), READY);
    for page in 0..4 {
        expect_page(&bus.read(2, page), 0x20 + page as u8);
    }
}

#[test]
fn failc_is_of_the_page_before_and_fail_of_the_last() {
    for (failing, at_third, at_last) in [(0, 0, FAILC | FAIL), (1, FAILC, FAILC | FAIL), (3, 0, FAIL)] {
        let (mut bus, inspect) = one(rich(Content::Full));
        inspect.fail_program(LUN, BlockAddr(2), PageInBlock(failing));
        let mut statuses = vec![];
        for page in 0..3 {
            load(&mut bus, 0x80, 2, page, 1);
            statuses.push(bus.cmd(0x15).until_ready());
        }
        load(&mut bus, 0x80, 2, 3, 1);
        statuses.push(bus.cmd(0x10).until_ready());
        // The block is bad from the failing page on.
        let first_two = if failing == 0 { [RDY_ONLY, RDY_ONLY | FAILC] } else { [RDY_ONLY, RDY_ONLY] };
        assert_eq!(statuses[..2], first_two, "page {failing} fails");
        let at_third = if failing == 0 { FAILC } else { at_third };
        assert_eq!(statuses[2..], [RDY_ONLY | at_third, READY | at_last], "page {failing} fails");
    }
}

/// Multi-plane PROGRAM (ONFI 5.1 §5.20): 80h … 11h, 81h … 10h; READ: 00h … 32h, 00h … 30h, 06h … E0h; ERASE:
/// 60h … D1h, 60h … D0h.
#[test]
fn planes_work_at_the_same_time() {
    let (mut bus, inspect) = one(rich(Content::Full));
    for first_of_next in [0x80, 0x81] {
        let start = bus.now;
        load(&mut bus, 0x80, 4, 0, 0x44);
        assert_eq!(bus.cmd(0x11).until_ready(), READY);
        load(&mut bus, first_of_next, 7, 0, 0x77);
        assert_eq!(bus.cmd(0x10).until_ready(), READY);
        assert!(bus.now.since(start) < Duration::from_micros(520), "one tPROG");
        let (a, b) = (bus.row(4, 0), bus.row(7, 0));
        let start = bus.now;
        bus.cmd(0x00).addr(&[0, 0]).addr(&a).cmd(0x32).until_ready();
        bus.cmd(0x00).addr(&[0, 0]).addr(&b).cmd(0x30).until_ready();
        assert!(bus.now.since(start) < Duration::from_micros(90), "one tR");
        expect_page(&bus.cmd(0x06).addr(&[0, 0]).addr(&a).cmd(0xe0).out(9_216), 0x44);
        expect_page(&bus.cmd(0x06).addr(&[0, 0]).addr(&b).cmd(0xe0).out(9_216), 0x77);
        let start = bus.now;
        bus.cmd(0x60).addr(&a).cmd(0xd1).until_ready();
        bus.cmd(0x60).addr(&b).cmd(0xd0).until_ready();
        assert!(bus.now.since(start) < Duration::from_micros(5_030), "one tBERS");
    }
    assert_eq!(inspect.totals(LUN).erases, 4);
    assert_eq!(inspect.totals(LUN).programs, 4);
}

#[test]
fn read_status_enhanced_tells_which_plane_failed() {
    let (mut bus, inspect) = one(rich(Content::Full));
    inspect.fail_program(LUN, BlockAddr(7), PageInBlock(0));
    load(&mut bus, 0x80, 4, 0, 1);
    bus.cmd(0x11).until_ready();
    load(&mut bus, 0x81, 7, 0, 1);
    assert_eq!(bus.cmd(0x10).until_ready(), READY | FAIL, "70h: any plane");
    let (a, b) = (bus.row(4, 0), bus.row(7, 0));
    assert_eq!(bus.cmd(0x78).addr(&a).out(1).bytes(), [READY]);
    assert_eq!(bus.cmd(0x78).addr(&b).out(1).bytes(), [READY | FAIL]);
}

#[test]
fn planes_must_differ_and_pages_agree() {
    let (mut bus, _) = one(rich(Content::Full));
    for (block, page) in [(6, 0), (7, 1)] {
        load(&mut bus, 0x80, 4, 0, 1);
        bus.cmd(0x11).until_ready();
        let RowAddr(row) = GEOMETRY.row(0, BlockAddr(block), PageInBlock(page));
        bus.cmd(0x80).addr(&[0, 0, row as u8, 0]);
        assert_eq!(bus.try_addr(0), Err(ProtocolError::Planes { row: RowAddr(row) }));
    }
    // Another command in between discards what was collected.
    load(&mut bus, 0x80, 4, 0, 1);
    bus.cmd(0x11).until_ready();
    bus.cmd(0x60).addr(&[0, 0]);
    assert_eq!(bus.try_addr(0), Err(ProtocolError::UnexpectedCommand { command: 0x60 }));
    bus.cmd(0x81).addr(&[0, 0, 0, 0]);
    assert_eq!(
        bus.try_addr(0),
        Err(ProtocolError::UnexpectedCommand { command: 0x81 }),
        "nothing to go on with"
    );
    assert_eq!(bus.program(4, 0, 1), READY);
}

#[test]
fn cached_multi_plane_programs_come_back_by_cached_multi_plane_reads() {
    let (mut bus, _) = one(rich(Content::Full));
    for page in 0..3 {
        load(&mut bus, 0x80, 2, page, page as u8);
        bus.cmd(0x11).until_ready();
        load(&mut bus, 0x81, 3, page, 0x80 + page as u8);
        bus.cmd(if page < 2 { 0x15 } else { 0x10 }).until_ready();
    }
    let (a, b) = (bus.row(2, 0), bus.row(3, 0));
    bus.cmd(0x00).addr(&[0, 0]).addr(&a).cmd(0x32).until_ready();
    bus.cmd(0x00).addr(&[0, 0]).addr(&b).cmd(0x30).until_ready();
    for page in 0..3 {
        bus.cmd(if page < 2 { 0x31 } else { 0x3f }).until_ready();
        expect_page(&bus.cmd(0x06).addr(&[0, 0]).addr(&a).cmd(0xe0).out(9_216), page);
        expect_page(&bus.cmd(0x06).addr(&[0, 0]).addr(&b).cmd(0xe0).out(9_216), 0x80 + page);
    }
}
