//! How the 64 bits of a row are divided. A row is a change of a map on flash.
//!
//! | bits, from the lowest on | meaning |
//! |---|---|
//! | 4 | the row's state, and how often it is pinned |
//! | enough to number a page's entries | the row's entry in its translation page |
//! | enough to number the drive's places | the place of the row's unit; 0 if it is unmapped |
//! | all others, 32 at most | the link to the next row of its translation page |
//!
//! Links number rows from 0 on. The highest links end lists, one for each translation page. So a row
//! identifies its unit although it doesn't contain the number of its translation page.

use aster_units::Upa;

/// Bytes of a row.
pub(crate) const ROW_BYTES: u64 = 8;
/// Bytes of a row whose link is stored outside of it, since its bits are too few to number all rows.
pub(crate) const FAR_ROW_BYTES: u64 = ROW_BYTES + 4;
/// Bytes of a count of pins outside of the rows.
pub(crate) const MANY_PINNED_BYTES: u64 = 8;
/// The low bits of a row, which say nothing about its unit.
pub(crate) const STATE_BITS: u32 = 4;

/// The most rows with three pins or more, which are counted outside of the rows, for this many pins plus a
/// temporary one.
pub(crate) const fn many_pinned_max(pins: u32) -> u32 {
    pins / 3 + 1
}

/// The widths of a drive's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowLayout {
    // Covers the entry where it is in the row.
    entry_mask: u64,
    place_shift: u32,
    // Covers the place after the row is shifted down.
    place_mask: u64,
    link_shift: u32,
    link_max: u32,
}

impl RowLayout {
    /// Rows of translation pages with `entries` entries, on a drive with `places` places. With 65,536 entries
    /// and 2^32 - 1 places, 12 bits are left for the link.
    pub(crate) const fn new(entries: u32, places: u32) -> Self {
        let place_shift = STATE_BITS + (u32::BITS - entries.saturating_sub(1).leading_zeros());
        let place_bits = u32::BITS - places.leading_zeros();
        let link_shift = place_shift + place_bits;
        RowLayout {
            entry_mask: (1 << place_shift) - (1 << STATE_BITS),
            place_shift,
            place_mask: (1 << place_bits) - 1,
            link_shift,
            link_max: if link_shift <= 32 { u32::MAX } else { (u64::MAX >> link_shift) as u32 },
        }
    }
    /// As this layout, with links of at most `bits` bits.
    #[cfg(test)]
    pub(crate) fn with_link_bits(self, bits: u32) -> Self {
        RowLayout { link_max: self.link_max.min(u32::MAX >> (32 - bits)), ..self }
    }
    /// The highest link.
    pub(crate) const fn link_max(&self) -> u32 {
        self.link_max
    }
    /// The number of rows that links can number in addition to the ends of this many lists.
    pub(crate) const fn rows_max(&self, pages: u32) -> u32 {
        (self.link_max as u64 + 1).saturating_sub(pages as u64) as u32
    }
    /// A row without a link, in state 0.
    pub(crate) fn row(&self, entry: u32, place: Upa) -> u64 {
        self.of_entry(entry) | self.of_place(place)
    }
    /// The bits of a row that contain this entry.
    pub(crate) fn of_entry(&self, entry: u32) -> u64 {
        let bits = u64::from(entry) << STATE_BITS;
        debug_assert!(bits & !self.entry_mask == 0, "an entry is one of its page's");
        bits
    }
    fn of_place(&self, place: Upa) -> u64 {
        let number = u64::from(place.0.wrapping_add(1));
        assert!(number <= self.place_mask, "{place:?} is beyond the drive's places");
        number << self.place_shift
    }
    /// Whether a row has the entry in these bits.
    pub(crate) fn is_of(&self, row: u64, of_entry: u64) -> bool {
        row & self.entry_mask == of_entry
    }
    /// A row's entry in its page.
    pub(crate) fn entry(&self, row: u64) -> u32 {
        ((row & self.entry_mask) >> STATE_BITS) as u32
    }
    /// The place of a row's unit.
    pub(crate) fn place(&self, row: u64) -> Upa {
        Upa(((row >> self.place_shift & self.place_mask) as u32).wrapping_sub(1))
    }
    /// The row with its unit in another place.
    pub(crate) fn with_place(&self, row: u64, place: Upa) -> u64 {
        row & !(self.place_mask << self.place_shift) | self.of_place(place)
    }
    /// A row's link.
    pub(crate) fn link(&self, row: u64) -> u32 {
        (row >> self.link_shift) as u32
    }
    /// The row with another link.
    pub(crate) fn with_link(&self, row: u64, link: u32) -> u64 {
        debug_assert!(link <= self.link_max, "a link fits its bits");
        row & ((1 << self.link_shift) - 1) | u64::from(link) << self.link_shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATE: u64 = (1 << STATE_BITS) - 1;

    /// 8 × 4 × 2 LUNs with 2,096 blocks of 512 pages of 16 KiB.
    #[test]
    fn a_terabyte_leaves_links_for_two_million_rows() {
        let layout = RowLayout::new(4096, 68_681_728);
        assert_eq!((layout.place_shift - STATE_BITS, layout.link_shift - layout.place_shift), (12, 27));
        assert_eq!((layout.link_max(), layout.rows_max(15_618)), ((1 << 21) - 1, (1 << 21) - 15_618));
    }

    #[test]
    fn the_widest_entries_and_places_leave_twelve_bits_and_the_narrowest_a_whole_link() {
        let widest = RowLayout::new(1 << 16, u32::MAX);
        assert_eq!((widest.link_max(), widest.rows_max(4096), widest.rows_max(5000)), (4095, 0, 0));
        let narrowest = RowLayout::new(1, 1);
        assert_eq!((narrowest.link_shift, narrowest.link_max()), (STATE_BITS + 1, u32::MAX));
    }

    #[test]
    #[should_panic(expected = "beyond the drive's places")]
    fn a_place_that_takes_more_bits_is_not_cut() {
        RowLayout::new(64, 1000).row(0, Upa(1023));
    }

    /// A number below `end`, most often one of the first or last.
    fn below(end: u32) -> impl Strategy<Value = u32> {
        prop_oneof![Just(0), Just(end - 1), 0..end]
    }

    proptest! {
        #[test]
        fn what_is_put_into_a_row_comes_out_of_it_and_leaves_the_rest(
            ((entries, places), (entry, place, to), state) in
                (prop_oneof![1..=1u32 << 16, Just(1 << 16)], prop_oneof![1..u32::MAX, Just(u32::MAX - 1)])
                    .prop_flat_map(|of| (
                        Just(of),
                        (below(of.0), below(of.1), below(of.1)),
                        0..=STATE,
                    )),
            links: [u32; 2],
        ) {
            let layout = RowLayout::new(entries, places);
            prop_assert!(layout.link_max() >= 4095);
            let links = links.map(|link| link & layout.link_max()).into_iter().chain([layout.link_max(), 0]);
            let mut row = layout.row(entry, Upa(place)) | state;
            prop_assert_eq!(layout.link(row), 0);
            for (link, to) in links.zip([Upa(to), Upa::NONE, Upa(places - 1), Upa(0)]) {
                let before = layout.place(row);
                row = layout.with_link(row, link);
                prop_assert_eq!((layout.link(row), layout.place(row)), (link, before));
                row = layout.with_place(row, to);
                prop_assert_eq!((layout.link(row), layout.place(row)), (link, to));
                prop_assert_eq!((layout.entry(row), row & STATE), (entry, state));
                prop_assert!(layout.is_of(row, layout.of_entry(entry)));
                let other = (entry + 1) % entries;
                prop_assert_eq!(layout.is_of(row, layout.of_entry(other)), other == entry);
            }
        }
    }
}
