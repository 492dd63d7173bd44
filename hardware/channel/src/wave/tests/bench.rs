//! A channel with a real package and the real flash operations, observed at its pins. Sequences are typed
//! by hand from the standard.

extern crate std;
use crate::wave::{Level, Signal, WaveFilter, WaveTap, Waveform};
use crate::{BusTiming, CycleTable, Ecc, Engine, EngineClock, EngineConfig, StageConfig};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::operations::{erase_block, program_page, read_page};
use aster_flash::{FlashConfig, FlashCosts, Lun, LunShape, PollPolicy, boot};
use aster_nand::{ArrayTiming, BusConfig, ErrorModel, FailureModel, Identity, NandArray, NandConfig};
use aster_ports::channel::ChannelPort;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{DataMode, Interface};
use aster_ports::resource::Bandwidth;
use aster_units::*;
use aster_wire::onfi::{DataInterface, Timing};

const GEOMETRY: Geometry = Geometry {
    channels: 1,
    ways: 2,
    luns: 1,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 16,
    page_bytes: 16_384,
    spare_bytes: 1_664,
};

struct Bench {
    exec: Exec,
    core: Core,
    port: Rc<ChannelPort>,
    dram: SharedDram,
    config: Rc<FlashConfig>,
    recorder: Recorder,
    engine: Rc<Engine<aster_nand::NandPackage>>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

impl Bench {
    fn new() -> Self {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let layout =
            PageLayout::new(4, GEOMETRY.raw_page_bytes(), 256, 21, 16, Placement::Interleaved).unwrap();
        let t_ccs = Duration::from_nanos(300);
        let recorder = Recorder::default();
        let nand = NandConfig {
            geometry: GEOMETRY,
            layout,
            content: Content::Full,
            cells: CellMode::Mlc,
            timing: ArrayTiming::COSMOS_MLC,
            bus: BusConfig { sdr_mode_max: 5, nv_ddr_mode_max: Some(5), nv_ddr2_mode_max: Some(7), t_ccs },
            variant: Default::default(),
            identity: Identity::default(),
            errors: ErrorModel::NONE,
            failures: FailureModel::NONE,
            seed: 1,
        };
        let mut array = NandArray::new(nand, None, &recorder).unwrap();
        let dram = Dram::new(Content::Full, 4, 16, 4, 1, 0);
        let port = ChannelPort::new(&exec, ChannelId(0), 2, 2);
        let table = |interface, mode| {
            let bus = BusTiming::of_onfi(&Timing::of(interface, mode).unwrap(), t_ccs);
            CycleTable::new(&bus, &EngineClock::default()).unwrap()
        };
        let stages = StageConfig {
            layout,
            ecc: Ecc::new(12, 14, 13, &layout).unwrap(),
            correction: Default::default(),
            detect_latency: Duration::from_micros(3),
            correct_latency: Duration::from_micros(1),
            solver: None,
        };
        let engine = EngineConfig {
            clock: EngineClock::default(),
            tables: vec![table(DataInterface::Sdr, 0), table(DataInterface::NvDdr2, 4)],
            stages,
            longest_burst: GEOMETRY.raw_page_bytes(),
            memory: Bandwidth::new(0).into(),
        };
        let engine = Engine::start(&port, &dram, array.take_packages(0), engine, &recorder);
        let us = Duration::from_micros;
        let config = Rc::new(FlashConfig {
            layout,
            shape: LunShape { geometry: GEOMETRY, cells: CellMode::Mlc },
            t_r: [us(58), us(90), us(90)],
            t_prog: [us(481), us(2_295), us(2_295)],
            t_bers: us(5_000),
            t_rst: us(5),
            variant: Default::default(),
            interface: Interface { mode: DataMode::NvDdr2, timing_mode: 4 },
            scramble: true,
            poll: PollPolicy::default(),
            costs: FlashCosts::default(),
        });
        Bench { exec, core, port, dram, config, recorder, engine }
    }

    /// Brings up way 0, then programs, reads and erases a page of it. Returns the waveforms.
    fn capture(&self, filter: WaveFilter, events: bool) -> Waveform {
        let lun = Lun::new(&self.core, &self.port, &self.config, 0, 0);
        let scratch = self.dram.borrow().metadata_buffer(0);
        let dram = self.dram.clone();
        dram.borrow_mut().page_mut(BufferId(0)).fill(0x3c);
        let row = GEOMETRY.row(0, BlockAddr(2), PageInBlock(0));
        let tap = WaveTap::new(ChannelId(0), 2, filter);
        self.engine.set_tap(Some(Box::new(tap.clone())));
        if events {
            self.recorder.attach(tap.clone());
        }
        self.core.spawn(async move {
            boot::bring_up(&lun, &dram, scratch).await.unwrap();
            assert!(!program_page(&lun, row, BufferId(0)).await.unwrap().fail());
            read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap();
            assert!(!erase_block(&lun, row).await.unwrap().fail());
        });
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
        }
        self.engine.set_tap(None);
        tap.waveform()
    }
}

/// What a logic analyser decodes from the pins alone: bytes with CLE or ALE at WE#'s rise, and the DQS
/// edges between them.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Decoded {
    Cmd(u8),
    Addr(u8),
    Strobes(usize),
}

fn decode(wave: &Waveform) -> Vec<(Instant, Decoded)> {
    let (mut cle, mut ale, mut dq) = (false, false, None);
    let (mut we, mut dqs) = (true, false);
    let mut decoded: Vec<(Instant, Decoded)> = Vec::new();
    for change in wave.changes() {
        let high = change.level == Level::High;
        match (change.signal, change.level) {
            (Signal::CommandLatchEnable, _) => cle = high,
            (Signal::AddressLatchEnable, _) => ale = high,
            (Signal::Data, Level::Byte(byte)) => dq = byte,
            (Signal::Strobe, _) if high != dqs => {
                dqs = high;
                match decoded.last_mut() {
                    Some((_, Decoded::Strobes(edges))) => *edges += 1,
                    _ => decoded.push((change.at, Decoded::Strobes(1))),
                }
            }
            (Signal::WriteEnable, _) => {
                if high && !we && (cle || ale) {
                    let byte = dq.expect("a latch without a byte on DQ");
                    assert!(cle != ale);
                    decoded.push((change.at, if cle { Decoded::Cmd(byte) } else { Decoded::Addr(byte) }));
                }
                we = high;
            }
            _ => {}
        }
    }
    decoded
}

/// PAGE PROGRAM (ONFI 5.1 §5.20), READ (§5.14), CHANGE READ COLUMN (§5.16), BLOCK ERASE (§5.11), each
/// followed by READ STATUS (§5.13), as their pins show them.
#[test]
fn the_first_operations_of_a_run_are_read_off_the_pins() {
    use Decoded::*;
    let wave = Bench::new().capture(WaveFilter::first_of_each(), true);
    // 64 code words of 277 bytes and an OOB record of 41. After an odd burst the strobe returns to its
    // idle level with one more edge.
    let page = Strobes(64 * 277 + 41 + 1);
    let status = [Cmd(0x70), Strobes(2)];
    let want = [
        &[Cmd(0x80), Addr(0), Addr(0), Addr(0x20), Addr(0), Addr(0), page, Cmd(0x10)][..],
        &status,
        &[Cmd(0x00), Addr(0), Addr(0), Addr(0x20), Addr(0), Addr(0), Cmd(0x30)],
        &status,
        &[Cmd(0x05), Addr(0), Addr(0), Cmd(0xe0), page],
        &[Cmd(0x60), Addr(0x20), Addr(0), Addr(0), Cmd(0xd0)],
        &status,
    ]
    .concat();
    let decoded = decode(&wave);
    assert_eq!(decoded.iter().map(|d| d.1).collect::<Vec<_>>(), want);
    assert!(!wave.truncated());

    // NV-DDR2 mode 4 with a 10 ns clock: tCS 20 ns, then a latch every 30 ns.
    let chip =
        |level| wave.changes().iter().filter(move |c| (c.signal, c.level) == (Signal::ChipEnable(0), level));
    let read = decoded.iter().position(|d| d.1 == Cmd(0x00)).unwrap();
    let selected = chip(Level::Low).map(|c| c.at).rfind(|&at| at < decoded[read].0).unwrap();
    for (i, (at, _)) in (1..).zip(&decoded[read..read + 7]) {
        assert_eq!(at.since(selected), Duration::from_nanos(20 + 30 * i));
    }
    // tR of an LSB page, with the array's own deviation: R/B# falls at the confirm and rises before the poll
    // sees it.
    let ready: Vec<_> = wave.changes().iter().filter(|c| c.signal == Signal::Ready(0)).collect();
    let confirm = decoded[read + 6].0;
    let fall = ready.iter().position(|c| c.at == confirm && c.level == Level::Low).unwrap();
    assert_eq!(ready[fall + 1].level, Level::High);
    assert!(ready[fall + 1].at < decoded[read + 7].0, "the poll comes after the array");
    assert_eq!(ready.len(), 6);
    assert!(wave.changes().iter().all(|c| c.signal != Signal::ChipEnable(1)));
}

#[test]
fn without_events_ready_changes_show_at_the_ends_of_transactions() {
    let wave = Bench::new().capture(WaveFilter::first_of_each(), false);
    let ready: Vec<_> = wave.changes().iter().filter(|c| c.signal == Signal::Ready(0)).collect();
    assert_eq!(ready.len(), 6);
    for change in ready {
        let ends = |c: &&crate::Change| c.at == change.at && c.signal == Signal::ChipEnable(0);
        assert_eq!(wave.changes().iter().find(ends).map(|c| c.level), Some(Level::High));
    }
}

/// Bring-up is in SDR: RESET, READ ID, READ PARAMETER PAGE.
#[test]
fn everything_includes_the_reset_after_power_on() {
    let wave = Bench::new().capture(WaveFilter::Everything, false);
    assert_eq!(decode(&wave)[0].1, Decoded::Cmd(0xff));
    // SDR data pulses RE#: the eight bytes of READ ID and more.
    let pulses = wave.changes().iter().filter(|c| (c.signal, c.level) == (Signal::ReadEnable, Level::Low));
    assert!(pulses.count() >= 8);
}
