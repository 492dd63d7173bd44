//! Pins drawn by hand, phase by phase, as `rtl/README.md` describes them.

use super::*;
use alloc::vec;
use core::ops::Range;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Chips(u64, u32),
    Latch(u64, u64, Latch),
    Out(usize, u64, u64),
    In(usize, u64, u64, Vec<u8>),
    Stray(u64),
}
use Seen::{Chips, In, Out, Stray};

/// Drives bytes that identify burst and transfer.
#[derive(Default)]
struct Notes(Vec<Seen>);

impl Activity for Notes {
    fn chips(&mut self, at: u64, chips: u32) {
        self.0.push(Chips(at, chips & 0xff));
    }
    fn latch(&mut self, from: u64, edge: u64, latch: Latch) {
        self.0.push(Seen::Latch(from, edge, latch));
    }
    fn byte(&mut self, burst: usize, transfer: u32, _: u64) -> u8 {
        (burst as u8 + 1) << 4 | transfer as u8
    }
    fn burst_out(&mut self, burst: usize, first: u64, last: u64) {
        self.0.push(Out(burst, first, last));
    }
    fn burst_in(&mut self, burst: usize, first: u64, last: u64, bytes: &[u8]) {
        self.0.push(In(burst, first, last, bytes.to_vec()));
    }
    fn stray(&mut self, at: u64) {
        self.0.push(Stray(at));
    }
}

/// A drawing of pins.
struct Drawing(Vec<PinsOut>);

impl Drawing {
    fn new(cycles: usize) -> Self {
        Drawing(vec![PinsOut { ce_n: !1, dqs_enable: true, dq_enable: true, ..PinsOut::IDLE }; cycles])
    }
    fn draw(&mut self, phases: Range<u64>, pin: impl Fn(&mut PinsOut) -> &mut u8, level: bool) -> &mut Self {
        for phase in phases {
            let byte = pin(&mut self.0[(phase / 8) as usize]);
            *byte = *byte & !(1 << (phase % 8)) | u8::from(level) << (phase % 8);
        }
        self
    }
    fn byte(&mut self, phases: Range<u64>, value: u8) -> &mut Self {
        for phase in phases {
            let dq = &mut self.0[(phase / 8) as usize].dq;
            *dq = *dq & !(0xff << (8 * (phase % 8))) | u64::from(value) << (8 * (phase % 8));
        }
        self
    }
    fn we(&mut self, low: Range<u64>) -> &mut Self {
        self.draw(low, |p| &mut p.we_n, false)
    }
    fn re(&mut self, phases: Range<u64>, level: bool) -> &mut Self {
        self.draw(phases, |p| &mut p.re_n, level)
    }
    fn dqs(&mut self, phases: Range<u64>, level: bool) -> &mut Self {
        self.draw(phases, |p| &mut p.dqs, level)
    }
    fn cle(&mut self, phases: Range<u64>) -> &mut Self {
        self.draw(phases, |p| &mut p.cle, true)
    }
    fn ale(&mut self, phases: Range<u64>) -> &mut Self {
        self.draw(phases, |p| &mut p.ale, true)
    }

    /// What the decoder reads from it, and the bytes that the package drives in each cycle.
    fn decode(
        &self,
        mode: DataMode,
        table: &CycleRegisters,
        bursts: &[(bool, u32)],
    ) -> (Vec<Seen>, Vec<u64>) {
        let mut decoder = Decoder::new();
        let mut notes = Notes::default();
        let shapes = bursts.iter().map(|&(out, transfers)| BurstShape { out, transfers });
        decoder.begin(mode, table, shapes);
        let lanes = self.0.iter().enumerate().map(|(n, p)| decoder.cycle(n as u64, p, &mut notes)).collect();
        (notes.0, lanes)
    }
}

fn table(byte_phases: u16) -> CycleRegisters {
    CycleRegisters {
        byte_phases_in: byte_phases,
        byte_phases_out: byte_phases,
        read_preamble: 1,
        read_postamble: 1,
        write_preamble: 1,
        write_postamble: 1,
        latch: 4,
        ..CycleRegisters::default()
    }
}

#[test]
fn sdr_latches_at_the_rise_of_we_and_strobes_at_the_fall_of_re() {
    let mut d = Drawing::new(16);
    d.cle(4..20).byte(4..20, 0x70).we(8..16);
    // Two bytes of 20 phases.
    d.re(40..50, false).re(60..70, false);
    let (seen, lanes) = d.decode(DataMode::Sdr, &table(20), &[(true, 2)]);
    assert_eq!(seen, [Chips(0, 1), Seen::Latch(0, 16, Latch::Command(0x70)), Out(0, 40, 80)]);
    assert_eq!(&lanes[5..10], [0x10, 0x10, 0x11, 0x11, 0x11], "a byte stays until the next strobe");
}

#[test]
fn sdr_bytes_of_data_in_are_those_latched_with_neither_cle_nor_ale() {
    let mut d = Drawing::new(16);
    d.ale(4..20).byte(4..20, 0x01).we(8..16);
    d.byte(32..52, 0xa5).we(32..42).byte(52..72, 0x5a).we(52..62);
    let (seen, _) = d.decode(DataMode::Sdr, &table(20), &[(false, 2)]);
    assert_eq!(
        seen,
        [Chips(0, 1), Seen::Latch(0, 16, Latch::Address(0x01)), In(0, 32, 72, vec![0xa5, 0x5a])]
    );
}

#[test]
fn an_nv_ddr2_read_is_strobed_by_both_edges_and_pauses_between_words() {
    let mut d = Drawing::new(24);
    // Preamble in cycle 2, twelve bytes of four phases with a pause of two cycles, postamble, high again.
    d.re(16..24, false);
    for byte in 0..8u64 {
        d.re(24 + 4 * byte..28 + 4 * byte, byte % 2 == 0);
    }
    d.re(56..72, false);
    for byte in 0..4u64 {
        d.re(72 + 4 * byte..76 + 4 * byte, byte % 2 == 0);
    }
    d.re(88..96, false);
    let (seen, lanes) = d.decode(DataMode::NvDdr2, &table(4), &[(true, 12)]);
    assert_eq!(seen, [Chips(0, 1), Out(0, 24, 88)]);
    assert_eq!(&lanes[3..7], [0x1110, 0x1312, 0x1514, 0x1716]);
    assert_eq!(&lanes[9..11], [0x1918, 0x1b1a]);
}

#[test]
fn bursts_that_follow_one_another_are_told_apart() {
    for gap in [0, 1, 3] {
        let mut d = Drawing::new(24);
        let again = 40 + 8 * gap;
        d.re(8..16, false).re(16..20, true).re(20..24, false).re(24..32, false);
        // RE# goes high in between only if there is time for it.
        d.re(32..again - 8, true).re(again - 8..again, false);
        d.re(again..again + 4, true).re(again + 4..again + 8, false).re(again + 8..again + 16, false);
        let (seen, _) = d.decode(DataMode::NvDdr2, &table(4), &[(true, 2), (true, 2)]);
        assert_eq!(seen, [Chips(0, 1), Out(0, 16, 24), Out(1, again, again + 8)], "{gap} cycles between");
    }
}

#[test]
fn dqs_strobes_data_in_in_the_middle_of_each_byte() {
    for mode in [DataMode::NvDdr2, DataMode::NvDdr] {
        let mut d = Drawing::new(16);
        // In NV-DDR a byte comes its own length after the data input cycle that announces it.
        let behind = if mode == DataMode::NvDdr { 5 } else { 0 };
        if mode == DataMode::NvDdr {
            d.cle(20..40).ale(20..40);
        }
        for byte in 0..4u64 {
            let from = 24 + 5 * byte + behind;
            d.byte(from..from + 5, byte as u8 | 0x80).dqs(from + 2..from + 7, byte % 2 == 0);
        }
        let (seen, _) = d.decode(mode, &table(5), &[(false, 4)]);
        assert_eq!(seen, [Chips(0, 1), In(0, 24, 48, vec![0x80, 0x81, 0x82, 0x83])], "{mode:?}");
    }
}

#[test]
fn nv_ddr_latches_at_a_rise_of_clk_and_reads_with_both_edges() {
    let mut d = Drawing::new(32);
    // CLK of two cycles.
    for clk in 0..16 {
        d.we(16 * clk + 8..16 * clk + 16);
    }
    d.cle(24..40).byte(24..40, 0x70);
    // W/R# low from the preamble on; CLE and ALE high around the two rises of CLK that give four bytes, from
    // cycle 10 on.
    d.re(64..128, false).cle(72..104).ale(72..104);
    let registers = CycleRegisters { read_preamble: 2, read_postamble: 2, ..table(8) };
    let (seen, lanes) = d.decode(DataMode::NvDdr, &registers, &[(true, 4)]);
    assert_eq!(seen, [Chips(0, 1), Seen::Latch(0, 32, Latch::Command(0x70)), Out(0, 80, 112)]);
    assert_eq!(&lanes[10..14], [0x10, 0x11, 0x12, 0x13]);
}

#[test]
fn nv_ddr_pauses_where_clk_finds_cle_and_ale_low() {
    let mut d = Drawing::new(32);
    for clk in 0..16 {
        d.we(16 * clk + 8..16 * clk + 16);
    }
    // Rises at 80, and, two periods later, at 112.
    d.re(64..144, false).cle(72..88).ale(72..88).cle(104..120).ale(104..120);
    let registers = CycleRegisters { read_preamble: 2, read_postamble: 2, ..table(8) };
    let (seen, lanes) = d.decode(DataMode::NvDdr, &registers, &[(true, 4)]);
    assert_eq!(seen, [Chips(0, 1), Out(0, 80, 128)]);
    assert_eq!((&lanes[10..12], &lanes[14..16]), (&[0x10, 0x11][..], &[0x12, 0x13][..]));
}

#[test]
fn re_that_is_held_low_after_an_nv_ddr2_burst_strobes_nothing_as_it_rises() {
    let mut d = Drawing::new(24);
    d.re(8..16, false).re(16..20, true).re(20..71, false);
    // A latch, one phase before whose edge RE# rises; then another burst.
    d.cle(52..76).byte(52..76, 0x70).we(60..72);
    d.re(88..96, false).re(96..100, true).re(100..104, false).re(104..112, false);
    let (seen, _) = d.decode(DataMode::NvDdr2, &table(4), &[(true, 2), (true, 2)]);
    assert_eq!(
        seen,
        [Chips(0, 1), Out(0, 16, 24), Seen::Latch(48, 72, Latch::Command(0x70)), Out(1, 96, 104)]
    );
}

#[test]
fn strobes_that_nobody_asked_for_are_told() {
    let mut d = Drawing::new(8);
    d.re(16..20, false).we(32..36);
    let (seen, _) = d.decode(DataMode::Sdr, &table(8), &[]);
    assert_eq!(seen, [Chips(0, 1), Stray(16), Stray(36)]);
}
