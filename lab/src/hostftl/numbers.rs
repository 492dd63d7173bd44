//! The numbers that the paper's text prints, each beside ours.

use super::plan::Plan;
use super::{HostFtlReport, LoadKind};
use crate::experiment::error_percent;
use serde::Serialize;

/// A number of the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRow {
    /// The requirement that it belongs to.
    pub id: &'static str,
    /// What it is of.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Ours.
    pub ours: f64,
    /// The paper's.
    pub paper: f64,
    /// The difference, in percent of the paper's.
    pub error_percent: f64,
    /// A number of the model was fitted to it.
    pub is_fitted: bool,
}

/// All numbers that `report` has something to hold against.
pub fn numbers(report: &HostFtlReport, plan: &Plan) -> Vec<NumberRow> {
    let paper = &plan.paper;
    let iops = |kind, reads, in_flight: u32| {
        let mut points = report.of(kind, reads, 4);
        points.find(|point| point.in_flight() == in_flight).map(|point| point.measured.iops)
    };
    let most = |kind, reads, kib, of: fn(&super::LoadPoint) -> f64| {
        report.of(kind, reads, kib).map(of).reduce(f64::max)
    };
    let alone = |reads| report.of(LoadKind::Alone, reads, 4).next().map(|point| point.measured.mean_us);
    let largest = plan.sequential.blocks_kib.last().copied().unwrap_or(0);
    let row = |id, name, unit, ours: Option<f64>, paper: f64| {
        ours.map(|ours| NumberRow {
            id,
            name,
            unit,
            ours,
            paper,
            error_percent: error_percent(ours, paper),
            is_fitted: false,
        })
    };
    let writes = |name, kind, in_flight, paper| row("H38", name, "IOPS", iops(kind, 0, in_flight), paper);
    let (four, flat, most_in_flight) =
        (paper.fig_24_oio_4_iops, paper.fig_24_flat_iops, paper.fig_24_oio_256_iops);
    let (at_once, gathered, steady) = (LoadKind::PreparedAtOnce, LoadKind::Prepared, LoadKind::Depths);
    let reads = |name, ours, paper| row("H39", name, "IOPS", ours, paper);
    [
        writes("Fig 24: writes sent at once, 4 in flight", at_once, 4, four),
        writes("  64 in flight", at_once, 64, flat),
        writes("  256 in flight", at_once, 256, most_in_flight),
        writes("  gathered, 4 in flight", gathered, 4, four),
        writes("  64 in flight", gathered, 64, flat),
        writes("  256 in flight", gathered, 256, most_in_flight),
        writes("  gathered and steady, 4 in flight", steady, 4, four),
        writes("  64 in flight", steady, 64, flat),
        writes("  256 in flight", steady, 256, most_in_flight),
        reads("Fig 25: reads, 2 in flight", iops(gathered, 100, 2), paper.fig_25_least_iops),
        reads("  the most", most(gathered, 100, 4, |p| p.measured.iops), paper.fig_25_most_iops),
        row(
            "H40",
            "Fig 27: large sequential reads",
            "MB/s",
            most(LoadKind::Sequential, 100, largest, |point| point.measured.mb_per_s),
            paper.fig_27_mb_per_s,
        ),
        row("H43", "Fig 31: 4 KiB read alone", "µs", alone(100), paper.fig_31_read_us),
        row("H43", "  4 KiB write alone", "µs", alone(0), paper.fig_31_write_us),
    ]
    .into_iter()
    .flatten()
    .collect()
}
