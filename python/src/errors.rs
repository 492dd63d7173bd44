//! Failures as exceptions, with the words of the command line.

use aster_lab::asked::failure::{Failure, without_number};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

create_exception!(aster, AsterError, PyException, "Why Aster could not do what was asked.");
create_exception!(aster, UsageError, AsterError, "A profile, a job file, a trace or an argument is wrong.");
create_exception!(aster, RunError, AsterError, "The work began and failed.");

/// The exception for a failure.
pub(crate) fn raised(failure: &Failure) -> PyErr {
    let words = without_number(&failure.to_string());
    match failure {
        Failure::Usage(_) => UsageError::new_err(words),
        Failure::Run(_) | Failure::Closed => RunError::new_err(words),
        Failure::Interrupted | Failure::InterruptedEarly(_) => PyKeyboardInterrupt::new_err(words),
    }
}

/// A value as JSON, which Python reads.
pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| RunError::new_err(error.to_string()))
}
