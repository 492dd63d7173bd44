//! Completion entries (NVMe 1.4 §4.6).

use crate::completion::Place;
use crate::controller::{Controller, one_segment};
use crate::ports::{ControllerPorts, DmaPurpose, Timer};
use crate::slots::{CommandStage, NO_SLOT};
use aster_events::Event;
use aster_ports::host::DmaDirection;
use aster_ports::link::{BadAddress, Local};
use aster_wire::nvme::Status;
use aster_wire::nvme::cqe::{CQE_BYTES, Cqe};
use zerocopy::IntoBytes;

impl Controller {
    /// Ends a command. Its entry follows after the completion latency, as soon as the queue has room.
    pub(crate) fn finish(&mut self, ports: &mut ControllerPorts, id: u16, status: Status, result: u64) {
        let slot = &mut self.slots[id];
        slot.status = status;
        slot.result = result;
        if !status.is_success() {
            self.log_command_error(id);
        }
        if self.config.completion_latency.is_zero() {
            return self.post(ports, id);
        }
        self.slots[id].stage = CommandStage::Finished;
        Self::delay(ports, &mut self.finished, id, self.config.completion_latency, Timer::Finished);
    }

    /// Posts a command's entry, or stalls it while its queue is full.
    pub(crate) fn post(&mut self, ports: &mut ControllerPorts, id: u16) {
        let slot = &mut self.slots[id];
        if slot.orphan {
            return self.drop_command(ports, id);
        }
        let number = self.queues.completion_of(slot.queue);
        let queue = self.queues.completion(number);
        if queue.may_post() {
            return self.write_entry(ports, id, number);
        }
        slot.stage = CommandStage::Stalled;
        slot.next = NO_SLOT;
        match queue.stalled() {
            (NO_SLOT, _) => self.queues.set_stalled(number, (id, id)),
            (first, last) => {
                self.queues.set_stalled(number, (first, id));
                self.slots[last].next = id;
            }
        }
    }

    /// Posts stalled commands after the host has made room in a completion queue.
    pub(crate) fn post_stalled(&mut self, ports: &mut ControllerPorts, number: u16) {
        while !self.queues.completion(number).is_full() {
            let Some(id) = self.take_stalled(number) else { return };
            if self.slots[id].orphan {
                self.drop_command(ports, id);
            } else {
                self.write_entry(ports, id, number);
            }
        }
    }

    /// Ends a fetched command without a completion entry.
    pub(crate) fn drop_command(&mut self, ports: &ControllerPorts, id: u16) {
        self.slots.leave(id);
        ports.emit(|| Event::CommandDropped { command: id });
    }

    /// Takes the command that has been stalled longest in a completion queue.
    pub(crate) fn take_stalled(&mut self, number: u16) -> Option<u16> {
        let (first, last) = self.queues.completion(number).stalled();
        if first == NO_SLOT {
            return None;
        }
        let rest = if first == last { (NO_SLOT, NO_SLOT) } else { (self.slots[first].next, last) };
        self.queues.set_stalled(number, rest);
        Some(first)
    }

    fn write_entry(&mut self, ports: &mut ControllerPorts, id: u16, number: u16) {
        let slot = &mut self.slots[id];
        slot.stage = CommandStage::Posting;
        let head = self.queues.submission(slot.queue).head() as u16;
        let Place { address, phase, vector } = self.queues.post(number);
        let entry = Cqe::new(slot.result, head, slot.queue, slot.sqe.cid(), slot.status, phase);
        let at = self.layout.completion(id);
        ports.sram[at..at + CQE_BYTES].copy_from_slice(entry.as_bytes());
        let from = slot.queue;
        let local = Local::Sram { offset: at as u32 };
        let host = one_segment(address, CQE_BYTES as u32);
        self.push_dma(ports, DmaDirection::ToHost, local, host, DmaPurpose::Completion(id), from);
        if let Some(vector) = vector {
            self.interrupts.raise(ports, vector, number == 0, self.features.coalescing);
        }
    }

    pub(crate) fn completion_answered(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        live: bool,
        result: Result<(), BadAddress>,
    ) {
        let bits = self.slots[id].status.bits();
        let status = u16::from(bits.code_type()) << 8 | u16::from(bits.code());
        if result.is_err() {
            // The host will never learn of the command (NVMe 1.4 §9.5).
            self.drop_command(ports, id);
            if live {
                self.fail();
            }
            return;
        }
        self.slots.leave(id);
        self.completed += 1;
        ports.emit(|| Event::CommandCompleted { command: id, status });
    }
}
