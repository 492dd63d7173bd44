//! Every observable event of a drive, declared once (design §1), and the recorder that parts report to.
//! Names, field names, values and columns are generated from the declaration. `aster_observe` makes traces,
//! counters and spans of events.
//!
//! A [`Recorder`] is off unless a sink is attached; while it is off, an event costs one test of a flag.
//! The recorder owns its sink. To read a sink while it is attached, attach a clone of an
//! `Rc<RefCell<…>>`, which is a sink, too. [`Tee`] serves several sinks.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod declare;
mod drive_counters;
mod function;
mod histogram;
mod level;
mod recorder;
mod tee;
mod wait;

pub use declare::{Event, EventKind};
pub use drive_counters::{Counter, DriveCounters};
pub use function::{Firmware, Function};
pub use histogram::Histogram;
pub use level::{Above, Below, Level};
pub use recorder::{EventSink, Recorder};
pub use tee::Tee;
pub use wait::Wait;

#[cfg(test)]
mod document;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;
    use alloc::vec::Vec;
    use aster_units::Instant;
    use core::cell::RefCell;

    struct Keep(Rc<RefCell<Vec<(Instant, Event)>>>);
    impl EventSink for Keep {
        fn event(&mut self, at: Instant, event: &Event) {
            self.0.borrow_mut().push((at, *event));
        }
    }

    #[test]
    fn a_recorder_without_a_sink_builds_no_event() {
        let recorder = Recorder::default();
        recorder.emit(Instant::ZERO, || unreachable!("built although nobody listens"));
    }

    #[test]
    fn work_is_done_once_and_accounted_to_its_function_while_somebody_listens() {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let recorder = Recorder::default();
        let now = core::cell::Cell::new(5u64);
        let done = |picos| {
            let stands = || (2, 9, Instant::from_picos(now.get()));
            recorder.account(Function::Polling, stands, || now.set(now.get() + picos));
        };
        done(10);
        recorder.attach(Keep(kept.clone()));
        done(30);
        done(0);
        assert_eq!(now.get(), 45);
        let worked =
            Event::FirmwareWorked { core: 2, function: Function::Polling.number(), task: 9, picoseconds: 30 };
        assert_eq!(*kept.borrow(), [(Instant::from_picos(15), worked)], "what takes no time is no work");
    }

    #[test]
    fn events_carry_their_declared_names_and_values() {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let recorder = Recorder::default();
        recorder.attach(Keep(kept.clone()));
        let at = Instant::from_picos(7);
        recorder.emit(at, || Event::CommandCompleted { command: 3, status: 1 });
        let (when, event) = kept.borrow()[0];
        assert_eq!((when, event.kind().name()), (at, "CommandCompleted"));
        let mut fields = Vec::new();
        event.for_each_field(|name, value| fields.push((name, value)));
        assert_eq!(fields, [("command", 3), ("status", 1)]);
        assert_eq!(EventKind::COUNT, EventKind::ALL.len());
    }

    #[test]
    fn an_event_comes_back_from_its_name_and_fields() {
        let finished = Event::FlashFinished { lun: 7, kind: 2, row: 9, status: 0, corrected: 65_535 };
        let bell = Event::DoorbellWritten { queue: 1, completion: true, value: 3 };
        for event in [finished, bell] {
            let mut fields = Vec::new();
            event.for_each_field(|name, value| fields.push((name, value)));
            let with = |missing: &str, other: u64| {
                let kind = EventKind::of_name(event.kind().name()).unwrap();
                let value = |name: &str| {
                    let of = fields.iter().find(|field| field.0 == name)?.1;
                    Some(if name == missing { other } else { of })
                };
                Event::of_fields(kind, value)
            };
            assert_eq!(with("", 0), Ok(event));
            // What a field can't hold is no value for it.
            let narrow = if event == bell { "completion" } else { "corrected" };
            assert_eq!(with(narrow, 65_536), Err(narrow));
        }
        assert_eq!(Event::of_fields(EventKind::InterruptSent, |_| None), Err("vector"));
        assert_eq!(EventKind::of_name("Interrupt"), None);
    }
}
