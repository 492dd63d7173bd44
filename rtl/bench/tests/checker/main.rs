//! The checker against pins drawn by hand: nothing is found in what keeps ONFI's minima, and with one
//! interval cut short just that parameter is.

mod agreement;
mod bursts;
mod drawing;
mod latches;

use aster_rtl_bench::limits;
use std::collections::BTreeSet;

/// An assertion that nothing has been seen to violate may be one that nothing can.
#[test]
fn every_parameter_is_violated_by_some_drawing() {
    fn names<T>(seeds: &[(&'static str, T)]) -> Vec<&'static str> {
        seeds.iter().map(|seed| seed.0).collect()
    }
    let seeded: BTreeSet<String> = [
        names(&agreement::SEEDS),
        names(&bursts::NV_DDR_SEEDS),
        names(&bursts::NV_DDR2_SEEDS),
        names(&latches::SDR_SEEDS),
        names(&latches::NV_DDR_SEEDS),
        names(&latches::NV_DDR2_SEEDS),
    ]
    .concat()
    .into_iter()
    .map(String::from)
    .collect();
    for parameter in limits::parameters() {
        let name = limits::onfi_name(parameter);
        assert!(seeded.contains(&name), "no drawing violates {name}");
    }
}
