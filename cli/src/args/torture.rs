//! `aster torture`.

use super::ContentArg;
use aster_lab::own::Preconditioning;
use clap::Args;
use std::path::PathBuf;

pub(super) const TORTURE_EXAMPLES: &str = "\
Examples:
  aster torture tiny --cuts 10000
  aster torture cosmos-plus --set restrict.blocks_per_lun=64 --content fingerprint --minutes 60
  aster torture tiny --seed 7 --rounds 3,9 --depth 1        repeat what a failure has told

Exit status: 0 when nothing was lost, 1 when something was, 2 for mistakes in the command line or in a \
profile of which no new
drive comes up, 130 when it was interrupted, also where somebody else ended the process of a life.";

#[derive(Args, Clone, Debug)]
pub(crate) struct TortureArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; small drives see more
    pub(crate) profile: PathBuf,
    /// Losses of power during work; those during recovery are extra
    #[arg(long, value_name = "N", default_value_t = 120, conflicts_with = "minutes",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cuts: u64,
    /// Go on for this many minutes
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u32>,
    /// The first drive's seed; the others' follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// What pages keep: every byte, or one tag per 4 KiB sector [default: what the profile says]
    #[arg(long, value_name = "KIND")]
    pub(crate) content: Option<ContentArg>,
    /// Torture a drive of more than 8 GiB of flash as it is. Otherwise it gets fewer ways and blocks per LUN.
    /// Of more than 4 GiB, those at a drawn place are written and read back
    #[arg(long)]
    pub(crate) full_size: bool,
    /// Begin each drive's life in steady state, as if random writes had gone on for ever: "steady" or
    /// "steady:DISTRIBUTION"
    #[arg(long, value_name = "steady[:DISTRIBUTION]")]
    pub(crate) precondition: Option<Preconditioning>,
    /// Let the chips of a lane stop answering for good at a drawn moment of each drive's life; the drive
    /// must have parity (target.raid)
    #[arg(long)]
    pub(crate) dead_lane: bool,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) case: CaseArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Repeating one drive's life")]
pub(crate) struct CaseArgs {
    /// Run only these rounds of the seed's drive
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', conflicts_with_all = ["cuts", "minutes"])]
    pub(crate) rounds: Vec<u32>,
    /// Commands in flight [default: 12]
    #[arg(
        long,
        value_name = "N",
        requires = "rounds",
        conflicts_with_all = ["cuts", "minutes"],
        value_parser = clap::value_parser!(u16).range(1..=64)
    )]
    pub(crate) depth: Option<u16>,
    /// Take no power away during recovery
    #[arg(long, requires = "rounds", conflicts_with_all = ["cuts", "minutes"])]
    pub(crate) recovery_uncut: bool,
    // Runs one life in this process, and reports to the parent line by line.
    #[arg(long, requires = "rounds", hide = true)]
    pub(crate) child: bool,
}
