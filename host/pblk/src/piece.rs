//! The FTL as a target of a drive.

use crate::config::PblkConfig;
use crate::ftl::{Counters, Ftl, State, Turns};
use crate::record::RECORD_BYTES;
use crate::shape::Shape;
use crate::spent::SPENT_BYTES;
use crate::{attach, collect, intake, submit, writer};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_driver::{Config, Driver, FunctionBar, MESSAGE_ADDRESS};
use aster_events::Function;
use aster_exec::{Ring as Queue, WaitQueue};
use aster_openchannel::ADDRESSES_MAX;
use aster_parties::{
    DriveState, MediaState, PieceError, Promises, TargetNeeds, TargetPiece, TargetPorts, TargetView,
    TranslationStats, TranslationView,
};
use aster_ports::link::HostMemory;
use aster_units::{Lpn, Ppa, SECTOR_BYTES};
use core::cell::{Cell, OnceCell, RefCell};

/// pblk before it runs.
pub struct Pblk {
    config: PblkConfig,
    shape: Shape,
    blocks: u32,
}

/// Its part of the NVRAM: the list of spent chunks, and behind it the record.
const NVRAM_BYTES: usize = SPENT_BYTES + RECORD_BYTES;
/// The most commands that are served at once.
const WORKERS_MAX: u16 = 64;
/// The most writes and erases that are in flight at once.
const SUBMITTERS_MAX: u32 = 128;
impl Pblk {
    /// I/O queue pairs that it wants of the drive: one for writes and erases, and one for reads.
    pub const QUEUE_PAIRS: u16 = 2;

    /// An FTL of this configuration.
    ///
    /// # Errors
    /// The key that is to blame.
    pub fn new(config: PblkConfig) -> Result<Self, PieceError> {
        let (shape, blocks) = config.check()?;
        Ok(Pblk { config, shape, blocks })
    }
    fn submitters(&self) -> u16 {
        (2 * self.shape.luns()).min(SUBMITTERS_MAX).min(self.config.queue_depth.into()) as u16
    }
}

impl TargetPiece for Pblk {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds { data_buffers: WORKERS_MAX.into(), nvram_bytes: NVRAM_BYTES, ..TargetNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        u64::from(self.blocks) * SECTOR_BYTES as u64
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let TargetPorts {
            core,
            commands,
            command_slots,
            command_cycles,
            buffers,
            nvram,
            function,
            recorder,
            ..
        } = ports;
        let submitters = self.submitters();
        let Pblk { config, shape, blocks } = *self;
        let workers = command_slots.min(WORKERS_MAX);
        let driver = Config {
            queue_pairs: Pblk::QUEUE_PAIRS,
            depth: submitters.max(workers + 1).min(config.queue_depth),
            transfer_bytes_max: (ADDRESSES_MAX * SECTOR_BYTES) as u32,
            vectors: Pblk::QUEUE_PAIRS + 1,
            content: config.content,
            ..Config::default()
        };
        let unfit = |error: &dyn core::fmt::Display| PieceError::new("target.kind", error.to_string());
        driver.validate().map_err(|error| unfit(&error))?;
        let exec = core.exec().clone();
        let memory = Rc::new(RefCell::new(driver.memory()));
        let driver = Driver::new(&exec, FunctionBar(Rc::clone(&function)), &memory, driver)
            .map_err(|error| unfit(&error))?;
        let waiters = usize::from(workers + submitters) + 8;
        let queue = || WaitQueue::with_capacity(waiters);
        let spent_nvram = nvram.part(0, SPENT_BYTES);
        let nvram = nvram.part(SPENT_BYTES, RECORD_BYTES);
        let state = State::new(shape, blocks, &config, spent_nvram.clone());
        let ftl = Rc::new(Ftl {
            exec,
            core: core.clone(),
            commands,
            command_cycles,
            buffers,
            nvram,
            spent_nvram,
            blocks,
            function,
            memory,
            driver,
            drive: OnceCell::new(),
            config,
            shape,
            state: RefCell::new(state),
            condition: Cell::new(DriveState::Booting),
            is_attached: Cell::new(true),
            restarts: Cell::new(0),
            boot_began_after: Cell::new(0),
            attach: queue(),
            error: RefCell::new(None),
            stats: Cell::default(),
            counters: Counters::default(),
            watcher: RefCell::new(None),
            jobs: Queue::new(usize::from(submitters)),
            jobs_made: Cell::new(0),
            retired: Cell::new(0),
            recorder,
            marks: Queue::new(ADDRESSES_MAX),
            changed: Queue::new(1),
            room: queue(),
            turns: Turns::default(),
            work: queue(),
            left: queue(),
            collect: queue(),
            gate: queue(),
        });
        let view = Rc::clone(&ftl);
        core.spawn(async move {
            for _ in 0..submitters {
                ftl.core.spawn(submit::run(Rc::clone(&ftl)));
            }
            if let Err(why) = ftl.boot().await {
                return ftl.fail(&why);
            }
            ftl.core.spawn(attach::run(Rc::clone(&ftl)));
            ftl.core.spawn(writer::run(Rc::clone(&ftl)));
            ftl.core.spawn(collect::run(Rc::clone(&ftl)));
            for id in 0..workers {
                ftl.core.spawn(intake::run(Rc::clone(&ftl), id.into()));
            }
            ftl.core.spawn(tell_changes(Rc::clone(&ftl)));
            loop {
                let (line, lun) = ftl.marks.pop(&ftl.exec).await;
                ftl.mark(line, lun).await;
            }
        });
        Ok(view)
    }
}

async fn tell_changes(ftl: Rc<Ftl>) {
    loop {
        ftl.changed.pop(&ftl.exec).await;
        ftl.tell_media();
    }
}

impl Ftl {
    /// Marks a chunk's blocks as bad in the drive's table.
    async fn mark(&self, line: crate::shape::LineId, lun: u32) {
        let block = self.shape.block(line, lun);
        let planes: Vec<_> =
            (0..self.shape.planes() as u8).map(|plane| aster_openchannel::Place { plane, ..block }).collect();
        self.mark_grown_bad(&planes).await;
    }
}

impl TranslationView for Ftl {
    fn state(&self) -> DriveState {
        self.condition.get()
    }
    fn boot_error(&self) -> Option<String> {
        self.error.borrow().clone()
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.condition.get(), ..self.stats.get() }
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let counters = &self.counters;
        each("vectors", counters.vectors.get());
        each("padded", counters.padded.get());
        each("erased_ahead", counters.erased_ahead.get());
        each("lun_waits", counters.lun_waits.get());
        each("limited", counters.limited.get());
        each("rewritten", counters.rewritten.get());
        each("tails_read", counters.tails_read.get());
        each("lines_scanned", counters.lines_scanned.get());
        let state = self.state.borrow();
        each("free_lines", state.lines.free_count() as u64);
        each("free_sectors", self.available(&state).max(0) as u64);
    }
    fn promises(&self) -> Promises {
        Promises { flush: true, fua: true, trim: false }
    }
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>) {
        watcher(self.media());
        *self.watcher.borrow_mut() = Some(watcher);
    }
    /// Where the block of this number is, or will be: pblk maps blocks of 4 KiB.
    fn location_of(&self, block: Lpn) -> Option<Ppa> {
        let state = self.state.borrow();
        let sector = (block.0 < state.map.blocks()).then(|| state.map.get(block.0)).flatten();
        sector.map(|sector| self.page_of(sector))
    }
    fn write_buffer(&self) -> &'static str {
        "pblk's write buffer in the host's memory, of eight pages of each plane"
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Ftl {
    fn interrupt(&self, address: u64, data: u32) {
        if address == MESSAGE_ADDRESS {
            self.driver.interrupt(data as u16);
        }
    }
    fn drive_restarted(&self) {
        Ftl::drive_restarted(self);
    }
    fn outlives_drive(&self) -> bool {
        true
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}
