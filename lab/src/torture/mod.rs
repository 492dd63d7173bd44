//! Drives whose power goes at any moment, again and again: what was flushed must be there, everything else whole.
//!
//! A case is a drive's life: a drive from the factory, and rounds of seeded commands through the NVMe driver, each ended by
//! a loss of power at some instant: anywhere, at one of the drive's events, or right behind a flush. Recovery loses its power
//! now and then as well. After each, every logical block is read and held against its versions ([`oracle`]). A case that
//! fails is made smaller while it goes on failing.

mod host;
mod life;
mod oracle;
#[cfg(test)]
mod tests;

pub use life::{Case, Seen};

use aster_device::profile::Profile;
use aster_units::Content;
use life::{Broken, End, Victim};
use serde::Serialize;
use std::ops::ControlFlow;

/// Losses of power in a drive's life.
pub const ROUNDS: u32 = 12;
/// Commands in flight.
pub const DEPTH: u16 = 12;
/// Attempts to make a failing case smaller.
const ATTEMPTS: u32 = 60;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub name: String,
    /// The drive.
    pub profile: Profile,
    /// What its pages keep; `None` as the profile says.
    pub content: Option<Content>,
    /// Of the first drive; the others' follow.
    pub seed: u64,
    /// Losses of power during work, after which no further drive is begun; `None` for no end.
    pub cuts: Option<u64>,
    /// Live this case alone.
    pub only: Option<Case>,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The profile.
    pub profile: String,
    /// The first drive's seed.
    pub seed: u64,
    /// Drives.
    pub drives: u64,
    /// What they have seen.
    #[serde(flatten)]
    pub seen: Seen,
    /// The first case that failed.
    pub failure: Option<Failure>,
}

/// A case that failed, and the smallest that was found to fail like it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// The drive's seed.
    pub seed: u64,
    /// The round in whose wake it failed, counted from 0.
    pub round: u32,
    /// The last loss of power, in picoseconds from power-on.
    pub cut_at_ps: u64,
    /// What was wrong.
    pub what: String,
    /// The rounds of the smaller case.
    pub rounds: Vec<u32>,
    /// Its commands in flight.
    pub depth: u16,
    /// Whether recovery lost its power, too.
    pub cut_recovery: bool,
    /// What was wrong in the smaller case.
    pub what_smaller: String,
}

impl Failure {
    /// The arguments of `aster torture`, behind the profile, that repeat the smaller case.
    pub fn arguments(&self) -> String {
        let rounds: Vec<String> = self.rounds.iter().map(u32::to_string).collect();
        let mut text = format!("--seed {} --rounds {} --depth {}", self.seed, rounds.join(","), self.depth);
        if !self.cut_recovery {
            text.push_str(" --recovery-uncut");
        }
        text
    }
}

/// What is going on.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// So many cuts are done; this drive's life goes on.
    Cut {
        /// The life.
        case: &'a Case,
        /// Cuts so far.
        cuts: u64,
    },
    /// A case failed and is made smaller: this is tried.
    Smaller(&'a Case),
}

/// Tortures drives until the plan is done, one fails, or `tick` breaks it off.
pub fn run(plan: &Plan, tick: &mut dyn FnMut(Moment<'_>) -> ControlFlow<()>) -> Report {
    let victim = Victim { name: &plan.name, profile: &plan.profile, content: plan.content };
    let mut report = Report {
        profile: plan.name.clone(),
        seed: plan.seed,
        drives: 0,
        seen: Seen::default(),
        failure: None,
    };
    loop {
        let left = plan.cuts.map_or(u64::from(ROUNDS), |cuts| cuts - report.seen.cuts);
        let whole = Case {
            seed: plan.seed.wrapping_add(report.drives),
            rounds: (0..ROUNDS.min(left as u32)).collect(),
            depth: DEPTH,
            cut_recovery: true,
        };
        let case = plan.only.clone().unwrap_or(whole);
        let (mut seen, before) = (Seen::default(), report.seen.cuts);
        let mut done = before;
        let lived = victim.live(&case, &mut seen, &mut || {
            done += 1;
            tick(Moment::Cut { case: &case, cuts: done })
        });
        report.seen += seen;
        report.drives += 1;
        match lived {
            Ok(()) => {}
            Err(End::Stopped) => return report,
            Err(End::Broken(broken)) => {
                report.failure = Some(smaller(&victim, &case, broken, tick));
                return report;
            }
        }
        if plan.only.is_some() || plan.cuts.is_some_and(|cuts| report.seen.cuts >= cuts) {
            return report;
        }
    }
}

/// Leaves out of a failing case whatever it fails without.
fn smaller(
    victim: &Victim<'_>,
    case: &Case,
    broken: Broken,
    tick: &mut dyn FnMut(Moment<'_>) -> ControlFlow<()>,
) -> Failure {
    let (cut_at, round) = (broken.cut_at, case.rounds[broken.rounds.saturating_sub(1)]);
    let what = broken.what.clone();
    let mut least = Case { rounds: case.rounds[..broken.rounds].to_vec(), ..case.clone() };
    let mut what_smaller = broken.what;
    let mut attempts = 0;
    let mut fails = |tried: Case, least: &mut Case| {
        attempts += 1;
        if attempts > ATTEMPTS || tick(Moment::Smaller(&tried)).is_break() {
            attempts = ATTEMPTS;
            return false;
        }
        match victim.live(&tried, &mut Seen::default(), &mut || ControlFlow::Continue(())) {
            Err(End::Broken(broken)) => {
                *least = Case { rounds: tried.rounds[..broken.rounds].to_vec(), ..tried };
                what_smaller = broken.what;
                true
            }
            Ok(()) | Err(End::Stopped) => false,
        }
    };
    let mut piece = least.rounds.len() / 2;
    while piece > 0 {
        let mut from = 0;
        while from < least.rounds.len() && least.rounds.len() > 1 {
            let mut tried = least.clone();
            tried.rounds.drain(from..(from + piece).min(least.rounds.len()));
            if tried.rounds.is_empty() || !fails(tried, &mut least) {
                from += piece;
            }
        }
        piece /= 2;
    }
    let uncut = Case { cut_recovery: false, ..least.clone() };
    if least.cut_recovery {
        fails(uncut, &mut least);
    }
    for depth in [1, 2, 4] {
        if depth < least.depth && fails(Case { depth, ..least.clone() }, &mut least) {
            break;
        }
    }
    Failure {
        seed: case.seed,
        round,
        cut_at_ps: cut_at.as_picos(),
        what,
        rounds: least.rounds,
        depth: least.depth,
        cut_recovery: least.cut_recovery,
        what_smaller,
    }
}
