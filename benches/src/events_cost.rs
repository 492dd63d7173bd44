//! `events-cost`: what events without a listener cost, in instructions of a run. Fails at two percent or
//! more.
//!
//! Callgrind counts the instructions of the same run twice: in this build, and in one without events
//! (`--cfg aster_without_events`, see `aster_events::Recorder::is_on`), which this program builds. Each
//! number is the difference between a run and one with twice the requests, so start-up doesn't count. Both
//! numbers are the same each time they are counted.

use aster_benches::jobs::{drive_of, run};
use aster_device::Media;
use aster_device::profile::shipped;
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_workload::runner::Contents;
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Events that are off may cost less than this share of a run's instructions.
const SHARE_MAX: f64 = 0.02;
/// Requests of each kind in the first run of a pair.
const REQUESTS: u64 = 5_000;
/// The measured profiles: the one that does the least work per event, and a board's with all of its costs.
const PROFILES: [&str; 2] = ["ideal", "tiny"];

/// Fills a small drive of the profile, reads at random and writes at random until garbage is collected.
fn work(profile: &str, requests: u64) {
    let mut profile = shipped(profile).unwrap_or_else(|e| panic!("{e}"));
    profile.geometry.channels = 1;
    profile.geometry.ways = 2;
    profile.geometry.blocks_per_lun = 32;
    profile.ftl.over_provisioning_percent = 60.0;
    profile.host.block_bytes = 4096;
    let config = Config {
        depth: (profile.host.queue_entries - 1).min(64),
        transfer_bytes_max: profile.host.transfer_bytes_max.min(128 << 10),
        ..Config::default()
    };
    let content = Some(aster_units::Content::Fingerprint);
    let m = Machine::power_on("work", &profile, content, Media::fresh(), &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("{e}"));
    m.boot().unwrap_or_else(|e| panic!("{e}"));
    let drive = drive_of(&m);
    let fill = (Access::Sequential, Mix::Write, 64 << 10, drive.bytes / (64 << 10));
    let read = (Access::Random, Mix::Read, 4 << 10, requests);
    let write = (Access::Random, Mix::Write, 16 << 10, requests);
    let mut contents = Contents::unversioned(drive, 1);
    for (access, mix, block, number) in [fill, read, write] {
        let job = Job {
            access,
            mix,
            block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
            size: Some(Extent::Percent(100)),
            queue_depth: 32,
            ..Job::default()
        };
        contents = run(&m, job, (block, number), contents);
    }
}

/// Instructions that `program` executes for so many requests.
fn instructions(program: &Path, profile: &str, requests: u64) -> Result<u64, String> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([profile, &requests.to_string()])
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match collected {
        Some(collected) if run.status.success() => Ok(collected),
        _ => Err(format!("valgrind failed: {said}")),
    }
}

/// Instructions of [`REQUESTS`] reads and as many writes.
fn of_requests(program: &Path, profile: &str) -> Result<u64, String> {
    let (once, twice) =
        (instructions(program, profile, REQUESTS)?, instructions(program, profile, 2 * REQUESTS)?);
    let more = twice.checked_sub(once).filter(|more| *more > 100 * REQUESTS);
    more.ok_or_else(|| {
        format!("{profile}: twice the requests took {twice} instructions instead of {once}: no more work")
    })
}

/// Builds this program without events, beside the build that runs.
fn without_events(this: &Path) -> Result<PathBuf, String> {
    let target = this.ancestors().nth(2).ok_or("this program is in no build folder")?;
    let target = target.join("without-events");
    let flags = format!("{} --cfg aster_without_events", std::env::var("RUSTFLAGS").unwrap_or_default());
    let built = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["build", "--profile", "optimised", "--package", "aster-benches", "--bin", "events-cost"])
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", flags.trim())
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if built.success() { Ok(target.join("optimised/events-cost")) } else { Err(format!("cargo: {built}")) }
}

fn measure() -> Result<(), String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let without = without_events(&this)?;
    for profile in PROFILES {
        let (off, none) = (of_requests(&this, profile)?, of_requests(&without, profile)?);
        let share = off as f64 / none as f64 - 1.0;
        println!(
            "{profile}: {off} instructions with events off, {none} without events: {:.2} %",
            100.0 * share
        );
        if share >= SHARE_MAX {
            return Err(format!(
                "{profile}: events that are off cost {:.2} % of a run's instructions; they must cost less \
                 than {:.0} %",
                100.0 * share,
                100.0 * SHARE_MAX
            ));
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [] => measure(),
        [profile, requests] => match requests.parse() {
            Ok(requests) => {
                work(profile, requests);
                Ok(())
            }
            Err(_) => Err(format!("'{requests}' is no number of requests")),
        },
        _ => Err("usage: events-cost [PROFILE REQUESTS]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("events-cost: {error}");
            ExitCode::FAILURE
        }
    }
}
