//! Carries out workloads on the driver of [`aster_driver`], in the host's simulated time. No other part of
//! this crate knows a driver.
//!
//! A [`HostTask`] is a source of requests with its pace: a copy of a [`Job`](crate::Job), or a trace.
//! [`Runner`] gives each task a queue pair, keeps its requests in flight, times and counts them
//! ([`Statistics`], [`LatencySink`]) and checks what comes back ([`Contents`]).
//!
//! The run mode drives it: [`Runner::start`], then [`Runner::on_interrupt`] for each interrupt and
//! [`Runner::on_timer`] at [`Runner::next_deadline`], always after it has advanced the host's executor to
//! that time. Completions are handled at once, without a task: record, next request, submit, one doorbell per
//! batch. Only the oracle of verified contents allocates per request.

mod any_source;
mod contents;
mod precondition;
mod shared;
mod statistics;
mod task;
#[cfg(test)]
mod tests;

pub use contents::Contents;
pub use precondition::{Precondition, precondition};
pub use shared::{OnFailure, WHOLE_TASK};
pub use statistics::{Arrived, Failure, KindStatistics, LatencySink, Statistics};
pub use task::HostTask;

use crate::earliest::earliest;
use crate::{Drive, ExitWhat};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Bar, Completion, CompletionMode, Driver, Overdue, QueueId, Violation};
use aster_units::{Duration, Instant};
use core::fmt;
use shared::{Owner, Shared};
use task::{Running, TaskStage};

/// Why a run can't continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A command did not complete in the driver's time limit.
    Overdue(Overdue),
    /// The controller broke the protocol.
    Protocol(Violation),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Overdue(overdue) => overdue.fmt(f),
            Fault::Protocol(violation) => violation.fmt(f),
        }
    }
}
impl core::error::Error for Fault {}

struct Queue {
    id: QueueId,
    vector: Option<u16>,
    tasks: Vec<usize>,
}

/// How often per time limit the runner checks for overdue commands.
const CHECKS_PER_TIMEOUT: u64 = 4;
/// The vector of the admin queue.
const ADMIN_VECTOR: u16 = 0;
/// Runs tasks on a drive.
pub struct Runner<B: Bar, L> {
    shared: Shared<B, L>,
    tasks: Vec<Running>,
    queues: Vec<Queue>,
    wave: u32,
    in_flight: u64,
    all_through: bool,
    /// Whether other tasks end when one ends, and when one fails.
    exit_all: (bool, bool),
    next_wake: Option<Instant>,
    next_check: Instant,
    next_poll: Option<Instant>,
    fault: Option<Fault>,
}

impl<B: Bar + 'static, L: LatencySink> Runner<B, L> {
    /// Runs `tasks` on the drive behind `driver`, which has been brought up. `contents` says what the drive
    /// holds; `sink` gets each measured latency, under the task's index in `tasks`.
    pub fn new(
        driver: &Rc<Driver<B>>,
        tasks: Vec<HostTask>,
        contents: Contents,
        sink: L,
        on_failure: OnFailure,
    ) -> Self {
        let ids: Vec<QueueId> = driver.queues().collect();
        assert!(!ids.is_empty(), "the driver has been brought up and has queues");
        assert_eq!(contents.drive(), drive_of(driver), "the contents are those of this drive");
        let tasks: Vec<Running> = tasks
            .into_iter()
            .enumerate()
            .map(|(i, task)| Running::new(i, task, ids[i % ids.len()]))
            .collect();
        let tasks_of = |id| tasks.iter().enumerate().filter(move |(_, t)| t.queue == id).map(|(i, _)| i);
        let queues = ids
            .iter()
            .map(|&id| Queue { id, vector: driver.vector(id), tasks: tasks_of(id).collect() })
            .collect();
        // As in fio, one job's option applies to all.
        let exit_all = tasks.iter().map(Running::exits).fold((false, false), |(a, b), (c, d)| (a | c, b | d));
        let owners = ids.iter().map(|&id| vec![Owner::NONE; usize::from(driver.depth(id))]).collect();
        Runner {
            shared: Shared { driver: Rc::clone(driver), contents, sink, on_failure, owners },
            tasks,
            queues,
            wave: 0,
            in_flight: 0,
            all_through: false,
            exit_all,
            next_wake: None,
            next_check: Instant::MAX,
            next_poll: None,
            fault: None,
        }
    }

    fn now(&self) -> Instant {
        self.shared.driver.exec().now()
    }

    /// Issues the first requests. Call it once.
    pub fn start(&mut self) {
        let now = self.now();
        self.next_check = now + self.check_period();
        self.begin_wave(now);
        self.after_event(now);
    }

    /// Handles an interrupt: takes completions and issues what may follow.
    #[inline]
    pub fn on_interrupt(&mut self, vector: u16) {
        if vector == ADMIN_VECTOR {
            self.shared.driver.interrupt(vector);
        }
        let now = self.now();
        for queue in 0..self.queues.len() {
            if self.queues[queue].vector == Some(vector) {
                self.reap(queue, now);
            }
        }
        self.after_event(now);
    }

    /// Acts on the time of [`Runner::next_deadline`]. Earlier calls do no harm.
    pub fn on_timer(&mut self) {
        let now = self.now();
        if self.next_poll.is_some_and(|at| at <= now) {
            self.next_poll = None;
            for queue in 0..self.queues.len() {
                self.reap(queue, now);
            }
        }
        if self.next_wake.is_some_and(|at| at <= now) {
            for queue in 0..self.queues.len() {
                self.pump(queue, now);
            }
        }
        if self.next_check <= now {
            self.next_check = now + self.check_period();
            if let Some(overdue) = self.shared.driver.overdue(now) {
                self.fault.get_or_insert(Fault::Overdue(overdue));
            }
        }
        self.after_event(now);
    }

    fn check_period(&self) -> Duration {
        (self.shared.driver.config().command_timeout / CHECKS_PER_TIMEOUT).max(Duration::from_picos(1))
    }

    /// When [`Runner::on_timer`] should be called next; `None` if only an interrupt can advance the run.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.fault.is_some() {
            return None;
        }
        let check = (self.in_flight > 0).then_some(self.next_check);
        earliest(earliest(self.next_wake, self.next_poll), check)
    }

    /// Issues nothing more. Requests in flight complete and count; then the run ends.
    pub fn stop(&mut self) {
        let now = self.now();
        for task in &mut self.tasks {
            task.stop(now);
        }
        self.after_event(now);
    }

    /// Whether nothing is in flight and nothing will be, or the run can't continue ([`Runner::fault`]).
    #[inline]
    pub fn is_done(&self) -> bool {
        self.fault.is_some() || self.all_through
    }

    /// Why the run can't continue; `None` as long as it can.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// The progress of the run: (done, total), where each task counts [`WHOLE_TASK`]. A trace whose
    /// requests have not been counted ([`HostTask::expecting`]) counts only when it has ended.
    pub fn progress(&self) -> (u64, u64) {
        let now = self.now();
        let done = self.tasks.iter().map(|task| task.progress(now)).sum();
        (done, self.tasks.len() as u64 * WHOLE_TASK)
    }

    /// What the tasks have done so far, in their order.
    pub fn statistics(&self) -> impl Iterator<Item = &Statistics> {
        self.tasks.iter().map(|task| &task.statistics)
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the contents of the drive and the sink, for another run or a report.
    pub fn finish(self) -> (Vec<Statistics>, Contents, L) {
        let statistics = self.tasks.into_iter().map(|task| task.statistics).collect();
        (statistics, self.shared.contents, self.shared.sink)
    }

    /// Handles the completions of a queue and lets its tasks continue.
    fn reap(&mut self, queue: usize, now: Instant) {
        let id = self.queues[queue].id;
        while let Some(completion) = self.shared.driver.next_completion(id) {
            self.complete(queue, &completion, now);
        }
        self.pump(queue, now);
    }

    #[inline]
    fn complete(&mut self, queue: usize, completion: &Completion, now: Instant) {
        let slot = completion.slot;
        let owner = core::mem::replace(&mut self.shared.owners[queue][slot.index()], Owner::NONE);
        match self.tasks.get_mut(owner.task as usize) {
            Some(task) => task.complete(&mut self.shared, &owner, completion, now),
            // A command that an earlier run gave up has completed after all.
            None => self.shared.driver.release_slot(self.queues[queue].id, slot),
        }
    }

    /// Lets a queue's tasks issue what they may, then rings the doorbells.
    fn pump(&mut self, queue: usize, now: Instant) {
        for &task in &self.queues[queue].tasks {
            self.tasks[task].pump(&mut self.shared, now);
        }
        self.shared.driver.ring(self.queues[queue].id);
    }

    fn begin_wave(&mut self, now: Instant) {
        self.shared.sink.wave_begins(self.wave, now);
        for task in &mut self.tasks {
            if task.wave == self.wave {
                task.begin(now);
            }
        }
        for queue in 0..self.queues.len() {
            self.pump(queue, now);
        }
    }

    /// Ends tasks that must end because another has ended. Returns true when there were any.
    fn end_with_others(&mut self) -> bool {
        let (always, on_error) = self.exit_all;
        let mut any = false;
        for i in 0..self.tasks.len() {
            let Some(what) = self.tasks[i].takes_others_along(always, on_error) else { continue };
            let (wave, all) = (self.tasks[i].wave, what == ExitWhat::All);
            for other in self.tasks.iter_mut().filter(|other| all || other.wave == wave) {
                any |= other.end_with_another(all);
            }
        }
        any
    }

    /// Call this after any event: begins the next wave when it is due, and computes the next deadline.
    #[inline]
    fn after_event(&mut self, now: Instant) {
        loop {
            while self.exit_all != (false, false) && self.end_with_others() {
                (0..self.queues.len()).for_each(|queue| self.pump(queue, now));
            }
            let (mut busy, mut waiting) = (false, None);
            (self.in_flight, self.next_wake) = (0, None);
            for task in &self.tasks {
                self.in_flight += u64::from(task.in_flight());
                self.next_wake = earliest(self.next_wake, task.wakes_at());
                match task.stage {
                    TaskStage::Waiting => waiting = earliest(waiting, Some(task.wave)),
                    TaskStage::Main | TaskStage::ReadBack => busy = true,
                    TaskStage::Done => {}
                }
            }
            match waiting {
                Some(wave) if !busy => {
                    self.wave = wave;
                    self.begin_wave(now);
                }
                _ => {
                    self.all_through = !busy && waiting.is_none();
                    break;
                }
            }
        }
        if let Some(violation) = self.shared.driver.violation() {
            self.fault.get_or_insert(Fault::Protocol(violation));
        }
        if let CompletionMode::Polled { period } = self.shared.driver.config().completion {
            self.next_poll = (self.in_flight > 0).then(|| self.next_poll.unwrap_or(now + period));
        }
    }
}

/// The drive behind a driver that has been brought up, as workloads are laid out on it.
pub fn drive_of<B: Bar + 'static>(driver: &Driver<B>) -> Drive {
    let namespace = driver.namespace();
    Drive { bytes: namespace.bytes(), block_bytes: namespace.block_bytes, streams: driver.streams() }
}
