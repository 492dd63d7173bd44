use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use crate::mapping::Mapping;
use crate::terms::units::Frame;
use crate::{DriveState, FtlConfig, LineConfig};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Lpn};
use std::vec;

/// Random work on a drive whose cache of map pages is the least there may be.
fn worked(config: FtlConfig) -> Bench {
    let bench = Bench::fresh(config);
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.work(&bench, 3_000, 11);
    host.verify(&bench);
    bench.rest();
    bench
}

#[test]
fn a_drive_with_the_least_cache_of_map_pages_goes_on_under_random_work_and_leaves_no_pin() {
    for pages_per_word_line in [1, 2] {
        for whole_lines in [false, pages_per_word_line > 1] {
            let config = FtlConfig {
                lines: LineConfig { pages: pages_per_word_line, whole: whole_lines },
                ..config(Content::Full)
            };
            let bench = worked(config);
            let map = bench.map();
            let (counts, stats) = (map.counts(), bench.ftl.stats());
            assert!(map.frames() < map.stored_pages() / 2, "{} of {}", map.frames(), map.stored_pages());
            assert!(counts.misses > 1000 && counts.written_back > 300 && counts.joined > 0, "{counts:?}");
            assert!(stats.flash_programs.gc > 100, "garbage was collected: {stats:?}");
            assert!(counts.pinned_at_once > 2 && counts.pinned_at_once <= map.frames(), "{counts:?}");
            assert_eq!((map.pinned(), bench.ftl.state()), (0, DriveState::Ready));
        }
    }
}

/// A page whose entry is at hand is read as before. The others fail: their data are on flash, but nobody can
/// say where.
#[test]
fn what_is_lost_of_the_map_fails_the_commands_that_need_it_and_passes_for_nothing_else() {
    let bench = worked(config(Content::Full));
    let page = u64::from(bench.config.geometry.page_bytes);
    let read = |lpn: u32| bench.run(HostOp::Read, u64::from(lpn) * page, page, vec![0xEE; page as usize]);
    let is_buffered = |lpn: Lpn| bench.buffer_of(Frame(lpn.0)).is_some();
    let is_at_hand = |lpn| bench.map().try_pin(lpn).is_some();
    let pages = || (0..bench.ftl.logical_pages()).map(Lpn);
    let at_hand = pages().find(|&lpn| is_at_hand(lpn) && !is_buffered(lpn)).expect("a cached entry");
    let lost: vec::Vec<_> = pages().filter(|&lpn| !is_at_hand(lpn) && !is_buffered(lpn)).collect();
    bench.map().fail_reads();
    assert_eq!(read(at_hand.0).0, HostStatus::Success);
    for &lpn in &lost {
        assert_eq!(read(lpn.0).0, HostStatus::UnrecoveredRead, "{lpn:?}");
    }
    assert!(lost.len() > 100, "{}", lost.len());
    assert_eq!(bench.map().pinned(), 0);
}
