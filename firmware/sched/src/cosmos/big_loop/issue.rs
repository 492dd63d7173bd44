//! The issuer: passes operations to the host DMA engine and the channel controllers, in the priority
//! manager's order.

use super::BigLoop;
use super::status::flash_kind;
use crate::cosmos::DMA_UNIT_BYTES;
use crate::cosmos::priority::Candidate;
use crate::cosmos::state::{WayStage, WayState};
use crate::loop_operation::{Operation, OperationKind};
use crate::loop_stats::LoopPart;
use aster_events::{Event, Function};
use aster_ports::flash::FlashOp;
use aster_ports::host::DmaRequest;

/// The most units of host DMA that a transfer takes.
fn units_of(request: &DmaRequest) -> u32 {
    let first = request.offset / DMA_UNIT_BYTES;
    let last = (request.offset + request.length - 1) / DMA_UNIT_BYTES;
    last - first + 1
}

impl BigLoop {
    /// Host DMA first, whenever there is room (C42), then each channel's heads.
    pub(super) async fn issue(&mut self) -> bool {
        let mut any = self.issue_host_dma().await;
        for channel in 0..self.channels.count() {
            let found = self.find_candidates(channel);
            if found > 0 || self.has_array_at_work(channel) {
                self.look_for_room();
            }
            if found == 0 {
                continue;
            }
            any = true;
            self.time.spend(Function::PriorityManager, self.config.costs.compare * found as u64);
            self.time.count(|s| s.candidates += found as u64);
            self.channels.order(channel);
            self.time.account(LoopPart::Order);
            for at in 0..found {
                let candidate = self.channels.candidate(at);
                self.issue_flash(channel, candidate).await;
                self.look_for_room();
            }
        }
        any
    }
    /// Charges the cost of asking a channel's controller whether it takes another control word (P14), before
    /// the first word of a pass and after each. The answer is always yes, since the controller has more
    /// entries than ways. The cost counts as the status checker's, which does all reads of the controllers'
    /// registers (3.3.3).
    #[inline]
    fn look_for_room(&mut self) {
        self.time.access_channels(Function::StatusChecker, 1);
        self.time.account(LoopPart::Status);
    }

    async fn issue_host_dma(&mut self) -> bool {
        let mut any = false;
        while let Some(&head) = self.station.host_head() {
            let (_, request) = self.sets.transfer(head.set);
            let units = units_of(&request);
            if usize::from(self.ports.host.dma_room()) < units as usize {
                break;
            }
            any = true;
            self.station.take_host();
            self.send_units(head, &request).await;
        }
        any
    }
    /// A transfer takes one DMA operation per unit of 4 KiB (C10). Each is sent as soon as its registers have
    /// been written, after a read of the engine's queue position (P13). The operation counts as issued with
    /// the first of them.
    async fn send_units(&mut self, head: Operation, request: &DmaRequest) {
        let mut units = self.transfers.list();
        let (mut done, mut issued) = (0, None);
        while done < request.length {
            self.time.access_host(Function::StatusChecker, 1);
            self.time.account(LoopPart::Status);
            self.time.spend(Function::Issuer, self.config.costs.issue);
            self.time.access_host(Function::Issuer, head.kind.register_words(1));
            self.time.settle().await;
            self.time.account(LoopPart::Issue);
            let offset = request.offset + done;
            let bytes = (DMA_UNIT_BYTES - offset % DMA_UNIT_BYTES).min(request.length - done);
            let buffer_offset = request.buffer_offset + done;
            let unit = DmaRequest { offset, buffer_offset, length: bytes, after: None, ..*request };
            let tag = self.ports.host.submit_dma(unit).expect("there was room for all units");
            units.push(tag);
            done += bytes;
            if issued.is_none() {
                issued = Some(self.time.now());
                self.note_issued(&head);
            }
        }
        let issued = issued.unwrap_or_else(|| self.time.now());
        self.transfers.issued(head, issued, units);
    }
    fn note_issued(&self, operation: &Operation) {
        self.time.emit(|| Event::OperationIssued {
            kind: operation.kind.code(),
            lun: operation.lun.0,
            buffer: operation.buffer.0,
        });
    }

    /// Finds the heads of idle ways, and the ways that need a status-check. Returns how many there are.
    fn find_candidates(&mut self, channel: usize) -> usize {
        self.channels.find(channel, |lun| match self.states.of(lun) {
            WayState::Idle => self.station.head(lun).map(|head| head.kind),
            WayState::Busy(WayStage::CheckDue) => Some(OperationKind::StatusCheck),
            _ => None,
        })
    }

    /// Whether the array of one of a channel's ways is busy, so that a status-check may become due.
    fn has_array_at_work(&self, channel: usize) -> bool {
        let at_work = |lun| matches!(self.states.of(lun), WayState::Busy(WayStage::Array(_)));
        self.config.polled && self.channels.luns(channel).any(at_work)
    }

    async fn issue_flash(&mut self, channel: usize, Candidate { lun, kind, .. }: Candidate) {
        let head = *self.station.head(lun).expect("a candidate is a way's head, or asks about one");
        let words = kind.register_words(self.sets.request(head.set).targets().len() as u64);
        // The status checker sends status-checks (3.3.3). Operations are repeated because a read could not be
        // corrected.
        let (function, part) = match kind {
            OperationKind::StatusCheck => (Function::StatusChecker, LoopPart::Status),
            _ if head.again => (Function::ReadRetry, LoopPart::Issue),
            _ => (Function::Issuer, LoopPart::Issue),
        };
        self.time.spend(function, self.config.costs.issue);
        if matches!(kind, OperationKind::ReadTransfer | OperationKind::StatusCheck) {
            // Clears the flag that will signal its end.
            self.time.access_memory(function, 1);
        }
        self.time.access_channels(function, words);
        self.time.settle().await;
        self.time.account(part);
        let phase = match kind {
            OperationKind::StatusCheck => FlashOp::Status,
            OperationKind::ReadTrigger => FlashOp::Trigger,
            OperationKind::Erase => FlashOp::Erase,
            OperationKind::Write => FlashOp::Program,
            OperationKind::ReadTransfer => FlashOp::Transfer,
            OperationKind::SetLevel => FlashOp::SetFeatures,
            OperationKind::RxDma | OperationKind::TxDma => unreachable!("host DMA in a way's queue"),
        };
        let request = self.sets.request(head.set);
        let mut word = *request;
        word.phase = phase;
        if kind == OperationKind::SetLevel {
            word.feature = self.level_feature(lun);
        }
        let tag =
            self.ports.controllers.submit(word).expect("a way has one operation in the controller's hands");
        self.note_issued(&Operation { kind, ..head });
        if kind == OperationKind::StatusCheck {
            return self.states.advance(lun, WayStage::Checking(tag));
        }
        self.channels.begin(channel);
        self.states.begin(lun, tag, self.time.now());
        if !head.again && (head.kind != OperationKind::ReadTransfer || request.phase == FlashOp::Transfer) {
            for target in request.targets() {
                self.time.emit(|| Event::FlashIssued {
                    lun: lun.0,
                    kind: flash_kind(kind),
                    row: target.row.0,
                });
            }
        }
    }
}
