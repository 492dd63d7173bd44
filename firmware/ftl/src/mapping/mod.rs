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

/// A pin on a logical page: at once if its entry is in memory, otherwise after waiting for it. It is a macro
/// and not a function, since a future of its own would make each task larger and the resident map slower.
macro_rules! pin {
    ($mapping:expr, $page:expr) => {
        match $mapping.try_pin($page) {
            Some(pin) => Ok(pin),
            None => $mapping.pin($page).await,
        }
    };
}
pub(crate) use pin;

/// Room for a number of changes of the map: at once if there is some, otherwise after waiting for it.
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
    /// The core that the FTL runs on. It also gives a mapping the time and a way to wait.
    pub core: &'a Core,
    /// The number of logical pages, including the map's own.
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
/// **Who calls.** Only the FTL, from all of its tasks, and any method at any time once the mapping is made.
/// Booting begins with [`clear`](Mapping::clear), followed by [`load`](Mapping::load) for each page of the
/// stored map, by [`restore`](Mapping::restore) for each later change that the log or the pages tell of, and
/// by [`only_restored`](Mapping::only_restored) and [`booted`](Mapping::booted). All of it is repeated if a
/// way to the drive's state has failed. The built-in mappings take all their memory when they are made; one
/// that doesn't allocates while the host waits.
///
/// **What may wait.** [`pin`](Mapping::pin), [`find`](Mapping::find), [`load`](Mapping::load) and
/// [`encode`](Mapping::encode). A task that must not be interrupted between a look-up and what follows takes
/// a pin first: with the pin, [`get`](Mapping::get) and [`set`](Mapping::set) don't wait. No cell of the
/// mapping may be borrowed while it waits.
///
/// **Room.** A change of the map may have to be kept in memory until it is on flash. So each task that is
/// about to change something asks for room first, before it takes pins or programs a page: see
/// [`room`](Mapping::room).
///
/// **What is bounded.** Pins stand for [`MappingPorts::pins`] pages at once, at most. Tasks keep pins while
/// they wait for others, so a mapping should have memory for at least that many pages of its map, besides
/// those that it is reading or writing: then no pin ever waits for another to be dropped. A mapping with less
/// memory may deadlock, and must refuse to be made. `encode`, `find` and `load` must not wait for a pin to be
/// dropped either.
///
/// **What survives a power cut.** Nothing that the FTL relies on: at each power-on a new mapping is made, and
/// boot fills it from the stored map and the log. A mapping that keeps its pages on flash may ignore what
/// `load` gives it if it has it there already.
pub trait Mapping: 'static {
    /// Keeps the entry of one logical page where `get` and `set` reach it without waiting, until it is
    /// dropped. The pages of a map that a pin stands for must not be evicted.
    type Pin;
    /// Room for changes, until it is dropped.
    type Room;
    /// Whether entry n of the stored map is the place of unit n. If so, the FTL itself replaces changes that
    /// a loss of power could still undo. If not, [`encode`](Mapping::encode) must return the state that the
    /// log describes.
    const STORES_UNITS: bool;

    /// The number of logical pages, including the map's own, which come last. The FTL asks for none beyond.
    fn pages(&self) -> u32;
    /// Room for `changes` changes by the host, if there is some at once.
    fn try_room(&self, changes: u32) -> Option<Self::Room>;
    /// Room for `changes` changes by the host.
    ///
    /// # Errors
    /// If there will never be any: the drive takes no more writes.
    fn room(&self, changes: u32) -> impl Future<Output = Result<Self::Room, NoMapRoom>>;
    /// Room for all units of a victim of the LUN's garbage collection. Neither other LUNs nor the host can
    /// take it away.
    ///
    /// # Errors
    /// As for [`room`](Mapping::room).
    fn room_to_collect(
        &self,
        lun: LunIndex,
        changes: u32,
    ) -> impl Future<Output = Result<Self::Room, NoMapRoom>>;
    /// A pin on a page whose entry is in memory; `None` if [`pin`](Mapping::pin) would wait. Always succeeds
    /// for a page that is already pinned.
    fn try_pin(&self, page: Lpn) -> Option<Self::Pin>;
    /// Loads a page's entry into memory, and pins it.
    ///
    /// # Errors
    /// If the entry can't be read any more. Reads and writes of the host then fail, and a LUN whose garbage
    /// collection needs the entry takes no more writes.
    fn pin(&self, page: Lpn) -> impl Future<Output = Result<Self::Pin, MappingFault>>;
    /// The logical page that a pin was taken on.
    fn page(&self, pin: &Self::Pin) -> Lpn;
    /// Where a pinned page is; [`Upa::NONE`] if it is unmapped.
    fn get(&self, pin: &Self::Pin) -> Upa;
    /// Maps a pinned page, or unmaps it with [`Upa::NONE`]. Returns its old place.
    fn set(&self, room: &Self::Room, pin: &Self::Pin, to: Upa) -> Upa;
    /// The logical page at `at`, by a search through the whole map: for a page whose OOB can't be read any
    /// more.
    fn find(&self, at: Upa) -> impl Future<Output = Option<Lpn>>;

    /// Whether a page of the map itself is at `at`. Such a page is kept as bytes, whatever host data are
    /// kept as.
    fn is_own(&self, at: Upa) -> bool;

    /// Starts the mapping's own tasks, once the FTL is put together.
    fn start(&self);
    /// Waits until the mapping programs nothing. While garbage collection is paused it begins no program,
    /// unless a task waits for room.
    fn idle(&self) -> impl Future<Output = ()>;
    /// Waits until the changes found by boot leave room for others.
    fn settled(&self) -> impl Future<Output = ()>;
    /// Calls `each` with the counters that only this mapping has.
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64));

    /// Unmaps everything: boot starts over.
    fn clear(&self);
    /// Maps or unmaps a page as boot has found it. `is_logged` says that the log already has the change.
    fn restore(&self, page: Lpn, to: Upa, is_logged: bool) -> impl Future<Output = Result<(), MappingFault>>;
    /// All that is mapped has been restored: forgets the rest.
    fn only_restored(&self) -> impl Future<Output = ()>;
    /// Calls `each` with all mapped pages and their places until it returns false.
    ///
    /// # Errors
    /// If an entry can't be read any more.
    fn walk(&self, each: impl FnMut(Lpn, Upa) -> bool) -> impl Future<Output = Result<(), MappingFault>>;
    /// The drive has booted.
    fn booted(&self);
    /// The number of entries at the beginning of the stored map that say where the pages of the map itself
    /// are.
    fn directory_entries(&self) -> u32 {
        0
    }
    /// Gives up the pages of the map itself, in which nothing is mapped any more.
    fn give_up_own(&self);
    /// Whether the whole map fits a stored map.
    fn is_storable(&self) -> bool;
    /// Whether none of `count` logical pages from `first` on is mapped. Returns false if that isn't known.
    fn is_empty(&self, first: Lpn, count: u32) -> bool;
    /// Fills `into` with the entries from `first` on, as the stored map has them. An entry is the complement
    /// of the physical page's number, 4 bytes, little-endian, so that it is zero for an unmapped page and for
    /// one beyond the last. The entries are those of the moment at which the future ends.
    fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()>;
    /// The inverse of [`encode`](Mapping::encode), during boot. There are no pins.
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
