//! Aster with an FTL of one's own on the host of an open-channel drive (docs/open-channel.md): a job that
//! checks what it reads, and losses of power of host, or of host and drive, at any moment.

mod ftl;

use aster_device::Pieces;
use aster_device::plug::MediaFacts;
use aster_device::profile::{Profile, TargetProfile, shipped};
use aster_lab::own::{self, OwnWork, Place, Preconditioning, Setup};
use aster_lab::torture::{self, Here, Plan};
use aster_lab::watch::{Watch, Watchers};
use std::error::Error;
use std::ops::ControlFlow;
use std::process::ExitCode;

/// Our FTL beside Aster's: a profile chooses it by `target.kind = "own-host-log"`.
fn pieces() -> Pieces {
    Pieces::default().target("own-host-log", |_: &Profile, facts: &MediaFacts| {
        Ok(Box::new(ftl::OwnHostFtl { geometry: facts.geometry }))
    })
}

/// What is wrong is told in words: a bad key by file, line and reason.
pub fn main() -> ExitCode {
    match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show() -> Result<(), Box<dyn Error>> {
    let mut profile = shipped("pocket-ocssd")?;
    profile.target = Some(TargetProfile { kind: "own-host-log".to_owned(), ..TargetProfile::default() });

    // What `aster run --verify` does, with our pieces: four times the capacity, at random, on a full drive.
    let setup =
        Setup { precondition: Some(Preconditioning::Overwritten(0)), ..Setup::new("own", profile.clone()) };
    let job = "[mixed]\nrw=randrw\nrwmixread=20\nbs=4k\niodepth=16\nloops=4\n";
    let work = OwnWork::jobs("own.fio", job, true)?;
    let place = Place::of_pieces(&pieces(), &setup, None)?;
    let watchers = Watchers::new(&Watch::default())?;
    let outcome = own::run(&setup, pieces(), work, place, watchers, &mut |_phase, _share| true)?;
    if let Some(problem) = outcome.problems.into_iter().next() {
        return Err(problem.into());
    }
    let report = outcome.report;
    let of = |kind: &str| report.tasks[0].kinds.iter().find(|k| k.kind == kind).map_or(0, |k| k.requests);
    println!(
        "own FTL on the host: {} writes, {} reads verified, {} failed, WAF {:.2}",
        of("write"),
        of("read"),
        report.failures(),
        report.drive.waf.unwrap_or_default()
    );

    let cuts = std::env::var("OWN_HOST_FTL_CUTS").map_or(Ok(36), |cuts| cuts.parse())?;
    let plan = Plan { name: "own-host-log".to_owned(), seed: 1, cuts: Some(cuts), only: None };
    let mut here = Here::new("own-host-log", &profile, None).with_pieces(&pieces);
    let report = torture::run(&plan, &mut here, &mut |_moment| ControlFlow::Continue(()))?;
    let seen = report.seen;
    println!(
        "own FTL on the host: {} losses of power and {} more in recovery, {} of them of the host alone; {} \
         torn programs, {} flushes and forced writes relied on",
        seen.cuts, seen.cuts_in_recovery, seen.host_cuts, seen.torn_programs, seen.durable
    );
    match report.failure {
        None => Ok(()),
        Some(failure) => Err(format!("it lost something: {failure:#?}").into()),
    }
}
