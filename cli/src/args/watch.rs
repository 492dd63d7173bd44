//! `aster watch`.

use aster_units::Duration;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) const WATCH_EXAMPLES: &str = "\
Examples:
  aster run tiny --job mixed.fio --events run.events     then: aster watch run.events
  aster watch run.events --json
  aster watch run.events --at 20ms --json > then.json";

#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// The events of a run: what `aster run --events` writes, or has written
    #[arg(value_name = "EVENTS")]
    pub(crate) events: PathBuf,
    /// The drive that they are of, for files whose first line doesn't tell it
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Where the page is
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = crate::address::address_of,
        conflicts_with = "json"
    )]
    pub(crate) address: SocketAddr,
    /// What whoever looks has to know; an address that is not of this machine alone has one in any case
    #[arg(long, value_name = "TEXT", value_parser = token, conflicts_with = "json")]
    pub(crate) token: Option<String>,
    /// Begin at this simulated time since power-on, such as 250us, 10ms or 1.5s, and let time stand
    #[arg(long, value_name = "TIME", value_parser = crate::window::time)]
    pub(crate) at: Option<Duration>,
    /// Print what the page would show at the end of the file, or at that time, as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Takes a token apart.
pub(super) fn token(text: &str) -> Result<String, String> {
    aster_dashboard::check_token(text).map(|()| text.to_owned())
}
