//! Fig 10: the times of the phases of flash transactions, as the flash interface layer sees them.

use super::drive::{PaperDrive, Work};
use super::plan::Plan;
use super::threads::{STAGGER, quantile};
use crate::experiment::ExperimentError;
use aster_events::{Event, EventSink, Recorder};
use aster_units::{Duration, Instant};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The times of one phase, µs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phases {
    /// How many there were.
    pub count: usize,
    /// Median.
    pub median_us: f64,
    /// 10th percentile.
    pub p10_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// Quantiles for a curve, from 0 to 1 in steps of a twentieth.
    pub curve_us: Vec<f64>,
}

/// The phases at a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhasesAt {
    /// Threads.
    pub threads: u32,
    /// Transfer of pages that are read.
    pub read_transfer: Phases,
    /// Read command.
    pub read_command: Phases,
    /// Transfer of pages that are programmed.
    pub write_transfer: Phases,
    /// Program command.
    pub write_command: Phases,
}

/// What a phase is of.
type PhaseKey = (u8, bool);

#[derive(Default)]
struct Heard {
    open: BTreeMap<(u32, PhaseKey), Instant>,
    ended: BTreeMap<PhaseKey, Vec<Duration>>,
}

impl EventSink for Heard {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::PhaseBegan { lun, kind, transfer } => {
                self.open.insert((lun, (kind, transfer)), at);
            }
            Event::PhaseEnded { lun, kind, transfer } => {
                if let Some(began) = self.open.remove(&(lun, (kind, transfer))) {
                    self.ended.entry((kind, transfer)).or_default().push(at.since(began));
                }
            }
            _ => {}
        }
    }
}

/// At one thread and at the most.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<PhasesAt>, ExperimentError> {
    let mut all = Vec::new();
    for (at, threads) in [plan.threads[0], plan.most_threads()].into_iter().enumerate() {
        told(at as f64 / 2.0)?;
        all.push(phases_at(plan, threads)?);
    }
    Ok(all)
}

/// At `threads` threads.
pub(super) fn phases_at(plan: &Plan, threads: u32) -> Result<PhasesAt, ExperimentError> {
    let recorder = Recorder::default();
    let mut drive = PaperDrive::new(plan, &recorder)?;
    let (cache, range) = (drive.cache_bytes(), u64::from(plan.reads_mib) << 20);
    drive.fill(0, range + STAGGER + cache)?;
    let work = |write, from| Work {
        write,
        random: true,
        bytes: plan.request_bytes,
        threads,
        outstanding: 1,
        requests: plan.phase_requests,
        from,
        range,
    };
    let reads = heard(&recorder, || drive.run("reads", &work(false, 0)).map(|_| ()))?;
    // The cache is full of dirty pages before the writes are looked at.
    let dirty = Work { requests: cache / u64::from(plan.request_bytes), ..work(true, 0) };
    drive.run("until the cache is full", &dirty)?;
    let writes = heard(&recorder, || drive.run("writes", &work(true, range + STAGGER)).map(|_| ()))?;
    let of =
        |ended: &BTreeMap<PhaseKey, Vec<Duration>>, key| phases(ended.get(&key).map_or(&[], Vec::as_slice));
    Ok(PhasesAt {
        threads,
        read_transfer: of(&reads, (0, true)),
        read_command: of(&reads, (0, false)),
        write_transfer: of(&writes, (1, true)),
        write_command: of(&writes, (1, false)),
    })
}

/// Listens while something is done.
fn heard(
    recorder: &Recorder,
    done: impl FnOnce() -> Result<(), ExperimentError>,
) -> Result<BTreeMap<PhaseKey, Vec<Duration>>, ExperimentError> {
    let heard = Rc::new(RefCell::new(Heard::default()));
    recorder.attach(Rc::clone(&heard));
    let result = done();
    recorder.detach();
    result?;
    Ok(std::mem::take(&mut heard.borrow_mut().ended))
}

fn phases(times: &[Duration]) -> Phases {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share| quantile(&sorted, share) * 1e6;
    Phases {
        count: sorted.len(),
        median_us: at(0.5),
        p10_us: at(0.1),
        p90_us: at(0.9),
        curve_us: (0..=20).map(|step| at(f64::from(step) / 20.0)).collect(),
    }
}
