//! Bad blocks and failing operations: seeded ones, and those that a test or a user injects.

use alloc::vec::Vec;
use aster_units::{BlockAddr, PageInBlock, mix64};

/// Which pages of a factory bad block carry its mark: first spare byte 00h (ONFI 5.1 §3.3 lets the
/// manufacturer choose the first or the last page). The others read as erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactoryMarks {
    /// The first.
    FirstPage,
    /// The last.
    LastPage,
    /// One of the two, block by block.
    FirstOrLastPage,
}

/// How often blocks and operations are bad.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FailureModel {
    /// Blocks that leave the factory bad, per thousand. Block 0 of a LUN is always good.
    pub factory_bad_per_mille: u16,
    /// Where their marks are.
    pub factory_marks: FactoryMarks,
    /// Programs that fail, per million.
    pub program_per_million: u32,
    /// Erases that fail, per million.
    pub erase_per_million: u32,
    /// How much more often they fail: both rates grow by this share of themselves for each thousand P/E
    /// cycles of the block.
    pub growth_per_thousand_cycles: f64,
    /// P/E cycles after which a block's erases always fail; 0 for never. Each block has its own limit,
    /// from this number to a quarter more.
    pub wear_out_cycles: u32,
}

impl FailureModel {
    /// Nothing is bad.
    pub const NONE: FailureModel = FailureModel {
        factory_bad_per_mille: 0,
        factory_marks: FactoryMarks::FirstOrLastPage,
        program_per_million: 0,
        erase_per_million: 0,
        growth_per_thousand_cycles: 0.0,
        wear_out_cycles: 0,
    };

    pub(crate) fn bad_field(&self) -> Option<(&'static str, &'static str)> {
        if self.factory_bad_per_mille >= 1_000 {
            return Some(("failures.factory_bad_per_mille", "under 1000"));
        }
        if self.program_per_million > 1_000_000 {
            return Some(("failures.program_per_million", "at most 1000000"));
        }
        if self.erase_per_million > 1_000_000 {
            return Some(("failures.erase_per_million", "at most 1000000"));
        }
        let growth = self.growth_per_thousand_cycles;
        (!growth.is_finite() || growth < 0.0)
            .then_some(("failures.growth_per_thousand_cycles", "a finite number of at least 0"))
    }

    /// True when the block left the factory bad. `die_seed` belongs to the die.
    pub(crate) fn factory_bad(&self, die_seed: u64, block: BlockAddr) -> bool {
        let hash = mix64(die_seed ^ 0xfac7_0000_0000_0000 ^ u64::from(block.0));
        block.0 != 0 && below(hash, u64::from(self.factory_bad_per_mille), 1_000)
    }

    /// Whether the last page of a factory bad block carries its mark, instead of the first.
    pub(crate) fn marks_last(&self, die_seed: u64, block: BlockAddr) -> bool {
        match self.factory_marks {
            FactoryMarks::FirstPage => false,
            FactoryMarks::LastPage => true,
            FactoryMarks::FirstOrLastPage => {
                mix64(die_seed ^ 0x3a2c_0000_0000_0000 ^ u64::from(block.0)) & 1 == 1
            }
        }
    }

    #[inline]
    fn fails(&self, per_million: u32, hash: u64, erases: u32) -> bool {
        let growth = 1.0 + self.growth_per_thousand_cycles * f64::from(erases) * 1e-3;
        below(hash, (f64::from(per_million) * growth) as u64, 1_000_000)
    }
    /// True when this program fails.
    #[inline]
    pub(crate) fn program_fails(&self, page_seed: u64, erases: u32) -> bool {
        self.program_per_million != 0
            && self.fails(self.program_per_million, mix64(page_seed ^ 0x9609_fa11), erases)
    }
    /// True when this erase fails. `block_seed` is the block's and never changes; `seed` is that of this
    /// erase.
    #[inline]
    pub(crate) fn erase_fails(&self, block_seed: u64, seed: u64, erases: u32) -> bool {
        self.is_worn_out(block_seed, erases)
            || (self.erase_per_million != 0
                && self.fails(self.erase_per_million, mix64(seed ^ 0xe6a5_fa11), erases))
    }
    #[inline]
    fn is_worn_out(&self, block_seed: u64, erases: u32) -> bool {
        let least = self.wear_out_cycles;
        least > 0 && erases >= least && {
            let more = mix64(block_seed ^ 0x3ea9_0072) % (u64::from(least) / 4 + 1);
            u64::from(erases) >= u64::from(least) + more
        }
    }
}

fn below(hash: u64, part: u64, whole: u64) -> bool {
    ((u128::from(hash) * u128::from(whole)) >> 64) as u64 >= whole.saturating_sub(part)
}

/// An operation to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Injected {
    /// The next program of the LUN.
    NextProgram,
    /// The next erase of the LUN.
    NextErase,
    /// A program of this page.
    Program(BlockAddr, PageInBlock),
    /// An erase of this block.
    Erase(BlockAddr),
}

/// A LUN's injected faults. Each takes effect once.
#[derive(Debug, Default)]
pub(crate) struct InjectedFaults {
    waiting: Vec<Injected>,
}

impl InjectedFaults {
    pub fn add(&mut self, fault: Injected) {
        self.waiting.push(fault);
    }
    #[inline]
    fn take(&mut self, next: Injected, exact: Injected) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let found = self.waiting.iter().position(|f| *f == next || *f == exact);
        found.map(|i| self.waiting.remove(i)).is_some()
    }
    #[inline]
    pub fn take_program(&mut self, block: BlockAddr, page: PageInBlock) -> bool {
        self.take(Injected::NextProgram, Injected::Program(block, page))
    }
    #[inline]
    pub fn take_erase(&mut self, block: BlockAddr) -> bool {
        self.take(Injected::NextErase, Injected::Erase(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factory_bad_blocks_come_at_their_rate_and_never_first() {
        let model = FailureModel { factory_bad_per_mille: 20, ..FailureModel::NONE };
        let mut bad = 0;
        for die in 0..64u64 {
            assert!(!model.factory_bad(mix64(die), BlockAddr(0)));
            bad += (0..4096).filter(|b| model.factory_bad(mix64(die), BlockAddr(*b))).count();
        }
        assert!((4_900..5_600).contains(&bad), "{bad} of 262144 at 20 per mille");
        assert!((0..4096).all(|b| !FailureModel::NONE.factory_bad(7, BlockAddr(b))));
    }

    #[test]
    fn failures_grow_with_cycles() {
        let model = FailureModel {
            program_per_million: 1_000,
            growth_per_thousand_cycles: 9.0,
            ..FailureModel::NONE
        };
        let count = |erases| (0..100_000u64).filter(|s| model.program_fails(mix64(*s), erases)).count();
        assert!((50..160).contains(&count(0)), "{}", count(0));
        assert!((850..1_150).contains(&count(1_000)), "{}", count(1_000));
        assert!((0..1000).all(|s| !model.erase_fails(s, s, 1_000_000)), "erases have a rate of 0");
    }

    #[test]
    fn each_block_wears_out_for_good_between_its_least_cycles_and_a_quarter_more() {
        let model = FailureModel { wear_out_cycles: 1_000, ..FailureModel::NONE };
        let worn = |erases| {
            (0..1_000u64).filter(|&b| model.erase_fails(b, mix64(b ^ erases), erases as u32)).count()
        };
        assert_eq!((worn(999), worn(1_250)), (0, 1_000));
        assert!((400..600).contains(&worn(1_125)), "{}", worn(1_125));
        let fails = |block, erases: u32| model.erase_fails(block, mix64(erases.into()), erases);
        assert!(
            (0..1_000).all(|b| (1_000..1_250).all(|n| !fails(b, n) || fails(b, n + 1))),
            "a block recovers"
        );
    }

    #[test]
    fn an_injected_fault_hits_once() {
        let mut faults = InjectedFaults::default();
        faults.add(Injected::Program(BlockAddr(1), PageInBlock(2)));
        assert!(!faults.take_program(BlockAddr(1), PageInBlock(1)));
        assert!(!faults.take_erase(BlockAddr(1)));
        assert!(faults.take_program(BlockAddr(1), PageInBlock(2)));
        assert!(!faults.take_program(BlockAddr(1), PageInBlock(2)));
    }
}
