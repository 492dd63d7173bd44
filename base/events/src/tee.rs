use crate::{Event, EventSink, Recorder};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::Instant;
use core::cell::RefCell;

/// Several sinks in place of one. Each gets every event, in the order in which the sinks were added.
#[derive(Default)]
pub struct Tee(Vec<Box<dyn EventSink>>);

impl Tee {
    /// Adds `sink`.
    #[must_use]
    pub fn with(mut self, sink: impl EventSink + 'static) -> Self {
        self.0.push(Box::new(sink));
        self
    }
    /// Has `sink` hear what `recorder` tells, behind the sink that is attached already.
    pub fn add(recorder: &Recorder, sink: impl EventSink + 'static) {
        match recorder.detach() {
            Some(before) => recorder.attach(Tee(vec![before]).with(sink)),
            None => recorder.attach(sink),
        }
    }
}

impl EventSink for Tee {
    fn event(&mut self, at: Instant, event: &Event) {
        for sink in &mut self.0 {
            sink.event(at, event);
        }
    }
}

/// A sink that can be read while it is attached.
impl<S: EventSink> EventSink for Rc<RefCell<S>> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.borrow_mut().event(at, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventKind, Recorder};

    #[derive(Default)]
    struct Heard(Vec<EventKind>);

    impl EventSink for Heard {
        fn event(&mut self, _: Instant, event: &Event) {
            self.0.push(event.kind());
        }
    }

    #[test]
    fn every_sink_of_a_tee_sees_every_event_and_can_be_read_meanwhile() {
        let [first, second]: [Rc<RefCell<Heard>>; 2] = Default::default();
        let recorder = Recorder::default();
        recorder.attach(first.clone());
        Tee::add(&recorder, second.clone());
        for vector in 0..3 {
            recorder.emit(Instant::ZERO, || Event::InterruptSent { vector });
        }
        assert_eq!(first.borrow().0, [EventKind::InterruptSent; 3]);
        assert_eq!(second.borrow().0, [EventKind::InterruptSent; 3]);
    }
}
