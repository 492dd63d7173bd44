//! The FTL as a target of a drive.

use super::collect::{self, Collector};
use super::config::{HostFtlConfig, StatusFrames};
use super::flash::{Flash, SECTORS_MAX};
use super::frontier::Frontier;
use super::gather::Gather;
use super::intake;
use super::keeping::Keeping;
use super::others::{self, Rebuilder};
use super::recent::RecentWrites;
use super::recover::{self, Recovery};
use super::retired::Retired;
use super::root::{ROOT_BYTES, Root};
use super::shared::{Ftl, SEQUENCES, State, Watcher};
use super::table_place::PLACE_BYTES;
use super::told::Told;
use crate::driver::{ArrayDriver, ArrayInfo, TemperatureWatcher};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_events::Function;
use aster_exec::{Exec, Ring, WaitCell, WaitQueue};
use aster_parties::{
    Boot, DriveState, MediaState, PieceError, Promises, TargetMemory, TargetNeeds, TargetPiece, TargetPorts,
    TargetView, TranslationStats, TranslationView, VictimPolicy,
};
use aster_ports::link::HostMemory;
use aster_units::{BufferId, Lpn, Ppa, SECTOR_BYTES};
use aster_wire::array::LANES_MAX;
use aster_wire::array::registers::StatusConfig;
use core::cell::{Cell, OnceCell, RefCell};

/// The most commands that are served at once.
const WORKERS_MAX: u16 = 64;

/// The host's FTL before it runs.
pub struct HostFtl {
    config: HostFtlConfig,
    sectors: u32,
    victims: Box<dyn VictimPolicy>,
}

impl HostFtl {
    /// An FTL of this configuration, whose collection empties the groups that `victims` chooses. To the
    /// policy a group is a block, and a die of a channel a LUN.
    ///
    /// # Errors
    /// The key that is to blame.
    pub fn new(config: HostFtlConfig, victims: Box<dyn VictimPolicy>) -> Result<Self, PieceError> {
        let sectors = config.check()?;
        Ok(HostFtl { config, sectors, victims })
    }
    /// Page buffers: those that gather, those of collection, those of the workers, that of the block group
    /// table, and with parity one of zeroes and those of a rebuilding. Power-on uses the first ones.
    fn buffers(&self) -> u32 {
        self.raid_from() + if self.config.raid.is_some() { 1 + others::BUFFERS } else { 0 }
    }
    fn raid_from(&self) -> u32 {
        self.table_buffer() + 1
    }
    fn table_buffer(&self) -> u32 {
        self.workers_from() + u32::from(WORKERS_MAX) * intake::BUFFERS
    }
    fn nvram_bytes(&self) -> usize {
        PLACE_BYTES + self.old_nvram_bytes()
    }
    /// Bytes of the NVRAM's end, which a drive without a block group table had alone.
    fn old_nvram_bytes(&self) -> usize {
        let geometry = &self.config.geometry;
        ROOT_BYTES + Retired::bytes(u64::from(geometry.total_luns()) * u64::from(geometry.blocks_per_lun))
    }
    fn workers_from(&self) -> u32 {
        self.config.gather_pages + collect::BUFFERS as u32
    }
}

impl TargetPiece for HostFtl {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds {
            data_buffers: self.buffers(),
            nvram_bytes: self.nvram_bytes(),
            ..TargetNeeds::default()
        }
    }
    fn capacity_bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES as u64
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let bytes = Flash::memory_bytes(self.config.geometry.blocks_per_lun).next_multiple_of(16);
        let memory = Rc::new(RefCell::new(TargetMemory::new(bytes, &ports.buffers)));
        let function = Rc::clone(&ports.function);
        let driver = ArrayDriver::new(&ports.core, function, Rc::clone(&memory), TargetMemory::BYTES_BASE);
        let StatusFrames { entries, after_us } = self.config.status;
        driver.collect_status(StatusConfig(0).with_entries(entries).with_timeout_us(after_us));
        let running = Rc::new(Running {
            exec: ports.core.exec().clone(),
            driver,
            memory,
            info: OnceCell::new(),
            ftl: OnceCell::new(),
            is_up: Cell::new(false),
            error: RefCell::new(None),
            lost: WaitCell::default(),
            resets: Cell::new(0),
            watcher: RefCell::new(None),
        });
        let (up, core) = (Rc::clone(&running), ports.core.clone());
        core.spawn(async move {
            if let Err(why) = boot(&up, *self, ports).await {
                *up.error.borrow_mut() = Some(why);
            }
        });
        Ok(running)
    }
}

/// Brings the drive up, finds what is on it, and begins to serve.
async fn boot(up: &Rc<Running>, piece: HostFtl, ports: TargetPorts) -> Result<(), String> {
    const { assert!(recover::BUFFERS <= WORKERS_MAX as usize * intake::BUFFERS as usize) };
    let exec = ports.core.exec().clone();
    let begun = exec.now();
    let info = up.driver.bring_up().await.map_err(|error| error.to_string())?;
    assert!(up.info.set(info).is_ok(), "a drive boots once");
    let losses = up.driver.losses();
    ports.core.spawn(attach(Rc::clone(up), exec.clone(), losses));
    let format = recover::check(&piece.config, &info)?;
    let bound = piece.buffers() as usize * SECTORS_MAX
        + piece.config.geometry.total_luns() as usize * usize::from(ports.command_slots.max(1))
        + recover::BUFFERS
        + LANES_MAX;
    let told = Rc::new(Told::new(&exec, ports.recorder, piece.config.geometry, info));
    let shape = (bound, info.sectors, piece.config.raid.is_some());
    let flash = Flash::start(&ports.core, &up.driver, &up.memory, &told, shape);
    let table_nvram = ports.nvram.part(0, PLACE_BYTES);
    let nvram = ports.nvram.part(PLACE_BYTES, piece.old_nvram_bytes());
    let root = Root::read(&nvram);
    let recovery = Recovery {
        exec: &exec,
        flash: &flash,
        driver: &up.driver,
        nvram: &nvram,
        table_nvram: &table_nvram,
        buffers: &ports.buffers,
        config: &piece.config,
        info: &info,
        format,
        sectors: piece.sectors,
    };
    let found = loop {
        let losses = up.driver.losses();
        let found = recovery.run(root).await;
        if up.driver.losses() == losses {
            break found?;
        }
        // The drive lost its power meanwhile, and what it held may have changed.
        up.driver.attached().await;
        if let Some(fault) = up.driver.fault() {
            return Err(fault.to_string());
        }
    };
    if let Some(fault) = up.driver.fault() {
        return Err(fault.to_string());
    }
    let (gather_pages, workers_from) = (piece.config.gather_pages, piece.workers_from());
    let (padding, has_parity) = (BufferId(piece.raid_from()), piece.config.raid.is_some());
    if has_parity {
        ports.buffers.borrow_mut().page_mut(padding).fill(0);
    }
    let hot_writes = piece.config.composite.map_or(0, |composite| composite.hot_writes as usize);
    let boot = match root {
        Some(Root { clean: true, .. }) => Boot::Clean,
        None if !found.any => Boot::Fresh,
        _ => Boot::Recovered,
    };
    let root = found.root.unwrap_or_default();
    if found.root.is_none() {
        root.write(&nvram);
    }
    // A drive without spare blocks, or without numbers for more pages, only serves reads.
    let is_used_up = found.spare.of(&found.groups) == 0 || found.sequence > SEQUENCES;
    let is_read_only = is_used_up || flash.is_read_only();
    let condition = if is_read_only { DriveState::ReadOnly } else { DriveState::Ready };
    if let Some((place, _)) = found.table.place.filter(|_| found.table.was_searched) {
        place.write(&table_nvram);
    }
    let table_buffer = BufferId(piece.table_buffer());
    let keeping = piece.config.stores_table().then(|| Keeping::new(&found.table, table_buffer));
    let workers = ports.command_slots.min(WORKERS_MAX);
    let queue = || WaitQueue::with_capacity(usize::from(workers) + 8);
    let ftl = Rc::new(Ftl {
        exec: exec.clone(),
        core: ports.core.clone(),
        commands: ports.commands,
        command_cycles: ports.command_cycles,
        told,
        buffers: ports.buffers,
        nvram,
        table_nvram,
        flash,
        config: piece.config,
        info,
        state: RefCell::new(State {
            map: found.map,
            groups: found.groups,
            frontier: Frontier::new(&info).with_window(piece.config.wear_window),
            gather: Gather::new(gather_pages as usize, info.sectors, info.lanes),
            recent: RecentWrites::new(hot_writes),
            sequence: found.sequence,
            due: VecDeque::new(),
            in_flight: VecDeque::new(),
            homeless: false,
            waits_for_place: false,
            waits_for_program: false,
            placed: 0,
            close_to: 0,
            urgent: false,
            padded: 0,
            composite: 0,
            rebuilt: 0,
            left_regions: 0,
            sent: 0,
            stored: 0,
            root,
            retired: found.retired,
            keeping,
            commands: 0,
            closed: false,
            quiet: false,
            collecting: false,
        }),
        condition: Cell::new(condition),
        stats: Cell::default(),
        room: queue(),
        stored: queue(),
        work: queue(),
        gate: queue(),
        merge: Ring::new(1),
        spare: found.spare,
        worn_out: Cell::new(false),
        padding,
        rebuilder: has_parity.then(|| Rebuilder::new(padding.0 + 1)),
        watcher: RefCell::new(up.watcher.borrow_mut().take()),
    });
    assert!(up.ftl.set(Rc::clone(&ftl)).is_ok(), "a drive boots once");
    ftl.core.spawn(Rc::clone(&ftl).store());
    ftl.core.spawn(Rc::clone(&ftl).keep_table());
    ftl.core.spawn(Rc::clone(&ftl).hear_of_lanes(found.dead));
    ftl.core.spawn(Collector::new(&ftl, gather_pages, piece.victims).run());
    // What a row that was cut off holds has no sum. It counts from now on, so it is written elsewhere first.
    let is_whole = || (!ftl.state.borrow().groups.has_torn() || ftl.is_stopped()).then_some(());
    ftl.gate.wait(&exec, is_whole).await;
    ftl.count(|stats| {
        (stats.boot, stats.boot_nanos) = (boot, exec.now().since(begun).as_nanos());
        (stats.boot_reads, stats.factory_bad_blocks) = (found.reads, found.factory_bad);
        stats.flash_erases.metadata += found.erases;
    });
    for worker in 0..u32::from(workers) {
        let first = workers_from + worker * intake::BUFFERS;
        ftl.core.spawn(intake::run(Rc::clone(&ftl), first));
    }
    ftl.tell_media();
    up.is_up.set(true);
    Ok(())
}

/// Brings the drive up again, each time that it has lost its power.
async fn attach(up: Rc<Running>, exec: Exec, mut losses: u32) {
    let info = up.info.get().expect("the drive was brought up before");
    loop {
        up.lost.wait(&exec, || (up.driver.losses() != losses).then_some(())).await;
        losses = up.driver.losses();
        let attached = up.driver.attach_again(info).await;
        let ftl = up.ftl.get();
        if let Err(why) = attached {
            up.driver.fail(why);
            if let Some(ftl) = ftl {
                ftl.condition.set(DriveState::Failed);
                ftl.wake_all();
            }
            return;
        }
        if let Some(ftl) = ftl {
            ftl.drive_attached();
            if up.driver.is_read_only() {
                ftl.stop(DriveState::ReadOnly);
            }
        }
    }
}

/// The FTL at work, once the drive has come up.
struct Running {
    exec: Exec,
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
    /// The drive's array, once it was brought up.
    info: OnceCell<ArrayInfo>,
    /// The FTL, once it knows what the drive holds.
    ftl: OnceCell<Rc<Ftl>>,
    /// The host is served.
    is_up: Cell<bool>,
    /// Why the drive can't be worked with.
    error: RefCell<Option<String>>,
    /// Wakes what brings the drive up again.
    lost: WaitCell,
    /// How often the drive's unit had stopped and was reset.
    resets: Cell<u64>,
    /// Who wants to be told of the media once they are known.
    watcher: RefCell<Option<Watcher>>,
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        match (self.boot_error(), self.ftl.get()) {
            (Some(_), _) => DriveState::Failed,
            (None, Some(ftl)) if self.is_up.get() => ftl.condition.get(),
            (None, _) => DriveState::Booting,
        }
    }
    fn boot_error(&self) -> Option<String> {
        let of_drive = self.driver.fault().map(|fault| fault.to_string());
        of_drive.or_else(|| self.error.borrow().clone())
    }
    fn boot_note(&self) -> Option<String> {
        let state = self.ftl.get()?.state.borrow();
        state.keeping.as_ref()?.note()
    }
    fn stats(&self) -> TranslationStats {
        let stats = self.ftl.get().map(|ftl| ftl.stats.get()).unwrap_or_default();
        TranslationStats { state: self.state(), ..stats }
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        if let Some(ftl) = self.ftl.get() {
            let state = ftl.state.borrow();
            each("commands_sent", self.driver.commands());
            each("composite_pages", state.composite);
            each("frames_sent", self.driver.frames());
            let (least, most) = state.groups.wear();
            each("erases_least", least.into());
            each("erases_most", most.into());
            each("free_groups", state.groups.all_free() as u64);
            each("gathered_pages", state.stored);
            each("groups_left_regions", state.left_regions);
            each("members_dropped", state.keeping.as_ref().map_or(0, |keeping| keeping.dropped));
            each("padded_sectors", state.padded);
            each("reads_most", state.groups.most_reads().into());
            each("rebuilt_pages", state.rebuilt);
            each("spare_percent", ftl.spare.of(&state.groups).into());
            each("tables_failed", state.keeping.as_ref().map_or(0, |keeping| keeping.failures));
            let is_misnamed = |keeping: &Keeping| keeping.misnamed.is_some().into();
            each("tables_misnamed", state.keeping.as_ref().map_or(0, is_misnamed));
            each("tables_searched", state.keeping.as_ref().map_or(0, |keeping| keeping.was_searched.into()));
            each("tables_stored", state.keeping.as_ref().map_or(0, |keeping| keeping.stored));
            each("unit_resets", self.resets.get());
            each("whole_groups", state.groups.whole() as u64);
        }
    }
    fn promises(&self) -> Promises {
        Promises { flush: true, fua: true, trim: false }
    }
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>) {
        match self.ftl.get() {
            Some(ftl) => {
                watcher(ftl.media());
                *ftl.watcher.borrow_mut() = Some(watcher);
            }
            None => *self.watcher.borrow_mut() = Some(watcher),
        }
    }
    fn location_of(&self, _page: Lpn) -> Option<Ppa> {
        None
    }
    fn write_buffer(&self) -> &'static str {
        "the page buffers of the FTL on the host (target.gather_pages, ftl.buffer_entries)"
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Running {
    fn drive_restarted(&self) {
        self.driver.lose_drive();
        if let Some(ftl) = self.ftl.get() {
            ftl.drive_restarted();
        }
        self.lost.wake(&self.exec);
    }
    fn outlives_drive(&self) -> bool {
        true
    }
    fn interrupt(&self, _address: u64, data: u32) {
        let Some(stopped) = self.driver.interrupt(data) else {
            if let Some(ftl) = self.ftl.get().filter(|_| self.driver.is_read_only()) {
                ftl.stop(DriveState::ReadOnly);
            }
            return;
        };
        // What was on its way may have been carried out or not, as after a loss of the drive's power.
        match self.driver.is_at_work() {
            true => {
                self.resets.set(self.resets.get() + 1);
                self.drive_restarted();
            }
            false => self.driver.fail(stopped),
        }
    }
    fn watch_temperature(&self, watcher: TemperatureWatcher) {
        self.driver.watch_temperature(watcher);
    }
    fn read_temperature(&self) {
        self.driver.read_temperature();
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}
