//! Versions of logical pages: deciding which of those found on flash count.

use crate::durability::outbox::LogEntry;
use crate::mapping::Mapping;
use crate::recovery::log_read::{LogRead, NoRecovery};
use crate::recovery::page_read::Probed;
use crate::recovery::probe::Probe;
use crate::recovery::replay::Trims;
use crate::recovery::stale_pages::StalePages;
use crate::recovery::state::Recovery;
use crate::recovery::version::Version;
use crate::terms::block::BlockIndex;
use crate::terms::oob::UnitRecord;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_units::{BufferId, Lpn, Upa};

/// What decides between versions, apart from their numbers.
struct Choice<'a> {
    units_per_block: u32,
    /// The last sequence number that the log knows.
    sequence: u64,
    /// Blocks that were collected but not erased yet: all copies out of them count.
    collected: &'a [BlockIndex],
    trims: &'a Trims,
}

/// A logical page for which sequence numbers don't tell whether the map's version is older.
#[derive(PartialEq, Eq, Debug)]
struct Unsure<'a> {
    /// The versions found with the highest sequence number.
    newest: &'a [Version],
    /// The version that counts if the map's is older or unreadable.
    chosen: Version,
    /// Where the map has the page.
    mapped: Upa,
}

/// What sequence numbers tell about a logical page.
#[derive(PartialEq, Eq, Debug)]
enum ByNumber<'a> {
    /// The version that is newer than the map's, if there is one.
    Newer(Option<Version>),
    Unsure(Unsure<'a>),
}

impl Choice<'_> {
    /// Chooses among the versions found of one logical page, which must be sorted. The map has the page at
    /// `mapped`.
    fn by_number<'v>(&self, of_page: &'v [Version], mapped: Upa) -> ByNumber<'v> {
        let Some(&Version { lpn, sequence, .. }) = of_page.last() else { return ByNumber::Newer(None) };
        let older = of_page.partition_point(|version| version.sequence < sequence);
        let newest = &of_page[older..];
        let Some(first) = Version::first_of(newest, |_| true) else { return ByNumber::Newer(None) };
        let chosen = self.follow(first, newest);
        if !mapped.is_some() {
            ByNumber::Newer((!self.trims.has_after(lpn, sequence)).then_some(chosen))
        } else if sequence > self.sequence {
            ByNumber::Newer(Some(chosen))
        } else if let Some(here) = newest.iter().find(|version| version.at == mapped) {
            ByNumber::Newer(self.moved_on(*here, newest))
        } else {
            ByNumber::Unsure(Unsure { newest, chosen, mapped })
        }
    }
    /// The version that is newer than the one at the map's place, if there is one. `here` is the unit that
    /// was read from the map's place, if any.
    fn by_mapped(&self, unsure: &Unsure<'_>, here: Option<UnitRecord>) -> Option<Version> {
        let Unsure { newest, chosen, mapped } = *unsure;
        let Version { lpn, sequence, .. } = chosen;
        let Some(record) = here.filter(|unit| unit.lpn == lpn) else { return Some(chosen) };
        if record.sequence < sequence {
            return Some(chosen);
        }
        let here = Version { lpn, sequence, at: mapped, copy: record.copy };
        (record.sequence == sequence).then(|| self.moved_on(here, newest)).flatten()
    }
    /// The copy that counts instead of the version at the map's place, if it is a different one.
    fn moved_on(&self, here: Version, newest: &[Version]) -> Option<Version> {
        let to = self.follow(here, newest);
        (to.at != here.at).then_some(to)
    }
    /// The copy that counts instead of a version. Either all copies out of a block count or none. So if the
    /// block of a version has been collected, the next copy counts.
    fn follow(&self, from: Version, versions: &[Version]) -> Version {
        let mut at = from;
        while self.collected.contains(&BlockIndex(at.at.0 / self.units_per_block))
            && let Some(next) = Version::first_of(versions, |version| version.comes_after(at.copy))
        {
            at = next;
        }
        at
    }
}

impl<M: Mapping> Recovery<M> {
    /// Chooses the versions that are newer than what the map has.
    pub(super) async fn choose_versions(
        &self,
        log: &LogRead,
        probe: &Probe,
        trims: &Trims,
    ) -> Result<Vec<Version>, NoRecovery> {
        let last = log.last();
        let units_per_block = self.blocks.table().layout.units_per_block();
        let stale = StalePages::listed_by(log.headers(), units_per_block);
        let counts = |version: &Version| !stale.has(version.at);
        let mut versions: Vec<_> = probe.versions().iter().copied().filter(counts).collect();
        versions.sort_unstable();
        let choice = Choice { units_per_block, sequence: last.sequence, collected: &last.collected, trims };
        // Units of the map itself come first: the places of the host's units depend on them.
        let host_units = self.journal.own.host_units();
        let (host, own) = versions.split_at(versions.partition_point(|version| version.lpn.0 < host_units));
        let mut all = self.choose_among(&choice, own).await?;
        for &Version { lpn, at, .. } in &all {
            self.mapping.restore(lpn, at, false).await.map_err(|_| NoRecovery::Unreadable)?;
        }
        all.extend(self.choose_among(&choice, host).await?);
        Ok(all)
    }
    async fn choose_among(
        &self,
        choice: &Choice<'_>,
        versions: &[Version],
    ) -> Result<Vec<Version>, NoRecovery> {
        let (mut newer, mut unsure) = (Vec::new(), Vec::new());
        for of_page in versions.chunk_by(|a, b| a.lpn == b.lpn) {
            let mapped = self.mapping.look_up(of_page[0].lpn).await.map_err(|_| NoRecovery::Unreadable)?;
            match choice.by_number(of_page, mapped) {
                ByNumber::Newer(version) => newer.extend(version),
                ByNumber::Unsure(page) => unsure.push(page),
            }
        }
        self.compare_with_mapped(choice, &unsure, &mut newer).await;
        Ok(newer)
    }
    /// Reads the pages at the map's places, to compare them with the versions found.
    async fn compare_with_mapped(
        &self,
        choice: &Choice<'_>,
        unsure: &[Unsure<'_>],
        newer: &mut Vec<Version>,
    ) {
        let depth = self.runtime.geometry.total_luns() as usize;
        let (mut in_flight, mut next) = (VecDeque::new(), 0);
        loop {
            while next < unsure.len() && in_flight.len() < depth {
                let buffer = self.buffer_for(unsure[next].chosen.lpn, next % depth);
                let page = self.runtime.units.page_of(unsure[next].mapped);
                in_flight.push_back((next, self.begin_whole_read(page, buffer).await));
                next += 1;
            }
            let Some((n, tag)) = in_flight.pop_front() else { return };
            let outcome = self.media.done(tag).await;
            let buffer = self.buffer_for(unsure[n].chosen.lpn, n % depth);
            let here = match self.found(&outcome, buffer) {
                Probed::Page(record) => {
                    self.unit_found(&record, buffer, self.runtime.units.slot_of(unsure[n].mapped))
                }
                Probed::Erased | Probed::Torn => None,
            };
            newer.extend(choice.by_mapped(&unsure[n], here));
        }
    }
    /// A buffer for a page with this unit: units of the map itself are kept as bytes.
    fn buffer_for(&self, unit: Lpn, n: usize) -> BufferId {
        if unit.0 < self.journal.own.host_units() { self.data_buffer(n) } else { self.probe_buffer(n) }
    }
    /// Maps versions, and journals that.
    pub(super) async fn map_versions(&self, versions: &[Version]) -> Result<(), NoRecovery> {
        for &Version { lpn, at, .. } in versions {
            self.mapping.restore(lpn, at, false).await.map_err(|_| NoRecovery::Unreadable)?;
            self.blocks.table().outbox.push(LogEntry::Map { lpn, at });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::oob::COPIES;

    const UNITS_PER_BLOCK: u32 = 10;
    /// The last sequence number of the log, in all tests.
    const LOGGED: u64 = 60;
    const PAGE: Lpn = Lpn(3);

    fn version(block: u32, sequence: u64, copy: u8) -> Version {
        Version { lpn: PAGE, sequence, at: Upa(block * UNITS_PER_BLOCK), copy }
    }
    fn choice<'a>(collected: &'a [BlockIndex], trims: &'a Trims) -> Choice<'a> {
        Choice { units_per_block: UNITS_PER_BLOCK, sequence: LOGGED, collected, trims }
    }
    /// What is chosen by number if the map has the page in this block, and how many pages are unsure.
    fn chosen(versions: &[Version], mapped: Option<u32>, collected: &[u32]) -> (Vec<Version>, usize) {
        let mut sorted = versions.to_vec();
        sorted.sort_unstable();
        let mapped = mapped.map_or(Upa::NONE, |block| Upa(block * UNITS_PER_BLOCK));
        let collected: Vec<_> = collected.iter().copied().map(BlockIndex).collect();
        let trims = Trims::default();
        match choice(&collected, &trims).by_number(&sorted, mapped) {
            ByNumber::Newer(newer) => (newer.into_iter().collect(), 0),
            ByNumber::Unsure(_) => (Vec::new(), 1),
        }
    }

    /// Copies of a page with the same sequence number, each in a block of its own. Counts of copies wrap
    /// around.
    #[test]
    fn of_equal_numbers_the_count_of_copies_tells_which_came_out_of_which() {
        let trims = Trims::default();
        for first in 0..COPIES {
            let [one, two, three] = [7, 4, 9].map(BlockIndex);
            let versions =
                [(9, 2), (7, 0), (4, 1)].map(|(block, nth)| version(block, 70, (first + nth) % COPIES));
            let [last, origin, middle] = versions;
            assert_eq!(Version::first_of(&versions, |_| true), Some(origin));
            assert_eq!(Version::first_of(&versions, |version| *version != origin), Some(middle));
            // Copies out of a collected block count, and copies out of other blocks don't.
            for (collected, counts) in [
                (&[][..], origin),
                (&[one], middle),
                (&[one, two], last),
                (&[one, two, three], last),
                (&[two, three], origin),
            ] {
                let follow = choice(collected, &trims).follow(origin, &versions);
                assert_eq!(follow, counts, "{first} {collected:?}");
            }
        }
    }

    #[test]
    fn the_greatest_sequence_number_counts_where_nothing_is_mapped() {
        let [old, new] = [version(1, 20, 0), version(2, 30, 0)];
        assert_eq!(chosen(&[new, old], None, &[]), (std::vec![new], 0));
    }

    #[test]
    fn a_trim_that_came_later_leaves_a_page_unmapped() {
        for (sequence, trimmed) in [(41, true), (40, false)] {
            let trims = Trims::one(PAGE, 1, sequence);
            let versions = [version(1, 40, 0)];
            let newer = (!trimmed).then_some(versions[0]);
            let told = choice(&[], &trims).by_number(&versions, Upa::NONE);
            assert_eq!(told, ByNumber::Newer(newer), "{sequence}");
        }
    }

    #[test]
    fn a_number_that_the_log_does_not_know_is_newer_than_the_map() {
        let new = version(2, LOGGED + 1, 0);
        assert_eq!(chosen(&[new], Some(1), &[]), (std::vec![new], 0));
        // A version with a number that the log knows may be older than the map's.
        assert_eq!(chosen(&[version(2, LOGGED, 0)], Some(1), &[]), (std::vec![], 1));
    }

    #[test]
    fn a_copy_replaces_the_mapped_page_once_the_block_of_that_has_been_collected() {
        let [mapped, copy] = [version(1, 40, 0), version(2, 40, 1)];
        assert_eq!(chosen(&[mapped, copy], Some(1), &[]), (std::vec![], 0));
        assert_eq!(chosen(&[mapped, copy], Some(1), &[1]), (std::vec![copy], 0));
    }

    #[test]
    fn the_page_that_the_map_has_decides_where_numbers_do_not() {
        let found = [version(2, 40, 1)];
        let chosen = found[0];
        let unsure = Unsure { newest: &found, chosen, mapped: Upa(UNITS_PER_BLOCK) };
        let trims = Trims::default();
        let of = |collected: &[BlockIndex], here| choice(collected, &trims).by_mapped(&unsure, here);
        let unit = |lpn: u32, sequence| Some(UnitRecord { lpn: Lpn(lpn), sequence, copy: 0 });
        let data = |sequence| unit(PAGE.0, sequence);
        assert_eq!(of(&[], data(39)), Some(chosen), "an older version");
        assert_eq!(of(&[], data(41)), None, "a newer version");
        assert_eq!(of(&[], data(40)), None, "the page that was copied");
        assert_eq!(of(&[BlockIndex(1)], data(40)), Some(chosen), "the same, of a collected block");
        for nothing in [None, unit(PAGE.0 + 1, 50)] {
            assert_eq!(of(&[], nothing), Some(chosen), "{nothing:?}");
        }
    }
}
