use crate::carry::Course;
use crate::stages::{StageConfig, Stages};
use crate::timing::{CycleTable, EngineClock};
use crate::walk::{Bounds, Extent, Planner};
use crate::ways::MemoryWays;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler, HandlerId};
use aster_ports::channel::{BusTap, ChannelPort, ENGINE_KICK, TxnError, TxnFault, TxnResult};
use aster_ports::dram::SharedDram;
use aster_ports::package::{Interface, Package};
use aster_txn::Txn;
use aster_units::{Duration, Instant};
use core::cell::{Cell, Ref, RefCell};

/// The configuration of an engine.
pub struct EngineConfig {
    /// The controller clock and pipeline.
    pub clock: EngineClock,
    /// The cycle table of each interface and timing mode that the channel can drive.
    pub tables: Vec<CycleTable>,
    /// The stream stages.
    pub stages: StageConfig,
    /// The longest burst: page and spare.
    pub longest_burst: u32,
    /// The ways to the memory that the Packetizer moves data to and from.
    pub memory: MemoryWays,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Transactions executed.
    pub transactions: u64,
    /// Transactions that the engine refused or to which a package objected.
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
    bytes: u32,
}

/// The timed engine of one channel with its packages, one per way.
pub struct Engine<P: Package> {
    exec: Exec,
    port: Rc<ChannelPort>,
    dram: SharedDram,
    recorder: Recorder,
    clock: EngineClock,
    tables: Vec<CycleTable>,
    bounds: Bounds,
    memory: MemoryWays,
    packages: RefCell<Vec<P>>,
    stages: RefCell<Stages>,
    in_flight: RefCell<Option<InFlight>>,
    /// The slot that has been chosen to be next while another owns the channel.
    chosen: Cell<Option<usize>>,
    planner: RefCell<Planner>,
    free_at: Cell<Instant>,
    over_at: Cell<Instant>,
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
            config.tables.iter().any(|t| t.interface == Interface::POWER_ON),
            "packages boot in SDR mode 0: the engine must drive it"
        );
        let engine = Rc::new(Engine {
            exec: port.exec().clone(),
            port: Rc::clone(port),
            dram: Rc::clone(dram),
            recorder: recorder.clone(),
            tables: config.tables,
            clock: config.clock,
            memory: config.memory,
            bounds: Bounds { ways: packages.len(), longest_burst: config.longest_burst },
            packages: RefCell::new(packages),
            stages: RefCell::new(Stages::new(config.stages)),
            in_flight: RefCell::new(None),
            chosen: Cell::new(None),
            planner: RefCell::new(Planner::new()),
            free_at: Cell::default(),
            over_at: Cell::new(Instant::MAX),
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
        let interface = self.port.interface(slot % self.bounds.ways);
        // The firmware only sets modes that the board's controller has.
        self.tables
            .iter()
            .position(|t| t.interface == interface)
            .expect("the way is in a mode that the engine drives")
    }

    /// When a push that happens now is sampled. A push in reaction to the end of a transaction comes
    /// after the clock edge that showed the end.
    fn sampled(&self, pushed_now: bool) -> Instant {
        let now = self.exec.now();
        if pushed_now && now == self.over_at.get() {
            now + self.clock.period
        } else {
            now.next_edge(self.clock.period)
        }
    }

    /// Starts what waits. `pushed_now` says that it was issued at this very instant.
    fn start_next(&self, pushed_now: bool) {
        if self.in_flight.borrow().is_some() {
            return self.choose_ahead();
        }
        self.port.listen(true);
        let now = self.exec.now();
        while let Some(slot) = self.chosen.take().or_else(|| self.port.next_pending(now)) {
            let index = self.table_of(slot);
            let table = &self.tables[index];
            let sampled = self.sampled(pushed_now);
            let pushed = sampled + self.clock.period * u64::from(self.clock.fifo_latency);
            let start = pushed.max(self.free_at.get());
            let made = self.planner.borrow_mut().make(
                &self.port.in_flight(slot),
                (index, table),
                start,
                &self.bounds,
                &self.memory,
            );
            let Extent { over, bytes } = match made {
                Ok(extent) => extent,
                Err(error) => {
                    // A refused transaction takes one cycle.
                    self.free_at.set(start + self.clock.period);
                    self.over_at.set(start);
                    self.fail(slot, start, error);
                    continue;
                }
            };
            let end = table.at(start, over);
            *self.in_flight.borrow_mut() = Some(InFlight { slot, start, table: index, bytes });
            // Nothing that is issued in the meantime can start before this one has ended, and then the
            // engine looks by itself.
            self.port.listen(false);
            self.recorder
                .emit(start, || Event::TransactionStarted { channel: self.port.id().0, slot: slot as u16 });
            self.exec.schedule_last(end, self.id.get().expect("registered in start"), FINISH);
            return self.choose_ahead();
        }
    }

    /// Chooses what follows the transaction on the channel, if an arbiter chooses ahead.
    fn choose_ahead(&self) {
        if self.port.chooses_ahead() && self.chosen.get().is_none() {
            self.chosen.set(self.port.next_pending(self.exec.now()));
            self.port.listen(self.chosen.get().is_none());
        }
    }

    #[cold]
    fn fail(&self, slot: usize, at: Instant, error: TxnError) {
        let name = self.port.in_flight(slot).name();
        self.update(|s| s.failed += 1);
        self.recorder.emit(at, || Event::TransactionFailed { channel: self.port.id().0, slot: slot as u16 });
        self.port.complete(slot, Err(Box::new(TxnFault { name, at, error })), at);
    }

    fn finish(&self) {
        let Some(InFlight { slot, start, table, bytes }) = self.in_flight.borrow_mut().take() else { return };
        let now = self.exec.now();
        self.update(|s| {
            s.transactions += 1;
            s.bytes += u64::from(bytes);
            s.busy += now.since(start);
        });
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
            let planner = self.planner.borrow();
            let course = Course { txn: &txn, plan: planner.plan(), table, start };
            let chips = txn.chips();
            let driven = self.port.is_driven_by_hardware();
            let carried = match (&mut *tap, packages.get_mut(chips.trailing_zeros() as usize)) {
                // The common case: one package and no tap.
                (None, Some(package)) if chips.is_power_of_two() => {
                    course.to_one(package, &mut stages, &mut dram)
                }
                (tap, _) => course.to_all(&mut packages, &mut stages, &mut dram, tap.as_deref_mut()),
            };
            if driven {
                // A controller in hardware sees the pins.
                let mut left = chips;
                while left != 0 {
                    let way = left.trailing_zeros() as usize;
                    left &= left - 1;
                    if let Some(package) = packages.get(way) {
                        self.port.set_ready_from(way, package.ready_from(now));
                    }
                }
            }
            carried.map(|mailbox| (mailbox, stages.finish(now)))
        };
        self.free_at.set(table.at(now, u64::from(table.gap)));
        self.over_at.set(now);
        match outcome {
            Ok((mailbox, (frame, latency))) => {
                self.recorder.emit(now, || Event::TransactionEnded {
                    channel: self.port.id().0,
                    slot: slot as u16,
                    bytes,
                });
                let finished = now + latency;
                self.port.complete(slot, Ok(TxnResult { over: now, finished, mailbox, frame }), finished);
            }
            Err(fault) => self.fail(slot, table.at(start, fault.cycle), fault.error),
        }
        if self.port.is_driven_by_hardware() {
            // The issuer reacts to the result before the next transaction is chosen.
            self.exec.post(self.id.get().expect("registered in start"), ENGINE_KICK);
        } else {
            self.start_next(false);
        }
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
            ENGINE_KICK => self.start_next(true),
            _ => unreachable!("token {token}"),
        }
    }
}

// The engine passes whole transactions to the walk. This assertion prevents the type from growing
// unnoticed.
const _: () = assert!(size_of::<Txn>() <= 1536);
