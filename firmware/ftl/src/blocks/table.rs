mod collecting;
mod levelling;
mod listing;
mod map_blocks;
mod refreshing;
mod safety;
mod suspects;
mod valid;

use crate::blocks::outbox::{LogEntry, PendingEntries};
use crate::blocks::unsafe_programs::{Change, DurableChange, UnsafePrograms};
use crate::blocks::victims::Greedy;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, Stream, Suspect};
use crate::terms::config::{FtlConfig, WearLevelling};
use crate::terms::sizes::OPENED_SHARE;
use crate::terms::units::UnitShape;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{ClosedBlocks, Refresh, VictimPolicy};
use aster_units::{BlockAddr, Lpn, LunIndex, Ppa, Upa};

/// A page that was moved out of a block which is being collected: not journaled before the block is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DeferredMove {
    change: Change,
    // Its order among all changes.
    at: u64,
}

#[derive(Clone, Copy)]
struct Open {
    block: BlockIndex,
    next: u16,
}

/// Where a stream's next program goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// To this page.
    Page(Ppa),
    /// To a block that the log must name first.
    NotFreeListed,
    /// The stream has no room.
    None,
}

struct LunBlocks {
    free: VecDeque<BlockIndex>,
    // How many of the free blocks, from the first on, the last log page lists for recovery to look into.
    journaled_free: usize,
    // How many it will be once the log page in work is written.
    journaling_free: usize,
    // Free blocks kept for the stored map: it must find room when failures have eaten everything else.
    for_map: VecDeque<BlockIndex>,
    in_map: usize,
    open: [Option<Open>; Stream::ALL.len()],
    failing: VecDeque<BlockIndex>,
    // Blocks with a page that a loss of power has torn.
    torn: VecDeque<BlockIndex>,
    // Moves out of the block that garbage collection is emptying.
    deferred: Vec<DeferredMove>,
    // Blocks that others than garbage collection are erasing.
    erasing: u32,
    programs: u32,
    good: u32,
    factory_bad: u32,
    full: bool,
    // The most times that a block of it, but for the log's, was erased.
    erases_max: u32,
    // Blocks erased since the last one that was collected for wear or refresh.
    erases_since: u32,
    // Closed blocks whose data should move.
    refresh_queue: VecDeque<BlockIndex>,
    // How often what is being copied was moved for its wrong bits.
    copies_moved: u8,
}

/// Times erased beyond this are no block's: half of what the table's 32 bits hold, so that none overflows in
/// use.
pub(crate) const ERASES_MAX: u32 = 1 << 31;

/// Programs of a LUN that are not safe yet, for which there is room from the beginning.
const UNSAFE_EXPECTED: usize = 64;
/// A LUN asks for another log page when fewer of its free blocks are listed.
const LISTED_MIN: usize = 1;

// A block that can't be a victim.
const NO_VICTIM: u32 = ClosedBlocks::NOT_OFFERED;

/// The block table: states, valid pages, free lists and open blocks. Arrays over all blocks of the drive,
/// because the search for a victim walks one of them.
pub(crate) struct Blocks {
    blocks_per_lun: u32,
    pages_per_block: u32,
    shape: UnitShape,
    // Pages that are lost together when the program of the last of them is cut off.
    pages_per_line: u32,
    reserve: usize,
    // Free blocks of a LUN beyond those that translation pages may take and the host may not.
    for_mapping: usize,
    map_share: usize,
    levelling: WearLevelling,
    refresh: Refresh,
    // Chooses among the blocks that hold something; those that don't go first, whatever it says.
    policy: Box<dyn VictimPolicy>,
    states: Vec<BlockState>,
    // Valid units of each block.
    valid: Vec<u32>,
    // Those of blocks that are closed and have no program in flight, NO_VICTIM of the others.
    victims: Vec<u32>,
    closed_at: Vec<u64>,
    closings: u64,
    erases: Vec<u32>,
    programs: Vec<u16>,
    reads: Vec<u16>,
    // Of each block since its erase, or since power-on: pages read, and how often the data in it had moved
    // for wrong bits.
    reads_since: Vec<u32>,
    moved_for_bits: Vec<u8>,
    // Blocks whose data should move, one bit each, and those of them for which its wrong bits are the reason.
    to_refresh: Vec<u64>,
    refresh_for_bits: Vec<u64>,
    // Blocks whose data was moved for its wrong bits and has too many in its new place as well, one bit each.
    bad_as_before: Vec<u64>,
    // Pages that could not be corrected, one a block at most; empty where no block is retired for one.
    suspects: Vec<Option<Suspect>>,
    // One bit each.
    valid_units: Vec<u64>,
    luns: Vec<LunBlocks>,
    // LUNs that are full.
    full: u32,
    // Data moves out of blocks in which a program failed. A drive that takes no more writes leaves it where
    // it can be read: the free blocks are for what is buffered, and for the map.
    evacuates: bool,
    // The log has not ended and will list further blocks: none is written before it is listed.
    is_logged: bool,
    // Blocks that may be opened before a log page has the first of them.
    opened_max: usize,
    // A closed block may hold nothing any more.
    emptied: bool,
    // Free blocks that recovery has not found erased itself, one bit each.
    unverified: Vec<u64>,
    // Blocks that were collected and aren't erased yet, and the last log entry about each.
    collected: Vec<(BlockIndex, u64)>,
    // Free blocks that the last log page before a loss of power lists.
    listed_at_power_on: Vec<BlockIndex>,
    // Blocks of earlier stored maps, not erased yet.
    of_old_maps: Vec<BlockIndex>,
    unsafe_programs: UnsafePrograms,
    // Changes on their way into the log; kept for its memory.
    durable: Vec<DurableChange>,
    // What the log does not say yet.
    pending: PendingEntries,
}

impl Blocks {
    /// All blocks unused and in no list; [`Blocks::adopt`] puts each where it belongs.
    pub(crate) fn of(config: &FtlConfig) -> Self {
        let (geometry, shape) = (&config.geometry, config.units());
        let map_share = config.metadata_blocks_per_lun();
        // What host and garbage collection have in flight in a LUN, and as many word lines that wait to be
        // completed.
        let depth = usize::from(config.slice_workers).min(UNSAFE_EXPECTED);
        let blocks = (geometry.total_luns() * geometry.blocks_per_lun) as usize;
        let pages_per_lun = geometry.blocks_per_lun * u32::from(geometry.pages_per_block);
        let per_lun = geometry.blocks_per_lun as usize;
        let lun = |_| LunBlocks {
            free: VecDeque::with_capacity(per_lun),
            journaled_free: 0,
            journaling_free: 0,
            for_map: VecDeque::with_capacity(per_lun),
            in_map: 0,
            open: [None; Stream::ALL.len()],
            failing: VecDeque::with_capacity(per_lun),
            torn: VecDeque::new(),
            deferred: Vec::with_capacity(usize::from(geometry.pages_per_block) * shape.per_page() as usize),
            erasing: 0,
            programs: 0,
            good: 0,
            factory_bad: 0,
            full: false,
            erases_max: 0,
            erases_since: 0,
            refresh_queue: VecDeque::new(),
            copies_moved: 0,
        };
        Blocks {
            blocks_per_lun: geometry.blocks_per_lun,
            pages_per_block: u32::from(geometry.pages_per_block),
            shape,
            pages_per_line: u32::from(config.pages_per_word_line),
            reserve: config.gc_reserve_blocks as usize,
            for_mapping: config.mapping_reserve_blocks() as usize,
            map_share: map_share as usize,
            levelling: config.wear_levelling,
            refresh: config.refresh,
            policy: Box::new(Greedy),
            states: vec![BlockState::Bad; blocks],
            valid: vec![0; blocks],
            victims: vec![NO_VICTIM; blocks],
            closed_at: vec![0; blocks],
            closings: 0,
            erases: vec![0; blocks],
            programs: vec![0; blocks],
            reads: vec![0; blocks],
            reads_since: vec![0; blocks],
            moved_for_bits: vec![0; blocks],
            to_refresh: vec![0; blocks.div_ceil(64)],
            refresh_for_bits: vec![0; blocks.div_ceil(64)],
            bad_as_before: vec![0; blocks.div_ceil(64)],
            suspects: vec![None; if config.retire_uncorrectable { blocks } else { 0 }],
            valid_units: vec![0; (geometry.total_pages() as usize * shape.per_page() as usize).div_ceil(64)],
            luns: (0..geometry.total_luns()).map(lun).collect(),
            full: 0,
            evacuates: true,
            is_logged: true,
            opened_max: geometry.page_bytes as usize / OPENED_SHARE,
            emptied: false,
            unverified: vec![0; blocks.div_ceil(64)],
            collected: Vec::with_capacity(geometry.total_luns() as usize),
            listed_at_power_on: Vec::new(),
            of_old_maps: Vec::new(),
            unsafe_programs: UnsafePrograms::new(geometry.total_luns(), pages_per_lun, shape, depth),
            durable: Vec::new(),
            pending: PendingEntries::new(pages_per_lun * shape.per_page()),
        }
    }

    /// With victims that `policy` chooses.
    pub(crate) fn collected_by(self, policy: Box<dyn VictimPolicy>) -> Self {
        Blocks { policy, ..self }
    }
    /// As when new.
    pub(crate) fn forget(&mut self, config: &FtlConfig) {
        let policy = core::mem::replace(&mut self.policy, Box::new(Greedy));
        *self = Blocks::of(config).collected_by(policy);
    }

    /// Puts a block where its entry says. [`Blocks::set_valid`] says which of its units are valid.
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
        if !matches!(entry.state, BlockState::Bad | BlockState::Retired | BlockState::Log) {
            let most = &mut self.luns[lun].erases_max;
            *most = entry.erases.max(*most);
        }
        match entry.state {
            BlockState::Bad => {
                self.luns[lun].factory_bad += 1;
                return Ok(());
            }
            BlockState::Retired => return Ok(()),
            BlockState::Free => {
                self.make_free(block);
                if entry.unverified {
                    self.set_unverified(block);
                }
            }
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
                self.offer(block);
            }
            BlockState::Map => self.luns[lun].in_map += 1,
            BlockState::Log => {}
        }
        self.luns[lun].good += 1;
        Ok(())
    }
    /// Whether a page can hold data: it has been programmed since its block was erased, as far as the block
    /// table says.
    pub(crate) fn may_hold_data(&self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa);
        match self.states[block.at()] {
            BlockState::Open => {
                let entry = self.entry(block);
                ppa.0 % self.pages_per_block < u32::from(entry.next)
            }
            BlockState::Closed | BlockState::Failing => true,
            BlockState::Free | BlockState::Bad | BlockState::Retired | BlockState::Map | BlockState::Log => {
                false
            }
        }
    }
    /// A block as it is to be stored.
    pub(crate) fn entry(&self, block: BlockIndex) -> BlockEntry {
        let mut entry = BlockEntry {
            state: self.states[block.at()],
            stream: Stream::Host,
            next: 0,
            erases: self.erases[block.at()],
            unverified: self.is_unverified(block),
        };
        for stream in Stream::ALL {
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
    /// The block that a unit is in.
    #[inline]
    pub(crate) fn block_of_unit(&self, at: Upa) -> BlockIndex {
        self.block_of(self.shape.page_of(at))
    }
    pub(crate) fn first_page(&self, block: BlockIndex) -> Ppa {
        Ppa(block.0 * self.pages_per_block)
    }
    /// Mapping units that a block has room for.
    pub(crate) fn units_per_block(&self) -> u32 {
        self.pages_per_block * self.shape.per_page()
    }
    pub(crate) fn total(&self) -> u32 {
        self.states.len() as u32
    }
    pub(crate) fn state(&self, block: BlockIndex) -> BlockState {
        self.states[block.at()]
    }

    // ---- taking pages ----

    /// The page that the stream's next program goes to; it is the same until [`Blocks::take_page`]. The host
    /// leaves the reserve alone.
    #[inline]
    pub(crate) fn next_page(&mut self, lun: LunIndex, stream: Stream) -> Next {
        match self.luns[lun.index()].open[stream as usize] {
            Some(open) => self.page_of(open),
            None => self.open_block(lun, stream),
        }
    }
    fn page_of(&self, open: Open) -> Next {
        Next::Page(Ppa(open.block.0 * self.pages_per_block + u32::from(open.next)))
    }
    /// The stream in whose open block a page is.
    pub(crate) fn filled_by(&self, page: Ppa) -> Stream {
        let (block, open) = (self.block_of(page), &self.luns[self.lun_of(self.block_of(page)).index()].open);
        let is_of = |stream: &Stream| open[*stream as usize].is_some_and(|open| open.block == block);
        Stream::ALL.into_iter().find(is_of).expect("a page is taken from an open block")
    }
    /// The next page of a stream's word line, when one is begun.
    pub(crate) fn next_of_line(&self, lun: LunIndex, stream: Stream) -> Option<Ppa> {
        let open = self.luns[lun.index()].open[stream as usize]?;
        let begun = !u32::from(open.next).is_multiple_of(self.pages_per_line);
        begun.then_some(Ppa(open.block.0 * self.pages_per_block + u32::from(open.next)))
    }
    /// Pages that the host can program in a LUN before garbage collection has gained any.
    pub(crate) fn host_pages_left(&self, lun: LunIndex) -> u64 {
        let at = &self.luns[lun.index()];
        let open = at.open[Stream::Host as usize].map_or(0, |o| self.pages_per_block - u32::from(o.next));
        let free = at.free.len().saturating_sub(self.kept_from(Stream::Host)) as u64;
        free * u64::from(self.pages_per_block) + u64::from(open)
    }
    /// Free blocks of a LUN that a stream leaves alone.
    pub(super) fn kept_from(&self, stream: Stream) -> usize {
        match stream {
            Stream::Host => self.reserve + self.for_mapping,
            Stream::Gc if self.evacuates => 0,
            Stream::Gc | Stream::Mapping => self.reserve,
        }
    }
    /// The same of a LUN as it is: where garbage collection has no open block of which translation pages
    /// could have a part, it keeps a block of its reserve for the next victim.
    pub(super) fn kept_in(&self, lun: LunIndex, stream: Stream) -> usize {
        match stream {
            Stream::Mapping if self.luns[lun.index()].open[Stream::Gc as usize].is_none() => 1,
            stream => self.kept_from(stream),
        }
    }
    /// Garbage collection's open block, if a translation page may go there: what is left of it and of free
    /// blocks is more than any victim can hold. Collecting one leaves at least a page more than it takes, so
    /// a translation page finds room sooner or later, whatever else waits for it.
    fn lent_by_collector(&self, lun: LunIndex) -> Option<Open> {
        let at = &self.luns[lun.index()];
        let open = at.open[Stream::Gc as usize]?;
        let left = self.pages_per_block - u32::from(open.next) + at.free.len() as u32 * self.pages_per_block;
        (left >= self.pages_per_block + self.pages_per_line).then_some(open)
    }
    #[cold]
    fn open_block(&mut self, at: LunIndex, stream: Stream) -> Next {
        let kept = self.kept_in(at, stream);
        let lun = &mut self.luns[at.index()];
        if lun.free.len() <= kept {
            // Garbage collection that lost its reserve to failures goes on where the host writes.
            let open = match stream {
                Stream::Host => None,
                Stream::Gc => lun.open[Stream::Host as usize],
                Stream::Mapping => self.lent_by_collector(at),
            };
            return open.map_or(Next::None, |open| self.page_of(open));
        }
        // A log that has fallen behind is waited for: each block with pages that it doesn't know takes room
        // in its pages.
        let behind = self.pending.opened() >= self.opened_max;
        if lun.journaled_free == 0 || behind {
            return if self.is_logged { Next::NotFreeListed } else { Next::None };
        }
        let Some(block) = self.take_free(at, stream) else { return Next::None };
        let lun = &mut self.luns[at.index()];
        self.pending.push(LogEntry::Opened(block));
        self.states[block.at()] = BlockState::Open;
        let open = Open { block, next: 0 };
        lun.open[stream as usize] = Some(open);
        self.page_of(open)
    }
    /// The program of `ppa`, which [`Blocks::next_page`] gave, is on its way; `copies` says of each slot what
    /// it copies, and from where. True when that closed the block.
    #[inline]
    pub(crate) fn take_page(&mut self, ppa: Ppa, copies: &[(Lpn, Upa)]) -> bool {
        let block = self.block_of(ppa);
        let index = self.lun_of(block).index();
        self.programs[block.at()] += 1;
        let lun = &mut self.luns[index];
        lun.programs += 1;
        // What is no copy and not the host's is a translation page, or nothing.
        let by = match lun.open[Stream::Host as usize] {
            Some(open) if open.block == block => Stream::Host,
            _ if copies.is_empty() => Stream::Mapping,
            _ => Stream::Gc,
        };
        self.unsafe_programs.begin(LunIndex(index as u32), ppa, by, copies);
        if by == Stream::Gc {
            self.copied_into(block);
        }
        let lun = &mut self.luns[index];
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
    /// The program of `ppa` has ended. After a failure the block takes no more pages. True when garbage
    /// collection may have the block now.
    #[inline]
    pub(crate) fn program_ended(&mut self, ppa: Ppa, failed: bool) -> bool {
        let block = self.block_of(ppa);
        let lun = self.lun_of(block).index();
        self.programs[block.at()] -= 1;
        self.luns[lun].programs -= 1;
        self.unsafe_programs.end(LunIndex(lun as u32), ppa);
        if failed {
            self.fail(block);
        }
        if self.programs[block.at()] > 0 || self.states[block.at()] == BlockState::Open {
            return false;
        }
        self.offer(block);
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
    fn offer(&mut self, block: BlockIndex) {
        match self.states[block.at()] {
            BlockState::Closed => {
                self.victims[block.at()] = self.valid[block.at()];
                self.emptied |= self.valid[block.at()] == 0;
                self.queue_refresh(block);
            }
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
}
