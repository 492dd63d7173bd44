//! How long work will still take, from how it went so far.
//!
//! The cost of a step changes in the course of work: what is written first is cheap, what makes the drive
//! collect garbage is not. So only the last while counts, and nothing is said before it has gone evenly: a
//! mean over all that was done says "8 s left" when the cheap half is over and the dear one has begun.

use std::collections::VecDeque;
use std::time::Duration;

/// What counts at most of the past.
const WINDOW_MAX: Duration = Duration::from_secs(60);
/// Nothing is told from less.
const WINDOW_MIN: Duration = Duration::from_secs(2);
/// Parts of the window whose rates are compared.
const PARTS: u32 = 4;
/// How much faster one part may have been than another for both to be the same work.
const EVEN: f64 = 1.6;
/// Samples that are kept of the window.
const SAMPLES: u32 = 60;
/// A last stretch so short is told whatever came before: at worst it is wrong by little.
const SHARE_MIN: f64 = 0.01;

/// The progress of a stage of work, from its beginning.
#[derive(Debug)]
pub(crate) struct Estimate {
    samples: VecDeque<(Duration, f64)>,
}

impl Estimate {
    /// Nothing is done.
    pub(crate) fn new() -> Self {
        Estimate { samples: VecDeque::from([(Duration::ZERO, 0.0)]) }
    }

    /// So much is done, from 0 to 1, so long after the beginning.
    pub(crate) fn note(&mut self, elapsed: Duration, share: f64) {
        let Some(&(last, before)) = self.samples.back() else { return };
        // Steps that come seldom are kept as steps; what comes often, in equal distances.
        if share > before && elapsed - last.min(elapsed) >= window(elapsed) / SAMPLES {
            self.samples.push_back((elapsed, share));
        }
        let begin = elapsed.saturating_sub(window(elapsed));
        // The last sample before the window says what was done when it began.
        while self.samples.get(1).is_some_and(|&(at, _)| at <= begin) {
            self.samples.pop_front();
        }
    }

    /// What is left `elapsed` after the beginning; `None` when it can't be told.
    pub(crate) fn left(&self, elapsed: Duration) -> Option<Duration> {
        let (window, &(_, done)) = (window(elapsed), self.samples.back()?);
        // Of one step nobody knows how it went.
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
        // Seconds that all of it would take at the pace of the first part, and of the last.
        let length = (window / PARTS).as_secs_f64();
        let (first, last) = (length / parts.first()?, length / parts.last()?);
        let (begun, now) = (bounds.first()?, bounds.last()?);
        let rest = (1.0 - now).max(0.0);
        // What gets dearer evenly goes on so, which counts by half: it may as well have come to its end.
        let is_trend = parts.is_sorted() || parts.is_sorted_by(|a, b| a >= b);
        let slope = if is_trend { (last - first) / (now - begun) } else { 0.0 };
        let even = (window.as_secs_f64() / (now - begun) + last) / 2.0;
        let pace = (even + slope * rest / 2.0 / 2.0).clamp(even / 2.0, even * 2.0);
        Duration::try_from_secs_f64(rest * pace).ok()
    }

    /// What was done at a time, between two samples in proportion.
    fn share_at(&self, at: Duration) -> f64 {
        let next = self.samples.partition_point(|&(time, _)| time <= at);
        match (next.checked_sub(1).and_then(|before| self.samples.get(before)), self.samples.get(next)) {
            (Some(&(from, low)), Some(&(until, high))) => {
                let part = (at - from).as_secs_f64() / (until - from).as_secs_f64();
                low + part * (high - low)
            }
            // Since the last step some of the next one has been done, at the pace of the steps before.
            (Some(&(_, share)), None) => self.ahead(at, share),
            (None, Some(&(_, share))) => share,
            (None, None) => 0.0,
        }
    }

    /// What is done by `at`, behind the last sample: the last step's pace goes on for as long as that step
    /// took at most.
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

/// What counts of the past: its last half.
fn window(elapsed: Duration) -> Duration {
    (elapsed / 2).min(WINDOW_MAX)
}

#[cfg(test)]
mod tests;
