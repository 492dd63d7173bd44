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
    /// A flash operation that I3 has no request for, each LUN by itself; the requests in flight are its page
    /// buffers.
    Flash(FlashOperation),
}

/// Which LUN and page is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// LUN after LUN, page after page.
    Sequential,
    /// Any LUN; reads of any page. The pages of a block are programmed in order all the same, since packages
    /// insist on it.
    Random,
}

/// A stream of requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BenchWork {
    /// Of what.
    pub operation: BenchOperation,
    /// Where.
    pub pattern: Pattern,
    /// Requests, erases before programs not counted.
    pub requests: u64,
    /// No new request is sent after so much simulated time.
    pub time: Option<Duration>,
    /// Sectors of a page that a read transfers, from the first on; all when absent.
    pub sectors: Option<u8>,
    /// Decides the random pattern.
    pub seed: u64,
}
