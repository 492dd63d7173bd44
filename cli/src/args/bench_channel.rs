//! `aster bench-channel`.

use super::ContentArg;
use crate::operation::OperationArg;
use aster_device::profile::ControllerName;
use aster_run_bench::Pattern;
use aster_units::Duration;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const BENCH_CHANNEL_EXAMPLES: &str = "\
Examples:
  aster bench-channel                                              8 LUNs of cosmos-plus, sequential reads
  aster bench-channel --package toshiba --controller synchronous --rate 100 --luns 4
  aster bench-channel --controller asynchronous --operation mixed --pattern random --seconds 0.5
  aster bench-channel --profile my-drive.toml --set package.read_us=[40,60] --sectors 1 --json
  aster bench-channel --luns 2 --depth 2 --requests 2 --wave two-reads.svg
  aster bench-channel --package tlc-3d --operation erase-suspend --luns 4

Exit status: 0 when every request succeeded, 1 when one failed, 2 for mistakes in the \
command line or profile, 130 when
it was interrupted.";

#[derive(Args, Debug)]
pub(crate) struct BenchChannelArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file: its package, bus and controller are used
    #[arg(long, value_name = "PROFILE", default_value = "cosmos-plus")]
    pub(crate) profile: PathBuf,
    /// A shipped package in the place of the profile's own, such as hynix, toshiba or micron (BABOL's Table
    /// I)
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// LUNs on the channel, whatever the profile's number
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=128))]
    pub(crate) luns: u8,
    /// Transfers per second on the data bus, in millions [default: what the profile says]
    #[arg(long, value_name = "MT/s", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rate: Option<u32>,
    /// What drives the channel [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) controller: Option<ControllerArg>,
    /// What to request; from read-cache on, only flash operations in software can do it
    #[arg(long, value_name = "KIND", default_value = "read")]
    pub(crate) operation: OperationArg,
    /// Which pages are addressed: LUN after LUN and page after page, or at random
    #[arg(long, value_name = "KIND", default_value = "sequential")]
    pub(crate) pattern: PatternArg,
    /// 4 KiB sectors of a page that each read transfers [default: the whole page]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub(crate) sectors: Option<u8>,
    /// Requests [default: 10000, or without end with --seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Send no more requests after this much simulated time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,
    /// Requests in flight, or page buffers of flash operations [default: four per LUN]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) depth: Option<u16>,
    /// What pages keep: every byte, or one tag per 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Hours that pass for the cells before the measurement: charge leaks, and reads find more wrong bits
    #[arg(long, value_name = "HOURS", default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) age: u32,
    /// Read at this row of the package's level table, set by SET FEATURES (READ RETRY)
    #[arg(long, value_name = "ROW")]
    pub(crate) read_level: Option<u8>,
    /// Seed of the random pattern
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the ONFI waveforms of the first requests, one per LUN, to this file: VCD, or when it ends in
    /// .svg a picture with its changes beside it as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
    /// Override a key of the profile, such as poll.interval_ns=500; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ControllerArg {
    /// Flash operations in software, on a core
    Software,
    /// In hardware: an operation module per LUN, and an arbiter (BABOL, Fig 4)
    Synchronous,
    /// In hardware: control words, filters and a dispatcher (Cosmos+)
    Asynchronous,
}

impl From<ControllerArg> for ControllerName {
    fn from(controller: ControllerArg) -> ControllerName {
        match controller {
            ControllerArg::Software => ControllerName::Software,
            ControllerArg::Synchronous => ControllerName::Synchronous,
            ControllerArg::Asynchronous => ControllerName::Asynchronous,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PatternArg {
    /// LUN after LUN, page after page
    Sequential,
    /// Any LUN; reads of any page
    Random,
}

impl From<PatternArg> for Pattern {
    fn from(pattern: PatternArg) -> Pattern {
        match pattern {
            PatternArg::Sequential => Pattern::Sequential,
            PatternArg::Random => Pattern::Random,
        }
    }
}

/// Takes `--seconds` apart.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (1e-6..=1e6).contains(&seconds) => Ok(Duration::from_nanos_f64(seconds * 1e9)),
        _ => Err("expected simulated seconds from 0.000001 to 1000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_number_of_sensible_size() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for refused in ["0", "-1", "NaN", "inf", "1e9", "", "soon"] {
            assert!(seconds(refused).is_err(), "{refused}");
        }
    }
}
