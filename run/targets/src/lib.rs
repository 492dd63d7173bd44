//! The targets of ours that `target.kind` chooses from: FTLs on the host. `device` knows their names alone,
//! since it may not use what is of the host.
#![forbid(unsafe_code)]

mod hostftl;
mod nvme;
mod page_mapping;
mod pblk;

use aster_device::Pieces;

/// `pieces` with our targets. A reader's own target of the same name goes before ours.
pub fn with_ours(pieces: Pieces) -> Pieces {
    let pieces = pieces.our_target("hostftl", hostftl::make).our_target("pblk", pblk::make);
    pieces.our_target("page-mapping", page_mapping::make)
}
