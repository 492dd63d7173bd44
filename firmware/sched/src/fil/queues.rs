//! The queues of the chips: seven each, and what waits in them (P33).

use super::vector::{Chips, DieIndex};
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::flash::FlashSource;
use aster_units::{BlockAddr, PageInBlock};

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Cells to register, then register to memory.
    Read,
    /// Memory to register, then register to cells.
    Program,
    /// A block.
    Erase,
}

/// The seven queues of a chip, in the order of their priority (P33): reads before programs before erases,
/// and mapping before user before collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// Reads of translation pages and other records.
    MappingRead,
    /// Reads for the host.
    UserRead,
    /// Reads of garbage collection.
    GcRead,
    /// Programs of translation pages and other records.
    MappingProgram,
    /// Programs of the host's data.
    UserProgram,
    /// Programs of garbage collection.
    GcProgram,
    /// Erases, whoever asks.
    Erase,
}

/// Queues of a chip.
pub const QUEUES: usize = 7;

impl QueueKind {
    /// All queues, the first to be served first.
    pub const ALL: [QueueKind; QUEUES] = [
        QueueKind::MappingRead,
        QueueKind::UserRead,
        QueueKind::GcRead,
        QueueKind::MappingProgram,
        QueueKind::UserProgram,
        QueueKind::GcProgram,
        QueueKind::Erase,
    ];
    /// The queue for `work` that `source` asks for.
    pub const fn of(work: Work, source: FlashSource) -> Self {
        match (work, source) {
            (Work::Read, FlashSource::Mapping) => QueueKind::MappingRead,
            (Work::Read, FlashSource::User) => QueueKind::UserRead,
            (Work::Read, FlashSource::Gc) => QueueKind::GcRead,
            (Work::Program, FlashSource::Mapping) => QueueKind::MappingProgram,
            (Work::Program, FlashSource::User) => QueueKind::UserProgram,
            (Work::Program, FlashSource::Gc) => QueueKind::GcProgram,
            (Work::Erase, _) => QueueKind::Erase,
        }
    }
}

/// Names a transaction: a page or a block of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionId(pub u32);

/// What the queues know of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// What it does.
    pub work: Work,
    /// Who asks.
    pub source: FlashSource,
    /// Its die.
    pub die: DieIndex,
    /// Its block of the die.
    pub block: BlockAddr,
    /// The block's plane.
    pub plane: u8,
    /// Its page of the block.
    pub page: PageInBlock,
    /// No multi-plane operation can carry it out.
    pub alone: bool,
}

impl Transaction {
    /// Whether one multi-plane operation can carry out both: they do the same to different planes of a die,
    /// at the same page of each, or to whole blocks.
    pub fn goes_with(&self, other: &Transaction) -> bool {
        let can = !self.alone && !other.alone && self.work == other.work;
        let planes = self.die == other.die && self.plane != other.plane;
        can && planes && (self.work == Work::Erase || self.page == other.page)
    }
}

#[derive(Clone, Copy)]
struct Queued {
    transaction: Transaction,
    arrived: u64,
    next: Option<TransactionId>,
}

/// A die's part of one of its chip's queues.
#[derive(Clone, Copy, Default)]
struct Lane {
    head: Option<TransactionId>,
    tail: Option<TransactionId>,
    // Commands that the chip has begun from other lanes although this one's head waited for no busy die.
    passed: u32,
}

/// After this many commands that went before it, a transaction at the head of its queue waits for nothing
/// but its die, whatever the order of priority says. Commands of another die that begin while its own die
/// is busy don't count. SoftSSD's source has no such bound.
pub const PASSED_MAX: u32 = 32;

/// The queues of all chips. A queue is in the order of arrival; what waits for a busy die doesn't hold up
/// what waits for another.
pub struct Queues {
    chips: Chips,
    lanes: Vec<[Lane; QUEUES]>,
    queued: Vec<Option<Queued>>,
    waiting: Vec<[u32; QUEUES]>,
    arrivals: u64,
}

impl Queues {
    /// Empty queues for transactions with ids below `bound`.
    pub fn new(chips: Chips, bound: usize) -> Self {
        let total = chips.total() as usize;
        Queues {
            chips,
            lanes: vec![[Lane::default(); QUEUES]; total],
            queued: vec![None; bound],
            waiting: vec![[0; QUEUES]; total / usize::from(chips.dies)],
            arrivals: 0,
        }
    }

    /// Adds a transaction behind those of its kind. A program or an erase goes behind an earlier one of its
    /// block, in whichever queue that waits: nothing may overtake it there.
    pub fn push(&mut self, id: TransactionId, transaction: Transaction) {
        let Transaction { work, source, die, .. } = transaction;
        let usual = QueueKind::of(work, source);
        let kind =
            if work == Work::Read { usual } else { self.queue_of_block(&transaction).unwrap_or(usual) };
        let place = &mut self.queued[id.0 as usize];
        assert!(place.is_none(), "a transaction waits once");
        *place = Some(Queued { transaction, arrived: self.arrivals, next: None });
        self.arrivals += 1;
        self.waiting[self.chips.chip(die)][kind as usize] += 1;
        let lane = &mut self.lanes[die.at()][kind as usize];
        match lane.tail.replace(id) {
            None => (lane.head, lane.passed) = (Some(id), 0),
            Some(last) => {
                self.queued[last.0 as usize].as_mut().expect("a queue's tail waits").next = Some(id);
            }
        }
    }
    /// The queue in which the latest program or erase of the transaction's block waits.
    fn queue_of_block(&self, transaction: &Transaction) -> Option<QueueKind> {
        let mut latest = None;
        for kind in QueueKind::ALL {
            let mut at = self.lanes[transaction.die.at()][kind as usize].head;
            while let Some(id) = at {
                let queued = self.queued(id);
                let changes = queued.transaction.work != Work::Read;
                if changes && queued.transaction.block == transaction.block {
                    latest = latest.max(Some((queued.arrived, kind as usize)));
                }
                at = queued.next;
            }
        }
        latest.map(|(_, kind)| QueueKind::ALL[kind])
    }
    fn queued(&self, id: TransactionId) -> &Queued {
        self.queued[id.0 as usize].as_ref().expect("what is in a queue waits")
    }

    /// Transactions that wait in a queue of a chip.
    pub fn waiting(&self, chip: usize, kind: QueueKind) -> u32 {
        self.waiting[chip][kind as usize]
    }
    /// Whether any transaction waits for a chip.
    pub fn is_any_waiting(&self, chip: usize) -> bool {
        self.waiting[chip].iter().any(|&count| count > 0)
    }
    /// The first transaction in a queue that is for `die`.
    pub fn head(&self, die: DieIndex, kind: QueueKind) -> Option<TransactionId> {
        self.lanes[die.at()][kind as usize].head
    }
    /// When that transaction has arrived, as a number that rises with each arrival.
    pub fn arrived(&self, id: TransactionId) -> u64 {
        self.queued(id).arrived
    }
    /// Whether the first transaction in a queue that is for `die` has been passed over as often as it may.
    pub fn is_overdue(&self, die: DieIndex, kind: QueueKind) -> bool {
        let lane = &self.lanes[die.at()][kind as usize];
        lane.head.is_some() && lane.passed >= PASSED_MAX
    }
    /// What the queues know of a transaction that waits.
    pub fn transaction(&self, id: TransactionId) -> Transaction {
        self.queued(id).transaction
    }

    /// Takes the first transaction in a queue that is for `die`. The heads of the queues have been passed
    /// over once more, those for `die` and those for the chip's other dies that are idle.
    pub fn take(
        &mut self,
        die: DieIndex,
        kind: QueueKind,
        is_idle: impl Fn(DieIndex) -> bool,
    ) -> TransactionId {
        let chip = self.chips.chip(die);
        let id = self.take_along(die, kind);
        for of in self.chips.dies_of(chip).filter(|&of| of == die || is_idle(of)) {
            for (other, lane) in QueueKind::ALL.into_iter().zip(&mut self.lanes[of.at()]) {
                lane.passed += u32::from(lane.head.is_some() && (of, other) != (die, kind));
            }
        }
        id
    }

    /// Takes the first transaction in a queue that is for `die`, along with another that has just been taken:
    /// nothing is passed over.
    pub fn take_along(&mut self, die: DieIndex, kind: QueueKind) -> TransactionId {
        let lane = &mut self.lanes[die.at()][kind as usize];
        let id = lane.head.expect("what is taken waits");
        let taken = self.queued[id.0 as usize].take().expect("what is taken waits");
        (lane.head, lane.passed) = (taken.next, 0);
        if lane.head.is_none() {
            lane.tail = None;
        }
        self.waiting[self.chips.chip(die)][kind as usize] -= 1;
        id
    }
}
