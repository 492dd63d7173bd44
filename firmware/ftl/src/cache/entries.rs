//! The entries of the data buffer: what they hold, who waits for one to change, and how many may be dirty.

use crate::blocks::turns::Turns;
use crate::cache::buffer::{DataBuffer, EntryId, Flush, Lock, LockResult, Want};
use crate::page::buffers::{Granules, PageBuffers};
use crate::terms::block::Stream;
use crate::terms::runtime::{ANY_BUFFER, Runtime};
use crate::terms::units::{Frame, Units};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::{Event, Wait};
use aster_exec::WaitQueue;
use core::cell::RefCell;

/// What an entry holds.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) frame: Frame,
    /// The valid granules.
    pub(crate) valid: Granules,
    /// Whether the entry has changed since it was last written to flash.
    pub(crate) is_dirty: bool,
}

/// The entries, and the tasks that wait for them.
pub(crate) struct Entries {
    runtime: Rc<Runtime>,
    pages: Rc<PageBuffers>,
    buffer: RefCell<DataBuffer>,
    waiters: Box<[WaitQueue]>,
    // Tasks that wait for any entry to be unlocked or to become clean.
    any_waiters: Rc<WaitQueue>,
    /// The tasks that wait in order of arrival, if collection is paced.
    pub(super) in_order: Option<InOrder>,
}

/// The tasks that wait for an entry, and those that wait for the right to make one dirty, in order of
/// arrival.
pub(super) struct InOrder {
    pub(super) entry_turns: Turns,
    pub(super) dirty_turns: Turns,
}

impl Entries {
    pub(super) fn new(runtime: &Rc<Runtime>, pages: &Rc<PageBuffers>) -> Self {
        let config = &runtime.config.host;
        let workers = usize::from(config.slice_workers);
        let in_order = || InOrder {
            entry_turns: Turns::with_capacity(workers),
            dirty_turns: Turns::with_capacity(workers),
        };
        Entries {
            runtime: Rc::clone(runtime),
            pages: Rc::clone(pages),
            buffer: RefCell::new(DataBuffer::new(config.buffer_entries, config.dirty_max())),
            waiters: (0..config.buffer_entries).map(|_| WaitQueue::with_capacity(4)).collect(),
            any_waiters: Rc::new(WaitQueue::with_capacity(workers)),
            in_order: runtime.config.gc.is_paced().then(in_order),
        }
    }

    // ---- what they hold ----

    pub(crate) fn all(&self) -> impl Iterator<Item = EntryId> + use<> {
        (0..self.buffer.borrow().len()).map(EntryId)
    }
    /// The entry that holds a page, if any does.
    pub(crate) fn find(&self, frame: Frame) -> Option<EntryId> {
        self.buffer.borrow().find(frame)
    }
    /// What an entry holds.
    #[inline]
    pub(crate) fn held(&self, entry: EntryId) -> Held {
        let buffer = self.buffer.borrow();
        let (frame, valid, is_dirty) = (buffer.frame(entry), buffer.valid(entry), buffer.is_dirty(entry));
        Held { frame, valid, is_dirty }
    }
    /// The units of a frame that only this entry has, if it still belongs to the frame.
    pub(crate) fn dirty_units(&self, frame: Frame, entry: EntryId) -> Units {
        let buffer = self.buffer.borrow();
        if buffer.frame(entry) == frame { buffer.dirty_units(entry) } else { 0 }
    }
    /// The stream of a dirty entry.
    pub(super) fn stream(&self, entry: EntryId) -> Stream {
        Stream::Host(self.buffer.borrow().stream(entry))
    }
    /// Whether this entry holds some of `granules` in a version that isn't on flash.
    pub(crate) fn has_unwritten(&self, entry: EntryId, granules: Granules) -> bool {
        let buffer = self.buffer.borrow();
        buffer.is_dirty(entry) && buffer.valid(entry) & granules & self.dirty_granules(&buffer, entry) != 0
    }
    // Granules of the units that only the entry holds.
    fn dirty_granules(&self, buffer: &DataBuffer, entry: EntryId) -> Granules {
        self.pages.granules_of_units(buffer.dirty_units(entry))
    }

    // ---- what changes in them ----

    /// Granules of an entry have been read.
    #[inline]
    pub(super) fn add_valid(&self, entry: EntryId, granules: Granules) {
        self.buffer.borrow_mut().add_valid(entry, granules);
    }
    /// Marks granules of an exclusively locked entry as valid, and the entry as dirty: what was written
    /// belongs to this stream.
    pub(crate) fn written(&self, entry: EntryId, granules: Granules, stream: u8) {
        let mut buffer = self.buffer.borrow_mut();
        buffer.add_valid(entry, granules);
        buffer.make_dirty(entry, self.pages.units_of(granules), stream);
    }
    /// Forgets those of an entry's granules that are also on flash.
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
    /// Empties an exclusively locked entry.
    pub(crate) fn discard(&self, entry: EntryId) {
        self.buffer.borrow_mut().discard(entry);
        self.changed(entry);
    }

    // ---- locks ----

    /// Asks for a page's entry; with `clean_only` none is evicted to make room for it.
    #[inline]
    pub(super) fn request(&self, frame: Frame, want: Want, clean_only: bool) -> LockResult {
        self.buffer.borrow_mut().request(frame, want, clean_only)
    }
    #[inline]
    pub(crate) fn unlock(&self, entry: EntryId, lock: Lock) {
        self.buffer.borrow_mut().release(entry, lock);
        self.changed(entry);
    }
    /// Turns an exclusive lock into a shared one, so that other readers get in.
    #[inline]
    pub(crate) fn share(&self, entry: EntryId) {
        self.buffer.borrow_mut().share(entry);
        self.changed(entry);
    }

    // ---- dirty entries ----

    /// Reserves the right to make one more entry dirty. Returns false if the bound is reached.
    #[inline]
    pub(super) fn reserve_dirty(&self) -> bool {
        self.buffer.borrow_mut().reserve_dirty()
    }
    /// Returns the reservation for one more dirty entry.
    pub(crate) fn return_reserve(&self) {
        self.buffer.borrow_mut().return_reserve();
        if self.in_order.is_some() {
            self.grant_dirty();
            self.any_changed();
        }
    }
    /// Marks an entry as being evicted: the oldest that fits among the `search` least recently used dirty
    /// ones. Also returns its dirty units.
    pub(super) fn evict_oldest_of(
        &self,
        search: u32,
        fit: impl Fn(Frame, Units, u8) -> bool,
    ) -> Option<(EntryId, Units)> {
        let mut buffer = self.buffer.borrow_mut();
        let entry = buffer.evict_oldest_of(search, fit)?;
        Some((entry, buffer.dirty_units(entry)))
    }
    /// Whether an eviction would fill a page of `units` units, or there is none yet. Looks at no more than
    /// `search` entries.
    pub(super) fn is_eviction_due(&self, units: u32, search: u32) -> bool {
        self.buffer.borrow().is_eviction_due(units, search)
    }
    /// Turns an exclusive lock into an eviction.
    pub(super) fn evict_locked(&self, entry: EntryId) {
        self.buffer.borrow_mut().evict_locked(entry);
    }
    /// Marks an entry as being evicted if it still holds `frame`, is dirty, and isn't being changed or
    /// evicted.
    pub(super) fn flush(&self, entry: EntryId, frame: Frame) -> Flush {
        self.buffer.borrow_mut().flush(entry, frame)
    }
    /// An eviction has ended. The entry is clean if it was written. Wakes the tasks that wait for it.
    #[inline]
    pub(super) fn evicted(&self, entry: EntryId, written: bool) {
        self.buffer.borrow_mut().end_evicting(entry, written);
        self.changed(entry);
    }
    /// (dirty, free) entries.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u32, usize) {
        self.buffer.borrow().counts()
    }

    // ---- who waits ----

    /// Waits until `entry` has changed, or until any entry has if it is `None`.
    pub(super) async fn wait(&self, entry: Option<EntryId>) {
        let (queue, buffer) = match entry {
            Some(entry) => (&self.waiters[entry.index()], entry.0),
            None => (&*self.any_waiters, ANY_BUFFER),
        };
        self.runtime.waiting_for(Wait::BufferEntry, buffer, self.runtime.woken(queue)).await;
    }
    /// Wakes the tasks that wait for this entry or for any. Mostly there are none.
    #[inline]
    fn changed(&self, entry: EntryId) {
        if self.in_order.is_some() {
            self.grant_dirty();
        }
        if !(self.waiters[entry.index()].is_empty() && self.any_waiters.is_empty()) {
            self.wake(entry);
        }
    }
    #[inline(never)]
    fn wake(&self, entry: EntryId) {
        self.runtime.emit(|| Event::EntryReleased { task: self.runtime.task(), buffer: entry.0 });
        self.waiters[entry.index()].wake_all(self.runtime.exec());
        self.any_changed();
    }
    /// Wakes the tasks that wait for any entry.
    #[inline]
    pub(super) fn any_changed(&self) {
        self.any_waiters.wake_all(self.runtime.exec());
    }
    /// A callback for lower layers that wakes the tasks waiting for any entry.
    pub(super) fn waker(&self) -> impl Fn() + use<> {
        let (waiters, runtime) = (Rc::clone(&self.any_waiters), Rc::clone(&self.runtime));
        move || waiters.wake_all(runtime.exec())
    }
    /// Gives the right to make an entry dirty to the tasks that have waited longest, as far as the bound
    /// permits. The caller wakes the tasks that wait for any entry.
    #[inline(never)]
    fn grant_dirty(&self) {
        let Some(in_order) = &self.in_order else { return };
        while let Some(first) = in_order.dirty_turns.first() {
            if !self.reserve_dirty() {
                break;
            }
            in_order.dirty_turns.leave(self.runtime.exec(), first);
        }
    }
}
