//! Where the scan stands.

use crate::collector::metadata_round::MetadataRound;
use aster_exec::WaitCell;
use core::cell::{Cell, RefCell};

/// What the scan looks at next.
#[derive(Default)]
pub(super) struct ScanPlace {
    /// The number of the page of data, counted over all LUNs in turn.
    pub(super) at: Cell<u32>,
    pub(super) metadata: RefCell<MetadataRound>,
    /// Wakes a scan that has stopped because the drive is stuck.
    pub(super) waiter: WaitCell,
}
