//! The example crate of docs/open-channel.md: an FTL on the host of an open-channel drive, which serves and
//! keeps what it promises when the power goes.

#[path = "../../examples/own-host-ftl/src/main.rs"]
mod example;
mod examples;

use examples::{blocks, is_long};
use std::process::Output;

#[test]
fn the_example_runs() {
    assert_eq!(example::main(), std::process::ExitCode::SUCCESS);
}

/// The example as a part of this test, in a process of its own for what it prints.
#[test]
fn an_ftl_on_the_host_serves_and_survives_losses_of_power() {
    let mut this = examples::in_a_process();
    let cuts = if is_long() { 1_200 } else { 60 };
    this.env("OWN_HOST_FTL_CUTS", cuts.to_string());
    holds(&this.output().unwrap(), cuts.into());
}

#[test]
fn a_crate_outside_of_the_workspace_builds_and_does_the_same() {
    if is_long() {
        holds(&examples::as_a_crate("own-host-ftl").output().unwrap(), 36.0);
    }
}

fn holds(output: &Output, cuts: f64) {
    let said = examples::said(output);
    let number = |what: &str| -> f64 {
        let before = said.split(what).next().filter(|before| before.len() < said.len());
        let word = before.and_then(|before| before.split_whitespace().next_back());
        word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number before {what:?}: {said}"))
    };
    assert!(number(" reads verified") > 500.0 && number(" failed, WAF") == 0.0, "{said}");
    assert_eq!(number(" losses of power"), cuts, "{said}");
    for seen in
        [" more in recovery", " of them of the host alone", " torn programs", " flushes and forced writes"]
    {
        assert!(number(seen) > 0.0, "{said}");
    }
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let main = include_str!("../../examples/own-host-ftl/src/main.rs");
    let ftl = include_str!("../../examples/own-host-ftl/src/ftl.rs");
    let shown: Vec<&str> = blocks(include_str!("../../docs/open-channel.md"), "rust").collect();
    assert!(!shown.is_empty(), "how it is chosen");
    for code in shown {
        let is_there = main.contains(code) || ftl.contains(code);
        assert!(is_there, "docs/open-channel.md shows code that stands in no source:\n{code}");
    }
}
