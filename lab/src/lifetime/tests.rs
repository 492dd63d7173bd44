use super::*;
use aster_device::profile::shipped;

/// A drive with blocks that don't last, most of whose data is at rest.
fn plan() -> Plan {
    let mut profile = shipped("pocket").unwrap_or_else(|error| panic!("{error}"));
    profile.geometry.blocks_per_lun = 48;
    profile.package.endurance = 60;
    profile.ftl.wear_spread = 6;
    Plan { name: "pocket".into(), profile, seed: 5, hot_percent: 20, drive_writes_max: None }
}

fn go(plan: &Plan) -> Report {
    run(plan, &mut |_, _| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_drive_is_written_to_its_end_and_lasts_longer_with_its_wear_levelled() {
    let report = go(&plan());
    let [without, with] = &report.lives[..] else { panic!("two lives") };
    for life in [without, with] {
        assert!(life.read_only && life.critical_warning & 0b1000 != 0, "{life:?}");
        assert!(life.refused_with.as_ref().is_some_and(|said| said.contains("Read Only")), "{life:?}");
        assert_eq!(life.lost_blocks, 0);
        assert!(life.checked_blocks > 0);
        let bad: Vec<_> = life.samples.iter().map(|s| s.grown_bad_blocks).collect();
        assert!(bad.is_sorted() && *bad.last().unwrap() > 0);
        let spare = life.samples.iter().map(|s| s.available_spare);
        assert!(spare.clone().rev().is_sorted() && spare.clone().next() == Some(100), "{life:?}");
    }
    assert!(with.drive_writes > 1.2 * without.drive_writes, "{}", table(&report));
    assert!(with.levelled_blocks > 0 && without.levelled_blocks == 0);
    let spread = |life: &Life| life.samples.last().map_or(0, |s| s.erases_max - s.erases_min);
    assert!(spread(without) > 2 * spread(with), "{}", table(&report));
}

#[test]
fn lives_are_drawn_and_told() {
    let report = go(&Plan { drive_writes_max: Some(3.0), ..plan() });
    assert!(report.wear_out_assumed && report.lives.iter().all(|life| !life.read_only));
    let mut picture = Vec::new();
    svg(&mut picture, &report).unwrap();
    let picture = String::from_utf8(picture).unwrap();
    assert!(picture.contains("no wear levelling: still written after 3") && picture.contains("<polygon"));
    let text = table(&report);
    assert!(text.contains("static") && text.contains("still takes writes"), "{text}");
}

#[test]
fn the_caller_may_stop_it() {
    let stopped = run(&plan(), &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(LifetimeError::Stopped)));
}
