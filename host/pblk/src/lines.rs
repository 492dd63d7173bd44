//! What lines hold.

use crate::shape::{LineId, SectorAddr, Shape};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineState {
    /// Nothing on it counts. It must be erased before it is written.
    Free,
    /// It is being erased, to be written next.
    Next,
    /// It is being written.
    Open,
    /// It is written, and may be collected.
    Closed,
    /// It has too few good chunks.
    Unusable,
}

struct Line {
    state: LineState,
    sequence: u64,
    /// Sectors with the newest durable version of their block, and how many they are. Without memory
    /// while there are none.
    valid: Vec<u64>,
    count: u32,
    /// Sectors that have an address on it and haven't left the write buffer, and reads of it.
    busy: u32,
    /// It lost a chunk while it was written, or its data fade.
    is_urgent: bool,
    /// A valid sector of it can't be read, so that it must stay.
    is_stuck: bool,
    /// Sectors for data.
    data: u32,
    /// The list for collection that it is in, and its place there.
    listed: Option<(u8, u32)>,
}

/// Lists of closed lines for collection, in the order in which they are taken (P30): those of which nothing
/// is valid, those that are urgent, and the others by sixteenths that are valid.
const LISTS: usize = 2 + PARTS as usize;
const PARTS: u32 = 16;

impl Line {
    /// The list that it belongs to.
    fn list(&self) -> Option<u8> {
        let part = || (u64::from(self.count) * u64::from(PARTS) / u64::from(self.data.max(1))) as u32;
        (self.state == LineState::Closed).then(|| match (self.count, self.is_urgent) {
            (0, _) => 0,
            (_, true) => 1,
            (_, false) => 2 + part().min(PARTS - 1) as u8,
        })
    }
}

/// All lines.
pub struct Lines {
    shape: Shape,
    lines: Vec<Line>,
    free: VecDeque<LineId>,
    /// Sectors for data of the lines that are free.
    free_sectors: u64,
    /// Chunks that can't be used, by line and LUN.
    bad: Vec<bool>,
    lists: [Vec<LineId>; LISTS],
}

impl Lines {
    /// Lines of which nothing is known but the chunks that are good.
    pub fn new(shape: Shape) -> Self {
        let count = shape.lines() as usize;
        let line = |_| Line {
            state: LineState::Unusable,
            sequence: 0,
            valid: Vec::new(),
            count: 0,
            busy: 0,
            is_urgent: false,
            is_stuck: false,
            data: shape.data_sectors(shape.luns()),
            listed: None,
        };
        Lines {
            shape,
            lines: (0..count).map(line).collect(),
            free: VecDeque::with_capacity(count),
            free_sectors: 0,
            bad: vec![false; count * shape.luns() as usize],
            lists: core::array::from_fn(|_| Vec::new()),
        }
    }
    /// Puts a line into the list that it belongs to now.
    fn relist(&mut self, line: LineId) {
        let of = self.line(line);
        let (list, before) = (of.list(), of.listed);
        if list == before.map(|(list, _)| list) {
            return;
        }
        if let Some((list, at)) = before {
            self.lists[usize::from(list)].swap_remove(at as usize);
            if let Some(&moved) = self.lists[usize::from(list)].get(at as usize) {
                self.line_mut(moved).listed = before;
            }
        }
        self.line_mut(line).listed = list.map(|list| {
            let lines = &mut self.lists[usize::from(list)];
            lines.push(line);
            (list, lines.len() as u32 - 1)
        });
    }
    fn line(&self, LineId(line): LineId) -> &Line {
        &self.lines[line as usize]
    }
    fn line_mut(&mut self, LineId(line): LineId) -> &mut Line {
        &mut self.lines[line as usize]
    }
    /// A chunk's number among all.
    pub(crate) fn chunk(&self, LineId(line): LineId, lun: u32) -> usize {
        (line * self.shape.luns() + lun) as usize
    }

    /// Whether a chunk can't be used.
    pub fn is_bad(&self, line: LineId, lun: u32) -> bool {
        self.bad[self.chunk(line, lun)]
    }
    /// Whether a chunk can't be used, by its [number](Lines::chunk).
    pub(crate) fn is_bad_chunk(&self, chunk: usize) -> bool {
        self.bad[chunk]
    }
    /// A chunk can't be used any more. Returns whether it could be until now.
    pub fn mark_bad(&mut self, line: LineId, lun: u32) -> bool {
        let chunk = self.chunk(line, lun);
        let before = self.data_sectors(line);
        if core::mem::replace(&mut self.bad[chunk], true) {
            return false;
        }
        self.line_mut(line).data = self.shape.data_sectors(self.good(line));
        self.relist(line);
        if self.state(line) == LineState::Free {
            let now = self.data_sectors(line);
            self.free_sectors -= u64::from(before - now);
            if now == 0 {
                self.free.retain(|&other| other != line);
                self.line_mut(line).state = LineState::Unusable;
            }
        }
        true
    }
    /// Good chunks of a line.
    pub fn good(&self, line: LineId) -> u32 {
        (0..self.shape.luns()).filter(|&lun| !self.is_bad(line, lun)).count() as u32
    }
    /// Chunks that can't be used.
    pub fn bad_chunks(&self) -> usize {
        self.bad.iter().filter(|bad| **bad).count()
    }
    /// Sectors for data of a line.
    pub fn data_sectors(&self, line: LineId) -> u32 {
        self.line(line).data
    }

    /// A line's state.
    pub fn state(&self, line: LineId) -> LineState {
        self.line(line).state
    }
    /// When it was opened, in the order of all lines.
    pub fn sequence(&self, line: LineId) -> u64 {
        self.line(line).sequence
    }
    /// Sectors of it that hold the newest durable version of their block.
    pub fn valid_count(&self, line: LineId) -> u32 {
        self.line(line).count
    }
    /// Lines of which nothing counts.
    pub fn free_count(&self) -> usize {
        self.free.len()
    }
    /// Sectors for data that free lines have.
    pub fn free_sectors(&self) -> u64 {
        self.free_sectors
    }

    /// Nothing on the line counts any more: it is free, or unusable if hardly any of its chunks is good.
    pub fn release(&mut self, line: LineId) {
        let usable = self.data_sectors(line) > 0;
        let of = self.line_mut(line);
        assert!(of.count == 0 && of.state != LineState::Free, "{line:?} is {:?}", of.state);
        of.valid = Vec::new();
        (of.is_urgent, of.is_stuck) = (false, false);
        of.state = if usable { LineState::Free } else { LineState::Unusable };
        self.relist(line);
        if usable {
            self.free_sectors += u64::from(self.data_sectors(line));
            self.free.push_back(line);
        }
    }
    /// The line that has been free for longest is to be written next.
    pub fn choose_next(&mut self) -> Option<LineId> {
        let line = self.free.pop_front()?;
        self.free_sectors -= u64::from(self.data_sectors(line));
        self.line_mut(line).state = LineState::Next;
        Some(line)
    }
    /// The line has been erased, and is written from now on.
    pub fn open(&mut self, line: LineId, sequence: u64) {
        let of = self.line_mut(line);
        assert!(of.state == LineState::Next, "{line:?} is {:?}", of.state);
        (of.state, of.sequence) = (LineState::Open, sequence);
    }
    /// Nothing more is written on the line.
    pub fn close(&mut self, line: LineId) {
        self.line_mut(line).state = LineState::Closed;
        self.relist(line);
    }
    /// A line is found as it was left before the last loss of power.
    pub fn found(&mut self, line: LineId, sequence: u64) {
        let of = self.line_mut(line);
        (of.state, of.sequence) = (LineState::Closed, sequence);
        self.relist(line);
    }
    /// A line that was [found](Lines::found) is written on.
    pub(crate) fn reopen(&mut self, line: LineId) {
        let of = self.line_mut(line);
        assert!(of.state == LineState::Closed, "{line:?} is {:?}", of.state);
        of.state = LineState::Open;
        self.relist(line);
    }
    /// The line is to be collected before others.
    pub fn urge(&mut self, line: LineId) {
        self.line_mut(line).is_urgent = true;
        self.relist(line);
    }

    /// A valid sector of the line can't be read. Until its block is written anew, the line stays as it is, so
    /// that the host learns of the loss.
    pub fn stick(&mut self, line: LineId) {
        self.line_mut(line).is_stuck = true;
    }

    /// A sector has the newest durable version of its block from now on.
    pub fn validate(&mut self, sector: SectorAddr) {
        let (line, index) = (self.shape.line_of(sector), self.shape.index_of(sector));
        let words = self.shape.line_sectors().div_ceil(u64::BITS) as usize;
        let of = self.line_mut(line);
        if of.valid.is_empty() {
            of.valid = vec![0; words];
        }
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        assert!(of.valid[word] & bit == 0, "{sector:?} is valid already");
        of.valid[word] |= bit;
        of.count += 1;
        self.relist(line);
    }
    /// Whether a sector has the newest durable version of its block.
    pub(crate) fn is_valid(&self, sector: SectorAddr) -> bool {
        let index = self.shape.index_of(sector) as usize;
        let bits = self.line(self.shape.line_of(sector)).valid.get(index / 64);
        bits.is_some_and(|bits| bits >> (index % 64) & 1 != 0)
    }
    /// It has it no longer.
    pub fn invalidate(&mut self, sector: SectorAddr) {
        let (line, index) = (self.shape.line_of(sector), self.shape.index_of(sector));
        let of = self.line_mut(line);
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        assert!(of.valid.get(word).is_some_and(|bits| bits & bit != 0), "{sector:?} is not valid");
        of.valid[word] &= !bit;
        of.count -= 1;
        self.relist(line);
    }
    /// No block is anywhere.
    pub fn invalidate_all(&mut self) {
        for line in &mut self.lines {
            line.valid.fill(0);
            line.count = 0;
        }
        (0..self.shape.lines()).for_each(|line| self.relist(LineId(line)));
    }
    /// The first valid sector of a line from `index` on.
    pub fn next_valid(&self, line: LineId, index: u32) -> Option<SectorAddr> {
        let valid = &self.line(line).valid;
        let mut word = index as usize / 64;
        let mut bits = valid.get(word)? & u64::MAX << (index % 64);
        while bits == 0 {
            word += 1;
            bits = *valid.get(word)?;
        }
        Some(self.shape.at(line, word as u32 * 64 + bits.trailing_zeros()))
    }

    /// Somebody works with the line, so that it must not be erased.
    pub fn hold(&mut self, line: LineId) {
        self.line_mut(line).busy += 1;
    }
    /// Gives back what [`Lines::hold`] took.
    pub fn let_go(&mut self, line: LineId) {
        let of = self.line_mut(line);
        of.busy = of.busy.checked_sub(1).expect("a line is let go as often as it is held");
    }
    /// Whether nobody works with the line.
    pub fn is_idle(&self, line: LineId) -> bool {
        self.line(line).busy == 0
    }

    /// The line to collect next, with `most` valid sectors at most: one that is urgent, or else the one of
    /// which the smallest part is valid, the oldest of several (G15). Lines differ in size by their bad
    /// chunks, so the number of valid sectors alone would choose small lines that are full. `None` if none
    /// would free a sector: copies are padded to a whole unit.
    pub fn victim(&self, most: u32) -> Option<LineId> {
        let unit = self.shape.unit_sectors();
        self.lists.iter().find_map(|list| {
            let gains = list.iter().copied().filter(|&line| {
                let of = self.line(line);
                (of.is_urgent || of.count.next_multiple_of(unit) < of.data)
                    && (!of.is_stuck || of.count == 0)
                    && of.count <= most
            });
            gains.min_by_key(|&line| {
                let of = self.line(line);
                let part = (u64::from(of.count) << 32) / u64::from(of.data.max(1));
                (!of.is_urgent, part, of.sequence)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::slides;
    use aster_units::{Geometry, Rng};

    fn lines() -> Lines {
        let geometry = Geometry { channels: 2, ways: 1, blocks_per_lun: 8, pages_per_block: 8, ..slides() };
        let mut lines = Lines::new(Shape::of(&geometry).unwrap());
        (0..4).for_each(|line| lines.release(LineId(line)));
        lines
    }
    /// Whatever happens to lines, each closed one is in the list that it belongs to, once.
    #[test]
    fn lists_follow_what_happens_to_lines() {
        let geometry = Geometry { channels: 2, ways: 1, blocks_per_lun: 24, pages_per_block: 8, ..slides() };
        let shape = Shape::of(&geometry).unwrap();
        let (mut lines, mut rng, mut sequence) = (Lines::new(shape), Rng::new(5), 0);
        let all = || (0..shape.lines()).map(LineId);
        all().for_each(|line| lines.release(line));
        let mut seen = [false; LISTS];
        for _ in 0..20_000 {
            let line = LineId(rng.below(u64::from(shape.lines())) as u32);
            let sector = shape.at(line, rng.below(u64::from(shape.line_sectors())) as u32);
            match (rng.below(40), lines.state(line)) {
                (0, LineState::Closed) => lines.urge(line),
                (1, LineState::Closed) if lines.valid_count(line) == 0 => lines.release(line),
                (2, LineState::Open) => lines.close(line),
                (3, LineState::Closed) => lines.reopen(line),
                (4, _) if rng.below(60) == 0 => drop(lines.mark_bad(line, rng.below(2) as u32)),
                (5, _) if rng.below(200) == 0 => lines.invalidate_all(),
                (6, _) => {
                    if let Some(next) = lines.choose_next() {
                        sequence += 1;
                        lines.open(next, sequence);
                    }
                }
                (_, LineState::Open) if !lines.is_valid(sector) => lines.validate(sector),
                (_, LineState::Closed) if lines.is_valid(sector) => lines.invalidate(sector),
                _ => {}
            }
            for line in all() {
                let of = lines.line(line);
                let (list, at) = (of.list(), of.listed);
                assert_eq!(list, at.map(|(list, _)| list));
                if let Some((list, at)) = at {
                    assert_eq!(lines.lists[usize::from(list)][at as usize], line);
                    seen[usize::from(list)] = true;
                }
                assert_eq!(of.data, shape.data_sectors(lines.good(line)));
            }
            let listed: usize = lines.lists.iter().map(Vec::len).sum();
            assert_eq!(listed, all().filter(|&line| lines.state(line) == LineState::Closed).count());
        }
        assert!(seen.iter().filter(|seen| **seen).count() > 6, "{seen:?}");
    }
    fn written(lines: &mut Lines, valid: u32) -> LineId {
        let line = lines.choose_next().unwrap();
        lines.open(line, 10 + u64::from(line.0));
        (0..valid).for_each(|index| lines.validate(lines.shape.at(line, 3 * index)));
        lines.close(line);
        line
    }

    #[test]
    fn the_line_with_the_fewest_valid_sectors_goes_first_and_an_urgent_one_before_it() {
        let mut lines = lines();
        let [first, second, third] = [5, 2, 2].map(|valid| written(&mut lines, valid));
        assert_eq!(lines.victim(u32::MAX), Some(second), "the older one of two");
        lines.urge(first);
        assert_eq!(lines.victim(u32::MAX), Some(first));
        assert_eq!(lines.victim(4), Some(second), "there is no room for more");
        (0..2).for_each(|n| lines.invalidate(lines.shape.at(third, 3 * n)));
        assert_eq!(lines.victim(u32::MAX), Some(third), "it costs nothing");
        lines.release(third);
        assert_eq!((lines.state(third), lines.free_count()), (LineState::Free, 2));
    }

    // Small lines that are full would be copied for ever, and free nothing.
    #[test]
    fn of_lines_of_different_sizes_the_emptier_one_goes_first() {
        let mut lines = lines();
        assert!(lines.mark_bad(LineId(0), 1));
        let small = lines.data_sectors(LineId(0));
        let data = |lines: &mut Lines, valid: u32| {
            let line = lines.choose_next().unwrap();
            lines.open(line, u64::from(line.0));
            (0..valid).for_each(|index| lines.validate(lines.shape.at(line, index)));
            lines.close(line);
            line
        };
        let full = data(&mut lines, small - 1);
        assert_eq!(lines.victim(u32::MAX), None, "a copy of it is padded to as many sectors");
        let half = lines.data_sectors(LineId(1)) / 2;
        assert!(half > small - 1);
        let large = data(&mut lines, half);
        assert_eq!((full, lines.victim(u32::MAX)), (LineId(0), Some(large)));
    }

    #[test]
    fn valid_sectors_of_a_line_are_found_in_order() {
        let mut lines = lines();
        let line = written(&mut lines, 30);
        let mut found = 0;
        let mut index = 0;
        while let Some(sector) = lines.next_valid(line, index) {
            index = lines.shape.index_of(sector) + 1;
            assert_eq!(index, 3 * found + 1);
            found += 1;
        }
        assert_eq!((found, lines.valid_count(line)), (30, 30));
    }

    #[test]
    fn bad_chunks_take_their_share_of_a_line() {
        let mut lines = lines();
        let line = LineId(3);
        let whole = lines.data_sectors(line);
        assert!(lines.mark_bad(line, 1) && !lines.mark_bad(line, 1));
        assert_eq!((lines.good(line), whole - lines.data_sectors(line)), (1, 8 * 8));
        assert_eq!((lines.free_count(), lines.free_sectors()), (4, u64::from(4 * whole - 8 * 8)));
        lines.mark_bad(line, 0);
        assert_eq!((lines.data_sectors(line), lines.bad_chunks()), (0, 2));
        assert_eq!((lines.state(line), lines.free_count()), (LineState::Unusable, 3));
        assert_eq!(lines.free_sectors(), u64::from(3 * whole));
    }

    #[test]
    fn a_full_line_is_no_victim() {
        let mut lines = lines();
        let line = written(&mut lines, 0);
        let full = lines.data_sectors(line);
        (0..full).for_each(|index| lines.validate(lines.shape.at(line, index)));
        assert_eq!(lines.victim(u32::MAX), None);
        (1..lines.shape.unit_sectors()).for_each(|index| lines.invalidate(lines.shape.at(line, index)));
        assert_eq!(lines.victim(u32::MAX), None, "its copy would be padded to a whole unit");
        lines.invalidate(lines.shape.at(line, 0));
        assert_eq!(lines.victim(u32::MAX), Some(line));
    }
}
