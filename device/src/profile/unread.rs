//! Keys that nobody reads in a drive with this target or translation.

use super::Profile;
use super::ftl::MappingName;
use super::schema::{PAGE_MAPPING, VECTORS};
use super::target::{BLOCK, NO_TARGET, TARGETS};

/// Keys of `[target]` that one target of ours reads, and which one.
const OF_TARGET: &[(&str, &str)] = &[
    ("target.sectors_per_write", "pblk"),
    ("target.one_write_per_lun", "pblk"),
    ("target.map_mib", "pblk"),
    ("target.gather_pages", "hostftl"),
    ("target.composite_bytes", "hostftl"),
    ("target.hot_writes", "hostftl"),
    ("target.raid", "hostftl"),
    ("target.wear_window", "hostftl"),
    ("target.region_percent", "hostftl"),
    ("target.region_groups", "hostftl"),
    ("target.region_accesses", "hostftl"),
    ("target.status_entries", "hostftl"),
    ("target.status_us", "hostftl"),
];
/// Keys of `[ftl]` that page mapping alone reads, in the drive or on the host.
const OF_PAGE_MAPPING: &[&str] = &[
    "ftl.mapping",
    "ftl.mapping_unit_bytes",
    "ftl.map_cache_bytes",
    "ftl.assigner",
    "ftl.placement",
    "ftl.first_access",
    "ftl.streams",
    "ftl.stream_policy",
    "ftl.gc_free_blocks",
    "ftl.collection",
    "ftl.gc_depth",
    "ftl.checkpoint_pages",
    "ftl.wear_levelling",
    "ftl.wear_spread",
    "ftl.retire_uncorrectable",
    "ftl.scan_us",
    "ftl.background_gap_us",
];
/// The keys of the board's eMMC begin with this.
const EMMC: &str = "board.emmc.";
/// Those that the paper's FTL on the host reads as well.
const OF_HOSTFTL_TOO: &[&str] =
    &["ftl.victims", "ftl.victim_choices", "ftl.victim_window_percent", "ftl.refresh_reads"];

impl Profile {
    /// Why a key has no effect on this profile's drive: nobody in it reads the key. `None` if somebody does,
    /// or if its target isn't Aster's.
    pub fn unread(&self, key: &str) -> Option<String> {
        let target = self.target.as_ref().map_or(NO_TARGET, |target| target.kind.as_str());
        if target != NO_TARGET && !TARGETS.contains(&target) {
            return None;
        }
        let under = format!("has no effect under target.kind = \"{target}\"");
        if let Some((_, reader)) = OF_TARGET.iter().find(|(of, reader)| *of == key && *reader != target) {
            return Some(format!("{under}: \"{reader}\" alone reads it"));
        }
        if key.starts_with(EMMC) {
            let reads = "a map on the drive's own flash alone reads it";
            return match (self.ftl.kind.as_str(), &self.ftl.mapping) {
                _ if target != NO_TARGET => Some(format!("{under}: {reads}")),
                (PAGE_MAPPING, mapping @ (MappingName::Resident | MappingName::Own(_))) => {
                    Some(format!("has no effect with ftl.mapping = \"{}\": {reads}", mapping.name()))
                }
                (VECTORS, _) => Some(format!("has no effect over a drive without a map: {reads}")),
                _ => None,
            };
        }
        let has_map = self.ftl.kind != VECTORS || !["pblk", "hostftl", BLOCK, NO_TARGET].contains(&target);
        if has_map {
            return None;
        }
        if OF_PAGE_MAPPING.contains(&key) {
            return Some(format!("{under} over a drive without a map: page mapping alone reads it"));
        }
        (target != "hostftl" && OF_HOSTFTL_TOO.contains(&key))
            .then(|| format!("{under} over a drive without a map: page mapping and \"hostftl\" read it"))
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::{MappingName, shipped};

    #[test]
    fn a_key_is_unread_where_nobody_reads_it() {
        let drive = |name: &str, kind: Option<&str>| {
            let mut profile = shipped(name).unwrap();
            if let Some(kind) = kind {
                profile.target.get_or_insert_default().kind = kind.to_owned();
            }
            profile
        };
        for (name, kind, unread, read) in [
            ("pocket-ocssd", None, "target.raid", "target.map_mib"),
            ("pocket-ocssd", None, "ftl.gc_depth", "ftl.refresh_corrected_percent"),
            ("pocket-ocssd", None, "ftl.victims", "ftl.over_provisioning_percent"),
            ("pocket-ocssd", Some("page-mapping"), "target.map_mib", "ftl.gc_depth"),
            ("host-ftl-small", None, "ftl.mapping", "ftl.victims"),
            ("host-ftl-small", None, "target.sectors_per_write", "target.raid"),
            ("tiny", Some("block"), "target.raid", "ftl.gc_depth"),
            ("tiny", None, "target.raid", "ftl.victims"),
        ] {
            let profile = drive(name, kind);
            assert!(profile.unread(unread).is_some(), "{name} {kind:?} {unread}");
            assert_eq!(profile.unread(read), None, "{name} {kind:?} {read}");
        }
        let mut paged = drive("tiny", None);
        assert!(paged.unread("board.emmc.read_us").is_some());
        paged.ftl.mapping = MappingName::DemandPaged;
        assert_eq!(paged.unread("board.emmc.read_us"), None);
        assert!(drive("pocket-ocssd", None).unread("board.emmc.write_us").is_some());
        assert_eq!(drive("pocket-ocssd", Some("mine")).unread("ftl.gc_depth"), None);
    }
}
