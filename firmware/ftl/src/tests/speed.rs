//! How much work the executor has for an operation: deterministic, unlike time.

use super::bench::{Bench, config};
use crate::{Capacity, FtlConfig, HostConfig};
use aster_ports::host::HostOp;
use aster_units::{Content, Geometry, Rng};
use std::vec;

fn wide() -> FtlConfig {
    let geometry = Geometry {
        channels: 8,
        ways: 8,
        luns: 1,
        planes: 1,
        blocks_per_lun: 64,
        pages_per_block: 64,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };
    FtlConfig {
        geometry,
        capacity: Capacity::OverProvisioning(15.0),
        host: HostConfig {
            buffer_entries: 1024,
            slice_workers: 256,
            command_slots: 128,
            ..config(Content::Fingerprint).host
        },
        ..config(Content::Fingerprint)
    }
}

/// Keeps 128 commands in flight; the content does not matter here.
fn keep_busy(bench: &Bench, op: HostOp, bytes: u64, commands: u64, mut offset: impl FnMut() -> u64) {
    for _ in 0..commands {
        if !bench.has_slot() {
            bench.wait();
        }
        bench.send(op, offset(), bytes, false, vec![0; (bytes / 512) as usize]);
    }
    for _ in 0..128 {
        bench.wait();
    }
}

#[test]
fn reads_and_writes_take_few_polls() {
    let bench = Bench::fresh(wide());
    let page = u64::from(bench.config.geometry.page_bytes);
    let pages = u64::from(bench.ftl.logical_pages());
    let mut next = 0;
    keep_busy(&bench, HostOp::Write, page, pages, || {
        next += page;
        next - page
    });
    let mut rng = Rng::new(1);
    let mut polls = |op, bytes, commands| {
        let polls = || bench.exec.counts().polls - bench.cells.borrow().polls;
        let before = (polls(), bench.ftl.stats());
        keep_busy(&bench, op, bytes, commands, || rng.below(pages) * page);
        let after = (polls(), bench.ftl.stats());
        let flash =
            |s: &crate::Stats| s.flash_reads.total() + s.flash_programs.total() + s.flash_erases.total();
        let operations = flash(&after.1) - flash(&before.1);
        (after.0 - before.0, operations)
    };
    let commands = 100_000;
    let (reading, _) = polls(HostOp::Read, 4096, commands);
    assert!(reading <= commands * 4 + 2000, "{reading} polls for {commands} reads: intake 1, slice 3");
    let (writing, operations) = polls(HostOp::Write, page, commands);
    let moving = 2 * (operations - commands);
    assert!(
        writing <= commands * 5 + moving + 2000,
        "{writing} polls for {commands} writes and {operations} flash operations: intake 1, slice 4, a move 2"
    );
}
