//! The experiment file (design §5).

use crate::experiment::{Changes, ExperimentError, ProfileFile, parse, wrong};
use crate::pts;
use aster_device::profile::Profile;
use aster_units::Content;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The shipped experiment file.
const FILE: &str = "experiments/host-ftl.toml";
const TEXT: &str = include_str!("../../../experiments/host-ftl.toml");

/// The experiment's parameters, and what the paper prints.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The shipped profile of the drive.
    profile: String,
    /// Blocks of each LUN, and pages of each block, that the drive uses.
    blocks_per_lun: u32,
    pages_per_block: u16,
    /// Rounds after which a drive counts as not steady.
    pub rounds_max: usize,
    /// Threads of the host.
    pub threads: u32,
    /// Values that the experiment puts in the place of the profile's, by key.
    set: BTreeMap<String, toml::Value>,
    /// Figs 22 to 25.
    pub random: Random,
    /// Figs 23 to 25 before collection begins.
    pub prepared: Prepared,
    /// Figs 26 and 27.
    pub sequential: Sequential,
    /// Figs 30 and 31.
    pub latency: Latency,
    /// Fig 29.
    pub commands: Commands,
    /// Fig 28.
    pub beside: Beside,
    /// Wear over a drive's life.
    pub wear: Wear,
    /// What the paper prints.
    pub paper: Paper,
    /// Values that override the profile's, by key.
    #[serde(skip)]
    changed: Changes,
}

/// Figs 22 to 25.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// The time of a cell, simulated ms.
    pub minute_ms: u32,
    /// Shares of reads, in percent.
    pub reads_percent: Vec<u8>,
    /// KiB of Fig 22's requests, in ascending order.
    pub blocks_kib: Vec<u32>,
    /// Requests that each thread has in flight in Fig 22.
    pub matrix_depth: u32,
    /// The same of Figs 23 to 25, in ascending order.
    pub depths: Vec<u32>,
}

/// Figs 23 to 25 before collection begins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// The time of a cell, simulated ms.
    pub minute_ms: u32,
}

/// Figs 26 and 27.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequential {
    /// The time of a cell, simulated ms.
    pub minute_ms: u32,
    /// KiB of requests, in ascending order.
    pub blocks_kib: Vec<u32>,
    /// Requests that each thread has in flight, in ascending order.
    pub depths: Vec<u32>,
}

/// Figs 30 and 31.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The time of a cell, simulated ms.
    pub minute_ms: u32,
    /// Shares of reads, in percent.
    pub reads_percent: Vec<u8>,
    /// KiB of requests.
    pub blocks_kib: Vec<u32>,
}

/// Fig 29.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Numbers of channels that commands go to, in ascending order.
    pub channels: Vec<u8>,
    /// Commands that each channel gets.
    pub each: u32,
}

/// Fig 28.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// The shipped profile of a drive with an FTL of its own.
    pub profile: String,
    /// Values in the place of the profile's, by key.
    set: BTreeMap<String, toml::Value>,
    /// Requests in flight.
    pub depth: u32,
    /// The time of a cell, simulated ms.
    pub minute_ms: u32,
}

/// Wear over a drive's life.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// The shipped profile of the drive.
    pub profile: String,
    /// Sectors that the host doesn't see, in percent.
    pub over_provisioning_percent: f64,
    /// Cycles after which blocks wear out; each lasts up to a quarter longer.
    pub endurance: u32,
    /// The part of the drive that is written over and over, in percent, from 1 to 100.
    pub hot_percent: u32,
    /// KiB of each write.
    pub block_kib: u32,
    /// T: how many more erases a block may have than another (H27).
    pub window: u32,
}

/// What the paper prints.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Fig 11: how many times as fast the copy of host addresses is by a table (H15).
    pub fig_11_copy_times: f64,
    /// By how many percent the whole move is faster.
    pub fig_11_move_percent: f64,
    /// Fig 22: the range of small requests' IOPS (H36).
    pub fig_22_small_iops: [f64; 2],
    /// Fig 24: 4 KiB writes with 4 requests in flight, with 8 to 128, and with 256 (H38).
    pub fig_24_oio_4_iops: f64,
    /// With 8 to 128.
    pub fig_24_flat_iops: f64,
    /// With 256.
    pub fig_24_oio_256_iops: f64,
    /// Fig 25: the fewest IOPS of 4 KiB reads (H39).
    pub fig_25_least_iops: f64,
    /// The most.
    pub fig_25_most_iops: f64,
    /// The bound with few in flight.
    pub fig_25_low_iops: f64,
    /// Fig 28: by how many percent it is faster than the drive beside (H41).
    pub fig_28_percent: [f64; 2],
    /// Fig 29: by how many percent four channels are better than one (H42).
    pub fig_29_percent: f64,
    /// A page's copy within its plane, to another die, and by the host (H31).
    pub copy_back_us: f64,
    /// To another die.
    pub copy_to_die_us: f64,
    /// By a read and a write.
    pub copy_by_host_us: f64,
    /// By how many percent a copy-back is better than a read and a write.
    pub copy_back_percent: f64,
    /// Fig 27: large sequential reads (H40).
    pub fig_27_mb_per_s: f64,
    /// What the data path carries at the printed clock (H44, G27).
    pub path_mb_per_s: f64,
    /// Erases that wear levelling adds at most, in percent (H26).
    pub wear_extra_percent: f64,
    /// Fig 31: a 4 KiB read (H43).
    pub fig_31_read_us: f64,
    /// A 4 KiB write.
    pub fig_31_write_us: f64,
    /// Fig 30: rounds after which latencies are steady (H43).
    pub fig_30_rounds: usize,
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
    /// When a key is unknown or missing, or a value makes no sense.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let plan: Plan = parse(name, text)?;
        let ascending = |numbers: &[u32]| numbers.is_sorted_by(|a, b| a < b) && numbers.first() > Some(&0);
        for (key, numbers) in [
            ("random.blocks_kib", &plan.random.blocks_kib),
            ("random.depths", &plan.random.depths),
            ("sequential.blocks_kib", &plan.sequential.blocks_kib),
            ("sequential.depths", &plan.sequential.depths),
        ] {
            if !ascending(numbers) {
                return Err(wrong(name, format!("{key}: must be numbers above 0 in ascending order")));
            }
        }
        for (key, reads) in [
            ("random.reads_percent", &plan.random.reads_percent),
            ("latency.reads_percent", &plan.latency.reads_percent),
        ] {
            if !reads.contains(&0) || reads.iter().any(|&percent| percent > 100) {
                return Err(wrong(name, format!("{key}: must be from 0 to 100, and one of them 0")));
            }
        }
        for (key, blocks) in
            [("random.blocks_kib", &plan.random.blocks_kib), ("latency.blocks_kib", &plan.latency.blocks_kib)]
        {
            if !blocks.contains(&4) {
                return Err(wrong(name, format!("{key}: one of them must be 4, which is tracked")));
            }
        }
        for (key, number) in [
            ("threads", plan.threads),
            ("random.matrix_depth", plan.random.matrix_depth),
            ("random.minute_ms", plan.random.minute_ms),
            ("prepared.minute_ms", plan.prepared.minute_ms),
            ("sequential.minute_ms", plan.sequential.minute_ms),
            ("latency.minute_ms", plan.latency.minute_ms),
            ("commands.each", plan.commands.each),
            ("beside.depth", plan.beside.depth),
            ("beside.minute_ms", plan.beside.minute_ms),
            ("wear.endurance", plan.wear.endurance),
            ("wear.hot_percent", plan.wear.hot_percent),
        ] {
            if number == 0 {
                return Err(wrong(name, format!("{key}: must be above 0")));
            }
        }
        if plan.wear.hot_percent > 100 {
            return Err(wrong(name, "wear.hot_percent: must be at most 100".to_owned()));
        }
        if !plan.wear.block_kib.is_multiple_of(4) || !(4..=1024).contains(&plan.wear.block_kib) {
            return Err(wrong(name, "wear.block_kib: must be a multiple of 4 from 4 to 1024".to_owned()));
        }
        if plan.wear.window < 2 {
            return Err(wrong(name, "wear.window: must be at least 2".to_owned()));
        }
        if plan.rounds_max < pts::WINDOW {
            return Err(wrong(name, format!("rounds_max: must be at least {}", pts::WINDOW)));
        }
        Ok(plan)
    }
    /// The name of the profile.
    pub fn profile_name(&self) -> &str {
        &self.profile
    }
    /// The profile, cut down for measurements, with what has been changed.
    ///
    /// # Errors
    /// When there is no profile of that name, or a changed value is wrong.
    pub fn profile(&self) -> Result<Profile, ExperimentError> {
        let mut profile = self.shipped_profile(&self.profile)?;
        profile.restrict.blocks_per_lun = Some(self.blocks_per_lun);
        profile.restrict.pages_per_block = Some(self.pages_per_block);
        Ok(profile)
    }
    /// The drive whose wear is measured, with what has been changed.
    pub(super) fn profile_of_wear(&self) -> Result<Profile, ExperimentError> {
        self.shipped_profile(&self.wear.profile)
    }
    fn shipped_profile(&self, name: &str) -> Result<Profile, ExperimentError> {
        let mut file = ProfileFile::shipped(FILE, name)?;
        let changed = self.changed.iter().map(|(key, value)| (key, value));
        for (key, value) in self.set.iter().chain(changed) {
            file.put(key, value.clone())?;
        }
        file.profile()
    }
    /// The drive of Fig 28 that has an FTL of its own, cut down as quick tests do it.
    pub(super) fn beside(&self) -> Result<pts::Plan, ExperimentError> {
        let name = &self.beside.profile;
        let mut file = ProfileFile::shipped(FILE, name)?;
        for (key, value) in &self.beside.set {
            file.put(key, value.clone())?;
        }
        let profile = file.profile()?;
        let quick = pts::Plan::new(name, profile, pts::Class::Enterprise).quick();
        Ok(pts::Plan { name: name.clone(), ..self.pts(quick.profile) })
    }
    /// SNIA's test on a drive of the experiment.
    pub(super) fn pts(&self, profile: Profile) -> pts::Plan {
        let plan = pts::Plan::new(&self.profile, profile, pts::Class::Enterprise);
        pts::Plan {
            content: Some(Content::Fingerprint),
            // A write of 20 µs has reached no flash (G28).
            write_cache: true,
            rounds_max: self.rounds_max,
            ..plan
        }
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
    /// The same plan with fewer points and shorter cells, for a quick run.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.pages_per_block /= 2;
        self.rounds_max = pts::WINDOW;
        self.random.minute_ms /= 2;
        self.prepared.minute_ms /= 2;
        self.sequential.minute_ms /= 5;
        self.commands.each /= 10;
        self.beside.minute_ms /= 2;
        self.wear.endurance /= 3;
        self.random.reads_percent.retain(|percent| [100, 50, 0].contains(percent));
        self.random.blocks_kib.retain(|kib| [4, 8, 32, 128, 1024].contains(kib));
        self.random.depths.retain(|depth| [1, 2, 4, 16, 32, 64].contains(depth));
        self.sequential.blocks_kib.retain(|kib| [4, 16, 128, 1024].contains(kib));
        self.sequential.depths.retain(|depth| [1, 4, 16, 64].contains(depth));
        self
    }
}
