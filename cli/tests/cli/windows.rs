//! A part of `--events` and `--perfetto`: from, until, the slowest.

use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeSet;

const MIXED: &str = "[mixed]\nrw=randrw\nbs=4k\nsize=4m\nnumber_ios=200\niodepth=8\n";
const RUN: [&str; 6] = ["run", "tiny", "--job", "mixed.fio", "--precondition", "0"];

fn with_job() -> Place {
    let place = Place::new();
    place.write("mixed.fio", MIXED);
    place
}
fn events(place: &Place, more: &[&str]) -> Vec<Value> {
    place.report(&[&RUN[..], &["--json", "--events", "e.jsonl"], more].concat());
    let text = place.read("e.jsonl");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    // Each file begins with what it is of, a part of a run's events as well.
    assert_eq!(lines.next().unwrap()["event"], "DriveShape");
    lines.collect()
}
fn at(event: &Value) -> u64 {
    event["at_ps"].as_u64().unwrap()
}
fn named<'a>(events: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["event"] == name)
}
/// The commands that a picture has a bar for, with how long each took.
fn drawn(place: &Place, more: &[&str]) -> Vec<(u64, f64)> {
    place.report(&[&RUN[..], &["--json", "--perfetto", "p.json"], more].concat());
    let trace: Value = serde_json::from_str(&place.read("p.json")).unwrap();
    let bars = trace["traceEvents"].as_array().unwrap().iter();
    let bars = bars.inspect(|bar| assert!(bar["ts"].is_null() || bar["ts"].as_f64() >= Some(0.0), "{bar}"));
    let commands =
        bars.filter(|bar| bar["ph"] == "X" && bar["pid"] == 1 && bar["args"]["host_id"].is_number());
    commands.map(|bar| (bar["args"]["command"].as_u64().unwrap(), bar["dur"].as_f64().unwrap())).collect()
}

#[test]
fn events_of_a_window_are_those_of_the_whole_between_its_ends() {
    let place = with_job();
    let whole = events(&place, &[]);
    // What is before belongs to boot and preconditioning.
    let work = events(&place, &["--from", "0s"]);
    let ends = |events: &[Value]| {
        let times = || events.iter().map(at);
        (times().min().unwrap(), times().max().unwrap())
    };
    let began = ends(&work).0;
    assert!(work.len() < whole.len() && began > ends(&whole).0, "{}", work[0]);
    let part = events(&place, &["--from", "200us", "--until", "900us"]);
    let in_work = |event: &Value| event["work_ps"].as_u64().unwrap();
    assert!(part.iter().all(|event| (200_000_000..900_000_000).contains(&in_work(event))));
    let (first, last) = ends(&part);
    let wanted: Vec<_> = whole.iter().filter(|event| (first..=last).contains(&at(event))).cloned().collect();
    assert_eq!(part, wanted);
    assert!(began + 199_000_000 <= first && last <= began + 901_000_000, "{began}: {first} to {last}");
    assert!(last - first > 500_000_000 && last - first < 700_000_000, "{first} to {last}");
    let ran = place.aster(&[&RUN[..], &["--events", "e.jsonl", "--from", "10s"]].concat());
    assert!(ran.code == 0 && ran.err.contains("--from 10 s is behind the end of the work"), "{}", ran.err);
    let left = place.read("e.jsonl");
    assert!(left.lines().count() == 1 && left.contains("DriveShape"), "{left}");
}

#[test]
fn the_slowest_commands_are_the_same_in_events_and_picture() {
    let place = with_job();
    let mut all = drawn(&place, &[]);
    assert_eq!(all.len(), 200);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let slowest = drawn(&place, &["--slowest", "5"]);
    let ids = |bars: &[(u64, f64)]| bars.iter().map(|bar| bar.0).collect::<BTreeSet<_>>();
    assert_eq!(ids(&slowest), ids(&all[..5]));
    let kept = events(&place, &["--slowest", "5"]);
    assert_eq!(named(&kept, "CommandFetched").count(), 5);
    assert_eq!(named(&kept, "CommandCompleted").count(), 5);
    assert!(named(&kept, "SliceStarted").count() >= 5 && named(&kept, "FlashIssued").count() > 0);
    let issued = named(&kept, "FlashIssued").count();
    assert_eq!(issued, named(&kept, "FlashFinished").count(), "a flash operation has both of its ends");
    // Each is as long as in the picture, but for the doorbell before its fetch.
    let fetched: Vec<_> = named(&kept, "CommandFetched").map(at).collect();
    assert!(fetched.is_sorted(), "in the order in which they were told");
}

#[test]
fn a_window_bounds_the_picture_and_the_command_that_is_explained() {
    let place = with_job();
    let all = drawn(&place, &[]);
    let some = drawn(&place, &["--from", "500us", "--until", "1ms"]);
    assert!(!some.is_empty() && some.len() < all.len() / 2, "{} of {}", some.len(), all.len());
    let explain = ["explain", "tiny", "--job", "mixed.fio", "--precondition", "0", "--json"];
    let slowest = place.report(&explain);
    // What an explanation or the picture says can be asked for as it is.
    let began = slowest["began_us"].as_f64().unwrap();
    let (from, until) = (format!("{:.3}us", began - 0.001), format!("{:.3}us", began + 0.001));
    let alone = drawn(&place, &["--from", &from, "--until", &until, "--slowest", "1"]);
    assert_eq!(alone.iter().map(|bar| bar.0).collect::<Vec<_>>(), [slowest["command"].as_u64().unwrap()]);
    let first = place.report(&[&explain[..], &["--until", "1us"]].concat());
    assert_ne!(first["command"], slowest["command"]);
    assert!(first["command"].as_u64().unwrap() <= 8, "one of those that began at once: {}", first["command"]);
}

#[test]
fn windows_that_mean_nothing_are_refused() {
    let place = with_job();
    let refused = |more: &[&str]| place.refused(2, &[&RUN[..], more].concat());
    let events = ["--events", "e.jsonl"];
    let with = |more: &[&str]| refused(&[&events[..], more].concat());
    assert!(with(&["--from", "2ms", "--until", "2ms"]).contains("nothing is between"));
    assert!(with(&["--from", "5"]).contains("a time with its unit"));
    assert!(with(&["--slowest", "0"]).contains("must be a whole number from 1"));
    assert!(refused(&["--slowest", "3"]).contains("name one of them"));
    assert!(refused(&["--until", "3ms"]).contains("--until chooses"));
    let number = ["explain", "tiny", "--job", "mixed.fio", "--command", "3", "--from", "1ms"];
    assert!(place.refused(2, &number).contains("without --command"));
    assert!(!place.path("e.jsonl").exists());
}
