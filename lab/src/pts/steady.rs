//! The specification's steady state: what the tracked figure did in the last five rounds.

use serde::Serialize;

/// Rounds of the window.
pub const WINDOW: usize = 5;
/// The most that the largest and the smallest figure of a steady window differ, in percent of their mean.
pub const RANGE_PERCENT_MAX: f64 = 20.0;
/// The most that the line through a steady window rises or falls, in percent of the mean.
pub const SLOPE_PERCENT_MAX: f64 = 10.0;

/// Five rounds in a row.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Window {
    /// The first of its rounds; rounds count from 1.
    pub first_round: usize,
    /// The mean of the tracked figure.
    pub mean: f64,
    /// Largest minus smallest, in percent of the mean.
    pub range_percent: f64,
    /// How much the least-squares line rises per round.
    pub slope: f64,
    /// How much that line rises or falls from the first round to the last, in percent of the mean.
    pub slope_percent: f64,
    /// Both are within their bounds.
    pub is_steady: bool,
}

impl Window {
    /// The window that begins with `first_round`.
    pub fn of(first_round: usize, figures: &[f64; WINDOW]) -> Self {
        let mean = figures.iter().sum::<f64>() / WINDOW as f64;
        let middle = (WINDOW - 1) as f64 / 2.0;
        let distances = || (0..WINDOW).map(|at| at as f64 - middle);
        let slope = distances().zip(figures).map(|(x, y)| x * y).sum::<f64>()
            / distances().map(|x| x * x).sum::<f64>();
        let largest = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let (range, rise) = (largest - smallest, (slope * (WINDOW - 1) as f64).abs());
        let percent = |part: f64| if mean > 0.0 { part * 100.0 / mean } else { 0.0 };
        // A drive that does nothing is not steady.
        let is_steady = mean > 0.0
            && range * 100.0 <= RANGE_PERCENT_MAX * mean
            && rise * 100.0 <= SLOPE_PERCENT_MAX * mean;
        Window {
            first_round,
            mean,
            range_percent: percent(range),
            slope,
            slope_percent: percent(rise),
            is_steady,
        }
    }

    /// The last window of `rounds`, the figures of all rounds so far; `None` before the fifth.
    pub fn last_of(rounds: &[f64]) -> Option<Self> {
        let figures = rounds.last_chunk::<WINDOW>()?;
        Some(Window::of(rounds.len() - WINDOW + 1, figures))
    }

    /// The last of its rounds.
    pub fn last_round(&self) -> usize {
        self.first_round + WINDOW - 1
    }

    /// The line through the window at a round.
    pub fn line_at(&self, round: usize) -> f64 {
        let middle = self.first_round as f64 + (WINDOW - 1) as f64 / 2.0;
        self.mean + self.slope * (round as f64 - middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figures: [f64; WINDOW]) -> Window {
        Window::of(1, &figures)
    }

    #[test]
    fn a_window_is_steady_within_a_fifth_and_with_a_line_that_moves_by_a_tenth() {
        assert!(of([100.0; 5]).is_steady);
        let rising = of([95.0, 98.0, 100.0, 102.0, 105.0]);
        assert!(rising.is_steady, "{rising:?}");
        assert!((rising.slope - 2.4).abs() < 1e-9 && (rising.slope_percent - 9.6).abs() < 1e-9, "{rising:?}");
        let steep = of([90.0, 95.0, 100.0, 105.0, 110.0]);
        assert!(!steep.is_steady && (steep.slope_percent - 20.0).abs() < 1e-9, "{steep:?}");
        assert!(!of([110.0, 105.0, 100.0, 95.0, 90.0]).is_steady, "falling is no better than rising");
        let wide = of([89.0, 111.0, 100.0, 111.0, 89.0]);
        assert!(!wide.is_steady && (wide.range_percent - 22.0).abs() < 1e-9, "{wide:?}");
        assert_eq!(wide.slope_percent, 0.0);
        // Both bounds themselves are within.
        assert!(of([110.0, 90.0, 100.0, 110.0, 90.0]).is_steady);
        assert!(of([95.0, 97.5, 100.0, 102.5, 105.0]).is_steady);
        assert!(!of([0.0; 5]).is_steady, "nothing happened");
    }

    #[test]
    fn the_last_five_rounds_count() {
        let rounds = [500.0, 300.0, 100.0, 100.0, 101.0, 99.0, 100.0];
        assert_eq!(Window::last_of(&rounds[..4]), None);
        let early = Window::last_of(&rounds[..6]).unwrap();
        assert!(!early.is_steady && (early.first_round, early.last_round()) == (2, 6), "{early:?}");
        let late = Window::last_of(&rounds).unwrap();
        assert!(late.is_steady && (late.first_round, late.last_round()) == (3, 7), "{late:?}");
        assert!((late.line_at(5) - late.mean).abs() < 1e-9);
        assert!((late.line_at(7) - late.mean - 2.0 * late.slope).abs() < 1e-9);
    }
}
