//! `aster lifetime`.

use clap::Args;
use std::path::PathBuf;

pub(super) const LIFETIME_EXAMPLES: &str = "\
Examples:
  aster lifetime tiny --set package.endurance=300 --set ftl.wear_spread=20 --svg life.svg
  aster lifetime tiny --hot 100 --json
  aster lifetime pocket --drive-writes 500";

#[derive(Args, Debug)]
pub(crate) struct LifetimeArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; small drives come to their end sooner
    pub(crate) profile: PathBuf,
    /// The part of the drive that is written over and over, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 25,
        value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) hot: u8,
    /// Stop when the capacity has been written this many times [default: when the drive takes no more]
    #[arg(long, value_name = "N")]
    pub(crate) drive_writes: Option<u32>,
    /// Seed of the addresses that are written
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
