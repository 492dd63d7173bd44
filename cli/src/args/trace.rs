//! `aster trace`.

use super::FormatArg;
use crate::units::{byte_range, bytes_of};
use crate::window::time;
use aster_lab::traces::{ReadOptions, UNCHANGED, WrittenAs};
use aster_units::Duration;
use aster_workload::RequestKind;
use aster_workload::trace::{Columns, Format};
use clap::{Args, Subcommand, ValueEnum};
use std::ops::Range;
use std::path::PathBuf;

pub(super) const TRACE_EXAMPLES: &str = "\
Examples:
  aster trace info usr_0.csv.gz
  aster trace info web.blktrace.zst --trace-device 8,0 --json
  aster trace slice usr_0.csv --from 1h --until 2h --out hour.log.gz
  aster trace slice usr_0.csv --count 100000 --range 0..64g --kind write --out writes.log
  aster trace scale hour.log.gz --duration 60s --fit cosmos-plus --out minute.log
  aster trace remap usr_0.csv --out dense.log && aster run ideal --trace dense.log

Exit status: 0 when it is done, 2 for mistakes in the command line or trace, 130 when it was interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Say what is in a trace: footprint, mix, skew, sizes, rate, sequentiality, re-use
    ///
    /// It is read once, in memory that doesn't grow with it. Of more than 4 GiB of footprint, what is told of
    /// blocks is estimated from a sample of them.
    Info(TraceInfoArgs),
    /// Write a part of a trace: of its time, its addresses, its kinds, or so many requests
    Slice(Box<TraceSliceArgs>),
    /// Write a trace with other times and addresses
    Scale(Box<TraceScaleArgs>),
    /// Write a trace without the gaps between the addresses that it reads and writes
    ///
    /// The units that are touched are laid one after the other, in the order of their addresses, and one
    /// device after the other. What is neighbouring stays so; what lies between and is never read or written
    /// goes. The trace is read twice. Memory: 32 bytes per MiB of addresses that are touched.
    Remap(Box<TraceRemapArgs>),
}

/// How a trace is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct TraceReadArgs {
    /// How the trace is written [default: recognised by its first line]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) trace_format: Option<FormatArg>,
    /// The columns of a CSV that is none of these, such as time:us,device,kind,offset,size:sectors,-
    #[arg(long, value_name = "COLUMNS", conflicts_with = "trace_format", value_parser = Columns::parse)]
    pub(crate) trace_columns: Option<Columns>,
    /// Only this device of the trace; may be repeated [default: all]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) trace_device: Vec<String>,
}

impl TraceReadArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        let format = self.trace_columns.map(Format::Columns).or(self.trace_format.map(Format::from));
        ReadOptions { format, devices: self.trace_device.clone() }
    }
}

/// Where a trace is written, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct TraceOutArgs {
    /// The new trace; packed by gzip when it ends in .gz, and - is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// How it is written
    #[arg(long = "as", value_name = "FORMAT", default_value = "iolog")]
    pub(crate) written_as: WrittenAsArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WrittenAsArg {
    /// fio's iolog, version 3: fio replays it, too; microseconds, no force unit access
    Iolog,
    /// Text as blkparse prints it: nanoseconds, sectors of 512 bytes
    Blktrace,
}

impl From<WrittenAsArg> for WrittenAs {
    fn from(of: WrittenAsArg) -> WrittenAs {
        match of {
            WrittenAsArg::Iolog => WrittenAs::Iolog,
            WrittenAsArg::Blktrace => WrittenAs::Blktrace,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct TraceInfoArgs {
    /// The trace, plain or packed by gzip or zstd; - is standard input
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) read: TraceReadArgs,
    /// Print it as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TraceSliceArgs {
    /// The trace; - is standard input
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) out: TraceOutArgs,
    /// Nothing before this time, counted from the first request, such as 250ms, 10s or 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Duration>,
    /// Nothing from this time on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Duration>,
    /// Leave out the first N requests, of those that the other options leave
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: u64,
    /// No more than N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Only these bytes of a device, such as 0..64g; requests that reach beyond are cut
    #[arg(long, value_name = "FROM..TO", value_parser = byte_range)]
    pub(crate) range: Option<Range<u64>>,
    /// Only requests of this kind; may be repeated
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<KindArg>,
    #[command(flatten)]
    pub(crate) read: TraceReadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KindArg {
    Read,
    Write,
    Trim,
    Flush,
}

impl From<KindArg> for RequestKind {
    fn from(of: KindArg) -> RequestKind {
        match of {
            KindArg::Read => RequestKind::Read,
            KindArg::Write => RequestKind::Write,
            KindArg::Trim => RequestKind::Trim,
            KindArg::Flush => RequestKind::Flush,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct TraceScaleArgs {
    /// The trace; - is standard input
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) out: TraceOutArgs,
    /// Times by this factor: 0.5 is twice as fast
    #[arg(long, value_name = "FACTOR", value_parser = factor, conflicts_with = "duration")]
    pub(crate) time: Option<u64>,
    /// Times such that the last request comes so long after the first
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<Duration>,
    /// Addresses by this factor; sizes stay
    #[arg(long, value_name = "FACTOR", value_parser = factor, conflicts_with_all = ["capacity", "fit"])]
    pub(crate) addresses: Option<u64>,
    /// Addresses such that the highest fits so many bytes, such as 64g
    #[arg(long, value_name = "BYTES", value_parser = bytes_of, conflicts_with = "fit")]
    pub(crate) capacity: Option<u64>,
    /// Addresses such that the highest fits the drive of this profile
    #[arg(long, value_name = "PROFILE")]
    pub(crate) fit: Option<PathBuf>,
    /// Override a key of that profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "fit")]
    pub(crate) set: Vec<String>,
    /// Bytes that stay together: the place of a chunk is scaled, not places within it
    #[arg(long, value_name = "BYTES", value_parser = bytes_of, default_value = "1m")]
    pub(crate) chunk: u64,
    #[command(flatten)]
    pub(crate) read: TraceReadArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TraceRemapArgs {
    /// The trace; - is standard input
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) out: TraceOutArgs,
    /// Bytes that stay together
    #[arg(long, value_name = "BYTES", value_parser = bytes_of, default_value = "4k")]
    pub(crate) unit: u64,
    #[command(flatten)]
    pub(crate) read: TraceReadArgs,
}

/// Takes a factor apart, in millionths.
fn factor(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (1e-6..=1e6).contains(&factor) => Ok((factor * UNCHANGED as f64).round() as u64),
        _ => Err("expected a factor from 0.000001 to 1000000 (0.5 halves)".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn a_factor_is_a_number_above_zero() {
        assert_eq!((factor("0.5"), factor("2"), factor("1e-6")), (Ok(500_000), Ok(2_000_000), Ok(1)));
        for refused in ["0", "-1", "NaN", "1e9", "fast", ""] {
            assert!(factor(refused).is_err(), "{refused}");
        }
    }
}
