use super::parameters::{InterfaceTiming, NvDdrTiming, ResetTimes, Timing, ns, us};
use aster_units::Duration;

/// The table's columns are modes 0 to 5, in picoseconds.
type Row = [u64; 6];

const T_CAH: Row = [10_000, 5_000, 4_000, 3_000, 2_500, 2_000];
const T_CALH: Row = [10_000, 5_000, 4_000, 3_000, 2_500, 2_000];
const T_CALS: Row = [10_000, 5_000, 4_000, 3_000, 2_500, 2_000];
const T_CAS: Row = [10_000, 5_000, 4_000, 3_000, 2_500, 2_000];
const T_CH: Row = [10_000, 5_000, 4_000, 3_000, 2_500, 2_000];
const T_CK: Row = [50_000, 30_000, 20_000, 15_000, 12_000, 10_000];
const T_CS: Row = [35_000, 25_000, 15_000, 15_000, 15_000, 15_000];
const T_DH: Row = [5_000, 2_500, 1_700, 1_300, 1_100, 900];
const T_DQSQ: Row = [5_000, 2_500, 1_700, 1_300, 1_000, 850];
const T_DS: Row = [5_000, 3_000, 2_000, 1_500, 1_100, 900];
const T_DSC: Row = [50_000, 30_000, 20_000, 15_000, 12_000, 10_000];
const T_QHS: Row = [6_000, 3_000, 2_000, 1_500, 1_200, 1_000];

pub(super) fn timing(mode: u8) -> Timing {
    let at = |row: Row| Duration::from_picos(row[usize::from(mode)]);
    let t_ck = at(T_CK);
    Timing {
        mode,
        t_adl: ns(400),
        // The value until the parameter page is read.
        t_ccs: ns(500),
        t_ceh: ns(20),
        t_ch: at(T_CH),
        t_cs: at(T_CS),
        t_feat: us(1),
        t_itc: us(1),
        t_rhw: ns(100),
        t_rr: ns(20),
        t_rst: ResetTimes { read: us(5), program: us(10), erase: us(500) },
        t_wb: ns(100),
        t_whr: ns(80),
        t_ww: ns(100),
        interface: InterfaceTiming::NvDdr(NvDdrTiming {
            t_ac: ns(25),
            t_cad: ns(45),
            t_cah: at(T_CAH),
            t_calh: at(T_CALH),
            t_cals: at(T_CALS),
            t_cas: at(T_CAS),
            t_ck,
            t_dh: at(T_DH),
            t_dqsck: ns(25),
            t_dqsd: ns(18),
            t_dqshz: ns(20),
            t_dqsq: at(T_DQSQ),
            t_dqss_min: t_ck * 3 / 4,
            t_dqss_max: t_ck * 5 / 4,
            t_ds: at(T_DS),
            t_dsc: at(T_DSC),
            t_qhs: at(T_QHS),
            t_wpre: t_ck * 3 / 2,
            t_wpst: t_ck * 3 / 2,
            t_wrck: ns(20),
        }),
    }
}
