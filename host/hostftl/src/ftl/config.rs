//! What the FTL is told.

use super::flash::SECTORS_MAX;
use alloc::format;
use aster_parties::PieceError;
use aster_units::{Content, Geometry};

/// The configuration, from a profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostFtlConfig {
    /// The array that the drive is expected to have.
    pub geometry: Geometry,
    /// How the drive keeps data.
    pub content: Content,
    /// Sectors that the host doesn't see, in percent of those that it sees. Bad blocks are among them.
    pub over_provisioning_percent: f64,
    /// Page buffers in which written sectors wait for their page, or for its program to end.
    pub gather_pages: u32,
}

/// Blocks of each lane's die that must be spare: one is open, two are in reserve for collection, one more is
/// free when collection begins, and the others are for bad blocks and for what is stale.
const SPARE_BLOCKS: u64 = 6;

impl HostFtlConfig {
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
        let of_blocks = u64::from(g.total_luns()) * u64::from(g.pages_per_block) * sectors;
        let all = of_blocks * u64::from(g.blocks_per_lun);
        let capacity = (all as f64 / (1.0 + self.over_provisioning_percent / 100.0)) as u64;
        // Whole pages, as each namespace has.
        let capacity = capacity / sectors * sectors;
        let spare = (all - capacity) / of_blocks;
        if capacity == 0 || spare < SPARE_BLOCKS {
            let reason = format!(
                "must leave {SPARE_BLOCKS} blocks of each lane's die to the host's FTL, but leaves {spare} \
                 of {}",
                g.blocks_per_lun
            );
            return Err(PieceError::new("ftl.over_provisioning_percent", reason));
        }
        u32::try_from(capacity).map_err(|_| {
            let reason = "must be smaller: the host's FTL numbers sectors with 32 bits";
            PieceError::new("geometry", reason)
        })
    }
}
