//! Long work while Python's lock is given up: signals, progress, and exceptions on the way.

use crate::answers::Raised;
use aster_lab::own::Phase;
use pyo3::prelude::*;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How often Python is asked whether to go on, so that Ctrl-C takes no longer. The lock is taken for it.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What `progress` is told of a run's phase.
pub(crate) fn name_of(phase: Phase) -> &'static str {
    if phase == Phase::Before { "before" } else { "run" }
}

/// Asks Python now and then, while its lock is given up, whether there was a signal, and tells progress.
pub(crate) struct Asking {
    last: Cell<Instant>,
    raised: Raised,
}

impl Asking {
    /// What Python has raised. Whoever calls it in the course of the work puts an exception there, which ends
    /// the work.
    pub(crate) fn raised(&self) -> &Raised {
        &self.raised
    }

    /// `false` once Python has raised an exception. `progress` is called with the name of the part that is
    /// under way and the share of it that is done.
    pub(crate) fn goes_on(&self, progress: Option<&Py<PyAny>>, part: Option<&str>, share: f64) -> bool {
        if self.raised.borrow().is_some() {
            return false;
        }
        if self.last.get().elapsed() < ASK_EVERY {
            return true;
        }
        let asked = Python::attach(|py| {
            py.check_signals()?;
            if let (Some(progress), Some(part)) = (progress, part) {
                progress.call1(py, (part, share))?;
            }
            Ok::<_, PyErr>(())
        });
        self.last.set(Instant::now());
        match asked {
            Ok(()) => true,
            Err(error) => {
                *self.raised.borrow_mut() = Some(error);
                false
            }
        }
    }

    /// Calls `work` without Python's lock.
    ///
    /// # Errors
    /// What Python has raised meanwhile.
    pub(crate) fn while_detached<T: Send>(
        py: Python<'_>,
        work: impl FnOnce(&Asking) -> T + Send,
    ) -> PyResult<T> {
        let (done, raised) = py.detach(|| {
            let asking = Asking { last: Cell::new(Instant::now()), raised: Raised::default() };
            (work(&asking), asking.raised.take())
        });
        raised.map_or(Ok(done), Err)
    }
}
