//! `aster compare`.

use clap::Args;
use std::path::PathBuf;

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  aster compare before.json after.json
  aster compare small-1.json small-2.json small-3.json large-1.json large-2.json large-3.json
  aster compare a.json b.json c.json --json
  aster compare greedy-sweep fifo-sweep            folders that aster sweep has written";

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Reports that `aster run --json` has printed, or folders of `aster sweep`, which are compared point by
    /// point; the others are compared with the first
    #[arg(required = true, num_args = 2.., value_name = "REPORT")]
    pub(crate) reports: Vec<PathBuf>,
    /// Show the figures that are the same in all as well; of sweeps, every figure that they have
    #[arg(long)]
    pub(crate) all: bool,
    /// Print it as JSON on standard output, and nothing else there
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
}
