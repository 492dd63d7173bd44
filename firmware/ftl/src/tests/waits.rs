//! What the FTL's tasks wait for is told, and who ends it.

use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use crate::FtlConfig;
use aster_events::{Event, EventSink, Wait};
use aster_units::{Content, Instant};
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

struct Keep(Rc<RefCell<Vec<Event>>>);

impl EventSink for Keep {
    fn event(&mut self, _: Instant, event: &Event) {
        self.0.borrow_mut().push(*event);
    }
}

/// The events of random work.
fn events_of(config: FtlConfig) -> Vec<Event> {
    let bench = Bench::fresh(config);
    let mut host = CheckedHost::new(&bench);
    let kept = Rc::new(RefCell::new(Vec::new()));
    bench.recorder.attach(Keep(kept.clone()));
    host.work(&bench, 3_000, 5);
    bench.recorder.detach();
    kept.take()
}

/// Waits for `reason` that have ended: the task, what it waited for, and what was told meanwhile.
fn waits(events: &[Event], wanted: Wait) -> Vec<(u32, u32, &[Event])> {
    let begun = events.iter().enumerate().filter_map(|(at, event)| match *event {
        Event::WaitStarted { task, reason, buffer } if reason == wanted.number() => Some((at, task, buffer)),
        _ => None,
    });
    let ended = |(at, waiter, buffer)| {
        let rest: &[Event] = &events[at..];
        let end = rest.iter().position(|e| matches!(*e, Event::WaitEnded { task } if task == waiter))?;
        Some((waiter, buffer, &rest[..end]))
    };
    begun.filter_map(ended).collect()
}

#[test]
fn unlocking_an_entry_that_others_wait_for_is_an_event() {
    let events = events_of(FtlConfig { buffer_entries: 9, ..config(Content::Full) });
    let waits = waits(&events, Wait::BufferEntry);
    let (any, one): (Vec<_>, Vec<_>) = waits.into_iter().partition(|(_, buffer, _)| *buffer == u32::MAX);
    assert!(any.len() > 10 && one.len() > 10, "{} and {} waits", any.len(), one.len());
    for (waiter, wanted, meanwhile) in any.into_iter().chain(one) {
        let releases = |event: &Event| match *event {
            Event::EntryReleased { task, buffer } => task != waiter && [u32::MAX, buffer].contains(&wanted),
            _ => false,
        };
        assert!(meanwhile.iter().any(releases), "task {waiter} waited for {wanted} and nobody let go of it");
    }
}

#[test]
fn a_wait_of_padding_for_the_flash_queue_is_an_event() {
    let config = FtlConfig { pages_per_word_line: 2, ..config(Content::Full) };
    let padding = config.padding_buffer();
    let events = events_of(config);
    let queued = |event: &Event, waiter| match *event {
        Event::FlashQueued { task, buffer, .. } => (task, buffer) == (waiter, padding),
        _ => false,
    };
    let waits = waits(&events, Wait::FlashQueue);
    let of_padding = waits.iter().filter(|(task, _, told)| told.iter().any(|event| queued(event, *task)));
    assert!(of_padding.count() > 0, "{} waits for the queue, none of them padding's", waits.len());
}
