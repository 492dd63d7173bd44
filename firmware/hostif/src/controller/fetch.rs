//! Bringing submission queue entries into command slots.

use crate::config::Fetching;
use crate::controller::Controller;
use crate::ports::{ControllerPorts, DmaPurpose, Timer};
use crate::slots::Permit;
use crate::submission::Entries;
use aster_events::Event;
use aster_ports::host::DmaDirection;
use aster_ports::link::{BadAddress, Local, Segment};
use aster_wire::nvme::sqe::SQE_BYTES;
use aster_wire::nvme::{Sqe, Status};
use zerocopy::FromBytes;

impl Controller {
    /// Sends fetches while a queue has entries and a slot is free. Each queue has at most one fetch in
    /// flight; entries that the host adds meanwhile come with the next one.
    #[inline(never)]
    pub(crate) fn fetch(&mut self, ports: &mut ControllerPorts) {
        if !self.lifecycle.takes_commands() || self.config.fetching == Fetching::ByWorkers {
            return;
        }
        if self.queues.may_fetch_admin() {
            let room = self.slots.available(0);
            self.fetch_from(ports, 0, room);
        }
        loop {
            let room = self.slots.available(1);
            if room == 0 {
                return;
            }
            let Some((queue, burst)) = self.queues.next_turn(self.settings.features().arbitration()) else {
                return;
            };
            let commands = self.fetch_from(ports, queue, room.min(burst));
            self.queues.used_turn(queue, commands);
        }
    }

    #[inline]
    fn fetch_from(&mut self, ports: &mut ControllerPorts, queue: u16, limit: u32) -> u32 {
        let most = limit.min(u32::from(self.config.fetch_batch));
        let Some(Entries { address, count }) = self.queues.begin_fetch(queue, most) else { return 0 };
        let local = Local::Sram { offset: self.dma.layout().landing(queue) as u32 };
        self.slots.reserve(queue, count);
        let run = Segment { address, length: count * SQE_BYTES as u32 };
        self.push_run(ports, DmaDirection::FromHost, local, run, DmaPurpose::Fetch(queue), queue);
        count
    }

    pub(crate) fn fetch_answered(
        &mut self,
        ports: &mut ControllerPorts,
        queue: u16,
        live: bool,
        result: Result<(), BadAddress>,
    ) {
        let count = self.queues.end_fetch(queue);
        if !live || !self.queues.submission(queue).exists() {
            return self.slots.release(queue, count);
        }
        if result.is_err() {
            // Commands that can't be read can't be completed either (NVMe 1.4 §9.5).
            self.slots.release(queue, count);
            return self.lifecycle.fail();
        }
        self.queues.take(queue, count);
        let landing = self.dma.layout().landing(queue);
        for index in 0..count as usize {
            let at = landing + index * SQE_BYTES;
            let sqe = Sqe::read_from_bytes(&ports.sram[at..at + SQE_BYTES]).expect("64 bytes");
            let permit = self.slots.begin(queue, sqe);
            self.begin_decoding(ports, permit);
        }
    }
    /// Decodes a command that has been fetched, now or when its fetch latency is over.
    #[inline]
    pub(crate) fn begin_decoding(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        if self.config.fetch_latency.is_zero() {
            return self.decode(ports, permit);
        }
        let at = ports.now() + self.config.fetch_latency;
        if self.slots.delay_decoding(permit, at) {
            ports.wake_at(at, Timer::Fetched);
        }
    }

    /// Decodes a command whose fetch latency is over.
    #[inline]
    pub(crate) fn decode(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        let id = permit.id();
        let slot = &self.slots[id];
        let (queue, opcode, host_id) = (slot.queue(), slot.sqe().opcode(), slot.sqe().cid());
        if slot.is_orphan() {
            // No event has announced this command, so none needs to end it.
            return self.slots.free(permit);
        }
        let aborted = slot.is_aborted();
        ports.emit(|| Event::CommandFetched { command: id, queue, opcode, host_id });
        if aborted {
            return self.finish(ports, permit, Status::ABORT_REQUESTED, 0);
        }
        if queue == 0 { self.start_admin(ports, permit) } else { self.start_io(ports, permit) }
    }
}
