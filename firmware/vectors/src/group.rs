//! What a command does at the same page of several lanes of an array controller: one operation of theirs
//! (H2, G24).

use aster_ports::flash::{Flags, FlashPort, FlashRequest, TOGETHER_MAX, Tag};
use aster_units::{Geometry, PageInBlock};

/// Requests that are submitted together, or a single one.
pub(crate) struct Group {
    page: PageInBlock,
    /// In the order of their LUNs, as the port takes them.
    requests: [FlashRequest; TOGETHER_MAX],
    /// As which one each has joined.
    joined: [u8; TOGETHER_MAX],
    count: usize,
}

impl Group {
    /// A request for `page` of its block.
    pub fn of(request: FlashRequest, page: PageInBlock) -> Self {
        Group { page, requests: [request; TOGETHER_MAX], joined: [0; TOGETHER_MAX], count: 1 }
    }
    /// The requests, in the order of their LUNs.
    pub fn requests(&self) -> &[FlashRequest] {
        &self.requests[..self.count]
    }
    /// Submits the requests together, of which there are several. Returns their tags in the order in which
    /// they joined; `None` if the port has no room.
    pub fn send(&self, port: &FlashPort) -> Option<impl Iterator<Item = Tag> + use<>> {
        let (mut tags, mut joined) = ([None; TOGETHER_MAX], self.joined.iter());
        let room = port.submit_together(self.requests(), |tag| {
            let place = *joined.next().expect("a tag for each request");
            tags[usize::from(place)] = Some(tag);
        });
        room.then(|| tags.into_iter().flatten())
    }
    /// Adds a request if it is for the same page of the same die on another lane of the same controller. Each
    /// lane has its own block. A write names the lane of the sum last, wherever it is.
    pub fn join(
        &mut self,
        request: &FlashRequest,
        page: PageInBlock,
        lanes: u8,
        geometry: &Geometry,
    ) -> bool {
        let first = &self.requests[0];
        let plain = |r: &FlashRequest| r.targets().len() == 1 && r.flags == Flags::default();
        let place = |r: &FlashRequest| geometry.lun_addr(r.lun);
        let (own, other) = (place(first), place(request));
        let controller = |channel: u16| channel.checked_div(lanes.into());
        let at = self.requests().partition_point(|r| r.lun.0 < request.lun.0);
        let joins = self.count < TOGETHER_MAX
            && controller(own.channel).is_some()
            && controller(own.channel) == controller(other.channel)
            && self.requests().get(at).is_none_or(|r| r.lun != request.lun)
            && (own.way, own.lun, self.page) == (other.way, other.lun, page)
            && first.phase == request.phase
            && plain(first)
            && plain(request);
        if joins {
            self.requests.copy_within(at..self.count, at + 1);
            self.joined.copy_within(at..self.count, at + 1);
            (self.requests[at], self.joined[at]) = (*request, self.count as u8);
            self.count += 1;
        }
        joins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use aster_exec::Exec;
    use aster_ports::cores::Interrupt;
    use aster_ports::flash::{FlashOp, Target};
    use aster_units::{BufferId, LunAddr, RowAddr, SectorRange};

    const GEOMETRY: Geometry = Geometry {
        channels: 8,
        ways: 1,
        luns: 2,
        planes: 2,
        blocks_per_lun: 24,
        pages_per_block: 8,
        page_bytes: 16_384,
        spare_bytes: 1_216,
    };

    fn request(channel: u16, die: u8, targets: usize) -> FlashRequest {
        let lun = GEOMETRY.lun_index(LunAddr { channel, way: 0, lun: die });
        let row = RowAddr(u32::from(channel) * 100);
        let target = Target { row, sectors: SectorRange::whole(4), buffer: BufferId(0) };
        FlashRequest::vector(FlashOp::Program, lun, &[target; 2][..targets]).expect("few targets")
    }
    /// Whether page 5 of channel 1 and another page are one operation.
    fn joins(other: &FlashRequest, page: u16, lanes: u8) -> bool {
        let mut group = Group::of(request(1, 0, 1), PageInBlock(5));
        let joined = group.join(other, PageInBlock(page), lanes, &GEOMETRY);
        assert_eq!(group.requests().len(), 1 + usize::from(joined));
        joined
    }

    #[test]
    fn the_same_page_of_the_same_die_on_another_lane_of_a_controller_joins() {
        assert!(joins(&request(2, 0, 1), 5, 4));
        assert!(joins(&request(0, 0, 1), 5, 4), "an earlier lane");
        assert!(joins(&request(4, 0, 1), 5, 8), "a lane may be left out");
        let refused = [
            ("channels are no lanes", request(2, 0, 1), 5, 0),
            ("another controller", request(4, 0, 1), 5, 4),
            ("another page", request(2, 0, 1), 6, 4),
            ("another die", request(2, 1, 1), 5, 4),
            ("the same lane", request(1, 0, 1), 5, 4),
            ("two planes", request(2, 0, 2), 5, 4),
            ("with a flag", slc(request(2, 0, 1)), 5, 4),
        ];
        for (why, other, page, lanes) in refused {
            assert!(!joins(&other, page, lanes), "{why}");
        }
    }

    /// The sum of a row is the last one, and may be on any lane.
    #[test]
    fn requests_are_in_the_order_of_lanes_and_their_tags_in_that_of_joining() {
        let mut group = Group::of(request(1, 0, 1), PageInBlock(5));
        let join = |group: &mut Group, lane| group.join(&request(lane, 0, 1), PageInBlock(5), 8, &GEOMETRY);
        assert!([3, 6, 2, 0].into_iter().all(|lane| join(&mut group, lane)));
        assert!((0..8).filter(|lane| ![4, 5, 7].contains(lane)).all(|lane| !join(&mut group, lane)));
        let lanes: Vec<_> = group.requests().iter().map(|r| GEOMETRY.lun_addr(r.lun).channel).collect();
        assert_eq!(lanes, [0, 1, 2, 3, 6]);
        let port = FlashPort::new(&Exec::new(), GEOMETRY.total_luns(), 8, Interrupt::default());
        let sent: Vec<_> = group.send(&port).expect("room for all").collect();
        let tag = |lane| port.try_next(request(lane, 0, 1).lun, |_| 0).expect("one waits").0;
        assert_eq!(sent, [1, 3, 6, 2, 0].map(tag));
        assert!(group.send(&port).is_none(), "three slots are free");
    }

    fn slc(mut request: FlashRequest) -> FlashRequest {
        request.flags.slc = true;
        request
    }
}
