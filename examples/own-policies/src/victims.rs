//! A victim policy: cost, age and times (M.-L. Chiang and R.-C. Chang, "Cleaning Policies in Mobile Computers
//! Using Flash Memory", Journal of Systems and Software 48(3), 1999). What a block costs to empty for its
//! room counts against it, and so does how often it was erased; the age of its data counts for it.

use aster_device::BuildError;
use aster_device::Profile;
use aster_device::plug::{BlockFacts, ClosedBlocks, PieceError, VictimPolicy};
use aster_device::units::BlockAddr;

/// Cost, age and times.
#[derive(Debug)]
pub struct CostAgeTimes {
    /// How much erases count: the power to which they are taken.
    wear_weight: i32,
}

impl CostAgeTimes {
    /// As `own.wear_weight` of a profile says; 1 without it, as in the paper.
    pub fn of(profile: &Profile) -> Result<Self, BuildError> {
        let key = profile.own.as_ref().and_then(|own| own.get("wear_weight"));
        let weight =
            key.map_or(Some(1), |value| value.as_integer()).filter(|weight| (0..=4).contains(weight));
        let reason = "must be a number from 0 to 4";
        let weight = weight.ok_or_else(|| PieceError::new("own.wear_weight", reason))?;
        Ok(CostAgeTimes { wear_weight: weight as i32 })
    }
    /// What a block is worth: its room and its age, over what has to be copied and how worn it is.
    fn worth(&self, block: &BlockFacts) -> f64 {
        let gain = f64::from(block.units - block.valid) * block.age as f64;
        gain / (f64::from(block.valid) * f64::from(block.erases + 1).powi(self.wear_weight))
    }
}

impl VictimPolicy for CostAgeTimes {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        let best = closed.iter().max_by(|a, b| self.worth(a).total_cmp(&self.worth(b)));
        best.expect("at least one block is offered").block
    }
}
