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

#[derive(Clone, Copy)]
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
    datapath: RefCell<Datapath<P>>,
    in_flight: Cell<Option<InFlight>>,
    /// Whether a transaction is in flight.
    is_busy: Cell<bool>,
    /// The slot that has been chosen to be next while another owns the channel.
    chosen: Cell<Option<usize>>,
    /// The cycle table of the transaction that was started last.
    last_table: Cell<usize>,
    free_at: Cell<Instant>,
    over_at: Cell<Instant>,
    stats: Cell<ChannelStats>,
    id: Cell<Option<HandlerId>>,
}

/// What carries transactions out: everything that one call of the engine needs at once.
struct Datapath<P> {
    packages: Vec<P>,
    stages: Stages,
    planner: Planner,
    tap: Option<Box<dyn BusTap>>,
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
            datapath: RefCell::new(Datapath {
                packages,
                stages: Stages::new(config.stages),
                planner: Planner::new(),
                tap: None,
            }),
            in_flight: Cell::new(None),
            is_busy: Cell::new(false),
            chosen: Cell::new(None),
            last_table: Cell::new(0),
            free_at: Cell::default(),
            over_at: Cell::new(Instant::MAX),
            stats: Cell::default(),
            id: Cell::new(None),
        });
        let id = port.exec().register(engine.clone());
        engine.id.set(Some(id));
        port.attach(id);
        engine
    }

    /// The packages, one per way.
    pub fn packages(&self) -> Ref<'_, Vec<P>> {
        Ref::map(self.datapath.borrow(), |datapath| &datapath.packages)
    }
    /// What the channel has done.
    pub fn stats(&self) -> ChannelStats {
        self.stats.get()
    }
    /// Shows all bus activity to `tap` from now on; `None` stops that.
    pub fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        self.datapath.borrow_mut().tap = tap;
    }

    #[inline]
    fn table_of(&self, slot: usize) -> usize {
        let interface = self.port.interface(slot % self.bounds.ways);
        let last = self.last_table.get();
        if self.tables[last].interface == interface {
            return last;
        }
        // The firmware only sets modes that the board's controller has.
        let table = self
            .tables
            .iter()
            .position(|t| t.interface == interface)
            .expect("the way is in a mode that the engine drives");
        self.last_table.set(table);
        table
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
        if self.is_busy.get() {
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
            let made = self.datapath.borrow_mut().planner.make(
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
            self.in_flight.set(Some(InFlight { slot, start, table: index, bytes }));
            self.is_busy.set(true);
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
        let Some(InFlight { slot, start, table, bytes }) = self.in_flight.take() else { return };
        self.is_busy.set(false);
        let now = self.exec.now();
        self.update(|s| {
            s.transactions += 1;
            s.bytes += u64::from(bytes);
            s.busy += now.since(start);
        });
        let table = &self.tables[table];
        let outcome = {
            let txn = self.port.in_flight(slot);
            let Datapath { packages, stages, planner, tap } = &mut *self.datapath.borrow_mut();
            let mut dram = self.dram.borrow_mut();
            if let Some(tap) = tap {
                tap.transaction(start, now, txn.name());
            }
            stages.reset();
            let course = Course { txn: &txn, plan: planner.plan(), table, start };
            let chips = txn.chips();
            let driven = self.port.is_driven_by_hardware();
            let carried = match (tap, packages.get_mut(chips.trailing_zeros() as usize)) {
                // The common case: one package and no tap.
                (None, Some(package)) if chips.is_power_of_two() => course.to_one(package, stages, &mut dram),
                (tap, _) => course.to_all(packages, stages, &mut dram, tap.as_deref_mut()),
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
