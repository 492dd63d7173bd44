//! `aster explain`, `--perfetto` and `--monitor`.

use crate::place::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const MIXED: &str = "[mixed]\nrw=randrw\nbs=4k\nsize=4m\nnumber_ios=200\niodepth=8\n";

fn with_job() -> Place {
    let place = Place::new();
    place.write("mixed.fio", MIXED);
    place
}
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_slowest_command_is_explained_and_its_shares_add_up() {
    let place = with_job();
    let run = ["explain", "tiny", "--job", "mixed.fio", "--precondition", "0"];
    let told = place.report(&[&run[..], &["--json"]].concat());
    let plain = place.report(&["run", "tiny", "--job", "mixed.fio", "--precondition", "0", "--json"]);
    let longest =
        plain["tasks"][0]["kinds"].as_array().unwrap().iter().map(|kind| number(&kind["latency"]["max_us"]));
    let longest = longest.fold(0.0, f64::max);
    assert!(
        (number(&told["total_us"]) - longest).abs() < 0.01 * longest,
        "{} of {longest}",
        told["total_us"]
    );
    let shares = told["shares"].as_array().unwrap();
    let sum: f64 = shares.iter().map(|share| number(&share["us"])).sum();
    assert!((sum - number(&told["total_us"])).abs() < 1e-3, "{sum} of {}", told["total_us"]);
    let table = place.aster(&run).out;
    for words in ["flash ", "array of channel", "host DMA, 4096 B", "where the time went"] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

#[test]
fn a_command_is_explained_by_its_number_and_one_that_is_not_there_is_refused() {
    let place = with_job();
    let run = ["explain", "tiny", "--job", "mixed.fio", "--command"];
    assert!(place.aster(&[&run[..], &["7"]].concat()).out.starts_with("command 7: "));
    let error = place.refused(1, &[&run[..], &["201"]].concat());
    assert!(error.contains("--command 201: the work has no command of that number"), "{error}");
    assert!(place.refused(2, &[&run[..], &["0"]].concat()).contains("must be a whole number, at least 1"));
}

#[test]
fn a_trace_for_perfetto_follows_commands_to_the_array_and_nothing_overlaps_on_a_track() {
    let place = with_job();
    place.report(&[
        "run",
        "tiny",
        "--job",
        "mixed.fio",
        "--precondition",
        "0",
        "--perfetto",
        "p.json",
        "--json",
    ]);
    let trace: Value = serde_json::from_str(&place.read("p.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut tracks: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    let mut reached: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for event in events {
        let (pid, tid) = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap_or_default());
        match event["ph"].as_str().unwrap() {
            "X" => {
                let from = number(&event["ts"]);
                tracks.entry((pid, tid)).or_default().push((from, from + number(&event["dur"])));
            }
            "s" | "t" => drop(reached.entry(event["id"].as_u64().unwrap()).or_default().insert(pid)),
            _ => {}
        }
    }
    assert_eq!(reached.len(), 200, "each command of the work and no other");
    // Commands, slices, waiting, flash, channels, arrays; the cores are a group of their own.
    let groups = [1, 2, 4, 6, 7, 8];
    let deep = reached.values().filter(|reached| groups.iter().all(|group| reached.contains(group))).count();
    assert!(deep > 50, "{deep} commands were followed to an array");
    let named = |name: &str| events.iter().any(|event| event["name"] == name);
    assert!(named("firmware: nvme manager") && named("firmware: transaction"), "the cores' tracks");
    for (track, mut bars) in tracks {
        bars.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut around: Vec<f64> = Vec::new();
        for (from, to) in bars {
            around.retain(|end| *end > from + 1e-6);
            assert!(
                around.last().is_none_or(|end| to <= end + 1e-6),
                "{track:?}: {from} to {to} in {around:?}"
            );
            around.push(to);
        }
    }
}

#[test]
fn the_monitor_samples_what_the_report_says_and_takes_no_time() {
    let place = with_job();
    let run = ["run", "tiny", "--job", "mixed.fio", "--precondition", "0", "--json"];
    let plain = place.report(&run);
    let all = ["--monitor", "m.csv", "--monitor-interval", "0.5", "--monitor-ways", "--perfetto", "p.json"];
    let seen = place.report(&[&run[..], &all].concat());
    let timeless = |report: &Value| {
        let mut report = report.clone();
        let fields = report.as_object_mut().expect("an object");
        fields.remove("wall_s").expect("the wall clock's time");
        // It contains the command line, which names the listeners.
        fields.remove("provenance").expect("where it comes from");
        report
    };
    // Every latency, count and time of it.
    assert_eq!(timeless(&seen), timeless(&plain), "listening takes no time (C48)");
    for listener in [["--events", "e.jsonl"].as_slice(), &["--wave", "w.vcd"]] {
        let seen = place.report(&[&run[..], listener].concat());
        assert_eq!(timeless(&seen), timeless(&plain), "{listener:?}");
    }

    let table = place.read("m.csv");
    let mut lines = table.lines();
    let names: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no {name}"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.len() == names.len()), "{table}");
    let value = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap_or(0.0);
    let over = |row: &[&str]| (value(row, "until_us") - value(row, "from_us")) / 1e6;
    let sum = |name: &str| rows.iter().map(|row| value(row, name) * over(row)).sum::<f64>();
    assert!((sum("commands_per_second") - 200.0).abs() < 0.01, "{}", sum("commands_per_second"));
    let host = sum("read_bytes_per_second") + sum("write_bytes_per_second");
    assert!((host - 200.0 * 4096.0).abs() < 1.0, "{host}");
    assert!((sum("flash_reads_per_second") - number(&seen["flash_reads"])).abs() < 0.01);
    let last = rows.last().expect("rows");
    assert_eq!(
        (value(last, "commands_total"), value(last, "flash_reads_total")),
        (200.0, number(&seen["flash_reads"]))
    );
    assert!(rows.iter().all(|row| value(row, "outstanding_commands_max") <= 8.0));
    assert!(names.contains(&"channel_1_way_1_utilisation"));
    // Where the cores' time went (C45): what `tiny` charges for, and nothing else.
    let functions: Vec<_> =
        names.iter().filter(|n| n.starts_with("firmware_") && n.ends_with("_share")).collect();
    let charged = ["nvme_manager", "nvm_command_manager", "flash_request", "transaction", "polling"];
    assert_eq!(functions.len(), charged.len(), "{functions:?}");
    for row in &rows {
        let parts: f64 = charged.iter().map(|f| value(row, &format!("firmware_{f}_share"))).sum();
        assert!((parts - value(row, "core_utilisation")).abs() < 1e-9, "{row:?}");
    }
    assert!(charged.iter().all(|f| sum(&format!("firmware_{f}_share")) > 0.0));
    assert!(rows.iter().all(|row| (0.0..=1.0).contains(&value(row, "channel_0_utilisation"))));

    place.report(&[&run[..], &["--monitor", "m.jsonl"]].concat());
    let lines = place.read("m.jsonl");
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(
        first["active_ways"].is_number() && first.get("channel_1_way_1_utilisation").is_none(),
        "{first}"
    );
}

/// What the host did is counted before its FTL, and what the flash did behind it.
#[test]
fn the_monitor_and_the_spans_of_an_ftl_on_the_host_are_of_the_hosts_own_commands() {
    let place = Place::new();
    place.write("write.fio", "[w]\nrw=write\nbs=128k\nsize=2m\nend_fsync=1\n");
    let entries = ["--monitor-modules", "bandwidth,write_amplification"];
    for (name, target) in [
        ("pocket-ocssd", "target.kind=pblk"),
        ("pocket-ocssd", "target.kind=page-mapping"),
        ("host-ftl-small", "target.kind=hostftl"),
    ] {
        let run = ["run", name, "--set", target, "--job", "write.fio", "--spans", "--monitor", "m.jsonl"];
        let report = place.report(&[&run[..], &entries, &["--json"]].concat());
        let lines = place.read("m.jsonl");
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        let entry = |name: &str| number(&last[name]);
        // 16 writes and the flush.
        assert_eq!((entry("commands_total"), entry("write_bytes_total")), (17.0, 2_097_152.0), "{target}");
        assert!((entry("waf_in_all") - number(&report["waf"])).abs() < 1e-9, "{target}: {last} {report}");
        let stages = report["spans"]["stages"].as_array().unwrap();
        let total = stages.iter().find(|row| row["name"] == "total").unwrap();
        assert_eq!(total["count"], 17, "{target}");
    }
}

/// C47: the table has the entries of the modules that were chosen, in their order.
#[test]
fn the_monitors_modules_are_chosen_by_name() {
    let place = with_job();
    let run = ["run", "tiny", "--job", "mixed.fio", "--precondition", "0", "--monitor", "m.csv"];
    let head = |more: &[&str]| {
        place.report(&[&run[..], more, &["--json"]].concat());
        place.read("m.csv").lines().next().unwrap().to_owned()
    };
    assert_eq!(
        head(&["--monitor-modules", "outstanding_commands,write_amplification"]),
        "from_us,until_us,since_power_on_us,outstanding_commands,outstanding_commands_max,\
         outstanding_command_seconds_total,waf,waf_in_all,programmed_bytes_total"
    );
    assert!(head(&["--monitor-modules", "ways", "--monitor-ways"]).contains(",channel_1_way_1_utilisation,"));
    let refused = |more: &[&str]| place.refused(2, &[&run[..], more].concat());
    let unknown = refused(&["--monitor-modules", "bandwith"]);
    for known in ["bandwidth", "write_amplification", "firmware_time", "bit_errors"] {
        assert!(unknown.contains(known), "{unknown}");
    }
    let help = place.aster(&["run", "--help"]).out;
    assert!(
        help.contains("bit_errors") && help.contains("what the ECC corrects, and what it can't"),
        "{help}"
    );
    assert!(refused(&["--monitor-modules", "ways,ways"]).contains("ways stands there twice"));
    assert!(
        refused(&["--monitor-modules", "channels", "--monitor-ways"]).contains("leaves the module ways out")
    );
    let nowhere = ["run", "tiny", "--job", "mixed.fio", "--monitor-modules", "ways"];
    assert!(place.refused(2, &nowhere).contains("--monitor <FILE>"));
    let nowhere = ["serve", "tiny", "--vfio-user", "s", "--monitor-modules", "ways"];
    assert!(place.refused(2, &nowhere).contains("--prometheus"));
    let twice = ["serve", "tiny", "--vfio-user", "s", "--monitor-log", "--monitor-modules", "ways,ways"];
    assert!(place.refused(2, &twice).contains("ways stands there twice"));
}

/// S3, S24: a drive has columns for its cores, for packets that firmware builds, and for a map on flash.
#[test]
fn the_monitor_shows_cores_packets_and_the_maps_hits() {
    let place = with_job();
    let on_flash = ["--set", "ftl.mapping=demand-paged", "--set", "ftl.over_provisioning_percent=60"];
    let run = ["run", "softssd-small", "--job", "mixed.fio", "--monitor", "m.csv", "--json"];
    let report = place.report(&[&run[..], &on_flash].concat());
    let table = place.read("m.csv");
    let names: Vec<_> = table.lines().next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> =
        table.lines().skip(1).map(|row| row.split(',').map(|v| v.parse().unwrap_or(0.0)).collect()).collect();
    let of = |row: &[f64], name: &str| {
        row[names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no {name}"))]
    };
    let cores = names.iter().filter(|n| n.starts_with("core_") && n.ends_with("_utilisation")).count() - 1;
    assert!(cores > 1, "{names:?}");
    for row in &rows {
        let all: f64 = (0..cores).map(|core| of(row, &format!("core_{core}_utilisation"))).sum();
        assert!((all / cores as f64 - of(row, "core_utilisation")).abs() < 1e-9, "{row:?}");
    }
    // Those of boot are not of the work.
    let last = rows.last().unwrap();
    let told = |name: &str, most: &Value| {
        let (told, most) = (of(last, name), number(most));
        assert!(told > 0.5 * most && told <= most, "{name}: {told} of {most}");
    };
    told("packets_built_total", &report["parts"]["tlp_sent"]);
    told("map_hits_total", &report["translation"]["map_hits"]);
    let seconds = |row: &[f64]| (of(row, "until_us") - of(row, "from_us")) / 1e6;
    let built: f64 = rows.iter().map(|row| of(row, "packets_built_per_second") * seconds(row)).sum();
    assert!((built - of(last, "packets_built_total")).abs() < 0.01, "{built}");
    for (module, lack) in [("packets", "host.transport"), ("map_cache", "ftl.mapping")] {
        let run = ["run", "tiny", "--job", "mixed.fio", "--monitor", "m.csv", "--monitor-modules", module];
        let refused = place.refused(2, &run);
        assert!(refused.contains("the drive has no ") && refused.contains(lack), "{refused}");
    }
    place.report(&["run", "tiny", "--job", "mixed.fio", "--monitor", "m.csv", "--json"]);
    let table = place.read("m.csv");
    assert!(!table.contains("packets_") && !table.contains("map_hit"), "{table}");
}

/// H1, C45: a drive with a temperature sensor has columns for it, one without has none.
#[test]
fn the_monitor_shows_the_temperature_of_a_drive_that_has_a_sensor() {
    let place = with_job();
    let warm = "board.thermal={ambient_c=30.0,kelvin_per_watt=5.0,time_constant_ms=5,idle_w=1.0,\
                read_uj=300.0,program_uj=300.0,erase_uj=300.0,bus_byte_nj=0.1,link_byte_nj=0.1,\
                sample_ms=1,alarm_c=90.0,cooled_c=80.0,throttle_dies=1}";
    // The drive itself, and one under an FTL of the host.
    for name in ["tiny", "host-ftl-small"] {
        let run = ["run", name, "--job", "mixed.fio", "--monitor", "m.csv", "--json"];
        place.report(&run);
        assert!(!place.read("m.csv").contains("temperature_celsius"), "{name}");
        let only = ["--monitor-modules", "temperature"];
        let refused = place.refused(2, &[&run[..], &only].concat());
        assert!(refused.contains("the drive has no temperature sensor (board.thermal)"), "{refused}");
        let report = place.report(&[&run[..], &only, &["--set", warm]].concat());
        let table = place.read("m.csv");
        let mut lines = table.lines();
        assert_eq!(lines.next().unwrap(), "from_us,until_us,since_power_on_us,temperature_celsius,throttled");
        let told: Vec<f64> = lines.map(|line| line.split(',').nth(3).unwrap().parse().unwrap()).collect();
        // It is as warm as the idle drive at least, however short the work is.
        let highest = number(&report["parts"]["kelvins_highest"]) - 273.0;
        let suits = |celsius: &f64| (30.0..=highest).contains(celsius);
        assert!(!told.is_empty() && told.iter().all(suits), "{table} {report}");
    }
}

#[test]
fn followers_files_are_kept_apart_and_options_that_mean_nothing_are_refused() {
    let place = with_job();
    let run = ["run", "tiny", "--job", "mixed.fio"];
    let twice = ["--perfetto", "x", "--monitor", "x"];
    assert!(place.refused(2, &[&run[..], &twice].concat()).contains("two outputs"));
    let over = ["--monitor", "mixed.fio"];
    assert!(place.refused(2, &[&run[..], &over].concat()).contains("would be overwritten"));
    assert!(place.refused(2, &[&run[..], &["--monitor-ways"]].concat()).contains("--monitor"));
    let never = ["--monitor", "m", "--monitor-interval", "0"];
    assert!(place.refused(2, &[&run[..], &never].concat()).contains("milliseconds"));
}
