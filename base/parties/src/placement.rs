//! Which LUN a logical page belongs to.

use alloc::vec::Vec;
use aster_units::{Geometry, LunIndex, mix64};
use core::fmt;

/// How often a LUN may appear in the order of a [`Placement`] at most.
pub const PLACEMENT_ROUNDS_MAX: u32 = 64;

/// Decides which LUN a logical page belongs to. A page never changes its LUN, since garbage collection
/// copies within the LUN. Where all LUNs are one pool it is only the order in which they take turns.
///
/// # Who calls, in what order
/// The FTL calls [`order`](Placement::order) when a drive is built and keeps the answer: page *n* belongs to
/// entry *n* modulo its length.
///
/// # What is bounded
/// Each LUN appears in the order equally often, 1 to [`PLACEMENT_ROUNDS_MAX`] times: all LUNs have the
/// same number of blocks, and a LUN with more logical pages than the others would run full.
///
/// # What survives a power cut
/// Nothing of the placement itself, but all pages that it has placed. It must give the same order at each
/// power-on, since the FTL finds pages by it. An image stores the placement's name and
/// [`mark`](Placement::mark); opening it with another placement is refused.
pub trait Placement: fmt::Debug {
    /// The LUNs to which logical pages go, from page 0 on; it begins again after its end.
    fn order(&self, geometry: &Geometry) -> Vec<LunIndex>;

    /// A number that differs between placements whose orders differ.
    fn mark(&self, order: &[LunIndex]) -> u64 {
        order.iter().fold(order.len() as u64, |all, lun| mix64(all ^ u64::from(lun.0)))
    }
}
