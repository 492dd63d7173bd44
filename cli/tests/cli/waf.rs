//! `aster waf`: what garbage collection copies, from the outside.

use crate::place::Place;

/// One LUN of 64 small blocks.
const SMALL: [&str; 13] = [
    "waf",
    "tiny",
    "--quick",
    "--set",
    "geometry.channels=1",
    "--set",
    "geometry.ways=1",
    "--set",
    "geometry.luns=1",
    "--set",
    "geometry.blocks_per_lun=64",
    "--over-provisioning",
    "40,60",
];

#[test]
fn each_policy_is_measured_told_and_drawn() {
    let place = Place::new();
    let report = place.report(&[&SMALL[..], &["--json", "--out", "figures"]].concat());
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 5 * 2 * 3, "policies, over-provisionings, skews");
    for point in points {
        let of = |key: &str| point[key].as_f64().unwrap();
        // With the third skew the buffer holds nearly all hot pages.
        assert!(of("drive") > 1.0 && of("simulation") > 1.0, "{point}");
        assert!(of("hot_percent") > 80.0 || (of("drive") / of("simulation") - 1.0).abs() < 0.1, "{point}");
    }
    let csv = place.read("figures/waf.csv");
    assert!(csv.contains("40 % over-provisioning,greedy,simulation,50,"), "{csv}");
    let picture = place.read("figures/waf.svg");
    assert!(
        ["60 % over-provisioning", "fifo", "bare simulation", "theory"].iter().all(|s| picture.contains(s))
    );
    assert!(place.path("figures/waf.png").exists());
}

#[test]
fn what_cannot_be_measured_is_a_mistake_of_the_command_line() {
    let place = Place::new();
    place.refused(2, &["waf", "no-such-drive"]);
    let said = place.refused(2, &["waf", "tiny", "--over-provisioning", "1"]);
    assert!(said.contains("over-provisioning"), "{said}");
    let said = place.refused(2, &["waf", "tiny", "--set", "ftl.victim_choices=3"]);
    assert!(said.contains("ftl.victims = \"d-choices\""), "{said}");
}
