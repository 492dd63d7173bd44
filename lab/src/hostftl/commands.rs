//! Fig 29: MCU cycles that pass for each command, by what the commands do, with one channel and with several.
//! Each channel has one command at a time.

use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_device::{Media, Pieces};
use aster_driver::Config;
use aster_events::Recorder;
use aster_hostftl::bench::{CommandBench, CommandKind, CommandLoad};
use aster_run_virtual::Machine;
use aster_units::{Content, Duration};
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;

/// Commands of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandPoint {
    /// What they do.
    pub name: &'static str,
    /// Channels that they go to.
    pub channels: u8,
    /// Cycles of the MCU's clock from the first command to the last end, for each command.
    pub cycles: f64,
    /// How long each takes, in microseconds: a channel has one at a time.
    pub us: f64,
}

/// The name that profiles choose the bench by.
const BENCH: &str = "command-bench";

pub(super) const COPY_BACK: &str = "copy-back";
pub(super) const COPY_TO_DIE: &str = "copy to a die";
pub(super) const COPY_BY_HOST: &str = "copy by the host";

/// What commands of a kind are called in the figure.
const fn name(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::ReadSector => "4K read",
        CommandKind::WritePage => "page write",
        CommandKind::ReadRow => "PCP read",
        CommandKind::WriteRow => "PCP write",
        CommandKind::Nop => "no operation",
        CommandKind::EraseGroup => "erase",
        CommandKind::CopyBack => COPY_BACK,
        CommandKind::CopyToDie => COPY_TO_DIE,
        CommandKind::CopyByHost => COPY_BY_HOST,
    }
}

/// Measures all kinds with each number of channels.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<CommandPoint>, ExperimentError> {
    let channels = &plan.commands.channels;
    let of_kind = |kind| channels.iter().map(move |&channels| (kind, channels));
    let all: Vec<_> = CommandKind::ALL.into_iter().flat_map(of_kind).collect();
    let mut points = Vec::new();
    for (at, &(kind, channels)) in all.iter().enumerate() {
        told(at as f64 / all.len() as f64)?;
        let each = plan.commands.each;
        let took = took(plan, CommandLoad { kind, channels, each })?;
        let clock = plan.profile()?.cores.frequency_mhz * 1e6;
        let cycles = took.as_secs_f64() * clock / f64::from(each * u32::from(channels));
        let us = took.as_secs_f64() * 1e6 / f64::from(each);
        points.push(CommandPoint { name: name(kind), channels, cycles, us });
    }
    Ok(points)
}

/// The time that a load takes on a new drive.
fn took(plan: &Plan, load: CommandLoad) -> Result<Duration, ExperimentError> {
    let mut profile = plan.profile()?;
    profile.package.factory_bad_per_mille = 0;
    profile.target.get_or_insert_default().kind = BENCH.to_owned();
    let took = Rc::new(Cell::new(None));
    let result = Rc::clone(&took);
    let pieces = Pieces::default().target(BENCH, move |profile, _| {
        let page_bytes = profile.geometry.page_bytes;
        Ok(Box::new(CommandBench { load, page_bytes, took: Rc::clone(&result) }))
    });
    let (content, media, recorder) = (Some(Content::Fingerprint), Media::fresh(), Recorder::default());
    let config = Config { depth: 4, ..Config::default() };
    let machine =
        Machine::power_on_with(pieces, plan.profile_name(), &profile, content, media, &recorder, config)?;
    machine.boot()?;
    took.get().ok_or_else(|| ExperimentError::Run(format!("{load:?} has no result")))
}
