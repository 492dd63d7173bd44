//! SMART's report of the cells' wear.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_image::open_image;
use aster_run_virtual::Machine;
use aster_tests::{SMALL, job, machine, profile, run, versioned};
use aster_workload::{Access, Mix};
use std::rc::Rc;

fn percentage_used(m: &Machine) -> u8 {
    let driver = Rc::clone(m.driver());
    let health = m.block_on("reading SMART", async move { driver.health().await });
    health.unwrap_or_else(|e| panic!("{e}")).unwrap_or_else(|e| panic!("{e}")).percentage_used
}

#[test]
fn the_percentage_used_outlives_the_process_that_wore_an_image() {
    for name in SMALL {
        outlives(&profile(name, |p| p.package.endurance = 5));
    }
}

fn outlives(profile: &Profile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("worn.aster");
    let open = || open_image(&path, profile, None).unwrap_or_else(|e| panic!("{e}"));
    let boot = |media: Media| machine(profile, None, media, &Recorder::default());

    let m = boot(open());
    let new = percentage_used(&m);
    let write = job("write", Access::Random, Mix::Write, 64 << 10, 1_500);
    run(&m, &[write], versioned(&m));
    let cut = m.shut_down().unwrap_or_else(|e| panic!("{e}"));
    // The same cells, powered on again.
    let m = boot(cut);
    let worn = percentage_used(&m);
    assert!(worn > new, "{worn}% after {new}%");
    drop(m.shut_down().unwrap_or_else(|e| panic!("{e}")));
    // The image, as another process opens it.
    let m = boot(open());
    assert_eq!(percentage_used(&m), worn);
}
