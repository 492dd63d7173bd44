//! The checker on bursts drawn by hand, in NV-DDR and NV-DDR2. It finds nothing in bursts that keep
//! ONFI's minima, and just the right parameter if one interval is cut short.
//!
//! The intervals are typed from ONFI 5.1 §4 (NV-DDR mode 1: tCK 30 ns; NV-DDR2 mode 4: tRC and tDSC 10 ns).

use super::drawing::Drawing;
use aster_wire::onfi::Timing;

/// An NV-DDR write burst of four bytes and a read burst of four, each in a transaction.
#[derive(Clone, Copy)]
pub struct NvDdr {
    /// How long before CLK's first rise CLE and ALE go high, and how long after the last one they go low.
    setup: f64,
    hold: f64,
    /// CLK's rise to DQS's.
    dqss: f64,
    /// DQS low before its first rise, and after its last fall.
    preamble: f64,
    postamble: f64,
    /// From one rise of DQS to the next.
    strobe: f64,
    /// W/R# low to the first data output cycle.
    turn: f64,
}

const CK: f64 = 30.0;
const NV_DDR: NvDdr =
    NvDdr { setup: 15.0, hold: 15.0, dqss: 22.5, preamble: 45.0, postamble: 45.0, strobe: 30.0, turn: 45.0 };

fn nv_ddr(is: NvDdr) -> Vec<String> {
    let mut d = Drawing::new(1_800.0);
    // CLK rises at multiples of its period.
    for rise in 1..60 {
        let rise = f64::from(rise) * CK;
        d.set(rise - CK / 2.0, rise, |p| p.we_n = false);
    }
    // PROGRAM's first cycles are cut to one latch: tADL to the data.
    d.set(45.0, 75.0, |p| (p.ale, p.dq) = (true, Some(0)));
    let first = 600.0;
    d.set(first - is.setup, first + CK + is.hold, |p| (p.cle, p.ale) = (true, true));
    let rise = first + is.dqss;
    let last_fall = rise + is.strobe * 1.5;
    d.set(rise - is.preamble, last_fall + is.postamble, |p| p.dqs = Some(false));
    d.set(rise, rise + is.strobe / 2.0, |p| p.dqs = Some(true));
    d.set(rise + is.strobe, last_fall, |p| p.dqs = Some(true));
    for byte in 0..4u8 {
        let middle = rise + f64::from(byte) * is.strobe / 2.0;
        d.set(middle - 7.5, middle + 7.5, |p| p.dq = Some(byte));
    }
    // READ STATUS in what follows: tWHR, tWRCK.
    d.set(1_005.0, 1_035.0, |p| (p.cle, p.dq) = (true, Some(0x70)));
    let out = 1_200.0;
    d.set(out - is.turn, out + 75.0, |p| p.re_n = false);
    d.set(out - is.setup, out + CK + is.hold, |p| (p.cle, p.ale) = (true, true));
    d.high(1_500.0);
    d.found(&Timing::nv_ddr(1).expect("a mode of the standard"))
}

pub const NV_DDR_SEEDS: [(&str, NvDdr); 8] = [
    ("tCALS", NvDdr { setup: 4.5, ..NV_DDR }),
    ("tCALH", NvDdr { hold: 4.5, ..NV_DDR }),
    ("tDQSS", NvDdr { dqss: 22.0, ..NV_DDR }),
    // CLE and ALE that are high for longer make data input cycles for which DQS comes too late.
    ("tDQSS", NvDdr { dqss: 38.0, ..NV_DDR }),
    ("tWPRE", NvDdr { preamble: 44.0, ..NV_DDR }),
    ("tWPST", NvDdr { postamble: 44.0, ..NV_DDR }),
    ("tDSC", NvDdr { strobe: 29.0, ..NV_DDR }),
    ("tWRCK", NvDdr { turn: 19.5, ..NV_DDR }),
];

#[test]
fn nv_ddr_bursts_show_each_interval_that_is_cut_short() {
    assert_eq!(nv_ddr(NV_DDR), Vec::<String>::new());
    for (name, seeded) in NV_DDR_SEEDS {
        assert_eq!(nv_ddr(seeded), [name]);
    }
}

/// NV-DDR2: a read burst of four bytes that a latch ends, a write burst that a latch ends, and one that CE#
/// ends.
#[derive(Clone, Copy)]
pub struct NvDdr2 {
    /// RE# low before its first rise, from its last fall until CLE rises, and after that.
    read_preamble: f64,
    read_postamble: f64,
    read_hold: f64,
    /// DQS low before its first rise, from its last fall until CLE rises, and after that.
    write_preamble: f64,
    write_postamble: f64,
    write_hold: f64,
    /// The same after CE#.
    release_hold: f64,
    /// From CLE low to the first rise of DQS.
    after_cle: f64,
}

const NV_DDR2: NvDdr2 = NvDdr2 {
    read_preamble: 15.0,
    read_postamble: 30.0,
    read_hold: 15.0,
    write_preamble: 15.0,
    write_postamble: 6.5,
    write_hold: 25.0,
    release_hold: 25.0,
    after_cle: 30.0,
};

fn nv_ddr2(is: NvDdr2) -> Vec<String> {
    let mut d = Drawing::new(3_000.0);
    d.command(25.0, 50.0, 0x70);
    // RE#: preamble, two pulses, low until it is released.
    let rise = 250.0;
    let last_fall = rise + 15.0;
    let closes = last_fall + is.read_postamble;
    d.set(rise - is.read_preamble, closes + is.read_hold, |p| p.re_n = false);
    d.set(rise, rise + 5.0, |p| p.re_n = true);
    d.set(rise + 10.0, last_fall, |p| p.re_n = true);
    // tRHW is to the fall of WE#.
    d.command(closes, closes + 90.0, 0x80);
    let write = |d: &mut Drawing, rise: f64, low_until: f64| {
        d.set(rise - is.write_preamble, low_until, |p| p.dqs = Some(false));
        d.set(rise, rise + 5.0, |p| p.dqs = Some(true));
        d.set(rise + 10.0, rise + 15.0, |p| p.dqs = Some(true));
        d.set(rise - 2.5, rise + 17.5, |p| p.dq = Some(0x55));
    };
    // Another burst, tCDQSS behind the latch's CLE. (tADL is from addresses.)
    let rise = closes + 95.0 + is.after_cle;
    let closes = rise + 15.0 + is.write_postamble;
    write(&mut d, rise, closes + is.write_hold);
    d.command(closes, closes + 25.0, 0x11);
    let rise = closes + 300.0;
    write(&mut d, rise, rise + 50.0 + is.release_hold);
    d.high(rise + 50.0);
    d.found(&Timing::nv_ddr2(4).expect("a mode of the standard"))
}

pub const NV_DDR2_SEEDS: [(&str, NvDdr2); 10] = [
    ("tRPRE", NvDdr2 { read_preamble: 14.5, ..NV_DDR2 }),
    ("tRPST", NvDdr2 { read_postamble: 29.5, ..NV_DDR2 }),
    ("tRPSTH", NvDdr2 { read_hold: 14.5, ..NV_DDR2 }),
    // RE# is released before anything ends the burst.
    ("tRPSTH", NvDdr2 { read_postamble: 40.0, read_hold: -5.0, ..NV_DDR2 }),
    ("tDBS", NvDdr2 { read_hold: 91.0, ..NV_DDR2 }),
    ("tWPRE", NvDdr2 { write_preamble: 14.5, ..NV_DDR2 }),
    ("tWPST", NvDdr2 { write_postamble: 6.0, ..NV_DDR2 }),
    ("tWPSTH", NvDdr2 { write_hold: 24.5, ..NV_DDR2 }),
    ("tWPSTH", NvDdr2 { release_hold: 24.5, ..NV_DDR2 }),
    ("tCDQSS", NvDdr2 { after_cle: 29.5, ..NV_DDR2 }),
];

#[test]
fn nv_ddr2_bursts_show_each_interval_that_is_cut_short() {
    assert_eq!(nv_ddr2(NV_DDR2), Vec::<String>::new());
    for (name, seeded) in NV_DDR2_SEEDS {
        assert_eq!(nv_ddr2(seeded), [name]);
    }
}
