use super::*;
use crate::experiment::{Claim, value_of};

/// A plan of few requests.
fn little() -> Plan {
    let mut plan = Plan::shipped().unwrap();
    plan.load.outstanding = vec![1, 16, 64];
    plan.load.requests = 2_048;
    plan.load.steady_requests = 4_096;
    // So few requests meet none of one page in 64.
    plan.load.slow_lun.one_in = 16;
    plan.slides.requests = 160_000;
    plan.slides.share = 0.04;
    plan.slides.random_writes = 100_000;
    plan.places.written = 0.25;
    plan.places.reads = 2_000;
    plan
}
/// The same with 16 LUNs, which few requests fill more than once: without that the board's FTL erases
/// nothing.
fn few_luns() -> Plan {
    let four = || value_of(4.0);
    little().changed(vec![("restrict.channels".to_owned(), four()), ("restrict.ways".to_owned(), four())])
}

/// Statements that few requests can't show, by a part of their text.
const NEED_MANY_REQUESTS: [&str; 1] = [
    // A quarter of the slides' requests leaves 25 blocks in the cache, which is more than the blocks that the
    // drive erases ahead while the cache collects; a few thousand don't.
    "legacy erases fewer blocks than without it",
];

/// All statements hold whatever the number of requests, but for those above; and every part gets into table,
/// JSON and figures.
#[test]
fn a_small_run_has_the_shapes_of_paper_and_slides() {
    let plan = little();
    let told = &mut |_| Ok(());
    let report = OcssdReport {
        sweep: sweep::measure(&plan, told).unwrap(),
        load: load::measure(&plan, told).unwrap(),
        slides: slides::measure(&few_luns(), told).unwrap(),
        places: places::measure(&plan, told).unwrap(),
    };
    let all = claims(&report, &plan);
    assert_eq!(all.len(), 19, "{all:?}");
    let is_left_out = |claim: &Claim| NEED_MANY_REQUESTS.iter().any(|says| claim.says.contains(says));
    assert_eq!(all.iter().filter(|claim| is_left_out(claim)).count(), NEED_MANY_REQUESTS.len());
    let differs: Vec<_> = all.iter().filter(|claim| !claim.holds && !is_left_out(claim)).collect();
    assert!(differs.is_empty(), "{differs:#?}");
    // O7: random reads go over the whole drive, as sequential writes do, and the cache holds little of it.
    let cache = f64::from(plan.slides.cache_mib(false)) * f64::from(1 << 20);
    for ftl in Ftl::ALL {
        let of = |workload| {
            let mut rows = report.slides.iter();
            rows.find(|row| (row.workload, row.ftl, row.cached) == (workload, ftl, true)).unwrap()
        };
        let row = of(Workload::RandomRead);
        assert_eq!(row.range_bytes, of(Workload::SequentialWrite).range_bytes);
        let of_drive: u64 = row.sizes.iter().map(|size| size.commands).sum();
        let (missed, held) = (of_drive as f64 / row.requests as f64, cache / row.range_bytes as f64);
        assert!((missed - (1.0 - held)).abs() < 0.05, "{missed:.2} missed, {held:.2} held");
    }
    let text = table(&report, &plan);
    for part in [
        "Figs 33 to 35",
        "Figs 36 to 38",
        "The slides' workloads",
        "Blocks erased",
        "One FTL, two places",
        "Nothing is fitted",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let json = serde_json::to_value(json(&report, &plan)).unwrap();
    assert_eq!(json["claims"].as_array().unwrap().len(), all.len());
    assert_eq!(json["sweep"].as_array().unwrap().len(), 12);
    assert_eq!(json["slides"].as_array().unwrap().len(), 16);
    // One FTL does the same work in two places, but what it copies crosses the link only from the host.
    let [drive, host, pblk] = &report.places[..] else { panic!("{:?}", report.places) };
    assert_eq!([drive, host, pblk].map(|row| row.place), Place::ALL);
    assert!((host.programmed / drive.programmed - 1.0).abs() < 0.05, "{drive:?} {host:?}");
    assert!(drive.over_link < 1.1 && host.over_link > host.programmed, "{drive:?} {host:?}");
    assert!(pblk.over_link > pblk.programmed, "{pblk:?}");
    assert_eq!(json["places"][1]["place"], "host");
    assert_eq!(figures(&report, &plan).len(), 7);
    let timelines = timelines(&report, &plan);
    assert_eq!(timelines.len(), 2);
    assert!(timelines.iter().all(|timeline| timeline.lanes.len() == 16));
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let mut parts = Vec::new();
    let stopped = run(&little(), &mut |part, _| {
        parts.push(part);
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(ExperimentError::Stopped)), "{stopped:?}");
    assert_eq!(parts, ["Figs 33 to 35"]);
}

/// The two drives have the same cells and as many of them, and a key of the host's FTL changes only the drive
/// that has one.
#[test]
fn both_drives_have_the_same_array() {
    let plan = Plan::shipped().unwrap();
    let plan = plan.changed(vec![("target.command_ns".to_owned(), value_of(2000.0))]);
    let [pblk, legacy] = Ftl::ALL.map(|ftl| plan.load_profile(ftl).unwrap());
    assert_eq!(pblk.target.as_ref().unwrap().command_ns, Some(2000));
    assert!(legacy.target.is_none());
    for profile in [&pblk, &legacy] {
        assert_eq!(profile.geometry.pages_per_block, 128);
        assert_eq!((profile.package.read_us[0], profile.package.program_us[0]), (99.0, 486.0));
    }
    assert_eq!(pblk.restrict.blocks_per_lun, legacy.restrict.blocks_per_lun);
    let slides = plan.slides_profile(Ftl::Pblk, false).unwrap();
    assert_eq!(slides.restrict.blocks_per_lun, Some(128), "a quarter of 512");
    assert_eq!(slides.package.program_us, [1500.0]);
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_by_its_key() {
    let text = include_str!("../../../experiments/ocssd.toml");
    for (from, to, key) in [
        ("[1, 2, 4,", "[2, 1, 4,", "load.outstanding"),
        ("share = 0.25", "share = 1.5", "slides.share"),
        ("written = 2.0", "written = 0.0", "places.written"),
        ("reads = 40000", "writes = 40000", "places.writes"),
        ("sample_us = 200 ", "sample_us = 0 ", "load.sample_us"),
        ("list_fetch_us = 1.4", "list_fetch = 1.4", "paper.list_fetch"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let error = Plan::parse("mine.toml", &changed).unwrap_err().to_string();
        assert!(error.starts_with("mine.toml: ") && error.contains(key), "{error}");
    }
}
