//! The drive's blocks, and what they are used for.

use aster_ports::flash::FlashSource;
use aster_units::Ppa;

/// A block's number within the whole drive: `lun · blocks per LUN + block`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockIndex(pub(crate) u32);

impl BlockIndex {
    /// The block's index in an array of all blocks of the drive.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A pool: LUNs that share their spare blocks, by their order in the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PoolIndex(pub(crate) u32);

impl PoolIndex {
    /// The pool's index in an array of all pools.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockState {
    /// Erased and ready.
    Free,
    /// Being filled.
    Open,
    /// Holds data and takes no more.
    Closed,
    /// A program failed in it: it goes bad once its data has moved.
    Failing,
    /// Bad from the factory: never to be touched.
    Bad,
    /// Went bad in use: never to be written again. What was in it may still be there.
    Retired,
    /// Holds the stored map.
    Map,
    /// Set aside for the log.
    Log,
}

/// Who fills an open block. Data of different age is kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    /// What the host writes, by the number of one of its streams.
    Host(u8),
    Gc,
    /// Translation pages of a map kept on flash.
    Mapping,
}

impl Stream {
    /// All streams, of which `hosts` are the host's.
    pub(crate) fn all(hosts: u8) -> impl Iterator<Item = Stream> + use<> {
        (0..hosts).map(Stream::Host).chain([Stream::Gc, Stream::Mapping])
    }
    pub(crate) const fn is_host(self) -> bool {
        matches!(self, Stream::Host(_))
    }
    /// Who programs the stream's pages, be they data or padding.
    pub(crate) const fn source(self) -> FlashSource {
        match self {
            Stream::Host(_) => FlashSource::User,
            Stream::Gc => FlashSource::Gc,
            Stream::Mapping => FlashSource::Mapping,
        }
    }
}

/// A block as the stored table keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockEntry {
    pub(crate) state: BlockState,
    /// Who fills it, when it is open.
    pub(crate) stream: Stream,
    /// The next page to program, when it is open.
    pub(crate) next: u16,
    /// Times erased.
    pub(crate) erases: u32,
    /// It is free but has not been verified as erased since a loss of power.
    pub(crate) unverified: bool,
}

/// A page that could not be corrected, for which its block may go bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Suspect {
    pub(crate) page: Ppa,
    /// The page belongs to the map itself: such pages are kept as bytes, no matter how data is kept.
    pub(crate) is_own: bool,
}
