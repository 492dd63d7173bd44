//! The status checker: it finds which operations have ended, and how (C38, C39, C40).

use super::BigLoop;
use super::sets::Payload;
use super::transfers::DoneTransfer;
use crate::cosmos::state::{Verdict, WayStage, WayState};
use crate::loop_operation::{Operation, OperationKind, SetId};
use crate::loop_stats::LoopPart;
use aster_events::{Event, Function};
use aster_ports::flash::{FlashError, FlashOp, FlashStatus, MAX_TARGETS, Outcome, PageCheck};
use aster_units::{Duration, Instant, LunIndex};

/// Words of a read's error counts that are read: the verdicts on the spare area and on the page (P15).
const ERROR_WORDS: u64 = 2;

/// A request's kind in [`Event::FlashIssued`] and [`Event::FlashFinished`].
pub(super) fn flash_kind(kind: OperationKind) -> u8 {
    match kind {
        OperationKind::Write => 1,
        OperationKind::Erase => 2,
        _ => 0,
    }
}

impl BigLoop {
    /// Checks every operation in flight.
    pub(super) fn check_status(&mut self) -> bool {
        let host = self.check_host_dma();
        let mut flash = false;
        for channel in 0..self.channels.count() {
            if self.channels.working(channel) > 0 {
                flash |= self.check_channel(channel);
            }
        }
        host | flash
    }

    /// A register counts the units that the host DMA engine has done in each direction (P13). Transfers are
    /// checked from the newest on, with a register read for each, until one is done: then all older ones of
    /// that direction are done, too.
    fn check_host_dma(&mut self) -> bool {
        let mut read_on = [true; 2];
        for at in (0..self.transfers.count()).rev() {
            let direction = usize::from(self.transfers.is_to_host(at));
            if read_on[direction] {
                self.time.access_host(Function::StatusChecker, 1);
            }
            self.time.spend(Function::StatusChecker, self.config.costs.status);
            if self.transfers.look(at, &self.ports.host, self.time.now()) {
                read_on[direction] = false;
            }
        }
        self.time.count(|s| s.looks += self.transfers.count() as u64);
        let any = read_on != [true; 2];
        if any {
            for _ in 0..self.transfers.count() {
                if let Some(transfer) = self.transfers.take_done() {
                    self.host_dma_done(transfer);
                }
            }
        }
        any
    }
    fn host_dma_done(&mut self, DoneTransfer { operation, issued, sensed, failed }: DoneTransfer) {
        let (tag, request) = self.sets.transfer(operation.set);
        self.commands.data_moved(request.command, sensed);
        self.finished(&operation, issued, sensed, u8::from(failed.is_some()));
        let last = self.sets.completed(&operation);
        assert!(last, "host DMA is the last of its set");
        self.ports.ftl.dma_done(tag, failed.map_or(Ok(()), Err));
    }
    /// Accounts an operation that has ended, flash operation or host DMA. Its end counts as sensed when the
    /// status checker has checked it and before anything else is done (C66): what follows is the firmware's
    /// time.
    #[inline]
    fn finished(&mut self, operation: &Operation, issued: Instant, sensed: Instant, status: u8) {
        self.time.account(LoopPart::Status);
        self.time.spend(Function::DependencyChecker, self.config.costs.finish);
        self.time.account(LoopPart::Order);
        let took = sensed.since(issued);
        self.time.count(|s| {
            s.operations[usize::from(operation.kind.code())] += 1;
            s.operation_time[usize::from(operation.kind.code())] += took;
        });
        self.time.emit(|| Event::OperationEnded {
            kind: operation.kind.code(),
            lun: operation.lun.0,
            buffer: operation.buffer.0,
            status,
        });
    }

    /// One register has a ready/busy bit for each way (C24). It is read once for the ways that wait for a
    /// completion flag or report, and once for those whose array is busy: the board's firmware keeps these in
    /// two lists (P2).
    fn check_channel(&mut self, channel: usize) -> bool {
        let mut any = false;
        if self.config.polled {
            let mut lists = [0; 2];
            for lun in self.channels.luns(channel) {
                if let WayState::Busy(stage) = self.states.of(lun) {
                    lists[usize::from(self.tells_by_flag(lun, stage))] = 1;
                }
            }
            self.time.access_channels(Function::StatusChecker, lists.into_iter().sum());
        }
        let working = u64::from(self.channels.working(channel));
        self.time.spend(Function::StatusChecker, self.config.costs.status * working);
        self.time.count(|s| s.looks += working);
        for lun in self.channels.luns(channel) {
            if let WayState::Busy(stage) = self.states.of(lun) {
                any |= self.check_way(channel, lun, stage);
            }
        }
        any
    }
    /// Whether a flag in memory signals the end of a way's current stage.
    fn tells_by_flag(&self, lun: LunIndex, stage: WayStage) -> bool {
        match stage {
            // An array operation's control word has no address of a flag (P14).
            WayStage::Sent(_) => {
                !self.config.polled || self.station.head(lun).is_some_and(|head| !head.kind.works_array())
            }
            WayStage::Checking(_) => true,
            WayStage::Array(_) | WayStage::CheckDue => false,
        }
    }
    fn check_way(&mut self, channel: usize, lun: LunIndex, stage: WayStage) -> bool {
        match stage {
            WayStage::Sent(tag) => {
                if self.tells_by_flag(lun, stage) {
                    self.time.access_memory(Function::StatusChecker, 1);
                }
                let Some(outcome) = self.ports.controllers.try_take_first(tag) else { return false };
                let head = *self.station.head(lun).expect("a way that works has a head");
                if head.kind == OperationKind::ReadTransfer {
                    self.time.access_memory(Function::StatusChecker, ERROR_WORDS);
                }
                if outcome.status == FlashStatus::Done && self.config.polled && head.kind.works_array() {
                    let give_up = self.time.exec().now() + self.patience(head.kind);
                    self.states.advance(lun, WayStage::Array(give_up));
                } else {
                    self.ended(channel, lun, outcome);
                }
                true
            }
            WayStage::Array(give_up) => {
                let now = self.time.exec().now();
                if self.ports.controllers.is_ready(lun, now) {
                    self.states.advance(lun, WayStage::CheckDue);
                    return true;
                }
                if now >= give_up {
                    self.given_up(channel, lun);
                    return true;
                }
                false
            }
            WayStage::CheckDue => false,
            WayStage::Checking(tag) => {
                self.time.access_memory(Function::StatusChecker, 1);
                let Some(mut outcome) = self.ports.controllers.try_take_first(tag) else { return false };
                self.time.count(|s| s.operations[usize::from(OperationKind::StatusCheck.code())] += 1);
                let head = self.station.head(lun).expect("a way that works has a head");
                if outcome.status == FlashStatus::Busy {
                    // The ready bit was early. The status is asked for again.
                    match self.time.now() >= self.states.issued(lun) + self.patience(head.kind) {
                        true => self.given_up(channel, lun),
                        false => self.states.advance(lun, WayStage::CheckDue),
                    }
                    return true;
                }
                if head.kind == OperationKind::ReadTrigger && outcome.status == FlashStatus::Failed {
                    // The ECC engine judges a read's data (C40); FAIL may be left over from the way's
                    // previous operation.
                    outcome.status = FlashStatus::Done;
                }
                self.ended(channel, lun, outcome);
                true
            }
        }
    }
    fn patience(&self, kind: OperationKind) -> Duration {
        self.config.give_up[usize::from(flash_kind(kind))]
    }
    fn given_up(&mut self, channel: usize, lun: LunIndex) {
        let head = *self.station.head(lun).expect("a way that works has a head");
        let request = self.sets.request(head.set);
        let error = FlashError::NeverReady {
            transaction: request.phase.name(),
            row: request.targets()[0].row,
            at: self.time.now(),
        };
        self.ports.requests.note_fault(lun, error);
        self.ended(channel, lun, Outcome { status: FlashStatus::Error, ..Outcome::default() });
    }

    /// A way's head has ended.
    #[inline]
    fn ended(&mut self, channel: usize, lun: LunIndex, outcome: Outcome) {
        self.channels.end(channel);
        self.states.end(lun, outcome.status);
        let head = *self.station.head(lun).expect("a way that works has a head");
        self.finished(&head, self.states.issued(lun), self.time.now(), outcome.status.code());
        let request = self.sets.request(head.set);
        let reads = head.kind == OperationKind::ReadTransfer && !request.flags.raw;
        // The sender of a transfer without a trigger repeats the read itself.
        let repeats = reads && request.phase == FlashOp::Read;
        match self.states.conclude(lun, repeats) {
            Verdict::Over if head.kind == OperationKind::SetLevel => self.level_set(head, outcome),
            Verdict::Over => self.over(head, outcome),
            Verdict::Retry(times) => self.retry(head, times),
        }
    }
    fn over(&mut self, head: Operation, outcome: Outcome) {
        let read_ends = head.kind == OperationKind::ReadTransfer || outcome.status != FlashStatus::Done;
        if read_ends && self.states.level(head.lun) != 0 {
            return self.set_level_back(head, outcome);
        }
        self.conclude(head, outcome);
    }
    /// As [`Self::over`], no matter what the way's read level is.
    #[inline]
    pub(super) fn conclude(&mut self, head: Operation, mut outcome: Outcome) {
        let failed = outcome.status != FlashStatus::Done;
        if head.kind == OperationKind::ReadTransfer || failed {
            outcome.repeated = self.states.forget_retries(head.lun);
            let recovered = outcome.repeated > 0 && !failed;
            self.time.count(|s| s.recovered += u64::from(recovered));
        }
        self.station.release(head.lun);
        if failed {
            self.fail(&head);
        } else if head.again {
            // A repeated trigger was completed the first time.
            return;
        } else if !self.completed(&head, &outcome) {
            return;
        }
        self.report(head, outcome);
    }
    /// The head has succeeded. Returns true when it was the last of its flash request. A transfer to the host
    /// that is the last of its set follows without the FTL, if the page is the requested one.
    fn completed(&mut self, head: &Operation, outcome: &Outcome) -> bool {
        let transferred = head.kind == OperationKind::ReadTransfer;
        if transferred && self.sets.follower(head.set).is_some() && outcome.page != PageCheck::Expected {
            self.abandon(head.set);
            return true;
        }
        self.sets.completed(head) || transferred
    }
    /// The head has finally failed: drops the operations that follow it in its set, whether in its queue
    /// or still at the checker.
    fn fail(&mut self, head: &Operation) {
        if head.kind == OperationKind::ReadTrigger && self.sets.request(head.set).phase == FlashOp::Read {
            let transfer = self.station.release(head.lun);
            assert_eq!(transfer.set, head.set, "a read-transfer follows its trigger");
        }
        self.abandon(head.set);
    }
    /// Drops the rest of a set, with the transfer that follows its flash request.
    fn abandon(&mut self, set: SetId) {
        let follower = self.sets.abandon(set);
        self.abandon_transfer(follower);
    }
    /// Reports to the FTL how its request has ended, so that it can update its bad blocks.
    fn report(&mut self, head: Operation, outcome: Outcome) {
        let request = self.sets.request(head.set);
        let status = outcome.status.code();
        if status != 0 {
            self.time.count(|s| s.reports += 1);
        }
        if outcome.status == FlashStatus::Error {
            while let Some(error) = self.ports.controllers.take_fault(head.lun) {
                self.ports.requests.note_fault(head.lun, error);
            }
        }
        for target in request.targets() {
            self.time.emit(|| Event::FlashFinished {
                lun: head.lun.0,
                kind: flash_kind(head.kind),
                row: target.row.0,
                status,
                corrected: outcome.corrected,
            });
        }
        let mut outcomes = [Outcome::default(); MAX_TARGETS];
        outcomes[0] = outcome;
        // The pages of a one-shot program have one result.
        match self.sets.payload(head.set) {
            Payload::Packed(packed) => {
                packed.tags.into_iter().for_each(|tag| self.ports.requests.complete(tag, outcomes));
            }
            Payload::Flash(tag, ..) => self.ports.requests.complete(*tag, outcomes),
            Payload::Dma(..) => unreachable!("host DMA of a flash request"),
        }
    }

    /// Sets the alarm for when the first way must be given up, since nothing else may happen until then.
    pub(super) fn set_alarm(&mut self) {
        let mut first = Instant::MAX;
        for lun in self.channels.all_luns() {
            if let WayState::Busy(WayStage::Array(give_up)) = self.states.of(lun) {
                first = first.min(give_up);
            }
        }
        self.alarm.set(self.time.exec(), first);
    }
}
