//! Requests that belong together: one operation on several lanes of an array controller (H2, G24).
//!
//! They go into their LUNs' rings in one moment, all of them or none. So any two groups are in the same order
//! in all rings that both are in, and no LUN takes two members out of that order
//! ([`FlashPort::try_next`]). A worker may therefore wait for those of the other lanes: the oldest group has
//! no other one before it anywhere.

use super::{FlashPort, Tag};
use crate::request::{Flags, FlashOp, FlashRequest};
use aster_exec::Fifo;
use aster_units::LunIndex;

/// The most requests that belong together: the lanes of an array controller.
pub const TOGETHER_MAX: usize = 8;

/// Requests that belong together, in the order of their LUNs.
#[derive(Clone, Copy)]
pub struct Together {
    members: [(Tag, FlashRequest); TOGETHER_MAX],
    count: u8,
}

impl Together {
    /// The requests.
    pub fn members(&self) -> &[(Tag, FlashRequest)] {
        &self.members[..usize::from(self.count)]
    }
}

impl FlashPort {
    /// Sends requests that belong together, and calls `sent` with the tag of each. Returns false, and sends
    /// none, if there are fewer free slots. A controller that knows no lanes serves each by itself, and so do
    /// all where programs wait for their code bits ([`FlashPort::divert_programs`]).
    ///
    /// # Panics
    /// If they aren't the same operation, a read, program or erase without flags, of one target each, for
    /// two to [`TOGETHER_MAX`] LUNs in their order.
    pub fn submit_together(&self, requests: &[FlashRequest], mut sent: impl FnMut(Tag)) -> bool {
        assert!((2..=TOGETHER_MAX).contains(&requests.len()), "a group of {}", requests.len());
        let plain = |r: &FlashRequest| r.targets().len() == 1 && r.flags == Flags::default();
        let phase = requests[0].phase;
        assert!(matches!(phase, FlashOp::Read | FlashOp::Program | FlashOp::Erase), "{}", phase.name());
        assert!(requests.iter().all(|r| r.phase == phase && plain(r)), "a group is one operation");
        assert!(requests.is_sorted_by(|a, b| a.lun.0 < b.lun.0), "each LUN once, in order");
        if self.room() < requests.len() {
            return false;
        }
        let links = self.encoded.get().is_none();
        let mut ends: Option<(Tag, Tag)> = None;
        for request in requests {
            let tag = self.submit(*request).expect("there is room for all");
            let (first, last) = ends.unwrap_or((tag, tag));
            if links {
                // A ring: the last one leads to the first.
                self.slots[last.index()].companion.set(Some(tag));
                self.slots[tag.index()].companion.set(Some(first));
            }
            ends = Some((first, tag));
            sent(tag);
        }
        true
    }
    /// Controller side: whether the request belongs together with others.
    #[inline]
    pub fn is_together(&self, tag: Tag) -> bool {
        self.slots[tag.index()].companion.get().is_some()
    }
    /// Controller side: the request and those that it belongs together with, none of which has been answered.
    pub fn together_with(&self, tag: Tag) -> Together {
        let mut together = Together { members: [(tag, self.request(tag)); TOGETHER_MAX], count: 1 };
        let mut next = self.slots[tag.index()].companion.get();
        while let Some(other) = next.filter(|other| *other != tag) {
            together.members[usize::from(together.count)] = (other, self.request(other));
            together.count += 1;
            next = self.slots[other.index()].companion.get();
        }
        let lun = |member: &(Tag, FlashRequest)| -> LunIndex { member.1.lun };
        together.members[..usize::from(together.count)].sort_unstable_by_key(lun);
        together
    }
    /// The place of the request to take from a ring if `chosen` was chosen. One that belongs together with
    /// others doesn't overtake another such; then it is the oldest one's turn.
    #[inline]
    pub(super) fn in_order_of_groups(&self, ring: &Fifo<Tag>, chosen: usize) -> usize {
        let is_together = |tag: &Tag| self.is_together(*tag);
        let overtakes = chosen > 0
            && ring.iter().nth(chosen).is_some_and(is_together)
            && ring.iter().take(chosen).any(is_together);
        if overtakes { 0 } else { chosen }
    }
}

#[cfg(test)]
mod tests {
    use crate::cores::Interrupt;
    use crate::flash::{FlashOp, FlashPort, FlashRequest, MAX_TARGETS, Outcome, Tag, Target};
    use alloc::rc::Rc;
    use alloc::vec::Vec;
    use aster_exec::Exec;
    use aster_units::{BufferId, LunIndex, RowAddr, SectorRange};

    fn one(phase: FlashOp, lun: u32, row: u32) -> FlashRequest {
        let target = Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer: BufferId(0) };
        FlashRequest::single(phase, LunIndex(lun), target)
    }
    fn port(depth: u16) -> Rc<FlashPort> {
        FlashPort::new(&Exec::new(), 4, depth, Interrupt::default())
    }
    fn send(port: &FlashPort, phase: FlashOp, luns: &[u32], row: u32) -> Option<Vec<Tag>> {
        let requests: Vec<_> = luns.iter().map(|lun| one(phase, *lun, row)).collect();
        let mut tags = Vec::new();
        port.submit_together(&requests, |tag| tags.push(tag)).then_some(tags)
    }
    /// The row of the request that LUN 0's worker takes if it wants the one at `index`.
    fn take(port: &FlashPort, index: usize) -> u32 {
        port.try_next(LunIndex(0), |_| index).expect("one waits").1.targets()[0].row.0
    }

    #[test]
    fn a_group_enters_whole_or_not_at_all() {
        let port = port(4);
        let single = port.submit(one(FlashOp::Read, 3, 9)).unwrap();
        assert_eq!(send(&port, FlashOp::Erase, &[0, 1, 2, 3], 1), None);
        assert_eq!(((0..3).map(|lun| port.queued(LunIndex(lun))).sum::<usize>(), port.room()), (0, 3));
        let tags = send(&port, FlashOp::Erase, &[0, 1, 3], 1).expect("room for three");
        for tag in &tags {
            let members: Vec<_> =
                port.together_with(*tag).members().iter().map(|(tag, of)| (*tag, of.lun.0)).collect();
            assert_eq!(members, [(tags[0], 0), (tags[1], 1), (tags[2], 3)]);
        }
        assert!(!port.is_together(single));
    }

    #[test]
    fn a_slot_forgets_its_group_with_the_answer() {
        let port = port(2);
        for tag in send(&port, FlashOp::Read, &[0, 1], 1).unwrap() {
            port.complete(tag, [Outcome::default(); MAX_TARGETS]);
            port.try_take(tag).expect("the answer");
        }
        assert!((0..2).all(|lun| !port.is_together(port.submit(one(FlashOp::Read, lun, 2)).unwrap())));
    }

    #[test]
    fn groups_keep_their_order_in_a_ring_and_single_requests_pass_them() {
        let port = port(16);
        port.submit(one(FlashOp::Erase, 0, 1)).unwrap();
        send(&port, FlashOp::Program, &[0, 1], 2).unwrap();
        send(&port, FlashOp::Read, &[0, 2], 3).unwrap();
        port.submit(one(FlashOp::Read, 0, 4)).unwrap();
        assert_eq!(take(&port, 3), 4, "a single read passes all");
        assert_eq!(take(&port, 2), 1, "a group passes no other one, and the oldest request goes");
        assert_eq!(take(&port, 1), 2);
        assert_eq!(take(&port, 0), 3);
    }

    /// A read that is begun ahead is carried out alone.
    #[test]
    fn no_read_of_a_group_is_begun_ahead() {
        let port = port(4);
        port.submit(one(FlashOp::Read, 0, 1)).unwrap();
        assert!(port.only_page_reads_wait(LunIndex(0)));
        send(&port, FlashOp::Read, &[0, 1], 2).unwrap();
        assert!(!port.only_page_reads_wait(LunIndex(0)));
    }

    /// Programs enter their rings one by one once they have their code bits, so groups could meet in another
    /// order there.
    #[test]
    fn where_programs_wait_for_code_bits_nothing_belongs_together() {
        let port = port(4);
        port.divert_programs();
        let tags = send(&port, FlashOp::Read, &[0, 1], 2).unwrap();
        assert!(tags.iter().all(|tag| !port.is_together(*tag)));
    }

    #[test]
    #[should_panic(expected = "each LUN once")]
    fn a_group_names_no_lun_twice() {
        send(&port(4), FlashOp::Read, &[1, 1], 0);
    }
}
