//! Inspects the cells without using the bus, and injects faults.

use crate::array::{NandArray, NandCells};
use crate::config::NandConfig;
use crate::damage::DamagedPage;
use crate::errors::put_in_order;
use crate::faults::Injected;
use crate::store::{Die, Flags, Totals};
use alloc::vec::Vec;
use aster_ports::medium::MediumError;
use aster_units::{BlockAddr, LunIndex, PageInBlock, Rng};
use core::cell::RefMut;

/// Why a block is bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadBlock {
    /// It left the factory bad.
    Factory,
    /// An operation on it failed.
    Grown,
}

/// The state of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockInfo {
    /// P/E cycles.
    pub erases: u32,
    /// Reads since the last erase.
    pub reads: u32,
    /// Programmed pages: those from page 0 on, or LSB pages in a block where only these are programmed.
    pub programmed: u16,
    /// Whether and why it is bad.
    pub bad: Option<BadBlock>,
    /// An erase was interrupted or failed, so that nothing on the block is readable.
    pub torn: bool,
}

/// How evenly blocks are worn, without factory-bad ones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct EraseSpread {
    /// Fewest P/E cycles of a block.
    pub min: u32,
    /// Most P/E cycles of a block.
    pub max: u32,
    /// Mean P/E cycles.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

/// A handle to the cells for tests, reports and fault injection. It asserts that addresses are within the
/// geometry.
#[derive(Clone, Debug)]
pub struct NandInspect {
    cells: NandCells,
}

impl NandCells {
    /// A handle to inspect the cells and inject faults.
    pub fn inspect(&self) -> NandInspect {
        NandInspect::new(self.clone())
    }
}

impl NandArray {
    /// A handle to inspect the cells and inject faults.
    pub fn inspect(&self) -> NandInspect {
        self.cells().inspect()
    }
}

impl NandInspect {
    pub(crate) fn new(cells: NandCells) -> Self {
        NandInspect { cells }
    }
    pub(crate) fn die(&self, lun: LunIndex) -> RefMut<'_, Die> {
        self.cells.dies[lun.index()].borrow_mut()
    }
    #[cfg(test)]
    pub(crate) fn cells(&self) -> &NandCells {
        &self.cells
    }
    /// The array's configuration.
    pub fn config(&self) -> &NandConfig {
        self.cells.config()
    }

    /// A block's state.
    pub fn block(&self, lun: LunIndex, block: BlockAddr) -> BlockInfo {
        let die = self.die(lun);
        let state = die.block(block);
        let bad = if state.flags.has(Flags::FACTORY_BAD) {
            Some(BadBlock::Factory)
        } else {
            state.flags.has(Flags::GROWN_BAD).then_some(BadBlock::Grown)
        };
        BlockInfo {
            erases: state.erases,
            reads: state.reads,
            programmed: state.programmed(self.config().cells),
            bad,
            torn: state.flags.has(Flags::TORN),
        }
    }

    /// The bad blocks of a LUN.
    pub fn bad_blocks(&self, lun: LunIndex) -> Vec<(BlockAddr, BadBlock)> {
        let blocks = (0..self.config().geometry.blocks_per_lun).map(BlockAddr);
        blocks.filter_map(|b| self.block(lun, b).bad.map(|bad| (b, bad))).collect()
    }

    /// How evenly `blocks` are worn, over all LUNs: all blocks, or those that a restricted drive uses
    /// (C31).
    pub fn erase_spread(&self, blocks: impl Iterator<Item = BlockAddr> + Clone) -> EraseSpread {
        let (mut count, mut sum, mut squares) = (0u64, 0u64, 0u128);
        let (mut min, mut max) = (u32::MAX, 0);
        for die in self.cells.dies.iter() {
            let die = die.borrow();
            let of_die = blocks.clone().map(|block| die.block(block));
            for block in of_die.filter(|b| !b.flags.has(Flags::FACTORY_BAD)) {
                count += 1;
                sum += u64::from(block.erases);
                squares += u128::from(block.erases) * u128::from(block.erases);
                min = min.min(block.erases);
                max = max.max(block.erases);
            }
        }
        if count == 0 {
            return EraseSpread::default();
        }
        let mean = sum as f64 / count as f64;
        let variance = squares as f64 / count as f64 - mean * mean;
        EraseSpread { min, max, mean, deviation: libm::sqrt(variance.max(0.0)) }
    }

    /// Operations of a LUN since its cells were made or reopened.
    pub fn totals(&self, lun: LunIndex) -> Totals {
        self.die(lun).totals
    }
    /// Operations of the whole drive.
    pub fn totals_of_drive(&self) -> Totals {
        self.cells.dies.iter().fold(Totals::default(), |sum, die| {
            let t = die.borrow().totals;
            Totals {
                reads: sum.reads + t.reads,
                programs: sum.programs + t.programs,
                erases: sum.erases + t.erases,
                program_failures: sum.program_failures + t.program_failures,
                erase_failures: sum.erase_failures + t.erase_failures,
                pages_lost: sum.pages_lost + t.pages_lost,
            }
        })
    }
    /// Bytes of host memory that the cells of the drive take.
    pub fn memory_bytes(&self) -> u64 {
        self.cells.dies.iter().map(|die| die.borrow().memory_bytes()).sum()
    }
    /// Pages of the drive that are programmed now.
    pub fn programmed_pages(&self) -> u64 {
        self.cells.dies.iter().map(|die| die.borrow().programmed()).sum()
    }
    /// The first error of the image's medium or of a page's checksum on a LUN that has one. The program
    /// of a page that could not be written ended with FAIL; a page that could not be read came back
    /// uncorrectable.
    pub fn medium_error(&self) -> Option<MediumError> {
        self.cells.dies.iter().find_map(|die| die.borrow().medium_error().cloned())
    }

    /// Reads every page of a block whose bytes are on an image, and adds the pages that differ from what
    /// was programmed to `damaged`. Returns how many pages it read; 0 for a drive in memory.
    ///
    /// # Errors
    /// When the medium fails.
    pub fn verify(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        damaged: &mut Vec<DamagedPage>,
    ) -> Result<u64, MediumError> {
        self.die(lun).verify(block, damaged)
    }

    /// The array's age in hours. Pages that are programmed now age from this time on.
    pub fn age_hours(&self) -> u32 {
        self.cells.dies[0].borrow().hours()
    }
    /// Ages the charge in the cells, to `hours` after the array was made. The age never decreases.
    ///
    /// # Errors
    /// If an image can't be written.
    pub fn set_age_hours(&self, hours: u32) -> Result<(), MediumError> {
        let hours = hours.max(self.age_hours());
        for die in self.cells.dies.iter() {
            die.borrow_mut().set_hours(hours);
        }
        match &self.cells.image {
            Some(image) => image.borrow_mut().write_age(hours),
            None => Ok(()),
        }
    }

    /// Makes the LUN's next program fail. Its block is bad from then on.
    pub fn fail_next_program(&self, lun: LunIndex) {
        self.die(lun).faults.add(Injected::NextProgram);
    }
    /// Makes the LUN's next erase fail. Its block is bad from then on.
    pub fn fail_next_erase(&self, lun: LunIndex) {
        self.die(lun).faults.add(Injected::NextErase);
    }
    /// Makes the next program of this page fail. Its block is bad from then on.
    pub fn fail_program(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) {
        self.die(lun).faults.add(Injected::Program(block, page));
    }
    /// Makes the next erase of this block fail. The block is bad from then on.
    pub fn fail_erase(&self, lun: LunIndex, block: BlockAddr) {
        self.die(lun).faults.add(Injected::Erase(block));
    }
    /// Makes these bits of a programmed page, or of a factory bad block's page, read wrong until the
    /// block is erased; bit 7 of byte 0 is position 0. An image doesn't keep them. If the page isn't
    /// programmed, does nothing and returns false.
    pub fn flip_bits(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock, bits: &[u32]) -> bool {
        let raw_bits = 8 * self.config().geometry.raw_page_bytes();
        assert!(bits.iter().all(|b| *b < raw_bits), "a bit outside the page");
        self.die(lun).inject_flips(block, page, bits)
    }
    /// Like [`Self::flip_bits`], with `count` different bits that `seed` chooses among bytes `first ..
    /// first + bytes`.
    pub fn flip_random_bits(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        (first, bytes): (u32, u32),
        count: u32,
        seed: u64,
    ) -> bool {
        assert!(count <= 8 * bytes, "more flips than bits");
        let mut rng = Rng::new(seed);
        let mut bits = Vec::new();
        while bits.len() < count as usize {
            bits.push(8 * first + rng.below(u64::from(8 * bytes)) as u32);
            put_in_order(&mut bits);
        }
        self.flip_bits(lun, block, page, &bits)
    }
    /// Sets whether operations that the LUN starts from now on never end.
    pub fn force_busy(&self, lun: LunIndex, stuck: bool) {
        self.die(lun).stuck = stuck;
    }
}
