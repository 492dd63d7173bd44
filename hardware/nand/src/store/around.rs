//! The bits of a cell and of the cells around it, as they are in the array: encoded and scrambled.

use crate::config::NandConfig;
use crate::coupling::{Coupling, level};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::mix64;

/// The most bits of a cell.
const BITS_MAX: usize = 3;

/// What is known of the bits of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// All are ones: erased.
    Ones,
    /// The bits of data columns are in the buffer; parity and OOB count as random.
    Data(u64),
    /// All are in the buffer.
    All,
    /// None is known: they count as random.
    Nothing(u64),
}

/// Two word lines: the one that is read, and the next, which is programmed after it. Their buffers are
/// allocated once.
#[derive(Debug)]
pub(super) struct Around {
    pages: [Vec<u8>; 2 * BITS_MAX],
    known: [Known; 2 * BITS_MAX],
    /// Bits of a cell.
    bits: usize,
    /// Which columns carry data.
    is_data: Vec<bool>,
}

impl Around {
    /// Buffers for a drive of this configuration.
    pub(super) fn new(config: &NandConfig) -> Self {
        let (layout, raw) = (config.layout, config.geometry.raw_page_bytes() as usize);
        let mut is_data = vec![false; raw];
        for chunk in 0..layout.chunks() {
            let span = layout.chunk_data(chunk);
            is_data[usize::from(span.column.0)..span.end() as usize].fill(true);
        }
        let bits = usize::from(config.cells.bits());
        let mut pages: [Vec<u8>; 2 * BITS_MAX] = Default::default();
        pages[..2 * bits].iter_mut().for_each(|page| page.resize(raw, 0xff));
        Around { pages, known: [Known::Ones; 2 * BITS_MAX], bits, is_data }
    }

    /// Fills the buffers of both word lines, page by page. `page` gets the page's number, counted from the
    /// first word line's first page; it writes the page's bits into the buffer and returns what is known.
    pub(super) fn fill(&mut self, mut page: impl FnMut(usize, &mut Vec<u8>) -> Known) {
        for place in 0..2 * self.bits {
            self.known[place] = page(place, &mut self.pages[place]);
        }
    }

    /// A bit of a page of the word line that is read (pages `0 .. bits`) or of the next one.
    fn bit(&self, page: usize, position: u32) -> bool {
        let (byte, mask) = (position as usize / 8, 0x80u8 >> (position % 8));
        let random = |seed: u64| mix64(seed ^ u64::from(position)) & 1 != 0;
        match self.known[page] {
            Known::Ones => true,
            Known::Nothing(seed) => random(seed),
            Known::Data(seed) if !self.is_data[byte] => random(seed),
            Known::Data(_) | Known::All => self.pages[page][byte] & mask != 0,
        }
    }
    fn is_charged(&self, word_line: usize, position: u32) -> bool {
        (0..self.bits).any(|bit| !self.bit(word_line * self.bits + bit, position))
    }

    /// The factor for the expected errors of the cell at `position`, on a word line of `length` bits.
    pub(super) fn factor(&self, coupling: &Coupling, position: u32, length: u32) -> f64 {
        let victim = level((0..self.bits).map(|bit| self.bit(bit, position)));
        // Beside a cell at the edge, there is no programmed cell.
        let left = position > 0 && self.is_charged(0, position - 1);
        let right = position + 1 < length && self.is_charged(0, position + 1);
        coupling.factor(victim, [left, right, self.is_charged(1, position)])
    }
}
