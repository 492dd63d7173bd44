//! The trait between flash requests and channel controllers: whole drives with schedulers that no other
//! test uses.

use aster_device::plug::{Below, PassThrough, SchedulerNeeds, SchedulerPorts, SchedulerView};
use aster_device::plug::{FlashScheduler, PieceError};
use aster_device::profile::ControllerName;
use aster_device::{Device, Media, Pieces, Profile};
use aster_events::{Event, EventSink, Recorder};
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Target};
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, profile, run};
use aster_units::{
    BlockAddr, BufferId, Content, Duration, Geometry, Instant, LunAddr, PageInBlock, SectorRange,
};
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

fn power_on(pieces: Pieces, profile: &Profile) -> Machine {
    let (content, recorder) = (Some(Content::Fingerprint), Recorder::default());
    let config = config(profile);
    let m = Machine::power_on_with(pieces, "test", profile, content, Media::fresh(), &recorder, config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    m.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    m
}

/// Fills the drive, overwrites a part of it, and reads. All content is checked.
fn fill_and_rewrite(m: &Machine) -> Contents {
    let fill = job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(m).bytes / (128 << 10));
    let rewrite = Job { queue_depth: 32, ..job("rewrite", Access::Random, Mix::ReadWrite, 16 << 10, 1_500) };
    let read = job("read", Access::Random, Mix::Read, 4 << 10, 200);
    run(m, &[fill, rewrite, read], Contents::versioned(drive(m), 1))
}

/// The same on a drive that must collect garbage for it.
fn work(m: &Machine) {
    fill_and_rewrite(m);
    assert!(m.device().stats().ftl.gc_runs > 0, "it was to collect garbage");
}

fn passed_through(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("tiny", |p| {
        p.scheduler.policy = "pass-through".to_owned();
        p.host.block_bytes = 4096;
        p.geometry.ways = 1;
        change(p);
    })
}

#[test]
fn requests_that_are_passed_through_reach_each_kind_of_controller() {
    for controller in [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous] {
        let m = power_on(Pieces::default(), &passed_through(|p| p.channel.controller = controller));
        work(&m);
        assert!(m.device().stats().big_loop.is_none());
    }
}

/// [`PassThrough`] with one slot per channel, whatever the drive has. Counts the requests that it passes
/// below.
struct OneByOne(Rc<Cell<u32>>);

impl<C> FlashScheduler<C> for OneByOne {
    fn needs(&self) -> SchedulerNeeds {
        SchedulerNeeds { requests_per_lun: 1, ..SchedulerNeeds::default() }
    }
    fn start(self: Box<Self>, ports: SchedulerPorts<C>) -> Result<Rc<dyn SchedulerView>, PieceError> {
        self.0.set(ports.luns.len() as u32);
        Box::new(PassThrough { slots_per_channel: 1 }).start(ports)
    }
}

#[test]
fn a_scheduler_of_a_readers_own_is_chosen_by_its_name() {
    let luns = Rc::new(Cell::new(0));
    let pieces = || {
        let seen = Rc::clone(&luns);
        Pieces::default().scheduler("one-by-one", move |_| Ok(Box::new(OneByOne(Rc::clone(&seen)))))
    };
    let own = passed_through(|p| p.scheduler.policy = "one-by-one".to_owned());
    let (m, others) = (power_on(pieces(), &own), power_on(Pieces::default(), &passed_through(|_| ())));
    assert_eq!(luns.get(), m.device().geometry().total_luns());
    work(&m);
    work(&others);
    assert!(m.now() > others.now(), "a channel's LUNs don't work at once");

    let text = own.to_toml().unwrap();
    let error = Profile::parse("mine.toml", &text).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("scheduler.policy"));
    let listed = "must be one of \"cosmos\", \"fifo\", \"fil\", \"pass-through\", \"reads-first\", \
                  but is \"one-by-one\"";
    assert!(error.line.is_some() && error.reason == listed, "{error}");
    assert!(Profile::parse_with(&pieces(), "mine.toml", &text).is_ok());
}

/// Programs a page of a LUN, and then asks for its status and for that of the other LUN behind the chip
/// enable.
struct Asking(Geometry, Rc<RefCell<Vec<FlashStatus>>>);

impl<C> FlashScheduler<C> for Asking {
    fn needs(&self) -> SchedulerNeeds {
        SchedulerNeeds { requests_per_lun: 1, polls: true, ..SchedulerNeeds::default() }
    }
    fn start(self: Box<Self>, ports: SchedulerPorts<C>) -> Result<Rc<dyn SchedulerView>, PieceError> {
        let Below::Port(below) = ports.below else { unreachable!("it takes no software controllers") };
        let (exec, Asking(geometry, seen)) = (ports.core.exec().clone(), *self);
        ports.core.spawn(async move {
            ports.up.pass(&exec).await;
            let asked = async |phase, lun: u8| {
                let at = LunAddr { channel: 0, way: 0, lun };
                let row = geometry.row(lun, BlockAddr(1), PageInBlock(0));
                let target = Target { row, sectors: SectorRange::whole(4), buffer: BufferId(0) };
                let request = FlashRequest::single(phase, geometry.lun_index(at), target);
                let outcomes = below.call(request).await;
                seen.borrow_mut().push(outcomes[0].status);
            };
            asked(FlashOp::Program, 1).await;
            asked(FlashOp::Status, 1).await;
            asked(FlashOp::Status, 0).await;
            exec.sleep(Duration::from_millis(5)).await;
            asked(FlashOp::Status, 1).await;
        });
        Ok(Rc::new(Nothing))
    }
}

struct Nothing;

impl SchedulerView for Nothing {}

/// The ready/busy pin is one for both LUNs, so a scheduler that polls goes by the status of each (S23).
#[test]
fn a_status_says_busy_until_the_array_is_done_for_each_lun_behind_a_chip_enable() {
    use FlashStatus::{Busy, Done};
    for controller in [ControllerName::Synchronous, ControllerName::Asynchronous] {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let profile = profile("tiny", |p| {
            p.scheduler.policy = "asking".to_owned();
            p.channel.controller = controller;
            p.package.factory_bad_per_mille = 0;
        });
        assert!(profile.geometry.luns > 1);
        let pieces = Pieces::default().scheduler("asking", {
            let seen = Rc::clone(&seen);
            move |p: &Profile| Ok(Box::new(Asking(p.used_geometry(), Rc::clone(&seen))))
        });
        let recorder = Recorder::default();
        let device =
            Device::power_on_with(pieces, "test", &profile, Some(Content::Full), Media::fresh(), &recorder)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
        while let Some(next) = device.next_deadline() {
            device.advance_to(next);
        }
        assert_eq!(*seen.borrow(), [Done, Busy, Done, Done], "{controller:?}");
    }
}

// ---- SoftSSD's flash interface layer ----

const CONTROLLERS: [ControllerName; 3] =
    [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous];

/// SoftSSD in small under its interface layer, which takes two dies behind each chip enable.
fn layered(change: impl FnOnce(&mut Profile)) -> Profile {
    let profile = profile("softssd-small", |p| {
        p.scheduler.policy = "fil".to_owned();
        p.host.block_bytes = 4096;
        change(p);
    });
    assert!(profile.geometry.luns > 1);
    profile
}

fn counter(m: &Machine, name: &str) -> u64 {
    let counters = m.device().stats().scheduler;
    counters.into_iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{name}")).1
}

#[test]
fn the_interface_layer_works_with_each_kind_of_controller_and_two_dies_a_chip() {
    for controller in CONTROLLERS {
        let m = power_on(Pieces::default(), &layered(|p| p.channel.controller = controller));
        work(&m);
        let (reads, programs) = (counter(&m, "fil_reads"), counter(&m, "fil_programs"));
        assert!(reads > 500 && programs > 1_000, "{controller:?}: {reads} {programs}");
        // Controllers in software wait for the array themselves.
        let asks = counter(&m, "fil_statuses") > reads + programs;
        assert_eq!(asks, controller != ControllerName::Software, "{controller:?}");
    }
}

/// The times of all phases of a kind; and how many were under way at most at once, over the drive and on a
/// channel.
#[derive(Default)]
struct Phases {
    began: BTreeMap<(u32, u8, bool), Instant>,
    ended: Vec<((u32, u8, bool), Duration)>,
    at_once: usize,
    transfers_of_channel: usize,
}

#[derive(Clone)]
struct PhaseSink(Rc<RefCell<Phases>>, u32);

impl EventSink for PhaseSink {
    fn event(&mut self, at: Instant, event: &Event) {
        let PhaseSink(phases, channels) = self;
        let mut phases = phases.borrow_mut();
        match *event {
            Event::PhaseBegan { lun, kind, transfer } => {
                let twice = phases.began.insert((lun, kind, transfer), at);
                assert!(twice.is_none(), "LUN {lun} begins a phase that it is in");
                let of_lun = phases.began.keys().filter(|(of, ..)| *of == lun).count();
                assert_eq!(of_lun, 1, "LUN {lun} is in one phase at a time");
                phases.at_once = phases.at_once.max(phases.began.len());
                let transfers = |key: &&(u32, u8, bool)| key.0 % *channels == lun % *channels && key.2;
                let of_channel = phases.began.keys().filter(transfers).count();
                phases.transfers_of_channel = phases.transfers_of_channel.max(of_channel);
            }
            Event::PhaseEnded { lun, kind, transfer } => {
                let key = (lun, kind, transfer);
                let began = phases.began.remove(&key).expect("a phase that ends has begun");
                phases.ended.push((key, at.since(began)));
            }
            _ => {}
        }
    }
}

/// S22: a read is executed and then transferred, a program the other way round; a channel transfers one page
/// at a time, while all dies may execute at once.
#[test]
fn a_transaction_has_two_phases_and_a_channel_one_transfer_at_a_time() {
    let profile = layered(|p| p.channel.controller = ControllerName::Asynchronous);
    let m = power_on(Pieces::default(), &profile);
    let luns = m.device().geometry().total_luns() as usize;
    let sink = PhaseSink(Rc::default(), u32::from(profile.geometry.channels));
    m.device().recorder().attach(sink.clone());
    work(&m);
    m.device().recorder().detach();
    let phases = sink.0.borrow();
    assert_eq!((phases.transfers_of_channel, phases.at_once), (1, luns), "S22");
    let of = |kind: u8, transfer: bool| -> Vec<Duration> {
        let wanted = phases.ended.iter().filter(|((_, k, t), _)| (*k, *t) == (kind, transfer));
        wanted.map(|(_, took)| *took).collect()
    };
    let (executed, moved) = (of(0, false), of(0, true));
    assert!(!executed.is_empty() && executed.len().abs_diff(moved.len()) <= luns);
    // 16 KiB with parity cross a bus of 400 MB/s in 42.7 µs; the array reads for 100 ± 10 µs.
    let t_r = |took: &Duration| *took >= Duration::from_micros(90);
    assert!(executed.iter().all(t_r), "an execution ends after tR");
    let page = |took: &&Duration| **took >= Duration::from_micros(42);
    assert!(of(1, true).iter().all(|took| page(&took)), "a program moves a whole page");
    let programs = of(1, false);
    let slow = programs.iter().filter(|took| **took > Duration::from_micros(2_000)).count();
    assert!(slow > programs.len() / 3 && slow < programs.len() * 2 / 3, "LSB and MSB pages (S33)");
}

/// With costs, the layer spends its core's time, and a pause between passes delays what it sees.
#[test]
fn the_interface_layer_costs_time_on_its_core() {
    let run = |change: &dyn Fn(&mut Profile)| {
        let profile = layered(|p| {
            p.channel.controller = ControllerName::Asynchronous;
            (p.costs.fil_take, p.costs.fil_dispatch) = (0, 0);
            (p.costs.fil_poll, p.costs.fil_finish) = (0, 0);
            // No bit errors: what software corrects takes longer than a pause.
            p.package.errors.fresh = 0.0;
            // The layer is what the drive waits for, and not NVMe or the translation on the first core.
            let c = &mut p.costs;
            (c.nvme_fetch, c.nvme_parse, c.nvme_transfer, c.nvme_complete, c.nvme_interrupt) =
                (0, 0, 0, 0, 0);
            (c.tlp_build, c.tlp_receive, c.tlp_describe, c.tlp_notice, c.nvme_register) = (0, 0, 0, 0, 0);
            (c.command, c.slice, c.translate, c.buffer, c.dma, c.complete) = (0, 0, 0, 0, 0, 0);
            change(p);
        });
        let m = power_on(Pieces::default(), &profile);
        let written = drive(&m).bytes / (128 << 10);
        let fill = job("fill", Access::Sequential, Mix::Write, 128 << 10, written);
        let contents = aster_tests::run(&m, &[fill], Contents::versioned(drive(&m), 1));
        let began = m.now();
        // One page after the other: what one read waits for doesn't depend on others.
        let read = Job { queue_depth: 1, ..job("read", Access::Random, Mix::Read, 16 << 10, 500) };
        aster_tests::run(&m, &[read], contents);
        let busy = m.device().stats().cores[1].cycles;
        (m.now().since(began), busy, counter(&m, "fil_passes"))
    };
    let (free, free_busy, _) = run(&|p| p.scheduler.poll_ns = 0);
    let (paused, paused_busy, passes) = run(&|_| ());
    let (costly, costly_busy, _) = run(&|p| {
        (p.costs.fil_take, p.costs.fil_dispatch) = (1_000, 1_000);
        (p.costs.fil_poll, p.costs.fil_finish) = (200, 1_000);
    });
    assert_eq!(free_busy, paused_busy, "a pause is no work");
    assert!(free < paused && paused < costly, "{free} {paused} {costly}");
    assert!(costly_busy > paused_busy + 1_000_000, "{costly_busy} {paused_busy}");
    assert!(passes > paused.as_picos() / 1_000_000 / 2, "idle passes count");
}

/// SoftSSD in small, whose interface layer joins pages of the planes that take pages in turn.
fn paired(change: impl FnOnce(&mut Profile)) -> Profile {
    layered(|p| {
        p.geometry.blocks_per_lun = 64;
        p.ftl.over_provisioning_percent = 100.0;
        p.ftl.placement = Some("pcwd".to_owned());
        p.scheduler.multi_plane = true;
        change(p);
    })
}

/// An operation on a page or block: LUN, kind, row, when it was issued and finished, and its status.
type Operation = (u32, u8, u32, Instant, Instant, u8);

#[derive(Default)]
struct Operations {
    issued: BTreeMap<(u32, u8, u32), Instant>,
    finished: Vec<Operation>,
}

#[derive(Clone, Default)]
struct OperationSink(Rc<RefCell<Operations>>);

impl OperationSink {
    /// What was issued to a LUN at the same instant, two operations each.
    fn pairs(&self) -> Vec<[Operation; 2]> {
        let mut by_start = BTreeMap::<_, Vec<Operation>>::new();
        for &operation in &self.0.borrow().finished {
            by_start.entry((operation.0, operation.3)).or_default().push(operation);
        }
        by_start.into_values().filter_map(|of_start| of_start.try_into().ok()).collect()
    }
}

impl EventSink for OperationSink {
    fn event(&mut self, at: Instant, event: &Event) {
        let Operations { issued, finished } = &mut *self.0.borrow_mut();
        match *event {
            Event::FlashIssued { lun, kind, row } => drop(issued.insert((lun, kind, row), at)),
            Event::FlashFinished { lun, kind, row, status, .. } => {
                if let Some(began) = issued.remove(&(lun, kind, row)) {
                    finished.push((lun, kind, row, began, at, status));
                }
            }
            _ => {}
        }
    }
}

/// S22: two planes of a die finish in one tR or tPROG, under each kind of controller. Content is the same.
#[test]
fn the_interface_layer_joins_pages_of_two_planes_into_one_operation() {
    for controller in CONTROLLERS {
        let m = power_on(Pieces::default(), &paired(|p| p.channel.controller = controller));
        let sink = OperationSink::default();
        m.device().recorder().attach(sink.clone());
        let contents = fill_and_rewrite(&m);
        let pages = drive(&m).bytes / (64 << 10);
        let again = job("again", Access::Sequential, Mix::Read, 64 << 10, pages);
        run(&m, &[again], contents);
        m.device().recorder().detach();
        let pairs = sink.pairs();
        let g = *m.device().geometry();
        let place = |row| g.split_row(aster_units::RowAddr(row));
        let of = |kind| pairs.iter().filter(move |pair| pair[0].1 == kind);
        for pair in &pairs {
            let [a, b] = pair.map(|operation| place(operation.2));
            assert!(g.plane(a.1) != g.plane(b.1) && (pair[0].1 == 2 || a.2 == b.2), "{pair:?}");
            assert_eq!(pair[0].4, pair[1].4, "both end at once: {pair:?}");
        }
        let (reads, programs) = (of(0).count(), of(1).count());
        assert!(reads > 50 && programs > 200, "{controller:?}: {reads} and {programs}");
        assert!(counter(&m, "fil_joined") >= (reads + programs) as u64);
        // Of tR, 100 ± 10 µs, and tPROG, 600 ± 10 µs and more, two one after the other would take longer than
        // the most that is asserted. A page that is programmed crosses the bus in 108 µs.
        let took = |pair: &[Operation; 2]| pair[0].4.since(pair[0].3).as_picos() / 1_000_000;
        let least = |kind| of(kind).map(took).min().expect("there are some");
        let (read, program) = (least(0), least(1));
        assert!((90..180).contains(&read), "{controller:?}: {read} µs");
        assert!((800..1_180).contains(&program), "{controller:?}: {program} µs");
        if controller != ControllerName::Software {
            // No other die gets the channel between the commands of one.
            let most = of(1).map(took).max().expect("there are some");
            assert!(most < 4_600, "{most} µs: two tPROG");
        }
    }
}

/// A failure in one plane is that page's alone.
#[test]
fn of_two_planes_that_are_programmed_together_one_may_fail() {
    for controller in CONTROLLERS {
        let m = power_on(
            Pieces::default(),
            &paired(|p| {
                p.channel.controller = controller;
                p.package.program_failures_per_million = 3_000;
            }),
        );
        let sink = OperationSink::default();
        m.device().recorder().attach(sink.clone());
        fill_and_rewrite(&m);
        m.device().recorder().detach();
        let (done, failed) = (FlashStatus::Done.code(), FlashStatus::Failed.code());
        let programs: Vec<_> = sink.pairs().into_iter().filter(|pair| pair[0].1 == 1).collect();
        let statuses = |of: &[Operation; 2]| [of[0].5, of[1].5];
        let first = programs.iter().filter(|pair| statuses(pair) == [failed, done]).count();
        let second = programs.iter().filter(|pair| statuses(pair) == [done, failed]).count();
        assert!(first > 0 && second > 0, "{controller:?}: {first} and {second} of {}", programs.len());
    }
}

#[test]
fn multi_plane_operations_need_the_layer_planes_and_a_package_that_has_them() {
    let refused = |change: fn(&mut Profile)| {
        let text = paired(change).to_toml().unwrap();
        let error = Profile::parse("mine.toml", &text).unwrap_err();
        assert_eq!(error.key.as_deref(), Some("scheduler.multi_plane"), "{error}");
        error.reason
    };
    let policy = refused(|p| p.scheduler.policy = "fifo".to_owned());
    assert_eq!(policy, "must go with scheduler.policy = \"fil\", which alone reads it");
    assert!(refused(|p| p.package.commands.clear()).contains("package.commands = [\"multi-plane\"]"));
    let planes = refused(|p| (p.restrict.planes, p.ftl.placement) = (Some(1), None));
    assert_eq!(planes, "must go with several planes");
}
