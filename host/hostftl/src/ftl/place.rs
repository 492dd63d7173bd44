//! A sector's place as one number, so that the map takes four bytes for 4 KiB (H19).

use crate::driver::ArrayInfo;

/// The place of a page: a lane's page of a group (H22, H23).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PagePlace {
    /// The channel.
    pub channel: u8,
    /// The die of each of its chips.
    pub die: u8,
    /// The group of that die.
    pub group: u16,
    /// The page of the group's blocks.
    pub page: u16,
    /// The lane.
    pub lane: u8,
}

/// The place of a sector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SectorPlace {
    /// Its page.
    pub page: PagePlace,
    /// The sector of the page.
    pub slot: u8,
}

/// A place in as many bits as the array needs: from the lowest on, slot, lane, page, group, die, channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceFormat {
    slot: u8,
    lane: u8,
    page: u8,
    group: u8,
    die: u8,
}

/// The number of no place.
pub const NOWHERE: u32 = u32::MAX;

const fn bits(count: u32) -> u8 {
    (u32::BITS - count.saturating_sub(1).leading_zeros()) as u8
}

impl PlaceFormat {
    /// The format of an array whose dies have at most as many groups as blocks; `None` if a place doesn't fit
    /// into 32 bits and leaves none for [`NOWHERE`].
    pub fn of(info: &ArrayInfo) -> Option<Self> {
        let (slot, lane) = (bits(info.sectors.into()), bits(info.lanes.into()));
        let (page, group, die) = (bits(info.pages.into()), bits(info.blocks), bits(info.dies.into()));
        let all = [slot, lane, page, group, die, bits(info.channels.into())];
        let used: u32 = all.iter().map(|&bits| u32::from(bits)).sum();
        (used < u32::BITS).then_some(PlaceFormat { slot, lane, page, group, die })
    }
    /// The number of a place of that array.
    pub fn encode(&self, place: SectorPlace) -> u32 {
        let SectorPlace { page: at, slot } = place;
        let mut number = u32::from(at.channel);
        for (bits, value) in [
            (self.die, u32::from(at.die)),
            (self.group, at.group.into()),
            (self.page, at.page.into()),
            (self.lane, at.lane.into()),
            (self.slot, slot.into()),
        ] {
            number = number << bits | value;
        }
        number
    }
    /// The place of a number; `None` for [`NOWHERE`].
    pub fn decode(&self, number: u32) -> Option<SectorPlace> {
        if number == NOWHERE {
            return None;
        }
        let mut rest = number;
        let mut take = |bits: u8| {
            let value = rest & ((1 << bits) - 1);
            rest >>= bits;
            value
        };
        let (slot, lane, page) = (take(self.slot) as u8, take(self.lane) as u8, take(self.page) as u16);
        let (group, die) = (take(self.group) as u16, take(self.die) as u8);
        Some(SectorPlace { page: PagePlace { channel: rest as u8, die, group, page, lane }, slot })
    }
}
