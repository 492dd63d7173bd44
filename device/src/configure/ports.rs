//! Where data, parity and OOB of a page lie (`base/ports`).

use super::error::{BuildError, value};
use crate::profile::{PlacementName, Profile};
use aster_ports::layout::{PageLayout, Placement};

/// OOB bytes that the FTL gets with every page.
pub(crate) const OOB_BYTES: u8 = 16;

impl From<PlacementName> for Placement {
    fn from(name: PlacementName) -> Placement {
        match name {
            PlacementName::Spare => Placement::Spare,
            PlacementName::Interleaved => Placement::Interleaved,
        }
    }
}

pub(crate) fn layout(profile: &Profile) -> Result<PageLayout, BuildError> {
    let g = profile.array_geometry();
    let parity_bits = profile.ecc.field as usize * profile.ecc.designed;
    PageLayout::new(
        g.sectors_per_page(),
        g.raw_page_bytes(),
        profile.ecc.chunk_bytes,
        parity_bits.div_ceil(8) as u16,
        OOB_BYTES,
        profile.ecc.placement.into(),
    )
    .map_err(|e| value("ecc", e))
}
