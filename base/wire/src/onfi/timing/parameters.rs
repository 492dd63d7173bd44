//! The parameters under their datasheet names.

use aster_units::Duration;

/// The longest that RESET keeps a LUN busy, by what it interrupts (tRST, maxima).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResetTimes {
    /// Idle or reading.
    pub read: Duration,
    /// Programming.
    pub program: Duration,
    /// Erasing.
    pub erase: Duration,
}

/// The parameters that only one data interface has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterfaceTiming {
    /// SDR.
    Sdr(SdrTiming),
    /// NV-DDR.
    NvDdr(NvDdrTiming),
    /// NV-DDR2.
    NvDdr2(NvDdr2Timing),
}

/// The timing parameters of one mode of one data interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The mode number.
    pub mode: u8,
    /// tADL: last address cycle to data in.
    pub t_adl: Duration,
    /// tCCS: change column setup, from the last cycle of CHANGE READ/WRITE COLUMN to data.
    pub t_ccs: Duration,
    /// tCEH: CE_n high hold.
    pub t_ceh: Duration,
    /// tCH: CE_n hold.
    pub t_ch: Duration,
    /// tCS: CE_n setup.
    pub t_cs: Duration,
    /// tFEAT: busy of SET and GET FEATURES, maximum.
    pub t_feat: Duration,
    /// tITC: interface and timing mode change, maximum.
    pub t_itc: Duration,
    /// tRHW: data out to command, address or data in.
    pub t_rhw: Duration,
    /// tRR: ready to data out.
    pub t_rr: Duration,
    /// tRST: reset, maxima.
    pub t_rst: ResetTimes,
    /// tWB: last command cycle to busy, maximum; the status is invalid before.
    pub t_wb: Duration,
    /// tWHR: command or address to data out.
    pub t_whr: Duration,
    /// tWW: WP_n transition to command.
    pub t_ww: Duration,
    /// The parameters that only this data interface has.
    pub interface: InterfaceTiming,
}

/// Parameters of the NV-DDR data interface (ONFI 5.1, NV-DDR timing modes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NvDdrTiming {
    /// tAC: access window of DQ from the clock, maximum.
    pub t_ac: Duration,
    /// tCAD: between command, address and data cycles.
    pub t_cad: Duration,
    /// tCAH: command, address and DQ hold.
    pub t_cah: Duration,
    /// tCALH: ALE, CLE and W/R_n hold.
    pub t_calh: Duration,
    /// tCALS: ALE, CLE and W/R_n setup.
    pub t_cals: Duration,
    /// tCAS: command, address and DQ setup.
    pub t_cas: Duration,
    /// tCK: average clock cycle.
    pub t_ck: Duration,
    /// tDH: data hold.
    pub t_dh: Duration,
    /// tDQSCK: access window of DQS from the clock, maximum.
    pub t_dqsck: Duration,
    /// tDQSD: W/R_n low to DQS and DQ driven, maximum.
    pub t_dqsd: Duration,
    /// tDQSHZ: W/R_n high to DQS and DQ released, maximum.
    pub t_dqshz: Duration,
    /// tDQSQ: DQS to DQ skew, maximum.
    pub t_dqsq: Duration,
    /// tDQSS: data in to first DQS edge, minimum 0.75 tCK.
    pub t_dqss_min: Duration,
    /// tDQSS: data in to first DQS edge, maximum 1.25 tCK.
    pub t_dqss_max: Duration,
    /// tDS: data setup.
    pub t_ds: Duration,
    /// tDSC: DQS cycle.
    pub t_dsc: Duration,
    /// tQHS: data hold skew, maximum.
    pub t_qhs: Duration,
    /// tWPRE: DQS write preamble, 1.5 tCK.
    pub t_wpre: Duration,
    /// tWPST: DQS write postamble, 1.5 tCK.
    pub t_wpst: Duration,
    /// tWRCK: W/R_n low to data output cycle.
    pub t_wrck: Duration,
}

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

/// Parameters of the SDR data interface (ONFI 5.1, SDR timing modes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SdrTiming {
    /// tALH: ALE hold.
    pub t_alh: Duration,
    /// tALS: ALE setup.
    pub t_als: Duration,
    /// tAR: ALE to RE_n delay.
    pub t_ar: Duration,
    /// tCEA: CE_n access, maximum.
    pub t_cea: Duration,
    /// tCHZ: CE_n high to output high impedance, maximum.
    pub t_chz: Duration,
    /// tCLH: CLE hold.
    pub t_clh: Duration,
    /// tCLR: CLE to RE_n delay.
    pub t_clr: Duration,
    /// tCLS: CLE setup.
    pub t_cls: Duration,
    /// tCOH: CE_n high to output hold.
    pub t_coh: Duration,
    /// tDH: data hold.
    pub t_dh: Duration,
    /// tDS: data setup.
    pub t_ds: Duration,
    /// tIR: output high impedance to RE_n low.
    pub t_ir: Duration,
    /// tRC: RE_n cycle.
    pub t_rc: Duration,
    /// tREA: RE_n access, maximum.
    pub t_rea: Duration,
    /// tREH: RE_n high hold.
    pub t_reh: Duration,
    /// tRHOH: RE_n high to output hold.
    pub t_rhoh: Duration,
    /// tRHZ: RE_n high to output high impedance, maximum.
    pub t_rhz: Duration,
    /// tRLOH: RE_n low to output hold, for extended data out.
    pub t_rloh: Duration,
    /// tRP: RE_n pulse width.
    pub t_rp: Duration,
    /// tWC: WE_n cycle.
    pub t_wc: Duration,
    /// tWH: WE_n high hold.
    pub t_wh: Duration,
    /// tWP: WE_n pulse width.
    pub t_wp: Duration,
}

/// `n` tenths of a nanosecond: the resolution of the standard's tables.
pub(super) const fn tenths(n: u64) -> Duration {
    Duration::from_picos(n * 100)
}

pub(super) const fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

pub(super) const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}
