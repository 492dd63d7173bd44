//! What an open-channel drive must hold, sector by sector.

use aster_units::Geometry;
use aster_wire::ocssd::{BlockFlags, Place};
use std::collections::BTreeMap;

/// What a sector may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// What the factory left in a block that it found bad: its marks, for one.
    Factory,
    /// Nothing since the last erase.
    Erased,
    /// This version, and nothing else.
    Version(u64),
    /// Whatever a failed or cut-off operation has left: nothing, something that can't be read, or one of
    /// these versions.
    Unsure { before: Option<u64>, after: Option<u64> },
}

/// A block, by the host's knowledge of it.
#[derive(Clone, Debug)]
pub struct Block {
    pub state: BlockFlags,
    /// By page; all sectors of a page are written together.
    pub pages: Vec<Held>,
    /// Whether the next page is known. After a cut-off or failed operation only an erase makes it so.
    pub is_certain: bool,
}

impl Block {
    /// The page to write next; `None` once the block is full.
    pub fn next(&self) -> Option<u16> {
        self.pages.iter().position(|held| *held == Held::Erased).map(|page| page as u16)
    }
    pub fn is_usable(&self) -> bool {
        matches!(self.state, BlockFlags::Free | BlockFlags::Host)
    }
}

/// All blocks of a drive, by their first sector.
#[derive(Clone, Debug)]
pub struct Model {
    pub geometry: Geometry,
    pub blocks: BTreeMap<Place, Block>,
}

impl Model {
    /// A drive whose blocks nobody has written.
    pub fn new(geometry: Geometry) -> Self {
        let mut blocks = BTreeMap::new();
        for channel in 0..geometry.channels {
            for lun in 0..geometry.luns_per_channel() as u16 {
                for block in 0..geometry.blocks_per_lun / u32::from(geometry.planes) {
                    for plane in 0..geometry.planes {
                        let place = Place { channel, lun, plane, block, ..Place::default() };
                        let pages = vec![Held::Erased; usize::from(geometry.pages_per_block)];
                        let block = Block { state: BlockFlags::Free, pages, is_certain: true };
                        blocks.insert(place, block);
                    }
                }
            }
        }
        Model { geometry, blocks }
    }
    pub fn block(&self, place: Place) -> &Block {
        &self.blocks[&place.block_start()]
    }
    pub fn block_mut(&mut self, place: Place) -> &mut Block {
        self.blocks.get_mut(&place.block_start()).expect("the drive has the block")
    }
    pub fn held(&self, place: Place) -> Held {
        self.block(place).pages[usize::from(place.page)]
    }
    /// The sectors of a page.
    pub fn page(&self, place: Place) -> impl Iterator<Item = Place> + use<> {
        (0..self.geometry.sectors_per_page()).map(move |sector| Place { sector, ..place })
    }
    /// A page was written, or may have been.
    pub fn written(&mut self, place: Place, held: Held) {
        let block = self.block_mut(place);
        block.pages[usize::from(place.page)] = held;
        block.is_certain &= matches!(held, Held::Version(_));
    }
    /// A block was erased.
    pub fn erased(&mut self, place: Place) {
        let block = self.block_mut(place);
        block.pages.fill(Held::Erased);
        block.is_certain = true;
    }
    /// An erase of a block failed or was cut off.
    pub fn half_erased(&mut self, place: Place) {
        let block = self.block_mut(place);
        for held in &mut block.pages {
            let before = match *held {
                Held::Version(version) => Some(version),
                Held::Unsure { before, after } => before.or(after),
                Held::Erased | Held::Factory => None,
            };
            *held = Held::Unsure { before, after: None };
        }
        block.is_certain = false;
    }
}
