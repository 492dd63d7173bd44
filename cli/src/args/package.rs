//! `aster sweep` and `aster fit`.

use clap::Args;
use std::ffi::OsString;

pub(super) const SWEEP_EXAMPLES: &str = "\
Examples:
  aster sweep over-provisioning.toml               on all cores; begun again, it goes on where it was
  aster sweep over-provisioning.toml --scheduler tcp://10.0.0.1:8786
  aster sweep --help                               what a sweep file has";

pub(super) const FIT_EXAMPLES: &str = "\
Examples:
  aster fit --fio read.json write.json --capacity \"480 GB\"
  aster fit --fio drive.json --base ideal --hold-back randread-qd16 --json
  aster fit --help                                 all options";

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct PackageArgs {
    /// The arguments of the package's command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}
