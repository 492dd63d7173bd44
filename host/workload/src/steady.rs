//! Steady states of a job, as SNIA defines them and with fio's options.

use alloc::collections::VecDeque;
use aster_units::Duration;
use core::fmt;

/// The figure that is measured in each interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Requests per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency in nanoseconds.
    Latency,
}

/// The criterion by which a job is steady and then ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SteadyState {
    /// The measured figure.
    pub figure: Figure,
    /// Whether the slope of the regression line over the window counts, in units per check interval.
    /// Otherwise the largest difference of an interval from the window's mean counts.
    pub slope: bool,
    /// The job is steady while the value stays below this.
    pub limit: f64,
    /// Whether the limit is in percent of the window's mean.
    pub percent: bool,
    /// How long the window is: a multiple of `interval`, at least two.
    pub duration: Duration,
    /// The first interval begins this long after the job's start.
    pub ramp: Duration,
    /// The time over which the figure is measured.
    pub interval: Duration,
}

impl fmt::Display for SteadyState {
    /// In fio's notation: `iops_slope:0.3%`; a limit of latency is in nanoseconds.
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

/// The outcome of a criterion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SteadyOutcome {
    /// The criterion.
    pub criterion: SteadyState,
    /// When it was reached, counted from the job's start; `None` if it was not.
    pub attained: Option<Duration>,
    /// The last full window's slope or largest difference, in the limit's unit; `None` if no window was
    /// full.
    pub value: Option<f64>,
    /// The last full window's mean.
    pub mean: Option<f64>,
}

/// Watches a job until it is steady.
#[derive(Clone, Debug)]
pub(crate) struct SteadyWatch {
    outcome: SteadyOutcome,
    /// The end of the current interval.
    ends: Duration,
    begins: Duration,
    requests: u64,
    bytes: u64,
    latency: u128,
    window: Window,
}

/// Most intervals per window.
pub(crate) const INTERVALS_MAX: u64 = 100_000;

impl SteadyWatch {
    /// Watches a job that begins to issue at `start`.
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
            window: Window::new(intervals),
        }
    }

    pub(crate) fn outcome(&self) -> SteadyOutcome {
        self.outcome
    }

    /// A request has completed at `elapsed`. Returns true from when the job is first steady on.
    pub(crate) fn completed(&mut self, bytes: u32, latency: Duration, elapsed: Duration) -> bool {
        while elapsed >= self.ends && self.outcome.attained.is_none() {
            if self.requests == 0 && self.window.is_idle() {
                // Empty intervals change nothing about a window of empty ones.
                let interval = self.outcome.criterion.interval;
                let empty = elapsed.saturating_sub(self.ends).as_picos() / interval.as_picos() + 1;
                self.ends += interval * empty;
                break;
            }
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
        self.window.push(value);
        if self.window.is_full() {
            self.judge();
        }
        self.ends += interval;
    }

    fn judge(&mut self) {
        let steady = self.look();
        if steady {
            // Running sums have rounding errors, so the decision that ends a job uses an exact sum.
            self.window.sum_up();
            if self.look() {
                self.outcome.attained = Some(self.ends);
            }
        }
    }

    /// Records the window's figures. Returns true when they are within the limit.
    fn look(&mut self) -> bool {
        let SteadyState { slope, limit, percent, .. } = self.outcome.criterion;
        let mean = self.window.mean();
        let value = if slope { self.window.slope() } else { self.window.largest_difference(mean) };
        let value = if percent { 100.0 * value / mean } else { value };
        // Without requests there is no mean to take a percentage of, and no steady state.
        self.outcome.mean = Some(mean);
        self.outcome.value = value.is_finite().then_some(value);
        mean > 0.0 && libm::fabs(value) < limit
    }
}

/// The last intervals' figures. A push takes amortised constant time, however many intervals there are.
#[derive(Clone, Debug)]
struct Window {
    values: VecDeque<f64>,
    intervals: usize,
    /// Figures pushed so far.
    pushed: u64,
    /// Empty intervals since the last one that was not.
    idle: usize,
    sum: f64,
    /// Each figure times its place in the window, from 0.
    weighted: f64,
    /// Candidates for the largest and the smallest figure with their numbers among all pushed, the extreme
    /// first.
    largest: VecDeque<(u64, f64)>,
    smallest: VecDeque<(u64, f64)>,
}

impl Window {
    fn new(intervals: usize) -> Self {
        Window {
            values: VecDeque::with_capacity(intervals),
            intervals,
            pushed: 0,
            idle: 0,
            sum: 0.0,
            weighted: 0.0,
            largest: VecDeque::new(),
            smallest: VecDeque::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.values.len() == self.intervals
    }

    /// The window is full, and all its intervals are empty.
    fn is_idle(&self) -> bool {
        self.idle >= self.intervals
    }

    fn push(&mut self, value: f64) {
        if self.is_full() {
            let first = self.values.pop_front().unwrap_or(0.0);
            self.sum -= first;
            // All other elements move one place to the front.
            self.weighted -= self.sum;
        }
        self.weighted += self.values.len() as f64 * value;
        self.sum += value;
        self.values.push_back(value);
        self.idle = if value == 0.0 { self.idle + 1 } else { 0 };
        let (number, intervals) = (self.pushed, self.intervals as u64);
        self.pushed += 1;
        keep_extreme(&mut self.largest, (number, value), intervals, |old| old <= value);
        keep_extreme(&mut self.smallest, (number, value), intervals, |old| old >= value);
        // Once per window length, or when all intervals are empty, recompute the sums to discard rounding
        // errors.
        if self.pushed.is_multiple_of(intervals) || self.idle == self.intervals {
            self.sum_up();
        }
    }

    fn sum_up(&mut self) {
        self.sum = self.values.iter().sum();
        self.weighted = self.values.iter().enumerate().map(|(i, y)| i as f64 * y).sum();
    }

    fn mean(&self) -> f64 {
        self.sum / self.intervals as f64
    }

    fn largest_difference(&self, mean: f64) -> f64 {
        let of = |queue: &VecDeque<(u64, f64)>| queue.front().map_or(0.0, |(_, y)| libm::fabs(y - mean));
        libm::fmax(of(&self.largest), of(&self.smallest))
    }

    /// The slope of the least squares line through the window, per check interval.
    fn slope(&self) -> f64 {
        let n = self.intervals as f64;
        (self.weighted - (n - 1.0) / 2.0 * self.sum) / (n * (n * n - 1.0) / 12.0)
    }
}

/// Adds a figure to a queue of candidates: those that it `beats` can no longer be the window's extreme.
fn keep_extreme(
    queue: &mut VecDeque<(u64, f64)>,
    new: (u64, f64),
    intervals: u64,
    beats: impl Fn(f64) -> bool,
) {
    while queue.back().is_some_and(|&(_, old)| beats(old)) {
        queue.pop_back();
    }
    queue.push_back(new);
    while queue.front().is_some_and(|&(number, _)| number + intervals <= new.0) {
        queue.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const CRITERION: SteadyState = SteadyState {
        figure: Figure::Iops,
        slope: false,
        limit: 5.0,
        percent: true,
        duration: Duration::from_millis(400),
        ramp: Duration::ZERO,
        interval: Duration::from_millis(100),
    };

    /// Completes the given number of requests, evenly spaced, in each interval; returns the interval in which
    /// the job was found steady.
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
        // The first interval is 37.5 away from the mean of 2,012.5 per second.
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

    #[test]
    fn a_window_slid_along_has_the_figures_of_one_that_is_walked() {
        let mut rng = aster_units::Rng::new(5);
        let (intervals, mut window, mut all) = (50, Window::new(50), Vec::new());
        for _ in 0..1_000 {
            let y = rng.below(1_000_000) as f64 / 7.0;
            window.push(y);
            all.push(y);
            let Some(walked) = all.len().checked_sub(intervals).map(|from| &all[from..]) else { continue };
            let mean = walked.iter().sum::<f64>() / intervals as f64;
            let difference = walked.iter().map(|y| libm::fabs(y - mean)).fold(0.0, libm::fmax);
            let x = |i: usize| i as f64 - (intervals - 1) as f64 / 2.0;
            let above: f64 = walked.iter().enumerate().map(|(i, y)| x(i) * (y - mean)).sum();
            let below: f64 = (0..intervals).map(|i| x(i) * x(i)).sum();
            assert!(libm::fabs(window.mean() - mean) < 1e-6);
            assert!(libm::fabs(window.largest_difference(window.mean()) - difference) < 1e-6);
            assert!(libm::fabs(window.slope() - above / below) < 1e-6);
        }
    }

    #[test]
    fn a_long_gap_is_one_step_and_a_window_of_many_intervals_costs_no_walk() {
        let fine = SteadyState {
            duration: Duration::from_millis(100),
            interval: Duration::from_micros(1),
            ..CRITERION
        };
        for slope in [false, true] {
            let mut watch = SteadyWatch::new(SteadyState { slope, limit: 0.0, ..fine }, Duration::ZERO);
            // Visiting every interval would take 2 * 10^10 steps, and the gap a million million intervals.
            for i in 0..100_000 {
                assert!(!watch.completed(4096, Duration::ZERO, Duration::from_micros(3 * i)));
            }
            let late = Duration::from_secs(1_000_000);
            assert!(!watch.completed(4096, Duration::ZERO, late));
            assert_eq!((watch.ends, watch.outcome().mean), (late + fine.interval, Some(0.0)));
        }
    }
}
