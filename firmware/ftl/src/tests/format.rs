use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use super::flash::{Cells, Faults};
use crate::{Capacity, DriveState, FtlConfig, NVRAM_BYTES};
use aster_ports::host::{HostOp, HostStatus};
use aster_ports::medium::Nvram;
use aster_units::{Content, Rng};
use std::vec;

const MARK: u8 = 0xC7;

/// A drive written over at random with [`MARK`]s, so that they lie on mapped pages, on stale ones, and in
/// blocks that went bad.
fn written(faults: Faults) -> Bench {
    let config = FtlConfig { capacity: Capacity::OverProvisioning(60.0), ..config(Content::Full) };
    let bench = Bench::power_on(config, Cells::new(config.geometry, 2), Nvram::volatile(NVRAM_BYTES));
    bench.cells.borrow_mut().faults = faults;
    let mut rng = Rng::new(21);
    let pages = u64::from(bench.ftl.logical_pages());
    for _ in 0..3 * pages {
        let status = bench.run(HostOp::Write, rng.below(pages) * 8192, 8192, vec![MARK; 8192]).0;
        assert_eq!(status, HostStatus::Success);
    }
    bench
}
/// Pages of the media that hold what the host wrote.
fn marked(bench: &Bench) -> usize {
    let cells = bench.cells.borrow();
    let holds = |ppa| cells.content(ppa).is_some_and(|page| page.windows(16).any(|w| w == [MARK; 16]));
    cells.programmed().filter(|&ppa| holds(ppa)).count()
}
fn format(bench: &Bench, erase: bool) -> HostStatus {
    bench.run(HostOp::Format { erase }, 0, 0, vec![]).0
}

#[test]
fn a_format_that_erases_leaves_nothing_on_the_media_mapped_or_stale() {
    let bench = written(Faults::default());
    assert!(marked(&bench) > bench.ftl.logical_pages() as usize, "there are stale pages");
    assert_eq!(format(&bench, false), HostStatus::Success);
    assert!(marked(&bench) > 0, "unmapping erases nothing");
    assert_eq!(format(&bench, true), HostStatus::Success);
    assert_eq!(marked(&bench), 0);
    // Every erase wears its block, and the table knows.
    let cells = bench.cells.borrow();
    let erases: u64 = cells.erases.iter().map(|&n| u64::from(n)).sum();
    assert_eq!(bench.ftl.stats().flash_erases.total(), erases);
    let table = bench.block_table();
    assert_eq!(table.len(), cells.erases.len());
    for (block, &erases) in cells.erases.iter().enumerate() {
        assert_eq!(table[block].erases, erases, "block {block}");
    }
}

#[test]
fn it_waits_for_writes_in_work_and_they_are_gone_too() {
    let bench = written(Faults::default());
    for lpn in 0..6 {
        bench.send(HostOp::Write, lpn * 8192, 8192, lpn % 2 == 0, vec![MARK; 8192]);
    }
    let format = bench.send(HostOp::Format { erase: true }, 0, 0, false, vec![]);
    for _ in 0..7 {
        let (completion, _) = bench.wait();
        assert_eq!(completion.status, HostStatus::Success);
        if completion.id == format {
            assert_eq!(marked(&bench), 0);
        }
    }
}

#[test]
fn blocks_that_went_bad_are_erased_and_stay_bad() {
    let mut bench = written(Faults { program: 150, ..Faults::default() });
    let bad = bench.cells.borrow().grown_bad();
    assert!(bad > 3, "{bad} blocks went bad");
    bench.cells.borrow_mut().faults = Faults { erase: 20, ..Faults::default() };
    // Also those that were bad before the last power-on.
    assert_eq!(bench.shut_down(), HostStatus::Success);
    bench = bench.restart();
    assert!(marked(&bench) > 0);
    assert_eq!(format(&bench, true), HostStatus::Success);
    assert_eq!(marked(&bench), 0);
    assert!(bench.cells.borrow().grown_bad() > bad, "erases failed on the way");
    bench.cells.borrow_mut().faults = Faults::default();
    for _ in 0..2 {
        let mut host = CheckedHost::new(&bench);
        host.verify(&bench);
        host.work(&bench, 2_000, 4);
        host.verify(&bench);
        assert_eq!(bench.ftl.state(), DriveState::Ready);
        assert_eq!(format(&bench, true), HostStatus::Success);
        assert_eq!(bench.shut_down(), HostStatus::Success);
        bench = bench.restart();
    }
}

#[test]
fn data_that_can_be_read_after_its_erase_failed_fails_the_format() {
    let bench = written(Faults::default());
    bench.cells.borrow_mut().faults = Faults { erase: 30, erase_leaves_data: true, ..Faults::default() };
    assert_eq!(format(&bench, true), HostStatus::WriteFault);
    assert!(marked(&bench) > 0);
    // The host reads zeroes all the same, and the drive goes on.
    bench.cells.borrow_mut().faults = Faults::default();
    let mut host = CheckedHost::new(&bench);
    host.verify(&bench);
}
