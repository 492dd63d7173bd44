use super::parameters::{InterfaceTiming, NvDdr2Timing, ResetTimes, Timing, ns, tenths, us};
use aster_units::Duration;

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
