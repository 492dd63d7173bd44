//! The state of each block, and how far it is written.

use alloc::boxed::Box;
use alloc::vec;
use aster_ports::host::BlockState;
use aster_units::{BlockAddr, Geometry, LunIndex, PageInBlock};

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub state: BlockState,
    /// An erase is in flight.
    pub erasing: bool,
    /// Programs in flight.
    pub programs: u16,
    /// Programs that have failed since the last erase. Of chunks only.
    pub failures: u16,
    /// The first of them has left a page behind. The packages take no program behind one that has failed, so
    /// that the others have left none. Of chunks only.
    pub failed_page: bool,
    /// Its chunk was closed before all of it was written. It can be read until it is erased, and is bad then.
    pub closed: bool,
    /// Pages programmed or being programmed since the last erase; [`UNKNOWN`] since power-on.
    written: u16,
    /// How often it was erased, as far as is known; `None` if nobody has found it since power-on. Of chunks
    /// only.
    pub erases: Option<u32>,
}

/// No block has as many pages.
const UNKNOWN: u16 = u16::MAX;

impl Block {
    const NEW: Block = Block {
        state: BlockState::Free,
        erasing: false,
        programs: 0,
        failures: 0,
        failed_page: false,
        closed: false,
        written: UNKNOWN,
        erases: None,
    };

    /// Pages programmed or being programmed since the last erase; `None` if nobody has looked since
    /// power-on.
    pub fn written(&self) -> Option<u16> {
        (self.written != UNKNOWN).then_some(self.written)
    }
    /// Whether hosts may write and erase it.
    pub fn is_usable(&self) -> bool {
        matches!(self.state, BlockState::Free | BlockState::Host)
    }
    /// Whether a read of `page` must wait, since what it would read is only being programmed or erased. A
    /// LUN may carry out a read before what was submitted earlier.
    pub fn is_changing(&self, page: PageInBlock) -> bool {
        let settled = self.written().unwrap_or(0).saturating_sub(self.programs);
        self.erasing || self.programs > 0 && page.0 >= settled
    }
    /// Whether there is something of it to be kept over a loss of power.
    pub fn is_exception(&self) -> bool {
        self.state != BlockState::Free || self.closed || self.failed_page
    }
    /// Whether an erase or program is in flight.
    pub fn is_busy(&self) -> bool {
        self.erasing || self.programs > 0
    }
}

/// All blocks of the drive.
pub(crate) struct BlockTable {
    blocks: Box<[Block]>,
    per_lun: u32,
    luns: u32,
}

impl BlockTable {
    /// Every block is free, and nobody has looked at it.
    pub fn new(geometry: &Geometry) -> Self {
        let (luns, per_lun) = (geometry.total_luns(), geometry.blocks_per_lun);
        BlockTable { blocks: vec![Block::NEW; (luns * per_lun) as usize].into_boxed_slice(), per_lun, luns }
    }
    fn index(&self, lun: LunIndex, block: BlockAddr) -> usize {
        lun.index() * self.per_lun as usize + block.0 as usize
    }
    pub fn get(&self, lun: LunIndex, block: BlockAddr) -> &Block {
        &self.blocks[self.index(lun, block)]
    }
    pub fn get_mut(&mut self, lun: LunIndex, block: BlockAddr) -> &mut Block {
        let index = self.index(lun, block);
        &mut self.blocks[index]
    }
    /// The blocks of a LUN in the order of their numbers, plane in the low bits.
    pub fn of_lun(&self, lun: LunIndex) -> &[Block] {
        &self.blocks[lun.index() * self.per_lun as usize..][..self.per_lun as usize]
    }
    /// All blocks with their places, LUN by LUN.
    pub fn all(&self) -> impl Iterator<Item = (LunIndex, BlockAddr, &Block)> {
        (0..self.luns).map(LunIndex).flat_map(|lun| {
            self.of_lun(lun).iter().zip(0..).map(move |(block, number)| (lun, BlockAddr(number), block))
        })
    }
    /// Those of which something is to be kept over a loss of power.
    pub fn exceptions(&self) -> impl Iterator<Item = (LunIndex, BlockAddr, &Block)> {
        self.all().filter(|(_, _, block)| block.is_exception())
    }
    /// Its write pointer has been found.
    pub fn found(&mut self, lun: LunIndex, block: BlockAddr, written: u16) {
        let block = self.get_mut(lun, block);
        assert!(block.written().is_none() && !block.is_busy(), "a write pointer is looked for once");
        block.written = written;
    }
    /// Of blocks whose erases nobody knows, takes those of the other planes' block of their chunk, which are
    /// erased together. Those that are left share what is missing of the erases of their LUN, or count as the
    /// mean of the others where those of the LUN aren't known.
    pub fn estimate_erases(&mut self, planes: u8, of_all: impl Fn(LunIndex) -> Option<u32>) {
        for (lun, of_lun) in self.blocks.chunks_mut(self.per_lun as usize).enumerate() {
            for chunk in of_lun.chunks_mut(planes.into()) {
                let known = chunk.iter().filter_map(|block| block.erases).max();
                chunk.iter_mut().for_each(|block| block.erases = block.erases.or(known));
            }
            let known = || of_lun.iter().filter_map(|block| block.erases);
            let (sum, count) = (known().map(u64::from).sum::<u64>(), known().count() as u64);
            let unknown = of_lun.len() as u64 - count;
            let missing = of_all(LunIndex(lun as u32)).and_then(|all| u64::from(all).checked_sub(sum));
            let (sum, among) = missing.map_or((sum, count), |missing| (missing, unknown));
            let mean = (sum + among / 2).checked_div(among).unwrap_or(0) as u32;
            of_lun.iter_mut().for_each(|block| block.erases = block.erases.or(Some(mean)));
        }
    }
    /// The program of its next page has been submitted.
    pub fn begin_program(&mut self, lun: LunIndex, block: BlockAddr) {
        let block = self.get_mut(lun, block);
        block.written = block.written().expect("a plan knows the write pointer") + 1;
        block.programs += 1;
    }
    /// A program has ended. The page counts as written even if it failed: cells were changed.
    pub fn end_program(&mut self, lun: LunIndex, block: BlockAddr) {
        let block = self.get_mut(lun, block);
        block.programs = block.programs.checked_sub(1).expect("a program that ends was begun");
    }
    /// Its erase has been submitted.
    pub fn begin_erase(&mut self, lun: LunIndex, block: BlockAddr) {
        let block = self.get_mut(lun, block);
        assert!(!block.is_busy(), "an erase waits for what is in flight");
        block.erasing = true;
    }
    /// Its erase has ended. After a failed one the write pointer is unknown.
    pub fn end_erase(&mut self, lun: LunIndex, block: BlockAddr, erased: bool) {
        let block = self.get_mut(lun, block);
        assert!(core::mem::take(&mut block.erasing), "an erase that ends was begun");
        block.written = if erased { 0 } else { UNKNOWN };
        block.erases = block.erases.map(|erases| erases + 1);
        (block.failures, block.failed_page) = (0, false);
    }
}
