//! Where translation pages are.

use alloc::vec;
use alloc::vec::Vec;
use aster_units::Upa;

/// The places of all translation pages, and which places of the drive hold one.
pub(super) struct Directory {
    // Complemented: zero for a page that doesn't exist since nothing in it is mapped.
    places: Vec<u32>,
    // One bit for each place of the drive.
    taken: Vec<u64>,
}

impl Directory {
    /// A directory without pages. The drive has `places` places.
    pub(super) fn new(pages: u32, places: u64) -> Self {
        Directory { places: vec![0; pages as usize], taken: vec![0; (places as usize).div_ceil(64)] }
    }
    pub(super) fn clear(&mut self) {
        self.places.fill(0);
        self.taken.fill(0);
    }
    /// Where a page is.
    pub(super) fn get(&self, page: u32) -> Upa {
        Upa(!self.places[page as usize])
    }
    /// Notes a page's new place. Returns the old one.
    pub(super) fn set(&mut self, page: u32, to: Upa) -> Upa {
        let from = Upa(!core::mem::replace(&mut self.places[page as usize], !to.0));
        for (at, is_there) in [(from, false), (to, true)] {
            if at.is_some() {
                let word = &mut self.taken[at.0 as usize / 64];
                let bit = 1 << (at.0 % 64);
                *word = if is_there { *word | bit } else { *word & !bit };
            }
        }
        from
    }
    /// Whether a translation page is there.
    pub(super) fn is_at(&self, at: Upa) -> bool {
        self.taken[at.0 as usize / 64] >> (at.0 % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_at_one_place_at_a_time() {
        let mut directory = Directory::new(3, 100);
        assert_eq!(directory.set(1, Upa(99)), Upa::NONE);
        assert_eq!(directory.set(1, Upa(7)), Upa(99));
        assert!(directory.is_at(Upa(7)) && !directory.is_at(Upa(99)));
        assert_eq!((directory.get(1), directory.get(0)), (Upa(7), Upa::NONE));
        assert_eq!(directory.set(1, Upa::NONE), Upa(7));
        assert!(!directory.is_at(Upa(7)));
    }
}
