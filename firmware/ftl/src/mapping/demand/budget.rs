//! Who may make how many rows dirty.
//!
//! The host has a share, and each LUN's garbage collection has one of its own that no other can use up. So a
//! LUN that has no room for a translation page can always collect a victim: rows that others have made dirty
//! may have to wait for a page of this very LUN, but its own share is still there. Garbage collection takes
//! rows of the host's share first, and of its own share only when the host's is used up. Otherwise it might
//! use up its own share although the host needs no rows, and wait when translation pages can be written only
//! in LUNs that are waiting, too.

use alloc::vec;
use alloc::vec::Vec;
use aster_units::LunIndex;

/// Who makes rows dirty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    Host,
    Collector(LunIndex),
}

/// A share of the rows.
#[derive(Clone, Copy, Default)]
struct Share {
    dirty: u32,
    /// Rows promised for changes that are about to be made.
    promised: u32,
}

/// The rows taken of each share.
pub(super) struct Budget {
    host: Share,
    host_most: u32,
    collectors: Vec<Share>,
    collector_most: u32,
}

impl Budget {
    pub(super) fn new(host: u32, luns: u32, collector: u32) -> Self {
        Budget {
            host: Share::default(),
            host_most: host,
            collectors: vec![Share::default(); luns as usize],
            collector_most: collector,
        }
    }
    /// Dirty rows that boot has found are charged to the host's share, and beyond that evenly to the
    /// collectors' shares. Any rest is charged to the host's share as well, which makes the host wait.
    pub(super) fn begin(&mut self, dirty: u32) {
        let luns = self.collectors.len() as u32;
        let each = (dirty.saturating_sub(self.host_most) / luns).min(self.collector_most);
        self.collectors.fill(Share { dirty: each, promised: 0 });
        self.host = Share { dirty: dirty - each * luns, promised: 0 };
    }
    fn share(&mut self, whose: Whose) -> (&mut Share, u32) {
        match whose {
            Whose::Host => (&mut self.host, self.host_most),
            Whose::Collector(lun) => (&mut self.collectors[lun.index()], self.collector_most),
        }
    }
    /// Promises `rows` rows if there are as many. Returns whose share they come from.
    pub(super) fn take(&mut self, whose: Whose, rows: u32) -> Option<Whose> {
        [Whose::Host, whose].into_iter().find(|&whose| {
            let (share, most) = self.share(whose);
            let fits = share.dirty + share.promised + rows <= most;
            share.promised += if fits { rows } else { 0 };
            fits
        })
    }
    /// One of the rows promised has become dirty.
    pub(super) fn spend(&mut self, whose: Whose) {
        let (share, _) = self.share(whose);
        share.promised -= 1;
        share.dirty += 1;
    }
    /// A row that was not promised has become dirty.
    pub(super) fn spend_beyond(&mut self, whose: Whose) {
        self.share(whose).0.dirty += 1;
    }
    /// Promised rows aren't needed after all.
    pub(super) fn give_back(&mut self, whose: Whose, rows: u32) {
        self.share(whose).0.promised -= rows;
    }
    /// This many dirty rows have become clean. Rows are interchangeable, so collectors for which `waits` is
    /// true get them first.
    pub(super) fn cleaned(&mut self, mut rows: u32, waits: impl Fn(LunIndex) -> bool) {
        let mut pay = |share: &mut Share| {
            let paid = rows.min(share.dirty);
            share.dirty -= paid;
            rows -= paid;
        };
        let of_luns = (0..).map(LunIndex).zip(&mut self.collectors);
        of_luns.filter(|(lun, _)| waits(*lun)).for_each(|(_, share)| pay(share));
        pay(&mut self.host);
        self.collectors.iter_mut().for_each(pay);
    }
    /// Rows that the host may still take.
    pub(super) fn host_left(&self) -> u32 {
        self.host_most.saturating_sub(self.host.dirty + self.host.promised)
    }
    /// The host's share.
    pub(super) fn host_most(&self) -> u32 {
        self.host_most
    }
    /// Whether more rows are dirty on the host's account than its share has.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.host.dirty > self.host_most
    }
    #[cfg(test)]
    pub(super) fn dirty(&self) -> u32 {
        self.host.dirty + self.collectors.iter().map(|share| share.dirty).sum::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_uses_up_another() {
        let (host, one, two) = (Whose::Host, Whose::Collector(LunIndex(0)), Whose::Collector(LunIndex(1)));
        let mut budget = Budget::new(10, 2, 4);
        assert_eq!((budget.take(host, 10), budget.take(host, 1)), (Some(host), None));
        assert_eq!(
            [(one, 3), (one, 2), (two, 4)].map(|(w, n)| budget.take(w, n)),
            [Some(one), None, Some(two)]
        );
        budget.give_back(two, 1);
        (0..3).for_each(|_| budget.spend(one));
        (0..10).for_each(|_| budget.spend(host));
        assert_eq!(budget.dirty(), 13);
        // The waiting collector is paid first, then the host. Promised rows stay promised.
        budget.cleaned(5, |lun| lun.0 == 0);
        assert_eq!((budget.take(one, 4), budget.take(two, 3), budget.host_left()), (Some(one), None, 2));
        budget.give_back(two, 3);
        assert_eq!(budget.dirty(), 8);
        // A collector takes the host's rows first.
        assert_eq!([1, 1, 3].map(|rows| budget.take(two, rows)), [Some(host), Some(host), Some(two)]);
    }

    #[test]
    fn what_boot_finds_is_shared_out_and_the_host_waits_for_what_is_beyond() {
        let mut budget = Budget::new(10, 2, 4);
        for (dirty, host_left, overdrawn) in [(6, 4, false), (10, 0, false), (16, 0, false), (21, 0, true)] {
            budget.begin(dirty);
            assert_eq!(
                (budget.dirty(), budget.host_left(), budget.is_overdrawn()),
                (dirty, host_left, overdrawn)
            );
        }
    }
}
