//! `aster image` on sound, damaged and truncated images.

use crate::place::Place;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

fn with_image() -> Place {
    let place = Place::new();
    place.write("write.fio", "[fill]\nrw=write\nbs=16k\nsize=1m\n");
    assert_eq!(
        place.aster(&["run", "tiny", "--job", "write.fio", "--image", "d.aster", "--content", "full"]).code,
        0
    );
    place
}

#[test]
fn a_check_answers_in_json_whatever_it_finds() {
    let place = with_image();
    let check = ["image", "check", "d.aster", "tiny", "--json"];
    let run = place.aster(&check);
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(found["sound"] == true && found["pages"].as_u64() >= Some(64), "{found}");
    assert!(run.err.contains("reading every page"), "{}", run.err);

    let at = damage(&place, |bytes| bytes.iter().rposition(|&byte| byte != 0).unwrap());
    let run = place.aster(&check);
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.code, 1, "{}", run.err);
    let page = &found["damaged_pages"][0];
    assert_eq!(page["byte"], at / 4096 * 4096, "{found}");
    assert!(found["sound"] == false && page["block"].is_u64() && page["page"].is_u64(), "{found}");
    assert!(run.err.contains("d.aster: 1 page isn't what was programmed (checksum), at byte"), "{}", run.err);

    damage(&place, |bytes| bytes.windows(4).position(|word| word == b"seed").unwrap());
    let run = place.aster(&check);
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(run.code == 2 && found["sound"] == false && found["blocks"].is_null(), "{found}\n{}", run.err);
    assert!(found["reason"].as_str().is_some_and(|reason| reason.contains("damaged header")), "{found}");
}

/// Flips a bit in the byte of the image that `choose` selects. Returns its offset.
fn damage(place: &Place, choose: impl Fn(&[u8]) -> usize) -> u64 {
    let path = place.path("d.aster");
    let bytes = std::fs::read(&path).unwrap();
    let at = choose(&bytes);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    at as u64
}

#[test]
fn a_damaged_image_is_not_copied_when_it_is_to_be_checked_and_else_the_copy_s_damage_is_told() {
    let place = with_image();
    let clone = |to, more: &[&str]| place.aster(&[&["image", "clone", "d.aster", to], more].concat());
    let run = clone("sound.aster", &["--check=tiny"]);
    assert!(run.code == 0 && !run.err.contains("--check"), "{}", run.err);
    // As the usage shows it: the option's value can't be taken for the image.
    let run = place.aster(&["image", "clone", "--check", "d.aster", "first.aster"]);
    assert!(run.code == 0 && place.path("first.aster").exists(), "{}", run.err);
    let run = clone("plain.aster", &[]);
    assert!(run.code == 0 && run.err.contains("reading every page"), "{}", run.err);
    // Somewhere in the last page that was written.
    damage(&place, |bytes| bytes.iter().rposition(|&byte| byte != 0).unwrap());
    let run = clone("checked.aster", &["--check=tiny"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("d.aster: 1 page isn't what was programmed (checksum)"), "{}", run.err);
    assert!(!place.path("checked.aster").exists());
    let run = clone("copy.aster", &[]);
    assert!(run.code == 1 && place.path("copy.aster").exists(), "{}", run.err);
    assert!(run.err.contains("d.aster is damaged, and so is the copy"), "{}", run.err);
    assert!(run.err.contains("copy.aster: 1 page isn't what was programmed (checksum)"), "{}", run.err);
}

#[test]
fn a_record_that_another_stands_in_for_is_told_and_so_is_what_lies_behind_the_end() {
    let place = with_image();
    let check = |more: &[&str]| place.aster(&[&["image", "check", "d.aster"], more].concat());
    let length = place.path("d.aster").metadata().unwrap().len();
    let at = 4096 + 100;
    damage(&place, |_| at);
    let file = OpenOptions::new().write(true).open(place.path("d.aster")).unwrap();
    file.set_len(length + 3).unwrap();
    let run = check(&[]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(
        run.out.contains("blocks and pages are sound: ") && run.out.contains("the drive comes up"),
        "{}",
        run.out
    );
    for said in [
        "byte 4096: copy 1 of 2 of the root record is damaged; the other is used",
        "; 3 bytes behind its end",
    ] {
        assert!(run.err.contains(said), "{said}: {}", run.err);
    }
    let run = check(&["--json"]);
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(run.code == 1 && found["sound"] == false && found["bytes_beyond"] == 3, "{found}");
    assert_eq!(found["damaged_records"][0]["byte"], 4096, "{found}");
    // The drive works nevertheless, and repairs it.
    let copied = place.aster(&["image", "clone", "d.aster", "copy.aster", "--check"]);
    assert!(copied.code == 0 && copied.err.contains("copy 1 of 2"), "{}", copied.err);
    file.set_len(length).unwrap();
    assert_eq!(place.aster(&["run", "--job", "write.fio", "--image", "d.aster"]).code, 0);
    let run = check(&[]);
    assert!(run.code == 0 && run.out.contains("sound: "), "{}{}", run.out, run.err);
}

#[test]
fn an_image_says_of_its_profile_what_differs_and_all_of_it_when_asked() {
    let place = with_image();
    let info = |image: &str, more: &[&str]| place.aster(&[&["image", "info", image], more].concat());
    let run = info("d.aster", &[]);
    assert!(
        run.out.contains("\nkeeps its profile, tiny, as it is shipped; image info --profile"),
        "{}",
        run.out
    );
    // The keys that belong to the media, and no others.
    assert!(run.out.lines().count() < 40, "{}", run.out);
    let set = ["--set", "ftl.buffer_entries=48", "--image", "e.aster"];
    assert_eq!(place.aster(&[&["run", "tiny", "--job", "write.fio"], &set[..]].concat()).code, 0);
    let run = info("e.aster", &[]);
    let told = run.out.split_once("which differs from the shipped one").unwrap().1;
    assert_eq!(told.lines().skip(1).collect::<Vec<_>>(), ["  ftl.buffer_entries = 48"], "{}", run.out);
    let run = info("e.aster", &["--profile"]);
    assert_eq!(run.code, 0, "{}", run.err);
    place.write("kept.toml", &run.out);
    let checked = place.report(&["check", "kept.toml", "--json"]);
    assert_eq!(checked["profile"]["ftl"]["buffer_entries"], 48);
    place.write("own.toml", &run.out);
    assert_eq!(place.aster(&["run", "own.toml", "--job", "write.fio", "--image", "f.aster"]).code, 0);
    assert!(
        info("f.aster", &[]).out.ends_with("keeps its profile, own; image info --profile prints all of it\n")
    );
}

#[test]
fn a_truncated_image_is_told_as_that_whoever_opens_it() {
    let place = with_image();
    for cut in [100_000, 2000] {
        let file = OpenOptions::new().write(true).open(place.path("d.aster")).unwrap();
        file.set_len(cut).unwrap();
        for arguments in [
            &["run", "--job", "write.fio", "--image", "d.aster"][..],
            &["run", "tiny", "--job", "write.fio", "--image", "d.aster"],
            &["image", "check", "d.aster"],
            &["image", "info", "d.aster"],
            &["image", "clone", "d.aster", "copy.aster"],
        ] {
            let error = place.refused(2, arguments);
            assert!(
                error.contains(&format!("d.aster: truncated: {cut} bytes, but its drive has")),
                "{error}"
            );
            assert!(!error.contains("copied"), "nothing was: {error}");
        }
    }
}

#[test]
fn an_image_that_is_cut_short_is_not_called_fine() {
    let place = with_image();
    let info = |more: &[&str]| place.aster(&[&["image", "info", "d.aster"], more].concat());
    assert_eq!(info(&[]).code, 0);
    let file = OpenOptions::new().write(true).open(place.path("d.aster")).unwrap();
    file.set_len(2 << 20).unwrap();
    let run = info(&["--json"]);
    assert_eq!(run.code, 2);
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(found["cut_short"] == true && found["bytes"] == 2 << 20, "{found}");
    assert!(run.err.contains("d.aster: truncated: 2097152 bytes, but its drive has"), "{}", run.err);
}

#[test]
fn a_copy_goes_to_a_file_that_is_not_there() {
    let place = with_image();
    let clone = || place.aster(&["image", "clone", "d.aster", "copy.aster"]);
    assert_eq!(clone().code, 0);
    let run = clone();
    assert_eq!(run.code, 2);
    assert!(!run.err.contains("copied"), "{}", run.err);
    assert!(
        run.err.contains(
            "copy.aster: there is a file of that name, which is not overwritten: name another, or remove it"
        ),
        "{}",
        run.err
    );
    assert_eq!(place.aster(&["image", "check", "copy.aster", "tiny"]).code, 0);
}

#[test]
fn what_the_system_refuses_is_told_in_words_and_without_its_numbers() {
    let place = with_image();
    place.write("afile", "");
    let run = ["run", "tiny", "--job", "write.fio"];
    let refused = |arguments: &[&str], words: &str| {
        let error = place.refused(2, arguments);
        assert!(error.contains(words) && !error.contains("os error"), "{arguments:?}: {error}");
    };
    for option in ["--events", "--monitor"] {
        refused(&[&run[..], &[option, "."]].concat(), ".: is a folder; name a file");
        refused(&[&run[..], &[option, "nowhere/x"]].concat(), "nowhere/x: its folder is not there");
    }
    refused(&[&run[..], &["--image", "."]].concat(), ".: is a folder; name a file");
    refused(&["image", "info", "afile/x"], "afile/x: Not a directory");
    refused(&["image", "clone", "d.aster", "nowhere/x"], "nowhere/x: its folder is not there");
    refused(&["image", "info", "absent"], "absent: no such file; a drive's image is expected here");
    refused(
        &["reproduce", "babol", "--quick", "--out", "afile"],
        "afile: is a file, or lies below one; name a folder",
    );
}

#[test]
fn a_stored_profile_that_is_damaged_is_not_told_as_missing() {
    let place = with_image();
    let at = damage(&place, |bytes| bytes.windows(14).position(|part| part == b"ASTER PROFILE ").unwrap());
    let told = format!("d.aster: the profile that it keeps (byte {at}) is damaged");
    for arguments in [
        &["run", "--image", "d.aster", "--job", "write.fio"][..],
        &["image", "info", "d.aster"],
        &["image", "info", "d.aster", "--profile"],
        &["image", "check", "d.aster"],
        &["image", "check", "d.aster", "tiny"],
    ] {
        let ran = place.aster(arguments);
        assert_eq!(ran.code, 1, "{arguments:?}: {}", ran.err);
        let said = ran.err.contains(&told) || ran.err.contains(&told.replacen("d.aster: ", "", 1));
        assert!(said && !ran.err.contains("older"), "{arguments:?}: {}", ran.err);
        assert!(!ran.out.contains("keeps no profile"), "{arguments:?}: {}", ran.out);
    }
    // With the profile by name the drive works.
    let named = ["run", "tiny", "--image", "d.aster", "--job", "write.fio", "--content", "full"];
    let ran = place.aster(&named);
    assert_eq!(ran.code, 0, "{}", ran.err);
}
