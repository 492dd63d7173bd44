//! A run is a function of profile, workload and seed: two runs are equal in every event and its time.

use aster_device::Media;
use aster_device::profile::{ContentKind, Profile};
use aster_events::{Event, EventSink, Recorder};
use aster_tests::{job, machine, profile, run, versioned};
use aster_units::{Instant, mix64};
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Default)]
struct Log {
    events: Vec<(Instant, Event)>,
}

struct Sink(Rc<RefCell<Log>>);
impl EventSink for Sink {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.borrow_mut().events.push((at, *event));
    }
}

fn events(seed: u64) -> (Vec<(Instant, Event)>, Instant) {
    events_of(&profile("tiny", |p| p.seed = seed), 6 << 10)
}

fn events_of(profile: &Profile, block: u32) -> (Vec<(Instant, Event)>, Instant) {
    let log = Rc::new(RefCell::new(Log::default()));
    let recorder = Recorder::default();
    recorder.attach(Sink(log.clone()));
    let m = machine(profile, None, Media::fresh(), &recorder);
    let contents = versioned(&m);
    let work = Job { read_percent: 50, ..job("work", Access::Random, Mix::ReadWrite, block, 2_000) };
    run(&m, &[work], contents);
    let end = m.now();
    recorder.detach();
    let events = std::mem::take(&mut log.borrow_mut().events);
    (events, end)
}

#[test]
fn two_runs_agree_in_every_event() {
    let (first, first_end) = events(3);
    let (second, second_end) = events(3);
    assert!(first.len() > 20_000, "{} events", first.len());
    assert_eq!(first.len(), second.len());
    for (i, (a, b)) in first.iter().zip(&second).enumerate() {
        assert_eq!(a, b, "event {i}");
    }
    assert_eq!(first_end, second_end);
}

#[test]
fn so_do_two_runs_of_a_restricted_cosmos_plus() {
    let profile = profile("cosmos-plus", |p| {
        p.restrict.channels = Some(1);
        p.restrict.ways = Some(2);
        p.restrict.blocks_per_lun = Some(24);
        p.ftl.over_provisioning_percent = 40.0;
        p.content = ContentKind::Fingerprint;
    });
    let (first, first_end) = events_of(&profile, 8 << 10);
    let (second, second_end) = events_of(&profile, 8 << 10);
    assert!(first.len() > 10_000, "{} events", first.len());
    assert!(first == second && first_end == second_end);
}

/// NVMe in software over packets, the flash interface layer, correction in software, and a map on flash that
/// doesn't fit into its cache.
#[test]
fn so_do_two_runs_of_a_restricted_softssd() {
    let profile = profile("softssd", |p| {
        p.restrict.channels = Some(1);
        p.restrict.ways = Some(2);
        p.restrict.blocks_per_lun = Some(40);
        p.ftl.over_provisioning_percent = 60.0;
        p.ftl.buffer_entries = 256;
        p.ftl.map_cache_bytes = None;
        p.package.errors.fresh = 1e-4;
    });
    let (first, first_end) = events_of(&profile, 8 << 10);
    let (second, second_end) = events_of(&profile, 8 << 10);
    let counted = |is: fn(&Event) -> bool| first.iter().filter(|(_, event)| is(event)).count();
    let missed = counted(|event| matches!(event, Event::MapMissed { .. }));
    let corrected = counted(|event| matches!(event, Event::PageCorrected { .. }));
    assert!(first.len() > 100_000 && missed > 10 && corrected > 10, "{missed} {corrected}");
    assert!(first == second && first_end == second_end);
}

#[test]
fn another_seed_gives_another_run() {
    let fold = |events: &[(Instant, Event)]| {
        events.iter().fold(0, |h, (at, e)| mix64(h ^ at.as_picos() ^ (e.kind() as u64) << 56))
    };
    assert_ne!(fold(&events(3).0), fold(&events(4).0));
}

#[test]
fn recording_changes_no_time() {
    let profile = profile("tiny", |_| {});
    let mut ends = Vec::new();
    for recorded in [false, true] {
        let recorder = Recorder::default();
        if recorded {
            recorder.attach(Sink(Rc::default()));
        }
        let m = machine(&profile, None, Media::fresh(), &recorder);
        let contents = versioned(&m);
        run(&m, &[job("work", Access::Random, Mix::Write, 16 << 10, 500)], contents);
        ends.push(m.now());
    }
    assert_eq!(ends[0], ends[1]);
}
