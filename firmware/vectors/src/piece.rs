//! The translation as a party of a drive.

use crate::buffers::BufferPool;
use crate::config::{ConfigError, VectorsConfig, WORKERS};
use crate::drive::Drive;
use crate::kept::{self, Kept};
use crate::shape::Shape;
use crate::table::BlockTable;
use crate::turns::Turns;
use crate::worker::Worker;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Function;
use aster_exec::WaitQueue;
use aster_parties::{
    Boot, DamagedRecord, DriveState, MediaState, NvramSlice, Operations, PieceError, Translation,
    TranslationNeeds, TranslationPorts, TranslationStats, TranslationView,
};
use aster_units::{Lpn, Ppa};
use core::cell::{Cell, RefCell};

/// The translation of a drive whose host has the FTL: addresses are places.
pub struct Vectors(VectorsConfig);

impl Vectors {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Names the first field that is out of its range.
    pub fn new(config: VectorsConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Vectors(config))
    }
}

impl Translation for Vectors {
    fn needs(&self) -> TranslationNeeds {
        let config = &self.0;
        // A page buffer has one request in flight; an erase has none. A worker searches with one.
        let requests = config.buffers as usize + usize::from(WORKERS) * (1 + config.erases_max());
        TranslationNeeds {
            data_buffers: config.buffers,
            metadata_buffers: WORKERS.into(),
            nvram_bytes: kept::bytes_of(config),
            emmc_bytes: 0,
            flash_requests: requests.min(u16::MAX.into()) as u16,
        }
    }
    fn offers(&self) -> Operations {
        let block_states = !self.0.chunks;
        Operations { blocks: false, vectors: true, copies: self.0.chunks, reports: true, block_states }
    }
    fn capacity_bytes(&self) -> u64 {
        self.0.geometry.raw_bytes()
    }
    fn damaged_records(&self, nvram: &NvramSlice) -> Vec<DamagedRecord> {
        kept::damaged(nvram)
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let Vectors(config) = *self;
        let g = config.geometry;
        let (mut table, mut kept) = (BlockTable::new(&g), Kept::new(ports.nvram));
        let known = kept.load(&config, &mut table);
        let boot = if known { Boot::Clean } else { Boot::Fresh };
        let drive = Rc::new(Drive {
            shape: Shape::of(&config),
            config,
            core: ports.core,
            commands: ports.commands,
            flash: ports.flash,
            dram: ports.buffers,
            recorder: ports.recorder,
            turns: Turns::new(g.total_luns(), WORKERS),
            buffers: BufferPool::new(config.buffers, WORKERS),
            table: RefCell::new(table),
            kept: RefCell::new(kept),
            stats: RefCell::new(TranslationStats { boot, ..TranslationStats::default() }),
            ended: (0..g.total_luns()).map(|_| WaitQueue::with_capacity(1)).collect(),
            booting: Cell::new(WORKERS),
            ready: WaitQueue::with_capacity(WORKERS.into()),
            watcher: RefCell::new(None),
            grown: RefCell::new(vec![0; g.total_luns() as usize].into_boxed_slice()),
        });
        for number in 0..WORKERS {
            drive.core.spawn(Worker::new(&drive, number).run());
        }
        Ok(Rc::new(Running(drive)))
    }
}

/// The running translation, as the rest of the drive sees it.
struct Running(Rc<Drive>);

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        self.0.state()
    }
    fn boot_error(&self) -> Option<String> {
        None
    }
    fn stats(&self) -> TranslationStats {
        *self.0.stats.borrow()
    }
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>) {
        *self.0.watcher.borrow_mut() = Some(watcher);
    }
    /// There are no logical pages.
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        let costs = &self.0.config.costs;
        let charged = [
            (Function::NvmeManager, costs.command + costs.complete),
            (Function::NvmCommandManager, costs.slice),
            (Function::HostDma, costs.dma),
        ];
        charged.into_iter().filter(|(_, cycles)| *cycles > 0).map(|(function, _)| function).collect()
    }
}
