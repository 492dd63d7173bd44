use super::*;
use crate::experiment::{Claim, value_of};
use crate::pts::WINDOW;

fn nothing(_: &'static str, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A plan of few and short cells on the drive in small, whose 8 lanes are a quarter of the other's.
fn little() -> Plan {
    let text = include_str!("../../../experiments/host-ftl.toml");
    let small = text.replace("profile = \"host-ftl\"", "profile = \"host-ftl-small\"");
    let small = small.replace("blocks_per_lun = 64", "blocks_per_lun = 24");
    let small = small.replace("pages_per_block = 64", "pages_per_block = 8");
    let mut plan = Plan::parse("little.toml", &small).unwrap();
    plan.rounds_max = WINDOW;
    plan.random.minute_ms = 10;
    plan.random.reads_percent = vec![100, 50, 0];
    plan.random.blocks_kib = vec![4, 32, 128];
    plan.random.depths = vec![1, 2, 16, 64];
    plan.prepared.minute_ms = 6;
    plan.sequential.minute_ms = 5;
    plan.sequential.blocks_kib = vec![4, 128];
    plan.sequential.depths = vec![1, 64];
    plan.latency.minute_ms = 10;
    (plan.commands.channels, plan.commands.each) = (vec![1], 40);
    plan.beside.minute_ms = 2;
    (plan.wear.endurance, plan.wear.window) = (40, 16);
    plan
}

fn claim<'a>(all: &'a [Claim], says: &str) -> &'a Claim {
    all.iter().find(|claim| claim.says.contains(says)).expect(says)
}

/// The statements that hold on a drive with a quarter of the lanes too, and that every part gets into table,
/// JSON and figures.
#[test]
fn a_small_run_has_the_papers_shapes() {
    let plan = little();
    let report = run(&plan, &mut nothing).unwrap();
    let all = claims(&report, &plan);
    assert_eq!(all.len(), 17, "{all:?}");
    for says in ["reads stay below", "with a depth below 32 drop most", "one to a die between"] {
        assert!(claim(&all, says).holds, "{:?}", claim(&all, says));
    }
    let rows = numbers(&report, &plan);
    assert_eq!(rows.len(), 22, "{rows:?}");
    // H38: a page is programmed for each write that is sent at once: 16 dies, 600 µs and 107 µs of transfer.
    let bound = 16.0 / 707e-6;
    let of = |kind, reads, in_flight| {
        let mut points = report.of(kind, reads, 4);
        points.find(|point| point.in_flight() == in_flight).unwrap().measured.iops
    };
    let at_once = of(LoadKind::PreparedAtOnce, 0, 64);
    assert!((0.65..1.05).contains(&(at_once / bound)), "{at_once} of {bound}");
    assert!(of(LoadKind::Prepared, 0, 64) > 2.0 * at_once, "four sectors of a page take one program");
    // H43: tR and 27 µs of transfer at least.
    let alone = report.of(LoadKind::PreparedAlone, 100, 4).next().unwrap();
    assert!((77.0..110.0).contains(&alone.measured.mean_us), "{alone:?}");
    // Fig 11: the loop's cycles reach the drive.
    assert!(report.copy_reads.looped < report.copy_reads.table, "{:?}", report.copy_reads);
    // Fig 29: a composite page is programmed while a page would be.
    let cycles = |name| report.commands.iter().find(|point| point.name == name).unwrap().cycles;
    assert!(cycles("page write") > 707.0 * 120.0 && cycles("PCP write") < 1.4 * cycles("page write"));
    assert!(cycles("PCP read") > cycles("4K read") && cycles("no operation") < 0.1 * cycles("4K read"));
    // H31: no copy has a time of its own. Two transfers of a page take 204.8 µs.
    let us = |name| report.alone(name).unwrap();
    let (back, die, host) = (us("copy-back"), us("copy to a die"), us("copy by the host"));
    assert!((650.0..665.0).contains(&back), "tR and tPROG: {back}");
    assert!((854.8..890.0).contains(&die) && (die + 10.0..1_000.0).contains(&host), "{die}, {host}");
    let text = table(&report, &plan);
    let parts = [
        "Fig 22",
        "Figs 23 to 25",
        "Fig 26",
        "Fig 27",
        "Fig 31",
        "What the paper prints",
        "H43 Fig 30",
        "Wear of",
    ];
    let parts =
        parts.into_iter().chain(["Fig 11: cycles", "Fig 28: ", "Fig 29: cycles", "Nothing is fitted: "]);
    for part in parts {
        assert!(text.contains(part), "{text}");
    }
    let json = serde_json::to_value(json(&report, &plan)).unwrap();
    assert_eq!(json["claims"].as_array().unwrap().len(), all.len());
    assert_eq!(json["numbers"].as_array().unwrap().len(), rows.len());
    assert_eq!(json["loads"].as_array().unwrap().len(), 9 + 12 + 11 + 4 + 8 + 8 + 9);
    assert_eq!(json["wear"].as_array().unwrap().len(), 4);
    assert_eq!(figures(&report, &plan).len(), 11);
}

/// Claims are held against the points: other points, other verdicts.
#[test]
fn a_claim_that_does_not_hold_is_told() {
    let plan = little();
    let measured = |reads, kib: u32, iops: f64| crate::pts::Measured {
        read_percent: reads,
        block_bytes: kib << 10,
        requests: 1,
        iops,
        mb_per_s: iops * f64::from(kib) * 1024.0 / 1e6,
        mean_us: 1.0,
        max_us: 1.0,
    };
    let point = |kind, depth, measured| LoadPoint { kind, threads: 4, depth, is_steady: None, measured };
    let verdicts = |flat: f64, deep: f64, large: f64, four: f64| {
        let loads = vec![
            point(LoadKind::PreparedAtOnce, 2, measured(0, 4, 86_000.0)),
            point(LoadKind::PreparedAtOnce, 16, measured(0, 4, flat)),
            point(LoadKind::Depths, 16, measured(0, 4, 80_000.0)),
            point(LoadKind::Prepared, 2, measured(100, 4, 50_000.0)),
            point(LoadKind::Prepared, 64, measured(100, 4, deep)),
            point(LoadKind::Sequential, 64, measured(100, 128, large)),
        ];
        let latency = LatencyRounds { steady_from: Some(11), rounds: vec![vec![]; 15] };
        let copies = CopyCosts::shipped().unwrap().points();
        let copy_reads = CopyReads { looped: 1.0, table: 2.0, cycles: 300.0, bound: 400_000.0 };
        let commands = [(1, 100.0), (4, four)].map(|(channels, cycles)| CommandPoint {
            name: "no operation",
            channels,
            cycles,
            us: 1.0,
        });
        let commands = commands.to_vec();
        let report = HostFtlReport { bytes: 1, loads, latency, copies, copy_reads, commands, wear: vec![] };
        let all = claims(&report, &plan);
        let says = [
            "don't depend on the number",
            "keep growing",
            "use the full bandwidth",
            "are steady after",
            "4 channels than",
        ];
        says.map(|says| claim(&all, says).holds)
    };
    assert_eq!(verdicts(86_000.0, 200_000.0, 19_000.0, 40.0), [true, true, true, false, true]);
    assert_eq!(verdicts(60_000.0, 40_000.0, 10_000.0, 70.0), [false; 5]);
}

/// H14, H15: the profile's MCU takes the cycles of the instructions that the cost file writes out.
#[test]
fn the_profiles_mcu_costs_are_counted_by_instruction() {
    let (costs, copies) = (Plan::shipped().unwrap().profile().unwrap().costs, CopyCosts::shipped().unwrap());
    let counted = [
        (costs.command, copies.of_command(copy::CopyWay::Table)),
        (costs.slice, copies.of_address(copy::CopyWay::Table)),
        (costs.complete, copies.of_status()),
        (costs.dma, copies.of_frame()),
        (costs.loop_pass, 112.0),
    ];
    for (cycles, counted) in counted {
        assert_eq!(cycles as f64, counted.round());
    }
}

#[test]
fn a_key_of_the_profile_can_be_varied() {
    let plan = Plan::shipped().unwrap();
    let plan = plan.changed(vec![("target.command_ns".to_owned(), value_of(2000.0))]);
    assert_eq!(plan.profile().unwrap().target.unwrap().command_ns, Some(2000));
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_by_its_key() {
    let text = include_str!("../../../experiments/host-ftl.toml");
    for (from, to, key) in [
        ("depths = [1, 2, 4,", "depths = [2, 1, 4,", "random.depths"),
        ("[100, 65, 50, 35, 0]", "[100, 65, 50, 35]", "random.reads_percent"),
        ("blocks_kib = [16, 8, 4]", "blocks_kib = [16, 8]", "latency.blocks_kib"),
        ("minute_ms = 40\n", "minute_ms = 0\n", "prepared.minute_ms"),
        ("rounds_max = 12", "rounds_max = 4", "rounds_max"),
        ("hot_percent = 10", "hot_percent = 101", "wear.hot_percent"),
        ("block_kib = 64", "block_kib = 3", "wear.block_kib"),
        ("window = 128", "window = 1", "wear.window"),
        ("fig_27_mb_per_s", "fig_27_mb", "paper.fig_27_mb"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let error = Plan::parse("mine.toml", &changed).unwrap_err().to_string();
        assert!(error.starts_with("mine.toml: ") && error.contains(key), "{error}");
    }
}

/// Four lives: RSWL wears blocks evenly, within the window, and the drive longer, and what levels wear has
/// emptied groups for it. Nothing is lost.
#[test]
fn levelled_drives_wear_evenly_and_live_longer() {
    let plan = little();
    let lives = wear::lives(&plan, &mut |_| Ok(())).unwrap();
    assert!(lives.iter().map(|life| life.kind).eq(WearKind::ALL));
    for life in &lives {
        assert_eq!(life.levelled > 0, life.kind != life.kind.unlevelled(), "{life:?}");
        let last = life.samples.last().unwrap();
        assert!(last.bad > 0 && last.most >= plan.wear.endurance, "{last:?}");
    }
    for kind in [WearKind::HostFtlLevelled, WearKind::PageMappingLevelled] {
        let WearPair { without, with, ends } = WearPair::of(&lives, kind).unwrap();
        assert_eq!((with.drive_writes, with.bad, without.bad), (without.drive_writes, 0, 0));
        assert!(with.deviation < without.deviation / 1.2, "{with:?} {without:?}");
        assert!(ends[1] > 1.1 * ends[0], "{ends:?}");
    }
}

/// Other wear, other verdicts.
#[test]
fn a_claim_about_wear_that_does_not_hold_is_told() {
    let plan = Plan::shipped().unwrap();
    let sample = |drive_writes, erases, (least, most), deviation, bad| {
        let mean = f64::from(least + most) / 2.0;
        WearSample { drive_writes, erases, least, most, mean, deviation, bad }
    };
    let life = |kind, levelled, samples| WearLife { kind, levelled, emptied: 1_000, samples };
    let verdicts = |erases, range, deviation, end, levelled| {
        let before = vec![sample(1.0, 1_000, (0, 300), 80.0, 0), sample(5.0, 9_000, (0, 500), 99.0, 3)];
        let after = vec![
            sample(1.0, erases, range, deviation, 0),
            sample(5.0, 9_900, (0, 900), 20.0, 0),
            sample(end, 20_000, (0, 999), 20.0, 4),
        ];
        let wear = vec![life(WearKind::HostFtl, 0, before), life(WearKind::HostFtlLevelled, levelled, after)];
        let report = HostFtlReport {
            bytes: 1,
            loads: vec![],
            latency: LatencyRounds { steady_from: None, rounds: vec![] },
            copies: vec![],
            copy_reads: CopyReads { looped: 1.0, table: 2.0, cycles: 300.0, bound: 400_000.0 },
            commands: vec![],
            wear,
        };
        let all = claims(&report, &plan);
        ["no more than", "standard deviation", "by T at most", "total amount", "over a life"]
            .map(|says| claim(&all, says).holds)
    };
    // The second samples are of drives one of which has bad blocks, and count for the window alone.
    assert_eq!(verdicts(1_019, (5, 133), 39.0, 5.6, 19), [true, true, false, true, true]);
    assert_eq!(verdicts(1_021, (5, 133), 41.0, 5.4, 20), [false; 5]);
}
