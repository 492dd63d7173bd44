//! Blocks wear alike, and what they have been through is known whatever happens.

use super::bench::{Bench, config};
use crate::terms::block::BlockState;
use crate::{Capacity, CareConfig, DriveState, FtlConfig, GcConfig, WearLevelling};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Duration, Lpn, LunIndex, Rng};
use std::cell::Cell;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// The blocks for data, and how often the table says they were erased.
fn data_blocks(bench: &Bench) -> Vec<(usize, u32)> {
    let data = bench
        .block_table()
        .into_iter()
        .enumerate()
        .filter(|(_, e)| !matches!(e.state, BlockState::Log | BlockState::Bad));
    data.map(|(block, entry)| (block, entry.erases)).collect()
}

/// Fills the drive and writes a quarter of it over and over. Gives the erases of the blocks of the LUN with
/// the widest spread.
fn work_on_a_quarter(levelling: WearLevelling, rewrites: u64) -> (Bench, u32, u32) {
    let bench = Bench::fresh(FtlConfig {
        care: CareConfig { wear_levelling: levelling, ..config(Content::Fingerprint).care },
        ..config(Content::Fingerprint)
    });
    let (pages, bytes) = (u64::from(bench.ftl.logical_pages()), 8192);
    let write = |page: u64, version: u64| {
        let data = version.to_le_bytes().repeat(2);
        assert_eq!(bench.run(HostOp::Write, page * bytes, bytes, data).0, HostStatus::Success);
    };
    (0..pages).for_each(|page| write(page, page + 1));
    let mut rng = Rng::new(3);
    for version in 0..rewrites {
        write(rng.below(pages / 4), 1 << 32 | version);
    }
    for page in pages / 4..pages {
        let (status, data) = bench.run(HostOp::Read, page * bytes, bytes, vec![0; 16]);
        assert_eq!((status, data), (HostStatus::Success, (page + 1).to_le_bytes().repeat(2)), "page {page}");
    }
    let widest = (0..4)
        .map(|lun| {
            let of = data_blocks(&bench);
            let erases = of.iter().filter(|(b, _)| b / 72 == lun).map(|(_, erases)| *erases);
            (erases.clone().min().unwrap(), erases.max().unwrap())
        })
        .max_by_key(|(least, most)| most - least)
        .unwrap();
    (bench, widest.0, widest.1)
}

#[test]
fn static_levelling_keeps_the_spread_that_data_at_rest_would_open() {
    let rewrites = 20_000;
    let (without, _, most) = work_on_a_quarter(WearLevelling::None, rewrites);
    assert!(most > 80, "the test does not wear anything: {most}");
    let (dynamic, least_dynamic, most_dynamic) = work_on_a_quarter(WearLevelling::Dynamic, rewrites);
    let (levelled, least, most) = work_on_a_quarter(WearLevelling::Static { spread: 20 }, rewrites);
    assert!(
        most_dynamic - least_dynamic > 60,
        "data at rest holds dynamic levelling up: {least_dynamic} to {most_dynamic}"
    );
    // A block may be chosen that is just too far behind, while the others go on.
    assert!(most - least <= 30, "{least} to {most} erases");
    for bench in [&without, &dynamic] {
        assert_eq!(bench.ftl.stats().levelled, 0);
    }
    let (stats, plain) = (levelled.ftl.stats(), without.ftl.stats());
    assert!(stats.levelled > 0);
    let (more, before) = (stats.flash_programs.gc, plain.flash_programs.gc);
    assert!(more < before + before / 2, "levelling takes {more} copies where {before} were enough");
}

/// Writes all of the drive at random, but nine of ten pages to a tenth of it. Gives the widest spread of the
/// erases of a LUN's blocks, and the blocks collected.
fn work_mostly_on_a_tenth(levelling: WearLevelling) -> (u32, u64) {
    let base = config(Content::Fingerprint);
    let bench = Bench::fresh(FtlConfig {
        capacity: Capacity::OverProvisioning(30.0),
        care: CareConfig { wear_levelling: levelling, ..base.care },
        // Blocks to choose among.
        gc: GcConfig { free_blocks: 6, ..base.gc },
        ..base
    });
    let (pages, bytes) = (u64::from(bench.ftl.logical_pages()), 8192);
    let mut rng = Rng::new(3);
    for version in 0..20_000u64 {
        let reach = if rng.below(10) < 9 { pages / 10 } else { pages };
        let data = version.to_le_bytes().repeat(2);
        assert_eq!(bench.run(HostOp::Write, rng.below(reach) * bytes, bytes, data).0, HostStatus::Success);
    }
    let of = data_blocks(&bench);
    let spread = |lun| {
        let erases = of.iter().filter(|(b, _)| b / 72 == lun).map(|(_, erases)| *erases);
        erases.clone().max().unwrap() - erases.min().unwrap()
    };
    ((0..4).map(spread).max().unwrap(), bench.ftl.stats().gc_runs)
}

#[test]
fn dynamic_levelling_wears_blocks_alike_that_are_written_unequally_and_costs_no_copy() {
    let (without, collected) = work_mostly_on_a_tenth(WearLevelling::None);
    let (dynamic, as_many) = work_mostly_on_a_tenth(WearLevelling::Dynamic);
    assert!(3 * dynamic < 2 * without, "a spread of {dynamic} erases, {without} without levelling");
    assert_eq!(as_many, collected);
}

#[test]
fn no_loss_of_power_makes_the_drive_forget_or_invent_erases() {
    let base = config(Content::Fingerprint);
    // Maps are stored often, so that the log is replayed over tables that know a part of it.
    let mut bench = Bench::fresh(FtlConfig { checkpoint_pages: 300, ..base });
    let mut rng = Rng::new(11);
    let mut known: u64 = 0;
    for round in 0..40 {
        for _ in 0..rng.below(400) {
            let page = rng.below(u64::from(bench.ftl.logical_pages()));
            bench.run(HostOp::Write, page * 8192, 8192, vec![round; 16]);
        }
        let until = bench.exec.now() + Duration::from_micros(rng.below(3_000));
        while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= until) {
            bench.exec.advance_to(deadline);
        }
        bench = bench.restart();
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let truth = bench.cells.borrow().erases.clone();
        let mut sum = 0;
        for (block, erases) in data_blocks(&bench) {
            assert!(erases <= truth[block], "round {round}: block {block} was erased {} times", truth[block]);
            sum += u64::from(erases);
        }
        // What no log page says yet is forgotten: some two blocks of each LUN.
        let real: u64 = data_blocks(&bench).iter().map(|(block, _)| u64::from(truth[*block])).sum();
        assert!(real - sum <= (u64::from(round) + 1) * 12, "round {round}: {sum} of {real} erases are known");
        assert!(sum >= known, "round {round}: {sum} erases are known, {known} were");
        known = sum;
    }
    assert!(known > 1_000, "{known}");
}

/// What boot counts when it decides whether the drive takes writes, SMART counts too.
#[test]
fn a_block_that_is_about_to_go_bad_is_no_spare_one() {
    let bench = Bench::fresh(FtlConfig {
        capacity: Capacity::OverProvisioning(60.0),
        ..config(Content::Fingerprint)
    });
    bench.rest();
    let told = Rc::new(Cell::new(None));
    let teller = Rc::clone(&told);
    bench.ftl.watch_media(move |media| teller.set(Some(media.available_spare)));
    // Behind a page that must move before the block is retired.
    bench.send(HostOp::Write, 0, 8192, true, vec![7; 16]);
    assert_eq!(bench.wait().0.status, HostStatus::Success);
    let lun = bench.lun_of(bench.block_of(bench.place_of(Lpn(0)).unwrap()));
    bench.cells.borrow_mut().next_programs_fail = vec![lun];
    for page in 0..4 {
        bench.send(HostOp::Write, (4 + page) * 8192, 8192, true, vec![8; 16]);
    }
    while told.get().is_none() {
        bench.exec.advance_to(bench.exec.next_deadline().expect("a program fails"));
    }
    // It is not retired yet, since its data have not moved.
    assert_eq!(bench.ftl.stats().grown_bad_blocks, 0);
    let (factory_good, needed) =
        (bench.factory_good_blocks(lun), bench.config.areas().blocks_needed_per_lun() as u32);
    assert_eq!(bench.good_blocks(lun), factory_good - 1);
    let spare = (factory_good - 1 - needed) * 100 / (factory_good - needed);
    assert!(spare < 100);
    assert_eq!(told.get().map(u32::from), Some(spare));
    bench.rest();
    assert_eq!(bench.ftl.stats().grown_bad_blocks, 1);
    assert_eq!(told.get().map(u32::from), Some(spare));
}

/// The same blocks count when one of them goes bad as at power-on: a drive that has too few good ones
/// takes no more writes.
#[test]
fn a_block_that_is_about_to_go_bad_is_none_that_keeps_the_drive_writable() {
    let capacity = Capacity::OverProvisioning(60.0);
    let bench = Bench::fresh(FtlConfig { capacity, ..config(Content::Fingerprint) });
    bench.rest();
    let lun = LunIndex(0);
    bench.fail_block(lun);
    let spare = bench.good_blocks(lun) - bench.config.areas().blocks_needed_per_lun() as u32;
    assert!(spare > 3);
    for left in (0..spare).rev() {
        assert_eq!(bench.ftl.state(), DriveState::Ready, "{left}");
        bench.retire_block(lun);
    }
    assert_eq!(bench.ftl.state(), DriveState::Ready, "as many as are needed");
    bench.retire_block(lun);
    assert_eq!(bench.ftl.state(), DriveState::ReadOnly);
}
