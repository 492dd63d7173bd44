//! `aster pts`.

use super::ContentArg;
use aster_lab::pts::{Class, Test};
use aster_units::Duration;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const PTS_EXAMPLES: &str = "\
Examples:
  aster pts tiny --quick
  aster pts tiny --test iops,wsat --out figures
  aster pts tiny --test iops --json > iops.json
  aster pts pocket-ocssd --class client
  aster pts host-ftl --set restrict.channels=8 --set restrict.blocks_per_lun=48 --test iops
  aster pts ideal --set restrict.blocks_per_lun=32 --content fingerprint --minute 0.5";

#[derive(Args, Debug)]
pub(crate) struct PtsArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; each test writes the drive over several
    /// times, so small ones are done sooner
    pub(crate) profile: PathBuf,
    /// The tests, separated by commas
    #[arg(long, value_name = "TESTS", value_delimiter = ',', default_value = "iops,throughput,latency,wsat")]
    pub(crate) test: Vec<TestArg>,
    /// Whose rules apply: they set threads, depth, active range and write cache
    #[arg(long, value_name = "CLASS", default_value = "enterprise")]
    pub(crate) class: ClassArg,
    /// Threads of iops and wsat [default: 4 of enterprise, 2 of client]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) threads: Option<u32>,
    /// Requests that each of these threads has in flight [default: 32 of enterprise, 16 of client]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4095))]
    pub(crate) depth: Option<u32>,
    /// The part of the drive that the tests use, in percent [default: 100 of enterprise, 75 of client]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) active_range: Option<u8>,
    /// The drive's volatile write cache [default: off for enterprise, on for client]
    #[arg(long, value_name = "STATE")]
    pub(crate) write_cache: Option<WriteCacheArg>,
    /// Simulated seconds of a cell [default: 60, scaled with the drive]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) minute: Option<Duration>,
    /// Rounds after which a drive counts as not steady
    #[arg(long, value_name = "N", default_value_t = 25,
        value_parser = clap::value_parser!(u16).range(5..=1000))]
    pub(crate) rounds: u16,
    /// The same steps in less time: fewer mixes and sizes, the shortest cells, and at most 4 GiB of flash
    #[arg(long)]
    pub(crate) quick: bool,
    /// What pages keep: every byte, or one tag per 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Seed of the addresses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the figures to this folder, each as SVG and PNG and its numbers beside it as CSV; it is made
    /// when there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestArg {
    /// Requests per second, by mix of reads and writes and block size
    Iops,
    /// MB/s of large sequential requests
    Throughput,
    /// Mean and longest times of requests that are alone
    Latency,
    /// Write saturation: random writes from a purged drive on, until it has been written four times
    Wsat,
}

impl From<TestArg> for Test {
    fn from(test: TestArg) -> Test {
        match test {
            TestArg::Iops => Test::Iops,
            TestArg::Throughput => Test::Throughput,
            TestArg::Latency => Test::Latency,
            TestArg::Wsat => Test::WriteSaturation,
        }
    }
}

/// A class of drives.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClassArg {
    /// 4 threads of 32 requests, the write cache off, the whole drive
    Enterprise,
    /// 2 threads of 16 requests, the write cache on, 75 % of the drive
    Client,
}

impl From<ClassArg> for Class {
    fn from(class: ClassArg) -> Class {
        match class {
            ClassArg::Enterprise => Class::Enterprise,
            ClassArg::Client => Class::Client,
        }
    }
}

/// What becomes of the write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteCacheArg {
    /// Writes are complete when the drive has their data
    On,
    /// Writes are complete when flash has their data
    Off,
}

/// Takes `--minute` apart.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (1e-3..=3600.0).contains(&seconds) => Ok(Duration::from_nanos_f64(seconds * 1e9)),
        _ => Err("expected simulated seconds from 0.001 to 3600".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_a_number_of_sensible_size() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for refused in ["0", "-1", "NaN", "inf", "1e9", "", "soon"] {
            assert!(seconds(refused).is_err(), "{refused}");
        }
    }
}
