//! The layer's loop: it takes requests, looks for what has ended, starts what may start, and pauses (S23).

use super::FilConfig;
use super::queues::{Transaction, TransactionId, Work};
use super::stats::FilStats;
use super::turns::{DieState, FilState, FilStep, Turns};
use super::under_way::{Dies, Group, Taken, UnderWay, command_of, goes_alone, typical, work_of};
use super::vector::{Chips, DieIndex, LocationVector};
use crate::bell::Bell;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Function, Recorder};
use aster_exec::{Core, HandlerId};
use aster_parties::BringUpGate;
use aster_ports::flash::{
    FlashError, FlashOp, FlashPort, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Outcomes, Tag,
};
use aster_units::{Duration, Instant};
use core::cell::RefCell;

/// What a phase is, for events and counters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Between cells and register.
    Execution,
    /// Between register and memory.
    Transfer,
}

/// The flash interface layer.
pub(super) struct Layer {
    core: Core,
    config: FilConfig,
    requests: Rc<FlashPort>,
    controllers: Rc<FlashPort>,
    recorder: Recorder,
    state: FilState,
    turns: Turns,
    taken: Taken,
    dies: Dies,
    // The dies with something at the controllers, in the order in which they are looked at.
    asked: Vec<DieIndex>,
    stats: Rc<RefCell<FilStats>>,
    bell: Rc<Bell>,
    bell_id: HandlerId,
    // The earliest instant at which the bell rings for a status that is due then.
    alarm: Instant,
}

impl Layer {
    /// Builds the layer between `requests` and `controllers`, and connects it to them.
    pub(super) fn new(
        core: &Core,
        config: FilConfig,
        requests: Rc<FlashPort>,
        controllers: Rc<FlashPort>,
        recorder: &Recorder,
    ) -> Self {
        let (bell, bell_id) = Bell::new(core.exec());
        requests.collect(bell_id);
        controllers.watch(bell_id);
        let chips = Chips::of(&config.flash.shape.geometry);
        let taken = Taken::new(requests.depth());
        Layer {
            core: core.clone(),
            config,
            recorder: recorder.clone(),
            state: FilState::new(chips, taken.bound()),
            turns: Turns::new(chips),
            dies: Dies::new(chips.total()),
            asked: Vec::with_capacity(chips.total() as usize),
            taken,
            requests,
            controllers,
            stats: Rc::new(RefCell::new(FilStats {
                joined: config.multi_plane.then_some(0),
                ..FilStats::default()
            })),
            bell,
            bell_id,
            alarm: Instant::MAX,
        }
    }
    /// Its counters, to read while it runs.
    pub(super) fn stats(&self) -> Rc<RefCell<FilStats>> {
        Rc::clone(&self.stats)
    }

    /// Runs for ever once the packages have been brought up.
    pub(super) async fn run(mut self, gate: Rc<BringUpGate>) {
        gate.pass(self.core.exec()).await;
        loop {
            self.core.settle().await;
            let began = self.core.now();
            self.bell.still();
            let mut moved = self.take_requests();
            moved |= self.look().await;
            moved |= self.start().await;
            self.count(|stats| stats.passes += 1);
            self.pause(began, moved).await;
        }
    }

    // ---- requests ----

    /// Takes what is in the available ring into the chips' queues.
    fn take_requests(&mut self) -> bool {
        let mut any = false;
        while let Some((tag, request)) = self.requests.try_collect() {
            any = true;
            self.spend(self.config.costs.take);
            let Some(work) = work_of(request.phase) else {
                self.refuse(tag, &request);
                continue;
            };
            for (target, id) in self.taken.take(tag, request) {
                self.state.push(id, self.transaction(&request, target, work));
            }
        }
        any
    }
    fn transaction(&self, request: &FlashRequest, target: usize, work: Work) -> Transaction {
        let geometry = self.config.flash.shape.geometry;
        let at = LocationVector::of(&geometry, request.lun, request.targets()[target].row);
        Transaction {
            work,
            source: request.source,
            die: self.state.chips.die(&at),
            block: at.block,
            plane: at.plane,
            page: at.page,
            alone: goes_alone(request),
        }
    }
    fn refuse(&self, tag: Tag, request: &FlashRequest) {
        let error = FlashError::Unsupported { operation: request.phase.name(), at: self.core.now() };
        self.requests.note_fault(request.lun, error);
        let outcome = Outcome { status: FlashStatus::Error, ..Outcome::default() };
        self.requests.complete(tag, [outcome; MAX_TARGETS]);
    }

    // ---- what ends ----

    /// Looks at each die that has something at the controllers.
    async fn look(&mut self) -> bool {
        let mut any = false;
        let mut at = 0;
        while at < self.asked.len() {
            let die = self.asked[at];
            self.spend(self.config.costs.poll);
            let tag = self.dies.of(die).below.expect("it was asked");
            let Some(outcomes) = self.controllers.try_take(tag) else {
                at += 1;
                continue;
            };
            any = true;
            self.asked.remove(at);
            self.dies.of(die).below = None;
            self.state.passed(die);
            self.answered(die, outcomes).await;
        }
        any
    }
    /// The controllers have answered for a die.
    async fn answered(&mut self, die: DieIndex, mut outcomes: Outcomes) {
        let UnderWay { group, work, give_up, .. } = *self.dies.of(die);
        let now = self.core.exec().now();
        let id = group.first();
        let of_group = &mut outcomes[..group.ids().len()];
        if of_group.iter().any(|outcome| outcome.status == FlashStatus::Error) {
            if self.state.die(die) != DieState::Moving {
                // Then no plane's data have been read, and what is busy never gets a result.
                let lost = |outcome: &Outcome| work == Work::Read || outcome.status == FlashStatus::Busy;
                let lost = of_group.iter_mut().filter(|outcome| lost(outcome));
                lost.for_each(|outcome| outcome.status = FlashStatus::Error);
            }
            return self.end(die, outcomes).await;
        }
        match self.state.die(die) {
            DieState::Commanded(_) if self.is_whole(id) => self.end(die, outcomes).await,
            DieState::Commanded(_) if self.config.polled => {
                // The array has begun. Nobody asks before it can be done.
                let (request, target) = self.taken.of(id);
                let typical = typical(&self.config.flash, request, target);
                let poll = &self.config.flash.poll;
                let (patience, early) = (typical * u64::from(poll.patience), poll.early);
                self.dies.of(die).give_up = now + patience;
                self.state.executes(die, now + typical.saturating_sub(early));
                if work == Work::Program {
                    self.phase_ended(die, Phase::Transfer);
                    self.phase_began(die, Phase::Execution);
                }
            }
            // Controllers in software have waited for the array.
            DieState::Commanded(Work::Read) => {
                self.phase_ended(die, Phase::Execution);
                self.state.loaded(die);
            }
            DieState::Commanded(_) => self.end(die, outcomes).await,
            DieState::Asked(_) => {
                self.count(|stats| stats.statuses += 1);
                match (outcomes[0].status, work) {
                    (FlashStatus::Busy, _) if now < give_up => {
                        self.count(|stats| stats.busy += 1);
                        self.state.executes(die, now + self.config.flash.poll.interval);
                    }
                    (FlashStatus::Busy, _) => self.never_ready(die).await,
                    // The stages judge a read's data; FAIL may be left over from an earlier program.
                    (_, Work::Read) => {
                        self.phase_ended(die, Phase::Execution);
                        self.state.loaded(die);
                    }
                    _ => self.end(die, outcomes).await,
                }
            }
            DieState::Moving => self.end(die, outcomes).await,
            state => unreachable!("an answer for a die that is {state:?}"),
        }
    }
    async fn never_ready(&mut self, die: DieIndex) {
        let id = self.dies.of(die).group.first();
        let (request, target) = self.taken.of(id);
        let (transaction, row) = (request.phase.name(), request.targets()[target].row);
        let error = FlashError::NeverReady { transaction, row, at: self.core.now() };
        self.requests.note_fault(request.lun, error);
        let outcome = Outcome { status: FlashStatus::Error, ..Outcome::default() };
        self.end(die, [outcome; MAX_TARGETS]).await;
    }
    /// What a die has carried out has ended.
    async fn end(&mut self, die: DieIndex, outcomes: Outcomes) {
        let group = self.dies.of(die).group;
        self.spend(self.config.costs.finish * group.ids().len() as u64);
        self.phase_ended(die, self.last_phase(die));
        self.dies.set(die, None);
        self.state.ended(die);
        let lun = self.taken.of(group.first()).0.lun;
        if outcomes.iter().any(|outcome| outcome.status == FlashStatus::Error) {
            while let Some(error) = self.controllers.take_fault(lun) {
                self.requests.note_fault(lun, error);
            }
        }
        self.core.settle().await;
        for (&id, outcome) in group.ids().iter().zip(outcomes) {
            if !self.repeats(id, &outcome) {
                self.complete(id, outcome);
            }
        }
    }
    /// Puts a read that couldn't be corrected behind those that wait, to be read again (C39). Returns false
    /// if it isn't one, or was repeated as often as allowed.
    fn repeats(&mut self, id: TransactionId, outcome: &Outcome) -> bool {
        let (request, target) = self.taken.of(id);
        if work_of(request.phase) != Some(Work::Read) || request.flags.raw {
            return false;
        }
        let (fails, repeated) = (outcome.status == FlashStatus::Uncorrectable, self.taken.repeated(id));
        if fails && repeated < self.config.read_retries {
            let transaction = self.transaction(request, target, Work::Read);
            self.taken.repeat(id);
            self.count(|stats| stats.repeated += 1);
            self.state.push(id, transaction);
            return true;
        }
        self.count(|stats| match fails {
            true => stats.lost += 1,
            false => stats.recovered += u64::from(repeated > 0),
        });
        false
    }
    fn complete(&mut self, id: TransactionId, outcome: Outcome) {
        let outcome = Outcome { repeated: self.taken.repeated(id), ..outcome };
        let (request, target) = self.taken.of(id);
        let (lun, kind, row) = (request.lun, request.phase.class(), request.targets()[target].row);
        self.count(|stats| stats.transactions[usize::from(kind)] += 1);
        let whole = self.taken.ended(id, outcome);
        self.recorder.emit(self.core.now(), || Event::FlashFinished {
            lun: lun.0,
            kind,
            row: row.0,
            status: outcome.status.code(),
            corrected: outcome.corrected,
        });
        if let Some((tag, outcomes)) = whole {
            self.requests.complete(tag, outcomes);
        }
    }
    /// The phase in which a die's transaction is when it ends.
    fn last_phase(&self, die: DieIndex) -> Phase {
        match self.state.die(die) {
            DieState::Moving => Phase::Transfer,
            DieState::Commanded(Work::Program) if self.config.polled => Phase::Transfer,
            _ => Phase::Execution,
        }
    }
    /// Whether the controllers carry the transaction out as a whole.
    fn is_whole(&self, id: TransactionId) -> bool {
        self.taken.of(id).0.flags.slc
    }

    // ---- what starts ----

    /// Starts what may start, until everything waits for something.
    async fn start(&mut self) -> bool {
        let mut any = false;
        while let Some(step) = self.turns.next(&self.state, self.core.exec().now()) {
            any = true;
            self.turns.took(&self.state, step);
            // A controller in software has one queue of transactions per channel, in which a command waits
            // for the bus without holding others up.
            let holds = self.config.polled || matches!(step, FilStep::Transfer(_));
            self.begin(step, holds);
            self.spend(self.config.costs.dispatch);
            self.core.settle().await;
            self.carry_out(step);
        }
        any
    }
    /// Takes what a step is for out of the queues.
    fn begin(&mut self, step: FilStep, holds: bool) {
        let FilStep::Command(die, _, id) = step else { return self.state.begin(step, holds) };
        let first = self.state.queues.transaction(id);
        self.state.begin(step, holds);
        let mut group = Group::of(id);
        if self.config.multi_plane {
            let mut taken = [first; MAX_TARGETS];
            while group.ids().len() < MAX_TARGETS
                && let Some((id, joins)) = self.state.join(&taken[..group.ids().len()])
            {
                taken[group.ids().len()] = joins;
                group.push(id);
            }
            let joined = group.ids().len() as u64 - 1;
            self.count(|stats| stats.joined = stats.joined.map(|count| count + joined));
        }
        let under_way =
            UnderWay { group, work: first.work, below: None, give_up: Instant::MAX, since: Instant::ZERO };
        self.dies.set(die, Some(under_way));
    }
    fn carry_out(&mut self, step: FilStep) {
        let die = step.die();
        let UnderWay { group, work, .. } = *self.dies.of(die);
        let op = match step {
            FilStep::Command(_, _, id) => {
                let (request, _) = self.taken.of(id);
                let op = if request.flags.slc { request.phase } else { command_of(work) };
                let first = |id: &&TransactionId| self.taken.repeated(**id) == 0;
                group.ids().iter().filter(first).for_each(|&id| self.emit_issued(id));
                let data_first = work == Work::Program && self.config.polled && !request.flags.slc;
                self.phase_began(die, if data_first { Phase::Transfer } else { Phase::Execution });
                op
            }
            FilStep::Transfer(_) => {
                self.phase_began(die, Phase::Transfer);
                FlashOp::Transfer
            }
            FilStep::Status(_) => FlashOp::Status,
        };
        // FAIL is a plane's, but RDY is the die's.
        let one_answers = op == FlashOp::Status && work == Work::Read;
        let word = match group.ids() {
            [id] => self.word(*id, op),
            [id, ..] if one_answers => self.word_of(&[*id], op),
            ids => self.word_of(ids, op),
        };
        let tag = self.controllers.submit(word).expect("a die has one thing at the controllers");
        self.dies.of(die).below = Some(tag);
        self.asked.push(die);
    }
    /// The request to the controllers for a step of a transaction.
    fn word(&self, id: TransactionId, op: FlashOp) -> FlashRequest {
        let (request, target) = self.taken.of(id);
        let mut word = *request;
        if request.targets().len() > 1 && !request.flags.one_shot {
            word = FlashRequest::single(op, request.lun, request.targets()[target]);
            (word.flags, word.source) = (request.flags, request.source);
        }
        word.phase = op;
        word
    }
    /// The request to the controllers for a step of a multi-plane operation. Whose page a read has brought is
    /// looked at in the port above.
    fn word_of(&self, ids: &[TransactionId], op: FlashOp) -> FlashRequest {
        let (request, target) = self.taken.of(ids[0]);
        let mut targets = [request.targets()[target]; MAX_TARGETS];
        for (place, &id) in targets.iter_mut().zip(ids) {
            let (request, target) = self.taken.of(id);
            *place = request.targets()[target];
        }
        let word = FlashRequest::vector(op, request.lun, &targets[..ids.len()]);
        word.expect("a group has one target per plane").asked_by(request.source)
    }
    fn emit_issued(&self, id: TransactionId) {
        let (request, target) = self.taken.of(id);
        self.recorder.emit(self.core.now(), || Event::FlashIssued {
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[target].row.0,
        });
    }

    // ---- the pass ----

    /// Waits for the next pass. Passes that would find nothing are counted as if they had been run (design
    /// §2), and the next real one begins when such a pass would have begun.
    async fn pause(&mut self, began: Instant, moved: bool) {
        let exec = self.core.exec().clone();
        let ended = self.core.now();
        let mut next = ended + self.config.pause;
        if !moved {
            self.set_alarm();
            self.bell.wait().await;
            let (now, each) = (exec.now(), next.since(began));
            if now > next && !each.is_zero() {
                let passes = now.since(next).as_picos().div_ceil(each.as_picos());
                next += each * passes;
                self.count(|stats| {
                    stats.passes += passes;
                    stats.idle_passes += passes;
                });
            }
        }
        if next > exec.now() {
            exec.sleep_until(next).await;
        } else if moved {
            // Other tasks of the core get their turn.
            self.core.yield_now().await;
        }
    }
    /// Has the bell ring when a status is due, since nothing else may happen until then.
    fn set_alarm(&mut self) {
        let exec = self.core.exec();
        if self.alarm <= exec.now() {
            self.alarm = Instant::MAX;
        }
        if let Some(due) = self.state.next_poll()
            && due < self.alarm
        {
            self.alarm = due;
            exec.schedule(due.max(exec.now()), self.bell_id, 0);
        }
    }

    /// Spends `cycles` of the core.
    fn spend(&self, cycles: u64) {
        let work = || self.core.charge(cycles);
        self.recorder.account(Function::FlashInterface, || self.core.stands(), work);
    }
    fn count(&self, change: impl FnOnce(&mut FilStats)) {
        change(&mut self.stats.borrow_mut());
    }
    fn phase_began(&mut self, die: DieIndex, phase: Phase) {
        self.dies.of(die).since = self.core.now();
        let (lun, kind) = self.event_of(die);
        let transfer = phase == Phase::Transfer;
        self.recorder.emit(self.core.now(), || Event::PhaseBegan { lun, kind, transfer });
    }
    fn phase_ended(&mut self, die: DieIndex, phase: Phase) {
        let (lun, kind) = self.event_of(die);
        let transfer = phase == Phase::Transfer;
        let took: Duration = self.core.now().since(self.dies.of(die).since);
        self.count(|stats| stats.phase_time[usize::from(transfer)][usize::from(kind)] += took);
        self.recorder.emit(self.core.now(), || Event::PhaseEnded { lun, kind, transfer });
    }
    fn event_of(&self, die: DieIndex) -> (u32, u8) {
        let under_way = self.dies.get(die).expect("a phase is of something under way");
        let (request, _) = self.taken.of(under_way.group.first());
        (request.lun.0, request.phase.class())
    }
}
