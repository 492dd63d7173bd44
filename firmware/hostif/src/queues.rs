//! All queues of the controller, and what follows when one of them changes: who is told that there is
//! something to fetch, and which completion queue a submission queue is attached to.

use crate::arbitration::Arbiter;
use crate::completion::{CompletionQueue, Place};
use crate::config::{Fetching, HostIfConfig};
use crate::doorbells::Doorbells;
use crate::ring::InvalidDoorbell;
use crate::slots::StalledList;
use crate::submission::{Entries, SubmissionQueue};
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_parties::{DoorbellBuffer, QueueDoorbell};
use aster_wire::nvme::features::ArbitrationFeature;
use aster_wire::nvme::registers::{Doorbell, DoorbellKind};

/// Where the host keeps a queue, and how many entries it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingAt {
    pub address: u64,
    pub entries: u32,
}

/// The admin queue, as the host has set it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AdminQueue {
    pub submission: RingAt,
    pub completion: RingAt,
    /// CC.AMS: weighted round robin among the I/O queues.
    pub weighted: bool,
}

/// What workers have yet to hear of, where they fetch.
#[derive(Debug)]
struct News {
    /// Queues that have got entries.
    woken: Vec<u16>,
    /// A reset has taken the host's memory away.
    host_left: bool,
}

/// The queues, by queue identifier. 0 is the admin queue.
#[derive(Debug)]
pub(crate) struct Queues {
    submission: Box<[SubmissionQueue]>,
    completion: Box<[CompletionQueue]>,
    /// Submission queues whose deletion hasn't ended: mostly none.
    deleting: u32,
    arbiter: Arbiter,
    doorbells: Doorbells,
    /// `None` where the arbiter fetches.
    news: Option<News>,
}

impl Queues {
    pub fn new(config: &HostIfConfig) -> Self {
        let count = usize::from(config.queue_pairs) + 1;
        let news = News { woken: Vec::with_capacity(count), host_left: false };
        Queues {
            submission: (0..count).map(|_| SubmissionQueue::default()).collect(),
            completion: (0..count).map(|_| CompletionQueue::default()).collect(),
            deleting: 0,
            arbiter: Arbiter::new(config.queue_pairs),
            doorbells: Doorbells::default(),
            news: (config.fetching == Fetching::ByWorkers).then_some(news),
        }
    }
    /// The numbers of the queues.
    pub fn numbers(&self) -> core::ops::Range<u16> {
        0..self.completion.len() as u16
    }
    #[inline]
    pub fn submission(&self, queue: u16) -> &SubmissionQueue {
        &self.submission[usize::from(queue)]
    }
    #[inline]
    pub fn completion(&self, number: u16) -> &CompletionQueue {
        &self.completion[usize::from(number)]
    }
    /// The completion queue of a submission queue.
    #[inline]
    pub fn completion_of(&self, queue: u16) -> u16 {
        self.submission(queue).completion()
    }

    // Creation and deletion.

    /// Creates the admin queue. The I/O queues' classes begin anew.
    pub fn enable(&mut self, admin: AdminQueue) {
        self.arbiter.reset(admin.weighted);
        // The admin queue interrupts through vector 0 (NVMe 1.4 §3.1.10).
        self.completion[0].create(admin.completion.address, admin.completion.entries, Some(0));
        self.submission[0].create(admin.submission.address, admin.submission.entries, 0);
        self.completion[0].attach();
        self.doorbells.changed();
    }
    /// Whether there is a submission queue `queue`, or one whose deletion hasn't ended.
    pub fn is_submission_taken(&self, queue: u16) -> bool {
        self.submission(queue).is_taken()
    }
    pub fn has_completion(&self, number: u16) -> bool {
        self.completion.get(usize::from(number)).is_some_and(CompletionQueue::exists)
    }
    pub fn has_submission(&self, queue: u16) -> bool {
        self.submission.get(usize::from(queue)).is_some_and(SubmissionQueue::exists)
    }
    /// Whether there is a queue beside the admin queue.
    pub fn has_io_queues(&self) -> bool {
        self.completion[1..].iter().any(CompletionQueue::exists)
            || self.submission[1..].iter().any(SubmissionQueue::exists)
    }
    pub fn create_completion(&mut self, number: u16, at: RingAt, vector: Option<u16>) {
        assert!(number != 0, "the admin queue is created by CC.EN");
        self.completion[usize::from(number)].create(at.address, at.entries, vector);
        self.doorbells.changed();
    }
    pub fn create_submission(&mut self, queue: u16, at: RingAt, completion: u16, priority: u8) {
        assert!(queue != 0, "the admin queue is created by CC.EN");
        self.submission[usize::from(queue)].create(at.address, at.entries, completion);
        self.completion[usize::from(completion)].attach();
        self.arbiter.add(queue, priority);
        self.doorbells.changed();
    }
    /// Deletes a completion queue. Its stalled commands still have to be taken.
    pub fn delete_completion(&mut self, number: u16) {
        assert!(number != 0, "the admin queue is never deleted");
        self.completion[usize::from(number)].delete();
        self.doorbells.changed();
    }
    /// Deletes a submission queue for the command in `slot`, which ends with [`Queues::end_deletion`].
    pub fn delete_submission(&mut self, queue: u16, slot: u16) {
        assert!(queue != 0, "the admin queue is never deleted");
        self.submission[usize::from(queue)].delete(slot);
        self.deleting += 1;
        self.doorbells.changed();
        self.arbiter.remove(queue);
    }
    /// Takes the slot of the command that has deleted `queue`, if nothing of the queue is in flight any more.
    #[inline]
    pub fn end_deletion(&mut self, queue: u16) -> Option<u16> {
        if self.deleting == 0 {
            return None;
        }
        let source = &mut self.submission[usize::from(queue)];
        let slot = source.end_deletion()?;
        self.deleting -= 1;
        let completion = source.completion();
        self.completion[usize::from(completion)].detach();
        Some(slot)
    }
    /// Controller level reset: all queues and the host's doorbell buffer are gone. No command is stalled.
    pub fn reset(&mut self) {
        self.deleting = 0;
        self.completion.iter_mut().for_each(CompletionQueue::reset);
        self.submission.iter_mut().for_each(SubmissionQueue::reset);
        self.arbiter.reset(false);
        self.doorbells.reset();
        if let Some(news) = &mut self.news {
            news.host_left = true;
        }
    }

    // Doorbells.

    /// The host has written a doorbell. `None` if there is no such queue.
    #[inline]
    pub fn ring(&mut self, doorbell: Doorbell, position: u32) -> Option<Result<(), InvalidDoorbell>> {
        let index = usize::from(doorbell.queue);
        if doorbell.kind == DoorbellKind::CompletionHead {
            return self.completion.get_mut(index).filter(|q| q.exists()).map(|q| q.ring(position));
        }
        let rung = self.submission.get_mut(index).filter(|q| q.exists()).map(|q| q.ring(position));
        if rung == Some(Ok(())) {
            self.mark_ready(doorbell.queue);
        }
        rung
    }
    pub fn offers_doorbell_buffer(&self) -> bool {
        self.doorbells.offered()
    }
    /// Lets the host have a doorbell buffer from now on.
    pub fn offer_doorbell_buffer(&mut self) {
        self.doorbells.offer();
    }
    /// The host's doorbell buffer, if it has one.
    pub fn doorbell_buffer(&self) -> Option<DoorbellBuffer> {
        self.doorbells.buffer()
    }
    pub fn use_doorbell_buffer(&mut self, buffer: DoorbellBuffer) {
        self.doorbells.use_buffer(buffer);
    }
    /// A number that changes whenever queues or buffer change.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.doorbells.generation()
    }
    /// The doorbells of the queues that exist.
    pub fn doorbells(&self) -> impl Iterator<Item = QueueDoorbell> + '_ {
        let submission = self.submission.iter().enumerate().filter(|(_, q)| q.exists());
        let completion = self.completion.iter().enumerate().filter(|(_, q)| q.exists());
        let of = |queue: usize, kind, value, created| QueueDoorbell {
            doorbell: Doorbell { queue: queue as u16, kind },
            value,
            created,
        };
        submission
            .map(move |(queue, q)| of(queue, DoorbellKind::SubmissionTail, q.tail(), q.created()))
            .chain(
                completion
                    .map(move |(queue, q)| of(queue, DoorbellKind::CompletionHead, q.head(), q.created())),
            )
    }

    // Fetching.

    /// Tells the arbiter, or the workers, whether `queue` has something to fetch.
    #[inline]
    fn mark_ready(&mut self, queue: u16) {
        let source = &mut self.submission[usize::from(queue)];
        match &mut self.news {
            Some(news) => {
                if source.wake() {
                    news.woken.push(queue);
                }
            }
            None if queue == 0 => {}
            None => self.arbiter.set_ready(queue, source.may_fetch() && source.may_park()),
        }
    }
    /// Whether a queue has entries that haven't been fetched.
    #[inline]
    pub fn has_waiting_entries(&self) -> bool {
        self.arbiter.is_any_ready() || self.submission[0].has_waiting()
    }
    /// Whether the admin queue has entries, and no fetch in flight.
    #[inline]
    pub fn may_fetch_admin(&self) -> bool {
        self.submission[0].may_fetch()
    }
    /// The next I/O queue to fetch from, and how many commands it may send in this turn.
    #[inline]
    pub fn next_turn(&mut self, feature: ArbitrationFeature) -> Option<(u16, u32)> {
        self.arbiter.next(feature)
    }
    /// Charges a queue for the commands that it sent in its turn.
    #[inline]
    pub fn used_turn(&mut self, queue: u16, commands: u32) {
        self.arbiter.used(queue, commands);
    }
    /// Begins to fetch up to `most` entries of a queue.
    #[inline]
    pub fn begin_fetch(&mut self, queue: u16, most: u32) -> Option<Entries> {
        let entries = self.submission[usize::from(queue)].begin_fetch(most)?;
        self.mark_ready(queue);
        Some(entries)
    }
    /// The fetch of a queue has ended. Returns the entries that it was for.
    #[inline]
    pub fn end_fetch(&mut self, queue: u16) -> u32 {
        self.submission[usize::from(queue)].end_fetch()
    }
    /// A fetch has brought these entries: they are the drive's.
    #[inline]
    pub fn take(&mut self, queue: u16, entries: u32) {
        self.submission[usize::from(queue)].take(entries);
        self.mark_ready(queue);
    }
    /// Takes an entry of `queue` for a worker: its index and its address.
    pub fn take_entry(&mut self, queue: u16) -> Option<(u32, u64)> {
        let source = &mut self.submission[usize::from(queue)];
        if source.exists() && source.may_park() { source.take_entry() } else { None }
    }
    /// Whether `queue` has an entry that a worker may take.
    pub fn has_entry(&self, queue: u16) -> bool {
        let source = self.submission(queue);
        source.has_untaken() && source.may_park()
    }
    /// A worker has fetched the entry at `index`.
    pub fn entry_landed(&mut self, queue: u16, index: u32) {
        self.submission[usize::from(queue)].entry_landed(index);
    }
    /// Takes a queue that may have entries for its workers since it was asked about last.
    pub fn next_woken(&mut self) -> Option<u16> {
        let queue = self.news.as_mut()?.woken.pop()?;
        self.submission[usize::from(queue)].heard();
        Some(queue)
    }
    /// Whether there is something that the workers must hear of.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.news.as_ref().is_some_and(|news| news.host_left || !news.woken.is_empty())
    }
    /// The workers are being told that the host has left, if it has.
    pub fn tell_news(&mut self) {
        if let Some(news) = &mut self.news {
            news.host_left = false;
        }
    }
    /// One of the queue's writes is parked.
    pub fn park(&mut self, queue: u16) {
        self.submission[usize::from(queue)].park();
        self.mark_ready(queue);
    }
    /// One of the queue's parked writes has got a slot.
    pub fn resume(&mut self, queue: u16) {
        self.submission[usize::from(queue)].resume();
        self.mark_ready(queue);
    }

    // Operations and entries.

    /// A link operation for `queue` or one of its commands has begun.
    #[inline]
    pub fn operation_began(&mut self, queue: u16) {
        self.submission[usize::from(queue)].operation_began();
    }
    #[inline]
    pub fn operation_ended(&mut self, queue: u16) {
        self.submission[usize::from(queue)].operation_ended();
    }
    /// Takes the place of a completion queue's next entry.
    #[inline]
    pub fn post(&mut self, number: u16) -> Place {
        self.completion[usize::from(number)].post()
    }
    /// The commands that wait for room in a completion queue.
    pub fn stalled(&mut self, number: u16) -> &mut StalledList {
        self.completion[usize::from(number)].stalled()
    }
}
