//! Gathers what a page shows of a run, beside its report.

use super::follow::Fetched;
use super::monitor::{Finish, Until, insert};
use super::spans::{SLOTS, add_lives};
use crate::page::{Gathered, Lived, Moves, TimelineStore, block_maps};
use aster_events::{Event, EventSink};
use aster_observe::monitor::{OperationMonitor, Sample, ShippedModule, TableEntry};
use aster_observe::{Lives, Piece};
use aster_run_virtual::Machine;
use aster_units::Instant;
use std::cell::RefCell;
use std::rc::Rc;

/// Modules of the operation monitor whose entries a page shows.
const MODULES: [ShippedModule; 7] = [
    ShippedModule::Bandwidth,
    ShippedModule::WriteAmplification,
    ShippedModule::OutstandingCommands,
    ShippedModule::Channels,
    ShippedModule::Ways,
    ShippedModule::FlashLatency,
    ShippedModule::Temperature,
];

/// An operation monitor whose samples get rarer as the run gets longer.
struct Sampler<F> {
    monitor: OperationMonitor<F>,
    store: Rc<RefCell<TimelineStore>>,
}

impl<F: FnMut(&[TableEntry], Sample<'_>)> EventSink for Sampler<F> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.monitor.event(at, event);
        self.monitor.set_interval(self.store.borrow().interval());
    }
}

impl<F: FnMut(&[TableEntry], Sample<'_>)> Finish for Sampler<F> {
    fn finish(&mut self, at: Instant) {
        self.monitor.sample_now(at);
    }
}

/// Listens for a page.
#[derive(Default)]
pub struct Gatherer {
    lived: Rc<RefCell<Lived>>,
    lives: RefCell<Option<Rc<RefCell<dyn Fetched>>>>,
    store: RefCell<Option<Rc<RefCell<TimelineStore>>>>,
    sampler: Rc<RefCell<Option<Box<dyn Finish>>>>,
}

impl Gatherer {
    /// Listens to `machine`, whose I/O queues have not been used yet, beside existing listeners.
    pub fn attach(&self, machine: &Machine) {
        let lived = Rc::clone(&self.lived);
        let hear = move |piece: &Piece| lived.borrow_mut().hear(piece);
        let mut lives = Lives::new(*machine.device().geometry(), SLOTS, hear);
        let driver = machine.driver();
        for queue in driver.queues() {
            lives.queue_created(queue.0, driver.depth(queue) + 1);
        }
        let lives = Rc::new(RefCell::new(lives));
        add_lives(machine, &lives);
        *self.lives.borrow_mut() = Some(lives);
    }

    /// The work begins.
    pub fn begin(&self, machine: &Machine) {
        let now = machine.now();
        let first = self.lives.borrow().as_ref().map_or(0, |lives| lives.borrow().fetched());
        self.lived.borrow_mut().begin(first, now);
        let store = Rc::new(RefCell::new(TimelineStore::new(now)));
        let samples = Rc::clone(&store);
        let each =
            move |entries: &[TableEntry], sample: Sample<'_>| samples.borrow_mut().push(entries, sample);
        let mut monitor = OperationMonitor::new(store.borrow().interval(), now, each);
        insert(&mut monitor, now, &MODULES, machine.device(), true);
        monitor.insert(now, Box::new(Moves::default())).expect("its name is taken by no shipped module");
        let sampler = Sampler { monitor, store: Rc::clone(&store) };
        *self.sampler.borrow_mut() = Some(Box::new(sampler));
        *self.store.borrow_mut() = Some(store);
        machine.device().listen(Until(Rc::clone(&self.sampler)));
    }

    /// The work has ended.
    pub fn finish(self, machine: &Machine) -> Option<Gathered> {
        let mut sampler = self.sampler.borrow_mut().take()?;
        sampler.finish(machine.now());
        drop(sampler);
        let store = self.store.borrow_mut().take()?;
        let (store, lived, device) = (store.borrow(), self.lived.borrow(), machine.device());
        let (geometry, seconds) = (*device.geometry(), store.seconds());
        let of_way = |channel: u16, way: u16| {
            let busy = store.last(&format!("channel_{channel}_way_{way}_busy_seconds_total"));
            busy.filter(|_| seconds > 0.0).map_or(0.0, |busy| busy / seconds)
        };
        let ways = (0..geometry.channels)
            .map(|channel| (0..u16::from(geometry.ways)).map(|way| of_way(channel, way)).collect());
        let namespace = machine.driver().namespace();
        let bytes = namespace.blocks * u64::from(namespace.block_bytes);
        let gathered = Gathered {
            timeline: store.timeline(),
            latencies: lived.latencies(),
            ways: ways.collect(),
            blocks: block_maps(device, bytes),
            slowest: lived.slowest(&geometry, device.below().is_some()),
        };
        Some(gathered.abridged())
    }
}
