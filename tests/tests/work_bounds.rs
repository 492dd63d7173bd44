//! What a request costs the simulator, in deterministic counts: events, posts, polls and instants of its
//! executors, which are held exactly, and heap allocations.

use aster_device::Media;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, config, drive, job, profile};
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Access, Job, Mix};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Whose allocations are counted.
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: every call goes to the system allocator unchanged; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn ideal(unit_bytes: u32) -> Machine {
    let profile = profile("ideal", |p| {
        as_in_papers(p);
        p.ftl.mapping_unit_bytes = unit_bytes;
        p.geometry.channels = 2;
        p.geometry.ways = 4;
        p.geometry.blocks_per_lun = 24;
        p.ftl.over_provisioning_percent = 25.0;
    });
    let m =
        Machine::power_on("ideal", &profile, None, Media::fresh(), &Recorder::default(), config(&profile))
            .unwrap_or_else(|e| panic!("{e}"));
    m.boot().unwrap_or_else(|e| panic!("{e}"));
    m
}

/// Allocations of a log page and of a stored map. No request waits for a log page, and a map is stored
/// once in thousands of requests.
const ALLOCATIONS_A_LOG_PAGE: u64 = 12;
const ALLOCATIONS_A_MAP: u64 = 60;
/// The same with four units in a page: the map is four times as large, and log pages tell of more units.
/// Counted were 13.7 at most, and 120.
const ALLOCATIONS_WITH_UNITS: [u64; 2] = [15, 130];

/// Events, posts, polls and instants of the drive's executor and the host's.
type Totals = [u64; 4];

#[derive(Default)]
struct Work {
    requests: u64,
    totals: Totals,
    events: f64,
    /// Bytes programmed per byte that the host wrote in the counted run; meaningless if it wrote none.
    waf: f64,
    allocations: u64,
    /// Allowed allocations: log pages and stored maps, which are written beside the work.
    log_pages: u64,
    maps: u64,
    /// Those of the previous run, which is the warm-up.
    allocations_at_first: u64,
}

fn totals(m: &Machine) -> Totals {
    let (drive, host) = (m.device().counts(), m.host().counts());
    [
        drive.events + host.events,
        drive.posts + host.posts,
        drive.polls + host.polls,
        drive.instants + host.instants,
    ]
}

/// A request's work may change, but nobody must be surprised by it: a read grew by 15 % in three steps, and
/// each of them was compared with the one before alone.
fn assert_exactly(name: &str, work: &Work, requests: u64, totals: Totals) {
    let of_each = |totals: Totals| totals.map(|total| format!("{:.3}", total as f64 / requests as f64));
    assert_eq!(
        (work.requests, work.totals),
        (requests, totals),
        "{name}: events, posts, polls and instants a request were {:?}, and are {:?}. If that is meant, \
         change the numbers here, and say in the commit what the difference is",
        of_each(totals),
        of_each(work.totals)
    );
}

/// Runs a job twice: once to warm up, once counted.
fn counted(m: &Machine, what: &Job, contents: Contents) -> (Work, Contents) {
    let mut contents = contents;
    let mut work = Work::default();
    for _ in 0..2 {
        let tasks =
            HostTask::of_jobs(std::slice::from_ref(what), drive(m), 1).unwrap_or_else(|e| panic!("{e}"));
        let mut runner = Runner::new(m.driver(), tasks, contents, (), OnFailure::EndTask);
        let before = totals(m);
        let ftl_before = m.device().stats().ftl;
        let allocations = ALLOCATIONS.load(Relaxed);
        m.run(&mut runner, |_| true).unwrap_or_else(|e| panic!("{e}"));
        work.allocations_at_first = work.allocations;
        work.allocations = ALLOCATIONS.load(Relaxed) - allocations;
        let after = totals(m);
        work.totals = std::array::from_fn(|n| after[n] - before[n]);
        let ftl = m.device().stats().ftl;
        work.log_pages = ftl.log_pages - ftl_before.log_pages;
        work.maps = ftl.checkpoints - ftl_before.checkpoints;
        work.waf = (ftl.flash_bytes_written - ftl_before.flash_bytes_written) as f64
            / (ftl.host_bytes_written - ftl_before.host_bytes_written) as f64;
        let (statistics, back, _) = runner.finish();
        assert_eq!(statistics[0].failures, 0, "{:?}", statistics[0].first_failure);
        work.requests = statistics[0].requests();
        work.events = work.totals[0] as f64 / work.requests as f64;
        contents = back;
    }
    (work, contents)
}

fn bounded(name: &str, access: Access, mix: Mix, block: u32, requests: u64) -> Job {
    Job { verify: false, queue_depth: 128, ..job(name, access, mix, block, requests) }
}

#[test]
fn a_read_takes_at_most_12_events_a_write_20_and_nothing_allocates() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let m = ideal(16384);
    let contents = Contents::unversioned(drive(&m), 1);
    let pages = drive(&m).bytes / (16 << 10);
    let fill = bounded("fill", Access::Sequential, Mix::Write, 16 << 10, pages);
    let (_, contents) = counted(&m, &fill, contents);
    // The array allocates a block's memory when it is first programmed. By now every block has been.
    let rewrite = bounded("rewrite", Access::Random, Mix::Write, 16 << 10, 2 * pages);
    let (_, contents) = counted(&m, &rewrite, contents);
    // One or two sequential passes remove the effects of the random work.
    let (_, contents) = counted(&m, &fill, contents);
    let (write, contents) = counted(&m, &fill, contents);
    assert!(write.events <= 20.0, "{} events a write", write.events);
    // The log and the stored map take a few programs.
    assert!(write.waf < 1.02, "a sequential rewrite amplifies by {}", write.waf);
    let read = bounded("read", Access::Random, Mix::Read, 4 << 10, 40_000);
    let (read, contents) = counted(&m, &read, contents);
    assert!(read.events <= 12.0, "{} events a read", read.events);
    let rewrite = bounded("rewrite", Access::Random, Mix::Write, 16 << 10, 20_000);
    let (rewrite, contents) = counted(&m, &rewrite, contents);
    let trim = bounded("trim", Access::Random, Mix::Trim, 32 << 10, 2_000);
    let (trim, _) = counted(&m, &trim, contents);
    let allowed = ALLOCATIONS_A_LOG_PAGE * (trim.log_pages + 1) + ALLOCATIONS_A_MAP * (trim.maps + 1);
    assert!(trim.allocations_at_first <= allowed, "a command slot took memory at its first trim");
    let all = [("write", &write), ("read", &read), ("rewrite into GC", &rewrite), ("trim", &trim)];
    for (name, work) in all {
        let allowed = ALLOCATIONS_A_LOG_PAGE * work.log_pages + ALLOCATIONS_A_MAP * work.maps;
        assert!(work.allocations <= allowed, "{name}: {} allocations, {allowed} allowed", work.allocations);
    }
    assert_exactly("write", &write, 36_044, [379_653, 433_564, 235_945, 337_428]);
    assert_exactly("read", &read, 40_000, [366_799, 386_825, 283_837, 318_811]);
    assert_exactly("rewrite into GC", &rewrite, 20_000, [630_945, 468_135, 589_435, 597_980]);
    assert_exactly("trim", &trim, 2_000, [10_151, 8_535, 6_016, 8_278]);
}

/// With several mapping units in a page, units of different entries are packed into one, and a read gathers
/// what it wants from several. Flushes complete word lines.
#[test]
fn packing_and_gathering_units_allocate_nothing_either() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let m = ideal(4096);
    let contents = Contents::unversioned(drive(&m), 1);
    let pages = drive(&m).bytes / (16 << 10);
    let fill = bounded("fill", Access::Sequential, Mix::Write, 16 << 10, pages);
    let (_, contents) = counted(&m, &fill, contents);
    let scatter = bounded("scatter", Access::Random, Mix::Write, 4 << 10, 3 * pages);
    let (_, contents) = counted(&m, &scatter, contents);
    let (packed, contents) = counted(&m, &scatter, contents);
    let read = bounded("gather", Access::Random, Mix::Read, 16 << 10, 20_000);
    let (gathered, contents) = counted(&m, &read, contents);
    let flush = Job { flush_every: 8, ..bounded("flush", Access::Random, Mix::Write, 4 << 10, 8_000) };
    let (flushed, contents) = counted(&m, &flush, contents);
    let trim = bounded("trim", Access::Random, Mix::Trim, 4 << 10, 2_000);
    let (trim, _) = counted(&m, &trim, contents);
    for (name, work) in [("pack", &packed), ("gather", &gathered), ("flush", &flushed), ("trim", &trim)] {
        let [of_log_page, of_map] = ALLOCATIONS_WITH_UNITS;
        let allowed = of_log_page * work.log_pages + of_map * work.maps;
        assert!(work.allocations <= allowed, "{name}: {} allocations, {allowed} allowed", work.allocations);
    }
    assert_exactly("pack", &packed, 108_132, [1_466_498, 1_287_072, 1_252_723, 1_351_855]);
    assert_exactly("gather", &gathered, 20_000, [474_386, 344_971, 461_806, 451_232]);
    assert_exactly("flush", &flushed, 9_000, [191_722, 120_060, 197_867, 188_657]);
}
