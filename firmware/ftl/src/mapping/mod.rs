//! Logical to physical pages.

use crate::mapping::store::MapStore;
use aster_events::Recorder;
use aster_exec::Core;
use aster_units::{Lpn, LunIndex, Upa};
use core::fmt;
use core::future::Future;

pub(crate) mod demand;
pub(crate) mod mapped;
pub(crate) mod resident;
pub(crate) mod store;

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

/// Room for so many changes of the map: at once where there is some, else by waiting for it.
macro_rules! room {
    ($mapping:expr, $changes:expr) => {
        match $mapping.try_room($changes) {
            Some(room) => Ok(room),
            None => $mapping.room($changes).await,
        }
    };
}
pub(crate) use room;

/// What a mapping is given when it is made.
pub struct MappingPorts<'a> {
    /// The core that the FTL runs on, and with it the time that a mapping can wait for.
    pub core: &'a Core,
    /// Logical pages that there are, the map's own ones among them.
    pub pages: u32,
    /// Logical pages that are pinned at once, at most.
    pub pins: u32,
    /// The drive's flash, for a mapping that has pages there.
    pub store: MapStore,
    /// Where events go.
    pub recorder: &'a Recorder,
}

/// Where logical pages are: the part of the FTL that keeps the map.
///
/// **Who calls.** The FTL alone, from all of its tasks, and each method whenever it likes once the mapping is
/// made. Booting begins with [`clear`](Mapping::clear), followed by [`load`](Mapping::load) for each page of
/// the stored map, by [`restore`](Mapping::restore) for each later change that the log or the pages tell of,
/// and by [`only_restored`](Mapping::only_restored) and [`booted`](Mapping::booted). All of it comes
/// again where a way to the drive's state has failed. Ours take all their memory when they are made; one that
/// doesn't allocates while the host waits.
///
/// **What may wait.** [`pin`](Mapping::pin), [`find`](Mapping::find), [`load`](Mapping::load) and
/// [`encode`](Mapping::encode). A look-up that must not be split from what follows it takes a pin before;
/// with the pin, [`get`](Mapping::get) and [`set`](Mapping::set) don't wait. No cell of the mapping may be
/// borrowed while it waits.
///
/// **Room.** A change of the map may have to be kept in memory until it is on flash. So each task that is
/// about to change something asks for room first, before it takes pins or programs a page: see
/// [`room`](Mapping::room).
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
    /// Room for changes, until it is dropped.
    type Room;
    /// Entry n of what is stored is where unit n is; the FTL then puts back itself what a loss of power could
    /// still undo. Otherwise [`encode`](Mapping::encode) gives what the log knows.
    const STORES_UNITS: bool;

    /// Logical pages that there are, the map's own ones among them, which come last. The FTL asks for none
    /// beyond.
    fn pages(&self) -> u32;
    /// Room for so many changes of the host's, if there is some at once.
    fn try_room(&self, changes: u32) -> Option<Self::Room>;
    /// Room for so many changes of the host's.
    ///
    /// # Errors
    /// When there will never be any: the drive takes no more writes.
    fn room(&self, changes: u32) -> impl Future<Output = Result<Self::Room, NoMapRoom>>;
    /// Room for all that a victim of a LUN's garbage collection holds. No other LUN's takes it away, nor does
    /// the host.
    ///
    /// # Errors
    /// As of [`room`](Mapping::room).
    fn room_to_collect(
        &self,
        lun: LunIndex,
        changes: u32,
    ) -> impl Future<Output = Result<Self::Room, NoMapRoom>>;
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
    fn set(&self, room: &Self::Room, pin: &Self::Pin, to: Upa) -> Upa;
    /// The logical page at `at`, by looking at all of them: for a page whose OOB can't be read any more.
    fn find(&self, at: Upa) -> impl Future<Output = Option<Lpn>>;

    /// Whether a page of the map itself is at `at`. Such a page is kept as bytes, whatever host data are
    /// kept as.
    fn is_own(&self, at: Upa) -> bool;

    /// Begins to work for itself, once the FTL is put together.
    fn start(&self);
    /// Waits until it programs nothing. It begins no program while garbage collection is paused, but for who
    /// waits for room.
    fn idle(&self) -> impl Future<Output = ()>;
    /// Waits until what boot has found of changes leaves room for others.
    fn settled(&self) -> impl Future<Output = ()>;
    /// What only this one counts.
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64));

    /// Unmaps everything: boot begins anew.
    fn clear(&self);
    /// Maps a page as boot has found it, or unmaps it; `is_logged` says that the log has it already.
    fn restore(&self, page: Lpn, to: Upa, is_logged: bool) -> impl Future<Output = Result<(), MappingFault>>;
    /// What has been restored is all that there is.
    fn only_restored(&self) -> impl Future<Output = ()>;
    /// Gives `each` all pages that are mapped, with their places, until it says false.
    ///
    /// # Errors
    /// When an entry can't be read any more.
    fn walk(&self, each: impl FnMut(Lpn, Upa) -> bool) -> impl Future<Output = Result<(), MappingFault>>;
    /// The drive has booted.
    fn booted(&self);
    /// Entries of the stored map, from the first on, that say where the pages of the map itself are.
    fn directory_entries(&self) -> u32 {
        0
    }
    /// Gives up the pages of the map itself, in which nothing is mapped any more.
    fn give_up_own(&self);
    /// Whether all of it fits a stored map.
    fn is_storable(&self) -> bool;
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

/// A map has no room for a change, and never will.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMapRoom;
