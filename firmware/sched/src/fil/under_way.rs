//! What the interface layer has taken and not answered: requests, and what their dies have under way.

use super::queues::{TransactionId, Work};
use super::vector::DieIndex;
use alloc::vec;
use alloc::vec::Vec;
use aster_flash::FlashConfig;
use aster_ports::flash::{FlashOp, FlashRequest, MAX_TARGETS, Outcome, Outcomes, Tag};
use aster_units::{Duration, Instant};

/// A request that was taken.
#[derive(Clone, Copy)]
pub(super) struct TakenRequest {
    pub(super) tag: Tag,
    pub(super) request: FlashRequest,
    outcomes: Outcomes,
    // How often each target was read again.
    repeated: [u8; MAX_TARGETS],
    // Transactions of it that haven't ended.
    left: usize,
}

impl TakenRequest {
    /// Its transactions: one per target, but one for a word line that is programmed in one shot, and one for
    /// what only the controller knows how to do in a block used as SLC.
    pub(super) fn transactions(request: &FlashRequest) -> usize {
        match is_one_transaction(request) {
            true => 1,
            false => request.targets().len(),
        }
    }
}

/// The requests in the layer's hands, by their slot in the port above.
pub(super) struct Taken(Vec<Option<TakenRequest>>);

impl Taken {
    /// For a port of this depth.
    pub(super) fn new(depth: usize) -> Self {
        Taken(vec![None; depth])
    }
    /// Transactions have ids below this.
    pub(super) fn bound(&self) -> usize {
        self.0.len() * MAX_TARGETS
    }
    /// Takes a request, and names its transactions.
    pub(super) fn take(
        &mut self,
        tag: Tag,
        request: FlashRequest,
    ) -> impl Iterator<Item = (usize, TransactionId)> + use<> {
        let left = TakenRequest::transactions(&request);
        let outcomes = [Outcome::default(); MAX_TARGETS];
        let repeated = [0; MAX_TARGETS];
        self.0[tag.index()] = Some(TakenRequest { tag, request, outcomes, repeated, left });
        let first = (tag.index() * MAX_TARGETS) as u32;
        (0..left).map(move |target| (target, TransactionId(first + target as u32)))
    }
    /// The request of a transaction, and which of its targets that is.
    pub(super) fn of(&self, id: TransactionId) -> (&FlashRequest, usize) {
        let (slot, target) = (id.0 as usize / MAX_TARGETS, id.0 as usize % MAX_TARGETS);
        let taken = self.0[slot].as_ref().expect("a transaction belongs to a request that was taken");
        (&taken.request, target)
    }
    /// How often a transaction, a read, was repeated.
    pub(super) fn repeated(&self, id: TransactionId) -> u8 {
        let (slot, target) = (id.0 as usize / MAX_TARGETS, id.0 as usize % MAX_TARGETS);
        let taken = self.0[slot].as_ref().expect("a transaction belongs to a request that was taken");
        taken.repeated[target]
    }
    /// A read is repeated once more.
    pub(super) fn repeat(&mut self, id: TransactionId) {
        let (slot, target) = (id.0 as usize / MAX_TARGETS, id.0 as usize % MAX_TARGETS);
        let taken = self.0[slot].as_mut().expect("a transaction belongs to a request that was taken");
        taken.repeated[target] += 1;
    }
    /// A transaction has ended. Returns its request's results when it was the last.
    pub(super) fn ended(&mut self, id: TransactionId, outcome: Outcome) -> Option<(Tag, Outcomes)> {
        let (slot, target) = (id.0 as usize / MAX_TARGETS, id.0 as usize % MAX_TARGETS);
        let taken = self.0[slot].as_mut().expect("a transaction belongs to a request that was taken");
        match TakenRequest::transactions(&taken.request) {
            1 => taken.outcomes[..taken.request.targets().len()].fill(outcome),
            _ => taken.outcomes[target] = outcome,
        }
        taken.left -= 1;
        if taken.left > 0 {
            return None;
        }
        self.0[slot].take().map(|taken| (taken.tag, taken.outcomes))
    }
}

/// Transactions that one operation of a die carries out: one, or one in each of several planes.
#[derive(Clone, Copy)]
pub(super) struct Group {
    ids: [TransactionId; MAX_TARGETS],
    count: usize,
}

impl Group {
    pub(super) fn of(id: TransactionId) -> Self {
        Group { ids: [id; MAX_TARGETS], count: 1 }
    }
    pub(super) fn push(&mut self, id: TransactionId) {
        self.ids[self.count] = id;
        self.count += 1;
    }
    /// The one that began the operation.
    pub(super) fn first(&self) -> TransactionId {
        self.ids[0]
    }
    pub(super) fn ids(&self) -> &[TransactionId] {
        &self.ids[..self.count]
    }
}

/// What a die has under way.
#[derive(Clone, Copy)]
pub(super) struct UnderWay {
    pub(super) group: Group,
    pub(super) work: Work,
    /// What the controller works on now. `None` while the array works and nobody asks, and while what was
    /// read waits for the channel.
    pub(super) below: Option<Tag>,
    /// The layer waits no longer for the array.
    pub(super) give_up: Instant,
    /// When the present phase began.
    pub(super) since: Instant,
}

/// By die.
pub(super) struct Dies(Vec<Option<UnderWay>>);

impl Dies {
    pub(super) fn new(dies: u32) -> Self {
        Dies(vec![None; dies as usize])
    }
    pub(super) fn get(&self, die: DieIndex) -> Option<&UnderWay> {
        self.0[die.at()].as_ref()
    }
    /// The die must have something under way.
    pub(super) fn of(&mut self, die: DieIndex) -> &mut UnderWay {
        self.0[die.at()].as_mut().expect("a die at work has something under way")
    }
    pub(super) fn set(&mut self, die: DieIndex, under_way: Option<UnderWay>) {
        self.0[die.at()] = under_way;
    }
}

/// Whether a request is one transaction, although it has several targets.
const fn is_one_transaction(request: &FlashRequest) -> bool {
    request.flags.one_shot || request.flags.slc
}

/// Whether no multi-plane operation can carry out a request's transactions.
pub(super) const fn goes_alone(request: &FlashRequest) -> bool {
    is_one_transaction(request) || request.flags.raw
}

/// The layer's name for what a request asks for; `None` if it doesn't serve that.
pub(super) const fn work_of(phase: FlashOp) -> Option<Work> {
    match phase {
        FlashOp::Read => Some(Work::Read),
        FlashOp::Program => Some(Work::Program),
        FlashOp::Erase => Some(Work::Erase),
        FlashOp::Trigger
        | FlashOp::Transfer
        | FlashOp::CopyBack
        | FlashOp::Status
        | FlashOp::Reset
        | FlashOp::SetFeatures
        | FlashOp::GetFeatures => None,
    }
}

/// What the controller is asked for so that `work` begins.
pub(super) const fn command_of(work: Work) -> FlashOp {
    match work {
        Work::Read => FlashOp::Trigger,
        Work::Program => FlashOp::Program,
        Work::Erase => FlashOp::Erase,
    }
}

/// How long the array typically works for a request's target.
pub(super) fn typical(flash: &FlashConfig, request: &FlashRequest, target: usize) -> Duration {
    let page_type = flash.shape.page_type(request.targets()[target].row) as usize;
    match request.phase {
        FlashOp::Program if request.flags.one_shot => flash.variant.one_shot_program,
        FlashOp::Program => flash.t_prog[page_type],
        FlashOp::Erase => flash.t_bers,
        _ => flash.t_r[page_type],
    }
}
