use super::any_source::AnySource;
use super::contents::ContentToken;
use super::shared::{OnFailure, Owner, Shared, WHOLE_TASK, waves};
use super::statistics::{Arrived, Failure, LatencySink, Statistics};
use crate::earliest::earliest;
use crate::floor::FloorWatch;
use crate::steady::SteadyWatch;
use crate::trace::TraceError;
use crate::{
    Done, Drive, ExitWhat, Generator, HeldBy, IssueStep, Issuer, Job, Mix, Pace, Plan, PlanError, Request,
    RequestKind, Source, WrittenBlocks,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Bar, Completion, Io, IoOp, QueueId};
use aster_units::{Duration, Instant};
use core::convert::Infallible;

/// One source of requests with its pace, to be run on one queue pair.
pub struct HostTask {
    name: String,
    wave: u32,
    source: AnySource,
    pace: Pace,
    verify: bool,
    plan: Option<Plan>,
    group: Option<u32>,
    job: String,
    /// The number of a trace's requests without flushes, if it is known.
    expected: Option<u64>,
}

impl HostTask {
    /// Makes tasks for all copies of `jobs`, laid out on `drive`. A job that comes after the previous ones
    /// waits for all of them; other jobs run in parallel. `run_seed` matters to jobs that are not
    /// repeatable.
    ///
    /// # Errors
    /// The first job that does not fit the drive.
    pub fn of_jobs(jobs: &[Job], drive: Drive, run_seed: u64) -> Result<Vec<HostTask>, PlanError> {
        let (mut tasks, mut group) = (Vec::new(), 0);
        for (index, (wave, job)) in waves(jobs).enumerate() {
            group += u32::from((job.after_previous || job.new_group) && index > 0);
            let plans = job.plans(drive, run_seed)?.into_iter();
            tasks.extend(plans.map(|plan| HostTask::of_plan(plan, wave, group)));
        }
        Ok(tasks)
    }

    fn of_plan(plan: Plan, wave: u32, group: u32) -> HostTask {
        let job = &plan.job;
        let name = if job.copies > 1 { format!("{}.{}", job.name, plan.copy) } else { job.name.clone() };
        HostTask {
            name,
            wave,
            source: AnySource::Plan(Box::new(Generator::new(&plan))),
            pace: plan.pace(),
            verify: job.verify,
            group: job.group_reporting.then_some(group),
            job: job.name.clone(),
            plan: Some(plan),
            expected: None,
        }
    }

    /// Makes a task for a trace, or for another source that may fail. With `verify` its reads are checked.
    /// The trace's own content is unknown, so it writes the content of [`super::Contents`].
    pub fn of_trace(
        name: String,
        source: Box<dyn Source<Error = TraceError>>,
        pace: Pace,
        verify: bool,
    ) -> HostTask {
        let (source, job) = (AnySource::Trace(source), name.clone());
        HostTask { name, wave: 0, source, pace, verify, plan: None, group: None, job, expected: None }
    }

    /// Makes a task for a source whose requests may depend on what has completed before, with `queue_depth`
    /// of them in flight at most. With `verify` its reads are checked.
    pub fn of_source(
        name: String,
        source: Box<dyn Source<Error = Infallible>>,
        queue_depth: u32,
        verify: bool,
    ) -> HostTask {
        let (source, pace, job) = (AnySource::Live(source), Pace::unlimited(queue_depth), name.clone());
        HostTask { name, wave: 0, source, pace, verify, plan: None, group: None, job, expected: None }
    }

    /// Tells how many `requests` the source will return, flushes not counted. [`super::Runner::progress`]
    /// needs the number to compute a trace's progress.
    pub fn expecting(self, requests: u64) -> HostTask {
        HostTask { expected: Some(requests), ..self }
    }
}

/// The stage of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TaskStage {
    /// Its wave has not begun.
    Waiting,
    /// Its requests are being issued.
    Main,
    /// What it wrote is being read back.
    ReadBack,
    /// Nothing is in flight, and nothing will be.
    Done,
}

/// A request in flight: one or several commands.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Which of the stage's requests it is, from 1.
    number: u64,
    request: Request,
    /// Bytes whose commands have been submitted.
    sent: u32,
    /// Commands in flight.
    commands: u32,
    issued: Instant,
    /// When a request of a trace that is replayed by the clock should have been issued.
    arrived: Option<Instant>,
    measured: bool,
    failed: bool,
}

impl Flight {
    const NONE: Flight = Flight {
        number: 0,
        request: Request::FLUSH,
        sent: 0,
        commands: 0,
        issued: Instant::ZERO,
        arrived: None,
        measured: false,
        failed: false,
    };
}

/// A task being run.
pub(super) struct Running {
    index: usize,
    pub(super) wave: u32,
    pub(super) queue: QueueId,
    pub(super) stage: TaskStage,
    /// When the source or the pace wants to continue; `None` while only completions matter.
    pub(super) wake_at: Option<Instant>,
    pub(super) statistics: Statistics,
    issuer: Issuer<AnySource>,
    pace: Pace,
    verify: bool,
    plan: Option<Plan>,
    expected: Option<u64>,
    /// One entry per request that may be in flight.
    flights: Box<[Flight]>,
    free: Vec<u32>,
    /// Flights with commands that have not found a slot yet, oldest first.
    unsent: VecDeque<u32>,
    floor: Option<FloorWatch>,
    steady: Option<SteadyWatch>,
    stopping: bool,
    /// Whether the result of [`Running::takes_others_along`] has been acted upon.
    end_seen: bool,
    stage_began: Instant,
    /// Requests issued in this stage.
    stage_issued: u64,
    /// Bytes and requests completed in this stage, measured or not. For the progress.
    stage_bytes: u64,
    stage_requests: u64,
    written_bytes: u64,
}

impl Running {
    pub(super) fn new(index: usize, task: HostTask, queue: QueueId) -> Self {
        let depth = task.pace.queue_depth;
        let job = task.plan.as_ref().map(|plan| &plan.job);
        let floor = job.and_then(FloorWatch::new);
        let steady = job.and_then(|job| job.steady_state);
        let steady = steady.map(|criterion| SteadyWatch::new(criterion, task.pace.start_delay));
        Running {
            floor,
            steady,
            end_seen: false,
            index,
            wave: task.wave,
            queue,
            stage: TaskStage::Waiting,
            wake_at: None,
            statistics: Statistics::new(task.name, task.job, task.wave, task.group),
            issuer: Issuer::new(task.source, task.pace),
            pace: task.pace,
            verify: task.verify,
            plan: task.plan,
            expected: task.expected,
            flights: vec![Flight::NONE; depth as usize].into_boxed_slice(),
            free: (0..depth).rev().collect(),
            unsent: VecDeque::with_capacity(depth as usize),
            stopping: false,
            stage_began: Instant::ZERO,
            stage_issued: 0,
            stage_bytes: 0,
            stage_requests: 0,
            written_bytes: 0,
        }
    }

    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.issuer.in_flight()
    }

    pub(super) fn begin(&mut self, now: Instant) {
        self.stage = TaskStage::Main;
        self.stage_began = now;
        self.statistics.started = Some(now);
    }

    /// Stops issuing.
    pub(super) fn stop(&mut self, now: Instant) {
        self.stopping = true;
        self.wake_at = None;
        if self.stage == TaskStage::Waiting {
            self.stage = TaskStage::Done;
        }
        self.drop_unsent();
        self.end_if_drained(now);
    }

    /// Stops issuing because another task has ended, except for a closing flush. The caller must pump the
    /// task afterwards. With `waiting_too`, a task that has not begun ends as well. Returns false if the
    /// task had ended already.
    pub(super) fn end_with_another(&mut self, waiting_too: bool) -> bool {
        match self.stage {
            TaskStage::Waiting if waiting_too => {
                self.stage = TaskStage::Done;
                self.end_seen = true;
            }
            TaskStage::Main | TaskStage::ReadBack if !self.statistics.ended_by_another => {
                self.issuer.end();
                self.drop_unsent();
            }
            _ => return false,
        }
        self.wake_at = None;
        self.statistics.ended_by_another = true;
        true
    }

    /// Returns which other tasks must end with this one, once: when it has ended without another task, or
    /// has failed.
    pub(super) fn takes_others_along(&mut self, always: bool, on_error: bool) -> Option<ExitWhat> {
        if self.stage != TaskStage::Done || core::mem::replace(&mut self.end_seen, true) {
            return None;
        }
        let takes = always || (on_error && self.statistics.failures > 0);
        takes.then(|| self.plan.as_ref().map_or(ExitWhat::Group, |plan| plan.job.exit_what))
    }

    /// The job's options by which all jobs end with one: at any end, and at a failure.
    pub(super) fn exits(&self) -> (bool, bool) {
        self.plan.as_ref().map_or((false, false), |plan| (plan.job.exit_all, plan.job.exit_all_on_error))
    }

    /// Drops the commands that have not found a slot. Their requests don't count in the statistics, since
    /// not all of their bytes moved.
    fn drop_unsent(&mut self) {
        while let Some(index) = self.unsent.pop_front() {
            let flight = &mut self.flights[index as usize];
            flight.measured = false;
            flight.request.length = flight.sent;
            if flight.commands == 0 {
                self.free.push(index);
                let elapsed = flight.issued.since(self.stage_began);
                self.issuer.completed(elapsed);
            }
        }
    }

    fn end_if_drained(&mut self, now: Instant) {
        let running = matches!(self.stage, TaskStage::Main | TaskStage::ReadBack);
        if running && self.stopping && self.issuer.in_flight() == 0 {
            self.stage = TaskStage::Done;
            self.statistics.ended = Some(now);
            self.statistics.steady_state = self.steady.as_ref().map(SteadyWatch::outcome);
        }
    }

    /// Issues what may be issued now.
    #[inline]
    pub(super) fn pump<B: Bar + 'static, L: LatencySink>(&mut self, shared: &mut Shared<B, L>, now: Instant) {
        if !matches!(self.stage, TaskStage::Main | TaskStage::ReadBack) {
            return;
        }
        if self.floor.is_some() {
            self.look_at_floor(shared.on_failure, now);
        }
        loop {
            if self.stopping {
                return self.end_if_drained(now);
            }
            while let Some(&index) = self.unsent.front() {
                if !self.send(index, shared) {
                    self.issuer.hold(HeldBy::Depth);
                    return;
                }
                self.unsent.pop_front();
            }
            self.wake_at = None;
            match self.issuer.step(now.since(self.stage_began)) {
                Ok(IssueStep::Issue(request)) => self.issue(request, shared, now),
                Ok(IssueStep::WaitUntil(elapsed)) => {
                    self.wake_at = Some(self.stage_began + elapsed);
                    return;
                }
                Ok(IssueStep::WaitForCompletion) => return,
                Ok(IssueStep::Finished) if self.next_stage(now) => {}
                Ok(IssueStep::Finished) => return,
                Err(error) => {
                    self.statistics.fail(Failure::Trace(error));
                    self.stopping = true;
                }
            }
        }
    }

    /// Ends a stage whose requests are done. Returns true if another stage follows.
    fn next_stage(&mut self, now: Instant) -> bool {
        let read_back = self.plan.as_ref().filter(|plan| {
            let job = &plan.job;
            let reads_back = job.verify && job.read_back && job.mix != Mix::Read;
            reads_back && self.stage == TaskStage::Main && !self.statistics.ended_by_another
        });
        self.statistics.steady_state = self.steady.as_ref().map(SteadyWatch::outcome);
        let written = match (read_back, self.issuer.source()) {
            (Some(plan), AnySource::Plan(generator)) => WrittenBlocks::new(plan, generator),
            _ => {
                self.stage = TaskStage::Done;
                self.statistics.ended = Some(now);
                return false;
            }
        };
        self.stage = TaskStage::ReadBack;
        self.stage_began = now;
        self.written_bytes = self.stage_bytes;
        self.stage_issued = 0;
        (self.stage_bytes, self.stage_requests) = (0, 0);
        self.issuer =
            Issuer::new(AnySource::ReadBack(Box::new(written)), Pace::unlimited(self.pace.queue_depth));
        true
    }

    #[inline]
    fn issue<B: Bar + 'static, L: LatencySink>(
        &mut self,
        request: Request,
        shared: &mut Shared<B, L>,
        now: Instant,
    ) {
        let index = self.free.pop().expect("the pace allows no more requests than there are flights");
        let measured = self.stage == TaskStage::Main && self.issuer.is_measured(now.since(self.stage_began));
        if measured && self.statistics.measured_from.is_none() {
            self.statistics.measured_from = Some(now);
        }
        let by_the_clock = matches!(self.issuer.source(), AnySource::Trace(_)) && !self.pace.keep_gaps;
        let arrival = self.issuer.arrival(&request).filter(|_| by_the_clock);
        let arrived = arrival.map(|arrival| self.stage_began + arrival);
        if let (Some(at), Some(arrived), true) = (arrival, arrived, measured) {
            let late = now.since(arrived);
            let held_by = self.issuer.held_by().filter(|_| !late.is_zero());
            shared.sink.arrived(self.index, &Arrived { kind: request.kind, at, late, held_by });
        }
        self.statistics.slipped = self.issuer.slipped();
        self.stage_issued += 1;
        let number = self.stage_issued;
        self.flights[index as usize] =
            Flight { number, request, sent: 0, commands: 0, issued: now, arrived, measured, failed: false };
        if !self.send(index, shared) {
            self.unsent.push_back(index);
        }
    }

    /// Submits the remaining commands of a request. Returns false if there were too few slots.
    #[inline]
    fn send<B: Bar + 'static, L>(&mut self, index: u32, shared: &mut Shared<B, L>) -> bool {
        let flight = &mut self.flights[index as usize];
        let Request { kind, offset, length, fua, stream, .. } = flight.request;
        let op = op_of(kind);
        let block_log2 = shared.contents.block_log2();
        loop {
            let Some(slot) = shared.driver.take_slot(self.queue) else { return false };
            let left = (length - flight.sent) >> block_log2;
            let blocks = left.min(shared.driver.blocks_max(op));
            let slba = (offset + u64::from(flight.sent)) >> block_log2;
            let mut version = 0;
            if kind == RequestKind::Write {
                version = shared.contents.next_version();
                let contents = &shared.contents;
                shared.driver.data_mut(self.queue, slot, blocks << block_log2, |into| {
                    contents.fill(slba, version, into);
                });
            }
            let token = shared.contents.begin(kind, slba, blocks, version, self.verify);
            shared.own(
                self.queue,
                slot,
                Owner { task: self.index as u32, flight: index, slba, blocks, token },
            );
            shared.driver.submit(self.queue, slot, &Io { op, slba, blocks, fua, stream });
            flight.commands += 1;
            flight.sent += blocks << block_log2;
            if flight.sent == length {
                return true;
            }
        }
    }

    /// Handles a command's completion.
    #[inline]
    pub(super) fn complete<B: Bar + 'static, L: LatencySink>(
        &mut self,
        shared: &mut Shared<B, L>,
        owner: &Owner,
        completion: &Completion,
        now: Instant,
    ) {
        let flight = &mut self.flights[owner.flight as usize];
        let kind = flight.request.kind;
        let outcome = outcome(shared, self.queue, owner, completion, kind, self.verify);
        shared.driver.release_slot(self.queue, completion.slot);
        if self.verify && kind == RequestKind::Read && completion.status.is_success() {
            self.statistics.checked_blocks += u64::from(owner.blocks);
        }
        flight.commands -= 1;
        if let Err(failure) = outcome {
            flight.failed = true;
            self.fail(failure, shared.on_failure);
        }
        let Flight { number, request, sent, commands, issued, arrived, measured, failed } =
            self.flights[owner.flight as usize];
        if commands == 0 && sent == request.length {
            self.stage_requests += u64::from(kind != RequestKind::Flush);
            self.stage_bytes += u64::from(request.length);
            if measured && !failed {
                let latency = self.statistics.record(kind, u64::from(request.length), issued, now);
                shared.sink.record(self.index, kind, latency);
                if let Some(arrived) = arrived {
                    shared.sink.record_from_arrival(self.index, kind, now.since(arrived));
                }
            }
            self.free.push(owner.flight);
            let (at, latency) = (now.since(self.stage_began), now.since(issued));
            self.issuer.tell(&Done { number, request, at, latency, failed });
            self.issuer.completed(at);
            if (self.floor.is_some() || self.steady.is_some()) && self.stage == TaskStage::Main && !failed {
                self.watch(&request, latency, at, shared.on_failure);
            }
        }
        if self.stopping {
            self.drop_unsent();
        }
    }

    #[cold]
    fn fail(&mut self, failure: Failure, on_failure: OnFailure) {
        self.statistics.fail(failure);
        if on_failure == OnFailure::EndTask {
            self.stopping = true;
            self.wake_at = None;
        }
    }

    /// Checks after a request of the main stage whether the job is fast enough and whether it is steady.
    fn watch(&mut self, request: &Request, latency: Duration, elapsed: Duration, on_failure: OnFailure) {
        if request.kind == RequestKind::Flush {
            return;
        }
        let floor = self.floor.as_mut();
        if let Some(Err(missed)) = floor.map(|f| f.completed(request.kind, request.length, elapsed)) {
            self.fail(Failure::TooSlow(missed), on_failure);
        }
        if self.steady.as_mut().is_some_and(|s| s.completed(request.length, latency, elapsed)) {
            self.issuer.end();
        }
    }

    /// When the task must be pumped next even if nothing completes.
    #[inline]
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let floor = self.floor.as_ref().filter(|_| self.is_watched());
        let look = floor.map(|floor| {
            let picos = self.stage_began.as_picos().saturating_add(floor.look_at().as_picos());
            Instant::from_picos(picos)
        });
        earliest(self.wake_at, look)
    }

    /// Whether the task's rate is still checked. It isn't once all requests are done.
    fn is_watched(&self) -> bool {
        self.stage == TaskStage::Main && !self.stopping && !self.issuer.is_dry()
    }

    /// Checks whether the task has become too slow because nothing completes.
    fn look_at_floor(&mut self, on_failure: OnFailure, now: Instant) {
        let elapsed = now.since(self.stage_began);
        let floor = self.floor.as_mut().filter(|floor| floor.look_at() <= elapsed);
        let Some(floor) = floor else { return };
        if let Err(missed) = floor.look(elapsed)
            && self.is_watched()
        {
            self.fail(Failure::TooSlow(missed), on_failure);
        }
    }

    /// The task's progress, in parts of [`WHOLE_TASK`].
    pub(super) fn progress(&self, now: Instant) -> u64 {
        let part = |done: u64, total: u64| {
            (u128::from(done) * u128::from(WHOLE_TASK) / u128::from(total.max(1))).min(u128::from(WHOLE_TASK))
                as u64
        };
        let reads_back =
            self.plan.as_ref().is_some_and(|p| p.job.verify && p.job.read_back && p.job.mix != Mix::Read);
        match self.stage {
            TaskStage::Waiting => 0,
            TaskStage::Done => WHOLE_TASK,
            TaskStage::ReadBack => WHOLE_TASK / 2 + part(self.stage_bytes, self.written_bytes) / 2,
            TaskStage::Main => {
                let by_time = self.pace.run_time.map(|run| {
                    let all = [self.pace.start_delay, self.pace.ramp_time, run];
                    let total = all.into_iter().map(Duration::as_picos).fold(0, u64::saturating_add);
                    part(now.since(self.stage_began).as_picos(), total)
                });
                let by_amount = self.plan.as_ref().filter(|plan| !plan.job.time_based).map(|plan| {
                    let bytes = plan.io_bytes.saturating_mul(u64::from(plan.job.loops));
                    let by_bytes = part(self.stage_bytes, bytes);
                    by_bytes.max(plan.job.number_ios.map_or(0, |n| part(self.stage_requests, n)))
                });
                let by_number = self.expected.map(|n| part(self.stage_requests, n));
                let done = by_time.into_iter().chain(by_amount).chain(by_number).max().unwrap_or(0);
                if reads_back { done / 2 } else { done }
            }
        }
    }
}

#[inline]
const fn op_of(kind: RequestKind) -> IoOp {
    match kind {
        RequestKind::Read => IoOp::Read,
        RequestKind::Write => IoOp::Write,
        RequestKind::Flush => IoOp::Flush,
        RequestKind::Trim => IoOp::Deallocate,
        RequestKind::WriteZeroes => IoOp::WriteZeroes { deallocate: false },
    }
}

/// A command's outcome: its status, and its data if they are checked.
#[inline]
fn outcome<B: Bar + 'static, L>(
    shared: &mut Shared<B, L>,
    queue: QueueId,
    owner: &Owner,
    completion: &Completion,
    kind: RequestKind,
    verify: bool,
) -> Result<(), Failure> {
    let Owner { slba, blocks, token, .. } = *owner;
    let status = completion.status;
    if !status.is_success() {
        shared.contents.end(token, false, slba, blocks);
        return Err(Failure::Command { kind, slba, blocks, status });
    }
    if verify && kind == RequestKind::Read {
        let bytes = blocks * shared.contents.drive().block_bytes;
        let contents = &mut shared.contents;
        return shared
            .driver
            .data(queue, completion.slot, bytes, |data| contents.check(token, slba, blocks, data));
    }
    if token != ContentToken::None {
        shared.contents.end(token, true, slba, blocks);
    }
    Ok(())
}
