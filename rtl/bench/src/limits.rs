//! The limits that the checker enforces on a bus: the minima of base/wire's ONFI tables, in phases.
//!
//! They don't depend on the controller's cycle table: the checker takes its limits from the standard.

use aster_units::Duration;
use aster_wire::onfi::timing::{InterfaceTiming, NvDdr2Timing, NvDdrTiming, SdrTiming, Timing};

/// The declaration of the checker's parameters, `rtl/checker/rtl/onfi_parameters.svh`.
const PARAMETERS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../checker/rtl/onfi_parameters.svh"));

/// How long CE# must have been high for tCR2 to hold (ONFI 5.1, NV-DDR2 timing parameters).
const CR2_IDLE: Duration = Duration::from_micros(1);

/// The parameters that the checker can find violated, by their SystemVerilog names (`T_DQSS_MIN`), in the
/// order of its bits.
pub fn parameters() -> Vec<&'static str> {
    names().filter(|name| name.starts_with("T_")).collect()
}

/// A parameter as ONFI writes it: `tDQSS` for `T_DQSS_MIN`.
pub fn onfi_name(parameter: &str) -> String {
    let bare = parameter.trim_start_matches("T_");
    format!("t{}", bare.trim_end_matches("_MIN").trim_end_matches("_MAX"))
}

fn names() -> impl Iterator<Item = &'static str> {
    PARAMETERS.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("localparam integer ")?.split_once(" = ")?;
        (name != "PARAMETERS").then_some(name)
    })
}

/// The checker's limits for a timing mode, in its order: phases, minima rounded up and maxima down.
///
/// A parameter that the data interface doesn't have is zero, which can't be violated.
pub fn phases(timing: &Timing, phase: Duration) -> Vec<u64> {
    names()
        .map(|name| {
            let limit = limit(name, timing).unwrap_or(Duration::ZERO);
            if name.ends_with("_MAX") { limit.as_picos() / phase.as_picos() } else { limit.cycles_up(phase) }
        })
        .collect()
}

fn limit(name: &str, timing: &Timing) -> Option<Duration> {
    Some(match name {
        "T_CS" => timing.t_cs,
        "T_CH" => timing.t_ch,
        "T_CEH" => timing.t_ceh,
        "T_WB" => timing.t_wb,
        "T_WHR" => timing.t_whr,
        "T_ADL" => timing.t_adl,
        "T_CCS" => timing.t_ccs,
        "T_RHW" => timing.t_rhw,
        "T_RR" => timing.t_rr,
        "T_ITC" => timing.t_itc,
        _ => {
            return match &timing.interface {
                InterfaceTiming::Sdr(t) => sdr(name, t),
                InterfaceTiming::NvDdr(t) => nv_ddr(name, t),
                InterfaceTiming::NvDdr2(t) => nv_ddr2(name, t),
            };
        }
    })
}

fn sdr(name: &str, t: &SdrTiming) -> Option<Duration> {
    Some(match name {
        "T_WP" => t.t_wp,
        "T_WH" => t.t_wh,
        "T_WC" => t.t_wc,
        "T_CLS" => t.t_cls,
        "T_CLH" => t.t_clh,
        "T_ALS" => t.t_als,
        "T_ALH" => t.t_alh,
        "T_DS" => t.t_ds,
        "T_DH" => t.t_dh,
        "T_RP" => t.t_rp,
        "T_REH" => t.t_reh,
        "T_RC" => t.t_rc,
        "T_AR" => t.t_ar,
        "T_CLR" => t.t_clr,
        _ => return None,
    })
}

fn nv_ddr(name: &str, t: &NvDdrTiming) -> Option<Duration> {
    Some(match name {
        "T_CALS" => t.t_cals,
        "T_CALH" => t.t_calh,
        "T_CAS" => t.t_cas,
        "T_CAH" => t.t_cah,
        "T_CAD" => t.t_cad,
        "T_CK" => t.t_ck,
        "T_DS" => t.t_ds,
        "T_DH" => t.t_dh,
        "T_WPRE" => t.t_wpre,
        "T_WPST" => t.t_wpst,
        "T_DSC" => t.t_dsc,
        "T_DQSS_MIN" => t.t_dqss_min,
        "T_DQSS_MAX" => t.t_dqss_max,
        "T_WRCK" => t.t_wrck,
        _ => return None,
    })
}

fn nv_ddr2(name: &str, t: &NvDdr2Timing) -> Option<Duration> {
    Some(match name {
        "T_WP" => t.t_wp,
        "T_WH" => t.t_wh,
        "T_WC" => t.t_wc,
        "T_CALS" => t.t_cals,
        "T_CALH" => t.t_calh,
        "T_CAS" => t.t_cas,
        "T_CAH" => t.t_cah,
        "T_DS" => t.t_ds,
        "T_DH" => t.t_dh,
        "T_RC" => t.t_rc,
        "T_AR" => t.t_ar,
        "T_CLR" => t.t_clr,
        "T_CR" => t.t_cr,
        "T_CR2" => t.t_cr2,
        "CR2_IDLE" => CR2_IDLE,
        "T_CS1" => t.t_cs1,
        "T_RPRE" => t.t_rpre,
        "T_RPST" => t.t_rpst,
        "T_RPSTH" => t.t_rpsth,
        "T_WPRE" => t.t_wpre,
        "T_WPST" => t.t_wpst,
        "T_WPSTH" => t.t_wpsth,
        "T_DSC" => t.t_dsc,
        "T_CDQSS" => t.t_cdqss,
        "T_DBS" => t.t_dbs,
        "T_CSD" => t.t_csd,
        _ => return None,
    })
}

/// SystemVerilog with the limits of every timing mode in picoseconds: `rtl/checker/rtl/onfi_limits.svh`.
///
/// `onfi_limits(data interface, timing mode, phase)` gives the checker's vector for a bench; a test
/// holds the file fresh.
pub fn verilog() -> String {
    let mut out = String::from(
        "// Generated from the ONFI tables of base/wire by `cargo run -p aster-rtl-bench --bin \
         onfi-limits`.\n\
         // For `include inside a module body that has onfi_parameters.svh: the limits of a timing mode\n\
         // (data interface 0 SDR, 1 NV-DDR, 2 NV-DDR2) in phases of so many picoseconds, 16 bits each.\n\
         // An unknown mode has none.\n\
         function automatic [47*16-1:0] onfi_limits(input [1:0] data_interface, input [3:0] timing_mode,\n\
         \x20   input integer phase);\n\
         \x20 integer index;\n  reg [31:0] limit;\n  reg [47*32-1:0] picoseconds;\n  begin\n    picoseconds \
         = 1504'd0;\n    case ({data_interface, timing_mode})\n",
    );
    let modes = (0..6).map(|m| (0, m, Timing::sdr(m)));
    let modes = modes.chain((0..6).map(|m| (1, m, Timing::nv_ddr(m))));
    for (mode, timing_mode, timing) in modes.chain((0..8).map(|m| (2, m, Timing::nv_ddr2(m)))) {
        let timing = timing.expect("the modes that ONFI has");
        out.push_str(&format!("      {{2'd{mode}, 4'd{timing_mode}}}: begin\n"));
        for name in names() {
            if let Some(limit) = limit(name, &timing).filter(|limit| !limit.is_zero()) {
                out.push_str(&format!("        picoseconds[{name}*32 +: 32] = 32'd{};\n", limit.as_picos()));
            }
        }
        out.push_str("      end\n");
    }
    out.push_str(
        "      default: picoseconds = 1504'd0;\n    endcase\n\
         \x20   for (index = 0; index < 47; index = index + 1) begin\n\
         \x20     limit = picoseconds[index*32 +: 32];\n\
         \x20     // Minima up, the one maximum down.\n\
         \x20     if (index != T_DQSS_MAX) limit = limit + phase[31:0] - 32'd1;\n\
         \x20     limit = limit / phase[31:0];\n\
         \x20     onfi_limits[index*16 +: 16] = limit[15:0];\n    end\n  end\nendfunction\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_limits_are_fresh() {
        let kept = std::fs::read_to_string(crate::rtl().join("checker/rtl/onfi_limits.svh")).unwrap();
        assert!(kept == verilog(), "run `cargo run -p aster-rtl-bench --bin onfi-limits`");
    }

    #[test]
    fn every_parameter_belongs_to_some_interface() {
        let timings = [Timing::sdr(0), Timing::nv_ddr(0), Timing::nv_ddr2(0)].map(Result::unwrap);
        for name in names() {
            assert!(timings.iter().any(|t| limit(name, t).is_some()), "nothing limits {name}");
        }
    }

    #[test]
    fn minima_are_rounded_up_to_phases_and_the_maximum_down() {
        let limits = phases(&Timing::nv_ddr(5).unwrap(), Duration::from_picos(1_250));
        let of = |wanted| limits[names().position(|name| name == wanted).unwrap()];
        // 15 ns, 100 ns, 0.9 ns, and 7.5 and 12.5 ns around a clock of 10 ns.
        assert_eq!(
            [of("T_CS"), of("T_WB"), of("T_DS"), of("T_DQSS_MIN"), of("T_DQSS_MAX")],
            [12, 80, 1, 6, 10]
        );
        assert_eq!(of("T_RPRE"), 0);
    }
}
