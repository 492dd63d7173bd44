use super::*;
use crate::{Access, BlockSizes, Distribution, Extent, Figure, Mix, PerDirection, Zone};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use aster_units::Duration;
use proptest::prelude::*;

fn one(lines: &str) -> Job {
    parse(&format!("[j]\n{lines}\n")).unwrap().remove(0)
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn jobs_inherit_from_the_globals_before_them() {
    let jobs = parse(
        "; a comment\n[global]\nbs=8k # trailing\nioengine=libaio\ndirect=1\n\n[a]\nrw=randread\niodepth=32\n\
         [global]\nsize=10%\n[b]\nstonewall\nrw=write\nbs=1m\n",
    )
    .unwrap();
    assert_eq!(jobs.len(), 2);
    let (a, b) = (&jobs[0], &jobs[1]);
    assert_eq!((a.name.as_str(), a.access, a.mix, a.queue_depth), ("a", Access::Random, Mix::Read, 32));
    assert_eq!(a.block_sizes, PerDirection::all(BlockSizes::Fixed(8192)));
    assert_eq!((a.size, a.after_previous), (None, false));
    assert_eq!((b.size, b.after_previous, b.queue_depth), (Some(Extent::Percent(10)), true, 1));
    assert_eq!(b.block_sizes.write, BlockSizes::Fixed(1 << 20));
}

#[test]
fn sizes_follow_kb_base() {
    let size = |lines: &str| one(lines).size;
    assert_eq!(size("size=4k"), Some(Extent::Bytes(4096)));
    assert_eq!(size("size=4KB"), Some(Extent::Bytes(4096)));
    assert_eq!(size("size=4ki"), Some(Extent::Bytes(4000)));
    assert_eq!(size("kb_base=1000\nsize=4kiB"), Some(Extent::Bytes(4096)));
    assert_eq!(size("kb_base=1000\nsize=4k"), Some(Extent::Bytes(4000)));
    assert_eq!(
        size("size=4k\nkb_base=1000"),
        Some(Extent::Bytes(4000)),
        "it governs the lines before it too"
    );
    assert_eq!(size("size=0x1000"), Some(Extent::Bytes(4096)));
    assert_eq!(size("size=2t"), Some(Extent::Bytes(2 << 40)));
    assert_eq!(size("size=1.5m"), Some(Extent::Bytes(3 << 19)));
    assert_eq!(size("kb_base=1000\nsize=0.25g"), Some(Extent::Bytes(250_000_000)));
    assert_eq!(one("runtime=0.5\ntime_based").run_time, Some(Duration::from_millis(500)));
    assert_eq!(one("runtime=1.25ms\ntime_based").run_time, Some(Duration::from_micros(1250)));
    for bad in ["1.5.1m", "1.m", ".m", "1.99999999999999999999999999m", "99999999999.9p"] {
        assert!(message(&format!("[a]\nsize={bad}")).contains("expected a size"), "{bad}");
    }
    assert_eq!(size("size=100%"), Some(Extent::Percent(100)));
}

#[test]
fn values_may_be_expressions() {
    assert_eq!(one("size=(1024*1024)").size, Some(Extent::Bytes(1 << 20)));
    assert_eq!(one("size=(1m + 4k*2)").size, Some(Extent::Bytes((1 << 20) + 8192)));
    assert_eq!(one("kb_base=1000\nsize=(4k)").size, Some(Extent::Bytes(4000)));
    assert_eq!(one("size=(20*2)%").size, Some(Extent::Percent(40)));
    assert_eq!(one("bs=(4k*2),(2^12)").block_sizes.write, BlockSizes::Fixed(4096));
    let range = BlockSizes::Range { min: 4096, max: 65_536 };
    assert_eq!(one("bsrange=(8k-4k)-(64*1k)").block_sizes.read, range);
    assert_eq!(one("iodepth=(2^5)").queue_depth, 32);
    let run_time = |lines: &str| one(&format!("{lines}\ntime_based")).run_time;
    assert_eq!(run_time("runtime=(1m+30s)"), Some(Duration::from_secs(90)));
    assert_eq!(run_time("runtime=(500)"), Some(Duration::from_micros(500)), "whatever the option's unit");
    assert!(message("[a]\nsize=(1/0)").contains("size=(1/0): expected a size"));
    assert!(message("[a]\niodepth=(2k)").contains("expected a whole number"));
}

#[test]
fn a_variable_that_is_not_set_is_told_by_name() {
    let told = message("[a]\nbs=${BS}\nsize=${");
    assert!(told.contains("line 2: bs: there is no environment variable \"BS\""), "{told}");
    assert!(told.contains("line 3: size=${: expected a size"), "{told}");
}

#[test]
fn a_pattern_has_its_modifier() {
    let modifiers = |line: &str| (one(line).random_every, one(line).gap);
    assert_eq!(modifiers("rw=randread:8"), (8, 0));
    assert_eq!(modifiers("rw=write:4k"), (1, 4096));
    assert_eq!(modifiers("rw=rw:-8k"), (1, -8192));
    assert_eq!(modifiers("rw=write:4k\nrw=read"), (1, 0));
    for bad in ["randread:0", "randread:4k", "write:", "write:x", "randread:-1", "raed:8"] {
        assert!(message(&format!("[a]\nrw={bad}")).contains("expected read, write"), "{bad}");
    }
    let gap = one("rw=write:1k")
        .plans(crate::Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 }, 0)
        .unwrap_err();
    assert!(gap.to_string().contains("rw: a gap of 1024 isn't a multiple"), "{gap}");
}

#[test]
fn directions_take_their_own_values() {
    let sizes = one("bs=4k,8k").block_sizes;
    assert_eq!((sizes.read, sizes.write), (BlockSizes::Fixed(4096), BlockSizes::Fixed(8192)));
    assert_eq!(sizes.trim, BlockSizes::Fixed(8192));
    let sizes = one("bs=,8k,16k").block_sizes;
    assert_eq!((sizes.read, sizes.trim), (BlockSizes::Fixed(4096), BlockSizes::Fixed(16_384)));
    let sizes = one("bs=8k,").block_sizes;
    assert_eq!(
        (sizes.read, sizes.write, sizes.trim),
        (BlockSizes::Fixed(8192), BlockSizes::Fixed(4096), BlockSizes::Fixed(4096))
    );
    let sizes = one("bsrange=1k-4k,8k:2k").block_sizes;
    assert_eq!(sizes.write, BlockSizes::Range { min: 2048, max: 8192 });
    let sizes = one("bssplit=4k/50:1k/:32k/").block_sizes;
    assert_eq!(sizes.read, BlockSizes::Split(vec![(4096, 50), (1024, 25), (32_768, 25)]));
    assert_eq!(one("rate_iops=100,0").rate_iops, PerDirection { read: Some(100), write: None, trim: None });
}

#[test]
fn times_have_the_default_units_of_fio() {
    let job = one("runtime=2m\ntime_based\nramp_time=500ms\nthinktime=7\nstartdelay=3");
    assert_eq!(job.run_time, Some(Duration::from_secs(120)));
    assert_eq!(job.ramp_time, Duration::from_millis(500));
    assert!(message("[a]\nruntime=51d").contains("at most 50d"));
    assert_eq!(job.think_time, Duration::from_micros(7));
    assert_eq!(job.start_delay, Duration::from_secs(3));
}

#[test]
fn a_synchronous_engine_holds_the_depth_at_one() {
    assert_eq!(one("iodepth=32\nioengine=psync").queue_depth, 1);
    assert_eq!(one("iodepth=32\nioengine=io_uring").queue_depth, 32);
}

#[test]
fn the_later_of_the_two_mixes_counts() {
    assert_eq!(one("rwmixread=90\nrwmixwrite=30").read_percent, 70);
}

#[test]
fn every_option_with_an_effect_has_one() {
    let before = "ioengine=libaio\niodepth=2\nruntime=1\nthinktime=5\n";
    for option in options() {
        let Treatment::Effect { example } = option.treatment else { continue };
        // These have an effect only together with other lines.
        let (before, after) = match option.name {
            "kb_base" => (before.to_owned(), "size=8k"),
            "steadystate" => (before.to_owned(), "ss_dur=20"),
            "dataplacement" => (before.to_owned(), "plids=3"),
            "plids" | "plid_select" => (format!("{before}dataplacement=streams\nplids=3\n"), ""),
            name if name.starts_with("steadystate_") => (format!("{before}ss=iops:5%\nss_dur=20\n"), ""),
            _ => (before.to_owned(), ""),
        };
        let plain = one(&format!("{before}{after}"));
        for name in core::iter::once(&option.name).chain(option.aliases) {
            let line = example.map_or_else(|| String::from(*name), |value| format!("{name}={value}"));
            let job = one(&format!("{before}{line}\n{after}"));
            // A wrong block always ends the run; the option may state that.
            assert_eq!(job == plain, option.name == "verify_fatal", "{name}");
        }
    }
}

#[test]
fn what_has_no_meaning_changes_nothing() {
    for option in options().filter(|option| option.treatment == Treatment::NoMeaning) {
        assert_eq!(one(&format!("{}=1", option.name)), one(""), "{}", option.name);
    }
}

#[test]
fn errors_name_line_option_and_remedy() {
    assert_eq!(
        message("[a]\nrw=read\niodpeth=4"),
        "line 3: unknown option \"iodpeth\"; did you mean \"iodepth\"?"
    );
    assert_eq!(message("[a]\nquux=4"), "line 2: unknown option \"quux\": fio has none of that name");
    assert!(message("[a]\ninclude other.fio").starts_with("line 2: option \"include\" is refused: "));
    assert_eq!(
        message("bs=4k\n[a]"),
        "line 1: option \"bs\" stands before the first section: begin with [global] or a job's [name]"
    );
    assert!(message("[a]\nrw=randreed").starts_with("line 2: rw=randreed: expected read, write, "));
    assert!(message("[a]\nrw=randreadwrite").starts_with("line 2: rw="));
    assert!(message("[a]\nbs=").starts_with("line 2: bs has no value: expected "));
    assert!(message("[a]\nbs=4x").starts_with("line 2: bs=4x: expected "));
    assert!(message("[a]\nbssplit=4k/50:8k/40").contains("add up to 100"));
    assert!(message("[a]\nverify=pattern").contains("pattern and null"));
    assert!(message("[a]\nioengine=rados").contains("libaio"));
    assert!(message("[a]\nverify_fatal=0").contains("expected 1"));
    assert_eq!(message("[a]\ntime_based\nrw=read"), "line 2: time_based needs runtime");
    assert_eq!(message("[global]\nbs=4k"), "line 2: no job: a file needs a section besides [global]");
    assert!(message("[a\nbs=4k").contains("brackets"));
    assert!(message("[a]\nsize=$SIZE").starts_with("line 2: size=$SIZE: expected "));
    assert!(message("[a]\nsize=99999999999999t").contains("expected"));
}

#[test]
fn every_mistake_of_a_file_is_told_at_its_own_line() {
    let text = "[global]\nBS=4k\n[a]\nrw=randreed\niodpeth=4\n[b]\nzonemode=zbd\nbs=8k\n";
    assert_eq!(
        message(text),
        "4 mistakes\n  \
         line 2: unknown option \"BS\"; did you mean \"bs\"?\n  \
         line 4: rw=randreed: expected read, write, trim, randread, randwrite, randtrim, rw, readwrite, \
         randrw, \
         trimwrite or randtrimwrite; behind random ones :8 or another number, behind others :4k or another \
         size\n  \
         line 5: unknown option \"iodpeth\"; did you mean \"iodepth\"?\n  \
         line 7: option \"zonemode\" is refused: the drive has no zones, so only fio's default, none, \
         is taken"
    );
    // A consequence of a mistake isn't reported as another one.
    assert_eq!(message("[a]\ntime_based\nruntime=soon").lines().count(), 1);
    assert_eq!(message("[global]\nruntime=soon\n[a]\ntime_based").lines().count(), 1);
    assert_eq!(message("bs=4k\nrw=read\n[a]\nrw=read").lines().count(), 1);
    assert!(message("[a\nrw=x\n[b]\nrw=y").starts_with("3 mistakes\n"));
    let many = message(&format!("[a]\n{}", "quux=1\n".repeat(50)));
    assert!(many.starts_with("50 mistakes\n") && many.ends_with("\n  and 30 more"), "{many}");
}

#[test]
fn options_that_contradict_each_other_are_told_at_the_last_of_their_lines() {
    let contradiction = "rate and rate_iops exclude each other; give one of them";
    assert_eq!(message("[a]\nrate=1m\nbs=4k\nrate_iops=5\nrw=read"), format!("line 4: {contradiction}"));
    assert_eq!(message("[global]\nrate=1m\n[a]\nbs=4k\nrate_iops=5"), format!("line 5: {contradiction}"));
    assert_eq!(
        message("[global]\ntime_based\n[a]\nruntime=4\n[b]\nrw=read"),
        "line 2: time_based needs runtime (in job \"b\")"
    );
    assert!(message("[a]\nrw=read\nss=iops:1%").starts_with("line 3: steadystate needs "));
    assert!(
        message("[a]\nrw=read\nrate=1m\nratemin=2m\nbs=8k").starts_with("line 4: the least rate (rate_min)")
    );
    let two = message("[a]\ntime_based\nrate=1m\nrate_iops=5");
    assert!(two.contains("\n  line 2: time_based needs runtime\n  line 4: rate and"), "{two}");
}

#[test]
fn a_jobs_options_have_their_lines() {
    let jobs = parse_with_lines("[global]\nbs=4k\nrw=read\n[a]\nbs=8k\n\n[b]\nsize=1m\n").unwrap();
    let of = |job: usize, option| jobs[job].1.of(option);
    assert_eq!((of(0, "bs"), of(0, "rw"), of(0, "size")), (5, 3, 4));
    assert_eq!((of(1, "bs"), of(1, "size"), of(1, "offset")), (2, 8, 7));
    assert_eq!(parse_with_lines("[a]\nrw=read\nbsrange=4k-8k\n").unwrap()[0].1.of("bs"), 3);
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    assert_eq!(parse("\u{feff}[a]\nbs=8k\n"), parse("[a]\nbs=8k\n"));
}

#[test]
fn what_is_asked_for_in_vain_is_noted() {
    let unmet = |lines: &str| {
        let unmet = one(lines).unmet.into_iter();
        unmet.map(|u| (u.option, u.asked, u.given)).collect::<Vec<_>>()
    };
    assert_eq!(unmet("ioengine=sync\niodepth=8"), [("iodepth", 8, 1)]);
    assert_eq!(unmet("iodepth=8\nioengine=sync\nioengine=libaio"), []);
    assert_eq!(unmet("ioengine=sync"), []);
    assert_eq!(
        unmet("thinktime_spin=70\nthinktime_blocks=4\nthinktime_iotime=2s"),
        [("thinktime_spin", 70, 0), ("thinktime_blocks", 4, 0), ("thinktime_iotime", 2, 0)]
    );
    assert_eq!(unmet("thinktime=5\nthinktime_spin=70\nthinktime_blocks=4\nthinktime_iotime=2s"), []);
}

#[test]
fn distributions_check_their_parameter() {
    let of = |value: &str| {
        let job = one(&format!("random_distribution={value}"));
        (job.distribution, job.center)
    };
    assert_eq!(of("zipf:1.2"), (Distribution::Zipf(1.2), None));
    assert_eq!(of("zipf:1.2:0.25"), (Distribution::Zipf(1.2), Some(0.25)));
    assert_eq!(of("pareto:0.2"), (Distribution::Pareto(0.2), None));
    assert_eq!(of("normal:40"), (Distribution::Normal(40.0), None));
    // The defaults are fio's.
    assert_eq!((of("zipf").0, of("pareto").0), (Distribution::Zipf(1.1), Distribution::Pareto(0.2)));
    assert_eq!(of("normal").0, Distribution::Normal(0.0));
    for bad in [
        "zipf:0",
        "zipf:nan",
        "zipf:inf",
        "zipf:",
        "zipf:1.2:",
        "zipf:1.2:1.5",
        "zipf:1.2:0.5:1",
        "pareto:1",
        "normal:100",
        "normal:-1",
        "random:1",
        "gauss:1",
        "sequence:2,0,1",
    ] {
        let told = message(&format!("[a]\nrandom_distribution={bad}"));
        let meant = match bad.split(':').next().unwrap() {
            known @ ("zipf" | "pareto" | "normal") => format!("expected {known}[:"),
            "random" => "expected random, which".to_owned(),
            _ => "expected random, zipf, pareto, normal, zoned or zoned_abs".to_owned(),
        };
        assert!(told.contains(&meant), "{bad}: {told}");
        assert!(!told.contains("zoned:"), "no other one's: {told}");
    }
}

#[test]
fn zones_are_shares_of_requests_and_of_the_region_for_each_direction() {
    let zone = |requests_percent, size| Zone { requests_percent, size };
    let percent = |requests, size| zone(requests, Extent::Percent(size));
    let zones = |value: &str| match one(&format!("random_distribution={value}")).distribution {
        Distribution::Zoned(zones) => zones,
        other => panic!("{other:?}"),
    };
    let all = vec![percent(60, 10), percent(30, 20), percent(8, 30), percent(2, 40)];
    assert_eq!(zones("zoned:60/10:30/20:8/30:2/40"), PerDirection::all(all));
    let two = zones("zoned:90/10:10/90,50/50:50/");
    assert_eq!((two.read[0], two.write[1], &two.trim), (percent(90, 10), percent(50, 50), &two.write));
    assert_eq!(zones("zoned:,100/30").read, vec![], "left out behind a comma: uniform");
    let sizes = zones("zoned_abs:60/20g:40/100m");
    assert_eq!(sizes.read, vec![zone(60, Extent::Bytes(20 << 30)), zone(40, Extent::Bytes(100 << 20))]);
    for bad in [
        "zoned",
        "zoned:",
        "zoned:60/10",
        "zoned:60/10:50/20",
        "zoned:60/60:40/60",
        "zoned_abs:100",
        "zoned_abs=100/1g",
    ] {
        let told = message(&format!("[a]\nrandom_distribution={bad}"));
        let names = bad.contains('=').then_some("zoned or zoned_abs");
        let wanted =
            names.unwrap_or(if bad.contains("abs") { "expected zoned_abs:" } else { "expected zoned:" });
        assert!(told.contains(wanted), "{bad}: {told}");
    }
}

#[test]
fn block_size_splits_go_by_direction() {
    let sizes = one("bssplit=4k/60:8k/40,64k/100").block_sizes;
    assert_eq!(sizes.read, BlockSizes::Split(vec![(4096, 60), (8192, 40)]));
    assert_eq!((&sizes.write, &sizes.trim), (&BlockSizes::Split(vec![(65_536, 100)]), &sizes.write));
    let sizes = one("bssplit=4k,,8k/50:16k/").block_sizes;
    assert_eq!(
        (sizes.write, sizes.trim),
        (BlockSizes::Fixed(4096), BlockSizes::Split(vec![(8192, 50), (16_384, 50)]))
    );
}

#[test]
fn rates_go_by_direction_and_say_what_they_exclude() {
    let job = one("rate=1m,500k\nrate_process=poisson\nrate_min=,100k\nratecycle=200");
    assert_eq!(job.rate, PerDirection { read: Some(1 << 20), write: Some(500 << 10), trim: Some(500 << 10) });
    assert_eq!(
        job.rate_floor.bytes,
        PerDirection { read: None, write: Some(100 << 10), trim: Some(100 << 10) }
    );
    assert!(job.poisson && job.rate_floor.cycle == Duration::from_millis(200));
    assert_eq!(one("rate=,500k").rate.read, None);
    for (bad, what) in [
        ("rate=1m\nrate_iops=5", "rate and rate_iops exclude each other"),
        ("rate_min=1m\nrate_iops_min=5", "rate_min and rate_iops_min exclude each other"),
        ("rate=1m\nrate_min=2m", "is above the largest"),
        ("rate_process=bursty", "expected linear or poisson"),
    ] {
        let told = message(&format!("[a]\n{bad}"));
        assert!(told.starts_with("line ") && told.contains(what), "{bad}: {told}");
    }
}

#[test]
fn think_times_add_up() {
    let job = one("thinktime=50\nthinktime_spin=70");
    assert_eq!((job.think_time, job.think_time_blocks), (Duration::from_micros(70), 1));
    assert_eq!(one("thinktime_spin=70").think_time, Duration::ZERO, "only with thinktime");
    let job = one("thinktime=1s\nthinktime_iotime=9");
    assert_eq!((job.think_time_every, job.think_time_blocks), (Some(Duration::from_secs(9)), u64::MAX));
    assert_eq!(one("thinktime_iotime=9\nthinktime_blocks=4").think_time_blocks, 4);
}

#[test]
fn a_steady_state_has_a_criterion_and_a_window() {
    let of = |lines: &str| one(lines).steady_state.unwrap();
    let state = of("steadystate=iops_slope:0.3%\nsteadystate_duration=30\nss_ramp=5");
    assert_eq!((state.figure, state.slope, state.limit, state.percent), (Figure::Iops, true, 0.3, true));
    assert_eq!(
        (state.duration, state.ramp, state.interval),
        (Duration::from_secs(30), Duration::from_secs(5), Duration::from_secs(1))
    );
    let state = of("ss=bw:1m\nss_dur=4ms\nss_interval=1ms");
    assert_eq!(
        (state.figure, state.slope, state.limit, state.percent),
        (Figure::Bandwidth, false, 1_048_576.0, false)
    );
    assert_eq!(of("ss=lat:20us\nss_dur=2").limit, 20_000.0);
    assert_eq!(one("ss_dur=30").steady_state, None);
    for (bad, what) in [
        ("ss=iops:1%", "steadystate needs steadystate_duration"),
        ("ss=iops:1%\nss_dur=1", "multiple of steadystate_check_interval"),
        ("ss=iops:1%\nss_dur=5\nss_interval=2", "multiple of steadystate_check_interval"),
        ("ss=iops", "expected iops, bw or lat"),
        ("ss=qd:1%", "expected iops, bw or lat"),
        ("ss=iops:-1%", "expected iops, bw or lat"),
    ] {
        assert!(message(&format!("[a]\n{bad}")).contains(what), "{bad}: {}", message(&format!("[a]\n{bad}")));
    }
}

/// The names of all options and their aliases in fio 3.42 (options.c and engines/*.c at
/// fio-3.42-135-gf5344384), one per line.
const FIO_3_42: &str = include_str!("fio-3.42-options.txt");

#[test]
fn every_option_that_fio_has_is_known() {
    let names: Vec<&str> = FIO_3_42.lines().collect();
    assert!(names.len() > 380 && names.contains(&"rw") && names.contains(&"xnvme_be"), "the list is whole");
    let unknown: Vec<_> = names.iter().filter(|name| options::find(name).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // Nor is there one that fio doesn't know, except `include`, which isn't an option in fio's table.
    let ours =
        options().flat_map(|option| core::iter::once(option.name).chain(option.aliases.iter().copied()));
    let invented: Vec<_> = ours.filter(|name| !names.contains(name) && *name != "include").collect();
    assert!(invented.is_empty(), "{invented:?}");
}

#[test]
fn what_is_refused_says_why_under_its_name() {
    for option in options().filter(|option| option.treatment == Treatment::Refused) {
        let told = message(&format!("[a]\n{}=1", option.name));
        assert_eq!(told, format!("line 2: option \"{}\" is refused: {}", option.name, option.meaning));
    }
    assert!(message("[a]\nzonemode=zbd").contains("no zones"));
    assert_eq!(parse("[a]\nzonemode=none").unwrap().len(), 1);
}

type Group = (&'static str, fn(Treatment) -> bool);

const GROUPS: [Group; 3] = [
    ("| option | meaning |\n|---|---|\n", |t| matches!(t, Treatment::Effect { .. })),
    ("\n| taken, changes nothing | because |\n|---|---|\n", |t| t == Treatment::NoMeaning),
    ("\n| refused by name | because |\n|---|---|\n", |t| t == Treatment::Refused),
];

#[test]
fn the_documentation_has_the_table() {
    let page = include_str!("../../../../docs/workloads.md");
    let mut table = String::new();
    for (heading, treatment) in GROUPS {
        table.push_str(heading);
        // Neighbouring options with the same reason share a row.
        let of_group: Vec<_> = options().filter(|option| treatment(option.treatment)).collect();
        for alike in of_group.chunk_by(|a, b| a.meaning == b.meaning) {
            let names = alike.iter().flat_map(|option| core::iter::once(&option.name).chain(option.aliases));
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            table.push_str(&format!("| {} | {} |\n", names.join(", "), alike[0].meaning));
        }
    }
    assert!(page.contains(&table), "docs/workloads.md must hold this table:\n{table}");
}

#[test]
fn the_example_of_the_documentation_is_taken() {
    let page = include_str!("../../../../docs/workloads.md");
    let example = page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let jobs = parse(example).unwrap();
    assert_eq!(jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["fill", "mixed"]);
    assert!(jobs[0].verify && jobs[1].after_previous);
    for example in page.split("```ini\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        parse(example).unwrap_or_else(|e| panic!("{e} in\n{example}"));
    }
}

#[test]
fn writes_belong_to_streams_by_dataplacement_and_plids() {
    let job = one("rw=randrw\ndataplacement=streams\nplids=3,1,700");
    assert_eq!((job.streams.as_slice(), job.random_streams), (&[3, 1, 700][..], false));
    assert!(one("dataplacement=streams\nfdp_pli=2\nfdp_pli_select=random").random_streams);
    assert_eq!(message("[a]\ndataplacement=streams"), "line 2: dataplacement=streams needs plids");
    let without = one("plids=1,2");
    assert!(without.streams.is_empty());
    assert_eq!((without.unmet[0].option, without.unmet[0].asked, without.unmet[0].given), ("plids", 2, 0));
    for wrong in ["plids=0", "plids=1,,2", "plids=65536", "dataplacement=fdp", "plid_select=scheme"] {
        assert!(parse(&format!("[a]\n{wrong}")).is_err(), "{wrong}");
    }
    let drive = crate::Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 };
    let refused = job.plans(drive, 0).unwrap_err().to_string();
    assert!(refused.contains("dataplacement") && refused.contains("ftl.stream_policy"), "{refused}");
    // Writes take the streams in turn, and reads none.
    let plans = job.plans(crate::Drive { streams: 4, ..drive }, 0).unwrap();
    let mut generator = crate::Generator::new(&plans[0]);
    let requests = core::iter::from_fn(|| crate::Source::next_request(&mut generator).unwrap());
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    for request in requests {
        let into = if request.kind == crate::RequestKind::Write { &mut writes } else { &mut reads };
        into.push(request.stream);
    }
    assert!(writes.len() > 50 && writes.chunks(3).all(|three| [3, 1, 700].starts_with(three)), "{writes:?}");
    assert!(!reads.is_empty() && reads.iter().all(|&stream| stream == 0));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn arbitrary_values_never_panic(
        option in 0..options().count(),
        value in "[0-9a-z:/,.%=+()*^${}-]{0,12}",
    ) {
        let name = options().nth(option).unwrap().name;
        if let Ok(jobs) = parse(&format!("[j]\n{name}={value}\nss_dur=4\n")) {
            // A job that parses can be laid out and generates requests, or is refused.
            let drive = crate::Drive { bytes: 1 << 30, block_bytes: 512, streams: 0 };
            if let Ok(plans) = jobs[0].plans(drive, 0) {
                let mut generator = crate::Generator::new(&plans[0]);
                for _ in 0..10 {
                    let _ = crate::Source::next_request(&mut generator);
                }
            }
        }
    }
}
