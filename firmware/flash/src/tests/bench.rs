//! A timed channel with real packages, for tests of operations.

extern crate std;
use crate::{FlashConfig, FlashCosts, Lun, LunShape, PollPolicy, boot};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_channel::{BusTiming, CycleTable, Ecc, Engine, EngineClock, EngineConfig, StageConfig};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_nand::{
    ArrayTiming, BusConfig, ErrorModel, FailureModel, Identity, NandArray, NandConfig, NandInspect,
    NandPackage,
};
use aster_ports::channel::{BusTap, ChannelPort};
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{BurstTiming, DataMode, Interface};
use aster_ports::resource::Bandwidth;
use aster_txn::Latch;
use aster_units::*;
use aster_wire::onfi::{DataInterface, Timing};
use core::cell::RefCell;
use std::vec;

pub(super) const GEOMETRY: Geometry = Geometry {
    channels: 1,
    ways: 2,
    luns: 1,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 16,
    page_bytes: 16_384,
    spare_bytes: 1_664,
};

pub(super) struct Bench {
    pub exec: Exec,
    pub core: Core,
    pub port: Rc<ChannelPort>,
    pub dram: SharedDram,
    pub config: Rc<FlashConfig>,
    pub inspect: NandInspect,
    pub engine: Rc<Engine<NandPackage>>,
    /// All channels, of which `port` and `engine` are the first.
    pub channels: Vec<(Rc<ChannelPort>, Rc<Engine<NandPackage>>)>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

impl Bench {
    pub fn new(geometry: Geometry, content: Content, placement: Placement) -> Self {
        Self::in_mode(geometry, content, placement, DataInterface::NvDdr2, 4)
    }

    pub fn in_mode(
        geometry: Geometry,
        content: Content,
        placement: Placement,
        interface: DataInterface,
        timing_mode: u8,
    ) -> Self {
        Self::with(geometry, content, placement, (interface, timing_mode), |_, _| {})
    }

    /// A bench whose packages, or the software's description of them, are changed first.
    pub fn with(
        geometry: Geometry,
        content: Content,
        placement: Placement,
        (interface, timing_mode): (DataInterface, u8),
        change: impl FnOnce(&mut NandConfig, &mut FlashConfig),
    ) -> Self {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let layout = PageLayout::new(4, geometry.raw_page_bytes(), 256, 21, 16, placement).unwrap();
        let t_ccs = Duration::from_nanos(300);
        let mut nand = NandConfig {
            geometry,
            layout,
            content,
            cells: CellMode::Mlc,
            timing: ArrayTiming::COSMOS_MLC,
            bus: BusConfig { sdr_mode_max: 5, nv_ddr_mode_max: Some(5), nv_ddr2_mode_max: Some(7), t_ccs },
            variant: Default::default(),
            identity: Identity::default(),
            errors: ErrorModel::NONE,
            failures: FailureModel::NONE,
            seed: 1,
        };
        let us = Duration::from_micros;
        let mut flash = FlashConfig {
            layout,
            shape: LunShape { geometry, cells: CellMode::Mlc },
            t_r: [us(58), us(90), us(90)],
            t_prog: [us(481), us(2_295), us(2_295)],
            t_bers: us(5_000),
            t_rst: us(5),
            variant: Default::default(),
            interface: Interface {
                mode: match interface {
                    DataInterface::Sdr => DataMode::Sdr,
                    DataInterface::NvDdr => DataMode::NvDdr,
                    DataInterface::NvDdr2 => DataMode::NvDdr2,
                },
                timing_mode,
            },
            scramble: true,
            poll: PollPolicy::default(),
            costs: FlashCosts::default(),
        };
        change(&mut nand, &mut flash);
        let recorder = Recorder::default();
        let mut array = NandArray::new(nand, None, &recorder).unwrap();
        let dram = Dram::new(content, 4, 16, 20, 1, 0);
        let luns = geometry.luns_per_channel() as usize;
        let table = |interface, mode| {
            let bus = BusTiming::of_onfi(&Timing::of(interface, mode).unwrap(), t_ccs);
            CycleTable::new(&bus, &EngineClock::default()).unwrap()
        };
        let channel = |channel: u16| {
            let port = ChannelPort::new(&exec, ChannelId(channel), usize::from(geometry.ways), luns);
            let engine = Engine::start(
                &port,
                &dram,
                array.take_packages(channel),
                EngineConfig {
                    clock: EngineClock::default(),
                    tables: if (interface, timing_mode) == (DataInterface::Sdr, 0) {
                        vec![table(interface, timing_mode)]
                    } else {
                        vec![table(DataInterface::Sdr, 0), table(interface, timing_mode)]
                    },
                    stages: StageConfig {
                        layout,
                        ecc: Ecc::new(12, 14, 13, &layout).unwrap(),
                        correction: Default::default(),
                        detect_latency: Duration::from_micros(3),
                        correct_latency: Duration::from_micros(1),
                        solver: None,
                    },
                    longest_burst: geometry.raw_page_bytes(),
                    memory: Bandwidth::new(0).into(),
                },
                &recorder,
            );
            (port, engine)
        };
        let channels: Vec<_> = (0..geometry.channels).map(channel).collect();
        let (port, engine) = channels[0].clone();
        let config = Rc::new(flash);
        let inspect = array.inspect();
        Bench { exec, core, port, dram, config, inspect, engine, channels }
    }

    pub fn lun(&self, way: usize, lun: usize) -> Lun {
        Lun::new(&self.core, &self.port, &self.config, way, lun)
    }

    /// The first LUN of a channel.
    pub fn lane(&self, channel: usize) -> Lun {
        Lun::new(&self.core, &self.channels[channel].0, &self.config, 0, 0)
    }

    /// Runs one operation to its end and gives its result.
    pub fn run<T: 'static>(&self, operation: impl AsyncFnOnce() -> T + 'static) -> T {
        let result = Rc::new(RefCell::new(None));
        let slot = result.clone();
        self.core.spawn(async move {
            let value = operation().await;
            *slot.borrow_mut() = Some(value);
        });
        for _ in 0..1_000_000 {
            if result.borrow().is_some() {
                break;
            }
            let Some(next) = self.exec.next_deadline() else { break };
            self.exec.advance_to(next);
        }
        let value = result.borrow_mut().take();
        value.expect("the operation ends")
    }

    pub fn bring_up(&self, way: usize) {
        self.bring_up_lun(self.lun(way, 0));
        assert_eq!(self.port.interface(way), self.config.interface);
    }

    pub fn bring_up_lun(&self, lun: Lun) {
        let dram = self.dram.clone();
        let page = self.run(async move || {
            let scratch = dram.borrow().metadata_buffer(0);
            boot::bring_up(&lun, &dram, scratch).await
        });
        assert_eq!(page.unwrap().page_bytes, GEOMETRY.page_bytes);
    }

    pub fn fill(&self, buffer: u32, salt: u64) {
        let mut memory = self.dram.borrow_mut();
        let (page, oob) = memory.page_and_oob_mut(BufferId(buffer));
        let mut rng = Rng::new(salt);
        page.iter_mut().chain(oob).for_each(|b| *b = rng.next_u64() as u8);
    }

    pub fn same(&self, a: u32, b: u32) -> bool {
        let memory = self.dram.borrow();
        memory.page_and_oob(BufferId(a)) == memory.page_and_oob(BufferId(b))
    }

    /// Records the bus from now on.
    pub fn watch(&self) -> Rc<RefCell<Vec<Seen>>> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        self.engine.set_tap(Some(Box::new(Tap(seen.clone()))));
        seen
    }

    pub fn row(&self, block: u32, page: u16) -> RowAddr {
        self.config.shape.geometry.row(0, BlockAddr(block), PageInBlock(page))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    Chips(u32),
    Cmd(u8),
    Addr(u8),
    Out(usize),
    In(usize),
}

pub(super) struct Tap(pub Rc<RefCell<Vec<Seen>>>);
impl BusTap for Tap {
    fn transaction(&mut self, _: Instant, _: Instant, _: &'static str) {}
    fn chips(&mut self, _: Instant, chips: u32) {
        self.0.borrow_mut().push(Seen::Chips(chips));
    }
    fn latch(&mut self, _: Instant, _: Instant, latch: Latch) {
        self.0.borrow_mut().push(match latch {
            Latch::Command(c) => Seen::Cmd(c),
            Latch::Address(a) => Seen::Addr(a),
        });
    }
    fn burst(&mut self, _: BurstTiming, out: bool, bytes: &[u8]) {
        self.0.borrow_mut().push(if out { Seen::Out(bytes.len()) } else { Seen::In(bytes.len()) });
    }
    fn ready(&mut self, _: Instant, _: usize, _: bool) {}
}
