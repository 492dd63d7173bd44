//! The priority manager: in which order a channel's operations are issued (Table 2, C36, C41).

use crate::loop_operation::OperationKind;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::LunIndex;

/// An operation that could be issued to a channel now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Its way on the channel.
    pub way: u8,
    /// The way's number over the drive.
    pub lun: LunIndex,
    /// What it is.
    pub kind: OperationKind,
}

/// Orders each channel's candidates by priority; ways of equal priority take turns.
pub struct PriorityManager {
    // The way that goes first among equals next time, by channel.
    first: Vec<u8>,
    ways: u8,
}

impl PriorityManager {
    /// For `channels` channels with `ways` ways each.
    pub fn new(channels: u16, ways: u8) -> Self {
        PriorityManager { first: vec![0; usize::from(channels)], ways }
    }
    /// Sorts a channel's candidates; the first goes first.
    #[inline]
    pub fn order(&mut self, channel: usize, candidates: &mut [Candidate]) {
        let (first, ways) = (self.first[channel], self.ways);
        candidates.sort_unstable_by_key(|c| (c.kind.priority(), (c.way + ways - first) % ways));
        if let Some(head) = candidates.first() {
            self.first[channel] = (head.way + 1) % ways;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(way: u8, kind: OperationKind) -> Candidate {
        Candidate { way, lun: LunIndex(u32::from(way)), kind }
    }

    #[test]
    fn priorities_are_those_of_table_2_and_setting_a_level_goes_with_the_writes() {
        use OperationKind::*;
        let table = [
            (RxDma, 0),
            (TxDma, 0),
            (StatusCheck, 1),
            (ReadTrigger, 2),
            (Erase, 3),
            (Write, 4),
            (ReadTransfer, 5),
            (SetLevel, 4),
        ];
        assert_eq!(table, OperationKind::ALL.map(|kind| (kind, kind.priority())));
    }

    #[test]
    fn higher_priority_goes_first_and_equals_take_turns() {
        let mut manager = PriorityManager::new(1, 4);
        use OperationKind::{Erase, ReadTransfer, ReadTrigger, StatusCheck, Write};
        let mut all = [
            candidate(0, ReadTransfer),
            candidate(1, Write),
            candidate(2, ReadTrigger),
            candidate(3, StatusCheck),
        ];
        manager.order(0, &mut all);
        assert_eq!(all.map(|c| c.kind), [StatusCheck, ReadTrigger, Write, ReadTransfer]);
        let mut erased = [candidate(0, Write), candidate(1, Erase), candidate(2, ReadTrigger)];
        manager.order(0, &mut erased);
        assert_eq!(erased.map(|c| c.kind), [ReadTrigger, Erase, Write]);
        let mut manager = PriorityManager::new(1, 4);
        let equals = || [0, 1, 2, 3].map(|way| candidate(way, Erase));
        let mut order = Vec::new();
        for _ in 0..4 {
            let mut turn = equals();
            manager.order(0, &mut turn);
            order.push(turn[0].way);
        }
        assert_eq!(order, [0, 1, 2, 3], "the one that went first goes last the next time");
    }
}
