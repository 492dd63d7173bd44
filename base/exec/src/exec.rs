use crate::core_state::CoreState;
use crate::ids::{HandlerId, TaskId};
use crate::ready::ReadyQueue;
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

// Targets of timed events, and of what is ready: handlers count up from 0, tasks from TASK. From CORE on it
// is the core of such a task.
const TASK: u32 = 1 << 30;
const CORE: u32 = 1 << 31;

/// Behind a box, its handler is found where it always is; behind an `Rc` alone, where it is depends on its
/// alignment, which would be looked up for each event.
type BoxedHandler = Box<dyn Handler>;

impl<H: Handler> Handler for Rc<H> {
    #[inline]
    fn fire(&self, token: u64) {
        (**self).fire(token);
    }
    fn name(&self) -> &'static str {
        (**self).name()
    }
}

struct Task {
    // Borrowed while the task is being polled; `None` after it has ended.
    future: RefCell<Option<BoxedTask>>,
    core: Option<Rc<CoreState>>,
    queued: Cell<bool>,
}

#[inline]
fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

pub(crate) struct Inner {
    now: Cell<Instant>,
    queue: TimerQueue,
    ready: ReadyQueue,
    // Tasks are borrowed while one of them is polled, and handlers while the clock is advanced. What comes to
    // them meanwhile stands in a list of its own, with the numbers behind these.
    tasks: RefCell<Vec<Task>>,
    late_tasks: RefCell<Vec<Task>>,
    handlers: RefCell<Vec<BoxedHandler>>,
    // `None` while it is called.
    late_handlers: RefCell<Vec<Option<BoxedHandler>>>,
    has_late: Cell<bool>,
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
            queue: TimerQueue::default(),
            ready: ReadyQueue::default(),
            tasks: RefCell::default(),
            late_tasks: RefCell::default(),
            handlers: RefCell::default(),
            late_handlers: RefCell::default(),
            has_late: Cell::new(false),
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
    pub fn register<H: Handler + 'static>(&self, handler: Rc<H>) -> HandlerId {
        self.0.roster.borrow_mut().handlers.push(handler.name());
        self.0.late_handlers.borrow_mut().push(Some(Box::new(handler)));
        self.0.has_late.set(true);
        let registered = self.0.handlers.borrow().len() + self.0.late_handlers.borrow().len();
        assert!(registered < TASK as usize, "too many handlers");
        self.0.take_late();
        HandlerId(registered as u32 - 1)
    }

    /// Delivers `token` to `handler` at `at`, or now when `at` has passed.
    #[inline]
    pub fn schedule(&self, at: Instant, handler: HandlerId, token: u64) {
        let at = at.max(self.now());
        self.0.queue.push(at, handler.0, token);
    }

    /// As [`Exec::schedule`], but after everything else that is scheduled for `at`. Such events come in
    /// the order of their handlers, independent of when they were scheduled. This is for hardware whose
    /// cycle ends at `at`: it then sees everything that software does at that instant, and two pieces of
    /// hardware always take their turns in the same order.
    #[inline]
    pub fn schedule_last(&self, at: Instant, handler: HandlerId, token: u64) {
        let at = at.max(self.now());
        self.0.queue.push_in(at, handler.0, token, true);
    }

    /// Delivers `token` to `handler` at this instant, after the task or handler that runs now has
    /// returned. Cheaper than an event. Parts call each other this way to avoid re-entry.
    #[inline]
    pub fn post(&self, handler: HandlerId, token: u64) {
        self.0.ready.push(handler.0, token);
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
        let future = RefCell::new(Some(future));
        self.0.late_tasks.borrow_mut().push(Task { future, core: core.cloned(), queued: Cell::new(true) });
        self.0.has_late.set(true);
        let spawned = self.0.tasks.borrow().len() + self.0.late_tasks.borrow().len();
        let id = spawned as u32 - 1;
        assert!(id < TASK, "too many tasks");
        if let Some(core) = core {
            core.a_task.set(TaskId(id));
        }
        self.0.take_late();
        self.0.ready.push(TASK + id, 0);
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
        // A late task is queued already.
        if let Some(found) = self.0.tasks.borrow().get(task.0 as usize)
            && !found.queued.replace(true)
        {
            self.0.ready.push(TASK + task.0, 0);
        }
    }

    /// Has `task` polled at `at`.
    #[inline]
    pub fn wake_at(&self, at: Instant, task: TaskId) {
        let at = at.max(self.now());
        self.0.queue.push(at, TASK + task.0, 0);
    }

    /// Waits until the clock shows `at`.
    #[inline]
    pub fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        let mut armed = false;
        pend(
            move || (self.now() >= at).then_some(()),
            move || {
                if !armed {
                    armed = true;
                    self.wake_at(at, self.current());
                }
                self.suspend()
            },
        )
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
    #[inline]
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> {
        self.sleep_until(self.now() + duration)
    }

    /// When the executor next has something to do; `None` if only outside input can cause any. Does not
    /// advance anything.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.has_ready() {
            return Some(self.now());
        }
        self.0.queue.next()
    }

    /// Does everything that is due up to and including `until`, then sets the clock to `until`.
    pub fn advance_to(&self, until: Instant) {
        self.0.advance_to(until);
    }

    /// Does what is due instant by instant: the first one in any case, and then further ones before `before`,
    /// up to `most` in all. Asks `goes_on` at the end of each. What that makes ready is still due at the same
    /// instant, which then counts once more, as if the caller had left and come back. Returns how many
    /// instants were processed.
    pub fn advance_while(&self, before: Option<Instant>, most: u32, goes_on: impl FnMut() -> bool) -> u32 {
        let Some(first) = self.next_deadline() else { return 0 };
        let last = before.map_or(Instant::MAX, |before| before - Duration::from_picos(1)).max(first);
        self.0.advance_while(first, last, most, goes_on)
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
    /// executors and executors hold handlers; this breaks the cycle. No handler and no task may call it, nor
    /// drop the last owner of what calls it: they can't be dropped while one of them runs.
    pub fn shut_down(&self) {
        self.0.take_late();
        let tasks = core::mem::take(&mut *self.0.tasks.borrow_mut());
        let handlers = core::mem::take(&mut *self.0.handlers.borrow_mut());
        let cores = core::mem::take(&mut *self.0.cores.borrow_mut());
        self.0.queue.clear();
        self.0.ready.clear();
        self.0.parked.set(0);
        drop((tasks, handlers, cores));
    }

    #[inline]
    fn has_ready(&self) -> bool {
        !self.0.ready.is_empty()
    }

    /// The task keeps a core until that is free: it waits before all others, once.
    #[inline]
    pub(crate) fn keep_core(&self, task: TaskId, core: &CoreState) {
        self.0.keep_core(task, core);
    }
}

/// The executor at work.
impl Inner {
    fn advance_to(&self, until: Instant) {
        self.take_late();
        let handlers = self.handlers.borrow();
        loop {
            self.drain_ready(&handlers);
            let Some((at, target, token)) = self.queue.pop_due(until) else { break };
            if at > self.now.get() {
                self.now.set(at);
                count(&self.instants);
            }
            self.dispatch(&handlers, target, token);
        }
        if until > self.now.get() && until != Instant::MAX {
            self.now.set(until);
        }
    }

    /// As [`Exec::advance_while`], up to and including `last`. `first` is when something is due.
    #[inline]
    fn advance_while(
        &self,
        first: Instant,
        last: Instant,
        most: u32,
        mut goes_on: impl FnMut() -> bool,
    ) -> u32 {
        self.take_late();
        let handlers = self.handlers.borrow();
        // The first instant may be the one at which the clock stands.
        let mut instants = u32::from(first == self.now.get());
        loop {
            self.drain_ready(&handlers);
            if self.queue.is_none_by(self.now.get()) {
                // The instant is over.
                if instants > 0 {
                    if instants >= most || !goes_on() {
                        break;
                    }
                    if !self.ready.is_empty() {
                        instants += 1;
                        continue;
                    }
                }
                let Some(at) = self.queue.next_by(last) else { break };
                self.now.set(at);
                count(&self.instants);
                instants += 1;
            }
            let Some((_, target, token)) = self.queue.pop() else { break };
            self.dispatch(&handlers, target, token);
        }
        instants
    }

    #[inline]
    fn drain_ready(&self, handlers: &[BoxedHandler]) {
        while let Some((target, token)) = self.ready.pop() {
            if target & TASK == 0 {
                count(&self.posts);
                self.deliver(handlers, target, token);
            } else {
                self.poll_or_park(target - TASK);
            }
        }
    }

    /// Does what was due.
    #[inline]
    fn dispatch(&self, handlers: &[BoxedHandler], target: u32, token: u64) {
        count(&self.events);
        if target < TASK {
            self.deliver(handlers, target, token);
        } else if target < CORE {
            self.poll_or_park(target - TASK);
        } else {
            self.core_is_free(target - CORE);
        }
    }

    #[inline]
    fn deliver(&self, handlers: &[BoxedHandler], handler: u32, token: u64) {
        match handlers.get(handler as usize) {
            Some(handler) => handler.fire(token),
            None => self.deliver_late(handler as usize - handlers.len(), token),
        }
    }
    /// To a handler that was registered since the clock has been advanced.
    #[cold]
    fn deliver_late(&self, late: usize, token: u64) {
        let taken = self.late_handlers.borrow_mut()[late].take();
        if let Some(handler) = &taken {
            handler.fire(token);
        }
        self.late_handlers.borrow_mut()[late] = taken;
    }

    /// Takes what has come late, as far as nothing is borrowed.
    #[inline]
    fn take_late(&self) {
        if self.has_late.get() {
            self.join_late();
        }
    }
    #[cold]
    fn join_late(&self) {
        let (mut tasks, mut handlers) = (self.late_tasks.borrow_mut(), self.late_handlers.borrow_mut());
        if let Ok(mut all) = self.tasks.try_borrow_mut() {
            all.append(&mut tasks);
        }
        if let Ok(mut all) = self.handlers.try_borrow_mut() {
            all.extend(handlers.drain(..).flatten());
        }
        self.has_late.set(!tasks.is_empty() || !handlers.is_empty());
    }

    /// Polls a task, or parks it when its core is busy or others wait for it.
    #[inline]
    fn poll_or_park(&self, id: u32) {
        let tasks = self.tasks.borrow();
        let task = &tasks[id as usize];
        if let Some(core) = &task.core
            && (core.is_busy(self.now.get()) || self.is_waited_for(core))
        {
            return self.park(id, core);
        }
        self.poll(id, task);
        if self.parked.get() > 0
            && let Some(core) = &task.core
        {
            self.run_others(core, &tasks);
        }
        drop(tasks);
        self.take_late();
    }

    /// Whether tasks wait for a core.
    #[inline]
    fn is_waited_for(&self, core: &CoreState) -> bool {
        debug_assert!(
            self.parked.get() > 0 || !core.is_waited_for(),
            "a task waits for core {} uncounted",
            core.index
        );
        self.parked.get() > 0 && core.is_waited_for()
    }

    #[inline]
    fn keep_core(&self, task: TaskId, core: &CoreState) {
        // Mostly no other task keeps it or waits for it.
        if self.parked.get() == 0 {
            core.keeper.set(task);
            self.parked.set(1);
        } else if core.keep_before_others(task) {
            self.parked.set(self.parked.get() + 1);
        }
        self.arm_core(core);
    }

    #[inline]
    fn park(&self, id: u32, core: &CoreState) {
        core.waiting.borrow_mut().push_back(TaskId(id));
        self.parked.set(self.parked.get() + 1);
        self.arm_core(core);
    }

    #[inline]
    fn poll(&self, id: u32, task: &Task) {
        task.queued.set(false);
        // The task is being polled, or has ended.
        let Ok(mut future) = task.future.try_borrow_mut() else { return };
        let Some(polled) = future.as_mut() else { return };
        count(&self.polls);
        let outer = self.current.replace(id);
        let ended = polled.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        self.current.set(outer);
        if ended {
            *future = None;
        }
    }

    #[inline]
    fn arm_core(&self, core: &CoreState) {
        if !core.armed.replace(true) {
            let at = core.free_at().max(self.now.get());
            self.queue.push_core(at, CORE + core.a_task.get().0);
        }
    }

    /// The core of a task is free.
    #[inline]
    fn core_is_free(&self, task: u32) {
        let tasks = self.tasks.borrow();
        if let Some(core) = &tasks[task as usize].core {
            core.armed.set(false);
            self.run_core(core, &tasks);
        }
        drop(tasks);
        self.take_late();
    }

    /// As [`Inner::run_core`], if tasks wait for the core of a task that has been polled.
    fn run_others(&self, core: &CoreState, tasks: &[Task]) {
        self.run_core(core, tasks);
    }
    /// Polls the tasks that waited for a core, oldest first, until one charges it or none is left.
    #[inline(always)]
    fn run_core(&self, core: &CoreState, tasks: &[Task]) {
        while !core.is_busy(self.now.get()) {
            let Some(TaskId(id)) = core.next_waiting() else { return };
            self.parked.set(self.parked.get() - 1);
            self.poll(id, &tasks[id as usize]);
        }
        if core.is_waited_for() {
            self.arm_core(core);
        }
    }
}
