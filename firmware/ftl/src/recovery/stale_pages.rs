//! Pages that were stale when a map was stored.

use crate::journal::log_page::Header;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use aster_units::Upa;

/// Runs of stale pages in ascending order: the first page and the length. Their content doesn't count.
pub(super) struct StalePages(Vec<(Upa, u32)>);

impl StalePages {
    /// The runs that log pages list. A block that a later log page lists as free has been erased since: its
    /// present content is newer.
    pub(super) fn listed_by<'a>(
        headers: impl Iterator<Item = &'a Header> + Clone,
        units_per_block: u32,
    ) -> Self {
        let mut free_list: BTreeMap<u32, u64> = BTreeMap::new();
        for header in headers.clone() {
            free_list.extend(header.free_list.iter().map(|block| (block.0, header.number)));
        }
        let mut runs = Vec::new();
        for header in headers {
            let erased =
                |at: Upa| free_list.get(&(at.0 / units_per_block)).is_some_and(|&page| page > header.number);
            runs.extend(header.stale.iter().filter(|(first, _)| !erased(*first)));
        }
        runs.sort_unstable();
        StalePages(runs)
    }
    pub(super) fn has(&self, at: Upa) -> bool {
        let behind = self.0.partition_point(|(first, _)| *first <= at);
        let run = behind.checked_sub(1).and_then(|at| self.0.get(at));
        run.is_some_and(|(first, count)| at.0 - first.0 < *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::BlockIndex;
    use std::vec;

    const UNITS_PER_BLOCK: u32 = 10;

    fn stale_among(headers: &[Header], pages: core::ops::Range<u32>) -> Vec<u32> {
        let stale = StalePages::listed_by(headers.iter(), UNITS_PER_BLOCK);
        pages.filter(|&page| stale.has(Upa(page))).collect()
    }

    #[test]
    fn a_run_has_its_pages_and_no_others() {
        let header = Header { stale: vec![(Upa(25), 3), (Upa(12), 1), (Upa(28), 1)], ..Header::default() };
        assert_eq!(stale_among(&[header], 0..40), [12, 25, 26, 27, 28]);
        assert_eq!(stale_among(&[], 0..40), []);
    }

    #[test]
    fn what_a_block_holds_that_was_erased_after_the_map_was_stored_is_not_stale() {
        let stored = Header { number: 5, stale: vec![(Upa(12), 2), (Upa(25), 2)], ..Header::default() };
        let erased = |number| Header { number, free_list: vec![BlockIndex(1)], ..Header::default() };
        assert_eq!(stale_among(&[stored.clone(), erased(6)], 0..40), [25, 26]);
        // Blocks listed as free before, or by the same page, have been written since.
        assert_eq!(stale_among(&[erased(4), stored.clone()], 0..40), [12, 13, 25, 26]);
        assert_eq!(stale_among(&[stored, erased(5)], 0..40), [12, 13, 25, 26]);
    }
}
