//! `aster torture`: its output, and that a failure's command repeats the failure.

use crate::place::Place;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Cells that lose so much charge with each read that no code can correct it.
const LOSSY: &str = "package.errors.read=1e-3";

#[test]
fn a_drive_that_loses_nothing_is_reported_and_ends_well() {
    let place = Place::new();
    let report = place.report(&["torture", "tiny", "--cuts", "15", "--seed", "4", "--json"]);
    assert_eq!((&report["cuts"], &report["drives"]), (&Value::from(15), &Value::from(2)), "{report}");
    assert!(report["failure"].is_null() && report["commands"].as_u64() > Some(100), "{report}");
    let ran = place.aster(&["torture", "tiny", "--cuts", "3"]);
    assert!(
        ran.code == 0 && ran.out.starts_with("tiny: 3 losses of power on 1 drive, "),
        "{}{}",
        ran.out,
        ran.err
    );
    assert!(ran.out.contains("nothing that was flushed is lost"), "{}", ran.out);
    let ran = place.aster(&["torture", "tiny", "--cuts", "1"]);
    assert!(ran.out.starts_with("tiny: 1 loss of power on 1 drive, "), "{}", ran.out);
    assert!(ran.out.contains("The longest recovery took ") && !ran.out.contains("took 0.000"), "{}", ran.out);
}

#[test]
fn a_failure_is_told_with_a_command_that_repeats_it_overrides_and_content_included() {
    let place = Place::new();
    let lossy = ["torture", "pocket", "--set", LOSSY, "--content", "full", "--cuts", "240"];
    let told = place.refused(1, &lossy);
    let line = |text: &str, begin: &str| {
        let found = text.lines().find_map(|line| line.split_once(begin)).map(|(_, rest)| rest.to_owned());
        found.unwrap_or_else(|| panic!("no {begin:?} in {text}"))
    };
    let (command, says) = (line(&told, "repeat it with: aster "), line(&told, "which says: "));
    assert!(
        command.starts_with(&format!("torture pocket --set {LOSSY} --content full --seed ")),
        "{command}"
    );
    let again = place.refused(1, &command.split(' ').collect::<Vec<_>>());
    assert!(line(&again, " ms: ").starts_with(&says), "{again} after {told}");

    let ran = place.aster(&[&lossy[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.code, 1);
    assert_eq!(report["failure"]["what_smaller"], says, "{report}");
}

/// A round of a large drive takes long: a user who asks to stop doesn't wait for its end.
#[test]
fn an_interrupt_ends_a_life_in_the_middle_of_a_round_and_its_process_with_it() {
    let place = Place::new();
    let mut parent = large(&place).spawn().unwrap();
    let child = child_of(&parent);
    kill("TERM", &parent.id().to_string());
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    assert!(!Path::new(&format!("/proc/{child}")).exists(), "its process goes with it");
}

/// The result says neither that the drive has lost data nor that it has not.
#[test]
fn a_life_that_somebody_else_ends_is_no_good_end() {
    for signal in ["TERM", "KILL"] {
        let place = Place::new();
        let parent = large(&place).spawn().unwrap();
        kill(signal, &child_of(&parent));
        let ended = parent.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130));
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(said.contains("nothing that was flushed was lost by then"), "{said}");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(told.contains("somebody else ended a life") && !told.contains("repeat it with"), "{told}");
    }
}

/// Tortures a drive so large that its first round takes long.
fn large(place: &Place) -> Command {
    let large = ["torture", "cosmos-plus", "--set", "restrict.blocks_per_lun=64", "--content", "fingerprint"];
    let mut command = place.command(&large);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
/// The process of the drive that it runs.
fn child_of(parent: &Child) -> String {
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    loop {
        let found = std::fs::read_to_string(&children).unwrap();
        if let Some(child) = found.split_whitespace().next() {
            return child.to_owned();
        }
        std::thread::yield_now();
    }
}
fn kill(signal: &str, process: &str) {
    let kill = format!("kill -{signal} {process}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn a_drive_that_cannot_be_made_is_a_mistake_of_the_command_line() {
    let place = Place::new();
    assert!(place.refused(2, &["torture", "nothing-like-it"]).contains("nothing-like-it"));
    assert!(place.refused(2, &["torture", "tiny", "--depth", "3"]).contains("--rounds"));
    // It can be made, and a new one has too few good blocks to come up.
    let bad = ["torture", "tiny", "--set", "package.factory_bad_per_mille=500"];
    let error = place.refused(2, &bad);
    assert!(error.contains("A new drive of this profile needs more over-provisioning"), "{error}");
    assert!(!error.contains("repeat it with"), "{error}");
}
