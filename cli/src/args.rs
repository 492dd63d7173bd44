//! The command line.

use crate::monitor::ModulesArgs;
use crate::operation::OperationArg;
use crate::window::WindowArgs;
use aster_device::bench::Pattern;
use aster_device::profile::ControllerName;
use aster_lab::run::workload::trace::{Format, SPEED_RECORDED, Times};
use aster_lab::traces::Placing;
use aster_units::{Content, Duration};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// An open SSD in software: runs whole drives in deterministic virtual time.
#[derive(Debug, Parser)]
#[command(name = "aster", version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  aster demo                                 copy this folder through a drive and back, then measure the drive
  aster run tiny --job mixed.fio             run a fio job file
  aster run ideal --trace usr_0.csv --json   replay a trace, report as JSON
  aster bench-channel --luns 4               measure one channel without FTL
  aster serve pocket --vfio-user aster.sock  a drive that QEMU attaches to
  aster torture tiny --cuts 1000             take a drive's power away a thousand times
  aster lifetime tiny --svg life.svg         write a drive to its end
  aster profiles                             the drives that come along";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copy a folder through a whole drive and back, then measure the drive
    ///
    /// Boots cosmos-plus restricted to 64 GiB, writes the folder as a tar stream through NVMe, shuts down, rebuilds the
    /// drive from its image alone, reads everything back and compares checksums. Then fills a second drive and measures
    /// random and sequential reads and writes on it.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Run a fio job file or a trace on a drive
    ///
    /// Times are simulated times; the same profile, work and seed give the same run on every machine.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Run work as `aster run` does, and tell one command's life: what happened when, and where each microsecond went
    ///
    /// Without --command it is the slowest. Commands are numbered from 1 in the order in which the drive fetched them.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Box<ExplainArgs>),
    /// Serve a drive to a virtual machine: an NVMe drive on PCIe that stock Linux uses
    ///
    /// QEMU 10.1 or later attaches to the socket with vfio-user-pci; see docs/serve.md for its command line. One client at a
    /// time; when it has gone the next may come. Ctrl-C shuts the drive down in order.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Look at, check or copy a drive's image
    #[command(after_help = IMAGE_EXAMPLES)]
    Image {
        /// What to do
        #[command(subcommand)]
        command: ImageCommand,
    },
    /// Measure one channel: requests injected at its controller, with no FTL and no host above
    ///
    /// Takes package, bus and controller from a profile. Pages that are read have been programmed before, and are checked;
    /// bad blocks are left out. Times are simulated times.
    #[command(after_help = BENCH_CHANNEL_EXAMPLES)]
    BenchChannel(Box<BenchChannelArgs>),
    /// List the shipped profiles, or print one
    #[command(after_help = PROFILES_EXAMPLES)]
    Profiles(ProfilesArgs),
    /// Check a profile: boot the drive that it makes, and say what drive it is
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Take a drive's power away at any moment, again and again, and check everything that it holds
    ///
    /// Seeded commands run through the NVMe driver until the power goes: anywhere, at one of the drive's events, or right behind
    /// a flush; recovery loses its power now and then, too. What was flushed must be there, every other block hold one of its
    /// versions, whole. After 12 losses a drive is written full once more and a new one begins, with the next seed.
    #[command(after_help = TORTURE_EXAMPLES)]
    Torture(TortureArgs),
    /// Write a drive to its end, without wear levelling and with either kind, and show how its blocks wore
    ///
    /// The drive is filled, then a part of it is written over and over until it takes no more writes. Everything is read back
    /// then, before and after a loss of power. Blocks last as long as package.wear_out_percent says; where the profile doesn't, for
    /// their endurance. Pages keep a tag a 4 KiB sector.
    #[command(after_help = LIFETIME_EXAMPLES)]
    Lifetime(LifetimeArgs),
    /// Put what a paper measured beside what comes out here
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArgs),
}

const TORTURE_EXAMPLES: &str = "\
Examples:
  aster torture tiny --cuts 10000
  aster torture cosmos-plus --set restrict.blocks_per_lun=64 --content fingerprint --minutes 60
  aster torture tiny --seed 7 --rounds 3,9 --depth 1        repeat what a failure has told

Exit status: 0 when nothing was lost, 1 when something was, 2 for mistakes in the command line or in a profile of which no new
drive comes up, 130 when it was interrupted, also where somebody else ended the process of a life.";

#[derive(Args, Debug)]
pub(crate) struct TortureArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; small drives see more
    pub(crate) profile: PathBuf,
    /// Losses of power during work; those of recovery come on top
    #[arg(long, value_name = "N", default_value_t = 120, conflicts_with = "minutes",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cuts: u64,
    /// Go on for so many minutes
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u32>,
    /// The first drive's seed; the others' follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// What pages keep: every byte, or a tag a 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) case: CaseArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Repeating one drive's life")]
pub(crate) struct CaseArgs {
    /// Live these rounds of the seed's drive, and no others
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', conflicts_with_all = ["cuts", "minutes"])]
    pub(crate) rounds: Vec<u32>,
    /// Commands in flight [default: 12]
    #[arg(long, value_name = "N", requires = "rounds", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) depth: Option<u16>,
    /// Let recovery keep its power
    #[arg(long, requires = "rounds")]
    pub(crate) recovery_uncut: bool,
    // One life in this process, told to the parent line by line.
    #[arg(long, requires = "rounds", hide = true)]
    pub(crate) child: bool,
}

const LIFETIME_EXAMPLES: &str = "\
Examples:
  aster lifetime tiny --set package.endurance=300 --set ftl.wear_spread=20 --svg life.svg
  aster lifetime tiny --hot 100 --json
  aster lifetime pocket --drive-writes 500";

#[derive(Args, Debug)]
pub(crate) struct LifetimeArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; small drives come to their end sooner
    pub(crate) profile: PathBuf,
    /// The part of the drive that is written over and over, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) hot: u8,
    /// Stop after the capacity was written so many times [default: when the drive takes no more]
    #[arg(long, value_name = "N")]
    pub(crate) drive_writes: Option<u32>,
    /// Decides where is written
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Draw erases and spare over the drive's life, and write the numbers beside it as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  aster reproduce babol --out figures
  aster reproduce babol --quick
  aster reproduce cosmos --quick
  aster reproduce cosmos --set cores.frequency_mhz=666
  aster reproduce cosmos --calibrate
  aster reproduce babol-area --json";

#[derive(Args, Debug)]
pub(crate) struct ReproduceArgs {
    /// What to reproduce
    pub(crate) what: Experiment,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the figures to this folder, each as SVG and its numbers beside it as CSV; it is made when there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The shapes in seconds: a part of the requests and of the points
    #[arg(long)]
    pub(crate) quick: bool,
    /// Of cosmos: find the numbers that costs/cosmos.toml says are fitted, each by its own cell of Table 7
    #[arg(long, conflicts_with_all = ["out", "quick", "set"])]
    pub(crate) calibrate: bool,
    /// Of cosmos: override a key of its profiles, such as host.auto_completion=false; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The folder with the channel controller's SystemVerilog
    #[arg(long, value_name = "DIR", default_value = "rtl")]
    pub(crate) rtl: PathBuf,
}

/// What `aster reproduce` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// Tables I and II and Figures 9 to 11 of the BABOL paper, on the bench (a minute)
    Babol,
    /// Tables 5 to 7 and Figures 21, 22, 24 to 27, 30 and 32 of the Cosmos+ paper, and BABOL's Figure 12, on the whole drive (minutes)
    Cosmos,
    /// Table III of the BABOL paper: the area of a channel controller, ours by yosys (a minute)
    BabolArea,
}

const IMAGE_EXAMPLES: &str = "\
Examples:
  aster image info drive.aster
  aster image check drive.aster
  aster image check made-long-ago.aster cosmos-plus
  aster image clone drive.aster before-the-experiment.aster --check

Exit status: 0 when the image is sound, 1 when blocks or pages of it are damaged, 2 when it is no whole image, is in use or
another profile's, and for mistakes in the command line or profile, 130 when it was interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    /// Say what an image was made with and what it takes on the disk
    Info {
        /// The image
        image: PathBuf,
        /// Print it as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// Check an image: the checksums of its header, of all blocks and pages, and whether the drive comes up from it
    ///
    /// Nothing is written to it.
    Check(ImageCheckArgs),
    /// Copy an image that nobody uses, without its holes
    ///
    /// The header is checked. Blocks and pages are with --check; without it a note says that they are not.
    Clone {
        /// The image
        image: PathBuf,
        /// The copy, which isn't there yet
        to: PathBuf,
        /// Keep the serial number, for a copy that takes the drive's place: two of one number can't be in one host
        #[arg(long)]
        keep_serial: bool,
        /// Check the image before, as the drive of this profile or of the one that it keeps; what is damaged is not copied
        #[arg(long, value_name = "PROFILE", num_args = 0..=1)]
        check: Option<Option<PathBuf>>,
        /// Override a key of the profile; may be repeated
        #[arg(long, value_name = "KEY=VALUE", requires = "check")]
        set: Vec<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ImageCheckArgs {
    /// The image
    pub(crate) image: PathBuf,
    /// The profile that it was made with: a shipped one's name or a TOML file [default: the one that it keeps]
    pub(crate) profile: Option<PathBuf>,
    /// Print what was found as JSON on standard output, of a damaged image as well
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  aster serve cosmos-plus --image drive.aster --vfio-user /run/user/1000/aster.sock
  aster serve pocket --vfio-user aster.sock --pace fast --json > status.jsonl
  aster serve pocket --vfio-user aster.sock --monitor-pty uart --prometheus 127.0.0.1:9464     then: cat uart";

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("samples").multiple(true))]
pub(crate) struct ServeArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; may be left out where an image keeps its own
    #[arg(required_unless_present = "image")]
    pub(crate) profile: Option<PathBuf>,
    /// Keep the drive in this file; it is made when there is none [default: in memory, gone afterwards]
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Every write to the image waits for the disk, so that a crash of this machine is a loss of power as well; slow
    #[arg(long, requires = "image")]
    pub(crate) sync: bool,
    /// The serial number of a drive in memory, up to 20 printable characters; an image has its own [default: from the seed]
    #[arg(long, value_name = "TEXT", conflicts_with = "image")]
    pub(crate) serial: Option<String>,
    /// Where clients connect: a UNIX socket that is made here
    #[arg(long, value_name = "SOCKET")]
    pub(crate) vfio_user: PathBuf,
    /// How the drive's time goes
    #[arg(long, value_name = "PACE", default_value = "real")]
    pub(crate) pace: PaceArg,
    /// Print the status as JSON on standard output, a line a second
    #[arg(long)]
    pub(crate) json: bool,
    /// Make a pseudo-terminal that a sample of the operation monitor goes out of every second, and link to it here
    #[arg(long, value_name = "LINK", group = "samples")]
    pub(crate) monitor_pty: Option<PathBuf>,
    /// Let the host fetch the latest sample: `nvme get-log DEVICE -i 0xc0 -l 4096 -b`
    #[arg(long, group = "samples")]
    pub(crate) monitor_log: bool,
    /// Answer Prometheus at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS:PORT", group = "samples", value_parser = crate::sideband::address_of)]
    pub(crate) prometheus: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) monitor_modules: ModulesArgs,
    /// Override a key of the profile, such as ftl.buffer_entries=64; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PaceArg {
    /// Commands take as long as the model says
    Real,
    /// Commands are answered as soon as they are computed
    Fast,
}

impl From<PaceArg> for aster_run_live::Pace {
    fn from(pace: PaceArg) -> Self {
        match pace {
            PaceArg::Real => aster_run_live::Pace::Real,
            PaceArg::Fast => aster_run_live::Pace::Fast,
        }
    }
}

const DEMO_EXAMPLES: &str = "\
Examples:
  aster demo
  aster demo --tree ~/project --image drive.aster
  aster demo --wave first.vcd && gtkwave first.vcd
  aster demo --json > demo.json";

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// The folder to copy, without .git, target and node_modules
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) tree: PathBuf,
    /// Keep the drive in this file [default: a temporary file without a name, gone afterwards]
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Write the ONFI waveforms of the first READ, PROGRAM and ERASE to this file: VCD, or when it ends in .svg a picture with its changes beside it as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
}

const RUN_EXAMPLES: &str = "\
Examples:
  aster run cosmos-plus --job mixed.fio --precondition 100 --content fingerprint --set restrict.blocks_per_lun=64
  aster run my-drive.toml --job mixed.fio --set ftl.buffer_entries=64 --set channel.timing_mode=2
  aster run cosmos-plus --job read.fio --precondition 0 --content fingerprint --set restrict.blocks_per_lun=64 --age 8760 --spans
  aster run ideal --trace usr_0.csv --trace-wrap --trace-round --trace-speed fastest --queue-depth 64
  aster run tiny --trace web.csv.gz --trace-device all --trace-speed 2 --trace-wrap
  aster run tiny --job mixed.fio --perfetto tail.json --slowest 20 --from 10ms
  aster run tiny --job fill.fio --image drive.aster      again with the same image: the data are still there
  aster run --job read.fio --image drive.aster           as the drive that the image was made as
  aster run tiny --job mixed.fio --json > mixed.json && aster run --again mixed.json     the same run, from its report alone

Exit status: 0 when every request succeeded, 1 when one failed or the run could not go on, 2 for mistakes in the
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
    /// What pages keep: every byte, or a tag a 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Fill the drive first, then overwrite so many percent of it at random
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) precondition: Option<u32>,
    /// Begin the work so many hours after the flash was made: what is programmed by then has lost charge
    ///
    /// Sets the age of the cells after preconditioning. What that costs in bits is the profile's
    /// package.errors.retention. An image keeps its age, and never gets younger.
    #[arg(long, value_name = "HOURS")]
    pub(crate) age: Option<u32>,
    /// Decides what the work leaves to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Go on after failed requests and count them, instead of ending the job at the first
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Check everything that is read, and read back what a job wrote, as verify=crc32c in every job would
    #[arg(long)]
    pub(crate) verify: bool,
    /// Write the ONFI waveforms of the first READ, PROGRAM and ERASE of the work to this file: VCD, or when it ends in .svg a picture with its changes beside it as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
    /// Write every event from power-on, or of a part of the work, to this file, one JSON object a line; times in picoseconds
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write what the work's commands, slices, flash operations, channels and arrays did to this file, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Write the operation monitor's samples of the work to this file: a table when it ends in .csv, else JSON lines
    #[arg(long, value_name = "FILE", group = "samples")]
    pub(crate) monitor: Option<PathBuf>,
    /// Simulated milliseconds from sample to sample
    #[arg(long, value_name = "MS", requires = "monitor", default_value = "1", value_parser = milliseconds)]
    pub(crate) monitor_interval: Duration,
    /// An entry for each way, too
    #[arg(long, requires = "monitor")]
    pub(crate) monitor_ways: bool,
    #[command(flatten)]
    pub(crate) monitor_modules: ModulesArgs,
    /// Report where the work's commands spent their time, stage by stage, and how long flash operations took
    #[arg(long)]
    pub(crate) spans: bool,
    /// Override a key of the profile, such as ftl.buffer_entries=64; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  aster explain ideal --job mixed.fio                     the slowest command of the run
  aster explain cosmos-plus --job read.fio --precondition 0 --content fingerprint --set restrict.blocks_per_lun=64 --command 100
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
    /// Profile, work, seed and everything else are the report's, even where a profile or job file has changed since. The figures
    /// are compared. A trace or an image must hold what it held then; --trace and --image name them where they are elsewhere now.
    #[arg(long, value_name = "REPORT", conflicts_with_all = ["profile", "set", "hardware", "content", "precondition", "age", "seed",
          "keep_going", "verify", "trace_format", "trace_device", "trace_place", "trace_loop", "trace_speed", "trace_wrap",
          "trace_round", "queue_depth"])]
    pub(crate) again: Option<PathBuf>,
    /// A fio job file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "again"])]
    pub(crate) job: Option<PathBuf>,
    /// A trace: blkparse text, MSR Cambridge CSV, a fio iolog or MQSim's ASCII, plain or packed by gzip or zstd; - is
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// Most requests of a trace in flight.
const QUEUE_DEPTH_MAX: i64 = 1024;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub(crate) struct ReplayArgs {
    /// How the trace is written [default: recognised by its first line]
    #[arg(long, value_name = "FORMAT", conflicts_with = "job")]
    pub(crate) trace_format: Option<FormatArg>,
    /// Replay this device of the trace, or all of them; may be repeated [default: the first that appears]
    #[arg(long, value_name = "DEVICE|all", conflicts_with = "job")]
    pub(crate) trace_device: Vec<String>,
    /// Where several devices go
    #[arg(long, value_name = "HOW", conflicts_with = "job", default_value = "apart")]
    pub(crate) trace_place: PlaceArg,
    /// What a request does that finds the queue full [default: open]
    #[arg(long, value_name = "KIND", conflicts_with = "job")]
    pub(crate) trace_loop: Option<LoopArg>,
    /// When requests go: at their recorded times, as fast as the queue depth allows, or so many times as fast as recorded
    /// (in thousandths)
    #[arg(long, value_name = "recorded|fastest|FACTOR", conflicts_with = "job", default_value = "recorded", value_parser = times)]
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
pub(crate) enum ContentArg {
    /// Every byte
    Full,
    /// One 64-bit tag a 4 KiB sector: a terabyte fits, integrity is still checked
    Fingerprint,
}

impl From<ContentArg> for Content {
    fn from(kind: ContentArg) -> Content {
        match kind {
            ContentArg::Full => Content::Full,
            ContentArg::Fingerprint => Content::Fingerprint,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HardwareArg {
    /// The timed model: transactions' bus cycles computed at once
    Timed,
    /// The SystemVerilog of rtl/ under Verilator: the same to the cycle, and several hundred times slower
    Rtl,
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
    /// The time between requests is kept: it goes its recorded gap after the completion that made room, all others later
    Closed,
}

/// Takes `--trace-speed` apart.
fn times(text: &str) -> Result<Times, String> {
    match text {
        "recorded" => Ok(Times::Recorded { speed: SPEED_RECORDED }),
        "fastest" => Ok(Times::AsFastAsPossible),
        _ => match text.parse::<f64>() {
            Ok(factor) if (0.001..=1_000.0).contains(&factor) => {
                Ok(Times::Recorded { speed: (f64::from(SPEED_RECORDED) * factor).round() as u32 })
            }
            _ => {
                Err("expected recorded, fastest, or a factor from 0.001 to 1000 (2 is twice as fast)".into())
            }
        },
    }
}

const BENCH_CHANNEL_EXAMPLES: &str = "\
Examples:
  aster bench-channel                                              8 LUNs of cosmos-plus, sequential reads
  aster bench-channel --package toshiba --controller synchronous --rate 100 --luns 4
  aster bench-channel --controller asynchronous --operation mixed --pattern random --seconds 0.5
  aster bench-channel --profile my-drive.toml --set package.read_us=[40,60] --sectors 1 --json
  aster bench-channel --luns 2 --depth 2 --requests 2 --wave two-reads.svg
  aster bench-channel --package tlc-3d --operation erase-suspend --luns 4

Exit status: 0 when every request succeeded, 1 when one failed, 2 for mistakes in the command line or profile, 130 when
it was interrupted.";

#[derive(Args, Debug)]
pub(crate) struct BenchChannelArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file: its package, bus and controller are used
    #[arg(long, value_name = "PROFILE", default_value = "cosmos-plus")]
    pub(crate) profile: PathBuf,
    /// A shipped package in the place of the profile's own, such as hynix, toshiba or micron (BABOL's Table I)
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// LUNs on the channel, whatever the profile's number
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=128))]
    pub(crate) luns: u8,
    /// Millions of transfers a second on the data bus [default: what the profile says]
    #[arg(long, value_name = "MT/s", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rate: Option<u32>,
    /// What drives the channel [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) controller: Option<ControllerArg>,
    /// What is asked for: of any controller, or from read-cache on of flash software
    #[arg(long, value_name = "KIND", default_value = "read")]
    pub(crate) operation: OperationArg,
    /// LUN after LUN and page after page, or any
    #[arg(long, value_name = "KIND", default_value = "sequential")]
    pub(crate) pattern: PatternArg,
    /// Sectors of 4 KiB that a read transfers of its page [default: the whole page]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub(crate) sectors: Option<u8>,
    /// Requests [default: 10000, or without end with --seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Send no more requests after so many simulated seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,
    /// Requests in flight, or page buffers of flash operations [default: four a LUN]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) depth: Option<u16>,
    /// What pages keep: every byte, or a tag a 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Hours that pass for the cells before the measurement: charge leaks, and reads find more wrong bits
    #[arg(long, value_name = "HOURS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) age: u32,
    /// Read at this row of the package's level table, set by SET FEATURES (READ RETRY)
    #[arg(long, value_name = "ROW")]
    pub(crate) read_level: Option<u8>,
    /// Decides the random pattern
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the ONFI waveforms of the first requests, one a LUN, to this file: VCD, or when it ends in .svg a picture with its changes beside it as CSV
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
    /// In hardware: an operation module a LUN and an arbiter (BABOL, Fig 4)
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

/// Takes an interval apart.
pub(crate) fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(ms) if (1e-3..=1e9).contains(&ms) => Ok(Duration::from_nanos_f64(ms * 1e6)),
        _ => Err("expected simulated milliseconds from 0.001 to 1000000000".into()),
    }
}

const PROFILES_EXAMPLES: &str = "\
Examples:
  aster profiles
  aster profiles tiny > my-drive.toml      a profile of your own begins as a copy";

#[derive(Args, Debug)]
pub(crate) struct ProfilesArgs {
    /// Print this profile's TOML
    pub(crate) name: Option<PathBuf>,
    /// Print the list as JSON on standard output
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  aster check my-drive.toml
  aster check my-drive.toml --set ftl.over_provisioning_percent=28";

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The profile: a TOML file, or a shipped one's name
    pub(crate) profile: PathBuf,
    /// Print what was found as JSON on standard output, with every key of the profile, defaults included
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seconds_are_a_number_of_sensible_size() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for refused in ["0", "-1", "NaN", "inf", "1e9", "", "soon"] {
            assert!(seconds(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn an_interval_is_a_number_of_sensible_size() {
        assert_eq!(milliseconds("0.5"), Ok(Duration::from_micros(500)));
        for refused in ["0", "-1", "NaN", "inf", "1e12", "", "often"] {
            assert!(milliseconds(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_speed_is_a_name_or_a_factor() {
        assert_eq!(times("recorded"), Ok(Times::Recorded { speed: 1_000 }));
        assert_eq!(times("fastest"), Ok(Times::AsFastAsPossible));
        assert_eq!(times("2"), Ok(Times::Recorded { speed: 2_000 }));
        assert_eq!(times("0.5"), Ok(Times::Recorded { speed: 500 }));
        assert_eq!(times("3"), Ok(Times::Recorded { speed: 3_000 }));
        for refused in ["0", "-1", "NaN", "inf", "1e9", "1e-9", "", "quick"] {
            assert!(times(refused).is_err(), "{refused}");
        }
    }
}
