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
    let kinds = [LevellingName::None, LevellingName::Dynamic, LevellingName::Static];
    assert!(report.lives.iter().map(|life| life.wear_levelling).eq(kinds));
    assert!(with.drive_writes > 1.2 * without.drive_writes, "{}", table(&report));
    assert!(with.levelled_blocks > 0 && without.levelled_blocks == 0 && dynamic.levelled_blocks == 0);
    let spread = |life: &Life| life.samples.last().map_or(0, |s| s.erases_max - s.erases_min);
    assert!(spread(without) > 2 * spread(with), "{}", table(&report));
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

/// What `name="…"` says in a piece of SVG.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let at = element.find(&format!("{name}=\"")).unwrap_or_else(|| panic!("{name} in {element}"));
    element[at + name.len() + 2..].split('"').next().unwrap()
}
fn points(element: &str) -> Vec<(f64, f64)> {
    let point = |point: &str| {
        let (x, y) = point.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    attribute(element, "points").split(' ').map(point).collect()
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
    longer.wear_levelling = LevellingName::Static;
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
    let mut picture = Vec::new();
    svg(&mut picture, &report).unwrap();
    let picture = String::from_utf8(picture).unwrap();
    assert!(picture.contains("no wear levelling: still written after"), "{picture}");
    let of = |tag: &str| picture.split('<').filter(|e| e.starts_with(tag)).map(points).collect::<Vec<_>>();
    let (bands, tracks) = (of("polygon"), of("polyline"));
    assert_eq!((bands.len(), tracks.len()), (2, 4), "a band, a mean and a spare for each life");
    for (nth, life) in report.lives.iter().enumerate() {
        // A hundred drive writes and a hundred erases with the 5 % above them, over the panel's width and
        // height.
        let (left, bottom) = (bands[nth][0].0 - 10.0 * 4.2, tracks[2 * nth][0].1 + 4.0 * 240.0 / 105.0);
        let near = |found: (f64, f64), of: &Sample, erases: f64| {
            let wanted = (left + of.drive_writes * 4.2, bottom - erases * 240.0 / 105.0);
            assert!(
                (found.0 - wanted.0).abs() < 0.2 && (found.1 - wanted.1).abs() < 0.2,
                "{found:?} {wanted:?}"
            );
        };
        let (samples, count) = (&life.samples, life.samples.len());
        assert_eq!((bands[nth].len(), tracks[2 * nth].len()), (2 * count, count));
        for (at, sample) in samples.iter().enumerate() {
            near(bands[nth][at], sample, sample.erases_min.into());
            near(bands[nth][2 * count - 1 - at], sample, sample.erases_max.into());
            near(tracks[2 * nth][at], sample, sample.erases_mean);
            let (full, now) = (tracks[2 * nth + 1][0].1, tracks[2 * nth + 1][at].1);
            let gone = f64::from(100 - sample.available_spare);
            assert!((now - full - gone * 0.7).abs() < 0.2, "spare of {} %", sample.available_spare);
        }
    }
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
