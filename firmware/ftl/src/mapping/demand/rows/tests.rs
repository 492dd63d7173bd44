use super::*;
use aster_units::Rng;
use std::collections::BTreeMap;

const PAGES: u32 = 9;
const ENTRIES: u32 = 16;
const ROWS: u32 = 60;
const PINS_TAKEN: u32 = 90;

fn layout() -> RowLayout {
    RowLayout::new(ENTRIES, 1 << 21)
}
fn rows() -> Rows {
    Rows::new(layout(), PAGES, ENTRIES, ROWS, PINS_TAKEN)
}

/// What a row should be.
#[derive(Clone, Copy, Default)]
struct Is {
    place: u32,
    pins: u32,
    dirty: bool,
    logged: bool,
    flushing: bool,
}

/// Random operations, each done to the rows and to a table that anyone can check.
#[test]
fn a_million_random_operations_do_what_they_do_to_a_simple_table() {
    let rows = |bits| Rows::new(layout().with_link_bits(bits), PAGES, ENTRIES, ROWS, PINS_TAKEN);
    // Of 64 links, 55 can number rows.
    assert_eq!([6, 7, 32].map(|bits| rows(bits).is_far), [true, false, false]);
    for (bits, steps) in [(6, 300_000), (7, 300_000), (32, 400_000)] {
        operate(rows(bits), steps);
    }
}
fn operate(mut rows: Rows, steps: u32) {
    let mut rng = Rng::new(7);
    let mut is: BTreeMap<u32, Is> = BTreeMap::new();
    let memory = |rows: &Rows| [rows.rows.capacity(), rows.far.capacity(), rows.many.capacity()];
    let (taken, is_far) = (memory(&rows), rows.is_far);
    let mut most_pins = 0;
    for step in 0..steps {
        let unit = rng.below(u64::from(PAGES * ENTRIES)) as u32;
        let page = unit / ENTRIES;
        match rng.below(9) {
            0..3 => {
                let room = is.len() < ROWS as usize;
                let may = is.values().map(|is| is.pins).sum::<u32>() < PINS_TAKEN;
                match rows.find(Lpn(unit)) {
                    Some(row) => {
                        assert_eq!(rows.place(row), Upa(is[&unit].place));
                        if may {
                            rows.pin(row);
                            let pins = &mut is.get_mut(&unit).unwrap().pins;
                            *pins += 1;
                            most_pins = most_pins.max(*pins);
                        }
                    }
                    None if room && may => {
                        rows.insert_pinned(Lpn(unit), Upa(step));
                        is.insert(unit, Is { place: step, pins: 1, ..Is::default() });
                    }
                    None => assert!(!is.contains_key(&unit)),
                }
            }
            3 => {
                if let Some(of) = is.get_mut(&unit).filter(|is| is.pins > 0) {
                    let row = rows.find(Lpn(unit)).unwrap();
                    assert_eq!(rows.set(Lpn(unit), row, Upa(step)), (Upa(of.place), !of.dirty));
                    *of = Is { place: step, pins: of.pins, dirty: true, ..Is::default() };
                }
            }
            4 | 5 => {
                if let Some(of) = is.get_mut(&unit).filter(|is| is.pins > 0) {
                    rows.unpin(Lpn(unit), rows.find(Lpn(unit)).unwrap());
                    of.pins -= 1;
                    if of.pins == 0 && !of.dirty {
                        is.remove(&unit);
                    }
                }
            }
            6 => {
                if let Some(of) = is.get_mut(&unit) {
                    let right = rng.below(4) > 0;
                    rows.logged(Lpn(unit), Upa(of.place + u32::from(!right)));
                    of.logged |= right && of.dirty;
                }
            }
            7 => {
                let mut changes = Vec::new();
                rows.begin_flush(page, |entry, place| changes.push((page * ENTRIES + entry, place.0)));
                changes.sort_unstable();
                let of_page = is.range_mut(page * ENTRIES..(page + 1) * ENTRIES);
                let flushed = of_page.filter(|(_, is)| is.logged).map(|(&unit, is)| {
                    is.flushing = true;
                    (unit, is.place)
                });
                assert!(flushed.eq(changes));
            }
            _ => {
                let written = rng.below(2) == 0;
                let cleaned = rows.end_flush(page, written);
                let mut expected = 0;
                for (_, is) in is.range_mut(page * ENTRIES..(page + 1) * ENTRIES) {
                    if is.flushing && written {
                        (is.dirty, is.logged) = (false, false);
                        expected += 1;
                    }
                    is.flushing = false;
                }
                assert_eq!(cleaned, expected);
                is.retain(|_, is| is.dirty || is.pins > 0);
            }
        }
        if step % 64 == 0 {
            let dirty = is.values().filter(|is| is.dirty).count() as u32;
            assert_eq!((rows.dirty(), rows.used()), (dirty, is.len() as u32));
            let pinned = is.values().filter(|is| is.pins > 0).count() as u32;
            let many = is.values().filter(|is| is.pins > 2).count();
            assert_eq!((rows.pinned(), rows.many.len()), (pinned, many));
            for page in 0..PAGES {
                let of_page = is.range(page * ENTRIES..(page + 1) * ENTRIES);
                let ready = of_page.filter(|(_, is)| is.logged && !is.flushing).count();
                assert_eq!(rows.flushable(page), ready as u32);
            }
            let stored = (0..rows.slots()).filter_map(|slot| rows.in_slot(slot));
            let stored: BTreeMap<u32, u32> = stored.map(|(unit, at)| (unit.0, at.0)).collect();
            assert!(is.iter().filter(|(_, is)| is.dirty).all(|(unit, is)| stored[unit] == is.place));
            assert_eq!(stored.len() as u32, dirty);
        }
    }
    assert_eq!(memory(&rows), taken, "nothing is allocated after new");
    assert!(rows.is_far == is_far && most_pins > 5, "{most_pins}");
}

#[test]
#[should_panic(expected = "no more is pinned than tasks can pin")]
fn more_pins_than_were_asked_for_are_found_out() {
    let mut rows = Rows::new(layout(), PAGES, ENTRIES, ROWS, 3);
    for unit in 0..3 {
        let row = rows.insert_pinned(Lpn(unit), Upa(0));
        (0..2).for_each(|_| rows.pin(row));
    }
}

/// More rows than links in them can number, as a log with a long trim makes them at power-on.
#[test]
fn rows_that_boot_finds_beyond_their_links_are_there_and_fit_again_once_most_are_known() {
    let place = |unit| Upa(1000 + unit);
    // Room for as many as can be numbered: 55 and the ends of nine chains.
    let mut rows = Rows::new(layout().with_link_bits(6), PAGES, ENTRIES, 55, PINS_TAKEN);
    let all = PAGES * ENTRIES;
    // Some are free when the links move.
    (0..20).for_each(|unit| rows.restore(Lpn(unit), place(unit), true));
    rows.drop_known(0, place);
    for (count, unit) in (0..all).rev().enumerate() {
        assert_eq!(rows.is_far, count > 51, "{count}");
        rows.restore(Lpn(unit), place(unit), unit % 2 == 0);
    }
    let stored =
        |rows: &Rows| (0..rows.slots()).filter_map(|slot| rows.in_slot(slot)).collect::<BTreeMap<_, _>>();
    let those =
        |of: fn(u32) -> bool| (0..all).filter(move |&unit| of(unit)).map(|unit| (Lpn(unit), place(unit)));
    assert_eq!((rows.dirty(), stored(&rows)), (all, those(|_| true).collect()));
    for page in 0..PAGES {
        rows.drop_known(page, |entry| place(page * ENTRIES + entry));
    }
    rows.close_up();
    assert!(rows.is_far && rows.slots() == all / 2, "72 are still too many");
    assert_eq!(stored(&rows), those(|unit| unit % 2 == 1).collect());
    // Those of the last three pages are logged and known as well: 48 are left.
    for page in PAGES - 3..PAGES {
        let units = page * ENTRIES..(page + 1) * ENTRIES;
        units.for_each(|unit| rows.logged(Lpn(unit), place(unit)));
        rows.drop_known(page, |entry| place(page * ENTRIES + entry));
    }
    rows.close_up();
    assert!(!rows.is_far && rows.slots() == 48 && rows.far.capacity() == 0);
    assert_eq!(stored(&rows), those(|unit| unit % 2 == 1 && unit < 96).collect());
    // There is room again for as many as there was.
    assert_eq!(rows.rows.capacity(), 55);
    let found = (0..all).filter(|&unit| rows.find(Lpn(unit)).is_some()).count();
    assert_eq!(found, 48);
    (0..14).step_by(2).for_each(|unit| _ = rows.insert_pinned(Lpn(unit), place(unit)));
    assert!(!rows.is_far && rows.slots() == 55 && rows.rows.capacity() == 55);
}

#[test]
fn the_page_with_most_changes_is_flushed_first_and_what_is_known_goes_at_boot() {
    let mut rows = rows();
    for unit in [1, 2, 17, 18, 19, 40] {
        rows.restore(Lpn(unit), Upa(100 + unit), unit != 18);
    }
    assert_eq!((rows.fullest(|_| true), rows.fullest(|page| page != 0)), (Some(0), Some(1)));
    assert!(rows.any_unlogged());
    rows.logged(Lpn(18), Upa(118));
    assert_eq!(rows.fullest(|_| true), Some(1));
    rows.drop_known(1, |entry| if entry == 2 { Upa(7) } else { Upa(116 + entry) });
    let mut left = Vec::new();
    rows.each_of(1, |entry, at| left.push((entry, at)));
    assert_eq!((left, rows.dirty()), (vec![(2, Upa(118))], 4));
}

#[test]
fn a_trim_in_the_log_counts_for_the_units_that_are_unmapped_and_no_others() {
    let mut rows = rows();
    for (unit, at) in [(3, Upa::NONE), (15, Upa(4)), (16, Upa::NONE), (33, Upa::NONE)] {
        rows.restore(Lpn(unit), at, false);
    }
    rows.logged_unmapped(Lpn(3), 30);
    assert_eq!([0, 1, 2].map(|page| rows.flushable(page)), [1, 1, 0]);
}
