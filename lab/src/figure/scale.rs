//! The positions of values on the axes of a figure.

use super::data::{Figure, Panel, Scale};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// The approximate number of grid lines.
const LEVELS: f64 = 5.0;

/// An axis: its length and what is written along it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Axis {
    /// In what [`Axis::place`] gives.
    pub(super) end: f64,
    /// The values with a label, and the labels.
    pub(super) ticks: Vec<(f64, String)>,
    placing: Placing,
}

/// Where values lie along an axis.
#[derive(Clone, PartialEq, Debug)]
enum Placing {
    /// In proportion, from 0 on.
    Linear,
    /// These, in order, the first at 0.5.
    Steps(Vec<f64>),
    /// By powers of ten, from this one on.
    Log(i32),
}

impl Axis {
    /// From 0 to at least `most`, by round numbers.
    pub(super) fn linear(most: f64) -> Self {
        // The axis has a length even if no value is above 0.
        let step = level(if most > 0.0 { most } else { 1.0 } / LEVELS);
        // As many digits after the point as the step has.
        let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let last = (most / step - 1e-9).ceil().max(1.0) as u32;
        let ticks = (0..=last).map(|nth| f64::from(nth) * step).map(|at| (at, format!("{at:.digits$}")));
        Axis { end: f64::from(last) * step, ticks: ticks.collect(), placing: Placing::Linear }
    }
    fn steps(values: Vec<f64>) -> Self {
        let ticks = values.iter().map(|value| (*value, step_name(*value)));
        Axis { end: values.len().max(1) as f64, ticks: ticks.collect(), placing: Placing::Steps(values) }
    }
    /// From the power of ten at or below the least of `values` to the one at or above the greatest.
    fn log(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values
            .filter(|value| *value > 0.0)
            .fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
        // Without values it is from 1 to 10.
        let (first, last) = match most > 0.0 {
            true => ((least.log10() + 1e-9).floor() as i32, (most.log10() - 1e-9).ceil() as i32),
            false => (0, 1),
        };
        let last = last.max(first + 1);
        let ticks = (first..=last).map(|power| (10f64.powi(power), power_name(power)));
        Axis { end: f64::from(last - first), ticks: ticks.collect(), placing: Placing::Log(first) }
    }
    /// Where `value` lies between 0 and [`Axis::end`].
    fn place(&self, value: f64) -> f64 {
        match &self.placing {
            Placing::Linear => value,
            Placing::Steps(steps) => steps.iter().position(|step| *step == value).unwrap_or(0) as f64 + 0.5,
            Placing::Log(first) => (value.log10() - f64::from(*first)).max(0.0),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.place(*value) / self.end * f64::from(limit.1 - limit.0)).round() as i32
    }
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // There are no light grid lines between the ticks.
        let ticks: &[(f64, String)] = if hint.weight().allow_light_points() { &[] } else { &self.ticks };
        ticks.iter().map(|(at, _)| *at).collect()
    }
    fn range(&self) -> Range<f64> {
        match self.placing {
            Placing::Log(first) => 10f64.powi(first)..10f64.powf(f64::from(first) + self.end),
            Placing::Linear | Placing::Steps(_) => 0.0..self.end,
        }
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(at, _)| at == value).map_or(String::new(), |(_, name)| name.clone())
    }
}

/// The axes of `panel`. Panels that share an axis have the same scale on it, so that they can be compared
/// by eye.
pub(super) fn axes(figure: &Figure, panel: &Panel) -> (Axis, Axis) {
    let points = |same: fn(&Panel, &Panel) -> bool| {
        let panels = figure.panels.iter().filter(move |other| same(other, panel));
        panels.flat_map(|p| &p.series).flat_map(|s| &s.points)
    };
    let along = points(|a, b| (a.x, a.scale) == (b.x, b.scale)).map(|point| point.0);
    let x = match panel.scale {
        Scale::Linear => Axis::linear(along.fold(0.0, f64::max)),
        Scale::Log => Axis::log(along),
        Scale::Steps => {
            let mut values: Vec<f64> = along.collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            Axis::steps(values)
        }
    };
    (x, Axis::linear(points(|a, b| a.y == b.y).map(|point| point.1).fold(0.0, f64::max)))
}

/// A value with as few digits as necessary.
fn step_name(value: f64) -> String {
    let digits = (0..6).find(|digits| {
        let scale = 10f64.powi(*digits);
        ((value * scale).round() / scale - value).abs() <= 1e-9 * value.abs()
    });
    format!("{value:.0$}", digits.unwrap_or(6) as usize)
}

/// A power of ten. Those with many digits are short, so that ten of them stand beside each other.
fn power_name(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if (-3..5).contains(&power) {
        return step_name(10f64.powi(power));
    }
    let sign = if power < 0 { "⁻" } else { "" };
    let digits = power.unsigned_abs().to_string();
    let digits: String = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect();
    format!("10{sign}{digits}")
}

/// The least of 1, 2 and 5 times a power of ten that is at least `value`.
fn level(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn ticks_are_as_exact_as_their_steps() {
        assert_eq!(names(&Axis::linear(0.23)), ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25"]);
        assert_eq!(names(&Axis::linear(1000.0)), ["0", "200", "400", "600", "800", "1000"]);
        assert_eq!(names(&Axis::linear(0.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].get(..2).unwrap());
        assert_eq!([0.3, 0.1 + 0.2, 1000.0, 12.25].map(step_name), ["0.3", "0.3", "1000", "12.25"]);
    }

    #[test]
    fn a_logarithmic_axis_has_decades_as_wide_as_each_other() {
        let axis = Axis::log([67_000.0, 2.5, 30.0].into_iter());
        assert_eq!((axis.end, names(&axis)), (5.0, vec!["1", "10", "100", "1000", "10000", "10⁵"]));
        assert_eq!([1.0, 10.0, 1000.0].map(|value| axis.place(value)), [0.0, 1.0, 3.0]);
        assert_eq!(axis.place(0.0), 0.0, "what can't be told lies at the beginning");
        let wide = Axis::log([2e-4, 3e9].into_iter());
        assert_eq!(names(&wide)[..3], ["10⁻⁴", "0.001", "0.01"]);
        assert_eq!(names(&wide)[9..], ["10⁵", "10⁶", "10⁷", "10⁸", "10⁹", "10¹⁰"]);
        // Powers of ten are ends themselves.
        assert_eq!(names(&Axis::log([10.0, 1000.0].into_iter())), ["10", "100", "1000"]);
        assert_eq!(names(&Axis::log([].into_iter())), ["1", "10"]);
    }

    #[test]
    fn steps_are_as_wide_as_each_other() {
        let axis = Axis::steps(vec![1.0, 2.0, 8.0]);
        assert_eq!([1.0, 2.0, 8.0].map(|value| axis.place(value)), [0.5, 1.5, 2.5]);
        assert_eq!((axis.end, names(&axis)), (3.0, vec!["1", "2", "8"]));
    }
}
