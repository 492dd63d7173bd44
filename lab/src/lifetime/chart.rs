//! Lives as a figure: how often blocks were erased, and the spare that is left.

use super::report::{Life, Report, Sample};
use crate::figure::{Figure, Panel, Scale, Series, Source};
use std::io;

/// The lives side by side over the same range of drive writes: above, the erases of the least, mean and
/// most erased block and the cycles that blocks last for; below, SMART's available spare.
pub fn figure(report: &Report) -> Figure {
    type Of = fn(&Sample) -> f64;
    let title = |life: &Life| {
        let end = if life.read_only { "read-only after" } else { "still written after" };
        format!("{}: {end} {:.0} drive writes", life.wear_levelling.title(), life.drive_writes)
    };
    let panel = |title, y, series| Panel { title, x: "drive writes", scale: Scale::Linear, y, series };
    let track = |life: &Life, name: &str, of: Of| Series {
        name: name.to_owned(),
        source: Source::Ours,
        points: life.samples.iter().map(|sample| (sample.drive_writes, of(sample))).collect(),
    };
    let erases = report.lives.iter().map(|life| {
        let of: [(&str, Of); 3] = [
            ("most erased block", |s| s.erases_max.into()),
            ("mean", |s| s.erases_mean),
            ("least erased block", |s| s.erases_min.into()),
        ];
        let longest = life.samples.iter().map(|sample| sample.drive_writes).fold(0.0, f64::max);
        let cycles = report.wear_out_cycles as f64;
        let lasts = Series {
            name: "cycles that blocks last for".to_owned(),
            source: Source::Bound,
            points: vec![(0.0, cycles), (longest, cycles)],
        };
        let tracks = of.into_iter().map(|(name, of)| track(life, name, of)).chain([lasts]).collect();
        panel(title(life), "erases", tracks)
    });
    let spare = report.lives.iter().map(|life| {
        let name = life.wear_levelling.title().to_owned();
        panel(name, "available spare, %", vec![track(life, "available spare", |s| s.available_spare.into())])
    });
    Figure {
        name: "lifetime",
        label: "Erases of blocks over a drive's life, for each kind of wear levelling",
        columns: report.lives.len(),
        panels: erases.chain(spare).collect(),
    }
}
/// Writes the drawn numbers as CSV, one line per sample of each life.
///
/// # Errors
/// Those of `out`.
pub fn csv(mut out: impl io::Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "wear_levelling,drive_writes,erases_min,erases_mean,erases_max,wear_out_cycles,\
         available_spare_percent"
    )?;
    for life in &report.lives {
        let levelling = life.wear_levelling.key();
        for s in &life.samples {
            writeln!(
                out,
                "{levelling},{},{},{},{},{},{}",
                s.drive_writes,
                s.erases_min,
                s.erases_mean,
                s.erases_max,
                report.wear_out_cycles,
                s.available_spare
            )?;
        }
    }
    out.flush()
}
