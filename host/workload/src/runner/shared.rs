//! What all tasks of a run share, and which task's command is in which slot.

use super::contents::{ContentToken, Contents};
use crate::Job;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_driver::{Bar, Driver, QueueId, SlotId};

/// What happens to a task after a failed request or wrong content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnFailure {
    /// The task issues nothing more and ends when its requests in flight have completed. Other tasks go
    /// on.
    #[default]
    EndTask,
    /// The task goes on and counts the failure.
    Continue,
}

/// The value of a whole task in [`super::Runner::progress`].
pub const WHOLE_TASK: u64 = 1_000_000;

/// The task whose command is in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) task: u32,
    pub(super) flight: u32,
    pub(super) slba: u64,
    pub(super) blocks: u32,
    pub(super) token: ContentToken,
}

impl Owner {
    pub(super) const NONE: Owner =
        Owner { task: u32::MAX, flight: 0, slba: 0, blocks: 0, token: ContentToken::None };
}

/// What all tasks share.
pub(super) struct Shared<B: Bar, L> {
    pub(super) driver: Rc<Driver<B>>,
    pub(super) contents: Contents,
    pub(super) sink: L,
    pub(super) on_failure: OnFailure,
    /// Indexed by queue (from 0) and slot.
    pub(super) owners: Vec<Vec<Owner>>,
}

impl<B: Bar, L> Shared<B, L> {
    pub(super) fn own(&mut self, queue: QueueId, slot: SlotId, owner: Owner) {
        self.owners[usize::from(queue.0) - 1][slot.index()] = owner;
    }
}

/// The wave of each job. A job that waits for all earlier ones begins a new wave.
pub(super) fn waves(jobs: &[Job]) -> impl Iterator<Item = (u32, &Job)> {
    jobs.iter().enumerate().scan(0, |wave, (i, job)| {
        *wave += u32::from(job.after_previous && i > 0);
        Some((*wave, job))
    })
}
