//! Which stream a page that the host writes belongs to.

use aster_units::Lpn;
use core::fmt;

/// Chooses the stream of each page that the host writes.
///
/// Streams keep apart what is likely to become stale at different times. Each stream fills blocks of its
/// own, so that the pages of a block become stale together and little is left to copy out of it. What garbage
/// collection copies has blocks of its own in any case.
///
/// # Who calls, in what order
/// The FTL calls [`prepare`](StreamPolicy::prepare) once, when the drive is built. From then on it calls
/// [`choose`](StreamPolicy::choose) for each page or part of a page that the host writes, when its data are
/// in the data buffer. The last choice counts for a page that is written again before it goes to flash.
/// [`emptied`](StreamPolicy::emptied) tells of each block of a stream that was erased.
///
/// One policy serves all LUNs of a drive. It is synchronous and takes no time of the simulated core.
///
/// # What is bounded
/// The stream is below the number that `prepare` was given; a higher one counts as the last. While a LUN
/// has little room, pages of all streams share its open blocks. A policy therefore decides how much is
/// copied, but not whether the drive can continue.
///
/// # What survives a power cut
/// Nothing of the policy. Blocks that were filled before a cut are not told as emptied.
pub trait StreamPolicy: fmt::Debug {
    /// There are `streams` streams, and the host sees `pages` pages.
    fn prepare(&mut self, streams: u8, pages: u32);
    /// The stream of a page that the host writes.
    fn choose(&mut self, write: &HostWrite) -> u8;
    /// A block of a stream was erased.
    fn emptied(&mut self, block: &EmptiedBlock) {
        let _ = block;
    }
}

/// A page, or a part of one, that the host writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostWrite {
    /// The logical page.
    pub page: Lpn,
    /// Writes of the host before this one since power-on, counted by page.
    pub writes: u64,
    /// The stream that the host has named, from 1 on; 0 for none. A host can name streams only of a drive
    /// whose policy goes by that.
    pub named: u8,
}

/// A block that held pages of a stream and was erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptiedBlock {
    /// The stream.
    pub stream: u8,
    /// Writes of the host, counted by page, while the block was in use: from its first page to its erase.
    pub lived: u64,
}
