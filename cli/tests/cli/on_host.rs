//! Drives whose FTL is on the host, as a newcomer meets them: what they are, and what errors say.

use crate::place::Place;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Parity takes its lane of the spare, and the settings of the paper's FTL are told.
#[test]
fn check_tells_the_ftl_on_the_host_and_what_parity_takes() {
    let place = Place::new();
    let levelled = ["--set", "target.raid=rotating", "--set", "ftl.over_provisioning_percent=60"];
    let levelled = [&levelled[..], &["--set", "target.wear_window=64", "--set", "target.region_percent=10"]];
    let frames = ["--set", "target.status_entries=8", "--set", "target.status_us=20"];
    let all = [&["check", "host-ftl-small"], levelled[0], levelled[1], &frames].concat();
    let checked = place.aster(&all);
    for told in [
        "82.9 % spare: 22.9 % parity, 60.0 % the FTL's\n",
        "\n  target    hostftl: an FTL on the host, 1000 ns a command\n",
        "\n            parity on rotating lanes: 6 MiB\n",
        "\n            wear window of 64 erases, hot data leave a die 10 % above the mean\n",
        "\n            status frames at 8 ended commands, or 20 µs after the first\n",
    ] {
        assert!(checked.out.contains(told), "{told}: {}{}", checked.out, checked.err);
    }
    let found = place.report(&[&all[..], &["--json"]].concat());
    let target = &found["target"];
    assert_eq!((&target["kind"], &target["command_ns"]), (&"hostftl".into(), &1000.into()));
    let of = &target["hostftl"];
    assert_eq!(
        [&of["raid"], &of["parity_bytes"], &of["wear_window"], &of["region_percent"]],
        [&json!("rotating"), &json!(6 << 20), &json!(64), &json!(10.0)]
    );
    assert_eq!([&of["status_entries"], &of["status_us"]], [8, 20]);
    let own = found["spare_percent"].as_f64().unwrap() - of["parity_percent"].as_f64().unwrap();
    assert!((own - 60.0).abs() < 0.05, "{found}");

    let plain = place.aster(&["check", "host-ftl-small"]).out;
    assert!(
        plain.contains("45.0 % spare\n") && plain.contains("no parity, composite pages from 64 KiB on\n")
    );
    assert!(plain.contains("no wear levelling\n") && plain.contains("status frames as commands end\n"));
    let pblk = place.aster(&["check", "pocket-ocssd"]).out;
    assert!(pblk.contains("\n  target    pblk: an FTL on the host, "), "{pblk}");
    assert!(!place.aster(&["check", "tiny"]).out.contains("target"));
    assert!(place.report(&["check", "tiny", "--json"])["target"].is_null());
}

/// What an error names as enough is enough, and one percent less isn't.
#[test]
fn too_little_over_provisioning_is_refused_with_a_percentage_that_does() {
    let place = Place::new();
    for more in [&[][..], &["--set", "target.raid=fixed"], &["--set", "target.wear_window=64"]] {
        let check = |percent: u32| {
            let spare = format!("ftl.over_provisioning_percent={percent}");
            place.aster(&[&["check", "host-ftl-small", "--set", &spare], more].concat())
        };
        let refused = check(5);
        let told = refused.err.split_once("but leaves 1 of 24: ").expect(&refused.err).1;
        let enough: u32 = told.split_once(" % would do").expect(&refused.err).0.parse().unwrap();
        assert_eq!((check(enough).code, check(enough - 1).code), (0, 2), "{enough} {more:?}");
    }
    let few = ["check", "host-ftl-small", "--set", "restrict.blocks_per_lun=6"];
    let error = place.refused(2, &few);
    assert!(error.contains("of 6: so few blocks need more than 900 %"), "{error}");
}

/// With 0 no write becomes composite pages, which then take no group of each die.
#[test]
fn composite_pages_can_be_switched_off() {
    let place = Place::new();
    let spare = ["check", "host-ftl-small", "--set", "ftl.over_provisioning_percent=34"];
    let error = place.refused(2, &spare);
    assert!(error.contains("must leave 7 blocks"), "{error}");
    let off = place.aster(&[&spare[..], &["--set", "target.composite_bytes=0"]].concat());
    assert!(off.code == 0 && off.out.contains("no parity, no composite pages\n"), "{}{}", off.out, off.err);
    let error = place.refused(2, &["check", "host-ftl-small", "--set", "target.composite_bytes=512"]);
    assert!(error.contains("must be from 4096"), "{error}");
}

#[test]
fn parity_says_which_of_its_conditions_is_missing() {
    let place = Place::new();
    let parity = ["check", "host-ftl-small", "--set", "target.raid=fixed"];
    let one = place.refused(2, &[&parity[..], &["--set", "channel.lanes=1"]].concat());
    assert!(one.contains("target.raid: must be \"off\" with channel.lanes = 1"), "{one}");
    let few = place.refused(2, &[&parity[..], &["--set", "target.gather_pages=17"]].concat());
    assert!(few.contains("target.raid: needs 18 page buffers") && few.ends_with("there are 17\n"), "{few}");
}

/// A drive of command frames without an FTL is no NVMe drive. A job gets the reason, and so does an image.
#[test]
fn without_its_target_a_drive_of_frames_is_refused_with_the_targets_that_it_can_have() {
    let place = Place::new();
    place.write("w.fio", "[w]\nrw=write\nbs=16k\nsize=64k\nend_fsync=1\n");
    let bare = ["host-ftl-small", "--set", "target.kind=none"];
    let checked = place.refused(2, &[&["check"], &bare[..]].concat());
    let ran = place.refused(2, &[&["run"], &bare[..], &["--job", "w.fio", "--image", "n.aster"]].concat());
    for error in [checked, ran] {
        assert!(error.contains("command frames"), "{error}");
        assert!(error.contains("\"hostftl\" or \"page-mapping\""), "{error}");
    }
    assert!(!place.path("n.aster").exists());
    let profile = include_str!("../../../profiles/host-ftl-small.toml").replace("\"hostftl\"", "\"none\"");
    place.write("none.toml", profile);
    let error = place.refused(2, &["check", "none.toml"]);
    assert!(error.contains("without a target nobody reads it, so leave kind alone in [target]"), "{error}");

    let run = ["run", "host-ftl-small", "--job", "w.fio", "--image", "d.aster"];
    assert_eq!(place.aster(&run).code, 0);
    let info = place.aster(&["image", "info", "d.aster"]).out;
    assert!(info.contains("\nfirst used with\n  target.raid = off\n"), "{info}");
    assert_eq!(place.report(&["image", "info", "d.aster", "--json"])["raid"], "off");
    let error = place.refused(1, &[&run[..], &["--set", "target.raid=rotating"]].concat());
    for told in
        ["d.aster: ", "written with another target.raid: with no parity", "is \"rotating\". Use the one"]
    {
        assert!(error.contains(told), "{told}: {error}");
    }
}

/// The lines that a server says until it can be used.
fn said(place: &Place, arguments: &[&str]) -> Vec<String> {
    let mut command = place.command(&[&["serve"], arguments, &["--vfio-user", "s"]].concat());
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.by_ref().take_while(|line| !line.contains("stop it with Ctrl-C")).collect();
    let stop = format!("kill -TERM {}", server.id());
    assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
    told
}

/// Systems have drivers for open-channel drives, and none for command frames.
#[test]
fn a_drive_of_frames_is_served_through_its_ftl_and_an_open_channel_drive_as_it_is() {
    let place = Place::new();
    let served = |arguments: &[&str]| said(&place, arguments).join("\n");
    let frames = served(&["host-ftl-small", "--image", "d.aster"]);
    assert!(frames.contains("shows what hostftl makes of the drive; --target none shows"), "{frames}");
    let info = place.aster(&["image", "info", "d.aster"]).out;
    assert!(info.contains("\n  target.kind = hostftl\n"), "{info}");
    assert_eq!(served(&["host-ftl-small", "--target", "hostftl", "--image", "d.aster"]), "");
    assert_eq!(served(&["host-ftl-small", "--target", "none", "--image", "none.aster"]), "");
    let info = place.aster(&["image", "info", "none.aster"]).out;
    assert!(info.contains("\n  target.kind = none\n"), "{info}");
    let vectors = served(&["pocket-ocssd", "--image", "o.aster"]);
    assert!(vectors.contains("shows the drive itself") && vectors.contains("--target pblk"), "{vectors}");
    let info = place.aster(&["image", "info", "o.aster"]).out;
    assert!(info.contains("\n  target.kind = none\n"), "{info}");
}

/// clap's own tip would be to write the option as a value.
#[test]
fn an_option_of_other_commands_is_told_as_such() {
    let place = Place::new();
    let error = place.refused(2, &["check", "host-ftl-small", "--content", "full"]);
    assert!(
        error.contains("aster check has no such option; of aster run, ") && !error.contains("tip"),
        "{error}"
    );
    assert!(error.contains("--set content=… sets that key of the profile"), "{error}");
    assert_eq!(place.aster(&["check", "host-ftl-small", "--set", "content=full"]).code, 0);
    let error = place.refused(2, &["image", "--cuts", "3"]);
    assert!(error.contains("of aster torture it is one") && !error.contains("--set"), "{error}");
    let error = place.refused(2, &["check", "tiny", "--jsn"]);
    assert!(error.contains("'--json'"), "{error}");
}

/// A program that was built in a checkout tells of which commit it is.
#[test]
fn the_version_tells_the_commit_that_reports_tell() {
    let place = Place::new();
    let version = place.aster(&["--version"]).out;
    place.write("w.fio", "[w]\nrw=write\nbs=16k\nsize=64k\n");
    let build = &place.report(&["run", "tiny", "--job", "w.fio", "--json"])["provenance"]["aster"];
    let commit = build["commit"].as_str().map_or(String::new(), |commit| format!(" ({commit})"));
    assert_eq!(version, format!("aster {}{commit}\n", build["version"].as_str().unwrap()));
}
