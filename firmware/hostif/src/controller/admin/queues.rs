//! Creating and deleting I/O queues (NVMe 1.4 §5.3 to §5.6).

use super::{Answer, Reply, refuse};
use crate::config::PAGE_BYTES;
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::queues::RingAt;
use crate::slots::CommandStage;
use aster_parties::HostTrouble;
use aster_wire::nvme::admin::{CreateIoCq, CreateIoSq, QueueDword10};
use aster_wire::nvme::{Sqe, Status};

impl Controller {
    /// Notes that the host wants more queues than there are. Some hosts then only say that they have none
    /// left.
    pub(super) fn check_queues_wanted(&mut self, asked: u32) {
        let offered = self.config.queue_pairs;
        if asked > offered.into() {
            self.reports.note_trouble(HostTrouble::Queues { asked, offered });
        }
    }
    /// Checks what both kinds of queue have in common.
    fn check_creation(
        &self,
        sqe: &Sqe,
        queue: QueueDword10,
        allocated: u16,
        exists: impl Fn(u16) -> bool,
        contiguous: bool,
        entry_size: bool,
    ) -> Result<(), Status> {
        let id = queue.queue_id();
        if id == 0 || id > allocated || exists(id) {
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
        self.check_queues_wanted(queue.queue_id().into());
        let allocated = self.settings.features().queues().completion() as u16;
        let exists = |id| self.queues.has_completion(id);
        let entry_size = self.lifecycle.entry_sizes().1;
        self.check_creation(sqe, queue, allocated, exists, control.contiguous(), entry_size)?;
        let vector = control.interrupts_enabled().then_some(control.interrupt_vector());
        if vector.is_some_and(|vector| vector >= self.config.vectors) {
            return refuse(Status::INVALID_INTERRUPT_VECTOR);
        }
        let at = RingAt { address: sqe.prp1.get(), entries: queue.entries() };
        self.queues.create_completion(queue.queue_id(), at, vector);
        Ok(Reply::Done(0))
    }

    pub(super) fn create_submission_queue(&mut self, sqe: &Sqe, command: CreateIoSq) -> Answer {
        let (queue, control) = (command.queue, command.control);
        self.check_queues_wanted(queue.queue_id().into());
        let allocated = self.settings.features().queues().submission() as u16;
        let exists = |id| self.queues.is_submission_taken(id);
        let entry_size = self.lifecycle.entry_sizes().0;
        self.check_creation(sqe, queue, allocated, exists, control.contiguous(), entry_size)?;
        let completion = control.completion_queue_id();
        if completion == 0 || u32::from(completion) > self.settings.features().queues().completion() {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if !self.queues.has_completion(completion) {
            return refuse(Status::COMPLETION_QUEUE_INVALID);
        }
        let at = RingAt { address: sqe.prp1.get(), entries: queue.entries() };
        self.queues.create_submission(queue.queue_id(), at, completion, control.priority());
        Ok(Reply::Done(0))
    }

    pub(super) fn delete_completion_queue(&mut self, ports: &ControllerPorts, id: u16) -> Answer {
        if id == 0 || !self.queues.has_completion(id) {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if self.queues.completion(id).is_attached() {
            return refuse(Status::INVALID_QUEUE_DELETION);
        }
        self.queues.delete_completion(id);
        // Their submission queues are deleted. Otherwise they would still be attached.
        self.drop_stalled(ports, id);
        Ok(Reply::Done(0))
    }

    /// Deletes a submission queue. Its commands end without entries. The deletion completes when the queue
    /// has no DMA in flight.
    pub(super) fn delete_submission_queue(&mut self, ports: &ControllerPorts, slot: u16, id: u16) -> Answer {
        if id == 0 || !self.queues.has_submission(id) {
            return refuse(Status::INVALID_QUEUE_IDENTIFIER);
        }
        self.queues.delete_submission(id, slot);
        for command in self.slots.ids() {
            if self.slots[command].queue() == id {
                self.disown(ports, command);
            }
        }
        self.pause.forget_queue(id);
        Ok(Reply::AwaitsDeletion(id))
    }

    /// Completes a deletion that waited for the queue's DMA to end.
    #[inline]
    pub(crate) fn check_deletion(&mut self, ports: &mut ControllerPorts, id: u16) {
        if let Some(slot) = self.queues.end_deletion(id) {
            let permit = self.slots.resume(slot, CommandStage::Deleting);
            self.finish(ports, permit, Status::SUCCESS, 0);
        }
    }
}
