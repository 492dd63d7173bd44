//! How a trace is replayed.

use aster_lab::asked::traces::{Replay, WhenFull, times};
use aster_lab::traces::Placing;
use aster_workload::trace::{Columns, Format, Times};
use clap::{Args, ValueEnum};

/// Most requests of a trace in flight.
const QUEUE_DEPTH_MAX: i64 = 1024;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub(crate) struct ReplayArgs {
    /// How the trace is written [default: recognised by its first line]
    #[arg(long, value_name = "FORMAT", conflicts_with = "job")]
    pub(crate) trace_format: Option<FormatArg>,
    /// The columns of a CSV that is none of these, such as time:us,device,kind,offset,size:sectors,-
    #[arg(long, value_name = "COLUMNS", conflicts_with_all = ["job", "trace_format"],
        value_parser = Columns::parse)]
    pub(crate) trace_columns: Option<Columns>,
    /// Replay this device of the trace, or all of them; may be repeated [default: the first that appears]
    #[arg(long, value_name = "DEVICE|all", conflicts_with = "job")]
    pub(crate) trace_device: Vec<String>,
    /// Where several devices go
    #[arg(long, value_name = "HOW", conflicts_with = "job", default_value = "apart")]
    pub(crate) trace_place: PlaceArg,
    /// What a request does that finds the queue full [default: open]
    #[arg(long, value_name = "KIND", conflicts_with = "job")]
    pub(crate) trace_loop: Option<LoopArg>,
    /// When requests go: at their recorded times, as fast as the queue depth allows, or so many times as fast
    /// as recorded (in thousandths)
    #[arg(long, value_name = "recorded|fastest|FACTOR", conflicts_with = "job", default_value = "recorded",
        value_parser = times)]
    pub(crate) trace_speed: Times,
    /// Fold requests beyond the drive, or their device's region of it, into it, instead of refusing them
    #[arg(long, conflicts_with = "job")]
    pub(crate) trace_wrap: bool,
    /// Widen requests that are not whole blocks, instead of refusing them
    #[arg(long, conflicts_with = "job")]
    pub(crate) trace_round: bool,
    /// Requests of the trace in flight at most; what is beyond waits in the host
    #[arg(long, value_name = "N", conflicts_with = "job", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(1..=QUEUE_DEPTH_MAX))]
    pub(crate) queue_depth: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    /// Text as blkparse prints it
    Blktrace,
    /// MSR Cambridge CSV
    Msr,
    /// fio iolog, version 2 or 3
    Iolog,
    /// MQSim's ASCII, times in nanoseconds
    Mqsim,
    /// The same, times in microseconds
    MqsimUs,
    /// The same, times in picoseconds
    MqsimPs,
    /// Alibaba's block traces, CSV
    Alibaba,
    /// Tencent's block traces (SNIA IOTTA), CSV
    Tencent,
    /// SYSTOR '17 (SNIA IOTTA), CSV
    Systor,
}

impl ReplayArgs {
    /// How the trace is replayed.
    pub(crate) fn replay(&self) -> Replay {
        Replay {
            format: self.trace_columns.map(Format::Columns).or(self.trace_format.map(Format::from)),
            devices: self.trace_device.clone(),
            placing: self.trace_place.into(),
            when_full: self.trace_loop.map(|kind| match kind {
                LoopArg::Open => WhenFull::Late,
                LoopArg::Closed => WhenFull::KeepGaps,
            }),
            times: self.trace_speed,
            wrap: self.trace_wrap,
            round: self.trace_round,
            queue_depth: self.queue_depth,
        }
    }
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Blktrace => Format::Blkparse,
            FormatArg::Msr => Format::Msr,
            FormatArg::Iolog => Format::Iolog,
            FormatArg::Mqsim => Format::Mqsim,
            FormatArg::MqsimUs => Format::MqsimMicros,
            FormatArg::MqsimPs => Format::MqsimPicos,
            FormatArg::Alibaba => Format::Alibaba,
            FormatArg::Tencent => Format::Tencent,
            FormatArg::Systor => Format::Systor,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PlaceArg {
    /// One behind the other, each in a region as long as what the trace asks of it
    Apart,
    /// At the addresses that were recorded, one upon the other
    Same,
}

impl From<PlaceArg> for Placing {
    fn from(place: PlaceArg) -> Placing {
        match place {
            PlaceArg::Apart => Placing::Apart,
            PlaceArg::Same => Placing::Same,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoopArg {
    /// It waits in the host, late; those behind it keep their recorded times
    Open,
    /// The time between requests is kept: it goes its recorded gap after the completion that made room, all
    /// others later
    Closed,
}
