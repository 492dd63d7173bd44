use super::bench::{Bench, Decisions, config};
use super::checked_host::{CheckedHost, Op, Request};
use crate::{
    Assigner, BootError, Capacity, ConfigError, CostBenefit, DChoices, Fifo, FtlConfig, FtlCosts, GcConfig,
    Greedy, HostConfig, LineConfig, WindowedGreedy,
};
use aster_events::{Event, EventKind, EventSink};
use aster_parties::VictimPolicy;
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Geometry, Instant, Lpn, Rng};
use proptest::prelude::*;
use std::boxed::Box;
use std::cell::RefCell;
use std::rc::Rc;
use std::vec;

const BOTH: [Content; 2] = [Content::Full, Content::Fingerprint];

#[test]
fn an_unwritten_drive_reads_as_zeroes() {
    for content in BOTH {
        let bench = Bench::fresh(config(content));
        let mut host = CheckedHost::new(&bench);
        host.verify(&bench);
        assert_eq!(bench.ftl.stats().flash_reads.host, 0, "flash was read for unmapped pages");
    }
}

#[test]
fn random_work_is_as_the_host_expects() {
    for content in BOTH {
        let bench = Bench::fresh(config(content));
        let mut host = CheckedHost::new(&bench);
        host.work(&bench, 6_000, 11);
        host.verify(&bench);
        assert!(bench.ftl.stats().gc_runs > 0, "the work was too small to matter");
    }
}

#[test]
fn a_full_drive_rewritten_at_random_ten_times_never_comes_to_a_dead_end() {
    BOTH.into_iter().for_each(rewrite_ten_times);
}

fn rewrite_ten_times(content: Content) {
    let bench = Bench::fresh(config(content));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    let (count, mut rng) = (host.granules_per_page(&bench), Rng::new(3));
    for _ in 0..10 * u64::from(bench.ftl.logical_pages()) {
        let first = rng.below(u64::from(bench.ftl.logical_pages())) * count;
        host.send(&bench, Request { op: Op::Write { fua: false }, first, count });
    }
    host.finish(&bench);
    host.verify(&bench);
    let stats = bench.ftl.stats();
    assert!(stats.waf() > 1.5, "at 7 % spare the amplification is {}", stats.waf());
}

#[test]
fn a_drive_shut_down_cleanly_comes_back_with_everything() {
    for content in BOTH {
        let mut bench = Bench::fresh(config(content));
        let mut host = CheckedHost::new(&bench);
        for round in 0..4 {
            host.work(&bench, 1_500, round);
            assert_eq!(bench.shut_down(), HostStatus::Success);
            bench = bench.restart();
            host.verify(&bench);
        }
    }
}

#[test]
fn comparing_and_reading_after_power_off_without_writing_stays_clean() {
    let mut bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.work(&bench, 500, 1);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    for _ in 0..2 {
        bench = bench.restart();
        host.verify(&bench);
        bench.rest();
    }
    assert_eq!(bench.ftl.boot_error(), None);
}

#[test]
fn flush_and_force_unit_access_leave_the_data_on_flash() {
    let bench = Bench::fresh(config(Content::Full));
    let write = |fua, offset| {
        bench.send(HostOp::Write, offset, 512, fua, vec![7; 512]);
        assert_eq!(bench.wait().0.status, HostStatus::Success);
    };
    write(false, 0);
    assert_eq!(bench.place_of(Lpn(0)), None, "a write completes after its DMA");
    write(true, 8192);
    assert!(bench.place_of(Lpn(1)).is_some());
    assert_eq!(bench.place_of(Lpn(0)), None, "force unit access evicts its own page only");
    write(false, 3 * 8192);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    assert!(bench.place_of(Lpn(0)).is_some() && bench.place_of(Lpn(3)).is_some());
    let programs = bench.ftl.stats().flash_programs.total();
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    assert_eq!(bench.ftl.stats().flash_programs.total(), programs, "nothing was dirty");
}

#[test]
fn small_writes_to_a_page_meet_in_the_data_buffer() {
    let bench = Bench::fresh(config(Content::Full));
    for sector in 0..16 {
        assert_eq!(
            bench.run(HostOp::Write, sector * 512, 512, vec![sector as u8; 512]).0,
            HostStatus::Success
        );
    }
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    let stats = bench.ftl.stats();
    assert_eq!((stats.flash_programs.host, stats.buffer_hits), (1, 15));
    assert_eq!(stats.flash_reads.merge, 0, "a complete page needs no old one");
}

#[test]
fn a_partial_write_of_a_stored_page_reads_the_rest_of_it_once() {
    let bench = Bench::fresh(config(Content::Full));
    for lpn in 0..40 {
        assert_eq!(bench.run(HostOp::Write, lpn * 8192, 8192, vec![1; 8192]).0, HostStatus::Success);
    }
    assert_eq!(bench.run(HostOp::Write, 512, 512, vec![2; 512]).0, HostStatus::Success);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    let of_unit = u64::from(bench.config.unit_bytes() > 512);
    assert_eq!(bench.ftl.stats().flash_reads.merge, of_unit);
    let mut expected = vec![1; 8192];
    expected[512..1024].fill(2);
    assert_eq!(bench.run(HostOp::Read, 0, 8192, vec![0; 8192]).1, expected);
}

#[test]
fn format_forgets_everything() {
    let bench = Bench::fresh(config(Content::Fingerprint));
    let mut host = CheckedHost::new(&bench);
    host.work(&bench, 1_000, 2);
    assert_eq!(bench.run(HostOp::Format { erase: false }, 0, 0, vec![]).0, HostStatus::Success);
    host.versions.fill(0);
    host.verify(&bench);
    assert!((0..bench.ftl.logical_pages()).all(|lpn| bench.place_of(Lpn(lpn)).is_none()));
}

#[test]
fn deallocated_pages_cost_garbage_collection_nothing() {
    let rewrite = |trim: bool| {
        let bench = Bench::fresh(config(Content::Fingerprint));
        let mut host = CheckedHost::new(&bench);
        host.fill(&bench);
        host.finish(&bench);
        let half = host.granules() / 2;
        if trim {
            host.send(&bench, Request { op: Op::Trim, first: half, count: host.granules() - half });
        }
        let count = host.granules_per_page(&bench);
        let mut rng = Rng::new(4);
        for _ in 0..3 * u64::from(bench.ftl.logical_pages()) {
            let first = rng.below(half / count) * count;
            host.send(&bench, Request { op: Op::Write { fua: false }, first, count });
        }
        host.finish(&bench);
        host.verify(&bench);
        bench.ftl.stats().flash_programs.gc
    };
    assert!(4 * rewrite(true) < rewrite(false));
}

/// What DLFEAT promises of Write Zeroes (NVMe 1.4 §5.15.2.1, §6.17).
#[test]
fn write_zeroes_deallocates_whole_pages_and_reads_as_zeroes_over_a_restart() {
    let programmed = |bench: &Bench| {
        let programs = bench.ftl.stats().flash_programs;
        programs.total() - programs.metadata
    };
    for deallocate in [true, false] {
        let bench = Bench::fresh(config(Content::Full));
        let (page, half) = (8192u64, 4096usize);
        assert_eq!(bench.run(HostOp::Write, 0, 8 * page, vec![7; 8 * page as usize]).0, HostStatus::Success);
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let programs = programmed(&bench);
        // Half of page 1, pages 2 to 5, half of page 6.
        let zeroes = HostOp::WriteZeroes { deallocate };
        assert_eq!(bench.run(zeroes, page + page / 2, 5 * page, vec![]).0, HostStatus::Success);
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let written = programmed(&bench) - programs;
        let halves = if bench.config.unit_bytes() > 4096 { 2 } else { 0 };
        assert_eq!(written, halves, "only what keeps a part of a unit is written");
        let mut expected = vec![7; 8 * page as usize];
        expected[8192 + half..6 * 8192 + half].fill(0);
        let read = |bench: &Bench| {
            let before = bench.ftl.stats();
            let (status, data) = bench.run(HostOp::Read, 0, 8 * page, vec![9; 8 * page as usize]);
            assert_eq!((status, data == expected), (HostStatus::Success, true));
            bench.ftl.stats().host_pages_unmapped - before.host_pages_unmapped
        };
        assert_eq!(read(&bench), 4, "deallocated pages");
        assert_eq!(bench.shut_down(), HostStatus::Success);
        assert_eq!(read(&bench.restart()), 4);
    }
}

#[test]
fn overlapping_commands_never_tear_a_logical_block() {
    let bench = Bench::fresh(config(Content::Full));
    let mut rng = Rng::new(6);
    let mut reads = 0;
    for n in 0..3_000u64 {
        while !bench.has_slot() {
            let (completion, data) = bench.wait();
            assert_eq!(completion.status, HostStatus::Success);
            // What was read and what was written alike: each block is of one write.
            for block in data.chunks(512) {
                assert!(block.iter().all(|&b| b == block[0]), "a block is torn");
            }
            reads += 1;
        }
        let (first, count) = (rng.below(64), 1 + rng.below(40));
        let op = if rng.below(2) == 0 { HostOp::Write } else { HostOp::Read };
        let fua = rng.below(4) == 0;
        bench.send(op, first * 512, count * 512, fua, vec![n as u8; count as usize * 512]);
    }
    assert!(reads > 2_000);
}

#[test]
fn a_write_and_its_eviction_can_be_followed() {
    struct Keep(Rc<RefCell<vec::Vec<EventKind>>>);
    impl EventSink for Keep {
        fn event(&mut self, _: Instant, event: &Event) {
            self.0.borrow_mut().push(event.kind());
        }
    }
    let bench = Bench::fresh(config(Content::Full));
    bench.run(HostOp::Read, 8192, 512, vec![0; 512]);
    let kept = Rc::new(RefCell::new(vec![]));
    bench.recorder.attach(Keep(kept.clone()));
    bench.run(HostOp::Write, 0, 512, vec![1; 512]);
    bench.run(HostOp::Flush, 0, 0, vec![]);
    bench.run(HostOp::Read, 0, 512, vec![0; 512]);
    use EventKind::*;
    let moved = [TransferQueued, TransferEnded, SliceEnded, CommandFinished];
    let write = [&[CommandStarted, SliceStarted, BufferMissed], &moved[..]].concat();
    let evicted = [MapUpdated, PageEvicted, SliceEnded, WaitEnded, SliceEnded, CommandFinished];
    let begun = [CommandStarted, SliceStarted, FlashQueued, SliceStarted, WaitStarted];
    let flush = [&begun[..], &evicted].concat();
    let read = [&[CommandStarted, SliceStarted, BufferHit], &moved[..]].concat();
    assert_eq!(*kept.borrow(), [&write[..], &flush, &read].concat());
}

#[test]
fn a_run_is_a_function_of_its_input() {
    let run = || {
        let bench = Bench::fresh(config(Content::Full));
        let mut host = CheckedHost::new(&bench);
        host.work(&bench, 1_000, 42);
        (bench.exec.now(), bench.exec.counts(), bench.ftl.stats())
    };
    assert_eq!(run(), run());
}

#[test]
fn costs_are_charged_to_the_core() {
    let finished_at = |costs| {
        let bench = Bench::fresh(FtlConfig { costs, ..config(Content::Full) });
        bench.run(HostOp::Read, 0, 512, vec![0; 512]);
        let start = bench.exec.now();
        bench.run(HostOp::Write, 0, 512, vec![0; 512]);
        bench.exec.now().since(start).as_nanos()
    };
    // One cycle is a nanosecond; a DMA takes 500 to 4500 of them, the same in each run.
    let none = finished_at(FtlCosts::default());
    let some = FtlCosts {
        command: 10_000,
        slice: 20_000,
        buffer: 5_000,
        dma: 3_000,
        complete: 2_000,
        ..Default::default()
    };
    assert_eq!(finished_at(some) - none, 40_000);
}

#[test]
fn both_assigners_spread_consecutive_pages_over_all_luns() {
    for (assigner, second) in [(Assigner::ChannelFirst, 1), (Assigner::WayFirst, 2)] {
        let by = Decisions { assigner, ..Decisions::default() };
        let bench = Bench::deciding(by, config(Content::Full));
        for lpn in 0..4 {
            assert_eq!(bench.run(HostOp::Write, lpn * 8192, 8192, vec![1; 8192]).0, HostStatus::Success);
        }
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let lun = |lpn| bench.config.geometry.split_ppa(bench.place_of(Lpn(lpn)).unwrap()).0.0;
        assert_eq!((lun(0), lun(1)), (0, second), "{assigner:?}");
        let mut all: vec::Vec<u32> = (0..4).map(lun).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    }
}

#[test]
fn each_wrong_key_is_named() {
    let base = config(Content::Full);
    let key = |config: FtlConfig| match config.validate() {
        Err(ConfigError::Range { key, .. }) => key,
        Err(ConfigError::Capacity { .. }) => "capacity",
        Err(ConfigError::Geometry(error)) => error.field,
        other => panic!("{other:?}"),
    };
    assert_eq!(base.validate(), Ok(()));
    assert_eq!(
        key(FtlConfig { host: HostConfig { buffer_entries: 3, ..base.host }, ..base }),
        "buffer_entries"
    );
    assert_eq!(
        key(FtlConfig { host: HostConfig { slice_workers: 0, ..base.host }, ..base }),
        "slice_workers"
    );
    assert_eq!(
        key(FtlConfig { host: HostConfig { command_slots: 0, ..base.host }, ..base }),
        "command_slots"
    );
    assert_eq!(key(FtlConfig { gc: GcConfig { depth: 17, ..base.gc }, ..base }), "gc_depth");
    assert_eq!(key(FtlConfig { gc: GcConfig { reserve_blocks: 0, ..base.gc }, ..base }), "gc_reserve_blocks");
    assert_eq!(key(FtlConfig { gc: GcConfig { free_blocks: 0, ..base.gc }, ..base }), "gc_free_blocks");
    assert_eq!(
        key(FtlConfig { capacity: Capacity::OverProvisioning(-1.0), ..base }),
        "over_provisioning_percent"
    );
    assert_eq!(key(FtlConfig { capacity: Capacity::OverProvisioning(1.0), ..base }), "capacity");
    assert_eq!(key(FtlConfig { capacity: Capacity::Pages(4 * 72 * 4), ..base }), "capacity");
    let geometry = Geometry { planes: 3, ..base.geometry };
    assert_eq!(key(FtlConfig { geometry, ..base }), "planes");
}

#[test]
fn a_drive_is_not_opened_as_another() {
    let bench = Bench::fresh(config(Content::Full));
    assert_eq!(bench.run(HostOp::Write, 0, 512, vec![1; 512]).0, HostStatus::Success);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let other = FtlConfig { capacity: Capacity::OverProvisioning(30.0), ..bench.config };
    let bench = Bench::power_on(other, bench.cells.clone(), bench.nvram.clone());
    bench.rest();
    assert_eq!(bench.ftl.boot_error(), Some(BootError::OtherDrive));
}

/// Each victim policy that there is.
const POLICIES: &[fn() -> Box<dyn VictimPolicy>] = &[
    || Box::new(Greedy),
    || Box::new(CostBenefit),
    || Box::new(DChoices::new(2, 1)),
    || Box::new(Fifo),
    || Box::new(WindowedGreedy::new(30)),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]
    #[test]
    fn any_configuration_does_as_the_host_expects(
        seed: u64,
        full: bool,
        partial_reads: bool,
        way_first: bool,
        victims in prop::sample::select(POLICIES),
        buffer_entries in 4u32..40,
        slice_workers in 1u16..24,
        gc_depth in 1u8..6,
        gc_free_blocks in 1u32..5,
        percent in 7.0..40.0,
        streams in 1u8..5,
        cycles in 0u64..3000,
        pages_per_word_line in 1u16..5,
        whole_lines: bool,
        checkpoint_pages in prop::option::of(50u32..400),
        program_faults in prop::option::of(2500u64..5000),
    ) {
        let content = if full { Content::Full } else { Content::Fingerprint };
        let pages_of_block = config(content).geometry.pages_per_block;
        let config = FtlConfig {
            host: HostConfig { partial_reads, buffer_entries, slice_workers, ..config(content).host },
            gc: GcConfig {
                depth: gc_depth,
                // With one block in reserve, a program that fails in it ends all writes where the host has
                // no block open either.
                reserve_blocks: if program_faults.is_some() { 2 } else { 1 },
                free_blocks: gc_free_blocks + u32::from(program_faults.is_some()),
                ..config(content).gc
            },
            streams,
            lines: LineConfig {
                pages: pages_per_word_line,
                whole: whole_lines
                    && pages_of_block.is_multiple_of(pages_per_word_line)
                    && u16::from(gc_depth) >= pages_per_word_line,
            },
            checkpoint_pages: checkpoint_pages.unwrap_or(0),
            // Failing blocks need spare ones.
            capacity: Capacity::OverProvisioning(
                if program_faults.is_some() { 60.0 } else { percent } + 6.0 * f64::from(streams - 1),
            ),
            costs: FtlCosts {
                command: cycles,
                slice: cycles,
                translate: cycles / 4,
                buffer: cycles,
                dma: cycles,
                complete: cycles,
                move_page: cycles,
                replay: cycles,
            },
            ..config(content)
        };
        let assigner = if way_first { Assigner::WayFirst } else { Assigner::ChannelFirst };
        let mut bench = Bench::deciding(Decisions { victims, assigner, ..Decisions::default() }, config);
        bench.cells.borrow_mut().faults.program = program_faults.unwrap_or(0);
        let mut host = CheckedHost::new(&bench);
        host.work(&bench, 1_000, seed);
        prop_assert_eq!(bench.shut_down(), HostStatus::Success);
        bench = bench.restart();
        host.work(&bench, 300, !seed);
        host.verify(&bench);
    }
}

/// A line of copies must come out full, or collecting a block of one line gains nothing.
#[test]
fn blocks_of_one_word_line_are_collected_for_good() {
    for victims in POLICIES {
        let config = FtlConfig {
            host: HostConfig {
                partial_reads: false,
                buffer_entries: 4,
                slice_workers: 1,
                ..config(Content::Fingerprint).host
            },
            gc: GcConfig { depth: 4, free_blocks: 2, ..config(Content::Fingerprint).gc },
            lines: LineConfig { pages: 4, whole: true },
            checkpoint_pages: 54,
            capacity: Capacity::OverProvisioning(60.0),
            ..config(Content::Fingerprint)
        };
        let bench = Bench::deciding(Decisions { victims: *victims, ..Decisions::default() }, config);
        let mut host = CheckedHost::new(&bench);
        host.work(&bench, 500, 0);
        host.verify(&bench);
        let stats = bench.ftl.stats();
        assert!(stats.gc_runs < 10 * stats.commands, "{}", bench.dump());
    }
}
