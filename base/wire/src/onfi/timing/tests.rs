extern crate std;
use super::parameters::{ns, us};
use super::*;
use std::string::ToString;

#[test]
fn every_mode_has_a_table_and_the_next_is_refused_by_name() {
    for interface in [DataInterface::Sdr, DataInterface::NvDdr, DataInterface::NvDdr2] {
        for mode in 0..=interface.mode_max() {
            let timing = Timing::of(interface, mode).unwrap();
            assert_eq!((timing.data_interface(), timing.mode), (interface, mode));
        }
        let error = Timing::of(interface, interface.mode_max() + 1).unwrap_err();
        assert_eq!(error.interface, interface);
    }
    assert_eq!(Timing::sdr(6).unwrap_err().to_string(), "SDR has timing modes 0 to 5, not 6");
}

#[test]
fn data_rates_are_those_the_modes_are_named_for() {
    let rate = |t: Result<Timing, UnknownMode>| t.unwrap().transfers_per_second() / 1_000_000;
    assert_eq!([0, 1, 2, 3, 4, 5].map(|m| rate(Timing::sdr(m))), [10, 20, 28, 33, 40, 50]);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|m| rate(Timing::nv_ddr(m))), [40, 66, 100, 133, 166, 200]);
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6, 7].map(|m| rate(Timing::nv_ddr2(m))),
        [66, 80, 133, 166, 200, 266, 333, 400]
    );
}

#[test]
fn faster_modes_are_never_slower_in_any_cycle() {
    for interface in [DataInterface::Sdr, DataInterface::NvDdr, DataInterface::NvDdr2] {
        let modes = (0..=interface.mode_max()).map(|m| Timing::of(interface, m).unwrap());
        for (slow, fast) in modes.clone().zip(modes.skip(1)) {
            assert!(fast.latch_cycle() <= slow.latch_cycle());
            assert!(fast.data_in_pair() <= slow.data_in_pair());
            assert!(fast.data_out_pair() <= slow.data_out_pair());
            assert!(fast.t_cs <= slow.t_cs && fast.t_ch <= slow.t_ch && fast.t_whr <= slow.t_whr);
        }
    }
}

#[test]
fn pulse_and_hold_fit_their_cycle() {
    for mode in 0..=5 {
        let InterfaceTiming::Sdr(t) = Timing::sdr(mode).unwrap().interface else { unreachable!() };
        assert!(t.t_wp + t.t_wh <= t.t_wc, "SDR mode {mode}: tWP + tWH exceeds tWC");
        assert!(t.t_rp + t.t_reh <= t.t_rc, "SDR mode {mode}: tRP + tREH exceeds tRC");
    }
    let InterfaceTiming::NvDdr2(t) = Timing::nv_ddr2(7).unwrap().interface else { unreachable!() };
    assert!(t.t_wp + t.t_wh <= t.t_wc);
    assert_eq!(t.t_rpst, Duration::from_picos(27_500));
}

#[test]
fn a_package_powers_on_in_sdr_mode_0_and_reports_its_own_tccs() {
    let timing = Timing::power_on();
    assert_eq!((timing.data_interface(), timing.mode), (DataInterface::Sdr, 0));
    assert_eq!((timing.t_wb, timing.t_whr), (ns(200), ns(120)));
    assert_eq!((timing.t_rst.erase, Timing::sdr(5).unwrap().t_rst.erase), (us(5000), us(500)));
    assert_eq!(timing.with_ccs(ns(300)).t_ccs, ns(300));
}
