//! Location vectors.

use aster_units::{BlockAddr, Geometry, LunIndex, PageInBlock, RowAddr};

/// Where a page is, in six parts (S21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocationVector {
    /// Its channel.
    pub channel: u16,
    /// Its chip enable on the channel. Channel and way name the chip.
    pub way: u8,
    /// Its LUN behind the chip enable.
    pub die: u8,
    /// Its plane of the die.
    pub plane: u8,
    /// Its block of the die, over all planes.
    pub block: BlockAddr,
    /// Its page of the block.
    pub page: PageInBlock,
}

impl LocationVector {
    /// The vector of the page at `row` of `lun`.
    pub fn of(geometry: &Geometry, lun: LunIndex, row: RowAddr) -> Self {
        let at = geometry.lun_addr(lun);
        let (_, block, page) = geometry.split_row(row);
        LocationVector {
            channel: at.channel,
            way: at.way,
            die: at.lun,
            plane: geometry.plane(block),
            block,
            page,
        }
    }
}

/// Chips and dies as the interface layer numbers them: a channel's chips one after the other, and a chip's
/// dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chips {
    /// Channels.
    pub channels: u16,
    /// Chips of a channel.
    pub ways: u8,
    /// Dies of a chip.
    pub dies: u8,
}

/// A die over the whole drive, in the order of [`Chips`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DieIndex(pub u32);

impl DieIndex {
    /// Its place in an array over all dies.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

impl Chips {
    /// Those of a drive.
    pub const fn of(geometry: &Geometry) -> Self {
        Chips { channels: geometry.channels, ways: geometry.ways, dies: geometry.luns }
    }
    /// All dies.
    pub const fn total(&self) -> u32 {
        self.channels as u32 * self.of_channel()
    }
    /// Dies of a channel.
    pub const fn of_channel(&self) -> u32 {
        self.ways as u32 * self.dies as u32
    }
    /// The die of a vector.
    pub const fn die(&self, at: &LocationVector) -> DieIndex {
        let chip = at.channel as u32 * self.ways as u32 + at.way as u32;
        DieIndex(chip * self.dies as u32 + at.die as u32)
    }
    /// The channel of a die.
    pub const fn channel(&self, die: DieIndex) -> usize {
        (die.0 / self.of_channel()) as usize
    }
    /// The chip of a die.
    pub const fn chip(&self, die: DieIndex) -> usize {
        (die.0 / self.dies as u32) as usize
    }
    /// The dies of a chip.
    pub fn dies_of(&self, chip: usize) -> impl Iterator<Item = DieIndex> + Clone + use<> {
        let first = chip as u32 * u32::from(self.dies);
        (first..first + u32::from(self.dies)).map(DieIndex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::LunAddr;

    #[test]
    fn a_vector_names_channel_way_die_plane_block_and_page_of_a_row() {
        let geometry = Geometry {
            channels: 2,
            ways: 3,
            luns: 2,
            planes: 2,
            blocks_per_lun: 24,
            pages_per_block: 16,
            page_bytes: 16384,
            spare_bytes: 1872,
        };
        let lun = geometry.lun_index(LunAddr { channel: 1, way: 2, lun: 1 });
        let row = geometry.row(1, BlockAddr(7), PageInBlock(5));
        let at = LocationVector::of(&geometry, lun, row);
        assert_eq!((at.channel, at.way, at.die, at.plane), (1, 2, 1, 1));
        assert_eq!((at.block, at.page), (BlockAddr(7), PageInBlock(5)));
        let chips = Chips::of(&geometry);
        assert_eq!((chips.die(&at), chips.channel(chips.die(&at)), chips.chip(chips.die(&at))), {
            (DieIndex(11), 1, 5)
        });
        assert_eq!(chips.dies_of(5).collect::<alloc::vec::Vec<_>>(), [DieIndex(10), DieIndex(11)]);
    }
}
