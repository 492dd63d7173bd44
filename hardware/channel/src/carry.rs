//! Carries out a planned transaction: its latches and bursts to the packages, its data between packages,
//! stages and memory.

use crate::stages::Stages;
use crate::timing::CycleTable;
use crate::walk::{BusStep, Plan};
use alloc::boxed::Box;
use aster_ports::channel::{BusTap, TxnError};
use aster_ports::dram::Buffers;
use aster_ports::package::{
    BurstTiming, CommandTimes, DataIn, DataOut, Package, PageData, ProtocolError, StatusTimes,
};
use aster_txn::interface::limits::MAILBOX_BYTES;
use aster_txn::{AddressRun, Descriptor, Latch, MAX_DESCRIPTORS, Op, Path, Txn};
use aster_units::{Content, Instant};
use aster_wire::onfi::command::READ_STATUS;

/// What went wrong, and in which cycle. Functions return it boxed, so that the results of successful
/// steps stay small.
pub(crate) struct Fault {
    pub cycle: u64,
    pub error: TxnError,
}

#[cold]
fn fault(cycle: u64, error: impl Into<TxnError>) -> Box<Fault> {
    Box::new(Fault { cycle, error: error.into() })
}

/// The steps of a command with addresses: its first cycle, the addresses, its second cycle.
const COMMAND_STEPS: usize = 3;

/// A transaction with its plan. It starts at `start`.
pub(crate) struct Course<'a> {
    pub txn: &'a Txn,
    pub plan: Plan<'a>,
    pub table: &'a CycleTable,
    pub start: Instant,
}

/// The progress of a descriptor's bursts.
#[derive(Clone, Copy, Default)]
struct Progress {
    bursts: u8,
    bytes: u32,
}

/// What a transaction has moved so far: where the next burst of each descriptor continues, and the
/// mailbox.
struct Moved {
    by: [Progress; MAX_DESCRIPTORS],
    mailbox: u64,
    in_mailbox: usize,
}

impl Moved {
    fn new() -> Self {
        Moved { by: [Progress { bursts: 0, bytes: 0 }; MAX_DESCRIPTORS], mailbox: 0, in_mailbox: 0 }
    }

    /// The progress of the descriptor's bursts before one of `bytes` bytes. Advances it by that burst.
    #[inline]
    fn advance(&mut self, descriptor: u8, bytes: u32) -> Progress {
        let progress = &mut self.by[usize::from(descriptor)];
        let before = *progress;
        *progress = Progress { bursts: before.bursts + 1, bytes: before.bytes + bytes };
        before
    }

    /// Adds bytes to the mailbox; those that don't fit are lost.
    #[inline]
    fn post(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().take(MAILBOX_BYTES - self.in_mailbox) {
            self.mailbox |= u64::from(byte) << (8 * self.in_mailbox);
            self.in_mailbox += 1;
        }
    }
}

impl Course<'_> {
    #[inline]
    fn at(&self, cycle: u64) -> Instant {
        self.table.at(self.start, cycle)
    }
    /// The times of a burst's strobes.
    #[inline]
    fn timing(&self, step: &BusStep) -> BurstTiming {
        BurstTiming { first: self.at(step.first), last: self.at(step.last), mode: self.table.interface.mode }
    }
    #[inline]
    fn descriptor(&self, index: u8) -> &Descriptor {
        &self.txn.descriptors()[usize::from(index)]
    }

    /// Carries out the plan on one package without a tap, and returns the mailbox. After an error it
    /// releases the chip, so that the bus stays usable.
    #[inline]
    pub(crate) fn to_one<P: Package>(
        &self,
        package: &mut P,
        stages: &mut Stages,
        dram: &mut Buffers,
    ) -> Result<u64, Box<Fault>> {
        if let Some(status) = self.status_alone(package) {
            return Ok(status);
        }
        let mut moved = Moved::new();
        package.select(self.start, true).map_err(|e| fault(0, e))?;
        let (ops, mut index) = (self.txn.ops(), 0);
        while let Some(op) = ops.get(index) {
            if self.command(&ops[index..], index, package) {
                index += COMMAND_STEPS;
                continue;
            }
            let step = &self.plan.steps[index];
            index += 1;
            let done = match op {
                &Op::Command(command) => package
                    .latch(self.at(step.first), Latch::Command(command))
                    .map_err(|e| fault(step.first, e)),
                Op::Addresses(run) => package
                    .addresses(self.at(step.first), self.table.latch_time(), run.bytes())
                    .map_err(|(i, e)| fault(self.table.latch_edge(step.first, i), e)),
                &Op::DataRead(bytes, index) => {
                    let before = moved.advance(index, bytes);
                    let delivered = package.data_out(self.timing(step), bytes, |out| {
                        deliver(out, self.descriptor(index), before, bytes, stages, dram, &mut moved)
                    });
                    match delivered {
                        Ok(delivered) => delivered.map_err(|e| fault(step.first, e)),
                        Err(error) => Err(fault(step.first, error)),
                    }
                }
                &Op::DataWrite(bytes, index) => {
                    let immediate = self.descriptor(index).immediate.to_le_bytes();
                    let before = moved.advance(index, bytes);
                    match collect(self.descriptor(index), &immediate, before, bytes, stages, dram) {
                        Ok(data) => {
                            package.data_in(self.timing(step), bytes, data).map_err(|e| fault(step.first, e))
                        }
                        Err(error) => Err(fault(step.first, error)),
                    }
                }
                Op::Timer(_) => Ok(()),
            };
            if let Err(fault) = done {
                // The transaction has failed already, so an error of the release doesn't matter.
                let _ = package.select(self.at(fault.cycle), false);
                return Err(fault);
            }
        }
        let end = self.plan.cycles;
        package.select(self.at(end), false).map_err(|e| fault(end, e))?;
        Ok(moved.mailbox)
    }

    /// Carries out a transaction that is nothing but READ STATUS, if the package takes that at once. Returns
    /// the mailbox.
    #[inline]
    fn status_alone<P: Package>(&self, package: &mut P) -> Option<u64> {
        let &[Op::Command(READ_STATUS), Op::DataRead(1, index)] = self.txn.ops() else { return None };
        if self.descriptor(index).path != Path::Mailbox {
            return None;
        }
        let [command, burst] = self.plan.steps.first_chunk()?;
        let at = StatusTimes {
            selected: self.start,
            command: self.at(command.first),
            burst: self.timing(burst),
            released: self.at(self.plan.cycles),
        };
        package.read_status(&at).map(u64::from)
    }

    /// Whether `ops`, whose first one has this index, begin with a command of three steps that the package
    /// has taken at once.
    #[inline]
    fn command<P: Package>(&self, ops: &[Op], index: usize, package: &mut P) -> bool {
        let [Op::Command(first), Op::Addresses(run), Op::Command(second), ..] = ops else { return false };
        let steps = &self.plan.steps[index..index + COMMAND_STEPS];
        let at = CommandTimes {
            first: self.at(steps[0].first),
            addresses: self.at(steps[1].first),
            cycle: self.table.latch_time(),
            second: self.at(steps[2].first),
        };
        package.command(&at, *first, run.bytes(), *second)
    }

    /// Carries out the plan on every selected package, and reports it to `tap` if there is one.
    #[cold]
    pub(crate) fn to_all<P: Package>(
        &self,
        packages: &mut [P],
        stages: &mut Stages,
        dram: &mut Buffers,
        tap: Option<&mut (dyn BusTap + 'static)>,
    ) -> Result<u64, Box<Fault>> {
        let chips = self.txn.chips();
        let mut bus = Bus { course: self, packages, chips, stages, dram, tap, moved: Moved::new() };
        bus.begin()?;
        for (op, step) in self.txn.ops().iter().zip(self.plan.steps.iter()) {
            let done = match op {
                &Op::Command(command) => bus.latch(step.first, Latch::Command(command)),
                Op::Addresses(run) => bus.addresses(step.first, run),
                &Op::DataRead(bytes, descriptor) => bus.fetch(descriptor, bytes, step),
                &Op::DataWrite(bytes, descriptor) => bus.send(descriptor, bytes, step),
                Op::Timer(_) => Ok(()),
            };
            if let Err(fault) = done {
                // As above.
                let _ = bus.end(fault.cycle);
                return Err(fault);
            }
        }
        bus.end(self.plan.cycles)?;
        Ok(bus.moved.mailbox)
    }
}

/// The bus with everything on it.
struct Bus<'a, P> {
    course: &'a Course<'a>,
    packages: &'a mut [P],
    chips: u32,
    stages: &'a mut Stages,
    dram: &'a mut Buffers,
    tap: Option<&'a mut (dyn BusTap + 'static)>,
    moved: Moved,
}

impl<P: Package> Bus<'_, P> {
    /// Calls `each` with every selected package.
    fn selected(
        &mut self,
        cycle: u64,
        mut each: impl FnMut(&mut P) -> Result<(), ProtocolError>,
    ) -> Result<(), Box<Fault>> {
        let mut chips = self.chips;
        while chips != 0 {
            each(&mut self.packages[chips.trailing_zeros() as usize]).map_err(|e| fault(cycle, e))?;
            chips &= chips - 1;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Box<Fault>> {
        let at = self.course.start;
        if let Some(tap) = self.tap.as_mut() {
            tap.chips(at, self.chips);
        }
        self.selected(0, |p| p.select(at, true))
    }

    fn latch(&mut self, edge: u64, latch: Latch) -> Result<(), Box<Fault>> {
        let at = self.course.at(edge);
        if let Some(tap) = self.tap.as_mut() {
            tap.latch(self.course.at(edge - u64::from(self.course.table.latch)), at, latch);
        }
        self.selected(edge, |p| p.latch(at, latch))
    }

    fn addresses(&mut self, first: u64, run: &AddressRun) -> Result<(), Box<Fault>> {
        run.bytes().iter().enumerate().try_for_each(|(i, &value)| {
            self.latch(self.course.table.latch_edge(first, i), Latch::Address(value))
        })
    }

    fn end(&mut self, cycle: u64) -> Result<(), Box<Fault>> {
        let at = self.course.at(cycle);
        if let Some(tap) = self.tap.as_mut() {
            tap.chips(at, 0);
            for (way, package) in self.packages.iter().enumerate() {
                tap.ready(at, way, package.ready(at));
            }
        }
        self.selected(cycle, |p| p.select(at, false))
    }

    fn fetch(&mut self, index: u8, bytes: u32, step: &BusStep) -> Result<(), Box<Fault>> {
        let failed = |error| fault(step.first, error);
        let (timing, before) = (self.course.timing(step), self.moved.advance(index, bytes));
        if self.chips.count_ones() > 1 {
            return Err(failed(ProtocolError::Contention));
        }
        let package = self.packages.get_mut(self.chips.trailing_zeros() as usize);
        let package = package.ok_or_else(|| failed(ProtocolError::NotSelected))?;
        let Bus { course, stages, dram, tap, moved, .. } = self;
        let delivered = package.data_out(timing, bytes, |out| {
            if let Some(tap) = tap.as_mut() {
                tap.burst(timing, true, &stages.bus_bytes(out, bytes));
            }
            deliver(out, course.descriptor(index), before, bytes, stages, dram, moved)
        });
        delivered.map_err(failed)?.map_err(|e| fault(step.first, e))
    }

    fn send(&mut self, index: u8, bytes: u32, step: &BusStep) -> Result<(), Box<Fault>> {
        let timing = self.course.timing(step);
        let descriptor = self.course.descriptor(index);
        let immediate = descriptor.immediate.to_le_bytes();
        let before = self.moved.advance(index, bytes);
        let data = collect(descriptor, &immediate, before, bytes, self.stages, self.dram)
            .map_err(|e| fault(step.first, e))?;
        if let Some(tap) = self.tap.as_mut() {
            match &data {
                DataIn::Bytes(literal) => tap.burst(timing, false, literal),
                DataIn::Page(page) => {
                    let raw = self.stages.code_word(page);
                    tap.burst(timing, false, &raw[..bytes as usize]);
                }
            }
        }
        let mut chips = self.chips;
        while chips != 0 {
            let package = &mut self.packages[chips.trailing_zeros() as usize];
            let copy = match &data {
                DataIn::Bytes(literal) => DataIn::Bytes(literal),
                DataIn::Page(page) => DataIn::Page(*page),
            };
            package.data_in(timing, bytes, copy).map_err(|e| fault(step.first, e))?;
            chips &= chips - 1;
        }
        Ok(())
    }
}

/// Moves what a package drives to where its descriptor says.
#[inline]
fn deliver(
    out: &DataOut<'_>,
    descriptor: &Descriptor,
    before: Progress,
    bytes: u32,
    stages: &mut Stages,
    dram: &mut Buffers,
    moved: &mut Moved,
) -> Result<(), TxnError> {
    match descriptor.path {
        Path::Mailbox => {
            match out {
                DataOut::Bytes(literal) => moved.post(literal),
                // A page is read into the mailbox only to look at its first bytes, unchanged.
                page => moved.post(&stages.literal(page, bytes)?),
            }
            Ok(())
        }
        Path::Raw => stages.receive_unchecked(descriptor.offset + before.bytes, bytes, descriptor, out, dram),
        Path::Page => stages.receive(before.bursts, bytes, descriptor, out, dram),
    }
}

/// The data of a burst of `bytes` bytes to a package, from where its descriptor says. `immediate` is the
/// descriptor's immediate value.
#[inline]
fn collect<'a>(
    descriptor: &Descriptor,
    immediate: &'a [u8; 8],
    before: Progress,
    bytes: u32,
    stages: &Stages,
    dram: &'a Buffers,
) -> Result<DataIn<'a>, TxnError> {
    Ok(match descriptor.path {
        Path::Mailbox => DataIn::Bytes(immediate.get(..bytes as usize).ok_or(TxnError::Frame)?),
        Path::Raw => {
            if dram.content_of(descriptor.buffer) != Content::Full {
                return Err(TxnError::Protocol(ProtocolError::NoBytes));
            }
            let from = (descriptor.offset + before.bytes) as usize;
            let page = dram.page(descriptor.buffer);
            DataIn::Bytes(page.get(from..from + bytes as usize).ok_or(TxnError::Frame)?)
        }
        Path::Page => {
            if bytes != stages.layout().whole().length {
                return Err(TxnError::Frame);
            }
            let (data, oob) = dram.page_and_oob(descriptor.buffer);
            let content = dram.content_of(descriptor.buffer);
            DataIn::Page(PageData { content, data, oob, seed: descriptor.immediate as u32 })
        }
    })
}
