//! The issuer: passes operations to the host DMA engine and the channel controllers, in the priority manager's order.

use super::DMA_UNIT_BYTES;
use super::big_loop::{BigLoop, DmaInFlight, Payload};
use super::operation::{Operation, OperationKind};
use super::priority::Candidate;
use super::state::{Stage, WayState};
use super::stats::Part;
use super::status::flash_kind;
use aster_events::{Event, Function};
use aster_ports::flash::Phase;
use aster_ports::host::DmaRequest;

impl BigLoop {
    /// Host DMA first, whenever there is room (C42), then each channel's heads.
    pub(super) async fn issue(&mut self) -> bool {
        let mut any = self.issue_host_dma().await;
        for channel in 0..self.channels.len() {
            self.find_candidates(channel);
            if self.candidates.is_empty() {
                continue;
            }
            any = true;
            self.spend(Function::PriorityManager, self.config.costs.compare * self.candidates.len() as u64);
            self.count(|s| s.candidates += self.candidates.len() as u64);
            self.priorities.order(channel, &mut self.candidates);
            self.spent(Part::Order);
            for at in 0..self.candidates.len() {
                let candidate = self.candidates[at];
                self.issue_flash(channel, candidate).await;
            }
            self.spent(Part::Issue);
        }
        any
    }

    async fn issue_host_dma(&mut self) -> bool {
        let mut any = false;
        while let Some(&head) = self.station.host_head() {
            let Payload::Dma(_, request) = self.payload(head.set) else {
                unreachable!("the host DMA queue holds host DMA")
            };
            let units = Self::units_of(&request);
            if usize::from(self.ports.host.dma_room()) < units as usize {
                break;
            }
            any = true;
            self.station.take_host();
            self.spend(Function::Issuer, self.config.costs.issue * u64::from(units));
            // Each unit after a look at how far the engine's queue is (P13).
            self.read(Function::Issuer, &self.ports.buses.host, u64::from(units));
            let words = head.kind.register_words(1) * u64::from(units);
            self.write(Function::Issuer, &self.ports.buses.host, words);
            self.core.settle().await;
            self.send_units(head, &request);
        }
        self.spent(Part::Issue);
        any
    }
    /// A transfer is as many DMA operations as it has units of 4 KiB (C10).
    fn send_units(&mut self, head: Operation, request: &DmaRequest) {
        let mut units = self.dma_spare.pop().unwrap_or_default();
        let mut done = 0;
        while done < request.length {
            let offset = request.offset + done;
            let bytes = (DMA_UNIT_BYTES - offset % DMA_UNIT_BYTES).min(request.length - done);
            let unit =
                DmaRequest { offset, buffer_offset: request.buffer_offset + done, length: bytes, ..*request };
            let tag = self.ports.host.submit_dma(unit).expect("there was room for all units");
            units.push(tag);
            done += bytes;
        }
        let issued = self.core.now();
        self.note_issued(&head);
        self.dma.push_back(DmaInFlight { operation: head, issued, units, failed: None });
    }
    fn note_issued(&self, operation: &Operation) {
        self.recorder.emit(self.core.now(), || Event::OperationIssued {
            kind: operation.kind.code(),
            lun: operation.lun.0,
            buffer: operation.buffer.0,
        });
    }

    /// The heads of idle ways, and the ways whose status is to be checked.
    fn find_candidates(&mut self, channel: usize) {
        self.candidates.clear();
        for (way, &lun) in self.channels[channel].iter().enumerate() {
            let kind = match self.states.of(lun) {
                WayState::Idle => self.station.head(lun).map(|head| head.kind),
                WayState::Busy(Stage::CheckDue) => Some(OperationKind::StatusCheck),
                _ => None,
            };
            if let Some(kind) = kind {
                self.candidates.push(Candidate { way: way as u8, lun, kind });
            }
        }
    }

    async fn issue_flash(&mut self, channel: usize, Candidate { lun, kind, .. }: Candidate) {
        let head = *self.station.head(lun).expect("a candidate is a way's head, or asks about one");
        let request = self.request(head.set);
        let words = kind.register_words(request.targets().len() as u64);
        // What is done again is so because a read could not be corrected.
        let function = if head.again { Function::ReadRetry } else { Function::Issuer };
        self.spend(function, self.config.costs.issue);
        // What asking the controller whether it takes a word costs (P14); it always does, with fewer ways than entries.
        self.read(function, &self.ports.buses.channels, 1);
        self.write(function, &self.ports.buses.channels, words);
        self.core.settle().await;
        let phase = match kind {
            OperationKind::StatusCheck => Phase::Status,
            OperationKind::ReadTrigger => Phase::Trigger,
            OperationKind::Erase => Phase::Erase,
            OperationKind::Write => Phase::Program,
            OperationKind::ReadTransfer => Phase::Transfer,
            OperationKind::SetLevel => Phase::SetFeatures,
            OperationKind::RxDma | OperationKind::TxDma => unreachable!("host DMA in a way's queue"),
        };
        let mut word = request;
        word.phase = phase;
        if kind == OperationKind::SetLevel {
            word.feature = self.level_feature(lun);
        }
        let tag =
            self.ports.controllers.submit(word).expect("a way has one operation in the controller's hands");
        self.note_issued(&Operation { kind, ..head });
        if kind == OperationKind::StatusCheck {
            return self.states.advance(lun, Stage::Checking(tag));
        }
        self.working[channel] += 1;
        self.states.begin(lun, tag, self.core.now());
        if !head.again && (head.kind != OperationKind::ReadTransfer || request.phase == Phase::Transfer) {
            for target in request.targets() {
                self.recorder.emit(self.core.now(), || Event::FlashIssued {
                    lun: lun.0,
                    kind: flash_kind(kind),
                    row: target.row.0,
                });
            }
        }
    }
}
