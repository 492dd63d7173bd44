//! The cells of a LUN: the content of its pages and the state of its blocks.

mod around;
mod block;
mod image;
mod load;
mod neighbours;
mod record;
mod restore;
mod side;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use image::{Image, SharedImage};
pub(crate) use restore::restore;

use crate::config::NandConfig;
use crate::errors::Noise;
use crate::faults::InjectedFaults;
use crate::register::{Holds, Register};
use crate::variant::word_line;
use crate::work::PageAddr;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use around::Around;
use aster_codec::seed_of_row;
use aster_ports::medium::MediumError;
use aster_units::{BlockAddr, Content, LunIndex, PageInBlock, RowFormat, mix64};
pub(crate) use block::{Block, Flags};
use record::{BlockEntry, PageRecord, SUM_BYTES, SUMMED_BYTES, sums_of};
use side::{Form, SideTable};

/// Operations that a LUN has carried out since its cells were made or reopened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Pages read from the array.
    pub reads: u64,
    /// Pages programmed, the failed ones included.
    pub programs: u64,
    /// Blocks erased, the failed ones included.
    pub erases: u64,
    /// Programs that ended with FAIL.
    pub program_failures: u64,
    /// Erases that ended with FAIL.
    pub erase_failures: u64,
    /// Complete pages that were lost because the program of a later page of their word line was cut off.
    pub pages_lost: u64,
}

/// After this many reads of a block its read count is written to the image, so that a killed process
/// loses fewer than that.
const READS_BETWEEN_WRITES: u32 = 1024;

/// One LUN's cells.
pub(crate) struct Die {
    config: Rc<NandConfig>,
    lun: LunIndex,
    lun_in_package: u8,
    rows: RowFormat,
    seed: u64,
    errors_on: bool,
    read_noise: Noise,
    blocks: Box<[Block]>,
    side: SideTable,
    // Page memory of erased blocks, for reuse.
    free: Vec<Box<[u8]>>,
    // Bytes that a page takes in a block's page memory, and how many of them are data. The OOB follows,
    // and, if the data are on an image, the checksums of their parts.
    stride: usize,
    inline_data: usize,
    oob_bytes: usize,
    image: Option<SharedImage>,
    // A buffer for a neighbouring page's bytes, while zeroes are counted.
    scratch: Vec<u8>,
    // The word lines around a page; only if the model has coupling.
    around: Option<Box<Around>>,
    medium_error: Option<MediumError>,
    programmed: u64,
    /// The array's age in hours.
    hours: u32,
    pub totals: Totals,
    pub faults: InjectedFaults,
    /// Set if operations started from now on never end.
    pub stuck: bool,
}

impl Die {
    /// The cells of a LUN, fresh from the factory.
    pub fn new(config: &Rc<NandConfig>, lun: LunIndex, image: Option<SharedImage>) -> Self {
        let seed = config.die_seed(lun);
        let blocks = (0..config.geometry.blocks_per_lun)
            .map(|b| Block::new(config.failures.factory_bad(seed, BlockAddr(b))))
            .collect();
        let content = usize::from(config.layout.sectors()) * config.content.sector_len();
        // On a drive with full content, an image keeps the bytes. Fingerprints are small enough to stay
        // in memory as well.
        let inline_data = if image.is_some() && config.content == Content::Full { 0 } else { content };
        let oob_bytes = usize::from(config.layout.oob_bytes());
        let inline_sums = if inline_data == 0 { content / SUMMED_BYTES * SUM_BYTES } else { 0 };
        let couples = config.errors.coupling_mv > 0.0;
        let scratch = if config.errors.neighbour > 0.0 || couples {
            config.geometry.raw_page_bytes() as usize
        } else {
            0
        };
        Die {
            config: config.clone(),
            lun,
            lun_in_package: config.geometry.lun_addr(lun).lun,
            rows: config.geometry.row_format(),
            seed,
            errors_on: !config.errors.is_off(),
            read_noise: config.errors.noise(),
            blocks,
            side: SideTable::new(config.geometry.raw_page_bytes() as usize),
            free: Vec::new(),
            stride: inline_data + oob_bytes + inline_sums,
            inline_data,
            oob_bytes,
            image,
            scratch: Vec::with_capacity(scratch),
            around: couples.then(|| Box::new(Around::new(config))),
            medium_error: None,
            programmed: 0,
            hours: 0,
            totals: Totals::default(),
            faults: InjectedFaults::default(),
            stuck: false,
        }
    }

    /// The LUN's own seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }
    pub fn block(&self, block: BlockAddr) -> &Block {
        &self.blocks[block.index()]
    }
    pub fn programmed(&self) -> u64 {
        self.programmed
    }
    pub fn hours(&self) -> u32 {
        self.hours
    }
    pub fn set_hours(&mut self, hours: u32) {
        self.hours = hours;
    }
    pub fn medium_error(&self) -> Option<&MediumError> {
        self.medium_error.as_ref()
    }
    /// Bytes of memory that the cells take.
    pub fn memory_bytes(&self) -> u64 {
        let page_memory = self.stride * usize::from(self.config.geometry.pages_per_block);
        let used = self.blocks.iter().filter(|b| b.pages.is_some()).count() + self.free.len();
        (used * page_memory + size_of_val(&*self.blocks)) as u64 + self.side.memory_bytes()
    }

    fn key(&self, block: BlockAddr, page: PageInBlock) -> u32 {
        block.0 * u32::from(self.config.geometry.pages_per_block) + u32::from(page.0)
    }
    #[inline]
    fn page_seed(&self, block: BlockAddr, page: PageInBlock, erases: u32) -> u64 {
        mix64(self.seed ^ (u64::from(self.key(block, page)) << 32 | u64::from(erases)))
    }
    /// The seed of a page unless the side table has another: that of its row, or 0 on a drive without
    /// scrambler.
    #[inline]
    fn derived_seed(&self, block: BlockAddr, page: PageInBlock) -> u32 {
        if self.blocks[block.index()].flags.has(Flags::UNSCRAMBLED) {
            return 0;
        }
        self.row_seed(block, page)
    }
    /// The scrambler's seed for a page.
    #[inline]
    pub fn row_seed(&self, block: BlockAddr, page: PageInBlock) -> u32 {
        seed_of_row(self.rows.row(self.lun_in_package, block, page))
    }

    /// The array's side of a program; true if it passes. `cut` says that a loss of power or a RESET
    /// interrupted it.
    #[inline]
    pub fn program(&mut self, at: PageAddr, register: &mut Register, cut: bool) -> bool {
        self.fetch(u16::MAX, register);
        let PageAddr { block, page, slc, .. } = at;
        self.totals.programs += 1;
        let state = &self.blocks[block.index()];
        let refused = state.flags.has(Flags::FACTORY_BAD | Flags::GROWN_BAD | Flags::TORN)
            || !self.follows(at)
            || (page.0 != 0 && state.flags.has(Flags::SLC) != slc);
        if refused {
            self.totals.program_failures += 1;
            return false;
        }
        let seed = self.page_seed(block, page, state.erases);
        let fails =
            self.config.failures.program_fails(seed, state.erases) || self.faults.take_program(block, page);
        if slc && page.0 == 0 {
            self.blocks[block.index()].flags.set(Flags::SLC);
        }
        self.skip_pages(block, page);
        let kept = self.keep(block, page, register, fails || cut);
        if cut && self.config.variant.pair_loss && !slc {
            self.lose_lower_pages(block, page);
        }
        if fails {
            self.blocks[block.index()].flags.set(Flags::GROWN_BAD);
            self.write_entry(block);
        }
        let passed = !fails && !cut && kept;
        self.totals.program_failures += u64::from(!passed);
        passed
    }

    /// Puts a page into erased cells as if it had been programmed, without a failure.
    pub fn put(&mut self, block: BlockAddr, page: PageInBlock, register: &Register) {
        let state = &self.blocks[block.index()];
        assert!(page.0 >= state.next, "{block:?} holds page {} already", page.0);
        self.skip_pages(block, page);
        self.keep(block, page, register, false);
    }
    /// Sets how often a block has been erased that holds nothing.
    pub fn set_erases(&mut self, block: BlockAddr, erases: u32) {
        let state = &mut self.blocks[block.index()];
        assert_eq!(state.next, 0, "{block:?} holds pages");
        state.erases = erases;
        self.write_entry(block);
    }
    /// Notes that upper pages are left out if `page` isn't the next one.
    fn skip_pages(&mut self, block: BlockAddr, page: PageInBlock) {
        let state = &mut self.blocks[block.index()];
        if page.0 != state.next && !state.flags.has(Flags::LSB_ONLY) {
            state.flags.set(Flags::LSB_ONLY);
            // This must be written before the page's record, since that record lies behind a gap.
            self.write_entry(block);
        }
    }

    /// Whether a page is the one to program next. That is the page after the last one or, if upper pages
    /// are left out (C31), the LSB page of the next word line. For a block's second page, the array's
    /// configured order decides. Pages in SLC mode come one after the other.
    fn follows(&self, at: PageAddr) -> bool {
        let state = &self.blocks[at.block.index()];
        let lsb_only = match state.next {
            0 => return at.page.0 == 0,
            1 => self.config.variant.lsb_pages && !at.slc,
            _ => state.flags.has(Flags::LSB_ONLY),
        };
        let step = if lsb_only { u16::from(self.config.cells.bits()) } else { 1 };
        at.page.0 == state.next - 1 + step
    }

    /// Loses the pages below `page` on its word line: its program was cut off, and it moves their cells,
    /// too.
    fn lose_lower_pages(&mut self, block: BlockAddr, page: PageInBlock) {
        for lower in word_line(self.config.cells, page).0..page.0 {
            let key = self.key(block, PageInBlock(lower));
            self.blocks[block.index()].flags.set(Flags::SIDE);
            let lost = &mut self.side.entry(key).torn;
            self.totals.pages_lost += u64::from(!core::mem::replace(lost, true));
            if let Some(image) = &self.image {
                let written = image.borrow_mut().tear_page(self.lun, block, PageInBlock(lower));
                self.note(written);
            }
        }
    }

    /// Stores the register's content on a page; true if the medium took it.
    fn keep(&mut self, block: BlockAddr, page: PageInBlock, register: &Register, torn: bool) -> bool {
        let form = match register.holds {
            Holds::Bytes => Form::Raw,
            Holds::Page if register.content == self.config.content => Form::Plain,
            Holds::Page => Form::Whole,
            Holds::Erased | Holds::Nothing => Form::Blank,
        };
        let seed = register.seed;
        let seeded = matches!(form, Form::Plain | Form::Whole);
        if seeded && seed == 0 && page.0 == 0 {
            self.blocks[block.index()].flags.set(Flags::UNSCRAMBLED);
        }
        let other_seed = seeded && seed != self.derived_seed(block, page);
        self.open_page(block, page);
        let state = &mut self.blocks[block.index()];
        if matches!(form, Form::Plain | Form::Whole)
            && let Some(pages) = &mut state.pages
        {
            let at = self.stride * page.index();
            let (data, rest) = pages[at..at + self.stride].split_at_mut(self.inline_data);
            let (oob, sums) = rest.split_at_mut(self.oob_bytes);
            oob.copy_from_slice(&register.oob);
            if form == Form::Plain && self.inline_data > 0 {
                data.copy_from_slice(&register.data);
            }
            if form == Form::Plain {
                sums_of(&register.data, sums);
            }
        }
        let bytes: &[u8] = match form {
            Form::Raw => &register.bytes,
            Form::Whole => &register.data,
            Form::Plain | Form::Blank => &[],
        };
        // A COPYBACK moves what was read, with its errors. In literal bytes, the errors are already
        // applied.
        let flips = &register.flips;
        if form != Form::Plain || other_seed || torn || !flips.is_empty() {
            state.flags.set(Flags::SIDE);
            let key = self.key(block, page);
            let (bytes, in_slot) = if self.image.is_some() { (&[][..], bytes) } else { (bytes, &[][..]) };
            self.side.put(key, form, other_seed.then_some(seed), torn, bytes);
            if !in_slot.is_empty() {
                let sums = &mut self.side.entry(key).sums;
                sums.resize(in_slot.len().div_ceil(SUMMED_BYTES) * SUM_BYTES, 0);
                sums_of(in_slot, sums);
            }
            if !flips.is_empty() {
                self.side.entry(key).injected.extend_from_slice(flips);
            }
        }
        self.write_page(block, page, register, form, torn)
    }

    fn open_page(&mut self, block: BlockAddr, page: PageInBlock) {
        let hours = self.hours;
        let pages = usize::from(self.config.geometry.pages_per_block);
        let state = &mut self.blocks[block.index()];
        if page.0 == 0 {
            state.stamp = hours;
            // Fresh memory comes zeroed from the allocator. Recycled memory isn't cleared, since pages
            // from `next` on are never read.
            let memory = self.free.pop().unwrap_or_else(|| vec![0; self.stride * pages].into_boxed_slice());
            state.pages = Some(memory);
            self.write_entry(block);
        }
        self.blocks[block.index()].next = page.0 + 1;
        self.programmed += 1;
    }

    fn write_page(
        &mut self,
        block: BlockAddr,
        page: PageInBlock,
        register: &Register,
        form: Form,
        torn: bool,
    ) -> bool {
        let Some(image) = &self.image else { return true };
        let bytes: &[u8] = match form {
            Form::Raw => &register.bytes,
            Form::Whole => &register.data,
            Form::Plain if self.inline_data == 0 => &register.data,
            Form::Plain | Form::Blank => &[],
        };
        let sums = if bytes.is_empty() { &[] } else { self.sums(block, page) };
        let record = PageRecord {
            erases: self.blocks[block.index()].erases,
            seed: register.seed,
            form,
            torn,
            oob: &register.oob,
            small: if form == Form::Plain && self.inline_data > 0 { &register.data } else { &[] },
            sums,
        };
        let written = image.borrow_mut().write_page(self.lun, block, page, bytes, &record);
        self.note(written)
    }

    fn note(&mut self, result: Result<(), MediumError>) -> bool {
        match result {
            Ok(()) => true,
            Err(error) => {
                // The first error is the cause of the others.
                self.medium_error.get_or_insert(error);
                false
            }
        }
    }

    /// Writes the part of a block's state that survives power-off, if there is an image.
    fn write_entry(&mut self, block: BlockAddr) {
        let Some(image) = &self.image else { return };
        let entry = BlockEntry::of(&self.blocks[block.index()]);
        let written = image.borrow_mut().write_entry(self.lun, block, &entry);
        self.note(written);
    }

    /// The array's side of an erase; true if it passes.
    pub fn erase(&mut self, block: BlockAddr) -> bool {
        self.totals.erases += 1;
        let state = &self.blocks[block.index()];
        if state.flags.has(Flags::FACTORY_BAD | Flags::GROWN_BAD) {
            // The erase pulses reach the cells even if the array reports a failure.
            self.half_erase(block);
            self.totals.erase_failures += 1;
            return false;
        }
        let erases = state.erases;
        let seed = self.page_seed(block, PageInBlock(0), erases);
        let block_seed = self.page_seed(block, PageInBlock(0), 0);
        if self.config.failures.erase_fails(block_seed, seed, erases) || self.faults.take_erase(block) {
            self.blocks[block.index()].flags.set(Flags::GROWN_BAD);
            self.half_erase(block);
            self.totals.erase_failures += 1;
            return false;
        }
        self.forget_pages(block);
        let state = &mut self.blocks[block.index()];
        state.erases = state.erases.saturating_add(1);
        state.reads = 0;
        state.stamp = 0;
        state.flags.clear(Flags::TORN | Flags::UNSCRAMBLED | Flags::SLC | Flags::LSB_ONLY);
        // The new count makes the image's page records stale before their bytes are discarded.
        self.write_entry(block);
        let discarded = match &self.image {
            Some(image) => image.borrow_mut().discard(self.lun, block),
            None => Ok(()),
        };
        let passed = self.note(discarded);
        self.totals.erase_failures += u64::from(!passed);
        passed
    }

    fn forget_pages(&mut self, block: BlockAddr) {
        let first = self.key(block, PageInBlock(0));
        let state = &mut self.blocks[block.index()];
        self.programmed -= u64::from(state.programmed(self.config.cells));
        state.next = 0;
        if let Some(pages) = state.pages.take() {
            self.free.push(pages);
        }
        if state.flags.has(Flags::SIDE) {
            state.flags.clear(Flags::SIDE);
            self.side.remove(first, u32::from(self.config.geometry.pages_per_block));
        }
    }

    /// An erase that was interrupted: no page of the block is readable, and none can be programmed before an
    /// erase passes.
    pub fn half_erase(&mut self, block: BlockAddr) {
        let state = &mut self.blocks[block.index()];
        if !state.flags.has(Flags::FACTORY_BAD) {
            state.flags.set(Flags::TORN);
            self.write_entry(block);
        }
    }

    /// Makes bits of a page read wrong until its block is erased. It has no effect on a page that isn't
    /// programmed, unless the block left the factory bad. Injected flips are only in memory, not on an
    /// image.
    pub fn inject_flips(&mut self, block: BlockAddr, page: PageInBlock, bits: &[u32]) -> bool {
        let state = &self.blocks[block.index()];
        if !state.holds(page, self.config.cells) && !state.flags.has(Flags::FACTORY_BAD) {
            return false;
        }
        let key = self.key(block, page);
        self.blocks[block.index()].flags.set(Flags::SIDE);
        self.side.entry(key).injected.extend_from_slice(bits);
        true
    }

    /// Writes the read counts, which are otherwise only written now and then.
    pub fn flush(&mut self) {
        if self.image.is_none() {
            return;
        }
        for block in 0..self.blocks.len() as u32 {
            if !self.blocks[block as usize].reads.is_multiple_of(READS_BETWEEN_WRITES) {
                self.write_entry(BlockAddr(block));
            }
        }
    }
}

impl Drop for Die {
    fn drop(&mut self) {
        self.flush();
    }
}
