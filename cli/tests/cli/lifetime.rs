//! `aster lifetime`: from a new drive to one that accepts no more writes, from the outside.

use crate::place::Place;

/// A drive whose blocks last for some ten cycles.
const SHORT: [&str; 8] = [
    "lifetime",
    "pocket",
    "--set",
    "package.endurance=10",
    "--set",
    "geometry.blocks_per_lun=48",
    "--set",
    "ftl.wear_spread=3",
];

#[test]
fn three_lives_are_told_and_drawn() {
    let place = Place::new();
    let report = place.report(&[&SHORT[..], &["--seed", "3", "--svg", "life.svg", "--json"]].concat());
    assert_eq!((&report["wear_out_cycles"], &report["wear_out_assumed"]), (&10.into(), &true.into()));
    let lives = report["lives"].as_array().unwrap();
    let levelling: Vec<_> = lives.iter().map(|life| life["wear_levelling"].as_str().unwrap()).collect();
    assert_eq!(levelling, ["none", "dynamic", "static"]);
    for life in lives {
        assert!(life["read_only"] == true && life["drive_writes"].as_f64().unwrap() > 1.0, "{life}");
        let said = life["refused_with"].as_str().unwrap();
        assert!(said.contains("Attempted Write to Read Only Range"), "{said}");
        assert_eq!((&life["lost_blocks"], &life["lost_after_power_loss"]), (&0.into(), &0.into()));
        assert!(life["samples"].as_array().unwrap().len() > 3);
    }
    let samples: usize = lives.iter().map(|life| life["samples"].as_array().unwrap().len()).sum();
    assert_eq!(place.read("life.csv").lines().count(), 1 + samples);
    let picture = place.read("life.svg");
    for said in [
        "no wear levelling: read-only",
        "dynamic wear levelling: read-only",
        "static wear levelling: read-only",
    ] {
        assert!(picture.contains(said), "{picture}");
    }
    // The same lives as a table, for people.
    let ran = place.aster(&[&SHORT[..], &["--seed", "3"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    for (name, life) in levelling.iter().zip(lives) {
        let row =
            ran.out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{}", ran.out));
        let written = format!("{:.1}", life["drive_writes"].as_f64().unwrap());
        assert!(row.contains(&written) && row.contains("read-only"), "{row}");
    }
}

#[test]
fn a_life_can_end_before_the_drive_does() {
    let report =
        Place::new().report(&[&SHORT[..], &["--drive-writes", "2", "--hot", "100", "--json"]].concat());
    for life in report["lives"].as_array().unwrap() {
        assert!(life["read_only"] == false && life["refused_with"].is_null(), "{life}");
        assert!((2.0..3.0).contains(&life["drive_writes"].as_f64().unwrap()), "{life}");
    }
}

#[test]
fn what_no_life_can_be_made_of_is_a_mistake_of_the_command_line() {
    let place = Place::new();
    place.refused(2, &["lifetime", "no-such-drive"]);
    place.refused(2, &["lifetime", "pocket", "--hot", "0"]);
    let said = place.refused(2, &[&SHORT[..], &["--svg", "no/such/folder/life.svg"]].concat());
    assert!(said.contains("no/such/folder/life.svg"), "{said}");
}
