//! The experiment file (design §5).

use crate::experiment::{Changes, ExperimentError, ProfileFile};
use aster_device::profile::Profile;
use serde::{Deserialize, Serialize};

/// The shipped experiment file.
pub(super) const FILE: &str = "experiments/cosmos.toml";

/// The experiment's parameters, and the paper's results.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The shipped profile that is varied.
    profile: String,
    /// Fig 32: the shipped profile with one-shot programs.
    one_shot_profile: String,
    /// Blocks of each LUN that the drives use (C31).
    pub blocks_per_lun: u32,
    /// Requests of the point with the most outstanding, and pages of the point with the most LUNs; other
    /// points have fewer.
    pub requests: u64,
    /// Figs 21 and 22: channels of the drives.
    pub channels: Vec<u16>,
    /// Figs 21 and 22, BABOL's Fig 12: ways.
    pub ways: Vec<u8>,
    /// Fig 22: over how many times the data buffer's pages requests are spread.
    pub random_buffers: u64,
    /// Figs 25 and 26: KiB of a request.
    pub sizes_kib: Vec<u32>,
    /// Figs 25 and 26: requests of each size.
    pub single_requests: u64,
    /// Fig 27: channels, and as many ways.
    pub squares: Vec<u8>,
    /// Fig 27: clocks of the core.
    pub clocks_mhz: Vec<u32>,
    /// Fig 30: program/erase cycles at which errors are counted.
    pub cycles: Vec<u32>,
    /// Fig 30: blocks that hold each pattern.
    pub pattern_blocks: u32,
    /// Fig 30: what was fitted to it.
    pub interference: Interference,
    /// The paper's numbers.
    pub paper: Paper,
    /// Values that override the profiles', by key.
    #[serde(skip)]
    changed: Changes,
}

/// The coupling between the package's cells: keys of `[package.errors]`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// Lift by all neighbours, in millivolts per thousand cycles.
    pub coupling_mv: f64,
    /// The share of each level's errors that a lift makes.
    pub lifted: Vec<f64>,
}

/// The paper's numbers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Table 5.
    pub table_5: Table5,
    /// Table 7.
    pub table_7: PaperTable7,
    /// Fig 21, what the text says of it (C58).
    pub fig_21: PaperFig21,
    /// Section 7.1 (C78, C79).
    pub clock: PaperClock,
    /// Section 7.3 (C82).
    pub fig_30: PaperFig30,
    /// Section 7.4 (C84).
    pub fig_32: PaperFig32,
    /// BABOL's Fig 12 (B26).
    pub babol_12: PaperBabol12,
}

/// The text's statements about Fig 30.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFig30 {
    /// The largest reduction of bit errors by a scrambler at the most cycles, percent.
    pub reduction_percent: f64,
    /// The pattern for which a scrambler doesn't help.
    pub unaffected: String,
}

/// The text's statements about Fig 32's package.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFig32 {
    /// tPROG of a word line, µs.
    pub one_shot_us: f64,
}

/// 8 channels of 8 ways, MB/s.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFig21 {
    /// Reads.
    pub read: f64,
    /// Writes, MLC mode.
    pub write_mlc: f64,
}

/// Section 7.1: percent.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperClock {
    /// The issuer's share of the firmware's time.
    pub issuer_percent: f64,
    /// The status checker's.
    pub status_percent: f64,
    /// Lost at most by 2 channels of 2 ways from 1,000 to 200 MHz.
    pub loss_2_percent: f64,
    /// Lost at most by 8 of 8, reads.
    pub loss_8_read_percent: f64,
    /// Lost at most by 8 of 8, writes.
    pub loss_8_write_percent: f64,
}

/// How much slower BABOL's coroutines are at most than the controller in hardware, with 8 LUNs, percent,
/// and the package's tR.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperBabol12 {
    /// tR, µs.
    pub read_us: f64,
    /// One after the other.
    pub sequential_percent: f64,
    /// At random.
    pub random_percent: f64,
}

/// Table 5's latencies, µs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Table5 {
    /// Read, SLC mode.
    pub slc_read_us: f64,
    /// Write, SLC mode.
    pub slc_program_us: f64,
    /// Read, MLC mode: LSB and MSB pages.
    pub mlc_read_us: [f64; 2],
    /// Write, MLC mode.
    pub mlc_program_us: [f64; 2],
    /// Erase.
    pub erase_us: f64,
}

/// Table 7, µs; rows as in [`super::Table7`].
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable7 {
    /// Columns.
    pub outstanding: Vec<u32>,
    /// System latency.
    pub system: [Vec<f64>; 4],
    /// Host interface controller.
    pub hic: [Vec<f64>; 4],
    /// Firmware.
    pub firmware: [Vec<f64>; 4],
    /// Storage controller.
    pub storage: [Vec<f64>; 4],
}

impl Plan {
    /// The profile that is varied.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn profile(&self) -> Result<Profile, ExperimentError> {
        self.profile_file(&self.profile)?.profile()
    }
    /// The profile with one-shot programs.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn one_shot_profile(&self) -> Result<Profile, ExperimentError> {
        self.profile_file(&self.one_shot_profile)?.profile()
    }
    /// The names of both.
    pub fn profiles(&self) -> [&str; 2] {
        [&self.profile, &self.one_shot_profile]
    }
    /// A profile's file, with what has been changed.
    pub(super) fn profile_file(&self, name: &str) -> Result<ProfileFile, ExperimentError> {
        let mut file = ProfileFile::shipped(FILE, name)?;
        // A package's values are in its own file. A changed value applies to the package of the varied
        // profile.
        let is_varied = name == self.profile;
        for (key, value) in self.changed.iter().filter(|(key, _)| is_varied || !key.starts_with("package.")) {
            file.put(key, value.clone())?;
        }
        Ok(file)
    }
    /// What takes the place of the profiles' values, by keys.
    pub(super) fn changes(&self) -> &Changes {
        &self.changed
    }
    /// The same plan with other values in its profiles, by keys with their tables. Keys of `package` apply
    /// only to the varied profile.
    #[must_use]
    pub fn changed(&self, values: Changes) -> Self {
        Plan { changed: values, ..self.clone() }
    }
    /// The same plan with a quarter of the requests and fewer points, for a quick run. Curves keep at
    /// least three points.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.requests /= 4;
        self.channels.retain(|channels| [1, 8].contains(channels));
        self.random_buffers = 8;
        self.sizes_kib.retain(|kib| [64, 256, 1024].contains(kib));
        self.single_requests = 8;
        self.squares.retain(|square| [2, 8].contains(square));
        self.clocks_mhz.retain(|mhz| [200, 400, 1000].contains(mhz));
        self.cycles.retain(|cycles| [0, 1000, 3000, 5000].contains(cycles));
        self.pattern_blocks = 1;
        self
    }
}
