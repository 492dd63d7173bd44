//! Ctrl-C during a run: the first one asks the run to end cleanly, the second ends the process.

use aster_lab::asked::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status that a shell reports for a process ended by SIGINT.
const KILLED: i32 = 130;

/// Whether the user has asked to stop.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the flag isn't set yet when the first signal passes the first handler.
            flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| Failure::run(format!("signal handler: {error}")))?;
        }
        // With this, a write beyond a limit on the size of files (ulimit -f) is an error that is reported,
        // instead of ending the process silently.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
            .map_err(|error| Failure::run(format!("signal handler: {error}")))?;
        Ok(Interrupt(asked))
    }

    /// True once the user has asked to stop.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
