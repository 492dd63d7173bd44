//! The core's time.

use aster_events::{Function, Recorder};
use aster_exec::Core;

/// A core, and where events of it go.
pub(super) struct CoreTime {
    core: Core,
    recorder: Recorder,
}

impl CoreTime {
    pub(super) fn new(core: &Core, recorder: &Recorder) -> Self {
        CoreTime { core: core.clone(), recorder: recorder.clone() }
    }
    /// Spends cycles of the core. What follows happens when they are over.
    pub(super) async fn spend(&self, function: Function, cycles: u64) {
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
        self.core.settle().await;
    }
    /// Has the core's other tasks run first, if any can.
    pub(super) async fn give_way(&self) {
        self.core.yield_now().await;
    }
}
