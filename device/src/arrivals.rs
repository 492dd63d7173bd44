//! Register writes of the host on their way to the drive.

use aster_exec::{Exec, Fifo, Handler, HandlerId};
use aster_units::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A register write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) bar: u8,
    pub(crate) offset: u32,
    pub(crate) size: u8,
    pub(crate) value: u64,
}

/// Delivers posted writes in order: one link latency after they were sent, or when an access arrives that
/// may not overtake them.
pub(crate) struct Arrivals {
    exec: Exec,
    latency: Duration,
    queue: RefCell<Fifo<(Instant, Write)>>,
    /// When the last write of the queue arrives.
    last_at: Cell<Instant>,
    deliver: Box<dyn Fn(Write)>,
    id: Cell<Option<HandlerId>>,
}

impl Arrivals {
    pub(crate) fn start(exec: &Exec, latency: Duration, deliver: Box<dyn Fn(Write)>) -> Rc<Self> {
        let arrivals = Rc::new(Arrivals {
            exec: exec.clone(),
            latency,
            queue: RefCell::default(),
            last_at: Cell::new(Instant::ZERO),
            deliver,
            id: Cell::new(None),
        });
        arrivals.id.set(Some(exec.register(arrivals.clone())));
        arrivals
    }

    /// Sends a write at `sent`, or now if that is past.
    #[inline]
    pub(crate) fn send(&self, write: Write, sent: Instant) {
        let (now, mut queue) = (self.exec.now(), self.queue.borrow_mut());
        let at = sent.max(now) + self.latency;
        // Posted writes keep their order.
        let at = if queue.is_empty() { at } else { at.max(self.last_at.get()) };
        if at == now && queue.is_empty() {
            drop(queue);
            return (self.deliver)(write);
        }
        self.last_at.set(at);
        queue.push_back((at, write));
        drop(queue);
        self.exec.schedule(at, self.id.get().expect("registered in start"), 0);
    }

    /// Writes on their way.
    pub(crate) fn under_way(&self) -> usize {
        self.queue.borrow().len()
    }

    /// Delivers all writes on their way. A read or a configuration request pushes the posted writes before
    /// it (PCIe 4.0 §2.4.1). It is answered now, so they arrive now, too.
    pub(crate) fn push_through(&self) {
        loop {
            let next = self.queue.borrow_mut().pop_front();
            let Some((_, write)) = next else { return };
            (self.deliver)(write);
        }
    }
}

impl Handler for Arrivals {
    fn fire(&self, _: u64) {
        // A write that was pushed through leaves its event behind. A later write may still be on its way
        // then.
        let now = self.exec.now();
        let write = self.queue.borrow_mut().pop_front_if(|(at, _)| *at <= now);
        if let Some((_, write)) = write {
            (self.deliver)(write);
        }
    }
}
