//! Checks the paper's statements about its curves, and how close our numbers are. With `ASTER_LONG=1` the
//! shipped plan replaces its short form.

use super::*;
use crate::experiment::{error_percent, long};
use crate::figure::Source;
use std::sync::LazyLock;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let plan = Plan::shipped().unwrap_or_else(|error| panic!("{error}"));
    if long() { plan } else { plan.quick() }
});
static REPORT: LazyLock<CosmosReport> = LazyLock::new(|| {
    run(&PLAN, &mut |_, _| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{error}"))
});

/// Table 7's row, by the number outstanding.
fn row(mode: Mode, write: bool) -> Vec<(u32, &'static Measured)> {
    let table = &REPORT.latency;
    let row = table.rows.iter().find(|row| (row.mode, row.write) == (mode, write)).unwrap();
    table.outstanding.iter().copied().zip(&row.found).collect()
}
fn rows() -> impl Iterator<Item = (Mode, bool)> {
    mode::ROWS.into_iter()
}
fn at(cells: &[(u32, &'static Measured)], ios: u32) -> &'static Measured {
    cells.iter().find(|(column, _)| *column == ios).unwrap().1
}
fn grid(points: &'static [GridPoint], mode: Mode, write: bool, channels: u16, ways: u8) -> &'static Measured {
    let wanted = (mode, write, channels, ways);
    &points.iter().find(|p| (p.mode, p.write, p.channels, p.ways) == wanted).unwrap().found
}
fn distribution(assigner: &str, kib: u32) -> &'static Distribution {
    REPORT.distribution.iter().find(|d| (d.assigner, d.kib) == (assigner, kib)).unwrap()
}
fn clock(square: u8, write: bool, mhz: u32) -> &'static Measured {
    &REPORT.clock.iter().find(|p| (p.square, p.write, p.mhz) == (square, write, mhz)).unwrap().found
}

#[test]
fn the_array_takes_the_times_of_table_5_and_buses_are_those_of_table_6() {
    assert_eq!(REPORT.array.len(), 5, "reads and writes of SLC and MLC, erases");
    for row in &REPORT.array {
        assert!(error_percent(row.ours_us, row.paper_us).abs() < 1.0, "{row:?}");
    }
    for bus in &REPORT.buses {
        assert!(error_percent(bus.ours, bus.paper).abs() < 0.5, "{bus:?}");
    }
}

#[test]
fn what_was_fitted_is_met() {
    for entry in costs::shipped().unwrap().fitted {
        let cell = entry.cell;
        let found = at(&row(cell.mode, cell.write), cell.outstanding);
        let (ours, paper) = (cell.ours_us(found), cell.paper_us(&PLAN).unwrap());
        // The short form has other requests than the fit.
        let most = if long() { 2.0 } else { 5.0 };
        assert!(error_percent(ours, paper).abs() < most, "{cell}: {ours} for {paper}");
    }
}

/// Checks that no number was fitted by hand.
#[test]
fn calibration_finds_the_numbers_that_are_shipped() {
    if !long() {
        return;
    }
    let fits = calibrate(&PLAN, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(fits.iter().all(|fit| fit.value == fit.shipped), "{}", fits_table(&fits).unwrap());
}

#[test]
fn system_latencies_are_predicted_within_5_percent_on_average_and_15_at_worst() {
    let errors = text::predicted_errors(&REPORT.latency, &PLAN);
    let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64;
    assert_eq!(errors.len(), 23);
    assert!(mean < 5.0, "{mean}: {errors:?}");
    // The short form has a quarter of the requests.
    let most = if long() { 15.0 } else { 17.0 };
    assert!(errors.iter().all(|e| e.abs() < most), "{errors:?}");
}

#[test]
fn the_three_parts_make_the_whole() {
    for (mode, write) in rows() {
        for (ios, f) in row(mode, write) {
            let sum = f.hic_us + f.firmware_us + f.storage_us;
            assert!((sum - f.system_us).abs() < 1e-6 && f.firmware_us > 0.0, "{mode:?} {write} {ios}: {f:?}");
            // Little's law. The host's latency also includes its own time, the link's, and reading the
            // command from registers. The controller completes a command by itself before the firmware
            // senses its end, so the host may send the next one earlier.
            let inside = f.system_us * f.mb_per_s / 16_384.0;
            assert!(inside > 0.94 * f64::from(ios) && inside <= f64::from(ios) * 1.03, "{ios}: {inside}");
        }
    }
}

/// C69.
#[test]
fn the_storage_controllers_latency_is_flat_up_to_eight_and_its_share_falls() {
    for (mode, write) in rows() {
        let cells = row(mode, write);
        let share = |ios| at(&cells, ios).storage_us / at(&cells, ios).system_us;
        // The paper's numbers grow by at most 10 %.
        assert!(at(&cells, 8).storage_us < 1.12 * at(&cells, 1).storage_us, "{mode:?} {write}");
        // MLC writes grow by 9 % only, in the paper too: programs take most of their time.
        let grown = |from, to| at(&cells, to).storage_us - at(&cells, from).storage_us;
        assert!(grown(8, 64) > 2.0 * grown(1, 8), "{mode:?} {write}: {cells:?}");
        assert!(share(64) < share(8) && share(8) < share(1), "{mode:?} {write}");
    }
}

/// C71.
#[test]
fn throughput_is_proportional_up_to_eight_and_then_grows_less_reads_less_than_writes() {
    for mode in [Mode::Slc, Mode::Mlc] {
        let grown = |write, from, to| {
            let cells = row(mode, write);
            at(&cells, to).mb_per_s / at(&cells, from).mb_per_s
        };
        for write in [false, true] {
            assert!(grown(write, 1, 8) > 6.5, "{mode:?} {write}: {}", grown(write, 1, 8));
            assert!(grown(write, 8, 64) < 8.0, "{mode:?} {write}: {}", grown(write, 8, 64));
        }
        assert!(grown(false, 8, 64) < grown(true, 8, 64), "{mode:?}");
    }
}

/// C72: below that, it grows with the number of operations to check.
#[test]
fn the_firmwares_latency_jumps_at_64() {
    for (mode, write) in rows() {
        let cells = row(mode, write);
        let cf = |ios| at(&cells, ios).firmware_us;
        assert!(cf(64) > 2.2 * cf(32) && cf(32) > cf(8) && cf(8) > cf(1), "{mode:?} {write}: {cells:?}");
    }
}

/// C58.
#[test]
fn throughput_is_proportional_to_channels_and_near_the_papers_maxima() {
    let of = |mode, write, channels, ways| grid(&REPORT.throughput, mode, write, channels, ways).mb_per_s;
    for (mode, write) in rows() {
        let grown = of(mode, write, 8, 8) / of(mode, write, 1, 8);
        assert!((6.0..8.01).contains(&grown), "{mode:?} {write}: {grown}");
        assert!(of(mode, write, 1, 8) > 1.9 * of(mode, write, 1, 1), "{mode:?} {write}: ways interleave");
        // EMDTPc: a channel's page transfers. Ours have 17,769 bytes instead of 18,048.
        assert!(of(mode, write, 1, 8) < 184.5, "{mode:?} {write}");
    }
    // A quarter of the pages leaves out more of the steady state. Writes also pay for the recovery log,
    // which the board's firmware doesn't have.
    let within = |write: bool| match (write, long()) {
        (true, true) => 6.5,
        (true, false) => 10.0,
        (false, true) => 5.0,
        (false, false) => 8.0,
    };
    let paper = &PLAN.paper.fig_21;
    for (mode, write, paper) in
        [(Mode::Slc, false, paper.read), (Mode::Mlc, false, paper.read), (Mode::Mlc, true, paper.write_mlc)]
    {
        let error = error_percent(of(mode, write, 8, 8), paper);
        assert!(error.abs() < within(write), "{mode:?} {write}: {error}");
    }
}

/// C59: a request of 4 KiB moves a page of 16.
#[test]
fn small_random_requests_reach_a_quarter_of_the_throughput() {
    for (mode, write) in rows() {
        for channels in [1, 8] {
            let sequential = grid(&REPORT.throughput, mode, write, channels, 8).mb_per_s;
            let random = grid(&REPORT.random, mode, write, channels, 8);
            let quarter = random.iops * 16_384.0 / 1e6 / sequential;
            // A write reads first; some requests hit the data buffer.
            let expected = if write { 0.45..1.0 } else { 0.85..1.15 };
            assert!(expected.contains(&quarter), "{mode:?} {write} {channels}: {quarter}");
        }
    }
}

/// C75, C76, C77.
#[test]
fn assigners_spread_data_as_their_names_say_and_latencies_follow() {
    let sizes = &PLAN.sizes_kib;
    for &kib in sizes {
        let [channels, ways, random] = ["ChPrev", "WayPrev", "Random"].map(|name| distribution(name, kib));
        let lowest = |of: fn(&Distribution) -> f64| {
            of(channels) <= of(ways) * 1.01 && of(channels) <= of(random) * 1.01
        };
        assert!(lowest(|d| d.read_us) && lowest(|d| d.write_us), "{kib} KiB");
        if kib >= 128 {
            assert!(channels.deviation_channels == 0.0 && ways.deviation_ways == 0.0, "{kib} KiB");
            assert!(random.deviation_channels > 0.0 && random.deviation_ways > 0.0, "{kib} KiB");
            assert_eq!(ways.deviation_channels == 0.0, kib == 1024, "{kib} KiB");
        }
        if (64..1024).contains(&kib) {
            assert!(
                ways.read_us > 1.2 * channels.read_us && ways.write_us > 1.2 * channels.write_us,
                "{kib} KiB"
            );
        }
    }
    let gap = |name, kib| distribution(name, kib).read_us - distribution("ChPrev", kib).read_us;
    assert!(gap("WayPrev", 1024) < gap("WayPrev", 256) && gap("Random", 1024) > gap("Random", 64));
    let (random, ways) = (distribution("Random", 64), distribution("WayPrev", 64));
    assert!(random.read_us < ways.read_us && random.write_us < ways.write_us, "small data");
    assert!(distribution("Random", 256).read_us < distribution("WayPrev", 256).read_us);
    if long() {
        assert!(distribution("Random", 256).write_us > distribution("WayPrev", 256).write_us);
    }
}

/// C78: the processor's buses scale with the core's clock, and no other buses do.
#[test]
fn a_slower_core_has_slower_buses() {
    let full = Setup::full(Mode::Mlc);
    let fast = full.profile(&PLAN).unwrap();
    let slow = Setup { clock_mhz: 200, ..full }.profile(&PLAN).unwrap();
    let (a, b) = (&fast.board.buses, &slow.board.buses);
    for (id, fast, slow) in [
        (6, a.processor_memory_mb_per_s as f64, b.processor_memory_mb_per_s as f64),
        (7, a.processor_mhz, b.processor_mhz),
        (8, a.central_memory_mb_per_s as f64, b.central_memory_mb_per_s as f64),
        (9, a.central_mhz, b.central_mhz),
    ] {
        assert!(fast > 0.0 && (slow * 5.0 / fast - 1.0).abs() < 0.002, "bus {id}: {fast} {slow}");
    }
    assert_eq!(slow.board.dram_mb_per_s, fast.board.dram_mb_per_s);
    let unchanged = |p: &aster_device::profile::Profile| {
        let b = &p.board.buses;
        (b.memory_mb_per_s, b.host_mb_per_s, b.channels_mb_per_s, b.channel_mb_per_s, b.control_mhz)
    };
    assert_eq!(unchanged(&slow), unchanged(&fast), "buses 1 to 4, 10 and 11");
}

/// C78: the drives on which the clock matters. The paper's loss of at most 6 % for reads of two by two is
/// not reproduced (docs/experiments.md); the bound here is our loss.
#[test]
fn fewer_devices_saturate_at_a_lower_clock_and_reads_need_more_of_it_than_writes() {
    let left = |square, write| clock(square, write, 200).mb_per_s / clock(square, write, 1000).mb_per_s;
    for square in [2, 8] {
        assert!(left(square, false) < left(square, true), "{square}: reads lose more");
    }
    assert!((0.75..0.94).contains(&left(2, false)), "{}: the docs say 21 % are lost", left(2, false));
    if long() {
        let left = |square, mhz| clock(square, false, mhz).mb_per_s / clock(square, false, 1000).mb_per_s;
        // Where the curves of reads bend.
        assert!(left(2, 400) > 0.9 && left(4, 600) > 0.9 && left(4, 400) < 0.9);
        assert!(left(8, 800) > 0.9 && left(8, 600) < 0.9);
    }
    for write in [false, true] {
        let left = |square| left(square, write);
        assert!(left(8) < left(2) && left(8) < 0.65, "write {write}: {} {}", left(8), left(2));
        for &square in &PLAN.squares {
            let rates: Vec<f64> =
                PLAN.clocks_mhz.iter().map(|&mhz| clock(square, write, mhz).mb_per_s).collect();
            assert!(rates.is_sorted_by(|a, b| *a <= b * 1.01), "{square} write {write}: {rates:?}");
        }
    }
    assert!(
        clock(2, true, 200).mb_per_s > 0.94 * clock(2, true, 1000).mb_per_s,
        "two by two writes lose little"
    );
}

/// C79: issuer and status checker take a large and similar share of a busy core. Ours take nearly twice
/// the paper's share, and the status checker more of it (docs/experiments.md).
#[test]
fn issuer_and_status_checker_take_much_of_a_busy_core_in_like_parts() {
    let [.., status, _, issue] = clock(8, false, 1000).parts;
    let paper = &PLAN.paper.clock;
    let ratio = 100.0 * (issue + status) / (paper.issuer_percent + paper.status_percent);
    assert!((1.0..2.2).contains(&ratio), "{issue} {status}");
    let parts = issue / status * paper.status_percent / paper.issuer_percent;
    assert!((0.75..1.25).contains(&parts), "{issue} {status}");
}

/// B26: our loss is smaller than the paper's, since a poll has the cost measured on a host.
#[test]
fn exchanging_nothing_but_the_controller_costs_little() {
    let paper = &PLAN.paper.babol_12;
    for exchange in &REPORT.controllers {
        let most = if exchange.random { paper.random_percent } else { paper.sequential_percent };
        assert!((-1.0..most).contains(&exchange.deficit_percent()), "{exchange:?}");
        // One way waits for each poll and the transfer behind it: there the controllers differ.
        assert!(exchange.ways > 1 || exchange.deficit_percent() > 0.5, "{exchange:?}");
        // 16,384 of the 17,769 bytes that a page moves at 200 MB/s.
        assert!(exchange.hardware < 184.5, "no more than the bus moves: {exchange:?}");
    }
}

fn bit_errors(pattern: &str, cycles: u32) -> &'static BitErrors {
    REPORT.scrambler.iter().find(|e| (e.pattern, e.cycles) == (pattern, cycles)).unwrap()
}

/// C82, its three statements.
#[test]
fn a_scrambler_spares_worn_cells_bit_errors_unless_the_pattern_is_11_00() {
    let paper = &PLAN.paper.fig_30;
    let [new, low, high] = [0, 1000, 5000];
    for pattern in scrambler::patterns() {
        let [new, young, worn] = [new, low, high].map(|cycles| bit_errors(pattern.name, cycles));
        let saved = |e: &BitErrors| e.plain - e.scrambled;
        assert_eq!(new.scrambled, new.plain, "no difference without wear: {new:?}");
        assert!(saved(young).abs() < 0.125, "an eighth of a bit of a page at few cycles: {young:?}");
        assert!(worn.scrambled > 5.0 * young.scrambled, "{worn:?} {young:?}");
        let reduction = worn.reduction_percent();
        if pattern.name == paper.unaffected {
            assert!(reduction.abs() < 2.0, "{worn:?}");
            continue;
        }
        assert!(saved(worn) > 1.0 && reduction > 3.0, "{worn:?}");
        assert!(saved(young).abs() < 0.05 * saved(worn), "{young:?} {worn:?}");
        let all: Vec<_> = PLAN.cycles.iter().map(|&cycles| bit_errors(pattern.name, cycles)).collect();
        // Compares from the second point on, since the first two may be equal.
        let grows = all[1..].windows(2).all(|pair| saved(pair[0]) < saved(pair[1]));
        assert!(grows, "the more worn, the more is saved: {all:?}");
    }
    let most = scrambler::patterns().map(|p| bit_errors(p.name, high).reduction_percent());
    let most = most.into_iter().fold(f64::MIN, f64::max);
    assert!((most - paper.reduction_percent).abs() < 2.0, "what was fitted is met: {most}");
}

/// If cells don't lift each other, no pattern is better or worse than random data. So the lift causes the
/// effect.
#[test]
fn without_interference_a_scrambler_is_of_no_use() {
    let mut plan = PLAN.clone();
    plan.interference.coupling_mv = 0.0;
    plan.interference.lifted.clear();
    plan.cycles = vec![5000];
    plan.pattern_blocks = 1;
    for errors in scrambler::measure(&plan, &mut |_| Ok(())).unwrap() {
        assert_eq!(errors.scrambled, errors.plain, "{errors:?}");
    }
}

/// C84: word lines in one shot keep the channels busier than MLC's pages, although a program takes longer.
#[test]
fn one_shot_programs_keep_the_channels_busier_than_pages_of_mlc() {
    let of = |mode, ways| REPORT.one_shot.iter().find(|u| (u.mode, u.ways) == (mode, ways)).unwrap();
    for ways in [1, 8] {
        let [slc, mlc, one_shot] = one_shot::MODES.map(|mode| of(mode, ways));
        assert!(one_shot.utilisation > 1.3 * mlc.utilisation, "{ways} ways: {one_shot:?} {mlc:?}");
        assert!(one_shot.mb_per_s > 1.3 * mlc.mb_per_s, "{ways} ways: {one_shot:?} {mlc:?}");
        for u in [slc, mlc, one_shot] {
            assert!(u.utilisation <= 100.0 && u.utilisation < 1.02 * u.ideal, "{u:?}");
            assert!(u.utilisation > 0.7 * u.ideal, "{u:?}");
        }
    }
}

#[test]
fn the_report_names_every_table_and_figure_and_each_figure_is_drawn() {
    let text = table(&REPORT, &PLAN);
    for name in [
        "Table 5",
        "Table 6",
        "Table 7",
        "Fig 21",
        "Fig 22",
        "Fig 24",
        "Figs 25 and 26",
        "Fig 27",
        "Fig 30",
        "Fig 32",
        "Fig 12",
    ] {
        assert!(text.contains(name), "{name}");
    }
    for figure in figures(&REPORT, &PLAN) {
        let mut svg = Vec::new();
        figure.write_svg(&mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.starts_with("<svg") && svg.matches("<polyline").count() >= 2, "{}", figure.name);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.name);
        let mut csv = Vec::new();
        figure.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let points: usize = figure.panels.iter().flat_map(|p| &p.series).map(|s| s.points.len()).sum();
        assert_eq!(csv.lines().count(), 1 + points, "{}", figure.name);
        // If the paper prints a number of the figure, it is beside ours.
        let printed = ["fig21", "fig24", "fig27", "babol-fig12"].contains(&figure.name);
        assert_eq!(csv.contains(",paper,"), printed, "{}: {csv}", figure.name);
        for series in figure.panels.iter().flat_map(|p| &p.series).filter(|s| s.source == Source::Ours) {
            assert!(series.points.len() >= 3, "{}: {} is no curve", figure.name, series.name);
        }
    }
}

#[test]
fn a_wrong_experiment_file_is_refused_by_what_is_wrong() {
    let text = include_str!("../../../experiments/cosmos.toml");
    let refused = |text: &str| Plan::parse("mine.toml", text).unwrap_err().to_string();
    assert!(refused(&text.replace("requests =", "request =")).contains("mine.toml: request: unknown key"));
    let error = refused(&text.replace("outstanding = [1, 2,", "outstanding = [1, \"2\","));
    assert!(error.contains("paper.table_7.outstanding[1]: must be a whole number"), "{error}");
    assert!(refused(&text.replace("outstanding = [1, 2,", "outstanding = [1,")).contains("paper.table_7"));
    let other = refused(&text.replace("\"cosmos-board\"", "\"cosmos-plus\""));
    assert!(other.contains("costs/cosmos.toml"), "the numbers of another profile are not these: {other}");
}

#[test]
fn the_report_for_programs_has_the_paper_s_numbers_and_names_the_parts_of_the_core() {
    let json = serde_json::to_value(json(&REPORT, &PLAN)).unwrap();
    assert_eq!(json["paper"]["table_7"]["system"][0][6], 972.2);
    assert_eq!(json["paper"]["fig_21"]["write_mlc"], 625.0);
    let full = clock(8, false, 1000);
    let point = json["clock"].as_array().unwrap().iter().find(|point| {
        (&point["square"], &point["write"], &point["mhz"]) == (&8.into(), &false.into(), &1000.into())
    });
    let parts = &point.unwrap()["found"]["parts"];
    assert_eq!(
        (parts["status_checker"].as_f64(), parts["issuer"].as_f64()),
        (Some(full.parts[2]), Some(full.parts[4]))
    );
    assert_eq!(json["changed"], serde_json::json!({}));
}

#[test]
fn a_drive_of_any_figure_that_cannot_be_built_is_told_before_the_work() {
    assert!(PLAN.check().is_ok());
    // Enough for all drives except those of BABOL's Fig 12, which have a sixteenth of the entries.
    let changed = PLAN.changed(vec![("ftl.buffer_entries".to_owned(), 48.into())]);
    let refused = changed.check().unwrap_err().to_string();
    assert!(refused.starts_with("BABOL's Fig 12: ftl.buffer_entries: "), "{refused}");
}

#[test]
fn any_value_may_be_changed_and_a_package_s_in_its_own_profile_alone() {
    let values = [
        ("host.auto_completion", toml::Value::Boolean(false)),
        ("package.read_us", toml::Value::from(vec![60.0, 70.0])),
        ("ftl.assigner", toml::Value::from("random")),
    ];
    let plan = PLAN.changed(values.map(|(key, value)| (key.to_owned(), value)).into());
    let (varied, other) = (plan.profile().unwrap(), plan.one_shot_profile().unwrap());
    assert!(!varied.host.auto_completion && !other.host.auto_completion);
    assert_eq!(varied.package.read_us, [60.0, 70.0]);
    assert_eq!(other.package.read_us, PLAN.one_shot_profile().unwrap().package.read_us);
    let text = table(&REPORT, &plan);
    assert!(text.contains("host.auto_completion = false, package.read_us = [60.0, 70.0]"), "{text}");
}

/// Few requests hit the data buffer there, even on small drives, so a channel's throughput is bounded by
/// its bus.
#[test]
fn no_read_of_babols_fig_12_is_faster_than_the_bus() {
    // 200 MB/s of 17,769 bytes a page, of which 16,384 are data.
    let bus = 200.0 * 16_384.0 / 17_769.0;
    for exchange in &REPORT.controllers {
        assert!(exchange.hardware < bus && exchange.coroutines < bus, "{bus}: {exchange:?}");
    }
}
