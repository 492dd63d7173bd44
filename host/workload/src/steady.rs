//! When a job has come to rest: SNIA's idea of a steady state in fio's words.

use alloc::collections::VecDeque;
use aster_units::Duration;
use core::fmt;

/// What is looked at in each interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Requests a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// Mean latency in nanoseconds.
    Latency,
}

/// When a job is steady, and ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SteadyState {
    /// What is looked at.
    pub figure: Figure,
    /// True: the slope of the regression line over the window counts, a check interval being 1 on its axis. False: the largest difference
    /// of an interval from the window's mean.
    pub slope: bool,
    /// Steady is what stays below.
    pub limit: f64,
    /// The limit is in percent of the window's mean.
    pub percent: bool,
    /// How long the window is: a multiple of `interval`, at least two.
    pub duration: Duration,
    /// Nothing is looked at before so long after the job's start.
    pub ramp: Duration,
    /// The time over which the figure is taken.
    pub interval: Duration,
}

impl fmt::Display for SteadyState {
    /// As fio has it: `iops_slope:0.3%`; a limit of latency is in nanoseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = match self.figure {
            Figure::Iops => "iops",
            Figure::Bandwidth => "bw",
            Figure::Latency => "lat",
        };
        let (slope, percent) = (if self.slope { "_slope" } else { "" }, if self.percent { "%" } else { "" });
        let unit = if self.figure == Figure::Latency && !self.percent { "ns" } else { "" };
        write!(f, "{figure}{slope}:{}{unit}{percent}", self.limit)
    }
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SteadyOutcome {
    /// What was asked for.
    pub criterion: SteadyState,
    /// When it was reached, counted from the job's start; `None` when it was not.
    pub attained: Option<Duration>,
    /// The last full window's slope or largest difference, in the limit's unit; `None` when no window was full.
    pub value: Option<f64>,
    /// The last full window's mean.
    pub mean: Option<f64>,
}

/// Watches a job until it is steady.
#[derive(Clone, Debug)]
pub(crate) struct SteadyWatch {
    outcome: SteadyOutcome,
    /// The interval that runs ends here.
    ends: Duration,
    begins: Duration,
    requests: u64,
    bytes: u64,
    latency: u128,
    window: VecDeque<f64>,
    intervals: usize,
}

/// More intervals than this make no window.
pub(crate) const INTERVALS_MAX: u64 = 100_000;

impl SteadyWatch {
    /// For a job that begins to issue at `start`.
    pub(crate) fn new(criterion: SteadyState, start: Duration) -> Self {
        let intervals = (criterion.duration.as_picos() / criterion.interval.as_picos()) as usize;
        assert!(intervals >= 2 && intervals as u64 <= INTERVALS_MAX, "a window of intervals: {criterion:?}");
        let begins = start + criterion.ramp;
        SteadyWatch {
            outcome: SteadyOutcome { criterion, attained: None, value: None, mean: None },
            ends: begins + criterion.interval,
            begins,
            requests: 0,
            bytes: 0,
            latency: 0,
            window: VecDeque::with_capacity(intervals),
            intervals,
        }
    }

    pub(crate) fn outcome(&self) -> SteadyOutcome {
        self.outcome
    }

    /// A request has completed at `elapsed`. True when the job is steady, from the first time on.
    pub(crate) fn completed(&mut self, bytes: u32, latency: Duration, elapsed: Duration) -> bool {
        while elapsed >= self.ends && self.outcome.attained.is_none() {
            self.close();
        }
        if elapsed >= self.begins {
            self.requests += 1;
            self.bytes += u64::from(bytes);
            self.latency += u128::from(latency.as_picos());
        }
        self.outcome.attained.is_some()
    }

    /// The interval is over.
    fn close(&mut self) {
        let SteadyState { figure, interval, .. } = self.outcome.criterion;
        let seconds = interval.as_secs_f64();
        let value = match figure {
            Figure::Iops => self.requests as f64 / seconds,
            Figure::Bandwidth => self.bytes as f64 / seconds,
            Figure::Latency if self.requests == 0 => 0.0,
            Figure::Latency => self.latency as f64 / self.requests as f64 / 1e3,
        };
        (self.requests, self.bytes, self.latency) = (0, 0, 0);
        if self.window.len() == self.intervals {
            self.window.pop_front();
        }
        self.window.push_back(value);
        if self.window.len() == self.intervals {
            self.judge();
        }
        self.ends += interval;
    }

    fn judge(&mut self) {
        let SteadyState { slope, limit, percent, .. } = self.outcome.criterion;
        let mean = self.window.iter().sum::<f64>() / self.intervals as f64;
        let value = if slope { self.slope(mean) } else { self.largest_difference(mean) };
        let value = if percent { 100.0 * value / mean } else { value };
        // Where nothing happens there is no percentage of anything, and nothing that could be steady.
        self.outcome.mean = Some(mean);
        self.outcome.value = value.is_finite().then_some(value);
        if mean > 0.0 && libm::fabs(value) < limit {
            self.outcome.attained = Some(self.ends);
        }
    }

    fn largest_difference(&self, mean: f64) -> f64 {
        self.window.iter().map(|y| libm::fabs(y - mean)).fold(0.0, libm::fmax)
    }

    /// Of the least squares line through the window, a check interval being 1 on the axis.
    fn slope(&self, mean: f64) -> f64 {
        let middle = (self.intervals - 1) as f64 / 2.0;
        let (mut above, mut below) = (0.0, 0.0);
        for (i, y) in self.window.iter().enumerate() {
            let x = i as f64 - middle;
            above += x * (y - mean);
            below += x * x;
        }
        above / below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRITERION: SteadyState = SteadyState {
        figure: Figure::Iops,
        slope: false,
        limit: 5.0,
        percent: true,
        duration: Duration::from_millis(400),
        ramp: Duration::ZERO,
        interval: Duration::from_millis(100),
    };

    /// Completes so many requests, spread evenly, in each interval; gives the interval in which the job was found steady.
    fn steady_after(criterion: SteadyState, counts: &[u64]) -> (Option<usize>, SteadyOutcome) {
        let mut watch = SteadyWatch::new(criterion, Duration::ZERO);
        for (interval, &count) in counts.iter().enumerate() {
            for i in 0..count {
                let at = Duration::from_micros(interval as u64 * 100_000 + i * 100_000 / count);
                if watch.completed(4096, Duration::from_micros(count), at) {
                    return (Some(interval), watch.outcome());
                }
            }
        }
        (None, watch.outcome())
    }

    #[test]
    fn a_job_is_steady_when_every_interval_of_the_window_is_near_the_mean() {
        let (found, outcome) = steady_after(CRITERION, &[500, 300, 210, 205, 200, 199, 201, 200]);
        // The window of the third to the sixth interval is the first within five percent.
        assert_eq!(found, Some(6));
        assert_eq!(outcome.attained, Some(Duration::from_millis(600)));
        assert_eq!(outcome.mean, Some(2_035.0));
        assert!(outcome.value.is_some_and(|value| (3.0..3.3).contains(&value)), "{outcome:?}");
        let (found, outcome) = steady_after(CRITERION, &[500, 300, 200, 100, 500, 300, 200]);
        assert_eq!((found, outcome.attained), (None, None));
        assert!(outcome.value.is_some_and(|value| value > 5.0));
    }

    #[test]
    fn a_limit_without_percent_is_in_the_figures_unit() {
        let within = |limit| SteadyState { limit, percent: false, ..CRITERION };
        let counts = [205, 200, 199, 201, 200];
        // Of a mean of 2,012.5 a second the first interval is 37.5 away.
        assert_eq!(steady_after(within(37.0), &counts).0, None);
        assert_eq!(steady_after(within(38.0), &counts).0, Some(4));
    }

    #[test]
    fn a_slope_lets_noise_pass_but_no_trend() {
        let slope = |limit| SteadyState { slope: true, limit, ..CRITERION };
        assert_eq!(steady_after(slope(2.0), &[100, 200, 200, 100, 100]).0, Some(4));
        assert_eq!(steady_after(slope(2.0), &[100, 110, 120, 130, 140]).0, None);
        let (_, outcome) =
            steady_after(SteadyState { percent: false, ..slope(2.0) }, &[100, 110, 120, 130, 140]);
        assert_eq!(outcome.value, Some(100.0), "requests a second and interval");
    }

    #[test]
    fn bandwidth_and_latency_are_looked_at_where_they_are_asked_for() {
        let of = |figure| steady_after(SteadyState { figure, ..CRITERION }, &[200; 6]).1.mean.unwrap();
        assert_eq!(of(Figure::Bandwidth), 2_000.0 * 4096.0);
        assert_eq!(of(Figure::Latency), 200_000.0, "nanoseconds");
    }

    #[test]
    fn the_ramp_is_left_out_and_an_idle_drive_is_not_steady() {
        let ramp = SteadyState { ramp: Duration::from_millis(300), ..CRITERION };
        assert_eq!(steady_after(ramp, &[200; 12]).1.attained, Some(Duration::from_millis(700)));
        let mut watch = SteadyWatch::new(CRITERION, Duration::ZERO);
        assert!(!watch.completed(4096, Duration::ZERO, Duration::from_secs(3)), "{watch:?}");
    }
}
