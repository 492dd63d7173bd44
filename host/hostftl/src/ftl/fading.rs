//! Which groups hold data that fade (H32).
//!
//! Each read of a page disturbs all pages of its block a little, so the block of a group that was read most
//! often counts. And reads tell how many bits the ECC has corrected. Data that were moved for that may have
//! as many wrong bits in their new place, if its cells are worn: the next limit is then higher, unless the
//! first reads there found few ([`Refresh::limit`]). All of it lies in memory and is lost with the host's
//! power.

use aster_parties::Refresh;
use aster_wire::array::LANES_MAX;

/// Reads of each page of a group, on the average, that tell whether a move to it has helped.
const READS_A_PAGE: u64 = 2;

/// What reads have told of a group since it was erased.
#[derive(Clone, Copy, Default)]
pub(super) struct Fading {
    /// Reads of pages of each lane's block.
    reads: [u32; LANES_MAX],
    /// How often what lies here was moved for its wrong bits.
    moves: u8,
    /// Its data are to be written anew, and whether that is for their wrong bits.
    due: bool,
    for_bits: bool,
    /// It holds moved data, and a page of it has as many wrong bits as one that is moved for the first time.
    bad_as_before: bool,
}

impl Fading {
    /// A page of this lane's block is being read; the group has so many pages. Whether its block has been
    /// read so often that the data of the group are to be written anew.
    pub fn count_read(&mut self, lane: u8, pages: u32, limits: &Refresh) -> bool {
        let reads = &mut self.reads[usize::from(lane)];
        *reads = reads.saturating_add(1);
        let is_due = limits.reads > 0 && *reads >= limits.reads;
        if self.moves > 0 && !self.bad_as_before {
            let all: u64 = self.reads.into_iter().map(u64::from).sum();
            if all >= READS_A_PAGE * u64::from(pages) {
                self.moves = 0;
            }
        }
        is_due
    }
    /// A read of a page has corrected so many bits in a chunk. Whether the data of the group are to be
    /// written anew.
    pub fn corrected(&mut self, bits: u8, limits: &Refresh) -> bool {
        self.bad_as_before |= self.moves > 0 && limits.is_faded(bits);
        let is_due = limits.limit(self.moves).is_some_and(|limit| bits >= limit);
        self.for_bits |= is_due;
        is_due
    }
    /// How often data that are copied out of it have been moved for their wrong bits then.
    pub fn moves_out(&self) -> u8 {
        self.moves.saturating_add(self.for_bits.into())
    }
    /// Data are copied into it that have been moved so often.
    pub fn moved_in(&mut self, moves: u8) {
        self.moves = self.moves.max(moves);
    }
    /// Whether its data are to be written anew.
    pub fn is_due(&self) -> bool {
        self.due
    }
    /// Its data are to be written anew, or not any more. Whether that is news.
    pub fn set_due(&mut self, due: bool) -> bool {
        core::mem::replace(&mut self.due, due) != due
    }
    /// The reads of the block that was read most often.
    pub fn reads(&self) -> u32 {
        self.reads.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::driver::ArrayInfo;
    use crate::ftl::frontier::{Frontier, Stream};
    use crate::ftl::groups::{GroupPlace, GroupState, Groups};
    use alloc::vec::Vec;
    use aster_parties::Refresh;

    const INFO: ArrayInfo =
        ArrayInfo { channels: 1, lanes: 2, dies: 1, planes: 1, blocks: 4, pages: 3, sectors: 1 };
    const READS: u32 = 10;
    const FIRST: GroupPlace = GroupPlace { channel: 0, die: 0, group: 0 };

    /// Groups of which so many have been opened, and closed but for the last one.
    fn groups(opened: u16) -> (Groups, Frontier) {
        let refresh = Refresh { reads: READS, ..Refresh::default() };
        let mut groups = Groups::first(&INFO, |_, _, _, _| false).refreshed(refresh);
        let mut frontier = Frontier::new(&INFO);
        for _ in 0..(opened - 1) * 6 + 1 {
            let page = frontier.next(&mut groups, Stream::Host, 0).unwrap().at;
            groups.begin(page);
            groups.end(page);
            groups.gained(page);
        }
        (groups, frontier)
    }
    /// Reads a page of a lane so often. Returns which of the reads made its group due.
    fn read(groups: &mut Groups, at: GroupPlace, lane: u8, times: u32) -> Vec<u32> {
        (1..=times).filter(|_| groups.count_read(at.page(1, lane))).collect()
    }
    fn of(group: u16) -> GroupPlace {
        GroupPlace { group, ..FIRST }
    }

    /// H32: the limit is one of a block, and the counter is 0 after an erase.
    #[test]
    fn a_group_is_due_when_one_of_its_blocks_was_read_so_often_and_not_again_once_it_is_erased() {
        let (mut groups, _) = groups(2);
        assert_eq!(read(&mut groups, FIRST, 0, READS - 1), []);
        assert_eq!(read(&mut groups, FIRST, 1, READS - 1), [], "reads of two blocks aren't added up");
        assert_eq!((groups.most_reads(), groups.fading()), (READS - 1, None));
        assert_eq!(read(&mut groups, FIRST, 1, 5), [1], "it is due once");
        assert_eq!(groups.fading(), Some(FIRST));
        groups.erased(FIRST);
        assert_eq!((groups.most_reads(), groups.fading()), (0, None));
        assert_eq!(read(&mut groups, FIRST, 0, READS), [READS]);
        // There was no room.
        groups.leave(FIRST);
        assert_eq!(groups.fading(), None);
        assert_eq!(read(&mut groups, FIRST, 0, 1), [1]);
    }

    #[test]
    fn groups_that_were_closed_first_come_first_and_an_open_one_when_it_was_closed() {
        let (mut groups, mut frontier) = groups(3);
        for group in [2, 1, 0] {
            read(&mut groups, of(group), 0, READS);
        }
        assert_eq!((groups.fading(), groups.fading_open()), (Some(FIRST), Some(of(2))));
        groups.erased(FIRST);
        assert_eq!(groups.fading(), Some(of(1)));
        groups.erased(of(1));
        assert_eq!(groups.fading(), None, "it is being written");
        frontier.abandon(&mut groups, of(2));
        assert_eq!((groups.fading(), groups.fading_open()), (Some(of(2)), None));
        // Not as long as a page of it is on its way.
        groups.begin(of(2).page(0, 1));
        assert_eq!(groups.fading(), None);
    }

    #[test]
    fn what_holds_nothing_does_not_fade() {
        let (mut groups, mut frontier) = groups(2);
        assert_eq!(read(&mut groups, of(3), 0, READS), []);
        assert_eq!(groups.state(of(3)), GroupState::Free);
        read(&mut groups, FIRST, 0, READS);
        frontier.reset();
        groups.forget_all();
        assert_eq!((groups.fading(), groups.fading_open()), (None, None));
        assert_eq!(read(&mut groups, FIRST, 0, READS), []);
        // The count of those that are due is right: as many erases as groups.
        (0..4).for_each(|group| groups.erased(of(group)));
        assert_eq!(groups.fading(), None);
    }

    /// Groups that are refreshed from 8 corrected bits of 16 on, of which the first is closed.
    fn by_bits() -> Groups {
        groups(2).0.refreshed(Refresh { corrected: 8, correctable: 16, reads: 0 })
    }

    /// H32: the second trigger, for closed and for open groups.
    #[test]
    fn a_group_is_due_when_a_read_of_it_has_corrected_so_many_bits() {
        let mut groups = by_bits();
        assert!(!groups.corrected(FIRST, 7) && groups.corrected(FIRST, 8) && !groups.corrected(FIRST, 9));
        assert_eq!(groups.fading(), Some(FIRST));
        assert!(groups.corrected(of(1), u8::MAX));
        assert_eq!(groups.fading_open(), Some(of(1)));
        assert!(!groups.corrected(of(3), 16), "it holds nothing");
        let mut never = by_bits().refreshed(Refresh { corrected: 0, correctable: 16, reads: 0 });
        assert!(!never.corrected(FIRST, 16));
    }

    #[test]
    fn each_move_for_bits_halves_the_margin_until_the_first_reads_show_that_it_has_helped() {
        for (bits, limit) in [(7, 8), (8, 12)] {
            let mut groups = by_bits();
            assert_eq!(groups.moves_out(FIRST), 0, "it isn't moved for its bits");
            assert!(groups.corrected(FIRST, 8));
            assert_eq!(groups.moves_out(FIRST), 1);
            // Its data go there, among others.
            groups.moved_in(of(1), 1);
            groups.moved_in(of(1), 0);
            assert!(!groups.corrected(of(1), bits));
            // Two of each of six pages.
            assert_eq!(groups.moves_out(of(1)), 1);
            read(&mut groups, of(1), 0, 6);
            assert_eq!(groups.moves_out(of(1)), 1);
            read(&mut groups, of(1), 1, 6);
            assert_eq!(groups.moves_out(of(1)), u8::from(bits == 8));
            assert!(!groups.corrected(of(1), limit - 1) && groups.corrected(of(1), limit), "{bits} bits");
            groups.erased(of(1));
            assert_eq!(groups.moves_out(of(1)), 0);
        }
    }
}
