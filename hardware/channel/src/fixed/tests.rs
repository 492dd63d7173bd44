//! Tests of the parts of the fixed controllers. Whole controllers are tested on a bench
//! (`tests/tests/flash/controllers.rs`).

use super::config::FixedConfig;
use super::module::{Module, Next};
use super::synchronous::RoundRobin;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_parties::{Segment, SegmentKind};
use aster_ports::channel::{FrameReport, TxnError, TxnFault, TxnResult};
use aster_ports::cores::Interrupt;
use aster_ports::flash::{
    Feature, FlashError, FlashOp, FlashPort, FlashRequest, FlashStatus, Outcomes, Target,
};
use aster_ports::layout::{PageLayout, Placement};
use aster_units::*;
use aster_wire::onfi::command_set::OneShot;

const US: Duration = Duration::from_micros(1);

fn config() -> FixedConfig {
    let geometry = Geometry {
        channels: 1,
        ways: 1,
        luns: 1,
        planes: 1,
        blocks_per_lun: 8,
        pages_per_block: 16,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };
    FixedConfig {
        layout: PageLayout::new(4, 18_048, 256, 21, 16, Placement::Interleaved).unwrap(),
        geometry,
        cells: CellMode::Mlc,
        t_r: [US * 58, US * 90, US * 90],
        t_prog: [US * 481, US * 2_295, US * 2_295],
        t_bers: US * 5_000,
        t_rst: US * 5,
        one_shot: None,
        t_one_shot: US * 1_600,
        scramble: true,
        clock_period: Duration::from_nanos(10),
        poll_interval: Duration::from_nanos(1_004),
        poll_early: US * 8,
        patience: 2,
        polled: false,
        multi_plane: false,
    }
}

fn at(us: u64) -> Instant {
    Instant::ZERO + US * us
}

/// A module under test with its port, which makes the tags.
struct Bench {
    port: Rc<FlashPort>,
    module: Module,
    config: FixedConfig,
    faults: Vec<FlashError>,
}

impl Bench {
    fn new() -> Self {
        let port = FlashPort::new(&Exec::new(), 1, 4, Interrupt::default());
        Bench { port, module: Module::new(), config: config(), faults: Vec::new() }
    }
    fn begin(&mut self, request: FlashRequest) -> Next {
        let tag = self.port.submit(request).unwrap();
        self.module.begin(tag, request, &self.config, at(0), &mut |e| self.faults.push(e))
    }
    fn ended(&mut self, us: u64, status: u8, frame: FrameReport) -> Next {
        let result = TxnResult { over: at(us), finished: at(us), mailbox: u64::from(status), frame };
        self.module.ended(Ok(result), &self.config, at(us), &mut |e| self.faults.push(e))
    }
    fn status(&mut self, us: u64, status: u8) -> Next {
        self.ended(us, status, FrameReport::default())
    }
    /// The results of the request that ends with `step`.
    #[track_caller]
    fn finished(&mut self, step: impl FnOnce(&mut Self) -> Next) -> Outcomes {
        match step(self) {
            Next::Finished(..) => *self.module.outcomes(),
            other => panic!("{other:?} instead of the end"),
        }
    }
}

fn request(phase: FlashOp, rows: &[u32]) -> FlashRequest {
    let target =
        |&row: &u32| Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer: BufferId(0) };
    let targets: Vec<Target> = rows.iter().map(target).collect();
    FlashRequest::vector(phase, LunIndex(0), &targets).unwrap()
}

#[track_caller]
fn sent(next: Next) -> (SegmentKind, Duration) {
    match next {
        Next::Send(segment, linger) => (segment.kind, linger),
        other => panic!("{other:?} instead of a segment"),
    }
}
#[test]
fn a_read_is_trigger_checks_until_ready_and_transfer() {
    let mut bench = Bench::new();
    // An LSB page takes 58 µs; the first check is 8 µs before that.
    assert_eq!(sent(bench.begin(request(FlashOp::Read, &[0]))), (SegmentKind::Trigger, US * 50));
    assert_eq!(sent(bench.status(50, 0)).0, SegmentKind::Status);
    match bench.status(51, 0x80) {
        // 1,004 ns in whole cycles of 10 ns.
        Next::Pause(until) => assert_eq!(until.since(at(51)), Duration::from_nanos(1_010)),
        other => panic!("{other:?}"),
    }
    assert_eq!(sent(bench.module.resume(at(53))).0, SegmentKind::Status);
    assert_eq!(sent(bench.status(54, 0xe0)).0, SegmentKind::Transfer);
    let frame = FrameReport { failed_sectors: 0b10, corrected: 7, ..FrameReport::default() };
    let outcomes = bench.finished(|b| b.ended(150, 0, frame));
    assert_eq!(outcomes[0].status, FlashStatus::Uncorrectable);
    assert_eq!((outcomes[0].failed_sectors, outcomes[0].corrected), (0b10, 7));
    assert!(bench.module.is_idle() && bench.faults.is_empty());
}

#[test]
fn a_failed_program_is_told_and_the_next_target_follows() {
    let mut bench = Bench::new();
    assert_eq!(sent(bench.begin(request(FlashOp::Program, &[0, 1]))), (SegmentKind::Program, US * 473));
    assert_eq!(sent(bench.status(500, 0)).0, SegmentKind::Status);
    // Page 1 of an MLC block shares its word line with page 0: an MSB page.
    assert_eq!(sent(bench.status(501, 0xe1)), (SegmentKind::Program, US * 2_287));
    assert_eq!(sent(bench.status(2_900, 0)).0, SegmentKind::Status);
    let outcomes = bench.finished(|b| b.status(2_901, 0xe0));
    assert_eq!(outcomes.map(|o| o.status)[..2], [FlashStatus::Failed, FlashStatus::Done]);
}

/// A controller that was reconfigured for a TLC package (C83).
fn tlc() -> Bench {
    let mut bench = Bench::new();
    bench.config.cells = CellMode::Tlc;
    bench.config.geometry.pages_per_block = 18;
    bench.config.one_shot = Some(OneShot { pages: [1, 2, 3], load_confirm: 0x1a });
    bench
}
fn one_shot(rows: &[u32]) -> FlashRequest {
    let mut request = request(FlashOp::Program, rows);
    request.flags.one_shot = true;
    request
}

#[test]
fn a_word_line_is_two_loads_and_a_program_and_has_one_result() {
    for (status, expected) in [(0xe0, FlashStatus::Done), (0xe1, FlashStatus::Failed)] {
        let mut bench = tlc();
        // The package takes at most a microsecond to put a page aside.
        assert_eq!(sent(bench.begin(one_shot(&[3, 4, 5]))), (SegmentKind::Load, US));
        assert_eq!(sent(bench.status(92, 0)), (SegmentKind::Load, US));
        assert_eq!(sent(bench.status(184, 0)), (SegmentKind::ProgramLine, US * 1_592));
        assert_eq!(sent(bench.status(1_870, 0)).0, SegmentKind::Status);
        assert_eq!(bench.finished(|b| b.status(1_871, status)).map(|o| o.status)[..3], [expected; 3]);
        assert!(bench.module.is_idle() && bench.faults.is_empty());
    }
}

#[test]
fn what_is_no_word_line_reaches_no_bus_in_one_shot() {
    let lines: [&[u32]; 5] = [&[3, 4], &[4, 5, 6], &[3, 5, 4], &[3, 4, 5, 6], &[3]];
    for rows in lines {
        let mut bench = tlc();
        assert_eq!(bench.finished(|b| b.begin(one_shot(rows)))[0].status, FlashStatus::Error, "{rows:?}");
        assert!(matches!(bench.faults[..], [FlashError::Unsupported { .. }]), "{:?}", bench.faults);
    }
    let mut plain = Bench::new();
    assert_eq!(plain.finished(|b| b.begin(one_shot(&[3, 4, 5])))[0].status, FlashStatus::Error);
}

/// A controller that is asked for statuses, with a package of two planes.
fn planar() -> Bench {
    let mut bench = Bench::new();
    bench.config.geometry.planes = 2;
    (bench.config.polled, bench.config.multi_plane) = (true, true);
    bench
}
#[track_caller]
fn turn(next: &Next) -> (SegmentKind, RowAddr, bool, bool) {
    match next {
        Next::Send(Segment { kind, target, planes, .. }, _) => {
            (*kind, target.row, planes.follows, planes.goes_on)
        }
        other => panic!("{other:?} instead of a segment"),
    }
}

#[test]
fn planes_are_addressed_one_after_the_other_and_the_last_one_starts_the_array() {
    let kinds = [
        (FlashOp::Trigger, SegmentKind::Trigger),
        (FlashOp::Program, SegmentKind::Program),
        (FlashOp::Erase, SegmentKind::Erase),
    ];
    for (phase, kind) in kinds {
        let mut bench = planar();
        let first = bench.begin(request(phase, &[3, 19]));
        assert_eq!(turn(&first), (kind, RowAddr(3), false, true), "{phase:?}");
        assert_eq!(sent(first).1, US, "the package takes a microsecond at most between planes");
        let second = bench.status(50, 0);
        assert_eq!(turn(&second), (kind, RowAddr(19), true, false), "{phase:?}");
        let outcomes = bench.finished(|b| b.status(51, 0));
        assert_eq!(outcomes.map(|o| o.status)[..2], [FlashStatus::Done; 2]);
        assert!(bench.module.is_idle() && bench.faults.is_empty());
    }
    // Each page crosses the bus by itself.
    let mut bench = planar();
    let first = bench.begin(request(FlashOp::Transfer, &[3, 19]));
    assert_eq!(turn(&first), (SegmentKind::Transfer, RowAddr(3), false, false));
    let frame = |corrected| FrameReport { corrected, ..FrameReport::default() };
    let second = bench.ended(100, 0, frame(3));
    assert_eq!(turn(&second), (SegmentKind::Transfer, RowAddr(19), false, false));
    assert_eq!(bench.finished(|b| b.ended(150, 0, frame(5))).map(|o| o.corrected)[..2], [3, 5]);
}

#[test]
fn a_status_of_several_planes_tells_which_one_failed() {
    let mut bench = planar();
    assert_eq!(sent(bench.begin(request(FlashOp::Status, &[3, 19]))).0, SegmentKind::Status);
    let busy = bench.finished(|b| b.status(1, 0x80));
    assert_eq!(busy.map(|o| o.status)[..2], [FlashStatus::Busy; 2], "the LUN is busy, so nobody asks again");
    let failed = [(0xe1, 0xe0), (0xe0, 0xe1), (0xe0, 0xe0)];
    for (first, second) in failed {
        bench.begin(request(FlashOp::Status, &[3, 19]));
        assert_eq!(turn(&bench.status(2, first)), (SegmentKind::Status, RowAddr(19), false, false));
        let found = bench.finished(|b| b.status(3, second)).map(|o| o.status == FlashStatus::Failed);
        assert_eq!(found[..2], [first == 0xe1, second == 0xe1]);
    }
}

#[test]
fn a_lun_that_never_gets_ready_is_given_up_after_its_patience() {
    let mut bench = Bench::new();
    sent(bench.begin(request(FlashOp::Erase, &[5])));
    sent(bench.status(5_000, 0));
    // The limit is two times 5 ms after the first check was requested. A check that is requested later is
    // the last.
    assert!(matches!(bench.status(5_001, 0x80), Next::Pause(_)));
    sent(bench.module.resume(at(15_000)));
    assert!(matches!(bench.status(15_001, 0x80), Next::Pause(_)));
    sent(bench.module.resume(at(15_002)));
    assert_eq!(bench.finished(|b| b.status(15_003, 0x80))[0].status, FlashStatus::Error);
    let [FlashError::NeverReady { transaction, row: RowAddr(5), at }] = bench.faults[..] else {
        panic!("{:?}", bench.faults)
    };
    assert!(transaction == "erase" && at > Instant::ZERO, "{:?}", bench.faults);
}

#[test]
fn a_transaction_that_fails_ends_its_target_with_name_and_time() {
    let mut bench = Bench::new();
    sent(bench.begin(request(FlashOp::Read, &[0])));
    let fault = TxnFault { name: "read", at: at(1), error: TxnError::Chip };
    let next = bench.module.ended(Err(Box::new(fault)), &bench.config, at(1), &mut |e| bench.faults.push(e));
    assert_eq!(bench.finished(|_| next)[0].status, FlashStatus::Error);
    assert_eq!(bench.faults, [FlashError::Transaction(Box::new(fault))]);
}

#[test]
fn a_feature_is_set_and_got_by_one_segment_each_but_never_that_of_the_data_interface() {
    let of = |phase, address| {
        FlashRequest::of_feature(phase, LunIndex(0), RowAddr(0), Feature { address, value: 3 })
    };
    let mut bench = Bench::new();
    assert_eq!(sent(bench.begin(of(FlashOp::SetFeatures, 0x89))), (SegmentKind::SetFeatures, Duration::ZERO));
    assert_eq!(bench.finished(|b| b.status(2, 0))[0].status, FlashStatus::Done);
    assert_eq!(sent(bench.begin(of(FlashOp::GetFeatures, 0x89))), (SegmentKind::GetFeatures, Duration::ZERO));
    assert_eq!(bench.finished(|b| b.status(4, 3))[0].feature, 3);
    assert_eq!(bench.finished(|b| b.begin(of(FlashOp::SetFeatures, 0x01)))[0].status, FlashStatus::Error);
    assert!(matches!(bench.faults[..], [FlashError::Unsupported { operation: "set features", .. }]));
}

#[test]
fn what_it_can_not_do_is_an_error_and_reaches_no_bus() {
    for (phase, raw, slc) in [(FlashOp::Program, true, false), (FlashOp::Read, false, true)] {
        let mut bench = Bench::new();
        let mut wanted = request(phase, &[0]);
        (wanted.flags.raw, wanted.flags.slc) = (raw, slc);
        assert_eq!(bench.finished(|b| b.begin(wanted))[0].status, FlashStatus::Error);
        assert!(matches!(bench.faults[..], [FlashError::Unsupported { .. }]), "{:?}", bench.faults);
    }
}

#[test]
fn the_arbiter_goes_round_among_those_that_want_the_channel() {
    let mut arbiter = RoundRobin::default();
    let mut grant = |waiting: &[u16]| waiting[arbiter.choose(waiting)];
    assert_eq!(grant(&[5, 2, 7]), 2);
    assert_eq!(grant(&[5, 2, 7]), 5);
    assert_eq!(grant(&[2, 7]), 7);
    assert_eq!(grant(&[7, 2]), 2, "round, past the last slot");
    assert_eq!(grant(&[2]), 2, "alone");
    assert_eq!(grant(&[0, 2]), 0);
}

#[test]
fn nobody_who_waits_is_passed_over_more_often_than_there_are_others() {
    const SLOTS: u16 = 8;
    let mut rng = Rng::new(1);
    let mut arbiter = RoundRobin::default();
    let mut waiting: Vec<u16> = vec![];
    let mut passed_over = [0; SLOTS as usize];
    for _ in 0..20_000 {
        for slot in 0..SLOTS {
            if !waiting.contains(&slot) && rng.below(3) > 0 {
                waiting.push(slot);
            }
        }
        if waiting.is_empty() {
            continue;
        }
        let chosen = arbiter.choose(&waiting);
        let slot = waiting.remove(chosen);
        passed_over[usize::from(slot)] = 0;
        for &other in &waiting {
            passed_over[usize::from(other)] += 1;
            assert!(passed_over[usize::from(other)] < SLOTS, "slot {other} starves");
        }
    }
}
