use crate::stages::{StageConfig, Stages};
use crate::timing::{BusTiming, CycleTable, EngineClock};
use crate::walk::{Plan, Step};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler, HandlerId};
use aster_ports::channel::{BusTap, ChannelPort, ENGINE_KICK, TxnError, TxnFault, TxnResult};
use aster_ports::dram::{Buffers, SharedDram};
use aster_ports::package::{BurstTiming, DataIn, DataOut, Interface, Package, PageData};
use aster_ports::resource::SharedBandwidth;
use aster_txn::{Descriptor, Latch, Op, Path, Txn};
use aster_units::{Content, Duration, Instant};
use core::cell::{Cell, Ref, RefCell};

/// What an engine is made of.
pub struct EngineConfig {
    /// The controller clock and pipeline.
    pub clock: EngineClock,
    /// Bus timing of each data mode the channel can drive.
    pub timing: Vec<BusTiming>,
    /// The stream stages.
    pub stages: StageConfig,
    /// The longest burst: page and spare.
    pub longest_burst: u32,
    /// The memory that the Packetizer moves data to and from.
    pub memory: SharedBandwidth,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Transactions executed.
    pub transactions: u64,
    /// Transactions refused or objected to.
    pub failed: u64,
    /// Bytes of all bursts.
    pub bytes: u64,
    /// Time the channel was owned.
    pub busy: Duration,
}

struct InFlight {
    slot: usize,
    start: Instant,
    table: usize,
}

/// The timed engine of one channel with its packages, one a way.
pub struct Engine<P: Package> {
    exec: Exec,
    port: Rc<ChannelPort>,
    dram: SharedDram,
    recorder: Recorder,
    clock: EngineClock,
    tables: Vec<CycleTable>,
    longest_burst: u32,
    memory: SharedBandwidth,
    ways: usize,
    packages: RefCell<Vec<P>>,
    stages: RefCell<Stages>,
    in_flight: RefCell<Option<InFlight>>,
    plan: RefCell<Plan>,
    free_at: Cell<Instant>,
    stats: Cell<ChannelStats>,
    tap: RefCell<Option<Box<dyn BusTap>>>,
    id: Cell<Option<HandlerId>>,
}

const FINISH: u64 = 0;

impl<P: Package + 'static> Engine<P> {
    /// Builds the engine of `port`'s channel and connects it.
    pub fn start(
        port: &Rc<ChannelPort>,
        dram: &SharedDram,
        packages: Vec<P>,
        config: EngineConfig,
        recorder: &Recorder,
    ) -> Rc<Self> {
        assert!(
            config.timing.iter().any(|t| t.interface == Interface::POWER_ON),
            "packages boot in SDR mode 0: the engine must drive it"
        );
        let engine = Rc::new(Engine {
            exec: port.exec().clone(),
            port: Rc::clone(port),
            dram: Rc::clone(dram),
            recorder: recorder.clone(),
            tables: config.timing.iter().map(|t| CycleTable::new(t, &config.clock)).collect(),
            clock: config.clock,
            longest_burst: config.longest_burst,
            memory: config.memory,
            ways: packages.len(),
            packages: RefCell::new(packages),
            stages: RefCell::new(Stages::new(config.stages)),
            in_flight: RefCell::new(None),
            plan: RefCell::new(Plan::new()),
            free_at: Cell::default(),
            stats: Cell::default(),
            tap: RefCell::new(None),
            id: Cell::new(None),
        });
        let id = port.exec().register(engine.clone());
        engine.id.set(Some(id));
        port.attach(id);
        engine
    }

    /// The packages, one a way.
    pub fn packages(&self) -> Ref<'_, Vec<P>> {
        self.packages.borrow()
    }
    /// What the channel has done.
    pub fn stats(&self) -> ChannelStats {
        self.stats.get()
    }
    /// Shows all bus activity to `tap` from now on; `None` stops that.
    pub fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        *self.tap.borrow_mut() = tap;
    }

    #[inline]
    fn table_of(&self, slot: usize) -> usize {
        let interface = self.port.interface(slot % self.ways);
        // The firmware only sets modes that the board's controller has.
        self.tables
            .iter()
            .position(|t| t.interface == interface)
            .expect("the way is in a mode that the engine drives")
    }

    fn start_next(&self) {
        if self.in_flight.borrow().is_some() {
            return;
        }
        let now = self.exec.now();
        while let Some(slot) = self.port.next_pending(now) {
            let index = self.table_of(slot);
            let table = &self.tables[index];
            let sampled = now.next_edge(self.clock.period);
            let pushed = sampled + self.clock.period * u64::from(self.clock.fifo_latency);
            let start = pushed.max(self.free_at.get());
            let mut plan = self.plan.borrow_mut();
            let made = plan.make(&self.port.in_flight(slot), table, self.ways, self.longest_burst);
            let (cycles, bytes) = (plan.cycles, plan.bytes);
            drop(plan);
            if let Err((_, error)) = made {
                self.fail(slot, start, error);
                continue;
            }
            let bus_end = table.at(start, cycles);
            let memory_end = self.memory.reserve(start, u64::from(bytes)).next_edge(self.clock.period);
            let end = bus_end.max(memory_end);
            self.update(|s| {
                s.transactions += 1;
                s.bytes += u64::from(bytes);
                s.busy += end.since(start);
            });
            *self.in_flight.borrow_mut() = Some(InFlight { slot, start, table: index });
            self.recorder
                .emit(start, || Event::TransactionStarted { channel: self.port.id().0, slot: slot as u16 });
            self.exec.schedule(end, self.id.get().expect("registered in start"), FINISH);
            return;
        }
    }

    fn fail(&self, slot: usize, at: Instant, error: TxnError) {
        let name = self.port.in_flight(slot).name();
        self.update(|s| s.failed += 1);
        self.recorder.emit(at, || Event::TransactionFailed { channel: self.port.id().0, slot: slot as u16 });
        self.port.complete(slot, Err(Box::new(TxnFault { name, at, error })), at);
    }

    fn finish(&self) {
        let Some(InFlight { slot, start, table }) = self.in_flight.borrow_mut().take() else { return };
        let now = self.exec.now();
        let table = &self.tables[table];
        let outcome = {
            let txn = self.port.in_flight(slot);
            let mut packages = self.packages.borrow_mut();
            let mut stages = self.stages.borrow_mut();
            let mut dram = self.dram.borrow_mut();
            let mut tap = self.tap.borrow_mut();
            if let Some(tap) = tap.as_mut() {
                tap.transaction(start, now, txn.name());
            }
            stages.reset();
            let mut carry = Carry {
                txn: &txn,
                packages: &mut packages,
                stages: &mut stages,
                dram: &mut dram,
                tap: tap.as_deref_mut(),
                table,
                start,
                chips: 0,
                mailbox: 0,
            };
            let plan = self.plan.borrow();
            let carried = carry.out(&plan);
            let mailbox = carry.mailbox;
            carried.map(|()| (plan.bytes, mailbox, stages.finish()))
        };
        self.free_at.set(table.at(now, u64::from(table.gap)));
        match outcome {
            Ok((bytes, mailbox, (frame, latency))) => {
                self.recorder.emit(now, || Event::TransactionEnded {
                    channel: self.port.id().0,
                    slot: slot as u16,
                    bytes,
                });
                let finished = now + latency;
                self.port.complete(slot, Ok(TxnResult { finished, mailbox, frame }), finished);
            }
            Err((cycle, error)) => self.fail(slot, table.at(start, cycle), error),
        }
        self.start_next();
    }

    fn update(&self, f: impl FnOnce(&mut ChannelStats)) {
        let mut stats = self.stats.get();
        f(&mut stats);
        self.stats.set(stats);
    }
}

impl<P: Package + 'static> Handler for Engine<P> {
    fn fire(&self, token: u64) {
        match token {
            FINISH => self.finish(),
            ENGINE_KICK => self.start_next(),
            _ => unreachable!("token {token}"),
        }
    }
}

/// Carries a transaction's effects to the selected packages and to memory.
struct Carry<'a, P> {
    txn: &'a Txn,
    packages: &'a mut [P],
    stages: &'a mut Stages,
    dram: &'a mut Buffers,
    tap: Option<&'a mut (dyn BusTap + 'static)>,
    table: &'a CycleTable,
    start: Instant,
    chips: u32,
    mailbox: u64,
}

impl<P: Package> Carry<'_, P> {
    /// Carries the plan out step by step. After an error the chips are let go: the bus must stay usable.
    fn out(&mut self, plan: &Plan) -> Result<(), (u64, TxnError)> {
        let txn = self.txn;
        self.begin(txn.chips()).map_err(|e| (0, e))?;
        let mut last_descriptor = u8::MAX;
        let mut part = 0;
        // The common case: one package, nobody watching. Its latches go straight in.
        let alone = (txn.chips().is_power_of_two() && self.tap.is_none())
            .then(|| txn.chips().trailing_zeros() as usize);
        for (op, step) in txn.ops().iter().zip(plan.steps.iter()) {
            let done = match (*op, alone) {
                (Op::Command(command), Some(way)) => {
                    let at = self.table.at(self.start, step.first);
                    self.packages[way].latch(at, Latch::Command(command)).map_err(|e| (step.first, e.into()))
                }
                (Op::Addresses(run), Some(way)) => {
                    let at = self.table.at(self.start, step.first);
                    self.packages[way]
                        .addresses(at, self.table.latch_time(), run.bytes())
                        .map_err(|(i, e)| (self.table.latch_edge(step.first, i), e.into()))
                }
                (Op::Command(command), None) => {
                    self.latch(step.first, Latch::Command(command)).map_err(|e| (step.first, e))
                }
                (Op::Addresses(run), None) => run.bytes().iter().enumerate().try_for_each(|(i, &value)| {
                    let edge = self.table.latch_edge(step.first, i);
                    self.latch(edge, Latch::Address(value)).map_err(|e| (edge, e))
                }),
                (Op::DataRead(bytes, descriptor), _) => {
                    part = if descriptor == last_descriptor { part + 1 } else { 0 };
                    last_descriptor = descriptor;
                    let descriptor = &txn.descriptors()[usize::from(descriptor)];
                    self.fetch(descriptor, part, bytes, self.timing(step)).map_err(|e| (step.first, e))
                }
                (Op::DataWrite(bytes, descriptor), _) => {
                    let descriptor = &txn.descriptors()[usize::from(descriptor)];
                    self.send(descriptor, bytes, self.timing(step)).map_err(|e| (step.first, e))
                }
                (Op::Timer(_), _) => Ok(()),
            };
            if let Err((cycle, error)) = done {
                // The transaction has failed already; an objection to the release adds nothing.
                let _ = self.end(cycle);
                return Err((cycle, error));
            }
        }
        self.end(plan.cycles).map_err(|e| (plan.cycles, e))
    }

    /// When a burst's strobes come.
    #[inline]
    fn timing(&self, step: &Step) -> BurstTiming {
        BurstTiming {
            first: self.table.at(self.start, step.first),
            last: self.table.at(self.start, step.last),
            mode: self.table.interface.mode,
        }
    }

    /// Calls `each` with every selected package.
    #[inline]
    fn selected(
        &mut self,
        mut each: impl FnMut(&mut P) -> Result<(), aster_ports::package::ProtocolError>,
    ) -> Result<(), TxnError> {
        let mut chips = self.chips;
        while chips != 0 {
            each(&mut self.packages[chips.trailing_zeros() as usize]).map_err(TxnError::Protocol)?;
            chips &= chips - 1;
        }
        Ok(())
    }

    fn begin(&mut self, chips: u32) -> Result<(), TxnError> {
        self.chips = chips;
        let at = self.start;
        if let Some(tap) = self.tap.as_mut() {
            tap.chips(at, chips);
        }
        self.selected(|p| p.select(at, true))
    }

    #[inline]
    fn latch(&mut self, edge: u64, latch: Latch) -> Result<(), TxnError> {
        let at = self.table.at(self.start, edge);
        if let Some(tap) = self.tap.as_mut() {
            tap.latch(self.table.at(self.start, edge - u64::from(self.table.latch)), at, latch);
        }
        self.selected(|p| p.latch(at, latch))
    }

    fn end(&mut self, cycle: u64) -> Result<(), TxnError> {
        let at = self.table.at(self.start, cycle);
        if let Some(tap) = self.tap.as_mut() {
            tap.chips(at, 0);
            for (way, package) in self.packages.iter().enumerate() {
                tap.ready(at, way, package.ready(at));
            }
        }
        self.selected(|p| p.select(at, false))
    }
}

impl<P: Package> Carry<'_, P> {
    fn fetch(
        &mut self,
        descriptor: &Descriptor,
        part: u8,
        bytes: u32,
        timing: BurstTiming,
    ) -> Result<(), TxnError> {
        use aster_ports::package::ProtocolError::{Contention, NotSelected};
        if self.chips.count_ones() > 1 {
            return Err(TxnError::Protocol(Contention));
        }
        let way = self.chips.trailing_zeros() as usize;
        let package = self.packages.get_mut(way).ok_or(TxnError::Protocol(NotSelected))?;
        let out = package.data_out(timing, bytes).map_err(TxnError::Protocol)?;
        if let Some(tap) = self.tap.as_mut() {
            tap.burst(timing, true, &self.stages.bus_bytes(&out, bytes));
        }
        match descriptor.path {
            Path::Mailbox => {
                let DataOut::Bytes(literal) = out else { return Err(TxnError::Frame) };
                for (i, &byte) in literal.iter().take(8).enumerate() {
                    self.mailbox |= u64::from(byte) << (8 * i);
                }
                Ok(())
            }
            Path::Raw => self.stages.receive_unchecked(bytes, descriptor, &out, self.dram),
            Path::Page => self.stages.receive(part, bytes, descriptor, &out, self.dram),
        }
    }

    fn send(&mut self, descriptor: &Descriptor, bytes: u32, timing: BurstTiming) -> Result<(), TxnError> {
        let immediate = descriptor.immediate.to_le_bytes();
        let data = match descriptor.path {
            Path::Mailbox => DataIn::Bytes(immediate.get(..bytes as usize).ok_or(TxnError::Frame)?),
            Path::Raw => {
                if self.dram.content_of(descriptor.buffer) != Content::Full {
                    return Err(TxnError::Protocol(aster_ports::package::ProtocolError::NoBytes));
                }
                let from = descriptor.offset as usize;
                let page = self.dram.page(descriptor.buffer);
                DataIn::Bytes(page.get(from..from + bytes as usize).ok_or(TxnError::Frame)?)
            }
            Path::Page => {
                if bytes != self.stages.layout().whole().length {
                    return Err(TxnError::Frame);
                }
                let (data, oob) = self.dram.page_and_oob(descriptor.buffer);
                let content = self.dram.content_of(descriptor.buffer);
                DataIn::Page(PageData { content, data, oob, seed: descriptor.immediate as u32 })
            }
        };
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
            package.data_in(timing, bytes, copy).map_err(TxnError::Protocol)?;
            chips &= chips - 1;
        }
        Ok(())
    }
}

// The engine hands whole transactions to the walk; this keeps the type from growing unnoticed.
const _: () = assert!(size_of::<Txn>() <= 1536);
