//! `aster waf`.

use clap::Args;
use std::path::PathBuf;

pub(super) const WAF_EXAMPLES: &str = "\
Examples:
  aster waf tiny --quick
  aster waf tiny --over-provisioning 14,28 --set geometry.blocks_per_lun=128 --out figures
  aster waf ideal --set restrict.channels=1 --set restrict.ways=1 --set restrict.pages_per_block=64 --json";

#[derive(Args, Debug)]
pub(crate) struct WafArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; a drive is written over ten times for each
    /// point, so small ones are done sooner
    pub(crate) profile: PathBuf,
    /// Values of ftl.over_provisioning_percent, a panel each [default: the profile's]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) over_provisioning: Vec<f64>,
    /// Victim policies to measure [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) victims: Vec<String>,
    /// Values of ftl.streams, a line each; more than one go by update distance unless the profile has another
    /// policy [default: the profile's]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) streams: Vec<u8>,
    /// Decides where is written
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Three skews instead of six, and fewer writes for each
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write the figure to this folder, as SVG and PNG and its numbers beside it as CSV; it is made when
    /// there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}
