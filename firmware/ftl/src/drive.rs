use crate::blocks::table::Blocks;
use crate::journal::log::Log;
use crate::journal::log_page::StoredMap;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::config::{Assigner, FtlConfig, RANDOM_ROUNDS};
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Recorder;
use aster_exec::{Core, WaitCell, WaitQueue};
use aster_parties::MediaState;
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_ports::medium::SharedNvram;
use aster_units::{Geometry, Lpn, LunIndex, Rng};
use core::cell::{Cell, RefCell};
use core::ops::Deref;

pub(crate) type MediaWatcher = Box<dyn Fn(MediaState)>;

/// Everything that the tasks share. No borrow of a cell lives across an await.
pub(crate) struct Drive {
    runtime: Rc<Runtime>,
    pub(crate) logical_pages: u32,
    pub(crate) pages: Rc<PageBuffers>,
    pub(crate) host: Rc<CommandPort>,
    pub(crate) media: Rc<Media>,
    pub(crate) nvram: SharedNvram,
    // Which LUN the pages `n · LUNs + i` belong to.
    lun_order: Box<[LunIndex]>,
    pub(crate) blocks: RefCell<Blocks>,
    pub(crate) sequence: Cell<u64>,
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
    // Waiting for a LUN's programs to be safe from a loss of power.
    pub(crate) settle_waiters: Box<[WaitQueue]>,
    pub(crate) media_watcher: RefCell<Option<MediaWatcher>>,
    // Waiting for any entry to be let go of, or to become clean.
    pub(crate) pool_waiters: WaitQueue,
    pub(crate) room_waiters: Box<[WaitQueue]>,
    pub(crate) gc_waiters: Box<[WaitCell]>,
    pub(crate) read_waiters: Box<[WaitCell]>,
    // No victim is begun while the map is stored, and none after that or boot until the host changes
    // something: a drive at rest stays as its root record says.
    pub(crate) gc_held: Cell<bool>,
    // It has been held since power-on, for nothing but that.
    pub(crate) rests_since_boot: Cell<bool>,
    pub(crate) gc_idle: WaitCell,
    // It took no more writes when its power went.
    pub(crate) was_read_only: Cell<bool>,
}

/// The LUNs in the order in which consecutive logical pages go to them. A LUN's index counts channel first.
fn lun_order(geometry: &Geometry, assigner: Assigner) -> Box<[LunIndex]> {
    let (channels, per_channel) = (u32::from(geometry.channels), geometry.luns_per_channel());
    let luns = geometry.total_luns();
    match assigner {
        Assigner::ChannelFirst => (0..luns).map(LunIndex).collect(),
        Assigner::WayFirst => {
            (0..luns).map(|n| LunIndex(n % per_channel * channels + n / per_channel)).collect()
        }
        Assigner::Random { seed } => {
            let mut order: Box<[_]> = (0..luns * RANDOM_ROUNDS).map(|n| LunIndex(n % luns)).collect();
            let mut rng = Rng::new(seed);
            // Fisher and Yates.
            for last in (1..order.len()).rev() {
                order.swap(last, rng.below(last as u64 + 1) as usize);
            }
            order
        }
    }
}

impl Deref for Drive {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.runtime
    }
}

impl Drive {
    pub(crate) fn new(
        core: &Core,
        config: FtlConfig,
        dram: SharedDram,
        host: Rc<CommandPort>,
        flash: Rc<FlashPort>,
        nvram: SharedNvram,
        recorder: Recorder,
    ) -> Self {
        let geometry = config.geometry;
        let luns = geometry.total_luns();
        let workers = usize::from(config.slice_workers);
        let queues = |n: u32, bound: usize| (0..n).map(|_| WaitQueue::with_capacity(bound)).collect();
        let cells = |n: u32| (0..n).map(|_| WaitCell::default()).collect();
        let logical_pages = config.logical_pages() as u32;
        let runtime = Rc::new(Runtime::new(core, config, recorder));
        let pages = Rc::new(PageBuffers::new(&config, dram));
        let media = Rc::new(Media::new(&runtime, &pages, flash));
        Drive {
            runtime,
            logical_pages,
            pages,
            host,
            media,
            nvram,
            lun_order: lun_order(&geometry, config.assigner),
            blocks: RefCell::new(Blocks::of(&config)),
            sequence: Cell::new(0),
            marked_dirty: Cell::new(false),
            stored: RefCell::default(),
            storing: Cell::new(false),
            log: RefCell::default(),
            log_wanted: WaitCell::default(),
            checkpoint_wanted: WaitCell::default(),
            map_room: WaitCell::default(),
            log_waiters: WaitQueue::with_capacity(workers + luns as usize + 3),
            settle_waiters: queues(luns, workers.min(64)),
            media_watcher: RefCell::new(None),
            pool_waiters: WaitQueue::with_capacity(workers),
            room_waiters: queues(luns, workers.min(64)),
            gc_waiters: cells(luns),
            read_waiters: cells(luns),
            gc_held: Cell::new(true),
            rests_since_boot: Cell::new(true),
            gc_idle: WaitCell::default(),
            was_read_only: Cell::new(false),
        }
    }
    /// The LUN of a logical page.
    #[inline]
    pub(crate) fn lun_of(&self, lpn: Lpn) -> LunIndex {
        self.lun_order[lpn.index() % self.lun_order.len()]
    }
    /// Takes the next sequence number.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }
}
