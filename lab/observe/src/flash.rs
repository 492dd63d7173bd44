use crate::LatencyHistogram;
use alloc::boxed::Box;
use alloc::vec;
use aster_events::{Event, EventSink};
use aster_units::{Duration, Instant, LunIndex};

/// What a flash operation does, with the numbers that events use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashKind {
    /// 0.
    Read,
    /// 1.
    Program,
    /// 2.
    Erase,
    /// 3.
    Other,
}

impl FlashKind {
    /// All kinds in the order of their numbers.
    pub const ALL: [FlashKind; 4] = [FlashKind::Read, FlashKind::Program, FlashKind::Erase, FlashKind::Other];

    const fn of_number(number: u8) -> Self {
        match number {
            0 => FlashKind::Read,
            1 => FlashKind::Program,
            2 => FlashKind::Erase,
            _ => FlashKind::Other,
        }
    }
    /// A word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            FlashKind::Read => "read",
            FlashKind::Program => "program",
            FlashKind::Erase => "erase",
            FlashKind::Other => "other",
        }
    }
}

/// The most operations of a LUN between issue and end: one and a read that starts behind it, or the pages
/// of a word line that is programmed in one shot.
const OPEN: usize = 3;

#[derive(Clone, Copy, Default)]
struct LunState {
    // In the order of issue.
    open: [Option<(Instant, u8, u32)>; OPEN],
    busy_until: Instant,
    operations: [u64; 4],
    busy: Duration,
}

impl LunState {
    /// When the operation that ends was issued.
    fn end(&mut self, kind: u8, row: u32) -> Option<Instant> {
        let is_it = |open: &Option<(Instant, u8, u32)>| open.is_some_and(|(_, k, r)| (k, r) == (kind, row));
        let at = self.open.iter().position(is_it)?;
        let (from, ..) = self.open[at].take()?;
        self.open[at..].rotate_left(1);
        Some(from)
    }
}

/// Flash operations from [`Event::FlashIssued`] to [`Event::FlashFinished`]: how long each kind takes
/// over the drive, and what each LUN did. A LUN carries out one operation at a time, except that it may
/// start a read while the page before is being transferred.
pub struct FlashSpans {
    luns: Box<[LunState]>,
    latencies: [LatencyHistogram; 4],
    unsuccessful: [u64; 4],
    lost: u64,
}

impl FlashSpans {
    /// For a drive of `luns` LUNs. All memory is allocated now.
    pub fn new(luns: u32) -> Self {
        FlashSpans {
            luns: vec![LunState::default(); luns as usize].into_boxed_slice(),
            latencies: Default::default(),
            unsuccessful: [0; 4],
            lost: 0,
        }
    }
    /// How long finished operations of a kind took, whatever their status.
    pub fn latency(&self, kind: FlashKind) -> &LatencyHistogram {
        &self.latencies[kind as usize]
    }
    /// Operations of a kind that ended with a status other than done.
    pub fn unsuccessful(&self, kind: FlashKind) -> u64 {
        self.unsuccessful[kind as usize]
    }
    /// Finished operations of a kind on a LUN; 0 for a LUN that doesn't exist.
    pub fn operations(&self, lun: LunIndex, kind: FlashKind) -> u64 {
        self.luns.get(lun.index()).map_or(0, |l| l.operations[kind as usize])
    }
    /// How long a LUN worked in total; zero for a LUN that doesn't exist.
    pub fn busy(&self, lun: LunIndex) -> Duration {
        self.luns.get(lun.index()).map_or(Duration::default(), |l| l.busy)
    }
    /// Events without a counterpart: the operation began before this sink was attached, or the LUN
    /// doesn't exist.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl EventSink for FlashSpans {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::FlashIssued { lun, kind, row } => {
                let state = self.luns.get_mut(lun as usize);
                let Some(place) = state.and_then(|state| state.open.iter_mut().find(|open| open.is_none()))
                else {
                    self.lost += 1;
                    return;
                };
                *place = Some((at, kind, row));
            }
            Event::FlashFinished { lun, kind, row, status, .. } => {
                let found =
                    self.luns.get_mut(lun as usize).and_then(|state| Some((state.end(kind, row)?, state)));
                let Some((from, state)) = found else {
                    self.lost += 1;
                    return;
                };
                let kind = FlashKind::of_number(kind) as usize;
                self.latencies[kind].record(at.since(from));
                self.unsuccessful[kind] += u64::from(status != 0);
                state.operations[kind] += 1;
                state.busy += at.since(from.max(state.busy_until));
                state.busy_until = at;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::us;

    #[test]
    fn operations_of_many_luns_are_timed_by_kind() {
        let mut spans = FlashSpans::new(2);
        let issue = |lun, kind| Event::FlashIssued { lun, kind, row: 7 };
        let finish = |lun, kind, status| Event::FlashFinished { lun, kind, row: 7, status, corrected: 0 };
        spans.event(us(0), &issue(0, 0));
        spans.event(us(10), &issue(1, 1));
        spans.event(us(80), &finish(0, 0, 0));
        spans.event(us(90), &issue(0, 0));
        spans.event(us(190), &finish(0, 0, 2));
        spans.event(us(510), &finish(1, 1, 0));
        let (reads, programs) = (spans.latency(FlashKind::Read), spans.latency(FlashKind::Program));
        assert_eq!((reads.count(), reads.min(), reads.max()), (2, us(80).since(us(0)), us(100).since(us(0))));
        assert_eq!((programs.count(), programs.mean()), (1, Duration::from_micros(500)));
        assert_eq!((spans.unsuccessful(FlashKind::Read), spans.unsuccessful(FlashKind::Program)), (1, 0));
        assert_eq!(
            (spans.busy(LunIndex(0)), spans.busy(LunIndex(9))),
            (Duration::from_micros(180), Duration::default())
        );
        assert_eq!(spans.operations(LunIndex(0), FlashKind::Read), 2);
        assert_eq!(spans.lost(), 0);
    }

    #[test]
    fn a_read_that_is_begun_behind_another_counts_its_own_time_and_the_lun_s_once() {
        let mut spans = FlashSpans::new(1);
        let issue = |row| Event::FlashIssued { lun: 0, kind: 0, row };
        let finish = |row| Event::FlashFinished { lun: 0, kind: 0, row, status: 0, corrected: 0 };
        spans.event(us(0), &issue(1));
        spans.event(us(60), &issue(2));
        spans.event(us(100), &finish(1));
        spans.event(us(110), &issue(3));
        spans.event(us(180), &finish(2));
        spans.event(us(200), &finish(3));
        let reads = spans.latency(FlashKind::Read);
        assert_eq!(
            (reads.count(), reads.min(), reads.max()),
            (3, Duration::from_micros(90), Duration::from_micros(120))
        );
        assert_eq!(spans.busy(LunIndex(0)), Duration::from_micros(200));
        assert_eq!(spans.lost(), 0);
    }

    #[test]
    fn an_end_without_a_beginning_is_lost_and_not_guessed() {
        let mut spans = FlashSpans::new(1);
        let finish = |lun| Event::FlashFinished { lun, kind: 2, row: 0, status: 0, corrected: 0 };
        spans.event(us(1), &finish(0));
        spans.event(us(1), &finish(5));
        spans.event(us(2), &Event::FlashIssued { lun: 0, kind: 0, row: 0 });
        spans.event(us(3), &Event::FlashIssued { lun: 0, kind: 2, row: 0 });
        spans.event(us(3), &Event::FlashIssued { lun: 0, kind: 2, row: 2 });
        spans.event(us(4), &Event::FlashIssued { lun: 0, kind: 2, row: 1 });
        spans.event(us(9), &finish(0));
        assert_eq!(spans.lost(), 3);
        assert_eq!(spans.latency(FlashKind::Erase).max(), Duration::from_micros(6));
        assert_eq!(spans.latency(FlashKind::Read).count(), 0);
    }
}
