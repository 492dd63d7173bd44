//! Drives whose planes are allocated one by one.

use super::bench::{Bench, Decisions, config};
use super::checked_host::CheckedHost;
use super::power::torture;
use crate::{Assigner, Capacity, FtlConfig, LineConfig, PLANE_ORDERS, PlaneOrder};
use aster_events::Event;
use aster_observe::TraceLog;
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Geometry, Lpn, LunIndex, RowAddr};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

/// Two of each: 16 planes of 18 blocks.
fn apart(content: Content) -> FtlConfig {
    let config = config(content);
    let geometry =
        Geometry { channels: 2, ways: 2, luns: 2, planes: 2, blocks_per_lun: 48, ..config.geometry };
    FtlConfig { geometry, capacity: Capacity::OverProvisioning(60.0), ..config }.allocating_planes()
}

fn ordered(name: &str) -> Decisions {
    let order = PlaneOrder::named(name).unwrap();
    Decisions { assigner: Assigner::Planes { order, planes: 2 }, ..Decisions::default() }
}

/// S21, S28: as the packages see it. Each page of the host is found where its order says, and there its row
/// was programmed.
#[test]
fn in_each_order_consecutive_pages_are_programmed_in_the_planes_that_it_names() {
    for name in PLANE_ORDERS {
        let bench = Bench::deciding(ordered(name), apart(Content::Fingerprint));
        bench.wait_booted();
        let log = Rc::new(RefCell::new(TraceLog::new(100_000)));
        bench.recorder.attach(log.clone());
        let bytes = u64::from(bench.config.geometry.page_bytes);
        for page in 0..64 {
            let data = vec![7; bytes as usize / 4096 * 8];
            assert_eq!(bench.run(HostOp::Write, page * bytes, bytes, data).0, HostStatus::Success);
        }
        assert_eq!(bench.run(HostOp::Flush, 0, 0, Vec::new()).0, HostStatus::Success);
        let array = bench.config.planes().lun_geometry();
        let programs: BTreeSet<_> = log
            .borrow()
            .events()
            .iter()
            .filter_map(|(_, event)| match *event {
                Event::FlashQueued { lun, kind: 1, row, .. } => Some((lun, row)),
                _ => None,
            })
            .collect();
        let told: BTreeSet<_> = log
            .borrow()
            .events()
            .iter()
            .filter_map(|(_, event)| match *event {
                Event::MapUpdated { lpn, ppa } => Some((lpn, ppa)),
                _ => None,
            })
            .collect();
        let letters: Vec<char> = name.chars().collect();
        for page in 0..64_u32 {
            let at = bench.ftl.location_of(Lpn(page)).expect("it was flushed");
            assert!(told.contains(&(page, at.0)), "{name}: events name page {page} elsewhere");
            let place = array.location(at);
            let lun = array.lun_index(place.lun);
            let row = array.row(place.lun.lun, place.block, place.page);
            assert!(programs.contains(&(lun.0, row.0)), "{name}: page {page} isn't at {at:?}");
            let bit = |letter| match letter {
                'c' => u32::from(place.lun.channel),
                'w' => place.lun.way.into(),
                'd' => place.lun.lun.into(),
                _ => array.plane(place.block).into(),
            };
            let found = (0..4).map(|n| bit(letters[n]) << n).sum::<u32>();
            assert_eq!(found, page % 16, "{name}: page {page}");
        }
    }
}

/// Every block of both planes is used, garbage collection stays within planes, and data are what they were,
/// over a shutdown and over losses of power.
#[test]
fn a_drive_that_allocates_planes_keeps_its_data() {
    for (name, content) in [("cwdp", Content::Full), ("pdwc", Content::Fingerprint), ("dpcw", Content::Full)]
    {
        let bench = Bench::deciding(ordered(name), apart(content));
        let log = Rc::new(RefCell::new(TraceLog::new(1_000_000)));
        bench.recorder.attach(log.clone());
        let mut host = CheckedHost::new(&bench);
        host.fill(&bench);
        host.work(&bench, 2_500, 11);
        host.verify(&bench);
        bench.rest();
        assert!(bench.ftl.stats().flash_programs.gc > 100, "{:?}", bench.ftl.stats());
        let array = bench.config.planes().lun_geometry();
        let mut erased = BTreeSet::new();
        let mut victims = BTreeSet::new();
        for (_, event) in log.borrow().events() {
            match *event {
                Event::FlashQueued { lun, kind: 2, row, .. } => {
                    let (_, block, _) = array.split_row(RowAddr(row));
                    erased.insert((lun, block.0));
                }
                Event::VictimChosen { lun, block, .. } => {
                    victims.insert((lun, block));
                }
                _ => {}
            }
        }
        let planes: BTreeSet<_> = erased.iter().map(|(lun, block)| (lun, block % 2)).collect();
        assert_eq!(planes.len() as u32, 2 * array.total_luns(), "both planes of each LUN");
        assert!(!victims.is_empty() && victims.is_subset(&erased), "events name victims as packages do");
        assert_eq!(bench.shut_down(), HostStatus::Success);
        let bench = bench.restart();
        host.verify(&bench);
        let bench = bench.restart();
        host.verify(&bench);
    }
}

#[test]
fn what_was_flushed_survives_losses_of_power_where_planes_are_allocated() {
    for (seed, content) in [(3, Content::Full), (4, Content::Fingerprint)] {
        torture(apart(content), seed, 12);
        torture(
            FtlConfig { lines: LineConfig { pages: 2, ..apart(content).lines }, ..apart(content) },
            seed,
            8,
        );
    }
}

/// A factory bad block takes its plane's block and no other one.
#[test]
fn bad_blocks_are_found_where_they_are() {
    let config = apart(Content::Full);
    let cells = super::flash::Cells::new(config.planes().lun_geometry(), 1);
    let array = config.planes().lun_geometry();
    let bad = |lun: u32, block: u32| (lun * array.blocks_per_lun + block) as usize;
    let luns = [(0, 3), (5, 8), (5, 10)];
    luns.iter().for_each(|&(lun, block)| cells.borrow_mut().factory_bad[bad(lun, block)] = true);
    let nvram = aster_ports::medium::Nvram::volatile(crate::NVRAM_BYTES);
    let bench = Bench::powered(ordered("pcwd"), config, cells, nvram);
    bench.wait_booted();
    let free = |lun, plane| {
        let unit =
            (0..16).map(LunIndex).find(|&unit| config.planes().lun_and_plane(unit) == (LunIndex(lun), plane));
        bench.ftl.free_blocks(unit.unwrap())
    };
    let all = free(7, 0);
    assert_eq!([free(0, 0), free(0, 1), free(5, 0), free(5, 1)], [all, all - 1, all - 2, all]);
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.work(&bench, 500, 3);
    host.verify(&bench);
}

/// More planes than a geometry has LUNs behind a chip enable.
#[test]
fn more_than_eight_planes_behind_a_chip_enable_are_refused() {
    let base = config(Content::Full);
    let with = |luns, planes| {
        let geometry = Geometry { luns, planes, blocks_per_lun: 80, ..base.geometry };
        FtlConfig { geometry, ..base }.allocating_planes().validate()
    };
    assert!(with(4, 4).unwrap_err().to_string().starts_with("placement must be one that leaves planes"));
    assert!(!matches!(with(4, 2), Err(crate::ConfigError::Range { key: "placement", .. })));
}
