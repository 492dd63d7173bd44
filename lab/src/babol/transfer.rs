//! Table I: a page's transfer. Fig 9: the waveform of Algorithm 2.

use super::bus::{one_read, transactions};
use super::plan::Plan;
use crate::experiment::{ExperimentError, error_percent};
use crate::wave::{write_csv, write_svg};
use aster_device::units::Content;
use serde::Serialize;

/// A page's transfer at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransferReport {
    /// Millions of bytes per second on the bus.
    pub rate_mt_s: u32,
    /// Bytes of a page, its OOB and their parity that the bus moved.
    pub bytes: u32,
    /// The transaction that moved them, from its first bus cycle to its last.
    pub ours_us: f64,
    /// Table I.
    pub paper_us: f64,
    /// The difference between ours and the paper's, in percent of the paper's.
    pub error_percent: f64,
}

/// One page on the bench at each rate.
pub(super) fn measure(plan: &Plan) -> Result<Vec<TransferReport>, ExperimentError> {
    let measure = |(&rate_mt_s, &paper_us): (&u32, &f64)| {
        let Some(package) = plan.packages.first() else {
            return Err(ExperimentError::File("packages: names none".into()));
        };
        let profile = plan.bench_profile(package, rate_mt_s)?;
        let read = transactions(&one_read(&profile, None, Content::Fingerprint)?);
        let Some(transfer) = read.iter().find(|shown| shown.name == "read transfer") else {
            return Err(ExperimentError::File("a READ showed no transfer on the bus".into()));
        };
        let ours_us = transfer.until_us - transfer.from_us;
        let error_percent = error_percent(ours_us, paper_us);
        Ok(TransferReport { rate_mt_s, bytes: transfer.bytes, ours_us, paper_us, error_percent })
    };
    plan.rates_mt_s.iter().zip(&plan.paper.transfer_us).map(measure).collect()
}

/// Algorithm 2 as a picture and as a table.
pub(super) fn waveform(plan: &Plan) -> Result<(Vec<u8>, Vec<u8>), ExperimentError> {
    let wanted = &plan.waveform;
    let mut profile = plan.bench_profile(&wanted.package, wanted.rate_mt_s)?;
    profile.poll.early_ns = wanted.poll_early_ns;
    profile.poll.interval_ns = wanted.poll_interval_ns;
    let wave = one_read(&profile, Some(wanted.sectors), Content::Full)?;
    let (mut picture, mut table) = (Vec::new(), Vec::new());
    write_svg(&mut picture, &wave)?;
    write_csv(&mut table, &wave)?;
    Ok((picture, table))
}
