//! Plans the cycles of a transaction's latches and bursts. The engine makes the plan when a transaction
//! starts, to know how long it owns the channel, and carries it out when the transaction ends.

use crate::pace::Pace;
use crate::timing::{Cursor, CycleTable};
use crate::ways::MemoryWays;
use alloc::boxed::Box;
use aster_ports::channel::TxnError;
use aster_txn::interface::limits;
use aster_txn::{Descriptor, Direction, Fault, MAX_OPS, Op, Path, Txn};
use aster_units::{Duration, Instant};

/// When an operation happens, in cycles from its transaction's start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusStep {
    /// The edge of its first latch, or its first strobe.
    pub(crate) first: u64,
    /// The last strobe of a burst.
    pub(crate) last: u64,
}

/// A planned transaction. Its memory is allocated once.
#[derive(Debug)]
pub(crate) struct Plan {
    /// A step for each operation. Later entries are left over from other transactions.
    pub(crate) steps: Box<[BusStep; MAX_OPS]>,
    /// Cycles from start to the release of the chips.
    pub(crate) cycles: u64,
    /// Cycles from start to the release of the channel, when the last word of the read bursts is in
    /// memory, too.
    pub(crate) over: u64,
    /// Bytes of all bursts.
    pub(crate) bytes: u32,
    pace: Pace,
}

/// A burst to be laid out.
#[derive(Clone, Copy)]
struct Burst<'a> {
    out: bool,
    bytes: u32,
    descriptor: &'a Descriptor,
    first: u64,
}

impl Burst<'_> {
    /// The first strobe and the end of the strobes if they don't wait for memory.
    #[inline]
    fn unpaced(&self, table: &CycleTable) -> (u64, u64) {
        let transfers = table.transfers(self.bytes, self.descriptor.path == Path::Mailbox);
        (self.first, self.first + table.strobes(self.out, transfers))
    }
}

impl Plan {
    pub(crate) fn new() -> Self {
        let steps = Box::new([BusStep::default(); MAX_OPS]);
        Plan { steps, cycles: 0, over: 0, bytes: 0, pace: Pace::new() }
    }

    /// Plans `txn` to start at `start`, and reserves memory bandwidth for it.
    pub(crate) fn make(
        &mut self,
        txn: &Txn,
        table: &CycleTable,
        start: Instant,
        bounds: &Bounds,
        memory: &MemoryWays,
    ) -> Result<(), TxnError> {
        if txn.overflowed() {
            return Err(TxnError::TooLong);
        }
        match txn.fault() {
            None => {}
            Some(Fault::Word(error)) => return Err(TxnError::Word(error)),
            Some(Fault::Unframed) => return Err(TxnError::Unframed),
        }
        if txn.chips() >> bounds.ways != 0 {
            return Err(TxnError::Chip);
        }
        let (mut bytes, mut in_memory, mut first_inward) = (0, 0, u64::MAX);
        self.cycles = lay_out(&mut self.steps, txn, table, |burst| {
            bounds.check(&burst)?;
            bytes += burst.bytes;
            let mailbox = burst.descriptor.path == Path::Mailbox;
            if !mailbox {
                in_memory += u64::from(burst.bytes);
                if !burst.out {
                    first_inward = first_inward.min(burst.first);
                }
            }
            Ok(burst.unpaced(table))
        })?;
        self.over = self.cycles;
        self.bytes = bytes;
        if in_memory > 0 {
            let window = memory.of(first_inward != u64::MAX).window(start, in_memory);
            if !Pace::keeps_up(&window, table, start, first_inward) {
                let pace = &mut self.pace;
                pace.begin(window, start);
                self.cycles = lay_out(&mut self.steps, txn, table, |burst| match burst.descriptor.path {
                    Path::Mailbox => Ok(burst.unpaced(table)),
                    _ => Ok(pace.burst(table, burst.out, burst.bytes, burst.first)),
                })?;
                self.over = self.cycles.max(pace.over());
            }
        }
        Ok(())
    }
}

/// Lays out the operations one after the other and returns the cycle in which the chips are released.
/// `strobes` returns the cycles of a burst's first strobe and of its end.
#[inline(always)]
fn lay_out(
    steps: &mut [BusStep; MAX_OPS],
    txn: &Txn,
    table: &CycleTable,
    mut strobes: impl FnMut(Burst<'_>) -> Result<(u64, u64), TxnError>,
) -> Result<u64, TxnError> {
    let mut cursor = Cursor::default();
    cursor.begin(table);
    for (index, op) in txn.ops().iter().enumerate() {
        let step = &mut steps[index];
        let (out, bytes, descriptor) = match *op {
            Op::Command(command) => {
                step.first = cursor.command(table, command);
                continue;
            }
            Op::Addresses(run) => {
                step.first = cursor.latches(table, run.bytes().len());
                continue;
            }
            Op::Timer(nanoseconds) => {
                cursor.timer(table.wait(Duration::from_nanos(u64::from(nanoseconds))));
                continue;
            }
            Op::DataRead(bytes, descriptor) => (true, bytes, descriptor),
            Op::DataWrite(bytes, descriptor) => (false, bytes, descriptor),
        };
        let descriptor = txn.descriptors().get(usize::from(descriptor)).ok_or(TxnError::Descriptor)?;
        let first = cursor.before_burst(table, out);
        (step.first, step.last) = strobes(Burst { out, bytes, descriptor, first })?;
        cursor.burst(table, out, step.last);
    }
    cursor.end(table);
    Ok(cursor.cycle)
}

/// The limits for a channel's transactions.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// Chip enables.
    pub(crate) ways: usize,
    /// The longest burst in bytes.
    pub(crate) longest_burst: u32,
}

impl Bounds {
    fn check(&self, burst: &Burst<'_>) -> Result<(), TxnError> {
        let direction = if burst.out { Direction::Out } else { Direction::In };
        if burst.descriptor.direction != direction {
            return Err(TxnError::Descriptor);
        }
        if burst.bytes > self.longest_burst {
            return Err(TxnError::Length { bytes: burst.bytes });
        }
        let mailbox = burst.descriptor.path == Path::Mailbox;
        if mailbox && !burst.out && burst.bytes as usize > limits::MAILBOX_BYTES {
            return Err(TxnError::Frame);
        }
        Ok(())
    }
}
