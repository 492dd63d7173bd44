//! Parking writes during a pause: from a slot to the parked writes and back.

use crate::async_events::EventSource;
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::slots::Permit;
use aster_events::Event;
use aster_wire::nvme::Status;

impl Controller {
    /// Parks a command and frees its slot if it can't go to the FTL now. Otherwise returns its permit.
    #[inline]
    pub(crate) fn park(&mut self, ports: &mut ControllerPorts, permit: Permit) -> Option<Permit> {
        let id = permit.id();
        if self.pause.parks(id, self.slots[id].command()) {
            self.park_now(ports, permit);
            return None;
        }
        Some(permit)
    }
    #[cold]
    fn park_now(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        // The host announced a shutdown while this write's PRP list was being fetched. No write may follow
        // it.
        if self.lifecycle.has_shutdown() {
            return self.drop_command(ports, permit);
        }
        let id = permit.id();
        let (queue, sqe) = (self.slots[id].queue(), *self.slots[id].sqe());
        self.pause.park(id, queue, sqe);
        self.slots.free(permit);
        ports.emit(|| Event::CommandParked { command: id });
        self.queues.park(queue);
    }

    /// Gives half of the free slots to parked writes that may resume, and the rest to newly fetched
    /// commands.
    #[cold]
    pub(crate) fn resume_parked(&mut self, ports: &mut ControllerPorts) {
        let share = self.pause.share(self.slots.available(1));
        self.resume_some(ports, share);
        self.fetch(ports);
        self.resume_some(ports, u32::MAX);
    }
    fn resume_some(&mut self, ports: &mut ControllerPorts, most: u32) {
        for _ in 0..most.min(self.slots.available(1)) {
            if !self.lifecycle.takes_commands() {
                return;
            }
            let Some(write) = self.pause.next_write() else { return };
            let (queue, host_id, opcode) = (write.queue, write.sqe.cid(), write.sqe.opcode());
            self.slots.reserve(queue, 1);
            let permit = self.slots.begin(queue, write.sqe);
            let id = permit.id();
            ports.emit(|| Event::CommandResumed { command: id, queue, opcode, host_id });
            self.queues.resume(queue);
            match write.end {
                Some(status) => self.finish(ports, permit, status, 0),
                None => {
                    self.pause.resume(id, &write);
                    self.start_io(ports, permit);
                    self.leave_pause(id);
                }
            }
        }
    }

    /// The write in slot `id` no longer counts as parked, unless it still waits for a list that it needs.
    pub(crate) fn leave_pause(&mut self, id: u16) {
        if !self.slots[id].stage().fetches_list() {
            self.pause.leave(id);
        }
    }

    /// Handles a change of the backlog. If the disk under the media has run full, the host gets an event.
    /// If there is room again, deferred completions and parked writes go on.
    pub(crate) fn look_at_room(&mut self, ports: &mut ControllerPorts) {
        self.tell_of_room(ports);
        while let Some(completion) = self.pause.next_completion() {
            self.ftl_completed(ports, completion);
        }
        self.pump(ports);
    }
    pub(crate) fn tell_of_room(&mut self, ports: &mut ControllerPorts) {
        if self.pause.is_news() {
            self.reports.log_error(Status::INTERNAL_ERROR);
            self.raise_event(ports, EventSource::NoRoom);
        }
    }
}
