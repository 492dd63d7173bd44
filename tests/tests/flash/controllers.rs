//! Channel controllers on a bench: whether reads return what was written, the order in which they use the
//! bus, and how close they come to the bus's limit.

use aster_device::control::{Answer, ControlWord, SegmentKind};
use aster_device::profile::{ControllerName, Profile};
use aster_device::units::{
    BlockAddr, BufferId, Column, Content, Duration, Instant, LunIndex, PageInBlock, Rng, RowAddr, SectorRange,
};
use aster_events::Recorder;
use aster_ports::channel::BusTap;
use aster_ports::flash::{FlashError, FlashOp, FlashRequest, FlashStatus, Outcome, Target};
use aster_ports::package::BurstTiming;
use aster_run_bench::{Bench, BenchOperation, BenchWork, Pattern, WorkKind, set_rate};
use aster_tests::{cases, profile};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

const ALL: [ControllerName; 3] =
    [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous];

fn bench(profile: &Profile, luns: u8, depth: u16, content: Content) -> Bench {
    Bench::power_on(profile, luns, depth, Some(content), &Recorder::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run_until_idle(bench: &Bench) {
    while let Some(next) = bench.exec().next_deadline() {
        bench.exec().advance_to(next);
    }
}

fn work(operation: BenchOperation, requests: u64) -> BenchWork {
    BenchWork { operation, pattern: Pattern::Sequential, requests, time: None, sectors: None, seed: 1 }
}

// ---- reads return what was written ----

/// The expected content of one LUN.
struct LunContents {
    lun: LunIndex,
    behind: u8,
    /// The salt of each programmed page's bytes.
    pages: BTreeMap<(u32, u16), u64>,
    /// The next page to program of each block.
    next: BTreeMap<u32, u16>,
    rng: Rng,
}

const BLOCKS: u64 = 4;

fn fill(bench: &Bench, buffer: BufferId, salt: u64) {
    let mut dram = bench.dram().borrow_mut();
    let (page, oob) = dram.page_and_oob_mut(buffer);
    let mut rng = Rng::new(salt);
    page.iter_mut().chain(oob).for_each(|byte| *byte = rng.next_u64() as u8);
}

/// Whether the buffer's `sectors` and OOB are those of the page made from `salt`; erased pages are all ones.
fn holds(bench: &Bench, buffer: BufferId, sectors: SectorRange, salt: Option<u64>) -> bool {
    let dram = bench.dram().borrow();
    let (page, oob) = dram.page_and_oob(buffer);
    let mut rng = salt.map(Rng::new);
    let mut expected = || rng.as_mut().map_or(0xff, |rng| rng.next_u64() as u8);
    let bytes = |sector: u8| usize::from(sector) * 4096;
    let inside = bytes(sectors.first)..bytes(sectors.end());
    let page_holds = page.iter().enumerate().fold(true, |right, (i, &byte)| {
        let wanted = expected();
        right && (!inside.contains(&i) || byte == wanted)
    });
    page_holds && oob.iter().all(|&byte| byte == expected())
}

fn done(outcome: Outcome) {
    assert_eq!(outcome.status, FlashStatus::Done);
}

impl LunContents {
    fn row(&self, bench: &Bench, block: u32, page: u16) -> RowAddr {
        bench.geometry().row(self.behind, BlockAddr(block), PageInBlock(page))
    }

    /// One request of any kind, checked.
    async fn step(&mut self, bench: &Bench, buffer: BufferId) {
        let g = *bench.geometry();
        let (block, page) =
            (self.rng.below(BLOCKS) as u32, self.rng.below(u64::from(g.pages_per_block)) as u16);
        let whole = SectorRange::whole(g.sectors_per_page());
        let first = self.rng.below(u64::from(whole.count)) as u8;
        let part = SectorRange { first, count: 1 + self.rng.below(u64::from(whole.count - first)) as u8 };
        let at = self.row(bench, block, page);
        let call = async |phase, row, sectors| {
            let target = Target { row, sectors, buffer };
            bench.requests().call(FlashRequest::single(phase, self.lun, target)).await[0]
        };
        match self.rng.below(16) {
            0 => {
                done(call(FlashOp::Erase, at, whole).await);
                self.pages.retain(|&(b, _), _| b != block);
                self.next.remove(&block);
            }
            1 => done(call(FlashOp::Status, at, whole).await),
            2..8 => {
                let page = self.next.get(&block).copied().unwrap_or(0);
                if page == g.pages_per_block {
                    return;
                }
                let salt = self.rng.next_u64();
                fill(bench, buffer, salt);
                done(call(FlashOp::Program, self.row(bench, block, page), whole).await);
                self.pages.insert((block, page), salt);
                self.next.insert(block, page + 1);
            }
            choice => {
                let outcome = if choice < 12 {
                    call(FlashOp::Read, at, part).await
                } else {
                    done(call(FlashOp::Trigger, at, part).await);
                    call(FlashOp::Transfer, at, part).await
                };
                done(outcome);
                let salt = self.pages.get(&(block, page)).copied();
                assert_eq!(outcome.erased, salt.is_none(), "block {block} page {page}");
                assert!(holds(bench, buffer, part, salt), "block {block} page {page} {part:?}");
            }
        }
    }
}

#[test]
fn each_controller_brings_what_was_written_with_all_luns_at_work() {
    // Two LUNs behind each of three chip enables; bits flip and are corrected.
    for seed in 0..cases(3, 60) {
        let mut answers = Vec::new();
        for controller in ALL {
            let profile = profile("tiny", |p| {
                p.seed = seed;
                p.channel.controller = controller;
                p.package.errors.fresh = 1e-4;
                p.package.factory_bad_per_mille = 0;
            });
            let bench = Rc::new(bench(&profile, 6, 6, Content::Full));
            let steps = Rc::new(Cell::new(0));
            for lun in 0..6 {
                let (bench, steps) = (Rc::clone(&bench), Rc::clone(&steps));
                let mut contents = LunContents {
                    lun: LunIndex(lun),
                    behind: (lun / 3) as u8,
                    pages: BTreeMap::new(),
                    next: BTreeMap::new(),
                    rng: Rng::new(seed << 8 | u64::from(lun)),
                };
                let exec = bench.exec().clone();
                exec.spawn(async move {
                    for _ in 0..60 {
                        contents.step(&bench, BufferId(lun)).await;
                        steps.set(steps.get() + 1);
                    }
                });
            }
            run_until_idle(&bench);
            assert_eq!(steps.get(), 6 * 60, "{controller:?} with seed {seed} got stuck");
            assert!(bench.requests().faults().is_empty(), "{:?}", bench.requests().faults());
            answers.push(bench.nand().totals_of_drive());
            bench.exec().shut_down();
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "the cells saw the same: {answers:?}");
    }
}

#[test]
fn each_controller_reports_the_same_errors() {
    let mut reports = Vec::new();
    for controller in ALL {
        let profile = profile("tiny", |p| {
            p.channel.controller = controller;
            p.geometry.luns = 1;
            p.poll.patience = 2;
            p.package.factory_bad_per_mille = 0;
        });
        let bench = Rc::new(bench(&profile, 2, 4, Content::Full));
        bench.nand().fail_next_program(LunIndex(1));
        let answers = Rc::new(RefCell::new(Vec::new()));
        let (b, a) = (Rc::clone(&bench), Rc::clone(&answers));
        bench.exec().spawn(async move {
            let call = async |phase, lun, block, raw, slc| {
                let row = b.geometry().row(0, BlockAddr(block), PageInBlock(0));
                let target = Target { row, sectors: SectorRange::whole(4), buffer: BufferId(0) };
                let mut request = FlashRequest::single(phase, LunIndex(lun), target);
                (request.flags.raw, request.flags.slc) = (raw, slc);
                let outcomes = b.requests().call(request).await;
                a.borrow_mut().push(outcomes[0].status);
            };
            // Requests that fail by FAIL of the array, by an address outside of it, by an unsupported
            // operation and by a LUN that stays busy; then one that succeeds.
            call(FlashOp::Program, 1, 0, false, false).await;
            call(FlashOp::Read, 1, 4_000, false, false).await;
            call(FlashOp::Program, 1, 1, true, false).await;
            call(FlashOp::Read, 1, 1, false, true).await;
            b.nand().force_busy(LunIndex(0), true);
            call(FlashOp::Erase, 0, 1, false, false).await;
            call(FlashOp::Read, 1, 0, true, false).await;
            call(FlashOp::Read, 1, 1, false, false).await;
        });
        run_until_idle(&bench);
        let faults: Vec<_> = bench
            .requests()
            .faults()
            .into_iter()
            .map(|(lun, error)| match error {
                // The time depends on the controller; the result doesn't.
                FlashError::Transaction(fault) => (lun, format!("{} {}", fault.name, fault.error)),
                FlashError::NeverReady { transaction, row, .. } => {
                    (lun, format!("{transaction} busy with {row:?}"))
                }
                FlashError::Unsupported { operation, .. } => (lun, format!("no {operation}")),
            })
            .collect();
        let found = (answers.borrow().clone(), faults);
        assert_eq!(found.0.len(), 7, "{controller:?}: every request is answered");
        reports.push(found);
        bench.exec().shut_down();
    }
    use FlashStatus::{Done, Error, Failed};
    assert_eq!(reports[0].0, [Failed, Error, Error, Error, Error, Done, Done]);
    assert_eq!(reports[0].1.len(), 4, "{:?}", reports[0].1);
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}

/// Each error that a custom operation may cause. The next operation on the same LUN must work.
#[test]
fn an_operation_that_goes_wrong_names_transaction_and_time_and_leaves_the_channel_usable() {
    use aster_device::plug::{FlashError, onfi, operations};
    use aster_ports::channel::TxnError;
    use aster_ports::package::ProtocolError;
    let profile = profile("tiny", |p| p.package.factory_bad_per_mille = 0);
    let bench = bench(&profile, 2, 4, Content::Full);
    let row = bench.geometry().row(0, BlockAddr(2), PageInBlock(0));
    // A different block from that of the last erase, which is cut off.
    let other = bench.geometry().row(0, BlockAddr(4), PageInBlock(0));
    let works = || {
        let read = bench.operate(0, move |lun| async move {
            operations::read_page(&lun, other, SectorRange::whole(4), BufferId(0)).await
        });
        let report = read.unwrap_or_else(|error| panic!("{error}"));
        assert!(report.erased, "{report:?}");
    };
    let raw = bench.geometry().raw_page_bytes();
    let at = bench.now();
    let too_long = bench.operate(0, move |lun| async move {
        operations::read_raw(&lun, row, Column(0), raw + 2, BufferId(0), 0).await
    });
    let Err(FlashError::Transaction(fault)) = too_long else { panic!("{too_long:?}") };
    assert_eq!((fault.name, fault.error), ("read raw", TxnError::Length { bytes: raw + 2 }));
    assert!(fault.at > at && fault.at <= bench.now());
    works();
    let illegal = bench.operate(0, |lun| async move {
        let mut txn = lun.txn("confirm of nothing");
        txn.cmd(onfi::command::PROGRAM_CONFIRM);
        lun.issue(txn).finished().await
    });
    let fault = illegal.unwrap_err();
    assert_eq!(fault.name, "confirm of nothing");
    assert!(matches!(fault.error, TxnError::Protocol(ProtocolError::UnexpectedCommand { .. })), "{fault}");
    works();
    bench.nand().force_busy(LunIndex(0), true);
    let stuck = bench.operate(0, move |lun| async move { operations::erase_block(&lun, row).await });
    let Err(FlashError::NeverReady { transaction: "erase", row: of, at }) = stuck else {
        panic!("{stuck:?}")
    };
    assert_eq!((of, at), (row, bench.now()));
    bench.nand().force_busy(LunIndex(0), false);
    let reset = bench.operate(0, |lun| async move { operations::synchronous_reset(&lun).await });
    assert!(reset.is_ok(), "{reset:?}");
    works();
}

// ---- on the bus ----

#[derive(Clone, Default)]
struct Order(Rc<RefCell<Vec<(u32, &'static str)>>>, Rc<Cell<&'static str>>);

impl BusTap for Order {
    fn transaction(&mut self, _: Instant, _: Instant, name: &'static str) {
        self.1.set(name);
    }
    fn chips(&mut self, _: Instant, chips: u32) {
        if chips != 0 {
            self.0.borrow_mut().push((chips.trailing_zeros(), self.1.get()));
        }
    }
    fn latch(&mut self, _: Instant, _: Instant, _: aster_txn::Latch) {}
    fn burst(&mut self, _: BurstTiming, _: bool, _: &[u8]) {}
    fn ready(&mut self, _: Instant, _: usize, _: bool) {}
}

/// READs of LUNs 2, 0, 1 and 2 again, requested at once. The array takes 50 µs, a transfer about 90.
fn order_of_four_reads(controller: ControllerName) -> Vec<(u32, &'static str)> {
    let profile = profile("ideal", |p| {
        p.channel.controller = controller;
        p.channel.timing_mode = 4;
    });
    let bench = bench(&profile, 3, 4, Content::Fingerprint);
    let order = Order::default();
    bench.set_tap(Some(Box::new(order.clone())));
    for (buffer, lun) in [2, 0, 1, 2].into_iter().enumerate() {
        let target =
            Target { row: RowAddr(0), sectors: SectorRange::whole(4), buffer: BufferId(buffer as u32) };
        let request = FlashRequest::single(FlashOp::Read, LunIndex(lun), target);
        bench.requests().submit(request).expect("there is room");
    }
    run_until_idle(&bench);
    order.0.take()
}

const READ: &str = "read";
const STATUS: &str = "read status";
const TRANSFER: &str = "read transfer";

#[test]
fn the_synchronous_arbiter_goes_round_the_luns_segment_by_segment() {
    // Derived by hand. All three modules request the channel when it is first granted, in turn from LUN 0
    // on. LUN 0's status is checked first, 50 µs after its start, and LUN 0 has the bus before LUN 1's
    // check is due. During its transfer both others request their checks; the arbiter continues in turn
    // and grants LUN 2's check before LUN 1 has seen its own status. LUN 2's second read comes last.
    assert_eq!(
        order_of_four_reads(ControllerName::Synchronous),
        [
            (0, READ),
            (1, READ),
            (2, READ),
            (0, STATUS),
            (0, TRANSFER),
            (1, STATUS),
            (2, STATUS),
            (1, TRANSFER),
            (2, TRANSFER),
            (2, READ),
            (2, STATUS),
            (2, TRANSFER),
        ]
    );
}

#[test]
fn the_dispatcher_keeps_the_order_of_control_words_but_starts_arrays_first() {
    // Derived by hand, from 20 ns on: a start takes 420 ns with the controller's waits, and 30 ns pass
    // between two. LUN 2's check, requested at 50.44 µs, takes as long and ends 10 ns before LUN 0's is
    // requested at 50.89 µs: LUN 2's transfer has the bus, and the checks of LUN 0 and LUN 1 queue. LUN
    // 2's second read is of high priority and overtakes both. LUN 0's transfer, requested after its check,
    // comes after LUN 1's check, and LUN 2's second check after LUN 1's transfer.
    assert_eq!(
        order_of_four_reads(ControllerName::Asynchronous),
        [
            (2, READ),
            (0, READ),
            (1, READ),
            (2, STATUS),
            (2, TRANSFER),
            (2, READ),
            (0, STATUS),
            (1, STATUS),
            (0, TRANSFER),
            (1, TRANSFER),
            (2, STATUS),
            (2, TRANSFER),
        ]
    );
}

#[test]
fn administrative_words_are_answered_without_the_driver() {
    let profile = profile("ideal", |p| p.channel.controller = ControllerName::Asynchronous);
    let bench = bench(&profile, 4, 4, Content::Fingerprint);
    let idle = Answer::QueueCounts { high: 0, normal: 0 };
    assert_eq!(bench.ask(&ControlWord::QueueCounts), idle);
    for lun in 0..4 {
        let target = Target { row: RowAddr(0), sectors: SectorRange::whole(4), buffer: BufferId(lun) };
        bench
            .requests()
            .submit(FlashRequest::single(FlashOp::Read, LunIndex(lun), target))
            .expect("there is room");
    }
    let transactions = bench.stats().transactions;
    // At this instant all four words arrive; the driver takes the first.
    bench.exec().advance_to(bench.now());
    assert_eq!(bench.ask(&ControlWord::QueueCounts), Answer::QueueCounts { high: 3, normal: 0 });
    assert_eq!(bench.stats().transactions, transactions, "a transaction counts at its end");
    run_until_idle(&bench);
    assert_eq!(bench.ask(&ControlWord::QueueCounts), idle);
    let Answer::Statistics(counts) = bench.ask(&ControlWord::Statistics) else { panic!("nobody counts") };
    assert_eq!((counts.of(SegmentKind::Trigger), counts.of(SegmentKind::Transfer)), (4, 4));
}

// ---- as fast as the bus allows ----

/// Share of the derived bus limit that a controller reaches with 8 LUNs, sequential.
fn share_of_the_bus(controller: ControllerName, operation: BenchOperation) -> f64 {
    let profile = profile("cosmos-plus", |p| p.channel.controller = controller);
    let bench = bench(&profile, 8, 32, Content::Fingerprint);
    let work = work(operation, 4_000);
    let (mut operations, mut wrong) = (0u64, 0u64);
    let prepared = bench.prepare(&work, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    let ran = bench.run(prepared, &mut |sample| {
        operations += 1;
        wrong += u64::from(sample.status != FlashStatus::Done || !sample.right);
        true
    });
    assert_eq!((operations, wrong), (4_000, 0), "{controller:?}");
    let bus = bench.limits(&work).bus.expect("reads move bytes");
    operations as f64 / ran.simulated.as_secs_f64() / bus
}

#[test]
fn each_controller_reaches_97_percent_of_the_bus_at_8_luns() {
    for controller in ALL {
        let share = share_of_the_bus(controller, BenchOperation::Read);
        assert!((0.97..1.0).contains(&share), "{controller:?}: {share:.4}");
    }
}

#[test]
fn two_luns_work_while_the_other_moves_its_page() {
    // A LUN starts its next read before the other's transfer, not after it: each is 50 µs in its array and 90
    // on the bus.
    for controller in ALL {
        let profile = profile("ideal", |p| {
            p.channel.controller = controller;
            p.channel.timing_mode = 4;
        });
        let bench = bench(&profile, 2, 8, Content::Fingerprint);
        let work = work(BenchOperation::Read, 400);
        let prepared = bench.prepare(&work, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
        let ran = bench.run(prepared, &mut |_| true);
        let share = 400.0 / ran.simulated.as_secs_f64() / bench.limits(&work).least();
        assert!(share > 0.95, "{controller:?}: {share:.3}");
    }
}

/// A bench carries out whatever it doesn't refuse: every operation and pattern on every controller, with
/// every read checked.
#[test]
fn each_operation_and_pattern_runs_over_each_controller_without_a_wrong_page() {
    for controller in ALL {
        for operation in
            [BenchOperation::Read, BenchOperation::Program, BenchOperation::Erase, BenchOperation::Mixed]
        {
            for pattern in [Pattern::Sequential, Pattern::Random] {
                let profile = profile("tiny", |p| p.channel.controller = controller);
                let bench = bench(&profile, 4, 7, Content::Full);
                // Programs fill the tiny LUNs several times, and erase blocks before they reuse them.
                let work = BenchWork { pattern, sectors: Some(2), ..work(operation, 3_000) };
                let (mut asked, mut erases) = (0, 0);
                let prepared = bench.prepare(&work, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
                let ran = bench.run(prepared, &mut |sample| {
                    assert!(sample.right && sample.status == FlashStatus::Done, "{operation:?} {sample:?}");
                    match sample.kind {
                        WorkKind::Erase if operation != BenchOperation::Erase => erases += 1,
                        _ => asked += 1,
                    }
                    true
                });
                assert_eq!((asked, ran.channel.failed), (3_000, 0));
                assert_eq!(erases > 0, matches!(operation, BenchOperation::Program | BenchOperation::Mixed));
                let reached = 3_000.0 / ran.simulated.as_secs_f64();
                assert!(
                    reached < bench.limits(&work).least() * 1.1,
                    "{controller:?} {operation:?} {pattern:?}"
                );
            }
        }
    }
}

#[test]
fn a_bench_stops_when_it_is_told_to_or_its_time_is_up() {
    let profile = profile("ideal", |_| {});
    let bench = bench(&profile, 2, 4, Content::Fingerprint);
    let forever = BenchWork { requests: u64::MAX, ..work(BenchOperation::Erase, 0) };
    let mut seen = 0;
    let prepared = bench.prepare(&forever, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    bench.run(prepared, &mut |_| {
        seen += 1;
        seen < 10
    });
    assert!((10..=14).contains(&seen), "{seen}");
    let timed = BenchWork { time: Some(Duration::from_millis(30)), ..forever };
    let prepared = bench.prepare(&timed, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    let ran = bench.run(prepared, &mut |_| true);
    assert!(ran.simulated >= Duration::from_millis(30) && ran.simulated < Duration::from_millis(40));
}

#[test]
fn a_bench_that_can_not_be_is_refused_in_words() {
    let refused = |change: fn(&mut Profile), luns, depth| {
        let profile = profile("tiny", change);
        match Bench::power_on(&profile, luns, depth, None, &Recorder::default()) {
            Ok(bench) => bench
                .prepare(&work(BenchOperation::Read, 1), &mut |_| true)
                .err()
                .expect("an error")
                .to_string(),
            Err(error) => error.to_string(),
        }
    };
    let few_blocks = |p: &mut Profile| {
        p.geometry.planes = 1;
        p.geometry.blocks_per_lun = 2;
    };
    assert!(refused(|_| {}, 3, 4).contains("must be a multiple of 2"));
    assert!(refused(|_| {}, 0, 4).contains("must be a multiple of 2"));
    assert!(refused(|_| {}, 64, 4).contains("ways must be from 1 to 16"));
    assert!(refused(|_| {}, 2, 0).contains("must be from 1 to 1024"));
    assert!(refused(few_blocks, 2, 4).contains("good blocks"));
    let mut p = profile("tiny", |_| {});
    assert!(set_rate(&mut p, 5_000).unwrap_err().to_string().contains("no timing mode"));
}

#[test]
fn a_rate_slows_the_bus_down_or_takes_a_faster_mode() {
    for rate in [100, 200, 400] {
        let mut profile = profile("tiny", |p| p.geometry.luns = 1);
        set_rate(&mut profile, rate).unwrap_or_else(|e| panic!("{e}"));
        let bench = bench(&profile, 1, 1, Content::Fingerprint);
        assert_eq!(bench.transfers_per_second(), f64::from(rate) * 1e6);
    }
}
