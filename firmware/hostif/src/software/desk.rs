//! The desk between the controller and the workers: which worker has which command, and what waits for it.

use super::asker::Ended;
use super::mailbox::{Mailbox, Work};
use super::messages::Messages;
use super::operations::Operations;
use super::packets::Packets;
use super::time::CoreTime;
use super::transport::Transport;
use super::way::HostWay;
use crate::config::HostIfConfig;
use crate::controller::fetch_by_workers::EntryTaken;
use crate::frontend::NvmeFrontEnd;
use crate::ports::DmaPurpose;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use aster_events::{Function, Recorder};
use aster_exec::{Core, Exec, Handler, WaitQueue};
use aster_ports::link::{BadAddress, FRONT_ANSWER, LINK_KICK, LinkOp, LinkPort};
use aster_ports::tlp::TLP_SENT;
use core::cell::{Cell, OnceCell, RefCell};

/// Cycles of the core for each step of NVMe in software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftwareCosts {
    /// Taking an entry of a submission queue and asking for it.
    pub fetch: u64,
    /// Decoding and checking a command.
    pub parse: u64,
    /// Setting a transfer of data, of a PRP list or of an admin structure up.
    pub transfer: u64,
    /// Sending a completion entry.
    pub complete: u64,
    /// Sending a message.
    pub interrupt: u64,
    /// Carrying out an access of the host to a register. With 0 the board answers it by itself, at once.
    pub register: u64,
}

impl SoftwareCosts {
    /// Whether anything costs time.
    pub fn is_any(&self) -> bool {
        *self != SoftwareCosts::default()
    }
}

/// What the workers have done since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// How often a worker looked for an entry: at power-on, when a doorbell woke it, and after a command.
    pub looked: u64,
    /// How many entries they have taken.
    pub taken: u64,
    /// Operations and messages that the late task carried.
    pub late: u64,
}

/// The token of the controller's news; see [`NvmeFrontEnd::follow`].
pub(super) const NEWS: u64 = 0;
/// The token of the timer for reads that are not answered.
pub(super) const OVERDUE: u64 = 1;

/// No task has the command in this slot.
const NOBODY: u32 = u32::MAX;

/// The desk.
pub(super) struct Desk {
    pub(super) exec: Exec,
    time: CoreTime,
    /// The controller's end of its link.
    inner: Rc<LinkPort>,
    front: OnceCell<Rc<NvmeFrontEnd>>,
    pub(super) transport: Transport,
    pub(super) costs: SoftwareCosts,
    workers: u16,
    /// By slot: the task that has its command.
    owners: RefCell<Box<[u32]>>,
    /// By task. The last one is the late task's.
    mailboxes: Box<[Mailbox]>,
    /// By submission queue: its workers that sleep.
    asleep: Box<[WaitQueue]>,
    /// I/O queues with a sleeping worker that has found an entry and no free slot, in the order in which
    /// they get the slots that become free.
    starved: RefCell<VecDeque<u16>>,
    /// A worker of the admin queue, which has slots of its own, has found none.
    admin_starved: Cell<bool>,
    messages: RefCell<Messages>,
    /// The epoch of the inner port that the transport knows of.
    epoch: Cell<u32>,
    counts: Cell<WorkerCounts>,
}

impl Desk {
    /// A desk for a controller of `config` behind `inner`, with as many workers per queue as its batch says,
    /// that reaches the host by `way`.
    pub(super) fn new(
        config: &HostIfConfig,
        costs: SoftwareCosts,
        core: &Core,
        (inner, way): (&Rc<LinkPort>, HostWay<'_>),
        recorder: &Recorder,
    ) -> Self {
        let exec = core.exec().clone();
        let (queues, slots) = (usize::from(config.queue_pairs) + 1, usize::from(config.command_slots()));
        let workers = u16::from(config.fetch_batch);
        let tasks = queues * usize::from(workers);
        let operations = config.link_operations() + tasks;
        let time = || CoreTime::new(core, recorder);
        let transport = match way {
            HostWay::Operations(link) => {
                Transport::Operations(Operations::new(&exec, link, operations, tasks))
            }
            HostWay::Packets { port, memory, config } => {
                let ports = (port, memory);
                Transport::Packets(Rc::new(Packets::new(&exec, time(), ports, config, operations, tasks)))
            }
        };
        Desk {
            transport,
            time: time(),
            inner: Rc::clone(inner),
            front: OnceCell::new(),
            costs,
            workers,
            owners: RefCell::new(vec![NOBODY; slots].into_boxed_slice()),
            mailboxes: (0..=tasks).map(|_| Mailbox::with_capacity(MAILBOX_WORK)).collect(),
            asleep: (0..queues).map(|_| WaitQueue::with_capacity(workers.into())).collect(),
            starved: RefCell::new(VecDeque::with_capacity(queues)),
            admin_starved: Cell::new(false),
            messages: RefCell::new(Messages::with_capacity(slots, config.vectors.into())),
            epoch: Cell::new(inner.epoch()),
            counts: Cell::default(),
            exec,
        }
    }
    /// Connects the controller.
    pub(super) fn attach(&self, front: &Rc<NvmeFrontEnd>) {
        assert!(self.front.set(Rc::clone(front)).is_ok(), "a desk has one controller");
    }
    fn front(&self) -> &NvmeFrontEnd {
        self.front.get().expect("attached before any task or handler runs")
    }
    /// What the workers have done.
    pub(super) fn counts(&self) -> WorkerCounts {
        self.counts.get()
    }
    fn count(&self, change: impl FnOnce(&mut WorkerCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Workers per queue.
    pub(super) fn workers(&self) -> u16 {
        self.workers
    }
    /// The number of a worker among all tasks.
    pub(super) fn task_of(&self, queue: u16, number: u16) -> u32 {
        u32::from(queue) * u32::from(self.workers) + u32::from(number)
    }
    /// The number of the late task.
    pub(super) fn late(&self) -> u32 {
        self.mailboxes.len() as u32 - 1
    }
    pub(super) fn mailbox(&self, task: u32) -> &Mailbox {
        &self.mailboxes[task as usize]
    }

    /// Spends cycles of the core. What follows happens when they are over.
    pub(super) async fn spend(&self, cycles: u64) {
        self.time.spend(Function::NvmeSoftware, cycles).await;
    }

    /// Waits until there is an entry for a worker of `queue`. Sleeps while there is none (S18).
    pub(super) async fn next_entry(&self, queue: u16, number: u16) -> EntryTaken {
        self.asleep[usize::from(queue)].wait(&self.exec, || self.take_entry(queue, number)).await
    }
    fn take_entry(&self, queue: u16, number: u16) -> Option<EntryTaken> {
        let entry = if self.may_take(queue) { self.front().next_entry(queue, number) } else { None };
        self.count(|counts| {
            counts.looked += 1;
            counts.taken += u64::from(entry.is_some());
        });
        if entry.is_none() {
            self.note_starved(queue);
        }
        // The slot that is left is the next queue's.
        self.serve_starved();
        entry
    }
    /// Whether no other queue has waited longer for a slot. If it is this one's turn, that is over now.
    fn may_take(&self, queue: u16) -> bool {
        let mut starved = self.starved.borrow_mut();
        while let Some(&first) = starved.front().filter(|_| queue != 0) {
            if first != queue && self.front().controller().has_entry(first) {
                return false;
            }
            if first == queue && !self.front().controller().has_slot(queue) {
                return false;
            }
            starved.pop_front();
            if first == queue {
                break;
            }
        }
        true
    }
    fn note_starved(&self, queue: u16) {
        if !self.front().controller().has_entry(queue) {
            return;
        }
        if queue == 0 {
            return self.admin_starved.set(true);
        }
        let mut starved = self.starved.borrow_mut();
        if !starved.contains(&queue) {
            starved.push_back(queue);
        }
    }
    fn serve_starved(&self) {
        if let Some(&queue) = self.starved.borrow().front()
            && self.front().controller().has_slot(queue)
        {
            self.asleep[usize::from(queue)].wake_all(&self.exec);
        }
    }
    /// A worker has fetched its entry. Returns whether there is a command now, which is the worker's.
    pub(super) fn entry_fetched(&self, task: u32, entry: EntryTaken, read: Result<(), BadAddress>) -> bool {
        // The slot that this command gets may just have been freed.
        self.release_owners();
        let Some(slot) = self.front().entry_fetched(entry, read) else { return false };
        let before = core::mem::replace(&mut self.owners.borrow_mut()[usize::from(slot)], task);
        assert_eq!(before, NOBODY, "a slot that was taken was free");
        true
    }

    /// Whether a reset has come since the controller asked for this.
    pub(super) fn is_stale(&self, op: &LinkOp) -> bool {
        matches!(op, LinkOp::Dma { epoch, .. } if *epoch != self.inner.epoch())
    }
    /// Whether a reset has come since a worker took this entry.
    pub(super) fn is_overtaken(&self, entry: &EntryTaken) -> bool {
        entry.is_stale(self.inner.epoch())
    }
    /// Answers the controller.
    pub(super) fn ended(&self, op: &LinkOp, result: Result<(), BadAddress>) {
        self.inner.done(op, result);
    }
    /// A completion entry is on the link, behind which messages may follow.
    pub(super) fn entry_sent(&self, number: u64) {
        self.messages.borrow_mut().entry_sent(number);
    }
    /// The next message that waited for entries.
    pub(super) fn next_message(&self) -> Option<u16> {
        self.messages.borrow_mut().next_due()
    }

    /// Files what the controller has asked for.
    fn file(&self) {
        self.inner.pass_requested();
        while let Some(op) = self.inner.next_out() {
            self.file_one(op);
        }
    }
    fn file_one(&self, op: LinkOp) {
        let token = match op {
            LinkOp::Dma { token, .. } => token,
            LinkOp::Interrupt { vector } => {
                if self.messages.borrow_mut().message_filed(vector) {
                    self.hand_to(self.late(), Work::Message { vector });
                }
                return;
            }
        };
        let purpose = DmaPurpose::from_wire(token);
        let slot = self.front().controller().slot_of(purpose);
        let entry =
            matches!(purpose, DmaPurpose::Completion(_)).then(|| self.messages.borrow_mut().entry_filed());
        let task = match self.owners.borrow()[usize::from(slot)] {
            NOBODY => self.late(),
            task => task,
        };
        self.hand_to(task, Work::Dma { op, entry });
    }
    fn hand_to(&self, task: u32, work: Work) {
        if task == self.late() {
            self.count(|counts| counts.late += 1);
        }
        self.mailbox(task).put(&self.exec, work);
    }

    /// Takes slots from the workers that no longer have a command in them.
    fn release_owners(&self) -> bool {
        let mut any = false;
        while let Some(slot) = self.front().next_left() {
            any = true;
            let owner = core::mem::replace(&mut self.owners.borrow_mut()[usize::from(slot)], NOBODY);
            if owner != NOBODY {
                self.mailbox(owner).release(&self.exec);
            }
        }
        any
    }
    fn take_ended(&self) {
        while let Some(Ended { op, result }) = self.transport.next_ended() {
            self.ended(&op, result);
        }
    }
    fn look_at_news(&self) {
        let epoch = self.inner.epoch();
        if self.epoch.replace(epoch) != epoch {
            self.transport.forget_host();
        }
        if self.release_owners() {
            self.serve_starved();
            if self.admin_starved.take() {
                self.asleep[0].wake_all(&self.exec);
            }
        }
        // A doorbell wakes all workers of its queue (S19).
        while let Some(queue) = self.front().next_woken() {
            self.asleep[usize::from(queue)].wake_all(&self.exec);
        }
    }
}

/// Operations of one command that wait for its worker without more memory. A read of 1 MiB has more.
const MAILBOX_WORK: usize = 16;

impl Handler for Desk {
    fn fire(&self, token: u64) {
        match token {
            LINK_KICK => self.file(),
            FRONT_ANSWER => self.take_ended(),
            TLP_SENT => {
                self.transport.packets().into_iter().for_each(|packets| packets.take_sent());
                self.take_ended();
            }
            NEWS => self.look_at_news(),
            OVERDUE => self.transport.packets().into_iter().for_each(|packets| packets.watch()),
            token => unreachable!("a desk has no timer {token}"),
        }
    }
}
