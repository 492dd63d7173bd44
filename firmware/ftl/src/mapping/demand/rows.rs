//! Rows: what memory knows better than the translation pages on flash.
//!
//! A row is a unit of the host with its place. Dirty, it is a change that its translation page doesn't have;
//! pinned, it is kept for who has the pin. Rows of one translation page are a chain.

use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Lpn, Upa};

/// No row.
const NONE: u32 = u32::MAX;

// The state of a row: how often it is pinned, and
const PINS: u16 = 0x0FFF;
/// its translation page doesn't have it,
const DIRTY: u16 = 0x1000;
/// the log has it: no loss of power takes it back,
const LOGGED: u16 = 0x2000;
/// its translation page is being written with it.
const FLUSHING: u16 = 0x4000;

/// Pins of one unit at most.
pub(crate) const PINS_MAX: u16 = PINS;

#[derive(Clone, Copy)]
struct Row {
    unit: u32,
    // Complemented, as the map's entries are.
    place: u32,
    next: u32,
}

/// The rows of a map.
pub(super) struct Rows {
    entries: u32,
    rows: Vec<Row>,
    states: Vec<u16>,
    // The first one that is free; the others follow by `next`.
    free: u32,
    // Per translation page: its first row, and how many of its rows may be flushed.
    heads: Vec<u32>,
    flushable: Vec<u16>,
    dirty: u32,
    // Of these, those that the log has.
    logged: u32,
    used: u32,
}

impl Rows {
    /// None, of `pages` translation pages with so many entries each. Room for `rows` is taken now.
    pub(super) fn new(pages: u32, entries: u32, rows: u32) -> Self {
        Rows {
            entries,
            rows: Vec::with_capacity(rows as usize),
            states: Vec::with_capacity(rows as usize),
            free: NONE,
            heads: vec![NONE; pages as usize],
            flushable: vec![0; pages as usize],
            dirty: 0,
            logged: 0,
            used: 0,
        }
    }
    /// Forgets all; nothing is pinned.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.states.clear();
        (self.free, self.dirty, self.logged, self.used) = (NONE, 0, 0, 0);
        self.heads.fill(NONE);
        self.flushable.fill(0);
    }
    /// Rows whose change is in no translation page.
    pub(super) fn dirty(&self) -> u32 {
        self.dirty
    }
    /// Rows that are dirty or pinned.
    #[cfg(test)]
    pub(super) fn used(&self) -> u32 {
        self.used
    }
    fn page_of(&self, unit: u32) -> usize {
        (unit / self.entries) as usize
    }
    /// The row of a unit.
    pub(super) fn find(&self, unit: Lpn) -> Option<u32> {
        let mut at = self.heads[self.page_of(unit.0)];
        while at != NONE {
            let row = self.rows[at as usize];
            if row.unit == unit.0 {
                return Some(at);
            }
            at = row.next;
        }
        None
    }
    /// Where a row's unit is.
    pub(super) fn place(&self, row: u32) -> Upa {
        Upa(!self.rows[row as usize].place)
    }
    fn insert(&mut self, unit: Lpn, place: Upa, state: u16) -> u32 {
        let page = self.page_of(unit.0);
        let row = Row { unit: unit.0, place: !place.0, next: self.heads[page] };
        let at = match self.free {
            NONE => {
                self.rows.push(row);
                self.states.push(state);
                self.rows.len() as u32 - 1
            }
            at => {
                self.free = core::mem::replace(&mut self.rows[at as usize], row).next;
                self.states[at as usize] = state;
                at
            }
        };
        self.heads[page] = at;
        self.used += 1;
        at
    }
    /// A clean row, which isn't there yet, pinned once.
    pub(super) fn insert_pinned(&mut self, unit: Lpn, place: Upa) -> u32 {
        self.insert(unit, place, 1)
    }
    /// Pins a row; false if it is pinned too often.
    pub(super) fn pin(&mut self, row: u32) -> bool {
        let state = &mut self.states[row as usize];
        let may = *state & PINS < PINS_MAX;
        *state += u16::from(may);
        may
    }
    /// Takes a pin back. A row without pins that is not dirty is gone.
    pub(super) fn unpin(&mut self, row: u32) {
        let state = &mut self.states[row as usize];
        assert!(*state & PINS > 0, "a pin is dropped once");
        *state -= 1;
        if *state & (PINS | DIRTY) == 0 {
            self.remove(row);
        }
    }
    fn remove(&mut self, row: u32) {
        let Row { unit, next, .. } = self.rows[row as usize];
        let page = self.page_of(unit);
        let mut before = self.heads[page];
        if before == row {
            self.heads[page] = next;
        } else {
            while self.rows[before as usize].next != row {
                before = self.rows[before as usize].next;
            }
            self.rows[before as usize].next = next;
        }
        self.free_row(row);
    }
    fn free_row(&mut self, row: u32) {
        self.rows[row as usize].next = self.free;
        self.states[row as usize] = 0;
        self.free = row;
        self.used -= 1;
    }
    /// A unit has a new place, of which neither log nor translation page knows. Gives the old one, and
    /// whether the row has become dirty by it.
    pub(super) fn set(&mut self, row: u32, to: Upa) -> (Upa, bool) {
        let page = self.page_of(self.rows[row as usize].unit);
        let (at, state) = (&mut self.rows[row as usize], &mut self.states[row as usize]);
        let old = Upa(!core::mem::replace(&mut at.place, !to.0));
        let newly = *state & DIRTY == 0;
        self.flushable[page] -= u16::from(*state & (LOGGED | FLUSHING) == LOGGED);
        self.logged -= u32::from(*state & LOGGED != 0);
        *state = *state & PINS | DIRTY;
        self.dirty += u32::from(newly);
        #[cfg(test)]
        if crate::tests::demand::trusts_what_the_log_lacks() {
            self.mark_logged(row);
        }
        (old, newly)
    }
    /// As boot has found it.
    pub(super) fn restore(&mut self, unit: Lpn, to: Upa, is_logged: bool) {
        let row = self.find(unit).unwrap_or_else(|| self.insert(unit, Upa::NONE, 0));
        self.set(row, to);
        if is_logged {
            self.mark_logged(row);
        }
    }
    fn mark_logged(&mut self, row: u32) {
        let page = self.page_of(self.rows[row as usize].unit);
        let state = &mut self.states[row as usize];
        if *state & (DIRTY | LOGGED) == DIRTY {
            *state |= LOGGED;
            self.logged += 1;
            self.flushable[page] += 1;
        }
    }
    /// The log has it that a unit is at `to`.
    pub(super) fn logged(&mut self, unit: Lpn, to: Upa) {
        if let Some(row) = self.find(unit).filter(|&row| self.place(row) == to) {
            self.mark_logged(row);
        }
    }
    /// The log has it that units are unmapped.
    pub(super) fn logged_unmapped(&mut self, first: Lpn, count: u32) {
        let (first, end) = (first.0, first.0 + count);
        for page in self.page_of(first)..=self.page_of(end - 1) {
            let mut at = self.heads[page];
            while at != NONE {
                let row = self.rows[at as usize];
                if (first..end).contains(&row.unit) && row.place == 0 {
                    self.mark_logged(at);
                }
                at = row.next;
            }
        }
    }
    /// Changes of a page that may be flushed now.
    pub(super) fn flushable(&self, page: u32) -> u32 {
        self.flushable[page as usize].into()
    }
    /// The page with the most of these, of those that `may` be written.
    pub(super) fn fullest(&self, may: impl Fn(u32) -> bool) -> Option<u32> {
        let mut best = (0, None);
        for (page, &flushable) in (0..).zip(&self.flushable) {
            if flushable > best.0 && may(page) {
                best = (flushable, Some(page));
            }
        }
        best.1
    }
    /// Begins to flush a page: gives `each` the changes that may be, by their number in the page.
    pub(super) fn begin_flush(&mut self, page: u32, mut each: impl FnMut(u32, Upa)) {
        let mut at = self.heads[page as usize];
        while at != NONE {
            let Row { unit, place, next } = self.rows[at as usize];
            let state = &mut self.states[at as usize];
            if *state & LOGGED != 0 {
                *state |= FLUSHING;
                each(unit % self.entries, Upa(!place));
            }
            at = next;
        }
        self.flushable[page as usize] = 0;
    }
    /// Ends that. If the page stands on flash for good, what hasn't changed since is clean. Gives how many
    /// rows that are.
    pub(super) fn end_flush(&mut self, page: u32, written: bool) -> u32 {
        let mut cleaned = 0;
        let mut before = NONE;
        let mut at = self.heads[page as usize];
        while at != NONE {
            let next = self.rows[at as usize].next;
            let state = &mut self.states[at as usize];
            let mut removed = false;
            if *state & FLUSHING != 0 {
                if written {
                    *state &= PINS;
                    cleaned += 1;
                    removed = *state == 0;
                } else {
                    *state &= !FLUSHING;
                    self.flushable[page as usize] += 1;
                }
            }
            if removed {
                match before {
                    NONE => self.heads[page as usize] = next,
                    before => self.rows[before as usize].next = next,
                }
                self.free_row(at);
            } else {
                before = at;
            }
            at = next;
        }
        self.dirty -= cleaned;
        self.logged -= cleaned;
        cleaned
    }
    /// Drops the rows of a page that say what the page has, as boot finds it: `has` gives what it has by the
    /// number of the entry.
    pub(super) fn drop_known(&mut self, page: u32, has: impl Fn(u32) -> Upa) {
        let mut at = self.heads[page as usize];
        let mut known = 0;
        while at != NONE {
            let Row { unit, place, next } = self.rows[at as usize];
            let state = &mut self.states[at as usize];
            if *state & (LOGGED | FLUSHING) == LOGGED && has(unit % self.entries) == Upa(!place) {
                *state |= FLUSHING;
                known += 1;
            }
            at = next;
        }
        self.flushable[page as usize] -= known;
        self.end_flush(page, true);
    }
    /// The rows of a page, by the number of the entry.
    pub(super) fn each_of(&self, page: u32, mut each: impl FnMut(u32, Upa)) {
        let mut at = self.heads[page as usize];
        while at != NONE {
            let row = self.rows[at as usize];
            each(row.unit % self.entries, Upa(!row.place));
            at = row.next;
        }
    }
    /// Puts all rows into the first slots; none is pinned.
    pub(super) fn close_up(&mut self) {
        let (rows, states) = (core::mem::take(&mut self.rows), core::mem::take(&mut self.states));
        self.heads.fill(NONE);
        (self.free, self.used) = (NONE, 0);
        for (row, state) in rows.into_iter().zip(states).filter(|(_, state)| *state != 0) {
            self.insert(Lpn(row.unit), Upa(!row.place), state);
        }
    }
    /// Slots for rows that there are.
    pub(super) fn slots(&self) -> u32 {
        self.rows.len() as u32
    }
    /// What stands in a slot, if that is a change.
    pub(super) fn in_slot(&self, slot: u32) -> Option<(Lpn, Upa)> {
        let is_dirty = self.states.get(slot as usize).is_some_and(|state| state & DIRTY != 0);
        let row = self.rows.get(slot as usize).filter(|_| is_dirty)?;
        Some((Lpn(row.unit), Upa(!row.place)))
    }
    /// Whether a change of which the log doesn't know yet waits for it.
    pub(super) fn any_unlogged(&self) -> bool {
        self.logged < self.dirty
    }
    /// Whether rows are pinned.
    #[cfg(test)]
    pub(super) fn pinned(&self) -> u32 {
        self.states.iter().filter(|&state| state & PINS != 0).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;
    use std::collections::BTreeMap;

    const PAGES: u32 = 9;
    const ENTRIES: u32 = 16;
    const ROWS: u32 = 60;

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
        let (mut rows, mut rng) = (Rows::new(PAGES, ENTRIES, ROWS), Rng::new(7));
        let mut is: BTreeMap<u32, Is> = BTreeMap::new();
        let capacity = rows.rows.capacity();
        for step in 0..1_000_000u32 {
            let unit = rng.below(u64::from(PAGES * ENTRIES)) as u32;
            let page = unit / ENTRIES;
            match rng.below(9) {
                0..3 => {
                    let room = is.len() < ROWS as usize;
                    match rows.find(Lpn(unit)) {
                        Some(row) => {
                            assert_eq!(rows.place(row), Upa(is[&unit].place));
                            assert!(rows.pin(row));
                            is.get_mut(&unit).unwrap().pins += 1;
                        }
                        None if room => {
                            rows.insert_pinned(Lpn(unit), Upa(step));
                            is.insert(unit, Is { place: step, pins: 1, ..Is::default() });
                        }
                        None => assert!(!is.contains_key(&unit)),
                    }
                }
                3 => {
                    if let Some(of) = is.get_mut(&unit).filter(|is| is.pins > 0) {
                        let row = rows.find(Lpn(unit)).unwrap();
                        assert_eq!(rows.set(row, Upa(step)), (Upa(of.place), !of.dirty));
                        *of = Is { place: step, pins: of.pins, dirty: true, ..Is::default() };
                    }
                }
                4 | 5 => {
                    if let Some(of) = is.get_mut(&unit).filter(|is| is.pins > 0) {
                        rows.unpin(rows.find(Lpn(unit)).unwrap());
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
        assert_eq!(rows.rows.capacity(), capacity, "nothing is allocated after new");
    }

    #[test]
    fn the_page_with_most_changes_is_flushed_first_and_what_is_known_goes_at_boot() {
        let mut rows = Rows::new(PAGES, ENTRIES, ROWS);
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
        let mut rows = Rows::new(PAGES, ENTRIES, ROWS);
        for (unit, at) in [(3, Upa::NONE), (15, Upa(4)), (16, Upa::NONE), (33, Upa::NONE)] {
            rows.restore(Lpn(unit), at, false);
        }
        rows.logged_unmapped(Lpn(3), 30);
        assert_eq!([0, 1, 2].map(|page| rows.flushable(page)), [1, 1, 0]);
    }
}
