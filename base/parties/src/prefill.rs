//! A drive that has been written before its first command: preconditioning without the time that it takes.

use alloc::boxed::Box;
use aster_units::{LunIndex, RowAddr};
use core::fmt;

/// What a host has written to a drive before it powers the drive on: all logical blocks once, in order, and
/// then what [`next_write`](WriteHistory::next_write) gives, one write after the other.
///
/// # Who calls, in what order
/// The translation, during its first boot, which becomes a microsecond or so longer. It takes writes until
/// more of them no longer change how much garbage collection copies. Then it asks for the
/// [content](WriteHistory::content) of all that stands on flash, stale data included.
///
/// # What is bounded
/// Writes are of whole mapping units of the drive, or at least of whole logical blocks, and lie within its
/// capacity. The translation decides how many it takes.
pub trait WriteHistory {
    /// The next write: its first byte, and its length in bytes.
    fn next_write(&mut self) -> (u64, u32);
    /// Puts what was written at byte `at` into `into`, as the drive keeps it: all bytes, or a tag of 8 bytes
    /// for each 4096. Stale data, which the host has overwritten since, is not `current`.
    fn content(&mut self, at: u64, current: bool, into: &mut [u8]);
}

/// The cells of a drive, as something that puts pages into them without commands. Nothing fails, nothing is
/// timed, and no bit is wrong.
pub trait CellWriter {
    /// Programs a page: `data` as the drive keeps content, and its OOB. Pages of a block come in order.
    fn program(&mut self, lun: LunIndex, row: RowAddr, data: &[u8], oob: &[u8]);
    /// The row's block has been erased this many times. Comes before its first program.
    fn set_erases(&mut self, lun: LunIndex, row: RowAddr, erases: u32);
}

/// What a translation needs for a first boot after which the drive has been written.
pub struct Prefill {
    /// What has been written.
    pub history: Box<dyn WriteHistory>,
    /// Where it goes.
    pub cells: Box<dyn CellWriter>,
}

impl fmt::Debug for Prefill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prefill")
    }
}
