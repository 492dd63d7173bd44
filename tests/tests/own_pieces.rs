//! The example crate of docs/schedulers.md builds against the workspace and does what the page says.

use std::path::Path;
use std::process::Command;

#[test]
fn pieces_of_a_readers_own_go_in_without_touching_aster() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = root.join("examples/own-pieces/Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(&manifest)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("LUN 0 speaks ONFI"), "{said}");
    assert!(said.contains("500 pages right"), "{said}");
    let overtakes = said.split("overtook ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
    assert!(overtakes.parse::<u32>().unwrap() > 0, "{said}");
    // A job file with preconditioning, spans and a report, on a drive with the scheduler of its own.
    assert!(said.contains("all of it") && said.contains("mixed, reads"), "{said}");
    assert!(said.contains("own job: 400 requests, 0 failed, "), "{said}");
    let read = said.split("0 failed, ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
    assert!(read.parse::<u64>().unwrap() > 0, "it was filled before: {said}");
    assert_eq!(said.matches("3 operations at once at most").count(), 2, "{said}");
    let moved = said.split("own monitor module: ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
    assert!(moved.parse::<u64>().unwrap() > 0, "{said}");
    assert!(said.contains("; 9 entries with it, 7 without"), "{said}");
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let page = include_str!("../../docs/schedulers.md");
    let example = include_str!("../../examples/own-pieces/src/main.rs");
    let code = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(example.contains(code), "docs/schedulers.md shows other code than examples/own-pieces");
}
