//! Requests that belong together, among single ones: nobody waits for ever, and the lanes of a group begin in
//! one moment (H2, G24).

use crate::controllers::Controllers;
use crate::{Backend, PackageLimit, Policy, RetryConfig, Worker, WorkersConfig};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::ReadsBetween;
use aster_parties::{BringUpGate, FlashTask, Running, TaskScheduler, Tasks};
use aster_ports::cores::Interrupt;
use aster_ports::flash::{
    FlashError, FlashOp, FlashPort, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Outcomes, TOGETHER_MAX,
    Tag, Target,
};
use aster_units::{BufferId, Duration, Frequency, Geometry, Instant, LunIndex, Rng, RowAddr, SectorRange};
use aster_wire::onfi::command_set::ReadRetry;
use core::cell::{Cell, RefCell};

const LUNS: usize = 16;
const LANES: u32 = 8;
const DEPTH: u16 = 96;

/// An operation that a LUN has begun. Rows number the requests; those of a group have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Begun {
    row: u32,
    phase: FlashOp,
    at: Instant,
}

/// What the LUNs of the drive have begun.
struct Drive {
    exec: Exec,
    begun: RefCell<Vec<Vec<Begun>>>,
    busy: RefCell<[bool; LUNS]>,
    of_package: RefCell<[u32; LANES as usize]>,
    most_of_package: Cell<u32>,
    /// The read level of each package.
    levels: RefCell<[u8; LANES as usize]>,
    /// Reads are correct at one level alone: [`level_of`] their row. Otherwise at any.
    fades: bool,
}

/// The level at which a row of a drive that fades is correct.
fn level_of(row: u32) -> u8 {
    if row.is_multiple_of(5) { 2 } else { 0 }
}

impl Drive {
    fn begin(&self, request: &FlashRequest) -> Duration {
        let lun = request.lun.index();
        if request.phase == FlashOp::SetFeatures {
            let package = lun % LANES as usize;
            assert_eq!(self.of_package.borrow()[package], 0, "a feature is set in an idle package");
            self.levels.borrow_mut()[package] = request.feature.value as u8;
        }
        let row = request.targets()[0].row.0;
        assert!(!core::mem::replace(&mut self.busy.borrow_mut()[lun], true), "one operation at a time");
        let in_package = &mut self.of_package.borrow_mut()[lun % LANES as usize];
        *in_package += 1;
        self.most_of_package.set(self.most_of_package.get().max(*in_package));
        self.begun.borrow_mut()[lun].push(Begun { row, phase: request.phase, at: self.exec.now() });
        let array = if request.phase == FlashOp::Read { 50 } else { 300 };
        Duration::from_micros(array + u64::from(row.wrapping_mul(2_654_435_761) >> 28) + lun as u64)
    }
    fn end(&self, request: &FlashRequest) -> Outcome {
        let level = self.levels.borrow()[request.lun.index() % LANES as usize];
        let fails =
            self.fades && request.phase == FlashOp::Read && level != level_of(request.targets()[0].row.0);
        self.busy.borrow_mut()[request.lun.index()] = false;
        self.of_package.borrow_mut()[request.lun.index() % LANES as usize] -= 1;
        let status = if fails { FlashStatus::Uncorrectable } else { FlashStatus::Done };
        Outcome { status, ..Outcome::default() }
    }
}

impl Backend for Rc<Drive> {
    type Begun = ();

    async fn execute(
        &self,
        request: &FlashRequest,
        outcomes: &mut Outcomes,
        _: Option<()>,
        _: impl FnOnce() -> Option<FlashRequest>,
        _: impl Fn(FlashError),
    ) -> Option<()> {
        let takes = self.begin(request);
        self.exec.sleep(takes).await;
        *outcomes = [self.end(request); MAX_TARGETS];
        None
    }

    fn can_suspend(&self, request: &FlashRequest) -> bool {
        matches!(request.phase, FlashOp::Program | FlashOp::Erase)
    }
    /// Half of the operations are over when they are to be suspended.
    async fn execute_around(
        &self,
        request: &FlashRequest,
        times: u8,
        reads: &impl ReadsBetween,
        _: impl Fn(FlashError),
    ) -> Outcomes {
        let (mut left, row) = (self.begin(request), request.targets()[0].row.0);
        for _ in 0..times {
            let began = self.exec.now();
            let is_read = reads.next(began + left).await;
            left = left.saturating_sub(self.exec.now().since(began));
            if !is_read || row.is_multiple_of(2) {
                break;
            }
            self.busy.borrow_mut()[request.lun.index()] = false;
            reads.serve().await;
            self.busy.borrow_mut()[request.lun.index()] = true;
        }
        self.exec.sleep(left).await;
        [self.end(request); MAX_TARGETS]
    }

    async fn execute_together(
        lanes: &[(&Self, FlashRequest)],
        outcomes: &mut [Outcomes],
        _: impl Fn(LunIndex, FlashError),
    ) {
        let drive = lanes[0].0;
        let takes = lanes.iter().map(|(_, request)| drive.begin(request)).max().expect("a lane");
        drive.exec.sleep(takes).await;
        for ((_, request), outcomes) in lanes.iter().zip(outcomes) {
            *outcomes = [drive.end(request); MAX_TARGETS];
        }
    }
}

const GEOMETRY: Geometry = Geometry {
    channels: LANES as u16,
    ways: 1,
    luns: 2,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 1024,
    page_bytes: 16384,
    spare_bytes: 1664,
};

fn start(scheduler: Box<dyn TaskScheduler>, latency: Duration) -> (Rc<Drive>, Rc<FlashPort>) {
    start_with(scheduler, latency, WorkersConfig::plain(GEOMETRY))
}

fn start_with(
    scheduler: Box<dyn TaskScheduler>,
    latency: Duration,
    config: WorkersConfig,
) -> (Rc<Drive>, Rc<FlashPort>) {
    let exec = Exec::new();
    let drive = Rc::new(Drive {
        exec: exec.clone(),
        begun: RefCell::new(vec![Vec::new(); LUNS]),
        busy: RefCell::default(),
        of_package: RefCell::default(),
        most_of_package: Cell::new(0),
        levels: RefCell::default(),
        fades: config.retries.times > 0,
    });
    let core = Core::new(&exec, Frequency::from_hertz(160_000_000).unwrap());
    let port = FlashPort::new(&exec, LUNS as u32, DEPTH, Interrupt { latency });
    let (tasks, gate) = (Rc::new(Tasks::new(scheduler, LANES)), Rc::new(BringUpGate::default()));
    let luns = || (0..LUNS as u32).map(LunIndex);
    let of = |lun: LunIndex| (lun, lun.0 % LANES, Rc::clone(&drive));
    let controllers = Controllers::new(luns().map(of), config);
    for lun in luns() {
        let worker = Worker {
            lun,
            port: Rc::clone(&port),
            controllers: Rc::clone(&controllers),
            tasks: Rc::clone(&tasks),
            gate: Rc::clone(&gate),
            recorder: Recorder::default(),
        };
        core.spawn(worker.run());
    }
    gate.open(&exec);
    (drive, port)
}

/// A request or several that belong together: those of the same die of some of the lanes.
fn draw(rng: &mut Rng, row: u32) -> Vec<FlashRequest> {
    let phase = [FlashOp::Read, FlashOp::Read, FlashOp::Program, FlashOp::Erase][rng.below(4) as usize];
    let target = Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer: BufferId(0) };
    let die = rng.below(2) as u32;
    let lanes = if rng.below(2) == 0 { 1 << rng.below(8) } else { rng.below(255) as u32 + 1 };
    let luns = (0..LANES).filter(|lane| lanes >> lane & 1 == 1).map(|lane| LunIndex(die * LANES + lane));
    luns.map(|lun| FlashRequest::single(phase, lun, target)).collect()
}

/// Sends so many requests and groups as fast as the port takes them, and waits for all answers.
fn run(
    scheduler: Box<dyn TaskScheduler>,
    latency: Duration,
    seed: u64,
    operations: u32,
) -> (Rc<Drive>, Vec<Vec<FlashRequest>>) {
    run_on(start(scheduler, latency), seed, operations)
}

fn run_on(
    (drive, port): (Rc<Drive>, Rc<FlashPort>),
    seed: u64,
    operations: u32,
) -> (Rc<Drive>, Vec<Vec<FlashRequest>>) {
    let exec = drive.exec.clone();
    let (mut rng, mut sent) = (Rng::new(seed), Vec::new());
    let mut waiting: Vec<Tag> = Vec::new();
    let mut next = draw(&mut rng, 0);
    while sent.len() < operations as usize || !waiting.is_empty() {
        while sent.len() < operations as usize && next.len() <= port.room() {
            match &next[..] {
                [single] => waiting.push(port.submit(*single).expect("room")),
                group => assert!(port.submit_together(group, |tag| waiting.push(tag)), "room"),
            }
            sent.push(core::mem::replace(&mut next, draw(&mut rng, sent.len() as u32 + 1)));
        }
        let Some(deadline) = exec.next_deadline() else {
            panic!("seed {seed}: {} requests wait for ever, after {}", waiting.len(), sent.len());
        };
        exec.advance_to(deadline);
        waiting.retain(|tag| match port.try_take(*tag) {
            Some(outcomes) => {
                assert_eq!(outcomes[0].status, FlashStatus::Done, "seed {seed}");
                false
            }
            None => true,
        });
    }
    (drive, sent)
}

/// Each LUN begins each request once; a group begins in one moment on all of its lanes; programs and erases
/// of a LUN keep their order.
fn check(drive: &Drive, sent: &[Vec<FlashRequest>], fifo: bool) {
    let begun = drive.begun.borrow();
    for (lun, begun) in begun.iter().enumerate() {
        let asked = sent.iter().flatten().filter(|request| request.lun.index() == lun);
        let in_order = |r: &FlashRequest| fifo || r.phase != FlashOp::Read;
        let asked: Vec<u32> = asked.filter(|r| in_order(r)).map(|r| r.targets()[0].row.0).collect();
        let kept = begun.iter().filter(|b| fifo || b.phase != FlashOp::Read);
        assert!(kept.map(|b| b.row).eq(asked), "LUN {lun}");
    }
    let mut moments = vec![None; sent.len()];
    for begun in begun.iter().flatten() {
        let first = *moments[begun.row as usize].get_or_insert(begun.at);
        assert_eq!(begun.at, first, "{begun:?}");
    }
    assert!(moments.iter().all(Option::is_some));
    drive.exec.shut_down();
}

#[test]
fn random_groups_and_single_requests_all_end_and_the_lanes_of_a_group_begin_together() {
    let us = Duration::from_micros;
    for (seed, latency) in [(1, Duration::ZERO), (2, us(3))] {
        let (drive, sent) = run(Box::new(Policy::Fifo), latency, seed, 100_000);
        check(&drive, &sent, true);
        let (drive, sent) = run(Box::new(Policy::ReadsFirst), latency, seed, 100_000);
        check(&drive, &sent, false);
    }
}

/// Two LUNs share each package, and one operation at a time may run there.
#[test]
fn groups_start_where_operations_of_a_package_are_limited() {
    for seed in 1..3 {
        let limit = PackageLimit { inner: Policy::ReadsFirst, operations_max: 1 };
        let (drive, sent) = run(Box::new(limit), Duration::ZERO, seed, 20_000);
        assert_eq!(drive.most_of_package.get(), 1);
        check(&drive, &sent, false);
    }
    let (drive, _) = run(Box::new(Policy::Fifo), Duration::ZERO, 1, 1_000);
    assert_eq!(drive.most_of_package.get(), 2, "without the limit");
    drive.exec.shut_down();
}

/// Admits four operations on the drive.
struct FourOnTheDrive;

impl TaskScheduler for FourOnTheDrive {
    fn choose(&mut self, _: LunIndex, _: &mut dyn Iterator<Item = FlashOp>) -> usize {
        0
    }
    fn admits(&mut self, _: &FlashTask, running: Running) -> bool {
        running.drive < 4
    }
}

#[test]
fn a_group_that_is_larger_than_any_limit_starts_on_an_idle_drive() {
    let (drive, sent) = run(Box::new(FourOnTheDrive), Duration::ZERO, 3, 5_000);
    check(&drive, &sent, true);
}

/// Two LUNs share each package and its read level. Reads of every fifth row are correct at the third level
/// alone, all others at the first: each ends well, no level is set while the other LUN works, and the first
/// level is set again before others read.
#[test]
fn reads_are_repeated_at_other_levels_while_their_package_is_idle() {
    let levels = Some(ReadRetry { feature: 0x89, levels: 4 });
    for (seed, policy) in [(1, Policy::Fifo), (2, Policy::ReadsFirst)] {
        let retries = RetryConfig { times: 2, levels, ..RetryConfig::never(GEOMETRY) };
        let config = WorkersConfig { retries, suspends: 0 };
        let started = start_with(Box::new(policy), Duration::from_micros(3), config);
        let (drive, sent) = run_on(started, seed, 20_000);
        let reads = |row_at: u8| {
            let all = sent.iter().flatten().filter(|r| r.phase == FlashOp::Read);
            all.filter(|r| level_of(r.targets()[0].row.0) == row_at).count()
        };
        let begun = drive.begun.borrow();
        let of = |phase| begun.iter().flatten().filter(|b| b.phase == phase).count();
        assert_eq!(of(FlashOp::Read), reads(0) + 3 * reads(2), "the faded ones are read three times");
        assert_eq!(of(FlashOp::SetFeatures), 3 * reads(2), "two levels, and the first again");
        drop(begun);
        drive.exec.shut_down();
    }
}

/// Reads between the halves of programs and erases, and those for which it was too late: each request is
/// carried out once, and the programs and erases of a LUN keep their order.
#[test]
fn every_read_that_comes_while_an_operation_is_suspended_is_carried_out() {
    for (seed, suspends) in [(1, 1), (2, 4)] {
        let config = WorkersConfig { suspends, ..WorkersConfig::plain(GEOMETRY) };
        let started = start_with(Box::new(Policy::ReadsFirst), Duration::from_micros(3), config);
        let (drive, sent) = run_on(started, seed, 20_000);
        check(&drive, &sent, false);
    }
}

fn program(lun: u32, row: u32) -> FlashRequest {
    let target = Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer: BufferId(0) };
    FlashRequest::single(FlashOp::Program, LunIndex(lun), target)
}

/// A group that needs all packages isn't put off for ever by single requests that keep some of them busy.
#[test]
fn a_group_that_waits_for_its_packages_comes_before_later_requests() {
    let limit = PackageLimit { inner: Policy::Fifo, operations_max: 1 };
    let (drive, port) = start(Box::new(limit), Duration::ZERO);
    for row in 0..4 {
        for lun in 8..16 {
            port.submit(program(lun, row)).expect("room");
        }
    }
    drive.exec.advance_to(Instant::ZERO + Duration::from_micros(10));
    let group: Vec<FlashRequest> = (0..TOGETHER_MAX as u32).map(|lun| program(lun, 9)).collect();
    assert!(port.submit_together(&group, |_| ()));
    drive.exec.advance_to(Instant::ZERO + Duration::from_millis(10));
    let begun = drive.begun.borrow();
    let of_group = begun[0][0].at;
    for single in &begun[8..16] {
        let later = single.iter().filter(|b| b.at > of_group).count();
        assert_eq!((single.len(), later), (4, 3), "one was under way");
    }
    drop(begun);
    drive.exec.shut_down();
}

/// What waits only because a group does starts with it. LUN 7 waits for LUN 15, which ends before LUN 8.
#[test]
fn a_request_for_another_package_waits_until_the_group_has_started_and_no_longer() {
    let limit = PackageLimit { inner: Policy::Fifo, operations_max: 1 };
    let (drive, port) = start(Box::new(limit), Duration::ZERO);
    let until = |us| drive.exec.advance_to(Instant::ZERO + Duration::from_micros(us));
    port.submit(program(15, 0)).expect("room");
    until(50);
    port.submit(program(8, 0)).expect("room");
    until(60);
    port.submit(program(7, 2)).expect("room");
    until(70);
    assert!(port.submit_together(&[program(0, 1), program(1, 1)], |_| ()));
    until(10_000);
    let begun = drive.begun.borrow();
    let at = |lun: usize| begun[lun][0].at;
    assert!(at(0) > Instant::ZERO + Duration::from_micros(350), "LUN 8 is in LUN 0's package");
    assert_eq!((at(1), at(7)), (at(0), at(0)));
    drop(begun);
    drive.exec.shut_down();
}
