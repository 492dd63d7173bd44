//! The report for people.

use super::costs;
use super::drive::Measured;
use super::grid::GridPoint;
use super::mode::{Mode, row_name};
use super::one_shot;
use super::plan::Plan;
use super::report::CosmosReport;
use super::scrambler::{self, BitErrors};
use super::table_7::{LatencyRow, Table7};
use crate::experiment::{Cells, error_percent};
use std::fmt::Write;

/// The errors of Table 7's predicted system latencies, in percent. Leaves out those with one request
/// outstanding, to whose parts numbers are fitted, and those to which a number is fitted itself.
///
/// # Panics
/// Never with the plan that the table was made from: its cost file has been read before.
pub fn predicted_errors(table: &Table7, plan: &Plan) -> Vec<f64> {
    let costs = costs::shipped().expect("read when the plan was");
    let rows = table.rows.iter().zip(&plan.paper.table_7.system);
    rows.flat_map(|(row, paper)| {
        let cells = table.outstanding.iter().zip(&row.found).zip(paper);
        let costs = &costs;
        cells.filter_map(move |((&ios, found), &paper)| {
            let fitted = ios == 1 || costs::fits_system_latency(costs, row.mode, row.write, ios);
            (!fitted).then(|| error_percent(found.system_us, paper))
        })
    })
    .collect()
}

/// The report as tables.
///
/// # Panics
/// Never with the plan that the report was made from: its cost file has been read before.
pub fn table(report: &CosmosReport, plan: &Plan) -> String {
    let mut out = String::new();
    hardware(&mut out, report);
    latency(&mut out, &report.latency, plan);
    grid(&mut out, "Fig 21, 128 KiB sequential, 16 outstanding, MB/s", &report.throughput, |p| {
        p.found.mb_per_s
    });
    full(&mut out, report, plan);
    grid(&mut out, "Fig 22, 4 KiB random, 128 outstanding, 1000 IOPS", &report.random, |p| {
        p.found.iops / 1e3
    });
    distribution(&mut out, report);
    clock(&mut out, report, plan);
    scrambler(&mut out, report, plan);
    one_shot(&mut out, report);
    controllers(&mut out, report, plan);
    fitted(&mut out, plan);
    out
}

fn hardware(out: &mut String, report: &CosmosReport) {
    let _ = writeln!(out, "Table 5                     ours        paper    error");
    for row in &report.array {
        let error = error_percent(row.ours_us, row.paper_us);
        let _ =
            writeln!(out, "{:<20}{:>9.1} µs {:>9.1} µs {error:>+6.1} %", row.name, row.ours_us, row.paper_us);
    }
    let _ = writeln!(out, "\nTable 6                                            ours     paper");
    for row in &report.buses {
        let _ = writeln!(
            out,
            "{:>2} {:<43}{:>9.0} {:>9.0} {}",
            row.id, row.location, row.ours, row.paper, row.unit
        );
    }
}

type Of = fn(&Measured) -> f64;

/// Table 7 and Fig 24.
const CELLS: Cells = Cells { name: 11, width: 9 };

fn latency(out: &mut String, table: &Table7, plan: &Plan) {
    let paper = &plan.paper.table_7;
    let _ = writeln!(out, "\nTable 7, µs; the paper's below, then the error in percent");
    CELLS.head(out, "IOs", table.outstanding.iter());
    for (at, row) in table.rows.iter().enumerate() {
        let name = row_name(row.mode, row.write);
        let parts: [(&str, Of, &Vec<f64>); 4] = [
            ("Sys", |f| f.system_us, &paper.system[at]),
            ("HIC", |f| f.hic_us, &paper.hic[at]),
            ("CF", |f| f.firmware_us, &paper.firmware[at]),
            ("SC", |f| f.storage_us, &paper.storage[at]),
        ];
        for (part, of, paper) in parts {
            CELLS.row(out, &format!("{name} {part}"), row.found.iter().map(of));
            CELLS.row(out, "", paper.iter().copied());
            let errors = row.found.iter().map(of).zip(paper).map(|(ours, &paper)| error_percent(ours, paper));
            CELLS.row(out, "       %", errors);
        }
    }
    let errors = predicted_errors(table, plan);
    let worst = errors.iter().fold(0.0, |worst: f64, e| if e.abs() > worst.abs() { *e } else { worst });
    let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len().max(1) as f64;
    let _ = writeln!(
        out,
        "system latencies that were predicted: mean error {mean:.1} %, worst {worst:+.1} %, of {} cells",
        errors.len()
    );
    let _ = writeln!(out, "\nFig 24, MB/s; below what the paper's latencies come to (C68)");
    for (row, paper) in table.rows.iter().zip(&paper.system) {
        throughput(out, table, row, paper);
    }
}

fn throughput(out: &mut String, table: &Table7, row: &LatencyRow, paper: &[f64]) {
    CELLS.row(out, row_name(row.mode, row.write), row.found.iter().map(|f| f.mb_per_s));
    let little = table.outstanding.iter().zip(paper).map(|(&ios, us)| f64::from(ios) * 16_384.0 / us);
    CELLS.row(out, "", little);
}

fn grid(out: &mut String, title: &str, points: &[GridPoint], of: impl Fn(&GridPoint) -> f64) {
    let _ = writeln!(out, "\n{title}");
    let mut last = None;
    for point in points {
        let row = (point.mode, point.write, point.channels);
        if last != Some(row) {
            let name = row_name(point.mode, point.write);
            let _ = write!(out, "{}{name} {} ch", if last.is_some() { "\n" } else { "" }, point.channels);
            last = Some(row);
        }
        let _ = write!(out, "   {}w {:>7.1}", point.ways, of(point));
    }
    out.push('\n');
}

/// The text's statements about Fig 21.
fn full(out: &mut String, report: &CosmosReport, plan: &Plan) {
    let paper = &plan.paper.fig_21;
    for (mode, write, paper) in
        [(Mode::Slc, false, paper.read), (Mode::Mlc, false, paper.read), (Mode::Mlc, true, paper.write_mlc)]
    {
        let of = |p: &&GridPoint| (p.mode, p.write, p.channels, p.ways) == (mode, write, 8, 8);
        if let Some(point) = report.throughput.iter().find(of) {
            let (name, ours) = (row_name(mode, write), point.found.mb_per_s);
            let error = error_percent(ours, paper);
            let _ = writeln!(out, "8 ch 8 w {name}: {ours:.0} MB/s, paper {paper:.0}, error {error:+.1} %");
        }
    }
}

fn distribution(out: &mut String, report: &CosmosReport) {
    let _ = writeln!(out, "\nFigs 25 and 26, SLC      KiB   read µs  write µs   devC KiB  devW KiB");
    for d in &report.distribution {
        let _ = writeln!(
            out,
            "{:<22}{:>6}{:>10.1}{:>10.1}{:>11.1}{:>10.1}",
            d.assigner, d.kib, d.read_us, d.write_us, d.deviation_channels, d.deviation_ways
        );
    }
}

fn clock(out: &mut String, report: &CosmosReport, plan: &Plan) {
    let _ =
        writeln!(out, "\nFig 27, MLC              MHz      MB/s   of 1000 MHz   issuer %   status checker %");
    for point in &report.clock {
        let fastest = report.clock.iter().filter(|p| (p.square, p.write) == (point.square, point.write));
        let best = fastest.max_by_key(|p| p.mhz).map_or(point.found.mb_per_s, |p| p.found.mb_per_s);
        let kind = if point.write { "write" } else { "read" };
        let [.., status, _, issue] = point.found.parts;
        let _ = writeln!(
            out,
            "{kind:<6}{0} ch {0} w{1:>15}{2:>10.1}{3:>12.1} %{4:>11.2}{5:>19.2}",
            point.square,
            point.mhz,
            point.found.mb_per_s,
            100.0 * point.found.mb_per_s / best,
            100.0 * issue,
            100.0 * status
        );
    }
    let paper = &plan.paper.clock;
    let _ = writeln!(
        out,
        "paper: at 8 ch 8 w issuer {} %, status checker {} %; 1000 to 200 MHz loses at most {} % of \
         2 ch 2 w, {} % of reads and {} % of writes of 8 ch 8 w",
        paper.issuer_percent,
        paper.status_percent,
        paper.loss_2_percent,
        paper.loss_8_read_percent,
        paper.loss_8_write_percent
    );
}

fn scrambler(out: &mut String, report: &CosmosReport, plan: &Plan) {
    let _ = writeln!(
        out,
        "\nFig 30, bit errors of a page with a scrambler / without, by P/E cycles; at the most how far they \
         are below, % (C82)"
    );
    for pattern in scrambler::patterns() {
        let _ = write!(out, "{:<8}", pattern.name);
        let here = report.scrambler.iter().filter(|point| point.pattern == pattern.name);
        let last = here.clone().max_by_key(|point| point.cycles);
        for point in here {
            let _ = write!(out, "   {} {:>6.2} / {:>6.2}", point.cycles, point.scrambled, point.plain);
        }
        let _ = writeln!(out, "{:>8.1}", last.map_or(f64::NAN, BitErrors::reduction_percent));
    }
    let (paper, fitted) = (&plan.paper.fig_30, &plan.interference);
    let _ = writeln!(
        out,
        "paper: at 5,000 cycles up to {} % below, none for {}; fitted to these two: coupling_mv = {}, \
         lifted = {:?}",
        paper.reduction_percent, paper.unaffected, fitted.coupling_mv, fitted.lifted
    );
}

fn one_shot(out: &mut String, report: &CosmosReport) {
    let _ = writeln!(
        out,
        "\nFig 32, channel utilisation of large writes, 8 channels, %; after it what the times of bus and \
         array come to (C84)"
    );
    for mode in one_shot::MODES {
        let _ = write!(out, "{:<11}", row_name(mode, true));
        for point in report.one_shot.iter().filter(|p| p.mode == mode) {
            let _ = write!(out, "   {}w {:>5.1} / {:>5.1}", point.ways, point.utilisation, point.ideal);
        }
        out.push('\n');
    }
}

fn controllers(out: &mut String, report: &CosmosReport, plan: &Plan) {
    let _ =
        writeln!(out, "\nBABOL's Fig 12, one channel   ways   hardware MB/s   coroutines MB/s   deficit %");
    for e in &report.controllers {
        let order = if e.random { "random" } else { "sequential" };
        let _ = writeln!(
            out,
            "{order:<30}{:>4}{:>16.1}{:>18.1}{:>12.1}",
            e.ways,
            e.hardware,
            e.coroutines,
            e.deficit_percent()
        );
    }
    let paper = &plan.paper.babol_12;
    let _ = writeln!(
        out,
        "paper: with 8 LUNs less than {} % sequential, {} % random; ours costs what callgrind counts on a \
         host (costs/host.toml)",
        paper.sequential_percent, paper.random_percent
    );
}

fn fitted(out: &mut String, plan: &Plan) {
    let costs = costs::shipped().expect("read when the plan was");
    costs.write(out, costs::FILE);
    if !plan.changes().is_empty() {
        let changes: Vec<String> =
            plan.changes().iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let _ = write!(
            out,
            "\nthis run has other values (--set), which are fitted to nothing: {}",
            changes.join(", ")
        );
    }
}
