//! The example crate of docs/victim-policies.md does what the page says.

#[path = "../../examples/own-policies/src/main.rs"]
mod example;
mod examples;
#[path = "examples/source.rs"]
mod source;

use aster_device::profile::Profile;
use examples::{blocks, is_long};
use source::without_comments;
use std::process::Output;

const VICTIMS: &str = include_str!("../../examples/own-policies/src/victims.rs");
const PLACEMENT: &str = include_str!("../../examples/own-policies/src/placement.rs");

#[test]
fn the_example_runs() {
    std::env::set_current_dir(examples::folder("own-policies")).unwrap();
    assert_eq!(example::main(), std::process::ExitCode::SUCCESS);
}

/// The example as a part of this test, in a process of its own for what it prints.
#[test]
fn policies_of_a_readers_own_decide_on_a_drive_that_is_not_changed() {
    holds(&examples::in_a_process().output().unwrap());
}

#[test]
fn a_crate_outside_of_the_workspace_builds_and_does_the_same() {
    if !is_long() {
        return;
    }
    holds(&examples::as_a_crate("own-policies").output().unwrap());
}

fn holds(output: &Output) {
    let said = examples::said(output);
    let number = |line: &str, after: &str| -> f64 {
        let line =
            said.lines().find(|l| l.contains(&format!("{line}: "))).unwrap_or_else(|| panic!("{said}"));
        let rest = line.split(after).nth(1).unwrap_or_else(|| panic!("{said}"));
        rest.trim_start().split([' ', ',']).next().unwrap().parse().unwrap_or_else(|_| panic!("{said}"))
    };
    for policy in ["greedy", "cost-benefit", "cost-age-times"] {
        assert!(said.contains(&format!("{policy}: 0 failed")), "{said}");
        assert!(number(policy, "amplification") > 1.0, "{said}");
    }
    let [greedy, by_times] = ["greedy", "cost-age-times"].map(|policy| number(policy, "write amplification"));
    assert!(by_times != greedy, "it decides otherwise: {said}");
    let [channel_first, stripes] = ["channel-first", "stripes"].map(|placement| number(placement, ":"));
    assert!(channel_first != stripes, "it places otherwise: {said}");
    assert!(said.contains("of its own: victims, placement"), "{said}");
}

#[test]
fn the_page_shows_them_as_they_are() {
    let page = include_str!("../../docs/victim-policies.md");
    let main = include_str!("../../examples/own-policies/src/main.rs");
    let parties = [
        include_str!("../../base/parties/src/victims.rs"),
        include_str!("../../base/parties/src/streams.rs"),
        include_str!("../../base/parties/src/placement.rs"),
    ]
    .map(without_comments);
    for code in blocks(page, "rust") {
        let is_there = [VICTIMS, PLACEMENT, main].iter().any(|source| source.contains(code))
            || parties.iter().any(|source| source.contains(code));
        assert!(is_there, "docs/victim-policies.md shows code that stands in no source:\n{code}");
    }
    assert!(blocks(page, "rust").count() >= 5, "the traits, one of each, and how they get in");
}

#[test]
fn a_bad_key_of_theirs_is_refused_by_file_line_and_key() {
    let text = std::fs::read_to_string(examples::folder("own-policies").join("own.toml")).unwrap();
    for (good, bad, key) in [
        ("wear_weight = 1", "wear_weight = -1", "own.wear_weight"),
        ("stripe_pages = 4", "stripe_pages = \"four\"", "own.stripe_pages"),
        ("\"stripes\"", "\"stripe\"", "ftl.placement"),
    ] {
        let error =
            Profile::parse_with(&example::pieces(), "own.toml", &text.replace(good, bad)).unwrap_err();
        assert!(error.file == "own.toml" && error.line.is_some(), "{error}");
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
    }
}
