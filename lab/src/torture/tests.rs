use super::*;
use aster_device::profile::shipped;

fn plan(name: &str, content: Content, seed: u64, cuts: u64) -> Plan {
    let profile = shipped(name).unwrap_or_else(|error| panic!("{error}"));
    Plan { name: name.into(), profile, content: Some(content), seed, cuts: Some(cuts), only: None }
}

fn go(plan: &Plan) -> Report {
    run(plan, &mut |_| ControlFlow::Continue(()))
}

/// `short` cuts, or `long` with `ASTER_LONG=1`.
fn cuts(short: u64, long: u64) -> u64 {
    if std::env::var("ASTER_LONG").is_ok_and(|wanted| wanted == "1") { long } else { short }
}

#[test]
fn no_loss_of_power_takes_what_was_flushed_or_tears_anything_else() {
    for (name, content, pair_loss, count) in [
        ("tiny", Content::Full, true, cuts(12, 2_600)),
        ("tiny", Content::Fingerprint, true, cuts(12, 2_600)),
        ("pocket", Content::Full, true, cuts(24, 2_600)),
        ("pocket", Content::Full, false, cuts(12, 2_600)),
    ] {
        let mut plan = plan(name, content, 1, count);
        plan.profile.package.pair_loss = pair_loss;
        let report = go(&plan);
        if let Some(failure) = &report.failure {
            let arguments = failure.arguments();
            panic!("aster torture {name} --set package.pair_loss={pair_loss} {arguments}: {failure:#?}");
        }
        let seen = report.seen;
        assert_eq!(seen.cuts, count);
        assert!(seen.cuts_in_recovery > 0 && seen.torn_programs > 0, "{seen:?}");
        assert!(seen.commands > 100 && seen.durable > 0 && seen.recovery_reads_max > 0, "{seen:?}");
    }
}

#[test]
fn work_in_the_background_takes_nothing_along_either() {
    let mut plan = plan("pocket", Content::Full, 9, cuts(24, 2_600));
    let ftl = &mut plan.profile.ftl;
    (ftl.wear_spread, ftl.refresh_reads, ftl.scan_us, ftl.background_gap_us) = (1, 20, 300, 100);
    let report = go(&plan);
    assert!(report.failure.is_none(), "{:#?}", report.failure);
}

#[test]
fn the_same_seed_lives_the_same_life() {
    let once = || go(&plan("pocket", Content::Full, 77, 6));
    assert_eq!(once(), once());
}

#[test]
fn a_drive_that_fails_is_told_with_a_smaller_case_that_fails_again() {
    let mut plan = plan("pocket", Content::Full, 3, 24);
    // Blocks that go bad at their second erase: the drive soon takes no more writes.
    plan.profile.package.endurance = 1;
    plan.profile.package.erase_failures_per_million = 500_000;
    let report = go(&plan);
    let failure = report.failure.expect("a drive without good blocks fails");
    assert!(failure.rounds.len() <= 1 + failure.round as usize, "{failure:?}");
    assert!(failure.arguments().starts_with(&format!("--seed {} --rounds ", failure.seed)));
    let Failure { seed, rounds, depth, cut_recovery, what_smaller, .. } = failure;
    plan.only = Some(Case { seed, rounds, depth, cut_recovery });
    let again = go(&plan).failure.expect("it fails again");
    assert_eq!(again.what, what_smaller);
}
