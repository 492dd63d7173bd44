//! Lanes in lockstep: the same operation on several channels, as one operation of their array controller
//! (H2, G24).
//!
//! Each lane is a LUN on a channel of its own, with a row of its own. Flash software builds a step once and
//! pays for it once; all lanes get it at the same instant. All of them are polled together until the slowest
//! one is ready, and the operation ends with it. If a lane fails, it takes no part in further steps, and the
//! others go on. No other operation may use the LUNs at the same time.

use super::read::{ask_status, fetch};
use super::{load, read_command, t_prog, t_r, transaction};
use crate::Lun;
use aster_events::Function;
use aster_ports::channel::TxnResult;
use aster_ports::flash::{FlashError, FlashStatus, Outcome, Target};
use aster_txn::Txn;
use aster_units::{Duration, Instant};
use aster_wire::onfi::{Status, command};

/// A lane of a group.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    /// The LUN. All LUNs of a group are driven by the same core.
    pub lun: &'a Lun,
    /// What is done there.
    pub target: Target,
}

/// How a lane ends: with the outcome of its target, or the reason why it wasn't carried out.
pub type LaneEnd = Result<Outcome, FlashError>;

/// READ of a page on each lane, into the buffer of its target.
pub async fn read_lanes(lanes: &[Lane<'_>], ends: &mut [LaneEnd]) {
    let Some(mut group) = Group::of(lanes, ends) else { return };
    let typical = group.longest(|lane| t_r(lane.lun, lane.target.row));
    let trigger = |lane: &Lane<'_>, txn: &mut Txn| {
        read_command(txn, lane.target.row, command::READ_CONFIRM);
    };
    group.until_ready("read", trigger, typical, |_| FlashStatus::Done).await;
    let transfer = |lane: &Lane<'_>, txn: &mut Txn| {
        fetch(lane.lun, txn, lane.target.row, lane.target.sectors, lane.target.buffer);
    };
    group.step("read transfer", transfer, Duration::ZERO, |result| Outcome::from(result.frame)).await;
}

/// PROGRAM PAGE on each lane, from the buffer of its target.
pub async fn program_lanes(lanes: &[Lane<'_>], ends: &mut [LaneEnd]) {
    let Some(mut group) = Group::of(lanes, ends) else { return };
    let typical = group.longest(|lane| t_prog(lane.lun, lane.target.row));
    let program = |lane: &Lane<'_>, txn: &mut Txn| {
        load(lane.lun, txn, command::PROGRAM, lane.target.row, lane.target.buffer)
            .cmd(command::PROGRAM_CONFIRM);
    };
    group.until_ready("program", program, typical, of_array).await;
}

/// BLOCK ERASE on each lane, of the block that the row of its target lies in.
pub async fn erase_lanes(lanes: &[Lane<'_>], ends: &mut [LaneEnd]) {
    let Some(mut group) = Group::of(lanes, ends) else { return };
    let typical = group.first.config().t_bers;
    let erase = |lane: &Lane<'_>, txn: &mut Txn| {
        txn.cmd(command::ERASE).row(lane.target.row).cmd(command::ERASE_CONFIRM);
    };
    group.until_ready("erase", erase, typical, of_array).await;
}

fn of_array(status: Status) -> FlashStatus {
    if status.fail() { FlashStatus::Failed } else { FlashStatus::Done }
}

/// Lanes with what has come of each so far. A lane with an error takes no part in further steps.
struct Group<'a, 'l> {
    first: &'a Lun,
    lanes: &'a [Lane<'l>],
    ends: &'a mut [LaneEnd],
}

impl<'a, 'l> Group<'a, 'l> {
    fn of(lanes: &'a [Lane<'l>], ends: &'a mut [LaneEnd]) -> Option<Self> {
        assert_eq!(lanes.len(), ends.len(), "each lane has an end");
        let core = |lane: &Lane<'_>| lane.lun.core().number();
        assert!(lanes.iter().all(|lane| core(lane) == core(&lanes[0])), "one core drives a group");
        ends.fill(Ok(Outcome::default()));
        Some(Group { first: lanes.first()?.lun, lanes, ends })
    }
    /// The longest of a time that each lane has.
    fn longest(&self, time: impl Fn(&Lane<'l>) -> Duration) -> Duration {
        self.lanes.iter().map(time).max().unwrap_or_default()
    }

    /// Issues the transaction that `build` makes of each lane on all of them at once, and waits for the last
    /// one, and for `linger` behind it. `end` makes a lane's outcome of its result.
    async fn step(
        &mut self,
        name: &'static str,
        build: impl Fn(&Lane<'_>, &mut Txn),
        linger: Duration,
        end: impl Fn(TxnResult) -> Outcome,
    ) {
        if self.ends.iter().all(Result::is_err) {
            return;
        }
        self.first.spend(Function::Transaction, self.first.config().costs.transaction);
        let at = self.first.core().now();
        for (lane, _) in self.lanes.iter().zip(&*self.ends).filter(|(_, end)| end.is_ok()) {
            let mut txn = lane.lun.lane_txn(name);
            build(lane, &mut txn);
            lane.lun.issue_at(txn, at);
        }
        let mut over = Instant::ZERO;
        for (lane, found) in self.lanes.iter().zip(&mut *self.ends).filter(|(_, found)| found.is_ok()) {
            *found = match lane.lun.issued().finished().await {
                Ok(result) => {
                    // The result may be there before its time.
                    over = over.max(result.finished + linger);
                    Ok(end(result))
                }
                Err(fault) => {
                    over = over.max(fault.at);
                    Err(transaction(fault))
                }
            };
        }
        self.first.core().exec().sleep_until(over).await;
    }

    /// Issues what makes the LUNs busy for about `typical`, and polls all of them until each is ready. `end`
    /// makes a lane's outcome of its last status.
    async fn until_ready(
        &mut self,
        name: &'static str,
        build: impl Fn(&Lane<'_>, &mut Txn),
        typical: Duration,
        end: impl Fn(Status) -> FlashStatus,
    ) {
        let (policy, exec) = (self.first.config().poll, self.first.core().exec());
        let begun = |_| Outcome::default();
        self.step(name, build, typical.saturating_sub(policy.early), begun).await;
        let give_up = exec.now() + typical * u64::from(policy.patience);
        let ask = |lane: &Lane<'_>, txn: &mut Txn| {
            ask_status(txn, lane.target.row, lane.lun.shares_chip_enable());
        };
        let answer = |result: TxnResult| match Status(result.mailbox as u8) {
            status if status.ready() => Outcome { status: end(status), ..Outcome::default() },
            _ => Outcome { status: FlashStatus::Busy, ..Outcome::default() },
        };
        while self.ends.iter().any(Result::is_ok) {
            let asked = exec.now();
            self.step("read status", ask, Duration::ZERO, answer).await;
            self.first.spend(Function::Polling, self.first.config().costs.poll);
            if !self.ends.iter().any(is_busy) {
                return;
            }
            if asked > give_up {
                return self.give_up(name);
            }
            exec.sleep(policy.interval).await;
        }
    }

    /// The lanes that are busy still never become ready.
    fn give_up(&mut self, transaction: &'static str) {
        for (lane, end) in self.lanes.iter().zip(&mut *self.ends).filter(|(_, end)| is_busy(end)) {
            let (row, at) = (lane.target.row, lane.lun.core().exec().now());
            lane.lun.never_ready();
            *end = Err(FlashError::NeverReady { transaction, row, at });
        }
    }
}

fn is_busy(end: &LaneEnd) -> bool {
    matches!(end, Ok(Outcome { status: FlashStatus::Busy, .. }))
}
