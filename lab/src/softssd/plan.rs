//! The experiment file (design §5).

use super::costs;
use crate::experiment::{Changes, ExperimentError, ProfileFile, parse, wrong};
use aster_device::profile::{BoardProfile, Profile};
use serde::{Deserialize, Serialize};

/// The shipped experiment file.
const FILE: &str = "experiments/softssd.toml";
const TEXT: &str = include_str!("../../../experiments/softssd.toml");

/// The experiment's parameters, and what the paper prints.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The shipped profile.
    profile: String,
    /// Blocks of each LUN that the drives use.
    pub blocks_per_lun: u32,
    /// Page buffers of the write cache.
    pub buffer_entries: u32,
    /// Figs 8 and 9: threads, in ascending order.
    pub threads: Vec<u32>,
    /// Bytes of a sequential read.
    pub sequential_read_bytes: u32,
    /// Bytes of every other request.
    pub request_bytes: u32,
    /// MiB that each point of Figs 8 and 9 reads.
    pub reads_mib: u32,
    /// Fig 10: requests at each number of threads.
    pub phase_requests: u64,
    /// Fig 11: requests at each host interface.
    pub host_requests: u64,
    /// The profile whose register accesses take as long as those to the FIFO of NVMe in hardware.
    registers_of: String,
    /// Throughput by the size of the map's cache.
    pub map_cache: MapCachePlan,
    /// What the paper prints.
    pub paper: Paper,
    /// Values that override the profile's, by key.
    #[serde(skip)]
    changed: Changes,
}

/// Throughput by the part of the map that memory has.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MapCachePlan {
    /// The cache in percent of the whole map, in ascending order.
    pub percent: Vec<f64>,
    /// Channels of the drive.
    pub channels: u16,
    /// Chips of each.
    pub ways: u8,
    /// Blocks of each LUN.
    pub blocks_per_lun: u32,
    /// Pages that the data buffer holds.
    pub buffer_entries: u32,
    /// Requests of a page each at each point.
    pub requests: u64,
    /// Requests outstanding.
    pub outstanding: u32,
    /// The exponent of the skewed patterns.
    pub zipf: f64,
}

/// What the paper prints.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Table 2.
    pub table_2: PaperTable2,
    /// Fig 10, with one thread.
    pub fig_10: PaperFig10,
    /// Fig 11.
    pub fig_11: PaperFig11,
}

/// Table 2.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable2 {
    /// Capacity, 10¹² bytes.
    pub capacity_tb: f64,
    /// Mapping table cache, MiB.
    pub mapping_cache_mib: f64,
    /// Write cache, MiB.
    pub write_cache_mib: f64,
    /// Channels.
    pub channels: f64,
    /// Chips per channel.
    pub chips_per_channel: f64,
    /// NVMe I/O queues.
    pub io_queues: f64,
    /// NVMe queue depth.
    pub queue_depth: f64,
    /// Page size, bytes.
    pub page_bytes: f64,
    /// OOB bytes of a page.
    pub oob_bytes: f64,
    /// Pages per block.
    pub pages_per_block: f64,
    /// Blocks per plane.
    pub blocks_per_plane: f64,
    /// Planes per die.
    pub planes_per_die: f64,
    /// Dies per chip.
    pub dies_per_chip: f64,
}

/// Fig 10 with one thread, µs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFig10 {
    /// Transfer of a page that is read.
    pub read_transfer_us: f64,
    /// Transfer of a page that is written.
    pub write_transfer_us: f64,
    /// Read command.
    pub read_command_us: f64,
}

/// Fig 11.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFig11 {
    /// Commands per second with the host interface in software.
    pub software_per_second: f64,
    /// How many times as many in hardware.
    pub hardware_times: f64,
}

impl Plan {
    /// The shipped experiment file.
    ///
    /// # Errors
    /// When it is wrong, for example when a key or name is unknown.
    pub fn shipped() -> Result<Self, ExperimentError> {
        Self::parse(FILE, TEXT)
    }
    /// Reads an experiment file; `name` stands for it in errors.
    ///
    /// # Errors
    /// When a key is unknown or missing, or the profile doesn't have the numbers of
    /// costs/softssd.toml.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let plan: Plan = parse(name, text)?;
        if plan.threads.is_empty() || !plan.threads.is_sorted_by(|a, b| a < b) || plan.threads[0] == 0 {
            return Err(wrong(name, "threads: must be numbers above 0 in ascending order"));
        }
        let percent = &plan.map_cache.percent;
        if percent.is_empty() || !percent.is_sorted_by(|a, b| a < b) || percent[0] <= 0.0 {
            return Err(wrong(name, "map_cache.percent: must be numbers above 0 in ascending order"));
        }
        if plan.registers()?.buses.register_cycles == 0.0 {
            return Err(wrong(
                name,
                "registers_of: must be a profile whose board.buses.register_cycles is above 0",
            ));
        }
        costs::check(&plan.profile)?;
        Ok(plan)
    }
    /// The profile as the paper describes the drive, with what has been changed.
    ///
    /// # Errors
    /// When there is no profile of that name, or a changed value is wrong.
    pub fn profile(&self) -> Result<Profile, ExperimentError> {
        let mut file = ProfileFile::shipped(FILE, &self.profile)?;
        for (key, value) in &self.changed {
            file.put(key, value.clone())?;
        }
        file.profile()
    }
    /// The profile, cut down for measurements.
    ///
    /// # Errors
    /// As [`Plan::profile`].
    pub(super) fn small_profile(&self) -> Result<Profile, ExperimentError> {
        let mut profile = self.profile()?;
        profile.restrict.blocks_per_lun = Some(self.blocks_per_lun);
        profile.package.factory_bad_per_mille = 0;
        profile.ftl.over_provisioning_percent = profile.ftl.over_provisioning_percent.max(60.0);
        profile.ftl.buffer_entries = self.buffer_entries;
        Ok(profile)
    }
    /// The board whose register accesses take time.
    fn registers(&self) -> Result<BoardProfile, ExperimentError> {
        Ok(ProfileFile::shipped(FILE, &self.registers_of)?.profile()?.board)
    }
    /// Gives `profile` registers that take time (S35), unless it has some.
    ///
    /// # Errors
    /// When there is no profile of the name in the plan.
    pub(super) fn put_registers(&self, profile: &mut Profile) -> Result<(), ExperimentError> {
        let (buses, of) = (&mut profile.board.buses, self.registers()?.buses);
        if buses.register_cycles == 0.0 {
            (buses.processor_mhz, buses.central_mhz) = (of.processor_mhz, of.central_mhz);
            (buses.control_mhz, buses.register_cycles) = (of.control_mhz, of.register_cycles);
        }
        Ok(())
    }
    /// The name of the profile.
    pub fn profile_name(&self) -> &str {
        &self.profile
    }
    /// What takes the place of the profile's values, by keys.
    pub(super) fn changes(&self) -> &Changes {
        &self.changed
    }
    /// The same plan with other values in its profile, by keys with their tables.
    #[must_use]
    pub fn changed(&self, values: Changes) -> Self {
        Plan { changed: values, ..self.clone() }
    }
    /// The same plan with fewer points and requests, for a quick run.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.buffer_entries /= 4;
        self.threads.retain(|threads| [1, 4, 16, 32].contains(threads));
        self.reads_mib /= 4;
        self.phase_requests /= 4;
        self.host_requests /= 4;
        self.map_cache.percent.retain(|percent| [7.0, 35.0, 100.0].contains(percent));
        self.map_cache.requests /= 4;
        self
    }
    /// The same plan with few requests in Fig 10. With one thread all of them take the same.
    pub(super) fn of_few_requests(&self) -> Self {
        Plan { buffer_entries: 256, reads_mib: 16, phase_requests: 128, ..self.clone() }
    }
    /// The most threads.
    pub(super) fn most_threads(&self) -> u32 {
        self.threads.last().copied().unwrap_or(1)
    }
}
