//! `aster profiles` and `aster check`.

use clap::Args;
use std::path::PathBuf;

pub(super) const PROFILES_EXAMPLES: &str = "\
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

pub(super) const CHECK_EXAMPLES: &str = "\
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
