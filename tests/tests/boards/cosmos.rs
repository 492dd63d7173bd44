//! Drives whose firmware is Cosmos+'s: one big loop on one core, and its low-level scheduler (C26–C44).

use aster_device::Media;
use aster_device::big_loop::{LoopStats, OperationKind};
use aster_device::profile::{CellUse, ControllerName, OneShotProfile, Profile, RetryProfile};
use aster_driver::QueueId;
use aster_events::{Event, EventSink, Recorder};
use aster_tests::{as_in_papers, big_loop, cases, drive, job, machine, profile, run, run_with, versioned};
use aster_units::{Content, Instant};
use aster_workload::runner::Contents;
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;

/// Two channels of two ways under the big loop, its costs and buses included.
fn looped(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        p.geometry.luns = 1;
        p.ftl.over_provisioning_percent = 45.0;
        big_loop(p);
        change(p);
    })
}

fn mixed(name: &str, requests: u64, seed: u64) -> Job {
    Job {
        block_sizes: PerDirection::all(BlockSizes::Range { min: 512, max: 40 << 10 }),
        read_percent: 40,
        seed,
        flush_every: 61,
        ..job(name, Access::Random, Mix::ReadWrite, 4096, requests)
    }
}

#[test]
fn a_drive_under_the_big_loop_keeps_every_byte_under_any_controller() {
    for controller in [ControllerName::Asynchronous, ControllerName::Synchronous, ControllerName::Software] {
        let profile = looped(|p| p.channel.controller = controller);
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let pages = drive(&m).bytes / (16 << 10);
        let contents = versioned(&m);
        let rewrite = job("rewrite", Access::Random, Mix::Write, 16 << 10, 3 * pages);
        let trim = Job {
            block_sizes: PerDirection::all(BlockSizes::Range { min: 512, max: 64 << 10 }),
            ..job("trim", Access::Random, Mix::Trim, 4096, 100)
        };
        let read = job("read", Access::Sequential, Mix::Read, 64 << 10, pages / 4);
        run(&m, &[mixed("mixed", cases(1_500, 8_000), 1), rewrite, trim, read], contents);
        let stats = m.device().stats();
        assert!(stats.ftl.gc_runs > 5, "{controller:?}: {:?}", stats.ftl);
        let firmware = stats.big_loop.expect("the firmware is a big loop");
        assert!(firmware.commands > 1_000, "{controller:?}: {firmware:?}");
    }
}

/// Operations as they go through the loop: what happened, and to which operation.
#[derive(Clone, Default)]
struct Operations(Rc<RefCell<Vec<Said>>>);

/// What happened, the operation's kind and its entry.
type Said = (&'static str, u8, u32);

impl EventSink for Operations {
    fn event(&mut self, _: Instant, event: &Event) {
        let said = match *event {
            Event::OperationDelivered { kind, buffer, .. } => ("delivered", kind, buffer),
            Event::OperationIssued { kind, buffer, .. } => ("issued", kind, buffer),
            Event::OperationEnded { kind, buffer, .. } => ("ended", kind, buffer),
            _ => return,
        };
        self.0.borrow_mut().push(said);
    }
}

const RX: u8 = OperationKind::RxDma.code();
const TX: u8 = OperationKind::TxDma.code();
const CHECK: u8 = OperationKind::StatusCheck.code();
const TRIGGER: u8 = OperationKind::ReadTrigger.code();
const WRITE: u8 = OperationKind::Write.code();
const ERASE: u8 = OperationKind::Erase.code();
const TRANSFER: u8 = OperationKind::ReadTransfer.code();

/// A small drive of TLC whose word lines are programmed in one shot (C83).
fn one_shot(change: impl FnOnce(&mut Profile)) -> Profile {
    looped(|p| {
        p.geometry.pages_per_block = 18;
        p.geometry.blocks_per_lun = 48;
        p.package.cells = CellUse::Tlc;
        p.package.read_us = vec![58.0, 78.0, 102.0];
        p.package.program_us = vec![481.0, 1_500.0, 2_295.0];
        p.package.one_shot =
            Some(OneShotProfile { prefixes: [1, 2, 3], load_confirm: 0x1A, program_us: 1_600.0 });
        p.scheduler.one_shot = true;
        p.ftl.gc_depth = 3;
        p.ftl.buffer_entries = 96;
        change(p);
    })
}

/// The number of programs of a drive's arrays, by the time that each took, in microseconds.
#[derive(Clone, Default)]
struct Programs(Rc<RefCell<BTreeMap<u64, u64>>>);

impl EventSink for Programs {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::ArrayBusy { kind: 1, picoseconds, .. } = *event {
            *self.0.borrow_mut().entry(picoseconds / 1_000_000).or_default() += 1;
        }
    }
}

#[test]
fn word_lines_are_programmed_in_one_shot_and_keep_every_byte() {
    for controller in [ControllerName::Asynchronous, ControllerName::Synchronous, ControllerName::Software] {
        let profile = one_shot(|p| {
            p.channel.controller = controller;
            p.package.page_deviation_us = 0.0;
            p.package.die_deviation_us = 0.0;
            p.package.program_failures_per_million = 200;
        });
        let (recorder, programs) = (Recorder::default(), Programs::default());
        recorder.attach(programs.clone());
        let m = machine(&profile, None, Media::fresh(), &recorder);
        let pages = drive(&m).bytes / (16 << 10);
        let contents = versioned(&m);
        let rewrite = job("rewrite", Access::Random, Mix::Write, 16 << 10, 3 * pages);
        let read = job("read", Access::Sequential, Mix::Read, 64 << 10, pages / 4);
        run(&m, &[mixed("mixed", cases(800, 6_000), 1), rewrite, read], contents);
        let stats = m.device().stats();
        assert!(stats.ftl.gc_runs > 5, "{controller:?}: {:?}", stats.ftl);
        // No page is programmed by itself.
        let programs = programs.0.borrow();
        let lines: u64 = programs.iter().filter(|(us, _)| **us == 1_600).map(|(_, n)| n).sum();
        assert_eq!(programs.len(), 1, "{controller:?}: {programs:?}");
        assert_eq!(3 * lines, stats.ftl.flash_programs.total(), "{controller:?}: {:?}", stats.ftl);
        let share = stats.ftl.flash_programs.padding as f64 / stats.ftl.flash_programs.total() as f64;
        assert!(share < 0.25, "{controller:?}: {share} of the pages are padding");
    }
}

/// Figs 13 and 14 through the whole drive (C43): LPN 0 is read, LPNs 1 and 2 are written through to flash,
/// all on one channel. The loop takes one command per pass (Algorithm 1), so steps 2-1 and 2-2 happen for
/// each command.
#[test]
fn figures_13_and_14_come_out_of_a_whole_drive_event_by_event() {
    let profile = looped(|p| {
        p.geometry.channels = 1;
        p.geometry.ways = 4;
        p.ftl.buffer_entries = 4;
        p.package.page_deviation_us = 0.0;
        p.package.die_deviation_us = 0.0;
    });
    let (recorder, seen) = (Recorder::default(), Operations::default());
    let m = machine(&profile, None, Media::fresh(), &recorder);
    let page = 16 << 10;
    let blocks = (page / m.driver().namespace().block_bytes) as u64;
    let write = |lpn: u64, fua| {
        let driver = Rc::clone(m.driver());
        async move { driver.write(QueueId(1), lpn * blocks, &[lpn as u8; 16 << 10], fua).await }
    };
    // LPN 0 is on flash, and other pages have replaced it in the data buffer.
    for lpn in [0, 4, 5, 6, 7] {
        m.block_on("writing", write(lpn, true)).unwrap().unwrap();
    }
    recorder.attach(seen.clone());
    let (one, other, driver) = (write(1, true), write(2, true), Rc::clone(m.driver()));
    let written: Rc<RefCell<Vec<_>>> = Rc::default();
    let read = async move {
        let mut bytes = vec![1; 16 << 10];
        driver.read(QueueId(1), 0, &mut bytes).await.map(|()| bytes)
    };
    let (mine, ended) = (m.host().clone(), Rc::clone(&written));
    let bytes = m.block_on("reading and writing", async move {
        for write in [Box::pin(one) as Pin<Box<dyn Future<Output = _>>>, Box::pin(other)] {
            let ended = Rc::clone(&ended);
            mine.spawn(async move {
                let result = write.await;
                ended.borrow_mut().push(result);
            });
        }
        read.await
    });
    assert!(bytes.unwrap().unwrap().iter().all(|byte| *byte == 0));
    while written.borrow().len() < 2 {
        assert!(m.step(), "the writes end");
    }
    assert!(written.borrow().iter().all(Result::is_ok));
    let seen = seen.0.borrow();
    let entry =
        |kind| seen.iter().filter(move |said| said.0 == "delivered" && said.1 == kind).map(|said| said.2);
    let (a, b) = (entry(TRIGGER).next().unwrap(), entry(RX).collect::<Vec<_>>());
    let of = |entry: u32| -> Vec<_> {
        seen.iter().filter(|said| said.2 == entry).map(|said| (said.0, said.1)).collect()
    };
    // Each set in the order of Fig 10, each operation after the end of the one before it, and one
    // status-check for each array operation.
    assert_eq!(
        of(a),
        [
            ("delivered", TRIGGER),
            ("delivered", TRANSFER),
            ("issued", TRIGGER),
            ("issued", CHECK),
            ("ended", TRIGGER),
            ("issued", TRANSFER),
            ("ended", TRANSFER),
            ("delivered", TX),
            ("issued", TX),
            ("ended", TX),
        ]
    );
    for &entry in &b {
        assert_eq!(
            of(entry),
            [
                ("delivered", RX),
                ("issued", RX),
                ("ended", RX),
                ("delivered", WRITE),
                ("issued", WRITE),
                ("issued", CHECK),
                ("ended", WRITE),
            ]
        );
    }
    // Steps 2-3 to 2-6 among the sets: the writes have been delivered and issued before the read-transfer,
    // which was delivered first; the TxDMA follows.
    let later: Vec<_> = seen
        .iter()
        .filter(|said| {
            matches!((said.0, said.1), ("issued", WRITE | TRANSFER | TX) | ("delivered", WRITE | TX))
        })
        .map(|said| (said.0, said.1))
        .collect();
    let (delivered, issued) = ("delivered", "issued");
    assert_eq!(
        later,
        [
            (delivered, WRITE),
            (issued, WRITE),
            (delivered, WRITE),
            (issued, WRITE),
            (issued, TRANSFER),
            (delivered, TX),
            (issued, TX)
        ]
    );
}

/// The operations that move data from or to a data buffer entry.
#[derive(Default)]
struct Entry {
    under_way: Vec<u8>,
    /// It holds data, and no operation that replaces them has been delivered since.
    filled: bool,
}

/// The entries, by their numbers.
#[derive(Clone, Default)]
struct Order(Rc<RefCell<UnderWay>>);

/// Entries of the data buffer. Higher numbers are the FTL's own buffers.
const ENTRIES: u32 = 24;

#[derive(Default)]
struct UnderWay {
    by_entry: BTreeMap<u32, Entry>,
    operations: u64,
}

impl EventSink for Order {
    fn event(&mut self, at: Instant, event: &Event) {
        let UnderWay { by_entry, operations } = &mut *self.0.borrow_mut();
        match *event {
            Event::OperationDelivered { kind, buffer, .. } => {
                let Entry { under_way, filled } = by_entry.entry(buffer).or_default();
                let may = match kind {
                    // While an entry is filled, nothing else moves its data.
                    RX | TRIGGER => under_way.is_empty(),
                    // Only its trigger is in flight.
                    TRANSFER => under_way[..] == [TRIGGER],
                    // No data.
                    ERASE => true,
                    // The entry has been filled, and may leave by several ways at once. The log's pages are
                    // the firmware's own.
                    _ => {
                        (*filled || (kind == WRITE && buffer >= ENTRIES))
                            && under_way.iter().all(|other| [TX, WRITE].contains(other))
                    }
                };
                assert!(
                    may,
                    "{at}: operation {kind} of entry {buffer} was delivered beside {under_way:?}, filled: \
                     {filled}"
                );
                *filled &= ![RX, TRIGGER].contains(&kind);
                under_way.push(kind);
                *operations += 1;
            }
            Event::OperationEnded { kind, buffer, .. } => {
                let Entry { under_way, filled } = by_entry.get_mut(&buffer).unwrap();
                let place = under_way.iter().position(|other| *other == kind).unwrap();
                under_way.remove(place);
                *filled |= [RX, TRANSFER].contains(&kind);
            }
            _ => {}
        }
    }
}

#[test]
fn no_data_leave_an_entry_before_they_have_come_to_it() {
    let (recorder, order) = (Recorder::default(), Order::default());
    let profile = looped(|p| p.ftl.buffer_entries = ENTRIES);
    let m = machine(&profile, None, Media::fresh(), &recorder);
    recorder.attach(order.clone());
    // Only written pages are read, since an unwritten page is filled without an operation.
    let written = drive(&m).bytes / (64 << 10);
    let contents = run(&m, &[job("fill", Access::Sequential, Mix::Write, 64 << 10, written)], versioned(&m));
    let filled = order.0.borrow().operations;
    // Only whole pages are written: the missing part of a page could be filled while the rest is being
    // evicted.
    let pages = Job {
        block_sizes: PerDirection::all(BlockSizes::Fixed(16 << 10)),
        ..mixed("pages", cases(3_000, 30_000), 3)
    };
    run(&m, &[pages], contents);
    let mixed = order.0.borrow().operations - filled;
    assert!(mixed > 4_000, "{mixed}");
}

#[test]
fn reads_that_cannot_be_corrected_are_repeated_up_to_the_limit_and_then_reported() {
    let spent = |retries| {
        let profile = looped(|p| {
            // Every eighth read of an MSB page, about, has a chunk of 14 wrong bits or more.
            p.package.errors.fresh = 1.25e-3;
            p.scheduler.read_retries = retries;
            p.ftl.refresh_corrected_percent = 0;
        });
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let contents = Contents::unversioned(drive(&m), 1);
        let fill = Job { verify: false, ..job("fill", Access::Sequential, Mix::Write, 64 << 10, 64) };
        let read = Job {
            verify: false,
            size: Some(Extent::Bytes(4 << 20)),
            ..job("read", Access::Random, Mix::Read, 16 << 10, 300)
        };
        let (statistics, _) = run_with(&m, &[fill, read], contents, ());
        (m.device().stats().big_loop.unwrap(), statistics[1].failures)
    };
    // Without disturbance the cells return the same wrong bits again, so each such read uses all its
    // retries.
    let ((none, lost), (some, still)) = (spent(0), spent(4));
    assert!(none.retries == 0 && none.reports > 0 && lost > 0, "{none:?}, {lost} lost");
    assert_eq!((some.retries, some.reports, still), (4 * none.reports, none.reports, lost));
}

/// The last of a read's set (Fig 10) stays with the dependency checker until the read-transfer has been
/// completed, and is never begun if that data can't be corrected (C32, C33).
#[test]
fn a_reads_transfer_to_the_host_is_held_back_behind_its_read_and_given_up_with_it() {
    for fresh in [0.0, 1.25e-3] {
        let profile = looped(|p| {
            p.package.errors.fresh = fresh;
            p.scheduler.read_retries = 0;
            p.ftl.refresh_corrected_percent = 0;
            p.ftl.buffer_entries = 8;
            // Fewer than the reads that fail: each gives back what it holds.
            p.host.dma_requests = Some(16);
        });
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let contents = Contents::unversioned(drive(&m), 1);
        let fill = Job { verify: false, ..job("fill", Access::Sequential, Mix::Write, 64 << 10, 64) };
        let (_, contents) = run_with(&m, &[fill], contents, ());
        let before = m.device().stats().big_loop.unwrap();
        let read = Job {
            verify: false,
            size: Some(Extent::Bytes(4 << 20)),
            ..job("read", Access::Random, Mix::Read, 16 << 10, 600)
        };
        let (statistics, _) = run_with(&m, &[read], contents, ());
        let after = m.device().stats().big_loop.unwrap().since(&before);
        let of = |kind: OperationKind| after.operations[usize::from(kind.code())];
        let (read, failed) = (of(OperationKind::ReadTransfer), statistics[0].failures);
        assert_eq!(failed > 16, fresh > 0.0, "{failed} reads failed");
        assert!(read > 400, "{after:?}");
        // All reads that did not fail. A buffer hit is a set of its own.
        assert_eq!(after.held_back, read - failed, "{after:?}");
        assert_eq!(of(OperationKind::TxDma), 600 - failed, "{after:?}");
    }
}

/// Work for a command after the host has seen it complete (P13) counts for this run, not for the next one.
#[test]
fn a_run_ends_when_the_firmware_is_done_with_the_last_command() {
    for write in [true, false] {
        let m =
            machine(&looped(|p| p.host.auto_completion = true), None, Media::fresh(), &Recorder::default());
        let mix = if write { Mix::Write } else { Mix::Read };
        run(&m, &[job("one", Access::Sequential, mix, 16 << 10, 1)], versioned(&m));
        assert_eq!(m.device().commands_in_flight(), 0, "{mix:?}");
    }
}

/// The results of a fill and random reads on a small drive under the loop.
fn read_back(hours: u32, change: impl FnOnce(&mut Profile)) -> (LoopStats, u64) {
    // Data is not moved, however many of its bits are wrong.
    let still = |p: &mut Profile| {
        p.ftl.refresh_corrected_percent = 0;
        change(p);
    };
    let m = machine(&looped(still), None, Media::fresh(), &Recorder::default());
    let contents = Contents::unversioned(drive(&m), 1);
    let fill = Job { verify: false, ..job("fill", Access::Sequential, Mix::Write, 64 << 10, 64) };
    let (_, contents) = run_with(&m, &[fill], contents, ());
    m.device().nand().set_age_hours(hours).unwrap();
    let read = Job {
        verify: false,
        size: Some(Extent::Bytes(4 << 20)),
        ..job("read", Access::Random, Mix::Read, 16 << 10, 300)
    };
    let (statistics, _) = run_with(&m, &[read], contents, ());
    (m.device().stats().big_loop.unwrap(), statistics[0].failures)
}

/// With read noise each read has other wrong bits, so a page near the code's limit can be corrected sooner
/// or later.
#[test]
fn repeating_a_read_recovers_pages_that_noise_made_too_bad() {
    let spent = |retries, noise| {
        read_back(0, |p| {
            p.package.errors.fresh = 1.25e-3;
            p.package.errors.level_width_mv = 25.0;
            p.package.errors.read_noise_mv = noise;
            p.scheduler.read_retries = retries;
        })
    };
    let (none, lost) = spent(0, 8.0);
    let (some, still) = spent(5, 8.0);
    assert!(none.recovered == 0 && none.reports > 20, "{none:?}, {lost} lost");
    assert!(some.recovered > none.reports / 2 && still < lost / 2, "{some:?}, {still} of {lost} lost");
    let (silent, _) = spent(5, 0.0);
    assert!(silent.recovered == 0 && silent.reports > 0, "{silent:?}");
}

/// Cells that have lost charge for half a year are read at the wrong level at first; a row of the table
/// further down has the right one (C39). Afterwards the way reads at the first row again, as fresh data need
/// it.
#[test]
fn read_retry_goes_down_the_levels_and_sets_them_back() {
    let aged = |levels: &[i16]| {
        read_back(4_000, |p| {
            let e = &mut p.package.errors;
            (e.fresh, e.retention_shift_mv, e.level_width_mv) = (8e-4, 10.0, 25.0);
            p.package.retry =
                (!levels.is_empty()).then(|| RetryProfile { feature: 0x89, levels_mv: levels.to_vec() });
        })
    };
    let ((without, lost), (with, still)) = (aged(&[]), aged(&[0, -40, -80]));
    assert!(without.recovered == 0 && lost > 200, "{without:?}, {lost} lost");
    assert!(with.recovered > 200 && still == 0, "{with:?}, {still} lost");
    // Each read begins at the first row: with two repetitions, a level for either and the first row again.
    let set = with.operations[usize::from(OperationKind::SetLevel.code())];
    assert!(with.retries <= 2 * with.recovered && set == with.retries + with.recovered, "{with:?}");
}

#[test]
fn a_way_that_never_becomes_ready_is_given_up_and_told() {
    let profile = looped(|_| ());
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let contents = Contents::unversioned(drive(&m), 1);
    let fill = Job { verify: false, ..job("fill", Access::Sequential, Mix::Write, 64 << 10, 64) };
    let (_, contents) = run_with(&m, &[fill], contents, ());
    m.device().nand().force_busy(aster_units::LunIndex(0), true);
    let read = Job {
        verify: false,
        size: Some(Extent::Bytes(4 << 20)),
        ..job("read", Access::Sequential, Mix::Read, 64 << 10, 8)
    };
    let (statistics, _) = run_with(&m, &[read], contents, ());
    assert!(statistics[0].failures > 0 && statistics[0].failures <= 8, "{}", statistics[0].failures);
}

/// C22: four channels share a key equation solver of the board's speed without losing throughput. They
/// lose some if it is slower and nearly every chunk is damaged.
#[test]
fn a_shared_key_equation_solver_costs_next_to_nothing_at_the_usual_error_rate() {
    let took = |channels, fresh, solver_ns| {
        let profile = profile("cosmos-board", |p| {
            p.restrict.blocks_per_lun = Some(40);
            p.restrict.ways = Some(2);
            p.package.factory_bad_per_mille = 0;
            p.package.errors.fresh = fresh;
            p.ecc.solver_channels = channels;
            p.ecc.solver_ns = solver_ns;
        });
        let m = machine(&profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
        let contents = Contents::unversioned(drive(&m), 1);
        let size = Some(Extent::Bytes(32 << 20));
        let work =
            |name, mix| Job { verify: false, size, ..job(name, Access::Sequential, mix, 128 << 10, 256) };
        let (statistics, _) =
            run_with(&m, &[work("fill", Mix::Write), work("read", Mix::Read)], contents, ());
        assert_eq!(statistics[1].failures, 0);
        statistics[1].measured().as_secs_f64()
    };
    let shipped = profile("cosmos-board", |_| {});
    let (usual, board) = (shipped.package.errors.fresh, shipped.ecc.solver_ns);
    assert_eq!((shipped.ecc.solver_channels, board), (4, 280));
    let cost = |fresh, solver_ns| took(4, fresh, solver_ns) / took(1, fresh, solver_ns) - 1.0;
    assert!(cost(usual, board) < 0.005, "{}", cost(usual, board));
    // Some 50 chunks of a page's 64, of four channels: more than such a solver does while the pages are read.
    assert!(cost(5e-4, 2_000) > 0.1, "{}", cost(5e-4, 2_000));
}

/// Host DMA operations in the engine's hands, and the most at once.
#[derive(Clone, Default)]
struct Transfers(Rc<RefCell<(u32, u32)>>);

impl EventSink for Transfers {
    fn event(&mut self, _: Instant, event: &Event) {
        let (now, most) = &mut *self.0.borrow_mut();
        match *event {
            Event::OperationIssued { kind: RX | TX, .. } => *now += 1,
            Event::OperationEnded { kind: RX | TX, .. } => *now -= 1,
            _ => return,
        }
        *most = (*most).max(*now);
    }
}

/// C42, P13: host DMA waits in the reservation station for room in the engine's queue.
#[test]
fn the_issuer_gives_the_host_dma_engine_no_more_than_its_queue_holds() {
    let most = |units| {
        let profile = looped(|p| {
            p.host.dma_requests = Some(units);
            p.host.dma_ns = 20_000;
        });
        let (recorder, transfers) = (Recorder::default(), Transfers::default());
        let m = machine(&profile, None, Media::fresh(), &recorder);
        recorder.attach(transfers.clone());
        let work = job("pages", Access::Sequential, Mix::Write, 64 << 10, 64);
        run(&m, &[work], versioned(&m));
        let (_, most) = *transfers.0.borrow();
        most
    };
    assert_eq!(most(8), 2, "two pages of four units each");
    assert!(most(256) > 4);
    assert_eq!(profile("cosmos-board", |_| ()).host.dma_requests, Some(256));
}

/// Mean latencies of the operations of pages that are read or written one at a time, by kind, and of their
/// commands, in microseconds, if the end of an operation costs the firmware `finish` cycles.
fn latencies(mix: Mix, finish: u64) -> ([f64; OperationKind::ALL.len()], f64) {
    let profile = looped(|p| {
        p.costs.loop_finish = finish;
        p.cores.frequency_mhz = 1_000.0;
        p.package.page_deviation_us = 0.0;
        p.package.die_deviation_us = 0.0;
    });
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let pages = 4 * u64::from(profile.ftl.buffer_entries);
    let contents = Contents::unversioned(drive(&m), 1);
    let work = |name, mix| Job {
        verify: false,
        size: Some(Extent::Bytes(pages << 14)),
        queue_depth: 1,
        ..job(name, Access::Sequential, mix, 16 << 10, pages)
    };
    let (_, contents) = run_with(&m, &[work("fill", Mix::Write)], contents, ());
    let before = m.device().stats().big_loop.unwrap();
    run_with(&m, &[work("measured", mix)], contents, ());
    let spent = m.device().stats().big_loop.unwrap().since(&before);
    let mean = |kind: &OperationKind| {
        let at = usize::from(kind.code());
        spent.operation_time[at].as_secs_f64() * 1e6 / spent.operations[at].max(1) as f64
    };
    let kinds = OperationKind::ALL.each_ref().map(mean);
    (kinds, spent.system.as_secs_f64() * 1e6 / spent.commands as f64)
}

/// C66: the firmware's work on an operation's end counts as the firmware's time in both directions and
/// never as the controllers'. After the last of a command's data has moved, which completes the command,
/// it doesn't count at all.
#[test]
fn an_operations_end_is_sensed_before_anything_is_done_about_it_in_both_directions() {
    use OperationKind::{ReadTransfer, ReadTrigger, RxDma, TxDma, Write};
    let each = 50.0;
    for (mix, kinds) in
        [(Mix::Read, &[ReadTrigger, ReadTransfer, TxDma][..]), (Mix::Write, &[Write, RxDma][..])]
    {
        let ((quick, system), (slow, later)) = (latencies(mix, 0), latencies(mix, 50_000));
        for kind in kinds {
            let at = usize::from(kind.code());
            assert!(quick[at] > 1.0 && (slow[at] - quick[at]).abs() < 5.0, "{kind:?}: {quick:?} {slow:?}");
        }
        // The point in a pass at which an end is found changes each number a little.
        let ends = (later - system) / each;
        assert!((ends - (kinds.len() - 1) as f64).abs() < 0.4, "{mix:?}: {system} and {later} µs");
    }
}
