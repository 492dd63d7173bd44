//! `aster demo`.

use clap::Args;
use std::path::PathBuf;

pub(super) const DEMO_EXAMPLES: &str = "\
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
    /// Write the ONFI waveforms of the first READ, PROGRAM and ERASE to this file: VCD, or when it ends in
    /// .svg a picture with its changes beside it as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
}
