use super::*;
use crate::experiment::{long, value_of};
use aster_device::profile::SHIPPED;
use std::collections::BTreeMap;

fn nothing(_: &'static str, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A plan of few requests on one thread and on many.
fn little() -> Plan {
    let mut plan = Plan::shipped().unwrap();
    plan.buffer_entries = 256;
    plan.threads = vec![1, 16, 32];
    plan.reads_mib = 16;
    plan.phase_requests = 128;
    plan.host_requests = 1_000;
    let map_cache = &mut plan.map_cache;
    (map_cache.channels, map_cache.ways, map_cache.blocks_per_lun) = (1, 1, 80);
    (map_cache.percent, map_cache.requests) = (vec![35.0, 100.0], 400);
    plan
}

/// S28: the profile's drive is Table 2's, and another one shows where it differs.
#[test]
fn table_2_is_the_profiles_drive() {
    let plan = Plan::shipped().unwrap();
    let rows = table_2::rows(&plan).unwrap();
    assert_eq!(rows.len(), 13);
    let wrong: Vec<_> = rows.iter().filter(|row| !row.agrees).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let changed = plan.changed(vec![("host.queue_pairs".to_owned(), value_of(8.0))]);
    let rows = table_2::rows(&changed).unwrap();
    let wrong: Vec<_> = rows.iter().filter(|row| !row.agrees).map(|row| row.name).collect();
    assert_eq!(wrong, ["NVMe I/O queues"]);
}

/// The shapes that a drive with few requests shows already, and that every part gets into table, JSON and
/// figures.
#[test]
fn a_small_run_has_the_papers_shapes() {
    let plan = little();
    let report = run(&plan, &mut nothing).unwrap();
    let all = claims(&report, &plan);
    assert_eq!(all.len(), 13, "{all:?}");
    // Those that hold whatever the number of requests.
    for says in ["reads are faster than writes", "with one thread, transfers", "has two steps"] {
        let claim = all.iter().find(|claim| claim.says.contains(says)).expect(says);
        assert!(claim.holds, "{claim:?}");
    }
    // S33: the times that were fitted, each to its cell. The layer sees the end of a transfer in its next
    // pass, and a pass takes 1.6 µs: no fit comes closer than half of it.
    let one = &report.phases[0];
    let paper = &plan.paper.fig_10;
    for (ours, paper, margin) in [
        (one.read_transfer.median_us, paper.read_transfer_us, 0.8),
        (one.write_transfer.median_us, paper.write_transfer_us, 0.8),
        (one.read_command.median_us, paper.read_command_us, 2.0),
    ] {
        assert!((ours - paper).abs() <= margin, "{ours} beside {paper}");
    }
    for phase in [&one.read_transfer, &one.write_transfer, &one.read_command] {
        assert!(phase.p90_us - phase.p10_us < 0.1, "{phase:?}");
    }
    let host = &report.host;
    let error = (host.software_per_second / plan.paper.fig_11.software_per_second - 1.0).abs();
    assert!(error < 0.05, "{host:?}");
    assert!(report.threads.iter().all(|point| point.access.writes() || point.buffer_hits == 0));
    let text = table(&report, &plan);
    for part in ["Table 2", "Figs 8 and 9", "Fig 10", "Fig 11", "Map cache", "fitted (costs/softssd.toml)"] {
        assert!(text.contains(part), "{text}");
    }
    let json = serde_json::to_value(json(&report, &plan)).unwrap();
    assert_eq!(json["claims"].as_array().unwrap().len(), all.len());
    assert_eq!(json["threads"].as_array().unwrap().len(), 12);
    assert_eq!(json["map_cache"].as_array().unwrap().len(), 12);
    assert_eq!(figures(&report, &plan).len(), 7);
    // A translation page has 4,096 pages that follow each other, and a larger cache spares reads of them.
    let of = |pattern, write| -> Vec<&MapCachePoint> {
        report.map_cache.iter().filter(|point| point.pattern == pattern && point.write == write).collect()
    };
    assert!(of(Pattern::Sequential, false).iter().all(|point| point.reads_per_request < 0.02));
    for pattern in [Pattern::Uniform, Pattern::Skewed] {
        let [small, large] = of(pattern, false)[..] else { panic!("two sizes") };
        assert!(large.hit_rate > small.hit_rate + 0.2, "{small:?} {large:?}");
        assert!(large.mb_per_s > small.mb_per_s, "{small:?} {large:?}");
        assert!(small.reads_per_request > 0.2 && small.reads_per_request < 1.1, "{small:?}");
    }
}

/// Checks that no number was fitted by hand.
#[test]
fn calibration_finds_the_numbers_that_are_shipped() {
    if !long() {
        return;
    }
    let fits = calibrate(&Plan::shipped().unwrap(), &mut nothing).unwrap();
    assert_eq!(fits.len(), 4);
    assert!(fits.iter().all(|fit| fit.value == fit.shipped), "{}", fits_table(&fits).unwrap());
}

/// Each cost of both boards is counted, or stated: the file has all of them, and no other.
#[test]
fn both_boards_have_the_costs_of_the_file() {
    let costs = costs::shipped().unwrap();
    let of_file: BTreeMap<String, f64> =
        costs.numbers(&costs.values()).into_iter().filter(|(key, _)| key.starts_with("costs.")).collect();
    assert_eq!(of_file.len(), 26);
    for name in ["softssd", "softssd-small"] {
        let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).unwrap();
        let profile: toml::Table = toml::from_str(text).unwrap();
        let of_profile = profile["costs"].as_table().unwrap().iter();
        let of_profile =
            of_profile.map(|(key, cycles)| (format!("costs.{key}"), cycles.as_integer().unwrap() as f64));
        assert_eq!(of_profile.collect::<BTreeMap<_, _>>(), of_file, "{name}");
    }
}

#[test]
fn a_plan_that_does_not_fit_its_profiles_is_refused() {
    let text = include_str!("../../../experiments/softssd.toml");
    let other = text.replace("profile = \"softssd\"", "profile = \"cosmos-plus\"");
    assert_ne!(other, text);
    let error = Plan::parse("mine.toml", &other).unwrap_err().to_string();
    assert!(error.starts_with("costs/softssd.toml: ") && error.contains("but profile cosmos-plus has"));
    let error = Plan::parse("mine.toml", &text.replace("[1, 2,", "[2, 1,")).unwrap_err().to_string();
    assert!(error.contains("threads: must be"), "{error}");
    let without = text.replace("registers_of = \"cosmos-board\"", "registers_of = \"softssd\"");
    assert_ne!(without, text);
    let error = Plan::parse("mine.toml", &without).unwrap_err().to_string();
    assert!(error.contains("registers_of: must be"), "{error}");
}
