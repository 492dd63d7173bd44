//! Where the scan stands.

use crate::collector::metadata_round::MetadataRound;
use aster_exec::WaitCell;
use core::cell::{Cell, RefCell};

/// What the scan looks at next.
#[derive(Default)]
pub(super) struct ScanPlace {
    /// The page of data, all LUNs in turn.
    pub(super) at: Cell<u32>,
    pub(super) metadata: RefCell<MetadataRound>,
    /// A scan that stands still with the drive.
    pub(super) waiter: WaitCell,
}
