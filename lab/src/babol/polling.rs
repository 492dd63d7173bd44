//! Fig 11: how often an operation checks whether its LUN is ready.

use super::bus::{Shown, one_read, ready, transactions};
use super::plan::Plan;
use super::throughput::Controller;
use crate::experiment::ExperimentError;
use aster_device::units::Content;
use aster_device::wave::Waveform;
use serde::Serialize;

/// One READ with a single LUN on the channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PollingReport {
    /// What drives the channel.
    pub controller: Controller,
    /// Its transactions.
    pub transactions: Vec<Shown>,
    /// Status checks.
    pub polls: usize,
    /// From one check to the next, mean; absent when there was one only.
    pub period_us: Option<f64>,
    /// From the array's end to the transfer's beginning.
    pub detection_us: f64,
}

/// A READ of each controller.
pub(super) fn measure(plan: &Plan) -> Result<Vec<PollingReport>, ExperimentError> {
    let wanted = &plan.polling;
    let coroutines = wanted.clocks_mhz.iter().map(|&clock_mhz| Controller::Coroutine { clock_mhz });
    let controllers = [Controller::Synchronous, Controller::Asynchronous].into_iter().chain(coroutines);
    let report = |controller: Controller| {
        let profile = controller.profile(plan, &wanted.package, wanted.rate_mt_s)?;
        Ok(report(controller, &one_read(&profile, None, Content::Fingerprint)?))
    };
    controllers.map(report).collect()
}

fn report(controller: Controller, wave: &Waveform) -> PollingReport {
    let transactions = transactions(wave);
    let checks: Vec<f64> =
        transactions.iter().filter(|shown| shown.name == "read status").map(|shown| shown.from_us).collect();
    let period_us = match checks[..] {
        [first, .., last] => Some((last - first) / (checks.len() - 1) as f64),
        _ => None,
    };
    let ready_us = ready(wave);
    let transfer_us = transactions.last().map_or(ready_us, |transfer| transfer.from_us);
    PollingReport {
        controller,
        polls: checks.len(),
        period_us,
        detection_us: transfer_us - ready_us,
        transactions,
    }
}
