//! What the FTL's tasks wait for is told, and who ends it.

use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use crate::{ConfigError, Ftl, FtlConfig, GcConfig, HostConfig, LineConfig, NVRAM_BYTES};
use aster_events::{Event, EventSink, Recorder, Wait};
use aster_exec::{Core, Exec};
use aster_parties::NvramSlice;
use aster_ports::cores::Interrupt;
use aster_ports::dram::Dram;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_ports::medium::Nvram;
use aster_units::{Content, Frequency, Instant};
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
    let events = events_of(FtlConfig {
        host: HostConfig { buffer_entries: 9, ..config(Content::Full).host },
        ..config(Content::Full)
    });
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
    // More workers than the port has room for requests.
    let base = FtlConfig {
        lines: LineConfig { pages: 2, ..config(Content::Full).lines },
        host: HostConfig { slice_workers: 40, buffer_entries: 60, ..config(Content::Full).host },
        ..config(Content::Full)
    };
    let config = FtlConfig { gc: GcConfig { depth: 1, ..base.gc }, ..base };
    let padding = config.buffers().padding();
    let events = events_of(config);
    let queued = |event: &Event, waiter| match *event {
        Event::FlashQueued { task, buffer, .. } => (task, buffer) == (waiter, padding),
        _ => false,
    };
    let waits = waits(&events, Wait::FlashQueue);
    let of_padding = waits.iter().filter(|(task, _, told)| told.iter().any(|event| queued(event, *task)));
    assert!(of_padding.count() > 0, "{} waits for the queue, none of them padding's", waits.len());
}

/// A port for fewer requests than tasks may hold while they wait for others is refused.
#[test]
fn a_flash_port_in_which_tasks_could_wait_for_each_other_for_ever_is_refused() {
    let config = config(Content::Full);
    let needed = config.flash_requests_min();
    assert!(u32::from(config.flash_requests()) >= needed);
    for (depth, is_enough) in [(needed - 1, false), (needed, true)] {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let (sectors, luns) = (config.geometry.sectors_per_page(), config.geometry.total_luns());
        let (data, metadata) = (config.buffers().data(), config.buffers().metadata());
        let dram = Dram::new(config.content, sectors, config.oob_bytes() as u8, data, metadata, 0);
        let flash = FlashPort::new(&exec, luns, depth as u16, Interrupt::default());
        let host = CommandPort::new(&exec, config.host.command_slots, 2 * config.host.command_slots);
        let nvram = NvramSlice::new(&Nvram::volatile(NVRAM_BYTES), 0, NVRAM_BYTES);
        let started = Ftl::start(&core, config, dram, host, flash, nvram, Recorder::default());
        let refused = ConfigError::Flash { available: depth as usize, needed };
        assert_eq!(started.map(drop).err(), (!is_enough).then_some(refused));
        exec.shut_down();
    }
}
