//! Reads of pages that are nowhere (S26).

use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use super::power::torture;
use crate::{DriveState, FirstAccess, FtlConfig, GcConfig, HostConfig};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Lpn};
use std::vec;
use std::vec::Vec;

fn drive(first_access: FirstAccess, content: Content) -> FtlConfig {
    FtlConfig { host: HostConfig { first_access, ..config(content).host }, ..config(content) }
}

fn read(bench: &Bench, page: u64) -> Vec<u8> {
    let bytes = u64::from(bench.config.geometry.page_bytes);
    let (status, data) = bench.run(HostOp::Read, page * bytes, bytes, vec![0xEE; bytes as usize]);
    assert_eq!(status, HostStatus::Success);
    data
}

#[test]
fn the_first_read_of_a_page_gives_it_a_place_where_first_access_assigns() {
    for first_access in [FirstAccess::Zeroes, FirstAccess::Assigns] {
        let bench = Bench::fresh(drive(first_access, Content::Full));
        bench.wait_booted();
        let assigns = first_access == FirstAccess::Assigns;
        let flush = |bench: &Bench| assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        assert!(read(&bench, 5).iter().all(|&byte| byte == 0));
        assert!(read(&bench, 5).iter().all(|&byte| byte == 0));
        flush(&bench);
        assert_eq!(bench.ftl.location_of(Lpn(5)).is_some(), assigns);
        let programs = bench.ftl.stats().flash_programs.host;
        assert_eq!(programs, u64::from(assigns), "once");
        // From flash, after a loss of power.
        let bench = bench.restart();
        bench.wait_booted();
        assert!(read(&bench, 5).iter().all(|&byte| byte == 0));
        assert_eq!(bench.ftl.stats().host_pages_unmapped, u64::from(!assigns));
        assert_eq!(bench.ftl.stats().flash_programs.host, 0, "it has a place");
        // Deallocated, it is nowhere once more.
        let bytes = u64::from(bench.config.geometry.page_bytes);
        bench.send_deallocate(&[ByteRange { offset: 5 * bytes, length: bytes }]);
        assert_eq!(bench.wait().0.status, HostStatus::Success);
        assert_eq!(bench.ftl.location_of(Lpn(5)), None);
        assert!(read(&bench, 5).iter().all(|&byte| byte == 0));
        flush(&bench);
        assert_eq!(bench.ftl.location_of(Lpn(5)).is_some(), assigns);
    }
}

/// Reads take as many entries as writes do, and wait for them as writes do.
#[test]
fn random_work_reads_what_it_should_where_first_access_assigns() {
    for (content, unit) in [(Content::Full, 0), (Content::Full, 2048), (Content::Fingerprint, 4096)] {
        for collection in [crate::Collection::OnDemand, crate::Collection::Paced] {
            let base = drive(FirstAccess::Assigns, content);
            let bench = Bench::fresh(FtlConfig {
                mapping_unit_bytes: unit,
                gc: GcConfig { collection, ..base.gc },
                ..base
            });
            let mut host = CheckedHost::new(&bench);
            // Of a drive that holds nothing, one with holes, and one that is full.
            host.verify(&bench);
            host.work(&bench, 1_500, 7);
            host.fill(&bench);
            host.work(&bench, 1_000, 8);
            host.verify(&bench);
            assert_eq!(bench.ftl.state(), DriveState::Ready);
            bench.rest();
            let nowhere = (0..bench.ftl.logical_pages()).filter(|&page| bench.place_of(Lpn(page)).is_none());
            let dirty = bench.config.host.buffer_entries as usize;
            assert!(nowhere.count() <= dirty, "what was read is somewhere, or yet to be written");
        }
    }
}

#[test]
fn what_was_flushed_survives_losses_of_power_where_first_access_assigns() {
    torture(drive(FirstAccess::Assigns, Content::Full), 5, 20);
    torture(drive(FirstAccess::Assigns, Content::Fingerprint), 6, 20);
}

/// A drive that takes no more writes still gives zeroes.
#[test]
fn a_read_of_nothing_succeeds_on_a_drive_that_is_read_only() {
    let bench = Bench::fresh(drive(FirstAccess::Assigns, Content::Full));
    bench.wait_booted();
    bench.make_read_only();
    assert!(read(&bench, 9).iter().all(|&byte| byte == 0));
    assert_eq!(bench.dirty_entries(), 0, "nothing is to be written");
}
