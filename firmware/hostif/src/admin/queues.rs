//! Creating and deleting I/O queues (NVMe 1.4 §5.3 to §5.6).

use super::{Answer, Reply, refuse};
use crate::config::PAGE_BYTES;
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::slots::CommandStage;
use aster_wire::nvme::admin::{CreateIoCq, CreateIoSq, QueueDword10};
use aster_wire::nvme::{Sqe, Status};

impl Controller {
    /// Checks what both kinds of queue have in common.
    fn check_creation(
        &self,
        sqe: &Sqe,
        queue: QueueDword10,
        allocated: u16,
        exists: impl Fn(usize) -> bool,
        contiguous: bool,
        entry_size: bool,
    ) -> Result<(), Status> {
        let id = queue.queue_id();
        if id == 0 || id > allocated || exists(usize::from(id)) {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        }
        let entries = queue.entries();
        if entries < 2 || entries > self.config.queue_entries || !entry_size {
            return refuse(Status::INVALID_QUEUE_SIZE);
        }
        if !contiguous {
            // CAP.CQR: queues are physically contiguous.
            return refuse(Status::INVALID_FIELD);
        }
        if !sqe.prp1.get().is_multiple_of(PAGE_BYTES) {
            return refuse(Status::PRP_OFFSET_INVALID);
        }
        Ok(())
    }

    pub(super) fn create_completion_queue(&mut self, sqe: &Sqe, command: CreateIoCq) -> Answer {
        let (queue, control) = (command.queue, command.control);
        let allocated = self.features.queues.completion() as u16;
        let exists = |id: usize| self.completion[id].exists;
        let entry_size = self.entry_sizes().1;
        self.check_creation(sqe, queue, allocated, exists, control.contiguous(), entry_size)?;
        let vector = control.interrupts_enabled().then_some(control.interrupt_vector());
        if vector.is_some_and(|vector| vector >= self.config.vectors) {
            return refuse(Status::INVALID_INTERRUPT_VECTOR);
        }
        let created = &mut self.completion[usize::from(queue.queue_id())];
        created.create(sqe.prp1.get(), queue.entries(), vector);
        self.doorbells.changed();
        Ok(Reply::Done(0))
    }

    pub(super) fn create_submission_queue(&mut self, sqe: &Sqe, command: CreateIoSq) -> Answer {
        let (queue, control) = (command.queue, command.control);
        let allocated = self.features.queues.submission() as u16;
        let exists = |id: usize| self.submission[id].exists || self.submission[id].deletion.is_some();
        let entry_size = self.entry_sizes().0;
        self.check_creation(sqe, queue, allocated, exists, control.contiguous(), entry_size)?;
        let completion = control.completion_queue_id();
        if completion == 0 || u32::from(completion) > self.features.queues.completion() {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if !self.completion[usize::from(completion)].exists {
            return refuse(Status::COMPLETION_QUEUE_INVALID);
        }
        let id = queue.queue_id();
        self.submission[usize::from(id)].create(sqe.prp1.get(), queue.entries(), completion);
        self.completion[usize::from(completion)].attached += 1;
        self.arbiter.add(id, control.priority());
        self.doorbells.changed();
        Ok(Reply::Done(0))
    }

    pub(super) fn delete_completion_queue(&mut self, ports: &ControllerPorts, id: u16) -> Answer {
        let index = usize::from(id);
        let Some(queue) = self.completion.get_mut(index).filter(|q| id != 0 && q.exists) else {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        };
        if queue.attached > 0 {
            return refuse(Status::INVALID_QUEUE_DELETION);
        }
        queue.exists = false;
        self.doorbells.changed();
        while let Some(stalled) = self.take_stalled(id) {
            // Their submission queues are deleted. Otherwise they would still be attached.
            self.drop_command(ports, stalled);
        }
        Ok(Reply::Done(0))
    }

    /// Deletes a submission queue. Its commands end without entries. The deletion completes when the queue
    /// has no DMA in flight.
    pub(super) fn delete_submission_queue(&mut self, ports: &ControllerPorts, slot: u16, id: u16) -> Answer {
        let index = usize::from(id);
        let Some(queue) = self.submission.get_mut(index).filter(|q| id != 0 && q.exists) else {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        };
        queue.exists = false;
        queue.deletion = Some(slot);
        let in_flight = queue.in_flight;
        self.doorbells.changed();
        self.arbiter.remove(id);
        for command in self.slots.ids() {
            if self.slots[command].queue == id {
                self.disown(ports, command);
            }
        }
        self.pause.forget_queue(id);
        self.slots[slot].stage = CommandStage::Deleting;
        self.slots.part(slot);
        if in_flight == 0 {
            self.end_deletion(id);
            return Ok(Reply::Done(0));
        }
        Ok(Reply::Later)
    }

    fn end_deletion(&mut self, id: u16) {
        let queue = &mut self.submission[usize::from(id)];
        queue.deletion = None;
        let completion = queue.completion;
        self.completion[usize::from(completion)].attached -= 1;
    }

    /// Completes a deletion that waited for the queue's DMA to end.
    pub(crate) fn check_deletion(&mut self, ports: &mut ControllerPorts, id: u16) {
        let queue = &self.submission[usize::from(id)];
        if queue.in_flight == 0
            && let Some(slot) = queue.deletion
        {
            self.end_deletion(id);
            self.finish(ports, slot, Status::SUCCESS, 0);
        }
    }
}
