use super::{InterfaceTiming, ResetTimes, Timing, ns, tenths, us};
use aster_units::Duration;

/// Parameters of the NV-DDR2 data interface (ONFI 5.1, NV-DDR2 and NV-DDR3 timing modes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NvDdr2Timing {
    /// tAR: ALE to RE_n delay.
    pub t_ar: Duration,
    /// tCAH: command and address DQ hold.
    pub t_cah: Duration,
    /// tCALH: CLE and ALE hold.
    pub t_calh: Duration,
    /// tCALS: CLE and ALE setup with termination disabled.
    pub t_cals: Duration,
    /// tCALS2: CLE and ALE setup with termination enabled.
    pub t_cals2: Duration,
    /// tCAS: command and address DQ setup.
    pub t_cas: Duration,
    /// tCDQSS: DQS setup before a data input burst begins.
    pub t_cdqss: Duration,
    /// tCHZ: CE_n high to output high impedance, maximum.
    pub t_chz: Duration,
    /// tCLHZ: CLE high to output high impedance, maximum.
    pub t_clhz: Duration,
    /// tCLR: CLE to RE_n delay.
    pub t_clr: Duration,
    /// tCR: CE_n to RE_n low.
    pub t_cr: Duration,
    /// tCR2: CE_n to RE_n low after CE_n was high for 1 µs or more.
    pub t_cr2: Duration,
    /// tCS1: CE_n setup of a data burst with termination disabled.
    pub t_cs1: Duration,
    /// tCS2: CE_n setup of a data burst with termination enabled.
    pub t_cs2: Duration,
    /// tCSD: ALE, CLE and WE_n hold from CE_n high.
    pub t_csd: Duration,
    /// tDBS: DQS high and RE_n high setup before ALE, CLE and CE_n low of a data burst.
    pub t_dbs: Duration,
    /// tDH: data hold.
    pub t_dh: Duration,
    /// tDQSD: RE_n low to DQS and DQ driven, maximum.
    pub t_dqsd: Duration,
    /// tDQSRE: RE_n access of DQS and DQ, maximum.
    pub t_dqsre: Duration,
    /// tDQSRH: DQS hold after RE_n low.
    pub t_dqsrh: Duration,
    /// tDS: data setup.
    pub t_ds: Duration,
    /// tDSC: DQS cycle.
    pub t_dsc: Duration,
    /// tRC: average RE_n cycle.
    pub t_rc: Duration,
    /// tRPRE: read preamble with termination disabled.
    pub t_rpre: Duration,
    /// tRPRE2: read preamble with termination enabled.
    pub t_rpre2: Duration,
    /// tRPST: read postamble, tDQSRE + 0.5 tRC.
    pub t_rpst: Duration,
    /// tRPSTH: read postamble hold.
    pub t_rpsth: Duration,
    /// tWC: command and address cycle.
    pub t_wc: Duration,
    /// tWH: WE_n high pulse width.
    pub t_wh: Duration,
    /// tWP: WE_n low pulse width.
    pub t_wp: Duration,
    /// tWPRE: write preamble with termination disabled.
    pub t_wpre: Duration,
    /// tWPRE2: write preamble with termination enabled.
    pub t_wpre2: Duration,
    /// tWPST: write postamble.
    pub t_wpst: Duration,
    /// tWPSTH: write postamble hold.
    pub t_wpsth: Duration,
}

/// The table's columns are modes 0 to 7, in picoseconds.
type Row = [u64; 8];

/// tDSC and tRC: 66, 80, 133, 166, 200, 266, 333 and 400 MT/s.
const CYCLE: Row = [30_000, 25_000, 15_000, 12_000, 10_000, 7_500, 6_000, 5_000];
const T_DS: Row = [4_000, 3_300, 2_000, 1_100, 700, 600, 550, 400];
const T_DH: Row = [4_000, 3_300, 2_000, 1_100, 700, 600, 550, 400];

pub(super) fn timing(mode: u8) -> Timing {
    let at = |row: Row| Duration::from_picos(row[usize::from(mode)]);
    let (cycle, t_dqsre) = (at(CYCLE), ns(25));
    Timing {
        mode,
        t_adl: ns(400),
        // The value until the parameter page is read.
        t_ccs: ns(400),
        t_ceh: ns(20),
        t_ch: ns(5),
        t_cs: ns(20),
        t_feat: us(1),
        t_itc: us(1),
        t_rhw: ns(100),
        t_rr: ns(20),
        t_rst: ResetTimes { read: us(10), program: us(30), erase: us(500) },
        t_wb: ns(100),
        t_whr: ns(80),
        t_ww: ns(100),
        interface: InterfaceTiming::NvDdr2(NvDdr2Timing {
            t_ar: ns(10),
            t_cah: ns(5),
            t_calh: ns(5),
            t_cals: ns(15),
            t_cals2: ns(25),
            t_cas: ns(5),
            t_cdqss: ns(30),
            t_chz: ns(30),
            t_clhz: ns(30),
            t_clr: ns(10),
            t_cr: ns(10),
            t_cr2: ns(100),
            t_cs1: ns(30),
            t_cs2: ns(40),
            t_csd: ns(10),
            t_dbs: ns(5),
            t_dh: at(T_DH),
            t_dqsd: ns(18),
            t_dqsre,
            t_dqsrh: ns(5),
            t_ds: at(T_DS),
            t_dsc: cycle,
            t_rc: cycle,
            t_rpre: ns(15),
            t_rpre2: ns(25),
            t_rpst: t_dqsre + cycle / 2,
            t_rpsth: ns(15),
            t_wc: ns(25),
            t_wh: ns(11),
            t_wp: ns(11),
            t_wpre: ns(15),
            t_wpre2: ns(25),
            t_wpst: tenths(65),
            t_wpsth: ns(25),
        }),
    }
}
