//! What a drive without a map is built from.

use aster_ports::flash::TOGETHER_MAX;
use aster_ports::host::VECTOR_MAX;
use aster_units::{BlockAddr, Geometry, Restriction};

/// Commands in work at once.
pub const WORKERS: u16 = 64;
/// Most blocks of a LUN: the bad-block table has 16 bits for a block's number.
const BLOCKS_MAX: u32 = 1 << 16;

/// What the firmware's steps cost, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VectorCosts {
    /// Taking a command.
    pub command: u64,
    /// Planning the access to one page.
    pub slice: u64,
    /// Asking for a host DMA.
    pub dma: u64,
    /// Completing a command.
    pub complete: u64,
}

/// What the drive does with the first block of each LUN and plane, in which the Cosmos+ board keeps its
/// bad-block table (P28). This drive keeps it in NVRAM, and none of its own data there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TableBlocks {
    /// It is a block as any other.
    #[default]
    Off,
    /// The bad-block table says that it is the drive's, and whoever names it is refused.
    Fail,
    /// The host doesn't see it: its block `b` is the array's block `b + 1`.
    Hide,
}

/// The configuration of a drive without a map. Constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VectorsConfig {
    /// The array as the host addresses it, without hidden blocks.
    pub geometry: Geometry,
    /// Where its pages lie in the packages.
    pub restriction: Restriction,
    /// Page buffers: at least [`VECTOR_MAX`], since the sectors of a read may lie in as many pages; one
    /// more for a drive that [copies](VectorsConfig::copies) pages of one sector.
    pub buffers: u32,
    /// Reads transfer only the sectors asked for, not the whole page (C59).
    pub partial_reads: bool,
    /// The first block of each LUN and plane.
    pub table_blocks: TableBlocks,
    /// The blocks of all planes are a chunk of Open-Channel SSD 2.0, and are written and erased as one (P29).
    pub chunks: bool,
    /// The host may have pages copied within the drive.
    pub copies: bool,
    /// Copies of whole pages within their planes are the package's COPYBACK, which corrects nothing.
    pub copy_back: bool,
    /// Chunks that may be open at a time; 0 for all (P29, MAXOC).
    pub open_chunks_max: u32,
    /// Program/erase cycles that a block is made for: the wear-level index of a chunk counts in 255ths of
    /// them.
    pub endurance: u32,
    /// What a command names at the same page of several planes of a LUN is one multi-plane operation (G13).
    pub multi_plane: bool,
    /// Consecutive channels that are the lanes of an array controller: what a command names at the same page
    /// of several of them is one operation (H2, G24). 0 if channels are no lanes.
    pub lanes: u8,
    /// Corrected bits in a chunk from which on the host is told to move the data; 0 for never.
    pub marginal: u8,
    /// Costs of the firmware.
    pub costs: VectorCosts,
}

/// What is wrong with a [`VectorsConfig`]: the field, and what it must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The field.
    pub field: &'static str,
    /// What it must be.
    pub must: &'static str,
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} must be {}", self.field, self.must)
    }
}
impl core::error::Error for ConfigError {}

impl VectorsConfig {
    /// Checks what the drive relies on.
    ///
    /// # Errors
    /// Names the first field that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let check = |ok: bool, field, must| if ok { Ok(()) } else { Err(ConfigError { field, must }) };
        check(self.geometry.validate().is_ok(), "geometry", "a valid one")?;
        let all =
            Geometry { blocks_per_lun: self.geometry.blocks_per_lun + self.hidden_blocks(), ..self.geometry };
        check(self.restriction.holds(&all), "geometry", "within the array")?;
        check(usize::from(self.lanes) <= TOGETHER_MAX, "lanes", "at most 8")?;
        let few = self.geometry.blocks_per_lun <= BLOCKS_MAX;
        check(self.endurance > 0, "endurance", "above 0")?;
        check(few, "blocks_per_lun", "at most 65536, since the bad-block table has 16 bits for a block")?;
        // A copy writes whole pages, and needs another buffer for what it reads.
        let (least, must) = match self.copies && self.geometry.sectors_per_page() == 1 {
            false => (VECTOR_MAX, "from 64 to 16384: a vector of 64 sectors may need a page for each"),
            true => {
                (VECTOR_MAX + 1, "from 65 to 16384: a copy of 64 sectors needs a page for each, and one more")
            }
        };
        check((least as u32..=1 << 14).contains(&self.buffers), "buffer_entries", must)
    }
    /// Blocks at the beginning of each LUN that the host doesn't see.
    pub(crate) fn hidden_blocks(&self) -> u32 {
        match self.table_blocks {
            TableBlocks::Hide => self.geometry.planes.into(),
            TableBlocks::Off | TableBlocks::Fail => 0,
        }
    }
    /// Whether a block is the drive's own, so that no command may name it.
    pub(crate) fn is_protected(&self, block: BlockAddr) -> bool {
        self.table_blocks == TableBlocks::Fail && block.0 < u32::from(self.geometry.planes)
    }
    /// Erases that one command may have in flight: a block of each plane for each address.
    pub(crate) fn erases_max(&self) -> usize {
        VECTOR_MAX * usize::from(self.geometry.planes)
    }
}
