//! Read retry: repeats a read that can't be corrected, at other levels if the package has any (C39, C40).

use super::BigLoop;
use crate::loop_operation::{Operation, OperationKind};
use aster_ports::flash::{Feature, FlashStatus, Outcome};
use aster_units::LunIndex;

impl BigLoop {
    /// Repeats the head, a read-transfer, for the nth time, with its trigger before it.
    pub(super) fn retry(&mut self, head: Operation, times: u8) {
        self.time.count(|s| s.retries += 1);
        self.station.put_before(Operation { kind: OperationKind::ReadTrigger, again: true, ..head });
        if self.level_of(times) != self.states.level(head.lun) {
            self.put_level_before(head);
        }
    }
    /// The row of the level table for the nth repetition of a read. It uses each row once and then starts
    /// again, since another read at the same level finds other cells wrong.
    fn level_of(&self, times: u8) -> u8 {
        self.config.read_levels.map_or(0, |table| times % table.levels)
    }
    /// The feature that is sent to a way next: the level of its repeated read, or a fresh part's level after
    /// that read.
    pub(super) fn level_feature(&self, lun: LunIndex) -> Feature {
        let table = self.config.read_levels.expect("only a package that has levels is told one");
        Feature { address: table.feature, value: u32::from(self.wanted_level(lun)) }
    }
    fn wanted_level(&self, lun: LunIndex) -> u8 {
        if self.states.has_end(lun) { 0 } else { self.level_of(self.states.retries(lun)) }
    }
    fn put_level_before(&mut self, head: Operation) {
        self.station.put_before(Operation { kind: OperationKind::SetLevel, again: true, ..head });
    }
    /// The head's read is over: resets the level, so that no other read uses it.
    pub(super) fn set_level_back(&mut self, head: Operation, outcome: Outcome) {
        self.states.keep_end(head.lun, outcome);
        self.put_level_before(head);
    }
    /// A way has accepted its level or refused it. If it refused, it reads at its current level, and the next
    /// read sends the level again.
    pub(super) fn level_set(&mut self, told: Operation, outcome: Outcome) {
        let lun = told.lun;
        if outcome.status == FlashStatus::Done {
            let level = self.wanted_level(lun);
            self.states.set_level(lun, level);
        }
        self.station.release(lun);
        if let Some(ended) = self.states.take_end(lun) {
            let head = *self.station.head(lun).expect("the read whose end was kept");
            self.conclude(head, ended);
        }
    }
}
