//! A placement: stripes. Several pages in a row go to one LUN before the next has its turn, so that a large
//! request keeps few LUNs busy, and small ones that run beside it find the others idle.

use aster_device::plug::{PLACEMENT_ROUNDS_MAX, PieceError, Placement};
use aster_device::units::{Geometry, LunIndex};
use aster_device::{BuildError, Profile};

/// So many pages in a row on one LUN.
#[derive(Debug)]
pub struct Stripes {
    pages: u32,
}

impl Stripes {
    /// As `own.stripe_pages` of a profile says; 4 without it.
    pub fn of(profile: &Profile) -> Result<Self, BuildError> {
        let key = profile.own.as_ref().and_then(|own| own.get("stripe_pages"));
        let bounds = 1..=i64::from(PLACEMENT_ROUNDS_MAX);
        let pages = key.map_or(Some(4), |value| value.as_integer()).filter(|pages| bounds.contains(pages));
        let reason = "must be a number from 1 to 64";
        let pages = pages.ok_or_else(|| PieceError::new("own.stripe_pages", reason))?;
        Ok(Stripes { pages: pages as u32 })
    }
}

impl Placement for Stripes {
    fn order(&self, geometry: &Geometry) -> Vec<LunIndex> {
        (0..geometry.total_luns() * self.pages).map(|page| LunIndex(page / self.pages)).collect()
    }
}
