//! `aster run` on the tiny profile, from the outside.

use crate::place::Place;
use serde_json::Value;
use std::process::Stdio;

const WRITE: &str = "[fill]\nrw=write\nbs=16k\nsize=1m\niodepth=4\n";
const READ: &str = "[look]\nrw=read\nbs=16k\nsize=1m\niodepth=4\nverify=crc32c\n";

fn with_jobs() -> Place {
    let place = Place::new();
    place.write("write.fio", WRITE);
    place.write("read.fio", READ);
    place
}

#[test]
fn a_job_is_reported_as_json_and_as_a_table() {
    let place = with_jobs();
    let report = place.report(&["run", "tiny", "--job", "write.fio", "--json"]);
    let kind = &report["tasks"][0]["kinds"][0];
    assert_eq!((&report["tasks"][0]["name"], &kind["kind"]), (&"fill".into(), &"write".into()));
    assert_eq!((&kind["requests"], &kind["bytes"]), (&64.into(), &(1 << 20).into()));
    assert!(report["simulated_s"].as_f64().unwrap() > 0.0);
    assert_eq!(report["tasks"][0]["checked_blocks"], 0);
    let ran = place.aster(&["run", "tiny", "--job", "write.fio"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("\nfill ") && ran.out.contains("IOPS"), "{}", ran.out);
}

/// A drive whose firmware is the transaction layer tells what that had to do with packets (S7).
#[test]
fn packets_and_what_firmware_had_to_do_with_them_are_told() {
    let place = with_jobs();
    let run = ["run", "softssd-small", "--job", "write.fio"];
    for (offload, by_software) in [("true", false), ("false", true)] {
        let set = format!("host.completion_offload={offload}");
        let args = [&run[..], &["--set", &set]].concat();
        let report = place.report(&[&args[..], &["--json"]].concat());
        let of = |name: &str| report["parts"][name].as_u64().unwrap_or_else(|| panic!("{report}"));
        // 64 writes of four pages, each with an entry and a list of three addresses: 34 reads, a completion
        // entry and a message.
        let bytes = 64 * ((16 << 10) + 64 + 3 * 8);
        let (copied, moved) = if by_software { (bytes, 0) } else { (0, bytes) };
        assert_eq!((of("tlp_copied_bytes"), of("tlp_moved_bytes")), (copied, moved), "{report}");
        let handled = if by_software { of("tlp_received") } else { 0 };
        // Each command has a doorbell before it, and one behind it or for some at once.
        assert!((65..=128).contains(&of("tlp_register_requests")), "{report}");
        assert_eq!(of("tlp_touched"), of("tlp_sent") + handled + of("tlp_register_requests"));
        assert_eq!(of("tlp_sent"), 64 * 36, "{report}");
        let line = format!("firmware handled {} of them and copied {copied} bytes", of("tlp_touched"));
        let told = place.aster(&args).out;
        assert!(told.contains(&line) && told.contains(&format!("moved {moved} byte")), "{told}");
    }
    let plain = place.aster(&["run", "tiny", "--job", "write.fio"]).out;
    assert!(!plain.contains("packet"), "{plain}");
}

#[test]
fn trims_and_flushes_are_not_counted_as_writes() {
    let place = Place::new();
    place.write("trim.fio", "[give-up]\nrw=trimwrite\nbs=16k\nsize=1m\nfsync=10\n");
    let report = place.report(&["run", "tiny", "--job", "trim.fio", "--json"]);
    let kinds = report["tasks"][0]["kinds"].as_array().unwrap();
    let requests = |kind: &str| &kinds.iter().find(|of| of["kind"] == kind).unwrap()["requests"];
    assert_eq!((kinds.len(), requests("write"), requests("flush")), (3, &64.into(), &6.into()), "{report}");
    assert_eq!(requests("trim"), &64, "{report}");
    let flushes = kinds.iter().find(|of| of["kind"] == "flush").unwrap();
    assert!(flushes["mb_per_s"].is_null() && flushes["latency"]["p50_us"].as_f64().is_some(), "{report}");
    let table = place.aster(&["run", "tiny", "--job", "trim.fio"]).out;
    for row in ["\ngive-up, writes ", "\ngive-up, flushes ", "\ngive-up, trims "] {
        assert!(table.contains(row), "{table}");
    }
}

#[test]
fn the_same_run_gives_the_same_report() {
    let place = with_jobs();
    let simulated = || {
        let mut report =
            place.report(&["run", "tiny", "--job", "write.fio", "--json", "--precondition", "10"]);
        report["wall_s"] = Value::Null;
        report
    };
    assert_eq!(simulated(), simulated());
}

#[test]
fn verify_reads_back_what_was_written() {
    let place = with_jobs();
    for content in ["full", "fingerprint"] {
        let arguments = ["run", "tiny", "--job", "write.fio", "--json", "--verify", "--content", content];
        let report = place.report(&arguments);
        let block = if content == "full" { 512 } else { 4096 };
        assert_eq!(report["tasks"][0]["checked_blocks"], (1 << 20) / block, "{content}");
    }
}

#[test]
fn an_image_keeps_the_data_from_run_to_run() {
    let place = with_jobs();
    place.report(&["run", "tiny", "--job", "write.fio", "--json", "--image", "d.aster"]);
    let report = place.report(&["run", "tiny", "--job", "read.fio", "--json", "--image", "d.aster"]);
    assert_eq!(report["tasks"][0]["checked_blocks"], 2048);
    let said = |size| {
        place.write("little.fio", READ.replace("16k", "512").replace("1m", size));
        place.aster(&["run", "tiny", "--job", "little.fio", "--image", "d.aster"]).out
    };
    assert!(said("512").contains("\n1 block was checked."), "{}", said("512"));
    assert!(said("1k").contains("\n2 blocks were checked."), "{}", said("1k"));
    assert!(report["flash_reads"].as_u64().unwrap() >= 64, "the pages came from flash: {report}");

    // Data of another seed are wrong content, and the error says which.
    let error = place.refused(1, &["run", "tiny", "--job", "read.fio", "--image", "d.aster", "--seed", "2"]);
    assert!(error.contains("failures; the first, of \"look\": wrong content"), "{error}");
}

#[test]
fn a_job_that_does_not_fit_leaves_the_image_usable() {
    let place = with_jobs();
    place.report(&["run", "tiny", "--job", "write.fio", "--json", "--image", "d.aster"]);
    place.write("large.fio", "[large]\nsize=1g\n");
    let error = place.refused(2, &["run", "tiny", "--job", "large.fio", "--image", "d.aster"]);
    assert!(error.contains("job \"large\": size: "), "{error}");
    place.write("two.fio", "[a]\nrw=read\nbs=1000\n[b]\nrw=read\nbs=999\n");
    let error = place.refused(2, &["run", "tiny", "--job", "two.fio"]);
    for line in
        ["2 mistakes\n", "\n  line 3: job \"a\": bs: 1000 is not", "\n  line 6: job \"b\": bs: 999 is not"]
    {
        assert!(error.contains(line), "{line}: {error}");
    }
    place.report(&["run", "tiny", "--job", "read.fio", "--json", "--image", "d.aster"]);
}

#[test]
fn a_drive_whose_process_was_killed_comes_back_from_its_image() {
    let place = with_jobs();
    place.write("long.fio", "[long]\nrw=randwrite\nbs=16k\nruntime=100000\ntime_based\n");
    let run = ["run", "tiny", "--job", "long.fio", "--image", "d.aster", "--events", "e.jsonl"];
    let mut child = place.command(&run).stderr(Stdio::null()).spawn().unwrap();
    let written = || std::fs::read(place.path("e.jsonl")).unwrap_or_default();
    while !String::from_utf8_lossy(&written()).contains("PageEvicted") {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let again = ["run", "tiny", "--job", "write.fio", "--image", "d.aster"];
    assert_eq!(place.aster(&again).code, 0);
    place.report(&["run", "tiny", "--job", "read.fio", "--json", "--image", "d.aster"]);
}

#[test]
fn traces_of_every_format_are_replayed() {
    let place = Place::new();
    place.write(
        "blk.txt",
        "  8,0    1       11     0.009507758   697  Q  WS 64 + 8 [a]\n  \
         8,0    1       12     0.009607758   697  Q   R 64 + 8 [a]\n",
    );
    place.write(
        "msr.csv",
        "128166372003061629,usr,0,Write,4096,4096,41286\n\
         128166372003061639,usr,1,Write,0,4096,41286\n\
         128166372003061729,usr,0,Read,4096,4096,41286\n",
    );
    place.write("io.log", "fio version 3 iolog\n0 /dev/sda write 0 4096\n250 /dev/sda read 0 4096\n");
    for (file, format) in [("blk.txt", "blktrace"), ("msr.csv", "msr"), ("io.log", "iolog")] {
        for arguments in
            [vec![], vec!["--trace-format", format, "--trace-speed", "fastest", "--queue-depth", "1"]]
        {
            let mut all = vec!["run", "tiny", "--trace", file, "--json", "--verify"];
            all.extend(arguments);
            let report = place.report(&all);
            assert_eq!(report["tasks"][0]["kinds"][0]["requests"], 1, "{file}: {report}");
            assert_eq!(report["tasks"][0]["kinds"][1]["requests"], 1, "{file}: {report}");
            assert_eq!(report["tasks"][0]["checked_blocks"], 8, "{file}");
        }
    }
    let ran = place.aster(&["run", "tiny", "--trace", "msr.csv"]);
    assert!(
        ran.err.contains("2 requests to \"usr,0\"; 1 request to other devices is left out"),
        "{}",
        ran.err
    );
    let other = ["run", "tiny", "--trace", "msr.csv", "--json", "--trace-device", "usr,1"];
    assert_eq!(place.report(&other)["tasks"][0]["kinds"][0]["requests"], 1);
}

#[test]
fn requests_that_do_not_fit_are_refused_wrapped_or_rounded() {
    let place = Place::new();
    place.write("far.log", "fio version 2 iolog\n/dev/sda write 1099511627776 4096\n");
    let error = place.refused(2, &["run", "tiny", "--trace", "far.log"]);
    assert!(error.contains("line 2, column "), "{error}");
    place.report(&["run", "tiny", "--trace", "far.log", "--trace-wrap", "--json"]);
    place.write("odd.log", "fio version 2 iolog\n/dev/sda write 100 100\n");
    place.refused(2, &["run", "tiny", "--trace", "odd.log"]);
    let report = place.report(&["run", "tiny", "--trace", "odd.log", "--trace-round", "--json"]);
    assert_eq!(report["tasks"][0]["kinds"][0]["bytes"], 512);
}

#[test]
fn a_slower_replay_takes_longer() {
    let place = Place::new();
    place.write("io.log", "fio version 3 iolog\n0 /dev/sda read 0 4096\n50000 /dev/sda read 0 4096\n");
    let seconds = |speed| {
        let report = place.report(&["run", "tiny", "--trace", "io.log", "--json", "--trace-speed", speed]);
        report["simulated_s"].as_f64().unwrap()
    };
    assert!(seconds("fastest") < 0.01);
    assert!((0.05..0.06).contains(&seconds("recorded")));
    assert!((0.1..0.11).contains(&seconds("0.5")));
}

#[test]
fn an_override_changes_the_drive() {
    let place = with_jobs();
    let simulated = |set: &[&str]| {
        let mut all = vec!["run", "tiny", "--job", "write.fio", "--json"];
        all.extend(set);
        place.report(&all)["simulated_s"].as_f64().unwrap()
    };
    let slow = ["--set", "package.program_us=[4000,9000]", "--set", "ftl.buffer_entries=8"];
    assert!(simulated(&slow) > 2.0 * simulated(&[]));
}

#[test]
fn spans_tell_where_the_work_spent_its_time() {
    let place = with_jobs();
    let read = ["run", "tiny", "--job", "read.fio", "--precondition", "0"];
    let plain = place.report(&[&read[..], &["--json"]].concat());
    assert!(plain.get("spans").is_none());
    let seen = [&read[..], &["--json", "--spans", "--wave", "w.vcd", "--events", "e.jsonl"]].concat();
    let report = place.report(&seen);
    assert_eq!(report["simulated_s"], plain["simulated_s"], "looking doesn't change what happens");

    // The fill before and the shutdown after are no part of it: 64 reads, nothing programmed.
    let spans = &report["spans"];
    let stages = spans["stages"].as_array().unwrap();
    let names: Vec<_> = stages.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fetched", "started", "first slice", "finished", "completed", "total"]);
    assert!(stages.iter().all(|s| s["count"] == 64), "{spans}");
    let mean = |stage: &Value| stage["mean_us"].as_f64().unwrap();
    let (total, steps) = stages.split_last().unwrap();
    assert!((steps.iter().map(mean).sum::<f64>() - mean(total)).abs() < 0.01, "{spans}");
    assert!(mean(&steps[3]) > 58.0, "a read waits for its array: {spans}");
    let flash = spans["flash"].as_array().unwrap();
    assert_eq!(flash[0]["name"], "read");
    assert_eq!(flash[0]["count"], report["flash_reads"]);
    assert!(flash[0]["p99_us"].as_f64() >= flash[0]["p50_us"].as_f64());
    assert_eq!(flash[1]["name"], "program");
    // What was under way when the work began has no time.
    assert!(flash[1]["count"].as_u64() <= report["flash_programs"].as_u64(), "{spans}");
    let firmware = spans["firmware"].as_array().unwrap();
    assert_eq!((&firmware[0]["function"], &firmware[0]["count"]), (&"nvme_manager".into(), &64.into()));
    assert_eq!(firmware[0]["ms"].as_f64(), Some(64.0 * 500.0 / 1e6), "500 cycles of a nanosecond each");
    assert!(firmware.iter().all(|row| (0.0..100.0).contains(&row["percent"].as_f64().unwrap())), "{spans}");
    assert!(spans["lost"].as_u64().unwrap() <= 1, "{spans}");
    assert!(place.read("w.vcd").contains("CMD_00h_READ") && place.read("e.jsonl").contains("FlashFinished"));

    let ran = place.aster(&[&read[..], &["--spans"]].concat());
    for words in
        ["stage ", "first slice", "flash read", "flash erase", "p99.9", "firmware ", "nvm command manager"]
    {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}

#[test]
fn old_data_have_more_wrong_bits_and_in_the_end_too_many() {
    let place = with_jobs();
    let read = ["run", "tiny", "--job", "read.fio", "--precondition", "0", "--events", "e.jsonl"];
    let corrected = |age: &[&str]| -> u64 {
        let set = ["--json", "--set", "package.errors.retention=5e-5"];
        place.report(&[&read[..], &set, age].concat());
        let of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["corrected"].as_u64();
        place.read("e.jsonl").lines().filter_map(of).sum()
    };
    let (new, old) = (corrected(&[]), corrected(&["--age", "10000"]));
    assert!(old > 10 * new.max(1), "{new} bits corrected when new, {old} when old");

    let far = ["--set", "package.errors.retention=2e-3"];
    assert_eq!(place.aster(&[&read[..], &far].concat()).code, 0, "without an age nothing is lost");
    let error = place.refused(1, &[&read[..], &far, &["--age", "10000"]].concat());
    assert!(error.contains("failures; the first, of \"look\": "), "{error}");
}

#[test]
fn a_job_of_failures_has_its_row() {
    let place = with_jobs();
    let run = ["run", "tiny", "--job", "read.fio", "--precondition", "0", "--age", "10000", "--keep-going"];
    let ran = place.aster(&[&run[..], &["--set", "package.errors.retention=1e-2"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let mut lines = ran.out.lines();
    assert!(lines.next().is_some_and(|header| header.contains("failed")), "{}", ran.out);
    let row = lines.nth(1).unwrap_or_default();
    assert!(row.starts_with("look ") && row.split_whitespace().any(|cell| cell == "64"), "{}", ran.out);
    assert!(ran.err.contains("the first page of flash that could not be corrected is page "), "{}", ran.err);
    let ran = place.aster(&[&run[..], &["--json", "--set", "package.errors.retention=1e-2"]].concat());
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let page = &report["first_lost_page"];
    assert!(["lun", "block", "page"].iter().all(|key| page[key].is_u64()), "{report}");
}

#[test]
fn jobs_one_after_the_other_have_numbers_of_their_own() {
    let place = Place::new();
    place.write(
        "two.fio",
        "[w]\nrw=write\nbs=16k\nsize=1m\nend_fsync=1\n[r]\nstonewall\nrw=read\nbs=16k\nsize=1m\n",
    );
    let report = place.report(&["run", "tiny", "--job", "two.fio", "--json"]);
    let (w, r) = (&report["tasks"][0]["drive"], &report["tasks"][1]["drive"]);
    assert!(w["waf"].as_f64().unwrap() >= 1.0 && r["waf"].is_null(), "{report}");
    // A drive whose controller completes writes early is still working on the last of them when the reads
    // begin.
    place.write("ahead.fio", "[w]\nrw=write\nbs=16k\nsize=1m\n[r]\nstonewall\nrw=read\nbs=16k\nsize=4m\n");
    let small =
        ["--content", "fingerprint", "--set", "restrict.blocks_per_lun=64", "--set", "ftl.buffer_entries=64"];
    let ran = place.report(&[&["run", "cosmos-board", "--job", "ahead.fio", "--json"][..], &small].concat());
    let drive = &ran["tasks"][1]["drive"];
    assert!(drive["waf"].is_null() && drive["flash_programs"].as_u64().unwrap() > 0, "{ran}");
    for total in ["flash_reads", "flash_programs", "flash_erases"] {
        let sum = w[total].as_u64().unwrap() + r[total].as_u64().unwrap();
        assert_eq!(report[total], sum, "{total}");
    }
    let firmware = &report["firmware"];
    let programs: u64 = ["host", "gc", "metadata", "padding"]
        .map(|cause| firmware["programs"][cause].as_u64().unwrap())
        .iter()
        .sum();
    assert_eq!(report["flash_programs"], programs, "{firmware}");
    assert_eq!(w["firmware"]["programs"]["host"], 64, "the pages of 1 MiB: {w}");
    assert_eq!(r["firmware"]["buffer_misses"], 64, "{r}");
    let seconds = |of: &Value| of["simulated_s"].as_f64().unwrap();
    assert!((seconds(w) + seconds(r) - seconds(&report)).abs() < 1e-9, "{report}");

    // For jobs that run at once, the drive's work can't be separated.
    place.write("both.fio", "[w]\nrw=write\nsize=64k\n[r]\nrw=read\nsize=64k\n");
    let report = place.report(&["run", "tiny", "--job", "both.fio", "--json"]);
    assert!(report["tasks"][0]["drive"].is_null() && report["tasks"][1]["drive"].is_null(), "{report}");
}

#[test]
fn an_image_keeps_its_age() {
    let place = with_jobs();
    let on_image = ["--image", "d.aster", "--set", "package.errors.retention=5e-5", "--json"];
    place.report(&[&["run", "tiny", "--job", "write.fio"], &on_image[..]].concat());
    let corrected = |age: &[&str]| -> u64 {
        let read = ["run", "tiny", "--job", "read.fio", "--events", "e.jsonl"];
        place.report(&[&read[..], &on_image, age].concat());
        let of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["corrected"].as_u64();
        place.read("e.jsonl").lines().filter_map(of).sum()
    };
    let (new, old, later) = (corrected(&[]), corrected(&["--age", "10000"]), corrected(&[]));
    assert!(old > 5 * new.max(1) && later >= old, "{new}, {old}, then {later}");
}

#[test]
fn waveform_and_events_are_written_side_by_side() {
    let place = with_jobs();
    let arguments =
        ["run", "tiny", "--job", "write.fio", "--verify", "--json", "--wave", "w.vcd", "--events", "e.jsonl"];
    let with = place.report(&arguments);
    let wave = place.read("w.vcd");
    assert!(wave.contains("$timescale 1 ps $end") && wave.contains("$enddefinitions $end"));
    assert!(wave.contains("CMD_80h") && wave.lines().count() > 1000, "a PROGRAM is drawn");

    let mut last = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for line in place.read("e.jsonl").lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        last = last.max(event["at_ps"].as_u64().unwrap());
        kinds.insert(event["event"].as_str().unwrap().to_owned());
    }
    assert!(last as f64 / 1e12 >= with["simulated_s"].as_f64().unwrap());
    for kind in ["CommandFetched", "FlashIssued", "ArrayBusy", "DmaFinished", "InterruptSent"] {
        assert!(kinds.contains(kind), "{kind} is missing among {kinds:?}");
    }

    // Listeners don't change the run.
    let without = place.report(&["run", "tiny", "--job", "write.fio", "--verify", "--json"]);
    assert_eq!(with["simulated_s"], without["simulated_s"]);
}

#[test]
fn what_a_run_reads_is_never_overwritten_by_what_it_writes() {
    let place = with_jobs();
    for output in ["--events", "--wave", "--image"] {
        let ran = place.aster(&["run", "tiny", "--job", "write.fio", output, "./write.fio"]);
        assert_ne!(ran.code, 0, "{output}");
        assert!(ran.err.contains("would be overwritten"), "{output}: {}", ran.err);
    }
    assert_eq!(place.aster(&["run", "tiny", "--job", "write.fio"]).code, 0, "the job file is whole");
    let twice = place.aster(&["run", "tiny", "--job", "write.fio", "--events", "o", "--wave", "o"]);
    assert!(twice.err.contains("two outputs"), "{}", twice.err);
}

#[test]
fn reads_of_what_was_never_written_are_told_to_measure_nothing() {
    let place = Place::new();
    place.write("read.fio", "[look]\nrw=randread\nbs=4k\nnumber_ios=200\n");
    place.write("both.fio", "[fill]\nrw=write\nbs=64k\nsize=1m\n[look]\nstonewall\nrw=randread\nsize=1m\n");
    place.write("write.fio", "[fill]\nrw=write\nbs=64k\nsize=1m\n");
    let told = |arguments: &[&str]| {
        let ran = place.aster(&[&["run", "tiny", "--job"], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err.contains("pages that were read hold nothing")
    };
    assert!(told(&["read.fio"]));
    for other in [&["both.fio"][..], &["write.fio"], &["read.fio", "--precondition", "0"]] {
        assert!(!told(other), "{other:?}");
    }
    // Written in a run before; then trimmed.
    assert!(!told(&["write.fio", "--image", "d.aster"]));
    place.write("again.fio", "[look]\nrw=randread\nsize=1m\n");
    assert!(!told(&["again.fio", "--image", "d.aster"]));
    place.write("trim.fio", "[trim]\nrw=trim\nbs=64k\nsize=1m\n[look]\nstonewall\nrw=randread\nsize=1m\n");
    assert!(told(&["trim.fio", "--image", "d.aster"]));
}

#[test]
fn progress_that_nobody_watches_is_whole_lines() {
    let place = with_jobs();
    place.write("read.fio", "[look]\nrw=randread\nnumber_ios=100\n");
    let ran = place.aster(&["run", "tiny", "--job", "read.fio", "--precondition", "50"]);
    let lines: Vec<_> = ran.err.lines().collect();
    let stages = ["  precondition: fill: ", "  precondition: overwrite: ", "  run: "];
    for (line, stage) in lines.iter().zip(stages) {
        let seconds = line
            .strip_prefix(stage)
            .and_then(|rest| rest.strip_suffix(" s"))
            .unwrap_or_else(|| panic!("{line}"));
        assert!(seconds.parse::<f64>().is_ok(), "{line}");
    }
    assert_eq!(lines.len(), stages.len(), "{lines:?}");
}
