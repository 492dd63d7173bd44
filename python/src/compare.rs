//! Figures over seeds, with the statistics of `aster compare`.

use crate::errors::UsageError;
use aster_lab::compare::Sampled;
use pyo3::prelude::*;

fn of(values: &[f64]) -> PyResult<Sampled> {
    Sampled::of(values).ok_or_else(|| UsageError::new_err("compare: a figure of no run"))
}

/// The mean, and half of its 95 % confidence interval; none of a single value.
#[pyfunction]
pub(crate) fn sampled(values: Vec<f64>) -> PyResult<(f64, Option<f64>)> {
    of(&values).map(|sampled| (sampled.mean, sampled.half_width_95))
}

/// Whether the means differ with 95 % confidence; none with a single value of either.
#[pyfunction]
pub(crate) fn beyond_chance(first: Vec<f64>, other: Vec<f64>) -> PyResult<Option<bool>> {
    Ok(of(&other)?.difference_from(&of(&first)?).beyond_chance)
}
