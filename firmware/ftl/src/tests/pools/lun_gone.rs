//! A LUN that takes no more programs.

use super::super::bench::{Bench, config};
use crate::{Capacity, DriveState, FtlConfig, Pools};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, LunIndex, Rng};
use std::vec;
use std::vec::Vec;

const GONE: LunIndex = LunIndex(2);

/// Every program of a LUN fails from some time on. Its data moves to the others, which take what is written,
/// and the drive goes on with the room that they have. Where each LUN is a pool of its own, the drive ends.
#[test]
fn a_lun_that_takes_no_more_programs_costs_the_pool_its_room_and_none_of_its_pages() {
    for (pools, state) in [(Pools::One, DriveState::Ready), (Pools::PerLun, DriveState::ReadOnly)] {
        let base = config(Content::Fingerprint);
        let bench = Bench::fresh(FtlConfig { pools, capacity: Capacity::OverProvisioning(60.0), ..base });
        let bytes = u64::from(bench.config.geometry.page_bytes);
        let pages = u64::from(bench.ftl.logical_pages());
        let mut versions: Vec<u8> = vec![0; pages as usize];
        let write = |page: u64, version: u8| {
            bench.run(HostOp::Write, page * bytes, bytes, vec![version; 16]).0 == HostStatus::Success
        };
        for page in 0..pages {
            assert!(write(page, 1));
            versions[page as usize] = 1;
        }
        let before = bench.good_blocks(GONE);
        let failures = 4 * bench.config.geometry.blocks_per_lun as usize;
        bench.cells.borrow_mut().next_programs_fail.resize(failures, GONE);
        let mut rng = Rng::new(11);
        for n in 0..6 * pages {
            let (page, version) = (rng.below(pages), 2 + (n % 200) as u8);
            if write(page, version) {
                versions[page as usize] = version;
            } else if pools == Pools::One {
                panic!("write {n}: {}", bench.dump());
            }
        }
        assert_eq!(bench.ftl.state(), state, "{pools:?}: {}", bench.dump());
        assert!(before - bench.good_blocks(GONE) > before / 4, "{} of {before}", bench.good_blocks(GONE));
        for (page, &version) in (0..).zip(&versions) {
            let (status, data) = bench.run(HostOp::Read, page * bytes, bytes, vec![0; 16]);
            assert_eq!(status, HostStatus::Success, "page {page}");
            // A drive that takes no more writes may still hold one that it had taken.
            assert!(data == vec![version; 16] || state == DriveState::ReadOnly, "page {page}: {data:?}");
        }
    }
}
