use super::*;

/// Work as (seconds that a stretch takes, share that is done behind it), told `step` by `step`.
fn told(stretches: &[(f64, f64)], step: f64) -> Vec<(f64, Option<f64>)> {
    let end: f64 = stretches.iter().map(|(lasts, _)| lasts).sum();
    let share = |at: f64| {
        let (mut from, mut low) = (0.0, 0.0);
        for &(lasts, high) in stretches {
            if at < from + lasts {
                return low + (high - low) * (at - from) / lasts;
            }
            (from, low) = (from + lasts, high);
        }
        1.0
    };
    let mut estimate = Estimate::new();
    let mut told = Vec::new();
    let mut at = 0.0;
    while at < end {
        let elapsed = Duration::from_secs_f64(at);
        estimate.note(elapsed, share(at));
        told.push((at, estimate.left(elapsed).map(|left| left.as_secs_f64())));
        at += step;
    }
    told
}

/// The share of times at which something is said, and by how much the worst of it is wrong, as a factor, a second or two aside.
fn judged(told: &[(f64, Option<f64>)], end: f64) -> (f64, f64) {
    let said: Vec<_> = told.iter().filter_map(|(at, left)| Some((end - at, (*left)?))).collect();
    let wrong = said.iter().map(|(real, left)| (left + 2.0).max(real + 2.0) / (left + 2.0).min(real + 2.0));
    (said.len() as f64 / told.len() as f64, wrong.fold(1.0, f64::max))
}

#[test]
fn even_work_is_told_right_from_the_start() {
    for end in [20.0, 300.0, 7200.0] {
        let told = told(&[(end, 1.0)], 0.1);
        let (often, worst) = judged(&told, end);
        assert!(often > 0.75 && worst < 1.05, "{end}: {often} {worst}");
        assert!(told[30].1.is_none(), "three seconds are no ground for an estimate");
    }
}

/// What gave "8 s left" at 10 s of 51: more than half was cheap, the rest four times as dear.
#[test]
fn work_that_has_just_become_dear_is_not_told_by_what_was_cheap() {
    let told = told(&[(9.0, 0.55), (42.0, 1.0)], 0.1);
    let since: Vec<_> = told.into_iter().filter(|(at, _)| *at >= 10.0).collect();
    assert!(since[0].1.is_none(), "at 10 s nobody can tell");
    let (often, worst) = judged(&since, 51.0);
    assert!(often > 0.6 && worst < 1.5, "{often} {worst}");
}

/// GC that sets in little by little, as a drive's free blocks go.
#[test]
fn work_that_gets_dearer_is_told_within_reason() {
    let stretches: Vec<_> = (1..=20).map(|n| (f64::from(n).sqrt() * 3.0, f64::from(n) / 20.0)).collect();
    let end: f64 = stretches.iter().map(|(lasts, _)| lasts).sum();
    let late: Vec<_> = told(&stretches, 0.1).into_iter().filter(|(at, _)| *at > end / 4.0).collect();
    let (often, worst) = judged(&late, end);
    assert!(often > 0.5 && worst < 1.4, "{often} {worst}");
}

/// Cells of an experiment: the share stands still for seconds and then makes a step.
#[test]
fn work_in_steps_is_told_between_them_too() {
    let mut estimate = Estimate::new();
    let (cells, each) = (40u32, 1.5);
    let mut worst = 1.0f64;
    let mut said = 0;
    for tick in 0..600 {
        let at = f64::from(tick) * 0.1;
        let elapsed = Duration::from_secs_f64(at);
        estimate.note(elapsed, (at / each).floor() / f64::from(cells));
        if let Some(left) = estimate.left(elapsed) {
            let real = f64::from(cells) * each - at;
            worst = worst
                .max((left.as_secs_f64() + 2.0).max(real + 2.0) / (left.as_secs_f64() + 2.0).min(real + 2.0));
            said += 1;
        }
    }
    assert!(said > 400 && worst < 1.6, "{said} {worst}");
}

/// Recorded of `aster reproduce cosmos --quick`'s Fig 12, whose eight cells differ: seconds at which each was over.
#[test]
fn a_recorded_course_of_few_unequal_cells_is_told_within_reason() {
    let ends = [1.9, 3.8, 5.6, 7.3, 9.1, 11.2, 13.2, 15.3];
    let mut estimate = Estimate::new();
    let mut worst = 1.0f64;
    for tick in 0..153 {
        let at = f64::from(tick) * 0.1;
        let done = ends.iter().filter(|end| **end <= at).count();
        let elapsed = Duration::from_secs_f64(at);
        estimate.note(elapsed, done as f64 / 8.0);
        if let Some(left) = estimate.left(elapsed) {
            let (left, real) = (left.as_secs_f64() + 2.0, 15.3 - at + 2.0);
            worst = worst.max(left.max(real) / left.min(real));
        }
    }
    assert!(worst < 1.6, "{worst}");
}

#[test]
fn work_that_stands_still_is_told_nothing_of() {
    let mut estimate = Estimate::new();
    for second in 0..60 {
        estimate.note(Duration::from_secs(second), if second < 20 { second as f64 / 40.0 } else { 0.5 });
    }
    assert_eq!(estimate.left(Duration::from_secs(59)), None);
    assert_eq!(Estimate::new().left(Duration::from_secs(9)), None);
}

#[test]
fn a_share_that_goes_back_or_is_no_number_is_no_reason_to_panic() {
    let mut estimate = Estimate::new();
    for (second, share) in [(5, 0.3), (4, 0.2), (6, f64::NAN), (7, 2.0), (8, 0.1)] {
        estimate.note(Duration::from_secs(second), share);
        let _ = estimate.left(Duration::from_secs(second));
    }
}
