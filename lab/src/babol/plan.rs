//! The experiment file (design §5).

use crate::experiment::{CostFile, ExperimentError, ProfileFile, parse, wrong};
use aster_device::profile::{ControllerName, Profile};
use serde::{Deserialize, Serialize};

const FILE: &str = "experiments/babol.toml";
const TEXT: &str = include_str!("../../../experiments/babol.toml");

/// The experiment's parameters, and the paper's results.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The shipped profile whose package, rate, controller and clock are varied.
    profile: String,
    /// Shipped packages by name.
    pub packages: Vec<String>,
    /// Bus rates in MT/s.
    pub rates_mt_s: Vec<u32>,
    /// The costs of a coroutine's steps: a shipped cost file, by name.
    #[serde(deserialize_with = "named")]
    pub costs: CostFile,
    /// READs of each point of Fig 10.
    pub requests: u64,
    /// READs in flight for each LUN.
    pub requests_per_lun: u16,
    /// Table I.
    pub paper: Paper,
    /// Fig 10.
    pub throughput: Throughput,
    /// Fig 11.
    pub polling: Polling,
    /// Fig 9.
    pub(super) waveform: Waveform,
    /// Table II.
    pub(super) lines: Vec<Lines>,
}

/// Table I.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Page read size.
    pub page_bytes: u32,
    /// tR by package.
    pub read_us: Vec<f64>,
    /// Page transfer time by rate.
    pub transfer_us: Vec<f64>,
}

/// Fig 10.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// LUNs per channel, by package.
    pub luns_max: Vec<u8>,
    /// Core clocks of operations in software.
    pub clocks_mhz: Vec<u32>,
    pub(super) poll_early_ns: u32,
    pub(super) poll_interval_ns: u32,
}

/// Fig 11.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polling {
    pub(super) package: String,
    pub(super) rate_mt_s: u32,
    /// Core clocks.
    pub clocks_mhz: Vec<u32>,
    /// The paper's words: "in the order of 30 µs".
    pub paper_period_us: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Waveform {
    pub(super) package: String,
    pub(super) rate_mt_s: u32,
    pub(super) sectors: u8,
    pub(super) poll_early_ns: u32,
    pub(super) poll_interval_ns: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    pub(super) operation: String,
    pub(super) paper: PaperLines,
    pub(super) functions: Vec<String>,
}

/// Table II's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaperLines {
    /// Hardware, synchronous.
    pub synchronous: u32,
    /// Hardware, asynchronous.
    pub asynchronous: u32,
    /// BABOL's coroutines.
    pub babol: u32,
}

fn named<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<CostFile, D::Error> {
    CostFile::shipped(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

impl Plan {
    /// The shipped experiment file.
    ///
    /// # Errors
    /// When it is wrong, for example when a key or name is unknown.
    pub fn shipped() -> Result<Self, ExperimentError> {
        Self::parse(FILE, TEXT)
    }

    /// The same experiment with a fifth of the READs and two core clocks, the slowest and the fastest.
    pub fn quick(mut self) -> Self {
        self.requests = (self.requests / 5).max(1);
        let clocks = &mut self.throughput.clocks_mhz;
        clocks.sort_unstable();
        clocks.drain(1.min(clocks.len())..clocks.len().saturating_sub(1));
        self
    }

    /// Reads an experiment file; `name` stands for it in errors.
    ///
    /// # Errors
    /// When a key is unknown or missing, or lists that belong together differ in length.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let plan: Plan = parse(name, text)?;
        let packages = plan.packages.len();
        if plan.paper.read_us.len() != packages || plan.throughput.luns_max.len() != packages {
            let reason = "must have a number for each package";
            return Err(wrong(name, format!("paper.read_us and throughput.luns_max: {reason}")));
        }
        if plan.paper.transfer_us.len() != plan.rates_mt_s.len() {
            return Err(wrong(name, "paper.transfer_us: must have a number for each rate"));
        }
        Ok(plan)
    }

    /// The profile with another package and rate.
    ///
    /// # Errors
    /// When there is no such profile or package, or they don't fit together.
    pub(super) fn bench_profile(&self, package: &str, rate_mt_s: u32) -> Result<Profile, ExperimentError> {
        let mut file = ProfileFile::shipped(FILE, &self.profile)?;
        file.put("package.part", package.into())?;
        file.put("channel.rate_mt_s", i64::from(rate_mt_s).into())?;
        file.profile()
    }

    /// As [`Plan::bench_profile`], with operations as coroutines on a core of `clock_mhz` that polls as
    /// Algorithm 2 does.
    ///
    /// # Errors
    /// As [`Plan::bench_profile`].
    pub(super) fn coroutine(
        &self,
        package: &str,
        rate: u32,
        clock_mhz: u32,
    ) -> Result<Profile, ExperimentError> {
        let mut profile = self.bench_profile(package, rate)?;
        profile.channel.controller = ControllerName::Software;
        profile.cores.frequency_mhz = f64::from(clock_mhz);
        profile.costs = self.costs.cycles();
        profile.poll.early_ns = self.throughput.poll_early_ns;
        profile.poll.interval_ns = self.throughput.poll_interval_ns;
        Ok(profile)
    }
}
