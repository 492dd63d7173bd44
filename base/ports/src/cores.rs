//! I4: core ↔ core. Work crosses between cores through ring pairs in shared memory (S16): the lanes and
//! slots of [`crate::flash::FlashPort`]. An inter-processor interrupt, which takes time, notifies the
//! receiver.

use aster_exec::{Exec, WaitCell};
use aster_units::Duration;

/// How one core notifies another: by an inter-processor interrupt with this latency, which is zero when
/// both ends run on one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// From raising it to the other core's handler.
    pub latency: Duration,
}

/// How the two sides of a pair of rings notify each other (S16): the requesting side of an entry in the
/// available ring, the other side of one in the used ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Raised for each request. `None` if the other side polls the available ring.
    pub on_submit: Option<Interrupt>,
    /// Raised for each result.
    pub on_complete: Interrupt,
}

impl Notice {
    /// The side that serves requests polls for them, and raises `on_complete` for its results.
    pub const fn polled(on_complete: Interrupt) -> Self {
        Notice { on_submit: None, on_complete }
    }
}

/// The same interrupt both ways.
impl From<Interrupt> for Notice {
    fn from(both: Interrupt) -> Self {
        Notice { on_submit: Some(both), on_complete: both }
    }
}

/// What a pair of rings has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounts {
    /// Requests.
    pub entries: u64,
    /// The most requests in flight at once.
    pub highest: u16,
    /// Interrupts to the side that serves requests.
    pub submit_interrupts: u64,
    /// Interrupts to the requesting side.
    pub complete_interrupts: u64,
}

impl Interrupt {
    /// Wakes the one task that waits on `cell`.
    #[inline]
    pub fn raise(self, exec: &Exec, cell: &WaitCell) {
        if self.latency.is_zero() {
            cell.wake(exec);
        } else {
            cell.wake_at(exec, exec.now() + self.latency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FlashOp, FlashPort, FlashRequest, Outcome, Target};
    use alloc::rc::Rc;
    use aster_units::{BufferId, Instant, LunIndex, RowAddr, SectorRange};
    use core::cell::Cell;

    /// S16: the serving side polls, so no interrupt goes to it; its results come with one.
    #[test]
    fn a_polled_ring_tells_only_the_requesting_side_and_after_the_interrupts_latency() {
        let exec = Exec::new();
        let latency = Duration::from_nanos(200);
        let port = FlashPort::new(&exec, 1, 2, Notice::polled(Interrupt { latency }));
        let (serving, polls) = (Rc::clone(&port), Rc::new(Cell::new(0)));
        let count = Rc::clone(&polls);
        exec.spawn(async move {
            serving.next(LunIndex(0), |_| 0).await;
            count.set(count.get() + 1);
        });
        let answered = Rc::new(Cell::new(None));
        let (asking, seen) = (Rc::clone(&port), Rc::clone(&answered));
        exec.spawn(async move {
            let target = Target { row: RowAddr(7), sectors: SectorRange::whole(1), buffer: BufferId(0) };
            asking.call(FlashRequest::single(FlashOp::Erase, LunIndex(0), target)).await;
            seen.set(Some(asking.exec().now()));
        });
        exec.advance_to(Instant::from_picos(1_000_000));
        assert_eq!(polls.get(), 0, "whoever waits instead of polling is told nothing");
        let (tag, _) = port.try_next(LunIndex(0), |_| 0).expect("the entry is there for a poll");
        port.complete(tag, [Outcome::default(); 4]);
        exec.advance_to(Instant::from_picos(2_000_000));
        assert_eq!(answered.get(), Some(Instant::from_picos(1_200_000)));
        let counts = port.counts();
        assert_eq!((counts.submit_interrupts, counts.complete_interrupts), (0, 1));
        exec.shut_down();
    }
}
