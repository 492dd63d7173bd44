//! `aster pts`: SNIA's performance test, from the outside.

use crate::place::Place;

/// One LUN of 40 blocks.
const SMALL: [&str; 11] = [
    "pts",
    "tiny",
    "--quick",
    "--set",
    "geometry.channels=1",
    "--set",
    "geometry.ways=1",
    "--set",
    "geometry.luns=1",
    "--set",
    "geometry.blocks_per_lun=40",
];

#[test]
fn a_drive_is_tested_and_told_as_a_table_and_as_json() {
    let place = Place::new();
    let ran = place.aster(&[&SMALL[..], &["--test", "iops"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in
        ["quick form", "Purged by Format NVM", "R/W 0/100, 4 KiB by round", "Steady in rounds", "65/35"]
    {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    assert!(ran.err.contains("IOPS: rounds"), "{}", ran.err);
    let latency = [&SMALL[..], &["--test", "latency", "--json", "--minute", "0.05"]].concat();
    let report = place.report(&latency);
    assert_eq!(report["tests"].as_array().unwrap().len(), 1);
    assert_eq!(report["settings"]["minute_s"], 0.05);
    assert_eq!(report["tests"][0]["cells"].as_array().unwrap().len(), 9);
    assert_eq!(report, place.report(&latency));
}

#[test]
fn pictures_and_their_numbers_are_written_to_a_folder() {
    let place = Place::new();
    let asked = ["--test", "iops,wsat", "--minute", "0.02", "--rounds", "5", "--out", "figures", "--json"];
    let report = place.report(&[&SMALL[..], &asked].concat());
    for name in ["pts-rounds", "pts-window", "pts-iops", "pts-saturation"] {
        assert!(place.read(&format!("figures/{name}.svg")).starts_with("<svg"), "{name}");
        assert!(place.path(&format!("figures/{name}.png")).exists(), "{name}");
    }
    assert!(!place.path("figures/pts-latency.svg").exists(), "it wasn't asked for");
    let rounds = report["write_saturation"]["rounds"].as_array().unwrap().len();
    let lines = place.read("figures/pts-saturation.csv").lines().count();
    assert_eq!(lines, 1 + 3 * rounds, "a head, and a line a point of three panels");
    place.write("file", "");
    place.refused(2, &[&SMALL[..], &["--out", "file"]].concat());
}

#[test]
fn mistakes_are_told_before_anything_is_measured() {
    let place = Place::new();
    place.refused(2, &["pts", "no-such-drive"]);
    for (option, value, said) in [
        ("--test", "iops,speed", "throughput"),
        ("--class", "consumer", "client"),
        ("--minute", "0", "0.001 to 3600"),
        ("--rounds", "4", "a whole number from 5 to 1000"),
        ("--active-range", "101", "a whole number from 1 to 100"),
        ("--threads", "0", "a whole number from 1 to 64"),
        ("--set", "ftl.over_provisioning_percent=1", "over-provisioning"),
    ] {
        let told = place.aster(&["pts", "tiny", option, value]);
        assert_eq!(told.code, 2, "{option} {value}: {}", told.err);
        assert!(told.err.contains(said) && !told.err.contains("panicked"), "{option} {value}: {}", told.err);
    }
}
