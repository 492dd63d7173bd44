//! The built-in victim policies.

use alloc::vec::Vec;
use aster_parties::{BlockFacts, ClosedBlocks, VictimPolicy};
use aster_units::{BlockAddr, Rng};
use core::cmp::Reverse;

/// The block with the fewest valid units; of several, the oldest (P5, G12).
#[derive(Clone, Copy, Debug)]
pub struct Greedy;

impl VictimPolicy for Greedy {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.oldest_of_fewest_valid()
    }
}

/// The block with the highest ratio of benefit to cost; of several, the first. Collecting a block of which a
/// share *u* is valid frees 1 − *u* of it. The older the data, the longer the freed room is expected to last.
/// The cost is to read the block and to write *u* of it. So the ratio is (1 − *u*) · age / (1 + *u*)
/// (Rosenblum and Ousterhout, "The Design and Implementation of a Log-Structured File System", SOSP 1991,
/// §3.6). Cold blocks are collected with more valid units left than hot ones, whose units soon become stale
/// anyway. Age is counted in blocks that the drive has filled since.
#[derive(Clone, Copy, Debug)]
pub struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        // Numerator and denominator, both multiplied by the size of a block.
        let ratio = |b: &BlockFacts| {
            (u128::from(b.units - b.valid) * u128::from(b.age), u128::from(b.units) + u128::from(b.valid))
        };
        let better = |a: BlockFacts, b: BlockFacts| {
            let ((a_gain, a_cost), (b_gain, b_cost)) = (ratio(&a), ratio(&b));
            if b_gain * a_cost > a_gain * b_cost { b } else { a }
        };
        closed.iter().reduce(better).expect("at least one block is offered").block
    }
}

/// The block of these with the fewest valid units; of several, the oldest.
fn fewest_valid(of: impl Iterator<Item = BlockFacts>) -> BlockAddr {
    let fewest = of.min_by_key(|block| (block.valid, Reverse(block.age)));
    fewest.expect("at least one block is offered").block
}

/// The block with the fewest valid units among some that are drawn at random, with replacement. With ten
/// draws hardly more is copied than if all blocks were compared (B. Van Houdt, "A Mean Field Model for a
/// Class of Garbage Collection Algorithms in Flash-Based Solid State Drives", SIGMETRICS 2013; one draw is
/// his Random). If some data is colder than the rest, less is copied: greedy collection doesn't touch cold
/// blocks with few stale pages for a long time, whereas a draw finds them.
///
/// The draw depends on the seed, the LUN, and the number of blocks that the drive has filled. Asked again
/// before another block is full, the policy draws the same blocks.
#[derive(Clone, Debug)]
pub struct DChoices {
    choices: u32,
    seed: u64,
    // The draws as ascending indices into the offered blocks; kept to reuse its memory.
    drawn: Vec<u64>,
}

impl DChoices {
    /// Draws `choices` blocks, at least 1; `seed` decides which.
    pub fn new(choices: u32, seed: u64) -> Self {
        DChoices { choices: choices.max(1), seed, drawn: Vec::new() }
    }
}

impl VictimPolicy for DChoices {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        let offered = closed.iter().count() as u64;
        let of_lun = Rng::new(self.seed ^ u64::from(closed.lun().0)).next_u64();
        let mut rng = Rng::new(of_lun ^ closed.closings());
        self.drawn.clear();
        self.drawn.extend((0..self.choices).map(|_| rng.below(offered)));
        self.drawn.sort_unstable();
        let is_drawn = |place: u64| self.drawn.binary_search(&place).is_ok();
        let drawn = (0..).zip(closed.iter()).filter(|&(place, _)| is_drawn(place));
        fewest_valid(drawn.map(|(_, block)| block))
    }
}

/// The block that was filled first, as in a log that is cleaned from its end (P. Desnoyers, "Analytic
/// Modeling of SSD Write Performance", SYSTOR 2012, who calls it LRU). Each block is collected equally often,
/// except blocks in which every page is valid.
#[derive(Clone, Copy, Debug)]
pub struct Fifo;

impl VictimPolicy for Fifo {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.iter().max_by_key(|block| block.age).expect("at least one block is offered").block
    }
}

/// The block with the fewest valid units among those that were filled first (X.-Y. Hu, E. Eleftheriou, R.
/// Haas, I. Iliadis, R. Pletka, "Write Amplification Analysis in Flash-Based Solid State Drives", SYSTOR
/// 2009): for a while, pages of a young block become stale without collection. A window of one block is
/// [`Fifo`], one of all blocks [`Greedy`].
#[derive(Clone, Debug)]
pub struct WindowedGreedy {
    window_percent: u32,
    // Blocks by age; kept to reuse its memory.
    oldest: Vec<BlockFacts>,
}

impl WindowedGreedy {
    /// Considers the oldest `window_percent` percent, 1 to 100, of the offered blocks, and at least one
    /// block.
    pub fn new(window_percent: u32) -> Self {
        WindowedGreedy { window_percent: window_percent.clamp(1, 100), oldest: Vec::new() }
    }
}

impl VictimPolicy for WindowedGreedy {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        self.oldest.clear();
        self.oldest.extend(closed.iter());
        let window = (self.oldest.len() * self.window_percent as usize).div_ceil(100);
        if window < self.oldest.len() {
            self.oldest.select_nth_unstable_by_key(window, |block| Reverse(block.age));
        }
        fewest_valid(self.oldest[..window].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::LunIndex;
    use std::vec;

    #[test]
    fn greedy_goes_by_valid_pages_and_cost_benefit_by_age_too() {
        let chosen = |valid: &[u32], closed_at: &[u64]| {
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

    /// The choice when `closings` blocks have been filled.
    fn chosen(policy: &mut dyn VictimPolicy, closings: u64, valid: &[u32], closed_at: &[u64]) -> u32 {
        let erases = vec![0; valid.len()];
        let closed = ClosedBlocks::new(LunIndex(2), 16, closings, (valid, closed_at, &erases)).unwrap();
        policy.choose(&closed).0
    }

    #[test]
    fn fifo_goes_by_age_alone_and_a_window_by_valid_pages_within_it() {
        let (valid, closed_at) = ([9, 16, 15, 3, 8, ClosedBlocks::NOT_OFFERED], [4, 1, 2, 5, 3, 0]);
        assert_eq!(chosen(&mut Fifo, 5, &valid, &closed_at), 2, "a whole block is older, but not offered");
        // Of the four offered, by age: 2, 4, 0, 3.
        let by_window = [1, 25, 26, 50, 75, 76, 100]
            .map(|percent| chosen(&mut WindowedGreedy::new(percent), 5, &valid, &closed_at));
        assert_eq!(by_window, [2, 2, 4, 4, 4, 3, 3]);
        assert_eq!(
            chosen(&mut WindowedGreedy::new(100), 5, &[8, 8, 8], &[3, 1, 2]),
            1,
            "the oldest of equals"
        );
    }

    #[test]
    fn choices_are_drawn_alike_from_all_and_the_same_question_has_the_same_answer() {
        const NOT: u32 = ClosedBlocks::NOT_OFFERED;
        let (valid, closed_at) = ([NOT, 1, 2, 3, 16, 4, 5, 6, 7, 8], [9, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let counts = |choices: u32, seed: u64| {
            let (mut policy, mut counts) = (DChoices::new(choices, seed), [0u32; 10]);
            for closings in 10..8010 {
                let block = chosen(&mut policy, closings, &valid, &closed_at);
                assert_eq!(chosen(&mut policy, closings, &valid, &closed_at), block, "asked again");
                counts[block as usize] += 1;
            }
            counts
        };
        let near = |count: u32, expected: f64| (f64::from(count) - expected).abs() < 120.0;
        let random = counts(1, 7);
        assert!(
            random[0] + random[4] == 0 && [1, 2, 3, 5, 6, 7, 8, 9].iter().all(|&b| near(random[b], 1000.0))
        );
        // The best of eight is among three draws with 1 − (7/8)³.
        let three = counts(3, 7);
        assert!(near(three[1], 8000.0 * 0.330) && near(three[9], 8000.0 / 512.0), "{three:?}");
        assert_ne!(counts(3, 8), three, "the seed has a say");
        assert!(counts(100, 7)[1] > 7990, "many draws are greedy");
    }
}
