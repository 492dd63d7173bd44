//! The line that was being written when the power went is written on.
//!
//! Boot would otherwise lose what is left of that line, and of the line that was being erased beside it. That
//! is all the room that collection keeps for itself: after some losses of power none would be left to copy
//! anything to. So the pages that were given away but never programmed are padded, and new data come behind
//! them. Padding waits for the first new data, so that a drive that only boots writes nothing.

use crate::ftl::{Ftl, Job, Open, count};
use crate::lines::Lines;
use crate::media::NO_BLOCK;
use crate::shape::{LineId, SectorAddr, Shape};
use crate::told::Operation;
use alloc::vec;
use alloc::vec::Vec;

/// What a scan found on a line, by place in the line.
pub(crate) struct Scan {
    /// The logical block of each sector that can be read.
    blocks: Vec<u32>,
    /// Pages that can't be programmed any more.
    used: Vec<bool>,
    page_sectors: u32,
    /// A sector of a LUN's first page can be read and belongs to the line: recovery looks at those.
    is_found: bool,
}

impl Scan {
    pub(crate) fn new(shape: &Shape) -> Self {
        let (sectors, page_sectors) = (shape.line_sectors(), shape.page_sectors());
        let pages = (sectors / page_sectors) as usize;
        Scan {
            blocks: vec![NO_BLOCK; sectors as usize],
            used: vec![false; pages],
            page_sectors,
            is_found: false,
        }
    }
    /// A sector has been written. If it can be read, and belongs to the line, it holds `block`.
    pub(crate) fn note(&mut self, index: u32, block: Option<u32>) {
        self.used[(index / self.page_sectors) as usize] = true;
        self.blocks[index as usize] = block.unwrap_or(NO_BLOCK);
    }
    /// A sector of a LUN's first page can be read and belongs to the line.
    pub(crate) fn note_found(&mut self) {
        self.is_found = true;
    }
    fn is_used(&self, index: u32) -> bool {
        self.used[(index / self.page_sectors) as usize]
    }

    /// How the line is written on: the line, and the first sectors of the pages to pad. `None` if it has no
    /// room for data. `is_bad` tells which LUNs' chunks aren't written any more.
    fn resume(
        &self,
        shape: &Shape,
        line: LineId,
        is_bad: impl Fn(u32) -> bool,
    ) -> Option<(Open, Vec<SectorAddr>)> {
        let units = || {
            let all = (0..shape.pages()).flat_map(|page| (0..shape.luns()).map(move |lun| (page, lun)));
            all.filter(|&(_, lun)| !is_bad(lun)).map(|(page, lun)| shape.unit(line, page, lun))
        };
        let pages = |unit: SectorAddr| {
            let first = shape.index_of(unit);
            (first..first + shape.unit_sectors()).step_by(shape.page_sectors() as usize)
        };
        let written = units().filter(|&unit| pages(unit).any(|index| self.is_used(index)));
        let last = written.last()?;
        let left = (units().filter(|&unit| unit > last).count() as u32).checked_sub(shape.tail_units())?;
        let before = || units().take_while(|&unit| unit <= last);
        let unwritten = before().flat_map(pages).filter(|&index| !self.is_used(index));
        let pads = unwritten.map(|index| shape.at(line, index)).collect();
        let mut blocks = Vec::with_capacity(shape.line_sectors() as usize);
        for unit in before().skip(Shape::HEAD_UNITS as usize) {
            let first = shape.index_of(unit) as usize;
            blocks.extend_from_slice(&self.blocks[first..first + shape.unit_sectors() as usize]);
        }
        let unit = shape.index_of(last) / shape.unit_sectors() + 1;
        (left > 0).then_some((Open { line, unit, left, blocks, has_head: true }, pads))
    }
}

impl Ftl {
    /// At boot: takes the line that was opened last as the open one, if it has room and data.
    pub(crate) fn resume(&self, line: LineId, scan: &Scan) {
        let state = &mut *self.state.borrow_mut();
        if state.lines.valid_count(line) > 0
            && let Some((open, pads)) = self.rest_of(&mut state.lines, line, scan)
        {
            state.lines.reopen(line);
            (state.open, state.pads) = (Some(open), pads);
        }
    }
    /// While the FTL runs: goes on with the open line, if it has room and recovery would find it. Otherwise
    /// the line is closed, or free if nothing counts on it.
    pub(crate) fn resume_open(&self, line: LineId, scan: &Scan) {
        let state = &mut *self.state.borrow_mut();
        let rest = self.rest_of(&mut state.lines, line, scan).filter(|_| scan.is_found);
        match rest {
            Some((open, pads)) => (state.open, state.pads) = (Some(open), pads),
            None => {
                state.lines.close(line);
                let is_empty = state.lines.valid_count(line) == 0 && state.lines.is_idle(line);
                if is_empty && !state.release(line, self.shape.luns()) {
                    self.fail_full();
                }
            }
        }
    }
    /// How a line is written on. A chunk that was lost while it was written ends it: it is collected before
    /// others then.
    fn rest_of(&self, lines: &mut Lines, line: LineId, scan: &Scan) -> Option<(Open, Vec<SectorAddr>)> {
        let lost = |lun| {
            let units = (0..self.shape.pages()).map(|page| self.shape.unit(line, page, lun));
            lines.is_bad(line, lun) && units.into_iter().any(|unit| scan.holds(&self.shape, unit))
        };
        if (0..self.shape.luns()).any(lost) {
            lines.urge(line);
            return None;
        }
        scan.resume(&self.shape, line, |lun| lines.is_bad(line, lun))
    }
    /// Pads the pages of the open line that a loss of power left unwritten between others.
    pub(crate) async fn pad_open_line(&self) {
        let pads = core::mem::take(&mut self.state.borrow_mut().pads);
        for first in pads {
            self.take_lun(self.next_job(), Operation::Program, first).await;
            {
                let mut state = self.state.borrow_mut();
                state.lines.hold(self.shape.line_of(first));
                state.writes += 1;
            }
            count(&self.counters.padded, self.shape.page_sectors().into());
            self.jobs.push(&self.exec, Job::Pad { first }).await;
        }
    }
}

impl Scan {
    /// Whether a sector of a unit holds a block of the line.
    fn holds(&self, shape: &Shape, unit: SectorAddr) -> bool {
        let first = shape.index_of(unit) as usize;
        self.blocks[first..first + shape.unit_sectors() as usize].iter().any(|&block| block != NO_BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::slides;
    use aster_units::Geometry;

    const LINE: LineId = LineId(2);

    /// 2 LUNs of two planes, pages of 4 sectors; head and tail take a unit each of 8 sectors.
    fn shape() -> Shape {
        let geometry = Geometry { channels: 2, ways: 1, blocks_per_lun: 8, pages_per_block: 8, ..slides() };
        Shape::of(&geometry).unwrap()
    }
    fn written(shape: &Shape, pages: &[u32]) -> Scan {
        let mut scan = Scan::new(shape);
        for &page in pages {
            (4 * page..4 * page + 4).for_each(|index| scan.note(index, Some(100 + index)));
        }
        scan
    }

    #[test]
    fn new_data_come_behind_the_last_page_that_was_written() {
        let shape = shape();
        // The head, one unit of data, and the next one's second plane alone; nothing of LUN 1's page 1.
        let scan = written(&shape, &[0, 1, 2, 3, 5, 8]);
        let (open, pads) = scan.resume(&shape, LINE, |_| false).unwrap();
        assert_eq!((open.line, open.unit, open.left), (LINE, 5, 16 - 5 - shape.tail_units()));
        let first = |page: u32| shape.at(LINE, 4 * page);
        assert_eq!(pads, [first(4), first(6), first(7), first(9)]);
        let expected: Vec<u32> = (8..40)
            .map(|index| if [2, 3, 5, 8].contains(&(index / 4)) { 100 + index } else { NO_BLOCK })
            .collect();
        assert_eq!(open.blocks, expected, "the list of the tail goes on behind the head");
    }

    #[test]
    fn chunks_that_the_line_lacks_are_neither_padded_nor_counted() {
        let shape = shape();
        let scan = written(&shape, &[0, 1, 2, 3, 8, 9]);
        let (open, pads) = scan.resume(&shape, LINE, |lun| lun == 1).unwrap();
        assert_eq!((open.unit, open.left), (5, 8 - 3 - shape.tail_units()));
        assert_eq!(pads, [shape.at(LINE, 16), shape.at(LINE, 20)]);
        assert_eq!(open.blocks.len(), 16);
    }

    #[test]
    fn a_line_that_has_room_for_its_tail_alone_is_full() {
        let shape = shape();
        let tail = shape.tail_units();
        let until = |unit: u32| (0..2 * unit).collect::<Vec<_>>();
        let left = |unit| written(&shape, &until(unit)).resume(&shape, LINE, |_| false).map(|o| o.0.left);
        assert_eq!(left(16 - tail - 1), Some(1));
        assert_eq!(left(16 - tail), None);
        assert_eq!(left(16), None);
        assert_eq!(left(0), None, "nothing is on it");
    }
}
