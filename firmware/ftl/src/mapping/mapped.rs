use crate::blocks::pool::BlockPool;
use crate::blocks::programmed::Programmed;
use crate::durability::unsafe_programs::Change;
use crate::journal::state::Journal;
use crate::mapping::{Mapping, MappingFault, NoMapRoom, pin};
use crate::terms::reused::{Borrowed, Reused};
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Function};
use aster_units::{Lpn, LunIndex, Ppa, Upa};
use core::future::Future;

/// Where logical units are, and changes of the mapping.
pub(crate) struct Mapped<M: Mapping> {
    map: M,
    // The pins of tasks that hold several.
    pins: Reused<Vec<M::Pin>>,
    pub(crate) journal: Rc<Journal>,
    blocks: Rc<BlockPool>,
    runtime: Rc<Runtime>,
}

impl<M: Mapping> Mapped<M> {
    pub(crate) fn new(journal: Rc<Journal>, map: M) -> Self {
        assert_eq!(map.pages(), journal.own.all_units(), "a mapping has as many units as it was asked for");
        let pins = Reused::with_capacity(usize::from(journal.runtime().config.host.slice_workers));
        Mapped {
            map,
            pins,
            blocks: Rc::clone(journal.blocks()),
            runtime: Rc::clone(journal.runtime()),
            journal,
        }
    }
    /// The mapping itself.
    pub(crate) fn map(&self) -> &M {
        &self.map
    }
    /// As [`Mapping::try_pin`]; the first half of `pin!`.
    #[inline]
    pub(crate) fn try_pin(&self, page: Lpn) -> Option<M::Pin> {
        self.map.try_pin(page)
    }
    /// As [`Mapping::pin`]; the second half of `pin!`.
    #[inline]
    pub(crate) fn pin(&self, page: Lpn) -> impl Future<Output = Result<M::Pin, MappingFault>> {
        self.map.pin(page)
    }
    /// As [`Mapping::try_room`]; the first half of `room!`.
    #[inline]
    pub(crate) fn try_room(&self, changes: u32) -> Option<M::Room> {
        self.map.try_room(changes)
    }
    /// As [`Mapping::room`]; the second half of `room!`.
    #[inline]
    pub(crate) fn room(&self, changes: u32) -> impl Future<Output = Result<M::Room, NoMapRoom>> {
        self.map.room(changes)
    }
    /// As [`Mapping::room_to_collect`].
    #[inline]
    pub(crate) fn room_to_collect(
        &self,
        lun: LunIndex,
        changes: u32,
    ) -> impl Future<Output = Result<M::Room, NoMapRoom>> {
        self.map.room_to_collect(lun, changes)
    }
    /// Whether a page holds a part of the map itself.
    #[inline]
    pub(crate) fn is_own(&self, page: Ppa) -> bool {
        self.map.is_own(self.runtime.units.first_in(page))
    }
    /// Pins on all of these units.
    pub(crate) async fn pin_all(
        &self,
        units: impl Iterator<Item = Lpn>,
    ) -> Result<Borrowed<'_, Vec<M::Pin>>, MappingFault> {
        let mut pins = self.pins.borrow();
        for unit in units {
            pins.push(pin!(self, unit)?);
        }
        Ok(pins)
    }
    /// Whether one of the units is mapped, if the map entries needed for that are in memory.
    #[inline]
    pub(crate) fn is_one_mapped(&self, units: impl Iterator<Item = Lpn>) -> Option<bool> {
        for unit in units {
            if self.get(&self.try_pin(unit)?).is_some() {
                return Some(true);
            }
        }
        Some(false)
    }
    /// Whether one of the units is unmapped.
    pub(crate) async fn is_one_unmapped(
        &self,
        units: impl Iterator<Item = Lpn>,
    ) -> Result<bool, MappingFault> {
        for unit in units {
            let pin = pin!(self, unit)?;
            if !self.get(&pin).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// The page that a pin was taken on.
    #[inline]
    pub(crate) fn page(&self, pin: &M::Pin) -> Lpn {
        self.map.page(pin)
    }
    /// Where a pinned page is; [`Upa::NONE`] if it is unmapped.
    #[inline]
    pub(crate) fn get(&self, pin: &M::Pin) -> Upa {
        self.map.get(pin)
    }
    /// Where a page is. Somebody must hold a pin on it.
    #[inline]
    pub(crate) fn place_of_pinned(&self, page: Lpn) -> Upa {
        self.map.get(&self.map.try_pin(page).expect("a pinned page is at hand"))
    }
    /// The number of logical pages.
    #[inline]
    pub(crate) fn pages(&self) -> u32 {
        self.map.pages()
    }
    /// The logical page at `ppa`, by a search through the whole map: for a page whose OOB can't be read any
    /// more.
    pub(crate) fn find(&self, ppa: Upa) -> impl Future<Output = Option<Lpn>> {
        self.map.find(ppa)
    }

    // ---- boot and checkpoints ----

    /// Unmaps everything, as before any boot.
    pub(crate) fn forget_everything(&self) {
        self.map.clear();
    }
    /// Where a page is, for boot.
    pub(crate) async fn look_up(&self, lpn: Lpn) -> Result<Upa, MappingFault> {
        let pin = pin!(self, lpn)?;
        Ok(self.map.get(&pin))
    }
    /// Maps a page as boot has found it. Updates neither the journal nor the count of valid pages.
    pub(crate) fn restore(
        &self,
        lpn: Lpn,
        ppa: Upa,
        is_logged: bool,
    ) -> impl Future<Output = Result<(), MappingFault>> {
        self.map.restore(lpn, ppa, is_logged)
    }
    /// Whether none of `count` logical pages from `first` on is mapped.
    pub(crate) fn is_empty(&self, first: Lpn, count: u32) -> bool {
        self.map.is_empty(first, count)
    }
    /// Fills `into` with the entries from `first` on, as a stored map has them.
    pub(crate) fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()> {
        self.map.encode(first, into)
    }
    /// The inverse of [`Mapped::encode`].
    pub(crate) fn load(&self, first: Lpn, from: &[u8]) -> impl Future<Output = ()> {
        self.map.load(first, from)
    }

    // ---- changes ----

    /// Points logical units at their new places in a page that was programmed, each with its slot.
    pub(crate) fn moved<'p>(
        &self,
        room: &M::Room,
        programmed: Programmed,
        units: impl IntoIterator<Item = (u32, &'p M::Pin)>,
    ) where
        M::Pin: 'p,
    {
        for (slot, pin) in units {
            let (lpn, to) = (self.map.page(pin), self.runtime.units.at(programmed.page(), slot));
            self.runtime.spend(Function::AddressTranslator, self.runtime.config.costs.translate);
            let from = self.map.set(room, pin, to);
            self.blocks.table().durability.moved(Change { lpn, from, to });
            self.runtime.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: self.runtime.told(to).0 });
        }
        self.blocks.line_durable(programmed);
    }
    /// Unmaps a page, and journals it.
    pub(crate) fn unmap(&self, room: &M::Room, pin: &M::Pin) {
        if !self.map.get(pin).is_some() {
            return;
        }
        let lpn = self.map.page(pin);
        self.journal.root.mark_dirty();
        self.runtime.spend(Function::AddressTranslator, self.runtime.config.costs.translate);
        let sequence = self.blocks.sequence.next();
        let from = self.map.set(room, pin, Upa::NONE);
        let layout = &self.blocks.table().layout;
        let lun = layout.lun_of(layout.block_of_unit(from));
        self.blocks.table().durability.unmapped(layout.pool_of(lun), lpn, from, sequence);
        self.journal.due.after_program(lun);
        self.runtime.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: Upa::NONE.0 });
    }
}
