//! What the big loop's operations wait for (Cosmos+ C32, C33): the operations before them, then their way
//! and the issuer.

use super::owner::Owner;
use alloc::vec::Vec;
use aster_units::Instant;

/// The numbers of operations in events.
pub(super) const RX_DMA: u8 = 0;
const TX_DMA: u8 = 1;
const READ_TRIGGER: u8 = 3;
const ERASE: u8 = 4;
const WRITE: u8 = 5;
pub(super) const READ_TRANSFER: u8 = 6;

/// The kind of the flash operation that an operation is part of; `None` for host DMA and for operations
/// that the scheduler adds.
pub(super) const fn flash_kind(operation: u8) -> Option<u8> {
    match operation {
        READ_TRIGGER | READ_TRANSFER => Some(0),
        WRITE => Some(1),
        ERASE => Some(2),
        _ => None,
    }
}

/// A transfer that a task has asked for.
#[derive(Clone, Copy)]
struct Asked {
    since: Instant,
    from_host: bool,
    buffer: u32,
    owner: Owner,
}

/// An operation in the reservation station.
#[derive(Clone, Copy)]
struct Reserved {
    since: Instant,
    operation: (u8, u32, u32),
    owner: Owner,
}

/// The most operations that are followed: as many as a drive could have in progress.
const OPERATIONS_MAX: usize = 4096;

/// Transfers on their way to the dependency checker, and the reservation station.
#[derive(Default)]
pub(super) struct Station {
    asked: Vec<Asked>,
    reserved: Vec<Reserved>,
}

impl Station {
    pub(super) fn asked(&mut self, since: Instant, from_host: bool, buffer: u32, owner: Owner) {
        if self.asked.len() < OPERATIONS_MAX {
            self.asked.push(Asked { since, from_host, buffer, owner });
        }
    }
    /// The task's transfer is over. Without a dependency checker it was never delivered, so it is removed
    /// here.
    pub(super) fn over(&mut self, task: u32) {
        self.asked.retain(|asked| asked.owner.task != Some(task));
    }
    /// The oldest transfer of that kind and buffer: since when it waits, and its owner.
    pub(super) fn take_asked(&mut self, kind: u8, buffer: u32) -> Option<(Instant, Owner)> {
        let is = |asked: &Asked| asked.buffer == buffer && asked.from_host == (kind == RX_DMA);
        let at = self.asked.iter().position(is).filter(|_| kind <= TX_DMA)?;
        let Asked { since, owner, .. } = self.asked.remove(at);
        Some((since, owner))
    }
    pub(super) fn delivered(&mut self, since: Instant, operation: (u8, u32, u32), owner: Owner) {
        if self.reserved.len() < OPERATIONS_MAX {
            self.reserved.push(Reserved { since, operation, owner });
        }
    }
    pub(super) fn issued(&mut self, operation: (u8, u32, u32)) -> Option<(Instant, Owner)> {
        let at = self.reserved.iter().position(|reserved| reserved.operation == operation)?;
        let Reserved { since, owner, .. } = self.reserved.remove(at);
        Some((since, owner))
    }
    /// A read's transfer can't be issued before its trigger has ended, so its wait starts only now.
    pub(super) fn ended(&mut self, at: Instant, (kind, lun, buffer): (u8, u32, u32)) {
        if kind == READ_TRIGGER {
            let transfer = self.reserved.iter_mut().find(|r| r.operation == (READ_TRANSFER, lun, buffer));
            if let Some(transfer) = transfer {
                transfer.since = at;
            }
        }
    }
}
