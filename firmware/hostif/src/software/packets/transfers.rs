//! Transfers that have begun: each ends when all its packets have.

use super::super::asker::Asker;
use alloc::vec::Vec;

struct Transfer {
    asker: Asker,
    /// Packets that have not ended, and one more until all have been sent.
    open: u32,
    failed: bool,
    epoch: u32,
}

/// Transfers by number.
pub(super) struct Transfers {
    places: Vec<Option<Transfer>>,
    free: Vec<u32>,
}

impl Transfers {
    /// Room for `bound` transfers.
    pub(super) fn new(bound: usize) -> Self {
        Transfers { places: (0..bound).map(|_| None).collect(), free: (0..bound as u32).rev().collect() }
    }
    /// A transfer begins, of which packets will be sent.
    pub(super) fn begin(&mut self, asker: Asker, epoch: u32) -> u32 {
        let number = self.free.pop().expect("as many transfers as the front end asked for");
        self.places[number as usize] = Some(Transfer { asker, open: 1, failed: false, epoch });
        number
    }
    fn get(&mut self, number: u32) -> &mut Transfer {
        self.places[number as usize].as_mut().expect("a transfer that has begun and not ended")
    }
    /// The epoch of the host's memory in which it began.
    pub(super) fn epoch(&mut self, number: u32) -> u32 {
        self.get(number).epoch
    }
    /// A packet of it is about to be sent.
    pub(super) fn open(&mut self, number: u32) {
        self.get(number).open += 1;
    }
    /// A packet of it has ended, or the last one has been sent. With the last one the transfer ends: who
    /// asked for it, whether all packets were good, and its epoch.
    pub(super) fn close(&mut self, number: u32, good: bool) -> Option<(Asker, bool, u32)> {
        let transfer = self.get(number);
        transfer.failed |= !good;
        transfer.open -= 1;
        if transfer.open > 0 {
            return None;
        }
        self.free.push(number);
        let Transfer { asker, failed, epoch, .. } = self.places[number as usize].take()?;
        Some((asker, !failed, epoch))
    }
}
