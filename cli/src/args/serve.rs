//! `aster serve`.

use crate::monitor::ModulesArgs;
use aster_image::is_serial;
use clap::{ArgGroup, Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  aster serve cosmos-plus --image drive.aster --vfio-user /run/user/1000/aster.sock
  aster serve pocket --vfio-user aster.sock --pace fast --json > status.jsonl
  aster serve pocket --vfio-user aster.sock --monitor-pty uart --prometheus 127.0.0.1:9464     \
  then: cat uart
  aster serve pocket --vfio-user aster.sock --dashboard 127.0.0.1:8080
  aster serve softssd-small --vfio-user aster.sock --debug-pty console     \
  then: screen console";

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("samples").multiple(true))]
pub(crate) struct ServeArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file; may be left out where an image keeps its own
    #[arg(required_unless_present = "image")]
    pub(crate) profile: Option<PathBuf>,
    /// Keep the drive in this file; it is made when there is none [default: in memory, gone afterwards]
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Every write to the image waits for the disk, so that a crash of this machine is a loss of power as
    /// well; slow
    #[arg(long, requires = "image")]
    pub(crate) sync: bool,
    /// The serial number of a drive in memory, up to 20 printable characters; an image has its own [default:
    /// from the seed]
    #[arg(long, value_name = "TEXT", conflicts_with = "image", value_parser = serial)]
    pub(crate) serial: Option<String>,
    /// Serve what this FTL of the host makes of the drive, instead of the drive itself: `pblk` or
    /// `page-mapping` for an open-channel drive, `hostftl` or `page-mapping` for a drive of command frames,
    /// `block` for a page cache over any other; `none` for the drive itself [default: the profile's for a
    /// drive of command frames, `none` for any other]
    #[arg(long, value_name = "KIND")]
    pub(crate) target: Option<String>,
    /// Where clients connect: a UNIX socket that is made here
    #[arg(long, value_name = "SOCKET")]
    pub(crate) vfio_user: PathBuf,
    /// How the drive's time goes
    #[arg(long, value_name = "PACE", default_value = "real")]
    pub(crate) pace: PaceArg,
    /// Print the status as JSON on standard output, one line per second
    #[arg(long)]
    pub(crate) json: bool,
    /// Make a pseudo-terminal that a sample of the operation monitor goes out of every second, and link to it
    /// here
    #[arg(long, value_name = "LINK", group = "samples")]
    pub(crate) monitor_pty: Option<PathBuf>,
    /// Let the host fetch the latest sample: `nvme get-log DEVICE -i 0xc0 -l 4096 -b`
    #[arg(long, group = "samples")]
    pub(crate) monitor_log: bool,
    /// Answer Prometheus at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS:PORT", group = "samples", value_parser = crate::address::address_of)]
    pub(crate) prometheus: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) monitor_modules: ModulesArgs,
    /// Make a pseudo-terminal with a debug console of the drive, and link to it here; `help` lists its
    /// commands
    #[arg(long, value_name = "LINK")]
    pub(crate) debug_pty: Option<PathBuf>,
    /// Show the drive in a browser at this address, such as 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::address::address_of)]
    pub(crate) dashboard: Option<SocketAddr>,
    /// What whoever looks has to know; an address that is not of this machine alone has one in any case
    #[arg(long, value_name = "TEXT", value_parser = super::watch::token, requires = "dashboard")]
    pub(crate) dashboard_token: Option<String>,
    /// Override a key of the profile, such as ftl.buffer_entries=64, or take it away by KEY=; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PaceArg {
    /// Commands take as long as the model says
    Real,
    /// Commands are answered as soon as they are computed
    Fast,
}

impl From<PaceArg> for aster_run_live::Pace {
    fn from(pace: PaceArg) -> Self {
        match pace {
            PaceArg::Real => aster_run_live::Pace::Real,
            PaceArg::Fast => aster_run_live::Pace::Fast,
        }
    }
}

/// Takes `--serial` apart.
fn serial(text: &str) -> Result<String, String> {
    match is_serial(text) {
        true => Ok(text.to_owned()),
        false => Err("must be 1 to 20 printable ASCII characters".into()),
    }
}
