use super::parameters::{InterfaceTiming, ResetTimes, SdrTiming, Timing, ns, us};

/// The table's columns are modes 0 to 5, in nanoseconds.
type Row = [u64; 6];

const T_ADL: Row = [400, 400, 400, 400, 400, 400];
const T_ALH: Row = [20, 10, 10, 5, 5, 5];
const T_ALS: Row = [50, 25, 15, 10, 10, 10];
const T_AR: Row = [25, 10, 10, 10, 10, 10];
/// The value until the parameter page is read.
const T_CCS: Row = [500, 500, 500, 500, 500, 500];
const T_CEA: Row = [100, 45, 30, 25, 25, 25];
const T_CEH: Row = [20, 20, 20, 20, 20, 20];
const T_CH: Row = [20, 10, 10, 5, 5, 5];
const T_CHZ: Row = [100, 50, 50, 50, 30, 30];
const T_CLH: Row = [20, 10, 10, 5, 5, 5];
const T_CLR: Row = [20, 10, 10, 10, 10, 10];
const T_CLS: Row = [50, 25, 15, 10, 10, 10];
const T_COH: Row = [0, 15, 15, 15, 15, 15];
const T_CS: Row = [70, 35, 25, 25, 20, 15];
const T_DH: Row = [20, 10, 5, 5, 5, 5];
const T_DS: Row = [40, 20, 15, 10, 10, 7];
const T_IR: Row = [10, 0, 0, 0, 0, 0];
const T_RC: Row = [100, 50, 35, 30, 25, 20];
const T_REA: Row = [40, 30, 25, 20, 20, 16];
const T_REH: Row = [30, 15, 15, 10, 10, 7];
const T_RHOH: Row = [0, 15, 15, 15, 15, 15];
const T_RHW: Row = [200, 100, 100, 100, 100, 100];
const T_RHZ: Row = [200, 100, 100, 100, 100, 100];
const T_RLOH: Row = [0, 0, 0, 0, 5, 5];
const T_RP: Row = [50, 25, 17, 15, 12, 10];
const T_RR: Row = [40, 20, 20, 20, 20, 20];
const T_WB: Row = [200, 100, 100, 100, 100, 100];
const T_WC: Row = [100, 45, 35, 30, 25, 20];
const T_WH: Row = [30, 15, 15, 10, 10, 7];
const T_WHR: Row = [120, 80, 80, 80, 80, 80];
const T_WP: Row = [50, 25, 17, 15, 12, 10];
const T_WW: Row = [100, 100, 100, 100, 100, 100];
/// Microseconds: reset while reading, programming, erasing. Mode 0 allows for the first reset after power-on.
const T_RST: [[u64; 6]; 3] =
    [[5000, 5, 5, 5, 5, 5], [5000, 10, 10, 10, 10, 10], [5000, 500, 500, 500, 500, 500]];

pub(super) fn timing(mode: u8) -> Timing {
    let mode_index = usize::from(mode);
    let at = |row: Row| ns(row[mode_index]);
    let [read, program, erase] = T_RST.map(|row| us(row[mode_index]));
    Timing {
        mode,
        t_adl: at(T_ADL),
        t_ccs: at(T_CCS),
        t_ceh: at(T_CEH),
        t_ch: at(T_CH),
        t_cs: at(T_CS),
        t_feat: us(1),
        t_itc: us(1),
        t_rhw: at(T_RHW),
        t_rr: at(T_RR),
        t_rst: ResetTimes { read, program, erase },
        t_wb: at(T_WB),
        t_whr: at(T_WHR),
        t_ww: at(T_WW),
        interface: InterfaceTiming::Sdr(SdrTiming {
            t_alh: at(T_ALH),
            t_als: at(T_ALS),
            t_ar: at(T_AR),
            t_cea: at(T_CEA),
            t_chz: at(T_CHZ),
            t_clh: at(T_CLH),
            t_clr: at(T_CLR),
            t_cls: at(T_CLS),
            t_coh: at(T_COH),
            t_dh: at(T_DH),
            t_ds: at(T_DS),
            t_ir: at(T_IR),
            t_rc: at(T_RC),
            t_rea: at(T_REA),
            t_reh: at(T_REH),
            t_rhoh: at(T_RHOH),
            t_rhz: at(T_RHZ),
            t_rloh: at(T_RLOH),
            t_rp: at(T_RP),
            t_wc: at(T_WC),
            t_wh: at(T_WH),
            t_wp: at(T_WP),
        }),
    }
}
