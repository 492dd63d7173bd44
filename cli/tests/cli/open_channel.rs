//! `aster open-channel`.

use crate::place::Place;
use serde_json::Value;

const PAGE: usize = 4096;

fn send(place: &Place, command: &[&str]) -> Value {
    place.report(&[&["open-channel", "pocket-ocssd", "--image", "d.aster", "--json"], command].concat())
}

/// O1, P22: what one call has written is read by the next, data and metadata.
#[test]
fn what_one_call_writes_the_next_one_reads() {
    let place = Place::new();
    let erased = send(&place, &["erase", "ch0.lun0.blk5.pg3"]);
    let address = |of: &Value, n: usize| of["addresses"][n]["address"].clone();
    assert_eq!([address(&erased, 0), address(&erased, 1)], ["ch0.lun0.pl0.blk5", "ch0.lun0.pl1.blk5"]);
    let data: Vec<u8> = (0..2 * PAGE).map(|n| (n * 7 / 5) as u8).collect();
    place.write("data", &data);
    place.write("metadata", b"sixteen bytes, and three");
    let files = ["--data", "data", "--metadata", "metadata"];
    send(&place, &[&["write", "ch0.lun0.blk5.pg0"], &files[..]].concat());
    // The sector of plane 1 by its number: page 8:0, block 7:3, plane 8.
    let read = ["read", "ch0.lun0.pl0.blk5.pg0.sec0", "0x128", "--data", "back", "--metadata", "beside"];
    let found = send(&place, &read);
    assert_eq!(
        (&found["status"], &address(&found, 1)),
        (&"0000h".into(), &"ch0.lun0.pl1.blk5.pg0.sec0".into())
    );
    assert_eq!(found["sectors"][1]["metadata"], "616e642074687265650000000000000000"[2..], "{found}");
    assert!(found["microseconds"].as_f64().unwrap() > 58.0, "tR at least: {found}");
    assert_eq!(std::fs::read(place.path("back")).unwrap(), data);
    assert_eq!(&std::fs::read(place.path("beside")).unwrap()[..24], b"sixteen bytes, and three");
    // In words.
    let ran = place.aster(&["open-channel", "pocket-ocssd", "--image", "d.aster", "read", "0x28"]);
    assert!(ran.out.starts_with("ch0.lun0.pl0.blk5.pg0.sec0 0x00000028 metadata 7369"), "{}", ran.out);
    assert!(ran.out.contains("\n1 sector read in "), "{}", ran.out);
}

/// P26: states that the host sets stay in the image.
#[test]
fn a_block_that_is_marked_is_refused_from_then_on() {
    let place = Place::new();
    let before = send(&place, &["table"]);
    assert_eq!(before.as_array().unwrap().len(), 4, "one per LUN");
    send(&place, &["mark", "grown-bad", "ch1.lun1.pl1.blk9"]);
    let table = send(&place, &["table", "ch1.lun1"]);
    let marked = table[0]["exceptions"].as_array().unwrap().iter().find(|of| of["state"] == "grown bad");
    assert_eq!(marked.unwrap()["address"], "ch1.lun1.pl1.blk9", "{table}");
    let with_image = ["open-channel", "pocket-ocssd", "--image", "d.aster"];
    let error = place.refused(1, &[&with_image[..], &["erase", "ch1.lun1.pl1.blk9"]].concat());
    assert!(error.contains("error: ch1.lun1.pl1.blk9 is of a bad block") && error.contains("status 4286h"));
    send(&place, &["mark", "free", "ch1.lun1.pl1.blk9"]);
    send(&place, &["erase", "ch1.lun1.pl1.blk9"]);
}

/// P27: an error names the place and the status; what was read beside it is told.
#[test]
fn a_sector_that_fails_among_others_is_named() {
    let place = Place::new();
    send(&place, &["erase", "ch1.lun0.pl0.blk3"]);
    place.write("data", b"hello");
    send(&place, &["write", "ch1.lun0.pl0.blk3.pg0", "--data", "data"]);
    let both = ["read", "ch1.lun0.pl0.blk3.pg0", "ch1.lun0.pl0.blk3.pg1", "--data", "back"];
    let ran = place.aster(&[&["open-channel", "pocket-ocssd", "--image", "d.aster"], &both[..]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let lines: Vec<_> = ran.out.lines().collect();
    assert!(lines[0].contains("data 68656c6c6f00") && lines[1].ends_with(" failed"), "{}", ran.out);
    let told =
        "error: ch1.lun0.pl0.blk3.pg1.sec0 was never written since its block was erased (status 42ffh)";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(!place.path("back").exists(), "half of the data is no file");
}

#[test]
fn the_board_says_what_it_is() {
    let place = Place::new();
    let id = place.report(&["open-channel", "cosmos-ocssd", "id", "--json"]);
    assert_eq!([&id["channels"], &id["planes"], &id["blocks_per_plane"]], [8, 2, 4096]);
    assert_eq!((&id["cells"], &id["read_ns"][0]), (&"SLC".into(), &75_000.into()), "O5");
    assert_eq!(id["address_format"]["block"], serde_json::json!([9, 12]), "P25");
}

/// P29: chunks instead of blocks. The next call finds the write pointer where the one before has left it.
#[test]
fn a_drive_of_chunks_reports_them() {
    let place = Place::new();
    let open = ["open-channel", "pocket-ocssd-2", "--image", "d.aster"];
    let send = |command: &[&str]| place.report(&[&open[..], &["--json"], command].concat());
    let id = send(&["id"]);
    assert_eq!((&id["version"], &id["chunks_per_unit"]), (&"2.0".into(), &32.into()));
    assert_eq!([&id["blocks_per_chunk"], &id["write_min"], &id["write_opt"]], [16, 1, 2]);
    place.write("data", b"hello");
    let written = send(&["write", "ch0.lun0.blk5.pg0", "--data", "data"]);
    assert_eq!(
        (&written["addresses"][1]["lba"], &written["addresses"][1]["ppa"]),
        (&"0x00000051".into(), &Value::Null)
    );
    let report = send(&["report", "ch0.lun0"]);
    let chunk = &report[0]["chunks"][5];
    assert_eq!(
        (&chunk["state"], &chunk["written"], &chunk["lba"]),
        (&"open".into(), &2.into(), &"0x00000050".into())
    );
    let ran = place.aster(&[&open[..], &["report"]].concat());
    assert!(ran.out.contains("\n  ch0.lun0.blk5 0x00000050 open, 2 of 16 blocks written\n"), "{}", ran.out);
    let error = place.refused(1, &[&open[..], &["write", "ch0.lun0.blk5.pg2", "--data", "data"]].concat());
    assert!(error.contains("isn't") && error.contains("status 42f2h"), "{error}");
    let ran = place.aster(&[&open[..], &["erase", "0x53"]].concat());
    assert!(ran.out.starts_with("ch0.lun0.blk5 0x00000050\n1 chunk reset in "), "{}", ran.out);
    let error = place.refused(1, &[&open[..], &["erase", "ch0.lun0.blk5"]].concat());
    assert!(error.contains("is of a chunk that is free already (status 42c1h)"), "{error}");
    for (command, reason) in [("table", "has no bad-block table"), ("mark", "")] {
        let arguments = if command == "mark" { &["mark", "free", "ch0.lun0.blk5"][..] } else { &["table"] };
        let error = place.refused(2, &[&open[..], arguments].concat());
        assert!(error.contains(reason), "{error}");
    }
    let error = place.refused(2, &["open-channel", "pocket-ocssd", "report"]);
    assert!(error.contains("a drive of 1.2 has no chunks"), "{error}");
}

#[test]
fn mistakes_are_told_before_an_image_is_changed() {
    let place = Place::new();
    place.write("data", vec![7; PAGE]);
    place.write("long", vec![0; PAGE + 1]);
    let (written, empty) = ("ch0.lun0.pl0.blk5.pg0", "ch0.lun0.pl0.blk5.pg1");
    send(&place, &["write", written, "--data", "data"]);
    for (arguments, reason) in [
        (&["tiny", "id"][..], "host.command_set is \"nvm\""),
        (&["pocket-ocssd", "read", "ch9.lun0.blk0.pg0"], "ch9.lun0.blk0.pg0: is outside of the drive"),
        (&["pocket-ocssd", "erase", written, "ch9.lun0.blk0"], "ch9.lun0.blk0: is outside of the drive"),
        (&["pocket-ocssd", "mark", "grown-bad", written, "ch0"], "ch0: "),
        (&["pocket-ocssd", "write", empty, "--data", "long"], "of 1 sector; name more"),
        (&["pocket-ocssd", "write", empty, "--data", "absent"], "absent: no such file; the data"),
        (
            &["pocket-ocssd", "frobnicate"],
            "there is no command 'frobnicate'. The commands are id, table, report",
        ),
        (&["pocket-ocssd", "raed"], "there is no command 'raed'; did you mean 'read'?"),
    ] {
        let (image, arguments) = (["--image", "d.aster"], arguments);
        let error = place.refused(2, &[&["open-channel"], &arguments[..1], &image, &arguments[1..]].concat());
        assert!(error.contains(reason), "{error}");
        send(&place, &["read", written, "--data", "back"]);
        assert_eq!(std::fs::read(place.path("back")).unwrap(), vec![7; PAGE], "{arguments:?}");
        let image = ["open-channel", "pocket-ocssd", "--image", "d.aster", "read", empty];
        let error = place.refused(1, &image);
        assert!(error.contains("42ffh"), "{arguments:?}: {error}");
        let table = send(&place, &["table", "ch0.lun0"]);
        assert!(!table.to_string().contains("grown bad"), "{arguments:?}: {table}");
    }
    // A drive that takes no vectors doesn't even make an image.
    place.refused(2, &["open-channel", "tiny", "--image", "new.aster", "id"]);
    assert!(!place.path("new.aster").exists());
    // An image of pblk's can be looked at, and isn't changed by hand.
    place.write("w.fio", "[w]\nrw=write\nbs=16k\nsize=64k\n");
    assert_eq!(place.aster(&["run", "pocket-ocssd", "--job", "w.fio", "--image", "p.aster"]).code, 0);
    let of_pblk = ["open-channel", "pocket-ocssd", "--image", "p.aster"];
    let written = |text: &str| text.lines().filter(|line| line.contains(" metadata ")).count();
    let page = "ch0.lun0.pl0.blk0.pg0";
    let read = place.aster(&[&of_pblk[..], &["read", page]].concat());
    assert!(read.code == 0 && written(&read.out) == 1, "{} {}", read.out, read.err);
    let error = place.refused(2, &[&of_pblk[..], &["erase", page]].concat());
    assert!(error.contains("target.kind is pblk there and none here"), "{error}");
    assert_eq!(place.aster(&["run", "pocket-ocssd", "--job", "w.fio", "--image", "p.aster"]).code, 0);
    let error = place.refused(2, &["open-channel", "p.aster", "id"]);
    assert!(error.contains("p.aster: is a drive's image, but a profile is expected"), "{error}");
    // A drive of flash addresses alone has nothing that a job could write.
    let error = place.refused(2, &["run", "pocket-ocssd", "--set", "target.kind=none", "--job", "w.fio"]);
    assert!(error.contains("the drive has no logical blocks"), "{error}");
    let checked = place.aster(&["check", "pocket-ocssd", "--set", "target.kind=none"]);
    assert!(checked.out.contains("exported  no logical blocks"), "{}", checked.out);
}

/// A key that nobody reads changes nothing, and is no way to find out what it does.
#[test]
fn a_key_that_nobody_reads_in_this_drive_is_refused() {
    let place = Place::new();
    for (profile, argument, says) in [
        ("pocket-ocssd", "target.wear_window=9", "under target.kind = \"pblk\": \"hostftl\" alone reads it"),
        ("pocket-ocssd", "ftl.gc_depth=8", "over a drive without a map: page mapping alone reads it"),
        ("host-ftl-small", "target.map_mib=8", "under target.kind = \"hostftl\": \"pblk\" alone reads it"),
    ] {
        let error = place.refused(2, &["check", profile, "--set", argument]);
        assert!(
            error.contains(&format!("--set {argument}: has no effect")) && error.contains(says),
            "{error}"
        );
    }
    let other = ["--set", "target.kind=page-mapping", "--set", "ftl.gc_depth=8"];
    assert_eq!(place.aster(&[&["check", "pocket-ocssd"], &other[..]].concat()).code, 0);
}

/// What writes a drive refuses one that has no logical blocks before it begins, all in the same words.
#[test]
fn without_an_ftl_on_the_host_nothing_can_be_written_and_every_command_says_so() {
    let place = Place::new();
    place.write("w.fio", "[w]\nrw=write\nbs=16k\nsize=64k\n");
    let words = "the drive has no logical blocks: its host addresses the flash itself. An FTL on the host \
                 gives it some: target.kind = \"pblk\" for an open-channel drive";
    let bare = ["pocket-ocssd", "--set", "target.kind=none"];
    for command in [
        &["run", "--job", "w.fio"][..],
        &["pts", "--quick"],
        &["torture", "--cuts", "1"],
        &["torture", "--seed", "1", "--rounds", "0"],
        &["lifetime", "--svg", "life.svg"],
        &["waf", "--quick", "--out", "waf"],
    ] {
        let error = place.refused(2, &[&command[..1], &bare, &command[1..]].concat());
        assert!(error.contains(words), "{command:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{command:?}: {error}");
    }
    assert!(!place.path("life.svg").exists() && !place.path("waf").exists());
}

/// `aster waf` compares the garbage collection of our own FTL in the drive with simulation and theory.
#[test]
fn waf_refuses_a_drive_whose_ftl_is_on_the_host() {
    let place = Place::new();
    for profile in ["pocket-ocssd", "host-ftl-small"] {
        let error = place.refused(2, &["waf", profile, "--quick"]);
        assert!(error.contains("ftl.kind: must be \"page-mapping\""), "{error}");
        assert!(error.contains("but is \"vectors\""), "{error}");
    }
}

#[test]
fn a_damaged_image_is_told_by_its_name_with_what_to_do() {
    let place = Place::new();
    send(&place, &["id"]);
    let path = place.path("d.aster");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(8).position(|part| part == b"ASTRNAND").unwrap();
    bytes[at + 20] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let error = place.refused(1, &["open-channel", "pocket-ocssd", "--image", "d.aster", "id"]);
    let told = format!("d.aster: the NAND image is damaged at byte {at}: the header's checksum is wrong: ");
    assert!(error.contains(&told) && error.contains("use a copy that is whole"), "{error}");
}
