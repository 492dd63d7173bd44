//! Reopening: a block's pages out of its image's records.

use super::record::{BlockEntry, PageRecord, Records};
use super::side::Form;
use super::{Die, Flags};
use alloc::vec;
use aster_units::{BlockAddr, PageInBlock};

impl Die {
    /// Rebuilds a block from its image: state entry and page records.
    pub fn restore(&mut self, block: BlockAddr, entry: &BlockEntry, records: &mut Records<'_>) {
        entry.apply(&mut self.blocks[block.index()]);
        let erases = self.blocks[block.index()].erases;
        let mut page = PageInBlock(0);
        while let Some(record) = records.next(erases) {
            self.restore_page(block, page, &record);
            page.0 += 1;
        }
    }

    fn restore_page(&mut self, block: BlockAddr, page: PageInBlock, record: &PageRecord<'_>) {
        let pages = usize::from(self.config.geometry.pages_per_block);
        let seeded = matches!(record.form, Form::Plain | Form::Whole);
        if seeded && record.seed == 0 && page.0 == 0 {
            self.blocks[block.index()].flags.set(Flags::UNSCRAMBLED);
        }
        let derived = self.derived_seed(block, page);
        let key = self.key(block, page);
        let state = &mut self.blocks[block.index()];
        let memory = state.pages.get_or_insert_with(|| vec![0; self.stride * pages].into_boxed_slice());
        let at = self.stride * page.index();
        let (data, oob) = memory[at..at + self.stride].split_at_mut(self.inline_data);
        oob.copy_from_slice(record.oob);
        if record.form == Form::Plain && self.inline_data > 0 {
            data.copy_from_slice(record.small);
        }
        state.next = page.0 + 1;
        self.programmed += 1;
        let other_seed = seeded && record.seed != derived;
        if record.form != Form::Plain || other_seed || record.torn {
            state.flags.set(Flags::SIDE);
            self.side.put(key, record.form, other_seed.then_some(record.seed), record.torn, &[]);
        }
    }
}
