//! The report for people.

use super::report::BabolReport;
use super::throughput::{Controller, Track};
use crate::experiment::Cells;
use std::fmt::Write;

/// The report as tables.
pub fn table(report: &BabolReport) -> String {
    let mut out = String::new();
    transfers(&mut out, report);
    throughput(&mut out, report);
    polling(&mut out, report);
    lines(&mut out, report);
    let steps = report.costs.instructions;
    let _ = write!(
        out,
        "\nA coroutine's steps cost what callgrind counts on a host: request {}, enqueue {}, switch {}, poll \
         {} instructions at {} cycles\n\
         each (costs/host.toml). The paper's cores are a MicroBlaze and Cortex-A9s with their caches and \
         C++'s run time: read the\n\
         coroutine's rows as a lower bound of software's cost. The RTOS environment and a board's own costs \
         are not among them.",
        steps.request, steps.enqueue, steps.switch, steps.poll, report.costs.cycles_per_instruction
    );
    out
}

fn transfers(out: &mut String, report: &BabolReport) {
    let _ = writeln!(out, "Table I, page transfer    ours      paper    error   bytes on the bus");
    for t in &report.transfers {
        let _ = writeln!(
            out,
            "{:>4} MT/s            {:>8.2} µs {:>7.0} µs {:>+6.1} %   {}",
            t.rate_mt_s, t.ours_us, t.paper_us, t.error_percent, t.bytes
        );
    }
}

fn throughput(out: &mut String, report: &BabolReport) {
    let _ = writeln!(out, "\nFig 10, READ MB/s by LUNs on the channel");
    for bounds in &report.throughput.bounds {
        let here = |t: &&Track| t.package == bounds.package && t.rate_mt_s == bounds.rate_mt_s;
        let tracks: Vec<_> = report.throughput.tracks.iter().filter(here).collect();
        let Some(first) = tracks.first() else { continue };
        let title = format!("{}, {} MT/s", bounds.package, bounds.rate_mt_s);
        out.push('\n');
        let cells = Cells { name: 22, width: 8 };
        cells.head(out, &title, first.points.iter().map(|point| point.luns));
        for track in tracks {
            cells.row(out, &track.controller.to_string(), track.points.iter().map(|point| point.mb_per_s));
        }
        let _ = writeln!(
            out,
            "no more than: 1 LUN {:.1}, channel {:.1}; by Table I's times {:.1} and {:.1}",
            bounds.ours_one_lun, bounds.ours_channel, bounds.paper_one_lun, bounds.paper_channel
        );
    }
}

fn polling(out: &mut String, report: &BabolReport) {
    let _ = writeln!(out, "\nFig 11, one READ           polls   period µs   ready to transfer µs");
    for p in &report.polling {
        let period = p.period_us.map_or("–".to_owned(), |us| format!("{us:.2}"));
        let _ = writeln!(
            out,
            "{:<24}{:>8}{:>12}{:>23.2}",
            p.controller.to_string(),
            p.polls,
            period,
            p.detection_us
        );
    }
    let _ = writeln!(
        out,
        "paper: {} about {:.0} µs a period, one period at worst until the end is seen",
        Controller::Coroutine { clock_mhz: 1000 },
        report.paper_poll_period_us
    );
}

fn lines(out: &mut String, report: &BabolReport) {
    let _ =
        writeln!(out, "\nTable II, lines      ours   with polling loop   BABOL   synchronous   asynchronous");
    for l in &report.lines {
        let _ = writeln!(
            out,
            "{:<16}{:>9}{:>20}{:>8}{:>14}{:>15}",
            l.operation,
            l.ours,
            l.ours + l.shared,
            l.paper.babol,
            l.paper.synchronous,
            l.paper.asynchronous
        );
    }
}
