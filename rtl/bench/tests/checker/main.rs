//! The checker against pins drawn by hand. It finds nothing in drawings that keep ONFI's minima, and just
//! the right parameter if one interval is cut short.

mod agreement;
mod bursts;
mod drawing;
mod latches;

use aster_rtl_bench::limits;
use std::collections::BTreeSet;

/// An assertion that no test violates may be one that can't be violated.
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
