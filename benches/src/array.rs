//! The array alone: channels, packages, flash operations and scheduler under I3, with no FTL and no host.
//! The rest of a request's cost belongs to the layers above.

use crate::clock::cpu_seconds;
use aster_channel::{BusTiming, CycleTable, Ecc, Engine, EngineClock, EngineConfig, StageConfig};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::{Controller, FlashConfig, FlashCosts, Lun, LunShape, PollPolicy, boot};
use aster_nand::{ArrayTiming, BusConfig, ErrorModel, FailureModel, Identity, NandArray, NandConfig};
use aster_parties::{BringUpGate, Tasks};
use aster_ports::channel::ChannelPort;
use aster_ports::cores::Interrupt;
use aster_ports::dram::Dram;
use aster_ports::flash::{FlashOp, FlashPort, FlashRequest, FlashStatus, Target};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{DataMode, Interface};
use aster_ports::resource::Bandwidth;
use aster_sched::{Controllers, Policy, Worker, WorkersConfig};
use aster_units::*;
use aster_wire::onfi::{DataInterface, Timing};
use std::cell::Cell;
use std::rc::Rc;

const GEOMETRY: Geometry = Geometry {
    channels: 8,
    ways: 8,
    luns: 1,
    planes: 1,
    blocks_per_lun: 64,
    pages_per_block: 256,
    page_bytes: 16_384,
    spare_bytes: 1_664,
};
const READS: u64 = 2_000_000;
const CALLERS: u64 = 256;

struct Array {
    exec: Exec,
    core: Core,
    port: Rc<FlashPort>,
    _engines: Vec<Rc<Engine<aster_nand::NandPackage>>>,
}

fn array() -> Array {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).expect("not zero"));
    let layout =
        PageLayout::new(4, GEOMETRY.raw_page_bytes(), 256, 21, 16, Placement::Interleaved).expect("it fits");
    let t_ccs = Duration::from_nanos(200);
    let recorder = Recorder::default();
    let config = NandConfig {
        geometry: GEOMETRY,
        layout,
        content: Content::Fingerprint,
        cells: CellMode::Slc,
        timing: ArrayTiming::COSMOS_SLC,
        bus: BusConfig { sdr_mode_max: 5, nv_ddr_mode_max: Some(5), nv_ddr2_mode_max: Some(7), t_ccs },
        variant: Default::default(),
        identity: Identity::default(),
        errors: ErrorModel::NONE,
        failures: FailureModel::NONE,
        seed: 1,
    };
    let mut nand = NandArray::new(config, None, &recorder).expect("a valid array");
    let dram = Dram::new(Content::Fingerprint, 4, 16, CALLERS as u32, 1, 0);
    let us = Duration::from_micros;
    let flash = Rc::new(FlashConfig {
        layout,
        shape: LunShape { geometry: GEOMETRY, cells: CellMode::Slc },
        t_r: [us(99); 3],
        t_prog: [us(486); 3],
        t_bers: us(5_000),
        t_rst: us(5),
        variant: Default::default(),
        interface: Interface { mode: DataMode::NvDdr2, timing_mode: 7 },
        scramble: true,
        poll: PollPolicy::default(),
        costs: FlashCosts::default(),
    });
    let port = FlashPort::new(&exec, GEOMETRY.total_luns(), 1024, Interrupt::default());
    let gate = Rc::new(BringUpGate::default());
    let mut engines = Vec::new();
    let (mut bring_up, mut all) = (Vec::new(), Vec::new());
    let tasks =
        Rc::new(Tasks::new(Box::new(Policy::Fifo), u32::from(GEOMETRY.channels) * u32::from(GEOMETRY.ways)));
    for channel in 0..GEOMETRY.channels {
        let channel_port = ChannelPort::new(&exec, ChannelId(channel), 8, 8);
        let table = |interface, mode| {
            let bus = BusTiming::of_onfi(&Timing::of(interface, mode).expect("a mode"), t_ccs);
            CycleTable::new(&bus, &EngineClock::default()).expect("10 ns are slow enough")
        };
        let engine_config = EngineConfig {
            clock: EngineClock::default(),
            tables: vec![table(DataInterface::NvDdr2, 7), table(DataInterface::Sdr, 0)],
            stages: StageConfig {
                layout,
                ecc: Ecc::new(12, 14, 13, &layout).expect("a code"),
                correction: Default::default(),
                detect_latency: Duration::ZERO,
                correct_latency: Duration::ZERO,
                solver: None,
            },
            longest_burst: GEOMETRY.raw_page_bytes(),
            memory: Bandwidth::new(0).into(),
        };
        engines.push(Engine::start(
            &channel_port,
            &dram,
            nand.take_packages(channel),
            engine_config,
            &recorder,
        ));
        for way in 0..GEOMETRY.ways {
            let lun = || Lun::new(&core, &channel_port, &flash, usize::from(way), 0);
            bring_up.push(lun());
            let index = GEOMETRY.lun_index(LunAddr { channel, way, lun: 0 });
            let package = u32::from(channel) * u32::from(GEOMETRY.ways) + u32::from(way);
            all.push((index, package, Controller::new(lun())));
        }
    }
    let luns: Vec<_> = all.iter().map(|(lun, ..)| *lun).collect();
    let controllers = Controllers::new(all.into_iter(), WorkersConfig::plain(GEOMETRY));
    for lun in luns {
        let worker = Worker {
            lun,
            port: Rc::clone(&port),
            controllers: Rc::clone(&controllers),
            tasks: Rc::clone(&tasks),
            gate: Rc::clone(&gate),
            recorder: recorder.clone(),
        };
        core.spawn(worker.run());
    }
    let (e, d) = (exec.clone(), dram.clone());
    core.spawn(async move {
        let scratch = d.borrow().metadata_buffer(0);
        for lun in &bring_up {
            boot::bring_up(lun, &d, scratch).await.expect("packages come up");
        }
        gate.open(&e);
    });
    let array = Array { exec, core, port, _engines: engines };
    array.run_until_idle();
    array
}

impl Array {
    fn run_until_idle(&self) {
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
        }
    }

    /// `CALLERS` callers each request `phase` of the pages that `next` returns, until it returns `None`.
    fn drive(
        &self,
        phase: FlashOp,
        next: impl Fn(u64, u64) -> Option<(LunIndex, RowAddr)> + Clone + 'static,
    ) -> Cost {
        let (before, from) = (self.exec.counts(), cpu_seconds());
        let done = Rc::new(Cell::new(0));
        for caller in 0..CALLERS {
            let (port, next, done) = (Rc::clone(&self.port), next.clone(), Rc::clone(&done));
            self.core.spawn(async move {
                let mut turn = 0;
                while let Some((lun, row)) = next(caller, turn) {
                    turn += 1;
                    let sectors = SectorRange::whole(if phase == FlashOp::Read { 1 } else { 4 });
                    let target = Target { row, sectors, buffer: BufferId(caller as u32) };
                    let outcomes = port.call(FlashRequest::single(phase, lun, target)).await;
                    assert_eq!(outcomes[0].status, FlashStatus::Done);
                    done.set(done.get() + 1);
                }
            });
        }
        self.run_until_idle();
        let counts = self.exec.counts();
        let n = done.get() as f64;
        Cost {
            ns: (cpu_seconds() - from) * 1e9 / n,
            events: (counts.events - before.events) as f64 / n,
            posts: (counts.posts - before.posts) as f64 / n,
            polls: (counts.polls - before.polls) as f64 / n,
        }
    }
}

struct Cost {
    ns: f64,
    events: f64,
    posts: f64,
    polls: f64,
}

impl Cost {
    fn print(&self, name: &str) {
        let Cost { ns, events, posts, polls } = self;
        println!(
            "  {name:<24} {:9.0} operations/CPU s  {ns:6.0} ns  {events:4.1} events  {posts:4.1} posts  \
             {polls:4.1} polls",
            1e9 / ns
        );
    }
}

/// Prints the cost of a page program and of a one-sector read, 8 channels × 8 ways, 256 in flight.
pub fn measure() {
    println!("array under I3, 8 × 8, fingerprint");
    let array = array();
    // One caller per LUN fills it; four callers per LUN would program out of order.
    let luns = u64::from(GEOMETRY.total_luns());
    let programs = array.drive(FlashOp::Program, move |caller, turn| {
        (caller < luns && turn < u64::from(GEOMETRY.pages_per_lun())).then(|| {
            let per_block = u64::from(GEOMETRY.pages_per_block);
            let (block, page) =
                (BlockAddr((turn / per_block) as u32), PageInBlock((turn % per_block) as u16));
            (LunIndex(caller as u32), GEOMETRY.row(0, block, page))
        })
    });
    programs.print("program");
    let reads = array.drive(FlashOp::Read, move |caller, turn| {
        (turn < READS / CALLERS).then(|| {
            let mut rng = Rng::new(caller << 32 | turn);
            let block = BlockAddr(rng.below(u64::from(GEOMETRY.blocks_per_lun)) as u32);
            let page = PageInBlock(rng.below(u64::from(GEOMETRY.pages_per_block)) as u16);
            (LunIndex(rng.below(luns) as u32), GEOMETRY.row(0, block, page))
        })
    });
    reads.print("read of one sector");
    array.exec.shut_down();
}
