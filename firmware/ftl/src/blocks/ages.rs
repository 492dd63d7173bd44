//! Young and old victims, in a pool of several LUNs: their copies lie apart.
//!
//! Several victims are in work at a time. Side by side, old data that stay would lie beside young data that
//! are soon overwritten, and skewed writes would copy up to a third more than where victims are emptied one
//! after the other.

use crate::space::layout::BlockLayout;
use crate::space::open::OpenBlocks;
use crate::terms::bits::cells;
use crate::terms::block::{BlockIndex, PoolIndex, Stream};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_units::LunIndex;
use core::cell::{Cell, RefCell};

/// Ages that are kept: those of the last victims.
const VICTIMS: usize = 64;

/// A victim is old if it was closed more than twice as long ago as half of the last victims. Where writes are
/// spread evenly, hardly any is, and where a policy always takes the oldest block.
///
/// After a loss of power a block's age is its place in the block table, until it has been written again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Age {
    #[default]
    Young,
    Old,
}

impl Age {
    pub(crate) fn other(self) -> Age {
        match self {
            Age::Young => Age::Old,
            Age::Old => Age::Young,
        }
    }
}

/// The ages of the last victims of each pool, and of what was copied to open blocks.
pub(super) struct Ages {
    layout: BlockLayout,
    open: Rc<OpenBlocks>,
    victims: Box<[RefCell<VictimAges>]>,
    // Per LUN: what the open block of copies there has.
    copied: Box<[Cell<Option<Copied>>]>,
}

/// A block, and the age of the first copies in it.
#[derive(Clone, Copy)]
struct Copied {
    block: BlockIndex,
    age: Age,
}

/// For each of the last victims: how many blocks were closed between its closing and its choice.
#[derive(Clone, Copy)]
pub(crate) struct VictimAges {
    closings: [u64; VICTIMS],
    next: usize,
    // Which of the last eight were old, one bit each.
    old: u8,
}

impl VictimAges {
    pub(crate) const NONE: VictimAges = VictimAges { closings: [u64::MAX; VICTIMS], next: 0, old: 0 };

    /// The age of the next victim, which is one of the last ones from now on.
    pub(crate) fn age_of_next(&mut self, closings: u64) -> Age {
        let younger = self.closings.iter().filter(|&&of| of.saturating_mul(2) < closings).count();
        self.closings[self.next] = closings;
        self.next = (self.next + 1) % VICTIMS;
        let is_old = younger > VICTIMS / 2;
        self.old = self.old << 1 | u8::from(is_old);
        if is_old { Age::Old } else { Age::Young }
    }
    /// Whether one of the last eight victims was of this age.
    pub(crate) fn had_lately(&self, age: Age) -> bool {
        match age {
            Age::Young => self.old != u8::MAX,
            Age::Old => self.old != 0,
        }
    }
}

impl Ages {
    pub(super) fn new(layout: BlockLayout, open: &Rc<OpenBlocks>) -> Self {
        let victims = layout.all_pools().map(|_| RefCell::new(VictimAges::NONE)).collect();
        Ages { layout, open: Rc::clone(open), victims, copied: cells(layout.total_luns(), None) }
    }
    pub(super) fn forget(&self) {
        self.victims.iter().for_each(|victims| *victims.borrow_mut() = VictimAges::NONE);
        self.copied.iter().for_each(|copied| copied.set(None));
    }
    /// Goes on with these last victims.
    pub(super) fn adopt(&self, pool: PoolIndex, victims: VictimAges) {
        *self.victims[pool.at()].borrow_mut() = victims;
    }
    /// The age of a victim that was chosen when so many blocks had been closed after it.
    pub(super) fn of_victim(&self, pool: PoolIndex, closings: u64) -> Age {
        self.victims[pool.at()].borrow_mut().age_of_next(closings)
    }
    /// The age of what was copied to the open block of a LUN since power-on, if there is any.
    #[inline]
    pub(super) fn in_lun(&self, lun: LunIndex) -> Option<Age> {
        let Copied { block, age } = self.copied[lun.index()].get()?;
        let open = self.open.of(lun, Stream::Gc)?;
        (open.block == block).then_some(age)
    }
    /// Copies of this age go to the open block of a LUN. If it has some already, it keeps their age.
    #[inline]
    pub(super) fn copies(&self, age: Age, lun: LunIndex) {
        if self.in_lun(lun).is_none() {
            let open = self.open.of(lun, Stream::Gc);
            self.copied[lun.index()].set(open.map(|open| Copied { block: open.block, age }));
        }
    }
    /// A block of a LUN has been opened. It has no copies.
    pub(super) fn opened(&self, lun: LunIndex) {
        self.copied[lun.index()].set(None);
    }
    /// Whether copies of the other age need a free block: there have been some lately, and none has an open
    /// block.
    pub(super) fn is_other_without(&self, pool: PoolIndex, age: Age) -> bool {
        let other = age.other();
        self.victims[pool.at()].borrow().had_lately(other)
            && !self.layout.luns_of(pool).any(|lun| self.in_lun(lun) == Some(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pools;
    use crate::space::open::Open;
    use crate::terms::config::FtlConfig;
    use crate::tests::bench::config;
    use aster_units::{BlockAddr, Content};
    use std::vec::Vec;

    #[test]
    fn a_third_that_is_much_older_is_old_at_any_scale() {
        let mut victims = VictimAges::NONE;
        for (round, scale) in [1, 1_000, 10].into_iter().enumerate() {
            let closings = |n: u64| scale * if n.is_multiple_of(3) { 40 + n % 7 } else { 4 + n % 2 };
            let ages = (0..300).map(|n| (n, victims.age_of_next(closings(n))));
            let wrong = ages.skip(VICTIMS).filter(|&(n, age)| (age == Age::Old) != n.is_multiple_of(3));
            assert_eq!(wrong.count(), 0, "round {round}");
        }
    }

    #[test]
    fn victims_of_nearly_one_age_are_all_young() {
        let mut victims = VictimAges::NONE;
        let ages = (0..4 * VICTIMS as u64).map(|n| victims.age_of_next(500 + n * 7 % 100));
        let is_young: Vec<bool> = ages.map(|age| age == Age::Young).collect();
        assert!(is_young[VICTIMS..].iter().all(|&is_young| is_young));
    }

    #[test]
    fn the_first_victims_are_young_and_an_old_one_is_remembered_for_eight() {
        let mut victims = VictimAges::NONE;
        assert!((0..VICTIMS).all(|_| victims.age_of_next(10) == Age::Young));
        assert!(victims.had_lately(Age::Young) && !victims.had_lately(Age::Old));
        assert_eq!(victims.age_of_next(21), Age::Old);
        for _ in 0..8 {
            assert!(victims.had_lately(Age::Old));
            victims.age_of_next(10);
        }
        assert!(!victims.had_lately(Age::Old));
    }

    /// The first copy decides the age of an open block, and the next block that is opened has none.
    #[test]
    fn an_open_block_has_the_age_of_its_first_copies() {
        let config = FtlConfig { pools: Pools::One, ..config(Content::Fingerprint) };
        let layout = BlockLayout::of(&config);
        let open = Rc::new(OpenBlocks::new(layout, 1));
        let (ages, pool, lun) = (Ages::new(layout, &open), PoolIndex(0), LunIndex(1));
        let block = layout.block_index(lun, BlockAddr(3));
        ages.copies(Age::Old, lun);
        assert_eq!(ages.in_lun(lun), None, "nothing is open");
        open.open(Stream::Gc, Open { block, next: 0 });
        ages.copies(Age::Old, lun);
        ages.copies(Age::Young, lun);
        assert_eq!(ages.in_lun(lun), Some(Age::Old));
        assert!(ages.is_other_without(pool, Age::Old) && !ages.is_other_without(pool, Age::Young));
        // The same block is closed, erased and opened again.
        open.close(block);
        assert_eq!(ages.in_lun(lun), None);
        open.open(Stream::Gc, Open { block, next: 0 });
        ages.opened(lun);
        ages.copies(Age::Young, lun);
        assert_eq!(ages.in_lun(lun), Some(Age::Young));
        // There was no old victim, so nothing is left to one.
        assert!(!ages.is_other_without(pool, Age::Young));
    }
}
