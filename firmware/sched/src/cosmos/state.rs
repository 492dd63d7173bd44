//! The state manager: the state of each way (Fig 12, C39).

use alloc::vec;
use alloc::vec::Vec;
use aster_ports::flash::{FlashStatus, Outcome, Tag};
use aster_units::{Instant, LunIndex};

/// Where the operation of a busy way is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayStage {
    /// Its control word is in the channel controller's hands.
    Sent(Tag),
    /// The array is busy; the way is given up at this instant.
    Array(Instant),
    /// The ready bit is set: a status-check is due.
    CheckDue,
    /// The channel controller has the status-check.
    Checking(Tag),
}

/// A way's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayState {
    /// It can take an operation.
    Idle,
    /// It works on its queue's head.
    Busy(WayStage),
    /// The head has succeeded.
    Done,
    /// The head has failed, and how.
    Fail(FlashStatus),
}

/// What to do with a head that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is over: it succeeded, or it failed finally, which is reported to the FTL for its bad blocks.
    Over,
    /// A read that could not be corrected: once more, for the nth time (C40).
    Retry(u8),
}

#[derive(Clone, Copy)]
struct Way {
    state: WayState,
    retries: u8,
    // The row of the package's table of read levels that reads use.
    level: u8,
    // How the head has ended, kept while the level is reset.
    ended: Option<Outcome>,
    issued: Instant,
}

/// The states of all ways.
pub struct StateManager {
    ways: Vec<Way>,
    retries_max: u8,
}

impl StateManager {
    /// All ways are idle. A read is repeated at most `retries_max` times.
    pub fn new(ways: u32, retries_max: u8) -> Self {
        let idle = Way { state: WayState::Idle, retries: 0, level: 0, ended: None, issued: Instant::ZERO };
        StateManager { ways: vec![idle; ways as usize], retries_max }
    }
    /// A way's state.
    #[inline]
    pub fn of(&self, lun: LunIndex) -> WayState {
        self.ways[lun.index()].state
    }
    /// Idle to busy: the way has been given its head at `at`.
    #[inline]
    pub fn begin(&mut self, lun: LunIndex, tag: Tag, at: Instant) {
        let way = &mut self.ways[lun.index()];
        assert_eq!(way.state, WayState::Idle, "a busy way takes no operation");
        (way.state, way.issued) = (WayState::Busy(WayStage::Sent(tag)), at);
    }
    /// When the way's head was issued.
    pub fn issued(&self, lun: LunIndex) -> Instant {
        self.ways[lun.index()].issued
    }
    /// A busy way goes on.
    #[inline]
    pub fn advance(&mut self, lun: LunIndex, stage: WayStage) {
        let way = &mut self.ways[lun.index()];
        assert!(matches!(way.state, WayState::Busy(_)), "{:?} goes on to {stage:?}", way.state);
        way.state = WayState::Busy(stage);
    }
    /// Busy to done or fail.
    #[inline]
    pub fn end(&mut self, lun: LunIndex, status: FlashStatus) {
        let way = &mut self.ways[lun.index()];
        assert!(matches!(way.state, WayState::Busy(_)), "{:?} ends", way.state);
        way.state = match status {
            FlashStatus::Done => WayState::Done,
            _ => WayState::Fail(status),
        };
    }
    /// The read level of the way's package.
    pub fn level(&self, lun: LunIndex) -> u8 {
        self.ways[lun.index()].level
    }
    /// The way's package has accepted this read level.
    pub fn set_level(&mut self, lun: LunIndex, level: u8) {
        self.ways[lun.index()].level = level;
    }
    /// How often the way's read has been repeated.
    pub fn retries(&self, lun: LunIndex) -> u8 {
        self.ways[lun.index()].retries
    }
    /// Whether an end is kept.
    pub fn has_end(&self, lun: LunIndex) -> bool {
        self.ways[lun.index()].ended.is_some()
    }
    /// Keeps how a way's head has ended until its read level has been reset.
    pub fn keep_end(&mut self, lun: LunIndex, outcome: Outcome) {
        self.ways[lun.index()].ended = Some(outcome);
    }
    /// What was kept.
    pub fn take_end(&mut self, lun: LunIndex) -> Option<Outcome> {
        self.ways[lun.index()].ended.take()
    }
    /// The way's read is over. Returns how often it was repeated.
    pub fn forget_retries(&mut self, lun: LunIndex) -> u8 {
        core::mem::take(&mut self.ways[lun.index()].retries)
    }
    /// Done or fail to idle. `read` when the head was a transfer whose data can be asked for again.
    #[inline]
    pub fn conclude(&mut self, lun: LunIndex, read: bool) -> Verdict {
        let retries_max = self.retries_max;
        let way = &mut self.ways[lun.index()];
        match core::mem::replace(&mut way.state, WayState::Idle) {
            WayState::Fail(FlashStatus::Uncorrectable) if read && way.retries < retries_max => {
                way.retries += 1;
                Verdict::Retry(way.retries)
            }
            WayState::Done | WayState::Fail(_) => Verdict::Over,
            WayState::Idle | WayState::Busy(_) => {
                unreachable!("a way is concluded only when its head has ended")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LUN: LunIndex = LunIndex(0);

    /// Takes the way through busy to its end, and returns the verdict.
    fn once(states: &mut StateManager, tag: Tag, status: FlashStatus, read: bool) -> Verdict {
        states.begin(LUN, tag, Instant::ZERO);
        states.end(LUN, status);
        let ended = if status == FlashStatus::Done { WayState::Done } else { WayState::Fail(status) };
        assert_eq!(states.of(LUN), ended);
        let verdict = states.conclude(LUN, read);
        assert_eq!(states.of(LUN), WayState::Idle);
        verdict
    }

    #[test]
    fn a_read_is_repeated_up_to_the_limit_and_then_reported_and_other_failures_are_reported_at_once() {
        let (exec, mut states) = (aster_exec::Exec::new(), StateManager::new(1, 2));
        let port = aster_ports::flash::FlashPort::new(&exec, 1, 1, aster_ports::cores::Interrupt::default());
        let target = aster_ports::flash::Target {
            row: aster_units::RowAddr(0),
            sectors: aster_units::SectorRange::whole(4),
            buffer: aster_units::BufferId(0),
        };
        let request =
            aster_ports::flash::FlashRequest::single(aster_ports::flash::FlashOp::Erase, LUN, target);
        let tag = port.submit(request).unwrap();
        for _ in 0..2 {
            let worn = FlashStatus::Uncorrectable;
            assert_eq!(once(&mut states, tag, worn, true), Verdict::Retry(1));
            // The trigger that comes before the transfer again.
            assert_eq!(once(&mut states, tag, FlashStatus::Done, false), Verdict::Over);
            assert_eq!(once(&mut states, tag, worn, true), Verdict::Retry(2));
            assert_eq!(once(&mut states, tag, worn, true), Verdict::Over);
            assert_eq!(states.forget_retries(LUN), 2);
        }
        let failed = FlashStatus::Failed;
        assert_eq!(once(&mut states, tag, failed, false), Verdict::Over);
    }
}
