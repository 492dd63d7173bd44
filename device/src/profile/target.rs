//! The keys of an FTL on the host.

use serde::{Deserialize, Serialize};

/// The target that has no FTL: the host's block layer.
pub const BLOCK: &str = "block";
/// The name that stands for no target at all, as images call it: the host sees the drive itself.
pub const NO_TARGET: &str = "none";
/// What `target.kind` may be, in words.
pub(crate) const KINDS: &str = "\"block\" for a drive that has an FTL of its own, \"hostftl\" or \
                                \"page-mapping\" for one that takes command frames, \"pblk\" or \
                                \"page-mapping\" for an open-channel drive, or \"none\" for no target";
/// Targets of ours. What makes them stands on the host, and not in this crate.
pub(crate) const TARGETS: &[&str] = &[BLOCK, "hostftl", "page-mapping", "pblk"];

/// An FTL on the host.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TargetProfile {
    /// Which one: `block` (none: the host's block layer over a drive that has its own), `hostftl` (the FTL of
    /// the Host-FTL paper, over a drive that takes command frames; its over-provisioning and its page
    /// buffers are those of `[ftl]`), `page-mapping` (the page-mapping FTL, with the keys of `[ftl]`, over a
    /// drive that takes command frames or an open-channel drive of version 1.2), `pblk` (an FTL for
    /// open-channel drives in the manner of Linux's; its over-provisioning is that of `[ftl]`), or one of a
    /// reader's own. With `none`, alone in its table, there is no target and the host sees the drive itself.
    pub kind: String,
    /// Time that the host's software takes for a command, nanoseconds: one command after the other. None when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_ns: Option<u32>,
    /// Mebibytes of a page cache of the host before the target, 16 at least (O16). A write ends once it is
    /// copied there. Adjacent dirty pages are written back in runs of up to 128 KiB when more than a tenth of
    /// the cache is dirty, after 30 s, and by a flush; writes wait while a fifth is. 128 KiB are read ahead
    /// of a sequential reader. No cache when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_mib: Option<u32>,
    /// Sectors of 4 KiB in a write command of pblk, up to 64; a multiple of those of a page in all planes,
    /// which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sectors_per_write: Option<u32>,
    /// pblk sends a LUN no second write or erase before the first has ended, and waits for the LUN whose
    /// turn it is (C90). True when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_write_per_lun: Option<bool>,
    /// Mebibytes that pblk's map may take at most: 4 bytes per 4 KiB. 1024 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_mib: Option<u32>,
    /// Page buffers in which `hostftl` gathers sectors until their page is full (H21). With 0 it sends the
    /// pages of each write at once, full or not, from `ftl.buffer_entries` buffers; as many gather when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gather_pages: Option<u32>,
    /// A write of so many bytes at least, of sectors that are cold, becomes composite pages of `hostftl`: a
    /// page of all lanes of a channel, programmed by one command (H22). None with 0, and when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composite_bytes: Option<u32>,
    /// Sectors are cold if none of so many writes before has written them. 0 when absent: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_writes: Option<u32>,
    /// Which lane of a group of `hostftl` has the sum of the others (H33, G25): `fixed` the last one,
    /// `rotating` another one for each group. All that is written goes as whole rows of a page of each lane
    /// then, whatever `composite_bytes` says, a flush fills its last row with padding, and a page that can't
    /// be read is made of the others. `off` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidName>,
    /// How many more erases one group of a die may have than another under `hostftl` (H27). New data go to
    /// the free group that was erased least often, copies to the one that was erased most often, and a group
    /// with cold data is emptied when the difference is two fifths of this; one erase in eighty at most is
    /// for that (H26). New data keep out of a die whose free groups were erased more often than those of
    /// another one by more than this in the mean (H29). None when absent: free groups are written in the
    /// order in which they became free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear_window: Option<u32>,
    /// Percent by which the mean erases of a region of `hostftl`, a die of a channel, exceed those of all
    /// when hot data leave it for the region that wears least (H30, D %). Takes `wear_window`. None when
    /// absent: hot data stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region_percent: Option<f64>,
    /// Groups whose hot data leave a region at a time (H30, M). 4 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region_groups: Option<u32>,
    /// The latest accesses of pages by the host, of which the hottest data are those with the most (H30).
    /// 4096 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region_accesses: Option<u32>,
    /// Commands that have ended at which the message unit sends `hostftl` a status frame (H17), up to 16.
    /// More than one takes `status_us`. 1 when absent: a frame for each batch that ends at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_entries: Option<u8>,
    /// Microseconds after which it sends one in any case, from the first end of a command on (H17). Takes
    /// `status_entries`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_us: Option<u16>,
}

impl TargetProfile {
    /// The keys beside [`TargetProfile::kind`] that are given.
    pub(crate) fn given(&self) -> Vec<String> {
        let table = toml::Table::try_from(self).unwrap_or_default();
        table.into_iter().map(|(key, _)| key).filter(|key| key != "kind").collect()
    }
}

/// Where parity lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaidName {
    /// Nowhere.
    #[default]
    Off,
    /// On the last lane of each group.
    Fixed,
    /// On another lane of each group.
    Rotating,
}
