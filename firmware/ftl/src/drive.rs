use crate::blocks::Blocks;
use crate::boot::{self, BootError};
use crate::buffer::{DataBuffer, EntryId};
use crate::config::{ConfigError, FtlConfig, NVRAM_BYTES};
use crate::flash::HostTransfer;
use crate::gc;
use crate::idle_erase;
use crate::intake::{self, Commands};
use crate::log::{self, Log};
use crate::log_page::StoredMap;
use crate::map::Map;
use crate::metadata_round::MetadataRound;
use crate::oob::{self, OOB_BYTES};
use crate::scan;
use crate::setup::Setup;
use crate::slice::{self, Slices};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Function, Recorder, Wait};
use aster_exec::{Core, Exec, WaitCell, WaitQueue};
use aster_parties::{Boot, DriveState, MediaState, TranslationStats};
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashPort, Outcome};
use aster_ports::host::{CommandPort, DmaDirection, DmaError, DmaRequest};
use aster_ports::medium::SharedNvram;
use aster_units::{BufferId, Content, Geometry, Lpn, LunIndex, Ppa, Restriction, SECTOR_BYTES};
use core::cell::{Cell, RefCell};
use core::future::Future;

/// Starts drives.
pub struct Ftl;

impl Ftl {
    /// Starts the FTL's tasks on `core`: boot, intake, the slice workers, and garbage collection of each LUN.
    /// All memory is taken here. Commands wait in `host` until the drive has booted.
    ///
    /// # Errors
    /// When the configuration is out of bounds, or `dram` or `nvram` too small for it. What is found while
    /// booting comes later, by [`FtlHandle::boot_error`].
    pub fn start(
        core: &Core,
        setup: impl Into<Setup>,
        dram: SharedDram,
        host: Rc<CommandPort>,
        flash: Rc<FlashPort>,
        nvram: SharedNvram,
        recorder: Recorder,
    ) -> Result<FtlHandle, ConfigError> {
        let setup = setup.into();
        let config = setup.config;
        config.validate()?;
        check_memories(&config, &dram, &nvram)?;
        let drive = Rc::new(Drive::new(core, setup, dram, host, flash, nvram, recorder));
        drive.flash.check_pages(&drive.dram, oob::is_whole_page_of);
        boot::start(&drive);
        core.spawn(intake::run(Rc::clone(&drive)));
        core.spawn(log::run(Rc::clone(&drive)));
        core.spawn(log::run_checkpoints(Rc::clone(&drive)));
        core.spawn(scan::run(Rc::clone(&drive)));
        core.spawn(idle_erase::run(Rc::clone(&drive)));
        for worker in 0..config.slice_workers {
            core.spawn(slice::run(Rc::clone(&drive), worker));
        }
        for lun in 0..config.geometry.total_luns() {
            core.spawn(gc::run(Rc::clone(&drive), LunIndex(lun)));
        }
        Ok(FtlHandle(drive))
    }
}

fn check_memories(config: &FtlConfig, dram: &SharedDram, nvram: &SharedNvram) -> Result<(), ConfigError> {
    let dram = dram.borrow();
    let check = |ok, what| if ok { Ok(()) } else { Err(ConfigError::Dram { what }) };
    check(dram.data_buffers() >= config.data_buffers(), "has fewer data buffers than the FTL needs")?;
    check(
        dram.metadata_buffers() >= config.metadata_buffers(),
        "has fewer metadata buffers than the FTL needs",
    )?;
    check(dram.content() == config.content, "keeps content in another way than the FTL")?;
    check(
        dram.sectors() == usize::from(config.geometry.sectors_per_page()),
        "has buffers of another page size",
    )?;
    check(dram.oob(dram.metadata_buffer(0)).len() >= OOB_BYTES, "has less than 16 OOB bytes a buffer")?;
    let available = nvram.size();
    if available < NVRAM_BYTES { Err(ConfigError::Nvram { available }) } else { Ok(()) }
}

type MediaWatcher = Box<dyn Fn(MediaState)>;

/// Erases between two reports of wear.
pub(crate) const ERASES_A_REPORT: u64 = 1024;

/// A running FTL.
pub struct FtlHandle(Rc<Drive>);

impl FtlHandle {
    /// What it has done.
    pub fn stats(&self) -> TranslationStats {
        *self.0.stats.borrow()
    }
    /// What it can do.
    pub fn state(&self) -> DriveState {
        self.0.stats.borrow().state
    }
    /// Calls `watcher` whenever a block goes bad or is about to, the drive becomes read-only, or many blocks
    /// more have been erased.
    pub fn watch_media(&self, watcher: impl Fn(MediaState) + 'static) {
        *self.0.media_watcher.borrow_mut() = Some(Box::new(watcher));
    }
    /// Why it could not boot.
    pub fn boot_error(&self) -> Option<BootError> {
        self.0.boot_error.borrow().clone()
    }
    /// Mapping units that the host sees.
    pub fn logical_pages(&self) -> u32 {
        self.0.logical_pages
    }
    /// Where a logical page is; `None` when it is unmapped or beyond the capacity.
    pub fn location_of(&self, lpn: Lpn) -> Option<Ppa> {
        let mapped = lpn.0 < self.0.logical_pages;
        mapped.then(|| self.0.map.borrow().get(lpn)).filter(|ppa| ppa.is_some())
    }
    /// The blocks of each LUN, from the first on, that are the log's. Two good ones in all are what it needs.
    pub fn log_blocks_per_lun(&self) -> u32 {
        self.0.config.log_blocks_per_lun() as u32
    }
    /// Erased blocks of a LUN that are ready to be written.
    pub fn free_blocks(&self, lun: LunIndex) -> usize {
        self.0.blocks.borrow().free(lun)
    }
    pub(crate) fn config(&self) -> &FtlConfig {
        &self.0.config
    }
    #[cfg(test)]
    pub(crate) fn drive(&self) -> &Rc<Drive> {
        &self.0
    }
}

/// Everything that the tasks share. No borrow of a cell lives across an await.
pub(crate) struct Drive {
    pub(crate) core: Core,
    pub(crate) config: FtlConfig,
    pub(crate) geometry: Geometry,
    pub(crate) restriction: Restriction,
    pub(crate) logical_pages: u32,
    pub(crate) dram: SharedDram,
    pub(crate) host: Rc<CommandPort>,
    pub(crate) flash: Rc<FlashPort>,
    pub(crate) nvram: SharedNvram,
    pub(crate) recorder: Recorder,
    // Which LUN a page belongs to: page n to entry n modulo the length, and what tells this from others.
    lun_order: Box<[LunIndex]>,
    pub(crate) placed: u64,
    // Which LUN behind its chip enable a LUN is: the top of its row addresses.
    pub(crate) lun_of_row: Box<[u8]>,
    pub(crate) map: RefCell<Map>,
    pub(crate) blocks: RefCell<Blocks>,
    pub(crate) buffer: RefCell<DataBuffer>,
    pub(crate) commands: RefCell<Commands>,
    pub(crate) slices: Slices,
    pub(crate) sequence: Cell<u64>,
    pub(crate) generation: Cell<u64>,
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
    // Flushes waiting for their slices, and the intake for the writes that came before one.
    pub(crate) flush_waiters: WaitQueue,
    pub(crate) stats: RefCell<TranslationStats>,
    pub(crate) boot_error: RefCell<Option<BootError>>,
    media_watcher: RefCell<Option<MediaWatcher>>,
    pub(crate) boot_waiters: WaitQueue,
    pub(crate) entry_waiters: Box<[WaitQueue]>,
    // Waiting for any entry to be let go of, or to become clean.
    pub(crate) pool_waiters: WaitQueue,
    merge_free: RefCell<Vec<BufferId>>,
    merge_waiters: WaitQueue,
    pub(crate) flash_waiters: WaitQueue,
    pub(crate) room_waiters: Box<[WaitQueue]>,
    pub(crate) gc_waiters: Box<[WaitCell]>,
    pub(crate) read_waiters: Box<[WaitCell]>,
    // No victim is begun while the map is stored, and none after that or boot until the host changes
    // something: a drive at rest stays as its root record says.
    pub(crate) gc_held: Cell<bool>,
    // It has been held since power-on, for nothing but that.
    pub(crate) rests_since_boot: Cell<bool>,
    // The page that the scan looks at next, all LUNs in turn.
    pub(crate) scan_at: Cell<u32>,
    pub(crate) metadata_round: RefCell<MetadataRound>,
    // A scan that stands still with the drive.
    pub(crate) scan_waiter: WaitCell,
    // Free blocks of a LUN at which it collects; more than configured while room for the stored map is made.
    pub(crate) gc_free_blocks: Cell<u32>,
    pub(crate) gc_active: Cell<u32>,
    pub(crate) gc_idle: WaitCell,
    // It took no more writes when its power went.
    pub(crate) was_read_only: Cell<bool>,
    // The LUNs whose garbage collection may erase a block that holds nothing, although none needs the room.
    pub(crate) erases_ahead: Box<[Cell<bool>]>,
    // Waiting for the host to leave the drive alone.
    pub(crate) rest_waiter: WaitCell,
}

impl Drive {
    fn new(
        core: &Core,
        Setup { config, victims, lun_order, placed }: Setup,
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
        let merge_base = config.merge_buffer_base();
        Drive {
            core: core.clone(),
            config,
            geometry,
            restriction: config.restriction(),
            logical_pages,
            dram,
            host,
            flash,
            nvram,
            recorder,
            lun_order,
            placed,
            lun_of_row: (0..luns).map(|l| geometry.lun_addr(LunIndex(l)).lun).collect(),
            map: RefCell::new(Map::new(logical_pages)),
            blocks: RefCell::new(Blocks::of(&config).collected_by(victims)),
            buffer: RefCell::new(DataBuffer::new(config.buffer_entries, config.dirty_max())),
            commands: RefCell::new(Commands::new(config.command_slots)),
            slices: Slices::new(config.slice_workers),
            sequence: Cell::new(0),
            generation: Cell::new(0),
            marked_dirty: Cell::new(false),
            stored: RefCell::default(),
            storing: Cell::new(false),
            log: RefCell::default(),
            log_wanted: WaitCell::default(),
            checkpoint_wanted: WaitCell::default(),
            map_room: WaitCell::default(),
            log_waiters: WaitQueue::with_capacity(workers + luns as usize + 3),
            settle_waiters: queues(luns, workers.min(64)),
            flush_waiters: WaitQueue::with_capacity(workers + 1),
            stats: RefCell::default(),
            boot_error: RefCell::new(None),
            media_watcher: RefCell::new(None),
            boot_waiters: WaitQueue::with_capacity(luns as usize + 2),
            entry_waiters: queues(config.buffer_entries, 4),
            pool_waiters: WaitQueue::with_capacity(workers),
            merge_free: RefCell::new((0..config.merge_buffers()).map(|n| BufferId(merge_base + n)).collect()),
            merge_waiters: WaitQueue::with_capacity(workers),
            flash_waiters: WaitQueue::with_capacity(workers + luns as usize + 5),
            room_waiters: queues(luns, workers.min(64)),
            gc_waiters: cells(luns),
            read_waiters: cells(luns),
            gc_held: Cell::new(true),
            rests_since_boot: Cell::new(true),
            scan_at: Cell::new(0),
            metadata_round: RefCell::default(),
            scan_waiter: WaitCell::default(),
            gc_free_blocks: Cell::new(config.gc_free_blocks),
            gc_active: Cell::new(0),
            gc_idle: WaitCell::default(),
            was_read_only: Cell::new(false),
            erases_ahead: (0..luns).map(|_| Cell::new(false)).collect(),
            rest_waiter: WaitCell::default(),
        }
    }

    pub(crate) fn exec(&self) -> &Exec {
        self.core.exec()
    }
    #[inline]
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if self.recorder.is_on() {
            self.recorder.emit(self.core.now(), event);
        }
    }
    /// Spends `cycles` of the core on `function`.
    #[inline]
    pub(crate) fn spend(&self, function: Function, cycles: u64) {
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
    }
    /// The firmware task that runs, as events number it.
    pub(crate) fn task(&self) -> u32 {
        self.exec().current().number()
    }
    #[inline]
    pub(crate) fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        change(&mut self.stats.borrow_mut());
    }
    pub(crate) fn state(&self) -> DriveState {
        self.stats.borrow().state
    }
    /// The drive is read-only, or will be once it is up: it was when its power went.
    pub(crate) fn takes_no_writes(&self) -> bool {
        self.was_read_only.get() || self.state() == DriveState::ReadOnly
    }
    pub(crate) fn set_state(&self, state: DriveState) {
        self.count(|s| s.state = state);
        if state == DriveState::ReadOnly {
            self.blocks.borrow_mut().stop_evacuating();
            // That must be known after a loss of power, too, and which blocks have gone bad. A drive that was
            // so before has said so.
            if !self.was_read_only.get() {
                self.ask_for_log();
            }
        }
        self.media_changed();
    }
    /// Tells the watcher how the media are.
    pub(crate) fn media_changed(&self) {
        if let Some(watcher) = self.media_watcher.borrow().as_ref() {
            let needed = self.config.blocks_needed_per_lun() as u32;
            let blocks = self.blocks.borrow();
            // Of what the factory left, which is nothing on some LUNs: all of that is there until one more
            // block goes bad.
            let spare_percent = |lun| match blocks.good_once(lun).saturating_sub(needed) {
                0 => 100 * u32::from(blocks.lasting(lun) == blocks.good_once(lun)),
                spare => blocks.lasting(lun).saturating_sub(needed) * 100 / spare,
            };
            let available_spare =
                (0..self.geometry.total_luns()).map(|lun| spare_percent(LunIndex(lun))).min().unwrap_or(0);
            drop(blocks);
            watcher(MediaState {
                available_spare: available_spare.min(100) as u8,
                read_only: self.state() == DriveState::ReadOnly,
                rebuilt: self.stats.borrow().boot == Boot::Rebuilt,
                erases: self.stats.borrow().flash_erases.total(),
            });
        }
    }
    /// A shutdown has been through, and nothing has changed since.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.gc_held.get() && !self.rests_since_boot.get()
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

    // ---- granules ----

    /// Host bytes a granule.
    pub(crate) fn granule_bytes(&self) -> u32 {
        match self.config.content {
            Content::Full => 512,
            Content::Fingerprint => SECTOR_BYTES as u32,
        }
    }
    /// Granules a sector.
    pub(crate) fn granules_per_sector(&self) -> u32 {
        SECTOR_BYTES as u32 / self.granule_bytes()
    }
    /// Granules a page.
    pub(crate) fn granules_per_page(&self) -> u32 {
        self.geometry.page_bytes / self.granule_bytes()
    }
    /// The granules of the sectors in `sectors`.
    pub(crate) fn granules_of(&self, sectors: u16) -> u128 {
        let per = self.granules_per_sector();
        let one = (1u128 << per) - 1;
        (0..u32::from(self.geometry.sectors_per_page()))
            .filter(|s| sectors >> s & 1 == 1)
            .fold(0, |all, s| all | one << (s * per))
    }
    /// The granules that could not be corrected.
    pub(crate) fn failed_granules(&self, outcome: &Outcome) -> u128 {
        match self.config.content {
            Content::Full => u128::from_le_bytes(outcome.lost_parts()),
            Content::Fingerprint => self.granules_of(outcome.failed_sectors),
        }
    }
    /// The sectors that `granules` touch.
    pub(crate) fn sectors_of(&self, granules: u128) -> u16 {
        let per = self.granules_per_sector();
        let one = (1u128 << per) - 1;
        (0..u32::from(self.geometry.sectors_per_page()))
            .filter(|s| granules >> (s * per) & one != 0)
            .fold(0, |all, s| all | 1 << s)
    }

    // ---- host DMA ----

    /// Moves part of a command's data.
    #[inline]
    pub(crate) async fn dma(&self, request: DmaRequest) -> Result<(), DmaError> {
        self.transfer(request, false).await
    }
    /// Moves part of a command's data that is compared with what is stored.
    pub(crate) async fn dma_to_compare(&self, request: DmaRequest) -> Result<(), DmaError> {
        self.transfer(request, true).await
    }
    #[inline]
    async fn transfer(&self, request: DmaRequest, compare: bool) -> Result<(), DmaError> {
        self.spend(Function::HostDma, self.config.costs.dma);
        self.core.settle().await;
        self.follow_transfer(request, compare, self.host.dma(request)).await
    }
    /// Moves what has been read for the host: what has gone on by itself is only waited for.
    #[inline]
    pub(crate) async fn dma_to_host(&self, transfer: HostTransfer) -> Result<(), DmaError> {
        match transfer.begun {
            Some(tag) => self.follow_transfer(transfer.request, false, self.host.dma_finished(tag)).await,
            None => self.dma(transfer.request).await,
        }
    }
    #[inline]
    async fn follow_transfer(
        &self,
        request: DmaRequest,
        compare: bool,
        moved: impl Future<Output = Result<(), DmaError>>,
    ) -> Result<(), DmaError> {
        self.emit(|| Event::TransferQueued {
            task: self.task(),
            from_host: request.direction == DmaDirection::FromHost,
            bytes: request.length,
            buffer: request.buffer.0,
            compare,
        });
        let result = moved.await;
        self.emit(|| Event::TransferEnded { task: self.task(), failed: result.is_err() });
        if result.is_ok() {
            self.count(|s| match request.direction {
                DmaDirection::ToHost => s.host_bytes_read += u64::from(request.length),
                // A compare fetches data, too; what is written counts where it is written.
                DmaDirection::FromHost => {}
            });
        }
        result
    }

    // ---- merge buffers ----

    pub(crate) async fn take_merge_buffer(&self) -> BufferId {
        let free = self.merge_waiters.wait(self.exec(), || self.merge_free.borrow_mut().pop());
        self.waiting(Wait::MergeBuffer, free).await
    }
    pub(crate) fn give_merge_buffer(&self, buffer: BufferId) {
        self.merge_free.borrow_mut().push(buffer);
        self.merge_waiters.wake_one(self.exec());
    }

    /// Something about an entry has changed that others may wait for.
    #[inline]
    pub(crate) fn entry_changed(&self, entry: EntryId) {
        let waiters = &self.entry_waiters[entry.index()];
        if self.recorder.is_on() && !(waiters.is_empty() && self.pool_waiters.is_empty()) {
            self.emit(|| Event::EntryReleased { task: self.task(), buffer: entry.0 });
        }
        waiters.wake_all(self.exec());
        self.pool_waiters.wake_all(self.exec());
    }
}
