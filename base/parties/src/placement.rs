//! Which LUN a logical page belongs to.

use alloc::vec::Vec;
use aster_units::{Geometry, LunIndex, mix64};
use core::fmt;

/// The most often that a LUN may stand in the order of a [`Placement`].
pub const PLACEMENT_ROUNDS_MAX: u32 = 64;

/// Says which LUN a logical page belongs to. A page never changes its LUN: garbage collection copies within
/// it.
///
/// # Who calls, in what order
/// The FTL calls [`order`](Placement::order) when a drive is built and keeps the answer: page *n* belongs to
/// entry *n* modulo its length.
///
/// # What is bounded
/// Each LUN stands in the order as often as any other, 1 to [`PLACEMENT_ROUNDS_MAX`] times: LUNs have equally
/// many blocks, and a drive whose pages crowd on one would run full there.
///
/// # What survives a power cut
/// Nothing of the placement, and all that it has placed. The same order must come out at each power-on: the
/// FTL looks for pages by it. An image keeps a placement's name and [`mark`](Placement::mark), and is refused
/// with another.
pub trait Placement: fmt::Debug {
    /// The LUNs to which logical pages go, from page 0 on; it begins again after its end.
    fn order(&self, geometry: &Geometry) -> Vec<LunIndex>;

    /// A number that differs between placements whose orders differ.
    fn mark(&self, order: &[LunIndex]) -> u64 {
        order.iter().fold(order.len() as u64, |all, lun| mix64(all ^ u64::from(lun.0)))
    }
}
