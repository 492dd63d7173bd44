//! Rows: places of units that memory knows better than the translation pages on flash.
//!
//! A row is a unit of the host with its place. A dirty row is a change that its translation page doesn't have
//! yet. A pinned row is kept for the holder of the pin. The rows of one translation page are a linked list,
//! and the link of the last row says which page that is.

use crate::terms::row_layout::{RowLayout, many_pinned_max};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Lpn, Upa};

// The states of a row: it is only there for its pins,
const CLEAN: u64 = 0;
/// its translation page doesn't have it,
const DIRTY: u64 = 1;
/// its translation page doesn't have it, but the log does, so that no loss of power undoes it,
const LOGGED: u64 = 2;
/// and its translation page is being written with it.
const FLUSHING: u64 = 3;
const STATE: u64 = 3;

/// A pin. A row itself counts up to two,
const PIN: u64 = 4;
/// and this value says that its pins are counted outside of the row.
const MANY: u64 = 3 * PIN;
const PINS: u64 = MANY;

/// A row with so many pins that they are counted here instead.
#[derive(Clone, Copy)]
struct ManyPins {
    row: u32,
    pins: u32,
}

/// The rows of a map.
pub(super) struct Rows {
    layout: RowLayout,
    entries: u32,
    // The number of rows that memory is taken for.
    most: u32,
    rows: Vec<u64>,
    // The links of all rows, if there are more rows than a link inside of a row can number.
    far: Vec<u32>,
    is_far: bool,
    // The highest link. It ends the list of the first translation page, the one below it the list of the
    // second, and so on.
    link_max: u32,
    many: Vec<ManyPins>,
    // The first free row, if this is a row. The others follow by their links.
    free: u32,
    // Per translation page: its first row, and how many of its rows may be flushed.
    heads: Vec<u32>,
    flushable: Vec<u16>,
    dirty: u32,
    // How many of the dirty rows the log has.
    logged: u32,
    used: u32,
}

impl Rows {
    /// No rows yet. There are `pages` translation pages with `entries` entries each. Takes memory for `rows`
    /// rows and `pins` pins.
    pub(super) fn new(layout: RowLayout, pages: u32, entries: u32, rows: u32, pins: u32) -> Self {
        let is_far = rows > layout.rows_max(pages);
        let mut made = Rows {
            layout,
            entries,
            most: rows,
            rows: Vec::with_capacity(rows as usize),
            far: Vec::with_capacity(if is_far { rows as usize } else { 0 }),
            is_far,
            link_max: 0,
            many: Vec::with_capacity(many_pinned_max(pins) as usize),
            free: 0,
            heads: vec![0; pages as usize],
            flushable: vec![0; pages as usize],
            dirty: 0,
            logged: 0,
            used: 0,
        };
        made.clear();
        made
    }
    /// Forgets all rows. Nothing is pinned.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.far.clear();
        self.is_far = self.most > self.rows_max();
        self.link_max = if self.is_far { u32::MAX } else { self.layout.link_max() };
        (self.free, self.dirty, self.logged, self.used) = (self.link_max, 0, 0, 0);
        for (page, head) in (0..).zip(&mut self.heads) {
            *head = self.link_max - page;
        }
        self.flushable.fill(0);
    }
    /// The number of rows that links inside of rows can number.
    fn rows_max(&self) -> u32 {
        self.layout.rows_max(self.heads.len() as u32)
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
    fn page_of(&self, unit: u32) -> u32 {
        unit / self.entries
    }
    /// Whether a link leads to a row: links that end a list are higher than all rows.
    fn is_row(&self, link: u32) -> bool {
        (link as usize) < self.rows.len()
    }
    fn next(&self, row: u32) -> u32 {
        if self.is_far { self.far[row as usize] } else { self.layout.link(self.rows[row as usize]) }
    }
    fn set_next(&mut self, row: u32, next: u32) {
        if self.is_far {
            self.far[row as usize] = next;
        } else {
            let row = &mut self.rows[row as usize];
            *row = self.layout.with_link(*row, next);
        }
    }
    /// Sets the first row of a page, or the row after another.
    fn link(&mut self, page: u32, before: Option<u32>, to: u32) {
        match before {
            None => self.heads[page as usize] = to,
            Some(before) => self.set_next(before, to),
        }
    }
    /// The row of a unit.
    pub(super) fn find(&self, unit: Lpn) -> Option<u32> {
        let wanted = self.layout.of_entry(unit.0 % self.entries);
        let mut at = self.heads[self.page_of(unit.0) as usize];
        while let Some(&row) = self.rows.get(at as usize) {
            if self.layout.is_of(row, wanted) {
                return Some(at);
            }
            at = if self.is_far { self.far[at as usize] } else { self.layout.link(row) };
        }
        None
    }
    /// The place of a row's unit.
    pub(super) fn place(&self, row: u32) -> Upa {
        self.layout.place(self.rows[row as usize])
    }
    fn insert(&mut self, unit: Lpn, place: Upa, state: u64) -> u32 {
        let page = self.page_of(unit.0);
        let row = self.layout.row(unit.0 % self.entries, place) | state;
        let mut at = self.free;
        if self.is_row(at) {
            self.free = self.next(at);
            self.rows[at as usize] = row;
        } else {
            at = self.push(row);
        }
        self.set_next(at, self.heads[page as usize]);
        self.heads[page as usize] = at;
        self.used += 1;
        at
    }
    fn push(&mut self, row: u64) -> u32 {
        let at = self.rows.len() as u32;
        if !self.is_far && at == self.rows_max() {
            // During boot the log may have more changes than there will be room for.
            self.move_links(true);
        }
        self.rows.push(row);
        if self.is_far {
            self.far.push(0);
        }
        at
    }
    /// Moves all links out of the rows, or back into them.
    #[cold]
    fn move_links(&mut self, is_far: bool) {
        let (rows, before) = (self.rows.len() as u32, self.link_max);
        let after = if is_far { u32::MAX } else { self.layout.link_max() };
        let moved = |link: u32| if link < rows { link } else { after - (before - link) };
        let links: Vec<_> = (0..rows).map(|row| moved(self.next(row))).collect();
        self.heads.iter_mut().for_each(|head| *head = moved(*head));
        (self.free, self.link_max, self.is_far) = (moved(self.free), after, is_far);
        self.far = if is_far { vec![0; links.len()] } else { Vec::new() };
        (0..).zip(links).for_each(|(row, link)| self.set_next(row, link));
    }
    /// Inserts a clean row with one pin for a unit that has none.
    pub(super) fn insert_pinned(&mut self, unit: Lpn, place: Upa) -> u32 {
        self.insert(unit, place, PIN)
    }
    /// Pins a row.
    pub(super) fn pin(&mut self, row: u32) {
        if self.rows[row as usize] & PINS < 2 * PIN {
            self.rows[row as usize] += PIN;
        } else {
            self.pin_more(row);
        }
    }
    #[cold]
    fn pin_more(&mut self, at: u32) {
        let row = &mut self.rows[at as usize];
        if *row & PINS == MANY {
            let many = self.many.iter_mut().find(|many| many.row == at);
            many.expect("what is pinned that often is counted").pins += 1;
        } else {
            *row |= MANY;
            assert!(self.many.len() < self.many.capacity(), "no more is pinned than tasks can pin");
            self.many.push(ManyPins { row: at, pins: 3 });
        }
    }
    /// Removes a pin from a unit's row. Drops the row if it is neither pinned nor dirty any more.
    pub(super) fn unpin(&mut self, unit: Lpn, at: u32) {
        let row = &mut self.rows[at as usize];
        if *row & PINS == MANY {
            self.unpin_more(at);
            return;
        }
        assert!(*row & PINS > 0, "a pin is dropped once");
        *row -= PIN;
        if *row & (PINS | STATE) == CLEAN {
            self.remove(unit, at);
        }
    }
    #[cold]
    fn unpin_more(&mut self, at: u32) {
        let many = self.many.iter().position(|many| many.row == at);
        let many = many.expect("what is pinned that often is counted");
        self.many[many].pins -= 1;
        if self.many[many].pins == 2 {
            self.many.swap_remove(many);
            self.rows[at as usize] -= PIN;
        }
    }
    fn remove(&mut self, unit: Lpn, row: u32) {
        let page = self.page_of(unit.0);
        let (mut before, mut at) = (None, self.heads[page as usize]);
        while at != row {
            (before, at) = (Some(at), self.next(at));
        }
        self.link(page, before, self.next(row));
        self.free_row(row);
    }
    fn free_row(&mut self, row: u32) {
        self.rows[row as usize] = CLEAN;
        self.set_next(row, self.free);
        self.free = row;
        self.used -= 1;
    }
    /// Sets a new place of a row's unit, which neither the log nor the translation page has yet. Returns the
    /// old place, and whether this has made the row dirty.
    pub(super) fn set(&mut self, unit: Lpn, at: u32, to: Upa) -> (Upa, bool) {
        let row = self.rows[at as usize];
        let state = row & STATE;
        if state == LOGGED {
            let page = self.page_of(unit.0);
            self.flushable[page as usize] -= 1;
        }
        self.logged -= u32::from(state >= LOGGED);
        self.dirty += u32::from(state == CLEAN);
        self.rows[at as usize] = self.layout.with_place(row & !STATE | DIRTY, to);
        #[cfg(test)]
        if crate::tests::demand::trusts_what_the_log_lacks() {
            self.mark_logged(self.page_of(unit.0), at);
        }
        (self.layout.place(row), state == CLEAN)
    }
    /// Sets a unit's place as boot has found it.
    pub(super) fn restore(&mut self, unit: Lpn, to: Upa, is_logged: bool) {
        let row = self.find(unit).unwrap_or_else(|| self.insert(unit, Upa::NONE, CLEAN));
        self.set(unit, row, to);
        if is_logged {
            self.mark_logged(self.page_of(unit.0), row);
        }
    }
    fn mark_logged(&mut self, page: u32, row: u32) {
        let row = &mut self.rows[row as usize];
        if *row & STATE == DIRTY {
            *row += LOGGED - DIRTY;
            self.logged += 1;
            self.flushable[page as usize] += 1;
        }
    }
    /// The log now says that a unit is at `to`.
    pub(super) fn logged(&mut self, unit: Lpn, to: Upa) {
        if let Some(row) = self.find(unit).filter(|&row| self.place(row) == to) {
            self.mark_logged(self.page_of(unit.0), row);
        }
    }
    /// The log now says that units are unmapped.
    pub(super) fn logged_unmapped(&mut self, first: Lpn, count: u32) {
        let units = first.0..first.0 + count;
        for page in self.page_of(units.start)..=self.page_of(units.end - 1) {
            let mut at = self.heads[page as usize];
            while self.is_row(at) {
                if units.contains(&self.unit(page, at)) && !self.place(at).is_some() {
                    self.mark_logged(page, at);
                }
                at = self.next(at);
            }
        }
    }
    /// The unit of a row of this page.
    fn unit(&self, page: u32, row: u32) -> u32 {
        page * self.entries + self.layout.entry(self.rows[row as usize])
    }
    /// The number of changes of a page that may be flushed now.
    pub(super) fn flushable(&self, page: u32) -> u32 {
        self.flushable[page as usize].into()
    }
    /// The page with the most flushable changes, among those for which `may` is true.
    pub(super) fn fullest(&self, may: impl Fn(u32) -> bool) -> Option<u32> {
        let mut best = (0, None);
        for (page, &flushable) in (0..).zip(&self.flushable) {
            if flushable > best.0 && may(page) {
                best = (flushable, Some(page));
            }
        }
        best.1
    }
    /// Begins to flush a page: calls `each` with the entry number and the place of each flushable change.
    pub(super) fn begin_flush(&mut self, page: u32, mut each: impl FnMut(u32, Upa)) {
        let mut at = self.heads[page as usize];
        while self.is_row(at) {
            let row = &mut self.rows[at as usize];
            if *row & STATE >= LOGGED {
                *row |= FLUSHING;
                each(self.layout.entry(*row), self.layout.place(*row));
            }
            at = self.next(at);
        }
        self.flushable[page as usize] = 0;
    }
    /// Ends a flush. If the page is safely on flash, rows that haven't changed since are clean. Returns their
    /// number.
    pub(super) fn end_flush(&mut self, page: u32, written: bool) -> u32 {
        let mut cleaned = 0;
        let (mut before, mut at) = (None, self.heads[page as usize]);
        while self.is_row(at) {
            let next = self.next(at);
            let row = &mut self.rows[at as usize];
            let mut removed = false;
            if *row & STATE == FLUSHING {
                if written {
                    *row = *row & !STATE | CLEAN;
                    cleaned += 1;
                    removed = *row & PINS == 0;
                } else {
                    *row = *row & !STATE | LOGGED;
                    self.flushable[page as usize] += 1;
                }
            }
            if removed {
                self.link(page, before, next);
                self.free_row(at);
            } else {
                before = Some(at);
            }
            at = next;
        }
        self.dirty -= cleaned;
        self.logged -= cleaned;
        cleaned
    }
    /// During boot, drops those rows of a page that agree with it: `has` returns the page's entry of a
    /// number.
    pub(super) fn drop_known(&mut self, page: u32, has: impl Fn(u32) -> Upa) {
        let mut at = self.heads[page as usize];
        let mut known = 0;
        while self.is_row(at) {
            let row = &mut self.rows[at as usize];
            if *row & STATE == LOGGED && has(self.layout.entry(*row)) == self.layout.place(*row) {
                *row |= FLUSHING;
                known += 1;
            }
            at = self.next(at);
        }
        self.flushable[page as usize] -= known;
        self.end_flush(page, true);
    }
    /// Calls `each` with the entry number and the place of each row of a page.
    pub(super) fn each_of(&self, page: u32, mut each: impl FnMut(u32, Upa)) {
        let mut at = self.heads[page as usize];
        while self.is_row(at) {
            each(self.layout.entry(self.rows[at as usize]), self.place(at));
            at = self.next(at);
        }
    }
    /// Moves all rows into the first slots, and frees memory taken beyond the configured room. No row may be
    /// pinned.
    pub(super) fn close_up(&mut self) {
        let (used, mut gap) = (self.used, 0);
        for page in 0..self.heads.len() as u32 {
            let (mut before, mut at) = (None, self.heads[page as usize]);
            while self.is_row(at) {
                let next = self.next(at);
                if at >= used {
                    while self.rows[gap as usize] & STATE != CLEAN {
                        gap += 1;
                    }
                    self.rows[gap as usize] = self.rows[at as usize];
                    self.set_next(gap, next);
                    self.link(page, before, gap);
                    at = gap;
                }
                (before, at) = (Some(at), next);
            }
        }
        self.rows.truncate(used as usize);
        self.far.truncate(used as usize);
        self.free = self.link_max;
        if self.is_far && self.most.max(used) <= self.rows_max() {
            self.move_links(false);
        }
        self.rows.shrink_to(self.most as usize);
    }
    /// The number of row slots.
    pub(super) fn slots(&self) -> u32 {
        self.rows.len() as u32
    }
    /// Whether a slot holds a change.
    pub(super) fn is_change(&self, slot: u32) -> bool {
        self.rows.get(slot as usize).is_some_and(|row| row & STATE != CLEAN)
    }
    /// The change in a slot, if it holds one.
    pub(super) fn in_slot(&self, slot: u32) -> Option<(Lpn, Upa)> {
        if !self.is_change(slot) {
            return None;
        }
        let mut end = slot;
        while self.is_row(end) {
            end = self.next(end);
        }
        Some((Lpn(self.unit(self.link_max - end, slot)), self.place(slot)))
    }
    /// Whether any change has yet to be logged.
    pub(super) fn any_unlogged(&self) -> bool {
        self.logged < self.dirty
    }
    /// Whether rows are pinned.
    #[cfg(test)]
    pub(super) fn pinned(&self) -> u32 {
        self.rows.iter().filter(|&row| row & PINS != 0).count() as u32
    }
}

#[cfg(test)]
mod tests;
