//! Plans the cycles of a transaction's latches and bursts. The engine makes the plan when a transaction
//! starts, to know how long it owns the channel, and carries it out when the transaction ends.

use crate::pace::Pace;
use crate::timing::{Cursor, CycleTable};
use crate::ways::MemoryWays;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::channel::TxnError;
use aster_ports::resource::Window;
use aster_txn::interface::limits;
use aster_txn::{Descriptor, Direction, Fault, MAX_OPS, Op, Path, Shape, Txn};
use aster_units::{Duration, Instant};
use core::ops::Range;

/// When an operation happens, in cycles from its transaction's start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusStep {
    /// The edge of its first latch, or its first strobe.
    pub(crate) first: u64,
    /// The last strobe of a burst.
    pub(crate) last: u64,
}

/// What a plan says of a transaction as a whole, if the bus never waits for memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outline {
    /// Cycles from start to the release of the chips.
    cycles: u64,
    /// Bytes of all bursts, and of those to or from memory.
    bytes: u32,
    in_memory: u64,
    /// The cycle of the first word from memory.
    first_inward: Option<u64>,
}

/// A planned transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'a> {
    /// A step for each operation, and perhaps more.
    pub(crate) steps: &'a [BusStep],
    /// Cycles from start to the release of the chips.
    pub(crate) cycles: u64,
}

/// How long a transaction owns the channel, and what it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// Cycles from start to the release of the channel, when the last word of the read bursts is in
    /// memory, too.
    pub(crate) over: u64,
    /// Bytes of all bursts.
    pub(crate) bytes: u32,
}

/// Makes plans. The plans of known shapes are kept, so that most transactions need none of their own. All
/// memory is allocated once.
#[derive(Debug)]
pub(crate) struct Planner {
    /// The steps of the transaction that was planned last without a kept plan. Later entries are left over
    /// from others.
    steps: Box<[BusStep; MAX_OPS]>,
    pace: Pace,
    kept: Vec<Kept>,
    /// Those of each kept plan, [`KEPT_STEPS`] each.
    kept_steps: Box<[BusStep]>,
    /// By [`Shape::number`]: which plan is kept for it, or [`NONE`].
    by_shape: Box<[u8]>,
    /// What the planned transaction goes by: a kept plan, or `steps` with so many cycles.
    current: Current,
}

/// A plan of a shape.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// The cycle table it is for: SET FEATURES changes a way's.
    table: usize,
    outline: Outline,
}

#[derive(Clone, Copy, Debug)]
enum Current {
    Kept(u8),
    Own { cycles: u64 },
}

/// Plans that are kept: those of the shapes that come first. Single sectors of a page of 16, with and without
/// another READ behind, and everything else of a channel are fewer.
const KEPT: usize = 64;
/// The most steps of a plan that is kept: three bursts, each with a column change and a pause, and one more.
const KEPT_STEPS: usize = 16;
/// No plan is kept.
const NONE: u8 = u8::MAX;

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

impl Planner {
    pub(crate) fn new() -> Self {
        Planner {
            steps: Box::new([BusStep::default(); MAX_OPS]),
            pace: Pace::new(),
            kept: Vec::with_capacity(KEPT),
            kept_steps: vec![BusStep::default(); KEPT * KEPT_STEPS].into_boxed_slice(),
            by_shape: vec![NONE; Shape::COUNT].into_boxed_slice(),
            current: Current::Own { cycles: 0 },
        }
    }

    /// The plan of the transaction that was planned last.
    #[inline]
    pub(crate) fn plan(&self) -> Plan<'_> {
        match self.current {
            Current::Kept(kept) => Plan {
                steps: &self.kept_steps[places_of(kept)],
                cycles: self.kept[usize::from(kept)].outline.cycles,
            },
            Current::Own { cycles } => Plan { steps: &*self.steps, cycles },
        }
    }

    /// Plans `txn` to start at `start`, by table `number` of the engine, and reserves memory bandwidth for
    /// it.
    #[inline]
    pub(crate) fn make(
        &mut self,
        txn: &Txn,
        (number, table): (usize, &CycleTable),
        start: Instant,
        bounds: &Bounds,
        memory: &MemoryWays,
    ) -> Result<Extent, TxnError> {
        let (outline, current) = match self.kept_for(txn, number) {
            Some(kept) => {
                bounds.check_kept(txn)?;
                let outline = self.kept[usize::from(kept)].outline;
                debug_assert!(self.is_as_planned_anew(kept, txn, table, bounds), "{}: its shape", txn.name());
                (outline, Current::Kept(kept))
            }
            None => {
                bounds.check_all(txn)?;
                self.make_new(txn, (number, table), bounds)?
            }
        };
        self.current = current;
        let mut over = outline.cycles;
        if outline.in_memory > 0 {
            let window = memory.of(outline.first_inward.is_some()).window(start, outline.in_memory);
            if !Pace::keeps_up(&window, table, start, outline.first_inward.unwrap_or(u64::MAX)) {
                over = self.keep_pace(window, txn, table, start)?;
            }
        }
        Ok(Extent { over, bytes: outline.bytes })
    }

    /// The plan that is kept for the transaction's shape.
    #[inline]
    fn kept_for(&self, txn: &Txn, number: usize) -> Option<u8> {
        let kept = self.by_shape[txn.shape_number()?];
        let is_for_table = |kept: &Kept| kept.table == number;
        self.kept.get(usize::from(kept)).is_some_and(is_for_table).then_some(kept)
    }

    /// Plans a transaction operation by operation, as if the bus never waited for memory. If it has a shape,
    /// its plan is kept in place of that of another table.
    fn make_new(
        &mut self,
        txn: &Txn,
        (table, cycles): (usize, &CycleTable),
        bounds: &Bounds,
    ) -> Result<(Outline, Current), TxnError> {
        let outline = outlined(&mut self.steps, txn, cycles, bounds)?;
        let own = (outline, Current::Own { cycles: outline.cycles });
        let steps = txn.ops().len();
        let Some(shape) = txn.shape_number().filter(|_| steps <= KEPT_STEPS) else {
            return Ok(own);
        };
        let plan = Kept { table, outline };
        if self.by_shape[shape] == NONE {
            if self.kept.len() == KEPT {
                return Ok(own);
            }
            self.by_shape[shape] = self.kept.len() as u8;
            self.kept.push(plan);
        }
        let kept = self.by_shape[shape];
        self.kept[usize::from(kept)] = plan;
        self.kept_steps[places_of(kept)][..steps].copy_from_slice(&self.steps[..steps]);
        Ok((outline, Current::Kept(kept)))
    }

    /// Plans a transaction again whose bus waits for memory. Returns when it releases the channel.
    fn keep_pace(
        &mut self,
        window: Window,
        txn: &Txn,
        table: &CycleTable,
        start: Instant,
    ) -> Result<u64, TxnError> {
        let pace = &mut self.pace;
        pace.begin(window, start);
        let cycles = lay_out(&mut self.steps, txn, table, |burst| match burst.descriptor.path {
            Path::Mailbox => Ok(burst.unpaced(table)),
            _ => Ok(pace.burst(table, burst.out, burst.bytes, burst.first)),
        })?;
        self.current = Current::Own { cycles };
        Ok(cycles.max(pace.over()))
    }

    /// Whether a kept plan is what planning the transaction anew gives.
    fn is_as_planned_anew(&mut self, kept: u8, txn: &Txn, table: &CycleTable, bounds: &Bounds) -> bool {
        let outline = outlined(&mut self.steps, txn, table, bounds);
        let (ops, kept_steps) = (txn.ops(), &self.kept_steps[places_of(kept)]);
        let same = |((op, new), kept): ((&Op, &BusStep), &BusStep)| match op {
            Op::Timer(_) => true,
            Op::Command(_) | Op::Addresses(_) => new.first == kept.first,
            Op::DataRead(..) | Op::DataWrite(..) => (new.first, new.last) == (kept.first, kept.last),
        };
        outline == Ok(self.kept[usize::from(kept)].outline)
            && ops.len() <= KEPT_STEPS
            && ops.iter().zip(self.steps.iter()).zip(kept_steps).all(same)
    }
}

/// Where the steps of a kept plan are.
#[inline]
const fn places_of(kept: u8) -> Range<usize> {
    let first = kept as usize * KEPT_STEPS;
    first..first + KEPT_STEPS
}

/// Plans a transaction as if the bus never waited for memory.
fn outlined(
    steps: &mut [BusStep; MAX_OPS],
    txn: &Txn,
    table: &CycleTable,
    bounds: &Bounds,
) -> Result<Outline, TxnError> {
    let (mut bytes, mut in_memory, mut first_inward) = (0, 0, None);
    let cycles = lay_out(steps, txn, table, |burst| {
        bounds.check(&burst)?;
        bytes += burst.bytes;
        if burst.descriptor.path != Path::Mailbox {
            in_memory += u64::from(burst.bytes);
            if !burst.out {
                first_inward.get_or_insert(burst.first);
            }
        }
        Ok(burst.unpaced(table))
    })?;
    Ok(Outline { cycles, bytes, in_memory, first_inward })
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
    /// What is wrong with a transaction as a whole.
    fn check_all(&self, txn: &Txn) -> Result<(), TxnError> {
        if txn.overflowed() {
            return Err(TxnError::TooLong);
        }
        self.check_kept(txn)
    }
    /// As [`check_all`](Bounds::check_all), for one with a shape that another has had: nothing is wrong with
    /// its length.
    #[inline]
    fn check_kept(&self, txn: &Txn) -> Result<(), TxnError> {
        if txn.lacks_operations() {
            return Err(TxnError::TooLong);
        }
        match txn.fault() {
            None => {}
            Some(Fault::Word(error)) => return Err(TxnError::Word(error)),
            Some(Fault::Unframed) => return Err(TxnError::Unframed),
        }
        if txn.chips() >> self.ways != 0 { Err(TxnError::Chip) } else { Ok(()) }
    }
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

#[cfg(test)]
mod tests;
