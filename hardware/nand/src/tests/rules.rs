//! Violates each rule of NAND once.

use super::bench::*;
use crate::{ErrorModel, FactoryMarks, FailureModel};
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::package::{Package, ProtocolError};
use aster_units::{BlockAddr, Column, Content, Duration, PageInBlock, RowAddr};

const FAIL: u8 = 0xe1;

#[test]
fn a_busy_lun_takes_status_and_reset_only() {
    let (mut bus, _) = one(config(Content::Full));
    for command in [0x00, 0x05, 0x06, 0x60, 0x80, 0x90, 0xec, 0xed, 0xee, 0xef] {
        bus.start_read(0, 0);
        assert_eq!(bus.try_cmd(command), Err(ProtocolError::Busy { lun: 0, command }), "{command:02X}h");
        assert_eq!(bus.status(), 0x80);
        let row = bus.row(0, 0);
        assert_eq!(bus.cmd(0x78).addr(&row).out(1).bytes(), [0x80]);
        assert_eq!(bus.until_ready(), 0xe0);
    }
    bus.start_read(0, 0).cmd(0xff);
    assert_eq!(bus.until_ready(), 0xe0);
}

#[test]
fn data_out_of_a_busy_lun_is_an_error() {
    let (mut bus, _) = one(config(Content::Full));
    bus.start_read(0, 0);
    assert_eq!(bus.try_out(1), Err(ProtocolError::Busy { lun: 0, command: 0x00 }));
}

#[test]
fn a_page_programmed_twice_fails_and_keeps_what_it_had() {
    let (mut bus, _) = one(config(Content::Full));
    assert_eq!(bus.program(1, 0, 0x11), 0xe0);
    assert_eq!(bus.program(1, 0, 0x22), FAIL);
    expect_page(&bus.read(1, 0), 0x11);
    assert_eq!(bus.program(1, 1, 0x33), 0xe0, "FAIL is of the last operation");
}

#[test]
fn pages_out_of_order_fail() {
    let (mut bus, inspect) = one(config(Content::Full));
    assert_eq!(bus.program(1, 1, 1), FAIL);
    assert_eq!(bus.program(1, 0, 1), 0xe0);
    assert_eq!(bus.program(1, 3, 1), FAIL);
    assert_eq!(bus.read(1, 3), Out::Erased { flips: vec![] });
    assert_eq!(bus.program(1, 1, 1), 0xe0);
    assert_eq!(bus.program(1, 4, 1), FAIL, "a word line is left out, though the block has upper pages");
    assert_eq!(inspect.totals(LUN).program_failures, 3);
}

#[test]
fn a_page_that_is_skipped_is_refused_at_the_program_that_skips_it() {
    // In the order of all pages, and in that of LSB pages (C31): `skips` is a page that the order doesn't
    // allow next.
    for (lsb_pages, skips, next) in [(false, 2, 1), (true, 1, 2)] {
        let mut c = config(Content::Full);
        c.variant.lsb_pages = lsb_pages;
        let (mut bus, inspect) = one(c);
        assert_eq!(bus.program(1, 0, 1), 0xe0);
        assert_eq!(bus.program(1, skips, 2), FAIL, "page {skips} behind page 0");
        assert_eq!(bus.read(1, skips), Out::Erased { flips: vec![] });
        assert_eq!(inspect.block(LUN, BlockAddr(1)).programmed, 1);
        assert_eq!(bus.program(1, next, 3), 0xe0, "the block is in order still");
        assert_eq!(bus.program(1, 7, 4), FAIL, "and so is every later one");
    }
}

#[test]
fn a_block_of_lsb_pages_alone_takes_no_upper_page_and_is_empty_behind_its_erase() {
    // C31
    let mut c = config(Content::Full);
    c.variant.lsb_pages = true;
    let (mut bus, inspect) = one(c);
    for page in [0, 2, 4] {
        assert_eq!(bus.program(1, page, 0x10 + page as u8), 0xe0, "page {page}");
    }
    for page in [1, 3, 5, 7] {
        assert_eq!(bus.program(1, page, 1), FAIL, "page {page}");
        assert_eq!(inspect.block(LUN, BlockAddr(1)).programmed, 3);
    }
    assert_eq!(bus.program(1, 6, 0x16), 0xe0);
    assert_eq!((inspect.block(LUN, BlockAddr(1)).programmed, inspect.programmed_pages()), (4, 4));
    for page in [0, 2, 4, 6] {
        expect_page(&bus.read(1, page), 0x10 + page as u8);
        assert_eq!(bus.read(1, page + 1), Out::Erased { flips: vec![] });
    }
    assert_eq!(bus.erase(1), 0xe0);
    assert_eq!(inspect.programmed_pages(), 0);
    assert_eq!(bus.program(1, 0, 1), 0xe0);
    assert_eq!(bus.program(1, 2, 1), 0xe0);
}

#[test]
fn a_factory_bad_block_refuses_everything_and_marks_itself() {
    let mut c = config(Content::Full);
    c.failures = FailureModel { factory_bad_per_mille: 300, ..FailureModel::NONE };
    let (mut bus, inspect) = one(c);
    let bad = inspect.bad_blocks(LUN);
    assert!(!bad.is_empty());
    let block = bad[0].0.0;
    assert_eq!(bus.program(block, 0, 1), FAIL);
    assert_eq!(bus.erase(block), FAIL);
    assert_eq!(bus.erase(0), 0xe0, "block 0 is good");
}

/// The first spare byte of a page.
fn mark(bus: &mut Bus, block: u32, page: u16) -> u8 {
    bus.start_read(block, page).until_ready();
    let burst = bus.cmd(0x00).cmd(0x05).addr(&[0x00, 0x20]).cmd(0xe0).out(1);
    match burst {
        Out::Erased { flips } => flips.iter().fold(0xff, |byte, bit| byte ^ 0x80 >> (bit % 8)),
        bytes => bytes.bytes()[0],
    }
}

#[test]
fn a_factory_bad_block_is_marked_on_the_page_that_its_maker_marks() {
    // ONFI 5.1, factory defect mapping: the first spare byte of the first or the last page is 00h.
    for marks in [FactoryMarks::FirstPage, FactoryMarks::LastPage, FactoryMarks::FirstOrLastPage] {
        let mut c = config(Content::Full);
        c.geometry.blocks_per_lun = 64;
        c.failures = FailureModel { factory_bad_per_mille: 300, factory_marks: marks, ..FailureModel::NONE };
        let (mut bus, inspect) = one(c);
        let bad: Vec<_> = inspect.bad_blocks(LUN).iter().map(|(block, _)| block.0).collect();
        let (mut first, mut last) = (0, 0);
        for block in 0..64 {
            match (mark(&mut bus, block, 0), mark(&mut bus, block, 7)) {
                (0x00, 0xff) if bad.contains(&block) => first += 1,
                (0xff, 0x00) if bad.contains(&block) => last += 1,
                (0xff, 0xff) if !bad.contains(&block) => {}
                other => panic!("{marks:?}, block {block}: {other:x?}"),
            }
        }
        match marks {
            FactoryMarks::FirstPage => assert!(first > 5 && last == 0),
            FactoryMarks::LastPage => assert!(first == 0 && last > 5),
            FactoryMarks::FirstOrLastPage => assert!(first > 2 && last > 2),
        }
        // A mark reads with errors, like any other data.
        let marked = if first > 0 && mark(&mut bus, bad[0], 0) == 0 { 0 } else { 7 };
        assert!(inspect.flip_bits(
            LUN,
            BlockAddr(bad[0]),
            PageInBlock(marked),
            &[8 * 0x2000, 8 * 0x2000 + 7]
        ));
        assert_eq!(mark(&mut bus, bad[0], marked), 0x81);
    }
}

#[test]
fn an_injected_program_failure_retires_the_block() {
    let (mut bus, inspect) = one(config(Content::Fingerprint));
    inspect.fail_program(LUN, BlockAddr(2), PageInBlock(1));
    assert_eq!(bus.program(2, 0, 1), 0xe0);
    assert_eq!(bus.program(2, 1, 2), FAIL);
    assert_eq!(inspect.bad_blocks(LUN), [(BlockAddr(2), crate::BadBlock::Grown)]);
    expect_page(&bus.read(2, 0), 1);
    assert!(bus.read(2, 1).flips().len() > 100, "the page is torn");
    assert_eq!(bus.program(2, 2, 3), FAIL);
    assert_eq!(bus.erase(2), FAIL);
    assert!(bus.read(2, 0).flips().len() > 100, "the erase that failed has reached the cells");
    inspect.fail_next_program(LUN);
    assert_eq!(bus.program(3, 0, 1), FAIL);
}

#[test]
fn an_injected_erase_failure_retires_the_block() {
    let (mut bus, inspect) = one(config(Content::Full));
    bus.program(2, 0, 1);
    inspect.fail_erase(LUN, BlockAddr(2));
    assert_eq!(bus.erase(1), 0xe0);
    assert_eq!(bus.erase(2), FAIL);
    assert_eq!(bus.erase(2), FAIL);
    assert!(bus.read(2, 0).flips().len() > 100);
    inspect.fail_next_erase(LUN);
    assert_eq!(bus.erase(4), FAIL);
    assert_eq!(inspect.bad_blocks(LUN).len(), 2);
    assert_eq!(inspect.totals(LUN).erase_failures, 3);
}

#[test]
fn seeded_failures_come_at_their_rate() {
    let mut c = config(Content::Fingerprint);
    c.failures = FailureModel { program_per_million: 20_000, ..FailureModel::NONE };
    let (mut bus, inspect) = one(c);
    let (mut failed, mut programs) = (0, 0);
    for _ in 0..40 {
        for block in 0..16 {
            if inspect.block(LUN, BlockAddr(block)).bad.is_some() {
                continue;
            }
            bus.erase(block);
            for page in 0..8 {
                programs += 1;
                if bus.program(block, page, 1) == FAIL {
                    failed += 1;
                    break;
                }
            }
        }
    }
    assert_eq!(failed, inspect.bad_blocks(LUN).len());
    assert!(programs > 200 && failed >= 5, "{failed} of {programs}");
}

#[test]
fn addresses_outside_the_array_are_named() {
    let (mut bus, _) = one(config(Content::Full));
    // 16 blocks of 8 pages: row bits 0–2 page, 3–6 block; bit 7 is beyond.
    bus.cmd(0x00).addr(&[0, 0, 0x80, 0]);
    assert_eq!(bus.try_addr(0), Err(ProtocolError::Row { row: RowAddr(0x80) }));
    bus.cmd(0x60).addr(&[0, 0]);
    assert_eq!(bus.try_addr(1), Err(ProtocolError::Row { row: RowAddr(0x1_0000) }));
    bus.cmd(0x80).addr(&[0x00, 0x24, 0, 0]);
    assert_eq!(bus.try_addr(0), Err(ProtocolError::Column { column: Column(0x2400) }));
}

#[test]
fn a_burst_past_the_register_is_an_error() {
    let (mut bus, _) = one(config(Content::Full));
    bus.start_read(0, 0).until_ready();
    assert_eq!(
        bus.cmd(0x00).try_out(9_217),
        Err(ProtocolError::Length { available: 9_216, requested: 9_217 })
    );
    let row = bus.row(0, 0);
    bus.cmd(0x80).addr(&[0xff, 0x23]).addr(&row);
    assert_eq!(bus.try_bytes_in(&[1, 2]), Err(ProtocolError::Length { available: 1, requested: 2 }));
}

#[test]
fn cycles_that_no_command_asked_for_are_errors_and_void_what_came_before() {
    let (mut bus, _) = one(config(Content::Full));
    assert_eq!(bus.try_cmd(0x30), Err(ProtocolError::UnexpectedCommand { command: 0x30 }));
    assert_eq!(bus.try_cmd(0x10), Err(ProtocolError::UnexpectedCommand { command: 0x10 }));
    assert_eq!(bus.try_cmd(0x1d), Err(ProtocolError::UnexpectedCommand { command: 0x1d }));
    assert_eq!(bus.try_addr(0), Err(ProtocolError::UnexpectedAddress));
    assert_eq!(bus.try_out(1), Err(ProtocolError::UnexpectedData));
    assert_eq!(bus.try_bytes_in(&[0]), Err(ProtocolError::UnexpectedData));
    // A confirm of another command, a sixth address, a first cycle in the middle of an address.
    bus.cmd(0x60).addr(&[0, 0, 0]);
    assert_eq!(bus.try_cmd(0x30), Err(ProtocolError::UnexpectedCommand { command: 0x30 }));
    assert_eq!(
        bus.try_cmd(0xd0),
        Err(ProtocolError::UnexpectedCommand { command: 0xd0 }),
        "the erase is void"
    );
    bus.cmd(0x00).addr(&[0, 0, 0, 0, 0]);
    assert_eq!(bus.try_addr(0), Err(ProtocolError::UnexpectedAddress));
    bus.cmd(0x80).addr(&[0, 0]);
    assert_eq!(bus.try_cmd(0x60), Err(ProtocolError::UnexpectedCommand { command: 0x60 }));
    bus.cmd(0x80).addr(&[0, 0, 0, 0, 0]);
    assert_eq!(bus.try_out(1), Err(ProtocolError::UnexpectedData));
    bus.start_read(0, 0).until_ready();
    bus.cmd(0x00).out(4);
    assert_eq!(
        bus.try_addr(0),
        Err(ProtocolError::UnexpectedAddress),
        "data has ended the wait for an address"
    );
    // The package still works.
    assert_eq!(bus.program(0, 0, 1), 0xe0);
    expect_page(&bus.read(0, 0), 1);
}

#[test]
fn a_lun_forced_busy_never_becomes_ready() {
    let (mut bus, inspect) = one(config(Content::Full));
    inspect.force_busy(LUN, true);
    bus.start_read(0, 0).wait(Duration::from_secs(1));
    assert_eq!(bus.status(), 0x80);
    bus.cmd(0xff).wait(Duration::from_secs(1));
    assert_eq!(bus.status(), 0x80);
    let now = bus.now;
    assert!(!bus.package.ready(now));
    inspect.force_busy(LUN, false);
    bus.cmd(0xff);
    assert_eq!(bus.until_ready(), 0xe0);
}

#[test]
fn injected_flips_last_until_the_erase() {
    let (mut bus, inspect) = one(config(Content::Full));
    assert!(!inspect.flip_bits(LUN, BlockAddr(1), PageInBlock(0), &[1]));
    bus.program(1, 0, 1);
    assert!(inspect.flip_bits(LUN, BlockAddr(1), PageInBlock(0), &[70_000, 3]));
    assert!(inspect.flip_random_bits(LUN, BlockAddr(1), PageInBlock(0), (256, 256), 14, 9));
    let first = bus.read(1, 0);
    let flips = first.flips();
    assert_eq!(flips.len(), 16);
    assert!(flips.is_sorted() && flips[0] == 3 && flips[15] == 70_000);
    assert!(flips[1..15].iter().all(|b| (2048..4096).contains(b)));
    assert_eq!(bus.read(1, 0), first);
    bus.erase(1);
    bus.program(1, 0, 2);
    expect_page(&bus.read(1, 0), 2);
}

#[test]
fn flips_of_raw_pages_are_in_the_bytes() {
    let (mut bus, inspect) = one(config(Content::Full));
    let row = bus.row(1, 0);
    bus.cmd(0x80).addr(&[0, 0]).addr(&row).bytes_in(&[0; 9_216]).cmd(0x10).until_ready();
    inspect.flip_bits(LUN, BlockAddr(1), PageInBlock(0), &[0, 15]);
    assert_eq!(&bus.read(1, 0).bytes()[..3], [0x80, 0x01, 0x00]);
}

#[test]
fn an_erased_page_loses_no_charge() {
    let mut c = config(Content::Fingerprint);
    c.errors = ErrorModel { retention: 1e-3, ..ErrorModel::NONE };
    let (mut bus, inspect) = one(c);
    inspect.set_age_hours(1_000).unwrap();
    assert!(bus.read(1, 0).flips().is_empty());
}

#[test]
fn errors_repeat_and_only_grow_with_age_and_reads() {
    let mut c = config(Content::Fingerprint);
    c.errors = ErrorModel { fresh: 2e-5, retention: 1e-5, read: 1e-8, ..ErrorModel::NONE };
    let (mut bus, inspect) = one(c);
    bus.program(1, 0, 1);
    let mut before = bus.read(1, 0).flips().to_vec();
    for hours in [10, 100, 1_000, 10_000] {
        inspect.set_age_hours(hours).unwrap();
        let now = bus.read(1, 0).flips().to_vec();
        assert!(before.iter().all(|b| now.contains(b)) && now.is_sorted());
        before = now;
    }
    assert!(before.len() > 3, "{before:?}");
    inspect.set_age_hours(1).unwrap();
    assert_eq!(inspect.age_hours(), 10_000, "time doesn't go back");
    // Pages that are programmed now are as fresh as in an array that hasn't aged.
    let (mut young, _) = one(inspect.config().clone());
    for bus in [&mut bus, &mut young] {
        bus.program(2, 0, 1);
    }
    assert_eq!(bus.read(2, 0), young.read(2, 0));
    for _ in 0..20_000 {
        bus.start_read(1, 0).wait(Duration::from_millis(1));
    }
    let now = bus.read(1, 0).flips().to_vec();
    assert!(now.len() > before.len() && before.iter().all(|b| now.contains(b)));
    let gone: Vec<u32> = {
        bus.erase(1);
        bus.program(1, 0, 1);
        bus.read(1, 0).flips().to_vec()
    };
    assert!(gone.len() < now.len());
}
