//! A report says where its figures come from, and repeats its run.

use crate::place::Place;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

/// The results of the simulation.
fn figures(report: &Value) -> Value {
    let mut figures = report.clone();
    for other in ["wall_s", "provenance", "spans", "warnings"] {
        figures.as_object_mut().unwrap().remove(other);
    }
    figures
}

const MIXED: &str = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nsize=1m\nnumber_ios=300\nrandrepeat=0\n";

#[test]
fn a_report_alone_repeats_its_run_after_everything_else_has_changed() {
    let place = Place::new();
    place.write("j.fio", MIXED);
    let profile = place.aster(&["profiles", "tiny"]).out;
    place.write("my.toml", &profile);
    let asked = [
        "run",
        "my.toml",
        "--job",
        "j.fio",
        "--seed",
        "7",
        "--precondition",
        "10",
        "--content",
        "fingerprint",
    ];
    let more = ["--set", "ftl.buffer_entries=16", "--age", "100", "--verify", "--json"];
    let first = place.report(&[&asked[..], &more].concat());
    place.write("first.json", first.to_string());
    place.write("j.fio", "[other]\nrw=read\n");
    place.write("my.toml", "nonsense");

    let ran = place.aster(&["run", "--again", "first.json", "--json", "--spans"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("every figure is as in first.json"), "{}", ran.err);
    let second: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(figures(&second), figures(&first));
    assert!(second["spans"].is_object(), "outputs are those of the second command line");
    assert_eq!(second["provenance"], first["provenance"]);
    // And again from the second.
    place.write("second.json", second.to_string());
    assert_eq!(figures(&place.report(&["run", "--again", "second.json", "--json"])), figures(&first));
    // Changed figures in the report are detected.
    let mut edited = first.clone();
    edited["tasks"][0]["kinds"][0]["requests"] = 1.into();
    place.write("edited.json", edited.to_string());
    let error = place.refused(1, &["run", "--again", "edited.json", "--json"]);
    assert!(
        error.contains("a figure differs from edited.json")
            && error.contains("tasks[0].kinds[0].requests was 1 and is"),
        "{error}"
    );
    let mut lacking = first.clone();
    lacking.as_object_mut().unwrap().remove("tasks");
    place.write("lacking.json", lacking.to_string());
    let error = place.refused(1, &["run", "--again", "lacking.json", "--json"]);
    assert!(error.contains("a figure differs from lacking.json: tasks is missing there"), "{error}");
    // Another seed gives another run; otherwise the comparison above would show nothing.
    edited["provenance"]["seed"] = 8.into();
    place.write("edited.json", edited.to_string());
    let error = place.refused(1, &["run", "--again", "edited.json", "--json"]);
    assert!(error.contains("and others"), "{error}");
}

#[test]
fn a_report_says_where_its_figures_come_from() {
    let place = Place::new();
    place.write("j.fio", MIXED);
    let report = place.report(&["run", "tiny", "--job", "j.fio", "--set", "ftl.buffer_entries=16", "--json"]);
    let from = &report["provenance"];
    assert_eq!(from["aster"]["version"], env!("CARGO_PKG_VERSION"));
    let commit = &from["aster"]["commit"];
    let is_commit = |text: &str| text.trim_end_matches("-dirty").chars().all(|c| c.is_ascii_hexdigit());
    assert!(commit.is_null() || commit.as_str().is_some_and(is_commit), "{commit}");
    assert_eq!(from["profile"]["name"], "tiny");
    assert_eq!(from["profile"]["overrides"], serde_json::json!(["ftl.buffer_entries=16"]));
    assert_eq!(from["profile"]["keys"]["ftl"]["buffer_entries"], 16);
    assert_eq!(from["profile"]["keys"]["geometry"]["channels"], 2);
    assert_eq!(
        (&from["seed"], &from["content"], &from["hardware"]),
        (&1.into(), &"full".into(), &"timed".into())
    );
    assert_eq!(from["work"]["job"]["text"], MIXED);
    assert!(from["host"]["cores"].as_u64().unwrap() > 0 && from["host"]["os"].is_string(), "{from}");
    assert_eq!((&report["interrupted"], &from["image"]), (&false.into(), &Value::Null));
}

#[test]
fn what_cannot_be_repeated_is_refused_by_what_has_changed() {
    let place = Place::new();
    let again = |code, more: &[&str]| place.refused(code, &[&["run", "--again", "r.json"], more].concat());
    place.write("r.json", "{}");
    assert!(again(2, &[]).contains("doesn't say where its figures come from"));
    place.write("r.json", "Dear Aster,");
    assert!(again(2, &[]).contains("is no report"));
    assert!(again(2, &["--seed", "2"]).contains("--seed"));

    // A trace.
    let trace =
        "128166372003061629,usr,0,Write,4096,4096,41286\n128166372003061630,usr,0,Read,4096,4096,41286\n";
    place.write("t.csv", trace);
    let first = place.report(&["run", "tiny", "--trace", "t.csv", "--trace-speed", "fastest", "--json"]);
    place.write("r.json", first.to_string());
    assert_eq!(figures(&place.report(&["run", "--again", "r.json", "--json"])), figures(&first));
    place.write("t.csv", trace.replace("Read,4096", "Read,8192"));
    let error = again(2, &[]);
    assert!(error.contains("t.csv: is another trace") && error.contains("SHA-256"), "{error}");

    // An interrupted run, and one with pieces of its own.
    let mut other = first.clone();
    other["interrupted"] = true.into();
    place.write("r.json", other.to_string());
    assert!(again(2, &[]).contains("was interrupted"));
    other = first.clone();
    other["provenance"]["own_pieces"] = serde_json::json!(["tasks"]);
    place.write("r.json", other.to_string());
    assert!(again(2, &[]).contains("pieces that are not Aster's (tasks)"));
    other = first.clone();
    other["provenance"]["work"] = serde_json::json!({"live": {"name": "mine"}});
    place.write("r.json", other.to_string());
    assert!(again(2, &[]).contains("came from a program as it ran (\"mine\")"));

    // An edited report: the error names the key, and no Rust type.
    for (key, value, what) in [
        ("seed", "x".into(), "seed: must be a whole number that is not negative, but is \"x\""),
        ("content", "none".into(), "content: must be \"full\" or \"fingerprint\", but is \"none\""),
        (
            "aster",
            Value::Array(Vec::new()),
            "aster: must be a table with keys of its own, but is a list of 0",
        ),
        ("host", Value::Object(serde_json::Map::new()), "host: lacks the key "),
    ] {
        other = first.clone();
        other["provenance"][key] = value;
        place.write("r.json", other.to_string());
        let error = again(2, &[]);
        assert!(error.contains(&format!("r.json: provenance.{what}")), "{error}");
    }
    // What was written before the work is never left out: not by an older version's key, not by none.
    for (old, named) in [(Value::Null, "null"), (75.into(), "{\"overwritten\": 75}")] {
        other = first.clone();
        other["provenance"].as_object_mut().unwrap().remove("precondition");
        place.write("r.json", other.to_string());
        let error = again(2, &[]);
        assert!(error.contains("r.json: provenance: lacks the key 'precondition'"), "{error}");
        other["provenance"]["precondition_percent"] = old;
        place.write("r.json", other.to_string());
        let error = again(2, &[]);
        let advice = format!("put \"precondition\": {named} in its place");
        assert!(error.contains("provenance.precondition_percent: ") && error.contains(&advice), "{error}");
    }
    other = first.clone();
    other["provenance"] = Value::Array(Vec::new());
    place.write("r.json", other.to_string());
    assert!(again(2, &[]).contains("r.json: provenance: must be a table with keys of its own"));

    // For an older version there is only a message.
    place.write("t.csv", trace);
    other = first.clone();
    other["provenance"]["aster"]["version"] = "0.0.7".into();
    place.write("r.json", other.to_string());
    let ran = place.aster(&["run", "--again", "r.json"]);
    assert!(ran.code == 0 && ran.err.contains("made by aster 0.0.7"), "{}", ran.err);
}

/// Two disks of the MSR traces, with a request that isn't whole blocks and one beyond the drive.
const DISKS: &str = "128166372003061629,usr,0,Write,4096,8192,41286\n\
    128166372003061630,usr,1,Write,8192,4096,41286\n\
    128166372003062630,usr,0,Read,4608,4096,41286\n\
    128166372003063630,usr,1,Read,68719476736,4096,41286\n\
    128166372003063640,usr,0,Read,4096,8192,41286\n";

#[test]
fn a_packed_trace_of_several_devices_is_repeated_as_it_was_replayed() {
    let place = Place::new();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(DISKS.as_bytes()).unwrap();
    place.write("t.gz", gzip.finish().unwrap());
    place.write("t.zst", stored_in_zstd(DISKS));
    let how =
        ["--trace-device", "all", "--trace-place", "same", "--trace-loop", "closed", "--trace-speed", "2.5"];
    let more = [
        "--trace-wrap",
        "--trace-round",
        "--queue-depth",
        "1",
        "--trace-format",
        "msr",
        "--verify",
        "--json",
    ];
    let kept = ["--spans", "--events", "e.jsonl", "--from", "1us"];
    for (file, packed) in [("t.gz", "gzip"), ("t.zst", "zstd")] {
        let first = place.report(&[&["run", "tiny", "--trace", file][..], &how, &more, &kept].concat());
        assert_eq!(first["trace"]["compression"], packed);
        assert_eq!(
            (&first["trace"]["loop"], &first["trace"]["speed"], &first["trace"]["queue_depth"]),
            (&"closed".into(), &2.5.into(), &1.into())
        );
        place.write("r.json", first.to_string());
        let again = place.report(&["run", "--again", "r.json", "--json"]);
        assert_eq!(figures(&again), figures(&first));
        assert_eq!(again["provenance"]["arguments"], first["provenance"]["arguments"]);
    }
    // The report decides how it is replayed.
    for other in [
        ["--trace-loop", "open"],
        ["--trace-place", "apart"],
        ["--trace-device", "all"],
        ["--queue-depth", "2"],
    ] {
        let error = place.refused(2, &[&["run", "--again", "r.json"][..], &other].concat());
        assert!(error.contains(other[0]), "{error}");
    }
}

#[test]
fn a_trace_from_standard_input_is_repeated_from_a_file_that_is_named() {
    let place = Place::new();
    let mut child = place
        .command(&["run", "tiny", "--trace", "-", "--trace-wrap", "--trace-round", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(DISKS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["provenance"]["work"]["trace"]["path"], Value::Null);
    place.write("r.json", report.to_string());
    let error = place.refused(2, &["run", "--again", "r.json"]);
    assert!(error.contains("its trace came from standard input") && error.contains("--trace"), "{error}");
    place.write("t.csv", DISKS);
    let named = ["run", "--again", "r.json", "--trace", "t.csv", "--json"];
    let again = place.report(&named);
    assert_eq!(figures(&again), figures(&report));
    // The new report knows the file.
    place.write("again.json", again.to_string());
    assert_eq!(figures(&place.report(&["run", "--again", "again.json", "--json"])), figures(&report));
    std::fs::rename(place.path("t.csv"), place.path("moved.csv")).unwrap();
    let error = place.refused(2, &["run", "--again", "again.json"]);
    assert!(error.contains("t.csv, which isn't there") && error.contains("--trace"), "{error}");
    place.write("t.csv", DISKS.replace("Read,4096", "Read,8192"));
    let error = place.refused(2, &named);
    assert!(error.contains("t.csv: is another trace") && error.contains("SHA-256"), "{error}");
    // The report's work can't be replaced.
    place.write("j.fio", MIXED);
    place.write("job.json", place.report(&["run", "tiny", "--job", "j.fio", "--json"]).to_string());
    let error = place.refused(2, &["run", "--again", "job.json", "--trace", "moved.csv"]);
    assert!(error.contains("its work was a job file"), "{error}");
    assert!(place.refused(2, &["run", "--again", "job.json", "--job", "j.fio"]).contains("--job"));
}

/// A frame of Zstandard (RFC 8878 §3.1.1) whose one block is stored as it is.
fn stored_in_zstd(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    // One segment, whose size has four bytes.
    let head = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &length.to_le_bytes()].concat();
    // The last block, raw.
    let block = (length << 3 | 1).to_le_bytes();
    [&head[..], &block[..3], text.as_bytes()].concat()
}

#[test]
fn a_run_on_an_image_is_repeated_on_a_copy_of_what_it_began_with() {
    let place = Place::new();
    place.write("j.fio", MIXED);
    let new = place.report(&["run", "tiny", "--job", "j.fio", "--image", "d.aster", "--json"]);
    place.write("new.json", new.to_string());
    assert_eq!(place.aster(&["image", "clone", "d.aster", "before.aster"]).code, 0);
    let later = place.report(&["run", "--job", "j.fio", "--image", "d.aster", "--json"]);
    place.write("later.json", later.to_string());
    assert!(later["provenance"]["image"]["state"].is_string(), "{later}");

    let error = place.refused(2, &["run", "--again", "later.json"]);
    assert!(error.contains("holds something else than when the run began"), "{error}");
    let repeated = place.report(&["run", "--again", "later.json", "--image", "before.aster", "--json"]);
    assert_eq!(figures(&repeated), figures(&later));
    // The one that made the image: in memory, or in a new file.
    assert_eq!(figures(&place.report(&["run", "--again", "new.json", "--json"])), figures(&new));
    let on_new = ["run", "--again", "new.json", "--image", "other.aster", "--json"];
    assert_eq!(figures(&place.report(&on_new)), figures(&new));
    assert!(place.refused(2, &on_new).contains("is a drive already"));
}

#[test]
fn an_image_keeps_its_profile() {
    let place = Place::new();
    place.write("j.fio", "[fill]\nrw=write\nbs=16k\nsize=1m\n");
    let made = ["run", "tiny", "--job", "j.fio", "--image", "d.aster", "--content", "fingerprint"];
    assert_eq!(place.aster(&[&made[..], &["--set", "restrict.blocks_per_lun=16"]].concat()).code, 0);
    for command in [&["run", "--job", "j.fio"][..], &["explain", "--job", "j.fio"]] {
        let ran = place.aster(&[command, &["--image", "d.aster"]].concat());
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.err);
    }
    let ran = place.aster(&["image", "check", "d.aster"]);
    assert!(ran.code == 0 && ran.out.contains("sound: "), "{}{}", ran.out, ran.err);
    assert_eq!(place.aster(&["image", "clone", "d.aster", "e.aster", "--check"]).code, 0);
    let info = place.report(&["image", "info", "e.aster", "--json"]);
    assert_eq!(
        (&info["profile"]["name"], &info["made_with"]["content"]),
        (&"tiny".into(), &"fingerprint".into())
    );
    assert_eq!(info["profile"]["keys"]["restrict"]["blocks_per_lun"], 16);
    assert!(
        place.aster(&["image", "info", "e.aster"]).out.contains("keeps its profile, tiny, which differs")
    );

    // Keys on which the flash doesn't depend may be overridden; others are refused, and so are invalid ones.
    let set = |key: &str| place.aster(&["run", "--job", "j.fio", "--image", "d.aster", "--set", key]);
    assert_eq!(set("ftl.buffer_entries=16").code, 0);
    let refused = set("ftl.over_provisioning_percent=40");
    assert!(refused.code == 2 && refused.err.contains("is 32 there and 40 here"), "{}", refused.err);
    assert!(set("ftl.bufer_entries=16").err.contains("did you mean 'buffer_entries'?"));

    // No image and no profile; then an image that keeps no profile.
    let error = place.refused(2, &["run", "--job", "j.fio", "--image", "none.aster"]);
    assert!(error.contains("no such image; name a profile"), "{error}");
    assert!(place.refused(2, &["run", "--job", "j.fio"]).contains("<PROFILE>"));
    let mut old = std::fs::read(place.path("d.aster")).unwrap();
    old[128 << 10..256 << 10].fill(0);
    place.write("old.aster", &old);
    let on_old = ["run", "--job", "j.fio", "--image", "old.aster"];
    assert!(place.refused(2, &on_old).contains("name the one that it was made with"));
    let named = ["run", "tiny", "--job", "j.fio", "--image", "old.aster", "--content", "fingerprint"];
    assert_eq!(place.aster(&[&named[..], &["--set", "restrict.blocks_per_lun=16"]].concat()).code, 0);
    assert_eq!(place.aster(&on_old).code, 0, "it has kept the one that it was given");
}

#[test]
fn whatever_goes_into_the_program_is_watched_for_the_commit_that_it_tells() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (script, manifest) = (text("cli/build.rs"), text("Cargo.toml"));
    let crates = manifest.split("path = \"").skip(1).filter_map(|rest| rest.split(['/', '"']).next());
    let crates: Vec<_> = crates.filter(|room| *room != "tests").collect();
    assert!(crates.contains(&"lab"), "{crates:?}");
    let others = [".cargo", "Cargo.lock", "Cargo.toml", "costs", "experiments", "profiles"];
    for source in crates.into_iter().chain(others) {
        assert!(script.contains(&format!("\"{source}\"")), "{source} is not watched");
    }
}
