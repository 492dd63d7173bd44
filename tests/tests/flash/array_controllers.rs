//! Array controllers with cores of their own (G24, H2): each runs the flash software of its lanes, on a clock
//! of its own, and is charged for nothing else.

use aster_device::Media;
use aster_device::profile::{Profile, RaidName};
use aster_events::{Event, EventSink, Function, Recorder};
use aster_observe::Digest;
use aster_run_virtual::Machine;
use aster_tests::{drive, job, machine, profile, run, versioned};
use aster_units::{Duration, Instant};
use aster_workload::{Access, Extent, Job, Mix};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Four channels under NVMe and page mapping, with so many lanes to a controller.
fn of_lanes(lanes: Option<u8>, change: impl FnOnce(&mut Profile)) -> Profile {
    profile("tiny", |p| {
        p.geometry.channels = 4;
        p.channel.lanes = lanes;
        p.cores.interrupt_ns = 0;
        change(p);
    })
}

/// The drive that has frames, and its FTL on the host, with two controllers of four lanes.
fn of_frames() -> Profile {
    profile("host-ftl-small", |p| {
        p.channel.lanes = Some(4);
        (p.cores.flash_core, p.cores.flash_mhz) = (true, Some(160.0));
        (p.costs.flash_request, p.costs.transaction, p.costs.poll) = (200, 100, 100);
    })
}

/// Fills the drive, overwrites a part of it and reads. All content is checked. Returns how long it took.
fn work(m: &Machine) -> Duration {
    let fill = job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(m).bytes / (128 << 10));
    let rewrite = Job { queue_depth: 32, ..job("rewrite", Access::Random, Mix::ReadWrite, 16 << 10, 1_000) };
    let read = Job { queue_depth: 32, ..job("read", Access::Random, Mix::Read, 4 << 10, 1_000) };
    let began = m.now();
    run(m, &[fill, rewrite, read], versioned(m));
    m.now().since(began)
}

fn power_on(profile: &Profile, sink: impl EventSink + 'static) -> (Machine, Recorder) {
    let recorder = Recorder::default();
    recorder.attach(sink);
    (machine(profile, None, Media::fresh(), &recorder), recorder)
}

/// Transactions of each channel, and the time that each core told of for building them.
#[derive(Default)]
struct Told {
    transactions: BTreeMap<u16, u64>,
    worked: BTreeMap<u8, Duration>,
}

impl EventSink for Told {
    fn event(&mut self, _: Instant, event: &Event) {
        match *event {
            Event::TransactionStarted { channel, .. } => *self.transactions.entry(channel).or_default() += 1,
            Event::FirmwareWorked { core, function, picoseconds, .. } => {
                assert_eq!(function, Function::Transaction.number());
                *self.worked.entry(core).or_default() += Duration::from_picos(picoseconds);
            }
            _ => {}
        }
    }
}

/// Each transaction costs its controller's core 1,000 cycles, from power-on, and nothing else costs anything.
#[test]
fn each_core_is_charged_for_the_transactions_of_its_own_lanes() {
    let only_transactions = |p: &mut Profile| {
        p.costs = Default::default();
        p.costs.transaction = 1_000;
        p.cores.flash_mhz = Some(500.0);
    };
    for (lanes, cores) in [(None, 1), (Some(4), 1), (Some(2), 2), (Some(1), 4)] {
        let told = Rc::new(RefCell::new(Told::default()));
        let (m, recorder) = power_on(&of_lanes(lanes, only_transactions), Rc::clone(&told));
        work(&m);
        recorder.detach();
        let (told, stats) = (told.borrow(), m.device().stats());
        assert_eq!(stats.cores.len(), 1 + cores, "{lanes:?}");
        assert_eq!(stats.cores[0].cycles, 0, "the translation's steps are free");
        for (n, core) in stats.cores[1..].iter().enumerate() {
            let own = |(channel, _): &(&u16, &u64)| usize::from(**channel) / (4 / cores) == n;
            let of_lanes: u64 = told.transactions.iter().filter(own).map(|(_, count)| count).sum();
            assert!(of_lanes > 1_000, "{lanes:?}: {of_lanes}");
            assert_eq!(core.cycles, 1_000 * of_lanes, "{lanes:?}, controller {n}");
            let of_clock = Duration::from_micros(2) * of_lanes;
            assert_eq!(told.worked[&(n as u8 + 1)], of_clock, "{lanes:?}: 500 MHz, controller {n}");
        }
    }
}

/// What a LUN has been asked for, and what it has begun and ended, in order.
#[derive(Default)]
struct Orders {
    asked: BTreeMap<u32, Vec<(u8, u32)>>,
    begun: BTreeMap<u32, Vec<(u8, u32)>>,
    ended: BTreeMap<u32, Vec<(u8, u32)>>,
}

impl EventSink for Orders {
    fn event(&mut self, _: Instant, event: &Event) {
        let (of, lun, kind, row) = match *event {
            Event::FlashQueued { lun, kind, row, .. } => (&mut self.asked, lun, kind, row),
            Event::FlashIssued { lun, kind, row } => (&mut self.begun, lun, kind, row),
            Event::FlashFinished { lun, kind, row, .. } => (&mut self.ended, lun, kind, row),
            _ => return,
        };
        of.entry(lun).or_default().push((kind, row));
    }
}

/// With `fifo` a LUN serves requests in the order of their coming, whatever core serves it.
#[test]
fn requests_never_overtake_within_a_lun() {
    for lanes in [1, 2] {
        let profile = of_lanes(Some(lanes), |_| ());
        let orders = Rc::new(RefCell::new(Orders::default()));
        let (m, recorder) = power_on(&profile, Rc::clone(&orders));
        work(&m);
        recorder.detach();
        let orders = orders.borrow();
        assert_eq!(orders.begun.len(), m.device().geometry().total_luns() as usize);
        for (lun, begun) in &orders.begun {
            assert!(begun.len() > 200, "LUN {lun}: {}", begun.len());
            // The last ones may wait, or be under way.
            let (asked, ended) = (&orders.asked[lun], &orders.ended[lun]);
            assert!(asked.starts_with(begun) && begun.starts_with(ended), "LUN {lun}");
            assert!(asked.len() <= ended.len() + 4, "LUN {lun}: {} of {}", ended.len(), asked.len());
        }
    }
}

/// A controller of all channels is the one flash core of a drive without the key, event by event.
#[test]
fn one_controller_is_the_flash_core_of_a_drive_without_lanes() {
    let events = |lanes| {
        let digest = Rc::new(RefCell::new(Digest::default()));
        let (m, recorder) = power_on(&of_lanes(lanes, |_| ()), Rc::clone(&digest));
        work(&m);
        recorder.detach();
        (digest.borrow().hash(), m.now())
    };
    assert_eq!(events(None), events(Some(4)));
    assert_ne!(events(None), events(Some(2)));
}

/// Where the cores of the controllers are what a drive waits for, it is the faster the more there are, and
/// the sooner its packages are up.
#[test]
fn controllers_work_side_by_side() {
    let times = |lanes| {
        let profile = of_lanes(lanes, |p| {
            p.cores.flash_mhz = Some(20.0);
            p.costs.poll = 0;
            p.costs.transaction = 2_000;
        });
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let up = m.now().since(Instant::ZERO);
        (up, work(&m))
    };
    let [one, two, four] = [Some(4), Some(2), Some(1)].map(times);
    let gain = |few: Duration, many: Duration| few.as_secs_f64() / many.as_secs_f64();
    for (few, many) in [(one, two), (two, four)] {
        assert!(gain(few.0, many.0) > 1.5, "up: {} and {}", few.0, many.0);
        // The array is waited for as well: 1.35 with four cores instead of two.
        assert!(gain(few.1, many.1) > 1.25, "work: {} and {}", few.1, many.1);
    }
}

/// G24: eight channels are two channels of four lanes to the host of a message unit.
#[test]
fn the_message_unit_takes_the_profiles_lanes() {
    let shape = |lanes| {
        let mut profile = of_frames();
        profile.channel.lanes = lanes;
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let shape = m.device().below().expect("a drive below the target").bar_read(0, 4, 4);
        aster_wire::array::registers::Shape(shape as u32)
    };
    let of = |lanes| (shape(lanes).channels(), shape(lanes).lanes());
    assert_eq!((of(None), of(Some(4)), of(Some(1))), ((1, 8), (2, 4), (8, 1)));
}

/// Eight lanes of one controller, whose core is charged for transactions only.
fn eight_lanes(lanes: Option<u8>, raid: RaidName) -> Profile {
    profile("host-ftl-small", |p| {
        p.channel.lanes = lanes;
        (p.cores.flash_core, p.cores.flash_mhz) = (true, Some(160.0));
        p.costs = Default::default();
        p.costs.transaction = 1_000;
        p.target.as_mut().expect("a target").raid = Some(raid);
    })
}

/// H2, H22: a composite page is a program and a poll for its controller, or a read, a poll and a transfer,
/// not eight of each. What was written is read for verification. With parity a page of it is the sum of the
/// others (H33), on whatever lane, and nobody reads that one. The FTL serves a read in windows of 128 KiB,
/// and each row of seven pages lies in two of them.
#[test]
fn a_composite_page_costs_its_controller_what_a_page_does() {
    for (lanes, raid, write, read) in [
        (Some(8), RaidName::Off, 1, 1),
        (None, RaidName::Off, 8, 8),
        (Some(4), RaidName::Off, 2, 2),
        (Some(8), RaidName::Fixed, 1, 2),
        (Some(8), RaidName::Rotating, 1, 2),
        (None, RaidName::Rotating, 8, 7),
    ] {
        let m = machine(&eight_lanes(lanes, raid), None, Media::fresh(), &Recorder::default());
        let cycles = || {
            let below = m.device().below().expect("a drive below the target");
            below.stats().cores[1..].iter().map(|core| core.cycles).sum::<u64>()
        };
        let page = if raid == RaidName::Off { 8 } else { 7 } * (16 << 10);
        let job = |mix, first: u64, requests| Job {
            offset: Extent::Bytes(first * u64::from(page)),
            queue_depth: 1,
            flush_every: 1,
            ..job("composite", Access::Sequential, mix, page, requests)
        };
        // The first ones have a group of each die erased.
        run(&m, &[job(Mix::Write, 0, 2)], versioned(&m));
        let before = cycles();
        let contents = run(&m, &[job(Mix::Write, 2, 4)], versioned(&m));
        let written = cycles();
        run(&m, &[job(Mix::Read, 2, 4)], contents);
        let each = [written - before, cycles() - written];
        assert_eq!(each, [4 * (2_000 * write + 3_000 * read), 4 * 3_000 * read], "{lanes:?} {raid:?}");
    }
}
