//! Doorbells that the host keeps in its own memory, and what a run mode needs to look at doorbells by itself
//! (NVMe 1.4 §5.7, Doorbell Buffer Config).
//!
//! The controller has no way to see a write to host memory: whoever runs it looks there and hands on what has
//! changed as writes of the doorbell registers. So the command is offered only where somebody does.

use crate::config::PAGE_BYTES;
use crate::controller::Controller;
use aster_parties::{DoorbellBuffer, QueueDoorbell};
use aster_wire::nvme::registers::{Doorbell, DoorbellKind};
use aster_wire::nvme::{Sqe, Status};

/// Which doorbells there are, and where.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Doorbells {
    offered: bool,
    buffer: Option<DoorbellBuffer>,
    generation: u32,
}

impl Doorbells {
    pub fn offered(&self) -> bool {
        self.offered
    }
    /// A queue has come or gone.
    pub fn changed(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
    /// Controller level reset: all queues are gone, and the host's buffers with them.
    pub fn reset(&mut self) {
        self.buffer = None;
        self.changed();
    }
}

impl Controller {
    /// Doorbell Buffer Config (NVMe 1.4 §5.7). The two buffers are two pages: in one page the event indices
    /// would be taken for doorbells. Zeroes in both PRPs are such a page, too.
    pub(crate) fn configure_doorbells(&mut self, sqe: &Sqe) -> Result<crate::admin::Reply, Status> {
        let (shadow, event_index) = (sqe.prp1.get(), sqe.prp2.get());
        let whole_pages = shadow.is_multiple_of(PAGE_BYTES) && event_index.is_multiple_of(PAGE_BYTES);
        if !whole_pages || shadow == event_index {
            return Err(Status::INVALID_FIELD.with_dnr(true));
        }
        self.doorbells.buffer = Some(DoorbellBuffer { shadow, event_index });
        self.doorbells.changed();
        Ok(crate::admin::Reply::Done(0))
    }
    /// From now on the host may keep doorbells in its memory: the run mode looks there.
    pub(crate) fn offer_doorbell_buffer(&mut self) {
        self.doorbells.offered = true;
    }
    /// Where the host keeps the doorbells of its I/O queues, if it does.
    pub fn doorbell_buffer(&self) -> Option<DoorbellBuffer> {
        self.doorbells.buffer
    }
    /// Another number whenever queues or buffer have changed.
    #[inline]
    pub fn doorbell_generation(&self) -> u32 {
        self.doorbells.generation
    }
    /// The doorbells of the queues that exist.
    pub fn doorbells(&self) -> impl Iterator<Item = QueueDoorbell> + '_ {
        let submission = self.submission.iter().enumerate().filter(|(_, q)| q.exists);
        let completion = self.completion.iter().enumerate().filter(|(_, q)| q.exists);
        let of = |queue: usize, kind, value, created| QueueDoorbell {
            doorbell: Doorbell { queue: queue as u16, kind },
            value,
            created,
        };
        submission.map(move |(queue, q)| of(queue, DoorbellKind::SubmissionTail, q.tail, q.created)).chain(
            completion.map(move |(queue, q)| of(queue, DoorbellKind::CompletionHead, q.head, q.created)),
        )
    }
}
