//! The texts of `aster`: help, lists, and errors for every kind of mistake.

use crate::place::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

#[test]
fn every_command_has_a_help_with_examples() {
    let place = Place::new();
    for command in [
        &["--help"][..],
        &["demo", "--help"],
        &["run", "--help"],
        &["profiles", "--help"],
        &["check", "--help"],
        &["reproduce", "--help"],
    ] {
        let ran = place.aster(command);
        assert_eq!(ran.code, 0);
        assert!(
            ran.out.contains("Usage: aster") && ran.out.contains("Examples:"),
            "{command:?}: {}",
            ran.out
        );
        assert!(ran.out.contains("  aster "), "{command:?}");
    }
}

#[test]
fn sweeps_and_fits_are_of_the_python_package_whose_commands_get_every_argument() {
    for (command, extras) in [("sweep", "sweep"), ("fit", "sweep,search")] {
        let place = Place::new();
        let folder = place.path("programs");
        std::fs::create_dir(&folder).unwrap();
        let run = || {
            let mut aster = Command::new(env!("CARGO_BIN_EXE_aster"));
            aster.args([command, "my.toml", "--workers", "2", "--help"]).env("PATH", &folder);
            aster.output().unwrap()
        };
        let ran = run();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("`pip install './python[{extras}]'`")), "{said}");
        let program = folder.join(format!("aster-{command}"));
        std::fs::write(&program, "#!/bin/sh\necho \"$@\"\nexit 7\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ran = run();
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), "my.toml --workers 2 --help\n");
        assert_eq!(ran.status.code(), Some(7));
    }
}

#[test]
fn shipped_profiles_are_listed_and_can_be_copied() {
    let place = Place::new();
    let list = place.aster(&["profiles"]);
    for name in ["cosmos-plus", "ideal", "tiny"] {
        assert!(list.out.contains(name), "{}", list.out);
    }
    let tiny = place.aster(&["profiles", "tiny"]).out;
    place.write("mine.toml", &tiny);
    let checked = place.aster(&["check", "mine.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(
        checked.out.contains("mine.toml: a good profile") && checked.out.contains("exported"),
        "{}",
        checked.out
    );
    assert!(
        checked.out.contains("booted    ready ") && checked.out.contains(" after power-on"),
        "{}",
        checked.out
    );
    assert!(place.refused(2, &["profiles", "tinny"]).contains("did you mean \"tiny\"?"));
}

/// S3 to S6: what a host and the root complex let the firmware's packets be.
#[test]
fn a_drive_that_sends_packets_says_how() {
    let place = Place::new();
    let told = |set: &[&str]| {
        place.report(&[&["check", "softssd-small", "--json"], set].concat())["transport"].clone()
    };
    let usual = serde_json::json!({
        "max_payload_bytes": 256, "max_read_request_bytes": 512, "read_completion_boundary_bytes": 64,
        "tags": 64, "posted_header_credits": 64, "posted_data_credits": 1024,
        "non_posted_header_credits": 64, "completion_offload": true, "completion_timeout_ms": 50.0,
        "register_packets": {
            "posted_header_credits": 32, "posted_data_credits": 32, "non_posted_header_credits": 32,
        },
    });
    assert_eq!(told(&[]), usual);
    let changed = told(&["--set", "link.packet_payload=512", "--set", "host.completion_offload=false"]);
    let (payload, credits) = (&changed["max_payload_bytes"], &changed["posted_data_credits"]);
    assert_eq!(
        (payload, credits, &changed["completion_offload"]),
        (&512.into(), &2048.into(), &false.into())
    );

    let said = place.aster(&["check", "softssd-small"]).out;
    let line = said.lines().find(|line| line.starts_with("  packets ")).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(
        line.trim(),
        "packets   MPS 256, MRRS 512, read completion boundary 64, 64 tags, time-out of reads 50 ms"
    );
    assert!(said.contains("completions moved by the board (completion offload)"), "{said}");
    let software = place.aster(&["check", "softssd-small", "--set", "host.completion_offload=false"]).out;
    assert!(software.contains("completions moved by firmware"), "{software}");
    let registers = "the host's accesses to registers: packets, too, with credits for 32 writes and 32 reads";
    assert!(said.contains(registers), "{said}");
    let calls = ["--set", "host.register_packets=false"];
    assert!(told(&calls)["register_packets"].is_null());
    let called = place.aster(&[&["check", "softssd-small"], &calls[..]].concat()).out;
    assert!(called.contains("the host's accesses to registers: calls\n"), "{called}");
    assert!(!place.aster(&["check", "tiny"]).out.contains("packets "), "hardware sends them");
}

#[test]
fn profiles_and_checks_are_printed_as_json() {
    let place = Place::new();
    let listed = place.report(&["profiles", "--json"]);
    let tiny = listed.as_array().unwrap().iter().find(|profile| profile["name"] == "tiny").unwrap();
    assert_eq!(tiny["flash_bytes"], 48 << 20);
    place.refused(2, &["profiles", "tiny", "--json"]);
    let checked = place.report(&["check", "tiny", "--json", "--set", "ftl.buffer_entries=64"]);
    assert_eq!(checked["flash_bytes"], 48 << 20);
    assert!(checked["exported_bytes"].as_u64().is_some_and(|bytes| bytes < 48 << 20), "{checked}");
    assert!(checked["ready_after_s"].as_f64().is_some_and(|s| s > 0.0), "{checked}");
    // Generation 2, 4 lanes, and NV-DDR2 mode 4.
    assert!((1.7e9..2e9).contains(&checked["link_bytes_per_s"].as_f64().unwrap()), "{checked}");
    assert_eq!(checked["channel_bytes_per_s"], 200_000_000);
    assert!(checked["transport"].is_null(), "{checked}");
    // A key from the file, an overridden one, and one with its default.
    let ftl = &checked["profile"]["ftl"];
    assert_eq!(
        (&ftl["slice_workers"], &ftl["buffer_entries"], &ftl["gc_depth"]),
        (&16.into(), &64.into(), &2.into())
    );
}

/// Each block of a LUN is for something, and more of them are left to garbage collection where the host sees
/// fewer.
#[test]
fn a_check_says_what_the_blocks_are_for() {
    let place = Place::new();
    let blocks = |percent: &str| {
        let spare = format!("ftl.over_provisioning_percent={percent}");
        place.report(&["check", "ideal", "--json", "--set", &spare])["blocks"].clone()
    };
    let (few, many) = (blocks("7"), blocks("28"));
    for blocks in [&few, &many] {
        let of = |part: &str| blocks[part].as_f64().unwrap_or_else(|| panic!("{part} of {blocks}"));
        let parts = ["data", "log", "stored_map", "gc_reserve", "open", "stale"].map(of);
        assert!((parts.iter().sum::<f64>() - of("per_lun")).abs() < 1e-9, "{blocks}");
        let effective = 100.0 * of("stale") / of("data");
        assert!((effective - of("effective_over_provisioning_percent")).abs() < 1e-9, "{blocks}");
    }
    let both = |part: &str| [&few, &many].map(|blocks| blocks[part].as_f64().unwrap());
    let [few, many] = both("effective_over_provisioning_percent");
    assert!(few < 7.0 && many > 20.0, "{few} {many}");
    let [few, many] = both("write_amplification");
    assert!(few > 8.0 && (1.5..3.0).contains(&many), "{few} {many}");
    let said = place.aster(&["check", "ideal", "--set", "ftl.victims=cost-benefit"]).out;
    assert!(said.contains("effective over-provisioning") && !said.contains("by theory"), "{said}");
}

/// A run's report has the blocks of `aster check`, and says what theory expects beside the WAF that it
/// measured.
#[test]
fn a_run_says_what_its_spare_is_beside_its_waf() {
    let place = Place::new();
    place.write("w.fio", "[w]\nrw=write\nbs=16k\nsize=1m\nend_fsync=1\n");
    place.write("r.fio", "[r]\nrw=read\nbs=16k\nsize=1m\n");
    let set = ["--set", "ftl.over_provisioning_percent=60"];
    let blocks = place.report(&[&["check", "tiny", "--json"][..], &set].concat())["blocks"].clone();
    let run = |job, more: &[&'static str]| [&["run", "tiny", "--job", job][..], &set, more].concat();
    let report = place.report(&run("w.fio", &["--json"]));
    assert_eq!(report["spare"], blocks);
    assert!(blocks["write_amplification"].is_f64() && blocks["victims"] == "greedy", "{blocks}");
    let said = place.aster(&run("w.fio", &[])).out;
    let effective = blocks["effective_over_provisioning_percent"].as_f64().unwrap();
    let theory = blocks["write_amplification"].as_f64().unwrap();
    let line = said.lines().find(|line| line.starts_with("WAF ")).unwrap_or_else(|| panic!("{said}"));
    let measured = report["waf"].as_f64().unwrap();
    assert!(line.starts_with(&format!("WAF {measured:.2} with ")), "{line}");
    assert!(line.contains(&format!("{effective:.1} % effective over-provisioning")), "{line}");
    assert!(line.contains(&format!("theory of greedy expects {theory:.1} ")), "{line}");
    // Reads amplify no writes, and another translation has no such blocks.
    assert!(!place.aster(&run("r.fio", &[])).out.contains("\nWAF "));
    let other = place.report(&["run", "pocket-ocssd", "--job", "w.fio", "--json"]);
    assert!(other.get("spare").is_none(), "{other}");
}

#[test]
fn cells_that_no_configured_code_carries_are_refused_and_bad_ones_told() {
    let place = Place::new();
    place.write("job.fio", "[a]\nrw=write\nsize=64k\n");
    let hopeless = ["--set", "package.errors.fresh=0.01"];
    let doubtful = ["--set", "package.errors.fresh=1e-3"];
    for command in [&["check", "tiny"][..], &["run", "tiny", "--job", "job.fio"]] {
        let error = place.refused(2, &[command, &hopeless[..]].concat());
        assert!(error.contains("package.errors.fresh=0.01: must leave new pages readable"), "{error}");
        let told = place.aster(&[command, &doubtful[..]].concat()).err;
        assert!(
            told.contains("package.errors.fresh: in the worst pages of a new block one chunk in "),
            "{told}"
        );
        assert!(!place.aster(command).err.contains("one chunk in"));
    }
}

#[test]
fn a_wrong_profile_is_told_with_line_and_key() {
    let place = Place::new();
    let tiny = place.aster(&["profiles", "tiny"]).out;
    let wrong = tiny.replace("buffer_entries", "bufer_entries");
    let line = 1 + wrong.lines().position(|l| l.contains("bufer_entries")).unwrap();
    place.write("wrong.toml", &wrong);
    let error = place.refused(2, &["check", "wrong.toml"]);
    assert!(error.contains(&format!("wrong.toml:{line}: ftl.bufer_entries")), "{error}");
    assert!(error.contains("did you mean 'buffer_entries'?"), "{error}");
}

#[test]
fn a_drive_that_does_not_come_up_is_no_good_profile() {
    let place = Place::new();
    let set = ["--set", "package.factory_bad_per_mille=400"];
    let error = place.refused(2, &[&["check", "tiny"], &set[..]].concat());
    assert!(
        error.contains("tiny: the drive reports: its 8 LUNs together have ") && error.contains("good blocks"),
        "{error}"
    );
}

#[test]
fn parts_that_do_not_fit_are_told_with_file_and_line() {
    let place = Place::new();
    let tiny = place.aster(&["profiles", "tiny"]).out;
    for (old, new, key) in [
        ("over_provisioning_percent = 32", "over_provisioning_percent = 1", "ftl.over_provisioning_percent"),
        ("timing_mode = 4", "timing_mode = 9", "channel.timing_mode"),
        ("[poll]", "[flt]\nx = 1\n[poll]", "flt"),
    ] {
        let tiny = if tiny.contains("[poll]") { tiny.clone() } else { format!("{tiny}\n[poll]\n") };
        let wrong = tiny.replace(old, new);
        let first = new.lines().next().unwrap();
        let line = 1 + wrong.lines().position(|l| l == first).unwrap();
        place.write("wrong.toml", &wrong);
        let error = place.refused(2, &["check", "wrong.toml"]);
        assert!(error.contains(&format!("error: wrong.toml:{line}: {key}: ")), "{error}");
    }
}

#[test]
fn a_demo_that_is_killed_leaves_nothing_behind() {
    let place = Place::new();
    std::fs::create_dir(place.path("temporary")).unwrap();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/file", "content");
    let mut child = place
        .command(&["demo", "--tree", "tree"])
        .env("TMPDIR", place.path("temporary"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("Copying ")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(place.path("temporary")).unwrap().count(), 0);
}

#[test]
fn a_demo_that_is_interrupted_ends_in_order() {
    let place = Place::new();
    std::fs::create_dir(place.path("temporary")).unwrap();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/file", "content");
    let mut child = place
        .command(&["demo", "--tree", "tree"])
        .env("TMPDIR", place.path("temporary"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let copied: Vec<_> = said
        .by_ref()
        .map(Result::unwrap)
        .take_while(|line| !line.starts_with("Measuring two drives"))
        .collect();
    assert!(copied.iter().any(|line| line.contains(" came back identical; ")), "{copied:?}");
    interrupt(&child);
    assert!(said.all(|line| !line.unwrap().contains("All of it took")));
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("\ninterrupted"), "on a line of its own: {said}");
    assert_eq!(std::fs::read_dir(place.path("temporary")).unwrap().count(), 0);
}

#[test]
fn a_check_that_is_interrupted_says_so() {
    let place = Place::new();
    // Long enough to be interrupted: a scan of many blocks.
    let many = ["--set", "geometry.blocks_per_lun=65536"];
    let mut child = place
        .command(&[&["check", "tiny"], &many[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // From when the process listens to signals on, which its status tells. SIGTERM, number 15, comes after
    // SIGINT.
    let status = format!("/proc/{}/status", child.id());
    let listens = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        caught.is_some_and(|caught| u64::from_str_radix(caught, 16).unwrap() >> 14 & 1 == 1)
    };
    while !listens() {
        assert!(child.try_wait().unwrap().is_none(), "the check has ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    interrupt(&child);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "");
    assert!(String::from_utf8_lossy(&ended.stderr).starts_with("interrupted while "));
}

#[test]
fn a_run_that_cannot_be_kept_is_refused_with_what_to_do() {
    let place = Place::new();
    place.write("read.fio", "[a]\nrw=read\nsize=64k\n");
    // 8 TiB, which no memory has.
    let many = ["--set", "geometry.blocks_per_lun=32768", "--set", "ftl.mapping_unit_bytes=0"];
    let drive = [&["run", "ideal", "--content", "full"][..], &many].concat();
    let error = place.refused(2, &[&drive[..], &["--job", "read.fio", "--precondition", "0"]].concat());
    for said in [
        "filling the drive keeps ",
        " in memory",
        "--content fingerprint",
        "--image",
        "restrict.blocks_per_lun",
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn a_wrong_job_file_is_told_with_its_line() {
    let place = Place::new();
    place.write("bad.fio", "[a]\nrw=read\niodpeth=4\n");
    let error = place.refused(2, &["run", "tiny", "--job", "bad.fio"]);
    assert!(
        error.contains("bad.fio: line 3: unknown option \"iodpeth\"; did you mean \"iodepth\"?"),
        "{error}"
    );
}

#[test]
fn a_job_file_comes_from_standard_input_too() {
    let place = Place::new();
    let fed = |text: &str, more: &[&str]| {
        let mut child = place.command(&[&["run", "tiny", "--job", "-"], more].concat());
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let run = fed("\u{feff}[a]\nrw=write\nbs=16k\nsize=64k\nioengine=sync\niodepth=8\n", &["--json"]);
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && error.contains("iodepth is 8, but 1 is what there is"), "{error}");
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(report["provenance"]["work"]["job"]["name"], "standard input", "{}", report["provenance"]);
    assert!(report["limits"].as_array().unwrap().iter().any(|limit| limit["option"] == "iodepth"));
    // The report has all of it.
    place.write("r.json", &run.stdout);
    assert_eq!(place.aster(&["run", "--again", "r.json"]).code, 0);
    let run = fed("[a]\nrw=raed\nBS=4k\n", &[]);
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        error.starts_with("error: standard input: 2 mistakes\n  line 2: rw=raed: expected read"),
        "{error}"
    );
    assert!(error.contains("\n  line 3: unknown option \"BS\"; did you mean \"bs\"?"), "{error}");
}

#[test]
fn a_job_below_its_least_rate_says_what_fell_below_what() {
    let place = Place::new();
    let slow = "[slow]\nrw=read\nbs=16k\nthinktime=500ms\ntime_based\nruntime=20\nrate_min=1m\n";
    place.write("slow.fio", slow);
    let error = place.refused(1, &["run", "tiny", "--job", "slow.fio"]);
    let said = "error: 1 failure, of \"slow\": rate_min: reads fell to 32.0 KiB/s from 2.000 s to ";
    assert!(error.contains(said) && error.contains("and 1024.0 KiB/s are the least"), "{error}");
}

#[test]
fn files_that_are_none_are_told_by_name() {
    let place = Place::new();
    place.write("empty", "");
    place.write("bytes", [0xff, 0xfe, 0x00, 0x80]);
    std::fs::create_dir(place.path("folder")).unwrap();
    for source in ["--job", "--trace"] {
        for file in ["missing", "empty", "bytes", "folder"] {
            let error = place.refused(2, &["run", "tiny", source, file]);
            assert!(error.contains(file), "{source} {file}: {error}");
        }
    }
    place.write("job.fio", "[a]\nrw=read\nsize=64k\n");
    for profile in ["./missing", "./empty", "./bytes", "./folder"] {
        let error = place.refused(2, &["run", profile, "--job", "job.fio"]);
        assert!(error.contains(profile), "{profile}: {error}");
    }
    for (option, file) in
        [("--image", "bytes"), ("--image", "folder"), ("--wave", "folder"), ("--events", "missing/e.jsonl")]
    {
        let error = place.refused(2, &["run", "tiny", "--job", "job.fio", option, file]);
        assert!(error.contains(file), "{option} {file}: {error}");
    }
    let bytes = std::fs::read(place.path("bytes")).unwrap();
    assert_eq!(bytes, [0xff, 0xfe, 0x00, 0x80], "a file of another kind is left alone");
}

#[test]
fn a_broken_trace_is_told_before_the_drive_is_powered_on() {
    let place = Place::new();
    place.write("t.csv", "1,usr,0,Read,0,4096,1\n2,usr,0,Read,zero,4096,1\n");
    let error = place.refused(2, &["run", "tiny", "--trace", "t.csv", "--image", "d.aster"]);
    assert!(error.contains("t.csv: line 2, column "), "{error}");
    assert!(!place.path("d.aster").exists());
}

#[test]
fn a_mistake_in_the_input_leaves_no_output() {
    let place = Place::new();
    place.write("bad.fio", "[a]\nrw=read\niodpeth=4\n");
    place.write("large.fio", "[a]\nrw=read\nsize=1g\n");
    place.write("bad.csv", "1,usr,0,Read,0,4096,1\n2,usr,0,Read,zero,4096,1\n");
    place.write("far.log", "fio version 2 iolog\n/dev/sda write 1099511627776 4096\n");
    place.write("good.fio", "[a]\nrw=read\nsize=64k\n");
    let outputs = ["--image", "d.aster", "--wave", "w.vcd", "--events", "e.jsonl"];
    for input in [
        &["--job", "bad.fio"][..],
        &["--job", "large.fio"],
        &["--trace", "bad.csv"],
        &["--trace", "far.log"],
        &["--job", "good.fio", "--set", "channel.timing_mode=9"],
        &["--job", "good.fio", "--set", "ftl.over_provisioning_percent=1"],
    ] {
        place.refused(2, &[&["run", "tiny"], input, &outputs[..]].concat());
        for file in ["d.aster", "w.vcd", "e.jsonl"] {
            assert!(!place.path(file).exists(), "{input:?} left {file}");
        }
    }
    assert_eq!(place.aster(&[&["run", "tiny", "--job", "good.fio"], &outputs[..]].concat()).code, 0);
}

#[test]
fn a_job_that_its_size_ends_early_is_told() {
    let place = Place::new();
    place.write("many.fio", "[many]\nrw=read\nbs=4k\nsize=64k\nnumber_ios=17\n");
    let ran = place.aster(&["run", "tiny", "--job", "many.fio"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("job \"many\": number_ios=17 is more than its size allows"), "{}", ran.err);
    for enough in ["number_ios=16", "number_ios=17\nloops=2", "number_ios=17\nio_size=68k"] {
        place.write("enough.fio", format!("[many]\nrw=read\nbs=4k\nsize=64k\n{enough}\n"));
        assert!(!place.aster(&["run", "tiny", "--job", "enough.fio"]).err.contains("number_ios"), "{enough}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_refused() {
    let place = Place::new();
    place.write("job.fio", "[a]\nrw=read\nsize=64k\n");
    for (arguments, expected) in [
        (&["run", "tny", "--job", "job.fio"][..], "did you mean \"tiny\"?"),
        (&["run", "tiny"], "--job"),
        (&["run", "tiny", "--job", "job.fio", "--trace", "t"], "cannot be used with"),
        (&["run", "tiny", "--job", "job.fio", "--queue-depth", "4"], "cannot be used with"),
        (&["torture", "tiny", "--cuts", "3", "--depth", "1"], "cannot be used with"),
        (&["torture", "tiny", "--minutes", "1", "--recovery-uncut"], "cannot be used with"),
        (
            &["run", "tiny", "--again", "r.json"],
            "error: [PROFILE] beside --again REPORT, whose run is repeated as it was: leave it out\n",
        ),
        (
            &["run", "--again", "r.json", "--job", "job.fio"],
            "error: --job <FILE> beside --again REPORT, whose",
        ),
        (&["run", "--again", "r.json", "--seed", "4", "--verify"], " beside --again REPORT, whose run"),
        (
            &["serve", "tiny", "--vfio-user", "s", "--serial", ""],
            "'--serial <TEXT>': must be 1 to 20 printable ASCII characters",
        ),
        (
            &["bench-channel", "--luns", "20"],
            "--luns 20: must be from 1 to 16 on cosmos-plus: a channel has at most 16 chip enables, each of \
             one LUN\n",
        ),
        (
            &["bench-channel", "--luns", "7", "--profile", "tiny"],
            "--luns 7: must be a multiple of 2 up to 32 on tiny: a channel has at most 16 chip enables, each \
             of 2 LUNs\n",
        ),
        (&["run", "tiny", "--job", "job.fio", "--image", "."], ".: is a folder; name a file\n"),
        (&["run", "--job", "job.fio", "--image", "."], ".: is a folder; name a file\n"),
        (&["image", "info", "."], ".: is a folder; name a file\n"),
        (&["image", "check", ".", "tiny"], ".: is a folder; name a file\n"),
        (&["image", "clone", ".", "x"], ".: is a folder; name a file\n"),
        (
            &["run", "tiny", "--job", "job.fio", "--set", "ftl.bufer_entries=3"],
            "--set ftl.bufer_entries=3: unknown key",
        ),
        (&["run", "tiny", "--job", "job.fio", "--set", "ftl.buffer_entries"], "expected KEY=VALUE"),
        (&["run", "tiny", "--job", "job.fio", "--seed", "99999999999999999999999"], "--seed"),
        (
            &["run", "tiny", "--job", "job.fio", "--precondition", "-5"],
            "invalid value '-5' for '--precondition",
        ),
        (&["bench-channel", "--age", "-5"], "invalid value '-5' for '--age"),
        (&["bench-channel", "--luns", "0"], "'--luns <N>': must be a whole number from 1 to 128\n"),
        (&["bench-channel", "--luns=many"], "'--luns <N>': must be a whole number from 1 to 128\n"),
        (&["bench-channel", "--luns", "99999999999999999999"], "must be a whole number from 1 to 128\n"),
        (&["bench-channel", "--requests", "0"], "must be a whole number, at least 1\n"),
        (&["bench-channel", "--seed", "x"], "must be a whole number from 0 to 18446744073709551615\n"),
        (&["torture", "tiny", "--rounds", "1,x"], "'x' for '--rounds"),
        (
            &["bench-channel", "--operation", "program", "--sectors", "1"],
            "--sectors means nothing to --operation program",
        ),
        (
            &["bench-channel", "--operation", "copyback", "--age", "9"],
            "--age means nothing to --operation copyback",
        ),
        (
            &["bench-channel", "--operation", "erase", "--read-level", "1"],
            "--read-level means nothing to --operation erase",
        ),
        (&["run", "tiny", "--trace", "t", "--queue-depth", "0"], "--queue-depth"),
        (&["run", "tiny", "--trace", "t", "--trace-speed", "quick"], "recorded, fastest, or a factor"),
        (&["demo", "--tree", "nowhere"], "nowhere: "),
        (&["prove"], "prove"),
        (
            &["reproduce", "cosmos", "--set", "ftl.buffer_entries=48"],
            "--set ftl.buffer_entries=48: BABOL's Fig 12: ftl.buffer_entries: ",
        ),
        (
            &["reproduce", "cosmos", "--set", "host.auto_completoin=false"],
            "--set host.auto_completoin=false: unknown key; did you mean 'auto_completion'?",
        ),
        (&["reproduce", "cosmos", "--set", "auto_completion=false"], "did you mean 'host.auto_completion'?"),
        (&["reproduce", "cosmos", "--set", "ecc.detect_ns=-1"], "must be from 0 to 1000000000 ns, but is -1"),
        (&["reproduce", "cosmos", "--set", "restrict.ways=2"], "each figure chooses its channels"),
        (&["reproduce", "cosmos", "--set", "ecc.detect_ns"], "expected KEY=VALUE"),
        (
            &["reproduce", "babol", "--quick", "--out", "job.fio"],
            "job.fio: is a file, or lies below one; name a folder",
        ),
        (&["lifetime", "tiny", "--svg", "no/such/life.svg"], "no/such/life.svg: its folder is not there\n"),
    ] {
        let error = place.refused(2, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn the_number_of_blocks_that_an_error_names_is_the_least_that_makes_a_drive() {
    let place = Place::new();
    place.write("j.fio", "[j]\nrw=write\nbs=16k\nsize=64k\n");
    let run = |profile: &str, more: &[&str], blocks: u32| {
        let blocks = format!("restrict.blocks_per_lun={blocks}");
        let asked = ["run", profile, "--job", "j.fio", "--content", "fingerprint", "--set", &blocks];
        place.aster(&[&asked[..], more].concat())
    };
    let named = |profile: &str, more: &[&str]| -> u32 {
        let refused = run(profile, more, 4);
        let number = refused.err.split_once("or have ").and_then(|(_, rest)| rest.split(' ').next());
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{}", refused.err))
    };
    // Of two planes, and with bad blocks that are in the way.
    let bad = ["--set", "package.factory_bad_per_mille=120", "--set", "geometry.blocks_per_lun=96"];
    for more in [&[][..], &bad] {
        let enough = named("tiny", more);
        let ran = run("tiny", more, enough);
        assert_eq!(ran.code, 0, "{enough}: {}", ran.err);
        assert!((4..enough).all(|blocks| run("tiny", more, blocks).code != 0), "{enough} are the fewest");
    }
    let enough = named("cosmos-plus", &[]);
    assert_eq!(run("cosmos-plus", &[], enough).code, 0, "{enough}");
    assert_ne!(run("cosmos-plus", &[], enough - 1).code, 0, "{enough} are the fewest");
}

#[test]
fn the_exit_status_is_what_the_help_says() {
    let place = Place::new();
    let help = place.aster(&["run", "--help"]).out;
    for status in ["0 when every request succeeded", "1 when one failed", "2 for mistakes", "130 when"] {
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(status), "{status}: {help}");
    }
    place.write("write.fio", "[fill]\nrw=write\nbs=16k\nsize=1m\n");
    place.write("read.fio", "[look]\nrw=read\nbs=16k\nsize=1m\nverify=crc32c\n");
    let run = |job, more: &[&str]| place.aster(&[&["run", "tiny", "--job", job], more].concat()).code;
    assert_eq!(run("write.fio", &["--image", "d.aster"]), 0);
    assert_eq!(run("read.fio", &["--image", "d.aster", "--seed", "2"]), 1, "wrong content");
    assert_eq!(run("missing.fio", &[]), 2);
    assert_eq!(run("write.fio", &["--frobnicate"]), 2);

    place.write("long.fio", "[long]\nrw=randread\nruntime=100000\ntime_based\n");
    let mut child = place
        .command(&["run", "tiny", "--job", "long.fio", "--image", "d.aster", "--events", "e.jsonl"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    interrupt_once_it_works(&mut child, &place);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(run("write.fio", &["--image", "d.aster"]), 0, "an interrupted run shuts its drive down");
}

/// Sends SIGINT when the first events have been written.
fn interrupt_once_it_works(child: &mut Child, place: &Place) {
    let events = || place.path("e.jsonl").metadata().map_or(0, |file| file.len());
    while events() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    interrupt(child);
}

/// What Ctrl-C does.
fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

#[test]
fn a_run_that_is_interrupted_while_it_preconditions_reports_no_measurement() {
    let place = Place::new();
    place.write("read.fio", "[look]\nrw=randread\nnumber_ios=10\n");
    let drive = ["run", "tiny", "--set", "geometry.blocks_per_lun=4096", "--content", "fingerprint"];
    let work = ["--job", "read.fio", "--precondition", "10000", "--events", "e.jsonl"];
    let mut child = place
        .command(&[&drive[..], &work].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    interrupt_once_it_works(&mut child, &place);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("interrupted before the work began: nothing was measured"), "{said}");
}

#[test]
fn nobody_reading_is_no_reason_to_panic() {
    let place = Place::new();
    let mut child = place
        .command(&["profiles", "cosmos-plus"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert_eq!(said, "");
}

#[test]
fn what_the_queues_do_not_hold_is_told_before_the_run_and_in_the_report() {
    let place = Place::new();
    place.write("deep.fio", "[deep]\nrw=randread\nbs=4k\nsize=64k\nnumber_ios=16\niodepth=300\n");
    let cut = ["run", "tiny", "--job", "deep.fio", "--set", "host.queue_entries=64"];
    let ran = place.aster(&cut);
    assert!(ran.err.contains("\"deep\": iodepth is 300, but 63 is what there is"), "{}", ran.err);
    assert!(ran.err.contains("host.queue_entries"), "{}", ran.err);
    let report = place.report(&[&cut[..], &["--json"]].concat());
    let limit = &report["limits"][0];
    assert_eq!(
        (limit["option"].as_str(), limit["asked"].as_u64(), limit["given"].as_u64()),
        (Some("iodepth"), Some(300), Some(63))
    );
    let ran = place.aster(&["run", "tiny", "--job", "deep.fio"]);
    assert!(!ran.err.contains("iodepth"), "{}", ran.err);
    assert_eq!(
        place.report(&["run", "tiny", "--job", "deep.fio", "--json"])["limits"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn a_read_of_nothing_by_time_ends_on_an_ideal_drive_and_check_says_what_a_command_costs() {
    let place = Place::new();
    place.write("time.fio", "[r]\nrw=randread\nruntime=20ms\ntime_based\nsize=1m\n");
    let report = place.report(&["run", "ideal", "--job", "time.fio", "--json"]);
    assert!(report["simulated_s"].as_f64().is_some_and(|s| (0.02..0.021).contains(&s)), "{report}");
    assert!(place.aster(&["check", "ideal"]).out.contains("command   at least 1221 ns"));
    let refused =
        place.aster(&["check", "ideal", "--set", "link.unlimited=true", "--set", "link.latency_ns=0"]);
    assert!(refused.err.contains("link.latency_ns") && refused.err.contains("never end"), "{}", refused.err);
}

#[test]
fn a_steady_state_and_an_early_end_are_told() {
    let place = Place::new();
    let steady = "[a]\nrw=randread\ntime_based\nruntime=1\nsize=1m\niodepth=4\nss=iops:3%\nss_dur=4ms\n\
                  ss_interval=1ms\nexitall\n";
    place.write("steady.fio", format!("{steady}[b]\nrw=randread\ntime_based\nruntime=1\nsize=1m\n"));
    let ran = place.aster(&["run", "ideal", "--job", "steady.fio"]);
    assert!(ran.out.contains("a: steady after 0.00 s, iops:3% over 0.004 s."), "{}", ran.out);
    assert!(ran.err.contains("b: ended before its time, by exitall"), "{}", ran.err);
    let report = place.report(&["run", "ideal", "--job", "steady.fio", "--json"]);
    assert!(report["tasks"][0]["steady_state"]["attained_s"].as_f64().is_some_and(|at| at < 0.1), "{report}");
    assert_eq!(report["tasks"][1]["ended_by_another"].as_bool(), Some(true), "{report}");
}
