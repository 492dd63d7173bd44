use crate::bar::Bar;
use crate::buffers::{Data, DataMut};
use crate::config::Config;
use crate::error::{Overdue, Violation};
use crate::ids::{QueueId, SlotId};
use crate::memory::GuestMemory;
use crate::namespace::Namespace;
use crate::queue::{Completion, Doorbells, QueuePair};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, HandlerId, Ring};
use aster_units::Instant;
use aster_wire::nvme::identify::IdentifyController;
use aster_wire::nvme::registers::{Doorbell, DoorbellKind};
use core::cell::{Cell, Ref, RefCell};

/// Host memory, shared by the driver and the run mode that carries out the device's DMA in it.
pub type SharedMemory = Rc<RefCell<GuestMemory>>;

/// The driver of one controller. All methods take `&self`: tasks and the run mode share it.
///
/// Never call it while [`SharedMemory`] is borrowed.
pub struct Driver<B: Bar> {
    pub(crate) exec: Exec,
    pub(crate) bar: RefCell<B>,
    pub(crate) memory: SharedMemory,
    pub(crate) config: Config,
    pub(crate) pairs: RefCell<Vec<QueuePair>>,
    pub(crate) admin_pages: u64,
    /// Data of a vendor-specific admin command, and the PRP list that names them.
    pub(crate) vendor_area: u64,
    pub(crate) vendor_turn: Ring<()>,
    /// I/O queue pairs that exist in the controller.
    pub(crate) live_pairs: Cell<u16>,
    pub(crate) doorbell_stride: Cell<u8>,
    pub(crate) namespace: Cell<Namespace>,
    pub(crate) streams: Cell<u16>,
    /// The most data bytes of one command, as granted.
    pub(crate) transfer_bytes: Cell<u32>,
    /// The same in logical blocks.
    pub(crate) blocks_max: Cell<u32>,
    pub(crate) identity: RefCell<Option<Box<IdentifyController>>>,
    pub(crate) violation: Cell<Option<Violation>>,
    /// How often the drive was lost ([`Driver::lose_drive`]).
    pub(crate) losses: Cell<u32>,
    pub(crate) watch: HandlerId,
    pub(crate) watchdog_armed: Cell<bool>,
    pub(crate) poll_armed: Cell<bool>,
}

impl<B: Bar + 'static> Driver<B> {
    /// The host's executor.
    pub fn exec(&self) -> &Exec {
        &self.exec
    }
    /// The driver's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// The memory that the device's DMA reaches.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }
    /// The namespace in use; zero blocks before [`Driver::init`].
    #[inline]
    pub fn namespace(&self) -> Namespace {
        self.namespace.get()
    }
    /// Identify controller as read by [`Driver::init`].
    pub fn identity(&self) -> Option<Ref<'_, IdentifyController>> {
        Ref::filter_map(self.identity.borrow(), |identity| identity.as_deref()).ok()
    }
    /// The I/O queue pairs that the controller granted.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + use<B> {
        (1..=self.live_pairs.get()).map(QueueId)
    }
    /// The most commands in flight of a queue pair.
    pub fn depth(&self, queue: QueueId) -> u16 {
        self.pairs.borrow()[queue.index()].depth()
    }
    /// The MSI-X vector of a queue pair's completions; `None` when it is polled.
    pub fn vector(&self, queue: QueueId) -> Option<u16> {
        let pair = &self.pairs.borrow()[queue.index()];
        (!pair.polled).then_some(pair.vector)
    }
    /// The controller's first violation of the protocol.
    #[inline]
    pub fn violation(&self) -> Option<Violation> {
        self.violation.get()
    }

    // ---- requests without a task ----

    /// Takes a free request slot; `None` when all are in use.
    #[inline]
    pub fn take_slot(&self, queue: QueueId) -> Option<SlotId> {
        self.pairs.borrow_mut()[queue.index()].take()
    }

    /// Releases a slot that isn't in flight.
    #[inline]
    pub fn release_slot(&self, queue: QueueId, slot: SlotId) {
        self.pairs.borrow_mut()[queue.index()].release(slot, &self.exec);
    }

    /// Reads the first `bytes` bytes (a multiple of 4 KiB for tags) of an I/O slot's data buffer. Asserts
    /// that they are within [`Config::transfer_bytes_max`].
    #[inline]
    pub fn data<R>(&self, queue: QueueId, slot: SlotId, bytes: u32, read: impl FnOnce(Data<'_>) -> R) -> R {
        self.assert_buffer(bytes);
        let (pairs, memory) = (self.pairs.borrow(), self.memory.borrow());
        let buffers = pairs[queue.index()].buffers.as_ref().expect("an I/O queue has data buffers");
        read(buffers.data(slot.0, bytes as usize, &memory).expect("the buffers were allocated"))
    }

    /// Changes the first `bytes` bytes (a multiple of 4 KiB for tags) of an I/O slot's data buffer. Asserts
    /// that they are within [`Config::transfer_bytes_max`].
    #[inline]
    pub fn data_mut<R>(
        &self,
        queue: QueueId,
        slot: SlotId,
        bytes: u32,
        fill: impl FnOnce(DataMut<'_>) -> R,
    ) -> R {
        self.assert_buffer(bytes);
        let (pairs, mut memory) = (self.pairs.borrow(), self.memory.borrow_mut());
        let buffers = pairs[queue.index()].buffers.as_ref().expect("an I/O queue has data buffers");
        fill(buffers.data_mut(slot.0, bytes as usize, &mut memory).expect("the buffers were allocated"))
    }

    #[inline]
    fn assert_buffer(&self, bytes: u32) {
        assert!(bytes <= self.config.transfer_bytes_max, "{bytes} bytes are more than a slot's buffer");
    }

    /// Rings the doorbells for everything submitted to a queue and taken from its completions since the last
    /// call: at most one doorbell each. Call it once after a batch.
    #[inline]
    pub fn ring(&self, queue: QueueId) {
        let Doorbells { head, tail } = self.pairs.borrow_mut()[queue.index()].doorbells();
        for (kind, value) in [(DoorbellKind::CompletionHead, head), (DoorbellKind::SubmissionTail, tail)] {
            if let Some(value) = value {
                self.write_doorbell(queue, kind, value);
            }
        }
    }

    #[inline]
    fn write_doorbell(&self, queue: QueueId, kind: DoorbellKind, value: u16) {
        let offset = Doorbell { queue: queue.0, kind }.offset(self.doorbell_stride.get());
        // The largest doorbell lies far below 4 GiB: 16 bits of queue, 15 of stride.
        self.bar.borrow_mut().write(offset as u32, 4, u64::from(value));
    }

    /// The next completion of a queue that no task awaits. The slot stays taken: submit it again or release
    /// it. After the last one call [`Driver::ring`].
    #[inline]
    pub fn next_completion(&self, queue: QueueId) -> Option<Completion> {
        let popped = self.pairs.borrow_mut()[queue.index()].pop(&self.memory.borrow(), &self.exec);
        popped.unwrap_or_else(|violation| self.note_violation(violation))
    }

    #[cold]
    fn note_violation<T>(&self, violation: Violation) -> Option<T> {
        if self.violation.get().is_none() {
            self.violation.set(Some(violation));
        }
        self.wake_all_waiting();
        None
    }

    /// Call this when an interrupt has arrived, or to poll. It takes the completions of the vector's queues,
    /// wakes the tasks that await them and keeps the others for [`Driver::next_completion`]. An unknown
    /// vector does nothing.
    pub fn interrupt(&self, vector: u16) {
        for index in 0..=self.live_pairs.get() {
            let queue = QueueId(index);
            if self.vector(queue) == Some(vector) {
                self.look(queue);
            }
        }
    }

    /// Takes a queue's completions.
    pub(crate) fn look(&self, queue: QueueId) {
        let collected = self.pairs.borrow_mut()[queue.index()].collect(&self.memory.borrow(), &self.exec);
        if let Err(violation) = collected {
            self.note_violation::<()>(violation);
        }
        self.ring(queue);
    }

    /// The command that has been in flight for longest over all I/O queues, if that is
    /// [`Config::command_timeout`] or more at `now`. It checks every slot, so call it now and then, not at
    /// each completion.
    pub fn overdue(&self, now: Instant) -> Option<Overdue> {
        let pairs = self.pairs.borrow();
        let (pair, (slot, submitted)) = pairs
            .iter()
            .skip(1)
            .filter_map(|pair| Some((pair, pair.oldest(|_| true)?)))
            .min_by_key(|(_, (_, submitted))| *submitted)?;
        let age = now.since(submitted);
        (age >= self.config.command_timeout).then(|| pair.overdue(slot, age))
    }
}
