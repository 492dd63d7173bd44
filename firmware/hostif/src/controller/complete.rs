//! Completion entries (NVMe 1.4 §4.6).

use crate::completion::Place;
use crate::controller::Controller;
use crate::ports::{ControllerPorts, DmaPurpose, Timer};
use crate::slots::{CommandStage, Permit};
use aster_events::Event;
use aster_ports::host::DmaDirection;
use aster_ports::link::{BadAddress, Local, Segment};
use aster_wire::nvme::Status;
use aster_wire::nvme::cqe::{CQE_BYTES, Cqe};
use zerocopy::IntoBytes;

impl Controller {
    /// Ends a command. Its entry follows after the completion latency, as soon as the queue has room.
    #[inline]
    pub(crate) fn finish(
        &mut self,
        ports: &mut ControllerPorts,
        permit: Permit,
        status: Status,
        result: u64,
    ) {
        let status = if status.is_success() { status } else { self.log_command_error(&permit, status) };
        self.slots.set_outcome(&permit, status, result);
        if self.config.completion_latency.is_zero() {
            return self.post(ports, permit);
        }
        let at = ports.now() + self.config.completion_latency;
        if self.slots.delay_completion(permit, at) {
            ports.wake_at(at, Timer::Finished);
        }
    }

    /// Posts a command's entry, or stalls it while its queue is full.
    #[inline]
    pub(crate) fn post(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        let slot = &self.slots[permit.id()];
        if slot.is_orphan() {
            return self.drop_command(ports, permit);
        }
        let number = self.queues.completion_of(slot.queue());
        match self.queues.completion(number).may_post() {
            true => self.write_entry(ports, permit, number),
            false => self.slots.stall(permit, self.queues.stalled(number)),
        }
    }

    /// Posts stalled commands after the host has made room in a completion queue.
    #[inline]
    pub(crate) fn post_stalled(&mut self, ports: &mut ControllerPorts, number: u16) {
        if !self.queues.stalled(number).is_empty() {
            self.post_stalled_commands(ports, number);
        }
    }
    #[inline(never)]
    fn post_stalled_commands(&mut self, ports: &mut ControllerPorts, number: u16) {
        while !self.queues.completion(number).is_full() {
            let Some(permit) = self.slots.next_stalled(self.queues.stalled(number)) else { return };
            if self.slots[permit.id()].is_orphan() {
                self.drop_command(ports, permit);
            } else {
                self.write_entry(ports, permit, number);
            }
        }
    }
    /// Drops the commands that are stalled in a completion queue that is going away.
    pub(crate) fn drop_stalled(&mut self, ports: &ControllerPorts, number: u16) {
        while let Some(permit) = self.slots.next_stalled(self.queues.stalled(number)) {
            self.drop_command(ports, permit);
        }
    }

    /// Ends a fetched command without a completion entry.
    pub(crate) fn drop_command(&mut self, ports: &ControllerPorts, permit: Permit) {
        let command = permit.id();
        self.slots.leave(permit);
        ports.emit(|| Event::CommandDropped { command });
    }

    fn write_entry(&mut self, ports: &mut ControllerPorts, permit: Permit, number: u16) {
        let id = permit.id();
        let slot = self.slots.post(permit);
        let (from, outcome) = (slot.queue(), slot.outcome());
        let head = self.queues.submission(from).head() as u16;
        let Place { address, phase, vector } = self.queues.post(number);
        let entry = Cqe::new(outcome.result, head, from, slot.sqe().cid(), outcome.status, phase);
        let at = self.dma.layout().completion(id);
        ports.sram[at..at + CQE_BYTES].copy_from_slice(entry.as_bytes());
        let local = Local::Sram { offset: at as u32 };
        let run = Segment { address, length: CQE_BYTES as u32 };
        self.push_run(ports, DmaDirection::ToHost, local, run, DmaPurpose::Completion(id), from);
        if let Some(vector) = vector {
            self.interrupts.raise(ports, vector, number == 0, self.settings.features().coalescing());
        }
    }

    pub(crate) fn completion_answered(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        live: bool,
        result: Result<(), BadAddress>,
    ) {
        let permit = self.slots.resume(id, CommandStage::Posting);
        let bits = self.slots[id].outcome().status.bits();
        let status = u16::from(bits.code_type()) << 8 | u16::from(bits.code());
        if result.is_err() {
            // The host will never learn of the command (NVMe 1.4 §9.5).
            self.drop_command(ports, permit);
            if live {
                self.lifecycle.fail();
            }
            return;
        }
        self.slots.complete(permit);
        ports.emit(|| Event::CommandCompleted { command: id, status });
    }
}
