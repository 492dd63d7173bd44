//! Table 5 from the array's busy times, and Table 6 from the profile's bus rates.

use super::drive::{AccessPattern, PaperDrive, Setup};
use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_events::{Event, EventSink, Recorder};
use aster_units::Instant;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// A latency of Table 5.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayRow {
    /// Which.
    pub name: &'static str,
    /// Mean of the observed busy times, µs.
    pub ours_us: f64,
    /// The paper's.
    pub paper_us: f64,
}

/// A bus of Table 6.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusRow {
    /// Its number.
    pub id: u8,
    /// Between what.
    pub location: &'static str,
    /// Ours: 10⁶ bytes a second of a data bus, MHz of the control path's.
    pub ours: f64,
    /// The paper's, in the same unit.
    pub paper: f64,
    /// The unit.
    pub unit: &'static str,
}

/// Sums of busy times: reads, programs, erases.
#[derive(Clone, Default)]
struct Busy(Rc<RefCell<[(f64, u64); 3]>>);

impl EventSink for Busy {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::ArrayBusy { kind, picoseconds, .. } = *event
            && let Some(sum) = self.0.borrow_mut().get_mut(usize::from(kind))
        {
            sum.0 += picoseconds as f64 / 1e6;
            sum.1 += 1;
        }
    }
}

/// Table 5: reads and writes of as many pages of each type; erases are those of the log's and the data's
/// blocks, from power-on.
pub(super) fn array(plan: &Plan) -> Result<Vec<ArrayRow>, ExperimentError> {
    let paper = &plan.paper.table_5;
    let mean = |pair: [f64; 2]| (pair[0] + pair[1]) / 2.0;
    let mut rows = Vec::new();
    let mut erases = (0.0, 0);
    for (mode, read, program, names) in [
        (Mode::Slc, paper.slc_read_us, paper.slc_program_us, ["read, SLC", "write, SLC"]),
        (
            Mode::Mlc,
            mean(paper.mlc_read_us),
            mean(paper.mlc_program_us),
            ["read, MLC, average", "write, MLC, average"],
        ),
    ] {
        let (recorder, busy) = (Recorder::default(), Busy::default());
        let setup = Setup { channels: 1, ways: 1, ..Setup::full(mode) };
        let bringing_up = Busy::default();
        recorder.attach(bringing_up.clone());
        let mut bench = PaperDrive::new(plan, &setup, &recorder)?;
        let pages = 2 * u64::from(bench.drive.profile.ftl.buffer_entries);
        recorder.attach(busy.clone());
        bench.fill(0, pages)?;
        bench.flush()?;
        let work =
            AccessPattern { write: false, random: false, bytes: 16 << 10, outstanding: 1, requests: pages };
        bench.measure(0, pages, &work)?;
        let [reads, programs, erased] = *busy.0.borrow();
        let [.., erased_before] = *bringing_up.0.borrow();
        for (sum, count) in [erased_before, erased] {
            erases = (erases.0 + sum, erases.1 + count);
        }
        for (name, (sum, count), paper_us) in [(names[0], reads, read), (names[1], programs, program)] {
            rows.push(ArrayRow { name, ours_us: sum / count.max(1) as f64, paper_us });
        }
    }
    let ours_us = erases.0 / erases.1.max(1) as f64;
    rows.push(ArrayRow { name: "erase", ours_us, paper_us: paper.erase_us });
    Ok(rows)
}

/// Table 6 without bus 5, which is the channel itself (Table 5's experiment runs over it).
pub(super) fn buses(plan: &Plan) -> Result<Vec<BusRow>, ExperimentError> {
    let p = plan.profile()?;
    let (b, mb) = (&p.board.buses, "MB/s");
    let row = |id, location, ours, paper, unit| BusRow { id, location, ours, paper, unit };
    Ok(vec![
        row(0, "DRAM, memory controller", p.board.dram_mb_per_s as f64, 4_264.0, mb),
        row(1, "memory controller, memory interconnect", b.memory_mb_per_s as f64, 5_696.0, mb),
        row(2, "memory interconnect, host interface", b.host_mb_per_s as f64, 2_000.0, mb),
        row(3, "memory interconnect, channels' interconnect", b.channels_mb_per_s as f64, 2_000.0, mb),
        row(4, "channels' interconnect, channel controller", b.channel_mb_per_s as f64, 400.0, mb),
        row(6, "processor, memory controller", b.processor_memory_mb_per_s as f64, 8_000.0, mb),
        row(7, "processor, central interconnect", b.processor_mhz, 333.0, "MHz"),
        row(8, "central interconnect, memory controller", b.central_memory_mb_per_s as f64, 2_664.0, mb),
        row(9, "central interconnect, control interconnect", b.central_mhz, 100.0, "MHz"),
        row(10, "control interconnect, host interface", b.control_mhz, 100.0, "MHz"),
        row(11, "control interconnect, channel controller", b.control_mhz, 100.0, "MHz"),
    ])
}
