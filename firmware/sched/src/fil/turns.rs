//! Whose turn it is: what the interface layer does next, as a function of what waits and of what is under
//! way (S22, S23, P33).

use super::queues::{QueueKind, Queues, Transaction, TransactionId, Work};
use super::vector::{Chips, DieIndex};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::Instant;

/// What a die does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DieState {
    /// Nothing.
    Idle,
    /// It gets its command, and a program's data.
    Commanded(Work),
    /// Its array works. From this instant on its status is asked for.
    Executing(Work, Instant),
    /// Its status is being read.
    Asked(Work),
    /// What was read is in its register.
    Loaded,
    /// What was read crosses the bus.
    Moving,
}

impl DieState {
    /// Whether a read of the die is under way.
    fn reads(self) -> bool {
        match self {
            DieState::Commanded(work) | DieState::Executing(work, _) | DieState::Asked(work) => {
                work == Work::Read
            }
            DieState::Loaded | DieState::Moving => true,
            DieState::Idle => false,
        }
    }
}

/// What the layer does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilStep {
    /// The data phase of a read whose execution is over.
    Transfer(DieIndex),
    /// A command for an idle die: the first transaction for it in this queue.
    Command(DieIndex, QueueKind, TransactionId),
    /// A status, for a die whose array works.
    Status(DieIndex),
}

impl FilStep {
    /// The die that it is for.
    pub const fn die(&self) -> DieIndex {
        match *self {
            FilStep::Transfer(die) | FilStep::Command(die, ..) | FilStep::Status(die) => die,
        }
    }
}

/// What waits and what is under way.
pub struct FilState {
    /// The drive's chips.
    pub chips: Chips,
    /// What waits.
    pub queues: Queues,
    dies: Vec<DieState>,
    // Whether a channel carries something.
    busy: Vec<bool>,
    loads: Vec<ChannelLoad>,
}

/// What there is to do on a channel.
#[derive(Clone, Copy, Default)]
struct ChannelLoad {
    // Transactions that wait for its dies.
    waiting: u32,
    // Its dies that aren't idle, those of them with data in the register, and those whose array works.
    at_work: u32,
    loaded: u32,
    executing: u32,
}

impl ChannelLoad {
    /// The numbers in which a die in this state is counted.
    fn of(&mut self, state: DieState) -> [Option<&mut u32>; 2] {
        let at_work = (state != DieState::Idle).then_some(&mut self.at_work);
        match state {
            DieState::Loaded => [at_work, Some(&mut self.loaded)],
            DieState::Executing(..) => [at_work, Some(&mut self.executing)],
            _ => [at_work, None],
        }
    }
}

impl FilState {
    /// Nothing waits, and every die is idle. Transactions have ids below `bound`.
    pub fn new(chips: Chips, bound: usize) -> Self {
        let channels = usize::from(chips.channels);
        FilState {
            chips,
            queues: Queues::new(chips, bound),
            dies: vec![DieState::Idle; chips.total() as usize],
            busy: vec![false; channels],
            loads: vec![ChannelLoad::default(); channels],
        }
    }
    /// What a die does.
    pub fn die(&self, die: DieIndex) -> DieState {
        self.dies[die.at()]
    }
    /// Whether a die's channel carries nothing.
    pub fn is_channel_idle(&self, die: DieIndex) -> bool {
        !self.busy[self.chips.channel(die)]
    }
    /// Whether nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.loads.iter().all(|load| load.waiting + load.at_work == 0)
    }
    /// Dies that aren't idle.
    pub fn at_work(&self) -> impl Iterator<Item = DieIndex> + '_ {
        let busy = |(_, state): &(u32, &DieState)| **state != DieState::Idle;
        (0..).zip(&self.dies).filter(busy).map(|(die, _)| DieIndex(die))
    }

    fn load(&mut self, die: DieIndex) -> &mut ChannelLoad {
        &mut self.loads[self.chips.channel(die)]
    }
    fn set(&mut self, die: DieIndex, state: DieState) {
        let before = core::mem::replace(&mut self.dies[die.at()], state);
        let load = self.load(die);
        load.of(before).into_iter().flatten().for_each(|count| *count -= 1);
        load.of(state).into_iter().flatten().for_each(|count| *count += 1);
    }

    /// A transaction has come.
    pub fn push(&mut self, id: TransactionId, transaction: Transaction) {
        self.load(transaction.die).waiting += 1;
        self.queues.push(id, transaction);
    }
    /// Begins a step. `holds` says whether the die's channel is busy until [`FilState::passed`].
    pub fn begin(&mut self, step: FilStep, holds: bool) {
        let die = step.die();
        assert!(self.is_channel_idle(die), "a channel carries one thing at a time");
        let state = match (step, self.dies[die.at()]) {
            (FilStep::Transfer(_), DieState::Loaded) => DieState::Moving,
            (FilStep::Status(_), DieState::Executing(work, _)) => DieState::Asked(work),
            (FilStep::Command(_, kind, id), DieState::Idle) => {
                let work = self.queues.transaction(id).work;
                let dies = &self.dies;
                let taken = self.queues.take(die, kind, |of| dies[of.at()] == DieState::Idle);
                assert_eq!(taken, id, "a queue keeps its order");
                self.load(die).waiting -= 1;
                DieState::Commanded(work)
            }
            (step, state) => unreachable!("{step:?} of a die that is {state:?}"),
        };
        self.set(die, state);
        self.busy[self.chips.channel(die)] = holds;
    }
    /// Has a multi-plane operation carry out one more transaction, along with those of `taken`, which the
    /// die has just begun: the first of one of the die's queues, if it
    /// [goes with](Transaction::goes_with) them and its queue may be served. Queues are looked at in the
    /// order of their priority.
    pub fn join(&mut self, taken: &[Transaction]) -> Option<(TransactionId, Transaction)> {
        let die = taken.first()?.die;
        let chip = self.chips.chip(die);
        let (kind, transaction) = QueueKind::ALL.into_iter().find_map(|kind| {
            let transaction = self.queues.transaction(self.queues.head(die, kind)?);
            let goes = taken.iter().all(|other| transaction.goes_with(other));
            (goes && may_go(self, chip, kind)).then_some((kind, transaction))
        })?;
        self.load(die).waiting -= 1;
        Some((self.queues.take_along(die, kind), transaction))
    }
    /// What the die's channel carried has passed.
    pub fn passed(&mut self, die: DieIndex) {
        self.busy[self.chips.channel(die)] = false;
    }
    /// The die's array has begun, or its status has said that it goes on: the next status is due at `poll`.
    pub fn executes(&mut self, die: DieIndex, poll: Instant) {
        let state = self.die(die);
        let (DieState::Commanded(work) | DieState::Asked(work)) = state else {
            unreachable!("an array begins in a die that is {state:?}");
        };
        self.set(die, DieState::Executing(work, poll));
    }
    /// A read's execution is over: its data wait in the register.
    pub fn loaded(&mut self, die: DieIndex) {
        let state = self.die(die);
        assert!(state.reads(), "data in a die that is {state:?}");
        self.set(die, DieState::Loaded);
    }
    /// The die's transaction is over, and those that have [joined](FilState::join) it.
    pub fn ended(&mut self, die: DieIndex) {
        assert_ne!(self.die(die), DieState::Idle, "an idle die has nothing that ends");
        self.set(die, DieState::Idle);
    }
    /// The first instant at which a status is due, of the dies whose channel is idle.
    pub fn next_poll(&self) -> Option<Instant> {
        let due = |(die, state): (u32, &DieState)| match *state {
            DieState::Executing(_, at) if self.is_channel_idle(DieIndex(die)) => Some(at),
            _ => None,
        };
        (0..).zip(&self.dies).filter_map(due).min()
    }
}

/// Whose turn is next: channels take turns, and so do the dies and chips of a channel.
pub struct Turns {
    channel: usize,
    // By channel, and counted within it: the die that is looked at first for what it has under way, and the
    // chip that is looked at first for new commands.
    dies: Vec<u32>,
    chips: Vec<usize>,
}

impl Turns {
    /// The first channel and the first dies have the first turn.
    pub fn new(chips: Chips) -> Self {
        let channels = usize::from(chips.channels);
        Turns { channel: 0, dies: vec![0; channels], chips: vec![0; channels] }
    }

    /// What to do next at `now`. `None` if everything waits for something.
    pub fn next(&self, state: &FilState, now: Instant) -> Option<FilStep> {
        let channels = self.dies.len();
        (0..channels)
            .map(|n| (self.channel + n) % channels)
            .find_map(|channel| if state.busy[channel] { None } else { self.of_channel(state, channel, now) })
    }
    /// A step has been chosen: the next channel has the next turn, and of the channel the next die, or
    /// after a command the next chip.
    pub fn took(&mut self, state: &FilState, step: FilStep) {
        let channel = state.chips.channel(step.die());
        let within = step.die().0 % state.chips.of_channel();
        self.channel = (channel + 1) % self.dies.len();
        if let FilStep::Command(die, ..) = step {
            let ways = usize::from(state.chips.ways);
            self.chips[channel] = (state.chips.chip(die) + 1) % ways;
        } else {
            self.dies[channel] = (within + 1) % state.chips.of_channel();
        }
    }

    /// What a channel that is idle carries next. What has been read goes out before a new command starts,
    /// and a status is asked for when there is nothing else to carry.
    fn of_channel(&self, state: &FilState, channel: usize, now: Instant) -> Option<FilStep> {
        let load = &state.loads[channel];
        let of_channel = state.chips.of_channel();
        let first = channel as u32 * of_channel;
        let turn = self.dies[channel];
        let dies = || (0..of_channel).map(move |n| DieIndex(first + (turn + n) % of_channel));
        if load.loaded > 0 {
            return dies().find(|&die| state.die(die) == DieState::Loaded).map(FilStep::Transfer);
        }
        if load.waiting > 0 {
            let ways = usize::from(state.chips.ways);
            let mut chips = (0..ways).map(|n| channel * ways + (self.chips[channel] + n) % ways);
            if let Some(command) = chips.find_map(|chip| command(state, chip)) {
                return Some(command);
            }
        }
        if load.executing == 0 {
            return None;
        }
        let due = |die: &DieIndex| matches!(state.die(*die), DieState::Executing(_, at) if at <= now);
        dies().find(due).map(FilStep::Status)
    }
}

/// The command that a chip gets next: what has been passed over too often, and else what the first of its
/// queues holds for an idle die.
fn command(state: &FilState, chip: usize) -> Option<FilStep> {
    let queues = &state.queues;
    let has = |kind: &QueueKind| queues.waiting(chip, *kind) > 0;
    let is_idle = |die| state.die(die) == DieState::Idle;
    if !queues.is_any_waiting(chip) || !state.chips.dies_of(chip).any(is_idle) {
        return None;
    }
    let idle = state.chips.dies_of(chip).filter(|&die| is_idle(die));
    let oldest = |kind: QueueKind, which: &dyn Fn(DieIndex) -> bool| {
        let heads =
            idle.clone().filter(|&die| which(die)).filter_map(|die| Some((die, queues.head(die, kind)?)));
        heads.min_by_key(|&(_, id)| queues.arrived(id)).map(|(die, id)| FilStep::Command(die, kind, id))
    };
    let arrived = |step: &FilStep| match *step {
        FilStep::Command(_, _, id) => queues.arrived(id),
        _ => unreachable!("a queue holds commands"),
    };
    let overdue = QueueKind::ALL.into_iter().filter(has);
    let overdue = overdue.filter_map(|kind| oldest(kind, &|die| queues.is_overdue(die, kind)));
    overdue.min_by_key(arrived).or_else(|| {
        let in_order = QueueKind::ALL.into_iter().filter(has);
        in_order.filter(|&kind| may_go(state, chip, kind)).find_map(|kind| {
            // A program waits while another die of its chip reads.
            let free = |die: DieIndex| {
                let mut others = state.chips.dies_of(chip).filter(|&other| other != die);
                !is_program(kind) || !others.any(|other| state.die(other).reads())
            };
            oldest(kind, &free)
        })
    })
}

/// Whether a queue of a chip may be served: reads of collection wait while the host's programs do.
fn may_go(state: &FilState, chip: usize, kind: QueueKind) -> bool {
    kind != QueueKind::GcRead || state.queues.waiting(chip, QueueKind::UserProgram) == 0
}

const fn is_program(kind: QueueKind) -> bool {
    matches!(kind, QueueKind::MappingProgram | QueueKind::UserProgram | QueueKind::GcProgram)
}
