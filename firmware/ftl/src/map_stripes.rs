//! How the pages of a stored map stand, so that one of them that can't be read any more is no loss.
//!
//! Pages of content stand in stripes of up to fifteen. Behind each stripe comes a page of parity, the exclusive or of them: any
//! one page of a stripe can be made from the others.

use core::ops::Range;

/// Pages of content in a stripe.
pub(crate) const CONTENT_PAGES: u32 = 15;
/// With the parity.
const STRIPE_PAGES: u32 = CONTENT_PAGES + 1;
/// What the OOB record of a page of parity has as its logical page, beside the stripe's number.
const PARITY: u32 = 1 << 31;

/// What stands at a place of a stored map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A page of block table or map.
    Content(u32),
    /// The parity of a stripe.
    Parity(u32),
}

impl Part {
    /// The logical page in its OOB record.
    pub(crate) fn lpn(self) -> u32 {
        match self {
            Part::Content(page) => page,
            Part::Parity(stripe) => PARITY | stripe,
        }
    }
}

/// Places that so many pages of content take.
pub(crate) const fn places(pages: u32) -> u32 {
    pages + pages.div_ceil(CONTENT_PAGES)
}
/// Where a page of content stands.
pub(crate) fn place_of(page: u32) -> u32 {
    page + page / CONTENT_PAGES
}
/// What stands at a place, of so many pages of content in all.
pub(crate) fn part_at(place: u32, pages: u32) -> Part {
    let (stripe, of_stripe) = (place / STRIPE_PAGES, place % STRIPE_PAGES);
    let page = stripe * CONTENT_PAGES + of_stripe;
    if of_stripe < CONTENT_PAGES && page < pages { Part::Content(page) } else { Part::Parity(stripe) }
}
/// The places of the stripe that a page of content is in.
pub(crate) fn stripe_of(page: u32, pages: u32) -> Range<u32> {
    let first = page / CONTENT_PAGES * STRIPE_PAGES;
    first..(first + STRIPE_PAGES).min(places(pages))
}
/// Adds a page to a parity, or takes it away.
pub(crate) fn add(parity: &mut [u8], page: &[u8]) {
    parity.iter_mut().zip(page).for_each(|(sum, byte)| *sum ^= byte);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_page_has_its_place_and_every_stripe_its_parity() {
        for pages in 1..70 {
            let parts: Vec<_> = (0..places(pages)).map(|place| part_at(place, pages)).collect();
            let content = |part: &Part| matches!(part, Part::Content(_));
            assert!(parts.iter().copied().filter(content).eq((0..pages).map(Part::Content)), "{pages}");
            assert_eq!(
                parts.iter().filter(|part| !content(part)).count() as u32,
                pages.div_ceil(15),
                "{pages}"
            );
            for page in 0..pages {
                assert_eq!(parts[place_of(page) as usize], Part::Content(page));
                let stripe = stripe_of(page, pages);
                assert!(stripe.contains(&place_of(page)) && stripe.len() <= 16);
                let stripe = &parts[stripe.start as usize..stripe.end as usize];
                let parity = Part::Parity(page / 15);
                assert_eq!(stripe.last(), Some(&parity), "{page} of {pages}");
                assert!(stripe.iter().filter(|part| !content(part)).eq([&parity]));
            }
        }
    }
}
