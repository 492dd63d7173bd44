//! Why a bench can't measure.

use aster_device::BuildError;

/// Why a bench can't measure.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The profile doesn't make a bench.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The packages didn't come up.
    #[error("{0}")]
    BringUp(String),
    /// The work can't be done on these packages.
    #[error("{0}")]
    Work(String),
}
