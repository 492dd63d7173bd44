//! Doorbell Buffer Config (NVMe 1.4 §5.7), and what a run mode needs to poll doorbells by itself.

use super::{Answer, Reply, refuse};
use crate::bar::DOORBELL_STRIDE;
use crate::config::PAGE_BYTES;
use crate::controller::Controller;
use aster_parties::{DoorbellBuffer, QueueDoorbell};
use aster_wire::nvme::registers::{DOORBELLS, Doorbell, DoorbellKind};
use aster_wire::nvme::{Sqe, Status};

impl Controller {
    /// Doorbell Buffer Config (NVMe 1.4 §5.7). The two buffers, of as many whole pages as the doorbells take,
    /// must not overlap: otherwise event indices would be taken for doorbells. Two PRPs of zero are refused
    /// for the same reason.
    pub(super) fn configure_doorbells(&mut self, sqe: &Sqe) -> Answer {
        let (shadow, event_index) = (sqe.prp1.get(), sqe.prp2.get());
        let whole_pages = shadow.is_multiple_of(PAGE_BYTES) && event_index.is_multiple_of(PAGE_BYTES);
        let last = Doorbell { queue: self.config.queue_pairs, kind: DoorbellKind::CompletionHead };
        let bytes = (last.offset(DOORBELL_STRIDE) - DOORBELLS + 4).next_multiple_of(PAGE_BYTES);
        if !whole_pages || shadow.abs_diff(event_index) < bytes {
            return refuse(Status::INVALID_FIELD);
        }
        self.queues.use_doorbell_buffer(DoorbellBuffer { shadow, event_index });
        Ok(Reply::Done(0))
    }
    /// Lets the host keep doorbells in its memory from now on. The run mode polls them.
    pub(crate) fn offer_doorbell_buffer(&mut self) {
        self.queues.offer_doorbell_buffer();
    }
    /// Where the host keeps the doorbells of its I/O queues, if it has configured a buffer.
    pub fn doorbell_buffer(&self) -> Option<DoorbellBuffer> {
        self.queues.doorbell_buffer()
    }
    /// A number that changes whenever queues or buffer change.
    #[inline]
    pub fn doorbell_generation(&self) -> u32 {
        self.queues.generation()
    }
    /// The doorbells of the queues that exist.
    pub fn doorbells(&self) -> impl Iterator<Item = QueueDoorbell> + '_ {
        self.queues.doorbells()
    }
}
