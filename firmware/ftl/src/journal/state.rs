//! The state of the journal.

use crate::blocks::pool::BlockPool;
use crate::journal::log_page::StoredMap;
use crate::journal::slots::Log;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::setup::Setup;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Recorder;
use aster_exec::{Core, WaitCell, WaitQueue};
use aster_parties::{MediaState, NvramSlice};
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashPort;
use core::cell::{Cell, Ref, RefCell};

type MediaWatcher = Box<dyn Fn(MediaState)>;

/// What makes every change of flash, and keeps of it what is needed to find everything again. No borrow of a
/// cell lives across an await.
pub(crate) struct Journal {
    pub(super) runtime: Rc<Runtime>,
    pub(super) logical_pages: u32,
    // Tells the placement of pages from others.
    pub(super) placed: u64,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) media: Rc<Media>,
    pub(super) nvram: NvramSlice,
    pub(super) blocks: Rc<BlockPool>,
    // The root record in NVRAM says that NAND does not hold the map as it is.
    pub(super) marked_dirty: Cell<bool>,
    pub(super) stored: RefCell<StoredMap>,
    // A map is on its way to NAND.
    pub(super) storing: Cell<bool>,
    pub(super) log: RefCell<Log>,
    pub(super) log_wanted: WaitCell,
    pub(super) checkpoint_wanted: WaitCell,
    // Storing the map found no room: waits for an erased block, or for the log to run full.
    pub(super) map_room: WaitCell,
    // Waiting for a log page, or for the end of the storing of a map.
    pub(super) log_waiters: WaitQueue,
    pub(super) media_watcher: RefCell<Option<MediaWatcher>>,
    // Waiting for any entry to be let go of, or to become clean.
    pub(super) any_entry_waiters: WaitQueue,
    pub(super) gc_idle: WaitCell,
    // It took no more writes when its power went.
    pub(super) was_read_only: Cell<bool>,
}

impl Journal {
    pub(crate) fn new(
        core: &Core,
        Setup { config, victims, lun_order, placed, .. }: Setup,
        dram: SharedDram,
        flash: Rc<FlashPort>,
        nvram: NvramSlice,
        recorder: Recorder,
    ) -> Self {
        let geometry = config.geometry;
        let luns = geometry.total_luns();
        let workers = usize::from(config.slice_workers);
        let logical_pages = config.logical_pages() as u32;
        let runtime = Rc::new(Runtime::new(core, config, recorder));
        let pages = Rc::new(PageBuffers::new(&config, dram));
        let media = Rc::new(Media::new(&runtime, &pages, flash));
        let blocks = Rc::new(BlockPool::new(&runtime, &media, victims, lun_order));
        Journal {
            runtime,
            logical_pages,
            placed,
            pages,
            media,
            nvram,
            blocks,
            marked_dirty: Cell::new(false),
            stored: RefCell::default(),
            storing: Cell::new(false),
            log: RefCell::default(),
            log_wanted: WaitCell::default(),
            checkpoint_wanted: WaitCell::default(),
            map_room: WaitCell::default(),
            log_waiters: WaitQueue::with_capacity(workers + luns as usize + 3),
            media_watcher: RefCell::new(None),
            any_entry_waiters: WaitQueue::with_capacity(workers),
            gc_idle: WaitCell::default(),
            was_read_only: Cell::new(false),
        }
    }

    // ---- the rooms below ----

    /// Core, configuration, statistics and events.
    #[inline]
    pub(crate) fn runtime(&self) -> &Rc<Runtime> {
        &self.runtime
    }
    /// The pages in their buffers.
    #[inline]
    pub(crate) fn pages(&self) -> &Rc<PageBuffers> {
        &self.pages
    }
    /// The flash. What changes it goes through the journal.
    #[inline]
    pub(crate) fn media(&self) -> &Rc<Media> {
        &self.media
    }
    /// The blocks.
    #[inline]
    pub(crate) fn blocks(&self) -> &Rc<BlockPool> {
        &self.blocks
    }
    /// Pages' worth of mapping units that the host sees.
    #[inline]
    pub(crate) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }
    /// Mapping units that the host sees: those with the least numbers.
    #[inline]
    pub(crate) fn host_units(&self) -> u32 {
        self.logical_pages * self.runtime.units.per_page()
    }
    /// Mapping units that there are, with those that hold the map itself.
    pub(crate) fn all_units(&self) -> u32 {
        self.host_units() + self.runtime.config.map_units() as u32
    }

    // ---- the map that is stored ----

    /// The stored map that the next recovery would begin with.
    pub(crate) fn stored_map(&self) -> Ref<'_, StoredMap> {
        self.stored.borrow()
    }
    /// From now on this is the stored map; gives the one before.
    pub(crate) fn replace_stored_map(&self, stored: StoredMap) -> StoredMap {
        self.stored.replace(stored)
    }
    /// A map is on its way to NAND.
    pub(crate) fn is_storing(&self) -> bool {
        self.storing.get()
    }
    /// Waits until no other map is on its way to NAND, and keeps others from it until
    /// [`Journal::unlock_storing`].
    pub(crate) async fn lock_storing(&self) {
        let lock = || (!self.storing.replace(true)).then_some(());
        self.log_waiters.wait(self.runtime.exec(), lock).await;
    }
    /// The next map may be stored.
    pub(crate) fn unlock_storing(&self) {
        self.storing.set(false);
        self.log_waiters.wake_all(self.runtime.exec());
    }
    /// Waits for room for a stored map: an erased block, or a log that has run full.
    pub(crate) async fn room_for_map(&self) {
        let mut waited = false;
        self.map_room.wait(self.runtime.exec(), || core::mem::replace(&mut waited, true).then_some(())).await;
    }
    /// A block was erased, which a stored map may wait for.
    pub(crate) fn room_for_map_changed(&self) {
        self.map_room.wake(self.runtime.exec());
    }

    // ---- who else waits for the journal ----

    /// Those that wait for any entry of the data buffer to be unlocked, or to become clean.
    pub(crate) fn any_entry_waiters(&self) -> &WaitQueue {
        &self.any_entry_waiters
    }
    /// Waits until `done`, which is asked whenever a LUN's garbage collection has ended with a victim.
    pub(crate) async fn collection_ended(&self, done: impl FnMut() -> Option<()>) {
        self.gc_idle.wait(self.runtime.exec(), done).await;
    }
    /// A LUN's garbage collection has ended with a victim.
    pub(crate) fn end_collection(&self) {
        self.gc_idle.wake(self.runtime.exec());
    }
    /// Calls `watcher` whenever [`MediaState`] changes.
    pub(crate) fn watch_media(&self, watcher: MediaWatcher) {
        *self.media_watcher.borrow_mut() = Some(watcher);
    }

    // ---- for tests that look into it ----

    #[cfg(test)]
    pub(crate) fn log(&self) -> Ref<'_, Log> {
        self.log.borrow()
    }
    #[cfg(test)]
    pub(crate) fn log_mut(&self) -> core::cell::RefMut<'_, Log> {
        self.log.borrow_mut()
    }
    /// Whether somebody waits for a log page, or for the end of the storing of a map.
    #[cfg(test)]
    pub(crate) fn log_is_wanted(&self) -> bool {
        !self.log_waiters.is_empty()
    }
}
