//! Why a LUN refuses a cycle.

/// Why a LUN refuses a cycle. The package turns it into the port's error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The LUN or its array is busy.
    Busy,
    /// The cycle doesn't fit what came before it.
    Unexpected,
    /// The row doesn't match those of other planes.
    Planes,
}
