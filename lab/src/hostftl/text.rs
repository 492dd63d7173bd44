//! The report for people.

use super::claims::claims;
use super::numbers::numbers;
use super::plan::Plan;
use super::wear::widest;
use super::{CopyPoint, HostFtlReport, LoadKind, LoadPoint, WearKind, WearPair};
use crate::experiment::{Cells, error_percent, write_claims};
use std::fmt::Write;

/// The report as tables.
pub fn table(report: &HostFtlReport, plan: &Plan) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}, {:.2} GB of it, under SNIA's test, with the write cache on\n",
        plan.profile_name(),
        report.bytes as f64 / 1e9
    );
    copies(&mut out, report);
    block_sizes(&mut out, report, plan);
    depths(&mut out, report, plan);
    sequential(&mut out, report, plan);
    beside(&mut out, report, plan);
    commands(&mut out, report, plan);
    latencies(&mut out, report, plan);
    wear(&mut out, report, plan);
    printed(&mut out, report, plan);
    write_claims(&mut out, &claims(report, plan));
    let _ = writeln!(
        out,
        "\nNothing is fitted: the MCU's cycles are counted by instruction (costs/host-ftl.toml), tR and\n\
         tPROG have the printed sum of 650 µs, and the profile says what is chosen."
    );
    let unsteady = report.loads.iter().filter(|point| point.is_steady == Some(false)).count();
    if unsteady > 0 {
        let _ =
            writeln!(out, "\n{unsteady} of {} cells are of loads that weren't steady.", report.loads.len());
    }
    out
}

fn mix(reads: u8) -> String {
    format!("R/W {reads}/{}", 100 - reads)
}

fn copies(out: &mut String, report: &HostFtlReport) {
    let cells = Cells { name: 44, width: 8 };
    let _ = writeln!(out, "Fig 11: cycles of the MCU for a command's move, by costs/host-ftl.toml");
    let shown = || report.copies.iter().filter(|point| [1, 2, 4, 8, 9, 14].contains(&point.addresses));
    cells.head(out, "host addresses", shown().map(|point| point.addresses));
    type Of = fn(&CopyPoint) -> f64;
    let rows: [(&str, Of); 5] = [
        ("copy in a loop", |point| point.looped),
        ("copy by a table", |point| point.table),
        ("whole move, in a loop", |point| point.move_looped),
        ("whole move, by a table", |point| point.move_table),
        ("% faster", CopyPoint::move_gain_percent),
    ];
    for (name, of) in rows {
        cells.row(out, name, shown().map(of));
    }
    let _ = writeln!(
        out,
        "The most 4 KiB reads a second: {:.0} in a loop, {:.0} by a table. A read takes the MCU {:.0}\n\
         cycles at least, a pass of its loop among them: {:.0} a second.\n",
        report.copy_reads.looped, report.copy_reads.table, report.copy_reads.cycles, report.copy_reads.bound
    );
}

fn beside(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    use LoadKind::{OneThread, OneThreadBeside, OneThreadInOrder, OneThreadInOrderBeside};
    let cells = Cells { name: 26, width: 16 };
    let (name, depth) = (&plan.beside.profile, plan.beside.depth);
    let _ = writeln!(out, "Fig 28: 4 KiB requests of one thread, {depth} in flight, MB/s, beside {name}");
    cells.head(out, "", [plan.profile_name(), name, "% faster"].into_iter());
    for (what, ours, beside) in
        [("sequential", OneThreadInOrder, OneThreadInOrderBeside), ("random", OneThread, OneThreadBeside)]
    {
        for (reads, direction) in [(100, "reads"), (0, "writes")] {
            let of = |kind| report.of(kind, reads, 4).next().map(|point| point.measured.mb_per_s);
            if let (Some(ours), Some(beside)) = (of(ours), of(beside)) {
                let values = [ours, beside, error_percent(ours, beside)];
                cells.row(out, &format!("{what} {direction}"), values.into_iter());
            }
        }
    }
    let [low, high] = plan.paper.fig_28_percent;
    let _ = writeln!(
        out,
        "The paper's drive is {low:.0} to {high:.0} % faster than a product; `{name}` is none: no verdict.\n"
    );
}

fn commands(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let cells = Cells { name: 26, width: 14 };
    let channels = &plan.commands.channels;
    let _ = writeln!(out, "Fig 29: cycles of the MCU's clock per command, one at a time to each channel");
    cells.head(out, "channels", channels.iter());
    let mut names: Vec<&str> = report.commands.iter().map(|point| point.name).collect();
    names.dedup();
    for name in names {
        let points = report.commands.iter().filter(|point| point.name == name);
        cells.row(out, name, points.map(|point| point.cycles));
    }
    out.push_str(
        "PCP: the same page of all lanes. A copy-back stays in a plane, a copy to a die goes through the\n\
         drive's page buffers, and one by the host is a read and a write.\n\n",
    );
}

fn block_sizes(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let cells = Cells { name: 26, width: 11 };
    let depth = plan.random.matrix_depth;
    let _ = writeln!(out, "Fig 22: random requests, IOPS, {} threads of {depth}", plan.threads);
    cells.head(out, "KiB", plan.random.blocks_kib.iter());
    for &reads in &plan.random.reads_percent {
        let of = |&kib: &u32| report.of(LoadKind::BlockSizes, reads, kib).map(|point| point.measured.iops);
        cells.head(out, &mix(reads), plan.random.blocks_kib.iter().flat_map(of).map(|n| format!("{n:.0}")));
    }
    out.push('\n');
}

fn depths(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let cells = Cells { name: 26, width: 11 };
    let _ = writeln!(out, "Figs 23 to 25: random requests of 4 KiB, IOPS, {} threads", plan.threads);
    cells.head(out, "in flight", plan.random.depths.iter().map(|depth| depth * plan.threads));
    let mut row = |name: &str, kind, reads| {
        let points = report.of(kind, reads, 4).filter(|point| point.threads == plan.threads);
        cells.head(out, name, points.map(|point| format!("{:.0}", point.measured.iops)));
    };
    for &reads in &plan.random.reads_percent {
        row(&mix(reads), LoadKind::Depths, reads);
    }
    row("before: R/W 100/0", LoadKind::Prepared, 100);
    row("before: R/W 0/100", LoadKind::Prepared, 0);
    row("before: 0/100, at once", LoadKind::PreparedAtOnce, 0);
    out.push_str(
        "Before: the drive was written in order once, and collection hasn't begun. At once: the host\n\
         doesn't gather small writes into pages (target.gather_pages = 0).\n\n",
    );
}

fn sequential(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let cells = Cells { name: 26, width: 11 };
    for (figure, reads, what) in [("Fig 26", 0, "writes"), ("Fig 27", 100, "reads")] {
        let _ = writeln!(out, "{figure}: sequential {what}, MB/s, {} threads", plan.threads);
        cells.head(out, "depth of each", plan.sequential.depths.iter());
        for &kib in &plan.sequential.blocks_kib {
            let points = report.of(LoadKind::Sequential, reads, kib);
            let of = points.map(|point| format!("{:.0}", point.measured.mb_per_s));
            cells.head(out, &format!("{kib} KiB"), of);
        }
        out.push('\n');
    }
}

fn latencies(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let cells = Cells { name: 26, width: 11 };
    let _ = writeln!(out, "Fig 31: one request at a time, mean and longest time, µs");
    cells.head(out, "KiB", plan.latency.blocks_kib.iter());
    type Of = fn(&LoadPoint) -> f64;
    for &reads in &plan.latency.reads_percent {
        for (what, of) in
            [("mean", (|point| point.measured.mean_us) as Of), ("longest", |point| point.measured.max_us)]
        {
            let points = plan.latency.blocks_kib.iter();
            let values = points.filter_map(|&kib| report.of(LoadKind::Alone, reads, kib).next()).map(of);
            cells.row(out, &format!("{}, {what}", mix(reads)), values);
        }
    }
    for (reads, what) in [(100, "read"), (0, "write")] {
        for point in report.of(LoadKind::PreparedAlone, reads, 4) {
            let measured = &point.measured;
            let _ = writeln!(
                out,
                "Before collection, a 4 KiB {what} takes {:.1} µs, at most {:.1}.",
                measured.mean_us, measured.max_us
            );
        }
    }
    out.push('\n');
}

fn wear(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let (cells, of) = (Cells { name: 26, width: 13 }, &plan.wear);
    let _ = writeln!(
        out,
        "Wear of `{}`: {} % of it written at random, {} KiB at a time, to its end; blocks last {} cycles",
        of.profile, of.hot_percent, of.block_kib, of.endurance
    );
    let columns = ["deviation", "least", "most", "most apart", "extra, %", "levelled", "drive writes"];
    cells.head(out, "", columns.into_iter());
    for life in &report.wear {
        let pair = WearPair::of(&report.wear, life.kind);
        let is_levelled = life.kind != life.kind.unlevelled();
        let (Some(pair), Some(end)) = (pair, life.samples.last()) else { continue };
        let now = if is_levelled { pair.with } else { pair.without };
        let values = [
            format!("{:.1}", now.deviation),
            now.least.to_string(),
            now.most.to_string(),
            widest(life).to_string(),
            if is_levelled { format!("{:+.2}", pair.extra_percent()) } else { String::new() },
            life.levelled.to_string(),
            format!("{:.1}", end.drive_writes),
        ];
        cells.head(out, life.kind.title(), values.into_iter());
    }
    for kind in [WearKind::HostFtlLevelled, WearKind::PageMappingLevelled] {
        if let Some(pair) = WearPair::of(&report.wear, kind) {
            let writes = pair.with.drive_writes;
            let _ = writeln!(out, "{}: the first five after {writes:.1} drive writes.", kind.title());
        }
    }
    let _ = writeln!(
        out,
        "T is {}. Most apart: until a block goes bad. Levelled: groups or blocks emptied for it.\n",
        of.window
    );
}

fn printed(out: &mut String, report: &HostFtlReport, plan: &Plan) {
    let _ = writeln!(out, "{:<44}{:>10}{:>10}{:>10}", "What the paper prints", "ours", "paper", "error");
    for row in numbers(report, plan) {
        let name = format!("{} ({})", row.name, row.unit);
        let digits = usize::from(row.paper < 1000.0);
        let _ = writeln!(
            out,
            "{name:<44}{:>10.digits$}{:>10.0}{:>8.1} %",
            row.ours, row.paper, row.error_percent
        );
    }
    let bound = plan.paper.path_mb_per_s;
    let _ = writeln!(
        out,
        "256 bits at the printed 78.125 MHz carry {bound:.0} MB/s, less than the paper prints of Fig 27.\n"
    );
}
