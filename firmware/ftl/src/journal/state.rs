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
use core::cell::{Cell, RefCell};
use core::ops::Deref;

pub(crate) type MediaWatcher = Box<dyn Fn(MediaState)>;

/// What makes every change of flash, and keeps of it what is needed to find everything again. No borrow of a
/// cell lives across an await.
pub(crate) struct Journal {
    runtime: Rc<Runtime>,
    pub(crate) logical_pages: u32,
    // Tells the placement of pages from others.
    pub(crate) placed: u64,
    pub(crate) pages: Rc<PageBuffers>,
    pub(crate) media: Rc<Media>,
    pub(crate) nvram: NvramSlice,
    pub(crate) blocks: Rc<BlockPool>,
    // The root record in NVRAM says that NAND does not hold the map as it is.
    pub(crate) marked_dirty: Cell<bool>,
    pub(crate) stored: RefCell<StoredMap>,
    // A map is on its way to NAND.
    pub(crate) storing: Cell<bool>,
    pub(crate) log: RefCell<Log>,
    pub(crate) log_wanted: WaitCell,
    pub(crate) checkpoint_wanted: WaitCell,
    // Storing the map found no room: waits for an erased block, or for the log to run full.
    pub(crate) map_room: WaitCell,
    // Waiting for a log page, or for the end of the storing of a map.
    pub(crate) log_waiters: WaitQueue,
    pub(crate) media_watcher: RefCell<Option<MediaWatcher>>,
    // Waiting for any entry to be let go of, or to become clean.
    pub(crate) pool_waiters: WaitQueue,
    pub(crate) gc_idle: WaitCell,
    // It took no more writes when its power went.
    pub(crate) was_read_only: Cell<bool>,
}

impl Deref for Journal {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.runtime
    }
}

impl Journal {
    pub(crate) fn new(
        core: &Core,
        Setup { config, victims, lun_order, placed }: Setup,
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
            pool_waiters: WaitQueue::with_capacity(workers),
            gc_idle: WaitCell::default(),
            was_read_only: Cell::new(false),
        }
    }
}
