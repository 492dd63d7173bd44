//! Which chunks of a page have wrong bits. Most pages have few of them, or none.

use alloc::boxed::Box;
use alloc::vec;
use aster_ports::layout::PageLayout;

/// The chunks of a page that have wrong bits, one bit each. Its memory is allocated once.
pub(super) struct Hits(Box<[u64]>);

const BITS: u16 = u64::BITS as u16;

impl Hits {
    pub(super) fn new(layout: &PageLayout) -> Self {
        Hits(vec![0; usize::from(layout.chunks().div_ceil(BITS))].into_boxed_slice())
    }
    /// Looks for the chunks whose data or parity has one of `flips`, positions of bits in the raw page.
    pub(super) fn find(&mut self, layout: &PageLayout, flips: &[u32]) {
        self.0.fill(0);
        for chunk in flips.iter().filter_map(|flip| layout.chunk_at(flip / 8)) {
            self.0[usize::from(chunk / BITS)] |= 1 << (chunk % BITS);
        }
    }
    /// The first one from chunk `from` on that comes before chunk `end`.
    #[inline]
    pub(super) fn next(&self, from: u16, end: u16) -> Option<u16> {
        let mut word = usize::from(from / BITS);
        let mut bits = self.0.get(word)? & u64::MAX << (from % BITS);
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        let chunk = word as u16 * BITS + bits.trailing_zeros() as u16;
        (chunk < end).then_some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use aster_ports::layout::{Placement, Span};
    use proptest::prelude::*;

    proptest! {
        /// The slow twin looks at each chunk.
        #[test]
        fn chunks_are_found_that_have_a_wrong_bit(
            shape in prop_oneof![Just((4u8, 256u16, 21u16)), Just((8, 256, 21)), Just((2, 1_024, 70))],
            placement in prop_oneof![Just(Placement::Spare), Just(Placement::Interleaved)],
            flips in prop::collection::btree_set(0u32..36_096 * 8, 0..40),
            from in 0u16..300,
            end in 0u16..300,
        ) {
            let (sectors, chunk_bytes, parity_bytes) = shape;
            let raw = 36_096;
            let layout = PageLayout::new(sectors, raw, chunk_bytes, parity_bytes, 16, placement).unwrap();
            let flips: Vec<u32> = flips.into_iter().collect();
            let mut hits = Hits::new(&layout);
            hits.find(&layout, &[0, 8 * (raw / 2)]);
            hits.find(&layout, &flips);
            let has = |span: Span| {
                flips.iter().any(|flip| (u32::from(span.column.0)..span.end()).contains(&(flip / 8)))
            };
            let is_hit = |chunk: &u16| has(layout.chunk_data(*chunk)) || has(layout.chunk_parity(*chunk));
            let slow: Vec<u16> = (from..end.min(layout.chunks())).filter(is_hit).collect();
            let (mut fast, mut next) = (Vec::new(), from);
            while let Some(chunk) = hits.next(next, end) {
                fast.push(chunk);
                next = chunk + 1;
            }
            prop_assert_eq!(fast, slow);
        }
    }
}
