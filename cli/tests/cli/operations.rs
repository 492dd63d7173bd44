//! `aster bench-channel --operation`: flash operations beyond READ, PROGRAM and ERASE.

use crate::place::Place;
use serde_json::Value;

fn arguments<'a>(package: &'a str, operation: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = ["bench-channel", "--package", package, "--operation", operation, "--requests", "48"];
    [&common, more].concat()
}
fn report(place: &Place, package: &str, operation: &str, more: &[&str]) -> Value {
    place.report(&[&arguments(package, operation, more)[..], &["--json"]].concat())
}
/// The row of `kind`.
fn row<'a>(report: &'a Value, kind: &str) -> &'a Value {
    report["kinds"].as_array().unwrap().iter().find(|row| row["kind"] == kind).unwrap()
}
fn mb_per_s(report: &Value, kind: &str) -> f64 {
    row(report, kind)["mb_per_s"].as_f64().unwrap()
}

const ALL: [(&str, &str, u64); 18] = [
    ("read-cache", "read", 8),
    ("read-cache-random", "read", 8),
    ("read-planes", "read", 2),
    ("read-slc", "read", 1),
    ("read-retry", "read", 1),
    ("read-gang", "read", 1),
    ("program-cache", "program", 8),
    ("program-planes", "program", 2),
    ("program-pair", "program", 2),
    ("program-one-shot", "program", 3),
    ("program-slc", "program", 1),
    ("program-gang", "program", 1),
    ("program-suspend", "program", 1),
    ("erase-planes", "erase", 0),
    ("erase-slc", "erase", 0),
    ("erase-suspend", "erase", 0),
    ("copyback", "program", 1),
    ("copyback-changed", "program", 1),
];

#[test]
fn each_flash_operation_moves_its_pages_and_stays_below_its_limit() {
    let place = Place::new();
    for (operation, kind, pages) in ALL {
        let package = if operation == "program-pair" { "micron" } else { "tlc-3d" };
        let found = report(&place, package, operation, &["--luns", "2", "--depth", "16"]);
        assert_eq!((&found["operation"], &found["failures"]), (&operation.into(), &0.into()));
        let row = row(&found, kind);
        assert_eq!(row["requests"], 48, "{operation}");
        assert_eq!(row["bytes"], 48 * pages * 16384, "{operation}");
        let percent = found["limit_percent"].as_f64().unwrap();
        // tR, tPROG and tBERS are within their deviation of the typical ones that the limit has.
        assert!((30.0..112.0).contains(&percent), "{operation}: {percent}");
    }
}

/// Pages of two blocks, which lie in different planes, each checked.
#[test]
fn random_reads_by_cache_bring_the_pages_that_were_asked_for() {
    let place = Place::new();
    for operation in ["read-cache", "read-cache-random"] {
        let found = report(&place, "tlc-3d", operation, &["--luns", "2", "--pattern", "random"]);
        assert_eq!(found["failures"], 0, "{operation}: {found}");
    }
}

#[test]
fn caches_planes_slc_and_one_shot_are_faster_than_page_by_page() {
    let place = Place::new();
    let alone = ["--luns", "1", "--depth", "8"];
    let of = |operation, kind| mb_per_s(&report(&place, "tlc-3d", operation, &alone), kind);
    let (read, program) = (of("read", "read"), of("program", "program"));
    // One LUN's reads are sequential already behind each other's pages; what a cache saves is tR.
    for operation in ["read-cache", "read-planes", "read-slc"] {
        let found = of(operation, "read");
        assert!(found > read * 1.1, "{operation}: {found} after {read}");
    }
    for operation in ["program-planes", "program-one-shot", "program-slc"] {
        let found = of(operation, "program");
        assert!(found > program * 1.5, "{operation}: {found} after {program}");
    }
}

#[test]
fn a_suspended_erase_lets_a_read_through_long_before_its_end() {
    let place = Place::new();
    for (operation, kind) in [("erase-suspend", "erase"), ("program-suspend", "program")] {
        let found = report(&place, "tlc-3d", operation, &["--luns", "2"]);
        let mean = |kind| row(&found, kind)["latency"]["mean_us"].as_f64().unwrap();
        assert_eq!(row(&found, "read")["requests"], 48);
        assert!(mean("read") < mean(kind) / 2.0, "{found}");
    }
}

#[test]
fn a_copyback_leaves_the_bus_alone_unless_the_page_is_changed() {
    let place = Place::new();
    let owned = |operation| {
        let found = report(&place, "tlc-3d", operation, &["--luns", "1"]);
        found["channel_utilisation"].as_f64().unwrap()
    };
    assert!(owned("copyback") * 5.0 < owned("copyback-changed"));
}

#[test]
fn read_retry_saves_pages_that_a_read_loses() {
    let place = Place::new();
    let old = ["--luns", "2", "--age", "200000"];
    let lost = place.aster(&arguments("tlc-3d", "read", &old));
    assert_eq!(lost.code, 1, "{}", lost.out);
    assert!(lost.err.contains("more errors than the code corrects"), "{}", lost.err);
    assert_eq!(report(&place, "tlc-3d", "read-retry", &old)["uncorrectable_reads"], 0);
}

#[test]
fn what_an_operation_needs_is_said() {
    let place = Place::new();
    let refused = |package, operation, more: &[&str]| place.refused(2, &arguments(package, operation, more));
    for (operation, lacks) in [
        ("read-cache", "\"read-cache\" in package.commands"),
        ("program-slc", "[package.slc]"),
        ("erase-suspend", "[package.suspend]"),
        ("program-pair", "MLC cells"),
    ] {
        let error = refused("onfi-slc", operation, &[]);
        assert!(error.contains(&format!("operation {operation}: the package lacks {lacks}")), "{error}");
    }
    let error = refused("tlc-3d", "copyback", &["--controller", "synchronous"]);
    assert!(error.contains("a controller in hardware doesn't have it"), "{error}");
    let error = refused("tlc-3d", "program-one-shot", &["--luns", "4", "--depth", "8"]);
    assert!(error.contains("needs 12 page buffers, in flight: 3 a LUN"), "{error}");
    let error = refused("tlc-3d", "read-gang", &["--luns", "3"]);
    assert!(error.contains("must be even"), "{error}");
    let error = refused("tlc-3d", "read-retry", &["--read-level", "2"]);
    assert!(error.contains("goes through the levels by itself"), "{error}");
}
