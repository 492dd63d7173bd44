//! The LUNs of a pool, as a stream that looks for its next page sees them.

use crate::blocks::ages::{Age, Ages};
use crate::blocks::striping::Luns;
use crate::space::free::FreeLists;
use crate::space::in_flight::InFlight;
use crate::space::open::OpenBlocks;
use crate::space::room::Room;
use crate::terms::block::{PoolIndex, Stream};
use aster_units::LunIndex;

/// What there is to know of a pool's LUNs for a stream.
pub(super) struct PoolLuns<'a> {
    pub(super) pool: PoolIndex,
    pub(super) stream: Stream,
    /// The age of the victim whose copies are placed.
    pub(super) age: Option<Age>,
    pub(super) ages: &'a Ages,
    pub(super) open: &'a OpenBlocks,
    pub(super) free: &'a FreeLists,
    pub(super) in_flight: &'a InFlight,
    pub(super) room: &'a Room,
}

impl Luns for PoolLuns<'_> {
    #[inline]
    fn is_open(&self, lun: LunIndex) -> bool {
        self.open.of(lun, self.stream).is_some()
    }
    #[inline]
    fn is_line_begun(&self, lun: LunIndex) -> bool {
        self.open.next_of_line(lun, self.stream).is_some()
    }
    #[inline]
    fn is_of_other_age(&self, lun: LunIndex) -> bool {
        self.age.is_some_and(|age| self.ages.in_lun(lun).is_some_and(|of| of != age))
    }
    #[inline]
    fn programs(&self, lun: LunIndex) -> u32 {
        self.in_flight.programs_in(lun)
    }
    fn may_open(&self) -> bool {
        self.room.may_open(self.pool, self.stream)
    }
    fn may_open_further(&self) -> bool {
        self.age.is_none_or(|age| {
            let left = usize::from(self.ages.is_other_without(self.pool, age));
            self.room.may_open_beside(self.pool, self.stream, left)
        })
    }
    fn is_logged(&self) -> bool {
        self.free.is_logged()
    }
    #[inline]
    fn free(&self, lun: LunIndex) -> usize {
        self.free.len(lun)
    }
    #[inline]
    fn listed(&self, lun: LunIndex) -> usize {
        self.free.listed(lun)
    }
}
