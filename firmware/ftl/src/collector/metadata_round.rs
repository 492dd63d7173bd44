//! How far the scan has got with the stored map and the log, and how many wrong bits it found.

use aster_parties::Refresh;

/// A round through the pages of stored map and log.
#[derive(Default)]
pub(crate) struct MetadataRound {
    // Pages read in this round; `None` while the scan reads data.
    at: Option<u32>,
    // How often the map was stored anew for wrong bits with no better round in between, and whether this
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
    /// Goes on to the next page, or ends the round if there was no such page.
    pub(crate) fn go_on(&mut self, there: bool) {
        self.at = self.at.filter(|_| there).map(|at| at + 1);
        if !there && !self.fades {
            self.moves = 0;
        }
    }
    /// Ends the round: the map is stored anew, so the remaining pages don't matter.
    pub(crate) fn break_off(&mut self) {
        self.at = None;
    }
    /// The worst code word of a page had `bits` wrong bits. Returns true if the map should be stored anew for
    /// that.
    pub(crate) fn is_faded(&mut self, bits: u8, refresh: Refresh) -> bool {
        self.fades |= refresh.is_faded(bits);
        let too_many = refresh.limit(self.moves);
        let is_faded = too_many.is_some_and(|limit| bits >= limit);
        self.moves = self.moves.saturating_add(is_faded.into());
        is_faded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFRESH: Refresh = Refresh { corrected: 4, correctable: 20, reads: 0 };

    #[test]
    fn a_round_goes_from_the_first_page_to_the_one_that_is_not_there() {
        let mut round = MetadataRound::default();
        assert_eq!(round.at(), None);
        round.begin();
        for page in 0..3 {
            assert_eq!(round.at(), Some(page));
            round.go_on(true);
        }
        round.go_on(false);
        assert_eq!(round.at(), None);
        round.begin();
        round.break_off();
        assert_eq!(round.at(), None);
    }

    /// Otherwise a map on worn cells would be stored again and again.
    #[test]
    fn each_storing_of_the_map_for_wrong_bits_halves_what_is_left_for_the_next() {
        let mut round = MetadataRound::default();
        round.begin();
        assert!(!round.is_faded(3, REFRESH));
        assert!(round.is_faded(4, REFRESH));
        round.begin();
        assert!(!round.is_faded(11, REFRESH) && round.is_faded(12, REFRESH));
        // A round that found as many wrong bits keeps the count, one without them ends it.
        round.go_on(false);
        round.begin();
        assert!(!round.is_faded(12, REFRESH));
        round.begin();
        round.go_on(false);
        assert!(round.is_faded(4, REFRESH));
    }
}
