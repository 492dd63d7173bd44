//! Logical to physical pages.

use aster_events::Recorder;
use aster_exec::Core;
use aster_units::{Lpn, Upa};
use core::fmt;
use core::future::Future;

pub(crate) mod mapped;
pub(crate) mod resident;

/// A pin on a logical page: at once where its entry is at hand, else by waiting for it. Written in place and
/// no function, since a future of its own would make each task larger and the resident map slower.
macro_rules! pin {
    ($mapping:expr, $page:expr) => {
        match $mapping.try_pin($page) {
            Some(pin) => Ok(pin),
            None => $mapping.pin($page).await,
        }
    };
}
pub(crate) use pin;

/// What a mapping is given when it is made.
pub struct MappingPorts<'a> {
    /// The core that the FTL runs on, and with it the time that a mapping can wait for.
    pub core: &'a Core,
    /// Logical pages that there are.
    pub pages: u32,
    /// Logical pages that are pinned at once, at most.
    pub pins: u32,
    /// Where events go.
    pub recorder: &'a Recorder,
}

/// Where logical pages are: the part of the FTL that keeps the map.
///
/// **Who calls.** The FTL alone, from all of its tasks, and each method whenever it likes once the mapping is
/// made. Booting begins with [`clear`](Mapping::clear), followed by [`load`](Mapping::load) for each page of
/// the stored map, and by a pin and a [`set`](Mapping::set) for each later change that the log or the pages
/// themselves tell of. A mapping takes all its memory when it is made.
///
/// **What may wait.** [`pin`](Mapping::pin), [`find`](Mapping::find), [`load`](Mapping::load) and
/// [`encode`](Mapping::encode). A look-up that must not be split from what follows it takes a pin before;
/// with the pin, [`get`](Mapping::get) and [`set`](Mapping::set) don't wait. No cell of the mapping may be
/// borrowed while it waits.
///
/// **What is bounded.** Pins stand for [`MappingPorts::pins`] pages at once, at most. Tasks keep pins while
/// they wait for others, so a mapping that holds at least that many pages of its map besides those that it is
/// reading or writing never has one pin wait for another to be dropped. A mapping with less memory may
/// deadlock, and must refuse to be made. `encode`, `find` and `load` must not wait for a pin to be dropped
/// either.
///
/// **What survives a power cut.** Nothing that the FTL relies on: a mapping is made anew at each power-on and
/// filled by boot, from the stored map and the log. One that keeps its pages on flash may leave out of
/// `load` what it has there already.
pub trait Mapping: 'static {
    /// Keeps the entry of one logical page where `get` and `set` reach it without waiting, until it is
    /// dropped. The pages of a map that a pin stands for must not be evicted.
    type Pin;

    /// Logical pages that there are. The FTL asks for none beyond.
    fn pages(&self) -> u32;
    /// A pin on a page whose entry is at hand; `None` where [`pin`](Mapping::pin) would wait. Always succeeds
    /// for a page that somebody has pinned.
    fn try_pin(&self, page: Lpn) -> Option<Self::Pin>;
    /// Brings a page's entry to hand, and pins it.
    ///
    /// # Errors
    /// When the entry can't be read any more. Reads and writes of the host fail then, and a LUN whose garbage
    /// collection meets one takes no more writes.
    fn pin(&self, page: Lpn) -> impl Future<Output = Result<Self::Pin, MappingFault>>;
    /// The logical page that a pin was taken on.
    fn page(&self, pin: &Self::Pin) -> Lpn;
    /// Where a pinned page is; [`Upa::NONE`] when it is unmapped.
    fn get(&self, pin: &Self::Pin) -> Upa;
    /// Maps a pinned page, or unmaps it with [`Upa::NONE`]. Gives where it was before.
    fn set(&self, pin: &Self::Pin, to: Upa) -> Upa;
    /// The logical page at `at`, by looking at all of them: for a page whose OOB can't be read any more.
    fn find(&self, at: Upa) -> impl Future<Output = Option<Lpn>>;

    /// Unmaps everything.
    fn clear(&self);
    /// True when none of `count` logical pages from `first` on is mapped. False where that isn't known.
    fn is_empty(&self, first: Lpn, count: u32) -> bool;
    /// Entries from `first` on as the stored map has them, as far as `into` reaches: 4 bytes each,
    /// little-endian, the complement of the physical page's number, so that an unmapped page and one behind
    /// the last are zero. They are as of the moment in which the future ends.
    fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()>;
    /// The inverse of [`encode`](Mapping::encode), while booting; no pin exists.
    fn load(&self, first: Lpn, from: &[u8]) -> impl Future<Output = ()>;
}

/// An entry of the map can't be read any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappingFault {
    /// The logical page whose place is lost.
    pub page: Lpn,
}

impl fmt::Display for MappingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the map's entry for logical page {} can't be read", self.page.0)
    }
}

impl core::error::Error for MappingFault {}
