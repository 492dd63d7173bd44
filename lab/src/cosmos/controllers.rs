//! BABOL's Fig 12: the same drive with the asynchronous controller, and with flash operations as
//! coroutines in its place (B26). Nothing else changes. The costs of coroutines come from costs/host.toml
//! until they have been measured on a board.

use super::drive::{AccessPattern, PaperDrive, Setup};
use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::{CostFile, ExperimentError};
use aster_device::profile::{ControllerName, Profile};
use aster_events::Recorder;
use serde::Serialize;

/// Reads of one channel by both controllers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exchange {
    /// At random, or one after the other.
    pub random: bool,
    /// Ways.
    pub ways: u8,
    /// MB/s under the asynchronous controller.
    pub hardware: f64,
    /// MB/s under coroutines.
    pub coroutines: f64,
}

impl Exchange {
    /// How much slower coroutines are, in percent.
    pub fn deficit_percent(&self) -> f64 {
        100.0 * (1.0 - self.coroutines / self.hardware)
    }
}

/// The data buffer has the profile's entries divided by this.
const BUFFER_PART: u32 = 16;

pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<Exchange>, ExperimentError> {
    let mut all = Vec::new();
    let total = (2 * plan.ways.len()) as f64;
    for random in [false, true] {
        for &ways in &plan.ways {
            told(all.len() as f64 / total)?;
            let [hardware, coroutines] = [ControllerName::Asynchronous, ControllerName::Software]
                .map(|controller| point(plan, ways, random, controller));
            all.push(Exchange { random, ways, hardware: hardware?, coroutines: coroutines? });
        }
    }
    Ok(all)
}

/// The drive with this number of ways and this controller.
pub(super) fn profile(plan: &Plan, ways: u8, controller: ControllerName) -> Result<Profile, ExperimentError> {
    let setup = Setup { channels: 1, ways, controller, ..Setup::full(Mode::Mlc) };
    let mut profile = setup.profile(plan)?;
    profile.package.read_us = vec![plan.paper.babol_12.read_us; 2];
    let costs = CostFile::shipped("host")?.cycles();
    profile.costs.flash_request = costs.flash_request;
    profile.costs.transaction = costs.transaction;
    profile.costs.poll = costs.poll;
    // The board's other core.
    profile.cores.flash_core = true;
    // Requests that hit the data buffer don't use the channel, which is what is compared. With a sixteenth
    // of the entries few requests hit.
    profile.ftl.buffer_entries /= BUFFER_PART;
    Ok(profile)
}

fn point(plan: &Plan, ways: u8, random: bool, controller: ControllerName) -> Result<f64, ExperimentError> {
    let profile = profile(plan, ways, controller)?;
    let pages = plan.random_buffers * u64::from(plan.profile()?.ftl.buffer_entries);
    let mut bench = PaperDrive::of(profile, &Recorder::default())?;
    let work =
        AccessPattern { write: false, random, bytes: 16 << 10, outstanding: 32, requests: plan.requests / 4 };
    Ok(bench.steady(pages, &work)?.mb_per_s)
}
