//! The victim policies that there are to choose from.

use aster_parties::{BlockFacts, ClosedBlocks, VictimPolicy};
use aster_units::BlockAddr;

/// The block with the fewest valid pages, the oldest of several (P5, G12).
#[derive(Clone, Copy, Debug)]
pub struct Greedy;

impl VictimPolicy for Greedy {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.oldest_of_fewest_valid()
    }
}

/// The block with the highest ratio of benefit to cost, the first of several: a block of which a share *u* is
/// valid gives the room 1 − *u*, which lasts the longer the older its data is, for reading the block and
/// writing *u* of it, so that the ratio is (1 − *u*) · age / (1 + *u*) (Rosenblum and Ousterhout, "The Design
/// and Implementation of a Log-Structured File System", SOSP 1991, §3.6). Cold blocks are emptied while they
/// hold more valid pages than hot ones, which lose theirs by themselves. Age counts blocks that the drive has
/// filled since.
#[derive(Clone, Copy, Debug)]
pub struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        // Numerator and denominator, both times the pages of a block.
        let ratio = |b: &BlockFacts| {
            (u128::from(b.pages - b.valid) * u128::from(b.age), u128::from(b.pages) + u128::from(b.valid))
        };
        let better = |a: BlockFacts, b: BlockFacts| {
            let ((a_gain, a_cost), (b_gain, b_cost)) = (ratio(&a), ratio(&b));
            if b_gain * a_cost > a_gain * b_cost { b } else { a }
        };
        closed.iter().reduce(better).expect("at least one block is offered").block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::LunIndex;

    #[test]
    fn greedy_goes_by_valid_pages_and_cost_benefit_by_age_too() {
        let chosen = |valid: &[u16], closed_at: &[u64]| {
            let erases = [0; 3];
            let closed = ClosedBlocks::new(LunIndex(0), 16, 101, (valid, closed_at, &erases)).unwrap();
            (Greedy.choose(&closed).0, CostBenefit.choose(&closed).0)
        };
        // 12/20 · 10 = 6 against 4/28 · 100 = 14.3 and 0/32.
        assert_eq!(chosen(&[4, 12, 16], &[91, 1, 1]), (0, 1));
        // 12/20 · 10 = 6 against 4/28 · 41 = 5.9.
        assert_eq!(chosen(&[4, 12, 16], &[91, 60, 1]), (0, 0));
        assert_eq!(chosen(&[8, 8, 8], &[50, 40, 60]), (1, 1), "the oldest of equals");
        assert_eq!(chosen(&[9, 16, 9], &[101, 1, 101]), (0, 0), "data of no age");
    }
}
