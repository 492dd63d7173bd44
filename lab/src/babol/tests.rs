//! Checks the shapes of the paper's figures and the numbers of its tables, on a smaller grid than the
//! shipped one.

use super::*;
use crate::experiment::CostFile;
use crate::figure::{Panel, Source};
use std::sync::LazyLock;

const FAST: Controller = Controller::Coroutine { clock_mhz: 1000 };
const SLOW: Controller = Controller::Coroutine { clock_mhz: 150 };
const HARDWARE: [Controller; 2] = [Controller::Synchronous, Controller::Asynchronous];

fn small() -> Plan {
    let mut plan = Plan::shipped().unwrap();
    plan.requests = 240;
    plan.throughput.clocks_mhz = vec![150, 400, 1000];
    plan
}

static REPORT: LazyLock<BabolReport> = LazyLock::new(|| {
    run(&small(), &mut |_, _| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{error}"))
});

/// Every package and rate, with its bounds.
fn panels() -> impl Iterator<Item = (&'static str, u32, &'static throughput::Bounds)> {
    REPORT.throughput.bounds.iter().map(|b| (b.package.as_str(), b.rate_mt_s, b))
}
fn points(package: &str, rate: u32, controller: Controller) -> &'static [Point] {
    REPORT.throughput.points(package, rate, controller).unwrap()
}
fn controllers() -> Vec<Controller> {
    let clocks =
        small().throughput.clocks_mhz.into_iter().map(|clock_mhz| Controller::Coroutine { clock_mhz });
    HARDWARE.into_iter().chain(clocks).collect()
}

#[test]
fn ideal_rates_by_table_i_are_those_of_b24() {
    let expected = [
        ("hynix", 100, 57.5, 88.6),
        ("hynix", 200, 81.9, 163.8),
        ("toshiba", 100, 62.3, 88.6),
        ("toshiba", 200, 92.0, 163.8),
        ("micron", 100, 68.8, 88.6),
        ("micron", 200, 107.1, 163.8),
    ];
    let round = |x: f64| (x * 10.0).round() / 10.0;
    let found: Vec<_> =
        panels().map(|(p, rate, b)| (p, rate, round(b.paper_one_lun), round(b.paper_channel))).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_transfer_takes_what_its_bytes_take_and_little_more() {
    for t in &REPORT.transfers {
        let strobes = f64::from(t.bytes) / f64::from(t.rate_mt_s);
        assert!((strobes..strobes + 1.0).contains(&t.ours_us), "{t:?}");
        assert!(t.error_percent.abs() < 12.0, "of the order of Table I: {t:?}");
    }
}

#[test]
fn nothing_exceeds_what_the_array_and_the_channel_allow() {
    for (package, rate, bounds) in panels() {
        for controller in controllers() {
            for point in points(package, rate, controller) {
                let most = bounds.ours_channel.min(bounds.ours_one_lun * f64::from(point.luns));
                // A page's tR differs from the bound's typical tR by at most its deviation.
                assert!(point.mb_per_s <= most * 1.01, "{package} {rate} {controller} {point:?}, {most}");
            }
        }
    }
}

#[test]
fn one_lun_with_a_controller_in_hardware_comes_near_the_ideal() {
    for (package, rate, bounds) in panels() {
        for controller in HARDWARE {
            let share = points(package, rate, controller)[0].mb_per_s / bounds.ours_one_lun;
            assert!((0.97..1.01).contains(&share), "{package} {rate} {controller}: {share}");
        }
    }
}

#[test]
fn throughput_grows_with_luns_until_the_channel_is_full() {
    for (package, rate, bounds) in panels() {
        for controller in controllers() {
            let points = points(package, rate, controller);
            assert!(points[1].mb_per_s > points[0].mb_per_s * 1.1, "{package} {rate} {controller}");
            let mut best = 0.0;
            for point in points {
                assert!(
                    point.mb_per_s > best * 0.975,
                    "{package} {rate} {controller}: {point:?} after {best}"
                );
                best = point.mb_per_s.max(best);
            }
            if let [.., last] = points
                && points.len() == 8
            {
                let share = last.mb_per_s / bounds.ours_channel;
                assert!(share > 0.97, "{package} {rate} {controller} with 8 LUNs: {share}");
                assert!(last.mb_per_s > best * 0.99, "{package} {rate} {controller}: all LUNs do best");
            }
        }
    }
}

#[test]
fn a_faster_core_reads_faster() {
    for (package, rate, _) in panels() {
        for pair in controllers()[HARDWARE.len()..].windows(2) {
            let (slower, faster) = (points(package, rate, pair[0]), points(package, rate, pair[1]));
            assert!(faster[0].mb_per_s > slower[0].mb_per_s, "{package} {rate} {pair:?}");
            // Where the channel is full, no controller can be faster.
            for (s, f) in slower.iter().zip(faster) {
                let at = s.luns;
                assert!(f.mb_per_s >= s.mb_per_s * 0.975, "{package} {rate} {at} LUNs: {s:?} {f:?}");
            }
        }
    }
}

#[test]
fn software_costs_more_on_the_faster_channel_and_with_the_slower_core() {
    // By how much a coroutine is slower than the hardware, with one LUN.
    let lack = |package, rate, clock| {
        1.0 - points(package, rate, clock)[0].mb_per_s
            / points(package, rate, Controller::Synchronous)[0].mb_per_s
    };
    for package in ["hynix", "toshiba", "micron"] {
        assert!(lack(package, 200, SLOW) > lack(package, 100, SLOW), "{package}");
        for rate in [100, 200] {
            assert!(lack(package, rate, SLOW) > lack(package, rate, FAST), "{package} {rate}");
        }
    }
}

#[test]
fn the_polling_period_is_what_a_poll_costs_the_core_and_the_bus() {
    let costs = REPORT.costs.cycles();
    let polling = |controller| REPORT.polling.iter().find(|p| p.controller == controller).unwrap();
    for (controller, clock_mhz) in [(FAST, 1000.0), (SLOW, 150.0)] {
        let report = polling(controller);
        let core_us = (costs.transaction + costs.poll) as f64 / clock_mhz;
        let check = report.transactions.iter().find(|t| t.name == "read status").unwrap();
        let bus_us = check.until_us - check.from_us;
        let period = report.period_us.unwrap();
        // Besides, the FIFO and the gap between transactions.
        assert!((core_us + bus_us..core_us + bus_us + 0.1).contains(&period), "{period} {core_us} {bus_us}");
        // At worst one period until a check reports ready, then evaluating it and enqueueing the transfer.
        let most = period + core_us + 0.1;
        assert!((0.0..most).contains(&report.detection_us), "{} {most}", report.detection_us);
    }
    let hardware = polling(Controller::Synchronous).detection_us;
    assert!(hardware < polling(SLOW).detection_us, "{hardware}");
}

#[test]
fn operations_take_the_fewest_lines_as_coroutines() {
    for l in &REPORT.lines {
        assert!(((l.ours + l.shared) as u32) < l.paper.asynchronous.min(l.paper.synchronous), "{l:?}");
    }
}

#[test]
fn pictures_and_tables_say_what_was_found() {
    let picture = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let figure = throughput_figure(&REPORT.throughput);
    let fig10 = picture(&|out| figure.write_svg(out));
    // Beside each package's and rate's curves are the bounds of one LUN and of the channel, by our bytes
    // and by the paper's times.
    let bounds = REPORT.throughput.bounds.len();
    let drawn: usize = figure.panels.iter().map(|panel| panel.series.len()).sum();
    assert_eq!(drawn, REPORT.throughput.tracks.len() + 4 * bounds);
    let paper = |panel: &Panel| panel.series.iter().any(|s| matches!(s.source, Source::Paper(_)));
    assert!(figure.panels.iter().all(paper) && fig10.contains("paper: by Table I"), "{fig10}");
    assert!(fig10.contains("toshiba, 200 MT/s") && !fig10.contains("NaN"));
    let numbers = picture(&|out| figure.write_csv(out));
    // Table I: 16,384 bytes in 185 µs, and of Hynix with a tR of 100 µs before it.
    for line in
        ["channel,paper,8,LUNs,88.56", "one LUN,paper,1,LUNs,57.48", "coroutine 1000 MHz,ours,8,LUNs,"]
    {
        assert!(numbers.contains(&format!("\n\"hynix, 100 MT/s\",{line}")), "{line}: {numbers}");
    }
    let polling = polling_figure(&REPORT.polling);
    let fig11 = picture(&|out| polling.write_svg(out));
    let boxes: usize = REPORT.polling.iter().map(|p| p.transactions.len()).sum();
    // Besides, the background and the legend.
    assert_eq!(fig11.matches("<rect").count(), boxes + 4);
    let polls = picture(&|out| polling_csv(out, &REPORT.polling, REPORT.paper_poll_period_us));
    assert_eq!(polls.lines().count(), 2 + boxes, "a head, every box, and the paper's line: {polls}");
    assert!(polls.ends_with("coroutine 1000 MHz,paper,,,,30\n"), "{polls}");
    let edges = String::from_utf8(REPORT.waveform_csv.clone()).unwrap();
    assert!(
        edges.starts_with("time_ns,signal,level\n") && edges.contains(",transaction,read status\n"),
        "{edges}"
    );
    let fig9 = String::from_utf8(REPORT.waveform_svg.clone()).unwrap();
    assert!(["read", "read status", "read transfer"].iter().all(|name| fig9.contains(name)), "{fig9}");
    let text = table(&REPORT);
    for said in ["Table I", "Fig 10", "Fig 11", "Table II", "by Table I's times 57.5 and 88.6"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn mistakes_in_the_files_are_named() {
    let text = include_str!("../../../experiments/babol.toml");
    let parse = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Plan::parse("mine.toml", &text.replace(from, to)).unwrap_err().to_string()
    };
    assert!(parse("requests = 600", "request = 600").contains("request"));
    let error = parse("requests = 600", "requests = \"x\"");
    assert!(error.contains("mine.toml: requests: must be a whole number"), "{error}");
    assert!(parse("costs = \"host\"", "costs = \"board\"").contains("those are host"));
    assert!(parse("luns_max = [8, 8, 2]", "luns_max = [8]").contains("luns_max"));
    assert!(parse("transfer_us = [185, 100]", "transfer_us = [185]").contains("transfer_us"));
    let cost = include_str!("../../../costs/host.toml")
        .replace("cycles_per_instruction = 1.0", "cycles_per_instruction = 0");
    assert!(CostFile::parse("mine.toml", &cost).unwrap_err().to_string().contains("cycles_per_instruction"));
}

#[test]
fn whoever_watches_can_stop_it() {
    let stopped = run(&small(), &mut |part, _| {
        if part == "Fig 10" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(ExperimentError::Stopped)));
}
