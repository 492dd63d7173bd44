//! The whole drive: host driver, NVMe, FTL, flash operations, channels and packages, with fingerprints, on
//! `ideal`.

use crate::clock::{cpu_seconds, peak_bytes};
use aster_device::Media;
use aster_device::profile::{Profile, shipped};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::Content;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Access, BlockSizes, Drive, Extent, Job, Mix, PerDirection};

const READS: u64 = 3_000_000;

struct Bench {
    machine: Machine,
    drive: Drive,
}

struct Cost {
    seconds: f64,
    simulated: f64,
    requests: f64,
    flash_operations: f64,
    events: f64,
    waf: f64,
}

impl Bench {
    fn new(name: &str, change: impl FnOnce(&mut Profile)) -> Self {
        let mut profile = shipped(name).unwrap_or_else(|e| panic!("{e}"));
        change(&mut profile);
        let config = Config { depth: 128, transfer_bytes_max: 128 << 10, ..Config::default() };
        let content = Some(Content::Fingerprint);
        let machine =
            Machine::power_on(name, &profile, content, Media::fresh(), &Recorder::default(), config)
                .unwrap_or_else(|e| panic!("{e}"));
        machine.boot().unwrap_or_else(|e| panic!("{e}"));
        let namespace = machine.driver().namespace();
        let drive = Drive {
            bytes: namespace.blocks * u64::from(namespace.block_bytes),
            block_bytes: namespace.block_bytes,
            streams: machine.driver().streams(),
        };
        Bench { machine, drive }
    }

    fn run(&self, access: Access, mix: Mix, block: u32, requests: u64, queue_depth: u32) -> Cost {
        let job = Job {
            access,
            mix,
            block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
            number_ios: Some(requests),
            size: Some(Extent::Percent(100)),
            queue_depth,
            random_map: false,
            ..Job::default()
        };
        let tasks = HostTask::of_jobs(&[job], self.drive, 1).unwrap_or_else(|e| panic!("{e}"));
        let contents = Contents::unversioned(self.drive, 1);
        let mut runner = Runner::new(self.machine.driver(), tasks, contents, (), OnFailure::EndTask);
        let before = self.machine.device().stats();
        let counts = |m: &Machine| (m.device().counts().events + m.host().counts().events) as f64;
        let (events, from, began) = (counts(&self.machine), cpu_seconds(), self.machine.now());
        self.machine.run(&mut runner, |_| true).unwrap_or_else(|e| panic!("{e}"));
        let seconds = cpu_seconds() - from;
        let after = self.machine.device().stats();
        let (statistics, _, _) = runner.finish();
        assert_eq!(statistics[0].failures, 0, "{:?}", statistics[0].first_failure);
        let requests = statistics[0].requests() as f64;
        let operations =
            |s: &aster_device::DriveStats| (s.nand.reads + s.nand.programs + s.nand.erases) as f64;
        let stored = (after.ftl.flash_bytes_written - before.ftl.flash_bytes_written) as f64;
        let written = (after.ftl.host_bytes_written - before.ftl.host_bytes_written) as f64;
        Cost {
            seconds,
            simulated: self.machine.now().since(began).as_secs_f64(),
            requests,
            flash_operations: operations(&after) - operations(&before),
            events: counts(&self.machine) - events,
            waf: if written > 0.0 { stored / written } else { 0.0 },
        }
    }
}

fn print(name: &str, cost: &Cost) {
    println!(
        "  {name:<32} {:9.0} requests/CPU s  {:9.0} flash operations/CPU s  {:4.1} events a request  WAF \
         {:.2}",
        cost.requests / cost.seconds,
        cost.flash_operations / cost.seconds,
        cost.events / cost.requests,
        cost.waf,
    );
}

/// Prints requests and flash operations per CPU second, and the memory that they took.
pub fn measure() {
    println!("whole drive, profile ideal, 8 × 8, 16 KiB mapping, fingerprint, 7 % over-provisioning");
    let bench = Bench::new("ideal", |_| {});
    let pages = bench.drive.bytes / (16 << 10);
    print(
        "128 KiB sequential write (fill)",
        &bench.run(Access::Sequential, Mix::Write, 128 << 10, pages / 8, 16),
    );
    let written = bench.machine.device().nand().programmed_pages();
    let memory = peak_bytes();
    print("4 KiB random read, QD 128", &bench.run(Access::Random, Mix::Read, 4 << 10, READS, 128));
    print("128 KiB sequential read", &bench.run(Access::Sequential, Mix::Read, 128 << 10, pages / 16, 16));
    // This job brings the drive to its steady state; the next one is measured.
    bench.run(Access::Random, Mix::Write, 16 << 10, pages, 128);
    print("16 KiB random write in GC", &bench.run(Access::Random, Mix::Write, 16 << 10, pages / 4, 128));
    let bound = 200_000_000 + 48 * written + 4 * pages;
    println!(
        "  memory after the fill: {} MB peak for {written} pages written and {pages} mapped; bound {} MB",
        memory / 1_000_000,
        bound / 1_000_000,
    );
    assert!(memory <= bound, "the drive takes more memory than its bound");
}

/// Blocks of each LUN of the board's drive here (C31).
const BOARD_BLOCKS: u32 = 64;
const BOARD_READS: u64 = 20_000;

/// Prints how fast the drives of the Cosmos+ paper are simulated: simulated seconds per CPU second at full
/// read bandwidth.
pub fn measure_boards() {
    println!("128 KiB sequential reads, 16 outstanding, 8 × 8 MLC, fingerprint");
    for name in ["cosmos-plus", "cosmos-board"] {
        let bench = Bench::new(name, |p| p.restrict.blocks_per_lun = Some(BOARD_BLOCKS));
        // The pages that are read have been written.
        bench.run(Access::Sequential, Mix::Write, 128 << 10, BOARD_READS, 16);
        let cost = bench.run(Access::Sequential, Mix::Read, 128 << 10, BOARD_READS, 16);
        println!(
            "  {name:<32} {:9.2} simulated s/CPU s  {:9.0} MB/s simulated  {:4.1} events a request",
            cost.simulated / cost.seconds,
            cost.requests * f64::from(128 << 10) / 1e6 / cost.simulated,
            cost.events / cost.requests,
        );
    }
}
