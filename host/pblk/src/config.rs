//! What the FTL is told.

use crate::shape::Shape;
use alloc::format;
use aster_parties::PieceError;
use aster_units::{Content, Geometry};

/// The configuration, from a profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PblkConfig {
    /// The array that the drive is expected to have.
    pub geometry: Geometry,
    /// How the drive keeps data.
    pub content: Content,
    /// Sectors that the host doesn't see, in percent of those that it sees. Bad blocks are among them.
    pub over_provisioning_percent: f64,
    /// Sectors of a write command; a unit when absent (P30).
    pub sectors_per_write: Option<u32>,
    /// No LUN gets a second write before the first has ended (C90).
    pub one_write_per_lun: bool,
    /// The most mebibytes that the map may take.
    pub map_mib: u32,
    /// The most commands that a queue of the drive holds.
    pub queue_depth: u16,
}

/// The most sectors of a command.
const COMMAND_SECTORS_MAX: u32 = aster_openchannel::ADDRESSES_MAX as u32;
/// Lines that must be there beside those for the host's data: one that is open, one that is erased, the
/// reserve of collection, and one to begin with.
const SPARE_LINES: u32 = 5;
/// Bytes of the map per logical block.
const MAP_ENTRY_BYTES: u64 = 4;

impl PblkConfig {
    /// Checks it. Returns the shape of lines, and the logical blocks.
    ///
    /// # Errors
    /// The key that is to blame.
    pub(crate) fn check(&self) -> Result<(Shape, u32), PieceError> {
        let refuse = |key, reason| Err(PieceError::new(key, reason));
        let Some(shape) = Shape::of(&self.geometry) else {
            let reason = "must be smaller for pblk, which numbers sectors with 32 bits and writes all planes \
                          of a page with one command of 64 sectors";
            return refuse("geometry", reason.into());
        };
        let unit = shape.unit_sectors();
        let per_write = self.sectors_per_write.unwrap_or(unit);
        if per_write == 0 || per_write > COMMAND_SECTORS_MAX || !per_write.is_multiple_of(unit) {
            return refuse(
                "target.sectors_per_write",
                format!(
                    "must be a multiple of {unit} up to {COMMAND_SECTORS_MAX}, since a page of all planes is \
                     written at once, but is {per_write}"
                ),
            );
        }
        let of_line = shape.data_sectors(shape.luns());
        let all = u64::from(of_line) * u64::from(shape.lines());
        let capacity = (all as f64 / (1.0 + self.over_provisioning_percent / 100.0)) as u64;
        // Whole pages, as each namespace has.
        let page = u64::from(self.geometry.sectors_per_page());
        let capacity = capacity / page * page;
        let spare = (all - capacity) / u64::from(of_line.max(1));
        if of_line == 0 || shape.lines() <= SPARE_LINES {
            let reason = format!(
                "must be more under pblk, which takes {} lines at least, a line being a block of each LUN \
                 and plane, but there are {}",
                SPARE_LINES + 1,
                shape.lines()
            );
            return refuse("geometry.blocks_per_lun", reason);
        }
        if spare < u64::from(SPARE_LINES) || capacity == 0 {
            let enough = (100 * SPARE_LINES).div_ceil(shape.lines() - SPARE_LINES);
            let reason = format!(
                "must be at least {enough}, which leaves {SPARE_LINES} of {} lines to pblk, a line being a \
                 block of each LUN and plane, but is {}",
                shape.lines(),
                self.over_provisioning_percent
            );
            return refuse("ftl.over_provisioning_percent", reason);
        }
        let map = (capacity * MAP_ENTRY_BYTES).div_ceil(1 << 20);
        if map > u64::from(self.map_mib) {
            return refuse(
                "target.map_mib",
                format!(
                    "must be at least {map}, but is {}. Over a drive of Open-Channel SSD 1.2 that keeps \
                     bytes (content = \"full\"), a map that doesn't fit into the host's memory can lie on \
                     flash, with target.kind = \"page-mapping\" and ftl.mapping = \"demand-paged\"",
                    self.map_mib
                ),
            );
        }
        Ok((shape, capacity as u32))
    }
    /// Sectors of the write buffer: eight pages of each plane (P30).
    pub(crate) fn buffer_sectors(shape: &Shape) -> usize {
        (8 * shape.unit_sectors() * shape.luns()) as usize
    }
    /// Sectors of a write command.
    pub(crate) fn per_write(&self, shape: &Shape) -> u32 {
        self.sectors_per_write.unwrap_or(shape.unit_sectors())
    }
}
