//! How far the scan has come with the stored map and the log, and how bad they were.

use crate::blocks::table::limit;
use crate::terms::config::Refresh;

/// A round through the pages of stored map and log.
#[derive(Default)]
pub(crate) struct MetadataRound {
    // Pages read in this round; none where the scan is among the data.
    at: Option<u32>,
    // Times that the map was stored anew for wrong bits without a round that found fewer, and whether this
    // round found as many.
    moves: u8,
    fades: bool,
}

impl MetadataRound {
    /// All data has been read.
    pub(crate) fn begin(&mut self) {
        (self.at, self.fades) = (Some(0), false);
    }
    /// The page that is next in this round, if the scan is not among the data.
    pub(crate) fn at(&self) -> Option<u32> {
        self.at
    }
    /// There was such a page, or the round is over.
    pub(crate) fn go_on(&mut self, there: bool) {
        self.at = self.at.filter(|_| there).map(|at| at + 1);
        if !there && !self.fades {
            self.moves = 0;
        }
    }
    /// The map is stored anew: what comes behind in this round is of no interest.
    pub(crate) fn break_off(&mut self) {
        self.at = None;
    }
    /// The worst code word of a page had so many wrong bits. True when the map should be stored anew for
    /// that.
    pub(crate) fn is_faded(&mut self, bits: u8, refresh: Refresh) -> bool {
        self.fades |= refresh.corrected > 0 && bits >= refresh.corrected;
        let too_many = limit(refresh.corrected, refresh.correctable, self.moves);
        let is_faded = too_many.is_some_and(|limit| bits >= limit);
        self.moves = self.moves.saturating_add(is_faded.into());
        is_faded
    }
}
