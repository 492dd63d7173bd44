//! `aster sweep`.

use clap::Args;
use std::ffi::OsString;

pub(super) const SWEEP_EXAMPLES: &str = "\
Examples:
  aster sweep over-provisioning.toml               on all cores; begun again, it goes on where it was
  aster sweep over-provisioning.toml --scheduler tcp://10.0.0.1:8786
  aster sweep --help                               what a sweep file has";

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct SweepArgs {
    /// The sweep file and the options of aster-sweep
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SWEEP.TOML …")]
    pub(crate) arguments: Vec<OsString>,
}
