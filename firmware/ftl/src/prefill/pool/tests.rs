use super::*;
use aster_units::Rng;
use std::collections::BTreeMap;

fn greedy(closed: &ClosedBlocks<'_>) -> BlockAddr {
    closed.oldest_of_fewest_valid()
}

/// LUNs of a pool, the pages that the host has left when copies go on, and units and pages that are
/// programmed together.
#[derive(Clone, Copy, Debug)]
struct Case {
    luns: u32,
    pages_left: u64,
    per_page: u32,
    at_once: u32,
}

const BLOCKS: u32 = 40;

/// The first block of each LUN is not for data.
fn pool(case: Case, blocks_per_lun: u32, units: u32) -> Pool {
    let shape = PoolShape {
        first_lun: LunIndex(0),
        blocks_per_lun,
        pages_per_block: 30,
        units_per_page: case.per_page,
        pages_at_once: case.at_once,
        pages_per_line: case.at_once,
        kept: 2,
        collects_at: 3,
        pages_left: case.pages_left,
        levelled: false,
    };
    let blocks = |lun: u32| (lun * blocks_per_lun + 1..(lun + 1) * blocks_per_lun).collect();
    let order: Vec<u32> = (0..case.luns).collect();
    Pool::new(shape, (0..case.luns).map(blocks).collect(), order.into(), units)
}

fn slots(pool: &Pool) -> impl Iterator<Item = (Slot, bool)> + '_ {
    let blocks = 0..pool.valid.len() as u32;
    let pages = blocks.flat_map(|block| (0..pool.pages_of(block)).map(move |page| (block, page)));
    pages.flat_map(|(block, page)| pool.slots_of(block, page)).filter(|(slot, _)| slot.unit != NONE)
}

/// The newest version of each unit: by the host's writes, then by copies.
fn newest(pool: &Pool) -> BTreeMap<u32, (u32, u8)> {
    let mut newest = BTreeMap::new();
    for (slot, _) in slots(pool) {
        let version = (slot.written, slot.copies);
        let known = newest.entry(slot.unit).or_insert(version);
        *known = version.max(*known);
    }
    newest
}

/// Whatever was written: each unit has one place, and its record is newer than all stale ones.
#[test]
fn each_unit_has_one_place_and_no_stale_slot_is_newer() {
    let programmed = [(1, 1), (1, 3), (4, 1), (4, 2)];
    for (luns, pages_left) in [(1, 0), (4, 0), (4, 75)] {
        for (per_page, at_once) in programmed {
            let case = Case { luns, pages_left, per_page, at_once };
            let units = 30 * (BLOCKS - 3 * luns - 5) * per_page;
            let mut pool = pool(case, BLOCKS / luns, units);
            let (mut rng, mut last, mut written) = (Rng::new(1), BTreeMap::new(), 0);
            let mut program = |pool: &mut Pool, page: &[u32]| {
                written += 1;
                pool.program(page, written, &mut greedy).unwrap();
                page.iter().filter(|&&unit| unit != NONE).for_each(|&unit| {
                    last.insert(unit, written);
                });
            };
            for first in (0..units).step_by(per_page as usize) {
                let page: Vec<u32> = (first..first + per_page).collect();
                program(&mut pool, &page);
            }
            let mut most_in_work = 0;
            for _ in 0..20_000 / at_once {
                for _ in 0..at_once {
                    let mut page = vec![NONE; per_page as usize];
                    for slot in 0..per_page as usize {
                        let unit = rng.below(units.into()) as u32;
                        if !page.contains(&unit) && rng.below(4) > 0 {
                            page[slot] = unit;
                        }
                    }
                    program(&mut pool, &page);
                }
                most_in_work = most_in_work.max(pool.in_work.len());
            }
            assert_eq!(most_in_work > 1, luns > 1, "{case:?}");
            pool.come_to_rest(3, &mut greedy).unwrap();
            assert!(pool.free.count() > 3 && pool.in_work.is_empty(), "{case:?}");
            let free: Vec<_> = (0..luns as usize).map(|lun| pool.free_in(lun).count()).collect();
            assert_eq!(free.iter().sum::<usize>(), pool.free.count());
            let valid: u32 = pool.valid.iter().sum();
            assert_eq!(valid, units, "{case:?}");
            assert!(pool.copied_units > pool.host_units / 2, "{case:?}");
            let newest = newest(&pool);
            assert_eq!(newest.len(), units as usize);
            let mut current = 0;
            for (slot, _) in slots(&pool).filter(|(_, current)| *current) {
                current += 1;
                assert_eq!(newest[&slot.unit], (slot.written, slot.copies));
                assert_eq!(last[&slot.unit], slot.written, "{case:?}");
            }
            assert_eq!(current, units);
            pool.complete_lines(7);
            for (_, open) in (0..luns as usize).flat_map(|lun| pool.open_in(lun)) {
                assert!(open.next.is_multiple_of(7));
            }
        }
    }
}

/// As many pages as fit lie over all LUNs, and copies in blocks of most of them.
#[test]
fn all_luns_of_a_pool_take_turns() {
    let case = Case { luns: 8, pages_left: 0, per_page: 1, at_once: 1 };
    let mut pool = pool(case, 20, 30 * 100);
    for unit in 0..30 * 100 {
        pool.program(&[unit], unit, &mut greedy).unwrap();
        let lun = pool.slots.place_of(unit).unwrap() / (20 * 30);
        assert_eq!(lun, unit % 8, "the host's pages go round");
    }
    let (mut rng, mut copying) = (Rng::new(1), 0);
    for written in 30 * 100..60_000 {
        pool.program(&[rng.below(30 * 100) as u32], written, &mut greedy).unwrap();
        let free: Vec<_> = (0..8).map(|lun| pool.free_in(lun).count()).collect();
        let (least, most) = (free.iter().min().unwrap(), free.iter().max().unwrap());
        assert!(most - least <= 3, "{free:?}");
        copying = copying.max(pool.open.count(Filler::Gc));
    }
    assert_eq!(copying, 5);
}

#[test]
fn a_pool_without_spare_blocks_says_so() {
    for luns in [1, 2] {
        let case = Case { luns, pages_left: 0, per_page: 1, at_once: 1 };
        let units = 30 * 9 * luns;
        let mut pool = pool(case, 10, units);
        let fill = (0..units).try_for_each(|unit| pool.program(&[unit], unit, &mut greedy));
        assert_eq!(fill, Err(NoRoom));
    }
}
