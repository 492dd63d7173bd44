use crate::buffers::Buffers;
use crate::error::{CommandName, Overdue, Violation};
use crate::ids::{QueueId, SlotId};
use crate::memory::{GuestMemory, HOST_PAGE_BYTES, OutOfMemory};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, TaskId, WaitQueue};
use aster_units::{Duration, Instant};
use aster_wire::nvme::cqe::CQE_BYTES;
use aster_wire::nvme::sqe::SQE_BYTES;
use aster_wire::nvme::{Cqe, Sqe, Status};
use zerocopy::{FromBytes, IntoBytes};

/// A completed command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Its slot, still taken.
    pub slot: SlotId,
    /// How it ended.
    pub status: Status,
    /// Dwords 0 and 1 of the completion.
    pub result: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotState {
    Free,
    Taken,
    InFlight,
    /// Completed; its task has not taken the result yet.
    Done(Completion),
    /// In flight when the controller was reset; its task has not taken the result yet.
    Lost,
}

/// The driver's state of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueSlot {
    pub(crate) state: SlotState,
    /// The task that awaits the command; [`TaskId::NONE`] when the run mode fetches the completion.
    pub(crate) task: TaskId,
    pub(crate) awaited: bool,
    /// Its task gave up. The slot is freed when the completion comes.
    pub(crate) abandoned: bool,
    /// An Asynchronous Event Request, which has no time limit.
    pub(crate) endless: bool,
    pub(crate) opcode: u8,
    pub(crate) slba: Option<u64>,
    pub(crate) submitted: Instant,
}

impl QueueSlot {
    const FREE: QueueSlot = QueueSlot {
        state: SlotState::Free,
        task: TaskId::NONE,
        awaited: false,
        abandoned: false,
        endless: false,
        opcode: 0,
        slba: None,
        submitted: Instant::ZERO,
    };
}

/// How a command's completion is handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Following {
    pub(crate) slba: Option<u64>,
    pub(crate) awaited: bool,
    pub(crate) endless: bool,
}

/// A submission and a completion queue with their request slots (NVMe 1.4 §4.1).
///
/// There is one slot less than entries. Each command in either queue occupies a slot, so neither queue can
/// overflow.
pub(crate) struct QueuePair {
    pub(crate) id: QueueId,
    pub(crate) vector: u16,
    pub(crate) polled: bool,
    pub(crate) sq: u64,
    pub(crate) cq: u64,
    pub(crate) buffers: Option<Buffers>,
    entries: u16,
    tail: u16,
    rung_tail: u16,
    head: u16,
    rung_head: u16,
    phase: bool,
    free: Vec<u16>,
    /// Tasks that wait for a free slot.
    pub(crate) waiters: Rc<WaitQueue>,
    pub(crate) slots: Box<[QueueSlot]>,
    done: VecDeque<Completion>,
}

/// Doorbell values of a pair that are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Doorbells {
    pub(crate) head: Option<u16>,
    pub(crate) tail: Option<u16>,
}

impl QueuePair {
    /// Allocates the memory of a pair of `entries` entries.
    pub(crate) fn new(id: QueueId, entries: u16, memory: &mut GuestMemory) -> Result<Self, OutOfMemory> {
        let sq = memory.alloc(ring_bytes(entries, SQE_BYTES), HOST_PAGE_BYTES)?;
        let cq = memory.alloc(ring_bytes(entries, CQE_BYTES), HOST_PAGE_BYTES)?;
        let slots = entries - 1;
        Ok(QueuePair {
            id,
            vector: 0,
            polled: false,
            sq,
            cq,
            buffers: None,
            entries,
            tail: 0,
            rung_tail: 0,
            head: 0,
            rung_head: 0,
            phase: true,
            free: Vec::with_capacity(usize::from(slots)),
            waiters: Rc::default(),
            slots: alloc::vec![QueueSlot::FREE; usize::from(slots)].into_boxed_slice(),
            done: VecDeque::with_capacity(usize::from(slots)),
        })
    }

    /// Empties the pair and gives it `entries` entries (at most as many as it was made with). Commands in
    /// flight are lost: their tasks are woken with that result; slots without a task become free.
    pub(crate) fn reset(&mut self, entries: u16, memory: &mut GuestMemory, exec: &Exec) {
        assert!(usize::from(entries) <= self.slots.len() + 1, "a queue does not grow");
        self.entries = entries;
        (self.tail, self.rung_tail, self.head, self.rung_head, self.phase) = (0, 0, 0, 0, true);
        let bytes = usize::from(entries) * CQE_BYTES;
        memory.bytes_mut(self.cq, bytes).expect("the queue was allocated").fill(0);
        self.done.clear();
        self.free.clear();
        for slot in (0..entries - 1).rev() {
            let s = &mut self.slots[usize::from(slot)];
            let awaited = s.awaited && !s.abandoned && s.state != SlotState::Free;
            if awaited {
                if s.state == SlotState::InFlight {
                    s.state = SlotState::Lost;
                }
                exec.wake(s.task);
            } else {
                *s = QueueSlot::FREE;
                self.free.push(slot);
            }
        }
        self.waiters.wake_all(exec);
    }

    /// The queues' entries.
    pub(crate) fn entries(&self) -> u16 {
        self.entries
    }
    /// Slots of the pair.
    pub(crate) fn depth(&self) -> u16 {
        self.entries - 1
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<SlotId> {
        let slot = self.free.pop()?;
        self.slots[usize::from(slot)].state = SlotState::Taken;
        Some(SlotId(slot))
    }

    #[inline]
    pub(crate) fn release(&mut self, slot: SlotId, exec: &Exec) {
        let s = &mut self.slots[slot.index()];
        assert!(
            !matches!(s.state, SlotState::Free | SlotState::InFlight),
            "slot {} of queue {} is released while {:?}",
            slot.0,
            self.id.0,
            s.state
        );
        *s = QueueSlot::FREE;
        self.free.push(slot.0);
        self.waiters.wake_one(exec);
    }

    /// Puts a command into the submission queue; [`QueuePair::doorbells`] gives the doorbell values for the
    /// controller.
    #[inline]
    pub(crate) fn push(
        &mut self,
        slot: SlotId,
        sqe: &Sqe,
        following: Following,
        now: Instant,
        memory: &mut GuestMemory,
    ) {
        let s = &mut self.slots[slot.index()];
        assert!(s.state == SlotState::Taken, "slot {} of queue {} is {:?}", slot.0, self.id.0, s.state);
        s.state = SlotState::InFlight;
        s.awaited = following.awaited;
        s.endless = following.endless;
        s.opcode = sqe.opcode();
        s.slba = following.slba;
        s.submitted = now;
        let at = self.sq + u64::from(self.tail) * SQE_BYTES as u64;
        memory.bytes_mut(at, SQE_BYTES).expect("the queue was allocated").copy_from_slice(sqe.as_bytes());
        self.tail = self.after(self.tail);
    }

    #[inline]
    fn after(&self, index: u16) -> u16 {
        if index + 1 == self.entries { 0 } else { index + 1 }
    }

    /// The next completion that no task awaits. For a completion that a task awaits, it stores the result and
    /// wakes the task.
    ///
    /// # Errors
    /// When the controller broke the protocol; the entry is consumed.
    #[inline]
    pub(crate) fn pop(&mut self, memory: &GuestMemory, exec: &Exec) -> Result<Option<Completion>, Violation> {
        if let Some(completion) = self.done.pop_front() {
            return Ok(Some(completion));
        }
        self.pop_entry(memory, exec)
    }

    /// Takes every entry out of the completion queue, keeping those that no task awaits for
    /// [`QueuePair::pop`].
    pub(crate) fn collect(&mut self, memory: &GuestMemory, exec: &Exec) -> Result<(), Violation> {
        while let Some(completion) = self.pop_entry(memory, exec)? {
            self.done.push_back(completion);
        }
        Ok(())
    }

    #[inline]
    fn pop_entry(&mut self, memory: &GuestMemory, exec: &Exec) -> Result<Option<Completion>, Violation> {
        loop {
            let at = self.cq + u64::from(self.head) * CQE_BYTES as u64;
            let bytes = memory.bytes(at, CQE_BYTES).expect("the queue was allocated");
            let cqe = Cqe::ref_from_bytes(bytes).expect("an entry's bytes");
            if cqe.phase() != self.phase {
                return Ok(None);
            }
            self.head = self.after(self.head);
            if self.head == 0 {
                self.phase = !self.phase;
            }
            if let Some(completion) = self.note(cqe, exec)? {
                return Ok(Some(completion));
            }
        }
    }

    #[inline]
    fn note(&mut self, cqe: &Cqe, exec: &Exec) -> Result<Option<Completion>, Violation> {
        let (queue, cid, head) = (self.id, cqe.cid.get(), cqe.sq_head.get());
        if cqe.sq_id.get() != queue.0 {
            return Err(Violation::WrongQueue { queue, sq_id: cqe.sq_id.get() });
        }
        if head >= self.entries {
            return Err(Violation::HeadOutside { queue, head });
        }
        let slot = self.slots.get_mut(usize::from(cid)).filter(|s| s.state == SlotState::InFlight);
        let Some(slot) = slot else { return Err(Violation::UnknownCommand { queue, cid }) };
        let completion = Completion { slot: SlotId(cid), status: cqe.status(), result: cqe.result_64() };
        slot.state = SlotState::Done(completion);
        if !slot.awaited {
            return Ok(Some(completion));
        }
        exec.wake(slot.task);
        if slot.abandoned {
            self.release(SlotId(cid), exec);
        }
        Ok(None)
    }

    /// The doorbells that are due: head and tail where they have moved since they were last rung.
    #[inline]
    pub(crate) fn doorbells(&mut self) -> Doorbells {
        let head = (self.head != self.rung_head).then_some(self.head);
        let tail = (self.tail != self.rung_tail).then_some(self.tail);
        (self.rung_head, self.rung_tail) = (self.head, self.tail);
        Doorbells { head, tail }
    }

    /// The command in flight for longest among those that `which` picks, and when it was submitted.
    pub(crate) fn oldest(&self, which: impl Fn(&QueueSlot) -> bool) -> Option<(SlotId, Instant)> {
        let in_flight = |s: &QueueSlot| s.state == SlotState::InFlight && !s.endless && !s.abandoned;
        (0u16..)
            .zip(&self.slots)
            .filter(|(_, s)| in_flight(s) && which(s))
            .map(|(i, s)| (SlotId(i), s.submitted))
            .min_by_key(|&(slot, submitted)| (submitted, slot))
    }

    /// Describes a command in flight that takes too long.
    pub(crate) fn overdue(&self, slot: SlotId, age: Duration) -> Overdue {
        let s = &self.slots[slot.index()];
        Overdue { command: CommandName { queue: self.id, opcode: s.opcode }, slot, slba: s.slba, age }
    }
}

fn ring_bytes(entries: u16, entry_bytes: usize) -> u64 {
    u64::from(entries) * entry_bytes as u64
}
