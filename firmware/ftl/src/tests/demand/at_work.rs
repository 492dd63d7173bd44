use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use crate::mapping::Mapping;
use crate::{DriveState, FtlConfig, LineConfig};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Lpn, Upa};
use std::vec;

/// Random work on a drive that has rows for a sixth of its units.
#[test]
fn a_drive_with_few_rows_goes_on_under_random_work_and_leaves_no_pin() {
    for pages_per_word_line in [1, 2] {
        for whole_lines in [false, pages_per_word_line > 1] {
            for content in [Content::Full, Content::Fingerprint] {
                let config = FtlConfig {
                    lines: LineConfig { pages: pages_per_word_line, whole: whole_lines },
                    ..config(content)
                };
                let sizes = config.map_sizes().unwrap();
                assert!(u64::from(sizes.host_rows) < config.logical_pages() / 5, "{sizes:?}");
                assert_eq!(config.validate(), Ok(()));
                let bench = Bench::fresh(config);
                let mut host = CheckedHost::new(&bench);
                host.fill(&bench);
                host.work(&bench, 3_000, 11);
                host.verify(&bench);
                bench.rest();
                let (stats, names) =
                    (bench.ftl.stats(), ["map_misses", "map_page_programs", "map_room_waits"]);
                let [misses, programs, waits] = names.map(|name| bench.counter(name));
                assert!(misses > 100 && programs > 100 && waits > 0, "{misses} {programs} {waits}");
                assert!(stats.flash_programs.gc > 100, "garbage was collected: {stats:?}");
                assert_eq!((bench.map().pinned(), bench.ftl.state()), (0, DriveState::Ready));
                assert!(bench.counter("map_changes_held") <= sizes.rows.into());
            }
        }
    }
}

/// A shutdown stores changes with the map: no translation page has to be programmed for it, and none at the
/// next power-on.
#[test]
fn a_shutdown_keeps_the_changes_that_are_in_no_translation_page() {
    let bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.work(&bench, 500, 5);
    bench.rest();
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let held = bench.counter("map_changes_held");
    assert!(held > 0, "some are in memory alone");
    let bench = bench.restart();
    host.verify(&bench);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().flash_programs.total()), (crate::Boot::Clean, 0));
    assert!(bench.counter("map_changes_held") <= held);
}

/// Not two: whether the page was unmapped, which is counted, follows from what the entry was filled from.
#[test]
fn a_read_looks_its_page_up_once() {
    let bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.finish(&bench);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    bench.rest();
    let (pages, bytes) = (u64::from(bench.ftl.logical_pages()), u64::from(bench.config.geometry.page_bytes));
    let look_ups = || bench.counter("map_hits") + bench.counter("map_misses");
    let (before, missed) = (look_ups(), bench.ftl.stats().buffer_misses);
    // Each from another translation page than the one before.
    for page in (0..pages).map(|n| n * 67 % pages).take(200) {
        let status = bench.run(HostOp::Read, page * bytes, bytes, vec![0; bytes as usize]).0;
        assert_eq!(status, HostStatus::Success);
    }
    let missed = bench.ftl.stats().buffer_misses - missed;
    assert!(missed > 150, "{missed} reads went to flash");
    assert_eq!(look_ups() - before, 200);
    assert_eq!(bench.ftl.stats().host_pages_unmapped, 0);
}

/// The checksum of a stored map is known only once all of it has been taken in.
#[test]
fn a_stored_map_with_places_beyond_the_drive_says_nothing_and_breaks_nothing() {
    let bench = Bench::fresh(config(Content::Full));
    let (map, rows_at) = (bench.map(), bench.config.stored_map().rows_at());
    let pair = |unit: u32, at: u32| [unit + 1, !at].map(u32::to_le_bytes).concat();
    let load = |first, from: &[u8]| drop(map.load(Lpn(first), from));
    load(0, &[7; 64]);
    load(rows_at, &[pair(3, 1 << 30), pair(4, u32::MAX - 1), pair(5, 6)].concat());
    let (places, rows) = map.state();
    assert!(places.iter().all(|at| !at.is_some()), "{places:?}");
    assert_eq!(rows.into_iter().collect::<vec::Vec<_>>(), [(Lpn(5), Upa(6))]);
}
