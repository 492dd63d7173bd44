//! Chip enable, latches and the pins around them, in all three interfaces.
//!
//! The intervals are typed from ONFI 5.1 §4: SDR mode 5, NV-DDR mode 5, NV-DDR2 mode 4.

use super::drawing::Drawing;
use aster_wire::onfi::Timing;

/// READ ID with two bytes, READ STATUS with one, and READ's first cycle, which CE# ends.
#[derive(Clone, Copy)]
pub struct Sdr {
    /// CE# low to the first edge of WE#, the last edge to CE# high.
    cs: f64,
    ch: f64,
    /// WE# low in the two latches of READ ID, and from one of their edges to the other.
    low: [f64; 2],
    pitch: f64,
    /// CLE and ALE before the edge and after it.
    cle: [f64; 2],
    ale: [f64; 2],
    /// DQ before the command's edge and after it.
    dq: [f64; 2],
    /// RE# low, and from one of its falls to the next.
    read: [f64; 2],
    /// How long CLE stays after the edge of READ STATUS.
    status_cle: f64,
}

const SDR: Sdr = Sdr {
    cs: 40.0,
    ch: 20.0,
    low: [15.0, 15.0],
    pitch: 40.0,
    cle: [15.0, 10.0],
    ale: [15.0, 10.0],
    dq: [15.0, 10.0],
    read: [15.0, 30.0],
    status_cle: 10.0,
};

/// From the edge of a latch to RE#.
const TO_READ: f64 = 100.0;

fn sdr(is: Sdr) -> Vec<String> {
    let mut d = Drawing::new(1_000.0);
    d.set(0.0, 20.0, |p| p.ce_n = true);
    let command = 20.0 + is.cs;
    d.set(command - is.cle[0], command + is.cle[1], |p| p.cle = true);
    d.set(command - is.dq[0], command + is.dq[1], |p| p.dq = Some(0x90));
    d.set(command - is.low[0], command, |p| p.we_n = false);
    let address = command + is.pitch;
    d.set(address - is.ale[0], address + is.ale[1], |p| p.ale = true);
    d.set(address - 10.0, address + 10.0, |p| p.dq = Some(0));
    d.set(address - is.low[1], address, |p| p.we_n = false);
    let read = address + TO_READ;
    for fall in [read, read + is.read[1]] {
        d.set(fall, fall + is.read[0], |p| p.re_n = false);
    }
    let status = read + 200.0;
    d.set(status - 15.0, status + is.status_cle, |p| p.cle = true);
    d.set(status - 15.0, status + 10.0, |p| p.dq = Some(0x70));
    d.set(status - 15.0, status, |p| p.we_n = false);
    d.set(status + TO_READ, status + TO_READ + 15.0, |p| p.re_n = false);
    let last = status + TO_READ + 200.0;
    d.command(last - 15.0, last, 0x00);
    d.high(last + is.ch);
    d.found(&Timing::sdr(5).expect("a mode of the standard"))
}

pub const SDR_SEEDS: [(&str, Sdr); 16] = [
    ("tCS", Sdr { cs: 14.5, low: [10.0, 15.0], cle: [10.0, 10.0], dq: [10.0, 10.0], ..SDR }),
    ("tCH", Sdr { ch: 4.5, ..SDR }),
    ("tWP", Sdr { low: [15.0, 9.5], ..SDR }),
    ("tWH", Sdr { low: [15.0, 15.0], pitch: 21.5, ale: [10.0, 10.0], cle: [15.0, 5.0], ..SDR }),
    (
        "tWC",
        Sdr { low: [10.0, 10.0], pitch: 19.5, ale: [10.0, 10.0], cle: [15.0, 5.0], dq: [15.0, 5.0], ..SDR },
    ),
    ("tCLS", Sdr { cle: [9.5, 10.0], ..SDR }),
    ("tCLH", Sdr { cle: [15.0, 4.5], ..SDR }),
    ("tALS", Sdr { ale: [9.5, 10.0], ..SDR }),
    ("tALH", Sdr { ale: [15.0, 4.5], ..SDR }),
    ("tDS", Sdr { dq: [6.5, 10.0], ..SDR }),
    ("tDH", Sdr { dq: [15.0, 4.5], ..SDR }),
    ("tRP", Sdr { read: [9.5, 30.0], ..SDR }),
    ("tREH", Sdr { read: [15.0, 21.5], ..SDR }),
    ("tRC", Sdr { read: [10.0, 19.5], ..SDR }),
    ("tAR", Sdr { ale: [15.0, TO_READ - 9.5], ..SDR }),
    ("tCLR", Sdr { status_cle: TO_READ - 9.5, ..SDR }),
];

#[test]
fn sdr_shows_each_interval_that_is_cut_short() {
    assert_eq!(sdr(SDR), Vec::<String>::new());
    for (name, seeded) in SDR_SEEDS {
        assert_eq!(sdr(seeded), [name]);
    }
}

/// A command and an address, and a byte pair in.
#[derive(Clone, Copy)]
pub struct NvDdr {
    /// From one latch to the next: whole periods.
    pitch: f64,
    /// DQ before and after the command's edge of CLK.
    latch_dq: [f64; 2],
    /// DQ before and after the edges of DQS.
    dq: [f64; 2],
    /// By how much one of CLK's edges is too early.
    early: f64,
}

const CK: f64 = 10.0;
const NV_DDR: NvDdr = NvDdr { pitch: 50.0, latch_dq: [5.0, 5.0], dq: [2.5, 2.5], early: 0.0 };

fn nv_ddr(is: NvDdr) -> Vec<String> {
    let mut d = Drawing::new(1_000.0);
    for number in 1..99 {
        let rise = f64::from(number) * CK - if number == 20 { is.early } else { 0.0 };
        d.set(rise - CK / 2.0, rise, |p| p.we_n = false);
    }
    let command = 100.0;
    d.set(command - 5.0, command + 5.0, |p| p.cle = true);
    d.set(command - is.latch_dq[0], command + is.latch_dq[1], |p| p.dq = Some(0x80));
    let address = command + is.pitch;
    d.set(address - 5.0, address + 5.0, |p| (p.ale, p.dq) = (true, Some(0)));
    // The data of one cycle, announced to the rise at `first`: DQS three quarters of a period behind.
    let first = 600.0;
    d.set(first - 5.0, first + 5.0, |p| (p.cle, p.ale) = (true, true));
    let rise = first + 7.5;
    d.set(rise - 20.0, rise + 25.0, |p| p.dqs = Some(false));
    d.set(rise, rise + 5.0, |p| p.dqs = Some(true));
    d.set(rise - is.dq[0], rise + 2.5, |p| p.dq = Some(0x55));
    d.set(rise + 2.5, rise + 5.0 + is.dq[1], |p| p.dq = Some(0xaa));
    d.found(&Timing::nv_ddr(5).expect("a mode of the standard"))
}

pub const NV_DDR_SEEDS: [(&str, NvDdr); 6] = [
    ("tCAS", NvDdr { latch_dq: [1.5, 5.0], ..NV_DDR }),
    ("tCAH", NvDdr { latch_dq: [5.0, 1.5], ..NV_DDR }),
    ("tCAD", NvDdr { pitch: 40.0, ..NV_DDR }),
    ("tCK", NvDdr { early: 0.5, ..NV_DDR }),
    ("tDS", NvDdr { dq: [0.5, 2.5], ..NV_DDR }),
    ("tDH", NvDdr { dq: [2.5, 0.5], ..NV_DDR }),
];

#[test]
fn nv_ddr_shows_each_interval_that_is_cut_short() {
    assert_eq!(nv_ddr(NV_DDR), Vec::<String>::new());
    for (name, seeded) in NV_DDR_SEEDS {
        assert_eq!(nv_ddr(seeded), [name]);
    }
}

/// READ STATUS, which CE# ends, and more of its data when the chip is selected again.
#[derive(Clone, Copy)]
pub struct NvDdr2 {
    /// CE# high, and from its fall to RE#'s.
    high: f64,
    to_read: f64,
    /// CE# high to a change of CLE.
    change: f64,
    /// From one edge of RE# to the next.
    strobe: f64,
}

const NV_DDR2: NvDdr2 = NvDdr2 { high: 200.0, to_read: 50.0, change: 50.0, strobe: 5.0 };

fn nv_ddr2(is: NvDdr2) -> Vec<String> {
    let mut d = Drawing::new(2_500.0);
    d.command(35.0, 60.0, 0x70);
    // Preamble, a byte twice, postamble.
    let burst = |d: &mut Drawing, fall: f64, ends: f64| {
        d.set(fall, ends, |p| p.re_n = false);
        d.set(fall + 15.0, fall + 15.0 + is.strobe, |p| p.re_n = true);
        d.set(fall + 15.0 + 2.0 * is.strobe, fall + 15.0 + 3.0 * is.strobe, |p| p.re_n = true);
    };
    let high = 300.0;
    burst(&mut d, 200.0, high + 20.0);
    d.set(high, high + is.high, |p| p.ce_n = true);
    d.set(high + is.change, high + is.change + 20.0, |p| p.cle = true);
    burst(&mut d, high + is.high + is.to_read, high + is.high + 320.0);
    d.high(high + is.high + 300.0);
    d.found(&Timing::nv_ddr2(4).expect("a mode of the standard"))
}

pub const NV_DDR2_SEEDS: [(&str, NvDdr2); 5] = [
    ("tCS1", NvDdr2 { to_read: 29.5, ..NV_DDR2 }),
    ("tCR", NvDdr2 { to_read: 9.5, ..NV_DDR2 }),
    ("tCR2", NvDdr2 { high: 1_100.0, to_read: 99.5, ..NV_DDR2 }),
    ("tCSD", NvDdr2 { change: 9.5, ..NV_DDR2 }),
    ("tRC", NvDdr2 { strobe: 4.5, ..NV_DDR2 }),
];

#[test]
fn nv_ddr2_shows_each_interval_that_is_cut_short() {
    assert_eq!(nv_ddr2(NV_DDR2), Vec::<String>::new());
    for (name, seeded) in NV_DDR2_SEEDS {
        // If RE# is too early for tCR, it is also too early for tCS1, which is longer.
        let found = if name == "tCR" { vec!["tCR", "tCS1"] } else { vec![name] };
        assert_eq!(nv_ddr2(seeded), found);
    }
}
