//! The numbers that the paper's text prints, each beside ours.

use super::commands::{COPY_BACK, COPY_BY_HOST, COPY_TO_DIE};
use super::copy::{CopyPoint, PLACES};
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
    let alone = |kind, reads| report.of(kind, reads, 4).next().map(|point| point.measured.mean_us);
    let largest = plan.sequential.blocks_kib.last().copied().unwrap_or(0);
    let row = |id, name, unit, ours: Option<f64>, paper: f64| {
        ours.map(|ours| NumberRow { id, name, unit, ours, paper, error_percent: error_percent(ours, paper) })
    };
    let copied = |title, kind, paper| row("H31", title, "µs", report.alone(kind), paper);
    let copy = |addresses| report.copies.iter().find(|point| point.addresses == addresses);
    let (two, all) = (copy(2), copy(PLACES));
    let writes = |name, kind, in_flight, paper| row("H38", name, "IOPS", iops(kind, 0, in_flight), paper);
    let (four, flat, most_in_flight) =
        (paper.fig_24_oio_4_iops, paper.fig_24_flat_iops, paper.fig_24_oio_256_iops);
    let (at_once, gathered, steady) = (LoadKind::PreparedAtOnce, LoadKind::Prepared, LoadKind::Depths);
    let reads = |name, ours, paper| row("H39", name, "IOPS", ours, paper);
    [
        row(
            "H15",
            "Fig 11: copy of 14 host addresses",
            "times",
            all.map(CopyPoint::copy_times),
            paper.fig_11_copy_times,
        ),
        row(
            "H15",
            "  whole move with 2 of them",
            "% faster",
            two.map(CopyPoint::move_gain_percent),
            paper.fig_11_move_percent,
        ),
        row("H15", "  with 14", "% faster", all.map(CopyPoint::move_gain_percent), paper.fig_11_move_percent),
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
        copied("Copy-back of a page", COPY_BACK, paper.copy_back_us),
        copied("  to another die", COPY_TO_DIE, paper.copy_to_die_us),
        copied("  by a read and a write", COPY_BY_HOST, paper.copy_by_host_us),
        row("H43", "Fig 31: read alone", "µs", alone(LoadKind::PreparedAlone, 100), paper.fig_31_read_us),
        row("H43", "  write alone", "µs", alone(LoadKind::PreparedAlone, 0), paper.fig_31_write_us),
        row("H43", "  read alone, steady", "µs", alone(LoadKind::Alone, 100), paper.fig_31_read_us),
        row("H43", "  write alone, steady", "µs", alone(LoadKind::Alone, 0), paper.fig_31_write_us),
    ]
    .into_iter()
    .flatten()
    .collect()
}
