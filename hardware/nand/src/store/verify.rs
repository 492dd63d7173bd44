//! Checks whether an image holds what was programmed.

use super::image::RecordPart;
use super::record::{SUM_BYTES, SUMMED_BYTES, first_wrong};
use super::side::Form;
use super::{Die, Flags};
use crate::damage::DamagedPage;
use alloc::vec::Vec;
use aster_ports::medium::MediumError;
use aster_units::{BlockAddr, Content, PageInBlock};

impl Die {
    /// The checksums of the parts of a programmed page's slot.
    pub(super) fn sums(&self, block: BlockAddr, page: PageInBlock) -> &[u8] {
        let side = self.side.get(self.key(block, page));
        match (side, &self.blocks[block.index()].pages) {
            (Some(side), _) if !side.sums.is_empty() => &side.sums,
            (_, Some(pages)) => {
                let at = self.stride * page.index() + self.inline_data + self.oob_bytes;
                &pages[at..self.stride * (page.index() + 1)]
            }
            _ => &[],
        }
    }

    /// Reads bytes of a page's slot from `offset` on, a multiple of 4096, and compares each part of 4096
    /// bytes with its checksum.
    pub(super) fn read_checked(
        &mut self,
        block: BlockAddr,
        page: PageInBlock,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), MediumError> {
        let Some(image) = &self.image else { unreachable!("bytes outside memory lie on the image") };
        image.borrow_mut().read_slot(self.lun, block, page, offset, into)?;
        let first = offset / SUMMED_BYTES * SUM_BYTES;
        let Some(wrong) = first_wrong(into, &self.sums(block, page)[first..]) else { return Ok(()) };
        let part = RecordPart::Slot(offset + wrong * SUMMED_BYTES);
        let damaged = image.borrow().damaged(self.lun, block, page, part);
        let reason = alloc::format!(
            "page {} of block {} on LUN {} isn't what was programmed (its checksum is wrong): something else \
             has written there",
            page.0,
            block.0,
            self.lun.0
        );
        Err(MediumError { offset: damaged.offset, reason })
    }

    /// Reads every page of a block whose bytes are on an image, and adds the damaged ones to `damaged`.
    /// Returns how many pages it read.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn verify(&mut self, block: BlockAddr, damaged: &mut Vec<DamagedPage>) -> Result<u64, MediumError> {
        let Some(image) = self.image.clone() else { return Ok(0) };
        let state = &self.blocks[block.index()];
        let (next, side) = (state.next, state.flags.has(Flags::SIDE));
        let step = state.page_step(self.config.cells);
        let g = self.config.geometry;
        let (mut bytes, mut read) = (Vec::new(), 0);
        for page in (0..next).step_by(step.into()).map(PageInBlock) {
            let entry = if side { self.side.get(self.key(block, page)) } else { None };
            let length = match entry.map_or(Form::Plain, |entry| entry.form) {
                Form::Raw => g.raw_page_bytes(),
                Form::Whole => g.page_bytes,
                Form::Plain if self.config.content == Content::Full => g.page_bytes,
                Form::Plain | Form::Blank => continue,
            };
            bytes.resize(length as usize, 0);
            image.borrow_mut().read_slot(self.lun, block, page, 0, &mut bytes)?;
            read += 1;
            if let Some(wrong) = first_wrong(&bytes, self.sums(block, page)) {
                let part = RecordPart::Slot(wrong * SUMMED_BYTES);
                damaged.push(image.borrow().damaged(self.lun, block, page, part));
            }
        }
        Ok(read)
    }
}
