//! The equality gate can fail: it fails for each mutation of the RTL, and passes for the unchanged RTL built
//! in the same way.
//!
//! Each mutation needs the channel Verilated and compiled again, so this is one of the long tests.

use aster_rtl_bench::mutation::{self, GATE_MUTATIONS};
use aster_rtl_bench::{long, rtl};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the gate with the channel's sources from `sources`; returns whether it passed, and its output.
fn gate(sources: &Path, test: &str) -> (bool, String) {
    let root = rtl().join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let output = Command::new(env!("CARGO"))
        .args(["test", "--package", "aster-rtl-cosim", "--test", "rtl", "--target-dir"])
        // A target directory of its own, so that the normal one doesn't have to be rebuilt.
        .arg(target.join("mutated-rtl"))
        .args([&format!("{test}::"), "--", "--nocapture"])
        .current_dir(root)
        .env("ASTER_RTL_DIR", sources)
        .env_remove("ASTER_LONG")
        .output()
        .expect("cargo, which runs this test");
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("running 3 tests"), "the gate was not built:\n{text}");
    (output.status.success(), text)
}

#[test]
fn the_gate_fails_on_mutated_rtl_and_only_there() {
    if !long() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    mutation::copy_sources(&rtl(), folder.path());
    let (passed, text) = gate(folder.path(), "equality");
    assert!(passed, "the gate fails on sources as they are:\n{text}");
    for mutation in GATE_MUTATIONS {
        let copy = tempfile::tempdir().unwrap();
        mutation.copy(&rtl(), copy.path());
        let (passed, text) = gate(copy.path(), mutation.found_by);
        assert!(!passed, "the gate passes although: {}", mutation.name);
        // A failed comparison names its setting. A package that doesn't come up isn't a failed comparison.
        assert!(text.contains("Setting {"), "no comparison failed, though: {}\n{text}", mutation.name);
    }
}
