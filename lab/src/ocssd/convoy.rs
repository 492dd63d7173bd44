//! Fig 38: what the ways do while one LUN is slow.

use super::watch::ArrayWork;
use aster_units::{Duration, Instant, LunAddr};

/// Time in which the array of a way works, µs from the picture's beginning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct WaySpan {
    pub(super) channel: u16,
    pub(super) way: u8,
    pub(super) work: Work,
    pub(super) from_us: f64,
    pub(super) until_us: f64,
}

/// What an array does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    Program,
    Erase,
    /// A program of the slow LUN that takes much longer than others.
    SlowProgram,
}

impl Work {
    /// All of them, as the picture's legend has them.
    pub(super) const ALL: [(Work, &str); 3] =
        [(Work::Program, "program"), (Work::Erase, "erase"), (Work::SlowProgram, "program of the slow LUN")];
}

/// Programs and erases of a drive one of whose LUNs is slow now and then.
pub(super) struct Convoy<'a> {
    pub(super) arrays: &'a [ArrayWork],
    pub(super) slow: LunAddr,
    /// From this on a program of that LUN is slow.
    pub(super) least: Duration,
}

impl Convoy<'_> {
    fn is_slow(&self, work: &ArrayWork) -> bool {
        !work.erases && self.is_of_slow(work) && work.until.since(work.from) >= self.least
    }
    fn is_of_slow(&self, work: &ArrayWork) -> bool {
        (work.channel, work.way) == (self.slow.channel, self.slow.way)
    }
    fn slow_programs(&self) -> impl Iterator<Item = &ArrayWork> {
        self.arrays.iter().filter(|work| self.is_slow(work))
    }
    /// How many other LUNs program or erase in the second half of a slow program, in the mean over all of
    /// these: in the first half they end what they had begun. `None` if there are none.
    pub(super) fn beside(&self) -> Option<f64> {
        let (mut together, mut alone) = (0, 0);
        for slow in self.slow_programs() {
            let from = slow.from + slow.until.since(slow.from) / 2;
            alone += slow.until.since(from).as_picos();
            let others = self.arrays.iter().filter(|work| !self.is_of_slow(work));
            together += others.map(|work| overlap(work, from, slow.until).as_picos()).sum::<u64>();
        }
        (alone > 0).then(|| together as f64 / alone as f64)
    }
    /// What happens in `width_us`, of which a quarter is before a slow program begins: the first one that has
    /// no erases around it, since LUNs idle behind these, too.
    pub(super) fn picture(&self, width_us: f64) -> Vec<WaySpan> {
        let (width, before) = (picos(width_us), picos(width_us / 4.0));
        let begins = |slow: &ArrayWork| slow.from - before;
        let has_erase = |from: Instant| {
            let erases = self.arrays.iter().filter(|work| work.erases);
            erases.clone().any(|work| !overlap(work, from, from + width).is_zero())
        };
        let windows = || self.slow_programs().map(begins);
        let Some(from) = windows().find(|from| !has_erase(*from)).or_else(|| windows().next()) else {
            return Vec::new();
        };
        let us = |at: Instant| at.since(from.min(at)).as_secs_f64() * 1e6;
        let within = self.arrays.iter().filter(|work| !overlap(work, from, from + width).is_zero());
        within
            .map(|work| WaySpan {
                channel: work.channel,
                way: work.way,
                work: match work.erases {
                    true => Work::Erase,
                    false if self.is_slow(work) => Work::SlowProgram,
                    false => Work::Program,
                },
                from_us: us(work.from),
                until_us: us(work.until).min(width_us),
            })
            .collect()
    }
}

fn picos(us: f64) -> Duration {
    Duration::from_picos((us * 1e6) as u64)
}
/// How much of the work is from one time to another.
fn overlap(work: &ArrayWork, from: Instant, until: Instant) -> Duration {
    let (from, until) = (work.from.max(from), work.until.min(until));
    until.since(from.min(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(channel: u16, from: u64, until: u64, erases: bool) -> ArrayWork {
        let us = |us: u64| Instant::ZERO + Duration::from_micros(us);
        ArrayWork { channel, way: 0, erases, from: us(from), until: us(until) }
    }
    fn of(arrays: &[ArrayWork]) -> Convoy<'_> {
        let slow = LunAddr { channel: 1, way: 0, lun: 0 };
        Convoy { arrays, slow, least: Duration::from_micros(500) }
    }

    #[test]
    fn what_others_do_counts_in_the_second_half_of_a_slow_program() {
        let arrays = [
            work(0, 0, 2_000, true),
            work(1, 1_000, 1_100, false), // It isn't slow here.
            work(1, 1_900, 2_900, false),
            work(0, 2_200, 2_600, false),
            work(2, 2_700, 3_000, false),
        ];
        // 200 and 200 µs of 500.
        assert!((of(&arrays).beside().unwrap() - 0.8).abs() < 1e-9);
        assert_eq!(of(&arrays[..2]).beside(), None);
    }

    #[test]
    fn the_picture_is_of_a_slow_program_without_erases_around_it() {
        let arrays = [
            work(1, 100, 1_100, false),
            work(0, 1_000, 1_200, true),
            work(0, 4_500, 4_700, false),
            work(1, 5_000, 6_000, false),
            work(0, 8_900, 9_100, false),
        ];
        // From 4000 to 8000 µs.
        let spans: Vec<_> =
            of(&arrays).picture(4_000.0).iter().map(|s| (s.work, s.from_us, s.until_us)).collect();
        assert_eq!(spans, [(Work::Program, 500.0, 700.0), (Work::SlowProgram, 1_000.0, 2_000.0)]);
        let first = of(&arrays[..2]).picture(4_000.0);
        assert_eq!(first.iter().map(|span| span.work).collect::<Vec<_>>(), [Work::SlowProgram, Work::Erase]);
    }
}
