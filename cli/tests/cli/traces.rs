//! `aster trace`, from the outside.

use crate::place::Place;
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;

/// Two disks, a second from first to last; the first is read in a row, the second written at two places.
fn two_disks() -> String {
    let mut text = String::new();
    for n in 0..100u64 {
        let at = 128_166_372_003_061_629 + n * 100_000;
        text += &format!("{at},usr,0,Read,{},8192,1\n", n * 8192);
        text += &format!("{at},usr,1,Write,{},4096,1\n", (n % 2) * (1 << 40));
    }
    text
}

fn requests(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip(1).map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|words| !matches!(&words[2][..], "add" | "open")).collect()
}

#[test]
fn a_trace_is_looked_at_cut_made_dense_scaled_and_replayed() {
    let place = Place::new();
    place.write("t.csv", two_disks());
    let info = place.report(&["trace", "info", "t.csv", "--json"]);
    assert_eq!((&info["requests"], &info["format"]), (&200.into(), &"msr".into()));
    assert_eq!(info["footprint"]["bytes"], 100 * 8192 + 2 * 4096);
    assert_eq!(info["kinds"][0]["sequential_share"], 0.99);
    let one = place.report(&["trace", "info", "t.csv", "--trace-device", "usr,1", "--json"]);
    assert_eq!((&one["requests"], &one["devices"][0]["end"]), (&100.into(), &((1u64 << 40) + 4096).into()));
    let text = place.aster(&["trace", "info", "t.csv"]);
    assert!(text.out.contains("200 requests of 2 devices in 990.00 ms"), "{}", text.out);

    // A tenth of the time, of one disk.
    let slice = ["trace", "slice", "t.csv", "--from", "100ms", "--until", "200ms", "--trace-device", "usr,0"];
    let ran = place.aster(&[&slice[..], &["--out", "part.log"]].concat());
    assert!(ran.code == 0 && ran.err.contains("part.log: 10 requests of"), "{}", ran.err);
    let part = requests(&place.read("part.log"));
    assert_eq!(
        (part.len(), &part[0][..]),
        (10, &["0", "usr,0", "read", "81920", "8192"].map(String::from)[..])
    );
    assert_eq!(part[9][0], "90000");

    // Its terabyte of gaps goes; then it fits, and is replayed in a tenth of the time.
    assert_eq!(place.aster(&["trace", "remap", "t.csv", "--out", "dense.log.gz"]).code, 0);
    let scale = ["trace", "scale", "dense.log.gz", "--duration", "99ms", "--fit", "tiny", "--chunk", "4k"];
    let ran = place.aster(&[&scale[..], &["--out", "fits.log"]].concat());
    assert!(ran.code == 0 && ran.err.contains("200 requests, 0.099000 s"), "{}", ran.err);
    let run = place.report(&["run", "tiny", "--trace", "fits.log", "--json"]);
    assert_eq!((&run["total"]["all"]["requests"], &run["trace"]["format"]), (&200.into(), &"iolog".into()));
    let dense = place.report(&["trace", "info", "dense.log.gz", "--json"]);
    assert_eq!(dense["compression"], "gzip");
    assert_eq!(
        (&dense["devices"][0]["end"], &dense["footprint"]),
        (&(102 * 8192 - 8192).into(), &info["footprint"])
    );

    // The same on standard output, from standard input.
    let mut child = place.command(&["trace", "remap", "-", "--out", "-"]);
    let child = child.stdin(std::fs::File::open(place.path("t.csv")).unwrap()).output().unwrap();
    let mut unpacked = String::new();
    let packed = std::fs::File::open(place.path("dense.log.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut unpacked).unwrap();
    assert_eq!(String::from_utf8(child.stdout).unwrap(), unpacked);
}

#[test]
fn binary_events_of_blktrace_are_known_by_their_first_bytes() {
    // Two events by the header's layout: a write of 4 KiB with force unit access, and a read.
    let event = |at: u64, sector: u64, action: u32| {
        let words = [0x6561_7407u32, 1].map(u32::to_le_bytes).concat();
        let rest = [4096, action, 9, 8 << 20 | 3, 0, 0].map(u32::to_le_bytes).concat();
        [&words[..], &at.to_le_bytes(), &sector.to_le_bytes(), &rest].concat()
    };
    let place = Place::new();
    let events = [event(5_000, 8, 1 | (1 << 1 | 1 << 15) << 16), event(7_500, 64, 1 | 1 << 16)].concat();
    assert_eq!(events.len(), 96);
    place.write("t.blktrace", &events);
    let run = place.report(&["run", "tiny", "--trace", "t.blktrace", "--json"]);
    assert_eq!(
        (&run["trace"]["format"], &run["trace"]["devices"][0]["name"]),
        (&"blktrace".into(), &"8,3".into())
    );
    assert_eq!(run["total"]["all"]["requests"], 2);
    let ran = place.aster(&["trace", "slice", "t.blktrace", "--out", "t.log"]);
    assert!(
        ran.err.contains("1 write asks for force unit access") && ran.err.contains("--as blktrace"),
        "{}",
        ran.err
    );
    let text = ["trace", "slice", "t.blktrace", "--as", "blktrace", "--out", "-"];
    let text = place.aster(&text);
    assert_eq!(text.out, "8,3 0 1 0.000000000 0 Q WF 8 + 8\n8,3 0 2 0.000002500 0 Q R 64 + 8\n");
    place.write("cut.blktrace", &events[..90]);
    let error = place.refused(2, &["trace", "info", "cut.blktrace"]);
    assert!(
        error.contains("cut.blktrace: event 2, behind 1 request: the file ends in the middle"),
        "{error}"
    );
}

#[test]
fn mistakes_name_what_is_wrong_and_leave_nothing_behind() {
    let place = Place::new();
    place.write("t.csv", two_disks());
    let mistakes = |arguments: &str, says: &str| {
        let arguments: Vec<_> = ["trace"].into_iter().chain(arguments.split(' ')).collect();
        let error = place.refused(2, &arguments);
        assert!(error.contains(says), "{arguments:?}: {error}");
    };
    mistakes("info nowhere.csv", "nowhere.csv: no such file; a trace is expected here");
    mistakes("slice t.csv --out t.csv", "is read by this run and would be overwritten");
    mistakes("slice t.csv --out p --from 2s --until 1s", "--until 1 s is not after --from 2 s");
    mistakes("slice t.csv --out p --from 2h", "nothing is left of its 200 requests");
    mistakes("slice t.csv --out p --range 5..5", "nothing is between 5 and 5");
    mistakes(
        "slice t.csv --out p --trace-device x",
        "holds no request to \"x\"; it has \"usr,0\" (100 requests)",
    );
    mistakes("slice t.csv --out p.zst", "is packed by gzip alone");
    mistakes("scale t.csv --out p", "nothing is to be scaled");
    mistakes("scale t.csv --out p --capacity 4k", "line 1: 8192 bytes at 0 are more than all of the 4096");
    mistakes("scale t.csv --out p --time 2 --chunk 1000", "--chunk 1000: expected a multiple of 512");
    mistakes("scale t.csv --out p --duration 0s", "--duration 0");
    mistakes("remap t.csv --out p --unit 0", "--unit 0: expected a multiple of 512");
    mistakes("remap t.csv --out no/p", "its folder is not there");
    place.write("bad.csv", two_disks().replacen("Read,8192,", "Reed,8192,", 1));
    mistakes("remap bad.csv --out p", "bad.csv: line 3, column 26: expected Read or Write, found \"Reed\"");
    assert!(!place.path("p").exists(), "a trace that isn't whole is no trace");
    let usage = place.aster(&["trace", "info"]);
    assert_eq!(usage.code, 2);
}

#[test]
fn a_reader_that_goes_ends_it() {
    let place = Place::new();
    place.write("t.csv", two_disks().repeat(50));
    let mut child = place.command(&["trace", "slice", "t.csv", "--out", "-"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(141));
}

#[test]
fn more_than_the_sample_holds_is_estimated_and_said_to_be() {
    let place = Place::new();
    // 1.5 million blocks of 4 KiB, each once, by requests of 16 MiB.
    let lines = (0..366u64).map(|n| format!("{n},W,{},16777216\n", n << 24));
    place.write("t.csv", lines.collect::<String>());
    let columns = ["--trace-columns", "time:ms,kind,offset,size"];
    let info = place.report(&[&["trace", "info", "t.csv", "--json"][..], &columns].concat());
    let estimate = info["footprint"]["bytes"].as_u64().unwrap() as f64;
    assert_eq!(info["footprint"]["one_block_in"], 2);
    assert!((estimate / (366u64 << 24) as f64 - 1.0).abs() < 0.01, "{estimate}");
    assert_eq!(info["reuse"]["accesses"], Value::from(366u64 << 12));
    let text = place.aster(&[&["trace", "info", "t.csv"][..], &columns].concat()).out;
    assert!(text.contains("estimated, with what follows, from one block in 2"), "{text}");
}
