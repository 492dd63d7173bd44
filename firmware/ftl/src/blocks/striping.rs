//! Which LUN of a pool the next page goes to.
//!
//! In a pool of one LUN there is no choice. In a pool of several, a page goes to the next LUN of the stripe
//! that has room for it and the shortest queue of programs. A LUN that has fewer free blocks than others by
//! two opens none until it has caught up. Copies have a stripe of their own. They begin a block in a further
//! LUN only when all LUNs in which they have one are busy, and complete a word line before they begin
//! another.

use crate::terms::block::Stream;
use alloc::boxed::Box;
use aster_units::LunIndex;
use core::cell::Cell;

/// How many free blocks less than another a LUN may have to open one.
const BEHIND_MAX: usize = 1;

/// What there is to know of a LUN when a page is placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// The stream has a block open there.
    pub(super) is_open: bool,
    /// It has begun a word line there.
    pub(super) is_line_begun: bool,
    /// Free blocks, if the stream may open one of them.
    pub(super) free: usize,
    /// Those of them that the log lists.
    pub(super) listed: usize,
    /// Programs in flight.
    pub(super) programs: u32,
}

/// Where a page can go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placed {
    On(LunIndex),
    /// To a block that the log must list first.
    NotListed,
    Nowhere,
}

/// The stripes of a pool.
pub(super) struct Striping {
    order: Box<[LunIndex]>,
    // The places in the order from which the host's pages and copies look for the next LUN.
    host: Cell<usize>,
    others: Cell<usize>,
}

impl Striping {
    /// The LUNs in the order of the stripe.
    pub(super) fn new(order: Box<[LunIndex]>) -> Self {
        Striping { order, host: Cell::new(0), others: Cell::new(0) }
    }
    fn cursor(&self, stream: Stream) -> &Cell<usize> {
        if stream.is_host() { &self.host } else { &self.others }
    }
    /// The LUN for the next page of a stream. It changes nothing: [`Striping::placed`] goes on.
    pub(super) fn choose(&self, stream: Stream, offer: impl Fn(LunIndex) -> Offer) -> Placed {
        let (luns, begin) = (self.order.len(), self.cursor(stream).get());
        let at = |nth: usize| self.order[(begin + nth) % luns];
        let most = (0..luns).map(|nth| offer(at(nth)).free).max().unwrap_or(0);
        let (mut best, mut any_unlisted) = (None, false);
        for nth in 0..luns {
            let of = offer(at(nth));
            let may_open = of.free > 0 && of.free + BEHIND_MAX >= most;
            any_unlisted |= !of.is_open && may_open && of.listed == 0;
            if !of.is_open && (of.free == 0 || of.listed == 0) {
                continue;
            }
            let is_late = !of.is_open && !may_open;
            let opens = !stream.is_host() && !of.is_open;
            let ends_line = !stream.is_host() && of.is_line_begun;
            let key = (is_late, !ends_line, of.programs + u32::from(opens), nth);
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        match best {
            // A LUN that is behind opens a block only if no other one can.
            Some((true, ..)) if any_unlisted => Placed::NotListed,
            Some((.., nth)) => Placed::On(at(nth)),
            None if any_unlisted => Placed::NotListed,
            None => Placed::Nowhere,
        }
    }
    /// A page of a stream went to this LUN.
    pub(super) fn placed(&self, stream: Stream, lun: LunIndex) {
        if let Some(at) = self.order.iter().position(|&of| of == lun) {
            self.cursor(stream).set((at + 1) % self.order.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const HOST: Stream = Stream::Host(0);
    const OPEN: Offer = Offer { is_open: true, is_line_begun: false, free: 3, listed: 3, programs: 0 };
    const CLOSED: Offer = Offer { is_open: false, ..OPEN };

    fn stripes() -> Striping {
        Striping::new([0, 2, 1, 3].map(LunIndex).into())
    }
    fn chosen(striping: &Striping, stream: Stream, offers: [Offer; 4]) -> Placed {
        striping.choose(stream, |lun| offers[lun.index()])
    }

    #[test]
    fn pages_of_the_host_go_round_the_stripe() {
        let (striping, mut luns) = (stripes(), Vec::new());
        for _ in 0..6 {
            let Placed::On(lun) = chosen(&striping, HOST, [OPEN, CLOSED, OPEN, OPEN]) else { panic!() };
            striping.placed(HOST, lun);
            luns.push(lun.0);
        }
        assert_eq!(luns, vec![0, 2, 1, 3, 0, 2]);
    }

    #[test]
    fn a_busy_lun_is_passed_over() {
        let busy = Offer { programs: 2, ..OPEN };
        assert_eq!(chosen(&stripes(), HOST, [busy, OPEN, busy, busy]), Placed::On(LunIndex(1)));
        assert_eq!(chosen(&stripes(), HOST, [busy; 4]), Placed::On(LunIndex(0)));
    }

    #[test]
    fn a_lun_that_is_behind_opens_no_block_until_it_has_caught_up() {
        let behind = Offer { free: 1, ..CLOSED };
        assert_eq!(chosen(&stripes(), HOST, [behind, CLOSED, behind, CLOSED]), Placed::On(LunIndex(1)));
        let written = Offer { free: 1, ..OPEN };
        assert_eq!(chosen(&stripes(), HOST, [written, CLOSED, behind, CLOSED]), Placed::On(LunIndex(0)));
    }

    #[test]
    fn what_the_log_does_not_list_is_not_opened() {
        let unlisted = Offer { listed: 0, ..CLOSED };
        let none = Offer { free: 0, listed: 0, ..CLOSED };
        assert_eq!(chosen(&stripes(), HOST, [unlisted, unlisted, CLOSED, none]), Placed::On(LunIndex(2)));
        assert_eq!(chosen(&stripes(), HOST, [unlisted, none, none, none]), Placed::NotListed);
        let behind = Offer { free: 1, listed: 1, ..CLOSED };
        assert_eq!(chosen(&stripes(), HOST, [unlisted, behind, none, none]), Placed::NotListed);
        assert_eq!(chosen(&stripes(), HOST, [none; 4]), Placed::Nowhere);
    }

    #[test]
    fn copies_complete_a_line_and_open_a_block_only_where_all_others_are_busy() {
        let busy = Offer { programs: 1, ..OPEN };
        let full = Offer { programs: 2, ..OPEN };
        let begun = Offer { is_line_begun: true, programs: 3, ..OPEN };
        assert_eq!(chosen(&stripes(), Stream::Gc, [CLOSED, OPEN, CLOSED, busy]), Placed::On(LunIndex(1)));
        assert_eq!(chosen(&stripes(), Stream::Gc, [full, full, full, CLOSED]), Placed::On(LunIndex(3)));
        assert_eq!(chosen(&stripes(), Stream::Gc, [OPEN, OPEN, CLOSED, begun]), Placed::On(LunIndex(3)));
    }
}
