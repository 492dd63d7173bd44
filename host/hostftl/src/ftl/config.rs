//! What the FTL is told.

use super::flash::SECTORS_MAX;
use super::groups::RegionConfig;
use super::table_pages;
use alloc::format;
use aster_parties::{PieceError, Refresh};
use aster_units::{Content, Geometry};
use aster_wire::array::LANES_MAX;

/// The configuration, from a profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostFtlConfig {
    /// The array that the drive is expected to have.
    pub geometry: Geometry,
    /// Consecutive channels of it that are lanes of one channel of the message unit, at least 1.
    pub lanes: u8,
    /// How the drive keeps data.
    pub content: Content,
    /// Sectors that the host doesn't see, in percent of those that it sees. Bad blocks are among them.
    pub over_provisioning_percent: f64,
    /// Page buffers in which written sectors wait for their page, or for its program to end.
    pub gather_pages: u32,
    /// Sectors wait until their page is full. Otherwise the pages of each write are sent at once.
    pub gathers: bool,
    /// Which writes become composite pages; `None` if none do. With [`raid`](HostFtlConfig::raid) all do.
    pub composite: Option<CompositeConfig>,
    /// Where parity lies; `None` if there is none.
    pub raid: Option<Parity>,
    /// How many more erases one group of a die may have than another; `None` without wear levelling (H27).
    pub wear_window: Option<u32>,
    /// When hot data leave a region that wears more than the others; `None` if they never do (H30). Takes a
    /// window.
    pub regions: Option<RegionConfig>,
    /// When data are written anew (H32).
    pub refresh: Refresh,
    /// When the drive sends a status frame (H17).
    pub status: StatusFrames,
}

/// When the drive sends a status frame (H17): at so many entries, or so long after the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusFrames {
    /// Entries of commands that have ended, 1 to 16.
    pub entries: u8,
    /// Microseconds.
    pub after_us: u16,
}

/// Which lane of a group has the sum of the others (H33, G25).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parity {
    /// The last one that can be written.
    Fixed,
    /// Another one for each group.
    Rotating,
}

/// Which writes become composite pages: large ones of cold sectors (H22).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompositeConfig {
    /// Bytes that a write has at least.
    pub bytes: u32,
    /// A sector is cold if none of so many writes before has written it.
    pub hot_writes: u32,
}

/// Groups that the host leaves to collection: one for its copies, since a loss of power closes the one
/// before, and one for those that programs failed to store there.
pub(super) const RESERVE: usize = 2;

/// Page buffers that composite pages need at least: one is filled, one is on its way, and so is a page.
const COMPOSITE_BUFFERS: u32 = 2 * LANES_MAX as u32 + 2;

/// The highest over-provisioning that a profile can have, in percent.
const PERCENT_MAX: u64 = 900;

/// The least whole percentage of over-provisioning that leaves `needed` of so many blocks; `None` if none
/// that a profile can have does.
fn enough_percent(needed: u64, blocks: u64) -> Option<u64> {
    let with_data = blocks.checked_sub(needed).filter(|&blocks| blocks > 0)?;
    Some((100 * needed).div_ceil(with_data)).filter(|&percent| percent <= PERCENT_MAX)
}

impl HostFtlConfig {
    /// Dies of all channels of the message unit.
    fn dies(&self) -> u64 {
        u64::from(self.geometry.channels / u16::from(self.lanes))
            * u64::from(self.geometry.luns_per_channel())
    }
    /// Groups that hold no data of the host's at any time: of each of so many dies one is open for each
    /// [stream](super::frontier::Stream), and one is free when collection begins, beside the reserve. One
    /// more is stale, for collection to gain something by each victim, and one has the block group table.
    pub(super) fn working_groups(&self, dies: u64) -> u64 {
        let composite = self.composite.is_some() && self.raid.is_none();
        let streams = 2 + u64::from(composite) + u64::from(self.wear_window.is_some());
        (streams + 1) * dies + RESERVE as u64 + 1 + u64::from(self.has_table_group())
    }
    /// Whether a group is kept for the block group table. It takes two lanes; with one, a group is a block.
    fn has_table_group(&self) -> bool {
        self.lanes >= 2
    }
    /// Whether the block group table is stored. A drive that keeps fingerprints has no room for its bytes.
    pub(super) fn stores_table(&self) -> bool {
        self.has_table_group() && self.content == Content::Full
    }
    /// Lanes of a group that hold no data.
    pub(super) fn parity_lanes(&self) -> u64 {
        u64::from(self.raid.is_some())
    }
    /// Checks it. Returns the logical sectors.
    ///
    /// # Errors
    /// The key that is to blame.
    pub(super) fn check(&self) -> Result<u32, PieceError> {
        let g = &self.geometry;
        let sectors = u64::from(g.sectors_per_page());
        if sectors > SECTORS_MAX as u64 {
            let reason = format!("must be {SECTORS_MAX} sectors of 4 KiB at most, but is {sectors}");
            return Err(PieceError::new("geometry.page_bytes", reason));
        }
        if self.gather_pages == 0 {
            return Err(PieceError::new(
                "ftl.buffer_entries",
                "must be 1 at least for target.kind = \"hostftl\"",
            ));
        }
        if self.regions.is_some() && self.wear_window.is_none() {
            let reason = "must go with target.wear_window, which levels the wear within regions";
            return Err(PieceError::new("target.region_percent", reason));
        }
        let lanes = self.lanes;
        if self.raid.is_some() && lanes < 2 {
            let reason = "must be \"off\" with channel.lanes = 1: one of two lanes at least has the sum of \
                          the others";
            return Err(PieceError::new("target.raid", reason));
        }
        let of_rows =
            [("target.raid", self.raid.is_some()), ("target.composite_bytes", self.composite.is_some())];
        if let Some((key, _)) = of_rows.iter().find(|(_, is_on)| *is_on)
            && self.gather_pages < COMPOSITE_BUFFERS
        {
            let reason = format!(
                "needs {COMPOSITE_BUFFERS} page buffers (target.gather_pages, or else ftl.buffer_entries), \
                 but there are {}",
                self.gather_pages
            );
            return Err(PieceError::new(key, reason));
        }
        let groups = self.dies() * u64::from(g.blocks_per_lun);
        let pages = table_pages::pages(groups, g.page_bytes as usize);
        if self.stores_table() && pages > u64::from(g.pages_per_block) {
            let reason = format!("must be {pages} at least, so that a block has the block group table");
            return Err(PieceError::new("geometry.pages_per_block", reason));
        }
        let with_data =
            u64::from(g.total_luns()) / u64::from(lanes) * (u64::from(lanes) - self.parity_lanes());
        let of_blocks = with_data * u64::from(g.pages_per_block) * sectors;
        let all = of_blocks * u64::from(g.blocks_per_lun);
        let capacity = (all as f64 / (1.0 + self.over_provisioning_percent / 100.0)) as u64;
        // Whole pages, as each namespace has.
        let capacity = capacity / sectors * sectors;
        let spare = (all - capacity) / of_blocks;
        // One more of each lane's die for bad blocks.
        let needed = self.working_groups(self.dies()).div_ceil(self.dies()) + 1;
        if capacity == 0 || spare < needed {
            let reason = format!(
                "must leave {needed} blocks of each lane's die to the host's FTL, but leaves {spare} of {}: \
                 {}",
                g.blocks_per_lun,
                match enough_percent(needed, g.blocks_per_lun.into()) {
                    Some(percent) => format!("{percent} % would do"),
                    None => format!("so few blocks need more than {PERCENT_MAX} %"),
                }
            );
            return Err(PieceError::new("ftl.over_provisioning_percent", reason));
        }
        u32::try_from(capacity).map_err(|_| {
            let reason = "must be smaller: the host's FTL numbers sectors with 32 bits";
            PieceError::new("geometry", reason)
        })
    }
}
