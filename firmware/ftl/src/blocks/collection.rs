//! When garbage collection looks for something to do.

use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_exec::WaitCell;
use aster_units::LunIndex;
use core::cell::Cell;

/// Where the garbage collection of each LUN waits, and whether it rests.
pub(crate) struct Collection {
    runtime: Rc<Runtime>,
    luns: Box<[WaitCell]>,
    // No victim is begun while the map is being stored. After that, and after boot, none is begun until the
    // host changes something, so that the root record of an idle drive stays valid.
    paused: Cell<bool>,
    // The pause has lasted since power-on and has no other reason.
    paused_since_boot: Cell<bool>,
}

impl Collection {
    pub(crate) fn new(runtime: &Rc<Runtime>) -> Self {
        Collection {
            runtime: Rc::clone(runtime),
            luns: (0..runtime.geometry.total_luns()).map(|_| WaitCell::default()).collect(),
            paused: Cell::new(true),
            paused_since_boot: Cell::new(true),
        }
    }
    /// Whether collection has been paused since power-on and for no other reason.
    pub(crate) fn rests_since_boot(&self) -> bool {
        self.paused_since_boot.get()
    }
    /// Waits until `begin` finds something to do for the LUN's garbage collection.
    pub(crate) async fn wait<T>(&self, lun: LunIndex, begin: impl FnMut() -> Option<T>) -> T {
        self.luns[lun.index()].wait(self.runtime.exec(), begin).await
    }
    /// The LUN's garbage collection looks for something to do.
    pub(crate) fn ask(&self, lun: LunIndex) {
        self.luns[lun.index()].wake(self.runtime.exec());
    }
    /// Whether collection is paused: no victim may be begun.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.get()
    }
    /// Lets no victim begin.
    pub(crate) fn pause(&self) {
        self.paused.set(true);
        self.paused_since_boot.set(false);
    }
    /// Lets victims begin again.
    pub(crate) fn resume(&self) {
        self.paused.set(false);
        self.paused_since_boot.set(false);
        for cell in &self.luns {
            cell.wake(self.runtime.exec());
        }
    }
    /// Whether the drive has been shut down and nothing has changed since.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.paused.get() && !self.paused_since_boot.get()
    }
}
