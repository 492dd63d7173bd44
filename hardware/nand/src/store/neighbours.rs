//! Reads the word lines around a page from the cells of a LUN.

use super::Die;
use super::around::{Around, Known};
use super::side::Form;
use crate::variant::word_line;
use alloc::boxed::Box;
use aster_codec::Scrambler;
use aster_units::{BlockAddr, Content, PageInBlock, mix64};

impl Die {
    /// The two word lines of a page. The caller gives them back.
    pub(super) fn look_around(&mut self, block: BlockAddr, page: PageInBlock) -> Box<Around> {
        let mut around = self.around.take().expect("kept where cells lift each other, and given back");
        let first = word_line(self.config.cells, page).0;
        around.fill(|place, into| self.bits_of(block, PageInBlock(first.saturating_add(place as u16)), into));
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
            // A fingerprint doesn't say what the bits are.
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
