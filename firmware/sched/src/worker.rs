//! The worker of a LUN: it takes a request, has it carried out and answers it, again and again.

use crate::backend::Backend;
use crate::controllers::{Controllers, Seat, WorkersConfig};
use crate::retry::{self, Repetition, RetryStats, Step};
use crate::tasks::{OVERTAKES_MAX, bounded};
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::Exec;
use aster_flash::ReadsBetween;
use aster_parties::{BringUpGate, FlashTask, Tasks};
use aster_ports::flash::{
    FlashError, FlashOp, FlashPort, FlashRequest, FlashSource, FlashStatus, MAX_TARGETS, Outcome, Outcomes,
    TOGETHER_MAX, Tag, Together,
};
use aster_units::{Instant, LunIndex};
use core::cell::{Cell, RefCell};

/// A request that a worker has taken.
#[derive(Clone, Copy)]
struct TakenRequest {
    tag: Tag,
    request: FlashRequest,
    task: FlashTask,
}

/// Reads of a LUN for which there is room while they wait to be repeated: one that has failed and one that
/// was begun behind it, or those of an operation that was suspended once.
const FAILED_ROOM: usize = 2 + OVERTAKES_MAX as usize;

/// A LUN's worker.
pub struct Worker<B> {
    /// The LUN, numbered over the drive.
    pub lun: LunIndex,
    /// Where requests come from.
    pub port: Rc<FlashPort>,
    /// What carries them out, for all LUNs.
    pub controllers: Rc<Controllers<B>>,
    /// Chooses and admits requests; shared by all workers.
    pub tasks: Rc<Tasks>,
    /// Opens when the package answers.
    pub gate: Rc<BringUpGate>,
    /// Where events go.
    pub recorder: Recorder,
}

impl<B: Backend> Worker<B> {
    /// Serves one LUN for ever: the long-lived worker of design §2. During a page read it begins the next
    /// one, if there is one, so that the LUN's array waits neither for the stages nor for the pages of other
    /// LUNs.
    pub async fn run(self) {
        let exec = self.port.exec().clone();
        self.gate.pass(&exec).await;
        let overtakes = Cell::new(0);
        // A read that was taken during the one before it, and may have been begun.
        let (mut ahead, mut begun): (Option<TakenRequest>, Option<B::Begun>) = (None, None);
        let failed = RefCell::new(VecDeque::with_capacity(FAILED_ROOM));
        let seat = self.seat();
        let WorkersConfig { retries, suspends } = &self.controllers.config;
        loop {
            let job = match ahead.take() {
                Some(job) => job,
                None if !failed.borrow().is_empty() => {
                    let (job, mut outcomes) = failed.borrow_mut().pop_front().expect("a read has failed");
                    self.repeat(&exec, &job, &mut outcomes).await;
                    self.finish(&exec, job.tag, &job.request, &outcomes);
                    continue;
                }
                None => match self.next(&exec, &overtakes).await {
                    Some(job) => job,
                    None => continue,
                },
            };
            if begun.is_none()
                && let Some(level) = seat.levels.to_set(retries, &job.request)
            {
                self.set_level(&job.request, level).await;
            }
            seat.levels.note(retries, &job.request);
            if *suspends > 0 && seat.controller.can_suspend(&job.request) {
                let (worker, under_way, next) = (&self, &job.request, Cell::new(None));
                let reads = Between { worker, exec: &exec, under_way, next, failed: &failed };
                let fault = |error| self.fault(error);
                let outcomes = seat.controller.execute_around(under_way, *suspends, &reads, fault).await;
                self.finish(&exec, job.tag, under_way, &outcomes);
                self.tasks.ended(&exec, &job.task);
                // A read for which it was too late to suspend anything.
                ahead = reads.next.take();
                continue;
            }
            let take = || {
                if !failed.borrow().is_empty() {
                    return None;
                }
                ahead = self.next_page_read(&exec, &overtakes);
                // A read at another level is not begun ahead.
                let at_level = |job: &&TakenRequest| seat.levels.to_set(retries, &job.request).is_none();
                ahead.as_ref().filter(at_level).map(|job| job.request)
            };
            let mut outcomes = [Outcome::default(); MAX_TARGETS];
            let fault = |error| self.fault(error);
            begun = seat.controller.execute(&job.request, &mut outcomes, begun.take(), take, fault).await;
            if retry::has_failed(retries, &job.request, &outcomes) {
                self.before_repeat(&exec, &job);
                failed.borrow_mut().push_back((job, outcomes));
                continue;
            }
            self.finish(&exec, job.tag, &job.request, &outcomes);
            self.tasks.ended(&exec, &job.task);
        }
    }

    fn fault(&self, error: FlashError) {
        self.port.note_fault(self.lun, error);
    }

    /// A read will be repeated. If that needs its package alone, it counts as running no longer: two LUNs
    /// that want the package would wait for each other.
    #[cold]
    fn before_repeat(&self, exec: &Exec, job: &TakenRequest) {
        if self.controllers.config.retries.shares_levels() {
            self.tasks.ended(exec, &job.task);
        }
    }
    /// Repeats what has failed of a read. Afterwards it doesn't count as running.
    #[cold]
    async fn repeat(&self, exec: &Exec, job: &TakenRequest, outcomes: &mut Outcomes) {
        let TakenRequest { request, task, .. } = job;
        let alone = self.controllers.config.retries.shares_levels();
        if alone {
            self.tasks.admitted_alone(exec, task).await;
        }
        self.correct(request, outcomes).await;
        if alone { self.tasks.ended_alone(exec, task) } else { self.tasks.ended(exec, task) }
    }
    /// Repeats the targets of a read that are uncorrectable.
    async fn correct(&self, request: &FlashRequest, outcomes: &mut Outcomes) {
        let Controllers { config: WorkersConfig { retries, .. }, stats, .. } = &*self.controllers;
        let Seat { levels, controller, .. } = self.controllers.seat(request.lun);
        for (n, target) in request.targets().iter().enumerate() {
            if outcomes[n].status != FlashStatus::Uncorrectable {
                continue;
            }
            let mut repetition = Repetition::of(levels, outcomes[n]);
            loop {
                match repetition.next(retries, levels) {
                    Step::SetLevel(level) => {
                        if !self.set_level(request, level).await {
                            repetition.give_up(retries);
                        }
                    }
                    Step::Read => {
                        RetryStats::add(&stats.repeated);
                        let (again, nothing) = (retry::again(request, n), || None);
                        let fault = |error| self.port.note_fault(request.lun, error);
                        let mut outcomes = [Outcome::default(); MAX_TARGETS];
                        controller.execute(&again, &mut outcomes, None, nothing, fault).await;
                        repetition.read(outcomes[0]);
                    }
                    Step::Over => break,
                }
            }
            outcomes[n] = repetition.outcome();
            let is_correct = outcomes[n].status == FlashStatus::Done;
            if is_correct {
                levels.found(retries, target.row, levels.current());
            }
            RetryStats::add(if is_correct { &stats.recovered } else { &stats.lost });
        }
        if retries.shares_levels() && levels.current() != 0 {
            self.set_level(request, 0).await;
        }
    }
    /// Sets the read level of the package of `request`. Returns whether it is set.
    #[cold]
    async fn set_level(&self, request: &FlashRequest, level: u8) -> bool {
        let Controllers { config: WorkersConfig { retries, .. }, stats, .. } = &*self.controllers;
        let Seat { levels, controller, lun, .. } = self.controllers.seat(request.lun);
        let set = retry::set_level(retries, *lun, request.targets()[0].row, level);
        let mut outcomes = [Outcome::default(); MAX_TARGETS];
        let fault = |error| self.port.note_fault(*lun, error);
        controller.execute(&set, &mut outcomes, None, || None, fault).await;
        let is_set = outcomes[0].status == FlashStatus::Done;
        if is_set {
            levels.set(level);
            RetryStats::add(&stats.levels_set);
        }
        is_set
    }

    fn seat(&self) -> &Seat<B> {
        self.controllers.seat(self.lun)
    }

    /// The next request, when it may start. `None` if the next one belonged together with others: then it is
    /// over already.
    async fn next(&self, exec: &Exec, overtakes: &Cell<u32>) -> Option<TakenRequest> {
        let choose = |waiting: &mut dyn Iterator<Item = FlashOp>| {
            bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.next(self.lun, choose).await;
        if self.port.is_together(tag) {
            self.join(exec, tag).await;
            return None;
        }
        let task = self.task(request.phase);
        self.tasks.admitted(exec, &task).await;
        Some(self.taken(exec, tag, request, task))
    }

    /// Meets the workers of the other lanes, and carries the group out if it is the last to come.
    async fn join(&self, exec: &Exec, tag: Tag) {
        let group = self.port.together_with(tag);
        if self.controllers.arrive(self.lun, tag, &group) {
            self.lead(exec, &group).await;
        } else {
            self.controllers.over(exec, self.lun).await;
        }
    }

    async fn lead(&self, exec: &Exec, group: &Together) {
        let members = group.members();
        let (mut lanes, mut tasks) = (
            [(&self.seat().controller, members[0].1); TOGETHER_MAX],
            [self.task(members[0].1.phase); TOGETHER_MAX],
        );
        for (n, (_, request)) in members.iter().enumerate() {
            let Seat { lun, package, controller, .. } = self.controllers.seat(request.lun);
            lanes[n] = (controller, *request);
            tasks[n] = FlashTask { lun: *lun, package: *package, phase: request.phase };
        }
        let tasks = &tasks[..members.len()];
        self.tasks.admitted_together(exec, tasks).await;
        members.iter().for_each(|(_, request)| self.begin(exec, request));
        for (_, request) in members {
            let Seat { levels, .. } = self.controllers.seat(request.lun);
            if let Some(level) = levels.to_set(&self.controllers.config.retries, request) {
                self.set_level(request, level).await;
            }
            levels.note(&self.controllers.config.retries, request);
        }
        let mut outcomes = [[Outcome::default(); MAX_TARGETS]; TOGETHER_MAX];
        let fault = |lun, error| self.port.note_fault(lun, error);
        B::execute_together(&lanes[..members.len()], &mut outcomes[..members.len()], fault).await;
        let retries = &self.controllers.config.retries;
        let is_failed =
            |(n, outcomes): (usize, &Outcomes)| retry::has_failed(retries, &members[n].1, outcomes);
        let some_failed = outcomes[..members.len()].iter().enumerate().any(is_failed);
        if some_failed {
            self.repeat_members(exec, members, tasks, &mut outcomes).await;
        }
        // None is answered before the group is over: its tag may name another request from then on.
        for ((tag, request), outcomes) in members.iter().zip(&outcomes) {
            self.finish(exec, *tag, request, outcomes);
        }
        if !some_failed {
            tasks.iter().for_each(|task| self.tasks.ended(exec, task));
        }
        self.controllers.release(exec, group);
    }

    /// Repeats the reads of a group that have failed, one after the other. Afterwards none of the group
    /// counts as running.
    #[cold]
    async fn repeat_members(
        &self,
        exec: &Exec,
        members: &[(Tag, FlashRequest)],
        tasks: &[FlashTask],
        outcomes: &mut [Outcomes],
    ) {
        let retries = &self.controllers.config.retries;
        let failed = |n: usize, outcomes: &Outcomes| retry::has_failed(retries, &members[n].1, outcomes);
        let job = |n: usize| TakenRequest { tag: members[n].0, request: members[n].1, task: tasks[n] };
        for (n, outcomes) in outcomes[..members.len()].iter().enumerate() {
            match failed(n, outcomes) {
                true => self.before_repeat(exec, &job(n)),
                false => self.tasks.ended(exec, &tasks[n]),
            }
        }
        for (n, outcomes) in outcomes[..members.len()].iter_mut().enumerate() {
            if failed(n, outcomes) {
                self.repeat(exec, &job(n), outcomes).await;
            }
        }
    }

    /// The next request, if it is a page read and may start now. Returns `None` if requests other than
    /// page reads wait, too. The next one is uncertain then: a read that arrives meanwhile may have to go
    /// before a program.
    #[inline]
    fn next_page_read(&self, exec: &Exec, overtakes: &Cell<u32>) -> Option<TakenRequest> {
        let task = self.task(FlashOp::Read);
        if !self.port.only_page_reads_wait(self.lun) || !self.tasks.admit(&task) {
            return None;
        }
        let choose = |waiting: &mut dyn Iterator<Item = FlashOp>| {
            bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.try_next(self.lun, choose).expect("a page read waits");
        Some(self.taken(exec, tag, request, task))
    }

    /// A page read that waits, if it `may` go before what came earlier and may start now.
    fn take_page_read(&self, exec: &Exec, may: impl Fn(&FlashRequest) -> bool) -> Option<TakenRequest> {
        let task = self.task(FlashOp::Read);
        let starts = |request: &FlashRequest| may(request) && self.tasks.admit(&task);
        let (tag, request) = self.port.try_next_page_read(self.lun, starts)?;
        Some(self.taken(exec, tag, request, task))
    }

    #[inline]
    fn task(&self, phase: FlashOp) -> FlashTask {
        FlashTask { lun: self.lun, package: self.seat().package, phase }
    }

    fn begin(&self, exec: &Exec, request: &FlashRequest) {
        self.recorder.emit(exec.now(), || Event::FlashIssued {
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
        });
    }
    #[inline]
    fn finish(&self, exec: &Exec, tag: Tag, request: &FlashRequest, outcomes: &Outcomes) {
        self.recorder.emit(exec.now(), || Event::FlashFinished {
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
            status: outcomes[0].status.code(),
            corrected: outcomes[0].corrected,
        });
        self.port.note(tag, outcomes);
        self.port.complete_noted(tag);
    }

    #[inline]
    fn taken(&self, exec: &Exec, tag: Tag, request: FlashRequest, task: FlashTask) -> TakenRequest {
        self.begin(exec, &request);
        TakenRequest { tag, request, task }
    }
}

/// The reads that wait for a LUN whose array carries out `under_way` (B31).
struct Between<'a, B> {
    worker: &'a Worker<B>,
    exec: &'a Exec,
    under_way: &'a FlashRequest,
    /// The read that is there.
    next: Cell<Option<TakenRequest>>,
    /// Reads that can't be corrected, which are repeated when the operation has ended.
    failed: &'a RefCell<VecDeque<(TakenRequest, Outcomes)>>,
}

impl<B: Backend> Between<'_, B> {
    /// Takes a read that may go first: of the host or the map, of another block, at the level that is set.
    /// Nobody waits for what garbage collection reads.
    fn take(&self) -> Option<TakenRequest> {
        let Worker { controllers, lun, .. } = self.worker;
        let geometry = &controllers.config.retries.geometry;
        let block = |request: &FlashRequest| geometry.split_row(request.targets()[0].row).1;
        let works_on = block(self.under_way);
        let levels = &controllers.seat(*lun).levels;
        let may = |read: &FlashRequest| {
            read.source != FlashSource::Gc
                && block(read) != works_on
                && levels.to_set(&controllers.config.retries, read).is_none()
        };
        self.worker.take_page_read(self.exec, may)
    }
}

impl<B: Backend> ReadsBetween for Between<'_, B> {
    async fn next(&self, until: Instant) -> bool {
        let Worker { port, lun, .. } = self.worker;
        let taken = port.next_until(*lun, until, || self.take()).await;
        self.next.set(taken);
        taken.is_some()
    }
    async fn serve(&self) {
        let Worker { controllers, tasks, lun, port, .. } = self.worker;
        let stats = &controllers.suspends;
        stats.suspended.set(stats.suspended.get() + 1);
        let controller = &controllers.seat(*lun).controller;
        for _ in 0..OVERTAKES_MAX {
            let Some(job) = self.next.take().or_else(|| self.take()) else { return };
            stats.reads.set(stats.reads.get() + 1);
            let fault = |error| port.note_fault(*lun, error);
            let mut outcomes = [Outcome::default(); MAX_TARGETS];
            controller.execute(&job.request, &mut outcomes, None, || None, fault).await;
            if retry::has_failed(&controllers.config.retries, &job.request, &outcomes) {
                self.worker.before_repeat(self.exec, &job);
                self.failed.borrow_mut().push_back((job, outcomes));
                continue;
            }
            self.worker.finish(self.exec, job.tag, &job.request, &outcomes);
            tasks.ended(self.exec, &job.task);
        }
    }
}

#[cfg(test)]
mod tests;
