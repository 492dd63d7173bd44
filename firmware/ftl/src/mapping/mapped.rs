use crate::blocks::unsettled::Change;
use crate::drive::Drive;
use crate::mapping::resident::Map;
use alloc::rc::Rc;
use aster_events::{Event, Function};
use aster_units::{Lpn, Ppa};
use core::cell::RefCell;

/// Where logical pages are, and the changes of that.
pub(crate) struct Mapped {
    pub(crate) map: RefCell<Map>,
    pub(crate) drive: Rc<Drive>,
}

impl Mapped {
    pub(crate) fn new(drive: Rc<Drive>) -> Self {
        Mapped { map: RefCell::new(Map::new(drive.logical_pages)), drive }
    }
    /// Where a logical page is; none when it is unmapped.
    #[inline]
    pub(crate) fn get(&self, page: Lpn) -> Ppa {
        self.map.borrow().get(page)
    }
    /// Points a logical page at its new place, where it has just been programmed.
    pub(crate) fn moved(&self, lpn: Lpn, to: Ppa) {
        self.drive.spend(Function::AddressTranslator, self.drive.config.costs.translate);
        let from = self.map.borrow_mut().set(lpn, to);
        self.drive.blocks.borrow_mut().moved(Change { lpn, from, to });
        self.drive.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: to.0 });
        self.drive.blocks.settle_line(to);
    }
    pub(crate) fn unmap(&self, lpn: Lpn) {
        if !self.map.borrow().get(lpn).is_some() {
            return;
        }
        self.drive.mark_dirty();
        self.drive.spend(Function::AddressTranslator, self.drive.config.costs.translate);
        let sequence = self.drive.blocks.next_sequence();
        let from = self.map.borrow_mut().set(lpn, Ppa::NONE);
        {
            let mut blocks = self.drive.blocks.borrow_mut();
            let lun = self.drive.blocks.lun_of(lpn);
            blocks.unsettled.unmapped(lun, lpn);
            blocks.clear_valid(from);
            blocks.trimmed(lun, lpn, 1, sequence);
        }
        self.drive.after_program(self.drive.blocks.lun_of(lpn));
        self.drive.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: Ppa::NONE.0 });
    }
}
