//! Aster with a victim policy and a placement of one's own (docs/victim-policies.md), beside those that come
//! along, on the same drive under the same work.

mod placement;
mod victims;

use aster_device::{Pieces, Profile};
use aster_lab::own::{self, OwnWork, Place, Preconditioning, Setup};
use aster_lab::report::RunReport;
use aster_lab::watch::{Watch, Watchers};
use placement::Stripes;
use std::error::Error;
use std::process::ExitCode;
use victims::CostAgeTimes;

/// Nine of ten writes go to a tenth of the drive.
const JOB: &str = "[skewed]\nrw=randrw\nrwmixread=20\nbs=16k\niodepth=8\n\
                   random_distribution=zoned:90/10:10/90\n\
                   norandommap\nnumber_ios=3000\nio_size=1g\n";

/// Ours, and what a profile calls `cost-age-times` and `stripes`.
pub fn pieces() -> Pieces {
    Pieces::default()
        .victims("cost-age-times", |profile| Ok(Box::new(CostAgeTimes::of(profile)?)))
        .placement("stripes", |profile| Ok(Box::new(Stripes::of(profile)?)))
}

/// `profile` under that work, with data checked, on a drive that was filled and overwritten before.
fn run(profile: Profile) -> Result<RunReport, Box<dyn Error>> {
    let setup = Setup { precondition: Some(Preconditioning::Overwritten(100)), ..Setup::new("own", profile) };
    let work = OwnWork::jobs("skewed.fio", JOB, true)?;
    let place = Place::of_pieces(&pieces(), &setup, None)?;
    let watchers = Watchers::new(&Watch::default())?;
    Ok(own::run(&setup, pieces(), work, place, watchers, &mut |_phase, _share| true)?.report)
}

/// As the file of this example says, with other decisions where they are given.
fn profile(victims: Option<&str>, placement: Option<&str>) -> Result<Profile, Box<dyn Error>> {
    let mut profile = Profile::parse_with(&pieces(), "own.toml", &std::fs::read_to_string("own.toml")?)?;
    if let Some(victims) = victims {
        profile.ftl.victims = victims.to_owned();
    }
    if let Some(placement) = placement {
        profile.ftl.placement = Some(placement.to_owned());
    }
    Ok(profile)
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
    for victims in [Some("greedy"), Some("cost-benefit"), None] {
        let report = run(profile(victims, None)?)?;
        let (waf, moved) = (report.drive.waf.unwrap_or(0.0), report.drive.firmware.programs.gc);
        println!(
            "{}: {} failed, write amplification {waf:.2}, {moved} pages moved",
            victims.unwrap_or("cost-age-times"),
            report.failures()
        );
    }
    let spread = |placement| -> Result<_, Box<dyn Error>> {
        let report = run(profile(None, placement)?)?;
        println!("{}: {:.4} simulated seconds", placement.unwrap_or("stripes"), report.drive.simulated_s);
        Ok(report.provenance.map(|of| of.own_pieces).unwrap_or_default())
    };
    spread(Some("channel-first"))?;
    println!("of its own: {}", spread(None)?.join(", "));
    Ok(())
}
