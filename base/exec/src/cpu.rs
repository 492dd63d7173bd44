use crate::core_state::{CoreState, CoreStats};
use crate::exec::Exec;
use crate::ids::TaskId;
use crate::stack::{BoxedTask, Carrier, pend};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_units::{Duration, Frequency, Instant};
use core::future::Future;

/// One of the SSD's processor cores. Its tasks are polled only while it is free; charging moves its local
/// time ahead of the clock (design §2). Clones are handles to the same core.
#[derive(Clone)]
pub struct Core {
    exec: Exec,
    state: Rc<CoreState>,
}

impl Core {
    /// Adds a core to `exec`.
    pub fn new(exec: &Exec, frequency: Frequency) -> Self {
        let mut cores = exec.0.cores.borrow_mut();
        let state = Rc::new(CoreState::new(cores.len() as u32, frequency));
        cores.push(Rc::clone(&state));
        drop(cores);
        Core { exec: exec.clone(), state }
    }

    /// Adds a task to this core.
    pub fn spawn<F: Future<Output = ()> + 'static>(&self, future: F) -> TaskId {
        let task: BoxedTask = Box::pin(future);
        let task = match self.state.carrier.get() {
            Some(carrier) => carrier.carry(self.exec.stack(), task),
            None => task,
        };
        self.exec.spawn_at(Some(&self.state), core::any::type_name::<F>(), task)
    }

    /// Has `carrier` carry the tasks that are added to this core from now on.
    ///
    /// # Panics
    /// When the core has a carrier.
    pub fn carry_by(&self, carrier: Rc<dyn Carrier>) {
        assert!(self.state.carrier.set(carrier).is_ok(), "a second carrier");
    }

    /// The executor whose clock this core lives on.
    pub fn exec(&self) -> &Exec {
        &self.exec
    }

    /// The core's number among those of its executor, from 0 in the order in which they were added.
    pub fn number(&self) -> u32 {
        self.state.index
    }

    /// What events report of the core: its number, the task that runs, and the core's local time.
    #[inline]
    pub fn stands(&self) -> (u8, u32, Instant) {
        (self.state.index as u8, self.exec.current().number(), self.now())
    }

    /// The clock the core runs at.
    pub fn frequency(&self) -> Frequency {
        self.state.frequency()
    }

    /// The core's local time: the clock's, or a later time if charges have run ahead of the clock. What
    /// the core sends out carries this time.
    #[inline]
    pub fn now(&self) -> Instant {
        self.state.free_at().max(self.exec.now())
    }

    /// Spends `cycles` of the core. Synchronous: the rest of this poll takes place that much later.
    #[inline]
    pub fn charge(&self, cycles: u64) {
        if cycles == 0 {
            return;
        }
        self.state.charge(self.exec.now(), cycles);
    }

    /// Stalls the core for a register access or another bus round trip that doesn't scale with its clock.
    #[inline]
    pub fn stall(&self, duration: Duration) {
        if duration.is_zero() {
            return;
        }
        self.state.stall(self.exec.now(), duration);
    }

    /// Lets the clock catch up with the core's local time, so that the task next reads what the core
    /// would see at that time. The task keeps the core in the meantime: no other task of the core runs
    /// before it.
    #[inline]
    pub fn settle(&self) -> impl Future<Output = ()> {
        pend(
            || (!self.state.is_busy(self.exec.now())).then_some(()),
            || {
                self.exec.keep_core(self.exec.current(), &self.state);
                self.exec.suspend()
            },
        )
    }

    /// Lets the core's other ready tasks run first, and lets the clock catch up as [`Core::settle`] does.
    pub fn yield_now(&self) -> impl Future<Output = ()> {
        let mut yielded = false;
        pend(
            move || core::mem::replace(&mut yielded, true).then_some(()),
            || {
                self.exec.wake(self.exec.current());
                self.exec.suspend()
            },
        )
    }

    /// What the core has done so far.
    pub fn stats(&self) -> CoreStats {
        self.state.stats()
    }
}
