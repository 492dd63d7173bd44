//! The example crate of docs/schedulers.md does what the page says, and builds against the workspace from
//! outside of it.

#[path = "../../examples/own-pieces/src/main.rs"]
mod example;
mod examples;
#[path = "examples/source.rs"]
mod source;

use examples::{blocks, is_long};
use source::without_comments;
use std::process::Output;

#[test]
fn the_example_runs() {
    std::env::set_current_dir(examples::folder("own-pieces")).unwrap();
    assert_eq!(example::main(), std::process::ExitCode::SUCCESS);
}

/// The example as a part of this test, in a process of its own for what it prints.
#[test]
fn pieces_of_a_readers_own_go_in_without_touching_aster() {
    holds(&examples::in_a_process().output().unwrap());
}

#[test]
fn a_crate_outside_of_the_workspace_builds_and_does_the_same() {
    if !is_long() {
        return;
    }
    holds(&examples::as_a_crate("own-pieces").output().unwrap());
}

fn holds(output: &Output) {
    let said = examples::said(output);
    assert!(said.contains("LUN 0 speaks ONFI"), "{said}");
    assert!(said.contains("500 pages right"), "{said}");
    let overtakes = said.split("overtook ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
    assert!(overtakes.parse::<u32>().unwrap() > 0, "{said}");
    // A job file with preconditioning, spans and a report, on a drive with the scheduler of its own.
    assert!(said.contains("all of it") && said.contains("mixed, reads"), "{said}");
    assert!(said.contains("own job: 400 requests, 0 failed, "), "{said}");
    let read = said.split("0 failed, ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
    assert!(read.parse::<u64>().unwrap() > 0, "it was filled before: {said}");
    assert!(
        said.contains("own report: 400 requests, on \"own\""),
        "its own profile, and JSON from its own program: {said}"
    );
    assert_eq!(said.matches("3 operations at once at most").count(), 2, "{said}");
    let moved = said.split("own monitor module: ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
    assert!(moved.parse::<u64>().unwrap() > 0, "{said}");
    assert!(said.contains("; 9 entries with it, 7 without"), "{said}");
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let page = include_str!("../../docs/schedulers.md");
    let example = include_str!("../../examples/own-pieces/src/main.rs");
    let traits =
        [include_str!("../../base/parties/src/tasks.rs"), include_str!("../../base/parties/src/arbiter.rs")];
    let sources = traits.map(without_comments);
    for code in blocks(page, "rust") {
        let is_there = example.contains(code) || sources.iter().any(|source| source.contains(code));
        assert!(is_there, "docs/schedulers.md shows code that stands in no source:\n{code}");
    }
    assert!(blocks(page, "rust").count() >= 5, "the traits, an operation, a profile of one's own, and JSON");
    // The crates that another repository depends on are there by these names.
    let lines = blocks(page, "toml").flat_map(str::lines);
    let crates: Vec<_> = lines.filter_map(|line| line.split_once(" = { git = ")).collect();
    let manifests = include_str!("../../Cargo.toml");
    for (name, _) in &crates {
        assert!(manifests.contains(&format!("{name} = ")), "no crate {name}");
    }
    assert_eq!(crates.len(), 4);
}
