//! A victim policy: greedy among the oldest. A young block loses valid pages by itself for a while, so of
//! the LUN's blocks only the older ones are looked at, and of those the one with the fewest valid pages goes.

use aster_device::BuildError;
use aster_device::Profile;
use aster_device::plug::{BlockFacts, ClosedBlocks, PieceError, VictimPolicy};
use aster_device::units::BlockAddr;

/// Greedy in a window of the oldest blocks.
#[derive(Debug)]
pub struct WindowedGreedy {
    /// How many of a hundred blocks are in the window.
    window_percent: usize,
    /// Blocks by age, kept from call to call for its memory.
    oldest: Vec<BlockFacts>,
}

impl WindowedGreedy {
    /// As `own.window_percent` of a profile says; half of the blocks without it.
    pub fn of(profile: &Profile) -> Result<Self, BuildError> {
        let key = profile.own.as_ref().and_then(|own| own.get("window_percent"));
        let percent = key.map_or(Some(50), |value| value.as_integer()).filter(|p| (1..=100).contains(p));
        let reason = "must be a number from 1 to 100";
        let percent = percent.ok_or_else(|| PieceError::new("own.window_percent", reason))?;
        Ok(WindowedGreedy { window_percent: percent as usize, oldest: Vec::new() })
    }
}

impl VictimPolicy for WindowedGreedy {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        self.oldest.clear();
        self.oldest.extend(closed.iter());
        self.oldest.sort_by_key(|block| std::cmp::Reverse(block.age));
        let window = (self.oldest.len() * self.window_percent).div_ceil(100);
        let fewest = self.oldest[..window].iter().min_by_key(|block| block.valid);
        fewest.expect("at least one block is offered").block
    }
}
