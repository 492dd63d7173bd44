//! `aster bench-channel`, from the outside.

use crate::place::Place;
use serde_json::Value;

const SHORT: [&str; 7] = ["bench-channel", "--profile", "ideal", "--luns", "4", "--requests", "400"];

fn report(place: &Place, more: &[&str]) -> Value {
    place.report(&[&SHORT, more, &["--json"]].concat())
}

#[test]
fn each_controller_reports_as_json_and_as_a_table() {
    let place = Place::new();
    for controller in ["software", "synchronous", "asynchronous"] {
        let found = report(&place, &["--controller", controller]);
        assert_eq!((&found["controller"], &found["luns"]), (&controller.into(), &4.into()));
        assert_eq!((&found["kinds"][0]["requests"], &found["failures"]), (&400.into(), &0.into()));
        assert!(found["limit_percent"].as_f64().is_some_and(|percent| (50.0..100.0).contains(&percent)));
        assert_eq!(found["control_words"].is_object(), controller == "asynchronous");
        let table = place.aster(&[&SHORT[..], &["--controller", controller]].concat());
        assert_eq!(table.code, 0, "{}", table.err);
        assert!(table.out.contains(&format!("{controller} controller, 4 LUNs")), "{}", table.out);
        assert!(table.out.contains("\nread ") && table.out.contains("of the lower one"), "{}", table.out);
    }
}

#[test]
fn rate_sectors_pattern_operation_and_time_do_what_they_say() {
    let place = Place::new();
    let mb = |report: &Value| report["kinds"][0]["mb_per_s"].as_f64().unwrap();
    let fast = report(&place, &["--rate", "200"]);
    let slow = report(&place, &["--rate", "100"]);
    assert!(mb(&slow) < 0.6 * mb(&fast), "{slow} {fast}");
    assert_eq!(slow["mt_per_s"], 100.0);
    assert_eq!(report(&place, &["--sectors", "1"])["kinds"][0]["bytes"], 400 * 4096);
    assert_ne!(report(&place, &["--pattern", "random"])["simulated_s"], fast["simulated_s"]);
    assert_eq!(report(&place, &["--operation", "erase"])["kinds"][0]["kind"], "erase");
    let mixed = report(&place, &["--operation", "mixed"]);
    assert_eq!((&mixed["kinds"][0]["kind"], &mixed["kinds"][1]["kind"]), (&"read".into(), &"program".into()));
    let timed = place.report(&["bench-channel", "--profile", "ideal", "--seconds", "0.01", "--json"]);
    let seconds = timed["simulated_s"].as_f64().unwrap();
    assert!((0.01..0.02).contains(&seconds), "{seconds}");
}

#[test]
fn each_package_of_table_i_takes_the_place_of_the_profiles_own() {
    let place = Place::new();
    let alone = |package| {
        let arguments = [
            "bench-channel",
            "--package",
            package,
            "--luns",
            "1",
            "--depth",
            "1",
            "--requests",
            "64",
            "--json",
        ];
        let found = place.report(&arguments);
        assert_eq!(found["profile"], format!("cosmos-plus with {package}"));
        found["kinds"][0]["latency"]["mean_us"].as_f64().unwrap()
    };
    // tR is 100, 78 and 53 µs (B21).
    let (hynix, toshiba, micron) = (alone("hynix"), alone("toshiba"), alone("micron"));
    assert!(hynix > toshiba + 15.0 && toshiba > micron + 15.0, "{hynix} {toshiba} {micron}");
    let error = place.refused(2, &["bench-channel", "--package", "samsung"]);
    assert!(error.contains("no such package; there are hynix"), "{error}");
}

#[test]
fn waveforms_of_the_first_requests_are_written() {
    let place = Place::new();
    for file in ["first.vcd", "first.svg"] {
        report(&place, &["--wave", file, "--controller", "synchronous", "--content", "full"]);
    }
    assert!(place.read("first.vcd").contains("CE3_n"));
    assert!(place.read("first.svg").starts_with("<svg"));
    assert!(place.read("first.csv").starts_with("time_ns,signal,level\n"));
}

#[test]
fn what_can_not_be_measured_is_refused_with_a_way_out() {
    let place = Place::new();
    let refused = |more: &[&str]| place.refused(2, &[&["bench-channel"], more].concat());
    assert!(refused(&["--controller", "hardware"]).contains("synchronous"));
    assert!(refused(&["--profile", "tiny", "--luns", "3"]).contains("must be a multiple of 2"));
    assert!(refused(&["--luns", "17"]).contains("must be from 1 to 16 on cosmos-plus"));
    assert!(refused(&["--luns", "33", "--wave", "out.vcd"]).contains("from 1 to 16"));
    assert!(refused(&["--package", "nosuch"]).contains("--package nosuch: no such package; there are hynix"));
    assert!(refused(&["--wave", "out.png"]).contains(".svg"));
    assert!(refused(&["--sectors", "9"]).contains("a page of cosmos-plus has 4"));
    assert!(refused(&["--rate", "9000"]).contains("no timing mode"));
    assert!(refused(&["--seconds", "0"]).contains("simulated seconds"));
    assert!(refused(&["--profile", "cosmos-puls"]).contains("did you mean"));
    assert!(refused(&["--set", "channel.controler=x"]).contains("controller"));
}

#[test]
fn failing_requests_are_counted_and_end_in_exit_status_1() {
    let place = Place::new();
    let more = ["--operation", "program", "--set", "package.program_failures_per_million=100000"];
    let error = place.refused(1, &[&SHORT[..], &more].concat());
    assert!(error.contains("requests failed; the first: a program failed in the array"), "{error}");
}

#[test]
fn a_read_level_moves_the_error_rate_of_an_aged_package_over_each_controller() {
    let place = Place::new();
    let aged = |controller: &str, level: &str| {
        let found = place.report(&[
            "bench-channel",
            "--package",
            "tlc-3d",
            "--luns",
            "2",
            "--requests",
            "300",
            "--age",
            "8760",
            "--controller",
            controller,
            "--read-level",
            level,
            "--json",
        ]);
        assert_eq!(found["read_level"].to_string(), level);
        found["corrected_bits"].as_u64().unwrap()
    };
    for controller in ["software", "synchronous", "asynchronous"] {
        let (fresh, shifted) = (aged(controller, "0"), aged(controller, "3"));
        assert!(shifted > 0 && shifted * 4 < fresh, "{controller}: {fresh} {shifted}");
    }
    let refused = |package| place.refused(2, &["bench-channel", "--package", package, "--read-level", "10"]);
    assert!(refused("tlc-3d").contains("the level table of this package has 10 rows"));
    assert!(refused("onfi-slc").contains("the level table of this package has 0 rows"));
}

#[test]
fn reads_that_are_beyond_correction_are_counted() {
    let place = Place::new();
    let beyond = ["--package", "tlc-3d", "--age", "8760", "--read-level", "9"];
    let run = place.aster(&[&SHORT[..1], &["--luns", "2", "--requests", "300"], &beyond[..]].concat());
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("reads uncorrectable at read level 9"), "{}", run.out);
    assert!(run.err.contains("the first: a read brought more errors than the code corrects"), "{}", run.err);
}

/// The whole of it with `ASTER_LONG=1`.
#[test]
fn the_babol_experiment_brings_tables_and_figures() {
    let place = Place::new();
    let whole = std::env::var("ASTER_LONG").is_ok_and(|long| long == "1");
    let arguments: &[&str] = &["reproduce", "babol", "--out", "figures", "--json", "--quick"];
    let ran = place.aster(if whole { &arguments[..5] } else { arguments });
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let clocks = if whole { 5 } else { 2 };
    // Three packages at two rates, two controllers in hardware and a coroutine at each clock.
    let tracks = found["throughput"]["tracks"].as_array().unwrap();
    assert_eq!(tracks.len(), 3 * 2 * (2 + clocks));
    for track in tracks {
        let luns = if track["package"] == "micron" { 2 } else { 8 };
        assert_eq!(track["points"].as_array().map(Vec::len), Some(luns), "{track}");
    }
    assert_eq!(found["transfers"].as_array().unwrap().len(), 2);
    assert_eq!(found["lines"][0]["operation"], "READ");
    assert!(
        found["polling"]
            .as_array()
            .unwrap()
            .iter()
            .any(|p| p["period_us"].as_f64().is_some_and(|us| us > 1.0))
    );
    for figure in ["fig9.svg", "fig10.svg", "fig11.svg"] {
        assert!(place.read(&format!("figures/{figure}")).starts_with("<svg"), "{figure}");
        assert!(ran.err.contains(&format!("wrote figures/{figure}\n")), "{}", ran.err);
        let numbers = place.read(&format!("figures/{}", figure.replace(".svg", ".csv")));
        assert!(numbers.lines().count() > 10, "{figure}: {numbers}");
    }
    for figure in ["fig10.png", "fig11.png"] {
        let bytes = std::fs::read(place.path(&format!("figures/{figure}"))).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n") && bytes.len() > 10_000, "{figure}");
        assert!(ran.err.contains(&format!("wrote figures/{figure}\n")), "{}", ran.err);
    }
    assert!(place.read("figures/fig10.csv").contains("channel,paper,8,LUNs,88.56"));
    // If a figure can't be written, the report is still printed.
    std::fs::create_dir_all(place.path("taken/fig9.svg")).unwrap();
    let table = place.aster(&["reproduce", "babol", "--quick", "--out", "taken"]);
    assert!(table.code == 2 && table.err.contains("fig9.svg: is a folder"), "{}", table.err);
    for said in ["Table I,", "Fig 10,", "hynix, 200 MT/s", "Fig 11,", "Table II,", "costs/host.toml"] {
        assert!(table.out.contains(said), "{said}: {}", table.out);
    }
    assert!(place.refused(2, &["reproduce", "babol-area", "--quick"]).contains("--quick"));
}
