//! SoftSSD's flash interface layer (S21–S23, P33): a scheduler on a core of its own, between a translation
//! and the channel controllers.
//!
//! Each chip has seven queues. A transaction has two phases: *execution* moves data between cells and
//! register, *transfer* between register and memory. Execution starts when the die is idle, transfer when
//! the channel is. The layer polls: the ring above for requests, the port below for results, and each die's
//! status.
//!
//! | module | |
//! |---|---|
//! | [`vector`] | location vectors: channel, way, die, plane, block, page |
//! | [`queues`] | the seven queues of each chip |
//! | [`turns`] | what is done next, as a pure function of what waits and what is under way |
//! | `run` | the loop that carries it out |

mod piece;
pub mod queues;
mod run;
mod stats;
pub mod turns;
mod under_way;
pub mod vector;

pub use piece::FlashInterface;
pub use stats::FilStats;

use aster_flash::FlashConfig;
use aster_units::Duration;

/// Cost of the layer's steps, in cycles of its core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FilCosts {
    /// Taking a request into its chip's queue.
    pub take: u64,
    /// Starting a phase of a transaction or of a multi-plane operation, or asking for a status.
    pub dispatch: u64,
    /// Looking whether what a die has at the controllers has ended.
    pub poll: u64,
    /// A transaction that has ended.
    pub finish: u64,
}

/// How the layer is built.
#[derive(Clone, Copy, Debug)]
pub struct FilConfig {
    /// What flash software knows of the packages. Statuses are asked for as its poll policy says.
    pub flash: FlashConfig,
    /// Controllers end a command that starts an array when the array has begun; the layer then asks for the
    /// die's status. If this is false, controllers wait for the array: then a program can't be seen to pass
    /// from one phase to the other, and both count as execution.
    pub polled: bool,
    /// Transactions that wait for the same page of different planes of a die are one multi-plane operation.
    /// The packages must have the command.
    pub multi_plane: bool,
    /// A read that can't be corrected is repeated at most this often, at the level that is set.
    pub read_retries: u8,
    /// Between two passes of the loop.
    pub pause: Duration,
    /// What steps cost.
    pub costs: FilCosts,
}

#[cfg(test)]
mod tests;
