//! `aster run`, and `aster explain`, which takes the same and more.

use super::{ContentArg, ReplayArgs};
use crate::monitor::ModulesArgs;
use crate::window::WindowArgs;
use aster_lab::own::Preconditioning;
use aster_units::Duration;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  aster run cosmos-plus --job mixed.fio --precondition 100 --content fingerprint \
  --set restrict.blocks_per_lun=64
  aster run my-drive.toml --job mixed.fio --set ftl.buffer_entries=64 --set channel.timing_mode=2
  aster run cosmos-plus --job read.fio --precondition 0 --content fingerprint \
  --set restrict.blocks_per_lun=64 --age 8760 --spans
  aster run ideal --trace usr_0.csv --trace-wrap --trace-round --trace-speed fastest --queue-depth 64
  aster run tiny --trace web.csv.gz --trace-device all --trace-speed 2 --trace-wrap
  aster run tiny --job mixed.fio --perfetto tail.json --slowest 20 --from 10ms
  aster run tiny --job mixed.fio --report run.html       a page to look at
  aster run tiny --job fill.fio --image drive.aster      again with the same image: the data are still there
  aster run --job read.fio --image drive.aster           as the drive that the image was made as
  aster run tiny --job mixed.fio --json > mixed.json && aster run --again mixed.json     \
  the same run, from its report alone

Exit status: 0 when every request succeeded, 1 when one failed or the run could not go on, 2 for \
mistakes in the
command line, profile, job file or trace, 130 when it was interrupted.";

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; may be left out where an image keeps its own
    #[arg(required_unless_present_any = ["image", "again"])]
    pub(crate) profile: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// What the channels are; on RTL, Verilator runs the same firmware's transactions cycle by cycle
    #[arg(long, value_name = "KIND", default_value = "timed")]
    pub(crate) hardware: HardwareArg,
    /// Keep the drive in this file; it is made when there is none, and can be used again afterwards
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// What pages keep: every byte, or one tag per 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Fill the drive first, then overwrite this percentage of it at random; or begin in steady state
    ///
    /// A percentage is written, which takes its time. With "steady" the drive is made at once as if random
    /// writes of a mapping unit each, of 4 KiB at least, had gone on for ever: evenly spread, or as fio's
    /// random_distribution says, as in steady:zipf:1.1.
    #[arg(long, value_name = "PERCENT|steady[:DISTRIBUTION]")]
    pub(crate) precondition: Option<Preconditioning>,
    /// Begin the work this many hours after the flash was made: what is programmed by then has lost charge
    ///
    /// Sets the age of the cells after preconditioning. What that costs in bits is the profile's
    /// package.errors.retention. An image keeps its age, and never gets younger.
    #[arg(long, value_name = "HOURS")]
    pub(crate) age: Option<u32>,
    /// Seed of everything in the work that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Go on after failed requests and count them, instead of ending the job at the first
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Check everything that is read, and read back what a job wrote, as verify=crc32c in every job would
    #[arg(long)]
    pub(crate) verify: bool,
    /// Write the ONFI waveforms of the first READ, PROGRAM and ERASE of the work to this file: VCD, or when
    /// it ends in .svg a picture with its changes beside it as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
    /// Write every event from power-on, or of a part of the work, to this file, one JSON object per line;
    /// times in picoseconds, from power-on and, as work_ps, from the beginning of the work
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write what the work's commands, slices, flash operations, channels and arrays did to this file, for
    /// ui.perfetto.dev; times count from the beginning of the work
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Write a page to look at to this file: throughput, latencies, WAF, garbage collection, queue depth,
    /// channels and ways over time, wear, and the slowest commands; one file of HTML without a network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write the operation monitor's samples of the work to this file: a table when it ends in .csv, else
    /// JSON lines
    #[arg(long, value_name = "FILE", group = "samples")]
    pub(crate) monitor: Option<PathBuf>,
    /// Simulated milliseconds from sample to sample
    #[arg(long, value_name = "MS", requires = "monitor", default_value = "1", value_parser = milliseconds)]
    pub(crate) monitor_interval: Duration,
    /// Give each way an entry of its own as well
    #[arg(long, requires = "monitor")]
    pub(crate) monitor_ways: bool,
    #[command(flatten)]
    pub(crate) monitor_modules: ModulesArgs,
    /// Report where the work's commands spent their time, stage by stage, and how long flash operations took
    #[arg(long)]
    pub(crate) spans: bool,
    /// Override a key of the profile, such as ftl.buffer_entries=64, or take it away by KEY=; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
}

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  aster explain ideal --job mixed.fio                     the slowest command of the run
  aster explain cosmos-plus --job read.fio --precondition 0 --content fingerprint \
  --set restrict.blocks_per_lun=64 --command 100
  aster explain tiny --trace usr_0.csv --trace-wrap --json";

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Explain this command of the work [default: the slowest]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) command: Option<u64>,
}

#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct SourceArgs {
    /// Run again what the report in this file, which --json has printed, says of itself
    ///
    /// Profile, work, seed and everything else are the report's, even where a profile or job file has changed
    /// since. The figures are compared. A trace or an image must hold what it held then; --trace and --image
    /// name them where they are elsewhere now.
    #[arg(long, value_name = "REPORT", conflicts_with_all = [
        "profile", "set", "hardware", "content", "precondition", "age", "seed", "keep_going", "verify",
        "trace_format", "trace_columns", "trace_device", "trace_place", "trace_loop", "trace_speed",
        "trace_wrap", "trace_round", "queue_depth",
    ])]
    pub(crate) again: Option<PathBuf>,
    /// A fio job file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "again"])]
    pub(crate) job: Option<PathBuf>,
    /// A trace: events of blktrace, blkparse text, a fio iolog, MQSim's ASCII or CSV (MSR Cambridge, Alibaba,
    /// Tencent, SYSTOR '17, or with --trace-columns any other), plain or packed by gzip or zstd; - is
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HardwareArg {
    /// The timed model: transactions' bus cycles computed at once
    Timed,
    /// The SystemVerilog of rtl/ under Verilator: the same to the cycle, and several hundred times slower
    Rtl,
}

/// Takes an interval apart.
fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(ms) if (1e-3..=1e9).contains(&ms) => Ok(Duration::from_nanos_f64(ms * 1e6)),
        _ => Err("expected simulated milliseconds from 0.001 to 1000000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_number_of_sensible_size() {
        assert_eq!(milliseconds("0.5"), Ok(Duration::from_micros(500)));
        for refused in ["0", "-1", "NaN", "inf", "1e12", "", "often"] {
            assert!(milliseconds(refused).is_err(), "{refused}");
        }
    }
}
