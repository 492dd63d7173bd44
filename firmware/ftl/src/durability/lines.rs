//! What a loss of power could undo, and when it no longer can.
//!
//! A page is safe once its whole word line is programmed, or its block takes no more programs (see
//! [`UnsafePrograms`]). Then the data that it replaces becomes stale, and the change waits for a log page.
//! Moves made by garbage collection wait longer: until their block is empty. In a pool of several LUNs they
//! do so only while the pool has no free block; at other times a loss of power leaves one to copy to anyway.

use crate::durability::outbox::{LogEntry, Outbox};
use crate::durability::unsafe_programs::{Change, DurableChange, Safety, UnsafePrograms};
use crate::space::free::FreeLists;
use crate::space::layout::BlockLayout;
use crate::space::open::OpenBlocks;
use crate::space::states::States;
use crate::space::valid::ValidUnits;
use crate::terms::block::{BlockIndex, BlockState, PoolIndex, Stream};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex, Ppa, Upa};
use core::cell::{Cell, RefCell};
use core::ops::Range;

/// The most units in a run of stale ones: a log page has 16 bits for their number.
const STALE_RUN_MAX: u32 = u16::MAX as u32;

/// The number of unsafe programs of a LUN for which memory is taken at the start.
const UNSAFE_EXPECTED: usize = 64;

/// The changes that a loss of power could undo.
pub(crate) struct Durability {
    layout: BlockLayout,
    states: Rc<States>,
    free: Rc<FreeLists>,
    open: Rc<OpenBlocks>,
    valid: Rc<ValidUnits>,
    outbox: Rc<Outbox>,
    depth: usize,
    programs: RefCell<UnsafePrograms>,
    // Per pool: moves out of the block that garbage collection is emptying.
    deferred: Box<[RefCell<Vec<DeferredMove>>]>,
    // Blocks that were collected and aren't erased yet, and the last log entry about each.
    collected: RefCell<Vec<(BlockIndex, u64)>>,
    // Changes that are about to be logged; kept to reuse its memory.
    durable: Cell<Vec<DurableChange>>,
    // Blocks and pages that a log page's ranges come from; kept for the same reason.
    found: Cell<Vec<(u32, u32)>>,
}

/// A move out of a block that is being collected. It is journaled only once the block is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DeferredMove {
    change: Change,
    // Its order among all changes.
    at: u64,
}

/// The parts that changes are told to.
pub(crate) struct Parts<'a> {
    pub(crate) states: &'a Rc<States>,
    pub(crate) free: &'a Rc<FreeLists>,
    pub(crate) open: &'a Rc<OpenBlocks>,
    pub(crate) valid: &'a Rc<ValidUnits>,
    pub(crate) outbox: &'a Rc<Outbox>,
}

impl Durability {
    /// `workers` is the number of programs that the host and garbage collection have in flight in a LUN; as
    /// many word lines may wait to be completed.
    pub(crate) fn new(layout: BlockLayout, workers: usize, of: Parts<'_>) -> Self {
        let depth = workers.min(UNSAFE_EXPECTED);
        let units = layout.units_per_block() as usize;
        Durability {
            layout,
            states: Rc::clone(of.states),
            free: Rc::clone(of.free),
            open: Rc::clone(of.open),
            valid: Rc::clone(of.valid),
            outbox: Rc::clone(of.outbox),
            depth,
            programs: RefCell::new(UnsafePrograms::of(&layout, depth)),
            deferred: layout.all_pools().map(|_| RefCell::new(Vec::with_capacity(units))).collect(),
            collected: RefCell::new(Vec::with_capacity(layout.total_luns())),
            durable: Cell::default(),
            found: Cell::default(),
        }
    }
    pub(crate) fn forget(&self) {
        *self.programs.borrow_mut() = UnsafePrograms::of(&self.layout, self.depth);
        self.deferred.iter().for_each(|moves| moves.borrow_mut().clear());
        self.collected.borrow_mut().clear();
    }
    /// The pages of a word line, and whether it gets no further program.
    #[inline]
    fn line_of(&self, ppa: Ppa) -> (Range<u32>, bool) {
        let (line, block) = (self.layout.line_of(ppa), self.layout.block_of(ppa));
        let next = match self.states.of(block) {
            BlockState::Open => self.layout.first_page(block).0 + self.next_in(block),
            _ => line.end,
        };
        let is_closed = next >= line.end;
        (line, is_closed)
    }
    #[inline]
    fn next_in(&self, block: BlockIndex) -> u32 {
        self.open.find(block).map_or(0, |(_, next)| next.into())
    }

    // ---- programs ----

    /// A program of stream `by` begins. If it makes copies, `copies` has for each slot the logical page and
    /// the place that it comes from.
    #[inline]
    pub(crate) fn program_begins(&self, ppa: Ppa, by: Stream, copies: &[(Lpn, Upa)]) {
        self.programs.borrow_mut().begin(self.layout.lun_of_page(ppa), ppa, by, copies);
    }
    /// The program has ended.
    #[inline]
    pub(crate) fn program_ends(&self, ppa: Ppa) {
        self.programs.borrow_mut().end(self.layout.lun_of_page(ppa), ppa);
    }
    /// The logical page `lpn` has moved from `from` to `to`, whose program has ended. The old version stays
    /// valid until the move can't be undone any more.
    #[inline]
    pub(crate) fn moved(&self, change: Change) {
        debug_assert!(change.to.is_some() && change.to != change.from, "a unit moves to another place");
        self.valid.set(change.to);
        self.programs.borrow_mut().changed(change);
    }
    /// A logical unit of a pool, which was at `from`, is unmapped by the command with this sequence number.
    pub(crate) fn unmapped(&self, pool: PoolIndex, lpn: Lpn, from: Upa, sequence: u64) {
        self.programs.borrow_mut().unmapped(from);
        self.valid.clear(from);
        self.forget_deferred(pool, lpn);
        self.outbox.push(LogEntry::Trim { first: lpn, count: 1, sequence });
    }
    /// A program of the word line of `ppa` has ended. Once no loss of power can undo the line's pages any
    /// more, the data that they replace becomes stale, and the changes are journaled. Returns true then.
    #[inline]
    pub(crate) fn line_durable(&self, ppa: Ppa) -> bool {
        let lun = self.layout.lun_of_page(ppa);
        let pool = self.layout.pool_of(lun);
        let (line, closed) = self.line_of(ppa);
        let mut durable = self.durable.take();
        let any = self.programs.borrow_mut().take_durable(lun, line, closed, &mut durable);
        for DurableChange { change, journals, is_new, at } in durable.drain(..) {
            if change.from.is_some() {
                self.valid.clear(change.from);
            }
            if !journals {
                continue;
            }
            if is_new || !self.defers(pool) {
                self.forget_deferred(pool, change.lpn);
                self.outbox.push(LogEntry::Map { lpn: change.lpn, at: change.to });
            } else {
                self.deferred[pool.at()].borrow_mut().push(DeferredMove { change, at });
            }
        }
        self.durable.set(durable);
        any
    }
    /// As [`Durability::line_durable`] for all word lines of a block that takes no more programs.
    #[cold]
    pub(crate) fn block_durable(&self, block: BlockIndex) -> bool {
        let lines = self.layout.pages_of(block).step_by(self.layout.pages_per_line() as usize);
        lines.fold(false, |any, page| self.line_durable(page) | any)
    }
    /// How safe a page is that was programmed.
    pub(crate) fn safety(&self, ppa: Ppa) -> Safety {
        let (line, closed) = self.line_of(ppa);
        self.programs.borrow().safety(self.layout.lun_of_page(ppa), ppa, line, closed)
    }
    /// Programs begun so far.
    pub(crate) fn programs_begun(&self) -> u64 {
        self.programs.borrow().begun()
    }
    /// Whether no loss of power can undo any of the host's first `programs` programs, as far as they went to
    /// this LUN.
    pub(crate) fn are_safe(&self, lun: LunIndex, programs: u64) -> bool {
        self.programs.borrow().all_safe(lun, programs)
    }

    // ---- what is to be copied ----

    /// Whether a unit must be copied before its block is erased: it is valid, and not only as a fallback for
    /// a replacement that isn't safe yet.
    #[inline]
    pub(crate) fn counts(&self, at: Upa) -> bool {
        self.valid.is_valid(at) && !self.programs.borrow().is_replaced(at)
    }
    /// Whether any unit of a page must be copied before its block is erased.
    #[inline]
    pub(crate) fn counts_in(&self, page: Ppa) -> bool {
        let shape = self.layout.shape();
        (0..shape.per_page()).any(|slot| self.counts(shape.at(page, slot)))
    }
    /// The page of a block with the most units that still count, among the pages that are not `taken`; of
    /// several, the first.
    ///
    /// If this page is programmed alone, as many slots stay empty as it has stale units. So completing a word
    /// line costs no more than a page's share of the room that the next victim gains.
    pub(crate) fn fullest_page(&self, block: BlockIndex, taken: impl Fn(Ppa) -> bool) -> Option<Ppa> {
        let shape = self.layout.shape();
        let mut most = (0, None);
        for ppa in self.layout.pages_of(block).filter(|&ppa| !taken(ppa)) {
            let count = (0..shape.per_page()).filter(|&slot| self.counts(shape.at(ppa, slot))).count() as u32;
            if count > most.0 {
                most = (count, Some(ppa));
            }
            if count == shape.per_page() {
                break;
            }
        }
        most.1
    }

    // ---- moves of garbage collection ----

    /// Whether moves wait until their block is empty. If each counted by itself, a loss of power could find
    /// blocks of which a part has moved, and none to move the rest to.
    fn defers(&self, pool: PoolIndex) -> bool {
        self.layout.has_one_lun() || self.free.in_pool(pool) == 0
    }
    /// A word line that waits for further pages and has the new version of a unit of this block, and the
    /// stream that fills it. Lines of copies come first.
    pub(crate) fn open_line_replacing(&self, block: BlockIndex) -> Option<(LunIndex, Stream)> {
        let (programs, shape) = (self.programs.borrow(), self.layout.shape());
        let first = shape.first_in(self.layout.first_page(block)).0;
        let units = first..first + self.layout.units_per_block();
        let mut found = None;
        for lun in self.layout.luns_of(self.layout.pool_of_block(block)) {
            for ppa in programs.replacing(lun, units.clone()) {
                let (line, closed) = self.line_of(ppa);
                if programs.safety(lun, ppa, line, closed) != Safety::Open {
                    continue;
                }
                match self.open.find(self.layout.block_of(ppa)) {
                    Some((Stream::Gc, _)) => return Some((lun, Stream::Gc)),
                    Some((stream, _)) => found = Some((lun, stream)),
                    None => {}
                }
            }
        }
        found
    }
    /// A logical page has moved on or was unmapped: its copy by garbage collection needn't be journaled any
    /// more.
    fn forget_deferred(&self, pool: PoolIndex, lpn: Lpn) {
        let mut deferred = self.deferred[pool.at()].borrow_mut();
        if let Some(at) = deferred.iter().position(|deferred| deferred.change.lpn == lpn) {
            deferred.swap_remove(at);
        }
    }
    /// A block has been collected: only now are the moves of its pages journaled. After an earlier loss of
    /// power all pages are still in their old places, and the copies are stale. So there is always a block
    /// that can be erased to make room for copies.
    pub(crate) fn journal_moves(&self, block: BlockIndex) {
        let pool = self.layout.pool_of_block(block);
        if !self.deferred[pool.at()].borrow().is_empty() {
            self.journal_deferred(pool);
            let mut collected = self.collected.borrow_mut();
            debug_assert!(collected.iter().all(|&(of, _)| of != block), "{block:?} is emptied once");
            collected.push((block, self.outbox.last()));
        }
    }
    /// Journals the deferred moves of garbage collection.
    pub(crate) fn journal_deferred(&self, pool: PoolIndex) {
        for DeferredMove { change, .. } in self.deferred[pool.at()].borrow_mut().drain(..) {
            self.outbox.push(LogEntry::Map { lpn: change.lpn, at: change.to });
        }
    }
    /// Blocks that have been collected but not erased, and whose moves are not all in the log yet.
    pub(crate) fn collected(&self) -> Vec<BlockIndex> {
        self.collected.borrow().iter().map(|&(block, _)| block).collect()
    }
    /// The log knows all entries up to the `logged`th.
    pub(crate) fn log_knows(&self, logged: u64) {
        self.collected.borrow_mut().retain(|&(_, last)| last > logged);
    }
    /// A block was erased: its pages can't be found any more.
    pub(crate) fn erased(&self, block: BlockIndex) {
        self.collected.borrow_mut().retain(|&(emptied, _)| emptied != block);
    }

    // ---- what a log page, or a stored map, says about them ----

    /// The changes of logical units in `units` that aren't journaled, of all LUNs, latest first. Undoing them
    /// in this order leads to the state that the log describes.
    pub(crate) fn to_undo(&self, units: Range<u32>) -> Vec<(Lpn, Upa)> {
        let programs = self.programs.borrow();
        let mut changes = Vec::with_capacity(self.deferred_moves() + programs.units());
        let counts = |(_, lpn, _): &(u64, Lpn, Upa)| units.contains(&lpn.0);
        for deferred in &self.deferred {
            let deferred = deferred.borrow();
            let moves = deferred.iter().map(|moved| (moved.at, moved.change.lpn, moved.change.from));
            changes.extend(moves.filter(counts));
        }
        for lun in self.layout.all_luns() {
            changes.extend(programs.unjournaled(lun).filter(counts));
        }
        changes.sort_unstable_by_key(|&(at, ..)| core::cmp::Reverse(at));
        changes.into_iter().map(|(_, lpn, from)| (lpn, from)).collect()
    }
    fn deferred_moves(&self) -> usize {
        self.deferred.iter().map(|moves| moves.borrow().len()).sum()
    }
    /// Runs of units in `ranges`, from `first` on, that don't count and never will: units that were unmapped
    /// or replaced, and copies of them in progress. `mapped` says where a logical page is. Recovery finds
    /// these units but couldn't know that they are stale, since the map that is being stored has the state
    /// that the log describes.
    ///
    /// Recovery ignores listed units in everything that the log says up to this page. So a unit may be listed
    /// only if its log entry is in an earlier page or will never be written. Otherwise its entry is still
    /// pending: the logical page may have been flushed there and trimmed since. The trim is logged after that
    /// entry, or never if the power goes before. If the unit were listed, recovery would then fall back to
    /// the older version in the map. Such a unit need not be listed either: the entry that voids it follows
    /// its own, and recovery replays both.
    pub(crate) fn stale_runs(
        &self,
        ranges: &[(BlockIndex, u32)],
        first: Upa,
        mapped: impl Fn(Lpn) -> Upa,
    ) -> Vec<(Upa, u32)> {
        let programs = self.programs.borrow();
        let mut live = Vec::with_capacity(self.deferred_moves() + programs.units());
        let mut stale = Vec::with_capacity(programs.units());
        // Places that the log still has for a page, and places that may become a page's.
        for deferred in &self.deferred {
            live.extend(deferred.borrow().iter().map(|deferred| deferred.change.from));
        }
        for lun in self.layout.all_luns() {
            for (at, copy_of) in programs.in_flight(lun) {
                let is_stale = copy_of.is_some_and(|(lpn, from)| mapped(lpn) != from);
                if is_stale { stale.push(at) } else { live.push(at) }
            }
            stale.extend(programs.superseded_origins(lun));
        }
        let place = |entry: &LogEntry| match *entry {
            LogEntry::Map { at, .. } => Some(at),
            _ => None,
        };
        let mut unjournaled: Vec<Upa> =
            self.outbox.read(|pending| pending.entries().iter().filter_map(place).collect());
        for units in [&mut live, &mut stale, &mut unjournaled] {
            units.sort_unstable();
        }
        let has = |units: &[Upa], at: Upa| units.binary_search(&at).is_ok();
        let is_stale = |at: Upa| {
            !has(&unjournaled, at) && (has(&stale, at) || !(self.valid.is_valid(at) || has(&live, at)))
        };
        let mut runs: Vec<(Upa, u32)> = Vec::with_capacity(64);
        for &(block, page) in ranges {
            let begin = self.layout.first_page(block).0;
            let end = match self.states.of(block) {
                BlockState::Open => begin + self.next_in(block),
                _ => begin + self.layout.pages_per_block(),
            };
            let unit = |page| self.layout.shape().first_in(Ppa(page)).0;
            let (begin, from_page, end) = (unit(begin), unit(begin + page), unit(end));
            for at in (from_page.max(first.0)..end).map(Upa).filter(|&at| is_stale(at)) {
                match runs.last_mut() {
                    Some((from, count))
                        if from.0 + *count == at.0 && from.0 >= begin && *count < STALE_RUN_MAX =>
                    {
                        *count += 1;
                    }
                    _ => runs.push((at, 1)),
                }
            }
        }
        runs
    }
    /// The blocks with pages that no log entry mentions, and the first such page of each: open blocks, blocks
    /// with unsafe pages, and the blocks of the entries in `unlogged`.
    pub(crate) fn ranges<'a>(&self, unlogged: impl Iterator<Item = &'a LogEntry>) -> Vec<(BlockIndex, u32)> {
        let mut found = self.found.take();
        found.clear();
        let mut note = |block: BlockIndex, page: u32| {
            // Entries about a block that has been erased since are superseded. A log page lists free blocks
            // separately.
            if self.states.of(block) == BlockState::Free {
                return;
            }
            found.push((block.0, page));
        };
        let layout = &self.layout;
        let programs = self.programs.borrow();
        for lun in layout.all_luns() {
            for open in self.open.of_lun(lun) {
                let line = layout.pages_per_line();
                note(open.block, u32::from(open.next) / line * line);
            }
            for ppa in programs.pages(lun) {
                note(layout.block_of(ppa), layout.page_in_block(Ppa(layout.line_of(ppa).start)));
            }
        }
        for deferred in &self.deferred {
            for moved in deferred.borrow().iter() {
                let page = layout.shape().page_of(moved.change.to);
                note(layout.block_of(page), layout.page_in_block(page));
            }
        }
        for entry in unlogged {
            match *entry {
                LogEntry::Map { at, .. } => {
                    let page = layout.shape().page_of(at);
                    note(layout.block_of(page), layout.page_in_block(page));
                }
                // A stored map doesn't count before a log page names it.
                LogEntry::Opened(block) if self.states.of(block) == BlockState::Map => {}
                LogEntry::Opened(block) => note(block, 0),
                LogEntry::Trim { .. } | LogEntry::Erased { .. } | LogEntry::Retired(_) => {}
            }
        }
        // The first page of each block.
        found.sort_unstable();
        found.dedup_by_key(|(block, _)| *block);
        let ranges = found.iter().map(|&(block, page)| (BlockIndex(block), page)).collect();
        self.found.set(found);
        ranges
    }
    /// Programs of a LUN that are not safe yet.
    #[cfg(test)]
    pub(crate) fn unsafe_pages(&self, lun: LunIndex) -> Vec<Ppa> {
        self.programs.borrow().pages(lun).collect()
    }
}
