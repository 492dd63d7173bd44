use super::bench::{Bench, config};
use super::checked_host::{CheckedHost, Op, Request, granule_bytes};
use super::flash::{Cells, Faults, SharedCells};
use crate::terms::oob::{PageKind, PageRecord, UnitRecord};
use crate::terms::units::Frame;
use crate::{BootError, Capacity, CareConfig, DriveState, FtlConfig, NVRAM_BYTES};
use aster_ports::cores::Interrupt;
use aster_ports::flash::{
    FlashOp, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, PageCheck, PageOwner, Target,
};
use aster_ports::host::{HostOp, HostStatus};
use aster_ports::medium::Nvram;
use aster_units::{Content, Lpn, LunIndex, Rng, RowAddr, SectorRange};
use std::vec;
use std::vec::Vec;

fn roomy(content: Content) -> FtlConfig {
    FtlConfig { capacity: Capacity::OverProvisioning(60.0), ..config(content) }
}

fn page_of(granule: u64, host: &CheckedHost, bench: &Bench) -> Lpn {
    Lpn((granule / host.granules_per_page(bench)) as u32)
}

/// Breaks sectors of a logical page where it lies now.
fn break_page(bench: &Bench, host: &mut CheckedHost, lpn: Lpn, sectors: u16, oob: bool) {
    let Some(ppa) = bench.place_of(lpn) else { return };
    let mut cells = bench.cells.borrow_mut();
    if oob {
        cells.oob_broken.insert(ppa.0, ());
    } else {
        *cells.uncorrectable.entry(ppa.0).or_default() |= sectors;
    }
    let content = bench.config.content;
    let (per_page, per_sector) = (host.granules_per_page(bench), 4096 / granule_bytes(content));
    for granule in 0..per_page {
        if oob || sectors >> (granule / per_sector) & 1 == 1 {
            host.damaged[(u64::from(lpn.0) * per_page + granule) as usize] = true;
        }
    }
}

/// What a read has left in an entry goes to the host by itself only if it is the entry's page, whole.
#[test]
fn only_the_page_that_was_asked_for_follows_its_read_to_the_host() {
    let bench = Bench::fresh(roomy(Content::Full));
    let page = u64::from(bench.config.geometry.page_bytes);
    bench.write(3, 7);
    bench.run(HostOp::Read, 3 * page, page, vec![0; page as usize]);
    let buffer = bench.buffer_of(Frame(3)).expect("just read");
    let good = Outcome::default();
    let data = (PageKind::Data, Frame(3), 0);
    // What stands between FTL and controllers, as the big loop does, hears it at the read-transfer's end.
    let below = bench.flash.below(1, Interrupt::default());
    let target = Target { row: RowAddr(0), sectors: SectorRange::whole(4), buffer };
    let read = FlashRequest::single(FlashOp::Transfer, LunIndex(0), target).expecting(PageOwner(3));
    let check = |outcome: &Outcome| {
        let tag = below.submit(read).unwrap();
        below.complete(tag, [*outcome; MAX_TARGETS]);
        below.try_take(tag).unwrap()[0].page
    };
    let goes = |(kind, frame, lost_sectors), outcome: &Outcome| {
        let (shape, mut dram) = (bench.config.units(), bench.dram.borrow_mut());
        let unit = |(slot, lpn)| (slot, UnitRecord { lpn, sequence: 1, copy: 0 });
        let units = shape.units_in(frame, shape.all()).map(unit);
        PageRecord { kind, lost_sectors }.encode(shape, units, dram.oob_mut(buffer));
        drop(dram);
        check(outcome) == PageCheck::Expected
    };
    assert!(goes(data, &good));
    assert!(!goes((PageKind::Data, Frame(4), 0), &good), "another page");
    assert!(!goes((PageKind::Map, Frame(3), 0), &good), "another kind");
    assert!(!goes((PageKind::Data, Frame(3), 2), &good), "lost before");
    for bad in [
        Outcome { status: FlashStatus::Uncorrectable, failed_sectors: 1, ..good },
        Outcome { status: FlashStatus::Uncorrectable, oob_failed: true, ..good },
        Outcome { erased: true, ..good },
        Outcome { status: FlashStatus::Failed, ..good },
        Outcome { status: FlashStatus::Error, ..good },
    ] {
        assert!(!goes(data, &bad), "{bad:?}");
    }
    assert!(goes(data, &good));
    bench.dram.borrow_mut().oob_mut(buffer)[0] ^= 1;
    assert_eq!(check(&good), PageCheck::Other, "a damaged record");
}

#[test]
fn program_and_erase_failures_lose_nothing() {
    for content in [Content::Full, Content::Fingerprint] {
        for seed in 0..4 {
            let cells = Cells::new(config(content).geometry, seed);
            cells.borrow_mut().faults = Faults { program: 1200, erase: 250, ..Faults::default() };
            let mut bench = Bench::power_on(roomy(content), cells, Nvram::volatile(NVRAM_BYTES));
            let mut host = CheckedHost::new(&bench);
            host.work(&bench, 4_000, seed);
            assert!(bench.ftl.stats().grown_bad_blocks > 0, "nothing failed");
            host.verify(&bench);
            assert_eq!(bench.shut_down(), HostStatus::Success);
            bench = bench.restart();
            host.verify(&bench);
            host.work(&bench, 500, seed);
            host.verify(&bench);
        }
    }
}

fn with_factory_bad(one_in: u64) -> SharedCells {
    let cells = Cells::new(config(Content::Full).geometry, 1);
    let mut rng = Rng::new(77);
    for bad in &mut cells.borrow_mut().factory_bad {
        *bad = rng.below(one_in) == 0;
    }
    cells
}

#[test]
fn factory_bad_blocks_are_found_and_never_touched() {
    let cells = with_factory_bad(20);
    let marked = cells.borrow().factory_bad.iter().filter(|&&b| b).count() as u64;
    let bench = Bench::power_on(roomy(Content::Full), cells, Nvram::volatile(NVRAM_BYTES));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.work(&bench, 2_000, 3);
    host.verify(&bench);
    assert_eq!(bench.ftl.stats().factory_bad_blocks, marked);
    // The table of bad blocks is part of what is stored.
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let bench = bench.restart();
    host.work(&bench, 2_000, 4);
    host.verify(&bench);
}

#[test]
fn a_factory_mark_counts_on_the_first_page_and_on_the_last_with_up_to_four_bits_wrong() {
    // (the first spare byte of the block's first page, that of its last, whether they mark it)
    let blocks = [
        (0x00, 0xFF, true),
        (0xFF, 0x00, true),
        (0x0F, 0xFF, true),
        (0xFF, 0b1001_1010, true),
        (0x55, 0xAA, true),
        (0xFF, 0xFF, false),
        (0b1110_1101, 0xFF, false),
        (0xFF, 0b0011_1110, false),
        // The errors of two bytes don't add up to a mark.
        (0b1110_0111, 0b1111_1001, false),
    ];
    let cells = Cells::new(config(Content::Full).geometry, 1);
    {
        let mut cells = cells.borrow_mut();
        for (n, &(first, last, bad)) in blocks.iter().enumerate() {
            // Spread over all LUNs.
            let block = 72 * (n % 4) + 3 * n + 1;
            cells.marks.insert(4 * block as u32, first);
            cells.marks.insert(4 * block as u32 + 3, last);
            // A block that is marked and written, or erased, is found out.
            cells.factory_bad[block] = bad;
        }
    }
    let bench = Bench::power_on(roomy(Content::Full), cells, Nvram::volatile(NVRAM_BYTES));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.work(&bench, 2_000, 3);
    host.verify(&bench);
    let marked = blocks.iter().filter(|(.., bad)| *bad).count() as u64;
    assert_eq!(bench.ftl.stats().factory_bad_blocks, marked);
}

#[test]
fn a_drive_with_too_many_factory_bad_blocks_says_so() {
    let bench = Bench::power_on(config(Content::Full), with_factory_bad(4), Nvram::volatile(NVRAM_BYTES));
    bench.rest();
    assert!(
        matches!(bench.ftl.boot_error(), Some(BootError::TooFewBlocks { .. })),
        "{:?}",
        bench.ftl.boot_error()
    );
    assert_eq!(bench.ftl.state(), DriveState::Failed);
}

#[test]
fn out_of_spare_blocks_the_drive_turns_read_only_and_keeps_reading() {
    // Of so many programs one fails.
    for (one_in, seed) in [2, 3, 6, 10].into_iter().flat_map(|n| [0, 1, 3, 5].map(|seed| (n, seed))) {
        let cells = Cells::new(config(Content::Full).geometry, seed);
        let bench = Bench::power_on(config(Content::Full), cells, Nvram::volatile(NVRAM_BYTES));
        let mut host = CheckedHost::new(&bench);
        host.fill(&bench);
        host.finish(&bench);
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let page = u64::from(bench.config.geometry.page_bytes);
        let read =
            |bench: &Bench, lpn: u64| bench.run(HostOp::Read, lpn * page, page, vec![0; page as usize]);
        let pages = u64::from(bench.ftl.logical_pages());
        let filled: Vec<_> = (0..pages).map(|lpn| read(&bench, lpn).1).collect();
        bench.cells.borrow_mut().faults.program = one_in;
        let mut rng = Rng::new(9);
        let mut written = vec![];
        let refused = (0..20_000).find_map(|_| {
            let lpn = rng.below(pages);
            match bench.run(HostOp::Write, lpn * page, page, vec![lpn as u8; page as usize]).0 {
                HostStatus::Success => {
                    written.push(lpn);
                    None
                }
                other => Some(other),
            }
        });
        assert_eq!(refused, Some(HostStatus::ReadOnly));
        assert_eq!(bench.ftl.state(), DriveState::ReadOnly);
        for lpn in 0..pages {
            let (status, data) = read(&bench, lpn);
            assert_eq!(status, HostStatus::Success, "page {lpn}");
            if written.contains(&lpn) {
                assert!(data.iter().all(|&b| b == lpn as u8), "page {lpn}");
            }
        }
        assert_eq!(bench.run(HostOp::Format { erase: false }, 0, 0, vec![]).0, HostStatus::ReadOnly);
        // What could not be flushed is told. What is on flash is found again.
        let flushed = bench.run(HostOp::Flush, 0, 0, vec![]).0;
        let stored = bench.shut_down();
        assert_eq!(stored, flushed, "one in {one_in}, seed {seed}");
        let unflushed = bench.dirty_entries();
        assert_eq!(flushed == HostStatus::Success, unflushed == 0);
        let again = bench.restart();
        let mut old = 0;
        for lpn in 0..pages {
            let (status, data) = read(&again, lpn);
            assert_eq!(status, HostStatus::Success, "one in {one_in}, page {lpn} after power-on");
            let new = written.contains(&lpn) && data.iter().all(|&b| b == lpn as u8);
            assert!(new || data == filled[lpn as usize], "one in {one_in}, page {lpn} after power-on");
            old += u32::from(!new && written.contains(&lpn));
        }
        assert!(old <= unflushed, "one in {one_in}: {old} pages are old, {unflushed} could not be flushed");
        assert_eq!(again.ftl.boot_error(), None);
        assert_eq!(again.ftl.state(), DriveState::ReadOnly);
        assert_eq!(again.run(HostOp::Write, 0, page, vec![0; page as usize]).0, HostStatus::ReadOnly);
    }
}

#[test]
fn damaged_sectors_stay_damaged_wherever_their_page_goes() {
    for (content, retire_uncorrectable) in
        [(Content::Full, false), (Content::Fingerprint, false), (Content::Full, true)]
    {
        let base = if retire_uncorrectable { roomy(content) } else { config(content) };
        let mut bench =
            Bench::fresh(FtlConfig { care: CareConfig { retire_uncorrectable, ..base.care }, ..base });
        let mut host = CheckedHost::new(&bench);
        host.fill(&bench);
        host.finish(&bench);
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let pages = bench.ftl.logical_pages();
        let mut rng = Rng::new(8);
        // Few blocks may go bad before the drive takes no more writes.
        let count = if retire_uncorrectable { 6 } else { 24 };
        let broken: vec::Vec<Lpn> = (0..count).map(|_| Lpn(rng.below(u64::from(pages)) as u32)).collect();
        for (n, &lpn) in broken.iter().enumerate() {
            // Not what is still in the data buffer.
            if bench.buffer_of(Frame(lpn.0)).is_none() {
                break_page(&bench, &mut host, lpn, 1 << (n % 2), n % 5 == 4);
            }
        }
        // Everything else is rewritten until garbage collection has been everywhere.
        let count = host.granules_per_page(&bench);
        for _ in 0..6 * pages {
            let first = rng.below(u64::from(pages)) * count;
            if !broken.contains(&page_of(first, &host, &bench)) {
                host.send(&bench, Request { op: Op::Write { fua: false }, first, count });
            }
        }
        host.finish(&bench);
        let retired = bench.ftl.stats().grown_bad_blocks;
        assert_eq!(retired > 0, retire_uncorrectable, "{retired} blocks went bad");
        assert_eq!(bench.shut_down(), HostStatus::Success);
        bench = bench.restart();
        // Granule by granule: just the damaged ones fail.
        for granule in 0..host.granules() {
            host.send(&bench, Request { op: Op::Read, first: granule, count: 1 });
        }
        host.finish(&bench);
        let damaged = host.damaged.iter().filter(|&&d| d).count() as u64;
        assert!(damaged > 0);
        assert_eq!(host.unrecovered, damaged, "damage was forgotten or spread");
        // Written again, they are whole.
        host.damaged.fill(false);
        host.fill(&bench);
        host.verify(&bench);
    }
}

#[test]
fn a_write_beside_damage_survives_eviction() {
    let bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.finish(&bench);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    break_page(&bench, &mut host, Lpn(0), 0b01, false);
    // Sector 1 is written in part: the other part must come from flash, sector 0 is lost.
    host.send(&bench, Request { op: Op::Write { fua: true }, first: 9, count: 2 });
    host.finish(&bench);
    host.send(&bench, Request { op: Op::Read, first: 8, count: 8 });
    host.send(&bench, Request { op: Op::Read, first: 0, count: 1 });
    host.finish(&bench);
    assert_eq!(host.unrecovered, 1);
}

#[test]
fn blocks_written_into_a_lost_sector_are_readable_and_the_others_stay_lost() {
    let mut bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.finish(&bench);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    let per_page = host.granules_per_page(&bench);
    // (page, first block, blocks, force unit access): what is written into sector 0, all of which is lost.
    let writes = [(0, 0, 1, true), (1, 7, 1, true), (2, 0, 7, false), (3, 2, 3, false), (4, 1, 7, true)];
    for (page, first, count, fua) in writes {
        break_page(&bench, &mut host, Lpn(page), 0b01, false);
        let first = u64::from(page) * per_page + first;
        host.send(&bench, Request { op: Op::Write { fua }, first, count });
        host.damaged[first as usize..(first + count) as usize].fill(false);
    }
    host.finish(&bench);
    let mut rng = Rng::new(5);
    for round in 0..3 {
        assert_eq!(bench.shut_down(), HostStatus::Success);
        bench = bench.restart();
        let before = host.unrecovered;
        // Block by block: what the write brought is there, and nothing else of the sector.
        for (page, ..) in writes {
            for granule in 0..per_page {
                let first = u64::from(page) * per_page + granule;
                host.send(&bench, Request { op: Op::Read, first, count: 1 });
            }
        }
        host.finish(&bench);
        let lost = writes.iter().map(|(_, _, count, _)| 8 - count).sum::<u64>();
        assert_eq!(host.unrecovered - before, lost, "round {round}");
        // Garbage collection takes the pages elsewhere, and other sectors of them are written.
        for (page, ..) in writes {
            let first = u64::from(page) * per_page + 8 + 2 * round;
            host.send(&bench, Request { op: Op::Write { fua: true }, first, count: 1 });
        }
        for _ in 0..4 * bench.ftl.logical_pages() {
            let first = (5 + rng.below(u64::from(bench.ftl.logical_pages()) - 5)) * per_page;
            host.send(&bench, Request { op: Op::Write { fua: false }, first, count: per_page });
        }
        host.finish(&bench);
    }
    assert!(bench.ftl.stats().flash_programs.gc > 0, "garbage collection was not needed");
}

#[test]
fn a_sector_that_fails_again_loses_what_was_written_into_it() {
    let mut bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.finish(&bench);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    break_page(&bench, &mut host, Lpn(0), 0b01, false);
    host.send(&bench, Request { op: Op::Write { fua: true }, first: 0, count: 2 });
    host.finish(&bench);
    break_page(&bench, &mut host, Lpn(0), 0b01, false);
    let broken_at = bench.place_of(Lpn(0));
    // Garbage collection copies it as it reads it, and must say that it is lost.
    let per_page = host.granules_per_page(&bench);
    let mut rng = Rng::new(6);
    while bench.place_of(Lpn(0)) == broken_at {
        let first = (1 + rng.below(u64::from(bench.ftl.logical_pages()) - 1)) * per_page;
        host.send(&bench, Request { op: Op::Write { fua: false }, first, count: per_page });
    }
    host.finish(&bench);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    bench = bench.restart();
    for first in 0..per_page {
        host.send(&bench, Request { op: Op::Read, first, count: 1 });
    }
    host.finish(&bench);
    assert_eq!(host.unrecovered, 8);
}

#[test]
fn a_failed_dma_fails_the_command_and_leaves_the_old_data() {
    let bench = Bench::fresh(config(Content::Full));
    assert_eq!(bench.run(HostOp::Write, 0, 8192, vec![7; 8192]).0, HostStatus::Success);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    for op in [HostOp::Write, HostOp::Read, HostOp::Compare] {
        bench.fail_next_dma();
        assert_eq!(bench.run(op, 0, 8192, vec![9; 8192]).0, HostStatus::DataTransfer);
    }
    assert_eq!(bench.run(HostOp::Read, 0, 8192, vec![0; 8192]), (HostStatus::Success, vec![7; 8192]));
}

#[test]
fn a_dma_that_fails_half_way_over_data_not_yet_on_flash_leaves_that_data() {
    for content in [Content::Full, Content::Fingerprint] {
        let bench = Bench::fresh(config(content));
        let scaled = |bytes: u64| bytes as usize / 4096 * content.sector_len();
        let page = scaled(8192);
        // The first sector stands in the buffer alone, the second comes with the write that fails, then is
        // whole.
        assert_eq!(bench.run(HostOp::Write, 0, 4096, vec![7; scaled(4096)]).0, HostStatus::Success);
        let write = |byte: u8| bench.run(HostOp::Write, 0, 8192, vec![byte; page]).0;
        bench.fail_next_dma();
        assert_eq!(write(8), HostStatus::DataTransfer);
        let half = [vec![7; page / 2], vec![0; page / 2]].concat();
        assert_eq!(bench.run(HostOp::Read, 0, 8192, vec![1; page]), (HostStatus::Success, half));
        assert_eq!(write(9), HostStatus::Success);
        bench.fail_next_dma();
        assert_eq!(write(10), HostStatus::DataTransfer);
        assert_eq!(bench.run(HostOp::Read, 0, 8192, vec![1; page]), (HostStatus::Success, vec![9; page]));
        assert_eq!(bench.ftl.stats().flash_programs.host, 0, "all this happened in the buffer");
    }
}

#[test]
fn a_failing_block_while_the_map_is_stored_does_not_lose_the_map() {
    let mut bench = Bench::fresh(roomy(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.work(&bench, 800, 5);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    // Half of the programs fail: some attempt to store the map must.
    bench.cells.borrow_mut().faults.program = 2;
    let stored = bench.shut_down();
    bench.cells.borrow_mut().faults.program = 0;
    if stored != HostStatus::Success {
        assert_eq!(bench.shut_down(), HostStatus::Success);
    }
    bench = bench.restart();
    host.verify(&bench);
    assert!(bench.ftl.free_blocks(LunIndex(0)) > 0);
}

#[test]
fn a_read_or_compare_with_force_unit_access_brings_the_page_to_flash_first() {
    for op in [HostOp::Read, HostOp::Compare] {
        let bench = Bench::fresh(config(Content::Full));
        let page = bench.config.geometry.page_bytes as usize;
        let data = vec![0x5a; page];
        assert_eq!(bench.run(HostOp::Write, 0, page as u64, data.clone()).0, HostStatus::Success);
        let before = bench.ftl.stats().flash_programs.host;
        bench.send(op, 0, page as u64, false, data.clone());
        assert_eq!(bench.wait().0.status, HostStatus::Success);
        assert_eq!(bench.ftl.stats().flash_programs.host, before, "without it the buffer will do");
        bench.send(op, 0, page as u64, true, data);
        assert_eq!(bench.wait().0.status, HostStatus::Success);
        assert_eq!(bench.ftl.stats().flash_programs.host, before + 1, "{op:?}");
    }
}

/// A read with force unit access that meets a write in work brings what that write wrote, and only once it is
/// on flash.
#[test]
fn a_read_with_force_unit_access_brings_only_what_is_on_flash_while_others_write_the_page() {
    for op in [HostOp::Read, HostOp::Compare] {
        let bench = Bench::fresh(config(Content::Full));
        let mut rng = Rng::new(12);
        for n in 0..200u8 {
            let data = vec![n; 8192];
            bench.send(HostOp::Write, 0, 8192, false, data.clone());
            // The write is anywhere between its slice's start and its end.
            let until = bench.exec.now() + aster_units::Duration::from_nanos(rng.below(6000));
            while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= until) {
                bench.exec.advance_to(deadline);
            }
            let fua = bench.send(op, 0, 8192, true, data);
            loop {
                let (completion, read) = bench.wait();
                assert_eq!(completion.status, HostStatus::Success, "{op:?} {n}");
                if completion.id == fua {
                    let at = bench.place_of(Lpn(0)).expect("the page is mapped");
                    let on_flash = bench.cells.borrow().content(at).expect("the page is programmed");
                    assert_eq!(read, on_flash, "{op:?} {n}");
                    break;
                }
            }
            bench.rest();
            while bench.has_completion() {
                bench.wait();
            }
        }
    }
}

#[test]
fn a_compare_is_no_write() {
    let bench = Bench::fresh(config(Content::Full));
    bench.run(HostOp::Write, 0, 4096, vec![1; 4096]);
    bench.run(HostOp::Compare, 0, 4096, vec![1; 4096]);
    assert_eq!(bench.ftl.stats().host_bytes_written, 4096);
}
