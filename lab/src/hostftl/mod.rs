//! `aster reproduce host-ftl`: Figs 11 and 22 to 31 of the Host-FTL paper, on its drive under its FTL. Figs
//! 22 to 28, 30 and 31 are made with SNIA's performance test ([`pts`](crate::pts)), as the paper's were. Most
//! curves have no digits, so what is compared are the numbers of the text ([`NumberRow`]) and its statements
//! ([`Claim`](crate::experiment::Claim)). The paper has no figure of wear, but statements.

mod chart;
mod claims;
mod commands;
mod copy;
mod json;
mod loads;
mod numbers;
mod plan;
mod text;
mod wear;

pub use chart::figures;
pub use claims::claims;
pub use commands::CommandPoint;
pub use copy::{CopyCosts, CopyPoint};
pub use json::{Json, json};
pub use loads::{CopyReads, LatencyRounds, LoadKind, LoadPoint};
pub use numbers::{NumberRow, numbers};
pub use plan::Plan;
pub use text::table;
pub use wear::{WearKind, WearLife, WearPair, WearSample};

use crate::experiment::{ExperimentError, heard};
use serde::Serialize;
use std::ops::ControlFlow;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostFtlReport {
    /// Bytes of the drive that was measured.
    pub bytes: u64,
    /// Figs 22 to 27 and 31.
    pub loads: Vec<LoadPoint>,
    /// Fig 30.
    pub latency: LatencyRounds,
    /// Fig 11.
    pub copies: Vec<CopyPoint>,
    /// The most 4 KiB reads a second with either copy.
    pub copy_reads: CopyReads,
    /// Fig 29.
    pub commands: Vec<CommandPoint>,
    /// Wear over a drive's life.
    pub wear: Vec<WearLife>,
}

/// Carries the experiment out. Calls `progress` with the current part and its share from 0 to 1;
/// `progress` may stop it.
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<HostFtlReport, ExperimentError> {
    let mut told = |part, share| heard(progress(part, share));
    let drive = plan.pts(plan.profile()?).drive();
    let bytes = drive.map_err(|error| ExperimentError::Machine(error.into()))?.bytes;
    let (alone, latency) = loads::alone(plan, &mut |share| told("Figs 30 and 31", share))?;
    let mut loads = loads::prepared(plan, false, &mut |share| told("Figs 24 and 25", share))?;
    loads.extend(loads::prepared(plan, true, &mut |share| told("Fig 24, sent at once", share))?);
    loads.extend(loads::steady(plan, &mut |share| told("Figs 22 to 25, steady", share))?);
    loads.extend(loads::sequential(plan, &mut |share| told("Figs 26 and 27", share))?);
    loads.extend(loads::beside(plan, &mut |share| told("Fig 28", share))?);
    loads.extend(alone);
    told("Fig 11", 0.0)?;
    let (copies, copy_reads) = (CopyCosts::shipped()?.points(), loads::copy_reads(plan)?);
    let commands = commands::measure(plan, &mut |share| told("Fig 29", share))?;
    let wear = wear::lives(plan, &mut |share| told("wear", share))?;
    Ok(HostFtlReport { bytes, loads, latency, copies, copy_reads, commands, wear })
}

impl HostFtlReport {
    /// How long a command of this name takes on one channel, in microseconds.
    fn alone(&self, name: &str) -> Option<f64> {
        let mut points = self.commands.iter().filter(|point| point.channels == 1);
        points.find(|point| point.name == name).map(|point| point.us)
    }
    /// The points of a kind, with this share of reads and this size.
    fn of(&self, kind: LoadKind, read_percent: u8, kib: u32) -> impl Iterator<Item = &LoadPoint> {
        let is_meant = move |point: &&LoadPoint| {
            let measured = &point.measured;
            (point.kind, measured.read_percent, measured.block_bytes) == (kind, read_percent, kib << 10)
        };
        self.loads.iter().filter(is_meant)
    }
}

#[cfg(test)]
mod tests;
