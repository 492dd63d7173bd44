//! Planes that are allocated one by one.
//!
//! To the whole FTL such a plane is a LUN with blocks of its own. Flash requests, events and reports name the
//! LUN that the plane belongs to, and the numbers that its blocks have there.

use crate::terms::config::FtlConfig;
use aster_units::{BlockAddr, Geometry, LunIndex, Ppa};

impl FtlConfig {
    /// The same drive with each plane allocated by itself. Planes are numbered so that the LUN changes
    /// fastest: with *n* LUNs, plane *p* of LUN *l* has the number *p* × *n* + *l*.
    pub fn allocating_planes(self) -> FtlConfig {
        let Geometry { luns, planes, blocks_per_lun, .. } = self.geometry;
        FtlConfig {
            geometry: Geometry {
                luns: luns.saturating_mul(planes),
                planes: 1,
                blocks_per_lun: blocks_per_lun / u32::from(planes.max(1)),
                ..self.geometry
            },
            restriction: Some(self.restriction()),
            planes_apart: planes.max(1),
            ..self
        }
    }
    /// Where allocated LUNs or planes lie in the packages.
    pub fn planes(&self) -> Planes<'_> {
        Planes(self)
    }
}

/// Where allocated LUNs or planes lie in the packages.
#[derive(Clone, Copy, Debug)]
pub struct Planes<'a>(&'a FtlConfig);

impl Planes<'_> {
    /// The array as it is, with the planes in their LUNs.
    pub fn lun_geometry(&self) -> Geometry {
        let Geometry { luns, planes, blocks_per_lun, .. } = self.0.geometry;
        let apart = self.0.planes_apart;
        Geometry {
            luns: luns / apart,
            planes: planes * apart,
            blocks_per_lun: blocks_per_lun * u32::from(apart),
            ..self.0.geometry
        }
    }
    /// The LUN that contains what is allocated as LUN `unit`, and the number of the plane. If a LUN is
    /// allocated as a whole, the plane is 0.
    pub fn lun_and_plane(&self, unit: LunIndex) -> (LunIndex, u8) {
        let luns = self.0.geometry.total_luns() / u32::from(self.0.planes_apart);
        (LunIndex(unit.0 % luns), (unit.0 / luns) as u8)
    }
    /// The address in its LUN of a block of what is allocated as LUN `unit`: planes are the low bits (ONFI
    /// 5.1 §3.1).
    pub fn block_in_lun(&self, unit: LunIndex, block: BlockAddr) -> BlockAddr {
        let (_, plane) = self.lun_and_plane(unit);
        BlockAddr(block.0 * u32::from(self.0.planes_apart) + u32::from(plane))
    }
    /// The number of a page when planes are counted as parts of their LUNs.
    pub(crate) fn page_in_lun(&self, page: Ppa) -> Ppa {
        if self.0.planes_apart == 1 {
            return page;
        }
        let (unit, block, of_block) = self.0.geometry.split_ppa(page);
        let (lun, _) = self.lun_and_plane(unit);
        self.lun_geometry().ppa(lun, self.block_in_lun(unit, block), of_block)
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::bench::config;
    use aster_units::{BlockAddr, Content, Geometry, LunIndex, PageInBlock};
    use std::collections::BTreeSet;

    #[test]
    fn each_page_of_the_array_is_one_of_a_plane_that_is_allocated_and_of_one_alone() {
        let mut config = config(Content::Full);
        config.geometry = Geometry { ways: 2, planes: 4, blocks_per_lun: 12, ..config.geometry };
        let apart = config.allocating_planes();
        assert_eq!(apart.planes().lun_geometry(), config.geometry);
        assert!(apart.restriction().holds(&config.geometry));
        let array = config.geometry;
        let mut found = BTreeSet::new();
        for unit in (0..apart.geometry.total_luns()).map(LunIndex) {
            let (lun, plane) = apart.planes().lun_and_plane(unit);
            let (at, of) = (apart.geometry.lun_addr(unit), array.lun_addr(lun));
            assert_eq!((at.channel, at.way), (of.channel, of.way));
            for block in (0..apart.geometry.blocks_per_lun).map(BlockAddr) {
                assert_eq!(array.plane(apart.planes().block_in_lun(unit, block)), plane);
                for page in (0..array.pages_per_block).map(PageInBlock) {
                    let told = apart.planes().page_in_lun(apart.geometry.ppa(unit, block, page));
                    assert_eq!(array.split_ppa(told).0, lun);
                    assert_eq!(array.split_ppa(told).2, page);
                    assert!(found.insert(told), "{told:?} twice");
                }
            }
        }
        assert_eq!(found.len() as u64, array.total_pages());
    }
}
