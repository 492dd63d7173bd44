use super::*;
use crate::{Access, BlockSizes, Distribution, Extent, Mix, PerDirection};
use alloc::format;
use alloc::string::String;
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
    assert_eq!(size("size=100%"), Some(Extent::Percent(100)));
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
    let before = "ioengine=libaio\niodepth=2\nruntime=1\n";
    for option in OPTIONS {
        let Treatment::Effect { example } = option.treatment else { continue };
        // These act together with a line that follows.
        let after = if option.name == "kb_base" { "size=8k" } else { "" };
        let plain = one(&format!("{before}{after}"));
        for name in core::iter::once(&option.name).chain(option.aliases) {
            let line = example.map_or_else(|| String::from(*name), |value| format!("{name}={value}"));
            let job = one(&format!("{before}{line}\n{after}"));
            // That a wrong block ends the run is so anyway; the option may say it.
            assert_eq!(job == plain, option.name == "verify_fatal", "{name}");
        }
    }
}

#[test]
fn what_has_no_meaning_changes_nothing() {
    for option in OPTIONS.iter().filter(|option| option.treatment == Treatment::NoMeaning) {
        assert_eq!(one(&format!("{}=1", option.name)), one(""), "{}", option.name);
    }
}

#[test]
fn errors_name_line_option_and_remedy() {
    assert_eq!(
        message("[a]\nrw=read\niodpeth=4"),
        "line 3: unknown option \"iodpeth\"; did you mean \"iodepth\"?"
    );
    assert_eq!(message("[a]\nquux=4"), "line 2: option \"quux\" is not one of those that Aster takes");
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
    assert!(message("[a]\nsize=${SIZE}").starts_with("line 2: size=${SIZE}: expected "));
    assert!(message("[a]\nsize=99999999999999t").contains("expected"));
}

#[test]
fn distributions_check_their_parameter() {
    assert_eq!(one("random_distribution=zipf:1.2").distribution, Distribution::Zipf(1.2));
    assert_eq!(one("random_distribution=pareto:0.2").distribution, Distribution::Pareto(0.2));
    for bad in ["zipf:0", "zipf:nan", "zipf:inf", "pareto:1", "normal:5", "zipf"] {
        assert!(message(&format!("[a]\nrandom_distribution={bad}")).contains("zipf:theta"), "{bad}");
    }
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
        for option in OPTIONS.iter().filter(|option| treatment(option.treatment)) {
            let aliases: String = option.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
            table.push_str(&format!("| `{}`{aliases} | {} |\n", option.name, option.meaning));
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
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn arbitrary_values_never_panic(option in 0..OPTIONS.len(), value in "[0-9a-z:/,.%=+-]{0,12}") {
        if let Ok(jobs) = parse(&format!("[j]\n{}={value}\n", OPTIONS[option].name)) {
            // Whatever parses can be laid out or is refused, and gives its requests.
            let drive = crate::Drive { bytes: 1 << 30, block_bytes: 512 };
            if let Ok(plans) = jobs[0].plans(drive, 0) {
                let mut generator = crate::Generator::new(&plans[0]);
                for _ in 0..10 {
                    let _ = crate::Source::next_request(&mut generator);
                }
            }
        }
    }
}
