//! The report for people.

use super::SoftssdReport;
use super::claims::claims;
use super::costs;
use super::map_cache::Pattern;
use super::phases::{Phases, PhasesAt};
use super::plan::Plan;
use super::threads::{Access, ThreadsPoint};
use crate::experiment::{Cells, error_percent, write_claims};
use std::fmt::Write;

/// The report as tables.
///
/// # Panics
/// Never with the plan that the report was made from: its cost file has been read before.
pub fn table(report: &SoftssdReport, plan: &Plan) -> String {
    let mut out = String::new();
    table_2(&mut out, report);
    threads(&mut out, report, plan);
    phases(&mut out, report, plan);
    host(&mut out, report, plan);
    map_cache(&mut out, report, plan);
    write_claims(&mut out, &claims(report, plan));
    fitted(&mut out);
    out
}

fn table_2(out: &mut String, report: &SoftssdReport) {
    let _ = writeln!(out, "Table 2                         ours        paper");
    for row in &report.table_2 {
        let differs = if row.agrees { "" } else { "  DIFFERS" };
        let digits = usize::from(row.ours.fract() != 0.0) * 3;
        let _ = writeln!(out, "{:<24}{:>12.digits$}{:>13}{differs}", row.name, row.ours, row.paper);
    }
    out.push('\n');
}

fn threads(out: &mut String, report: &SoftssdReport, plan: &Plan) {
    let cells = Cells { name: 26, width: 9 };
    let _ = writeln!(
        out,
        "Figs 8 and 9: threads with one request each; sequential reads of {} KiB, everything else {} KiB",
        plan.sequential_read_bytes >> 10,
        plan.request_bytes >> 10
    );
    cells.head(out, "threads", plan.threads.iter());
    type Of = fn(&ThreadsPoint) -> f64;
    for access in Access::ALL {
        let of = |of: Of| report.threads.iter().filter(move |point| point.access == access).map(of);
        cells.row(out, &format!("{}, MB/s", access.name()), of(|point| point.mb_per_s));
        cells.row(out, "  1000 requests/s", of(|point| point.iops / 1e3));
        cells.row(out, "  median, µs", of(|point| point.quantiles_us[point.quantiles_us.len() / 2]));
        cells.row(out, "  p99, µs", of(|point| point.quantiles_us.last().copied().unwrap_or(0.0)));
    }
    let _ = writeln!(
        out,
        "Throughput of writes is that with the write cache full ({} MiB here); their latencies are all, from \
         an empty cache on.\n",
        (u64::from(plan.buffer_entries) * u64::from(plan.request_bytes)) >> 20
    );
}

fn phases(out: &mut String, report: &SoftssdReport, plan: &Plan) {
    let _ = writeln!(
        out,
        "Fig 10: phases of flash transactions, µs     median      p10      p90    paper    error"
    );
    let paper = &plan.paper.fig_10;
    for (at, phases) in report.phases.iter().enumerate() {
        let first = at == 0;
        type Of = fn(&PhasesAt) -> &Phases;
        let rows: [(&str, Of, Option<f64>); 4] = [
            ("read transfer", |p| &p.read_transfer, Some(paper.read_transfer_us)),
            ("read command", |p| &p.read_command, Some(paper.read_command_us)),
            ("write transfer", |p| &p.write_transfer, Some(paper.write_transfer_us)),
            ("write command", |p| &p.write_command, None),
        ];
        for (name, of, paper) in rows {
            let p = of(phases);
            let threads = if phases.threads == 1 { "thread" } else { "threads" };
            let name = format!("{} {threads}, {name}", phases.threads);
            let _ = write!(out, "{name:<42}{:>9.1}{:>9.1}{:>9.1}", p.median_us, p.p10_us, p.p90_us);
            if let Some(paper) = paper.filter(|_| first) {
                let _ = write!(out, "{paper:>9.1}{:>8.1} %", error_percent(p.median_us, paper));
            }
            out.push('\n');
        }
    }
    out.push('\n');
}

fn host(out: &mut String, report: &SoftssdReport, plan: &Plan) {
    let (ours, paper) = (&report.host, &plan.paper.fig_11);
    let hardware = paper.software_per_second * paper.hardware_times;
    let _ = writeln!(out, "Fig 11: commands/s that end with their data       ours    paper    error");
    for (name, ours, paper) in [
        ("NVMe in software (fitted)", ours.software_per_second, paper.software_per_second),
        ("NVMe in hardware", ours.hardware_per_second, hardware),
    ] {
        let _ = writeln!(out, "{name:<44}{ours:>10.0}{paper:>9.0}{:>8.1} %", error_percent(ours, paper));
    }
    out.push('\n');
}

fn map_cache(out: &mut String, report: &SoftssdReport, plan: &Plan) {
    let of = &plan.map_cache;
    let cells = Cells { name: 34, width: 9 };
    let _ = writeln!(
        out,
        "Map cache (ours): requests of a page over a full drive, {} outstanding, by the memory for the map",
        of.outstanding
    );
    cells.head(out, "percent of the map", of.percent.iter());
    for write in [false, true] {
        for pattern in Pattern::ALL {
            let points = || {
                report.map_cache.iter().filter(move |point| point.pattern == pattern && point.write == write)
            };
            let verb = if write { "writes" } else { "reads" };
            cells.row(out, &format!("{} {verb}, MB/s", pattern.name()), points().map(|p| p.mb_per_s));
            cells.row(out, "  look-ups that hit, %", points().map(|p| p.hit_rate * 100.0));
            cells.row(out, "  translation pages read per 100", points().map(|p| p.reads_per_request * 100.0));
            if write {
                let programs = points().map(|p| p.programs_per_request * 100.0);
                cells.row(out, "  and programmed", programs);
            }
        }
    }
    out.push('\n');
}

fn fitted(out: &mut String) {
    costs::shipped().expect("read when the plan was").write(out, costs::FILE);
    let _ = write!(out, "\nAll else is predicted, with clocks and tPROG chosen.");
}
