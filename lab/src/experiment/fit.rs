//! Fits numbers that a paper doesn't state, each to one result that it states.

use super::error::ExperimentError;
use std::collections::BTreeMap;

/// The range in which a number is sought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// Its lower end.
    pub(crate) from: f64,
    /// Its upper end.
    pub(crate) to: f64,
    /// The step.
    pub(crate) step: f64,
}

impl Range {
    fn steps(&self) -> u32 {
        ((self.to - self.from) / self.step).round() as u32
    }
    /// The number after `steps` steps, without the rounding error of binary fractions.
    fn at(&self, steps: u32) -> f64 {
        let value = self.from + self.step * f64::from(steps);
        (value * 1e6).round() / 1e6
    }
}

/// How many times all numbers are sought, at most. Each changes the others' results a little.
const ROUNDS: usize = 8;

/// The results of one number, by steps. Each is measured once; it grows with the number.
struct Results<'a> {
    range: Range,
    known: BTreeMap<u32, f64>,
    measure: &'a mut dyn FnMut(f64) -> Result<f64, ExperimentError>,
}

impl Results<'_> {
    fn at(&mut self, step: u32) -> Result<f64, ExperimentError> {
        if let Some(&known) = self.known.get(&step) {
            return Ok(known);
        }
        let found = (self.measure)(self.range.at(step))?;
        self.known.insert(step, found);
        Ok(found)
    }
    /// The first step from which on results are as `is_reached` says, by halves; the last one where none
    /// before it is.
    fn first(&mut self, is_reached: impl Fn(f64) -> bool) -> Result<u32, ExperimentError> {
        let (mut low, mut high) = (0, self.range.steps());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_reached(self.at(middle)?) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }
    /// The nearest of the two steps on either side of the paper's result. With `alike` the middle of all that
    /// come as near to it, but for that share.
    fn nearest(&mut self, paper: f64, alike: Option<f64>) -> Result<u32, ExperimentError> {
        let reaches = self.first(|result| result >= paper)?;
        let distance = |step: u32| self.known.get(&step).map_or(f64::INFINITY, |found| (found - paper).abs());
        let below = reaches.checked_sub(1).map_or(f64::INFINITY, distance);
        let above = distance(reaches);
        let Some(alike) = alike else { return Ok(if below < above { reaches - 1 } else { reaches }) };
        let within = below.min(above) + alike * paper.abs();
        let from = self.first(|result| result >= paper - within)?;
        let behind = self.first(|result| result > paper + within)?;
        Ok(from + behind.saturating_sub(from + 1) / 2)
    }
}

/// Seeks a number in each of `ranges`, one after the other and all of them several times, beginning in the
/// middle of each. `ours` measures the result to which the number of an index is fitted; the result grows
/// with the number. `papers` has the paper's results. Where a result comes in steps, many numbers meet it
/// equally well: with `alike` their middle is taken, and results that differ by this share of the paper's
/// count as equal. Calls `told` with the share done, from 0 to 1, before each measurement.
///
/// # Errors
/// Those of `told` and `ours`.
pub(crate) fn fit(
    ranges: &[Range],
    papers: &[f64],
    alike: Option<f64>,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
    ours: &mut impl FnMut(usize, &[f64]) -> Result<f64, ExperimentError>,
) -> Result<Vec<f64>, ExperimentError> {
    let mut values: Vec<f64> = ranges.iter().map(|range| range.at(range.steps() / 2)).collect();
    let total = (ROUNDS * ranges.len()) as f64;
    for round in 0..ROUNDS {
        let before = values.clone();
        for (index, (&range, &paper)) in ranges.iter().zip(papers).enumerate() {
            let mut measure = |value: f64| {
                told((round * ranges.len() + index) as f64 / total)?;
                values[index] = value;
                ours(index, &values)
            };
            let mut results = Results { range, known: BTreeMap::new(), measure: &mut measure };
            let nearest = results.nearest(paper, alike)?;
            values[index] = range.at(nearest);
        }
        // The next round would find the same.
        if values == before {
            break;
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: [Range; 2] =
        [Range { from: 0.1, to: 4.0, step: 0.01 }, Range { from: 100.0, to: 900.0, step: 10.0 }];

    /// Two results. Each grows with both numbers, and most with its own.
    fn results(values: &[f64]) -> [f64; 2] {
        [values[0] * 100.0 + values[1] / 100.0, values[1] + values[0]]
    }

    #[test]
    fn numbers_that_move_each_other_are_found() {
        let mut ours =
            |index: usize, values: &[f64]| -> Result<f64, ExperimentError> { Ok(results(values)[index]) };
        let mut shares = Vec::new();
        let mut told = |share| {
            shares.push(share);
            Ok(())
        };
        let found = fit(&RANGES, &results(&[0.66, 430.0]), None, &mut told, &mut ours).unwrap();
        assert_eq!(found, [0.66, 430.0]);
        // It ends with the first round that changes nothing: all eight would take 128 measurements.
        assert!(shares.len() < 64, "{shares:?}");
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..1.0).contains(share)), "{shares:?}");
    }

    #[test]
    fn the_nearer_of_two_steps_is_taken_and_the_last_measured_where_none_reaches() {
        let mut ours = |_: usize, values: &[f64]| -> Result<f64, ExperimentError> { Ok(values[0]) };
        let mut found = |paper| fit(&RANGES[1..], &[paper], None, &mut |_| Ok(()), &mut ours).unwrap();
        assert_eq!(found(433.0), [430.0]);
        assert_eq!(found(437.0), [440.0]);
        assert_eq!(found(5000.0), [890.0]);
        assert_eq!(found(0.0), [100.0]);
    }

    /// The result is that of the next hundred, and a thousandth of the number.
    #[test]
    fn of_the_numbers_that_meet_a_result_equally_well_the_middle_is_taken() {
        let mut ours = |_: usize, values: &[f64]| -> Result<f64, ExperimentError> {
            Ok((values[0] / 100.0).floor() * 100.0 + values[0] / 1000.0)
        };
        let mut found =
            |paper, alike| fit(&RANGES[1..], &[paper], alike, &mut |_| Ok(()), &mut ours).unwrap();
        for paper in [470.0, 500.0, 530.0] {
            assert_eq!(found(paper, Some(0.001)), [540.0], "500.5 to 500.59, of {paper}");
        }
        assert_eq!(found(530.0, None), [590.0], "the nearest of two");
        assert_eq!(found(5000.0, Some(0.001)), [840.0]);
    }

    #[test]
    fn it_ends_when_it_is_stopped() {
        let mut ours = |_: usize, _: &[f64]| -> Result<f64, ExperimentError> {
            panic!("nothing is measured after a stop")
        };
        let stopped = fit(&RANGES, &[1.0, 1.0], None, &mut |_| Err(ExperimentError::Stopped), &mut ours);
        assert!(matches!(stopped, Err(ExperimentError::Stopped)));
    }
}
