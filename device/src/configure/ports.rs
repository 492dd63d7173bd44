//! Where data, parity and OOB of a page lie (`base/ports`).

use super::error::{BuildError, value};
use crate::profile::{PAGE_MAPPING, PlacementName, Profile, VECTORS};
use aster_codec::Detector;
use aster_ftl::OOB_BYTES;
use aster_ports::layout::{PageLayout, Placement};
use aster_vectors::WEAR_BYTES;
use aster_wire::ocssd::METADATA_BYTES;

/// OOB bytes that the FTL gets with every page: what its record takes.
pub(crate) fn oob_bytes(profile: &Profile) -> u8 {
    let page_bytes = profile.array_geometry().page_bytes;
    match profile.ftl.kind.as_str() {
        PAGE_MAPPING => aster_ftl::oob_bytes(page_bytes, profile.ftl.mapping_unit_bytes) as u8,
        // The metadata of each sector, of which a page has 15 at most, and the wear of its block.
        VECTORS => {
            let wear = if profile.is_of_chunks() { WEAR_BYTES } else { 0 };
            (METADATA_BYTES * u32::from(profile.array_geometry().sectors_per_page())) as u8 + wear as u8
        }
        _ => OOB_BYTES as u8,
    }
}

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
    let parity_bytes = (profile.ecc.field as usize * profile.ecc.designed).div_ceil(8);
    let detector = Detector::from(profile.ecc.detector);
    PageLayout::new(
        g.sectors_per_page(),
        g.raw_page_bytes(),
        profile.ecc.chunk_bytes,
        (parity_bytes + detector.bytes()) as u16,
        oob_bytes(profile),
        profile.ecc.placement.into(),
    )
    .map_err(|e| match oob_bytes(profile) == OOB_BYTES as u8 || profile.ftl.kind != PAGE_MAPPING {
        true => value("ecc", e),
        false => {
            let oob = oob_bytes(profile);
            value("ftl.mapping_unit_bytes", format!("must be greater: its OOB takes {oob} bytes, and {e}"))
        }
    })
}
