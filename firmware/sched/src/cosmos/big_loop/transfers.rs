//! Host DMA operations that the host interface controller carries out.

use crate::loop_operation::{Operation, OperationKind};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_ports::host::{CommandPort, DmaError, DmaTag};
use aster_units::Instant;

/// An operation with its units that aren't done yet.
struct InFlight {
    operation: Operation,
    issued: Instant,
    units: Vec<DmaTag>,
    failed: Option<DmaError>,
    /// When the status checker has seen that all units are done.
    done: Option<Instant>,
}

/// An operation whose units have all been done.
pub(super) struct DoneTransfer {
    pub operation: Operation,
    pub issued: Instant,
    pub sensed: Instant,
    pub failed: Option<DmaError>,
}

/// The operations in flight, in the order in which they were issued.
pub(super) struct HostTransfers {
    in_flight: VecDeque<InFlight>,
    /// Memory of completed operations, for reuse.
    spare: Vec<Vec<DmaTag>>,
}

impl HostTransfers {
    /// Room for `transfers` operations.
    pub fn new(transfers: u16) -> Self {
        let transfers = usize::from(transfers);
        HostTransfers { in_flight: VecDeque::with_capacity(transfers), spare: Vec::with_capacity(transfers) }
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }
    #[inline]
    pub fn count(&self) -> usize {
        self.in_flight.len()
    }

    /// An empty list for the units of an operation.
    pub fn list(&mut self) -> Vec<DmaTag> {
        self.spare.pop().unwrap_or_default()
    }
    /// All units of an operation have been issued, the first of them at `issued`.
    #[inline]
    pub fn issued(&mut self, operation: Operation, issued: Instant, units: Vec<DmaTag>) {
        debug_assert!(operation.kind.is_host_dma(), "{:?} is issued as host DMA", operation.kind);
        self.in_flight.push_back(InFlight { operation, issued, units, failed: None, done: None });
    }
    /// Whether the operation at this place moves data to the host.
    #[inline]
    pub fn is_to_host(&self, at: usize) -> bool {
        self.in_flight[at].operation.kind == OperationKind::TxDma
    }
    /// Takes the ends of the operation's units that have been done by now. True if those were the last.
    #[inline]
    pub fn look(&mut self, at: usize, host: &CommandPort, now: Instant) -> bool {
        let InFlight { units, failed, done, .. } = &mut self.in_flight[at];
        let mut left = 0;
        for at in 0..units.len() {
            match host.try_take_dma(units[at]) {
                Some(Ok(())) => {}
                Some(Err(error)) => *failed = Some(error),
                None => {
                    units[left] = units[at];
                    left += 1;
                }
            }
        }
        units.truncate(left);
        if units.is_empty() {
            *done = Some(now);
        }
        units.is_empty()
    }
    /// Takes the first operation if it is done, and otherwise makes it the last one: so [`Self::count`] calls
    /// visit each operation once, and keep the order of the remaining ones.
    #[inline]
    pub fn take_done(&mut self) -> Option<DoneTransfer> {
        let first = self.in_flight.pop_front()?;
        let Some(sensed) = first.done else {
            self.in_flight.push_back(first);
            return None;
        };
        let InFlight { operation, issued, units, failed, .. } = first;
        debug_assert!(units.is_empty(), "an operation is done before its units are");
        self.spare.push(units);
        Some(DoneTransfer { operation, issued, sensed, failed })
    }
}
