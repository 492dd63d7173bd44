//! Blocks with a page that had more wrong bits than can be corrected (S12).
//!
//! One such read doesn't make a block bad: its data moves, and when nothing in it counts any more, the page
//! is read a second time. Only a block that fails that, too, is retired. What is suspected is not stored:
//! after power-on, the next read that fails suspects the block anew.

use super::Blocks;
use crate::terms::block::{BlockIndex, BlockState, Suspect};
use aster_units::Ppa;

impl Blocks {
    /// A page could not be corrected. True when that has the data of its block move, which didn't before.
    ///
    /// Pages that don't count, such as those that a loss of power has torn, say nothing of their block.
    #[cold]
    pub(crate) fn suspect(&mut self, page: Ppa, is_own: bool) -> bool {
        let block = self.block_of(page);
        if self.suspects.is_empty() || !self.counts_in(page) {
            return false;
        }
        self.suspects[block.at()].get_or_insert(Suspect { page, is_own });
        self.want_refresh(block)
    }
    /// The page for which a block is suspected. Blocks in which a program failed go bad without it.
    pub(crate) fn suspect_of(&self, block: BlockIndex) -> Option<Suspect> {
        let suspect = self.suspects.get(block.at()).copied().flatten();
        suspect.filter(|_| self.states[block.at()] == BlockState::Closed)
    }
    /// The block's page is gone.
    pub(super) fn forget_suspect(&mut self, block: BlockIndex) {
        if let Some(suspect) = self.suspects.get_mut(block.at()) {
            *suspect = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::{BlockEntry, Stream};
    use crate::tests::bench::config;
    use aster_units::{Content, LunIndex};

    const BLOCK: BlockIndex = BlockIndex(3);

    /// A LUN with a closed block, whose second page alone counts, and free ones.
    fn one_closed_block(retires: bool) -> (Blocks, Ppa) {
        let mut config = config(Content::Fingerprint);
        config.retire_uncorrectable = retires;
        let mut blocks = Blocks::of(&config);
        for block in (0..config.geometry.blocks_per_lun).map(BlockIndex) {
            let state = if block == BLOCK { BlockState::Closed } else { BlockState::Free };
            let entry = BlockEntry { state, stream: Stream::Host, next: 0, erases: 0, unverified: false };
            blocks.adopt(block, entry).unwrap();
        }
        let page = Ppa(blocks.first_page(BLOCK).0 + 1);
        blocks.set_valid(blocks.shape.first_in(page));
        (blocks, page)
    }

    #[test]
    fn a_page_that_counts_has_its_block_suspected_until_it_is_erased() {
        let (mut blocks, page) = one_closed_block(true);
        let stale = blocks.first_page(BLOCK);
        assert!(!blocks.suspect(stale, false) && blocks.suspect_of(BLOCK).is_none(), "nothing counts there");
        assert!(blocks.suspect(page, true));
        assert_eq!(blocks.suspect_of(BLOCK), Some(Suspect { page, is_own: true }));
        assert!(!blocks.suspect(page, true), "its data moves already");
        assert_eq!(blocks.take_for_refresh(LunIndex(0), false), Some(BLOCK));
        blocks.clear_valid(blocks.shape.first_in(page));
        blocks.erased(BLOCK);
        assert_eq!(blocks.suspect_of(BLOCK), None);
    }

    #[test]
    fn nothing_is_suspected_without_the_key() {
        let (mut blocks, page) = one_closed_block(false);
        assert!(!blocks.suspect(page, false));
        assert_eq!(blocks.suspect_of(BLOCK), None);
        assert_eq!(blocks.take_for_refresh(LunIndex(0), false), None);
    }
}
