//! From a transaction's operations to the cycles of its latches and bursts. The engine plans when a transaction starts, to
//! know how long it owns the channel, and carries the plan out when it ends.

use crate::timing::{Cursor, CycleTable};
use alloc::boxed::Box;
use aster_ports::channel::TxnError;
use aster_txn::{Direction, Fault, MAX_OPS, Op, Txn};
use aster_units::{Duration, Instant};

/// When an operation happens, in cycles from its transaction's start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// The edge of its first latch, or its first strobe.
    pub(crate) first: u64,
    /// The last strobe of a burst.
    pub(crate) last: u64,
}

/// A planned transaction. The memory is taken once.
#[derive(Debug)]
pub(crate) struct Plan {
    /// A step for each operation; what lies behind is of other transactions.
    pub(crate) steps: Box<[Step; MAX_OPS]>,
    /// Cycles from start to the release of the channel.
    pub(crate) cycles: u64,
    /// Bytes of all bursts.
    pub(crate) bytes: u32,
}

impl Plan {
    pub(crate) fn new() -> Self {
        Plan { steps: Box::new([Step::default(); MAX_OPS]), cycles: 0, bytes: 0 }
    }

    /// Plans `txn`.
    ///
    /// # Errors
    /// When the controller can't carry it out; none of it has happened then.
    pub(crate) fn make(
        &mut self,
        txn: &Txn,
        table: &CycleTable,
        ways: usize,
        longest_burst: u32,
    ) -> Result<(), TxnError> {
        if txn.overflowed() {
            return Err(TxnError::TooLong);
        }
        match txn.fault() {
            None => {}
            Some(Fault::Word(error)) => return Err(TxnError::Word(error)),
            Some(Fault::Unframed) => return Err(TxnError::Unframed),
        }
        if txn.chips() >> ways != 0 {
            return Err(TxnError::Chip);
        }
        self.bytes = 0;
        let mut cursor = Cursor::default();
        cursor.begin(table);
        for (op, step) in txn.ops().iter().zip(self.steps.iter_mut()) {
            match op {
                &Op::Command(command) => step.first = cursor.command(table, command),
                Op::Addresses(run) => step.first = cursor.latches(table, run.bytes().len()),
                &Op::DataRead(bytes, descriptor) => {
                    check_burst(txn, descriptor, Direction::Out, bytes, longest_burst)?;
                    self.bytes += bytes;
                    step.first = cursor.before_burst(table, true);
                    step.last = cursor.burst(table, true, bytes);
                }
                &Op::DataWrite(bytes, descriptor) => {
                    check_burst(txn, descriptor, Direction::In, bytes, longest_burst)?;
                    self.bytes += bytes;
                    step.first = cursor.before_burst(table, false);
                    step.last = cursor.burst(table, false, bytes);
                }
                &Op::Timer(nanoseconds) => {
                    let wait = Duration::from_nanos(u64::from(nanoseconds));
                    cursor.timer(wait.cycles_up(table.at(Instant::ZERO, 1).since(Instant::ZERO)));
                }
            }
        }
        cursor.end(table);
        self.cycles = cursor.cycle;
        Ok(())
    }
}

fn check_burst(
    txn: &Txn,
    descriptor: u8,
    direction: Direction,
    bytes: u32,
    longest: u32,
) -> Result<(), TxnError> {
    if txn.descriptors().get(usize::from(descriptor)).is_none_or(|d| d.direction != direction) {
        return Err(TxnError::Descriptor);
    }
    if bytes > longest {
        return Err(TxnError::Length { bytes });
    }
    Ok(())
}
