//! Where the firmware's time goes (C45): every cycle that a core is charged belongs to a function, and
//! reporting it takes no simulated time; and how hosts fetch samples (C46).

use aster_device::profile::Profile;
use aster_device::{Media, StatisticsLog};
use aster_events::{Event, EventSink, Function, Recorder};
use aster_tests::{big_loop, drive, job, machine, profile, run, versioned};
use aster_units::{Duration, Instant};
use aster_wire::nvme::NSID_ALL;
use aster_wire::nvme::log::LogId;
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::rc::Rc;

/// Each function's time on each core, and the ends of the last piece of work of each core.
#[derive(Default)]
struct Told {
    spent: [[Duration; Function::COUNT]; 2],
    until: [Instant; 2],
}

impl EventSink for Told {
    fn event(&mut self, at: Instant, event: &Event) {
        let Event::FirmwareWorked { core, function, picoseconds, .. } = *event else { return };
        let (core, took) = (usize::from(core), Duration::from_picos(picoseconds));
        assert!(at >= self.until[core], "a core does one thing at a time");
        self.until[core] = at + took;
        self.spent[core][usize::from(function)] += took;
    }
}

/// A drive with two cores, on which every step costs time.
fn costly(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("tiny", |p| {
        p.geometry.luns = 1;
        p.ftl.over_provisioning_percent = 45.0;
        p.cores.flash_core = true;
        p.costs.translate = 70;
        p.costs.buffer = 90;
        p.costs.dma = 60;
        p.costs.complete = 80;
        p.costs.move_page = 110;
        change(p);
    })
}

/// Overwrites and reads. Returns how long each core worked, and when everything was done.
fn work(profile: &Profile, recorder: &Recorder) -> (Vec<Duration>, Instant, Vec<Function>) {
    let m = machine(profile, None, Media::fresh(), recorder);
    let pages = drive(&m).bytes / (16 << 10);
    let contents = versioned(&m);
    let rewrite = job("rewrite", Access::Random, Mix::Write, 16 << 10, 3 * pages);
    let trim = job("trim", Access::Random, Mix::Trim, 64 << 10, 50);
    let read = Job { queue_depth: 8, ..job("read", Access::Random, Mix::Read, 4096, 500) };
    run(&m, &[rewrite, trim, read], contents);
    let stats = m.device().stats();
    assert!(stats.ftl.gc_runs > 0);
    assert_eq!(profile.cores.frequency_mhz, 1000.0, "a cycle is a nanosecond");
    let worked = stats.cores.iter().map(|core| Duration::from_nanos(core.cycles) + core.stalled).collect();
    (worked, m.now(), m.device().firmware().functions.clone())
}

fn told(profile: &Profile) -> (Told, Vec<Duration>, Instant, Vec<Function>) {
    let (told, recorder) = (Rc::new(RefCell::new(Told::default())), Recorder::default());
    recorder.attach(Rc::clone(&told));
    let (worked, at, functions) = work(profile, &recorder);
    drop(recorder.detach());
    let told = Rc::into_inner(told).expect("nobody listens any more").into_inner();
    (told, worked, at, functions)
}

fn sum(spent: &[Duration]) -> Duration {
    spent.iter().fold(Duration::ZERO, |sum, time| sum + *time)
}

#[test]
fn all_of_the_cores_time_is_told_by_function_and_telling_takes_none() {
    let profile = costly(|_| {});
    let (told, worked, at, functions) = told(&profile);
    assert_eq!(at, work(&profile, &Recorder::default()).1, "time is the same without a listener (C48)");
    for (core, worked) in worked.iter().enumerate() {
        assert_eq!(sum(&told.spent[core]), *worked, "core {core}");
    }
    for &function in Function::ALL {
        let spent = told.spent.iter().any(|core| !core[usize::from(function.number())].is_zero());
        assert_eq!(spent, functions.contains(&function), "{function:?}");
    }
    let of = |core: usize, function: Function| told.spent[core][usize::from(function.number())];
    assert!(of(0, Function::Transaction).is_zero() && !of(1, Function::Transaction).is_zero());
    assert!(of(1, Function::AddressTranslator).is_zero());
}

/// Passes of the loop that find nothing aren't reported: they count as waiting.
#[test]
fn the_big_loops_functions_take_what_it_works() {
    let profile = costly(big_loop);
    let (told, worked, at, functions) = told(&profile);
    assert_eq!(at, work(&profile, &Recorder::default()).1, "time is the same without a listener (C48)");
    let spent = sum(&told.spent[0]);
    assert!(spent <= worked[0] && spent.as_secs_f64() > 0.7 * worked[0].as_secs_f64(), "{spent} {worked:?}");
    for &function in functions.iter().filter(|function| **function != Function::ReadRetry) {
        assert!(!told.spent[0][usize::from(function.number())].is_zero(), "{function:?}");
    }
    assert!(functions.contains(&Function::StatusChecker) && functions.contains(&Function::PriorityManager));
}

/// C46: the monitor's samples cross the link only when the host fetches them.
#[test]
fn a_host_fetches_the_latest_sample_as_a_log_page() {
    let m = machine(&costly(|_| {}), None, Media::fresh(), &Recorder::default());
    let fetch = || {
        let driver = Rc::clone(m.driver());
        let fetched = m.block_on("fetching", async move {
            driver.log_page(LogId::Statistics, NSID_ALL, StatisticsLog::BYTES).await
        });
        fetched.unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(fetch().is_err(), "there is no monitor");
    for sample in [&b"{\"waf\":1.5}\n"[..], b"{}\n"] {
        m.device().statistics_log().put(sample);
        let page = fetch().unwrap();
        assert_eq!((page.len(), &page[..sample.len()]), (StatisticsLog::BYTES, sample));
        assert!(page[sample.len()..].iter().all(|byte| *byte == 0));
    }
}
