//! The other pages of a row, whose sum is a page that can't be read (H33).

use super::flash::{Flash, Records, SECTORS_MAX, Span, Ticket};
use super::oob::{RECORD_BYTES, SectorRecord};
use super::place::PagePlace;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, Ring};
use aster_units::BufferId;
use aster_wire::array::{LANES_MAX, NO_BLOCK, StatusCode};

/// Page buffers of a rebuilding: those of the other lanes.
pub(super) const BUFFERS: u32 = LANES_MAX as u32 - 1;

/// The other pages of a row, which are being read.
pub(super) struct Others {
    lane: u8,
    pub reads: Vec<(BufferId, Rc<Ticket>)>,
}

impl Others {
    /// Begins to read them, into page buffers from `first` on. `blocks` are those of the lanes of the page's
    /// row that may be read.
    pub fn read(flash: &Flash, at: PagePlace, blocks: impl Iterator<Item = (u8, u16)>, first: u32) -> Self {
        let others = blocks.filter(|&(lane, block)| block != NO_BLOCK && lane != at.lane);
        let read = |(buffer, (lane, block))| {
            let span = Span { page: PagePlace { lane, ..at }, block, first: 0, count: flash.sectors() };
            (BufferId(buffer), flash.read_all(span, BufferId(buffer)))
        };
        Others { lane: at.lane, reads: (first..).zip(others).map(read).collect() }
    }
    /// The records of the page, `None` for sectors that can't be had: one of the others can't be read, or
    /// they are no whole row. Pages that are erased belong to none. `each` is called with the buffer of each
    /// page that does.
    pub async fn records(&self, exec: &Exec, flash: &Flash, mut each: impl FnMut(BufferId)) -> Records {
        let mut sums: [Option<[u8; RECORD_BYTES]>; SECTORS_MAX] = [Some([0; RECORD_BYTES]); SECTORS_MAX];
        for (buffer, ticket) in &self.reads {
            let done = ticket.done(exec).await;
            if done.code == Ok(StatusCode::Erased) {
                continue;
            }
            each(*buffer);
            for (n, sum) in sums.iter_mut().enumerate().take(flash.sectors().into()) {
                *sum = sum.filter(|_| done.has(n as u8)).map(|mut sum| {
                    sum.iter_mut().zip(ticket.stored(n)).for_each(|(sum, byte)| *sum ^= byte);
                    sum
                });
            }
        }
        let record = |sum: Option<[u8; RECORD_BYTES]>| SectorRecord::decode(&sum?, flash.mark(self.lane));
        let mut records = Records::default();
        for (record_of, &sum) in records.iter_mut().zip(&sums).take(flash.sectors().into()) {
            *record_of = record(sum);
        }
        records
    }
}

/// One rebuilding after the other.
pub(super) struct Rebuilder {
    pub alone: Ring<()>,
    /// The first of its page buffers.
    pub first: u32,
}

impl Rebuilder {
    /// With page buffers from `first` on.
    pub fn new(first: u32) -> Self {
        Rebuilder { alone: Ring::new(1), first }
    }
}
