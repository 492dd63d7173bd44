//! Helpers of whole-device tests: a drive and its host from a shipped profile, runs of jobs with checked
//! content, and case counts that `ASTER_LONG=1` increases.
#![forbid(unsafe_code)]

pub mod front_ends;
pub mod fuzz;
pub mod guest;
pub mod live;
pub mod mailbox;
pub mod mixed;
pub mod nowhere;
mod small_disk;

pub use small_disk::SmallDisk;

use aster_device::Media;
use aster_device::profile::{COSMOS, CollectionName, ControllerName, MappingName, Profile, shipped};
use aster_driver::Config;
use aster_events::{Event, EventSink, Recorder};
use aster_run_virtual::Machine;
use aster_units::{Content, Instant};
use aster_workload::runner::{Contents, HostTask, LatencySink, OnFailure, Runner, Statistics};
use aster_workload::{Access, BlockSizes, Drive, Extent, Job, Mix, PerDirection};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

/// `short` cases, or `long` with `ASTER_LONG=1` (`make test-all`).
pub fn cases(short: u64, long: u64) -> u64 {
    match std::env::var("ASTER_LONG").as_deref() {
        Ok("1") => long,
        _ => short,
    }
}

/// The shipped profiles that tests of whole drives run on: small arrays with every kind of failure.
pub const SMALL: [&str; 2] = ["tiny", "softssd-small"];

/// A shipped profile, changed by `change`.
pub fn profile(name: &str, change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = shipped(name).unwrap_or_else(|e| panic!("{e}"));
    change(&mut profile);
    profile
}

/// Each LUN a pool of its own and a page a mapping unit, which garbage collection copies on demand: drives as
/// the papers' are.
pub fn as_in_papers(p: &mut Profile) {
    (p.ftl.placement, p.ftl.mapping_unit_bytes) = (None, 0);
    p.ftl.collection = CollectionName::OnDemand;
}

/// A shipped profile with its map on flash: pages of 4 KiB, and so many of them that the map has a dozen
/// translation pages.
pub fn paged(name: &str, map_cache_bytes: Option<u64>) -> Profile {
    profile(name, |p| {
        as_in_papers(p);
        p.geometry.page_bytes = 4096;
        p.geometry.spare_bytes = 448;
        p.geometry.pages_per_block = 64;
        p.geometry.blocks_per_lun = 48;
        p.ftl.over_provisioning_percent = 40.0;
        p.ftl.mapping = MappingName::DemandPaged;
        p.ftl.map_cache_bytes = map_cache_bytes;
    })
}

/// The drives of [`SMALL`], and the second of them with its map on flash, each changed by `change`.
pub fn small(change: impl Fn(&mut Profile)) -> [(&'static str, Profile); 3] {
    small_beside(paged(SMALL[1], None), change)
}

/// The drives of [`SMALL`] beside `on_flash`, softssd-small with its map on flash, each changed by `change`.
pub fn small_beside(on_flash: Profile, change: impl Fn(&mut Profile)) -> [(&'static str, Profile); 3] {
    let [first, second] = SMALL;
    let drives = [
        (first, profile(first, |_| {})),
        (second, profile(second, |_| {})),
        ("softssd-small, map on flash", on_flash),
    ];
    drives.map(|(name, mut profile)| {
        change(&mut profile);
        (name, profile)
    })
}

/// Cosmos+'s firmware: one big loop on one core, with all its costs and the buses to its registers.
pub fn big_loop(p: &mut Profile) {
    p.cores.flash_core = false;
    p.scheduler.policy = COSMOS.to_owned();
    p.channel.controller = ControllerName::Asynchronous;
    p.costs.loop_pass = 100;
    p.costs.loop_status = 50;
    p.costs.loop_compare = 30;
    p.costs.loop_issue = 100;
    p.costs.loop_finish = 100;
    p.board.buses.processor_mhz = 333.0;
    p.board.buses.central_mhz = 100.0;
    p.board.buses.control_mhz = 100.0;
    p.board.buses.register_cycles = 5.0;
}

/// The driver of most tests: one queue pair.
pub fn config(profile: &Profile) -> Config {
    Config {
        depth: (profile.host.queue_entries - 1).min(128),
        transfer_bytes_max: profile.host.transfer_bytes_max.min(128 << 10),
        ..Config::default()
    }
}

/// Waits for all of these at once, and returns what they gave in their order.
pub async fn all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut ended: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, ended) in futures.iter_mut().zip(&mut ended).filter(|(_, ended)| ended.is_none()) {
            if let Poll::Ready(output) = Pin::new(future).poll(context) {
                *ended = Some(output);
            }
        }
        if ended.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ended.into_iter().flatten().collect()
}

/// A booted machine. Panics with the reason when it doesn't come up.
pub fn machine(profile: &Profile, content: Option<Content>, media: Media, recorder: &Recorder) -> Machine {
    let machine = Machine::power_on("test", profile, content, media, recorder, config(profile))
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

/// The drive as workloads see it.
pub fn drive(machine: &Machine) -> Drive {
    let namespace = machine.driver().namespace();
    Drive {
        bytes: namespace.blocks * u64::from(namespace.block_bytes),
        block_bytes: namespace.block_bytes,
        streams: machine.driver().streams(),
    }
}

/// A job over the whole drive.
pub fn job(name: &str, access: Access, mix: Mix, block: u32, requests: u64) -> Job {
    Job {
        name: name.into(),
        access,
        mix,
        block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
        number_ios: Some(requests),
        size: Some(Extent::Percent(100)),
        // Without this a job ends when it has moved as many bytes as the drive has, whatever its number of
        // requests.
        io_size: Some(Extent::Bytes(requests * (1 << 20))),
        queue_depth: 16,
        random_map: false,
        verify: true,
        after_previous: true,
        ..Job::default()
    }
}

/// Runs jobs one after the other. Panics if the run can't continue; failed requests are in the statistics.
pub fn run_with<L: LatencySink>(
    machine: &Machine,
    jobs: &[Job],
    contents: Contents,
    sink: L,
) -> (Vec<Statistics>, Contents) {
    let tasks = HostTask::of_jobs(jobs, drive(machine), 1).unwrap_or_else(|e| panic!("{e}"));
    let mut runner = Runner::new(machine.driver(), tasks, contents, sink, OnFailure::Continue);
    machine.run(&mut runner, |_| true).unwrap_or_else(|e| panic!("run: {e}"));
    let (statistics, contents, _) = runner.finish();
    (statistics, contents)
}

/// As [`run_with`], but panics if a request failed or returned wrong content.
pub fn run(machine: &Machine, jobs: &[Job], contents: Contents) -> Contents {
    let (statistics, contents) = run_with(machine, jobs, contents, ());
    for s in &statistics {
        if let Some(failure) = &s.first_failure {
            panic!("{}: {} failures, the first: {failure}", s.name, s.failures);
        }
    }
    contents
}

/// Content whose versions are tracked.
pub fn versioned(machine: &Machine) -> Contents {
    Contents::versioned(drive(machine), 1)
}

#[derive(Default)]
struct Log(Vec<(Instant, Event)>);

impl EventSink for Log {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.push((at, *event));
    }
}

/// All events of a new drive that carries out `job`, from power-on to the job's end.
pub fn events_of(profile: &Profile, job: &Job) -> Vec<(Instant, Event)> {
    let (log, recorder) = (Rc::new(RefCell::new(Log::default())), Recorder::default());
    recorder.attach(Rc::clone(&log));
    let m = machine(profile, None, Media::fresh(), &recorder);
    run(&m, core::slice::from_ref(job), versioned(&m));
    drop(recorder.detach());
    std::mem::take(&mut log.borrow_mut().0)
}
