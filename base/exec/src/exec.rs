use crate::core_state::CoreState;
use crate::ids::{HandlerId, TaskId};
use crate::ready::{Ready, ReadyQueue};
use crate::stack::{BoxedTask, RunningStack, pend};
use crate::timers::TimerQueue;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::{Duration, Instant};
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};

/// A hardware model (or any passive part) that timed events are delivered to.
pub trait Handler {
    /// The event scheduled with `token` is due; [`Exec::now`] is its time.
    fn fire(&self, token: u64);
    /// Its name in [`Exec::roster`]: by default, its type.
    fn name(&self) -> &'static str {
        core::any::type_name::<Self>()
    }
}

/// How much work an executor has done. The numbers are deterministic, so that tests may bound them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Timed events delivered (hardware events, timers, cores becoming free).
    pub events: u64,
    /// Posted calls delivered at the instant they were posted.
    pub posts: u64,
    /// Task polls.
    pub polls: u64,
    /// Instants at which timed events were delivered.
    pub instants: u64,
}

/// The types of an executor's tasks and handlers, each in the order in which they were added. Both orders
/// are part of the behaviour. Tasks get their numbers, and their first poll, in the order of tasks.
/// Events of [`Exec::schedule_last`] come in the order of handlers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Roster {
    /// Tasks, ended ones too.
    pub tasks: Vec<&'static str>,
    /// Handlers.
    pub handlers: Vec<&'static str>,
}

// Targets of timed events: handlers count up from 0, tasks from TASK, cores from CORE.
const TASK: u32 = 1 << 30;
const CORE: u32 = 1 << 31;

struct Task {
    // `None` while the task is being polled and after it has ended.
    future: Option<BoxedTask>,
    core: Option<Rc<CoreState>>,
    queued: bool,
}

#[inline]
fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

pub(crate) struct Inner {
    now: Cell<Instant>,
    queue: RefCell<TimerQueue>,
    ready: ReadyQueue,
    tasks: RefCell<Vec<Task>>,
    // Borrowed while one of them handles an event. Those that are registered meanwhile stand in `late`, with
    // the numbers behind these.
    handlers: RefCell<Vec<Rc<dyn Handler>>>,
    late: RefCell<Vec<Rc<dyn Handler>>>,
    pub(crate) cores: RefCell<Vec<Rc<CoreState>>>,
    // How many tasks wait for a core, of all cores together. Mostly none does, and then no core's queue needs
    // to be looked at.
    parked: Cell<u32>,
    current: Cell<u32>,
    stack: Rc<RunningStack>,
    events: Cell<u64>,
    posts: Cell<u64>,
    polls: Cell<u64>,
    instants: Cell<u64>,
    roster: RefCell<Roster>,
}

/// One clock with its events and tasks. Clones are handles to the same executor.
#[derive(Clone)]
pub struct Exec(pub(crate) Rc<Inner>);

impl Default for Exec {
    fn default() -> Self {
        Self::new()
    }
}

impl Exec {
    /// An executor at time zero with nothing to do.
    pub fn new() -> Self {
        Exec(Rc::new(Inner {
            now: Cell::new(Instant::ZERO),
            queue: RefCell::default(),
            ready: ReadyQueue::default(),
            tasks: RefCell::default(),
            handlers: RefCell::default(),
            late: RefCell::default(),
            cores: RefCell::default(),
            parked: Cell::new(0),
            current: Cell::new(u32::MAX),
            stack: Rc::default(),
            events: Cell::new(0),
            posts: Cell::new(0),
            polls: Cell::new(0),
            instants: Cell::new(0),
            roster: RefCell::default(),
        }))
    }

    /// The time of the event being handled.
    #[inline]
    pub fn now(&self) -> Instant {
        self.0.now.get()
    }

    /// Work done so far.
    pub fn counts(&self) -> Counts {
        let Inner { events, posts, polls, instants, .. } = &*self.0;
        Counts { events: events.get(), posts: posts.get(), polls: polls.get(), instants: instants.get() }
    }

    /// Its tasks and handlers, for tests that check their order.
    pub fn roster(&self) -> Roster {
        self.0.roster.borrow().clone()
    }

    /// Registers a handler for timed events and posts.
    pub fn register(&self, handler: Rc<dyn Handler>) -> HandlerId {
        self.0.roster.borrow_mut().handlers.push(handler.name());
        let mut late = self.0.late.borrow_mut();
        late.push(handler);
        let registered = match self.0.handlers.try_borrow_mut() {
            Ok(mut handlers) => {
                handlers.append(&mut late);
                handlers.len()
            }
            // One of them is handling an event.
            Err(_) => self.0.handlers.borrow().len() + late.len(),
        };
        assert!(registered < TASK as usize, "too many handlers");
        HandlerId(registered as u32 - 1)
    }

    /// Delivers `token` to `handler` at `at`, or now when `at` has passed.
    #[inline]
    pub fn schedule(&self, at: Instant, handler: HandlerId, token: u64) {
        let at = at.max(self.now());
        self.0.queue.borrow_mut().push(at, handler.0, token);
    }

    /// As [`Exec::schedule`], but after everything else that is scheduled for `at`. Such events come in
    /// the order of their handlers, independent of when they were scheduled. This is for hardware whose
    /// cycle ends at `at`: it then sees everything that software does at that instant, and two pieces of
    /// hardware always take their turns in the same order.
    #[inline]
    pub fn schedule_last(&self, at: Instant, handler: HandlerId, token: u64) {
        let at = at.max(self.now());
        self.0.queue.borrow_mut().push_in(at, handler.0, token, true);
    }

    /// Delivers `token` to `handler` at this instant, after the task or handler that runs now has
    /// returned. Cheaper than an event. Parts call each other this way to avoid re-entry.
    #[inline]
    pub fn post(&self, handler: HandlerId, token: u64) {
        self.0.ready.push(Ready::Post(handler.0, token));
    }

    /// Adds a task that runs on no particular core: polling it is never delayed.
    pub fn spawn<F: Future<Output = ()> + 'static>(&self, future: F) -> TaskId {
        self.spawn_at(None, core::any::type_name::<F>(), Box::pin(future))
    }

    /// `name` is what the roster calls it.
    pub(crate) fn spawn_at(
        &self,
        core: Option<&Rc<CoreState>>,
        name: &'static str,
        future: BoxedTask,
    ) -> TaskId {
        self.0.roster.borrow_mut().tasks.push(name);
        let mut tasks = self.0.tasks.borrow_mut();
        let id = tasks.len() as u32;
        assert!(id < TASK, "too many tasks");
        tasks.push(Task { future: Some(future), core: core.cloned(), queued: true });
        self.0.ready.push(Ready::Task(id));
        TaskId(id)
    }

    /// The task being polled; [`TaskId::NONE`] outside one.
    #[inline]
    pub fn current(&self) -> TaskId {
        TaskId(self.0.current.get())
    }

    /// Has `task` polled at this instant. If it is woken twice, it is polled once.
    #[inline]
    pub fn wake(&self, task: TaskId) {
        if let Some(t) = self.0.tasks.borrow_mut().get_mut(task.0 as usize)
            && !t.queued
        {
            t.queued = true;
            self.0.ready.push(Ready::Task(task.0));
        }
    }

    /// Has `task` polled at `at`.
    #[inline]
    pub fn wake_at(&self, at: Instant, task: TaskId) {
        let at = at.max(self.now());
        self.0.queue.borrow_mut().push(at, TASK + task.0, 0);
    }

    /// Waits until the clock shows `at`.
    pub async fn sleep_until(&self, at: Instant) {
        let mut armed = false;
        pend(
            || (self.now() >= at).then_some(()),
            || {
                if !armed {
                    armed = true;
                    self.wake_at(at, self.current());
                }
                self.suspend()
            },
        )
        .await;
    }

    /// Carries `future` out, and calls `tell` before it first waits, if it does. For callers that would
    /// otherwise have to poll the future themselves, which on a private stack doesn't return before it is
    /// ready.
    #[inline]
    pub fn before_waiting<T, F: Future<Output = T> + ?Sized>(
        &self,
        future: Pin<&mut F>,
        tell: impl FnMut(),
    ) -> impl Future<Output = T> {
        self.stack().before_waiting(future, tell)
    }

    /// Suspends the stack of the task that runs, if it has one. False when the task has to return
    /// [`Poll::Pending`](core::task::Poll::Pending).
    #[inline]
    pub(crate) fn suspend(&self) -> bool {
        self.0.stack.suspend()
    }

    #[inline]
    pub(crate) fn stack(&self) -> &Rc<RunningStack> {
        &self.0.stack
    }

    /// Waits for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.now() + duration).await;
    }

    /// When the executor next has something to do; `None` if only outside input can cause any. Does not
    /// advance anything.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.has_ready() {
            return Some(self.now());
        }
        self.0.queue.borrow().next()
    }

    /// Does everything that is due up to and including `until`, then sets the clock to `until`.
    pub fn advance_to(&self, until: Instant) {
        loop {
            self.drain_ready();
            let Some((at, target, token)) = self.0.queue.borrow_mut().pop_due(until) else { break };
            if at > self.now() {
                self.0.now.set(at);
                count(&self.0.instants);
            }
            self.dispatch(target, token);
        }
        if until > self.now() && until != Instant::MAX {
            self.0.now.set(until);
        }
    }

    /// Does what is due instant by instant: the first one in any case, and then further ones before `before`,
    /// up to `most` in all. Asks `goes_on` at the end of each. What that makes ready is still due at the same
    /// instant, which then counts once more, as if the caller had left and come back. Returns how many
    /// instants were processed.
    pub fn advance_while(
        &self,
        before: Option<Instant>,
        most: u32,
        mut goes_on: impl FnMut() -> bool,
    ) -> u32 {
        let Some(first) = self.next_deadline() else { return 0 };
        let last = before.map_or(Instant::MAX, |before| before - Duration::from_picos(1)).max(first);
        // The first instant may be the one at which the clock stands.
        let mut instants = u32::from(first == self.now());
        loop {
            self.drain_ready();
            let is_over = self.0.queue.borrow().next().is_none_or(|next| next > self.now());
            if is_over && instants > 0 {
                if instants >= most || !goes_on() {
                    break;
                }
                if self.has_ready() {
                    instants += 1;
                    continue;
                }
            }
            let Some((at, target, token)) = self.0.queue.borrow_mut().pop_due(last) else { break };
            if is_over {
                self.0.now.set(at);
                count(&self.0.instants);
                instants += 1;
            }
            self.dispatch(target, token);
        }
        instants
    }

    #[inline]
    fn dispatch(&self, target: u32, token: u64) {
        count(&self.0.events);
        if target >= CORE {
            self.core_is_free(target - CORE);
        } else if target >= TASK {
            self.poll_or_park(target - TASK);
        } else {
            self.deliver(target, token);
        }
    }

    /// Moves the clock to `at` without delivering what is due then, so that outside input can go first.
    /// Asserts that nothing is due before `at`. An `at` in the past changes nothing.
    #[inline]
    pub fn catch_up(&self, at: Instant) {
        if at > self.now() {
            assert!(self.next_deadline().is_none_or(|d| d >= at), "the clock would jump over an event");
            self.0.now.set(at);
        }
    }

    /// Drops all tasks, handlers and events. A device calls it when it is dropped. Handlers hold
    /// executors and executors hold handlers; this breaks the cycle. No handler may call it, nor drop the
    /// last owner of what calls it: handlers can't be dropped while one of them fires.
    pub fn shut_down(&self) {
        let tasks = core::mem::take(&mut *self.0.tasks.borrow_mut());
        let handlers = core::mem::take(&mut *self.0.handlers.borrow_mut());
        let late = core::mem::take(&mut *self.0.late.borrow_mut());
        let cores = core::mem::take(&mut *self.0.cores.borrow_mut());
        self.0.queue.borrow_mut().clear();
        self.0.ready.clear();
        self.0.parked.set(0);
        drop((tasks, handlers, late, cores));
    }

    #[inline]
    fn drain_ready(&self) {
        while let Some(next) = self.0.ready.pop() {
            match next {
                Ready::Task(id) => self.poll_or_park(id),
                Ready::Post(handler, token) => {
                    count(&self.0.posts);
                    self.deliver(handler, token);
                }
            }
        }
    }

    #[inline]
    fn has_ready(&self) -> bool {
        !self.0.ready.is_empty()
    }

    #[inline]
    fn deliver(&self, handler: u32, token: u64) {
        let handlers = self.0.handlers.borrow();
        match handlers.get(handler as usize) {
            Some(handler) => handler.fire(token),
            None => self.deliver_late(handler as usize - handlers.len(), token),
        }
    }
    /// To a handler that was registered while another one was handling the event that goes on.
    #[cold]
    fn deliver_late(&self, late: usize, token: u64) {
        let handler = Rc::clone(&self.0.late.borrow()[late]);
        handler.fire(token);
    }

    /// Polls a task, or parks it when its core is busy or others wait for it.
    #[inline]
    fn poll_or_park(&self, id: u32) {
        let taken = {
            let mut tasks = self.0.tasks.borrow_mut();
            let task = &mut tasks[id as usize];
            if let Some(core) = &task.core
                && (core.is_busy(self.now()) || self.is_waited_for(core))
            {
                return self.park(id, core);
            }
            task.queued = false;
            task.future.take()
        };
        self.carry_on(id, taken);
        if self.0.parked.get() > 0 {
            self.serve_parked(id);
        }
    }
    /// Polls the tasks that have begun to wait for the core of a task that was polled.
    fn serve_parked(&self, id: u32) {
        let core = self.0.tasks.borrow().get(id as usize).and_then(|task| task.core.clone());
        if let Some(core) = core.filter(|core| self.is_waited_for(core)) {
            self.run_core(&core);
        }
    }

    /// Whether tasks wait for a core.
    #[inline]
    fn is_waited_for(&self, core: &CoreState) -> bool {
        let is_not_empty = || !core.waiting.borrow().is_empty();
        debug_assert!(
            self.0.parked.get() > 0 || !is_not_empty(),
            "a task waits for core {} uncounted",
            core.index
        );
        self.0.parked.get() > 0 && is_not_empty()
    }

    #[inline]
    fn park(&self, id: u32, core: &CoreState) {
        core.waiting.borrow_mut().push_back(TaskId(id));
        self.0.parked.set(self.0.parked.get() + 1);
        self.arm_core(core);
    }
    /// The task keeps a core until that is free: it waits before all others, once.
    #[inline]
    pub(crate) fn keep_core(&self, task: TaskId, core: &CoreState) {
        let mut waiting = core.waiting.borrow_mut();
        if waiting.front() != Some(&task) {
            waiting.push_front(task);
            self.0.parked.set(self.0.parked.get() + 1);
        }
        drop(waiting);
        self.arm_core(core);
    }

    #[inline]
    fn poll(&self, id: u32) {
        let taken = {
            let mut tasks = self.0.tasks.borrow_mut();
            let task = &mut tasks[id as usize];
            task.queued = false;
            task.future.take()
        };
        self.carry_on(id, taken);
    }
    /// Polls a task's future, which was taken from it.
    #[inline(always)]
    fn carry_on(&self, id: u32, taken: Option<BoxedTask>) {
        // The task has already ended, or is being polled.
        let Some(mut future) = taken else { return };
        count(&self.0.polls);
        let outer = self.0.current.replace(id);
        let ended = future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        self.0.current.set(outer);
        if !ended && let Some(task) = self.0.tasks.borrow_mut().get_mut(id as usize) {
            task.future = Some(future);
        }
    }

    #[inline]
    fn arm_core(&self, core: &CoreState) {
        if !core.armed.replace(true) {
            let at = core.free_at().max(self.now());
            self.0.queue.borrow_mut().push(at, CORE + core.index, 0);
        }
    }

    #[inline]
    fn core_is_free(&self, index: u32) {
        let core = Rc::clone(&self.0.cores.borrow()[index as usize]);
        core.armed.set(false);
        self.run_core(&core);
    }

    /// Polls the tasks that waited for a core, oldest first, until one charges it or none is left.
    #[inline]
    fn run_core(&self, core: &CoreState) {
        loop {
            if core.waiting.borrow().is_empty() {
                return;
            }
            if core.is_busy(self.now()) {
                return self.arm_core(core);
            }
            let next = core.waiting.borrow_mut().pop_front();
            if let Some(task) = next {
                self.0.parked.set(self.0.parked.get() - 1);
                self.poll(task.0);
            }
        }
    }
}
