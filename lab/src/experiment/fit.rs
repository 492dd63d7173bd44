//! Fits numbers that a paper doesn't state, each to one result that it states.

use super::error::ExperimentError;

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

/// Seeks a number in each of `ranges`, one after the other and all of them several times, beginning in the
/// middle of each. `ours` measures the result to which the number of an index is fitted; the result grows
/// with the number. `papers` has the paper's results. Calls `told` with the share done, from 0 to 1,
/// before each measurement.
///
/// # Errors
/// Those of `told` and `ours`.
pub(crate) fn fit(
    ranges: &[Range],
    papers: &[f64],
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
    ours: &mut impl FnMut(usize, &[f64]) -> Result<f64, ExperimentError>,
) -> Result<Vec<f64>, ExperimentError> {
    let mut values: Vec<f64> = ranges.iter().map(|range| range.at(range.steps() / 2)).collect();
    let total = (ROUNDS * ranges.len()) as f64;
    for round in 0..ROUNDS {
        let before = values.clone();
        for (index, (range, &paper)) in ranges.iter().zip(papers).enumerate() {
            // The first step at which the result reaches the paper's, by halves, and the one before it.
            let (mut low, mut high) = (0, range.steps());
            let mut below = f64::NEG_INFINITY;
            let mut above = f64::INFINITY;
            while low < high {
                told((round * ranges.len() + index) as f64 / total)?;
                let middle = low + (high - low) / 2;
                values[index] = range.at(middle);
                let found = ours(index, &values)?;
                if found < paper {
                    (low, below) = (middle + 1, found);
                } else {
                    (high, above) = (middle, found);
                }
            }
            let nearer_below = low > 0 && paper - below < above - paper;
            values[index] = range.at(if nearer_below { low - 1 } else { low });
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
        let found = fit(&RANGES, &results(&[0.66, 430.0]), &mut told, &mut ours).unwrap();
        assert_eq!(found, [0.66, 430.0]);
        // It ends with the first round that changes nothing: all eight would take 128 measurements.
        assert!(shares.len() < 64, "{shares:?}");
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..1.0).contains(share)), "{shares:?}");
    }

    #[test]
    fn the_nearer_of_two_steps_is_taken_and_the_last_measured_where_none_reaches() {
        let mut ours = |_: usize, values: &[f64]| -> Result<f64, ExperimentError> { Ok(values[0]) };
        let mut found = |paper| fit(&RANGES[1..], &[paper], &mut |_| Ok(()), &mut ours).unwrap();
        assert_eq!(found(433.0), [430.0]);
        assert_eq!(found(437.0), [440.0]);
        assert_eq!(found(5000.0), [890.0]);
        assert_eq!(found(0.0), [100.0]);
    }

    #[test]
    fn it_ends_when_it_is_stopped() {
        let mut ours = |_: usize, _: &[f64]| -> Result<f64, ExperimentError> {
            panic!("nothing is measured after a stop")
        };
        let stopped = fit(&RANGES, &[1.0, 1.0], &mut |_| Err(ExperimentError::Stopped), &mut ours);
        assert!(matches!(stopped, Err(ExperimentError::Stopped)));
    }
}
