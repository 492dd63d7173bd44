//! Page addresses: each has fields for channel, LUN, block and page, so no map is needed.

use super::set::METADATA_BYTES;
use aster_device::plug::VectorAddress;
use aster_units::{BlockAddr, Geometry, LunAddr, LunIndex, PageInBlock};

/// The array's geometry, as the host counts it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub geometry: Geometry,
}

/// A page by its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    pub lun: LunIndex,
    pub block: BlockAddr,
    pub page: PageInBlock,
}

fn bits(values: u32) -> u8 {
    (u32::BITS - (values - 1).leading_zeros()) as u8
}

impl Shape {
    /// Fields of an address, lowest first: pages, blocks (of all planes), LUNs of a channel, channels.
    fn fields(&self) -> [u32; 4] {
        let g = &self.geometry;
        [g.pages_per_block.into(), g.blocks_per_lun, g.luns_per_channel(), g.channels.into()]
    }
    /// The page that an address names, if this drive has it.
    pub fn page(&self, address: VectorAddress) -> Option<Page> {
        let mut rest = address.0;
        let mut parts = [0; 4];
        for (part, values) in parts.iter_mut().zip(self.fields()) {
            *part = (rest & ((1 << bits(values)) - 1)) as u32;
            rest >>= bits(values);
            if *part >= values {
                return None;
            }
        }
        let [page, block, lun, channel] = parts;
        let ways = u32::from(self.geometry.ways);
        let at = LunAddr { channel: channel as u16, way: (lun % ways) as u8, lun: (lun / ways) as u8 };
        let whole = Page {
            lun: self.geometry.lun_index(at),
            block: BlockAddr(block),
            page: PageInBlock(page as u16),
        };
        (rest == 0).then_some(whole)
    }
    /// The address of a page.
    pub fn address(&self, lun: LunIndex, block: u32, page: u16) -> u64 {
        let at = self.geometry.lun_addr(lun);
        let of_channel = u32::from(at.lun) * u32::from(self.geometry.ways) + u32::from(at.way);
        let parts = [u32::from(page), block, of_channel, at.channel.into()];
        let (mut address, mut shift) = (0, 0);
        for (part, values) in parts.into_iter().zip(self.fields()) {
            address |= u64::from(part) << shift;
            shift += bits(values);
        }
        address
    }
    /// The content of Identify E2h: version, format of an address (offset and length of its fields), one
    /// group.
    pub fn identity(&self, into: &mut [u8]) {
        let g = &self.geometry;
        (into[0], into[2]) = (1, 1);
        let [page, block, lun, channel] = self.fields().map(bits);
        let format = [
            page + block + lun,
            channel,
            page + block,
            lun,
            0,
            0, // planes are the low bits of a block's number
            page,
            block,
            0,
            page,
            0,
            0, // a sector is a whole page
        ];
        into[12..24].copy_from_slice(&format);
        let group = &mut into[256..];
        group[4] = g.channels as u8;
        group[5] = g.luns_per_channel() as u8;
        group[6] = 1;
        group[8..10].copy_from_slice(&(g.blocks_per_lun as u16).to_le_bytes());
        group[10..12].copy_from_slice(&g.pages_per_block.to_le_bytes());
        for at in [12, 14] {
            group[at..at + 2].copy_from_slice(&(g.page_bytes as u16).to_le_bytes());
        }
        group[16..18].copy_from_slice(&(METADATA_BYTES as u16).to_le_bytes());
    }
}
