//! Which LUN of a pool the next page goes to.
//!
//! In a pool of one LUN there is no choice. In a pool of several, a page goes to the next LUN of the stripe
//! that has room for it and the shortest queue of programs. A LUN that has fewer free blocks than others by
//! two opens none until it has caught up.
//!
//! Copies have a stripe of their own. Those of young victims and those of old ones
//! ([`Age`](crate::blocks::ages::Age)) lie in different blocks, and share one only where no LUN has a free
//! block for them without being behind. They begin a block in a further LUN only when all LUNs in which they
//! have one are busy, and leave a free block to those of the other age that need it. They complete a word
//! line before they begin another.

use crate::terms::block::Stream;
use alloc::boxed::Box;
use aster_units::LunIndex;
use core::cell::Cell;

/// How many free blocks less than another a LUN may have to open one.
const BEHIND_MAX: usize = 1;

/// What there is to know of the LUNs of a pool when a page of a stream is placed.
pub(super) trait Luns {
    /// Whether the stream has a block open there.
    fn is_open(&self, lun: LunIndex) -> bool;
    /// Whether it has begun a word line there.
    fn is_line_begun(&self, lun: LunIndex) -> bool;
    /// Whether the open block there has copies of the other age.
    fn is_of_other_age(&self, lun: LunIndex) -> bool;
    /// Programs in flight.
    fn programs(&self, lun: LunIndex) -> u32;
    /// Whether the stream may open a block of the pool.
    fn may_open(&self) -> bool;
    /// Whether it may open one though it has others: for copies, if one is left to those of the other age
    /// that need it.
    fn may_open_further(&self) -> bool;
    /// Whether the log will list free blocks that it doesn't list yet.
    fn is_logged(&self) -> bool;
    /// Free blocks.
    fn free(&self, lun: LunIndex) -> usize;
    /// Those of them that the log lists.
    fn listed(&self, lun: LunIndex) -> usize;
}

/// Where a page can go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placed {
    On(LunIndex),
    /// To a block that the log must list first.
    NotListed,
    Nowhere,
}

/// What decides between two LUNs: the smaller one is chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The LUN would have to open a block though it has fewer free ones than others.
    is_late: bool,
    /// Its open block has copies of the other age.
    is_mixed: bool,
    ends_no_line: bool,
    /// Programs in flight. For copies, a block to be opened counts as one.
    programs: u32,
    /// The place in the stripe.
    nth: usize,
    lun: LunIndex,
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
    ///
    /// Each program asks for it. So LUNs in which the stream has a block open are looked at first, and
    /// whether it may open one in another is asked only if there is another.
    pub(super) fn choose(&self, stream: Stream, of: &impl Luns) -> Placed {
        let begin = self.cursor(stream).get();
        let (before, after) = self.order.split_at(begin);
        let in_order = || after.iter().chain(before).copied().enumerate();
        let is_host = stream.is_host();
        let (mut best, mut may_open, mut has_any) = (None, None, false);
        let mut better = |key| best = Some(best.map_or(key, |best: Key| best.min(key)));
        for (nth, lun) in in_order() {
            if of.is_open(lun) {
                let (ends_line, programs) = (!is_host && of.is_line_begun(lun), of.programs(lun));
                let is_mixed = !is_host && of.is_of_other_age(lun);
                better(Key { is_late: false, is_mixed, ends_no_line: !ends_line, programs, nth, lun });
                if programs == 0 && !is_mixed && (ends_line || is_host) && may_open != Some(true) {
                    return Placed::On(lun);
                }
                has_any |= !is_mixed;
            } else if may_open.is_none() && of.free(lun) > 0 {
                may_open = Some(of.may_open());
            }
        }
        let mut any_unlisted = false;
        if may_open == Some(true) && (!has_any || of.may_open_further()) {
            let most = self.order.iter().map(|&lun| of.free(lun)).max().unwrap_or(0);
            for (nth, lun) in in_order().filter(|&(_, lun)| !of.is_open(lun)) {
                let (free, is_listed) = (of.free(lun), of.listed(lun) > 0);
                let is_late = free + BEHIND_MAX < most;
                any_unlisted |= free > 0 && !is_late && !is_listed;
                if free > 0 && is_listed {
                    let programs = of.programs(lun) + u32::from(!is_host);
                    better(Key { is_late, is_mixed: false, ends_no_line: true, programs, nth, lun });
                }
            }
        }
        match best {
            // A LUN that is behind opens a block only if no other one can.
            Some(Key { is_late: true, .. }) | None if any_unlisted => Placed::NotListed,
            // Rather than lie beside those of the other age, copies wait for the log.
            Some(Key { is_mixed: true, .. }) if any_unlisted && of.is_logged() => Placed::NotListed,
            Some(Key { lun, .. }) => Placed::On(lun),
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
    use aster_units::Rng;
    use std::vec;
    use std::vec::Vec;

    const HOST: Stream = Stream::Host(0);
    const OPEN: Offer = Offer {
        is_open: true,
        is_line_begun: false,
        is_of_other_age: false,
        is_logged: true,
        free: 3,
        listed: 3,
        programs: 0,
    };
    const CLOSED: Offer = Offer { is_open: false, ..OPEN };

    /// What a LUN has. A stream may open its free blocks.
    #[derive(Clone, Copy, Debug)]
    struct Offer {
        is_open: bool,
        is_line_begun: bool,
        is_of_other_age: bool,
        is_logged: bool,
        free: usize,
        listed: usize,
        programs: u32,
    }

    impl<const N: usize> Luns for [Offer; N] {
        fn is_open(&self, lun: LunIndex) -> bool {
            self[lun.index()].is_open
        }
        fn is_line_begun(&self, lun: LunIndex) -> bool {
            self[lun.index()].is_line_begun
        }
        fn is_of_other_age(&self, lun: LunIndex) -> bool {
            self[lun.index()].is_of_other_age
        }
        fn programs(&self, lun: LunIndex) -> u32 {
            self[lun.index()].programs
        }
        fn may_open(&self) -> bool {
            true
        }
        fn may_open_further(&self) -> bool {
            // Three blocks are enough for copies of both ages.
            self.iter().map(|of| of.free).sum::<usize>() > 2
        }
        fn is_logged(&self) -> bool {
            self[0].is_logged
        }
        fn free(&self, lun: LunIndex) -> usize {
            self[lun.index()].free
        }
        fn listed(&self, lun: LunIndex) -> usize {
            self[lun.index()].listed
        }
    }

    /// All that is known of all LUNs, compared at once.
    fn by_comparing_all(striping: &Striping, stream: Stream, offers: [Offer; 4]) -> Placed {
        let begin = striping.cursor(stream).get();
        let at = |nth: usize| striping.order[(begin + nth) % 4];
        let most = offers.iter().map(|of| of.free).max().unwrap();
        let is_host = stream.is_host();
        let has_any = offers.iter().any(|of| of.is_open && (is_host || !of.is_of_other_age));
        let may_open_any = !has_any || offers.may_open_further();
        let (mut best, mut any_unlisted) = (None, false);
        for nth in 0..4 {
            let of = offers[at(nth).index()];
            let may_open = of.free > 0 && of.free + BEHIND_MAX >= most;
            any_unlisted |= may_open_any && !of.is_open && may_open && of.listed == 0;
            if !of.is_open && (of.free == 0 || of.listed == 0 || !may_open_any) {
                continue;
            }
            let is_late = !of.is_open && !may_open;
            let opens = !is_host && !of.is_open;
            let ends_line = !is_host && of.is_open && of.is_line_begun;
            let is_mixed = !is_host && of.is_open && of.is_of_other_age;
            let key = (is_late, is_mixed, !ends_line, of.programs + u32::from(opens), nth);
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        match best {
            Some((true, ..)) if any_unlisted => Placed::NotListed,
            Some((_, true, ..)) if any_unlisted && offers.is_logged() => Placed::NotListed,
            Some((.., nth)) => Placed::On(at(nth)),
            None if any_unlisted => Placed::NotListed,
            None => Placed::Nowhere,
        }
    }

    #[test]
    fn looking_at_open_blocks_first_changes_no_choice() {
        let (mut rng, mut seen) = (Rng::new(5), [0; 3]);
        for _ in 0..50_000 {
            let striping = stripes();
            let stream = [HOST, Stream::Gc][rng.below(2) as usize];
            striping.placed(stream, LunIndex(rng.below(4) as u32));
            let is_logged = rng.below(4) > 0;
            let offers = [(); 4].map(|()| {
                let (is_open, free) = (rng.below(4) == 0, rng.below(3) as usize);
                Offer {
                    is_open,
                    is_line_begun: is_open && rng.below(3) == 0,
                    is_of_other_age: is_open && rng.below(2) == 0,
                    is_logged,
                    free,
                    listed: rng.below(free as u64 + 1) as usize,
                    programs: rng.below(3) as u32,
                }
            });
            let placed = chosen(&striping, stream, offers);
            assert_eq!(placed, by_comparing_all(&striping, stream, offers), "{stream:?}, {offers:?}");
            seen[match placed {
                Placed::On(_) => 0,
                Placed::NotListed => 1,
                Placed::Nowhere => 2,
            }] += 1;
        }
        assert!(seen.into_iter().all(|times| times > 20), "{seen:?}");
    }

    fn stripes() -> Striping {
        Striping::new([0, 2, 1, 3].map(LunIndex).into())
    }
    fn chosen(striping: &Striping, stream: Stream, offers: [Offer; 4]) -> Placed {
        striping.choose(stream, &offers)
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

    #[test]
    fn copies_of_two_ages_share_a_block_only_where_there_is_no_other_room() {
        let other = Offer { is_of_other_age: true, ..OPEN };
        let busy = Offer { programs: 5, ..OPEN };
        let none = Offer { free: 0, listed: 0, ..CLOSED };
        let unlisted = Offer { listed: 0, ..CLOSED };
        let copies = |offers| chosen(&stripes(), Stream::Gc, offers);
        assert_eq!(copies([other, none, busy, other]), Placed::On(LunIndex(2)));
        assert_eq!(copies([other, CLOSED, other, other]), Placed::On(LunIndex(1)));
        assert_eq!(copies([other, unlisted, other, other]), Placed::NotListed);
        let ended = Offer { is_logged: false, ..other };
        assert_eq!(copies([ended, unlisted, other, other]), Placed::On(LunIndex(0)));
        assert_eq!(copies([Offer { programs: 1, ..other }, none, other, none]), Placed::On(LunIndex(2)));
        // The only free blocks are left to copies of the other age.
        let free = |of: Offer| Offer { free: 0, listed: 0, ..of };
        let two = Offer { free: 2, listed: 2, ..CLOSED };
        assert_eq!(copies([free(busy), two, none, none]), Placed::On(LunIndex(0)));
        assert_eq!(copies([free(busy), CLOSED, none, none]), Placed::On(LunIndex(1)));
        // To the host all blocks are alike.
        assert_eq!(chosen(&stripes(), HOST, [other, OPEN, OPEN, OPEN]), Placed::On(LunIndex(0)));
    }
}
