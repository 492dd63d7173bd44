//! Write amplification over skew, as a figure.

use super::report::{Point, Report};
use crate::figure::{Figure, Panel, Scale, Series, Source};

/// A panel per over-provisioning. Each victim policy with each number of streams has the drive's points; with
/// one stream also the simulation's line and theory's.
pub fn figure(report: &Report) -> Figure {
    let mut over_provisioning: Vec<f64> = report.points.iter().map(|p| p.over_provisioning_percent).collect();
    over_provisioning.dedup();
    over_provisioning.sort_by(f64::total_cmp);
    over_provisioning.dedup();
    let panels = over_provisioning.into_iter().map(|percent| Panel {
        title: format!("{percent} % over-provisioning"),
        x: "% of the writes that go to the rest of the pages",
        scale: Scale::Steps,
        y: "pages programmed for each written",
        series: of_panel(report, percent),
    });
    let label = "Write amplification by victim policy over skew: drive, bare simulation, and theory";
    Figure::of("waf", label, panels.collect())
}

fn of_panel(report: &Report, percent: f64) -> Vec<Series> {
    type Of = fn(&Point) -> Option<f64>;
    let here: Vec<&Point> =
        report.points.iter().filter(|point| point.over_provisioning_percent == percent).collect();
    let mut names: Vec<(&str, u8)> = here.iter().map(|point| (point.victims, point.streams)).collect();
    names.dedup();
    let of: [(Source, Of); 3] = [
        (Source::Ours, |point| Some(point.drive)),
        (Source::Simulation, |point| point.simulation),
        (Source::Theory, |point| point.theory),
    ];
    let series = |named: (&str, u8), source, of: Of| {
        let points = here.iter().filter(|point| (point.victims, point.streams) == named);
        let points = points.filter_map(|point| Some((point.hot_percent.into(), of(point)?)));
        let name = match named {
            (victims, 1) => victims.to_owned(),
            (victims, streams) => format!("{victims}, {streams} streams"),
        };
        Series { name, source, points: points.collect() }
    };
    let all = names.iter().flat_map(|&name| of.iter().map(move |&(source, of)| (name, source, of)));
    let all = all.map(|(name, source, of)| series(name, source, of));
    all.filter(|series| !series.points.is_empty()).collect()
}
