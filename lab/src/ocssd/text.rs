//! The report for people.

use super::OcssdReport;
use super::claims::{PLANES, claims};
use super::load::LoadReport;
use super::plan::{Ftl, Plan};
use super::slides::{ALL_ARRAY, ALL_DATA, EraseParts};
use super::sweep::{STEPS, SweepPoint};
use crate::experiment::{Cells, write_claims};
use aster_device::profile::SlowLunProfile;
use std::fmt::Write;

/// The report as tables.
pub fn table(report: &OcssdReport, plan: &Plan) -> String {
    let mut out = String::new();
    sweep(&mut out, report, plan);
    load(&mut out, report, plan);
    slides(&mut out, report, plan);
    places(&mut out, report, plan);
    write_claims(&mut out, &claims(report, plan));
    let _ = writeln!(
        out,
        "\nNothing is fitted. tR and tPROG are those of the sources; the costs of the firmware are those of \
         cosmos-board,\nand pblk's of a command on the host is chosen (target.command_ns)."
    );
    out
}

fn direction(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

fn sweep(out: &mut String, report: &OcssdReport, plan: &Plan) {
    let cells = Cells { name: 38, width: 9 };
    let _ = writeln!(
        out,
        "Figs 33 to 35: sequential requests of {} KiB, tR {} µs, tPROG {} µs",
        plan.load.request_bytes >> 10,
        plan.read_us,
        plan.program_us
    );
    cells.head(out, "outstanding", plan.load.outstanding.iter());
    type Of = fn(&SweepPoint) -> f64;
    const MIDDLE: usize = STEPS as usize / 2;
    for ftl in Ftl::ALL {
        for write in [true, false] {
            let row = |out: &mut String, what: &str, of: Of| {
                let points = report.sweep.iter().filter(|point| point.ftl == ftl && point.write == write);
                cells.row(out, &format!("{} {}, {what}", ftl.name(), direction(write)), points.map(of));
            };
            row(out, "MB/s", |point| point.mb_per_s);
            row(out, "host, median µs", |point| point.host_us[MIDDLE]);
            row(out, "host, p95 µs", |point| point.host_us[STEPS as usize - 1]);
            row(out, "drive, median µs", |point| point.drive_us[MIDDLE]);
            row(out, "drive, p95 µs", |point| point.drive_us[STEPS as usize - 1]);
        }
    }
    out.push('\n');
}

fn load(out: &mut String, report: &OcssdReport, plan: &Plan) {
    let _ = writeln!(
        out,
        "Figs 36 to 38: in the drive, with {} requests outstanding at the host",
        plan.most_outstanding()
    );
    let cells = Cells { name: 44, width: 13 };
    cells.head(out, "", ["MB/s", "commands", "below 61, %", "channels", "ways"].into_iter());
    for load in &report.load {
        let LoadReport { ftl, write, one_write_per_lun, slow_lun, mb_per_s, below_full, .. } = load;
        let slow = if *slow_lun { ", slow LUN" } else { "" };
        let rule = if *one_write_per_lun { "" } else { ", any number per LUN" };
        let name = format!("{} {}{slow}{rule}", ftl.name(), direction(*write));
        let means = [load.outstanding.mean, below_full * 100.0, load.channels.mean, load.ways.mean];
        cells.row(out, &name, [*mb_per_s].into_iter().chain(means));
    }
    out.push_str(
        "Means over time: outstanding commands, active channels, active ways of each channel. A way is \
         active while an operation that it was given has not ended.\n",
    );
    let SlowLunProfile { lun, one_in, times } = plan.load.slow_lun;
    let _ = writeln!(
        out,
        "With a slow LUN one of {one_in} pages of LUN {lun} takes {times} times as long; 'any number' is of \
         writes in flight.\n"
    );
}

fn slides(out: &mut String, report: &OcssdReport, plan: &Plan) {
    let _ = writeln!(
        out,
        "The slides' workloads: one request outstanding, {:.0} % of the drive of 64 GB and of 10^6 \
         requests,\n\
         but for random writes, which are {} to a drive of {:.0} GB; with a page cache of the host of\n\
         {} MiB ({} MiB over random writes), and without",
        plan.slides.share * 100.0,
        plan.slides.random_writes,
        f64::from(plan.slides.random_write_blocks_per_lun) * 0.125,
        plan.slides.cache_mib(false),
        plan.slides.cache_mib(true)
    );
    if let Some(row) = report.slides.first() {
        let gb = row.range_bytes as f64 / 1e9;
        let _ = writeln!(out, "Reads and sequential writes go over all that the host sees, {gb:.1} GB.");
    }
    let cells = Cells { name: 44, width: 12 };
    cells.head(out, "", ["mean, µs", "median", "p95", "p99", "erased"].into_iter());
    for row in &report.slides {
        let name = format!("{}, {}", row.workload.name(), row.drive());
        let curve = &row.quantiles_us;
        let values = [
            row.mean_us,
            curve[STEPS as usize / 2],
            curve[STEPS as usize - 1],
            row.p99_us,
            row.erased as f64,
        ];
        cells.row(out, &name, values.into_iter());
    }
    out.push_str("Erased are blocks of one plane.\n\nCommands of the drive, by size in KiB\n");
    for row in &report.slides {
        let _ = write!(out, "{:<44}", format!("{}, {}", row.workload.name(), row.drive()));
        for size in &row.sizes {
            let _ = write!(out, "  {} × {}", size.commands, size.bytes >> 10);
        }
        out.push('\n');
    }
    erases(out, report, plan);
    out.push('\n');
}

fn places(out: &mut String, report: &OcssdReport, plan: &Plan) {
    let of = &plan.places;
    let _ = writeln!(
        out,
        "One FTL, two places: random writes of {} KiB to a full drive, then random reads of {} KiB, {} \
         outstanding",
        of.write_bytes >> 10,
        of.read_bytes >> 10,
        of.outstanding
    );
    let cells = Cells { name: 28, width: 11 };
    let columns =
        ["writes/s", "mean, µs", "reads/s", "mean, µs", "programmed", "erased", "over link", "core, %"];
    cells.head(out, "", columns.into_iter());
    for row in &report.places {
        let values = [
            format!("{:.0}", row.write_iops),
            format!("{:.0}", row.write_us),
            format!("{:.0}", row.read_iops),
            format!("{:.0}", row.read_us),
            format!("{:.2}", row.programmed),
            row.erased.to_string(),
            format!("{:.2}", row.over_link),
            format!("{:.0}", row.core * 100.0),
        ];
        cells.head(out, row.place.name(), values.into_iter());
    }
    out.push_str(
        "Of the writes: bytes programmed per byte written, blocks erased, bytes on the drive's link per byte \
         written,\nand the share of time in which the drive's core worked.\n\n",
    );
}

/// O12: where the erases come from, ours and the slides' in the same unit.
fn erases(out: &mut String, report: &OcssdReport, plan: &Plan) {
    let _ = writeln!(out, "\nBlocks erased by 128 KiB writes, in blocks of one plane of 2 MiB");
    let cells = Cells { name: 40, width: 10 };
    let columns =
        ["requests", "data", "- array", "= model", "metadata", "unfilled", "kept", "= derived", "erased"];
    cells.head(out, "", columns.into_iter());
    let mut row = |name: &str, requests: u64, values: [Option<f64>; 8]| {
        let values = values.map(|value| value.map_or("-".to_owned(), |value| format!("{value:.0}")));
        cells.head(out, name, [requests.to_string()].into_iter().chain(values));
    };
    for of in &report.slides {
        let Some(parts) = of.erases else { continue };
        let EraseParts { data, array, metadata, unfilled, kept, .. } = parts;
        let values =
            [data, array, parts.model(), metadata, unfilled, kept, parts.derived(), of.erased as f64];
        row(&format!("{}, ours", of.drive()), of.requests, values.map(Some));
    }
    let mut slides = |name: &str, erased: f64, array: f64| {
        let model = ALL_DATA - array;
        let beyond = erased - model;
        let (data, model) = (Some(ALL_DATA), Some(model));
        let values = [data, Some(array), model, None, None, Some(beyond), None, Some(erased)];
        row(name, plan.slides.requests, values);
    };
    let paper = &plan.paper;
    slides("legacy, the slides'", paper.erases_legacy, ALL_ARRAY);
    slides("legacy with cache, the slides'", paper.erases_legacy_cached, ALL_ARRAY);
    slides("pblk with cache, the slides', twice", PLANES * paper.erases_ocssd_cached, 0.0);
    out.push_str(
        "Derived: the host's data, less the array, which legacy fills before it erases, and what is beyond \
         that: metadata\n(less what a buffer holds at the end), pages left in blocks begun, and blocks kept \
         erased. The slides tell only the sum of these.\npblk erases each block before it writes it, also \
         one that comes erased. In the slides' trace a command of it erases\na pair of blocks (O9), so their \
         count is taken for one of pairs, 31,358: 490 lines of 64 pairs are 31,360.\n",
    );
}
