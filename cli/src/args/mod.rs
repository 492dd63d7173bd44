//! The command line: a file for each command.

mod bench_channel;
mod compare;
mod content;
mod demo;
mod image;
mod lifetime;
mod open_channel;
mod package;
mod profiles;
mod pts;
mod replay;
mod reproduce;
mod run;
mod serve;
mod torture;
mod trace;
mod waf;
mod watch;

pub(crate) use bench_channel::BenchChannelArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use content::ContentArg;
pub(crate) use demo::DemoArgs;
pub(crate) use image::{ImageCheckArgs, ImageCommand};
pub(crate) use lifetime::LifetimeArgs;
pub(crate) use open_channel::{OpenChannelArgs, VectorCommand};
pub(crate) use package::PackageArgs;
pub(crate) use profiles::{CheckArgs, ProfilesArgs};
pub(crate) use pts::{PtsArgs, WriteCacheArg};
pub(crate) use replay::{FormatArg, ReplayArgs};
pub(crate) use reproduce::{Experiment, ReproduceArgs};
pub(crate) use run::{ExplainArgs, HardwareArg, RunArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use torture::TortureArgs;
pub(crate) use trace::{TraceCommand, TraceInfoArgs, TraceOutArgs, TraceReadArgs, TraceScaleArgs};
pub(crate) use waf::WafArgs;
pub(crate) use watch::WatchArgs;

use clap::{Parser, Subcommand};

/// An open SSD in software: runs whole drives in deterministic virtual time.
#[derive(Debug, Parser)]
#[command(name = "aster", version = env!("ASTER_VERSION"), after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  aster demo                                 copy this folder through a drive and back, then measure the drive
  aster run tiny --job mixed.fio             run a fio job file
  aster run ideal --trace usr_0.csv --json   replay a trace, report as JSON
  aster trace info usr_0.csv                 what is in a trace: footprint, skew, sizes, rate, re-use
  aster bench-channel --luns 4               measure one channel without FTL
  aster serve pocket --vfio-user aster.sock  a drive that QEMU attaches to
  aster watch run.events                     a run in a browser, from the file of its events
  aster torture tiny --cuts 1000             take a drive's power away a thousand times
  aster lifetime tiny --svg life.svg         write a drive to its end
  aster waf tiny --quick                     what garbage collection costs, by policy and skew
  aster pts tiny --quick                     SNIA's performance test, from purge to steady state
  aster profiles                             the drives that come along";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copy a folder through a whole drive and back, then measure the drive
    ///
    /// Boots cosmos-plus restricted to 64 GiB, writes the folder as a tar stream through NVMe, shuts down,
    /// rebuilds the drive from its image alone, reads everything back and compares checksums. Then fills a
    /// second drive and measures random and sequential reads and writes on it.
    #[command(after_help = demo::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Run a fio job file or a trace on a drive
    ///
    /// Times are simulated times; the same profile, work and seed give the same run on every machine.
    #[command(after_help = run::RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Run work as `aster run` does, and show one command's life: what happened when, and where each
    /// microsecond went
    ///
    /// Without --command it is the slowest. Commands are numbered from 1 in the order in which the drive
    /// fetched them.
    #[command(after_help = run::EXPLAIN_EXAMPLES)]
    Explain(Box<ExplainArgs>),
    /// Put reports of runs side by side: what differs in how they were made, and in their figures
    ///
    /// Runs that differ by their seeds alone are one, with the confidence that their figures have.
    #[command(after_help = compare::COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Serve a drive to a virtual machine: an NVMe drive on PCIe that stock Linux uses
    ///
    /// QEMU 10.1 or later attaches to the socket with vfio-user-pci; see docs/serve.md for its command line.
    /// One client at a time; when it has gone the next may come. Ctrl-C shuts the drive down in order.
    #[command(after_help = serve::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Show a run in a browser from the file of its events: dies at work, queues, buffer, blocks, latencies
    ///
    /// Time can be stopped, moved and stepped through; a command of the slowest ones shows its life. A file
    /// that is still written is followed. The page needs nothing but a browser.
    #[command(after_help = watch::WATCH_EXAMPLES)]
    Watch(WatchArgs),
    /// Look at, check or copy a drive's image
    #[command(after_help = image::IMAGE_EXAMPLES)]
    Image {
        /// What to do
        #[command(subcommand)]
        command: ImageCommand,
    },
    /// Look at a trace, cut it, scale it, or take the gaps between its addresses away
    ///
    /// What is written is an iolog of fio, which `aster run --trace` and fio itself replay.
    #[command(after_help = trace::TRACE_EXAMPLES)]
    Trace {
        /// What to do
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// Send an open-channel drive one command, and show what it answers
    ///
    /// Addresses are of 4 KiB sectors of flash. With --image the drive keeps what it holds from one call to
    /// the next; a new image keeps every byte. Times are simulated times.
    #[command(after_help = open_channel::OPEN_CHANNEL_EXAMPLES)]
    OpenChannel(Box<OpenChannelArgs>),
    /// Measure one channel: requests injected at its controller, with no FTL and no host above
    ///
    /// Takes package, bus and controller from a profile. Pages that are read have been programmed before, and
    /// are checked; bad blocks are left out. Times are simulated times.
    #[command(after_help = bench_channel::BENCH_CHANNEL_EXAMPLES)]
    BenchChannel(Box<BenchChannelArgs>),
    /// List the shipped profiles, or print one
    #[command(after_help = profiles::PROFILES_EXAMPLES)]
    Profiles(ProfilesArgs),
    /// Check a profile: boot the drive that it makes, and say what drive it is
    #[command(after_help = profiles::CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Run a drive once for each combination of values of its keys, by the Python package
    ///
    /// Starts the command aster-sweep of Aster's Python package with the same arguments. The figures go to a
    /// Parquet dataset; see docs/python.md.
    #[command(after_help = package::SWEEP_EXAMPLES)]
    Sweep(PackageArgs),
    /// Search the profile whose drive gives what fio measured on a real one, by the Python package
    ///
    /// Starts the command aster-fit of Aster's Python package with the same arguments. Jobs that are held
    /// back say how far the profile can be trusted; see docs/python.md.
    #[command(after_help = package::FIT_EXAMPLES)]
    Fit(PackageArgs),
    /// Take a drive's power away at any moment, again and again, and check everything that it holds
    ///
    /// Seeded commands run through the NVMe driver until the power goes: anywhere, at one of the drive's
    /// events, or right behind a flush; recovery loses its power now and then, too. What was flushed must be
    /// there, and every other block must hold one of its versions, whole. After 12 losses a drive is written
    /// full once more and a new one begins, with the next seed. Where the FTL runs on the host, the power of
    /// both goes, or of the host alone, or of the drive alone while the host goes on.
    #[command(after_help = torture::TORTURE_EXAMPLES)]
    Torture(TortureArgs),
    /// Write a drive to its end, without wear levelling and with each kind that its FTL has, and show how its
    /// blocks wore
    ///
    /// The drive is filled, then a part of it is written over and over until it takes no more writes.
    /// Everything is read back then, before and after a loss of power. Blocks last as long as
    /// package.wear_out_percent says; where the profile doesn't, for their endurance. Pages keep one tag
    /// per 4 KiB sector.
    #[command(after_help = lifetime::LIFETIME_EXAMPLES)]
    Lifetime(LifetimeArgs),
    /// Repeat a paper's measurements, and compare the figures
    #[command(after_help = reproduce::REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// Measure what garbage collection copies, by victim policy over skew, beside a bare simulation and
    /// theory
    ///
    /// Each drive is filled, then written over at random until it has settled, then counted while it is
    /// written on: pages programmed for each page that its data buffer evicts, without the map's and the
    /// log's. The drives have no bad blocks, and move nothing for wear or refresh. The simulation has a
    /// LUN's data blocks, its reserve and its share of the data buffer, and is written as often.
    #[command(after_help = waf::WAF_EXAMPLES)]
    Waf(WafArgs),
    /// Test a drive as SNIA's Solid State Storage Performance Test Specification says
    ///
    /// Each test purges the drive, writes it twice, and repeats rounds of loads until what it tracks is
    /// steady over five rounds; the figures are those of these rounds. The specification's minute becomes
    /// simulated time that is scaled with the drive; see docs/pts.md.
    #[command(after_help = pts::PTS_EXAMPLES)]
    Pts(Box<PtsArgs>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
