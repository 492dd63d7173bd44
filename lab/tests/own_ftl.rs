//! The example crate of docs/translations.md: its FTL serves a host, outlasts a shutdown, and keeps what it
//! promises when the power goes.

#[path = "../../examples/own-ftl/src/main.rs"]
mod example;
mod examples;

use aster_device::profile::shipped;
use aster_device::{Media, Pieces};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use examples::{blocks, is_long};
use std::process::Output;

#[test]
fn the_example_runs() {
    std::env::set_current_dir(examples::folder("own-ftl")).unwrap();
    assert_eq!(example::main(), std::process::ExitCode::SUCCESS);
}

/// The example as a part of this test, in a process of its own for what it prints.
#[test]
fn an_ftl_of_a_readers_own_serves_and_survives_losses_of_power() {
    let mut this = examples::in_a_process();
    let cuts = if is_long() { 2_000 } else { 24 };
    this.env("OWN_FTL_CUTS", cuts.to_string());
    holds(&this.output().unwrap(), cuts.into());
}

#[test]
fn a_crate_outside_of_the_workspace_builds_and_does_the_same() {
    if !is_long() {
        return;
    }
    holds(&examples::as_a_crate("own-ftl").output().unwrap(), 36.0);
}

/// Another FTL's pages are none of its own: it fails to boot, and neither writes to flash nor serves.
#[test]
fn a_drive_whose_boot_has_failed_refuses_commands_and_leaves_flash_alone() {
    let profile = |kind: &str| {
        let mut profile = shipped("tiny").unwrap();
        profile.ftl.kind = kind.to_owned();
        profile.ftl.mapping_unit_bytes = 0;
        profile
    };
    let power_on = |pieces: Pieces, kind, media| {
        let (profile, recorder) = (profile(kind), Recorder::default());
        Machine::power_on_with(pieces, "t", &profile, None, media, &recorder, Config::default()).unwrap()
    };
    let theirs = power_on(Pieces::default(), "page-mapping", Media::fresh());
    theirs.boot().unwrap();
    let ours = power_on(example::pieces(), "own-log", theirs.shut_down().unwrap());
    let fault = ours.boot().unwrap_err().to_string();
    assert!(fault.contains("not written by this FTL"), "{fault}");
    // One LUN has met an error; the others look at theirs to the end.
    while ours.device().is_booting() {
        assert!(ours.step(), "every LUN comes to an end");
    }
    let before = ours.device().stats().nand;
    let driver = std::rc::Rc::clone(ours.driver());
    let work = async move {
        let queue = QueueId(1);
        let page = vec![7; 4096];
        let write = driver.write(queue, 0, &page, true).await;
        (write, driver.read(queue, 0, &mut [0; 4096]).await, driver.flush(queue).await)
    };
    let (write, read, flush) = ours.block_on("commands", work).unwrap();
    assert!(write.is_err() && read.is_err() && flush.is_err(), "{write:?} {read:?} {flush:?}");
    let after = ours.device().stats().nand;
    assert_eq!((before.programs, before.erases), (after.programs, after.erases));
}

/// The number before `what` in what the example said.
fn number(said: &str, what: &str) -> f64 {
    let before = said.split(what).next().filter(|before| before.len() < said.len());
    let word = before.and_then(|before| before.split_whitespace().next_back());
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number before {what:?}: {said}"))
}

fn holds(output: &Output, cuts: f64) {
    let said = examples::said(output);
    let line = |begin: &str| {
        let line = said.lines().find(|line| line.contains(begin));
        line.unwrap_or_else(|| panic!("no line with {begin:?}: {said}"))
    };

    // The same job under either FTL; on a filled drive both collect garbage.
    let [own, ours] = ["own FTL: ", "Aster's FTL: "].map(line);
    for run in [own, ours] {
        assert!(number(run, " reads verified") > 300.0 && number(run, " failed, WAF") == 0.0, "{run}");
        let waf = run.split("WAF ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        assert!(waf.parse::<f64>().unwrap() > 1.0, "{run}");
    }
    assert_eq!(number(own, " writes"), number(ours, " writes"));
    assert_ne!(own.split("WAF").nth(1), ours.split("WAF").nth(1), "they are two FTLs");

    assert_eq!(number(&said, " bytes read back after a shutdown, 0 failed"), f64::from(6 << 20));
    assert_eq!(number(&said, " losses of power"), cuts);
    for seen in [" more in recovery", " torn programs", " flushes and forced writes relied on"] {
        assert!(number(&said, seen) > 0.0, "{said}");
    }
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let page = include_str!("../../docs/translations.md");
    let main = include_str!("../../examples/own-ftl/src/main.rs");
    let ftl = [
        include_str!("../../examples/own-ftl/src/ftl.rs"),
        include_str!("../../examples/own-ftl/src/log.rs"),
        include_str!("../../examples/own-ftl/src/shared.rs"),
        include_str!("../../tests/tests/drive/mappings.rs"),
    ];
    let shown: Vec<&str> = blocks(page, "rust").collect();
    assert!(shown.len() >= 3, "how it is chosen, how it is run, how it is tortured");
    for code in shown {
        let is_there = main.contains(code) || ftl.iter().any(|source| source.contains(code));
        assert!(is_there, "docs/translations.md shows code that stands in no source:\n{code}");
    }
}
