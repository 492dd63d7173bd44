//! The bits of a cell and of those around it, as they lie in the array: coded and scrambled.

use super::Die;
use super::side::Form;
use crate::config::NandConfig;
use crate::coupling::{Coupling, level};
use crate::variant::word_line;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::Scrambler;
use aster_units::{BlockAddr, Content, PageInBlock, mix64};

/// Bits of a cell at most.
const BITS_MAX: usize = 3;

/// What is known of the bits of a page.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// All are ones: erased.
    Ones,
    /// Those of data columns lie in the buffer; parity and OOB are as good as random.
    Data(u64),
    /// All lie in the buffer.
    All,
    /// None: random.
    Nothing(u64),
}

/// Two word lines: the one that is read, and the next, which is programmed after it. Buffers are made once.
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
    /// Of a drive of this shape.
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

    /// A bit of a page of the word line that is read (`0 .. bits`) or of the next.
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

    /// What the cell at `position` of the word line's `length` bits is in for.
    pub(super) fn factor(&self, coupling: &Coupling, position: u32, length: u32) -> f64 {
        let victim = level((0..self.bits).map(|bit| self.bit(bit, position)));
        // A cell at the edge has nothing beside it that was ever programmed.
        let left = position > 0 && self.is_charged(0, position - 1);
        let right = position + 1 < length && self.is_charged(0, position + 1);
        coupling.factor(victim, [left, right, self.is_charged(1, position)])
    }
}

impl Die {
    /// The two word lines of a page. The caller gives them back.
    pub(super) fn look_around(&mut self, block: BlockAddr, page: PageInBlock) -> Box<Around> {
        let mut around = self.around.take().expect("kept where cells lift each other, and given back");
        let first = word_line(self.config.cells, page).0;
        for place in 0..2 * around.bits {
            let page = PageInBlock(first.saturating_add(place as u16));
            around.known[place] = self.bits_of(block, page, &mut around.pages[place]);
        }
        around
    }

    fn bits_of(&mut self, block: BlockAddr, page: PageInBlock, into: &mut [u8]) -> Known {
        let state = &self.blocks[block.index()];
        if !state.holds(page, self.config.cells) {
            return Known::Ones;
        }
        let random = mix64(!self.page_seed(block, page, state.erases)).rotate_left(1);
        let key = self.key(block, page);
        let side = self.side.get(key);
        let seed = side.and_then(|entry| entry.seed).unwrap_or_else(|| self.derived_seed(block, page));
        let form = side.map_or(Form::Plain, |entry| entry.form);
        match form {
            Form::Blank => return Known::Ones,
            Form::Raw => {
                self.side_bytes(key, block, page, into);
                return Known::All;
            }
            // A fingerprint doesn't tell.
            Form::Plain if self.config.content == Content::Fingerprint => return Known::Nothing(random),
            Form::Plain | Form::Whole => {}
        }
        let mut data = core::mem::take(&mut self.scratch);
        data.resize(self.config.geometry.page_bytes as usize, 0xff);
        self.plain_bytes(form, key, block, page, &mut data);
        let chunk_bytes = usize::from(self.config.layout.chunk_bytes());
        for (chunk, bytes) in data.chunks_exact(chunk_bytes).enumerate() {
            let at = usize::from(self.config.layout.chunk_data(chunk as u16).column.0);
            into[at..at + chunk_bytes].copy_from_slice(bytes);
            if seed != 0 {
                Scrambler::apply_at(seed, at, &mut into[at..at + chunk_bytes]);
            }
        }
        self.scratch = data;
        Known::Data(random)
    }

    /// The plain data of a page, from memory or from the image.
    fn plain_bytes(&mut self, form: Form, key: u32, block: BlockAddr, page: PageInBlock, into: &mut [u8]) {
        match self.blocks[block.index()].pages.as_deref() {
            Some(pages) if form == Form::Plain && self.inline_data == into.len() => {
                let at = self.stride * page.index();
                into.copy_from_slice(&pages[at..at + into.len()]);
            }
            _ => {
                self.side_bytes(key, block, page, into);
            }
        }
    }
}
