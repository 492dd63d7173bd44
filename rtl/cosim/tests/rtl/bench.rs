//! One channel with its packages, on the timed model or on RTL, with a record of its bus.

use aster_channel::{
    BusTiming, ChannelStats, CycleEngine, CycleTable, Ecc, Engine, EngineClock, EngineConfig, StageConfig,
};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::schedule::{ByClass, FairShare, RoundRobin, ShortestFirst};
use aster_flash::{FlashConfig, FlashCosts, Lun, LunShape, PollPolicy};
use aster_nand::{ArrayTiming, BusConfig, ErrorModel, FailureModel, Identity, NandArray, NandConfig};
use aster_parties::Arbiter;
use aster_ports::channel::{BusTap, ChannelPort};
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{BurstTiming, DataMode, Interface};
use aster_ports::resource::Bandwidth;
use aster_rtl_cosim::RtlChannel;
use aster_txn::Latch;
use aster_units::*;
use aster_wire::onfi::{DataInterface, Timing};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// Small pages, so that slow modes are quick to simulate; two sectors, so that one can be read alone.
pub const GEOMETRY: Geometry = Geometry {
    channels: 1,
    ways: 2,
    luns: 2,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 8,
    page_bytes: 8_192,
    spare_bytes: 832,
};
pub const SECTORS: u8 = 2;
/// The command prefix with which the packages use a block as SLC.
pub const PSEUDO_SLC: u8 = 0xda;
/// Page buffers for data; the metadata buffer behind them is scratch.
pub const BUFFERS: u32 = 16;

/// The kind of channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hardware {
    /// The timed model.
    Timed,
    /// The RTL under Verilator.
    Rtl,
}

/// Which waiting transaction goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Issue,
    RoundRobin,
    Class,
    Shortest,
    Fair,
}

impl Order {
    pub const ALL: [Order; 5] = [Order::Issue, Order::RoundRobin, Order::Class, Order::Shortest, Order::Fair];

    fn arbiter(self, slots: usize) -> Option<Box<dyn Arbiter>> {
        match self {
            Order::Issue => None,
            Order::RoundRobin => Some(Box::new(RoundRobin::new(slots))),
            Order::Class => Some(Box::new(ByClass::default())),
            Order::Shortest => Some(Box::new(ShortestFirst)),
            Order::Fair => Some(Box::new(FairShare::new(slots))),
        }
    }
}

/// A bench's setting.
#[derive(Clone, Debug)]
pub struct Setting {
    pub interface: DataInterface,
    pub timing_mode: u8,
    pub placement: Placement,
    pub clock: EngineClock,
    /// Bytes per second; 0 is unlimited.
    pub memory: u64,
    pub errors: ErrorModel,
    pub costs: FlashCosts,
    pub order: Order,
    pub seed: u64,
}

impl Setting {
    pub fn of(interface: DataInterface, timing_mode: u8) -> Self {
        Setting {
            interface,
            timing_mode,
            placement: Placement::Interleaved,
            clock: EngineClock::default(),
            memory: 0,
            errors: ErrorModel::NONE,
            costs: FlashCosts::default(),
            order: Order::Issue,
            seed: 1,
        }
    }
}

/// Something on the bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    Transaction(Instant, Instant, &'static str),
    Chips(Instant, u32),
    Latch(Instant, Instant, Latch),
    Burst(Instant, Instant, bool, Vec<u8>),
    Ready(Instant, usize, bool),
}

impl fmt::Display for Seen {
    /// Times are in picoseconds, so that a difference of one cycle shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Transaction(start, end, name) => {
                write!(f, "{} to {} transaction '{name}'", start.as_picos(), end.as_picos())
            }
            Seen::Chips(at, chips) => write!(f, "{} chips {chips:b}", at.as_picos()),
            Seen::Latch(from, edge, latch) => {
                write!(f, "{} to {} {latch:02x?}", from.as_picos(), edge.as_picos())
            }
            Seen::Burst(first, last, out, bytes) => {
                let (n, head) = (bytes.len(), &bytes[..bytes.len().min(8)]);
                let way = if *out { "out" } else { "in" };
                write!(f, "{} to {} {n} bytes {way}: {head:02x?}", first.as_picos(), last.as_picos())
            }
            Seen::Ready(at, way, ready) => write!(f, "{} way {way} ready: {ready}", at.as_picos()),
        }
    }
}

pub type Log = Rc<RefCell<Vec<Seen>>>;

struct Tap(Log);

impl BusTap for Tap {
    fn transaction(&mut self, start: Instant, end: Instant, name: &'static str) {
        self.0.borrow_mut().push(Seen::Transaction(start, end, name));
    }
    fn chips(&mut self, at: Instant, chips: u32) {
        self.0.borrow_mut().push(Seen::Chips(at, chips));
    }
    fn latch(&mut self, from: Instant, edge: Instant, latch: Latch) {
        self.0.borrow_mut().push(Seen::Latch(from, edge, latch));
    }
    fn burst(&mut self, timing: BurstTiming, out: bool, bytes: &[u8]) {
        self.0.borrow_mut().push(Seen::Burst(timing.first, timing.last, out, bytes.to_vec()));
    }
    fn ready(&mut self, at: Instant, way: usize, ready: bool) {
        self.0.borrow_mut().push(Seen::Ready(at, way, ready));
    }
}

enum AnyEngine {
    Timed(Rc<Engine<aster_nand::NandPackage>>),
    Rtl(Rc<CycleEngine<aster_nand::NandPackage>>),
}

/// The bench.
pub struct Bench {
    pub exec: Exec,
    pub core: Core,
    pub port: Rc<ChannelPort>,
    pub dram: SharedDram,
    pub config: Rc<FlashConfig>,
    pub log: Log,
    engine: AnyEngine,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

fn data_mode(interface: DataInterface) -> DataMode {
    match interface {
        DataInterface::Sdr => DataMode::Sdr,
        DataInterface::NvDdr => DataMode::NvDdr,
        DataInterface::NvDdr2 => DataMode::NvDdr2,
    }
}

impl Bench {
    pub fn new(hardware: Hardware, setting: &Setting) -> Self {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let layout =
            PageLayout::new(SECTORS, GEOMETRY.raw_page_bytes(), 256, 21, 16, setting.placement).unwrap();
        let t_ccs = Duration::from_nanos(300);
        let mut nand = NandConfig {
            geometry: GEOMETRY,
            layout,
            content: Content::Full,
            cells: CellMode::Mlc,
            timing: ArrayTiming::COSMOS_MLC,
            bus: BusConfig { sdr_mode_max: 5, nv_ddr_mode_max: Some(5), nv_ddr2_mode_max: Some(7), t_ccs },
            variant: Default::default(),
            identity: Identity::default(),
            errors: setting.errors,
            failures: FailureModel::NONE,
            seed: setting.seed,
        };
        nand.variant.commands.pseudo_slc = Some(PSEUDO_SLC);
        let recorder = Recorder::default();
        let mut array = NandArray::new(nand, None, &recorder).unwrap();
        let dram = Dram::new(Content::Full, SECTORS, 16, BUFFERS, 1, 0);
        let luns = GEOMETRY.luns_per_channel() as usize;
        let port = ChannelPort::new(&exec, ChannelId(0), usize::from(GEOMETRY.ways), luns);
        if let Some(arbiter) = setting.order.arbiter(luns) {
            arbiter.serve(&port);
        }
        let table = |interface, mode| {
            let bus = BusTiming::of_onfi(&Timing::of(interface, mode).unwrap(), t_ccs);
            CycleTable::new(&bus, &setting.clock).unwrap()
        };
        let mut tables = vec![table(DataInterface::Sdr, 0)];
        if (setting.interface, setting.timing_mode) != (DataInterface::Sdr, 0) {
            tables.push(table(setting.interface, setting.timing_mode));
        }
        let engine_config = EngineConfig {
            clock: setting.clock,
            tables,
            stages: StageConfig {
                layout,
                ecc: Ecc::new(12, 14, 13, &layout).unwrap(),
                correction: Default::default(),
                detect_latency: Duration::from_micros(3),
                correct_latency: Duration::from_micros(1),
                solver: None,
            },
            longest_burst: GEOMETRY.raw_page_bytes(),
            memory: Bandwidth::new(setting.memory).into(),
        };
        let log = Log::default();
        let tap: Option<Box<dyn BusTap>> = Some(Box::new(Tap(Rc::clone(&log))));
        let packages = array.take_packages(0);
        let engine = match hardware {
            Hardware::Timed => {
                let engine = Engine::start(&port, &dram, packages, engine_config, &recorder);
                engine.set_tap(tap);
                AnyEngine::Timed(engine)
            }
            Hardware::Rtl => {
                let channel = Box::new(RtlChannel::new());
                let engine = CycleEngine::start(&port, &dram, packages, engine_config, &recorder, channel);
                engine.set_tap(tap);
                AnyEngine::Rtl(engine)
            }
        };
        let us = Duration::from_micros;
        let mut config = FlashConfig {
            variant: Default::default(),
            layout,
            shape: LunShape { geometry: GEOMETRY, cells: CellMode::Mlc },
            t_r: [us(58), us(90), us(90)],
            t_prog: [us(481), us(2_295), us(2_295)],
            t_bers: us(5_000),
            t_rst: us(5),
            interface: Interface { mode: data_mode(setting.interface), timing_mode: setting.timing_mode },
            scramble: true,
            poll: PollPolicy::default(),
            costs: setting.costs,
        };
        config.variant.commands.pseudo_slc = Some(PSEUDO_SLC);
        config.variant.slc_read = ArrayTiming::COSMOS_MLC.slc_read;
        config.variant.slc_program = ArrayTiming::COSMOS_MLC.slc_program;
        config.variant.slc_erase = ArrayTiming::COSMOS_MLC.slc_erase;
        let config = Rc::new(config);
        Bench { exec, core, port, dram, config, log, engine }
    }

    pub fn stats(&self) -> ChannelStats {
        match &self.engine {
            AnyEngine::Timed(engine) => engine.stats(),
            AnyEngine::Rtl(engine) => engine.stats(),
        }
    }

    pub fn lun(&self, way: usize, lun: usize) -> Lun {
        Lun::new(&self.core, &self.port, &self.config, way, lun)
    }

    /// Runs until nothing is in flight.
    pub fn run_until_idle(&self) {
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
        }
    }

    /// Runs `operation` to its end and returns its result.
    pub fn run<T: 'static>(&self, operation: impl Future<Output = T> + 'static) -> T {
        let result = Rc::new(Cell::new(None));
        let slot = Rc::clone(&result);
        self.core.spawn(async move { slot.set(Some(operation.await)) });
        self.run_until_idle();
        result.take().expect("the operation ends")
    }

    /// Brings up every package.
    pub fn bring_up(&self) {
        for way in 0..usize::from(GEOMETRY.ways) {
            let (lun, dram) = (self.lun(way, 0), self.dram.clone());
            let scratch = self.dram.borrow().metadata_buffer(0);
            let page = self.run(async move { aster_flash::boot::bring_up(&lun, &dram, scratch).await });
            assert_eq!(page.expect("the package comes up").page_bytes, GEOMETRY.page_bytes);
        }
    }

    /// Fills a buffer with bytes derived from `salt`.
    pub fn fill(dram: &SharedDram, buffer: BufferId, salt: u64) {
        let mut memory = dram.borrow_mut();
        let (page, oob) = memory.page_and_oob_mut(buffer);
        let mut rng = Rng::new(salt);
        page.iter_mut().chain(oob).for_each(|b| *b = rng.next_u64() as u8);
    }

    /// A checksum over all data buffers.
    pub fn checksum(&self) -> u64 {
        let memory = self.dram.borrow();
        (0..BUFFERS).fold(0, |sum, buffer| {
            let (page, oob) = memory.page_and_oob(BufferId(buffer));
            page.iter().chain(oob).fold(sum, |sum: u64, &b| {
                (sum.rotate_left(7) ^ u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            })
        })
    }
}
