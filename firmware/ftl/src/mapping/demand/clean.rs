//! Copies in memory of translation pages, as they are on flash.

use alloc::vec;
use alloc::vec::Vec;
use aster_units::Upa;

const NONE: u32 = u32::MAX;

/// Copies of some translation pages. A copy is dropped when another page needs its slot and it wasn't used
/// since the clock hand last passed it. Dropping it costs nothing.
pub(super) struct Clean {
    entries: usize,
    // Per slot: its page, and whether it was used.
    slots: Vec<(u32, bool)>,
    // Per page: its slot.
    at: Vec<u32>,
    // The places, complemented, slot after slot.
    places: Vec<u32>,
    hand: usize,
}

impl Clean {
    /// Room for `slots` of `pages` pages.
    pub(super) fn new(pages: u32, entries: u32, slots: u32) -> Self {
        Clean {
            entries: entries as usize,
            slots: vec![(NONE, false); slots as usize],
            at: vec![NONE; pages as usize],
            places: vec![0; slots as usize * entries as usize],
            hand: 0,
        }
    }
    pub(super) fn clear(&mut self) {
        self.slots.fill((NONE, false));
        self.at.fill(NONE);
    }
    /// An entry of a page, if the page is here.
    pub(super) fn get(&mut self, page: u32, entry: u32) -> Option<Upa> {
        let slot = self.at[page as usize];
        self.slots.get_mut(slot as usize)?.1 = true;
        Some(Upa(!self.places[slot as usize * self.entries + entry as usize]))
    }
    /// All entries of a page, complemented.
    pub(super) fn page(&self, page: u32) -> Option<&[u32]> {
        let slot = self.at[page as usize] as usize;
        (slot < self.slots.len()).then(|| &self.places[slot * self.entries..][..self.entries])
    }
    /// The copy of a page to be written, if it is here.
    pub(super) fn page_mut(&mut self, page: u32) -> Option<&mut [u32]> {
        let slot = self.at[page as usize] as usize;
        (slot < self.slots.len()).then(|| &mut self.places[slot * self.entries..][..self.entries])
    }
    /// A slot for a page that isn't here. The caller fills it at once.
    pub(super) fn insert(&mut self, page: u32) -> &mut [u32] {
        while core::mem::take(&mut self.slots[self.hand].1) {
            self.hand = (self.hand + 1) % self.slots.len();
        }
        let slot = self.hand;
        self.hand = (slot + 1) % self.slots.len();
        let (before, _) = core::mem::replace(&mut self.slots[slot], (page, true));
        if let Some(at) = self.at.get_mut(before as usize) {
            *at = NONE;
        }
        self.at[page as usize] = slot as u32;
        &mut self.places[slot * self.entries..][..self.entries]
    }
    /// A page doesn't exist any more.
    pub(super) fn remove(&mut self, page: u32) {
        let slot = core::mem::replace(&mut self.at[page as usize], NONE);
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            *slot = (NONE, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_looked_at_stays_longer_than_one_that_was_not() {
        let mut clean = Clean::new(10, 4, 2);
        clean.insert(3).copy_from_slice(&[!30, !31, !32, 0]);
        clean.insert(7).fill(!70);
        assert_eq!(
            (clean.get(3, 1), clean.get(3, 3), clean.get(5, 0)),
            (Some(Upa(31)), Some(Upa::NONE), None)
        );
        // Both have been used: the hand comes back to where it began. From then on only 3 was used.
        clean.insert(5).fill(!50);
        assert_eq!((clean.get(3, 0), clean.get(7, 0)), (None, Some(Upa(70))));
        clean.remove(7);
        clean.insert(9).fill(!90);
        assert_eq!([3, 5, 7, 9].map(|page| clean.page(page).is_some()), [false, true, false, true]);
        clean.page_mut(5).unwrap()[2] = !1;
        assert_eq!(clean.get(5, 2), Some(Upa(1)));
        clean.clear();
        assert!(clean.page(5).is_none());
    }
}
