//! The latest accesses of the host's, which tell which data are hot (H30).

use alloc::collections::VecDeque;

/// When hot data leave a region (H30).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RegionConfig {
    /// Percent by which the mean erases of a region's groups exceed those of all.
    pub percent: f64,
    /// Groups that are moved then.
    pub groups: u32,
    /// Accesses of the host's of which the hottest data are those with the most.
    pub accesses: u32,
}

/// The latest accesses, each with its place and how often that had been erased.
pub(super) struct Accesses<P> {
    pub config: RegionConfig,
    latest: VecDeque<(P, u32)>,
    /// Groups with hot data that are still to leave their region.
    pub to_move: u32,
}

impl<P> Accesses<P> {
    pub fn new(config: RegionConfig) -> Self {
        Accesses { config, latest: VecDeque::with_capacity(config.accesses as usize), to_move: 0 }
    }
    /// Notes the latest one. Returns the one that isn't among the latest any more.
    pub fn note(&mut self, at: P, erases: u32) -> Option<(P, u32)> {
        let is_full = self.latest.len() == self.config.accesses as usize;
        let oldest = if is_full { self.latest.pop_front() } else { None };
        self.latest.push_back((at, erases));
        oldest
    }
}
