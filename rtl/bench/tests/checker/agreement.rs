//! The checker and the package model, which have independent rules, find the same parameter violated: in
//! a sequence in SDR mode 0 that keeps everything none, and in the same sequence with one wait cut short
//! that one.

use aster_events::Recorder;
use aster_nand::{
    ArrayTiming, BusConfig, ErrorModel, FailureModel, Identity, NandArray, NandConfig, NandPackage, PerType,
};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{BurstTiming, DataIn, DataMode, Package, ProtocolError};
use aster_rtl_bench::replay::{self, PinState};
use aster_txn::Latch;
use aster_units::{CellMode, Content, Duration, Geometry, Instant};
use aster_wire::onfi::Timing;

/// The phase of a 10 ns cycle would be 1.25 ns, but all minima of SDR mode 0 are multiples of 5 ns.
const PHASE: Duration = Duration::from_nanos(5);
const T_CCS: Duration = Duration::from_nanos(300);
const GEOMETRY: Geometry = Geometry {
    channels: 1,
    ways: 1,
    luns: 1,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 16,
    page_bytes: 16_384,
    spare_bytes: 1_664,
};

/// Waits in nanoseconds, each as short as SDR mode 0 has it; a seed cuts one short.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    ceh: u64,
    wb: u64,
    whr: u64,
    adl: u64,
    ccs: u64,
    rhw: u64,
    rr: u64,
    itc: u64,
}

const KEPT: Waits = Waits { ceh: 20, wb: 200, whr: 120, adl: 400, ccs: 300, rhw: 200, rr: 40, itc: 1_000 };

/// Drives pins and package alike.
struct Bus {
    pins: Vec<PinState>,
    now: PinState,
    package: NandPackage,
    /// The first parameter that the package found violated.
    objection: Option<&'static str>,
}

impl Bus {
    fn new() -> Self {
        let layout = PageLayout::new(4, GEOMETRY.raw_page_bytes(), 256, 21, 16, Placement::Interleaved)
            .expect("a layout that fits the page");
        let config = NandConfig {
            geometry: GEOMETRY,
            layout,
            content: Content::Full,
            cells: CellMode::Slc,
            timing: ArrayTiming { read: PerType::all(Duration::from_micros(2)), ..ArrayTiming::COSMOS_SLC },
            bus: BusConfig { sdr_mode_max: 5, nv_ddr_mode_max: None, nv_ddr2_mode_max: None, t_ccs: T_CCS },
            variant: Default::default(),
            identity: Identity::default(),
            errors: ErrorModel::NONE,
            failures: FailureModel::NONE,
            seed: 1,
        };
        let mut array = NandArray::new(config, None, &Recorder::default()).unwrap();
        let package = array.take_packages(0).remove(0);
        Bus { pins: Vec::new(), now: PinState::IDLE, package, objection: None }
    }

    fn at(&self) -> Instant {
        Instant::ZERO + PHASE * self.pins.len() as u64
    }
    fn hold(&mut self, nanoseconds: u64) {
        for _ in 0..Duration::from_nanos(nanoseconds).cycles_up(PHASE) {
            self.now.ready = self.package.ready(self.at());
            self.pins.push(self.now);
        }
    }
    fn note(&mut self, done: Result<(), ProtocolError>) {
        match done {
            Ok(()) => {}
            Err(ProtocolError::Wait { parameter, .. }) => {
                self.objection.get_or_insert(parameter);
            }
            Err(other) => {
                assert!(self.objection.is_some(), "the sequence is illegal beyond its waits: {other}")
            }
        }
    }

    fn select(&mut self, on: bool) {
        let done = self.package.select(self.at(), on);
        self.note(done);
        self.now.ce_n = !on;
        // tCS minus the 50 ns of a latch's WE#.
        self.hold(if on { 50 } else { 0 });
    }
    /// 50 ns with WE# low, the edge, and 50 ns more: CLE, ALE and DQ stay for 20 of them.
    fn latch(&mut self, latch: Latch) {
        let (command, value) = match latch {
            Latch::Command(value) => (true, value),
            Latch::Address(value) => (false, value),
        };
        (self.now.cle, self.now.ale, self.now.dq, self.now.we_n) = (command, !command, Some(value), false);
        self.hold(50);
        self.now.we_n = true;
        let done = self.package.latch(self.at(), latch);
        self.note(done);
        self.hold(20);
        (self.now.cle, self.now.ale, self.now.dq) = (false, false, None);
        self.hold(30);
    }
    fn command(&mut self, value: u8) {
        self.latch(Latch::Command(value));
    }
    fn addresses(&mut self, values: &[u8]) {
        values.iter().for_each(|&value| self.latch(Latch::Address(value)));
    }
    /// 50 ns have passed since the latch's edge.
    fn wait_from_latch(&mut self, nanoseconds: u64) {
        self.hold(nanoseconds - 50);
    }
    fn out(&mut self, bytes: u32) {
        let first = self.at();
        for _ in 0..bytes {
            self.now.re_n = false;
            self.hold(50);
            self.now.re_n = true;
            self.hold(50);
        }
        // The last RE# rise.
        let last = first + PHASE * (u64::from(bytes) * 20 - 10);
        let done = self.package.data_out(BurstTiming { first, last, mode: DataMode::Sdr }, bytes, |_| ());
        self.note(done);
    }
    fn write(&mut self, bytes: &[u8]) {
        let first = self.at();
        for &byte in bytes {
            (self.now.we_n, self.now.dq) = (false, Some(byte));
            self.hold(50);
            self.now.we_n = true;
            self.hold(50);
        }
        self.now.dq = None;
        let last = first + PHASE * (bytes.len() as u64 * 20 - 10);
        let timing = BurstTiming { first, last, mode: DataMode::Sdr };
        let done = self.package.data_in(timing, bytes.len() as u32, DataIn::Bytes(bytes));
        self.note(done);
    }
    /// Until the cycle in which R/B# is high.
    fn until_ready(&mut self) {
        while !self.package.ready(self.at()) {
            self.hold(5);
        }
    }
    /// READ STATUS, a wait of `whr`, and the byte. Ends 50 ns after RE# has risen.
    fn status(&mut self, waits: Waits) {
        self.command(0x70);
        self.wait_from_latch(waits.whr);
        self.out(1);
    }

    /// Each wait that both check, once.
    fn sequence(&mut self, waits: Waits) {
        // A read: tWB to the status, tRHW to the next command, tRR and tCCS to data.
        self.select(true);
        self.command(0x00);
        self.addresses(&[0, 0, 0, 0, 0]);
        self.command(0x30);
        // The status command's edge comes 50 ns after its WE# fell.
        self.wait_from_latch(waits.wb - 50);
        self.status(Waits { whr: 120, ..waits });
        self.until_ready();
        self.status(Waits { whr: 120, ..waits });
        // The wait is from RE#'s rise to WE#'s fall, and 50 ns of it have passed.
        self.hold(waits.rhw - 50);
        self.command(0x00);
        self.wait_from_latch(120);
        self.out(2);
        self.hold(150);
        // A read whose end only R/B# shows: tRR.
        self.command(0x00);
        self.addresses(&[0, 0, 0, 0, 0]);
        self.command(0x30);
        self.wait_from_latch(200);
        self.until_ready();
        self.hold(waits.rr);
        self.out(2);
        self.hold(150);
        self.command(0x05);
        self.addresses(&[4, 0]);
        self.command(0xe0);
        self.wait_from_latch(waits.ccs);
        self.out(2);
        self.hold(150);
        self.status(waits);
        self.hold(150);
        // A program that is only begun: tADL.
        self.command(0x80);
        self.addresses(&[0, 0, 0x10, 0, 0]);
        self.wait_from_latch(waits.adl);
        self.write(&[1, 2, 3]);
        self.command(0xff);
        self.hold(20);
        self.select(false);
        self.hold(waits.ceh);
        self.select(true);
        self.hold(150 + 6_000);
        // Another timing mode, whose limits everything here keeps: tITC.
        self.command(0xef);
        self.addresses(&[1]);
        self.wait_from_latch(400);
        self.write(&[1, 0, 0, 0]);
        // The wait to the status byte: its latch takes 50 ns and tWHR 120, and 50 ns have passed since
        // the last byte was latched.
        self.hold(waits.itc - 220);
        self.status(Waits { whr: 120, ..waits });
    }
}

fn run(waits: Waits) -> (Option<&'static str>, Vec<String>) {
    let mut bus = Bus::new();
    bus.sequence(waits);
    let timing = Timing::power_on().with_ccs(T_CCS);
    let found = replay::violations(&bus.pins, &timing, PHASE);
    (bus.objection, found)
}

#[test]
fn what_keeps_every_minimum_passes_both() {
    assert_eq!(run(KEPT), (None, Vec::new()));
}

pub const SEEDS: [(&str, Waits); 8] = [
    ("tCEH", Waits { ceh: 15, ..KEPT }),
    ("tWB", Waits { wb: 195, ..KEPT }),
    ("tWHR", Waits { whr: 115, ..KEPT }),
    ("tADL", Waits { adl: 395, ..KEPT }),
    ("tCCS", Waits { ccs: 295, ..KEPT }),
    // The package counts to the latch's edge, 50 ns after WE# falls.
    ("tRHW", Waits { rhw: 145, ..KEPT }),
    ("tRR", Waits { rr: 30, ..KEPT }),
    ("tITC", Waits { itc: 990, ..KEPT }),
];

#[test]
fn both_name_the_wait_that_is_cut_short() {
    for (name, waits) in SEEDS {
        let (package, checker) = run(waits);
        assert_eq!((package, checker), (Some(name), vec![name.to_string()]));
    }
}
