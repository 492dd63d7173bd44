//! Rebuilds a LUN's cells from the entries and records of its image.

use super::image::{Image, RecordPart};
use super::record::{BlockEntry, ENTRY_BYTES, OPENED, PageRecord, Records};
use super::side::Form;
use super::{Die, Flags};
use crate::config::NandError;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{BlockAddr, LunIndex, PageInBlock};

/// Rebuilds a LUN's cells from its image.
pub(crate) fn restore(image: &mut Image, lun: LunIndex, die: &mut Die) -> Result<(), NandError> {
    die.set_hours(image.age_hours());
    let entries = image.entries(lun)?;
    let mut buffer = image.records_buffer();
    for (index, bytes) in entries.chunks_exact(ENTRY_BYTES).enumerate() {
        let block = BlockAddr(index as u32);
        let Some(entry) = BlockEntry::parse(bytes) else {
            let offset = image.entry_offset(lun, block);
            return Err(NandError::Damaged { offset, what: "a block entry's checksum is wrong" });
        };
        let records = if entry.flags.has(OPENED) {
            image.records(lun, block, &mut buffer)?
        } else {
            image.no_records()
        };
        let cut_off = die
            .restore(block, &entry, records)
            .map_err(|page| NandError::Record(image.damaged(lun, block, page, RecordPart::Record)))?;
        // Turn them into sound records of torn pages. Otherwise, pages that are programmed after them
        // would make them look damaged.
        for page in cut_off {
            image.tear_page(lun, block, page)?;
        }
    }
    Ok(())
}

impl Die {
    /// Rebuilds a block from its image: state entry and page records. Returns the pages whose record was
    /// not completely written.
    ///
    /// # Errors
    /// The page whose record was written completely and has been damaged since: sound pages were
    /// programmed after it.
    pub fn restore(
        &mut self,
        block: BlockAddr,
        entry: &BlockEntry,
        mut records: Records<'_>,
    ) -> Result<Vec<PageInBlock>, PageInBlock> {
        entry.apply(&mut self.blocks[block.index()]);
        let erases = self.blocks[block.index()].erases;
        let step = self.blocks[block.index()].page_step(self.config.cells);
        let mut page = PageInBlock(0);
        let mut cut_off = Vec::new();
        while let Some((record, sound)) = records.next(erases) {
            match cut_off.first() {
                // A program that is cut off tears the pages below it, and that may be cut off in turn. A
                // torn page therefore doesn't prove that a record before it has been damaged.
                Some(&first) if sound && !record.torn => return Err(first),
                _ if !sound => cut_off.push(page),
                _ => {}
            }
            self.restore_page(block, page, &record);
            page.0 += step;
            records.leave_out(usize::from(step) - 1);
        }
        if records.go_on(erases) { Err(page) } else { Ok(cut_off) }
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
        let (data, rest) = memory[at..at + self.stride].split_at_mut(self.inline_data);
        let (oob, sums) = rest.split_at_mut(record.oob.len());
        oob.copy_from_slice(record.oob);
        let plain = sums.len();
        sums.copy_from_slice(&record.sums[..plain]);
        if record.form == Form::Plain && self.inline_data > 0 {
            data.copy_from_slice(record.small);
        }
        state.next = page.0 + 1;
        self.programmed += 1;
        let other_seed = seeded && record.seed != derived;
        if record.form != Form::Plain || other_seed || record.torn {
            state.flags.set(Flags::SIDE);
            let sums = if matches!(record.form, Form::Raw | Form::Whole) { record.sums } else { &[] };
            self.side.put(key, record.form, other_seed.then_some(record.seed), record.torn, &[]);
            self.side.entry(key).sums.extend_from_slice(sums);
        }
    }
}
