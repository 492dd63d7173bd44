use super::*;

/// Work as (seconds of a stretch, share done after it), reported in steps of `step`.
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

/// The share of times with an estimate, and the largest error of an estimate as a factor, ignoring a second
/// or two.
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

/// A model of the case that gave "8 s left" at 10 s of 51: more than half was cheap, the rest cost four times
/// as much.
#[test]
fn work_that_has_just_become_dear_is_not_told_by_what_was_cheap() {
    let told = told(&[(9.0, 0.55), (42.0, 1.0)], 0.1);
    let since: Vec<_> = told.into_iter().filter(|(at, _)| *at >= 10.0).collect();
    assert!(since[0].1.is_none(), "at 10 s nobody can tell");
    let (often, worst) = judged(&since, 51.0);
    assert!(often > 0.6 && worst < 1.5, "{often} {worst}");
}

/// A model of GC that sets in gradually, as a drive's free blocks run out.
#[test]
fn work_that_gets_dearer_is_told_within_reason() {
    let stretches: Vec<_> = (1..=20).map(|n| (f64::from(n).sqrt() * 3.0, f64::from(n) / 20.0)).collect();
    let end: f64 = stretches.iter().map(|(lasts, _)| lasts).sum();
    let late: Vec<_> = told(&stretches, 0.1).into_iter().filter(|(at, _)| *at > end / 4.0).collect();
    let (often, worst) = judged(&late, end);
    assert!(often > 0.5 && worst < 1.4, "{often} {worst}");
}

/// A model of an experiment's cells: the share stands still for seconds and then makes a step.
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

/// Wall-clock times at which the bar of a debug build came to each percent, on a busy machine with two cores.
/// Recorded once from a terminal: One `stage,seconds,percent` per line.
const RECORDED: &str = include_str!("recorded.csv");

/// The series of [`RECORDED`]: a stage's name, and (seconds, share) from its beginning.
fn recorded() -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let mut stages: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for row in RECORDED.lines().skip(1) {
        let [stage, seconds, percent] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        if stages.last().is_none_or(|(name, _)| *name != stage) {
            stages.push((stage, Vec::new()));
        }
        let point = (seconds.parse().unwrap(), percent.parse::<f64>().unwrap() / 100.0);
        stages.last_mut().unwrap().1.push(point);
    }
    stages
}

/// Estimates of real work, whose cells may differ in cost by any amount, are right to a factor of two and two
/// seconds.
#[test]
fn recorded_runs_are_told_to_a_factor_of_two() {
    let mut said = 0;
    for (stage, points) in recorded() {
        let end = points.last().unwrap().0;
        let mut estimate = Estimate::new();
        let mut told = Vec::new();
        for tick in 0..(end * 10.0) as u32 {
            let at = f64::from(tick) / 10.0;
            let share = points.iter().rfind(|point| point.0 <= at).unwrap().1;
            let elapsed = Duration::from_secs_f64(at);
            estimate.note(elapsed, share);
            told.push((at, estimate.left(elapsed).map(|left| left.as_secs_f64())));
        }
        let (often, worst) = judged(&told, end);
        assert!(worst <= 2.05, "{stage}: {often} {worst}");
        said += usize::from(often > 0.5);
    }
    assert!(said >= 2, "of long stages something is said for more than half of their time");
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
