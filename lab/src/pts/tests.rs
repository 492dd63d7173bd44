use super::*;
use aster_device::profile::{CollectionName, Profile, SHIPPED, shipped};
use aster_units::Duration;
use std::ops::ControlFlow;

fn profile(name: &str) -> Profile {
    shipped(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A drive of 4 MiB that garbage collection keeps busy.
fn small() -> Profile {
    let mut profile = profile("tiny");
    (profile.geometry.channels, profile.geometry.ways, profile.geometry.luns) = (1, 1, 1);
    profile.geometry.blocks_per_lun = 40;
    // In units of 4 KiB it takes more rounds than four drive writes have.
    profile.ftl.mapping_unit_bytes = 0;
    (profile.ftl.placement, profile.ftl.collection) = (None, CollectionName::OnDemand);
    profile
}

fn quick(name: &str, profile: Profile, tests: &[Test]) -> Plan {
    Plan { tests: tests.to_vec(), ..Plan::new(name, profile, Class::Enterprise).quick() }
}

fn go(plan: &Plan) -> Report {
    run(plan, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{}: {error}", plan.name))
}

#[test]
fn a_drive_is_purged_filled_and_loaded_until_it_is_steady() {
    let mut stages = Vec::new();
    let plan = quick("small", small(), &[Test::Iops]);
    let report = run(&plan, &mut |step| {
        if stages.last() != Some(&step.stage.to_owned()) {
            stages.push(step.stage.to_owned());
        }
        assert_eq!(step.share.is_some(), step.stage.ends_with("precondition"), "{step:?}");
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(stages, ["IOPS: precondition", "IOPS: rounds"]);
    let [iops] = &report.tests[..] else { panic!("{report:?}") };
    assert_eq!(iops.purge, Purge::Format);
    assert_eq!(iops.precondition.bytes / (256 << 10), 2 * report.drive.bytes / (256 << 10));
    assert!(iops.is_steady && (5..=25).contains(&iops.rounds.len()), "{}", table(&report));
    let [track] = &iops.tracked[..] else { panic!("{iops:?}") };
    let window = track.window.unwrap();
    assert_eq!((window.first_round, window.last_round()), iops.window());
    // The result of a cell is the mean of the window's rounds.
    let tracked = iops.of(track.cell).unwrap();
    assert!((tracked.iops / window.mean - 1.0).abs() < 1e-9, "{tracked:?} {window:?}");
    assert_eq!(iops.cells.len(), 9, "three mixes of three sizes");
    assert!(iops.rounds.iter().all(|round| round.len() == 9));
    // Reads are faster than writes that wait for flash, and 128 of them are in flight.
    let reads = iops.of(Cell { read_percent: 100, block_bytes: 4096 }).unwrap();
    assert!(reads.iops > 2.0 * tracked.iops, "{}", table(&report));
    let in_flight = reads.iops * reads.mean_us / 1e6;
    assert!((in_flight / 128.0 - 1.0).abs() < 0.15, "{in_flight} requests in flight: {reads:?}");
    assert!(report.warnings.iter().all(|warning| warning.code != "no-collection"), "{report:?}");
}

#[test]
fn the_same_seed_gives_the_same_report_and_another_one_another() {
    let plan = quick("small", small(), &[Test::Iops]);
    let json = |plan: &Plan| serde_json::to_string(&go(plan)).unwrap();
    let first = json(&plan);
    assert_eq!(first, json(&plan));
    assert_ne!(first, json(&Plan { seed: 2, ..plan }));
}

#[test]
fn a_drive_that_does_not_settle_is_told_as_such() {
    // Rounds of a single millisecond differ too much from each other.
    let plan = quick("small", small(), &[Test::Iops]);
    let plan = Plan { minute: Some(Duration::from_millis(1)), rounds_max: 5, threads: 1, depth: 1, ..plan };
    let report = go(&plan);
    assert_eq!(report.tests[0].rounds.len(), 5);
    assert!(!report.tests[0].is_steady, "{}", table(&report));
    assert!(report.warnings.iter().any(|warning| warning.code == "not-steady"), "{:?}", report.warnings);
    assert!(table(&report).contains("STEADY STATE NOT REACHED after 5 rounds: rounds 1 to 5"));
}

#[test]
fn the_write_cache_is_switched_as_the_plan_says() {
    let plan = quick("small", small(), &[Test::Latency]);
    let plan = Plan { minute: Some(Duration::from_millis(20)), rounds_max: 5, ..plan };
    let times = |plan: &Plan| {
        let report = go(plan);
        assert_eq!(report.settings.write_cache, plan.write_cache);
        let of = |read_percent| report.tests[0].rounds[0].iter().find(|m| m.read_percent == read_percent);
        (of(0).unwrap().mean_us, report.tests[0].precondition.mb_per_s)
    };
    let (off, on) = (times(&plan), times(&Plan { write_cache: true, ..plan.clone() }));
    // Writes that wait for flash take other times, alone and side by side.
    assert!(off.0 != on.0 && off.1 != on.1, "{on:?} with the cache, {off:?} without");
}

#[test]
fn the_caller_may_stop_it_anywhere() {
    let plan = quick("small", small(), &[Test::Iops]);
    for stage in ["IOPS: precondition", "IOPS: rounds"] {
        let stopped = run(&plan, &mut |step| match step.stage == stage {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        assert!(matches!(stopped, Err(ExperimentError::Stopped)), "{stage}");
    }
}

#[test]
fn every_shipped_drive_can_be_purged_and_small_ones_be_tested() {
    for (name, _) in SHIPPED {
        let plan = quick(name, profile(name), &[Test::Latency]);
        let plan = Plan { minute: Some(Duration::from_millis(1)), rounds_max: 1, ..plan };
        let small = plan.drive().unwrap().bytes < 100 << 20;
        if small {
            let report = go(&plan);
            assert_eq!(report.tests[0].purge, Purge::Format, "{name}");
            assert_eq!(report.tests[0].rounds.len(), 1, "{name}");
            let skips = report.warnings.iter().any(|warning| warning.code == "skipped");
            assert_eq!(skips, report.drive.block_bytes == 4096, "{name}: {:?}", report.warnings);
        } else {
            let (sweeps, _) = Sweep::of(&plan, plan.drive().unwrap());
            let mut drive = TestedDrive::power_on(&plan, &plan.queues(&sweeps)).unwrap();
            assert_eq!(drive.purge().unwrap(), Purge::Format, "{name}");
        }
    }
}

#[test]
fn sequential_reads_are_as_fast_as_the_link_at_most() {
    let report = go(&quick("tiny", profile("tiny"), &[Test::Throughput]));
    let titles: Vec<&str> = report.tests.iter().map(|test| test.title.as_str()).collect();
    assert_eq!(titles, ["throughput of 1024 KiB", "throughput of 128 KiB"]);
    for test in &report.tests {
        let [reads, writes] = &test.tracked[..] else { panic!("{test:?}") };
        assert_eq!((reads.cell.read_percent, writes.cell.read_percent), (100, 0));
        // PCIe 2 of 4 lanes carries 2,000 MB/s.
        let (reads, writes) = (reads.window.unwrap().mean, writes.window.unwrap().mean);
        assert!(reads < 2000.0 && reads > writes, "{reads} and {writes} MB/s");
    }
}

#[test]
fn a_purged_drive_is_fast_until_it_is_full_and_steady_in_the_end() {
    let plan = Plan { write_cache: true, ..quick("small", small(), &[Test::WriteSaturation]) };
    let report = go(&plan);
    let saturation = report.write_saturation.as_ref().unwrap();
    assert_eq!(saturation.ended_by, SaturationEnd::Written);
    assert!(report.tests.is_empty());
    let last = saturation.rounds.last().unwrap();
    assert!(last.drive_writes >= 4.0 && last.drive_writes < 4.5, "{last:?}");
    let writes: Vec<u64> = saturation.rounds.iter().map(|round| round.written_bytes).collect();
    assert!(writes.is_sorted() && writes[0] > 0);
    // The cliff: it comes when the drive is full, not before and not much later.
    let cliff = saturation.halved_after_drive_writes.unwrap();
    assert!((0.5..2.0).contains(&cliff), "{cliff}");
    let tenth = saturation.rounds.len() / 10;
    let mean = |rounds: &[SaturationRound]| {
        rounds.iter().map(|round| round.measured.iops).sum::<f64>() / rounds.len() as f64
    };
    let (first, end) =
        (mean(&saturation.rounds[..tenth]), mean(&saturation.rounds[saturation.rounds.len() - tenth..]));
    assert!(end < first / 2.0, "{first} then {end}");
    assert!(saturation.window.unwrap().is_steady, "{}", table(&report));
    let told = table(&report);
    assert!(told.contains("It ended when the capacity had been written four times"), "{told}");
    let left_out = format!("\n16 of {} rounds; --json has all.\n", saturation.rounds.len());
    assert!(saturation.rounds.len() > 16 && told.contains(&left_out), "{told}");
}

#[test]
fn figures_have_every_figure_of_the_report() {
    let plan = quick("small", small(), &Test::ALL);
    let plan = Plan { minute: Some(Duration::from_millis(20)), rounds_max: 6, write_cache: true, ..plan };
    let report = go(&plan);
    let figures = figures(&report);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name).collect();
    assert_eq!(
        names,
        ["pts-rounds", "pts-window", "pts-iops", "pts-throughput", "pts-latency", "pts-saturation"]
    );
    let panels: Vec<usize> = figures.iter().map(|figure| figure.panels.len()).collect();
    // Two throughputs; each of them tracks reads and writes.
    assert_eq!(panels, [4, 6, 1, 1, 2, 3]);
    let [rounds, window, iops, ..] = &figures[..] else { panic!("{names:?}") };
    let lengths = rounds.panels[0].series.iter().map(|series| series.points.len());
    assert!(lengths.eq([report.tests[0].rounds.len(); 3]), "three sizes, a point a round");
    let of_window: Vec<&str> = window.panels[0].series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(of_window, ["tracked", "mean", "line through the rounds", "mean + 10 %", "mean - 10 %"]);
    let places = window.panels.iter().flat_map(|panel| &panel.series[0].points).map(|point| point.0);
    assert!(places.eq([1.0, 2.0, 3.0, 4.0, 5.0].repeat(6)));
    let read = &iops.panels[0].series[0];
    let cell = report.tests[0].of(Cell { read_percent: 100, block_bytes: 4096 }).unwrap();
    assert_eq!((read.name.as_str(), read.points[1]), ("R/W 100/0", (4.0, cell.iops)));
    for figure in &figures {
        let mut picture = Vec::new();
        figure.write_svg(&mut picture).unwrap();
        let picture = String::from_utf8(picture).unwrap();
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            assert!(picture.contains(&series.name), "{}: {}", figure.name, series.name);
        }
    }
}
