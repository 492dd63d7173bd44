//! A map that is kept on the drive's own flash and partly cached in memory.
//!
//! | file | holds |
//! |---|---|
//! | `rows` | changes that are in no translation page yet, and pinned units |
//! | `clean` | copies of translation pages as they are on flash |
//! | `directory` | where translation pages are |
//! | `budget` | who may make how many rows dirty |
//! | `room` | who waits for rows |
//! | `loads`, `flushes` | translation pages that are being read, and those that are being written |
//! | `shape` | how units, entries and translation pages are numbered |
//! | `state` | all of these |
//! | `load` | reading translation pages |
//! | `flush` | writing them |
//! | `stored` | the part of this map that is in a stored map |

mod budget;
mod clean;
mod directory;
mod flush;
mod flushes;
mod load;
mod loads;
mod room;
mod rows;
mod shape;
mod state;
mod stored;

use crate::mapping::demand::budget::Whose;
use crate::mapping::demand::state::Demand;
use crate::mapping::{Mapping, MappingFault, MappingPorts, NoMapRoom};
use alloc::rc::Rc;
use aster_events::Event;
use aster_units::{Lpn, LunIndex, Upa};
use core::cell::Cell;
use core::future::{Future, ready};

/// A map on flash with a cache in memory, as [`crate::MapKind::DemandPaged`] describes it.
pub struct DemandMap(Rc<Demand>);

impl DemandMap {
    /// An empty map.
    pub fn new(ports: MappingPorts<'_>) -> Self {
        DemandMap(Rc::new(Demand::new(ports.store, ports.pages)))
    }
    /// Where all translation pages are, and the changes that they don't have.
    #[cfg(test)]
    pub(crate) fn state(&self) -> (alloc::vec::Vec<Upa>, alloc::collections::BTreeMap<Lpn, Upa>) {
        let (directory, rows) = (self.0.directory.borrow(), self.0.rows.borrow());
        let places = (0..self.0.shape.pages).map(|page| directory.get(page)).collect();
        (places, (0..rows.slots()).filter_map(|slot| rows.in_slot(slot)).collect())
    }
    /// Units that are pinned.
    #[cfg(test)]
    pub(crate) fn pinned(&self) -> u32 {
        self.0.rows.borrow().pinned()
    }
}

/// Keeps the row of a unit.
pub struct DemandPin {
    map: Rc<Demand>,
    unit: Lpn,
    // `None` for a translation page, whose place is always in memory.
    row: Option<u32>,
}

impl Drop for DemandPin {
    fn drop(&mut self) {
        if let Some(row) = self.row {
            self.map.rows.borrow_mut().unpin(self.unit, row);
        }
    }
}

/// Rows that may become dirty.
pub struct DemandRoom {
    map: Rc<Demand>,
    whose: Whose,
    left: Cell<u32>,
}

impl Drop for DemandRoom {
    fn drop(&mut self) {
        let left = self.left.get();
        if left > 0 {
            self.map.room.give_back(self.whose, left);
        }
    }
}

impl DemandMap {
    /// A pin on a unit whose entry is in memory.
    fn at_hand(&self, unit: Lpn) -> Option<DemandPin> {
        let map = &self.0;
        if map.shape.own_page(unit).is_some() {
            return Some(DemandPin { map: Rc::clone(map), unit, row: None });
        }
        let mut rows = map.rows.borrow_mut();
        let row = match rows.find(unit) {
            Some(row) => {
                rows.pin(row);
                row
            }
            None => {
                let (page, entry) = map.shape.entry_of(unit);
                let at = match map.clean.borrow_mut().get(page, entry) {
                    Some(at) => at,
                    None if map.directory.borrow().get(page).is_some() => return None,
                    None => Upa::NONE,
                };
                rows.insert_pinned(unit, at)
            }
        };
        Some(DemandPin { map: Rc::clone(map), unit, row: Some(row) })
    }
    fn room_of(&self, whose: Whose, changes: u32) -> DemandRoom {
        DemandRoom { map: Rc::clone(&self.0), whose, left: Cell::new(changes) }
    }
    async fn wait_room(&self, whose: Whose, changes: u32) -> Result<DemandRoom, NoMapRoom> {
        let taken = match self.0.room.take(whose, changes) {
            None => {
                self.0.count(|counts| counts.room_waits += 1);
                self.0.room.wait(whose, changes).await
            }
            taken => taken,
        };
        taken.map(|whose| self.room_of(whose, changes)).ok_or(NoMapRoom)
    }
}

impl Mapping for DemandMap {
    type Pin = DemandPin;
    type Room = DemandRoom;
    const STORES_UNITS: bool = false;

    fn pages(&self) -> u32 {
        self.0.shape.host_units + self.0.shape.pages
    }
    fn try_room(&self, changes: u32) -> Option<DemandRoom> {
        // Tasks that are waiting come first.
        let whose = (!self.0.room.is_awaited()).then(|| self.0.room.take(Whose::Host, changes))??;
        Some(self.room_of(whose, changes))
    }
    fn room(&self, changes: u32) -> impl Future<Output = Result<DemandRoom, NoMapRoom>> {
        self.wait_room(Whose::Host, changes)
    }
    fn room_to_collect(
        &self,
        lun: LunIndex,
        changes: u32,
    ) -> impl Future<Output = Result<DemandRoom, NoMapRoom>> {
        self.wait_room(Whose::Collector(lun), changes)
    }
    fn try_pin(&self, unit: Lpn) -> Option<DemandPin> {
        let pin = self.at_hand(unit)?;
        self.0.count(|counts| counts.hits += 1);
        Some(pin)
    }
    async fn pin(&self, unit: Lpn) -> Result<DemandPin, MappingFault> {
        self.0.count(|counts| counts.misses += 1);
        let (runtime, (page, _)) = (self.0.runtime(), self.0.shape.entry_of(unit));
        runtime.emit(|| Event::MapMissed { task: runtime.task(), page });
        let brought = loop {
            if let Some(pin) = self.at_hand(unit) {
                break Ok(pin);
            }
            if self.0.loads.has(page) {
                self.0.count(|counts| counts.joined += 1);
                self.0.loads.wait().await;
            } else if !self.0.load(page).await {
                break Err(MappingFault { page: unit });
            }
        };
        runtime.emit(|| Event::MapBrought { task: runtime.task() });
        brought
    }
    fn page(&self, pin: &DemandPin) -> Lpn {
        pin.unit
    }
    fn get(&self, pin: &DemandPin) -> Upa {
        match pin.row {
            Some(row) => self.0.rows.borrow().place(row),
            None => self.0.directory.borrow().get(pin.unit.0 - self.0.shape.host_units),
        }
    }
    fn set(&self, room: &DemandRoom, pin: &DemandPin, to: Upa) -> Upa {
        let Some(row) = pin.row else {
            return self.0.directory.borrow_mut().set(pin.unit.0 - self.0.shape.host_units, to);
        };
        let (old, newly_dirty) = self.0.rows.borrow_mut().set(pin.unit, row, to);
        if newly_dirty {
            let left = room.left.get().checked_sub(1);
            room.left.set(left.unwrap_or(0));
            self.0.room.spend(room.whose, left.is_some());
        }
        old
    }
    async fn find(&self, at: Upa) -> Option<Lpn> {
        let mut found = None;
        let walked = self.0.walk_all(|unit, there| {
            found = (there == at).then_some(unit);
            found.is_none()
        });
        // A unit whose page can't be read can't be found.
        let _unreadable = walked.await;
        found
    }
    fn is_own(&self, at: Upa) -> bool {
        self.0.directory.borrow().is_at(at)
    }
    fn start(&self) {
        let journal = self.0.journal();
        for n in 0..journal.runtime().buffers.flushes() {
            let of_metadata = journal.runtime().buffers.flush(n);
            let buffer = journal.pages().dram().borrow().metadata_buffer(of_metadata);
            journal.runtime().core.spawn(flush::run(Rc::clone(&self.0), buffer));
        }
    }
    async fn idle(&self) {
        self.0.flushes.idle().await;
    }
    async fn settled(&self) {
        self.0.journal().blocks().queues.ask_flush();
        self.0.room.settled().await;
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let counts = self.0.counts.get();
        each("map_pages", self.0.shape.pages.into());
        each("map_hits", counts.hits);
        each("map_misses", counts.misses);
        each("map_joined", counts.joined);
        each("map_page_reads", counts.page_reads);
        each("map_page_programs", counts.page_programs);
        each("map_changes_written", counts.changes);
        each("map_changes_held", self.0.rows.borrow().dirty().into());
        each("map_room_waits", counts.room_waits);
    }
    fn clear(&self) {
        self.0.directory.borrow_mut().clear();
        self.0.rows.borrow_mut().clear();
        self.0.clean.borrow_mut().clear();
        self.0.is_booting.set(true);
    }
    fn restore(&self, unit: Lpn, to: Upa, is_logged: bool) -> impl Future<Output = Result<(), MappingFault>> {
        let map = &self.0;
        if let Some(page) = map.shape.own_page(unit) {
            map.directory.borrow_mut().set(page, to);
        } else {
            map.rows.borrow_mut().restore(unit, to, is_logged);
        }
        ready(Ok(()))
    }
    async fn only_restored(&self) {
        self.0.forget_others().await;
    }
    fn walk(&self, each: impl FnMut(Lpn, Upa) -> bool) -> impl Future<Output = Result<(), MappingFault>> {
        self.0.walk_all(each)
    }
    fn booted(&self) {
        self.0.room.begin(self.0.rows.borrow().dirty());
        self.0.is_booting.set(false);
    }
    fn directory_entries(&self) -> u32 {
        self.0.shape.pages
    }
    fn give_up_own(&self) {
        (0..self.0.shape.pages).for_each(|page| self.0.unmap_own(page));
        let dirty = self.0.rows.borrow().dirty();
        self.0.rows.borrow_mut().clear();
        self.0.room.cleaned(dirty);
    }
    fn is_storable(&self) -> bool {
        self.0.rows.borrow().slots() <= self.0.shape.stored_rows
    }
    fn is_empty(&self, first: Lpn, count: u32) -> bool {
        self.0.says_nothing(first.0, count)
    }
    fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()> {
        self.0.store(first.0, into);
        ready(())
    }
    fn load(&self, first: Lpn, from: &[u8]) -> impl Future<Output = ()> {
        self.0.take_stored(first.0, from);
        ready(())
    }
}
