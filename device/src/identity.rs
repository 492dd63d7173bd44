//! What of a profile a drive's media depend on.

use crate::profile::{CellUse, PlacementName, Profile};
use aster_units::Content;

/// The keys of a profile that must be the same whenever media are used again, with their values as a profile
/// writes them. `content` overrides the profile's.
pub fn media_keys(profile: &Profile, content: Option<Content>) -> Vec<(&'static str, String)> {
    let g = profile.used_geometry();
    let content = match content.unwrap_or(profile.content.into()) {
        Content::Full => "full",
        Content::Fingerprint => "fingerprint",
    };
    let cells = match profile.package.cells {
        CellUse::Slc => "slc",
        CellUse::Mlc => "mlc",
        CellUse::Tlc => "tlc",
    };
    let placement = match profile.ecc.placement {
        PlacementName::Spare => "spare",
        PlacementName::Interleaved => "interleaved",
    };
    vec![
        ("content", content.to_owned()),
        ("seed", profile.seed.to_string()),
        ("geometry.channels", g.channels.to_string()),
        ("geometry.ways", g.ways.to_string()),
        ("geometry.luns", g.luns.to_string()),
        ("geometry.planes", profile.geometry.planes.to_string()),
        ("geometry.blocks_per_lun", profile.geometry.blocks_per_lun.to_string()),
        ("restrict.planes", g.planes.to_string()),
        ("restrict.blocks_per_lun", g.blocks_per_lun.to_string()),
        ("geometry.pages_per_block", profile.geometry.pages_per_block.to_string()),
        ("restrict.pages_per_block", g.pages_per_block.to_string()),
        ("restrict.lsb_pages", profile.restrict.lsb_pages.to_string()),
        ("geometry.page_bytes", g.page_bytes.to_string()),
        ("geometry.spare_bytes", g.spare_bytes.to_string()),
        ("package.cells", cells.to_owned()),
        ("ecc.field", profile.ecc.field.to_string()),
        ("ecc.designed", profile.ecc.designed.to_string()),
        ("ecc.chunk_bytes", profile.ecc.chunk_bytes.to_string()),
        ("ecc.placement", placement.to_owned()),
        ("ecc.scrambler", profile.ecc.scrambler.to_string()),
        ("ftl.over_provisioning_percent", profile.ftl.over_provisioning_percent.to_string()),
        ("ftl.assigner", profile.ftl.placement().to_owned()),
    ]
}
