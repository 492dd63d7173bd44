//! Wear between regions, on groups without a flash.

use super::{GroupPlace, GroupState, Groups, RegionConfig};
use crate::driver::ArrayInfo;
use crate::ftl::frontier::{Frontier, Stream};
use crate::ftl::place::PagePlace;
use alloc::collections::BTreeMap;
use alloc::vec;
use aster_parties::{ClosedBlocks, VictimPolicy};
use aster_units::{BlockAddr, Rng};

const INFO: ArrayInfo =
    ArrayInfo { channels: 1, lanes: 2, dies: 2, planes: 1, blocks: 32, pages: 4, sectors: 1 };

fn at(die: u8, group: u16) -> GroupPlace {
    GroupPlace { channel: 0, die, group }
}

#[derive(Debug)]
struct Emptiest;

impl VictimPolicy for Emptiest {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.oldest_of_fewest_valid()
    }
}

/// Fills a group of a die, and closes it.
fn fill(groups: &mut Groups, die: u8) -> GroupPlace {
    let of = at(die, groups.open(0, die, false).unwrap());
    for n in 0..8 {
        let page = of.page(n / 2, (n % 2) as u8);
        groups.begin(page);
        groups.gained(page);
        groups.end(page);
    }
    groups.close(of);
    of
}

#[test]
fn the_hottest_data_of_the_region_that_wears_most_leave_it() {
    let config = RegionConfig { percent: 20.0, groups: 3, accesses: 4 };
    let known =
        |worn| -> BTreeMap<_, _> { (0..32).flat_map(|n| [(at(0, n), 10), (at(1, n), worn)]).collect() };
    let of = |worn| {
        let mut groups = Groups::first(&INFO, |_, _, _, _| false).levelled().with_regions(Some(config));
        groups.found_erases(&known(worn));
        groups
    };
    // 12 are 9 % above the mean of 11, and 16 are 23 % above that of 13.
    let mut groups = of(12);
    let first = fill(&mut groups, 1);
    groups.accessed(first);
    assert_eq!(groups.leaves_region(), None);
    let mut groups = of(16);
    assert_eq!(groups.leaves_region(), None, "nothing is written");
    let (first, second) = (fill(&mut groups, 1), fill(&mut groups, 1));
    let elsewhere = fill(&mut groups, 0);
    assert_eq!(groups.leaves_region(), None, "nobody has accessed it");
    [first, second, second, elsewhere].into_iter().for_each(|of| groups.accessed(of));
    assert_eq!(groups.leaves_region(), Some((second, (0, 0))));
    // The four latest accesses count.
    [first, first, elsewhere].into_iter().for_each(|of| groups.accessed(of));
    assert_eq!(groups.leaves_region(), Some((first, (0, 0))));
    // What was accessed before its erase is forgotten.
    for n in 0..8 {
        groups.lost(first.page(n / 2, (n % 2) as u8));
    }
    groups.erased(first);
    groups.release(first);
    [elsewhere; 4].into_iter().for_each(|of| groups.accessed(of));
    assert_eq!(groups.leaves_region(), None);
    assert_eq!(Groups::first(&INFO, |_, _, _, _| false).leaves_region(), None, "without the keys");
}

/// M of H30: three groups leave together, also if the region wears less than the percentage meanwhile.
#[test]
fn as_many_groups_leave_a_region_together_as_the_profile_says() {
    let config = RegionConfig { percent: 20.0, groups: 3, accesses: 4 };
    let mut groups = Groups::first(&INFO, |_, _, _, _| false).levelled().with_regions(Some(config));
    let wears = |groups: &mut Groups, worn| {
        groups.found_erases(&(0..32).flat_map(|n| [(at(0, n), 10), (at(1, n), worn)]).collect());
    };
    wears(&mut groups, 16);
    let hot = fill(&mut groups, 1);
    [hot; 4].into_iter().for_each(|of| groups.accessed(of));
    assert_eq!(groups.leaves_region(), Some((hot, (0, 0))));
    wears(&mut groups, 12);
    let two_more: [_; 3] = core::array::from_fn(|_| groups.leaves_region().is_some());
    assert_eq!(two_more, [true, true, false]);
}

/// A region with half of the groups gets half of what is written, and so twice the erases, unless the host
/// writes elsewhere (H29). Returns by how many erases the means of the two regions differ.
fn worn(window: Option<u32>) -> f64 {
    let mut groups = Groups::first(&INFO, |_, die, _, block| die == 1 && block >= 16).levelled();
    let mut frontier = Frontier::new(&INFO).with_window(window);
    let mut rng = Rng::new(5);
    let (mut map, mut held) = (vec![None::<PagePlace>; 200], BTreeMap::<PagePlace, usize>::new());
    let write =
        |groups: &mut Groups, frontier: &mut Frontier, map: &mut [Option<PagePlace>], n: usize, stream| {
            let reserve = if stream == Stream::Host { 2 } else { 0 };
            let next = frontier.next(groups, stream, reserve).expect("there is room");
            if next.opens && groups.must_be_erased(next.at.group()) {
                groups.erased(next.at.group());
            }
            groups.begin(next.at);
            groups.end(next.at);
            groups.gained(next.at);
            if let Some(before) = map[n].replace(next.at) {
                groups.lost(before);
            }
            next.at
        };
    for _ in 0..60_000 {
        while groups.all_free() <= 6 {
            let victim = groups.empty().or_else(|| groups.chosen(&mut Emptiest, true)).expect("a victim");
            for page in (0..8).map(|n| victim.page(n / 2, (n % 2) as u8)) {
                let Some(n) = held.get(&page).copied().filter(|&n| map[n] == Some(page)) else { continue };
                held.insert(write(&mut groups, &mut frontier, &mut map, n, Stream::Copies), n);
            }
            groups.erased(victim);
            groups.release(victim);
        }
        let n = rng.below(200) as usize;
        held.insert(write(&mut groups, &mut frontier, &mut map, n, Stream::Host), n);
    }
    let mean = |die, count: u16| {
        let all: u32 = (0..count).map(|n| groups.erases(at(die, n))).sum();
        f64::from(all) / f64::from(count)
    };
    assert!(groups.all().into_iter().any(|of| groups.state(of) == GroupState::Free));
    (mean(1, 16) - mean(0, 32)).abs()
}

#[test]
fn new_data_stay_out_of_a_region_that_wears_more_than_another() {
    let (without, with) = (worn(None), worn(Some(8)));
    assert!(without > 100.0 && with < 12.0, "{without}, {with}");
}
