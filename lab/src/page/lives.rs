//! Commands of a run: latencies over time, and the slowest ones' lives.

use crate::explain::{Collector, Explanation, Which};
use aster_driver::{CommandName, QueueId};
use aster_observe::{Activity, CommandSpan, Piece};
use aster_units::{Duration, Geometry, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// Slowest commands that a page shows.
const SLOWEST: usize = 10;
/// The most intervals; beyond, two become one.
const INTERVALS_MAX: usize = 192;
/// The first width of an interval.
const WIDTH: Duration = Duration::from_micros(10);
/// Latencies are told apart by so many steps for each doubling.
const PER_OCTAVE: u32 = 8;
/// Latencies from a nanosecond up to 2⁴⁰ of them.
const STEPS: usize = 40 * PER_OCTAVE as usize;

/// Latencies of a kind of command, over time and by length.
pub struct OverTime {
    counts: Vec<[u32; STEPS]>,
}

/// The same for a page.
#[derive(Clone, Debug, Serialize)]
pub struct OverTimeReport {
    /// The command's NVMe name.
    pub kind: String,
    /// Width of an interval in simulated seconds.
    pub width_s: f64,
    /// Steps for each doubling: step n holds latencies from 2^(n/steps) nanoseconds on.
    pub steps_per_octave: u32,
    /// What isn't empty: interval, step, commands.
    pub counts: Vec<(u32, u32, u32)>,
}

/// The step of a latency.
fn step_of(latency: Duration) -> usize {
    let nanos = latency.as_nanos().max(1);
    let octave = nanos.ilog2();
    // The step within the octave by comparison: the result is the same on every machine.
    let within = (1..PER_OCTAVE).take_while(|step| {
        let bound = 2f64.powf(f64::from(*step) / f64::from(PER_OCTAVE)) * (1u64 << octave) as f64;
        nanos as f64 >= bound
    });
    ((octave * PER_OCTAVE) as usize + within.count()).min(STEPS - 1)
}

impl OverTime {
    fn record(&mut self, interval: usize, latency: Duration) {
        if self.counts.len() <= interval {
            self.counts.resize(interval + 1, [0; STEPS]);
        }
        self.counts[interval][step_of(latency)] += 1;
    }

    fn halve(&mut self) {
        let pairs = self.counts.chunks(2).map(|pair| {
            let mut sum = pair[0];
            if let Some(second) = pair.get(1) {
                sum.iter_mut().zip(second).for_each(|(sum, count)| *sum += count);
            }
            sum
        });
        self.counts = pairs.collect();
    }
}

/// Listens to the commands of a run.
pub struct Lived {
    began: Instant,
    at_work: bool,
    width: Duration,
    /// By opcode and whether it is of the admin queue.
    kinds: BTreeMap<(bool, u8), OverTime>,
    collector: Collector,
}

impl Default for Lived {
    fn default() -> Self {
        Lived {
            began: Instant::ZERO,
            at_work: false,
            width: WIDTH,
            kinds: BTreeMap::new(),
            collector: Collector::new(Which::SlowestOf(SLOWEST)),
        }
    }
}

impl Lived {
    /// The work begins at `now` with the `first` command of the run.
    pub fn begin(&mut self, first: u64, now: Instant) {
        (self.began, self.at_work) = (now, true);
        self.collector.begin(first, now, None);
    }

    /// Takes a piece that has ended.
    pub fn hear(&mut self, piece: &Piece) {
        if !self.at_work {
            return;
        }
        if let Activity::Command(span) = &piece.activity {
            self.ended(span);
        }
        self.collector.hear(piece);
    }

    fn ended(&mut self, span: &CommandSpan) {
        let (from, _) = span.ends();
        if from < self.began {
            return;
        }
        let mut interval = from.since(self.began).as_picos() / self.width.as_picos();
        while interval >= INTERVALS_MAX as u64 {
            self.width = Duration::from_picos(self.width.as_picos() * 2);
            self.kinds.values_mut().for_each(OverTime::halve);
            interval = from.since(self.began).as_picos() / self.width.as_picos();
        }
        let kind = self.kinds.entry((span.queue == 0, span.opcode));
        let kind = kind.or_insert_with(|| OverTime { counts: Vec::new() });
        kind.record(interval as usize, span.total());
    }

    /// The slowest commands, slowest first. `on_host` tells that a target serves them.
    pub fn slowest(&self, geometry: &Geometry, on_host: bool) -> Vec<Explanation> {
        self.collector.explanations(geometry, on_host)
    }

    /// Latencies by kind.
    pub fn latencies(&self) -> Vec<OverTimeReport> {
        let report = |(&(is_admin, opcode), of): (&(bool, u8), &OverTime)| {
            let queue = QueueId(u16::from(!is_admin));
            let counts = of.counts.iter().enumerate().flat_map(|(interval, counts)| {
                let held = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                held.map(move |(step, count)| (interval as u32, step as u32, *count))
            });
            OverTimeReport {
                kind: CommandName { queue, opcode }.to_string(),
                width_s: self.width.as_secs_f64(),
                steps_per_octave: PER_OCTAVE,
                counts: counts.collect(),
            }
        };
        self.kinds.iter().filter(|((is_admin, _), _)| !is_admin).map(report).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_has_its_step_and_intervals_join() {
        let step = |nanos| step_of(Duration::from_nanos(nanos));
        assert_eq!((step(0), step(1), step(2), step(3), step(4)), (0, 0, 8, 12, 16));
        assert_eq!((step(1 << 20), step((1 << 20) - 1), step(u64::MAX / 2000)), (160, 159, STEPS - 1));
        let mut over_time = OverTime { counts: Vec::new() };
        (0..5).for_each(|interval| over_time.record(interval, Duration::from_nanos(1 << interval)));
        over_time.halve();
        let counts: Vec<_> = over_time.counts.iter().map(|of| of.iter().sum::<u32>()).collect();
        assert_eq!((counts, over_time.counts[1][16], over_time.counts[1][24]), (vec![2, 2, 1], 1, 1));
    }
}
