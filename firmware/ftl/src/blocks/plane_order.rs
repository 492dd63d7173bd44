//! The orders in which consecutive pages go through channels, ways, dies and planes (S21).

use alloc::vec::Vec;
use aster_units::{Geometry, LunIndex};

/// The names of all orders: `c` stands for channels, `w` for ways, `d` for the dies of a way, which are its
/// LUNs, `p` for their planes. The first letter changes with each page, the last one least often.
pub const PLANE_ORDERS: [&str; 24] = [
    "cwdp", "cwpd", "cdwp", "cdpw", "cpwd", "cpdw", "wcdp", "wcpd", "wdcp", "wdpc", "wpcd", "wpdc", "dcwp",
    "dcpw", "dwcp", "dwpc", "dpcw", "dpwc", "pcwd", "pcdw", "pwcd", "pwdc", "pdcw", "pdwc",
];

/// One of [`PLANE_ORDERS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaneOrder(&'static str);

impl PlaneOrder {
    /// The order of this name.
    pub fn named(name: &str) -> Option<PlaneOrder> {
        PLANE_ORDERS.into_iter().find(|order| *order == name).map(PlaneOrder)
    }
    /// The name of this order.
    pub const fn name(self) -> &'static str {
        self.0
    }
    /// All planes of an array in this order. In `geometry` each plane is a LUN, as
    /// [`FtlConfig::allocating_planes`](crate::FtlConfig::allocating_planes) numbers them, and `planes` of
    /// these are in each LUN.
    pub(crate) fn units(self, geometry: &Geometry, planes: u8) -> Vec<LunIndex> {
        let (channels, ways) = (u32::from(geometry.channels), u32::from(geometry.ways));
        let planes = u32::from(planes);
        let dies = u32::from(geometry.luns) / planes;
        let unit = |n: u32| {
            let (mut rest, mut unit) = (n, 0);
            for letter in self.0.bytes() {
                // How many of them there are, and how far apart their numbers are.
                let (count, step) = match letter {
                    b'c' => (channels, 1),
                    b'w' => (ways, channels),
                    b'd' => (dies, channels * ways),
                    _ => (planes, channels * ways * dies),
                };
                unit += rest % count * step;
                rest /= count;
            }
            LunIndex(unit)
        };
        (0..channels * ways * dies * planes).map(unit).collect()
    }
}
