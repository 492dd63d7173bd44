//! Cosmos+'s firmware as one big loop on one core (Algorithm 1, C44), and its low-level scheduler (Fig 11).
//!
//! [`BigLoop`] stands between the host interface controller and the FTL (I5 on either side) and between the
//! FTL and the channel controllers (I3 on either side). Everything reaches the FTL through it: a command
//! after the loop has taken it from the host command queue, an operation's end after the status checker has
//! seen it. So the FTL's coroutines run within a pass of the loop, and hardware never wakes them
//! (docs/adr/0006). To a drive the loop is one of its flash schedulers, [`Cosmos`].
//!
//! | module, or file of `big_loop` | Figs 8, 11 | |
//! |---|---|---|
//! | [`dependency`] | Dependency Checker | what of an operation set may go |
//! | [`packer`] | operation packer (7.4) | the writes of a word line, packed into one operation |
//! | [`station`] | Reservation Station | a queue for host DMA, one for each way |
//! | [`state`] | State Manager | Fig 12's states, read retry |
//! | `status` | Status Checker | registers, ready/busy bits, status-checks |
//! | [`priority`] | Priority Manager | Table 2 |
//! | `retry` | Read retry | repetitions, at other levels where the package has some |
//! | `issue` | Issuer | control words and units of host DMA |
//! | `exchange` | NVMe manager, FTL | commands in, operations out, answers back |

mod big_loop;
pub mod dependency;
pub mod packer;
mod piece;
pub mod priority;
pub mod state;
pub mod station;

pub use crate::loop_operation::{Operation, OperationKind, SetId};
pub use crate::loop_stats::{LoopPart, LoopStats, PARTS};
pub use big_loop::{BigLoop, LoopPorts};
pub use piece::Cosmos;

use aster_units::{Duration, Geometry};
use aster_wire::onfi::command_set::ReadRetry;

/// Bytes of a host DMA unit (C10).
pub const DMA_UNIT_BYTES: u32 = 4096;
/// How often Cosmos+'s firmware repeats a read that can't be corrected (P2).
pub const RETRY_LIMIT: u8 = 5;

/// Cost of the loop's steps, in cycles of its core. The FTL charges its own work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoopCosts {
    /// Each pass.
    pub pass: u64,
    /// Status checker: checking a busy way or a host DMA in flight.
    pub status: u64,
    /// Priority manager: comparing a head that could be issued.
    pub compare: u64,
    /// Issuer: building an operation's control word, or a unit of host DMA.
    pub issue: u64,
    /// Dependency checker and state manager: an operation that has ended.
    pub finish: u64,
}

/// How the loop is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoopConfig {
    /// The array; one LUN per way.
    pub geometry: Geometry,
    /// A control word ends when the array has begun; the loop then checks ready/busy bits and sends
    /// status-checks (C38). If this is false, the controller polls by itself and ends with the array's
    /// result.
    pub polled: bool,
    /// How often a read that can't be corrected is repeated.
    pub read_retries: u8,
    /// The package's table of read levels: repetitions go down its rows, and then start again from the top.
    pub read_levels: Option<ReadRetry>,
    /// The host interface completes reads and writes without the firmware (P13): completing them costs the
    /// core no register accesses.
    pub auto_completion: bool,
    /// The writes of a TLC word line are packed into one operation (C83).
    pub one_shot: bool,
    /// What steps cost.
    pub costs: LoopCosts,
    /// From core to a controller's register and back: the time of the buses between, without contention (C55,
    /// C79).
    pub register_access: Duration,
    /// The same for a word of uncached memory.
    pub memory_access: Duration,
    /// How long the loop waits for a busy array: read, write, erase.
    pub give_up: [Duration; 3],
}

#[cfg(test)]
mod tests;
