//! What `aster` says: help, lists, and errors for every kind of mistake.

use crate::place::Place;
use std::io::Read;
use std::process::Stdio;

#[test]
fn every_command_has_a_help_with_examples() {
    let place = Place::new();
    for command in [
        &["--help"][..],
        &["demo", "--help"],
        &["run", "--help"],
        &["profiles", "--help"],
        &["check", "--help"],
    ] {
        let ran = place.aster(command);
        assert_eq!(ran.code, 0);
        assert!(
            ran.out.contains("Usage: aster") && ran.out.contains("Examples:"),
            "{command:?}: {}",
            ran.out
        );
        assert!(ran.out.contains("  aster "), "{command:?}");
    }
    let version = place.aster(&["--version"]).out;
    assert_eq!(version, format!("aster {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn shipped_profiles_are_listed_and_can_be_copied() {
    let place = Place::new();
    let list = place.aster(&["profiles"]);
    for name in ["cosmos-plus", "ideal", "tiny"] {
        assert!(list.out.contains(name), "{}", list.out);
    }
    let tiny = place.aster(&["profiles", "tiny"]).out;
    place.write("mine.toml", &tiny);
    let checked = place.aster(&["check", "mine.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(
        checked.out.contains("mine.toml: a good profile") && checked.out.contains("exported"),
        "{}",
        checked.out
    );
    assert!(place.refused(2, &["profiles", "tinny"]).contains("did you mean \"tiny\"?"));
}

#[test]
fn a_wrong_profile_is_told_with_line_and_key() {
    let place = Place::new();
    let tiny = place.aster(&["profiles", "tiny"]).out;
    let wrong = tiny.replace("buffer_entries", "bufer_entries");
    let line = 1 + wrong.lines().position(|l| l.contains("bufer_entries")).unwrap();
    place.write("wrong.toml", &wrong);
    let error = place.refused(2, &["check", "wrong.toml"]);
    assert!(error.contains(&format!("wrong.toml:{line}: ftl.bufer_entries")), "{error}");
    assert!(error.contains("did you mean 'buffer_entries'?"), "{error}");
}

#[test]
fn a_wrong_job_file_is_told_with_its_line() {
    let place = Place::new();
    place.write("bad.fio", "[a]\nrw=read\niodpeth=4\n");
    let error = place.refused(2, &["run", "tiny", "--job", "bad.fio"]);
    assert!(
        error.contains("bad.fio: line 3: unknown option \"iodpeth\"; did you mean \"iodepth\"?"),
        "{error}"
    );
}

#[test]
fn files_that_are_none_are_told_by_name() {
    let place = Place::new();
    place.write("empty", "");
    place.write("bytes", [0xff, 0xfe, 0x00, 0x80]);
    std::fs::create_dir(place.path("folder")).unwrap();
    for source in ["--job", "--trace"] {
        for file in ["missing", "empty", "bytes", "folder"] {
            let error = place.refused(2, &["run", "tiny", source, file]);
            assert!(error.contains(file), "{source} {file}: {error}");
        }
    }
    place.write("job.fio", "[a]\nrw=read\nsize=64k\n");
    for profile in ["./missing", "./empty", "./bytes", "./folder"] {
        let error = place.refused(2, &["run", profile, "--job", "job.fio"]);
        assert!(error.contains(profile), "{profile}: {error}");
    }
    for (option, file) in
        [("--image", "bytes"), ("--image", "folder"), ("--wave", "folder"), ("--events", "missing/e.jsonl")]
    {
        let error = place.refused(2, &["run", "tiny", "--job", "job.fio", option, file]);
        assert!(error.contains(file), "{option} {file}: {error}");
    }
    let bytes = std::fs::read(place.path("bytes")).unwrap();
    assert_eq!(bytes, [0xff, 0xfe, 0x00, 0x80], "a file of another kind is left alone");
}

#[test]
fn a_broken_trace_is_told_before_the_drive_is_powered_on() {
    let place = Place::new();
    place.write("t.csv", "1,usr,0,Read,0,4096,1\n2,usr,0,Read,zero,4096,1\n");
    let error = place.refused(2, &["run", "tiny", "--trace", "t.csv", "--image", "d.aster"]);
    assert!(error.contains("t.csv: line 2, column "), "{error}");
    assert!(!place.path("d.aster").exists());
}

#[test]
fn mistakes_on_the_command_line_are_refused() {
    let place = Place::new();
    place.write("job.fio", "[a]\nrw=read\nsize=64k\n");
    for (arguments, expected) in [
        (&["run", "tny", "--job", "job.fio"][..], "did you mean \"tiny\"?"),
        (&["run", "tiny"], "--job"),
        (&["run", "tiny", "--job", "job.fio", "--trace", "t"], "cannot be used with"),
        (&["run", "tiny", "--job", "job.fio", "--queue-depth", "4"], "cannot be used with"),
        (
            &["run", "tiny", "--job", "job.fio", "--set", "ftl.bufer_entries=3"],
            "--set ftl.bufer_entries=3: unknown key",
        ),
        (&["run", "tiny", "--job", "job.fio", "--set", "ftl.buffer_entries"], "expected KEY=VALUE"),
        (&["run", "tiny", "--job", "job.fio", "--seed", "99999999999999999999999"], "--seed"),
        (&["run", "tiny", "--job", "job.fio", "--precondition", "-5"], "-5"),
        (&["run", "tiny", "--trace", "t", "--queue-depth", "0"], "--queue-depth"),
        (&["run", "tiny", "--trace", "t", "--trace-speed", "quick"], "recorded, fastest, or a factor"),
        (&["demo", "--tree", "nowhere"], "nowhere: "),
        (&["prove"], "prove"),
    ] {
        let error = place.refused(2, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn nobody_reading_is_no_reason_to_panic() {
    let place = Place::new();
    let mut child = place
        .command(&["profiles", "cosmos-plus"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert_eq!(said, "");
}
