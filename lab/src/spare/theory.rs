//! A profile's drive as theory and the bare simulation see it.

use aster_device::Pieces;
use aster_device::profile::Profile;
use aster_theory::{Pool, VictimRule, Workload, analytic};
use aster_units::Content;

/// Commands in flight while write amplification is measured.
pub(crate) const QUEUE_DEPTH: u32 = 32;

/// A policy: its name in profiles, and the simulation's rule.
type Policy = (&'static str, VictimRule);

/// The victim policies in the order of the report, with this profile's parameters.
pub(crate) fn policies(profile: &Profile) -> [Policy; 5] {
    let choices = profile.ftl.victim_choices.unwrap_or(aster_device::CHOICES);
    let window = profile.ftl.victim_window_percent.unwrap_or(aster_device::WINDOW_PERCENT);
    [
        ("greedy", VictimRule::Greedy),
        ("cost-benefit", VictimRule::CostBenefit),
        ("d-choices", VictimRule::DChoices(choices)),
        ("windowed-greedy", VictimRule::WindowedGreedy(window)),
        ("fifo", VictimRule::Fifo),
    ]
}

/// The writes of a skew: with 90, 90 % of the writes go to 10 % of the pages; 50 is uniform.
pub(crate) fn workload(hot_percent: u8) -> Workload {
    let writes = f64::from(hot_percent) / 100.0;
    if hot_percent == 50 { Workload::uniform() } else { Workload::hot_cold(1.0 - writes, writes) }
}

/// The blocks of a LUN, or of all where they are one pool, as the simulation's pool.
pub(crate) fn pool(profile: &Profile) -> Pool {
    let of = aster_device::lun_pool(&Pieces::default(), profile, Content::Fingerprint)
        .expect("the plan's drives have our page-mapping FTL");
    Pool {
        blocks: of.blocks,
        pages_per_block: of.pages_per_block,
        logical_pages: of.logical_pages,
        reserve: of.reserve + half_open(profile, of.luns_per_pool),
        copy_blocks: 1,
        // Each command in flight occupies an entry that is being evicted, where no page can be
        // overwritten.
        buffered_pages: of.dirty_max.saturating_sub(QUEUE_DEPTH) / of.pools,
    }
}

/// Half of the blocks that are open beyond one of the host and one for copies: those of further streams of
/// the host and, in a pool of several LUNs, one in each further LUN.
pub(super) fn half_open(profile: &Profile, luns_per_pool: u32) -> u32 {
    let further = u32::from(profile.ftl.streams.saturating_sub(1));
    (further * luns_per_pool + luns_per_pool - 1).div_ceil(2)
}

/// Theory's value for a pool, if there is one.
pub(crate) fn theory(rule: VictimRule, hot_percent: u8, pool: &Pool) -> Option<f64> {
    let (pages, fill) = (pool.pages_per_block, pool.fill_of_closed());
    match rule {
        VictimRule::Fifo => Some(analytic::fifo(&workload(hot_percent), fill)),
        VictimRule::Greedy if hot_percent == 50 => Some(analytic::greedy(pages, fill)),
        VictimRule::DChoices(choices) if hot_percent == 50 => {
            Some(analytic::d_choices_of_stale(choices, pages, fill))
        }
        _ => None,
    }
}

/// What a profile's drive copies under uniform random writes of whole pages, by theory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Expected {
    /// Data pages of closed blocks over logical pages, minus one, in percent: the spare factor of theory. The
    /// reserve is spare for failures only, and an open block is half full on average.
    pub(super) effective_over_provisioning_percent: f64,
    /// Pages programmed per page of the host; `None` for a victim policy without a theory.
    pub(super) write_amplification: Option<f64>,
}

/// Theory's values for a profile's drive with our page-mapping FTL.
pub(super) fn expected(profile: &Profile) -> Expected {
    let pool = pool(profile);
    let rule = policies(profile).into_iter().find(|(name, _)| *name == profile.ftl.victims);
    Expected {
        effective_over_provisioning_percent: (1.0 / pool.fill_of_closed() - 1.0) * 100.0,
        write_amplification: rule.and_then(|(_, rule)| theory(rule, 50, &pool)),
    }
}
