//! Continuing the log after a loss of power.

use crate::mapping::Mapping;
use crate::recovery::log_read::LogRead;
use crate::recovery::probe::Probe;
use crate::recovery::state::Recovery;

impl<M: Mapping> Recovery<M> {
    /// Continues the log after its last page, and sequence numbers after the highest one found.
    pub(super) fn take_over_log(&self, read: &LogRead, probe: &Probe) {
        let last = read.last();
        self.journal.log.note_read_only(last.read_only || probe.log_end());
        self.blocks.sequence.set(last.sequence.max(probe.sequence()));
        self.journal.log.take_over(last, read.slots());
    }
}
