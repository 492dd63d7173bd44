//! The channels: their ways, how many of them work, and what could be issued next.

use crate::cosmos::priority::{Candidate, PriorityManager};
use crate::loop_operation::OperationKind;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Geometry, LunAddr, LunIndex};

/// The channels, and the candidates of the channel that the issuer looks at.
pub(super) struct Channels {
    geometry: Geometry,
    /// Busy ways of each channel.
    working: Vec<u32>,
    priorities: PriorityManager,
    candidates: Vec<Candidate>,
}

impl Channels {
    pub fn new(geometry: &Geometry) -> Self {
        Channels {
            geometry: *geometry,
            working: vec![0; usize::from(geometry.channels)],
            priorities: PriorityManager::new(geometry.channels, geometry.ways),
            candidates: Vec::with_capacity(usize::from(geometry.ways)),
        }
    }
    #[inline]
    pub fn count(&self) -> usize {
        self.working.len()
    }
    /// The LUNs of a channel's ways.
    #[inline]
    pub fn luns(&self, channel: usize) -> impl Iterator<Item = LunIndex> + use<> {
        let (geometry, channel) = (self.geometry, channel as u16);
        (0..geometry.ways).map(move |way| geometry.lun_index(LunAddr { channel, way, lun: 0 }))
    }
    /// The LUNs of all ways.
    pub fn all_luns(&self) -> impl Iterator<Item = LunIndex> {
        (0..self.geometry.total_luns()).map(LunIndex)
    }

    /// Busy ways of a channel.
    #[inline]
    pub fn working(&self, channel: usize) -> u32 {
        self.working[channel]
    }
    /// A way has been given an operation.
    #[inline]
    pub fn begin(&mut self, channel: usize) {
        self.working[channel] += 1;
        debug_assert!(self.working[channel] <= u32::from(self.geometry.ways), "more work than ways");
    }
    /// A way's operation has ended.
    #[inline]
    pub fn end(&mut self, channel: usize) {
        assert!(self.working[channel] > 0, "a way of channel {channel} ends, and none works");
        self.working[channel] -= 1;
    }

    /// Finds a channel's candidates: `next` says what could be issued to a way. Returns how many there are.
    #[inline]
    pub fn find(&mut self, channel: usize, next: impl Fn(LunIndex) -> Option<OperationKind>) -> usize {
        self.candidates.clear();
        for (way, lun) in self.luns(channel).enumerate() {
            if let Some(kind) = next(lun) {
                self.candidates.push(Candidate { way: way as u8, lun, kind });
            }
        }
        self.candidates.len()
    }
    /// Puts the channel's candidates in order; the first goes first.
    #[inline]
    pub fn order(&mut self, channel: usize) {
        self.priorities.order(channel, &mut self.candidates);
    }
    /// The candidate at this place.
    #[inline]
    pub fn candidate(&self, at: usize) -> Candidate {
        self.candidates[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        channels: 2,
        ways: 2,
        luns: 1,
        planes: 1,
        blocks_per_lun: 8,
        pages_per_block: 4,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };

    #[test]
    fn candidates_are_those_of_one_channel_and_go_in_the_order_of_their_priority() {
        let mut channels = Channels::new(&GEOMETRY);
        let ways: Vec<LunIndex> = channels.luns(1).collect();
        let way = |way| GEOMETRY.lun_index(LunAddr { channel: 1, way, lun: 0 });
        assert_eq!(ways, [0, 1].map(way));
        let next = |lun| Some(if lun == ways[0] { OperationKind::Write } else { OperationKind::ReadTrigger });
        assert_eq!(channels.find(1, next), 2);
        channels.order(1);
        assert_eq!([channels.candidate(0).lun, channels.candidate(1).lun], [ways[1], ways[0]]);
        assert_eq!(channels.find(0, |lun| ways.contains(&lun).then_some(OperationKind::Erase)), 0);
    }

    #[test]
    #[should_panic(expected = "a way of channel 1 ends, and none works")]
    fn no_more_ways_end_than_have_begun() {
        let mut channels = Channels::new(&GEOMETRY);
        channels.begin(0);
        channels.begin(1);
        channels.end(1);
        channels.end(1);
    }
}
