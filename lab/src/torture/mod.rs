//! Cuts a drive's power at arbitrary moments, again and again. Flushed data must survive, and no block may
//! be torn.
//!
//! A case is a drive's life: a drive from the factory, and rounds of seeded commands through the NVMe
//! driver, each ended by a loss of power at some instant: anywhere, at one of the drive's events, right
//! behind a flush, in a shutdown or after it. Some recoveries lose their power as well. After each loss
//! every logical block is read and compared with the versions that it may hold (`durability`). A failing case
//! is reduced as long as it still fails.

mod durability;
mod host;
mod life;
mod size;
#[cfg(test)]
mod tests;

pub use life::{Broken, Case, End, Here, Lives, Seen, WINDOW_BYTES};
pub use size::smaller_drive;

use serde::Serialize;
use std::ops::ControlFlow;

/// Losses of power in a drive's life.
pub const ROUNDS: u32 = 12;
/// Commands in flight.
pub const DEPTH: u16 = 12;
/// Attempts to make a failing case smaller.
const ATTEMPTS: u32 = 60;

/// What to torture, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub name: String,
    /// The seed of the first drive; the others have the next numbers.
    pub seed: u64,
    /// After this many losses of power during work no further drive is begun; `None` for no end.
    pub cuts: Option<u64>,
    /// Run only this case.
    pub only: Option<Case>,
}

/// The outcome.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The profile.
    pub profile: String,
    /// The first drive's seed.
    pub seed: u64,
    /// Drives.
    pub drives: u64,
    /// What happened to them.
    #[serde(flatten)]
    pub seen: Seen,
    /// Whether it was stopped before the plan was done.
    pub stopped: bool,
    /// How another process or the system ended the process of a life, if one did.
    pub ended: Option<String>,
    /// The first case that failed.
    pub failure: Option<Failure>,
}

/// A case that failed, and the smallest case that was found to fail in the same way.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// The drive's seed.
    pub seed: u64,
    /// The round after which it failed, counted from 0.
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

impl Case {
    /// The arguments of `aster torture`, behind the profile, that repeat it.
    pub fn arguments(&self) -> Vec<String> {
        let rounds: Vec<String> = self.rounds.iter().map(u32::to_string).collect();
        let numbers = [self.seed.to_string(), rounds.join(","), self.depth.to_string()];
        let options = ["--seed", "--rounds", "--depth"].into_iter().zip(numbers);
        let options = options.flat_map(|(option, number)| [option.to_owned(), number]);
        options.chain((!self.cut_recovery).then(|| "--recovery-uncut".to_owned())).collect()
    }
}

impl Failure {
    /// The smaller case.
    pub fn case(&self) -> Case {
        let Failure { seed, ref rounds, depth, cut_recovery, .. } = *self;
        Case { seed, rounds: rounds.clone(), depth, cut_recovery }
    }
}

/// Progress.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A cut is done, and this drive's life continues.
    Cut {
        /// The life.
        case: &'a Case,
        /// Cuts so far.
        cuts: u64,
    },
    /// A case failed and is being reduced; this smaller one is tried.
    Smaller(&'a Case),
}

/// Tortures drives until the plan is done, a drive fails, or `tick` stops it.
///
/// # Errors
/// When lives can't be run.
pub fn run(
    plan: &Plan,
    lives: &mut dyn Lives,
    tick: &mut dyn FnMut(Moment<'_>) -> ControlFlow<()>,
) -> Result<Report, String> {
    let mut report = Report {
        profile: plan.name.clone(),
        seed: plan.seed,
        drives: 0,
        seen: Seen::default(),
        stopped: false,
        ended: None,
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
        let lived = lives.live(&case, &mut seen, &mut |_, _| {
            done += 1;
            tick(Moment::Cut { case: &case, cuts: done })
        });
        report.seen += seen;
        report.drives += 1;
        match lived {
            Ok(()) => {}
            Err(End::Stopped) => {
                report.stopped = true;
                return Ok(report);
            }
            Err(End::Ended(how)) => {
                (report.stopped, report.ended) = (true, Some(how));
                return Ok(report);
            }
            Err(End::Unable(why)) => return Err(why),
            Err(End::Broken(broken)) => {
                report.failure = Some(smaller(lives, &case, broken, tick));
                return Ok(report);
            }
        }
        if plan.only.is_some() || plan.cuts.is_some_and(|cuts| report.seen.cuts >= cuts) {
            return Ok(report);
        }
    }
}

/// Whether two failure messages are equal except for numbers.
fn is_alike(one: &str, other: &str) -> bool {
    let kind = |what: &str| {
        // The versions that a block may hold differ from case to case.
        let what = what.split(", but must").next().unwrap_or_default();
        what.split(|c: char| c.is_ascii_digit())
            .filter(|piece| !piece.is_empty())
            .collect::<Vec<_>>()
            .join("#")
    };
    kind(one) == kind(other)
}

/// Removes from a failing case everything that isn't needed for the failure. If a life can't be run, or
/// another process ends it, the reduction stops with the smallest case so far.
fn smaller(
    lives: &mut dyn Lives,
    case: &Case,
    broken: Broken,
    tick: &mut dyn FnMut(Moment<'_>) -> ControlFlow<()>,
) -> Failure {
    let round = case.rounds[broken.rounds.saturating_sub(1)];
    let Broken { what, cut_at_ps, .. } = broken.clone();
    let mut least = Case { rounds: case.rounds[..broken.rounds].to_vec(), ..case.clone() };
    let mut what_smaller = broken.what;
    let mut attempts = 0;
    let mut fails = |tried: Case, least: &mut Case| {
        attempts += 1;
        if attempts > ATTEMPTS || tick(Moment::Smaller(&tried)).is_break() {
            attempts = ATTEMPTS;
            return false;
        }
        match lives.live(&tried, &mut Seen::default(), &mut |_, _| ControlFlow::Continue(())) {
            Err(End::Broken(broken)) if is_alike(&broken.what, &what) => {
                *least = Case { rounds: tried.rounds[..broken.rounds].to_vec(), ..tried };
                what_smaller = broken.what;
                true
            }
            Err(End::Unable(_) | End::Ended(_)) => {
                attempts = ATTEMPTS;
                false
            }
            Ok(()) | Err(End::Broken(_) | End::Stopped) => false,
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
        cut_at_ps,
        what,
        rounds: least.rounds,
        depth: least.depth,
        cut_recovery: least.cut_recovery,
        what_smaller,
    }
}
