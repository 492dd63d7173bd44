//! What is to be injected.

use crate::operation::FlashOperation;
use aster_units::Duration;

/// Operations of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BenchOperation {
    /// READ of pages that were programmed before.
    Read,
    /// PROGRAM, page after page of a block; a block that is full already is erased first.
    Program,
    /// BLOCK ERASE, block after block.
    Erase,
    /// Reads and programs in turn.
    Mixed,
    /// A flash operation that I3 has no request for. Each LUN works by itself, and the requests in flight
    /// are its page buffers.
    Flash(FlashOperation),
}

/// Which LUN and page is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// LUN after LUN, page after page.
    Sequential,
    /// Any LUN, and for reads any page. Programs still fill the pages of a block in order, since packages
    /// require it.
    Random,
}

/// A stream of requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BenchWork {
    /// The operations.
    pub operation: BenchOperation,
    /// Where they go.
    pub pattern: Pattern,
    /// Number of requests, not counting erases before programs.
    pub requests: u64,
    /// No new request is sent after this much simulated time.
    pub time: Option<Duration>,
    /// Sectors of a page that a read transfers, from the first on; all when absent.
    pub sectors: Option<u8>,
    /// Decides the random pattern.
    pub seed: u64,
}
