//! When log pages are written and how much they hold, and how many blocks are enough: with the numbers of a
//! map in memory. One on flash asks for log pages itself, and needs more blocks.

use super::bench::{Bench, config};
use super::recovery::roomy;
use crate::{Boot, Capacity, ConfigError, FtlConfig};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Geometry, SECTOR_BYTES};
use std::vec;
use std::vec::Vec;

/// Writes pages one after the other and gives how many entries' bytes waited for the log at most, and how
/// many opened blocks.
fn waiting_for_the_log(bench: &Bench, pages: std::ops::Range<u64>) -> (usize, usize) {
    let page = u64::from(bench.config.geometry.page_bytes);
    let bytes = page as usize / SECTOR_BYTES * bench.config.content.sector_len();
    let (mut most, mut opened) = (0, 0);
    for lpn in pages {
        assert_eq!(bench.run(HostOp::Write, lpn * page, page, vec![7; bytes]).0, HostStatus::Success);
        (most, opened) = (most.max(bench.unlogged_bytes()), opened.max(bench.unlogged_opened()));
    }
    (most, opened)
}

/// Of the page's 4096 bytes lists take some 300 here, and a move in sequence takes two.
#[test]
fn a_log_page_is_written_when_it_is_full_and_not_later() {
    let base = config(Content::Fingerprint);
    let geometry = Geometry { blocks_per_lun: 32, pages_per_block: 256, page_bytes: 4096, ..base.geometry };
    let capacity = Capacity::OverProvisioning(60.0);
    let bench = Bench::fresh(FtlConfig { geometry, capacity, checkpoint_pages: 1 << 20, ..base });
    waiting_for_the_log(&bench, 0..2000);
    let before = bench.ftl.stats().log_pages;
    let (most, _) = waiting_for_the_log(&bench, 2000..14_000);
    let written = bench.ftl.stats().log_pages - before;
    assert!((6..=7).contains(&written), "{written} log pages of 12000 moves");
    assert!(most < 3900, "{most} bytes waited for a page of 4096");
}

#[test]
fn a_log_page_is_written_before_blocks_that_it_must_tell_of_are_too_many() {
    let base = roomy(1);
    let geometry = Geometry { channels: 8, ..base.geometry };
    let bench = Bench::fresh(FtlConfig { geometry, checkpoint_pages: 1 << 20, ..base });
    let (_, opened) = waiting_for_the_log(&bench, 0..1600);
    // With 128 of them nobody may open another one.
    assert!((48..96).contains(&opened), "{opened} blocks were opened between two pages of the log");
}

/// A logical page is flushed to a new place while a map is stored that has its old one, and trimmed. The page
/// of the log that names the map has no room for either. Nothing may lead back behind the flush.
#[test]
fn a_trim_that_was_not_journaled_does_not_bring_back_what_was_before_the_last_flush() {
    let base = roomy(1);
    let geometry = Geometry { blocks_per_lun: 24, pages_per_block: 256, page_bytes: 4096, ..base.geometry };
    let mut bench = Bench::fresh(FtlConfig { geometry, ..base });
    let page = 4096;
    let write = |lpn: u64, byte: u8, fua| {
        bench.send(HostOp::Write, lpn * page, page, fua, vec![byte; page as usize]);
        assert_eq!(bench.wait().0.status, HostStatus::Success);
    };
    let trim = |lpns: &mut dyn Iterator<Item = u64>| {
        let ranges: Vec<_> = lpns.map(|lpn| ByteRange { offset: lpn * page, length: page }).collect();
        bench.send_deallocate(&ranges);
        assert_eq!(bench.wait().0.status, HostStatus::Success);
    };
    // Something on each page of the map, so that storing it takes a while.
    let entries = page / 4;
    let all = u64::from(bench.ftl.logical_pages());
    (0..all).step_by(entries as usize).for_each(|lpn| write(lpn, 1, false));
    (1..1000).for_each(|lpn| write(lpn, 2, false));
    bench.flush();
    while bench.has_room_in_log() {
        bench.write_log_page();
    }
    let (pages, maps) = (bench.ftl.stats().log_pages, bench.ftl.stats().checkpoints);
    bench.renew_map();
    while !bench.is_storing_map() || bench.ftl.stats().flash_programs.metadata == 0 {
        bench.exec.advance_to(bench.exec.next_deadline().expect("the map is being stored"));
    }
    // More than a page of the log holds, in front.
    (0..6).for_each(|n| trim(&mut (100 * n + 101..100 * n + 201).step_by(2)));
    write(0, 3, true);
    trim(&mut core::iter::once(0));
    assert_eq!(bench.ftl.stats().log_pages, pages, "the map is stored too soon for this");
    let mut unjournaled = 0;
    while bench.ftl.stats().checkpoints == maps {
        unjournaled = bench.unlogged_bytes();
        bench.exec.advance_to(bench.exec.next_deadline().expect("the map is being stored"));
    }
    assert_eq!(bench.ftl.stats().log_pages, pages + 1);
    assert!(unjournaled > 0, "the page has all");
    bench = bench.restart();
    let (_, data) = bench.run(HostOp::Read, 0, page, vec![0xEE; page as usize]);
    assert!([0, 3].map(|byte| vec![byte; page as usize]).contains(&data), "{}", data[0]);
}

/// A logical page is written twice, and the log has neither. The page of the log that names the map of a
/// shutdown has no room for both. Once the drive is up again nothing may lead back to the first, though the
/// log is replayed.
#[test]
fn a_shutdown_leaves_no_entry_that_its_page_of_the_log_has_no_room_for() {
    let base = roomy(1);
    let geometry = Geometry { blocks_per_lun: 24, pages_per_block: 256, page_bytes: 4096, ..base.geometry };
    let config = FtlConfig { geometry, checkpoint_pages: 1 << 20, ..base };
    let page = 4096;
    let mut overflows = 0;
    for trims in 160..240 {
        let mut bench = Bench::fresh(config);
        let write = |bench: &Bench, lpn: u64, byte: u8| {
            bench.send(HostOp::Write, lpn * page, page, true, vec![byte; page as usize]);
            assert_eq!(bench.wait().0.status, HostStatus::Success);
        };
        (1..500).for_each(|lpn| write(&bench, lpn, 1));
        bench.write_log_page();
        write(&bench, 0, 2);
        let ranges: Vec<_> =
            (0..trims).map(|n| ByteRange { offset: (2 * n + 1) * page, length: page }).collect();
        for ranges in ranges.chunks(100) {
            bench.send_deallocate(ranges);
            assert_eq!(bench.wait().0.status, HostStatus::Success);
        }
        write(&bench, 0, 3);
        bench.rest();
        let before = bench.ftl.stats().log_pages;
        assert_eq!(bench.shut_down(), HostStatus::Success);
        overflows += u64::from(bench.ftl.stats().log_pages - before > 1);
        bench = bench.restart();
        bench.wait_booted();
        assert_eq!(bench.ftl.stats().boot, Boot::Clean);
        write(&bench, 490, 4);
        bench.write_log_page();
        bench = bench.restart();
        bench.wait_booted();
        assert_eq!(bench.ftl.stats().boot, Boot::Recovered);
        let (_, data) = bench.run(HostOp::Read, 0, page, vec![0xEE; page as usize]);
        assert_eq!(data, vec![3; page as usize], "{trims} trims");
    }
    assert!((1..10).contains(&overflows), "{overflows} of 80 shutdowns wrote more than one page");
}

#[test]
fn small_pages_and_many_luns_have_a_log_that_fits_or_are_refused_in_words() {
    let with = |page_bytes: u32, luns: u16| FtlConfig {
        geometry: Geometry {
            channels: luns / 8,
            ways: 8,
            luns: 1,
            page_bytes,
            pages_per_block: 64,
            ..config(Content::Full).geometry
        },
        mapping_unit_bytes: match config(Content::Full).mapping_unit_bytes {
            0 => 0,
            unit => unit.max(page_bytes / 2),
        },
        ..config(Content::Full)
    };
    for (page_bytes, luns, listed) in [(4096, 64, 1), (8192, 64, 8), (16384, 64, 8), (16384, 512, 1)] {
        let config = with(page_bytes, luns);
        assert_eq!(config.validate(), Ok(()));
        assert!(
            config.areas().free_list_max() >= listed,
            "{page_bytes} {luns}: {}",
            config.areas().free_list_max()
        );
    }
    for (page_bytes, luns) in [(4096, 128), (8192, 512)] {
        let refused = with(page_bytes, luns).validate();
        let Err(ConfigError::Range { key: "geometry", must }) = refused else { panic!("{refused:?}") };
        assert!(must.contains("fewer LUNs"), "{must}");
    }
}

/// With more blocks the capacity grows, and with it what is needed.
#[test]
fn how_many_blocks_would_do_is_said() {
    let base = FtlConfig { capacity: Capacity::OverProvisioning(7.0), ..config(Content::Full) };
    let with = |blocks_per_lun| {
        let geometry = Geometry { blocks_per_lun, ..base.geometry };
        FtlConfig { geometry, ..base }.validate()
    };
    let Err(ConfigError::Capacity { needed, enough: Some(enough), .. }) = with(20) else {
        panic!("{:?}", with(20))
    };
    assert!(u64::from(enough) > needed, "{needed} blocks are no way out");
    assert_eq!(with(enough), Ok(()));
    assert!((20..enough).all(|blocks| with(blocks).is_err()), "{enough} are the fewest");
    let error = std::format!("{}", with(20).unwrap_err());
    assert!(error.contains(&std::format!("or have {enough} blocks per LUN")), "{error}");
}
