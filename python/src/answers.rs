//! What Python answers when a run asks it, and what it raises then.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// What Python has raised while it was asked. Whoever puts an exception there ends the run.
pub(crate) type Raised = Rc<RefCell<Option<PyErr>>>;

/// An answer, for an error.
pub(crate) fn shown(answer: &Bound<'_, PyAny>) -> String {
    answer.repr().map_or_else(|_| "what has no repr()".to_owned(), |repr| repr.to_string())
}
