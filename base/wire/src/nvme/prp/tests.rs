extern crate std;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

const PAGE: PageSize = PageSize::FOUR_KIB;

/// Host memory that holds only PRP list entries, by address.
type Lists = BTreeMap<u64, u64>;

/// The segments that a walk named, and the address and length of each list that it read.
type Walked = (Vec<Segment>, Vec<(u64, u32)>);

fn walk(prp1: u64, prp2: u64, bytes: u64, lists: &Lists) -> Result<Walked, PrpError> {
    let mut walk = PrpWalk::new(prp1, prp2, bytes, PAGE)?;
    let (mut list, mut segments, mut reads) = (vec![], vec![], vec![]);
    loop {
        match walk.step(&list)? {
            PrpStep::Segment(segment) => segments.push(segment),
            PrpStep::NeedList { address, entries } => {
                reads.push((address, entries));
                list = (0..u64::from(entries))
                    .flat_map(|i| lists.get(&(address + 8 * i)).copied().unwrap_or(0).to_le_bytes())
                    .collect();
            }
            PrpStep::Done => return Ok((segments, reads)),
        }
    }
}

/// Lays a list out for `pages` as a driver does, from `at` on, chaining into the pages of `more`.
fn lay_out(pages: &[u64], at: u64, more: impl IntoIterator<Item = u64>) -> Lists {
    let (mut lists, mut at, mut more) = (Lists::new(), at, more.into_iter());
    for (i, &page) in pages.iter().enumerate() {
        if at % 4096 == 4088 && i + 1 < pages.len() {
            let next = more.next().unwrap();
            lists.insert(at, next);
            at = next;
        }
        lists.insert(at, page);
        at += 8;
    }
    lists
}

#[test]
fn one_page_needs_only_prp1_even_when_prp2_is_garbage() {
    let (segments, reads) = walk(0x1_0000, 0x7, 4096, &Lists::new()).unwrap();
    assert_eq!((segments, reads.len()), (vec![Segment { address: 0x1_0000, bytes: 4096 }], 0));
    let (segments, _) = walk(0x1_0e00, 0x7, 512, &Lists::new()).unwrap();
    assert_eq!(segments, [Segment { address: 0x1_0e00, bytes: 512 }]);
}

#[test]
fn a_transfer_over_one_page_end_uses_prp2_as_a_page() {
    let (segments, _) = walk(0x1_0800, 0x9_0000, 4096, &Lists::new()).unwrap();
    assert_eq!(
        segments,
        [Segment { address: 0x1_0800, bytes: 2048 }, Segment { address: 0x9_0000, bytes: 2048 }]
    );
}

#[test]
fn a_list_may_begin_anywhere_in_its_page_and_then_chains_early() {
    // Two entries fit before the page's end, three pages are left: one page, then the pointer.
    let lists = lay_out(&[0x2_0000, 0x3_0000, 0x4_0000], 0x8_0ff0, [0x9_0000]);
    let (segments, reads) = walk(0x1_0004, 0x8_0ff0, 3 * 4096, &lists).unwrap();
    let addresses: Vec<_> = segments.iter().map(|s| s.address).collect();
    assert_eq!(addresses, [0x1_0004, 0x2_0000, 0x3_0000, 0x4_0000]);
    assert_eq!(segments.last().unwrap().bytes, 4);
    assert_eq!(reads, [(0x8_0ff0, 2), (0x9_0000, 2)]);
}

#[test]
fn a_list_page_that_is_exactly_full_has_no_pointer() {
    let pages: Vec<u64> = (0..512).map(|i| 0x100_0000 + i * 4096).collect();
    let lists = lay_out(&pages, 0x8_0000, []);
    let (segments, reads) = walk(0x1_0000, 0x8_0000, 513 * 4096, &lists).unwrap();
    assert_eq!((segments.len(), reads), (513, vec![(0x8_0000, 512)]));
    assert_eq!(segments[512].address, pages[511]);
    assert_eq!(PrpShape::of(0, 513 * 4096, PAGE), PrpShape::List { data_entries: 512, list_pages: 1 });
    assert_eq!(PrpShape::of(0, 514 * 4096, PAGE), PrpShape::List { data_entries: 513, list_pages: 2 });
}

#[test]
fn every_misplaced_offset_is_an_error_of_its_own() {
    let none = Lists::new();
    assert_eq!(walk(0x1002, 0, 512, &none), Err(PrpError::UnalignedPrp1(PrpEntry(0x1002))));
    assert_eq!(walk(0x1000, 0x2010, 8192, &none), Err(PrpError::OffsetInPrp2(PrpEntry(0x2010))));
    assert_eq!(walk(0x1000, 0x2004, 12288, &none), Err(PrpError::UnalignedList(PrpEntry(0x2004))));
    let lists = lay_out(&[0x3000, 0x4008], 0x2000, []);
    let error = PrpError::OffsetInList { entry: PrpEntry(0x4008), index: 1 };
    assert_eq!(walk(0x1000, 0x2000, 12288, &lists), Err(error));
    let lists = lay_out(&[0x3000, 0x4000], 0x2ff8, [0x5008]);
    assert_eq!(walk(0x1000, 0x2ff8, 12288, &lists), Err(PrpError::OffsetInChain(PrpEntry(0x5008))));
}

#[test]
fn no_data_needs_nothing() {
    assert_eq!(walk(0x3, 0x5, 0, &Lists::new()), Ok((vec![], vec![])));
    assert_eq!(PrpShape::of(12, 0, PAGE), PrpShape::None);
    assert_eq!(PrpShape::of(4092, 4, PAGE), PrpShape::One);
    assert_eq!(PrpShape::of(4092, 5, PAGE), PrpShape::Two);
}

proptest! {
    #[test]
    fn what_a_driver_lays_out_is_what_the_walk_yields(
        offset in (0u64..1024).prop_map(|dwords| dwords * 4), bytes in 1u64..5_000_000,
        start in (0u64..512).prop_map(|n| n * 8),
    ) {
        let count = prp_entries(offset, bytes, PAGE);
        let pages: Vec<u64> = (0..count).map(|i| 0x1_0000_0000 + (i * 7919 % 100_003) * 4096).collect();
        let list = 0x4000_0000 + start;
        let lists = lay_out(&pages[1..], list, (1..).map(|i| 0x4000_0000 + i * 8192));
        let prp2 = if count == 2 { pages[1] } else { list };
        let (segments, reads) = walk(pages[0] + offset, prp2, bytes, &lists).unwrap();
        prop_assert_eq!(segments.iter().map(|s| u64::from(s.bytes)).sum::<u64>(), bytes);
        prop_assert_eq!(segments.iter().map(|s| PAGE.offset(s.address)).sum::<u64>(), offset);
        let bases: Vec<u64> = segments.iter().map(|s| PrpEntry(s.address).base(PAGE)).collect();
        prop_assert_eq!(bases, pages);
        if start == 0 {
            let expected = match PrpShape::of(offset, bytes, PAGE) {
                PrpShape::List { list_pages, .. } => list_pages,
                _ => 0,
            };
            prop_assert_eq!(reads.len() as u64, expected);
        }
    }

    /// Whole pages at once are those that a walk names step by step, and what is wrong with a list is found
    /// at the same place.
    #[test]
    fn whole_pages_at_once_are_those_of_single_steps(
        offset in 0u64..1024, bytes in 1u64..3_000_000, start in 500u64..512, wrong in 0usize..2000,
    ) {
        let entry = |index: usize, n: u32| {
            let address = (index as u64 + 7) << 12;
            if index == wrong { address + u64::from(n) } else { address }
        };
        let new = || PrpWalk::new(4096 + offset * 4, 1 << 40 | (start * 8), bytes, PAGE).unwrap();
        let (mut slow, mut fast) = (new(), new());
        let (mut list, mut named) = (vec![], 0);
        loop {
            let mut pages = [0; 40];
            let taken = fast.take_whole_pages(&list, &mut pages);
            for address in &pages[..taken] {
                let whole = Segment { address: *address, bytes: 4096 };
                prop_assert_eq!(slow.step(&list), Ok(PrpStep::Segment(whole)));
            }
            let step = slow.step(&list);
            prop_assert_eq!(&fast.step(&list), &step);
            prop_assert_eq!(&fast, &slow);
            match step {
                Ok(PrpStep::NeedList { entries, .. }) => {
                    let number = |i: u32| entry(named + i as usize, entries);
                    list = (0..entries).flat_map(|i| number(i).to_le_bytes()).collect();
                    named += entries as usize;
                }
                Ok(PrpStep::Segment(_)) => {}
                Ok(PrpStep::Done) | Err(_) => break,
            }
        }
    }

    /// A walk ends whatever a guest puts into the lists: each list page names at least one page or is the
    /// last.
    #[test]
    fn hostile_entries_never_panic_or_loop(
        prp1: u64, prp2: u64, bytes in 0u64..3_000_000, entries: Vec<u64>, aligned: bool,
    ) {
        let mask = if aligned { !4095 } else { u64::MAX };
        let mut walk = PrpWalk { prp1: PrpEntry(prp1 & mask), prp2: PrpEntry(prp2 & mask), page: PAGE,
            left: bytes,
            position: Position::Prp1 };
        let mut list = vec![];
        for step in 0.. {
            prop_assert!(step <= 2 * (bytes / 4096 + 3));
            match walk.step(&list) {
                Ok(PrpStep::Done) | Err(_) => break,
                Ok(PrpStep::Segment(segment)) => prop_assert!(segment.bytes > 0 && segment.bytes <= 4096),
                Ok(PrpStep::NeedList { entries: n, .. }) => {
                    prop_assert!(n > 0 && n <= 512);
                    let mut from = entries.iter().cycle();
                    list = (0..n).flat_map(|_| (from.next().unwrap_or(&0) & mask).to_le_bytes()).collect();
                }
            }
        }
    }
}
