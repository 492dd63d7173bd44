//! How the pages of a stored map are laid out, so that two unreadable pages are no loss.
//!
//! Content pages form stripes of up to fifteen. After each stripe comes a parity page, the exclusive or of
//! its pages: any one page of a stripe can be rebuilt from the others. Sixteen stripes form a group. After
//! the last stripe comes one more parity page for each group: a sum over the group's content in which each
//! page has a coefficient of its own. Together with a stripe's parity it restores two pages of that stripe.
//! If a stripe has lost its parity and one page, the group's parity alone restores the page. Locally
//! repairable codes are built in this way. The second kind of parity costs one page in 240 instead of one in
//! fifteen.
//!
//! A map has as many group parities as the blocks set aside for it have room for. The map of a drive that was
//! never written has none.

use crate::terms::sizes::CONTENT_PAGES;
use core::ops::Range;

/// Including the parity.
const STRIPE_PAGES: u32 = CONTENT_PAGES + 1;
/// This bit, with the stripe's number, is the logical page in a parity page's OOB record.
const PARITY: u32 = 1 << 31;
/// As [`PARITY`], for the parity of a group.
const GROUP_PARITY: u32 = 3 << 30;
/// Content pages in a group: each needs a coefficient of its own, and there are 255.
pub(crate) const GROUP_PAGES: u32 = 16 * CONTENT_PAGES;

/// What lies at a place of a stored map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StripePart {
    /// A page of the block table or the map.
    Content(u32),
    /// The parity of a stripe.
    Parity(u32),
    /// The parity of a group of stripes.
    GroupParity(u32),
}

impl StripePart {
    /// The logical page in its OOB record.
    pub(crate) fn lpn(self) -> u32 {
        match self {
            StripePart::Content(page) => page,
            StripePart::Parity(stripe) => PARITY | stripe,
            StripePart::GroupParity(group) => GROUP_PARITY | group,
        }
    }
}

/// Places that this many content pages take, including the parity of their stripes.
pub(crate) const fn places(pages: u32) -> u32 {
    pages + pages.div_ceil(CONTENT_PAGES)
}
/// The place of a content page.
pub(crate) fn place_of(page: u32) -> u32 {
    page + page / CONTENT_PAGES
}
/// Groups of stripes that this many content pages form.
pub(crate) const fn groups(pages: u32) -> u32 {
    pages.div_ceil(GROUP_PAGES)
}
/// The place of a group's parity, if it is stored.
pub(crate) const fn group_parity_place(group: u32, pages: u32) -> u32 {
    places(pages) + group
}
/// The content pages in a group.
pub(crate) fn group_of(page: u32, pages: u32) -> Range<u32> {
    let first = page / GROUP_PAGES * GROUP_PAGES;
    first..(first + GROUP_PAGES).min(pages)
}
/// What lies at a place of a map with this many content pages.
pub(crate) fn part_at(place: u32, pages: u32) -> StripePart {
    if let Some(group) = place.checked_sub(places(pages)) {
        return StripePart::GroupParity(group);
    }
    let (stripe, of_stripe) = (place / STRIPE_PAGES, place % STRIPE_PAGES);
    let page = stripe * CONTENT_PAGES + of_stripe;
    if of_stripe < CONTENT_PAGES && page < pages {
        StripePart::Content(page)
    } else {
        StripePart::Parity(stripe)
    }
}
/// The places of the stripe that a content page is in.
pub(crate) fn stripe_of(page: u32, pages: u32) -> Range<u32> {
    let first = page / CONTENT_PAGES * STRIPE_PAGES;
    first..(first + STRIPE_PAGES).min(places(pages))
}
/// Adds a page to a parity, or subtracts it.
pub(crate) fn add(parity: &mut [u8], page: &[u8]) {
    parity.iter_mut().zip(page).for_each(|(sum, byte)| *sum ^= byte);
}
/// Adds a page of content to the parity of its group, or takes it away.
///
/// A row is doubled and added for each bit of the factor, which the compiler makes vectors of.
pub(crate) fn add_to_group(parity: &mut [u8], page: u32, content: &[u8]) {
    let factor = coefficient(page);
    let (rows, rest) = parity.as_chunks_mut::<ROW>();
    let (of_rows, of_rest) = content.as_chunks::<ROW>();
    for (sum, row) in rows.iter_mut().zip(of_rows) {
        let (mut power, mut left) = (*row, factor);
        loop {
            if left & 1 == 1 {
                add(sum, &power);
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            power.iter_mut().for_each(|byte| *byte = double(*byte));
        }
    }
    let factor = Multiple::of(factor);
    rest.iter_mut().zip(of_rest).for_each(|(sum, &byte)| *sum ^= factor.times(byte));
}
/// Restores a page from what is left of its group's parity after all other pages of the group were
/// subtracted.
pub(crate) fn the_last_of_group(left: &mut [u8], page: u32) {
    let factor = Multiple::of(inverse(coefficient(page)));
    left.iter_mut().for_each(|byte| *byte = factor.times(*byte));
}
/// Restores two pages of one stripe, `one` and `other`, from what is left of the stripe's and the group's
/// parity after all other pages were subtracted. `of_stripe` becomes the first page, `of_group` the other
/// one.
pub(crate) fn the_last_two(of_stripe: &mut [u8], of_group: &mut [u8], one: u32, other: u32) {
    let (a, b) = (coefficient(one), coefficient(other));
    // x + y = p and a x + b y = q, so x = (q + b p) / (a + b).
    let (b, divided) = (Multiple::of(b), Multiple::of(inverse(a ^ b)));
    for (p, q) in of_stripe.iter_mut().zip(of_group) {
        let x = divided.times(*q ^ b.times(*p));
        (*p, *q) = (x, *p ^ x);
    }
}

/// Bytes that are multiplied at a time.
const ROW: usize = 64;

/// GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1, in which x generates all 255 elements but 0.
const FIELD: u8 = 0x1D;

fn double(value: u8) -> u8 {
    (value << 1) ^ if value >> 7 == 1 { FIELD } else { 0 }
}
/// The coefficient of a page in the parity of its group.
fn coefficient(page: u32) -> u8 {
    (0..page % GROUP_PAGES).fold(1, |power, _| double(power))
}
fn inverse(value: u8) -> u8 {
    // value^254, as value^255 is 1.
    let by = Multiple::of(value);
    (0..253).fold(value, |power, _| by.times(power))
}

/// The multiples of an element: its products with all values of a byte's low half and of its high half.
struct Multiple([[u8; 16]; 2]);

impl Multiple {
    fn of(factor: u8) -> Self {
        let times = |byte: u8| {
            let (sum, _) = (0..8).fold((0, factor), |(sum, power), bit| {
                (if byte >> bit & 1 == 1 { sum ^ power } else { sum }, double(power))
            });
            sum
        };
        let half = |shift: u32| core::array::from_fn(|nibble| times((nibble as u8) << shift));
        Multiple([half(0), half(4)])
    }
    fn times(&self, byte: u8) -> u8 {
        self.0[0][usize::from(byte & 0xF)] ^ self.0[1][usize::from(byte >> 4)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_page_has_its_place_and_every_stripe_its_parity() {
        for pages in 1..70 {
            let parts: Vec<_> = (0..places(pages)).map(|place| part_at(place, pages)).collect();
            let content = |part: &StripePart| matches!(part, StripePart::Content(_));
            assert!(parts.iter().copied().filter(content).eq((0..pages).map(StripePart::Content)), "{pages}");
            assert_eq!(
                parts.iter().filter(|part| !content(part)).count() as u32,
                pages.div_ceil(15),
                "{pages}"
            );
            for page in 0..pages {
                assert_eq!(parts[place_of(page) as usize], StripePart::Content(page));
                let stripe = stripe_of(page, pages);
                assert!(stripe.contains(&place_of(page)) && stripe.len() <= 16);
                let stripe = &parts[stripe.start as usize..stripe.end as usize];
                let parity = StripePart::Parity(page / 15);
                assert_eq!(stripe.last(), Some(&parity), "{page} of {pages}");
                assert!(stripe.iter().filter(|part| !content(part)).eq([&parity]));
            }
        }
    }

    #[test]
    fn a_page_is_added_to_its_group_as_one_byte_after_the_other_is() {
        for page in [0, 1, 2, 77, GROUP_PAGES - 1] {
            let times = Multiple::of(coefficient(page));
            for length in [1, 63, 64, 65, 200, 4096] {
                let content: Vec<u8> = noise(page).into_iter().cycle().take(length).collect();
                let mut parity: Vec<u8> = (0..length).map(|at| at as u8).collect();
                let bytes = parity.iter().zip(&content).map(|(sum, &byte)| sum ^ times.times(byte));
                let one_by_one: Vec<u8> = bytes.collect();
                add_to_group(&mut parity, page, &content);
                assert_eq!(parity, one_by_one, "page {page}, {length} bytes");
            }
        }
    }

    fn noise(page: u32) -> Vec<u8> {
        (0..64).map(|byte| aster_units::mix64(u64::from(page) << 8 | byte) as u8).collect()
    }

    #[test]
    fn every_page_of_a_group_has_a_coefficient_of_its_own() {
        let mut all: Vec<u8> = (0..GROUP_PAGES).map(coefficient).collect();
        assert!(all.iter().all(|&c| c != 0 && Multiple::of(c).times(inverse(c)) == 1));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len() as u32, GROUP_PAGES);
    }

    #[test]
    fn any_two_pages_of_a_stripe_and_any_one_of_a_group_come_back() {
        let pages = 1..GROUP_PAGES;
        let mut of_group = std::vec![0; 64];
        pages.clone().for_each(|page| add_to_group(&mut of_group, page, &noise(page)));
        for page in pages.clone() {
            let mut left = of_group.clone();
            pages.clone().filter(|&other| other != page).for_each(|other| {
                add_to_group(&mut left, other, &noise(other));
            });
            the_last_of_group(&mut left, page);
            assert_eq!(left, noise(page), "{page}");
        }
        for stripe in [0, 7, 15] {
            let first = stripe * CONTENT_PAGES;
            for one in first.max(1)..first + CONTENT_PAGES {
                for other in one + 1..first + CONTENT_PAGES {
                    let (mut p, mut q) = (noise(one), std::vec![0; 64]);
                    add(&mut p, &noise(other));
                    [one, other].iter().for_each(|&page| add_to_group(&mut q, page, &noise(page)));
                    the_last_two(&mut p, &mut q, one, other);
                    assert_eq!((p, q), (noise(one), noise(other)), "{one} {other}");
                }
            }
        }
    }

    #[test]
    fn the_parity_of_the_groups_stands_behind_all_stripes() {
        for pages in [1, 15, 16, 239, 240, 241, 700] {
            let first = group_parity_place(0, pages);
            assert_eq!(first, places(pages));
            for group in 0..groups(pages) {
                assert_eq!(part_at(first + group, pages), StripePart::GroupParity(group));
            }
            assert!((0..pages).all(|page| group_of(page, pages).contains(&page)));
            assert_eq!(group_of(pages - 1, pages).end, pages);
        }
    }
}
