//! The targets of ours that `target.kind` chooses from: FTLs on the host. `device` knows their names alone,
//! since it may not use what is of the host.
#![forbid(unsafe_code)]

mod block;
mod cache;
mod hostftl;
mod nvme;
mod page_mapping;
mod pblk;

use aster_device::Pieces;

/// `pieces` with our targets. A reader's own target of the same name goes before ours.
pub fn with_ours(pieces: Pieces) -> Pieces {
    let pieces = pieces.our_target("block", cache::before(block::make));
    let pieces = pieces.our_target("hostftl", cache::before(hostftl::make));
    let pieces = pieces.our_target("pblk", cache::before(pblk::make));
    pieces.our_target("page-mapping", cache::before(page_mapping::make))
}
