//! Media that no drive of ours would have written: damaged, or crafted.

use super::bench::{Bench, config, part};
use super::recovery::roomy;
use crate::durability::outbox::PendingEntries;
use crate::journal::log_page::Header;
use crate::journal::map_stripes;
use crate::journal::root::{Root, Stored};
use crate::space::wear::ERASES_MAX;
use crate::terms::block::BlockState;
use crate::terms::oob::{COUNT_MAX, COUNT_SPENT};
use crate::{Boot, BootError, Capacity, DriveState, FtlConfig, OobRecord, PageKind};
use aster_codec::checksum::crc32c_of;
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Lpn, Ppa, Rng};
use std::vec;
use std::vec::Vec;

/// The stored map and block table of a drive that was shut down: 8 bytes a block, then, on pages of their
/// own, 4 a logical page.
struct StoredMap {
    map: Vec<u8>,
    table: Vec<u8>,
}

impl StoredMap {
    const OPEN: u8 = 1;
    const CLOSED: u8 = 2;

    fn set_mapping(&mut self, lpn: u32, ppa: u32) {
        self.map[4 * lpn as usize..][..4].copy_from_slice(&(!ppa).to_le_bytes());
    }
    fn mapping(&self, lpn: u32) -> u32 {
        !u32::from_le_bytes(self.map[4 * lpn as usize..][..4].try_into().unwrap())
    }
    fn entry(&mut self, block: usize) -> &mut [u8] {
        &mut self.table[8 * block..8 * (block + 1)]
    }
    fn find(&self, is: impl Fn(&[u8]) -> bool) -> usize {
        self.table.chunks_exact(8).position(is).expect("there is such a block")
    }
    fn next(entry: &[u8]) -> u32 {
        u32::from(u16::from_le_bytes([entry[2], entry[3]]))
    }
}

/// Shuts a drive down that has written some pages, changes what it stored, with a checksum that fits, and
/// gives it power.
fn boot_with(change: impl FnOnce(&mut StoredMap)) -> Bench {
    let config = FtlConfig { capacity: Capacity::OverProvisioning(60.0), ..config(Content::Full) };
    let bench = Bench::fresh(config);
    for lpn in 0..50 {
        assert_eq!(bench.run(HostOp::Write, lpn * 8192, 8192, vec![lpn as u8; 8192]).0, HostStatus::Success);
    }
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let Stored::Root(mut root) = Root::load(&part(&bench.nvram)) else { panic!("no root record") };
    let count = root.stored.blocks.len() as u32;
    let at = |page: u32| Ppa(root.stored.blocks[(page % count) as usize].0 * 4 + page / count);
    {
        let mut cells = bench.cells.borrow_mut();
        let pages: Vec<_> = (0..root.stored.pages).map(|page| cells.content(at(page)).unwrap()).collect();
        // One page of each; before the table's entries stands which pages of the map are there.
        let mut stored = StoredMap { map: pages[1].clone(), table: pages[0][8..].to_vec() };
        assert_eq!((pages.len(), pages[0][0]), (2, 1));
        change(&mut stored);
        stored.table = [&pages[0][..8], &stored.table].concat();
        root.stored.checksum = 0;
        for (page, content) in [&stored.table, &stored.map].into_iter().enumerate() {
            cells.set_content(at(page as u32), content);
            root.stored.checksum = crc32c_of([&root.stored.checksum.to_le_bytes()[..], content]);
        }
    }
    root.store(&part(&bench.nvram));
    bench.nvram.save();
    let bench = bench.restart();
    bench.rest();
    bench
}

fn refused(change: impl FnOnce(&mut StoredMap)) -> &'static str {
    let bench = boot_with(change);
    assert_eq!(bench.ftl.state(), DriveState::Failed);
    assert_eq!(bench.run(HostOp::Read, 0, 512, vec![0; 512]).0, HostStatus::UnrecoveredRead);
    match bench.ftl.boot_error() {
        Some(BootError::MapInvalid { why }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stored_map_that_is_what_was_stored_is_taken() {
    let bench = boot_with(|_| {});
    assert_eq!((bench.ftl.boot_error(), bench.ftl.state()), (None, DriveState::Ready));
    assert_eq!(bench.run(HostOp::Read, 49 * 8192, 8192, vec![0; 8192]).1, vec![49; 8192]);
}

#[test]
fn a_page_mapped_to_where_an_open_block_is_not_written_yet_is_refused() {
    for beyond in [0, 1] {
        let why = refused(|stored| {
            let block = stored.find(|entry| {
                entry[0] == StoredMap::OPEN && StoredMap::next(entry) > 0 && StoredMap::next(entry) < 3
            });
            let next = StoredMap::next(stored.entry(block));
            stored.set_mapping(60, 4 * block as u32 + next + beyond);
        });
        assert_eq!(why, "a logical page lies where nothing is programmed");
    }
}

#[test]
fn each_other_contradiction_of_a_stored_map_is_refused_by_name() {
    type Change = fn(&mut StoredMap);
    let cases: [(&str, Change); 8] = [
        ("a logical page lies where nothing is programmed", |s| {
            let free = s.find(|entry| entry[0] == 0);
            s.set_mapping(60, 4 * free as u32);
        }),
        ("a logical page lies beyond the drive", |s| s.set_mapping(60, 4 * 72 * 4)),
        ("two logical pages lie in the same place", |s| s.set_mapping(60, s.mapping(3))),
        ("a block was erased more often than any can be", |s| {
            s.entry(7)[4..].copy_from_slice(&(ERASES_MAX + 1).to_le_bytes());
        }),
        ("a block was erased more often than any can be", |s| s.entry(9)[4..].fill(0xFF)),
        ("a block is in no state that there is", |s| s.entry(5)[0] = 9),
        ("a full block is open", |s| {
            let open = s.find(|entry| entry[0] == StoredMap::OPEN);
            s.entry(open)[2] = 4;
        }),
        ("two blocks of a LUN are open for the same", |s| {
            let open = s.find(|entry| entry[0] == StoredMap::OPEN);
            let closed = s.find(|entry| entry[0] == StoredMap::CLOSED);
            assert_eq!(open / 72, closed / 72);
            let entry = s.entry(open).to_vec();
            s.entry(closed).copy_from_slice(&entry);
        }),
    ];
    for (why, change) in cases {
        assert_eq!(refused(change), why);
    }
}

#[test]
fn the_highest_count_of_erases_still_counts_on() {
    let bench = boot_with(|s| {
        for block in 0..4 * 72 {
            s.entry(block)[4..].copy_from_slice(&ERASES_MAX.to_le_bytes());
        }
    });
    assert_eq!(bench.run(HostOp::Format { erase: true }, 0, 0, vec![]).0, HostStatus::Success);
    let table = bench.block_table();
    let worn = table.iter().filter(|e| e.state == BlockState::Free && e.erases == ERASES_MAX + 1).count();
    assert!(worn > 10, "{worn} blocks were erased");
}

/// A page that names another owner than the map does: its content belongs to nobody. Neither the page that
/// the map says nor the one that it names itself may ever be read as that content, wherever garbage
/// collection takes it.
#[test]
fn garbage_collection_does_not_pass_off_a_page_that_names_another_owner() {
    // It names a page that is mapped elsewhere, one that is not mapped, one beyond the drive, and a page of
    // the stored map.
    let named = |bench: &Bench| {
        let beyond = bench.ftl.logical_pages() + 5;
        [(PageKind::Data, 9), (PageKind::Data, beyond - 6), (PageKind::Data, beyond), (PageKind::Map, 0)]
    };
    for case in 0..4 {
        let bench = Bench::fresh(config(Content::Full));
        let pages = u64::from(bench.ftl.logical_pages());
        let write = |lpn: u64| {
            assert_eq!(
                bench.run(HostOp::Write, lpn * 8192, 8192, vec![lpn as u8; 8192]).0,
                HostStatus::Success
            );
        };
        let (victim, (kind, owner)) = (4, named(&bench)[case]);
        // The last page stays unmapped.
        (0..pages - 1).for_each(write);
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let from = bench.ftl.location_of(Lpn(victim)).unwrap();
        let record = OobRecord { kind, lpn: owner, sequence: 1 << 40, lost_sectors: 0, copy: 0 };
        bench.cells.borrow_mut().set_record(from, &record);
        let mut rng = Rng::new(case as u64);
        for _ in 0..20 * pages {
            let lpn = rng.below(pages - 1);
            if ![u64::from(victim), 9].contains(&lpn) {
                write(lpn);
            }
            if bench.ftl.location_of(Lpn(victim)) != Some(from) {
                break;
            }
        }
        assert_ne!(
            bench.ftl.location_of(Lpn(victim)),
            Some(from),
            "garbage collection did not take the page"
        );
        let read = |lpn: u64| bench.run(HostOp::Read, lpn * 8192, 8192, vec![0; 8192]);
        assert_eq!(read(victim.into()).0, HostStatus::UnrecoveredRead, "case {case}");
        assert_eq!(read(9), (HostStatus::Success, vec![9; 8192]), "case {case}");
        assert_eq!(read(pages - 1), (HostStatus::Success, vec![0; 8192]), "case {case}");
        // Written again, it is whole.
        write(victim.into());
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        assert_eq!(read(victim.into()), (HostStatus::Success, vec![victim as u8; 8192]));
        assert_eq!(bench.ftl.state(), DriveState::Ready, "case {case}");
    }
}

#[test]
fn a_root_that_puts_the_log_beyond_its_slot_is_none_that_the_drive_stumbles_over() {
    for line in [5, u32::MAX] {
        let bench = Bench::fresh(config(Content::Full));
        bench.rest();
        assert_eq!(bench.shut_down(), HostStatus::Success);
        let Stored::Root(mut root) = Root::load(&part(&bench.nvram)) else { panic!("no root record") };
        root.log.at = Some((0, line));
        root.store(&part(&bench.nvram));
        bench.nvram.save();
        let bench = bench.restart();
        bench.rest();
        assert_eq!(bench.run(HostOp::Write, 0, 8192, vec![1; 8192]).0, HostStatus::Success);
        bench.flush();
        assert_eq!(bench.run(HostOp::Read, 0, 8192, vec![0; 8192]).1, vec![1; 8192]);
    }
}

/// Changes the header of the last page of the log, in each of its copies, and gives the drive power again.
fn with_last_log_page(change: impl Fn(&mut Header)) -> Bench {
    let bench = Bench::fresh(roomy(1));
    (0..20).for_each(|lpn| bench.write(lpn, 5));
    bench.flush();
    bench.write_log_page();
    let (Ppa(at), copies) = (bench.last_log_page(), bench.config.lines.log_copies());
    let mut cells = bench.cells.borrow_mut();
    let mut page = cells.content(Ppa(at)).unwrap();
    let (mut header, entries) = Header::decode(&page).expect("a log page");
    change(&mut header);
    let geometry = bench.config.geometry;
    let mut pending = PendingEntries::new(geometry.blocks_per_lun * u32::from(geometry.pages_per_block));
    entries.iter().for_each(|&entry| pending.push(entry));
    header.encode(&pending, entries.len(), &mut page);
    let record = OobRecord { kind: PageKind::Log, lpn: 0, sequence: header.number, lost_sectors: 0, copy: 0 };
    for copy in (at..at + copies).map(Ppa) {
        cells.set_content(copy, &page);
        cells.set_record(copy, &record);
    }
    drop(cells);
    let bench = bench.restart();
    bench.rest();
    bench
}

#[test]
fn a_log_page_with_a_number_that_leaves_no_room_is_no_log_page() {
    type Change = fn(&mut Header);
    let changes: [Change; 7] = [
        |header| header.sequence = u64::MAX,
        |header| header.sequence = (1 << 48) - 1,
        |header| header.sequence = COUNT_MAX + 1,
        |header| header.number = (1 << 44) - 1,
        |header| header.commit = u64::MAX,
        |header| header.replay_from = u64::MAX,
        |header| {
            let stored = crate::journal::log_page::StoredMap { generation: u64::MAX, ..Default::default() };
            (header.stored, header.commit) = (Some(stored), header.number);
        },
    ];
    for (case, change) in changes.into_iter().enumerate() {
        let bench = with_last_log_page(change);
        assert_eq!(bench.ftl.state(), DriveState::Ready, "case {case}");
        assert!(bench.last_sequence() < 1 << 40, "case {case}");
        assert!((0..20).all(|lpn| bench.holds(lpn)[0] == 5), "case {case}");
        (0..20).for_each(|lpn| bench.write(lpn, 6));
        bench.flush();
        bench.store_map();
        assert!((0..20).all(|lpn| bench.holds(lpn)[0] == 6), "case {case}");
    }
}

/// The highest numbers that are taken: what came after them would be taken for damage at the power-on after.
#[test]
fn a_drive_whose_numbers_have_been_given_out_takes_no_more_writes_and_keeps_what_it_has() {
    let by_log = || with_last_log_page(|header| header.sequence = COUNT_MAX);
    let by_root = |change: fn(&mut Root)| {
        let bench = Bench::fresh(roomy(1));
        (0..20).for_each(|lpn| bench.write(lpn, 5));
        assert_eq!(bench.shut_down(), HostStatus::Success);
        let Stored::Root(mut root) = Root::load(&part(&bench.nvram)) else { panic!("no root record") };
        change(&mut root);
        root.store(&part(&bench.nvram));
        bench.nvram.save();
        let bench = bench.restart();
        bench.rest();
        bench
    };
    let by_sequence = by_root(|root| root.sequence = COUNT_MAX);
    let by_number = by_root(|root| root.log.number = COUNT_MAX);
    let last = by_root(|root| root.sequence = COUNT_SPENT);
    assert_eq!(last.ftl.state(), DriveState::Ready);
    for (case, mut bench) in [by_log(), by_sequence, by_number].into_iter().enumerate() {
        for round in 0..3 {
            assert_eq!(bench.ftl.state(), DriveState::ReadOnly, "case {case}");
            assert!((0..20).all(|lpn| bench.holds(lpn)[0] == 5), "case {case}");
            let written = bench.run(HostOp::Write, 0, 8192, vec![6; 8192]).0;
            assert_eq!(written, HostStatus::ReadOnly, "case {case}");
            if round == 1 {
                assert_eq!(bench.shut_down(), HostStatus::Success, "case {case}");
            }
            bench = bench.restart();
            bench.rest();
        }
    }
}

#[test]
fn a_page_whose_number_leaves_no_room_is_torn() {
    for sequence in [COUNT_MAX + 1, (1 << 44) - 1] {
        let bench = Bench::fresh(roomy(1));
        bench.rest();
        bench.write(0, 5);
        bench.flush();
        let at = bench.ftl.location_of(Lpn(0)).unwrap();
        let record = OobRecord { kind: PageKind::Data, lpn: 0, sequence, lost_sectors: 0, copy: 0 };
        bench.cells.borrow_mut().set_record(at, &record);
        let bench = bench.restart();
        bench.rest();
        assert_eq!(bench.ftl.state(), DriveState::Ready);
        assert!(bench.last_sequence() < 1 << 40);
        (0..20).for_each(|lpn| bench.write(lpn, 6));
        bench.flush();
        assert!((0..20).all(|lpn| bench.holds(lpn)[0] == 6));
    }
}

/// Makes the stored map another generation's, in its pages' records and in the root record, and gives the
/// drive power again.
fn with_generation(of_pages: impl Fn(u64, usize) -> u64, of_root: impl Fn(u64) -> u64) -> Bench {
    let bench = Bench::fresh(config(Content::Full));
    (0..20).for_each(|lpn| bench.write(lpn, 5));
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let Stored::Root(mut root) = Root::load(&part(&bench.nvram)) else { panic!("no root record") };
    let generation = root.stored.generation;
    let places = map_stripes::places(root.stored.pages) + map_stripes::groups(root.stored.pages);
    for place in 0..places {
        let at = bench.map_page(place);
        let mut cells = bench.cells.borrow_mut();
        let record = cells.record(at).expect("a page of the map");
        assert_eq!((record.kind, record.sequence), (PageKind::Map, generation));
        cells.set_record(at, &OobRecord { sequence: of_pages(generation, place as usize), ..record });
    }
    root.stored.generation = of_root(generation);
    root.store(&part(&bench.nvram));
    bench.nvram.save();
    let bench = bench.restart();
    bench.rest();
    assert!((0..20).all(|lpn| bench.holds(lpn)[0] == 5));
    bench
}

/// What an earlier map has left in a block, or a later one has put there, is none of this one's pages.
#[test]
fn a_page_of_another_generation_is_not_taken_for_one_of_the_stored_map() {
    let others: [fn(u64) -> u64; 2] = [|generation| generation - 1, |generation| generation + 1];
    for other in others {
        let of_pages = |generation, place| if place == 1 { other(generation) } else { generation };
        let bench = with_generation(of_pages, |generation| generation);
        assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Clean, 1));
        let all = with_generation(|generation, _| other(generation), |generation| generation);
        assert_eq!(all.ftl.stats().boot, Boot::Rebuilt, "the log names another map as well");
    }
}

/// The next map is of a greater generation than any that was met, however the drive came up.
#[test]
fn generations_go_on_where_they_were() {
    let next = |bench: &Bench| {
        let before = bench.generation();
        bench.write(3, 6);
        bench.flush();
        bench.store_map();
        assert_eq!(bench.stored_map().generation, before + 1);
        before
    };
    let bench = with_generation(|_, _| 700, |_| 700);
    assert_eq!((bench.ftl.stats().boot, next(&bench)), (Boot::Clean, 700));
    let mut bench = bench.restart();
    bench.rest();
    assert_eq!((bench.ftl.stats().boot, next(&bench)), (Boot::Recovered, 701));
    // Without a log, from the pages themselves.
    {
        let mut cells = bench.cells.borrow_mut();
        for page in bench.log_slots().into_iter().flat_map(|block| block.0 * 4..block.0 * 4 + 4) {
            cells.uncorrectable.insert(page, u16::MAX);
        }
    }
    bench = bench.restart();
    while bench.ftl.stats().boot == Boot::None {
        bench.exec.advance_to(bench.exec.next_deadline().expect("the drive comes up"));
    }
    assert_eq!(bench.ftl.stats().boot, Boot::Rebuilt);
    // It has stored its map at once.
    assert_eq!(bench.stored_map().generation, 703);
    bench.rest();
}

#[test]
fn a_generation_that_leaves_no_room_ends_writing_and_one_beyond_is_no_map() {
    for (generation, state) in [(COUNT_SPENT, DriveState::Ready), (COUNT_SPENT + 1, DriveState::ReadOnly)] {
        let bench = with_generation(|_, _| generation, |_| generation);
        assert_eq!((bench.ftl.stats().boot, bench.ftl.state()), (Boot::Clean, state));
    }
    let bench = with_generation(|_, _| COUNT_MAX + 1, |_| COUNT_MAX + 1);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.state()), (Boot::Rebuilt, DriveState::Ready));
}
