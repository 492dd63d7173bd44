//! Why a LUN refuses a cycle.

/// Why a LUN refuses a cycle. The package makes the port's error of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The LUN, or its array, works.
    Busy,
    /// The cycle doesn't follow on what came before it.
    Unexpected,
    /// The row doesn't go with those of other planes.
    Planes,
}
