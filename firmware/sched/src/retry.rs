//! Read retry for the workers: a read that can't be corrected is repeated, at other levels if the package has
//! a table of them, and each block is read first at the level at which it was last correct (C39, B31).

use alloc::boxed::Box;
use aster_ports::flash::{Feature, FlashOp, FlashRequest, FlashStatus, Outcome, Outcomes};
use aster_units::{Geometry, LunIndex, RowAddr};
use aster_wire::onfi::command_set::ReadRetry;
use core::cell::Cell;

/// How workers repeat reads.
#[derive(Clone, Copy, Debug)]
pub struct RetryConfig {
    /// A read that can't be corrected is repeated at most this often; 0 for never.
    pub times: u8,
    /// The package's table of read levels, if it has one.
    pub levels: Option<ReadRetry>,
    /// The drive's geometry.
    pub geometry: Geometry,
}

impl RetryConfig {
    /// Reads are not repeated.
    pub fn never(geometry: Geometry) -> Self {
        RetryConfig { times: 0, levels: None, geometry }
    }
    /// Whether the level of a block can be kept for its next read. A level belongs to a chip enable, so LUNs
    /// that share one are repeated at other levels but always begin at row 0.
    fn tracks(&self) -> bool {
        self.times > 0 && self.levels.is_some() && self.geometry.luns == 1
    }
    /// Whether another LUN reads at the level that this one sets.
    pub(crate) fn shares_levels(&self) -> bool {
        self.levels.is_some() && self.geometry.luns > 1
    }
    /// The row of the table for the nth repetition of a read that failed at row `from`: each row once, then
    /// again, since another read at the same level finds other cells wrong.
    fn level(&self, from: u8, n: u8) -> u8 {
        let rows = self.levels.map_or(1, |table| u16::from(table.levels));
        ((u16::from(from) + u16::from(n)) % rows) as u8
    }
}

/// What retry has done, summed over all LUNs.
#[derive(Debug, Default)]
pub(crate) struct RetryStats {
    /// Repetitions.
    pub repeated: Cell<u64>,
    /// Reads that were correct after all.
    pub recovered: Cell<u64>,
    /// Reads that were repeated as often as allowed and stayed uncorrectable.
    pub lost: Cell<u64>,
    /// SET FEATURES of a read level.
    pub levels_set: Cell<u64>,
}

impl RetryStats {
    pub(crate) fn add(count: &Cell<u64>) {
        count.set(count.get() + 1);
    }
    /// Calls `each` with the name and value of each counter.
    pub(crate) fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("read_retries", self.repeated.get());
        each("reads_recovered", self.recovered.get());
        each("reads_lost", self.lost.get());
        each("read_levels_set", self.levels_set.get());
    }
}

/// The read levels of a LUN: the one that is set, and the one at which each block was last correct.
#[derive(Debug)]
pub(crate) struct Levels {
    current: Cell<u8>,
    // Empty if levels aren't tracked.
    of_block: Box<[Cell<u8>]>,
}

impl Levels {
    pub(crate) fn new(config: &RetryConfig) -> Self {
        let blocks = if config.tracks() { config.geometry.blocks_per_lun as usize } else { 0 };
        Levels { current: Cell::new(0), of_block: (0..blocks).map(|_| Cell::new(0)).collect() }
    }
    /// The level that is set.
    pub(crate) fn current(&self) -> u8 {
        self.current.get()
    }
    /// A level has been set.
    pub(crate) fn set(&self, level: u8) {
        self.current.set(level);
    }
    /// The level at which a read of `row` should begin.
    fn wanted(&self, config: &RetryConfig, row: RowAddr) -> u8 {
        let (_, block, _) = config.geometry.split_row(row);
        self.of_block.get(block.0 as usize).map_or(0, Cell::get)
    }
    /// The level to set before `request`, if another one than the present.
    #[inline]
    pub(crate) fn to_set(&self, config: &RetryConfig, request: &FlashRequest) -> Option<u8> {
        if self.of_block.is_empty() || !is_repeated(request) {
            return None;
        }
        let wanted = self.wanted(config, request.targets()[0].row);
        (wanted != self.current.get()).then_some(wanted)
    }
    /// A read of `row` was correct at this level.
    pub(crate) fn found(&self, config: &RetryConfig, row: RowAddr, level: u8) {
        let (_, block, _) = config.geometry.split_row(row);
        if let Some(of_block) = self.of_block.get(block.0 as usize) {
            of_block.set(level);
        }
    }
    /// `request` is about to start. What is written to a block after its erase is read at row 0.
    #[inline]
    pub(crate) fn note(&self, config: &RetryConfig, request: &FlashRequest) {
        if !self.of_block.is_empty() && request.phase == FlashOp::Erase {
            request.targets().iter().for_each(|target| self.found(config, target.row, 0));
        }
    }
}

/// Whether reads of this kind are repeated: those that the stages correct.
#[inline]
fn is_repeated(request: &FlashRequest) -> bool {
    request.phase == FlashOp::Read && !request.flags.raw
}

/// Whether `request`, which has ended like this, is to be repeated.
#[inline]
pub(crate) fn has_failed(config: &RetryConfig, request: &FlashRequest, outcomes: &Outcomes) -> bool {
    let uncorrectable = |outcome: &Outcome| outcome.status == FlashStatus::Uncorrectable;
    config.times > 0 && is_repeated(request) && outcomes[..request.targets().len()].iter().any(uncorrectable)
}

/// A step of the repetition of one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Set this level.
    SetLevel(u8),
    /// Read at the level that is set.
    Read,
    /// The read is over.
    Over,
}

/// How far the repetition of one target has come. It only decides; the worker carries out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repetition {
    from: u8,
    n: u8,
    outcome: Outcome,
}

impl Repetition {
    /// Of a read that ended in `outcome` at the level that is set.
    pub(crate) fn of(levels: &Levels, outcome: Outcome) -> Self {
        Repetition { from: levels.current(), n: 0, outcome }
    }
    /// What comes next.
    pub(crate) fn next(&self, config: &RetryConfig, levels: &Levels) -> Step {
        if self.outcome.status != FlashStatus::Uncorrectable || self.n == config.times {
            return Step::Over;
        }
        let level = config.level(self.from, self.n + 1);
        if level == levels.current() { Step::Read } else { Step::SetLevel(level) }
    }
    /// It was read again.
    pub(crate) fn read(&mut self, outcome: Outcome) {
        self.n += 1;
        self.outcome = Outcome { repeated: self.n, ..outcome };
    }
    /// The level couldn't be set: the read stays as it is.
    pub(crate) fn give_up(&mut self, config: &RetryConfig) {
        self.n = config.times;
    }
    /// How the read has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// The request that sets a read level of `request`'s package.
pub(crate) fn set_level(config: &RetryConfig, lun: LunIndex, row: RowAddr, level: u8) -> FlashRequest {
    let table = config.levels.expect("only a package that has levels is told one");
    let feature = Feature { address: table.feature, value: u32::from(level) };
    FlashRequest::of_feature(FlashOp::SetFeatures, lun, row, feature)
}

/// The request that repeats one target of a read. Whose page was read is looked at in the port above.
pub(crate) fn again(request: &FlashRequest, target: usize) -> FlashRequest {
    let mut again = FlashRequest::single(FlashOp::Read, request.lun, request.targets()[target]);
    (again.flags, again.source) = (request.flags, request.source);
    again
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use aster_ports::flash::Target;
    use aster_units::{BlockAddr, BufferId, PageInBlock, SectorRange};

    const GEOMETRY: Geometry = Geometry {
        channels: 1,
        ways: 1,
        luns: 1,
        planes: 1,
        blocks_per_lun: 8,
        pages_per_block: 16,
        page_bytes: 16384,
        spare_bytes: 1664,
    };

    fn config(times: u8, levels: u8) -> RetryConfig {
        RetryConfig { times, levels: Some(ReadRetry { feature: 0x89, levels }), geometry: GEOMETRY }
    }
    fn read(block: u32) -> FlashRequest {
        let row = GEOMETRY.row(0, BlockAddr(block), PageInBlock(3));
        let target = Target { row, sectors: SectorRange::whole(4), buffer: BufferId(0) };
        FlashRequest::single(FlashOp::Read, LunIndex(0), target)
    }
    fn uncorrectable() -> Outcome {
        Outcome { status: FlashStatus::Uncorrectable, ..Outcome::default() }
    }

    /// The levels at which a read that stays uncorrectable is repeated.
    fn levels_tried(config: &RetryConfig, first: u8) -> Vec<u8> {
        let (levels, mut tried) = (Levels::new(config), vec![]);
        levels.set(first);
        let mut repetition = Repetition::of(&levels, uncorrectable());
        loop {
            match repetition.next(config, &levels) {
                Step::SetLevel(level) => levels.set(level),
                Step::Read => {
                    tried.push(levels.current());
                    repetition.read(uncorrectable());
                }
                Step::Over => return tried,
            }
        }
    }

    #[test]
    fn each_row_of_the_table_is_tried_behind_the_one_that_failed() {
        assert_eq!(levels_tried(&config(5, 4), 0), [1, 2, 3, 0, 1]);
        assert_eq!(levels_tried(&config(3, 4), 2), [3, 0, 1]);
        let without = RetryConfig { levels: None, ..config(2, 4) };
        assert_eq!(levels_tried(&without, 0), [0, 0], "a package without a table reads at its one level");
        assert!(levels_tried(&RetryConfig::never(GEOMETRY), 0).is_empty());
    }

    #[test]
    fn a_block_is_read_at_the_level_at_which_it_was_last_correct_until_it_is_erased() {
        let config = config(5, 4);
        let levels = Levels::new(&config);
        let (old, fresh) = (read(5), read(6));
        levels.found(&config, old.targets()[0].row, 2);
        assert_eq!((levels.to_set(&config, &old), levels.to_set(&config, &fresh)), (Some(2), None));
        levels.set(2);
        assert_eq!((levels.to_set(&config, &old), levels.to_set(&config, &fresh)), (None, Some(0)));
        let erase = FlashRequest::single(FlashOp::Erase, LunIndex(0), old.targets()[0]);
        levels.note(&config, &erase);
        assert_eq!(levels.to_set(&config, &old), Some(0));
        let program = FlashRequest::single(FlashOp::Program, LunIndex(0), old.targets()[0]);
        assert_eq!(levels.to_set(&config, &program), None, "a program has no level");
    }

    #[test]
    fn luns_that_share_a_chip_enable_begin_at_row_0() {
        let config = RetryConfig { geometry: Geometry { luns: 2, ..GEOMETRY }, ..config(5, 4) };
        let levels = Levels::new(&config);
        levels.found(&config, read(5).targets()[0].row, 2);
        assert!(config.shares_levels() && levels.to_set(&config, &read(5)).is_none());
    }
}
