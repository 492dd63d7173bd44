//! Keeps a scheduler from using packages before they have been brought up.

use aster_exec::{Exec, WaitQueue};
use core::cell::Cell;

/// Opens when the packages have been brought up.
#[derive(Default)]
pub struct BringUpGate {
    open: Cell<bool>,
    waiting: WaitQueue,
}

impl BringUpGate {
    /// Opens the gate permanently.
    pub fn open(&self, exec: &Exec) {
        self.open.set(true);
        self.waiting.wake_all(exec);
    }
    /// Waits until the gate is open.
    pub async fn pass(&self, exec: &Exec) {
        self.waiting.wait(exec, || self.open.get().then_some(())).await;
    }
}
