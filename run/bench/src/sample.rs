//! A bench's results of the requests that it injected.

use aster_channel::ChannelStats;
use aster_ports::flash::{FlashError, FlashStatus};
use aster_units::Duration;

/// Kinds of requests in a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkKind {
    /// A page or some of its sectors were read.
    Read,
    /// A page was programmed.
    Program,
    /// A block was erased.
    Erase,
}

/// A request that has ended.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its kind.
    pub kind: WorkKind,
    /// From its injection to its result.
    pub latency: Duration,
    /// Data bytes moved.
    pub bytes: u32,
    /// How it ended.
    pub status: FlashStatus,
    /// False for a read that returned other content than was programmed.
    pub right: bool,
    /// Bits that the code corrected.
    pub corrected: u16,
    /// Why it was not carried out, with transaction and time.
    pub fault: Option<FlashError>,
}

/// A stream that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// From the first injection to the last result.
    pub simulated: Duration,
    /// The channel's statistics during it.
    pub channel: ChannelStats,
}
