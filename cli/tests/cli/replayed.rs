//! Traces: their lateness, their devices, and their compression.

use crate::place::Place;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

/// `requests` reads of 4 KiB, one every `every_us` microseconds, on a filled drive.
fn reads(requests: u64, every_us: u64) -> String {
    let line = |i: u64| format!("{} /dev/sda read {} 4096\n", i * every_us, i * 37 % 512 * 4096);
    format!("fio version 3 iolog\n{}", (0..requests).map(line).collect::<String>())
}
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()) + 1e-9
}

const RUN: [&str; 6] = ["run", "tiny", "--precondition", "0", "--trace", "t.log"];

/// More than the drive can do: a request every microsecond.
#[test]
fn a_replay_that_falls_behind_says_so() {
    let place = Place::new();
    place.write("t.log", reads(2_000, 1));
    let report = place.report(&[&RUN[..], &["--json", "--queue-depth", "4"]].concat());
    let task = &report["tasks"][0];
    let (kind, lateness) = (&task["kinds"][0], &task["lateness"]);
    assert_eq!((&lateness["requests"], &report["trace"]["loop"]), (&2_000.into(), &"open".into()));
    assert!(number(&lateness["late"]) > 1_900.0 && number(&lateness["late_share"]) > 0.95, "{lateness}");
    assert!(near(number(&lateness["arrivals_s"]), 1_999e-6), "{lateness}");
    // The last request is the latest of all: it waited until nearly all of the run was over.
    let over = number(&report["simulated_s"]) - number(&lateness["arrivals_s"]);
    assert!(number(&lateness["max_us"]) / 1e6 > 0.9 * over, "{lateness}");
    assert!(number(&lateness["max_at_s"]) > 0.9 * 1_999e-6);
    // From arrival a request's time is its lateness and what it took from issue on.
    let (issue, arrival) = (&kind["latency"], &kind["latency_from_arrival"]);
    let sum = number(&issue["mean_us"]) + number(&lateness["mean_us"]);
    assert!(near(number(&arrival["mean_us"]), sum), "{arrival} is not {issue} and {lateness}");
    let intervals = lateness["over_time"].as_array().unwrap();
    let count = |of: &str| intervals.iter().map(|interval| number(&interval[of])).sum::<f64>();
    assert_eq!((count("requests"), count("late")), (2_000.0, number(&lateness["late"])));
    assert!(number(&intervals[0]["mean_us"]) < number(&intervals.last().unwrap()["mean_us"]));

    let told = place.aster(&[&RUN[..], &["--queue-depth", "4"]].concat());
    assert!(
        told.err.contains("the replay fell behind: ") && told.err.contains(" of 2000 requests"),
        "{}",
        told.err
    );
    let rows: Vec<_> = told.out.lines().skip(2).collect();
    assert!(rows[0].starts_with("t.log ") && rows[0].contains('%'), "{}", told.out);
    assert!(rows[1].starts_with("  reads from arrival ") && !rows[1].contains('%'), "{}", told.out);
}

#[test]
fn a_replay_in_time_says_that_too() {
    let place = Place::new();
    place.write("t.log", reads(50, 2_000));
    let report = place.report(&[&RUN[..], &["--json"]].concat());
    let task = &report["tasks"][0];
    assert_eq!(task["lateness"]["late"], 0);
    assert_eq!(task["kinds"][0]["latency"], task["kinds"][0]["latency_from_arrival"]);
    let told = place.aster(&RUN);
    assert!(
        !told.err.contains("fell behind") && !told.out.contains("reads from arrival"),
        "{}{}",
        told.err,
        told.out
    );
    assert!(told.out.contains("Every request went at its recorded time"), "{}", told.out);
    // A speed of 100 is too much for it, and a hundredth of the time is all it has.
    let fast = place.report(&[&RUN[..], &["--json", "--trace-speed", "100", "--queue-depth", "1"]].concat());
    let lateness = &fast["tasks"][0]["lateness"];
    assert!(
        number(&lateness["late"]) > 0.0 && near(number(&lateness["arrivals_s"]), 49.0 * 20e-6),
        "{lateness}"
    );
    assert_eq!(fast["trace"]["speed"], 100.0);
}

#[test]
fn a_closed_loop_keeps_gaps_and_is_never_late() {
    let place = Place::new();
    place.write("t.log", reads(100, 50));
    let of = |more: &[&str]| place.report(&[&RUN[..], &["--json", "--queue-depth", "1"], more].concat());
    let (open, closed) = (of(&[]), of(&["--trace-loop", "closed"]));
    let fastest = of(&["--trace-speed", "fastest"]);
    let task = &closed["tasks"][0];
    assert!(task["lateness"].is_null() && task["kinds"][0]["latency_from_arrival"].is_null(), "{task}");
    assert_eq!((&closed["trace"]["loop"], &fastest["trace"]["loop"]), (&"closed".into(), &"fastest".into()));
    // One at a time, each thinks 50 µs after the one before: 99 gaps and 100 latencies.
    let latency = number(&task["kinds"][0]["latency"]["mean_us"]);
    let took = 99.0 * 50.0 + 100.0 * latency;
    assert!((number(&closed["simulated_s"]) * 1e6 - took).abs() < 0.02 * took, "{took}: {closed}");
    assert!((number(&task["slipped_s"]) * 1e6 - 99.0 * latency).abs() < 2.0 * latency, "{task}");
    let seconds = [&fastest, &open, &closed].map(|report| number(&report["simulated_s"]));
    assert!(seconds.is_sorted(), "{seconds:?}");
    let told = place.aster(&[&RUN[..], &["--trace-loop", "closed", "--queue-depth", "1"]].concat());
    assert!(told.err.contains("the time between requests was kept"), "{}", told.err);
    let senseless = [&RUN[..], &["--trace-loop", "open", "--trace-speed", "fastest"]].concat();
    assert!(
        place.refused(2, &senseless).contains("--trace-loop open means nothing to --trace-speed fastest")
    );
}

const DISKS: &str = "128166372003061629,usr,0,Write,4096,4096,41286\n\
                     128166372003061639,usr,1,Write,0,4096,41286\n\
                     128166372003061739,src,0,Read,8192,4096,41286\n\
                     128166372003061829,usr,0,Read,4096,4096,41286\n";

#[test]
fn all_devices_of_a_trace_are_replayed_or_those_that_are_named() {
    let place = Place::new();
    place.write("t.log", DISKS);
    let run = ["run", "tiny", "--trace", "t.log"];
    let of = |more: &[&str]| place.report(&[&run[..], &["--json", "--verify"], more].concat());
    let counts = |report: &Value| {
        let kinds = report["tasks"][0]["kinds"].as_array().unwrap();
        kinds.iter().map(|kind| kind["requests"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let all = of(&["--trace-device", "all"]);
    assert_eq!(counts(&all), [2, 2]);
    let places: Vec<_> = all["trace"]["devices"].as_array().unwrap().iter().map(|d| &d["offset"]).collect();
    assert_eq!(places, [0, 65_536, 131_072]);
    let two = of(&["--trace-device", "usr,1", "--trace-device", "usr,0"]);
    assert_eq!(counts(&two), [1, 2]);
    assert_eq!(two["trace"]["devices"][2]["replayed"], false);
    assert_eq!(of(&["--trace-device", "all", "--trace-place", "same"])["trace"]["devices"][2]["offset"], 0);
    let told = place.aster(&[&run[..], &["--trace-device", "all"]].concat()).err;
    assert!(told.contains("\"usr,1\" (1 request) at bytes 65536 to 131072"), "{told}");

    let unknown = place.refused(2, &[&run[..], &["--trace-device", "usr,7"]].concat());
    for words in ["no request to \"usr,7\"", "\"usr,0\" (2 requests)", "\"usr,1\" (1 request)", "\"src,0\""] {
        assert!(unknown.contains(words), "{unknown}");
    }
    let both = [&run[..], &["--trace-device", "all", "--trace-device", "usr,0"]].concat();
    assert!(place.refused(2, &both).contains("name no others"));
}

#[test]
fn packed_traces_and_standard_input_are_the_same_trace() {
    let place = Place::new();
    place.write("t.log", DISKS);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(DISKS.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    place.write("t.gz", &gzip);
    let timeless = |mut report: Value| {
        let all = report.as_object_mut().unwrap();
        for different in ["wall_s", "name", "trace", "tasks", "provenance", "warnings"] {
            all.remove(different).unwrap_or_else(|| panic!("{different}"));
        }
        report
    };
    let run = |file: &str| place.report(&["run", "tiny", "--json", "--trace-device", "all", "--trace", file]);
    let plain = run("t.log");
    let packed = run("t.gz");
    assert_eq!(
        (&packed["trace"]["compression"], &packed["trace"]["format"]),
        (&"gzip".into(), &"msr".into())
    );
    assert_eq!(packed["tasks"][0]["kinds"], plain["tasks"][0]["kinds"]);
    let sums = [&plain, &packed].map(|report| report["trace"]["sha256"].as_str().unwrap().len());
    assert_eq!(sums, [64, 64]);
    assert_eq!(timeless(packed), timeless(plain.clone()));

    for bytes in [DISKS.as_bytes(), &gzip] {
        let mut child = place
            .command(&["run", "tiny", "--json", "--trace-device", "all", "--trace", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["tasks"][0]["kinds"], plain["tasks"][0]["kinds"]);
        assert_eq!(report["trace"]["file"], "standard input");
    }
    place.write("cut.gz", &gzip[..gzip.len() - 12]);
    let error = place.refused(2, &["run", "tiny", "--trace", "cut.gz"]);
    assert!(error.contains("cut.gz: line ") && error.contains(": the gzip file is cut off: "), "{error}");
    place.write("t.xz", [0xfd, b'7', b'z', b'X', b'Z', 0, 1, 2]);
    assert!(place.refused(2, &["run", "tiny", "--trace", "t.xz"]).contains("xz -dc t.xz"));
}

#[test]
fn mqsims_traces_are_replayed() {
    let place = Place::new();
    place.write("t.log", "1000000 0 64 8 0\n1500000 0 64 8 1\n");
    let report = place.report(&["run", "tiny", "--trace", "t.log", "--json", "--verify"]);
    assert_eq!(report["trace"]["format"], "mqsim");
    assert_eq!(report["tasks"][0]["checked_blocks"], 8);
    assert!(near(number(&report["tasks"][0]["lateness"]["arrivals_s"]), 0.0005));
    let slow = ["run", "tiny", "--trace", "t.log", "--json", "--trace-format", "mqsim-us"];
    assert!(near(number(&place.report(&slow)["tasks"][0]["lateness"]["arrivals_s"]), 0.5));
    place.write("t.log", "1000000 0 64 8 2\n");
    let error = place.refused(2, &["run", "tiny", "--trace", "t.log", "--trace-format", "mqsim"]);
    assert!(error.contains("line 1, column 16: expected 0 for a write or 1 for a read"), "{error}");
}

#[test]
fn a_device_s_name_does_nothing_to_a_terminal() {
    let place = Place::new();
    let line =
        |disk: u8, at: u32| format!("128166372003061629,a\u{1b}[31mb\u{9b}c,{disk},Read,{at},4096,41286\n");
    place.write("t.csv", [line(0, 0), line(1, 4096)].concat());
    let ran = place.aster(&["run", "tiny", "--trace", "t.csv", "--trace-device", "all"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("a\\u{1b}[31mb\\u{9b}c"), "{}", ran.err);
    assert!(!format!("{}{}", ran.out, ran.err).contains(['\u{1b}', '\u{9b}']), "{:?}", ran.err);
}

#[test]
fn tables_are_replayed_and_any_other_by_the_names_of_its_columns() {
    let place = Place::new();
    let alibaba =
        "419,W,8192,4096,1577808144360767\n7,R,0,512,1577808144361000\n419,R,8192,4096,1577808144361767\n";
    place.write("a.csv", alibaba);
    let report = place.report(&["run", "tiny", "--trace", "a.csv", "--json"]);
    assert_eq!(
        (&report["trace"]["format"], &report["total"]["all"]["requests"]),
        (&"alibaba".into(), &2.into())
    );
    assert_eq!(report["tasks"][0]["lateness"]["arrivals_s"], 0.001);
    // The same, otherwise written.
    place.write("own.csv", "when;what\n0,8,sda,write,16\n1000,8,sda,read,16\n".replace(';', ",").as_str());
    let columns = "time:us,size:sectors,device,kind,offset:sectors";
    let run = ["run", "tiny", "--trace", "own.csv", "--json", "--trace-columns"];
    let own = place.refused(2, &[&run[..], &[columns]].concat());
    assert!(own.contains("line 1, column 1: expected a time, found \"when\""), "{own}");
    place.write("own.csv", "when,much,what,how,where\n0,8,sda,write,16\n1000,8,sda,read,16\n");
    let own = place.report(&[&run[..], &[columns]].concat());
    assert_eq!(own["trace"]["format"], "columns");
    assert_eq!(own["total"], report["total"]);
    let refused = place.refused(2, &[&run[..], &["time,kind,offset"]].concat());
    assert!(refused.contains("the column size is missing"), "{refused}");
    let both = ["--trace-format", "msr", "--trace-columns", columns];
    place.refused(2, &[&["run", "tiny", "--trace", "own.csv"][..], &both].concat());
}
