//! Estimates the remaining time of work from its progress so far.
//!
//! The cost of a step changes during the work: the first writes are cheap, writes that cause garbage
//! collection aren't. So only a recent window counts, and there is no estimate unless progress in it was
//! even. A mean over all work would say "8 s left" when the cheap half is over and the expensive one has
//! begun.

use std::collections::VecDeque;
use std::time::Duration;

/// The longest window.
const WINDOW_MAX: Duration = Duration::from_secs(60);
/// The shortest window for an estimate.
const WINDOW_MIN: Duration = Duration::from_secs(2);
/// Parts of the window whose rates are compared.
const PARTS: u32 = 4;
/// By which factor the rates of the parts may differ for progress to count as even.
const EVEN: f64 = 1.6;
/// The most samples in the window.
const SAMPLES: u32 = 60;
/// With less than this share left there is always an estimate: its error is small.
const SHARE_MIN: f64 = 0.01;

/// The progress of a stage of work, from its beginning.
#[derive(Debug)]
pub(crate) struct Estimate {
    samples: VecDeque<(Duration, f64)>,
}

impl Estimate {
    /// Nothing is done yet.
    pub(crate) fn new() -> Self {
        Estimate { samples: VecDeque::from([(Duration::ZERO, 0.0)]) }
    }

    /// Records the share done, from 0 to 1, at `elapsed` after the beginning.
    pub(crate) fn note(&mut self, elapsed: Duration, share: f64) {
        let Some(&(last, before)) = self.samples.back() else { return };
        // Rare steps are all kept; of frequent ones, samples at equal distances.
        if share > before && elapsed - last.min(elapsed) >= window(elapsed) / SAMPLES {
            self.samples.push_back((elapsed, share));
        }
        let begin = elapsed.saturating_sub(window(elapsed));
        // The last sample before the window gives the share at its beginning.
        while self.samples.get(1).is_some_and(|&(at, _)| at <= begin) {
            self.samples.pop_front();
        }
    }

    /// The remaining time at `elapsed` after the beginning; `None` when it can't be estimated.
    pub(crate) fn left(&self, elapsed: Duration) -> Option<Duration> {
        let (window, &(_, done)) = (window(elapsed), self.samples.back()?);
        // One step alone doesn't show the rate within it.
        if window < WINDOW_MIN || done < SHARE_MIN || self.samples.len() < 3 {
            return None;
        }
        let begin = elapsed.saturating_sub(window);
        let bounds: Vec<f64> = (0..=PARTS).map(|nth| self.share_at(begin + window * nth / PARTS)).collect();
        let parts: Vec<f64> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let slowest = parts.iter().copied().fold(f64::INFINITY, f64::min);
        let fastest = parts.iter().copied().fold(0.0, f64::max);
        if slowest <= 0.0 || fastest > EVEN * slowest {
            return None;
        }
        // Seconds that the whole work would take at the rate of the first part, and of the last.
        let length = (window / PARTS).as_secs_f64();
        let (first, last) = (length / parts.first()?, length / parts.last()?);
        let (begun, now) = (bounds.first()?, bounds.last()?);
        let rest = (1.0 - now).max(0.0);
        // A steady trend in cost may continue or end here, so half of it is extrapolated.
        let is_trend = parts.is_sorted() || parts.is_sorted_by(|a, b| a >= b);
        let slope = if is_trend { (last - first) / (now - begun) } else { 0.0 };
        let even = (window.as_secs_f64() / (now - begun) + last) / 2.0;
        let pace = (even + slope * rest / 2.0 / 2.0).clamp(even / 2.0, even * 2.0);
        Duration::try_from_secs_f64(rest * pace).ok()
    }

    /// The share done at a time, interpolated between samples.
    fn share_at(&self, at: Duration) -> f64 {
        let next = self.samples.partition_point(|&(time, _)| time <= at);
        match (next.checked_sub(1).and_then(|before| self.samples.get(before)), self.samples.get(next)) {
            (Some(&(from, low)), Some(&(until, high))) => {
                let part = (at - from).as_secs_f64() / (until - from).as_secs_f64();
                low + part * (high - low)
            }
            // Part of the next step has been done since the last one, at the rate of earlier steps.
            (Some(&(_, share)), None) => self.ahead(at, share),
            (None, Some(&(_, share))) => share,
            (None, None) => 0.0,
        }
    }

    /// The share done by `at`, after the last sample: the last step's rate continues for at most that step's
    /// duration.
    fn ahead(&self, at: Duration, share: f64) -> f64 {
        let mut last = self.samples.iter().rev();
        match (last.next(), last.next()) {
            (Some(&(until, high)), Some(&(from, low))) => {
                let lasted = (until - from).as_secs_f64();
                let since = (at - until).as_secs_f64().min(lasted);
                (share + (high - low) * since / lasted.max(f64::MIN_POSITIVE)).min(1.0)
            }
            _ => share,
        }
    }
}

/// The window: the last half of the past, within limits.
fn window(elapsed: Duration) -> Duration {
    (elapsed / 2).min(WINDOW_MAX)
}

#[cfg(test)]
mod tests;
