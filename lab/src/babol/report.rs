//! The experiment's results.

use super::lines::LinesReport;
use super::polling::PollingReport;
use super::throughput::ThroughputReport;
use super::transfer::TransferReport;
use crate::experiment::CostFile;
use serde::Serialize;

/// Everything that the experiment found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BabolReport {
    /// Table I.
    pub transfers: Vec<TransferReport>,
    /// Fig 10.
    pub throughput: ThroughputReport,
    /// Fig 11.
    pub polling: Vec<PollingReport>,
    /// What the paper says of Fig 11: the period of a coroutine at 1 GHz.
    pub paper_poll_period_us: f64,
    /// Table II.
    pub lines: Vec<LinesReport>,
    /// The assumed costs of a coroutine's steps.
    pub costs: CostFile,
    /// Fig 9 as a picture.
    #[serde(skip)]
    pub waveform_svg: Vec<u8>,
    /// Its changes as CSV.
    #[serde(skip)]
    pub waveform_csv: Vec<u8>,
}
