//! Register writes of the host on their way to the drive.

use aster_exec::{Exec, Handler, HandlerId};
use aster_units::Duration;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// A register write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) offset: u32,
    pub(crate) size: u8,
    pub(crate) value: u64,
}

/// Delivers posted writes in order, one link latency after they were sent.
pub(crate) struct Arrivals {
    exec: Exec,
    latency: Duration,
    queue: RefCell<VecDeque<Write>>,
    deliver: Box<dyn Fn(Write)>,
    id: Cell<Option<HandlerId>>,
}

impl Arrivals {
    pub(crate) fn start(exec: &Exec, latency: Duration, deliver: Box<dyn Fn(Write)>) -> Rc<Self> {
        let arrivals = Rc::new(Arrivals {
            exec: exec.clone(),
            latency,
            queue: RefCell::default(),
            deliver,
            id: Cell::new(None),
        });
        arrivals.id.set(Some(exec.register(arrivals.clone())));
        arrivals
    }

    pub(crate) fn send(&self, write: Write) {
        if self.latency.is_zero() {
            return (self.deliver)(write);
        }
        self.queue.borrow_mut().push_back(write);
        self.exec.schedule(self.exec.now() + self.latency, self.id.get().expect("registered in start"), 0);
    }
}

impl Handler for Arrivals {
    fn fire(&self, _: u64) {
        let write = self.queue.borrow_mut().pop_front();
        if let Some(write) = write {
            (self.deliver)(write);
        }
    }
}
