//! `aster reproduce`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const REPRODUCE_EXAMPLES: &str = "\
Examples:
  aster reproduce babol --out figures
  aster reproduce babol --quick
  aster reproduce cosmos --quick
  aster reproduce cosmos --set cores.frequency_mhz=666
  aster reproduce cosmos --calibrate
  aster reproduce softssd --quick
  aster reproduce ocssd --out figures
  aster reproduce ocssd --share 1
  aster reproduce host-ftl --quick
  aster reproduce babol-area --json";

#[derive(Args, Debug)]
pub(crate) struct ReproduceArgs {
    /// What to reproduce
    pub(crate) what: Experiment,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the figures to this folder, each as SVG and PNG and its numbers beside it as CSV; it is made
    /// when there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show the shapes within seconds, with fewer requests and points
    #[arg(long)]
    pub(crate) quick: bool,
    /// Of cosmos and softssd: find the numbers that costs/cosmos.toml and costs/softssd.toml say are
    /// fitted, each by its own cell
    #[arg(long, conflicts_with_all = ["out", "quick", "set"])]
    pub(crate) calibrate: bool,
    /// Of cosmos, softssd, ocssd and host-ftl: override a key of their profiles, such as
    /// cores.frequency_mhz=500; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Of ocssd: the part of the slides' drive of 64 GB and of their million requests, up to 1 for all, which
    /// takes four times as long as the quarter without this
    #[arg(long, value_name = "PART", conflicts_with = "quick")]
    pub(crate) share: Option<f64>,
    /// The folder with the channel controller's SystemVerilog
    #[arg(long, value_name = "DIR", default_value = "rtl")]
    pub(crate) rtl: PathBuf,
}

/// What `aster reproduce` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// Tables I and II and Figures 9 to 11 of the BABOL paper, on the bench (a minute)
    Babol,
    /// Tables 5 to 7 and Figures 21, 22, 24 to 27, 30 and 32 of the Cosmos+ paper, and BABOL's Figure 12, on
    /// the whole drive (minutes)
    Cosmos,
    /// Table 2 and Figures 8 to 11 of the SoftSSD paper, on the whole drive, and throughput by the part of
    /// the map in memory (minutes)
    Softssd,
    /// Figures 33 to 38 of the Cosmos+ paper and the workloads of its open-channel slides: pblk beside the
    /// board's own FTL, on the whole drive (minutes)
    Ocssd,
    /// Figures 11 and 22 to 31 of the Host-FTL paper, on the whole drive under its FTL (minutes)
    HostFtl,
    /// Table III of the BABOL paper: the area of a channel controller, ours by yosys (a minute)
    BabolArea,
}
