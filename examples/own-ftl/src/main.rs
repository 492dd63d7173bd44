//! Aster with an FTL of one's own (docs/translations.md): a job that checks what it reads, a shutdown,
//! and losses of power at any moment.

mod ftl;
mod log;
mod shared;

use aster_device::Pieces;
use aster_device::plug::MediaFacts;
use aster_device::profile::{Profile, shipped};
use aster_lab::own::{self, OwnWork, Place, Preconditioning, Setup};
use aster_lab::report::RunReport;
use aster_lab::torture::{self, Here, Plan};
use aster_lab::watch::{Watch, Watchers};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

/// Our FTL beside Aster's: a profile chooses it by `ftl.kind = "own-log"`.
pub fn pieces() -> Pieces {
    Pieces::default().translation("own-log", |profile: &Profile, facts: &MediaFacts| {
        Ok(Box::new(ftl::OwnFtl(shared::Plan::new(profile, facts)?)))
    })
}

/// Does what `aster run --verify` does, with our pieces.
fn run(profile: &Profile, job: &str, fill: bool, image: Option<&Path>) -> Result<RunReport, Box<dyn Error>> {
    let setup = Setup {
        precondition: fill.then_some(Preconditioning::Overwritten(0)),
        ..Setup::new("own", profile.clone())
    };
    let work = OwnWork::jobs("own.fio", job, true)?;
    let place = Place::of_pieces(&pieces(), &setup, image)?;
    let watchers = Watchers::new(&Watch::default())?;
    let outcome = own::run(&setup, pieces(), work, place, watchers, &mut |_phase, _share| true)?;
    outcome.report.warnings.iter().for_each(|warning| eprintln!("{}", warning.message));
    match outcome.problems.into_iter().next() {
        Some(problem) => Err(problem.into()),
        None => Ok(outcome.report),
    }
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
    let text = std::fs::read_to_string("own.toml")?;
    let own = Profile::parse_with(&pieces(), "own.toml", &text)?;
    let mut ours = own.clone();
    ours.ftl.kind = "page-mapping".to_owned();

    // The same job on a filled drive, with either FTL: what is read must be what was written.
    let job = "[mixed]\nrw=randrw\nbs=16k\nsize=24m\nio_size=64m\niodepth=16\nnumber_ios=4000\n";
    for (whose, profile) in [("own", &own), ("Aster's", &ours)] {
        let report = run(profile, job, true, None)?;
        let kinds = &report.tasks[0].kinds;
        let of = |kind: &str| kinds.iter().find(|k| k.kind == kind).map_or(0, |k| k.requests);
        println!(
            "{whose} FTL: {} writes, {} reads verified, {} failed, WAF {:.2}, {} flash programs",
            of("write"),
            of("read"),
            report.failures(),
            report.drive.waf.unwrap_or_default(),
            report.drive.flash_programs
        );
    }

    // Written, shut down, and read by another process's drive: here another run with the same image.
    let image = std::env::temp_dir().join(format!("own-ftl-{}.img", std::process::id()));
    let written = run(&own, "[write]\nrw=write\nbs=12k\nsize=6m\n", false, Some(&image));
    let read = run(&own, "[read]\nrw=read\nbs=64k\nsize=6m\n", false, Some(&image));
    std::fs::remove_file(&image)?;
    let (written, read) = (written?, read?);
    println!(
        "own FTL: {} bytes read back after a shutdown, {} failed",
        read.tasks[0].kinds[0].bytes,
        written.failures() + read.failures()
    );

    // Drives whose power goes at any moment, held to what the FTL promises. Programs take their word line
    // along.
    let mut victim = shipped("pocket")?;
    victim.ftl.kind = "own-log".to_owned();
    victim.package.pair_loss = true;
    let cuts = std::env::var("OWN_FTL_CUTS").map_or(Ok(36), |cuts| cuts.parse())?;
    let plan = Plan { name: "own-log".to_owned(), seed: 1, cuts: Some(cuts), only: None };
    let mut here = Here::new("own-log", &victim, None).with_pieces(&pieces);
    let report = torture::run(&plan, &mut here, &mut |_moment| ControlFlow::Continue(()))?;
    let seen = report.seen;
    println!(
        "own FTL: {} losses of power, {} more in recovery, {} torn programs, {} flushes and \
         forced writes relied on",
        seen.cuts, seen.cuts_in_recovery, seen.torn_programs, seen.durable
    );
    println!("own FTL: {} pages at most looked at in recovery", seen.recovery_reads_max);
    match report.failure {
        None => Ok(()),
        Some(failure) => Err(format!("it lost something: {failure:#?}").into()),
    }
}
