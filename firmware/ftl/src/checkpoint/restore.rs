//! Rebuilding unreadable pages of a stored map from the readable ones.

use crate::checkpoint::state::Checkpoint;
use crate::journal::log_page::StoredMap;
use crate::journal::map_stripes::{self, StripePart};
use crate::mapping::Mapping;
use crate::terms::cause::Cause;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::BufferId;

/// What is left of a parity after all readable pages have been subtracted from it.
struct Left {
    sum: Vec<u8>,
    /// The unreadable pages of content. `sum` is the sum of these.
    lost: Vec<u32>,
}

fn content(part: StripePart) -> Option<u32> {
    match part {
        StripePart::Content(page) => Some(page),
        StripePart::Parity(_) | StripePart::GroupParity(_) => None,
    }
}

impl<M: Mapping> Checkpoint<M> {
    /// Rebuilds an unreadable page from the others of its stripe. If the stripe has lost two, the page is
    /// rebuilt from its group.
    #[cold]
    pub(crate) async fn restore_map_page(&self, stored: &StoredMap, page: u32, into: BufferId) -> bool {
        let of_stripe = self.left_of_stripe(stored, page).await;
        let content = match of_stripe {
            Some(Left { sum, lost }) if lost == [page] => Some(sum),
            of_stripe => self.restore_by_group(stored, page, of_stripe).await,
        };
        let Some(content) = content else { return false };
        self.pages.dram().borrow_mut().page_mut(into).copy_from_slice(&content);
        self.runtime.count(|s| s.map_pages_restored += 1);
        true
    }
    /// What is left of the parity of a page's stripe. `None` if that parity can't be read.
    async fn left_of_stripe(&self, stored: &StoredMap, page: u32) -> Option<Left> {
        let (mut left, mut parity) = (Left { sum: self.zeroes(), lost: Vec::new() }, false);
        for place in map_stripes::stripe_of(page, stored.pages) {
            let part = map_stripes::part_at(place, stored.pages);
            match self.read_part(stored, place).await {
                Some(buffer) => {
                    map_stripes::add(&mut left.sum, self.pages.dram().borrow().page(buffer));
                    parity |= matches!(part, StripePart::Parity(_));
                }
                None => left.lost.extend(content(part)),
            }
        }
        parity.then_some(left)
    }
    /// What is left of the parity of a page's group. A lost page of another stripe is rebuilt on the way if
    /// it is the only one lost there.
    async fn left_of_group(&self, stored: &StoredMap, page: u32) -> Option<Left> {
        let group = page / map_stripes::GROUP_PAGES;
        let parity = self.read_part(stored, map_stripes::group_parity_place(group, stored.pages)).await?;
        let mut left = Left { sum: self.pages.dram().borrow().page(parity).to_vec(), lost: Vec::new() };
        let of_page = map_stripes::stripe_of(page, stored.pages);
        for other in map_stripes::group_of(page, stored.pages) {
            let place = map_stripes::place_of(other);
            if let Some(buffer) = self.read_part(stored, place).await {
                map_stripes::add_to_group(&mut left.sum, other, self.pages.dram().borrow().page(buffer));
                continue;
            }
            let alone = match of_page.contains(&place) {
                true => None,
                false => self.left_of_stripe(stored, other).await.filter(|of| of.lost == [other]),
            };
            match alone {
                Some(Left { sum, .. }) => map_stripes::add_to_group(&mut left.sum, other, &sum),
                None => left.lost.push(other),
            }
        }
        Some(left)
    }
    async fn restore_by_group(
        &self,
        stored: &StoredMap,
        page: u32,
        of_stripe: Option<Left>,
    ) -> Option<Vec<u8>> {
        let Left { sum: mut of_group, lost } = self.left_of_group(stored, page).await?;
        match (&lost[..], of_stripe) {
            (&[last], _) if last == page => {
                map_stripes::the_last_of_group(&mut of_group, page);
                Some(of_group)
            }
            (&[one, other], Some(Left { sum: mut of_stripe, lost: of_both })) if of_both == lost => {
                map_stripes::the_last_two(&mut of_stripe, &mut of_group, one, other);
                Some(if one == page { of_stripe } else { of_group })
            }
            _ => None,
        }
    }
    /// Reads the page at a place of a stored map. `None` if it is unreadable or was never stored.
    async fn read_part(&self, stored: &StoredMap, place: u32) -> Option<BufferId> {
        let capacity = stored.blocks.len() as u64 * u64::from(self.runtime.geometry.pages_per_block);
        if u64::from(place) >= capacity {
            return None;
        }
        let buffer = self.pages.dram().borrow().metadata_buffer(self.runtime.buffers.scratch());
        let at = self.journal.own.map_place(&stored.blocks, place);
        let outcome = self.blocks.read(at, self.pages.whole(), buffer, Cause::Metadata).await;
        self.journal
            .own
            .is_part(stored, map_stripes::part_at(place, stored.pages), &outcome, buffer)
            .then_some(buffer)
    }
    fn zeroes(&self) -> Vec<u8> {
        vec![0; self.runtime.geometry.page_bytes as usize]
    }
}
