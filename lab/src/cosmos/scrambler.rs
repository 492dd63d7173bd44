//! Fig 30: bit errors by data pattern, with a scrambler in the storage controller and without (7.3, C81,
//! C82).
//!
//! One channel with its controller and ECC engine programs the patterns and reads them back, on blocks
//! that were erased as often as the figure states. A pattern's effect follows from its bytes:
//! `[interference]` of the experiment file defines how the package's cells lift each other, and the
//! package computes the levels around each cell from data and scrambler.

use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_run_bench::{Bench, FlashOp, FlashRequest, FlashStatus, Outcome, Target};
use aster_units::{BlockAddr, BufferId, Content, LunIndex, PageInBlock, SectorRange};
use serde::Serialize;

/// A pattern of Fig 29: cells of two kinds, each surrounded by the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    /// As the paper writes it.
    pub(super) name: &'static str,
    /// MSB and LSB of each kind.
    cells: [(bool, bool); 2],
}

/// The patterns in the paper's order.
pub(super) fn patterns() -> [Pattern; 6] {
    ["11-00", "11-01", "11-10", "01-10", "01-00", "10-00"].map(|name| {
        let bit = |at: usize| name.as_bytes()[at] == b'1';
        Pattern { name, cells: [(bit(0), bit(1)), (bit(3), bit(4))] }
    })
}

impl Pattern {
    /// The byte that fills an MLC page. Cells alternate along the word line, and so do the first cells of
    /// the word lines.
    fn byte(&self, page: u16) -> u8 {
        let (word_line, is_msb) = (page / 2, !page.is_multiple_of(2));
        (0..8).fold(0, |byte, cell| {
            let (msb, lsb) = self.cells[usize::from((word_line + cell) % 2)];
            byte << 1 | u8::from(if is_msb { msb } else { lsb })
        })
    }
}

/// A point of the figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BitErrors {
    /// The pattern, as the paper writes it.
    pub pattern: &'static str,
    /// Program/erase cycles.
    pub cycles: u32,
    /// Bits that the ECC engine corrects in a page, mean, with a scrambler.
    pub scrambled: f64,
    /// The same without.
    pub plain: f64,
}

impl BitErrors {
    /// How much lower the number with a scrambler is, percent.
    pub fn reduction_percent(&self) -> f64 {
        100.0 * (1.0 - self.scrambled / self.plain)
    }
}

pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<BitErrors>, ExperimentError> {
    let mut all = Vec::new();
    let patterns = patterns();
    for (at, pattern) in patterns.iter().enumerate() {
        told(at as f64 / patterns.len() as f64)?;
        let [scrambled, plain] = [true, false].map(|scramble| errors(plan, pattern, scramble));
        for ((&cycles, scrambled), plain) in plan.cycles.iter().zip(scrambled?).zip(plain?) {
            all.push(BitErrors { pattern: pattern.name, cycles, scrambled, plain });
        }
    }
    Ok(all)
}

pub(super) fn profile(plan: &Plan, scramble: bool) -> Result<Profile, ExperimentError> {
    let mut p = plan.profile()?;
    p.ecc.scrambler = scramble;
    p.package.errors.neighbour = 0.0;
    p.package.errors.coupling_mv = plan.interference.coupling_mv;
    p.package.errors.lifted = plan.interference.lifted.clone();
    // Only bit errors are measured, so blocks don't fail.
    p.package.factory_bad_per_mille = 0;
    p.package.program_failures_per_million = 0;
    p.package.erase_failures_per_million = 0;
    Ok(p)
}

/// The mean per page at each of the plan's cycles.
fn errors(plan: &Plan, pattern: &Pattern, scramble: bool) -> Result<Vec<f64>, ExperimentError> {
    let bench = Bench::power_on(&profile(plan, scramble)?, 1, 1, Some(Content::Full), &Recorder::default())?;
    let mut worn = 0;
    let mut means = Vec::new();
    for &cycles in &plan.cycles {
        let mut corrected = 0;
        for block in (0..plan.pattern_blocks).map(BlockAddr) {
            (worn..cycles).try_for_each(|_| send(&bench, FlashOp::Erase, block, 0).map(drop))?;
            corrected += of_block(&bench, pattern, block)?;
        }
        worn = cycles;
        let pages = u64::from(plan.pattern_blocks) * u64::from(bench.geometry().pages_per_block);
        means.push(corrected as f64 / pages as f64);
    }
    Ok(means)
}

/// Fills an erased block with the pattern, and counts the bits that the ECC engine corrects when it is
/// read.
fn of_block(bench: &Bench, pattern: &Pattern, block: BlockAddr) -> Result<u64, ExperimentError> {
    let pages = bench.geometry().pages_per_block;
    for page in 0..pages {
        bench.dram().borrow_mut().page_mut(BUFFER).fill(pattern.byte(page));
        send(bench, FlashOp::Program, block, page)?;
    }
    let mut corrected = 0;
    for page in 0..pages {
        corrected += u64::from(send(bench, FlashOp::Read, block, page)?.corrected);
        let intact = bench.dram().borrow().page(BUFFER).iter().all(|byte| *byte == pattern.byte(page));
        assert!(intact, "{}: page {page} of {block:?} is not what was written", pattern.name);
    }
    Ok(corrected)
}

/// The bench's only page buffer.
const BUFFER: BufferId = BufferId(0);

fn send(bench: &Bench, phase: FlashOp, block: BlockAddr, page: u16) -> Result<Outcome, ExperimentError> {
    let g = bench.geometry();
    let row = g.row(0, block, PageInBlock(page));
    let target = Target { row, sectors: SectorRange::whole(g.sectors_per_page()), buffer: BUFFER };
    let outcome = bench.request(FlashRequest::single(phase, LunIndex(0), target))?;
    match outcome.status {
        FlashStatus::Done => Ok(outcome),
        status => {
            Err(ExperimentError::Run(format!("{} of page {page} of {block:?}: {status:?}", phase.name())))
        }
    }
}
