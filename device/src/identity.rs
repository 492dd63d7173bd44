//! The parts of a profile that a drive's media depend on.

use crate::profile::{
    BLOCK, CellUse, DetectorName, MESSAGE_UNIT, NO_TARGET, PlacementName, Profile, TableBlocksName,
};
use aster_units::Content;

const FTL_KIND: &str = "ftl.kind";
const TARGET: &str = "target.kind";
/// The target whose images these are. The host's block layer has nothing of its own on the drive.
fn target_of(profile: &Profile) -> &str {
    let kind = profile.target.as_ref().map_or(NO_TARGET, |target| &target.kind);
    if kind == BLOCK { NO_TARGET } else { kind }
}
const FRONT_END: &str = "host.front_end";
const COMMAND_SET: &str = "host.command_set";
const CAPACITY: &str = "geometry.capacity";
const MAPPING_UNIT: &str = "ftl.mapping_unit_bytes";
const MAPPING: &str = "ftl.mapping";
const TABLE_BLOCKS: &str = "ftl.table_blocks";
const PLACEMENT: &str = "ftl.placement";
const LANES: &str = "channel.lanes";
const DETECTOR: &str = "ecc.detector";
const SYNDROMES: &str = "syndromes";
/// The value for a profile without [`CAPACITY`].
const BY_SPARE: &str = "by over-provisioning";

/// The lanes that a group of the drive's host has. To another front end than the message unit they are
/// nothing that media depend on.
fn lanes_on_media(profile: &Profile) -> u8 {
    if profile.host.front_end == MESSAGE_UNIT { profile.lanes() } else { 0 }
}

/// The keys of a profile that must stay the same as long as media are used, with their values as a profile
/// writes them. `content` overrides the profile's.
pub fn media_keys(profile: &Profile, content: Option<Content>) -> Vec<(&'static str, String)> {
    let g = profile.used_geometry();
    let content = match content.unwrap_or(profile.content.into()) {
        Content::Full => "full",
        Content::Fingerprint => "fingerprint",
    };
    let table_blocks = match profile.ftl.table_blocks {
        TableBlocksName::Off => "off",
        TableBlocksName::Fail => "fail",
        TableBlocksName::Hide => "hide",
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
    let detector = match profile.ecc.detector {
        DetectorName::Syndromes => SYNDROMES,
        DetectorName::Crc => "crc",
    };
    vec![
        // These parties define the format of what is on the media and in NVRAM.
        (FTL_KIND, profile.ftl.kind.clone()),
        (FRONT_END, profile.host.front_end.clone()),
        (COMMAND_SET, profile.host.command_set.clone()),
        (TARGET, target_of(profile).to_owned()),
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
        (DETECTOR, detector.to_owned()),
        (LANES, lanes_on_media(profile).to_string()),
        ("ecc.scrambler", profile.ecc.scrambler.to_string()),
        (CAPACITY, profile.geometry.capacity.as_ref().map_or(BY_SPARE, |of| of.name()).to_owned()),
        ("ftl.over_provisioning_percent", profile.ftl.over_provisioning_percent.to_string()),
        (MAPPING_UNIT, profile.ftl.mapping_unit_bytes.to_string()),
        (MAPPING, profile.ftl.mapping.name().to_owned()),
        (TABLE_BLOCKS, table_blocks.to_owned()),
        (PLACEMENT, profile.ftl.placement().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::shipped;

    #[test]
    fn lanes_belong_to_the_media_of_a_message_unit_alone() {
        let lanes = |name: &str, lanes| {
            let mut profile = shipped(name).unwrap();
            profile.channel.lanes = lanes;
            media_keys(&profile, None).into_iter().find(|(key, _)| *key == LANES).expect("it is kept").1
        };
        assert_eq!(
            (lanes("host-ftl-small", None), lanes("host-ftl-small", Some(4))),
            ("8".into(), "4".into())
        );
        assert_eq!((lanes("tiny", None), lanes("tiny", Some(1))), ("0".into(), "0".into()));
    }
}
