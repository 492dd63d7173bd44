//! `aster compare`, from the outside.

use crate::place::Place;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

const JOB: &str = "[j]\nrw=randwrite\nbs=4k\nsize=8m\nnumber_ios=3000\nrandrepeat=0\niodepth=8\n";

fn reports(place: &Place) {
    place.write("j.fio", JOB);
    for seed in ["1", "2", "3"] {
        for (name, more) in [("a", &[][..]), ("b", &["--set", "ftl.buffer_entries=16"][..])] {
            let run = ["run", "tiny", "--job", "j.fio", "--json", "--seed", seed];
            let ran = place.aster(&[&run[..], more].concat());
            assert_eq!(ran.code, 0, "{}", ran.err);
            place.write(&format!("{name}{seed}.json"), ran.out);
        }
    }
}

fn row<'a>(compared: &'a Value, group: &str, figure: &str) -> &'a Value {
    let rows = compared["figures"].as_array().unwrap();
    let found = rows.iter().find(|row| row["group"] == group && row["figure"] == figure);
    found.unwrap_or_else(|| panic!("{group} {figure}: {rows:?}"))
}

#[test]
fn reports_stand_side_by_side_with_confidence_over_seeds() {
    let place = Place::new();
    reports(&place);
    let number = |file: &str| {
        let report: Value = serde_json::from_str(&place.read(file)).unwrap();
        report["total"]["all"]["iops"].as_f64().unwrap()
    };
    let two = place.report(&["compare", "a1.json", "b1.json", "--json"]);
    let setup = &two["setup"];
    assert_eq!(setup.as_array().unwrap().len(), 1, "{setup}");
    assert_eq!((&setup[0]["key"], &setup[0]["values"][1]), (&"ftl.buffer_entries".into(), &16.into()));
    let iops = row(&two, "total", "all.iops");
    assert_eq!(iops["values"][0]["mean"], number("a1.json"));
    assert_eq!(iops["differences"][1]["ratio"], number("b1.json") / number("a1.json"));
    assert_eq!(iops["differences"][1]["beyond_chance"], Value::Null);

    let files = ["a1.json", "b1.json", "a2.json", "b2.json", "a3.json", "b3.json"];
    let all = place.report(&[&["compare"][..], &files, &["--json"]].concat());
    assert_eq!(all["runs"][0]["files"], serde_json::json!(["a1.json", "a2.json", "a3.json"]));
    assert_eq!(all["runs"][1]["seeds"], serde_json::json!([1, 2, 3]));
    let iops = row(&all, "total", "all.iops");
    let mean = ["a1.json", "a2.json", "a3.json"].map(number).iter().sum::<f64>() / 3.0;
    assert!((iops["values"][0]["mean"].as_f64().unwrap() / mean - 1.0).abs() < 1e-12);
    assert!(iops["values"][0]["half_width_95"].as_f64().unwrap() > 0.0, "the seeds ask for other places");
    assert_eq!(iops["differences"][1]["beyond_chance"], Value::Bool(true), "{iops}");
    let text = place.aster(&[&["compare"][..], &files].concat()).out;
    for says in ["A: a1.json, a2.json, a3.json, 3 runs with seeds 1, 2, 3", "ftl.buffer_entries", "±", " *"]
    {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!text.contains("checked_blocks"), "the same in all: {text}");
    let text = place.aster(&["compare", "--all", "a1.json", "b1.json"]).out;
    assert!(text.contains("checked_blocks") && text.contains("task j"), "{text}");
}

#[test]
fn what_is_no_report_is_refused_by_name() {
    let place = Place::new();
    place.write("x.json", "{\"tasks\": 5}");
    place.write("y.json", "{\"tasks\": [");
    let error = place.refused(2, &["compare", "x.json", "x.json"]);
    assert!(error.contains("x.json: is no report of `aster run --json`"), "{error}");
    let error = place.refused(2, &["compare", "x.json", "y.json"]);
    assert!(error.contains("y.json: EOF while parsing") && error.contains("is expected here"), "{error}");
    let error = place.refused(2, &["compare", "x.json", "z.json"]);
    assert!(error.contains("z.json: no such file; a report of `aster run --json` is expected"), "{error}");
    assert_eq!(place.aster(&["compare", "x.json"]).code, 2);
}

/// Sweeps are the Python package's: its command gets the folders, and its exit status is the command line's.
#[test]
fn folders_of_sweeps_go_to_the_package() {
    let place = Place::new();
    for name in ["bin", "one", "-two"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    place.write("bin/aster-compare", "#!/bin/sh\nprintf '[%s]' \"$@\"\nexit 3\n");
    let program = place.path("bin/aster-compare");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let with_path = |path: &str, arguments: &[&str]| {
        let output = place.command(arguments).env("PATH", path).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
    let (code, out, _) = with_path(&path, &["compare", "--json", "one", "--", "-two"]);
    assert_eq!((code, &out[..]), (Some(3), "[--json][--][one][-two]"));
    let (code, _, err) = with_path(&place.path("one").display().to_string(), &["compare", "one", "one"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("compare: sweeps side by side are of Aster's Python package"), "{err}");
    place.write("a.json", "{}");
    let error = place.refused(2, &["compare", "one", "a.json"]);
    assert!(error.contains("one: is a folder, and others are reports: compare reports"), "{error}");
}
