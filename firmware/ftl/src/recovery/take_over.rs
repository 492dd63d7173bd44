//! The log of before the loss of power goes on.

use crate::mapping::Mapping;
use crate::recovery::log_read::{LogRead, SlotRead};
use crate::recovery::probe::Probe;
use crate::recovery::state::Recovery;

impl<M: Mapping> Recovery<M> {
    /// The log goes on behind its last page, in another slot, since this one may have a torn line. Sequence
    /// numbers go on behind the greatest one found.
    pub(super) fn take_over_log(&self, read: &LogRead, probe: &Probe) {
        let last = read.last();
        self.journal.was_read_only.set(self.journal.was_read_only.get() || last.read_only || probe.log_end());
        self.journal.blocks.set_sequence(last.sequence.max(probe.sequence()));
        let mut log = self.journal.log.borrow_mut();
        (log.number, log.commit, log.replay_from) = (last.number, last.commit, last.replay_from);
        (log.at, log.renew) = (None, true);
        for slot in &mut log.slots {
            slot.last = 0;
        }
        for read in read.slots() {
            log.slots[read.slot].last = read.last;
        }
        if let Some(&SlotRead { slot, erased, .. }) = read.slots().first() {
            (log.turn, log.rest) = (slot, Some((slot, erased)));
        }
    }
}
