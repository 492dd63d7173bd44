use super::super::text::compare_text;
use super::*;
use serde_json::json;

fn report(file: &str, spare: u64, seed: u64, iops: f64, erases: u64) -> Read {
    let kind = json!({"kind": "write", "requests": 100, "iops": iops,
        "latency": {"p99_us": 1e6 / iops, "buckets": [[1, 2, 3]]}});
    let report = json!({
        "name": "j.fio", "wall_s": seed as f64,
        "tasks": [{"name": "j", "copies": 1, "kinds": [kind], "failures": 0}],
        "total": {"kinds": [kind], "all": kind},
        "waf": 1.5, "erases": {"min": erases, "max": erases + 1}, "firmware": {"programs": {"gc": 7}},
        "provenance": {"seed": seed, "arguments": ["run", file], "content": "full",
            "profile": {"name": "tiny", "overrides": ["x"],
                "keys": {"ftl": {"over_provisioning_percent": spare}}}},
    });
    Read { file: file.to_owned(), report }
}

fn row<'a>(of: &'a Comparison, group: &str, figure: &str) -> &'a FigureRow {
    of.figures.iter().find(|row| row.group == group && row.figure == figure).unwrap_or_else(|| {
        panic!(
            "{group} {figure}: {:?}",
            of.figures.iter().map(|row| (&row.group, &row.figure)).collect::<Vec<_>>()
        )
    })
}

#[test]
fn two_runs_are_put_side_by_side_with_what_differs_in_them() {
    let of = compare(vec![report("a", 7, 1, 1000.0, 0), report("b", 28, 1, 1500.0, 3)]).unwrap();
    assert_eq!(of.runs.iter().map(|runs| &runs.files[0][..]).collect::<Vec<_>>(), ["a", "b"]);
    let setup = SetupRow { key: "ftl.over_provisioning_percent".into(), values: vec![json!(7), json!(28)] };
    assert_eq!(of.setup, [setup]);
    let iops = row(&of, "task j", "write.iops").differences[1].unwrap();
    assert_eq!((iops.difference, iops.ratio, iops.half_width_95), (500.0, Some(1.5), None));
    let min = row(&of, "erases", "min").differences[1].unwrap();
    assert_eq!((min.difference, min.ratio), (3.0, None));
    assert_eq!(row(&of, "firmware", "programs.gc").differences[1].unwrap().difference, 0.0);
    assert_eq!(row(&of, "drive", "waf").values[0].unwrap().mean, 1.5);
    for absent in ["wall_s", "buckets", "seed", "copies"] {
        assert!(of.figures.iter().all(|row| !row.figure.contains(absent)), "{absent}");
    }
    let text = compare_text(&of, false);
    for says in ["ftl.over_provisioning_percent", "+50.00 %", "-33.33 %", "A: a, seed 1", "the same in all"] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!text.contains("programs.gc") && compare_text(&of, true).contains("programs.gc"), "{text}");
}

#[test]
fn runs_that_differ_by_their_seeds_are_one_with_an_interval() {
    let a = (1..=5u64).map(|seed| report(&format!("a{seed}"), 7, seed, 1000.0 + seed as f64, 5));
    let b = (1..=5u64).map(|seed| report(&format!("b{seed}"), 28, seed, 1010.0 + seed as f64, 5));
    let of = compare(a.chain(b).collect()).unwrap();
    assert_eq!(of.runs.len(), 2);
    assert_eq!(of.runs[1].seeds, [1, 2, 3, 4, 5].map(Some));
    let iops = row(&of, "total", "all.iops");
    let first = iops.values[0].unwrap();
    // The mean of 1001 … 1005; their standard deviation is the root of 2.5, and t for 4 degrees is 2.776.
    assert_eq!((first.mean, first.runs), (1003.0, 5));
    assert!((first.half_width_95.unwrap() - 2.776 * 0.5f64.sqrt()).abs() < 1e-9);
    let apart = iops.differences[1].unwrap();
    // Equal variances: eight degrees of freedom, and t is 2.306.
    assert!((apart.half_width_95.unwrap() - 2.306).abs() < 1e-9, "{apart:?}");
    assert_eq!((apart.difference, apart.beyond_chance), (10.0, Some(true)));
    assert_eq!(row(&of, "erases", "min").differences[1].unwrap().beyond_chance, Some(false));
    let text = compare_text(&of, false);
    assert!(text.contains("5 runs with seeds 1, 2, 3, 4, 5") && text.contains("1003 ±1.9629"), "{text}");
}

#[test]
fn what_one_lacks_is_told_as_missing_and_what_is_no_report_is_refused() {
    let mut b = report("b", 7, 1, 1000.0, 0);
    b.report["tasks"][0]["kinds"][0]["kind"] = "read".into();
    b.report["provenance"] = Value::Null;
    let of = compare(vec![report("a", 7, 1, 1000.0, 0), b]).unwrap();
    let read = row(&of, "task j", "read.iops");
    assert!(read.values[0].is_none() && read.values[1].is_some() && read.differences[1].is_none());
    let tasks: Vec<_> = of.figures.iter().map(|row| row.group == "task j").collect();
    assert_eq!(tasks.chunk_by(|a, b| a == b).filter(|of| of[0]).count(), 1, "a part stands together");
    assert!(compare_text(&of, false).contains('–'));
    let other = Read { file: "x.json".into(), report: json!({"tasks": 5}) };
    let error = compare(vec![report("a", 7, 1, 1000.0, 0), other]).unwrap_err();
    assert!(error.starts_with("x.json: is no report of `aster run --json`"), "{error}");
    assert!(compare(vec![report("a", 7, 1, 1.0, 0)]).is_err());
}

#[test]
fn student_s_t_is_that_of_the_tables() {
    for (freedom, t) in
        [(1.0, 12.706), (4.9, 2.776), (30.0, 2.042), (60.0, 2.000), (120.0, 1.980), (1e9, 1.960)]
    {
        assert!((student_975(freedom) - t).abs() < 1.5e-3, "{freedom}: {}", student_975(freedom));
    }
}
