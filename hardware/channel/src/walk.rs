//! From a transaction's words to the cycles of its latches and bursts. The engine plans when a transaction starts, to
//! know how long it owns the channel, and carries the plan out when it ends.

use crate::timing::{Cursor, CycleTable};
use alloc::vec::Vec;
use aster_ports::channel::TxnError;
use aster_txn::{Direction, Instruction, Latch, MAX_WORDS, Txn};
use aster_units::{Duration, Instant};

/// Something that happens on the bus. Cycles count from the transaction's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A latch, by the cycle of its edge.
    Latch { edge: u64, latch: Latch },
    /// A burst, by its first and last strobe.
    Burst(Burst),
}

/// A burst as the plan found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) bytes: u32,
    pub(crate) out: bool,
    /// Its descriptor's index, checked.
    pub(crate) descriptor: u8,
    /// Which burst of its descriptor this is, from 0.
    pub(crate) part: u8,
}

/// A planned transaction. The steps' memory is taken once.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) chips: u32,
    /// Cycles from start to the release of the channel.
    pub(crate) cycles: u64,
    /// Bytes of all bursts.
    pub(crate) bytes: u32,
}

/// Latches a transaction has at most: four to a word.
const STEPS: usize = 4 * MAX_WORDS;

impl Plan {
    pub(crate) fn new() -> Self {
        Plan { steps: Vec::with_capacity(STEPS), chips: 0, cycles: 0, bytes: 0 }
    }

    /// Plans `txn`. An error is given with the cycle at which it shows.
    pub(crate) fn make(
        &mut self,
        txn: &Txn,
        table: &CycleTable,
        ways: usize,
        longest_burst: u32,
    ) -> Result<(), (u64, TxnError)> {
        self.steps.clear();
        self.bytes = 0;
        let mut cursor = Cursor::default();
        let (mut open, mut closed) = (false, false);
        let (mut last_descriptor, mut part) = (usize::MAX, 0);
        if txn.overflowed() {
            return Err((0, TxnError::TooLong));
        }
        for instruction in txn.instructions() {
            let instruction = instruction.map_err(|e| (cursor.cycle, TxnError::Word(e)))?;
            if closed || open == matches!(instruction, Instruction::Begin { .. }) {
                return Err((cursor.cycle, TxnError::Unframed));
            }
            match instruction {
                Instruction::Begin { chips } => {
                    open = true;
                    if chips >> ways != 0 {
                        return Err((0, TxnError::Chip));
                    }
                    self.chips = chips;
                    cursor.begin(table);
                }
                Instruction::CommandAddress(latches) => {
                    cursor.before_latches(table);
                    for latch in latches {
                        let edge = cursor.latch(table, latch);
                        self.steps.push(Step::Latch { edge, latch });
                    }
                }
                Instruction::DataRead { bytes, descriptor } | Instruction::DataWrite { bytes, descriptor } => {
                    let out = matches!(instruction, Instruction::DataRead { .. });
                    let index = usize::from(descriptor);
                    let wanted = if out { Direction::Out } else { Direction::In };
                    if txn.descriptors().get(index).is_none_or(|d| d.direction != wanted) {
                        return Err((cursor.cycle, TxnError::Descriptor));
                    }
                    if bytes > longest_burst {
                        return Err((cursor.cycle, TxnError::Length { bytes }));
                    }
                    part = if index == last_descriptor { part + 1 } else { 0 };
                    last_descriptor = index;
                    let first = cursor.before_burst(table, out);
                    let last = cursor.burst(table, out, bytes);
                    self.bytes += bytes;
                    self.steps.push(Step::Burst(Burst { first, last, bytes, out, descriptor, part }));
                }
                Instruction::Timer { nanoseconds } => {
                    let wait = Duration::from_nanos(u64::from(nanoseconds));
                    cursor.timer(wait.cycles_up(table.at(Instant::ZERO, 1).since(Instant::ZERO)));
                }
                Instruction::End => {
                    closed = true;
                    cursor.end(table);
                }
            }
        }
        if !closed {
            return Err((cursor.cycle, TxnError::Unframed));
        }
        self.cycles = cursor.cycle;
        Ok(())
    }
}
