//! Reads a page: its content, and the bits that read wrong.

use super::side::Form;
use super::{Die, Flags, READS_BETWEEN_WRITES};
use crate::coupling::Coupling;
use crate::errors::{OfData, ReadOnce, Sensing, Stress, TORN_RATE, arrivals, put_in_order};
use crate::register::{Holds, Lying, Register};
use crate::timing::page_type;
use crate::work::PageAddr;
use alloc::vec::Vec;
use aster_units::{BlockAddr, Content, PageInBlock, SECTOR_BYTES, mix64};

impl Die {
    /// The array's side of a read at `level_mv`: fills `register` and adds to the block's reads.
    #[inline]
    pub fn load(&mut self, at: PageAddr, level_mv: f64, register: &mut Register) {
        let PageAddr { block, page, .. } = at;
        self.totals.reads += 1;
        let state = &mut self.blocks[block.index()];
        state.reads = state.reads.saturating_add(1);
        let (flags, reads) = (state.flags, state.reads);
        if self.image.is_some() && reads.is_multiple_of(READS_BETWEEN_WRITES) {
            self.write_entry(block);
        }
        let mut torn = flags.has(Flags::TORN);
        if flags.has(Flags::FACTORY_BAD) {
            self.load_factory_bad(block, page, register);
        } else if !self.blocks[block.index()].holds(page, self.config.cells) {
            register.clear();
        } else if flags.has(Flags::SIDE) && self.side.get(self.key(block, page)).is_some() {
            torn |= self.load_side(block, page, register);
        } else {
            self.load_plain(block, page, register);
        }
        // The read levels of one cell mode can't read cells that are used in another.
        torn |= register.holds != Holds::Erased
            && !flags.has(Flags::FACTORY_BAD)
            && at.slc != flags.has(Flags::SLC);
        if self.errors_on || torn {
            self.flip(at, level_mv, torn, register);
        }
        put_in_order(&mut register.flips);
        if register.holds == Holds::Bytes {
            for &bit in &register.flips {
                register.bytes[bit as usize / 8] ^= 0x80 >> (bit % 8);
            }
            register.flips.clear();
        }
    }

    /// Loads a page of a block that left the factory bad. All bytes of the page with the mark read 00h,
    /// with errors like those of any other page.
    #[cold]
    fn load_factory_bad(&self, block: BlockAddr, page: PageInBlock, register: &mut Register) {
        let g = &self.config.geometry;
        let last = self.config.failures.marks_last(self.seed, block);
        let marked = if last { g.pages_per_block - 1 } else { 0 };
        if page.0 == marked {
            register.fill_bytes(g.raw_page_bytes() as usize, 0);
        } else {
            register.clear();
        }
        if let Some(entry) = self.side.get(self.key(block, page)) {
            register.flips.extend_from_slice(&entry.injected);
        }
    }

    /// Loads content in the drive's scale. On a drive with full content, the sectors aren't copied until
    /// they are fetched.
    #[inline]
    fn load_plain(&mut self, block: BlockAddr, page: PageInBlock, register: &mut Register) {
        let state = &self.blocks[block.index()];
        register.flips.clear();
        register.holds = Holds::Page;
        register.content = self.config.content;
        register.seed = self.derived_seed(block, page);
        if let Some(pages) = &state.pages {
            let at = self.stride * page.index();
            let (data, rest) = pages[at..at + self.stride].split_at(self.inline_data);
            register.oob.copy_from_slice(&rest[..self.oob_bytes]);
            if self.config.content == Content::Fingerprint {
                register.data.clear();
                register.data.extend_from_slice(data);
            }
        }
        register.lying = None;
        if self.config.content == Content::Full {
            let sectors = self.config.layout.sectors();
            register.data.resize(usize::from(sectors) * SECTOR_BYTES, 0);
            register.lying = Some(Lying { block, page, sectors: u16::MAX >> (16 - sectors) });
        }
    }

    /// Copies those of the sectors `wanted` (bits) that `register` shows and that haven't been fetched
    /// from the cells. Sectors that the medium can't read, or that differ from what was programmed, come
    /// with more errors than any code corrects.
    #[inline]
    pub fn fetch(&mut self, wanted: u16, register: &mut Register) {
        let mut due = register.lacks(wanted);
        let Some(lying) = register.lying.filter(|_| due != 0) else { return };
        let Lying { block, page, sectors } = lying;
        let left = sectors & !due;
        register.lying = (left != 0).then_some(Lying { sectors: left, ..lying });
        let mut readable = true;
        while due != 0 {
            let first = due.trailing_zeros();
            let count = (!(due >> first)).trailing_zeros();
            due &= !(((1u32 << count) - 1) << first) as u16;
            let (from, to) = (first as usize * SECTOR_BYTES, (first + count) as usize * SECTOR_BYTES);
            let into = &mut register.data[from..to];
            match &self.blocks[block.index()].pages {
                Some(pages) if self.inline_data > 0 => {
                    let at = self.stride * page.index();
                    into.copy_from_slice(&pages[at + from..at + to]);
                }
                _ => readable &= self.read_slot(block, page, from, into),
            }
        }
        if !readable {
            self.spoil(block, page, register);
        }
    }

    /// All `sectors` of a page by reference, if they are in memory and none has been fetched yet.
    #[inline]
    pub fn in_memory(&self, lying: Lying, sectors: u8) -> Option<&[u8]> {
        if self.inline_data == 0 || lying.sectors != u16::MAX >> (16 - sectors) {
            return None;
        }
        let pages = self.blocks[lying.block.index()].pages.as_deref()?;
        let at = self.stride * lying.page.index();
        Some(&pages[at..at + self.inline_data])
    }

    #[cold]
    fn spoil(&self, block: BlockAddr, page: PageInBlock, register: &mut Register) {
        let state = &self.blocks[block.index()];
        let seed = self.page_seed(block, page, state.erases);
        let once = ReadOnce { noise: self.read_noise, seed: mix64(seed ^ u64::from(state.reads)) };
        let bits = 8 * self.config.layout.whole().length;
        arrivals(seed, TORN_RATE, bits, (&once, &OfData::NONE), &mut register.flips);
        put_in_order(&mut register.flips);
    }

    /// Loads a page that has an entry in the side table. True if the page is torn or the medium could not
    /// read it.
    #[cold]
    fn load_side(&mut self, block: BlockAddr, page: PageInBlock, register: &mut Register) -> bool {
        let key = self.key(block, page);
        let Some(entry) = self.side.get(key) else { unreachable!("looked up by the caller") };
        let (form, seed, torn) = (entry.form, entry.seed, entry.torn);
        let readable = match form {
            Form::Plain => {
                self.load_plain(block, page, register);
                true
            }
            Form::Blank => {
                register.clear();
                true
            }
            Form::Raw => {
                register.fill_bytes(self.config.geometry.raw_page_bytes() as usize, 0xff);
                self.side_bytes(key, block, page, &mut register.bytes)
            }
            Form::Whole => {
                // Seed and OOB are as on any page. Then the real bytes replace the fingerprints.
                self.load_plain(block, page, register);
                register.lying = None;
                register.content = Content::Full;
                register.data.resize(self.config.geometry.page_bytes as usize, 0);
                self.side_bytes(key, block, page, &mut register.data)
            }
        };
        if let Some(seed) = seed {
            register.seed = seed;
        }
        if let Some(entry) = self.side.get(key) {
            register.flips.extend_from_slice(&entry.injected);
        }
        torn || !readable
    }

    pub(super) fn side_bytes(
        &mut self,
        key: u32,
        block: BlockAddr,
        page: PageInBlock,
        into: &mut [u8],
    ) -> bool {
        match self.side.get(key).and_then(|entry| entry.bytes.as_ref()) {
            Some(bytes) => {
                into.copy_from_slice(bytes);
                true
            }
            None => self.read_slot(block, page, 0, into),
        }
    }

    /// False if the medium fails or the data differ from what was programmed. The slot then reads as
    /// zeroes with more errors than any code corrects, so that it is never taken for good data.
    fn read_slot(&mut self, block: BlockAddr, page: PageInBlock, offset: usize, into: &mut [u8]) -> bool {
        let read = self.read_checked(block, page, offset, into);
        if read.is_err() {
            into.fill(0);
        }
        self.note(read)
    }

    #[cold]
    fn flip(&mut self, at: PageAddr, level_mv: f64, torn: bool, register: &mut Register) {
        let PageAddr { block, page, .. } = at;
        let state = &self.blocks[block.index()];
        let seed = self.page_seed(block, page, state.erases);
        let bits = 8 * match register.holds {
            Holds::Page => self.config.layout.whole().length,
            _ => self.config.geometry.raw_page_bytes(),
        };
        let hours = if register.holds == Holds::Erased { 0 } else { self.hours.saturating_sub(state.stamp) };
        let stress = Stress { erases: state.erases, hours, reads: state.reads };
        let slc = state.flags.has(Flags::SLC);
        let neighbour_share =
            if self.config.errors.neighbour > 0.0 { self.neighbour_share(block, page, slc) } else { 0.0 };
        let config = &self.config;
        let sensing = Sensing { slc, level_mv, neighbour_share };
        let [above, below] = config.errors.rates(page_type(config.cells, page), stress, sensing);
        // The number of the block's reads distinguishes this read from all others of the page.
        let once = ReadOnce { noise: self.read_noise, seed: mix64(seed ^ u64::from(stress.reads)) };
        let below = if torn { below + TORN_RATE } else { below };
        // A torn page is noise, and an erased page has no levels.
        let coupling = if torn || slc || register.holds == Holds::Erased || self.around.is_none() {
            None
        } else {
            Coupling::of(&config.errors, config.cells, stress.erases)
        };
        let flips = &mut register.flips;
        match coupling {
            None => flip_both(seed, [above, below], bits, (&once, &OfData::NONE), flips),
            Some(coupling) => {
                let around = self.look_around(block, page);
                let factor = |position| around.factor(&coupling, position, bits);
                flip_both(
                    seed,
                    [above, below],
                    bits,
                    (&once, &OfData { reach: coupling.reach, factor }),
                    flips,
                );
                self.around = Some(around);
            }
        }
    }

    /// The share of programmed cells, which are zeroes, in the page of the same type on the next word line.
    fn neighbour_share(&mut self, block: BlockAddr, page: PageInBlock, slc: bool) -> f64 {
        let step = if slc { 1 } else { u16::from(self.config.cells.bits()) };
        let next = PageInBlock(page.0.saturating_add(step));
        let state = &self.blocks[block.index()];
        if !state.holds(next, self.config.cells) {
            return 0.0;
        }
        let key = self.key(block, next);
        let side = self.side.get(key);
        let seed = side.and_then(|entry| entry.seed).unwrap_or_else(|| self.derived_seed(block, next));
        let content = self.config.content;
        match side.map_or(Form::Plain, |entry| entry.form) {
            Form::Blank => 0.0,
            Form::Raw => self.zeroes(block, next, key, self.config.geometry.raw_page_bytes() as usize),
            // Scrambled data have as many zeroes as ones, whatever the host wrote.
            Form::Plain | Form::Whole if seed != 0 => 0.5,
            Form::Whole => self.zeroes(block, next, key, self.config.geometry.page_bytes as usize),
            Form::Plain if content == Content::Full => {
                self.zeroes(block, next, key, self.config.geometry.page_bytes as usize)
            }
            // A fingerprint doesn't say how many zeroes there are.
            Form::Plain => 0.5,
        }
    }

    /// The share of zeroes among the first `length` bytes of a page.
    fn zeroes(&mut self, block: BlockAddr, page: PageInBlock, key: u32, length: usize) -> f64 {
        let mut scratch = core::mem::take(&mut self.scratch);
        scratch.resize(length, 0xff);
        let in_memory = match self.blocks[block.index()].pages.as_deref() {
            Some(pages)
                if self.inline_data == length && self.side.get(key).is_none_or(|s| s.bytes.is_none()) =>
            {
                let at = self.stride * page.index();
                scratch.copy_from_slice(&pages[at..at + length]);
                true
            }
            _ => false,
        };
        if !in_memory {
            self.side_bytes(key, block, page, &mut scratch);
        }
        let zeroes: u32 = scratch.iter().map(|byte| byte.count_zeros()).sum();
        self.scratch = scratch;
        f64::from(zeroes) / (8 * length) as f64
    }
}

/// The errors of both kinds on the page of `seed`.
#[inline]
fn flip_both<F: Fn(u32) -> f64>(
    seed: u64,
    [above, below]: [f64; 2],
    bits: u32,
    of: (&ReadOnce, &OfData<F>),
    flips: &mut Vec<u32>,
) {
    if above > 0.0 {
        arrivals(mix64(!seed), above, bits, of, flips);
    }
    arrivals(seed, below, bits, of, flips);
}
