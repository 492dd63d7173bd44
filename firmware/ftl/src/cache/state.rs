use crate::blocks::pool::BlockPool;
use crate::blocks::turns::Turns;
use crate::cache::buffer::{DataBuffer, EntryId, Lock};
use crate::cache::packed::Packing;
use crate::cache::pool::Pool;
use crate::cache::scattered::Scattered;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use crate::media::requests::Media;
use crate::page::buffers::Granules;
use crate::page::buffers::PageBuffers;
use crate::terms::reused::Reused;
use crate::terms::runtime::Runtime;
use crate::terms::units::{Frame, Units};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_exec::WaitQueue;
use aster_ports::host::{CommandPort, HostStatus};
use aster_units::Ppa;
use core::cell::RefCell;

/// The data buffer's entries, and the merge buffers.
pub(crate) struct Cache<M: Mapping> {
    pub(super) buffer: RefCell<DataBuffer>,
    pub(super) entry_waiters: Box<[WaitQueue]>,
    // Waiting for any entry to be let go of, or to become clean.
    pub(super) any_entry_waiters: Rc<WaitQueue>,
    pub(super) merging: Pool,
    pub(super) packing: Pool,
    // What tasks put together, and what they read together.
    pub(super) packings: Reused<Packing<M::Pin>>,
    pub(super) scattered: Reused<Scattered>,
    // Where collection is paced, the order of those that wait for an entry, and for the right to make one
    // dirty.
    pub(super) entry_turns: Turns,
    pub(super) dirty_turns: Turns,
    // Takes the transfers that go along with a read.
    pub(super) port: Rc<CommandPort>,
    pub(super) mapping: Rc<Mapped<M>>,
    pub(super) journal: Rc<Journal>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) media: Rc<Media>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) runtime: Rc<Runtime>,
}

impl<M: Mapping> Cache<M> {
    pub(crate) fn new(port: Rc<CommandPort>, mapping: &Rc<Mapped<M>>) -> Self {
        let (mapping, journal) = (Rc::clone(mapping), Rc::clone(&mapping.journal));
        let config = &journal.runtime().config;
        let workers = usize::from(config.host.slice_workers);
        let any_entry_waiters = Rc::new(WaitQueue::with_capacity(workers));
        let (waiters, runtime) = (Rc::clone(&any_entry_waiters), Rc::clone(journal.runtime()));
        journal.blocks().queues.when_full(Box::new(move || waiters.wake_all(runtime.exec())));
        Cache {
            any_entry_waiters,
            buffer: RefCell::new(DataBuffer::new(config.host.buffer_entries, config.host.dirty_max())),
            entry_waiters: (0..config.host.buffer_entries).map(|_| WaitQueue::with_capacity(4)).collect(),
            merging: Pool::new(config.buffers().merge(), workers),
            packing: Pool::new(config.buffers().packing(), workers),
            packings: Reused::with_capacity(workers),
            scattered: Reused::with_capacity(workers),
            entry_turns: Turns::with_capacity(workers),
            dirty_turns: Turns::with_capacity(workers),
            port,
            mapping,
            blocks: Rc::clone(journal.blocks()),
            media: Rc::clone(journal.media()),
            pages: Rc::clone(journal.pages()),
            runtime: Rc::clone(journal.runtime()),
            journal,
        }
    }

    // ---- what the host's side asks of entries ----

    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryId> + use<M> {
        (0..self.buffer.borrow().len()).map(EntryId)
    }
    /// The entry that holds a page, if any does.
    pub(crate) fn find(&self, frame: Frame) -> Option<EntryId> {
        self.buffer.borrow().find(frame)
    }
    /// The page of an entry, and whether it has been changed since it was last on flash.
    pub(crate) fn frame_of(&self, entry: EntryId) -> (Frame, bool) {
        let buffer = self.buffer.borrow();
        (buffer.frame(entry), buffer.is_dirty(entry))
    }
    /// Which units of a frame only this entry has, if it still is the frame's.
    pub(crate) fn dirty_units(&self, frame: Frame, entry: EntryId) -> Units {
        let buffer = self.buffer.borrow();
        if buffer.frame(entry) == frame { buffer.dirty_units(entry) } else { 0 }
    }
    /// The granules that an entry holds.
    pub(crate) fn valid(&self, entry: EntryId) -> Granules {
        self.buffer.borrow().valid(entry)
    }
    /// True if only this entry holds some of `granules`, and flash doesn't.
    pub(crate) fn has_unwritten(&self, entry: EntryId, granules: Granules) -> bool {
        let buffer = self.buffer.borrow();
        buffer.is_dirty(entry) && buffer.valid(entry) & granules & self.dirty_granules(&buffer, entry) != 0
    }
    /// Returns the reservation for one more dirty entry.
    pub(crate) fn return_reserve(&self) {
        self.buffer.borrow_mut().return_reserve();
        if self.runtime.config.gc.is_paced() {
            self.grant_dirty();
            self.any_entry_waiters.wake_all(self.runtime.exec());
        }
    }
    // Granules of the units that only the entry holds.
    fn dirty_granules(&self, buffer: &DataBuffer, entry: EntryId) -> Granules {
        self.pages.granules_of_units(buffer.dirty_units(entry))
    }
    /// Forgets those of an entry's granules that flash has.
    pub(crate) fn forget_clean(&self, entry: EntryId, granules: Granules) {
        let mut buffer = self.buffer.borrow_mut();
        let clean = granules & !self.dirty_granules(&buffer, entry);
        buffer.forget(entry, clean);
    }
    /// Empties units of an exclusively locked entry that are no longer mapped.
    pub(crate) fn drop_units(&self, entry: EntryId, units: Units) {
        let granules = self.pages.granules_of_units(units);
        self.buffer.borrow_mut().discard_units(entry, units, granules);
        self.unlock(entry, Lock::Exclusive);
    }
    /// Marks granules of an exclusively locked entry as valid, and the entry as dirty.
    pub(crate) fn written(&self, entry: EntryId, granules: Granules) {
        let mut buffer = self.buffer.borrow_mut();
        buffer.add_valid(entry, granules);
        buffer.make_dirty(entry, self.pages.units_of(granules));
    }
    /// Turns an exclusive lock into a shared one, so that other readers get in.
    pub(crate) fn share(&self, entry: EntryId) {
        self.buffer.borrow_mut().share(entry);
        self.entry_changed(entry);
    }
    /// Turns an exclusive lock into an eviction, and carries it out.
    ///
    /// # Errors
    /// As [`Cache::evict`]: the entry then stays dirty.
    pub(crate) async fn evict_locked(&self, entry: EntryId) -> Result<(Frame, Ppa), HostStatus> {
        self.buffer.borrow_mut().evict_locked(entry);
        let frame = self.buffer.borrow().frame(entry);
        Ok((frame, self.evict(entry).await?))
    }
    /// (dirty, free) entries.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u32, usize) {
        self.buffer.borrow().counts()
    }
}
