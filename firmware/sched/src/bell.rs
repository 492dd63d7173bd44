//! What wakes a polling loop of the simulation when there is something new to see.

use alloc::rc::Rc;
use aster_exec::{Exec, Handler, HandlerId, WaitCell};
use core::cell::Cell;

/// Wakes a loop when there is something new to see. A real core polls and needs no wake-up; the simulation
/// does, to skip idle passes.
pub(crate) struct Bell {
    exec: Exec,
    cell: WaitCell,
    rung: Cell<bool>,
}

impl Bell {
    /// A bell, and the handler that rings it.
    pub(crate) fn new(exec: &Exec) -> (Rc<Self>, HandlerId) {
        let bell = Rc::new(Bell { exec: exec.clone(), cell: WaitCell::default(), rung: Cell::new(false) });
        let id = exec.register(bell.clone());
        (bell, id)
    }
    /// A pass begins, which sees everything so far.
    pub(crate) fn still(&self) {
        self.rung.set(false);
    }
    /// Waits until it rings, or has rung since the last [`Bell::still`].
    pub(crate) async fn wait(&self) {
        self.cell.wait(&self.exec, || self.rung.replace(false).then_some(())).await;
    }
}

impl Handler for Bell {
    fn fire(&self, _: u64) {
        self.rung.set(true);
        self.cell.wake(&self.exec);
    }
}
