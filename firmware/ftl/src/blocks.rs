use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{BlockAddr, Geometry, LunIndex, Ppa};

/// A block over the whole drive: `lun · blocks per LUN + block`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockIndex(pub(crate) u32);

impl BlockIndex {
    const fn at(self) -> usize {
        self.0 as usize
    }
}

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockState {
    /// Erased and ready.
    Free,
    /// Being filled.
    Open,
    /// Holds data and takes no more.
    Closed,
    /// A program failed in it: its data must move, then it is bad.
    Failing,
    /// Bad from the factory: never to be touched.
    Bad,
    /// Went bad in use: never to be written again. What was in it may still be there.
    Retired,
    /// Holds the stored map.
    Map,
}

/// Who fills an open block. Data of different age is kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    Host,
    Gc,
}

#[derive(Clone, Copy)]
struct Open {
    block: BlockIndex,
    next: u16,
}

struct Lun {
    free: VecDeque<BlockIndex>,
    // Free blocks kept for the stored map: it must find room when failures have eaten everything else.
    for_map: VecDeque<BlockIndex>,
    in_map: usize,
    open: [Option<Open>; 2],
    failing: VecDeque<BlockIndex>,
    programs: u32,
    good: u32,
    exhausted: bool,
}

/// Times erased beyond this are no block's: half of what the table's 32 bits hold, so that none overflows in use.
pub(crate) const ERASES_MAX: u32 = 1 << 31;

// A block that can't be a victim.
const NO_VICTIM: u16 = u16::MAX;

/// The block table: states, valid pages, free lists and open blocks. Arrays over all blocks of the drive, because the
/// search for a victim walks one of them.
pub(crate) struct Blocks {
    blocks_per_lun: u32,
    pages_per_block: u32,
    reserve: usize,
    map_share: usize,
    states: Vec<BlockState>,
    valid: Vec<u16>,
    // Valid pages of blocks that are closed and have no program in flight, NO_VICTIM of the others.
    victims: Vec<u16>,
    closed_at: Vec<u64>,
    closings: u64,
    erases: Vec<u32>,
    programs: Vec<u16>,
    reads: Vec<u16>,
    valid_pages: Vec<u64>,
    luns: Vec<Lun>,
    // LUNs that are exhausted.
    exhausted: u32,
    // Data moves out of blocks in which a program failed. A drive that takes no more writes leaves it where it can be
    // read: the free blocks are for what is buffered, and for the map.
    evacuates: bool,
}

/// A block as the stored table keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockEntry {
    pub(crate) state: BlockState,
    /// Who fills it, when it is open.
    pub(crate) stream: Stream,
    /// The next page to program, when it is open.
    pub(crate) next: u16,
    /// Times erased.
    pub(crate) erases: u32,
}

impl Blocks {
    /// All blocks unused and in no list; [`Blocks::adopt`] puts each where it belongs. Of each LUN `reserve` free blocks
    /// are left to garbage collection, and `map_share` blocks hold stored maps or are kept free for them.
    pub(crate) fn new(geometry: &Geometry, reserve: u32, map_share: u64) -> Self {
        let blocks = (geometry.total_luns() * geometry.blocks_per_lun) as usize;
        let per_lun = geometry.blocks_per_lun as usize;
        let lun = |_| Lun {
            free: VecDeque::with_capacity(per_lun),
            for_map: VecDeque::with_capacity(per_lun),
            in_map: 0,
            open: [None; 2],
            failing: VecDeque::with_capacity(per_lun),
            programs: 0,
            good: 0,
            exhausted: false,
        };
        Blocks {
            blocks_per_lun: geometry.blocks_per_lun,
            pages_per_block: u32::from(geometry.pages_per_block),
            reserve: reserve as usize,
            map_share: map_share as usize,
            states: vec![BlockState::Bad; blocks],
            valid: vec![0; blocks],
            victims: vec![NO_VICTIM; blocks],
            closed_at: vec![0; blocks],
            closings: 0,
            erases: vec![0; blocks],
            programs: vec![0; blocks],
            reads: vec![0; blocks],
            valid_pages: vec![0; (geometry.total_pages() as usize).div_ceil(64)],
            luns: (0..geometry.total_luns()).map(lun).collect(),
            exhausted: 0,
            evacuates: true,
        }
    }

    /// Puts a block where its entry says; valid pages are told by [`Blocks::set_valid`].
    ///
    /// # Errors
    /// Says how the entry contradicts another, or can't be.
    pub(crate) fn adopt(&mut self, block: BlockIndex, entry: BlockEntry) -> Result<(), &'static str> {
        if entry.erases > ERASES_MAX {
            return Err("a block was erased more often than any can be");
        }
        self.erases[block.at()] = entry.erases;
        self.states[block.at()] = entry.state;
        let lun = self.lun_of(block).index();
        match entry.state {
            BlockState::Bad | BlockState::Retired => return Ok(()),
            BlockState::Free => self.luns[lun].free.push_back(block),
            BlockState::Open => {
                let open = &mut self.luns[lun].open[entry.stream as usize];
                if open.is_some() {
                    return Err("two blocks of a LUN are open for the same");
                }
                if u32::from(entry.next) >= self.pages_per_block {
                    return Err("a full block is open");
                }
                *open = Some(Open { block, next: entry.next });
            }
            BlockState::Closed | BlockState::Failing => {
                self.closings += 1;
                self.closed_at[block.at()] = self.closings;
                self.settle(block);
            }
            BlockState::Map => self.luns[lun].in_map += 1,
        }
        self.luns[lun].good += 1;
        Ok(())
    }
    /// Whether a page can hold data: it has been programmed since its block was erased, as far as the block table says.
    pub(crate) fn may_hold_data(&self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa);
        match self.states[block.at()] {
            BlockState::Open => {
                let entry = self.entry(block);
                ppa.0 % self.pages_per_block < u32::from(entry.next)
            }
            BlockState::Closed | BlockState::Failing => true,
            BlockState::Free | BlockState::Bad | BlockState::Retired | BlockState::Map => false,
        }
    }
    /// A block as it is to be stored.
    pub(crate) fn entry(&self, block: BlockIndex) -> BlockEntry {
        let mut entry = BlockEntry {
            state: self.states[block.at()],
            stream: Stream::Host,
            next: 0,
            erases: self.erases[block.at()],
        };
        for stream in [Stream::Host, Stream::Gc] {
            if let Some(open) = self.luns[self.lun_of(block).index()].open[stream as usize]
                && open.block == block
            {
                (entry.stream, entry.next) = (stream, open.next);
            }
        }
        entry
    }

    pub(crate) fn lun_of(&self, block: BlockIndex) -> LunIndex {
        LunIndex(block.0 / self.blocks_per_lun)
    }
    pub(crate) fn block_addr(&self, block: BlockIndex) -> BlockAddr {
        BlockAddr(block.0 % self.blocks_per_lun)
    }
    pub(crate) fn block_index(&self, lun: LunIndex, block: BlockAddr) -> BlockIndex {
        BlockIndex(lun.0 * self.blocks_per_lun + block.0)
    }
    #[inline]
    pub(crate) fn block_of(&self, ppa: Ppa) -> BlockIndex {
        BlockIndex(ppa.0 / self.pages_per_block)
    }
    pub(crate) fn first_page(&self, block: BlockIndex) -> Ppa {
        Ppa(block.0 * self.pages_per_block)
    }
    pub(crate) fn total(&self) -> u32 {
        self.states.len() as u32
    }
    pub(crate) fn state(&self, block: BlockIndex) -> BlockState {
        self.states[block.at()]
    }

    // ---- taking pages ----

    /// The page that the stream's next program goes to; it is the same until [`Blocks::take_page`]. `None` when there is
    /// no room: the host leaves the reserve alone.
    #[inline]
    pub(crate) fn next_page(&mut self, lun: LunIndex, stream: Stream) -> Option<Ppa> {
        let open = match self.luns[lun.index()].open[stream as usize] {
            Some(open) => open,
            None => self.open_block(lun, stream)?,
        };
        Some(Ppa(open.block.0 * self.pages_per_block + u32::from(open.next)))
    }
    #[cold]
    fn open_block(&mut self, lun: LunIndex, stream: Stream) -> Option<Open> {
        let reserve = if stream == Stream::Host || !self.evacuates { self.reserve } else { 0 };
        let lun = &mut self.luns[lun.index()];
        if lun.free.len() <= reserve {
            // Garbage collection that lost its reserve to failures goes on where the host writes.
            return if stream == Stream::Gc { lun.open[Stream::Host as usize] } else { None };
        }
        let block = lun.free.pop_front()?;
        self.states[block.at()] = BlockState::Open;
        let open = Open { block, next: 0 };
        lun.open[stream as usize] = Some(open);
        Some(open)
    }
    /// The program of `ppa`, which [`Blocks::next_page`] gave, is on its way. True when that closed the block.
    #[inline]
    pub(crate) fn take_page(&mut self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa);
        let index = self.lun_of(block).index();
        self.programs[block.at()] += 1;
        let lun = &mut self.luns[index];
        lun.programs += 1;
        let slot = lun.open.iter_mut().find(|o| o.is_some_and(|o| o.block == block));
        let slot = slot.expect("a page is taken from an open block");
        let open = slot.as_mut().expect("found as open");
        open.next += 1;
        if u32::from(open.next) < self.pages_per_block {
            return false;
        }
        *slot = None;
        self.close(block, BlockState::Closed);
        true
    }
    fn close(&mut self, block: BlockIndex, state: BlockState) {
        self.states[block.at()] = state;
        self.closings += 1;
        self.closed_at[block.at()] = self.closings;
    }
    /// The program of `ppa` has ended. After a failure the block takes no more pages. True when garbage collection
    /// may have the block now.
    #[inline]
    pub(crate) fn program_ended(&mut self, ppa: Ppa, failed: bool) -> bool {
        let block = self.block_of(ppa);
        let lun = self.lun_of(block).index();
        self.programs[block.at()] -= 1;
        self.luns[lun].programs -= 1;
        if failed {
            self.fail(block);
        }
        if self.programs[block.at()] > 0 || self.states[block.at()] == BlockState::Open {
            return false;
        }
        self.settle(block);
        true
    }
    #[cold]
    fn fail(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        for open in &mut self.luns[lun].open {
            if open.is_some_and(|o| o.block == block) {
                *open = None;
            }
        }
        self.close(block, BlockState::Failing);
    }
    // A block without programs in flight becomes a candidate for collection.
    fn settle(&mut self, block: BlockIndex) {
        match self.states[block.at()] {
            BlockState::Closed => self.victims[block.at()] = self.valid[block.at()],
            BlockState::Failing => {
                let lun = self.lun_of(block).index();
                let failing = &mut self.luns[lun].failing;
                if !failing.contains(&block) {
                    failing.push_back(block);
                }
            }
            _ => {}
        }
    }

    // ---- valid pages ----

    #[inline]
    pub(crate) fn is_valid(&self, ppa: Ppa) -> bool {
        self.valid_pages[ppa.0 as usize / 64] >> (ppa.0 % 64) & 1 == 1
    }
    #[inline]
    pub(crate) fn set_valid(&mut self, ppa: Ppa) {
        let block = self.block_of(ppa).at();
        self.valid_pages[ppa.0 as usize / 64] |= 1 << (ppa.0 % 64);
        self.valid[block] += 1;
        if self.victims[block] != NO_VICTIM {
            self.victims[block] += 1;
        }
    }
    #[inline]
    pub(crate) fn clear_valid(&mut self, ppa: Ppa) {
        assert!(self.is_valid(ppa), "{ppa:?} was mapped but not valid");
        let block = self.block_of(ppa).at();
        self.valid_pages[ppa.0 as usize / 64] &= !(1 << (ppa.0 % 64));
        self.valid[block] -= 1;
        if self.victims[block] != NO_VICTIM {
            self.victims[block] -= 1;
        }
    }
    pub(crate) fn valid(&self, block: BlockIndex) -> u16 {
        self.valid[block.at()]
    }

    // ---- reads in flight: their block must not be erased under them (P1) ----

    #[inline]
    pub(crate) fn read_begins(&mut self, ppa: Ppa) {
        let block = self.block_of(ppa).at();
        self.reads[block] += 1;
    }
    /// True when it was the block's last.
    #[inline]
    pub(crate) fn read_ends(&mut self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa).at();
        self.reads[block] -= 1;
        self.reads[block] == 0
    }
    pub(crate) fn is_read(&self, block: BlockIndex) -> bool {
        self.reads[block.at()] > 0
    }

    // ---- collecting ----

    pub(crate) fn free(&self, lun: LunIndex) -> usize {
        self.luns[lun.index()].free.len()
    }
    pub(crate) fn has_failing(&self, lun: LunIndex) -> bool {
        self.evacuates && !self.luns[lun.index()].failing.is_empty()
    }
    /// Lets data stay in blocks in which a program failed.
    pub(crate) fn stop_evacuating(&mut self) {
        self.evacuates = false;
    }
    /// Takes the next block to collect out of the candidates: one that is going bad, else the closed block with the fewest
    /// valid pages, the oldest of several (P5). `None` when nothing would be gained.
    pub(crate) fn take_victim(&mut self, lun: LunIndex) -> Option<BlockIndex> {
        if self.evacuates
            && let Some(block) = self.luns[lun.index()].failing.pop_front()
        {
            return Some(block);
        }
        let start = lun.0 * self.blocks_per_lun;
        let range = start as usize..(start + self.blocks_per_lun) as usize;
        let fewest = *self.victims[range.clone()].iter().min()?;
        if u32::from(fewest) >= self.pages_per_block {
            return None;
        }
        let oldest = range.filter(|&b| self.victims[b] == fewest).min_by_key(|&b| self.closed_at[b])?;
        self.victims[oldest] = NO_VICTIM;
        Some(BlockIndex(oldest as u32))
    }
    /// True when [`Blocks::take_victim`] would find one.
    pub(crate) fn has_victim(&self, lun: LunIndex) -> bool {
        let start = (lun.0 * self.blocks_per_lun) as usize;
        let victims = &self.victims[start..start + self.blocks_per_lun as usize];
        self.has_failing(lun) || victims.iter().any(|&valid| u32::from(valid) < self.pages_per_block)
    }
    /// Puts a victim back that could not be emptied.
    pub(crate) fn return_victim(&mut self, block: BlockIndex) {
        self.settle(block);
    }
    /// A block has been erased.
    pub(crate) fn erased(&mut self, block: BlockIndex) {
        assert_eq!(self.valid[block.at()], 0, "an erased block had valid pages");
        self.erases[block.at()] += 1;
        self.states[block.at()] = BlockState::Free;
        let lun = self.lun_of(block).index();
        self.luns[lun].free.push_back(block);
        self.keep_for_map(self.lun_of(block));
        let before = core::mem::replace(&mut self.luns[lun].exhausted, false);
        self.exhausted -= u32::from(before);
    }
    /// A block has gone bad. Gives the good blocks left in its LUN.
    pub(crate) fn retire(&mut self, block: BlockIndex) -> u32 {
        assert_eq!(self.valid[block.at()], 0, "a retired block had valid pages");
        self.states[block.at()] = BlockState::Retired;
        let lun = self.lun_of(block).index();
        self.luns[lun].good -= 1;
        self.luns[lun].good
    }
    /// The LUN's good blocks, without those that are about to go bad.
    pub(crate) fn lasting(&self, lun: LunIndex) -> u32 {
        let lun = &self.luns[lun.index()];
        lun.good - lun.failing.len() as u32
    }
    pub(crate) fn good(&self, lun: LunIndex) -> u32 {
        self.luns[lun.index()].good
    }
    /// True when neither waiting nor collecting can bring room for the host: nothing is in flight and nothing to gain.
    pub(crate) fn is_stuck(&self, lun: LunIndex) -> bool {
        let l = &self.luns[lun.index()];
        l.programs == 0 && !self.has_failing(lun) && l.open[0].is_none() && l.free.len() <= self.reserve
    }
    pub(crate) fn set_exhausted(&mut self, lun: LunIndex) {
        let before = core::mem::replace(&mut self.luns[lun.index()].exhausted, true);
        self.exhausted += u32::from(!before);
    }
    pub(crate) fn is_exhausted(&self, lun: LunIndex) -> bool {
        self.luns[lun.index()].exhausted
    }
    pub(crate) fn any_exhausted(&self) -> bool {
        self.exhausted > 0
    }

    // ---- the stored map's blocks ----

    /// Sets free blocks aside for the stored map, up to the LUN's share, as far as garbage collection keeps its reserve
    /// without them. For after boot; each erased block is looked at by itself.
    pub(crate) fn keep_for_map(&mut self, lun: LunIndex) {
        let lun = &mut self.luns[lun.index()];
        while lun.in_map + lun.for_map.len() < self.map_share && lun.free.len() > self.reserve + 1 {
            lun.for_map.extend(lun.free.pop_back());
        }
    }
    /// Takes a free block for the stored map: one set aside for it, else another, leaving one to garbage
    /// collection while that has use for it.
    pub(crate) fn take_for_map(&mut self, lun: LunIndex) -> Option<BlockIndex> {
        let lun = &mut self.luns[lun.index()];
        let block = match lun.for_map.pop_front() {
            Some(block) => block,
            None if lun.free.len() < 2 && self.evacuates => return None,
            None => lun.free.pop_front()?,
        };
        lun.in_map += 1;
        self.states[block.at()] = BlockState::Map;
        Some(block)
    }
    /// Takes a block that holds nothing any more out of the candidates for collection, to be erased at once.
    pub(crate) fn take_empty(&mut self) -> Option<BlockIndex> {
        let block = self.victims.iter().position(|&valid| valid == 0)?;
        self.victims[block] = NO_VICTIM;
        Some(BlockIndex(block as u32))
    }
    /// The LUN's next block from `first` on in which something of the host's may lie, mapped or not, bad or not.
    pub(crate) fn next_used(&self, lun: LunIndex, first: BlockAddr) -> Option<BlockIndex> {
        let used = |&block: &BlockIndex| {
            !matches!(self.states[block.at()], BlockState::Free | BlockState::Map | BlockState::Bad)
        };
        (first.0..self.blocks_per_lun).map(|block| self.block_index(lun, BlockAddr(block))).find(used)
    }
    /// Takes a used block, which holds no valid page, out of all lists: to be erased at once.
    pub(crate) fn take_used(&mut self, block: BlockIndex) {
        self.victims[block.at()] = NO_VICTIM;
        let lun = self.lun_of(block).index();
        let lun = &mut self.luns[lun];
        lun.failing.retain(|&failing| failing != block);
        for open in &mut lun.open {
            if open.is_some_and(|o| o.block == block) {
                *open = None;
            }
        }
    }
    /// A block of a map that is no longer needed: to be erased like any block without valid pages.
    pub(crate) fn release_from_map(&mut self, block: BlockIndex) {
        self.leave_map(block);
        self.close(block, BlockState::Closed);
        self.settle(block);
    }
    /// A program of the stored map failed in this block.
    pub(crate) fn fail_map_block(&mut self, block: BlockIndex) {
        self.leave_map(block);
        self.close(block, BlockState::Failing);
        self.settle(block);
    }
    fn leave_map(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        self.luns[lun].in_map -= 1;
    }
}
