//! The page-mapping FTL as one of a drive's possible translations.

use crate::checkpoint::directory_copies;
use crate::journal::root::Root;
use crate::mapping::demand::DemandMap;
use crate::mapping::resident::ResidentMap;
use crate::mapping::{Mapping, MappingPorts};
use crate::setup::Setup;
use crate::start::{Ftl, FtlHandle};
use crate::terms::config::{FtlConfig, FtlCosts, HostConfig, NVRAM_BYTES};
use crate::terms::config_error::ConfigError;
use crate::terms::map_cache::MapKind;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_events::Function;
use aster_parties::{
    DamagedRecord, DriveState, MediaState, NvramSlice, PieceError, Placement, PreferredWrites, StreamPolicy,
    Translation, TranslationNeeds, TranslationPorts, TranslationStats, TranslationView, VictimPolicy,
};
use aster_units::{Lpn, LunIndex, Ppa};

/// Starts an FTL with a custom mapping.
type StartWith = Box<dyn FnOnce(Setup, TranslationPorts) -> Result<Rc<dyn TranslationView>, ConfigError>>;

/// The page-mapping FTL before it is started.
pub struct PageMapping {
    setup: Setup,
    // `None` for a built-in mapping, which the configuration names.
    start: Option<StartWith>,
}

impl PageMapping {
    /// An FTL with this configuration. When it starts it is told how many commands there are at once, and
    /// whether they are completed early. It collects greedily and places channel first.
    ///
    /// # Errors
    /// When the configuration is out of bounds.
    pub fn new(config: FtlConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(PageMapping { setup: Setup::from(config), start: None })
    }
    /// As [`PageMapping::new`], with a mapping made by `make` in place of the one that the configuration
    /// names. It may keep its map in memory or anywhere else except on the drive's flash: there checkpoints
    /// store it as a whole, and the log has the changes since.
    #[must_use]
    pub fn mapped_by<M: Mapping>(self, make: impl FnOnce(MappingPorts<'_>) -> M + 'static) -> Self {
        const { assert!(M::STORES_UNITS, "checkpoints store the places of all units, from this mapping") };
        let start: StartWith = Box::new(|setup, ports| Ok(Rc::new(start_with(setup, ports, make)?)));
        PageMapping { start: Some(start), ..self }
    }
    /// As [`PageMapping::new`], with other policies and another placement.
    ///
    /// # Errors
    /// If the placement crowds pages on some LUNs, or names a LUN that doesn't exist.
    pub fn deciding(
        self,
        victims: Box<dyn VictimPolicy>,
        streams: Box<dyn StreamPolicy>,
        placement: &dyn Placement,
    ) -> Result<Self, PieceError> {
        let setup = Setup::new(self.setup.config, victims, placement)?.with_streams(streams);
        Ok(PageMapping { setup, ..self })
    }
}

fn start_with<M: Mapping>(
    setup: Setup,
    ports: TranslationPorts,
    make: impl FnOnce(MappingPorts<'_>) -> M,
) -> Result<FtlHandle<M>, ConfigError> {
    let TranslationPorts { core, commands, flash, buffers, nvram, recorder, .. } = ports;
    Ftl::start_with(&core, setup, buffers, commands, flash, nvram, recorder, make)
}

impl Translation for PageMapping {
    fn needs(&self) -> TranslationNeeds {
        let config = &self.setup.config;
        TranslationNeeds {
            data_buffers: config.buffers().data(),
            metadata_buffers: config.buffers().metadata(),
            nvram_bytes: NVRAM_BYTES,
            emmc_bytes: directory_copies::bytes_of(config),
            flash_requests: config.flash_requests(),
        }
    }
    fn capacity_bytes(&self) -> u64 {
        self.setup.config.logical_pages() * u64::from(self.setup.config.geometry.page_bytes)
    }
    fn preferred_writes(&self) -> Option<PreferredWrites> {
        let config = &self.setup.config;
        let told =
            PreferredWrites { granularity_bytes: config.unit_bytes(), optimal_bytes: config.program_bytes() };
        (config.mapping_unit_bytes != 0).then_some(told)
    }
    fn can_be_filled(&self) -> Result<(), PieceError> {
        let config = &self.setup.config;
        let refuse =
            |key, what: &str| Err(PieceError::new(key, format!("must be {what} to fill a drive at once")));
        if matches!(config.map, MapKind::DemandPaged(_)) {
            return refuse("ftl.mapping", "\"resident\"");
        }
        match config.streams {
            0 | 1 => Ok(()),
            _ => refuse("ftl.streams", "1"),
        }
    }
    fn damaged_records(&self, nvram: &NvramSlice) -> Vec<DamagedRecord> {
        let copies = Root::damaged_copies(nvram);
        let instead = match copies.iter().all(|(_, is_damaged)| *is_damaged) {
            true => "neither is whole: the drive recovers from its NAND alone",
            false => "the other is used",
        };
        let names = ["copy 1 of 2 of the root record", "copy 2 of 2 of the root record"];
        let damaged = copies.into_iter().zip(names).filter(|((_, is_damaged), _)| *is_damaged);
        damaged.map(|((at, _), what)| DamagedRecord { at, what, instead }).collect()
    }
    fn start(self: Box<Self>, mut ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let PageMapping { setup, start } = *self;
        let config = FtlConfig {
            host: HostConfig {
                command_slots: ports.command_slots,
                auto_completion: ports.completes_early,
                ..setup.config.host
            },
            ..setup.config
        };
        let TranslationPorts { emmc, prefill, .. } = &mut ports;
        let setup = Setup { config, emmc: emmc.clone(), prefill: prefill.take(), ..setup };
        let start = start.unwrap_or_else(|| match config.map {
            MapKind::Resident => Box::new(|setup, ports| {
                let resident = |ports: MappingPorts<'_>| ResidentMap::new(ports.pages);
                Ok(Rc::new(start_with(setup, ports, resident)?))
            }),
            MapKind::DemandPaged(_) => {
                Box::new(|setup, ports| Ok(Rc::new(start_with(setup, ports, DemandMap::new)?)))
            }
        });
        start(setup, ports).map_err(|error| PieceError::new("ftl", error))
    }
}

impl<M: Mapping> TranslationView for FtlHandle<M> {
    fn state(&self) -> DriveState {
        FtlHandle::<M>::state(self)
    }
    fn boot_error(&self) -> Option<String> {
        FtlHandle::<M>::boot_error(self).map(|error| error.to_string())
    }
    fn filled_share(&self) -> Option<f64> {
        FtlHandle::<M>::filled_share(self)
    }
    fn stats(&self) -> TranslationStats {
        FtlHandle::<M>::stats(self)
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("log_blocks_per_lun", self.log_blocks_per_lun().into());
        let luns = self.config().geometry.total_luns();
        let free = || (0..luns).map(|lun| self.free_blocks(LunIndex(lun)) as u64);
        each("free_blocks", free().sum());
        each("free_blocks_least", free().min().unwrap_or(0));
        each("host_units", self.host_units().into());
        each("valid_units", self.valid_units());
        self.mapping_counters(each);
    }
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>) {
        FtlHandle::<M>::watch_media(self, watcher);
    }
    fn location_of(&self, page: Lpn) -> Option<Ppa> {
        FtlHandle::<M>::location_of(self, page)
    }
    fn functions(&self) -> Vec<Function> {
        let FtlCosts { command, slice, translate, buffer, dma, complete, move_page, replay } =
            self.config().costs;
        let charged = [
            (Function::NvmeManager, command + complete),
            (Function::NvmCommandManager, slice),
            (Function::DataBufferManager, buffer),
            (Function::AddressTranslator, translate),
            (Function::HostDma, dma),
            (Function::GarbageCollector, move_page),
            (Function::Recovery, replay),
        ];
        charged.into_iter().filter(|(_, cycles)| *cycles > 0).map(|(function, _)| function).collect()
    }
}
