//! Checks whether a job keeps its minimum rates.

use crate::{BlockSizes, Job, Mix, PerDirection, RateFloor, RequestKind};
use alloc::vec::Vec;
use aster_units::Duration;
use core::fmt;

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

/// A job was slower than its minimum rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloorMissed {
    /// fio's option for the minimum.
    pub option: &'static str,
    /// The kind of requests that were too slow: reads, writes or trims.
    pub kind: RequestKind,
    /// The minimum, in bytes or requests per second.
    pub least: u64,
    /// The rate in the cycle, in the same unit.
    pub got: u64,
    /// When the cycle began, counted from the job's start.
    pub from: Duration,
    /// When it ended.
    pub until: Duration,
}

impl FloorMissed {
    /// fio's option for bytes.
    const BYTES: &'static str = "rate_min";
    /// fio's option for requests.
    const REQUESTS: &'static str = "rate_iops_min";
}

impl fmt::Display for FloorMissed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            RequestKind::Read => "reads",
            RequestKind::Trim => "trims",
            RequestKind::Write | RequestKind::WriteZeroes | RequestKind::Flush => "writes",
        };
        let rate = |n: u64| match self.option {
            Self::BYTES => alloc::format!("{:.1} KiB/s", n as f64 / 1024.0),
            _ => alloc::format!("{n} requests/s"),
        };
        write!(
            f,
            "{}: {what} fell to {} from {:.3} s to {:.3} s after the job's start, and {} are the least",
            self.option,
            rate(self.got),
            self.from.as_secs_f64(),
            self.until.as_secs_f64(),
            rate(self.least)
        )
    }
}
impl core::error::Error for FloorMissed {}

/// No cycle is checked before this time, so that a job can settle, as in fio.
const SETTLED: Duration = Duration::from_secs(2);

/// Watches one direction of a job.
#[derive(Clone, Copy, Debug)]
struct Watched {
    kind: RequestKind,
    least_bytes: Option<u64>,
    least_requests: Option<u64>,
    /// The longest request that may come.
    largest: u32,
    /// Bytes completed since the cycle began.
    bytes: u64,
    requests: u64,
    /// When the cycle began.
    from: Duration,
}

impl Watched {
    /// Checks the cycle that ends at `now`, and begins the next one.
    fn judge(&mut self, now: Duration) -> Result<(), FloorMissed> {
        let Watched { kind, from, bytes, requests, .. } = *self;
        (self.bytes, self.requests, self.from) = (0, 0, now);
        let spent = u128::from(now.saturating_sub(from).as_picos().max(1));
        let compare = |option, done: u64, least: Option<u64>| {
            let got = u64::try_from(u128::from(done) * PICOS_PER_SECOND / spent).unwrap_or(u64::MAX);
            match least {
                Some(least) if got < least => Err(FloorMissed { option, kind, least, got, from, until: now }),
                _ => Ok(()),
            }
        };
        compare(FloorMissed::BYTES, bytes, self.least_bytes)?;
        compare(FloorMissed::REQUESTS, requests, self.least_requests)
    }

    /// The time from which on the cycle is too slow whatever completes next. Without it, a job whose requests
    /// no longer complete would never be checked. If it were earlier, a job of few large requests would be
    /// checked between two of them.
    fn hopeless_from(&self, cycle: Duration) -> Duration {
        let enough_for = |done: u64, next: u64, least: Option<u64>| {
            let picos = u128::from(done + next) * PICOS_PER_SECOND / u128::from(least?);
            u64::try_from(picos).ok().map(|picos| picos.saturating_add(1))
        };
        let first = [
            enough_for(self.bytes, self.largest.into(), self.least_bytes),
            enough_for(self.requests, 1, self.least_requests),
        ];
        let first = first.into_iter().flatten().min().unwrap_or(u64::MAX);
        Duration::from_picos(self.from.as_picos().saturating_add(first.max(cycle.as_picos())))
    }
}

/// Watches a job against its [`RateFloor`]. A cycle ends with the first completion that comes when it has
/// lasted long enough, as in fio, or when no completion could save it any more.
#[derive(Clone, Debug)]
pub(crate) struct FloorWatch {
    cycle: Duration,
    /// The job's directions that have a minimum.
    directions: Vec<Watched>,
}

impl FloorWatch {
    /// `None` when there is no floor. Neither the start delay nor the ramp are watched.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let RateFloor { bytes, requests, cycle } = job.rate_floor;
        let begins = [job.start_delay, job.ramp_time, SETTLED].map(Duration::as_picos).into_iter();
        let from = Duration::from_picos(begins.fold(0, u64::saturating_add));
        let watched = |kind, least_bytes, least_requests, sizes: &BlockSizes| Watched {
            kind,
            least_bytes,
            least_requests,
            largest: sizes.largest(),
            bytes: 0,
            requests: 0,
            from,
        };
        let PerDirection { read, write, trim } = &job.block_sizes;
        let read = watched(RequestKind::Read, bytes.read, requests.read, read);
        let write = watched(RequestKind::Write, bytes.write, requests.write, write);
        let trim = watched(RequestKind::Trim, bytes.trim, requests.trim, trim);
        let made = match (job.mix, job.read_percent) {
            (Mix::Read, _) | (Mix::ReadWrite, 100) => &[read][..],
            (Mix::Write, _) | (Mix::ReadWrite, 0) => &[write],
            (Mix::ReadWrite, _) => &[read, write],
            (Mix::Trim, _) => &[trim],
            (Mix::TrimWrite, _) => &[trim, write],
        };
        let with_a_least = |d: &&Watched| d.least_bytes.is_some() || d.least_requests.is_some();
        let directions: Vec<_> = made.iter().filter(with_a_least).copied().collect();
        (!directions.is_empty()).then_some(FloorWatch { cycle, directions })
    }

    /// A request has completed at `elapsed`, counted from the start.
    ///
    /// # Errors
    /// The cycle that ends with it was slower than the minimum.
    pub(crate) fn completed(
        &mut self,
        kind: RequestKind,
        bytes: u32,
        elapsed: Duration,
    ) -> Result<(), FloorMissed> {
        let kind = if kind == RequestKind::WriteZeroes { RequestKind::Write } else { kind };
        let cycle = self.cycle;
        let Some(watched) = self.directions.iter_mut().find(|d| d.kind == kind) else { return Ok(()) };
        if elapsed < watched.from {
            return Ok(());
        }
        watched.bytes += u64::from(bytes);
        watched.requests += 1;
        if elapsed.saturating_sub(watched.from) < cycle { Ok(()) } else { watched.judge(elapsed) }
    }

    /// When to check again even if nothing has completed.
    pub(crate) fn look_at(&self) -> Duration {
        self.directions.iter().map(|d| d.hopeless_from(self.cycle)).min().unwrap_or(Duration::MAX)
    }

    /// Checks at `elapsed`, after all completions so far were reported.
    ///
    /// # Errors
    /// A cycle was slower than the minimum, and no completion could change that.
    pub(crate) fn look(&mut self, elapsed: Duration) -> Result<(), FloorMissed> {
        let cycle = self.cycle;
        self.directions.iter_mut().try_for_each(|d| match d.hopeless_from(cycle) <= elapsed {
            true => d.judge(elapsed),
            false => Ok(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio;
    use alloc::format;
    use alloc::string::ToString;

    fn watch(lines: &str) -> Option<FloorWatch> {
        FloorWatch::new(&fio::parse(&format!("[j]\n{lines}\n")).unwrap()[0])
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_job_that_slows_down_is_told_after_the_cycle_and_none_before_it_has_settled() {
        let mut watch = watch("rate_iops_min=100").unwrap();
        let mut read = |at| watch.completed(RequestKind::Read, 4096, ms(at));
        // Being slow at first is allowed.
        assert_eq!(read(1_900), Ok(()));
        for i in 0..=110 {
            assert_eq!(read(2_000 + 10 * i), Ok(()), "{i}");
        }
        for i in 1..10 {
            assert_eq!(read(3_100 + 90 * i), Ok(()), "{i}");
        }
        let missed = read(4_100).unwrap_err();
        assert_eq!((missed.option, missed.least), ("rate_iops_min", 100));
        assert!(missed.got < 50, "{missed}");
    }

    #[test]
    fn a_miss_says_what_fell_below_what_and_when() {
        let mut watch = watch("rw=write\nstartdelay=5\nrate_min=1m").unwrap();
        assert_eq!(watch.completed(RequestKind::Write, 512 << 10, ms(7_500)), Ok(()));
        let missed = watch.completed(RequestKind::Write, 256 << 10, ms(8_500)).unwrap_err();
        assert_eq!(
            missed.to_string(),
            "rate_min: writes fell to 512.0 KiB/s from 7.000 s to 8.500 s after the job's start, and 1024.0 \
             KiB/s are \
             the least"
        );
    }

    #[test]
    fn neither_delay_nor_ramp_are_watched() {
        for (lines, begins) in
            [("startdelay=10", 12_000), ("ramp_time=3", 5_000), ("startdelay=1\nramp_time=1", 4_000)]
        {
            let mut watch = watch(&format!("rate_iops_min=10\n{lines}")).unwrap();
            assert_eq!(watch.look(ms(begins + 999)), Ok(()), "{lines}");
            assert_eq!(watch.completed(RequestKind::Read, 4096, ms(begins - 1)), Ok(()), "{lines}");
            let missed = watch.completed(RequestKind::Read, 4096, ms(begins + 1_000)).unwrap_err();
            assert_eq!((missed.from, missed.until), (ms(begins), ms(begins + 1_000)), "{lines}");
        }
    }

    #[test]
    fn a_job_of_which_nothing_completes_is_told_when_nothing_could_save_the_cycle() {
        // A megabyte in flight is as much as the minimum asks for in two seconds.
        let mut watch = watch("bs=1m\nrate_min=512k").unwrap();
        let at = watch.look_at();
        assert!((ms(4_000)..ms(4_001)).contains(&at), "{at}");
        assert_eq!(watch.look(ms(4_000)), Ok(()));
        let missed = watch.look(at).unwrap_err();
        assert_eq!((missed.got, missed.from), (0, ms(2_000)));
        // A job of few large requests that is fast enough never fails between two of them.
        let mut steady = super::tests::watch("bs=1m\nrate_min=1500k").unwrap();
        for i in 0..100 {
            let at = ms(2_000 + 600 * i);
            assert!(steady.look_at() > at);
            assert_eq!(steady.completed(RequestKind::Read, 1 << 20, at), Ok(()), "{i}");
        }
    }

    #[test]
    fn only_directions_that_a_job_has_are_watched() {
        assert!(watch("rw=read").is_none() && watch("rw=read\nrate_min=0,1m").is_none());
        assert!(watch("rw=rw\nrwmixread=100\nrate_min=0,1m").is_none());
        let mut mixed = watch("rw=rw\nrate_iops_min=0,10").unwrap();
        assert_eq!(mixed.completed(RequestKind::Read, 4096, ms(3_500)), Ok(()));
        assert_eq!(mixed.look(ms(3_500)).unwrap_err().kind, RequestKind::Write);
    }
}
