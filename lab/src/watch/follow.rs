//! Followers of a run's commands: the trace for Perfetto, and the explanation of one command.

use super::error::{WatchError, create};
use super::slowest::Slowest;
use super::spans::{SLOTS, add_lives};
use super::window::WorkWindow;
use crate::explain::{Collector, Explanation, Which, in_work};
use crate::perfetto::PerfettoTrace;
use aster_observe::{Activity, Lives, Piece};
use aster_run_virtual::Machine;
use aster_units::Instant;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The listeners to a run's commands.
pub struct Followers {
    perfetto: Option<Perfetto>,
    collector: Option<Rc<RefCell<Collector>>>,
    /// Commands of the run that were fetched before the work; `None` outside of it.
    at_work: Rc<Cell<Option<u64>>>,
    window: WorkWindow,
    lives: RefCell<Option<Rc<RefCell<dyn Fetched>>>>,
}

struct Perfetto {
    path: PathBuf,
    /// Until the drive's shape is known.
    file: RefCell<Option<BufWriter<File>>>,
    trace: Rc<RefCell<Option<PerfettoTrace<BufWriter<File>>>>>,
    /// Pieces to draw at the end, if only the slowest commands are drawn.
    slowest: Option<Rc<RefCell<Slowest<Piece>>>>,
}

/// Keeps a piece if only the slowest commands are drawn.
fn keep(slowest: &mut Slowest<Piece>, piece: &Piece, window: &WorkWindow) {
    let Some(command) = piece.command else { return };
    slowest.hear(command, *piece);
    if let Activity::Command(span) = piece.activity {
        slowest.ended(command, span.total(), window.has(span.ends().0));
    }
}

/// Queries to [`Lives`] that don't depend on its function type.
pub(super) trait Fetched {
    fn fetched(&self) -> u64;
}

impl<F: FnMut(&Piece)> Fetched for Lives<F> {
    fn fetched(&self) -> u64 {
        Lives::fetched(self)
    }
}

impl Followers {
    /// Creates the output files.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn new(
        perfetto: Option<&Path>,
        explain: Option<Which>,
        window: &WorkWindow,
    ) -> Result<Self, WatchError> {
        let perfetto = match perfetto {
            Some(path) => Some(Perfetto {
                path: path.to_owned(),
                file: RefCell::new(Some(create(path)?)),
                trace: Rc::default(),
                slowest: window
                    .slowest
                    .map(|most| Rc::new(RefCell::new(Slowest::new(most, usize::from(SLOTS))))),
            }),
            None => None,
        };
        let collector = explain.map(|which| Rc::new(RefCell::new(Collector::new(which))));
        let window = window.clone();
        Ok(Followers { perfetto, collector, at_work: Rc::default(), window, lives: RefCell::default() })
    }

    /// Listens to `machine`, whose I/O queues have not been used yet, beside existing listeners.
    pub fn attach(&self, machine: &Machine) {
        if self.perfetto.is_none() && self.collector.is_none() {
            return;
        }
        let geometry = *machine.device().geometry();
        let trace = self.perfetto.as_ref().map(|perfetto| {
            let file = perfetto.file.take();
            let firmware = machine.device().firmware().clone();
            *perfetto.trace.borrow_mut() = file.map(|file| PerfettoTrace::new(file, geometry, firmware));
            Rc::clone(&perfetto.trace)
        });
        let slowest = self.perfetto.as_ref().and_then(|perfetto| perfetto.slowest.clone());
        let (collector, at_work, window) =
            (self.collector.clone(), Rc::clone(&self.at_work), self.window.clone());
        let mut lives = Lives::new(geometry, SLOTS, move |piece: &Piece| {
            let Some(first) = at_work.get() else { return };
            let numbered = Piece { command: piece.command.and_then(|n| in_work(n, first)), ..*piece };
            if let Some(slowest) = &slowest {
                keep(&mut slowest.borrow_mut(), &numbered, &window);
            } else if let Some(trace) = &trace
                && (!window.chosen || window.meets(piece.from, piece.to))
                && let Some(trace) = trace.borrow_mut().as_mut()
            {
                trace.hear(&numbered);
            }
            if let Some(collector) = &collector {
                collector.borrow_mut().hear(piece);
            }
        });
        let driver = machine.driver();
        for queue in driver.queues() {
            lives.queue_created(queue.0, driver.depth(queue) + 1);
        }
        let lives = Rc::new(RefCell::new(lives));
        add_lives(machine, &lives);
        *self.lives.borrow_mut() = Some(lives);
    }

    /// The work begins at `now`.
    pub fn begin(&self, now: Instant) {
        let first = self.lives.borrow().as_ref().map_or(0, |lives| lives.borrow().fetched());
        self.at_work.set(Some(first));
        if let Some(collector) = &self.collector {
            collector.borrow_mut().begin(first, now, self.window.ends().filter(|_| self.window.chosen));
        }
        if let Some(Perfetto { trace, .. }) = &self.perfetto
            && let Some(trace) = trace.borrow_mut().as_mut()
        {
            trace.begin(now);
        }
    }

    /// The work has ended: completes the files, and explains the commands.
    ///
    /// # Errors
    /// Returned beside the explanations: why the file could not be written.
    pub fn finish(&self, machine: &Machine) -> (Vec<Explanation>, Result<(), WatchError>) {
        self.at_work.set(None);
        let device = machine.device();
        let explain = |collector: &Rc<RefCell<Collector>>| {
            collector.borrow().explanations(device.geometry(), device.below().is_some())
        };
        (self.collector.as_ref().map_or_else(Vec::new, explain), self.finish_trace())
    }

    fn finish_trace(&self) -> Result<(), WatchError> {
        let Some(perfetto) = &self.perfetto else { return Ok(()) };
        let Some(mut trace) = perfetto.trace.borrow_mut().take() else { return Ok(()) };
        if let Some(slowest) = &perfetto.slowest {
            slowest.replace(Slowest::new(0, 0)).finish().for_each(|piece| trace.hear(&piece));
        }
        trace.finish().map(drop).map_err(|error| WatchError::write(&perfetto.path, error))
    }
}
