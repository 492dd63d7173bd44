//! Figures survive failures beside and after them, and a command has the same number everywhere.

use crate::place::Place;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::Stdio;

const MIXED: &str = "[mixed]\nrw=randrw\nbs=4k\nsize=4m\nnumber_ios=200\niodepth=8\n";

fn with_job() -> Place {
    let place = Place::new();
    place.write("mixed.fio", MIXED);
    place
}

#[test]
fn a_report_outlasts_the_files_that_cannot_be_written_beside_it() {
    let place = with_job();
    symlink("/dev/full", place.path("full.vcd")).unwrap();
    let run = ["run", "tiny", "--job", "mixed.fio", "--json"];
    for file in [["--events", "/dev/full"], ["--perfetto", "/dev/full"], ["--wave", "full.vcd"]] {
        let ran = place.aster(&[&run[..], &file].concat());
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains(&format!("error: {}: No space left on device", file[1])), "{}", ran.err);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["total"]["all"]["requests"], 200);
        let codes: Vec<_> = report["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
        assert!(codes.contains(&&"file-not-written".into()), "{codes:?}");
    }
    // The table, and an explanation, as well.
    let table = place.aster(&["run", "tiny", "--job", "mixed.fio", "--monitor", "/dev/full"]);
    assert!(table.code == 1 && table.out.contains("mixed, reads"), "{}", table.err);
    let told = place.aster(&["explain", "tiny", "--job", "mixed.fio", "--events", "/dev/full"]);
    assert!(told.code == 1 && told.out.starts_with("command "), "{}", told.err);
    // Standard output itself: the other stream is left.
    let mut command = place.command(&run);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.code() == Some(1) && said.contains("mixed, reads"), "{said}");
    assert!(said.contains("error: standard output: No space left on device"), "{said}");
}

#[test]
fn standard_output_is_no_place_for_what_goes_beside_the_report() {
    let place = with_job();
    for option in ["--events", "--perfetto", "--monitor"] {
        let error = place.refused(2, &["run", "tiny", "--job", "mixed.fio", option, "-"]);
        assert!(error.contains("error: -: standard output carries the report"), "{error}");
        assert!(!place.path("-").exists());
    }
}

/// Of one run, behind a preconditioning that counts commands, too.
#[test]
fn a_command_has_the_same_number_in_an_explanation_in_events_and_in_perfettos_trace() {
    let place = with_job();
    let run = ["explain", "tiny", "--job", "mixed.fio", "--precondition", "0", "--json", "--command", "37"];
    let told = place.report(&[&run[..], &["--events", "e.jsonl", "--perfetto", "p.json"]].concat());
    assert_eq!(told["command"], 37);
    let lines = place.read("e.jsonl");
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut numbers = Vec::new();
    let mut own = Vec::new();
    for event in events {
        numbers.extend(event["number"].as_u64().filter(|_| event["event"] == "CommandFetched"));
        own.extend((event["number"] == 37).then_some(event));
    }
    assert!(numbers.into_iter().eq(1..=200), "the work's commands and no others");
    let named = |name: &str| own.iter().find(|event| event["event"] == name).unwrap();
    for key in ["queue", "host_id"] {
        assert_eq!(named("CommandFetched")[key], told[key]);
    }
    for key in ["offset", "length"] {
        assert_eq!(named("CommandStarted")[key], told[key]);
    }
    let number = |value: &Value| value.as_f64().unwrap();
    let ended = number(&told["began_us"]) + number(&told["total_us"]);
    let completed = named("CommandCompleted");
    assert!((number(&completed["work_ps"]) / 1e6 - ended).abs() < 1e-3, "{own:?}");
    let ended = number(&told["began_since_power_on_us"]) + number(&told["total_us"]);
    assert!((number(&completed["at_ps"]) / 1e6 - ended).abs() < 1e-3, "{own:?}");
    let trace: Value = serde_json::from_str(&place.read("p.json")).unwrap();
    let bars = trace["traceEvents"].as_array().unwrap();
    let is_it = |bar: &&Value| bar["args"]["command"] == 37 && bar["args"]["host_id"].is_number();
    let bar = bars.iter().find(is_it).unwrap();
    for key in ["host_id", "offset", "length"] {
        assert_eq!(bar["args"][key], told[key]);
    }
    assert!((number(&bar["ts"]) - number(&told["began_us"])).abs() < 1e-3, "{bar}");

    // It has a provenance like a report, and can be repeated like one.
    assert_eq!(told["provenance"]["profile"]["name"], "tiny");
    assert_eq!((&told["interrupted"], &told["warnings"]), (&false.into(), &serde_json::json!([])));
    // After the end there is nothing, and one warning says so.
    let late = place.aster(&["explain", "tiny", "--job", "mixed.fio", "--from", "10s"]);
    assert_eq!(late.code, 1);
    assert!(
        late.err
            .contains("error: there is nothing to explain: no command of the work began within --from 10 s")
    );
    assert!(late.err.contains("--from 10 s is behind the end of the work, which took "), "{}", late.err);
}

#[test]
fn what_the_terminal_is_told_stands_in_the_json() {
    let place = Place::new();
    place.write(
        "all.fio",
        "[a]\nrw=write\nbs=256k\nsize=1m\nnumber_ios=9\n[b]\nrw=randread\ntime_based\nruntime=1\nexitall\n\
         ss=iops:0.0001%\n\
         ss_dur=4ms\nss_interval=1ms\n[c]\nrw=write\nsize=64k\nexitall\n",
    );
    let ran = place.aster(&["run", "tiny", "--job", "all.fio", "--json", "--events", "e", "--from", "100s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let warnings = report["warnings"].as_array().unwrap();
    let said: Vec<_> = ran.err.lines().filter(|line| !line.contains("run: ") && !line.is_empty()).collect();
    for line in &said {
        let is_there = |w: &Value| line.starts_with(w["message"].as_str().unwrap());
        assert!(warnings.iter().any(is_there), "{line} is not in {warnings:?}");
    }
    assert_eq!(said.len(), warnings.len(), "{} and {warnings:?}", ran.err);
    let codes: Vec<_> = warnings.iter().map(|w| w["code"].as_str().unwrap()).collect();
    for code in ["number-ios", "limit", "not-steady", "ended-by-another", "reads-unmapped", "window-empty"] {
        assert!(codes.contains(&code), "{code} is not in {codes:?}");
    }
}

/// One disk's lines of a trace of two, with a flush between.
#[test]
fn a_flush_of_a_trace_is_no_request_that_waited_for_room() {
    let place = Place::new();
    let trace = "fio version 3 iolog\n0 /dev/sda write 0 131072\n1 /dev/sda sync 0 0\n2 /dev/sda write \
                 131072 4096\n\
                 5000 /dev/sda read 0 4096\n5001 /dev/sdb read 0 4096\n";
    place.write("t.log", trace);
    let ran = place.aster(&["run", "tiny", "--trace", "t.log", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let late = &report["tasks"][0]["lateness"];
    assert_eq!(late["requests"], report["total"]["all"]["requests"], "flushes are counted apart");
    let counts = ["requests", "late", "late_for_depth", "late_for_flush", "flushes", "flushes_late"];
    assert_eq!(counts.map(|key| late[key].as_u64().unwrap()), [3, 1, 0, 1, 1, 1], "{late}");
    assert!(
        ran.err.contains("1 of 3 requests (33.3 %) waited in the host for a flush before"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("1 request to other devices is left out"), "{}", ran.err);
    let codes: Vec<_> = report["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
    assert!(codes.contains(&&"late".into()) && codes.contains(&&"trace-devices".into()), "{codes:?}");
}
