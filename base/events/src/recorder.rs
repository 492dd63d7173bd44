use crate::{Event, Function};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_units::Instant;
use core::cell::{Cell, RefCell};

/// Where events go.
pub trait EventSink {
    /// Takes one event. Events come in the order of their executor's time.
    fn event(&mut self, at: Instant, event: &Event);
}

#[derive(Default)]
struct Inner {
    on: Cell<bool>,
    sink: RefCell<Option<Box<dyn EventSink>>>,
}

/// The handle with which every room reports what happens. Clones share one sink.
#[derive(Clone, Default)]
pub struct Recorder(Rc<Inner>);

impl Recorder {
    /// Sends events to `sink` from now on. Asserts that this build has events: see [`Recorder::is_on`].
    pub fn attach(&self, sink: impl EventSink + 'static) {
        if cfg!(aster_without_events) {
            panic!("this build was made without events (cfg aster_without_events)");
        }
        *self.0.sink.borrow_mut() = Some(Box::new(sink));
        self.0.on.set(true);
    }
    /// Stops and gives the sink back.
    pub fn detach(&self) -> Option<Box<dyn EventSink>> {
        self.0.on.set(false);
        self.0.sink.borrow_mut().take()
    }
    /// Whether a sink is attached. Always false in a build with `--cfg aster_without_events`, which has
    /// no code for events. That build is the baseline for measuring what events cost while they are off.
    #[inline]
    pub fn is_on(&self) -> bool {
        !cfg!(aster_without_events) && self.0.on.get()
    }
    /// Reports an event. It is built only if a sink listens.
    #[inline]
    pub fn emit(&self, at: Instant, event: impl FnOnce() -> Event) {
        if self.is_on() {
            self.send(at, event());
        }
    }
    /// Runs `work` on a core and, while a sink is attached, reports how long the core worked on
    /// `function`, if that took time. `stands` returns the core's number, the task that runs on it, and
    /// the core's time.
    #[inline]
    pub fn account(&self, function: Function, stands: impl Fn() -> (u8, u32, Instant), work: impl FnOnce()) {
        if self.is_on() {
            return self.account_seen(function, stands, work);
        }
        work();
    }
    #[cold]
    #[inline(never)]
    fn account_seen(&self, function: Function, stands: impl Fn() -> (u8, u32, Instant), work: impl FnOnce()) {
        let (core, task, from) = stands();
        work();
        let (_, _, to) = stands();
        if to > from {
            let (function, picoseconds) = (function.number(), to.since(from).as_picos());
            self.emit(from, || Event::FirmwareWorked { core, function, task, picoseconds });
        }
    }
    #[cold]
    #[inline(never)]
    fn send(&self, at: Instant, event: Event) {
        if let Some(sink) = self.0.sink.borrow_mut().as_mut() {
            sink.event(at, &event);
        }
    }
}
