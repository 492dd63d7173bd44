use super::*;
use aster_device::profile::shipped;
use std::ops::ControlFlow;

/// A drive whose blocks wear out soon, and most of whose data is never rewritten.
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
    let [without, dynamic, with] = &report.lives[..] else { panic!("three lives") };
    for life in [without, dynamic, with] {
        assert!(life.read_only && life.critical_warning & 0b1000 != 0, "{life:?}");
        assert!(life.refused_with.as_ref().is_some_and(|said| said.contains("Read Only")), "{life:?}");
        assert_eq!((life.lost_blocks, life.lost_after_power_loss), (0, 0));
        assert!(life.checked_blocks > 0);
        let bad: Vec<_> = life.samples.iter().map(|s| s.grown_bad_blocks).collect();
        assert!(bad.is_sorted() && *bad.last().unwrap() > 0);
        let spare = life.samples.iter().map(|s| s.available_spare);
        assert!(spare.clone().rev().is_sorted() && spare.clone().next() == Some(100), "{life:?}");
    }
    let kinds = [Levelling::None, Levelling::Dynamic, Levelling::Static];
    assert!(report.lives.iter().map(|life| life.wear_levelling).eq(kinds));
    assert!(with.drive_writes > 1.2 * without.drive_writes, "{}", table(&report));
    assert!(with.levelled_blocks > 0 && without.levelled_blocks == 0 && dynamic.levelled_blocks == 0);
    let spread = |life: &Life| life.samples.last().map_or(0, |s| s.erases_max - s.erases_min);
    assert!(spread(without) > 2 * spread(with), "{}", table(&report));
}

/// H27, H30: the paper's FTL has a levelling of its own, with or without a window in the profile.
#[test]
fn under_hostftl_a_drive_lives_without_and_with_regional_levelling() {
    let mut profile = shipped("host-ftl-small").unwrap();
    profile.geometry.blocks_per_lun = 24;
    profile.geometry.pages_per_block = 8;
    profile.package.endurance = 40;
    profile.ftl.over_provisioning_percent = 100.0;
    profile.target.as_mut().unwrap().wear_window = Some(16);
    let report = go(&Plan {
        name: "host-ftl-small".into(),
        profile,
        seed: 5,
        hot_percent: 20,
        drive_writes_max: None,
    });
    let [without, with] = &report.lives[..] else { panic!("two lives") };
    assert_eq!((without.wear_levelling, with.wear_levelling), (Levelling::None, Levelling::Regional));
    assert!(with.levelled_blocks > 0 && without.levelled_blocks == 0, "{}", table(&report));
    // 1.17 to 1.25 times as long, by the seed.
    assert!(without.read_only && with.drive_writes > 1.1 * without.drive_writes, "{}", table(&report));
}

/// pblk has no wear levelling, so there is nothing to compare.
#[test]
fn under_pblk_a_drive_has_one_life() {
    let profile = shipped("pocket-ocssd").unwrap();
    let most = Some(1.0);
    let report =
        go(&Plan { name: "ocssd".into(), profile, seed: 5, hot_percent: 20, drive_writes_max: most });
    assert!(report.lives.iter().map(|life| life.wear_levelling).eq([Levelling::None]));
}

#[test]
fn lives_are_drawn_and_told() {
    let mut report = go(&Plan { drive_writes_max: Some(3.0), ..plan() });
    assert!(report.wear_out_assumed && report.lives.iter().all(|life| !life.read_only));
    assert!(report.lives.iter().all(|life| life.lost_after_power_loss == 0));
    let text = table(&report);
    for told in ["none", "dynamic", "static", "still takes writes"] {
        assert!(text.contains(told), "{text}");
    }
    assert!(!text.contains("loss of power"), "{text}");
    report.lives[0].lost_after_power_loss = 2;
    assert!(table(&report).contains("2 lost after"), "{}", table(&report));
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    element.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0
}

#[test]
fn the_picture_shows_each_sample_where_the_axes_say() {
    let sample = |drive_writes, (erases_min, erases_mean, erases_max), available_spare| Sample {
        drive_writes,
        erases_min,
        erases_mean,
        erases_max,
        available_spare,
        percentage_used: 0,
        grown_bad_blocks: 0,
    };
    let mut life = go(&Plan { drive_writes_max: Some(1.0), ..plan() }).lives.remove(0);
    // Two lives: the second lasts twice as long, and fixes the axis of both.
    life.samples = vec![sample(10.0, (0, 4.0, 8), 100), sample(50.0, (10, 30.0, 60), 40)];
    let mut longer = life.clone();
    longer.wear_levelling = Levelling::Static;
    longer.samples.push(sample(100.0, (70, 80.0, 100), 0));
    let report = Report {
        profile: "pocket".into(),
        seed: 1,
        hot_percent: 20,
        wear_out_cycles: 100,
        wear_out_assumed: false,
        lives: vec![life, longer],
    };
    let mut numbers = Vec::new();
    csv(&mut numbers, &report).unwrap();
    let numbers = String::from_utf8(numbers).unwrap();
    assert_eq!(numbers.lines().count(), 1 + 2 + 3, "a head, and a line a sample: {numbers}");
    assert!(numbers.contains("\nnone,50,10,30,60,100,40\nstatic,10,0,4,8,100,100\n"), "{numbers}");
    let drawn = figure(&report);
    let titles: Vec<&str> = drawn.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert!(titles[0].starts_with("no wear levelling: still written after"), "{titles:?}");
    assert_eq!((titles[2], titles[3], drawn.columns), ("no wear levelling", "static wear levelling", 2));
    // Beside most, mean and least, a line as long as the life shows what blocks last for.
    let tracks = |nth: usize| drawn.panels[nth].series.iter().map(|s| s.points.clone()).collect::<Vec<_>>();
    assert_eq!(
        tracks(0),
        [
            vec![(10.0, 8.0), (50.0, 60.0)],
            vec![(10.0, 4.0), (50.0, 30.0)],
            vec![(10.0, 0.0), (50.0, 10.0)],
            vec![(0.0, 100.0), (50.0, 100.0)],
        ]
    );
    assert_eq!(tracks(3), [vec![(10.0, 100.0), (50.0, 40.0), (100.0, 0.0)]]);
    let mut picture = Vec::new();
    drawn.write_svg(&mut picture).unwrap();
    let picture = String::from_utf8(picture).unwrap();
    for said in ["least erased block", "cycles that blocks last for", "drive writes", "available spare, %"] {
        assert!(picture.contains(said), "{said}: {picture}");
    }
    // Both lives are drawn over the same axis: the first ends where the second is at its half.
    let mut dots: Vec<(f64, f64)> = picture
        .split('<')
        .filter(|element| element.starts_with("circle"))
        .map(|element| (attribute(element, "cx").parse().unwrap(), attribute(element, "cy").parse().unwrap()))
        .collect();
    dots.retain(|dot: &(f64, f64)| dot.1 > 120.0);
    let (shorter, longer) = (&dots[..2], &dots[6..9]);
    assert!((longer[1].0 - shorter[1].0 - 560.0).abs() <= 1.0, "{dots:?}");
    assert!(longer[1].1 == shorter[1].1 && longer[2].1 < longer[1].1, "{dots:?}");
}

#[test]
fn the_caller_may_stop_it() {
    let stopped = run(&plan(), &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(LifetimeError::Stopped)));
}

#[test]
fn how_far_a_life_is_is_told_by_what_its_blocks_have_used_and_promises_no_end() {
    let mut ages = Vec::new();
    run(&Plan { drive_writes_max: Some(3.0), ..plan() }, &mut |name, age| {
        ages.push((name, *age));
        ControlFlow::Continue(())
    })
    .unwrap();
    let first: Vec<Age> = ages.iter().filter(|(name, _)| *name == ages[0].0).map(|(_, age)| *age).collect();
    assert!(first.len() > 2 && first.is_sorted_by(|a, b| a.mean_percent() <= b.mean_percent()));
    let last = first.last().unwrap();
    assert!(last.share() == Some(1.0) && last.most_percent() > last.mean_percent(), "{last:?}");
    assert!((last.mean_percent() - last.now.erases_mean / 60.0 * 100.0).abs() < 1e-9);
    assert_eq!(Age { drive_writes_max: None, ..*last }.share(), None);
}
