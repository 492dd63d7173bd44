//! What the blocks of a drive are for, and what theory expects of them.

pub(crate) mod theory;

use aster_device::profile::Profile;
use aster_device::{Pieces, lun_pool};
use aster_units::Content;
use serde::Serialize;
use std::fmt::Write;
use theory::expected;

/// What the blocks of a pool are for, if none is bad: of a LUN, or of all where they are one pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spare {
    // Whose they are: a LUN's, a plane's where planes are allocated one by one, or the pool's.
    #[serde(skip)]
    of: &'static str,
    /// Blocks of the pool.
    pub per_lun: u32,
    /// What the logical pages of the pool fill.
    pub data: f64,
    /// Set aside for the log.
    pub log: u32,
    /// Kept for the stored map.
    pub stored_map: u32,
    /// Free blocks that only garbage collection may use.
    pub gc_reserve: u32,
    /// Half of the open blocks: those of the host's streams, and one of garbage collection; one more for each
    /// further LUN of the pool.
    pub open: u32,
    /// All others: garbage collection lives off these.
    pub stale: f64,
    /// Stale over data, which is theory's spare factor, in percent.
    pub effective_over_provisioning_percent: f64,
    /// Pages programmed per page of the host under uniform random writes of whole pages, by theory; `null`
    /// for a victim policy without one.
    pub write_amplification: Option<f64>,
    /// The victim policy.
    pub victims: String,
}

impl Spare {
    /// Of a profile's drive, which keeps `content` of its pages; `None` with another translation than our
    /// page-mapping FTL.
    pub fn of(pieces: &Pieces, profile: &Profile, content: Content) -> Option<Spare> {
        let pool = lun_pool(pieces, profile, content)?;
        let expected = expected(profile);
        let open = 1 + theory::half_open(profile, pool.luns_per_pool);
        let data = f64::from(pool.logical_pages) / f64::from(pool.pages_per_block);
        Some(Spare {
            of: match (pool.are_planes, pool.luns_per_pool) {
                (true, _) => "a plane's",
                (false, 1) => "a LUN's",
                (false, _) => "the pool's",
            },
            per_lun: pool.blocks + pool.log_blocks + pool.map_blocks,
            data,
            log: pool.log_blocks,
            stored_map: pool.map_blocks,
            gc_reserve: pool.reserve,
            open,
            stale: f64::from(pool.blocks - pool.reserve - open) - data,
            effective_over_provisioning_percent: expected.effective_over_provisioning_percent,
            write_amplification: expected.write_amplification,
            victims: profile.ftl.victims.clone(),
        })
    }
    /// The blocks, as `aster check` prints them.
    pub fn in_words(&self) -> String {
        let Spare { of, per_lun, data, log, stored_map, gc_reserve, open, stale, victims, .. } = self;
        let mut words = format!(
            "blocks    of {of} {per_lun}: {data:.1} data, {log} log, {stored_map} stored map, \
             {gc_reserve} GC reserve, {open} open, {stale:.1} stale\n            \
             {:.1} % effective over-provisioning",
            self.effective_over_provisioning_percent
        );
        if let Some(waf) = self.write_amplification {
            let _ = write!(
                words,
                "\n  writes    uniform, random, whole pages: write amplification {waf:.1} by theory \
                 of {victims}"
            );
        }
        words
    }
    /// What a run's report says of them beside a WAF that was measured.
    pub fn beside(&self, measured: f64) -> String {
        let Spare { of, per_lun, stale, victims, .. } = self;
        let mut words = format!(
            "WAF {measured:.2} with {:.1} % effective over-provisioning ({stale:.1} of {of} {per_lun} \
             blocks stale)",
            self.effective_over_provisioning_percent
        );
        if let Some(waf) = self.write_amplification {
            let _ = write!(
                words,
                "; theory of {victims} expects {waf:.1} of uniform random writes of whole pages on a full \
                 drive"
            );
        }
        words + "."
    }
}
