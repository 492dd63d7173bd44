//! What the host has paid for copies, where collection is paced.
//!
//! Collecting a victim with v valid and s stale pages frees s pages at the cost of v copies. The base price
//! of a page that the host programs is therefore v/s copies. What the host is charged depends on the room
//! that it has left: nothing when collection begins, twice the base price when the room runs out. Collection
//! settles in between. Where several victims of a pool are in work, they have one price and are paid
//! together.

use core::cell::Cell;

/// Payments are counted in fractions of a copy; this many make up one.
const SHARES: u64 = 1024;

/// The payments for the copies of one pool.
#[derive(Default)]
pub(crate) struct Pace {
    // The base price of a page that the host programs.
    price: Cell<u64>,
    paid: Cell<u64>,
    // The victims in work, and the valid and stale units with which they were begun.
    victims: Cell<u32>,
    valid: Cell<u64>,
    stale: Cell<u64>,
}

impl Pace {
    /// Begins a victim with this many valid and stale pages. If it is the only one, nothing has been paid
    /// yet.
    pub(crate) fn begin(&self, valid: u64, stale: u64) {
        if self.victims.get() == 0 {
            self.paid.set(0);
        }
        self.victims.set(self.victims.get() + 1);
        self.valid.set(self.valid.get() + valid);
        self.stale.set(self.stale.get() + stale);
        self.price.set(self.valid.get() * SHARES / self.stale.get().max(1));
    }
    /// A victim that was begun with these numbers is no longer in work.
    pub(crate) fn end(&self, valid: u64, stale: u64) {
        assert!(self.victims.get() > 0, "a victim ends that has not begun");
        self.victims.set(self.victims.get() - 1);
        self.valid.set(self.valid.get() - valid);
        self.stale.set(self.stale.get() - stale);
    }
    /// The host programs `pages` pages and has room for `left` more. Collection begins when `band` are left.
    pub(crate) fn pay(&self, pages: u64, left: u64, band: u64) {
        let due = pages * self.price.get() * 2 * band.saturating_sub(left) / band;
        self.paid.set((self.paid.get() + due).min(self.valid.get() * SHARES));
    }
    /// Spends the price of `copies` copies if that much has been paid.
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
            pace.end(300, 100);
        }
    }

    #[test]
    fn no_more_is_paid_than_a_victim_has_to_copy() {
        let pace = Pace::default();
        pace.begin(3, 1);
        pace.pay(100, 0, 4);
        assert!(pace.spend(2) && pace.spend(1) && !pace.spend(1));
    }

    #[test]
    fn victims_in_work_side_by_side_have_one_price() {
        let pace = Pace::default();
        pace.begin(300, 100);
        pace.begin(100, 100);
        pace.pay(10, 0, 100);
        assert!(pace.spend(40) && !pace.spend(1), "twice 400/200 a page");
        pace.end(300, 100);
        pace.pay(1000, 0, 100);
        assert!(pace.spend(100) && !pace.spend(1), "what the other one may still cost");
        pace.end(100, 100);
    }
}
