//! What the host has paid for copies, where collection is paced.
//!
//! A victim with v valid and s stale pages gives s pages for v copies, so that many copies belong to each
//! page that the host programs. They are asked for in proportion to how little room the host has left: none
//! where collection begins, twice as many where the room ends. Collection settles in between.

use core::cell::Cell;

/// Shares of a copy that payments are counted in.
const SHARES: u64 = 1024;

/// The payments for the copies of one LUN.
#[derive(Default)]
pub(crate) struct Pace {
    // What a page of the host pays where it pays once.
    price: Cell<u64>,
    paid: Cell<u64>,
    valid: Cell<u64>,
}

impl Pace {
    /// A victim with so many valid and stale pages is collected from now on. Nothing has been paid.
    pub(crate) fn begin(&self, valid: u64, stale: u64) {
        self.valid.set(valid);
        self.price.set(valid * SHARES / stale.max(1));
        self.paid.set(0);
    }
    /// The host programs so many pages, and has room for `left` more, of a `band`.
    pub(crate) fn pay(&self, pages: u64, left: u64, band: u64) {
        let due = pages * self.price.get() * 2 * band.saturating_sub(left) / band;
        self.paid.set((self.paid.get() + due).min(self.valid.get() * SHARES));
    }
    /// Spends the price of so many copies, if that much has been paid.
    pub(crate) fn spend(&self, copies: u64) -> bool {
        let left = self.paid.get().checked_sub(copies * SHARES);
        self.paid.set(left.unwrap_or(self.paid.get()));
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_pays_what_a_victim_costs_in_the_middle_of_the_band_and_twice_that_at_its_end() {
        let pace = Pace::default();
        for (left, copies) in [(100, 0), (200, 0), (75, 15), (50, 30), (0, 60)] {
            pace.begin(300, 100);
            pace.pay(10, left, 100);
            assert!(pace.spend(copies) && !pace.spend(1), "{left} left");
        }
    }

    #[test]
    fn no_more_is_paid_than_a_victim_has_to_copy() {
        let pace = Pace::default();
        pace.begin(3, 1);
        pace.pay(100, 0, 4);
        assert!(pace.spend(2) && pace.spend(1) && !pace.spend(1));
    }
}
