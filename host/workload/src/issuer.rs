use crate::{Done, Request, RequestKind, Source};
use aster_units::Duration;

/// When requests may be issued. All times are simulated and count from the start of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The most requests in flight, at least 1.
    pub queue_depth: u32,
    /// Pause after each `think_time_blocks` requests, once all have completed.
    pub think_time: Duration,
    /// Requests between two pauses, at least 1.
    pub think_time_blocks: u64,
    /// There is also a pause after this much time without one.
    pub think_time_every: Option<Duration>,
    /// Each pause moves the times of later requests.
    pub rate_ignores_think_time: bool,
    /// Nothing is issued before.
    pub start_delay: Duration,
    /// Requests issued in this time after the start aren't measured.
    pub ramp_time: Duration,
    /// Nothing is issued later than this after the ramp. `None` is no limit.
    pub run_time: Option<Duration>,
    /// Closed loop: keeps the gaps between requests. A gap counts from when the earlier request was issued
    /// or, if the later one found no room, from the completion that made room. Without it a request that
    /// finds no room is late.
    pub keep_gaps: bool,
}

impl Pace {
    /// As fast as `queue_depth` allows, until the source is dry.
    pub const fn unlimited(queue_depth: u32) -> Self {
        Pace {
            queue_depth,
            think_time: Duration::ZERO,
            think_time_blocks: 1,
            think_time_every: None,
            rate_ignores_think_time: false,
            start_delay: Duration::ZERO,
            ramp_time: Duration::ZERO,
            run_time: None,
            keep_gaps: false,
        }
    }
}

/// What holds back a request that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldBy {
    /// The queue depth is reached.
    Depth,
    /// A flush, which waits for everything before it and lets nothing pass.
    Flush,
}

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IssueStep {
    /// Issue this now; it is in flight from here on.
    Issue(Request),
    /// Ask again at this time, counted from the start, or when a request completes if that is earlier.
    WaitUntil(Duration),
    /// Ask again when a request has completed.
    WaitForCompletion,
    /// Nothing is left to issue and nothing is in flight.
    Finished,
}

/// Decides when each request of a source is issued, without a clock of its own. Call [`Issuer::step`] with
/// the time, do what it returns, and report each completion to it.
///
/// A flush waits for everything before it and holds back everything after it, as a program that calls `fsync`
/// does; an NVMe flush covers only what completed before it was issued (NVMe 1.4 §6.8).
#[derive(Clone, Debug)]
pub struct Issuer<S> {
    source: S,
    pace: Pace,
    next: Option<Request>,
    dry: bool,
    closed: bool,
    in_flight: u32,
    flushing: bool,
    since_pause: u64,
    /// When the last pause was over; the start before the first one.
    pause_ended: Duration,
    /// How far pauses have moved the times of requests.
    moved: Duration,
    last_completion: Duration,
    last_issue: Duration,
    /// The next request has found no room since the last one was issued.
    stalled: bool,
    /// What held requests back last.
    held_by: Option<HeldBy>,
    slipped: Duration,
}

impl<S: Source> Issuer<S> {
    /// Issues `source` at `pace`.
    pub fn new(source: S, pace: Pace) -> Self {
        assert!(
            pace.queue_depth > 0 && pace.think_time_blocks > 0,
            "a pace allows at least one request: {pace:?}"
        );
        Issuer {
            source,
            pace,
            next: None,
            dry: false,
            closed: false,
            in_flight: 0,
            flushing: false,
            since_pause: 0,
            pause_ended: pace.start_delay,
            moved: Duration::ZERO,
            last_completion: Duration::ZERO,
            last_issue: Duration::ZERO,
            stalled: false,
            held_by: None,
            slipped: Duration::ZERO,
        }
    }

    /// When a request that has a time of its own arrives, counted from the start.
    pub fn arrival(&self, request: &Request) -> Option<Duration> {
        let at = saturating_sum(self.pace.start_delay, request.at?);
        Some(saturating_sum(saturating_sum(at, self.slipped), self.moved))
    }

    /// Converts `elapsed` to the source's time.
    fn source_time(&self, elapsed: Duration) -> Duration {
        let before = saturating_sum(saturating_sum(self.pace.start_delay, self.slipped), self.moved);
        elapsed.saturating_sub(before)
    }

    /// True when the source gives nothing more, because it has ended or its time is over.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// What last held requests back; `None` when nothing ever did.
    pub fn held_by(&self) -> Option<HeldBy> {
        self.held_by
    }

    /// Notes that requests are held back by something outside of the issuer.
    pub fn hold(&mut self, by: HeldBy) {
        self.held_by = Some(by);
    }

    /// How much later than their times requests are issued because of [`Pace::keep_gaps`].
    pub fn slipped(&self) -> Duration {
        self.slipped
    }

    /// The source, for its counters.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Requests issued and not completed.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// True when a request issued at `elapsed` belongs in the statistics.
    pub fn is_measured(&self, elapsed: Duration) -> bool {
        elapsed >= saturating_sum(self.pace.start_delay, self.pace.ramp_time)
    }

    /// Tells the source of a request that is about to be reported by [`Issuer::completed`].
    #[inline]
    pub fn tell(&mut self, done: &Done) {
        self.source.completed(done);
    }

    /// One request has completed at `elapsed`.
    #[inline]
    pub fn completed(&mut self, elapsed: Duration) {
        assert!(self.in_flight > 0, "a completion without a request");
        self.in_flight -= 1;
        self.flushing = false;
        self.last_completion = elapsed;
    }

    /// Ends the source, as if its time had run out. Requests in flight complete, then the closing request is
    /// issued.
    pub fn end(&mut self) {
        if !self.closed {
            self.dry = true;
            self.next = None;
        }
    }

    /// What to do at `elapsed`. Times never go back between calls.
    ///
    /// # Errors
    /// Those of the source. The work then ends, apart from completions still to come.
    #[inline]
    pub fn step(&mut self, elapsed: Duration) -> Result<IssueStep, S::Error> {
        let pace = self.pace;
        if self.flushing {
            self.stalled = true;
            self.held_by = Some(HeldBy::Flush);
            return Ok(IssueStep::WaitForCompletion);
        }
        if elapsed < pace.start_delay {
            return Ok(IssueStep::WaitUntil(pace.start_delay));
        }
        let end =
            pace.run_time.map(|run| saturating_sum(saturating_sum(pace.start_delay, pace.ramp_time), run));
        if end.is_some_and(|end| elapsed >= end) {
            self.end();
        }
        if !self.dry && self.next.is_none() {
            // The next request may depend on when there is room for it, so ask only when there is.
            if self.in_flight >= pace.queue_depth {
                self.stalled = true;
                self.held_by = Some(HeldBy::Depth);
                return Ok(IssueStep::WaitForCompletion);
            }
            // A failed source is not asked again.
            self.dry = true;
            self.next = self.source.next_request_at(self.source_time(elapsed))?;
            self.dry = self.next.is_none() && (self.in_flight == 0 || self.source.is_over());
            if self.next.is_none() && !self.dry {
                return Ok(IssueStep::WaitForCompletion);
            }
        }
        if self.dry && !self.closed {
            self.closed = true;
            self.next = self.source.closing_request();
        }
        let Some(request) = self.next else {
            return Ok(if self.in_flight == 0 { IssueStep::Finished } else { IssueStep::WaitForCompletion });
        };
        let is_flush = request.kind == RequestKind::Flush;
        if self.in_flight >= pace.queue_depth || (is_flush && self.in_flight > 0) {
            self.stalled = true;
            self.held_by = Some(if is_flush { HeldBy::Flush } else { HeldBy::Depth });
            return Ok(IssueStep::WaitForCompletion);
        }
        if core::mem::take(&mut self.stalled) && pace.keep_gaps {
            let stall = self.last_completion.saturating_sub(self.last_issue);
            self.slipped = saturating_sum(self.slipped, stall);
        }
        let long_enough =
            pace.think_time_every.is_some_and(|every| elapsed.saturating_sub(self.pause_ended) >= every);
        // The condition that began a pause stays true while it lasts: the count grows only with requests, and
        // time never goes back.
        let pauses = self.since_pause >= pace.think_time_blocks || (long_enough && self.since_pause > 0);
        if !pace.think_time.is_zero() && pauses && !self.closed {
            if self.in_flight > 0 {
                return Ok(IssueStep::WaitForCompletion);
            }
            let resume = saturating_sum(self.last_completion, pace.think_time);
            if elapsed < resume {
                return Ok(IssueStep::WaitUntil(earlier(resume, end)));
            }
            self.since_pause = 0;
            self.pause_ended = elapsed;
            if pace.rate_ignores_think_time {
                self.moved = saturating_sum(self.moved, pace.think_time);
            }
        }
        if let Some(due) = self.arrival(&request)
            && elapsed < due
        {
            return Ok(IssueStep::WaitUntil(earlier(due, end)));
        }
        self.next = None;
        self.last_issue = elapsed;
        self.in_flight += 1;
        self.flushing = is_flush;
        if !is_flush {
            self.since_pause += 1;
        }
        Ok(IssueStep::Issue(request))
    }
}

fn saturating_sum(a: Duration, b: Duration) -> Duration {
    Duration::from_picos(a.as_picos().saturating_add(b.as_picos()))
}

fn earlier(due: Duration, end: Option<Duration>) -> Duration {
    end.map_or(due, |end| if end < due { end } else { due })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drive, Generator, Job, Mix, PerDirection};
    use alloc::vec;
    use alloc::vec::Vec;

    const LATENCY: Duration = Duration::from_micros(10);
    const DRIVE: Drive = Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 };

    /// Runs a job against a drive that completes everything after `LATENCY`; returns (issue time, request).
    fn run(job: &Job) -> Vec<(Duration, Request)> {
        let plan = job.plans(DRIVE, 0).unwrap().remove(0);
        carry_out(&mut Issuer::new(Generator::new(&plan), plan.pace()))
    }

    fn carry_out<S: Source<Error = core::convert::Infallible>>(
        issuer: &mut Issuer<S>,
    ) -> Vec<(Duration, Request)> {
        let mut flying: Vec<Duration> = Vec::new();
        let (mut now, mut log) = (Duration::ZERO, Vec::new());
        loop {
            let Ok(step) = issuer.step(now);
            let first = flying.first().copied();
            let wake = match step {
                IssueStep::Issue(request) => {
                    log.push((now, request));
                    flying.push(now + LATENCY);
                    continue;
                }
                IssueStep::Finished => return log,
                IssueStep::WaitForCompletion => first.expect("something in flight"),
                IssueStep::WaitUntil(at) => earlier(at, first),
            };
            assert!(wake >= now);
            now = wake;
            if flying.first() == Some(&now) {
                flying.remove(0);
                issuer.completed(now);
            }
        }
    }

    #[test]
    fn the_queue_is_kept_full_and_never_fuller() {
        let log = run(&Job { queue_depth: 4, number_ios: Some(12), ..Job::default() });
        let times: Vec<u64> = log.iter().map(|(t, _)| t.as_nanos() / 1000).collect();
        assert_eq!(times, [0, 0, 0, 0, 10, 10, 10, 10, 20, 20, 20, 20]);
    }

    #[test]
    fn think_time_follows_the_completion() {
        let log = run(&Job { think_time: Duration::from_micros(5), number_ios: Some(3), ..Job::default() });
        let times: Vec<u64> = log.iter().map(|(t, _)| t.as_nanos() / 1000).collect();
        assert_eq!(times, [0, 15, 30]);
    }

    #[test]
    fn a_rate_spaces_requests_without_drift() {
        let job = Job { rate_iops: PerDirection::all(Some(30_000)), number_ios: Some(31), ..Job::default() };
        let log = run(&Job { queue_depth: 8, ..job });
        assert_eq!(log[30].0, Duration::from_millis(1));
    }

    #[test]
    fn run_time_cuts_a_time_based_job_and_the_closing_flush_still_goes() {
        let job = Job {
            mix: Mix::Write,
            time_based: true,
            start_delay: Duration::from_millis(1),
            ramp_time: Duration::from_millis(2),
            run_time: Some(Duration::from_millis(7)),
            flush_at_end: true,
            ..Job::default()
        };
        let log = run(&job);
        assert_eq!(log[0].0, Duration::from_millis(1));
        assert_eq!(log.len(), 901, "9 ms of 10 µs each and the flush");
        assert_eq!(log[900].1.kind, RequestKind::Flush);
        assert!(
            log[..900].iter().all(|(t, r)| *t < Duration::from_millis(10) && r.kind == RequestKind::Write)
        );
        let plan = job.plans(DRIVE, 0).unwrap().remove(0);
        let issuer = Issuer::new(Generator::new(&plan), plan.pace());
        assert!(!issuer.is_measured(Duration::from_micros(2_999)));
        assert!(issuer.is_measured(Duration::from_millis(3)));
    }

    /// Reads one after the other: each waits for the one before it, although there is room for more.
    struct Chain {
        left: u32,
        in_flight: bool,
        told: Vec<(u64, Duration)>,
    }

    impl Source for Chain {
        type Error = core::convert::Infallible;

        fn next_request(&mut self) -> Result<Option<Request>, Self::Error> {
            if self.in_flight || self.left == 0 {
                return Ok(None);
            }
            (self.left, self.in_flight) = (self.left - 1, true);
            Ok(Some(Request { kind: RequestKind::Read, length: 4096, ..Request::FLUSH }))
        }
        fn is_over(&self) -> bool {
            self.left == 0
        }
        fn completed(&mut self, done: &Done) {
            self.in_flight = false;
            self.told.push((done.number, done.at));
        }
    }

    #[test]
    fn a_source_that_waits_is_asked_again_after_a_completion_and_ends_when_nothing_is_left_to_wait_for() {
        let chain = Chain { left: 3, in_flight: false, told: Vec::new() };
        let mut issuer = Issuer::new(chain, Pace::unlimited(4));
        for number in 1..=3 {
            let now = LATENCY * (number - 1);
            assert!(matches!(issuer.step(now), Ok(IssueStep::Issue(_))));
            assert_eq!(issuer.step(now), Ok(IssueStep::WaitForCompletion));
            let (at, request) = (LATENCY * number, Request::FLUSH);
            issuer.tell(&Done { number, request, at, latency: LATENCY, failed: false });
            issuer.completed(at);
        }
        assert_eq!(issuer.step(LATENCY * 3), Ok(IssueStep::Finished));
        assert_eq!(issuer.source().told, [(1, LATENCY), (2, LATENCY * 2), (3, LATENCY * 3)]);
        // One that waits for what never comes.
        let stuck = Chain { left: 1, in_flight: true, told: Vec::new() };
        assert_eq!(Issuer::new(stuck, Pace::unlimited(4)).step(Duration::ZERO), Ok(IssueStep::Finished));
    }

    /// A trace of requests at these microseconds.
    struct At<'a>(core::slice::Iter<'a, u64>);

    impl Source for At<'_> {
        type Error = core::convert::Infallible;

        fn next_request(&mut self) -> Result<Option<Request>, Self::Error> {
            let request = |at: &u64| Request {
                kind: RequestKind::Read,
                length: 4096,
                at: Some(Duration::from_micros(*at)),
                ..Request::FLUSH
            };
            Ok(self.0.next().map(request))
        }
    }

    /// When they are issued to a drive that completes after `LATENCY`, in microseconds, and how far times
    /// slipped.
    fn replayed(times: &[u64], queue_depth: u32, keep_gaps: bool) -> (Vec<u64>, u64) {
        let pace = Pace { keep_gaps, ..Pace::unlimited(queue_depth) };
        let mut issuer = Issuer::new(At(times.iter()), pace);
        let log = carry_out(&mut issuer);
        (log.iter().map(|(t, _)| t.as_nanos() / 1000).collect(), issuer.slipped().as_nanos() / 1000)
    }

    #[test]
    fn an_open_loop_catches_up_and_a_closed_one_keeps_its_gaps() {
        // The third arrives while the first two are still in flight.
        assert_eq!(replayed(&[0, 1, 2, 30], 2, false), (vec![0, 1, 10, 30], 0));
        // It goes 1 µs after the completion at 10 µs that made room, which keeps its gap. All later ones
        // shift with it.
        assert_eq!(replayed(&[0, 1, 2, 30], 2, true), (vec![0, 1, 11, 39], 9));
        // One at a time the gaps are think times, from completion to issue.
        assert_eq!(replayed(&[0, 1, 2, 30], 1, true), (vec![0, 11, 22, 60], 30));
        // With enough room both give the trace's times.
        assert_eq!(replayed(&[0, 1, 2, 30], 8, true), replayed(&[0, 1, 2, 30], 8, false));
    }

    #[test]
    fn a_flush_stands_alone() {
        let job =
            Job { mix: Mix::Write, queue_depth: 8, flush_every: 3, number_ios: Some(6), ..Job::default() };
        let log = run(&job);
        let times: Vec<u64> = log.iter().map(|(t, _)| t.as_nanos() / 1000).collect();
        assert_eq!(times, [0, 0, 0, 10, 20, 20, 20, 30]);
        assert_eq!(log[3].1, Request::FLUSH);
    }

    #[test]
    fn what_waits_for_room_behind_a_flush_is_told_from_what_waits_for_the_flush() {
        struct FlushAndReads(u32);
        impl Source for FlushAndReads {
            type Error = core::convert::Infallible;
            fn next_request(&mut self) -> Result<Option<Request>, Self::Error> {
                self.0 += 1;
                let read = Request { kind: RequestKind::Read, length: 4096, ..Request::FLUSH };
                let request = if self.0 == 1 { Request::FLUSH } else { read };
                Ok(Some(Request { at: Some(Duration::ZERO), ..request }))
            }
        }
        let mut issuer = Issuer::new(FlushAndReads(0), Pace::unlimited(2));
        let is_issue = |step| matches!(step, Ok(IssueStep::Issue(_)));
        assert!(is_issue(issuer.step(Duration::ZERO)));
        assert_eq!(issuer.held_by(), None);
        assert_eq!(issuer.step(Duration::ZERO), Ok(IssueStep::WaitForCompletion));
        issuer.completed(LATENCY);
        for _ in 0..2 {
            assert!(is_issue(issuer.step(LATENCY)));
            assert_eq!(issuer.held_by(), Some(HeldBy::Flush));
        }
        assert_eq!(issuer.step(LATENCY), Ok(IssueStep::WaitForCompletion));
        issuer.completed(LATENCY * 2);
        assert!(is_issue(issuer.step(LATENCY * 2)));
        assert_eq!(issuer.held_by(), Some(HeldBy::Depth));
    }

    #[test]
    fn a_pause_comes_after_a_time_too() {
        let us = Duration::from_micros;
        let job =
            Job { think_time: us(100), think_time_blocks: u64::MAX, number_ios: Some(8), ..Job::default() };
        let log = run(&Job { think_time_every: Some(us(25)), ..job.clone() });
        let times: Vec<u64> = log.iter().map(|(t, _)| t.as_nanos() / 1000).collect();
        // Each pause comes after three requests of 10 µs, since two don't last 25 µs.
        assert_eq!(times, [0, 10, 20, 130, 140, 150, 260, 270]);
        let blocks = run(&Job { think_time_every: Some(us(25)), think_time_blocks: 2, ..job });
        let times: Vec<u64> = blocks.iter().map(|(t, _)| t.as_nanos() / 1000).collect();
        assert_eq!(times, [0, 10, 120, 130, 240, 250, 360, 370], "whichever comes first");
    }

    #[test]
    fn a_rate_makes_up_for_a_pause_unless_it_is_told_not_to() {
        let us = Duration::from_micros;
        let job = Job {
            rate_iops: PerDirection::all(Some(50_000)),
            think_time: us(100),
            think_time_blocks: 3,
            number_ios: Some(9),
            ..Job::default()
        };
        let times = |job: &Job| run(job).iter().map(|(t, _)| t.as_nanos() / 1000).collect::<Vec<u64>>();
        // Requests are 20 µs apart. After the pause, late ones go one after the other.
        assert_eq!(times(&job), [0, 20, 40, 150, 160, 170, 280, 290, 300]);
        let job = Job { rate_ignores_think_time: true, ..job };
        assert_eq!(times(&job), [0, 20, 40, 160, 180, 200, 320, 340, 360]);
    }

    #[test]
    fn what_is_ended_from_outside_drains_and_flushes() {
        let job = Job { mix: Mix::Write, flush_at_end: true, ..Job::default() };
        let plan = job.plans(DRIVE, 0).unwrap().remove(0);
        let mut issuer = Issuer::new(Generator::new(&plan), plan.pace());
        assert!(matches!(issuer.step(Duration::ZERO), Ok(IssueStep::Issue(_))));
        issuer.end();
        assert_eq!(issuer.step(Duration::ZERO), Ok(IssueStep::WaitForCompletion));
        issuer.completed(LATENCY);
        assert_eq!(issuer.step(LATENCY), Ok(IssueStep::Issue(Request::FLUSH)));
        issuer.completed(LATENCY * 2);
        issuer.end();
        assert_eq!(issuer.step(LATENCY * 2), Ok(IssueStep::Finished));
    }
}
