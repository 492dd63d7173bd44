//! Where each logical sector is: four bytes for 4 KiB, in the host's memory (H19).

use super::place::{NOWHERE, PlaceFormat, SectorPlace};
use alloc::vec;
use alloc::vec::Vec;

/// The map.
pub struct Map {
    format: PlaceFormat,
    places: Vec<u32>,
}

impl Map {
    /// A map of so many sectors, none of which has been written.
    pub fn new(format: PlaceFormat, sectors: u32) -> Self {
        Map { format, places: vec![NOWHERE; sectors as usize] }
    }
    /// Logical sectors.
    pub fn sectors(&self) -> u32 {
        self.places.len() as u32
    }
    /// Where a sector is; `None` if it has no content.
    pub fn place_of(&self, sector: u32) -> Option<SectorPlace> {
        self.format.decode(self.places[sector as usize])
    }
    /// A sector is at another place now, or nowhere. Returns where it was.
    pub fn moved(&mut self, sector: u32, to: Option<SectorPlace>) -> Option<SectorPlace> {
        let number = to.map_or(NOWHERE, |place| self.format.encode(place));
        let before = core::mem::replace(&mut self.places[sector as usize], number);
        self.format.decode(before)
    }
    /// No sector has content any more.
    pub fn clear(&mut self) {
        self.places.fill(NOWHERE);
    }
}
