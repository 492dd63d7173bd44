//! Fig 32: the share of time that the channels' data buses are in use under a heavy write load (7.4, C84).

use super::drive::{AccessPattern, PaperDrive, Setup};
use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_events::{Event, EventSink, Recorder};
use aster_units::Instant;
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;

/// The prototypes that the figure compares.
pub(super) const MODES: [Mode; 3] = [Mode::Slc, Mode::Mlc, Mode::OneShot];
/// Time that a page of 18,048 bytes takes on a bus of 200 MB/s, µs (C58).
const PAGE_US: f64 = 90.24;

/// One prototype's channels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Utilisation {
    /// How its flash is used.
    pub mode: Mode,
    /// Ways per channel.
    pub ways: u8,
    /// Share of the time in which data moves on a channel's bus, percent.
    pub utilisation: f64,
    /// The same if only bus and array took time, percent (C84).
    pub ideal: f64,
    /// 10⁶ bytes per second that the host writes.
    pub mb_per_s: f64,
}

/// Bytes of data that have moved on the channels' buses.
#[derive(Clone, Default)]
struct Moved(Rc<Cell<u64>>);

impl EventSink for Moved {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::TransactionEnded { bytes, .. } = *event {
            self.0.set(self.0.get() + u64::from(bytes));
        }
    }
}

pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<Utilisation>, ExperimentError> {
    let mut all = Vec::new();
    let total = (MODES.len() * plan.ways.len()) as f64;
    for mode in MODES {
        for &ways in &plan.ways {
            told(all.len() as f64 / total)?;
            all.push(point(plan, mode, ways)?);
        }
    }
    Ok(all)
}

fn point(plan: &Plan, mode: Mode, ways: u8) -> Result<Utilisation, ExperimentError> {
    let setup = Setup { ways, ..Setup::full(mode) };
    let (recorder, moved) = (Recorder::default(), Moved::default());
    let mut bench = PaperDrive::new(plan, &setup, &recorder)?;
    let buffered = u64::from(bench.drive.profile.ftl.buffer_entries);
    let bytes = 128 << 10;
    let pages = (plan.requests * setup.luns() / 64).max(1024);
    let requests = pages.div_ceil(u64::from(bytes) / bench.page_bytes());
    let work = AccessPattern { write: true, random: false, bytes, outstanding: 32, requests };
    bench.fill(0, buffered)?;
    recorder.attach(moved.clone());
    let found = bench.measure(buffered, pages, &work)?;
    let rate = 200.0;
    let seconds = requests as f64 * f64::from(bytes) / 1e6 / found.mb_per_s;
    let each = moved.0.get() as f64 / f64::from(setup.channels) / 1e6;
    Ok(Utilisation {
        mode,
        ways,
        utilisation: 100.0 * each / rate / seconds,
        ideal: ideal(plan, mode, ways),
        mb_per_s: found.mb_per_s,
    })
}

/// Each way does its transfers and then its program. A channel does one transfer at a time.
fn ideal(plan: &Plan, mode: Mode, ways: u8) -> f64 {
    let t = &plan.paper.table_5;
    let (pages, program) = match mode {
        Mode::Slc => (1.0, t.slc_program_us),
        Mode::Mlc => (1.0, t.mlc_program_us.iter().sum::<f64>() / 2.0),
        Mode::OneShot => (3.0, plan.paper.fig_32.one_shot_us),
    };
    let transfer = pages * PAGE_US;
    (100.0 * f64::from(ways) * transfer / (transfer + program)).min(100.0)
}
