//! The page cache as a target over another one.

use crate::cache::{Cache, Counters, Gate, Goal};
use crate::clean::{self, Timer, WRITERS};
use crate::lower::{COMMANDS, Lower};
use crate::pages::Pages;
use crate::readahead::Readahead;
use crate::serve;
use crate::told::Below;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use aster_events::{Function, Recorder};
use aster_exec::{Ring, WaitQueue};
use aster_parties::{
    DamagedRecord, DriveState, MediaState, NvramSlice, PieceError, PreferredWrites, Promises, TargetNeeds,
    TargetPiece, TargetPorts, TargetView, TranslationStats, TranslationView,
};
use aster_ports::dram::Dram;
use aster_ports::link::HostMemory;
use aster_units::{Lpn, Ppa, SECTOR_BYTES};
use core::cell::{Cell, RefCell};

/// The most commands that are served at once.
const WORKERS_MAX: u16 = 64;
/// Runs that are read ahead at once.
const READERS: u16 = 16;
/// The share of the cache that may be dirty before write-back begins, in percent: Linux's
/// `dirty_background_ratio`.
const BACKGROUND_PERCENT: usize = 10;
/// The share that may be dirty at most: Linux's `dirty_ratio`.
const LIMIT_PERCENT: usize = 20;

/// How large a page cache is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheConfig {
    /// Mebibytes of blocks that it holds, 16 at least.
    pub mebibytes: u32,
}

/// A target with a page cache before it.
pub struct Cached {
    inner: Box<dyn TargetPiece>,
    pages: usize,
}

impl Cached {
    /// A page cache before `inner`.
    ///
    /// # Errors
    /// When the cache is too small for the commands that are served at once, or the drive has more than 2³²
    /// blocks of 4 KiB.
    pub fn new(inner: Box<dyn TargetPiece>, config: CacheConfig) -> Result<Self, PieceError> {
        let refuse = |reason| Err(PieceError::new("target.page_cache_mib", reason));
        if config.mebibytes < 16 {
            return refuse(format!("must be 16 at least, but is {}", config.mebibytes));
        }
        if inner.capacity_bytes() / SECTOR_BYTES as u64 > u64::from(u32::MAX) {
            return refuse(format!(
                "must be absent for more than 16 TiB, but the drive has {} bytes",
                inner.capacity_bytes()
            ));
        }
        Ok(Cached { inner, pages: config.mebibytes as usize * ((1 << 20) / SECTOR_BYTES) })
    }
}

impl TargetPiece for Cached {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds {
            data_buffers: WORKERS_MAX.into(),
            metadata_buffers: 0,
            oob_bytes: 0,
            nvram_bytes: self.inner.needs().nvram_bytes,
        }
    }
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }
    fn preferred_writes(&self) -> Option<PreferredWrites> {
        self.inner.preferred_writes()
    }
    fn damaged_records(&self, nvram: &NvramSlice) -> alloc::vec::Vec<DamagedRecord> {
        self.inner.damaged_records(nvram)
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let Cached { inner, pages } = *self;
        let TargetPorts { core, commands, command_slots, command_cycles, buffers, .. } = ports;
        let (nvram, function, recorder) = (ports.nvram, ports.function, ports.recorder);
        let exec = core.exec().clone();
        let (content, sectors) = (buffers.borrow().content(), buffers.borrow().sectors() as u8);
        let blocks = (inner.capacity_bytes() / SECTOR_BYTES as u64) as u32;
        let needs = inner.needs();
        let below =
            Dram::new(content, sectors, needs.oob_bytes, needs.data_buffers, needs.metadata_buffers, 0);
        let workers = command_slots.min(WORKERS_MAX);
        let tasks = usize::from(workers + WRITERS + READERS) + 8;
        let queue = || WaitQueue::with_capacity(tasks);
        let lower = Lower::start(&exec, below.clone(), content, tasks);
        let listens = Recorder::default();
        if !cfg!(aster_without_events) {
            listens.attach(Below(recorder.clone()));
        }
        let inner = inner.start(TargetPorts {
            core: core.clone(),
            commands: lower.port(),
            command_slots: COMMANDS,
            command_cycles,
            buffers: below,
            nvram,
            function,
            recorder: listens,
        })?;
        let cache = Rc::new(Cache {
            exec: exec.clone(),
            core: core.clone(),
            commands,
            command_cycles,
            buffers,
            content,
            lower,
            blocks,
            background: pages * BACKGROUND_PERCENT / 100,
            limit: pages * LIMIT_PERCENT / 100,
            pages: RefCell::new(Pages::new(pages, content.sector_len())),
            readers: RefCell::new(Readahead::default()),
            ahead: Ring::new(READERS.into()),
            goal: Cell::new(Goal::default()),
            gate: RefCell::new(Gate::default()),
            turns: Default::default(),
            locked: RefCell::default(),
            timer: Cell::new(None),
            is_timed: Cell::new(false),
            counters: Counters::default(),
            recorder,
            changed: queue(),
            work: queue(),
            gates: queue(),
        });
        cache.timer.set(Some(exec.register(Rc::new(Timer(Rc::clone(&cache))))));
        for id in 0..workers {
            core.spawn(serve::run(Rc::clone(&cache), id.into()));
        }
        for _ in 0..WRITERS {
            core.spawn(clean::run(Rc::clone(&cache)));
        }
        for _ in 0..READERS {
            core.spawn(serve::read_ahead(Rc::clone(&cache)));
        }
        Ok(Rc::new(View { cache, inner }))
    }
}

/// The cache at work, and the target below it.
struct View {
    cache: Rc<Cache>,
    inner: Rc<dyn TargetView>,
}

impl TranslationView for View {
    fn state(&self) -> DriveState {
        self.inner.state()
    }
    fn boot_error(&self) -> Option<String> {
        self.inner.boot_error()
    }
    /// Those of the target: the host's commands are what the cache asked for.
    fn stats(&self) -> TranslationStats {
        self.inner.stats()
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let counters = &self.cache.counters;
        each("cache_hits", counters.hits.get());
        each("cache_misses", counters.misses.get());
        each("read_ahead", counters.read_ahead.get());
        each("written_back", counters.written_back.get());
        each("write_backs", counters.runs.get());
        each("throttled", counters.throttled.get());
        each("dirty", self.cache.pages.borrow().unclean() as u64);
        self.inner.counters(each);
    }
    fn promises(&self) -> Promises {
        self.inner.promises()
    }
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>) {
        self.inner.watch_media(watcher);
    }
    fn location_of(&self, page: Lpn) -> Option<Ppa> {
        self.inner.location_of(page)
    }
    fn write_buffer(&self) -> &'static str {
        "the host's page cache (target.page_cache_mib)"
    }
    fn functions(&self) -> alloc::vec::Vec<Function> {
        self.inner.functions()
    }
}

impl TargetView for View {
    fn interrupt(&self, address: u64, data: u32) {
        self.inner.interrupt(address, data);
    }
    fn drive_restarted(&self) {
        self.inner.drive_restarted();
    }
    fn outlives_drive(&self) -> bool {
        self.inner.outlives_drive()
    }
    fn has_ftl(&self) -> bool {
        self.inner.has_ftl()
    }
    fn watch_temperature(&self, watcher: Box<dyn Fn(u16)>) {
        self.inner.watch_temperature(watcher);
    }
    fn read_temperature(&self) {
        self.inner.read_temperature();
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        self.inner.memory()
    }
}
