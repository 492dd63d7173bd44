//! Why an experiment ends early.

use aster_device::profile::ProfileError;
use aster_run_bench::BenchError;
use aster_run_virtual::RunError;
use std::ops::ControlFlow;

/// Why an experiment ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The experiment file or a cost file is wrong.
    #[error("{0}")]
    File(String),
    /// A profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A drive of the plan can't be built.
    #[error("{figure}: {key}: {reason}")]
    Drive {
        /// What it is for.
        figure: &'static str,
        /// The profile's key at fault.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A drive can't be built or run.
    #[error(transparent)]
    Machine(#[from] RunError),
    /// A bench can't be built or used.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A request of the host or of the bench failed.
    #[error("{0}")]
    Run(String),
    /// READs of the bench failed or returned wrong content.
    #[error("{point}: {failures} READs failed or brought wrong content")]
    Wrong {
        /// Where.
        point: String,
        /// How many.
        failures: u64,
    },
    /// A picture can't be drawn.
    #[error("a picture can't be drawn: {0}")]
    Picture(#[from] std::io::Error),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

/// Turns the caller's answer into a result.
pub(crate) fn heard(answer: ControlFlow<()>) -> Result<(), ExperimentError> {
    match answer {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ExperimentError::Stopped),
    }
}
