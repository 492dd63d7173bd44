//! The part of a map on flash that is in a stored map: the places of all translation pages, followed by the
//! changes that these don't have yet. So storing the map writes no translation page.

use crate::mapping::demand::state::Demand;
use alloc::collections::BTreeMap;
use aster_units::{Lpn, Upa};

impl Demand {
    /// Units with changes that aren't logged yet, each with the place according to the log.
    fn undone(&self) -> BTreeMap<u32, Upa> {
        // The changes come latest first, so the earliest one wins.
        let changes = self.journal().blocks().table().durability.to_undo(0..u32::MAX);
        changes.into_iter().map(|(unit, from)| (unit.0, from)).collect()
    }
    /// Whether `count` entries from `first` on are all empty.
    pub(super) fn says_nothing(&self, first: u32, count: u32) -> bool {
        let (directory, rows) = (self.directory.borrow(), self.rows.borrow());
        let says_nothing = (first..first + count).all(|entry| match self.stored_at(entry) {
            Stored::Page(page) => !directory.get(page).is_some(),
            Stored::Row(slot) => !rows.is_change(slot),
            Stored::Nothing => true,
        });
        // The old place may be the one that the log has.
        says_nothing
            && (first >= self.shape.stored_rows_at
                || !self.undone().keys().any(|&unit| self.is_own_unit(unit)))
    }
    fn is_own_unit(&self, unit: u32) -> bool {
        self.shape.own_page(Lpn(unit)).is_some()
    }
    fn stored_at(&self, entry: u32) -> Stored {
        match entry.checked_sub(self.shape.stored_rows_at) {
            Some(of_rows) if of_rows / 2 < self.shape.stored_rows => Stored::Row(of_rows / 2),
            None if entry < self.shape.pages => Stored::Page(entry),
            _ => Stored::Nothing,
        }
    }
    /// Encodes the entries from `first` on, according to the log. The log may have another place of a unit
    /// than its translation page, so the row contains the log's.
    pub(super) fn store(&self, first: u32, into: &mut [u8]) {
        let (directory, rows) = (self.directory.borrow(), self.rows.borrow());
        let undone = self.undone();
        let mut place = Upa::NONE;
        let as_logged = |unit: Lpn, at: Upa| undone.get(&unit.0).copied().unwrap_or(at);
        for (entry, bytes) in (first..).zip(into.chunks_exact_mut(4)) {
            let value = match self.stored_at(entry) {
                Stored::Page(page) => !as_logged(self.shape.unit_of(page), directory.get(page)).0,
                Stored::Row(slot) if (entry - self.shape.stored_rows_at).is_multiple_of(2) => {
                    let row = rows.in_slot(slot);
                    place = row.map_or(Upa::NONE, |(unit, at)| as_logged(unit, at));
                    row.map_or(0, |(unit, _)| unit.0 + 1)
                }
                Stored::Row(_) => !place.0,
                Stored::Nothing => 0,
            };
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }
    /// The inverse of [`Demand::store`], during boot. Leaves out places that the drive doesn't have: such a
    /// map is refused for its checksum, but that is known only at the end.
    pub(super) fn take_stored(&self, first: u32, from: &[u8]) {
        let (mut directory, mut rows) = (self.directory.borrow_mut(), self.rows.borrow_mut());
        let places = self.runtime().config.physical_units();
        let is_valid = |at: Upa| !at.is_some() || u64::from(at.0) < places;
        let mut unit = None;
        for (entry, bytes) in (first..).zip(from.chunks_exact(4)) {
            let value = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            match self.stored_at(entry) {
                Stored::Page(page) if is_valid(Upa(!value)) => _ = directory.set(page, Upa(!value)),
                Stored::Row(_) if (entry - self.shape.stored_rows_at).is_multiple_of(2) => {
                    unit = value.checked_sub(1).filter(|unit| *unit < self.shape.host_units).map(Lpn);
                }
                Stored::Row(_) => {
                    if let Some(unit) = unit.take().filter(|_| is_valid(Upa(!value))) {
                        rows.restore(unit, Upa(!value), true);
                    }
                }
                Stored::Page(_) | Stored::Nothing => {}
            }
        }
    }
}

/// What an entry of the stored map describes.
enum Stored {
    Page(u32),
    Row(u32),
    Nothing,
}
