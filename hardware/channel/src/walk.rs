//! Walks a transaction's instructions and says at which cycle each latch and burst falls. The engine walks once to
//! learn the length, and once more to carry out the effects: both see the same cycles.

use crate::timing::{Cursor, CycleTable};
use aster_ports::channel::TxnError;
use aster_txn::{Descriptor, Direction, Instruction, Latch, Txn};
use aster_units::{Duration, Instant};

/// What a walk visits. Cycles count from the transaction's start.
pub(crate) trait Visit {
    /// Chip enables asserted at cycle 0.
    fn begin(&mut self, _chips: u32) -> Result<(), TxnError> {
        Ok(())
    }
    /// A latch whose edge is at `edge`.
    fn latch(&mut self, _edge: u64, _latch: Latch) -> Result<(), TxnError> {
        Ok(())
    }
    /// A burst with its first and last strobe.
    fn burst(&mut self, _burst: Burst<'_>) -> Result<(), TxnError> {
        Ok(())
    }
    /// CE# goes high at `cycle`.
    fn end(&mut self, _cycle: u64) -> Result<(), TxnError> {
        Ok(())
    }
}

/// A burst as the walk found it.
pub(crate) struct Burst<'a> {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) bytes: u32,
    pub(crate) descriptor: &'a Descriptor,
    /// Which burst of its descriptor this is, from 0.
    pub(crate) part: u8,
}

/// What a walk found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Cycles from start to the release of the channel.
    pub(crate) cycles: u64,
    /// Bytes of all bursts.
    pub(crate) bytes: u32,
}

/// Walks `txn`. The cycle at which an error shows is that of the step before.
pub(crate) fn walk(
    txn: &Txn,
    table: &CycleTable,
    longest_burst: u32,
    visit: &mut impl Visit,
) -> Result<Extent, (u64, TxnError)> {
    let mut cursor = Cursor::default();
    let mut bytes = 0;
    let (mut open, mut closed) = (false, false);
    let mut last_descriptor = usize::MAX;
    let mut part = 0;
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
                visit.begin(chips).map_err(|e| (0, e))?;
                cursor.begin(table);
            }
            Instruction::CommandAddress(latches) => {
                cursor.before_latches(table);
                for latch in latches {
                    let edge = cursor.latch(table, latch);
                    visit.latch(edge, latch).map_err(|e| (edge, e))?;
                }
            }
            Instruction::DataRead { bytes: n, descriptor }
            | Instruction::DataWrite { bytes: n, descriptor } => {
                let out = matches!(instruction, Instruction::DataRead { .. });
                let index = usize::from(descriptor);
                let wanted = if out { Direction::Out } else { Direction::In };
                let Some(descriptor) = txn.descriptors().get(index).filter(|d| d.direction == wanted) else {
                    return Err((cursor.cycle, TxnError::Descriptor));
                };
                if n > longest_burst {
                    return Err((cursor.cycle, TxnError::Length { bytes: n }));
                }
                part = if index == last_descriptor { part + 1 } else { 0 };
                last_descriptor = index;
                let first = cursor.before_burst(table, out);
                let last = cursor.burst(table, out, n);
                bytes += n;
                visit.burst(Burst { first, last, bytes: n, descriptor, part }).map_err(|e| (last, e))?;
            }
            Instruction::Timer { nanoseconds } => {
                let wait = Duration::from_nanos(u64::from(nanoseconds));
                cursor.timer(wait.cycles_up(table.at(Instant::ZERO, 1).since(Instant::ZERO)));
            }
            Instruction::End => {
                closed = true;
                cursor.end(table);
                visit.end(cursor.cycle).map_err(|e| (cursor.cycle, e))?;
            }
        }
    }
    if !closed {
        return Err((cursor.cycle, TxnError::Unframed));
    }
    Ok(Extent { cycles: cursor.cycle, bytes })
}

/// Visits nothing: to learn a transaction's extent.
pub(crate) struct Measure;
impl Visit for Measure {}
