//! How the loop waits when a pass has found nothing to do.

use crate::bell::Bell;
use alloc::rc::Rc;
use aster_exec::{Exec, HandlerId};
use aster_units::Instant;

/// The bell that ports ring when there is something new, and the instant at which it rings by itself.
pub(super) struct Alarm {
    bell: Rc<Bell>,
    id: HandlerId,
    /// The earliest instant at which it rings because a way must be given up.
    rings_at: Instant,
}

impl Alarm {
    pub fn new(exec: &Exec) -> Self {
        let (bell, id) = Bell::new(exec);
        Alarm { bell, id, rings_at: Instant::MAX }
    }
    /// The handler that rings the bell.
    pub fn handler(&self) -> HandlerId {
        self.id
    }
    /// A pass begins: it will see everything that has happened so far.
    pub fn still(&self) {
        self.bell.still();
    }
    /// Waits until the bell rings, unless it has rung since it was last stilled.
    #[inline]
    pub fn wait(&self) -> impl Future<Output = ()> {
        self.bell.wait()
    }
    /// Makes the bell ring at `first` at the latest.
    pub fn set(&mut self, exec: &Exec, first: Instant) {
        if self.rings_at <= exec.now() {
            self.rings_at = Instant::MAX;
        }
        if first < self.rings_at {
            self.rings_at = first;
            exec.schedule(first, self.id, 0);
        }
    }
}
