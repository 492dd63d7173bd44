//! Puts the FTL's parts together and starts its tasks.

use crate::cache::state::Cache;
use crate::checkpoint::error::BootError;
use crate::checkpoint::state::Checkpoint;
use crate::checkpoint::store;
use crate::collector::gc;
use crate::collector::idle_erase;
use crate::collector::scan;
use crate::collector::state::Collector;
use crate::host::intake;
use crate::host::state::Host;
use crate::host::worker;
use crate::journal::log;
use crate::journal::state::Journal;
use crate::mapping::mapped::Mapped;
use crate::mapping::resident::ResidentMap;
use crate::mapping::store::MapStore;
use crate::mapping::{Mapping, MappingPorts};
use crate::recovery::boot;
use crate::recovery::state::Recovery;
use crate::setup::Setup;
use crate::terms::config::{FtlConfig, NVRAM_BYTES};
use crate::terms::config_error::ConfigError;
use crate::terms::oob;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Recorder;
use aster_exec::Core;
use aster_parties::{DriveState, MediaState, NvramSlice, TranslationStats};
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_units::{Lpn, LunIndex, Ppa};

/// Starts drives.
pub struct Ftl;

impl Ftl {
    /// Starts the FTL's tasks on `core`: boot, intake, the slice workers, and garbage collection of each LUN.
    /// All memory is taken here. Commands wait in `host` until the drive has booted.
    ///
    /// # Errors
    /// If the configuration is out of bounds, or `dram`, `flash` or `nvram` is too small for it. Errors found
    /// during boot are reported later, by [`FtlHandle::boot_error`].
    pub fn start(
        core: &Core,
        setup: impl Into<Setup>,
        dram: SharedDram,
        host: Rc<CommandPort>,
        flash: Rc<FlashPort>,
        nvram: NvramSlice,
        recorder: Recorder,
    ) -> Result<FtlHandle, ConfigError> {
        let resident = |ports: MappingPorts<'_>| ResidentMap::new(ports.pages);
        Ftl::start_with(core, setup, dram, host, flash, nvram, recorder, resident)
    }
    /// As [`Ftl::start`], with a mapping of another kind, which `make_mapping` makes.
    ///
    /// # Errors
    /// As for [`Ftl::start`].
    #[expect(clippy::too_many_arguments, reason = "what a translation stands on, each by its own name")]
    pub fn start_with<M: Mapping>(
        core: &Core,
        setup: impl Into<Setup>,
        dram: SharedDram,
        host: Rc<CommandPort>,
        flash: Rc<FlashPort>,
        nvram: NvramSlice,
        recorder: Recorder,
        make_mapping: impl FnOnce(MappingPorts<'_>) -> M,
    ) -> Result<FtlHandle<M>, ConfigError> {
        let mut setup = setup.into();
        let (config, emmc, prefill) = (setup.config, setup.emmc.clone(), setup.prefill.take());
        config.validate()?;
        check_memories(&config, &dram, &nvram)?;
        let (available, needed) = (flash.depth(), config.flash_requests_min());
        if available < needed as usize {
            return Err(ConfigError::Flash { available, needed });
        }
        let shape = config.units();
        flash.check_pages(&dram, Box::new(move |owner, oob| oob::is_whole_page_of(shape, owner, oob)));
        let journal = Rc::new(Journal::new(core, setup, dram, flash, nvram, recorder.clone()));
        let pages = journal.own.all_units();
        let map = make_mapping(MappingPorts {
            core,
            pages,
            pins: config.pins(),
            store: MapStore(Rc::clone(&journal)),
            recorder: &recorder,
        });
        let mapping = Rc::new(Mapped::new(Rc::clone(&journal), map));
        let cache = Rc::new(Cache::new(Rc::clone(&host), &mapping));
        let collector = Rc::new(Collector::new(&mapping));
        let checkpoint = Rc::new(Checkpoint::new(Rc::clone(&collector), &mapping, emmc));
        let recovery = Rc::new(Recovery::new(&checkpoint, prefill));
        let host = Rc::new(Host::new(host, Rc::clone(&checkpoint), Rc::clone(&cache)));
        boot::start(&recovery);
        core.spawn(intake::run(Rc::clone(&host)));
        core.spawn(log::run(Rc::clone(&journal.log_writer)));
        core.spawn(store::run_checkpoints(Rc::clone(&checkpoint)));
        core.spawn(scan::run(Rc::clone(&collector)));
        core.spawn(idle_erase::run(Rc::clone(&collector)));
        for worker in 0..config.host.slice_workers {
            core.spawn(worker::run(Rc::clone(&host), worker));
        }
        mapping.map().start();
        for lun in 0..config.geometry.total_luns() {
            core.spawn(gc::run(Rc::clone(&collector), LunIndex(lun)));
        }
        Ok(FtlHandle(Parts { host, recovery, checkpoint, collector, cache, mapping, journal }))
    }
}

fn check_memories(config: &FtlConfig, dram: &SharedDram, nvram: &NvramSlice) -> Result<(), ConfigError> {
    let dram = dram.borrow();
    let check = |ok, what| if ok { Ok(()) } else { Err(ConfigError::Dram { what }) };
    check(dram.data_buffers() >= config.buffers().data(), "has fewer data buffers than the FTL needs")?;
    check(
        dram.metadata_buffers() >= config.buffers().metadata(),
        "has fewer metadata buffers than the FTL needs",
    )?;
    check(dram.content() == config.content, "keeps content in another way than the FTL")?;
    check(
        dram.sectors() == usize::from(config.geometry.sectors_per_page()),
        "has buffers of another page size",
    )?;
    check(
        dram.oob(dram.metadata_buffer(0)).len() >= config.oob_bytes(),
        "has fewer OOB bytes a buffer than a page's record takes",
    )?;
    let available = nvram.size();
    if available < NVRAM_BYTES { Err(ConfigError::Nvram { available }) } else { Ok(()) }
}

/// The parts of a running FTL: each holds those below it.
pub(crate) struct Parts<M: Mapping> {
    #[cfg_attr(not(test), expect(dead_code, reason = "its tasks hold it"))]
    pub(crate) host: Rc<Host<M>>,
    pub(crate) recovery: Rc<Recovery<M>>,
    pub(crate) checkpoint: Rc<Checkpoint<M>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "its tasks hold it"))]
    pub(crate) collector: Rc<Collector<M>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "the host's side holds it"))]
    pub(crate) cache: Rc<Cache<M>>,
    pub(crate) mapping: Rc<Mapped<M>>,
    pub(crate) journal: Rc<Journal>,
}

/// A running FTL.
pub struct FtlHandle<M: Mapping = ResidentMap>(Parts<M>);

impl<M: Mapping> FtlHandle<M> {
    /// What the FTL has done.
    pub fn stats(&self) -> TranslationStats {
        self.0.journal.runtime().stats()
    }
    /// What the drive can do.
    pub fn state(&self) -> DriveState {
        self.0.journal.runtime().state()
    }
    /// Calls `watcher` whenever a block goes bad or is about to, the drive becomes read-only, or many more
    /// blocks have been erased.
    pub fn watch_media(&self, watcher: impl Fn(MediaState) + 'static) {
        self.0.journal.health.watch_media(Box::new(watcher));
    }
    /// Why the drive could not boot.
    pub fn boot_error(&self) -> Option<BootError> {
        self.0.recovery.boot_error()
    }
    /// The share that is done of filling the drive, while that is under way.
    pub fn filled_share(&self) -> Option<f64> {
        self.0.recovery.filled_share()
    }
    /// Pages' worth of mapping units that the host sees.
    pub fn logical_pages(&self) -> u32 {
        self.0.journal.own.logical_pages()
    }
    /// The page in which a logical unit is; `None` when it is unmapped or beyond the capacity, or when the
    /// mapping would have to wait for its entry.
    pub fn location_of(&self, lpn: Lpn) -> Option<Ppa> {
        let mapped = lpn.0 < self.0.journal.own.host_units();
        let pin = mapped.then(|| self.0.mapping.try_pin(lpn)).flatten()?;
        let at = Some(self.0.mapping.get(&pin)).filter(|at| at.is_some());
        at.map(|at| {
            self.0.journal.runtime().config.planes().page_in_lun(self.0.journal.runtime().units.page_of(at))
        })
    }
    /// The number of blocks at the beginning of each LUN that belong to the log. It needs two good ones in
    /// all.
    pub fn log_blocks_per_lun(&self) -> u32 {
        self.0.journal.runtime().config.areas().log_blocks_per_lun() as u32
    }
    /// Erased blocks of a LUN that are ready to be written.
    pub fn free_blocks(&self, lun: LunIndex) -> usize {
        self.0.journal.blocks().table().free.len(lun)
    }
    /// Mapping units that the host sees.
    pub(crate) fn host_units(&self) -> u32 {
        self.0.journal.own.host_units()
    }
    /// Mapping units on flash that must not be lost: mapped units, including the map's own, and units that
    /// would be mapped again if a loss of power undid their replacements.
    pub(crate) fn valid_units(&self) -> u64 {
        self.0.journal.blocks().table().valid.in_all()
    }
    /// The counters of the mapping and of its directory's copies.
    pub(crate) fn mapping_counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.0.mapping.map().counters(each);
        self.0.checkpoint.copy_counters(each);
    }
    pub(crate) fn config(&self) -> &FtlConfig {
        &self.0.journal.runtime().config
    }
    #[cfg(test)]
    pub(crate) fn parts(&self) -> &Parts<M> {
        &self.0
    }
}
