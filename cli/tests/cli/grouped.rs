//! Rows of a report: copies, groups, totals, and warnings about them.

use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeMap;

fn names(report: &Value) -> Vec<&str> {
    report["tasks"].as_array().unwrap().iter().map(|task| task["name"].as_str().unwrap()).collect()
}

/// The histogram of a kind, as a program would merge it.
fn merged<'a>(kinds: impl Iterator<Item = &'a Value>) -> BTreeMap<(u64, u64), u64> {
    let mut counts = BTreeMap::new();
    for kind in kinds {
        for bucket in kind["latency"]["buckets"].as_array().unwrap() {
            let [from, to, count] = [0, 1, 2].map(|i| bucket[i].as_u64().unwrap());
            *counts.entry((from, to)).or_insert(0) += count;
        }
    }
    counts
}

#[test]
fn copies_of_a_reporting_group_have_one_row_and_its_percentiles_come_from_all_of_them() {
    let place = Place::new();
    let job = "rw=randrw\nbs=4k\nsize=1m\nnumber_ios=100\niodepth=4\nnumjobs=4\n";
    place.write("alone.fio", format!("[j]\n{job}"));
    place.write("group.fio", format!("[j]\n{job}group_reporting\n"));
    let run = |job: &str| place.report(&["run", "tiny", "--job", job, "--precondition", "0", "--json"]);
    let (alone, group) = (run("alone.fio"), run("group.fio"));
    assert_eq!(names(&alone), ["j.0", "j.1", "j.2", "j.3"]);
    assert_eq!((names(&group), &group["tasks"][0]["copies"]), (vec!["j"], &4.into()));
    for (place, kind) in ["read", "write"].iter().enumerate() {
        let row = &group["tasks"][0]["kinds"][place];
        let each = || alone["tasks"].as_array().unwrap().iter().map(|task| &task["kinds"][place]);
        assert_eq!(row["kind"], *kind);
        assert_eq!(row["requests"], each().map(|kind| kind["requests"].as_u64().unwrap()).sum::<u64>());
        assert_eq!(
            merged([row].into_iter()),
            merged(each()),
            "{kind}: the same requests, one by one or together"
        );
        let median = row["latency"]["p50_us"].as_f64().unwrap() * 1e3;
        let (half, mut below) = (row["requests"].as_u64().unwrap().div_ceil(2), 0);
        let counts = merged(each());
        let holds = counts
            .iter()
            .find(|(_, count)| {
                below += **count;
                below >= half
            })
            .unwrap()
            .0;
        assert!(holds.0 as f64 <= median && median <= holds.1 as f64, "{holds:?}: {median}");
    }
    // All of it, whichever way its rows are.
    assert_eq!(alone["total"], group["total"]);
    assert_eq!(group["total"]["all"]["requests"], 400);
    assert!(group["tasks"][0]["drive"].is_object(), "nobody ran beside the group");

    let table = place.aster(&["run", "tiny", "--job", "alone.fio", "--precondition", "0"]).out;
    let all = table.lines().find(|line| line.starts_with("all of it")).unwrap();
    assert!(all.split_whitespace().count() >= 12, "{all}");
    // Its rows, and the line about its spare.
    assert_eq!(table.lines().count(), 2 + 8 + 1 + 1, "{table}");
    let table = place.aster(&["run", "tiny", "--job", "group.fio", "--precondition", "0"]).out;
    assert!(table.contains("\nj, reads ") && table.contains("\nj, writes "), "{table}");
    assert_eq!(table.lines().count(), 2 + 2 + 1 + 1, "{table}");
}

#[test]
fn groups_end_at_a_stonewall_and_at_new_group_as_in_fio() {
    let place = Place::new();
    let body = "rw=write\nbs=16k\nsize=64k\n";
    place.write(
        "g.fio",
        format!(
            "[global]\ngroup_reporting\n{body}[a]\n[b]\nnumjobs=2\n[c]\nnew_group\n[d]\nstonewall\n[e]\n[f]\n\
             group_reporting=0\n[f]\ngroup_reporting=0\n"
        ),
    );
    let report = place.report(&["run", "tiny", "--job", "g.fio", "--json"]);
    assert_eq!(names(&report), ["a + b", "c", "d + e", "f #1", "f #2"]);
    let copies: Vec<_> = report["tasks"].as_array().unwrap().iter().map(|task| &task["copies"]).collect();
    assert_eq!(copies, [3, 1, 2, 1, 1]);
}

#[test]
fn reads_of_nothing_are_told_by_their_share() {
    let place = Place::new();
    // 64 pages hold something; how many of those that are read do is what the size says.
    let warned = |read: &str| {
        place.write(
            "r.fio",
            format!("[fill]\nrw=write\nbs=16k\nsize=1m\n[look]\nstonewall\nrw=read\nbs=16k\n{read}\n"),
        );
        let ran = place.aster(&["run", "tiny", "--job", "r.fio", "--json"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        (report["warnings"].clone(), ran.err)
    };
    let (none, said) = warned("size=1m");
    assert!(none.as_array().unwrap().is_empty() && !said.contains("hold nothing"), "{none} {said}");
    let (some, said) = warned("size=1280k");
    assert_eq!(some[0]["code"], "reads-unmapped", "{some}");
    assert_eq!(
        (&some[0]["values"]["pages_read"], &some[0]["values"]["pages_read_unmapped"]),
        (&80.0.into(), &16.0.into())
    );
    assert!(said.contains("16 of the 80 pages that were read (20.0 %) hold nothing"), "{said}");
    assert!(said.contains("--precondition 0 fills"), "{said}");
    let (all, said) = warned("offset=2m\nsize=1m");
    assert_eq!(all[0]["values"]["share"], 1.0);
    assert!(said.contains("all 64 pages that were read hold nothing, never written or trimmed"), "{said}");
    // One job's share counts even if it is small among another job's reads.
    place.write(
        "two.fio",
        "[fill]\nrw=write\nbs=16k\nsize=1m\n[most]\nstonewall\nrw=read\nbs=16k\nsize=1m\nloops=20\n\
         [few]\nstonewall\nrw=read\nbs=16k\noffset=2m\nsize=160k\n",
    );
    let report = place.report(&["run", "tiny", "--job", "two.fio", "--json"]);
    assert_eq!(
        (&report["warnings"][0]["task"], &report["pages_read"]),
        (&"few".into(), &1290.into()),
        "{}",
        report["warnings"]
    );
}
