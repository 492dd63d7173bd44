//! A channel in hardware, under the same port as the timed engine. It is ticked cycle by cycle, and only
//! while it has something to do (design §2).

use super::bursts::{self, Burst};
use super::bus::{Bus, Seen, Transcript};
use super::decoder::{BurstShape, Decoder};
use super::loader;
use super::memory::AxiMemory;
use crate::engine::{ChannelStats, EngineConfig};
use crate::stages::Stages;
use crate::timing::CycleTable;
use crate::ways::MemoryWays;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler, HandlerId};
use aster_ports::channel::{BusTap, ChannelPort, ENGINE_KICK, TxnError, TxnFault, TxnResult};
use aster_ports::dram::SharedDram;
use aster_ports::package::{DataMode, DataOut, Interface, Package};
use aster_ports::pins::{ChannelIn, ChannelOut, CycleChannel, Over, PinsIn};
use aster_ports::resource::WORD_BYTES;
use aster_txn::interface::limits;
use aster_txn::{Op, Path, Txn};
use aster_units::{Duration, Instant};
use core::cell::{Cell, Ref, RefCell};

const TICK: u64 = 0;

/// Transactions that the engine keeps in the hardware's queue: the running one and the next one.
const QUEUED: usize = 2;
/// Cycles after which a channel without a transaction doesn't change any more, apart from the gap after
/// the last one.
const SETTLING_CYCLES: u64 = 32;
/// The most cycles that a transaction may take beyond those of its bursts, timers and memory.
const SLACK_CYCLES: u64 = 1 << 20;

/// The engine of one channel that is simulated cycle by cycle, with its packages, one per way.
pub struct CycleEngine<P: Package> {
    exec: Exec,
    port: Rc<ChannelPort>,
    recorder: Recorder,
    period: Duration,
    channel: RefCell<Channel<P>>,
    stats: Cell<ChannelStats>,
    tap: RefCell<Option<Box<dyn BusTap>>>,
    id: Cell<Option<HandlerId>>,
}

/// A transaction in the hardware's queue.
#[derive(Clone, Copy)]
struct Queued {
    slot: usize,
    table: usize,
}

/// The transaction on the bus.
struct Running {
    slot: usize,
    mode: DataMode,
    start: Instant,
    bytes: u32,
    /// The cycle by which it must be over.
    limit: u64,
}

/// A transaction that is over.
struct Ended {
    slot: usize,
    began: Option<(Instant, u32)>,
    outcome: Result<(TxnResult, Duration), (Instant, TxnError)>,
    seen: Vec<Seen>,
}

/// The hardware with everything at its pins.
struct Channel<P> {
    hardware: Box<dyn CycleChannel>,
    port: Rc<ChannelPort>,
    dram: SharedDram,
    packages: Vec<P>,
    stages: Stages,
    tables: Vec<CycleTable>,
    bandwidth: MemoryWays,
    period: Duration,
    decoder: Decoder,
    memory: AxiMemory,
    transcript: Transcript,
    bursts: Vec<Burst>,
    queue: VecDeque<Queued>,
    running: Option<Running>,
    /// The cycle that the hardware is in, counted from power-on.
    cycle: u64,
    /// The number of the next edge. Before the first edge the hardware is in no cycle.
    next_edge: u64,
    /// The cycle by which a transaction must begin.
    begins_by: u64,
    ticking: bool,
    broken: Option<&'static str>,
}

impl<P: Package + 'static> CycleEngine<P> {
    /// Builds the engine of `port`'s channel around `hardware`, which has just been reset, and connects it.
    ///
    /// # Panics
    /// If the configuration doesn't match the hardware, which has a pipeline of fixed length and room for
    /// a fixed number of tables.
    pub fn start(
        port: &Rc<ChannelPort>,
        dram: &SharedDram,
        packages: Vec<P>,
        config: EngineConfig,
        recorder: &Recorder,
        mut hardware: Box<dyn CycleChannel>,
    ) -> Rc<Self> {
        assert!(
            config.tables.iter().any(|t| t.interface == Interface::POWER_ON),
            "packages boot in SDR mode 0: the engine must drive it"
        );
        assert!(config.tables.len() <= limits::TABLES, "the hardware has {} cycle tables", limits::TABLES);
        assert_eq!(config.clock.fifo_latency as usize, limits::FIFO_LATENCY, "the hardware's pipeline");
        let period = config.clock.period;
        loader::set_up(&mut *hardware, period, packages.len(), config.longest_burst, &config.tables);
        let engine = Rc::new(CycleEngine {
            exec: port.exec().clone(),
            port: Rc::clone(port),
            recorder: recorder.clone(),
            period,
            channel: RefCell::new(Channel {
                hardware,
                port: Rc::clone(port),
                dram: Rc::clone(dram),
                packages,
                stages: Stages::new(config.stages),
                tables: config.tables,
                bandwidth: config.memory,
                period,
                decoder: Decoder::new(),
                memory: AxiMemory::new(),
                transcript: Transcript::new(),
                bursts: Vec::with_capacity(limits::WORDS),
                queue: VecDeque::with_capacity(QUEUED),
                running: None,
                cycle: 0,
                next_edge: 0,
                begins_by: 0,
                ticking: false,
                broken: None,
            }),
            stats: Cell::default(),
            tap: RefCell::new(None),
            id: Cell::new(None),
        });
        let id = port.exec().register(engine.clone());
        engine.id.set(Some(id));
        port.attach(id);
        engine
    }

    /// The packages, one per way.
    pub fn packages(&self) -> Ref<'_, Vec<P>> {
        Ref::map(self.channel.borrow(), |channel| &channel.packages)
    }
    /// What the channel has done.
    pub fn stats(&self) -> ChannelStats {
        self.stats.get()
    }
    /// Shows all bus activity to `tap` from now on; `None` stops that.
    pub fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        *self.tap.borrow_mut() = tap;
    }

    /// Pushes as many transactions as the hardware has room for.
    fn push_pending(&self) {
        self.port.listen(true);
        let now = self.exec.now();
        let mut channel = self.channel.borrow_mut();
        while channel.queue.len() + usize::from(channel.running.is_some()) < QUEUED {
            let Some(slot) = self.port.next_pending(now) else { break };
            if let Some(what) = channel.broken {
                self.fail(slot, now, TxnError::Hardware { what });
                continue;
            }
            channel.push(slot, now);
        }
        if !channel.ticking && !channel.queue.is_empty() {
            channel.ticking = true;
            self.schedule(channel.next_edge);
        }
    }

    fn schedule(&self, cycle: u64) {
        let at = Instant::ZERO + self.period * cycle;
        self.exec.schedule_last(at, self.id.get().expect("registered in start"), TICK);
    }

    fn tick(&self) {
        let watched = self.tap.borrow().is_some();
        let ended = self.channel.borrow_mut().tick(watched, &self.recorder);
        if let Some(ended) = ended {
            self.end(ended);
            self.push_pending();
        }
        let mut channel = self.channel.borrow_mut();
        if let Some(what) = channel.broken {
            channel.ticking = false;
            let slots: Vec<usize> = channel
                .running
                .take()
                .map(|r| r.slot)
                .into_iter()
                .chain(channel.queue.drain(..).map(|q| q.slot))
                .collect();
            drop(channel);
            slots.into_iter().for_each(|slot| self.fail(slot, self.exec.now(), TxnError::Hardware { what }));
            return self.push_pending();
        }
        channel.ticking = channel.running.is_some() || !channel.queue.is_empty();
        if channel.ticking {
            self.schedule(channel.next_edge);
        }
    }

    fn end(&self, ended: Ended) {
        let Ended { slot, began, outcome, seen } = ended;
        let now = self.exec.now();
        if let Some((start, bytes)) = began {
            self.update(|s| {
                s.transactions += 1;
                s.bytes += u64::from(bytes);
                s.busy += now.since(start);
            });
            if let Some(tap) = self.tap.borrow_mut().as_mut() {
                tap.transaction(start, now, self.port.in_flight(slot).name());
                seen.iter().for_each(|seen| seen.tell(&mut **tap));
            }
        }
        match outcome {
            Ok((result, latency)) => {
                self.recorder.emit(now, || Event::TransactionEnded {
                    channel: self.port.id().0,
                    slot: slot as u16,
                    bytes: began.map_or(0, |(_, bytes)| bytes),
                });
                let finished = now + latency;
                self.port.complete(slot, Ok(TxnResult { finished, ..result }), finished);
            }
            Err((at, error)) => self.fail(slot, at, error),
        }
    }

    fn fail(&self, slot: usize, at: Instant, error: TxnError) {
        let name = self.port.in_flight(slot).name();
        self.update(|s| s.failed += 1);
        self.recorder.emit(at, || Event::TransactionFailed { channel: self.port.id().0, slot: slot as u16 });
        self.port.complete(slot, Err(Box::new(TxnFault { name, at, error })), at);
    }

    fn update(&self, f: impl FnOnce(&mut ChannelStats)) {
        let mut stats = self.stats.get();
        f(&mut stats);
        self.stats.set(stats);
    }
}

impl<P: Package + 'static> Handler for CycleEngine<P> {
    fn fire(&self, token: u64) {
        match token {
            TICK => self.tick(),
            ENGINE_KICK => self.push_pending(),
            _ => unreachable!("token {token}"),
        }
    }
}

impl<P: Package> Channel<P> {
    fn time(&self) -> Instant {
        Instant::ZERO + self.period * self.cycle
    }

    /// The software's side: puts `slot`'s transaction into the queue, which samples it at the next edge.
    fn push(&mut self, slot: usize, now: Instant) {
        if !self.ticking && self.queue.is_empty() {
            self.catch_up(now);
        }
        let interface = self.port.interface(slot % self.packages.len());
        // The firmware only sets modes that the board's controller has.
        let table = self
            .tables
            .iter()
            .position(|t| t.interface == interface)
            .expect("the way is in a mode that the engine drives");
        loader::take_results(&mut *self.hardware);
        if loader::free_slots(&mut *self.hardware) == 0 {
            self.broken = Some("no slot is free though no transaction is left");
        }
        loader::load(&mut *self.hardware, &self.port.in_flight(slot), table);
        self.queue.push_back(Queued { slot, table });
        self.expect_begin();
    }

    fn expect_begin(&mut self) {
        self.begins_by = self.next_edge + SETTLING_CYCLES + self.longest_gap();
    }
    fn longest_gap(&self) -> u64 {
        self.tables.iter().map(|t| u64::from(t.gap)).max().unwrap_or(0)
    }

    /// Catches up after the channel was idle and not ticked: runs the cycles in which it still changes
    /// and skips the others, so that the next edge is the first one from `now` on.
    fn catch_up(&mut self, now: Instant) {
        let next = now.since(Instant::ZERO).cycles_up(self.period);
        for _ in 0..SETTLING_CYCLES + self.longest_gap() {
            if self.next_edge >= next {
                return;
            }
            let out = self.edge();
            self.drive(&out);
        }
        self.next_edge = next.max(self.next_edge);
    }

    /// The edge that begins the next cycle.
    fn edge(&mut self) -> ChannelOut {
        self.hardware.edge();
        self.cycle = self.next_edge;
        self.next_edge += 1;
        *self.hardware.outputs()
    }

    /// Runs one more cycle, in which its pins reach the packages and memory. Returns the transaction that
    /// ends with it, if any.
    fn tick(&mut self, watched: bool, recorder: &Recorder) -> Option<Ended> {
        let out = self.edge();
        if out.begin {
            self.begin(watched, recorder);
        }
        let evaluated = self.drive(&out);
        if let Some(over) = evaluated.over {
            return self.end(&over);
        }
        let late = match &self.running {
            Some(running) => self.cycle > running.limit,
            None => self.cycle > self.begins_by,
        };
        if late {
            self.broken = Some("a transaction neither begins nor ends");
        }
        None
    }

    /// Carries the cycle's pins to packages and memory, and their answers back.
    fn drive(&mut self, out: &ChannelOut) -> ChannelOut {
        let at = self.time();
        let txn = self.running.as_ref().map(|running| self.port.in_flight(running.slot));
        let dram = self.dram.borrow();
        let mut bus = Bus {
            packages: &mut self.packages,
            stages: &mut self.stages,
            dram: &dram,
            memory: &mut self.memory,
            txn: txn.as_deref().map(|txn| &**txn),
            bursts: &self.bursts,
            mode: self.running.as_ref().map_or(DataMode::Sdr, |running| running.mode),
            period: self.period,
            transcript: &mut self.transcript,
        };
        let dq = self.decoder.cycle(self.cycle, &out.pins, &mut bus);
        let ready = self
            .packages
            .iter()
            .enumerate()
            .fold(0, |ready, (way, package)| ready | u32::from(package.ready(at)) << way);
        let memory = self.memory.drive(self.cycle);
        let evaluated = *self.hardware.evaluate(&ChannelIn { pins: PinsIn { dq, ready }, memory });
        self.memory.end_cycle(&evaluated.memory, &memory);
        evaluated
    }

    /// The transaction at the head of the queue takes the bus.
    fn begin(&mut self, watched: bool, recorder: &Recorder) {
        let (Some(Queued { slot, table }), None) = (self.queue.pop_front(), &self.running) else {
            self.broken = Some("a transaction begins that nobody pushed, or inside another");
            return;
        };
        let start = self.time();
        let table = &self.tables[table];
        let txn = self.port.in_flight(slot);
        let dram = self.dram.borrow();
        bursts::collect(&txn, table, &self.stages, &dram, &mut self.bursts);
        let in_memory =
            self.bursts.iter().filter(|b| b.path != Path::Mailbox).map(|b| u64::from(b.bytes)).sum();
        let writes = self.bursts.iter().any(|b| b.path != Path::Mailbox && !b.out);
        let window = self.bandwidth.of(writes).window(start, in_memory);
        self.memory.begin(&self.bursts, &window, self.period);
        for burst in self.bursts.iter().filter(|b| !b.out) {
            let bytes = self.memory.window(burst.descriptor);
            bursts::fill(burst, &txn, &mut self.stages, &dram, bytes);
        }
        let shapes = self.bursts.iter().map(|b| BurstShape { out: b.out, transfers: b.transfers });
        self.decoder.begin(table.interface.mode, table.registers(), shapes);
        self.transcript.begin(watched);
        self.stages.reset();
        let memory_end = window.passed(in_memory).since(Instant::ZERO).cycles_up(self.period);
        let limit = memory_end.max(self.cycle) + longest(&txn, table, &self.bursts, self.period);
        let bytes = self.bursts.iter().map(|b| b.bytes).sum();
        self.running = Some(Running { slot, mode: table.interface.mode, start, bytes, limit });
        recorder.emit(start, || Event::TransactionStarted { channel: self.port.id().0, slot: slot as u16 });
    }

    /// Ends the transaction on the bus, or one that was refused at its turn.
    fn end(&mut self, over: &Over) -> Option<Ended> {
        let now = self.time();
        self.expect_begin();
        let Some(running) = self.running.take() else {
            let Some(Queued { slot, .. }) = self.queue.pop_front() else {
                self.broken = Some("a transaction is over that nobody pushed");
                return None;
            };
            let unrun = TxnError::Hardware { what: "a transaction is over that never began" };
            let error = loader::error_of(over).unwrap_or(unrun);
            return Some(Ended { slot, began: None, outcome: Err((now, error)), seen: Vec::new() });
        };
        let outcome = self.outcome(&running, over, now);
        let Running { slot, start, bytes, .. } = running;
        Some(Ended { slot, began: Some((start, bytes)), outcome, seen: self.transcript.take_seen() })
    }

    fn outcome(
        &mut self,
        running: &Running,
        over: &Over,
        now: Instant,
    ) -> Result<(TxnResult, Duration), (Instant, TxnError)> {
        if let Some(objection) = self.transcript.objection() {
            return Err(objection);
        }
        if let Some(error) = loader::error_of(over) {
            return Err((now, error));
        }
        let breach = self.memory.breach().or_else(|| {
            (!self.memory.is_done()).then_some("a transaction is over before its words have passed")
        });
        if let Some(what) = breach {
            return Err((now, TxnError::Hardware { what }));
        }
        self.deliver(running.slot).map_err(|error| (now, error))?;
        let (frame, latency) = self.stages.finish(now);
        Ok((TxnResult { over: now, finished: now, mailbox: over.mailbox, frame }, latency))
    }

    /// Moves what the transaction wrote to memory through the stages to the buffers.
    fn deliver(&mut self, slot: usize) -> Result<(), TxnError> {
        let txn = self.port.in_flight(slot);
        let mut dram = self.dram.borrow_mut();
        for burst in self.bursts.iter().filter(|b| b.out && b.path != Path::Mailbox) {
            let descriptor = &txn.descriptors()[burst.descriptor];
            let window = self.memory.window(burst.descriptor);
            let end = burst.at + burst.bytes as usize;
            let Some(bytes) = window.get(burst.at..end) else {
                return Err(TxnError::Hardware { what: "a burst's words went somewhere else" });
            };
            let out = DataOut::Bytes(bytes);
            match burst.path {
                Path::Raw => self.stages.receive_unchecked(
                    descriptor.offset + burst.before,
                    burst.bytes,
                    descriptor,
                    &out,
                    &mut dram,
                )?,
                _ => self.stages.receive(burst.part, burst.bytes, descriptor, &out, &mut dram)?,
            }
        }
        Ok(())
    }
}

/// The most cycles that a transaction can take.
fn longest(txn: &Txn, table: &CycleTable, bursts: &[Burst], period: Duration) -> u64 {
    let timers = txn.ops().iter().map(|op| match op {
        Op::Timer(nanoseconds) => Duration::from_nanos(u64::from(*nanoseconds)).cycles_up(period) + 1,
        _ => 0,
    });
    let words = bursts
        .iter()
        .map(|b| table.strobes(b.out, u64::from(b.transfers)) + u64::from(b.bytes).div_ceil(WORD_BYTES));
    timers.sum::<u64>() + words.sum::<u64>() + SLACK_CYCLES
}
