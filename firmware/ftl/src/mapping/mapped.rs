use crate::blocks::unsettled::Change;
use crate::journal::state::Journal;
use crate::mapping::resident::Map;
use alloc::rc::Rc;
use aster_events::{Event, Function};
use aster_units::{Lpn, Ppa};
use core::cell::RefCell;

/// Where logical pages are, and the changes of that.
pub(crate) struct Mapped {
    map: RefCell<Map>,
    pub(crate) journal: Rc<Journal>,
}

impl Mapped {
    pub(crate) fn new(journal: Rc<Journal>) -> Self {
        Mapped { map: RefCell::new(Map::new(journal.logical_pages)), journal }
    }
    /// Where a logical page is; none when it is unmapped.
    #[inline]
    pub(crate) fn get(&self, page: Lpn) -> Ppa {
        self.map.borrow().get(page)
    }
    /// Logical pages that there are.
    pub(crate) fn pages(&self) -> u32 {
        self.map.borrow().len()
    }
    /// The logical page at `ppa`, by looking at all of them: for a page whose OOB can't be read any more.
    pub(crate) fn find(&self, ppa: Ppa) -> Option<Lpn> {
        self.map.borrow().find(ppa)
    }

    // ---- boot and checkpoints ----

    /// Unmaps everything, as before any boot.
    pub(crate) fn forget_everything(&self) {
        self.map.replace(Map::new(self.journal.logical_pages));
    }
    /// Maps a page as boot has found it. Neither the journal nor the count of valid pages learns of it.
    pub(crate) fn restore(&self, lpn: Lpn, ppa: Ppa) {
        self.map.borrow_mut().set(lpn, ppa);
    }
    /// True when none of `count` logical pages from `first` on is mapped.
    pub(crate) fn is_empty(&self, first: usize, count: usize) -> bool {
        self.map.borrow().is_empty(first, count)
    }
    /// Little-endian entries from `first` on, as a stored map has them, as far as `into` reaches.
    pub(crate) fn store(&self, first: usize, into: &mut [u8]) {
        self.map.borrow().store(first, into);
    }
    /// The inverse of [`Mapped::store`].
    pub(crate) fn load(&self, first: usize, from: &[u8]) {
        self.map.borrow_mut().load(first, from);
    }

    // ---- changes ----

    /// Points a logical page at its new place, where it has just been programmed.
    pub(crate) fn moved(&self, lpn: Lpn, to: Ppa) {
        self.journal.spend(Function::AddressTranslator, self.journal.config.costs.translate);
        let from = self.map.borrow_mut().set(lpn, to);
        self.journal.blocks.borrow_mut().moved(Change { lpn, from, to });
        self.journal.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: to.0 });
        self.journal.blocks.settle_line(to);
    }
    /// Unmaps a page, and has the journal know it.
    pub(crate) fn unmap(&self, lpn: Lpn) {
        if !self.map.borrow().get(lpn).is_some() {
            return;
        }
        self.journal.mark_dirty();
        self.journal.spend(Function::AddressTranslator, self.journal.config.costs.translate);
        let sequence = self.journal.blocks.next_sequence();
        let from = self.map.borrow_mut().set(lpn, Ppa::NONE);
        {
            let mut blocks = self.journal.blocks.borrow_mut();
            let lun = self.journal.blocks.lun_of(lpn);
            blocks.unsettled.unmapped(lun, lpn);
            blocks.clear_valid(from);
            blocks.trimmed(lun, lpn, 1, sequence);
        }
        self.journal.after_program(self.journal.blocks.lun_of(lpn));
        self.journal.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: Ppa::NONE.0 });
    }
}
