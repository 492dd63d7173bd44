//! What a loss of power could undo, and when it no longer can.
//!
//! A page is safe once its whole word line is programmed, or its block takes no more programs (see
//! [`UnsafePrograms`]). What it replaces becomes stale then, and the change waits for a log page. Moves that
//! garbage collection makes wait longer: until their block is empty.

use crate::durability::outbox::{LogEntry, Outbox};
use crate::durability::unsafe_programs::{Change, DurableChange, Safety, UnsafePrograms};
use crate::space::layout::BlockLayout;
use crate::space::open::OpenBlocks;
use crate::space::states::States;
use crate::space::valid::ValidUnits;
use crate::terms::block::{BlockIndex, BlockState, Stream};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex, Ppa, Upa};
use core::cell::{Cell, RefCell};
use core::ops::Range;

/// Units of a run of stale ones at most: a log page has 16 bits for their number.
const STALE_RUN_MAX: u32 = u16::MAX as u32;

/// Programs of a LUN that are not safe yet, for which there is room from the beginning.
const UNSAFE_EXPECTED: usize = 64;

/// The changes that a loss of power could undo.
pub(crate) struct Durability {
    layout: BlockLayout,
    states: Rc<States>,
    open: Rc<OpenBlocks>,
    valid: Rc<ValidUnits>,
    outbox: Rc<Outbox>,
    depth: usize,
    programs: RefCell<UnsafePrograms>,
    // Of each LUN: moves out of the block that garbage collection is emptying.
    deferred: Box<[RefCell<Vec<DeferredMove>>]>,
    // Blocks that were collected and aren't erased yet, and the last log entry about each.
    collected: RefCell<Vec<(BlockIndex, u64)>>,
    // Changes on their way into the log; kept for its memory.
    durable: Cell<Vec<DurableChange>>,
}

/// A page that was moved out of a block which is being collected: not journaled before the block is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DeferredMove {
    change: Change,
    // Its order among all changes.
    at: u64,
}

/// The parts that changes are told to.
pub(crate) struct Parts<'a> {
    pub(crate) states: &'a Rc<States>,
    pub(crate) open: &'a Rc<OpenBlocks>,
    pub(crate) valid: &'a Rc<ValidUnits>,
    pub(crate) outbox: &'a Rc<Outbox>,
}

impl Durability {
    /// Of a drive with so many workers, which is what host and garbage collection have in flight in a LUN;
    /// as many word lines wait to be completed.
    pub(crate) fn new(layout: BlockLayout, workers: usize, of: Parts<'_>) -> Self {
        let depth = workers.min(UNSAFE_EXPECTED);
        let units = layout.units_per_block() as usize;
        Durability {
            layout,
            states: Rc::clone(of.states),
            open: Rc::clone(of.open),
            valid: Rc::clone(of.valid),
            outbox: Rc::clone(of.outbox),
            depth,
            programs: RefCell::new(UnsafePrograms::of(&layout, depth)),
            deferred: layout.all_luns().map(|_| RefCell::new(Vec::with_capacity(units))).collect(),
            collected: RefCell::new(Vec::with_capacity(layout.total_luns())),
            durable: Cell::default(),
        }
    }
    pub(crate) fn forget(&self) {
        *self.programs.borrow_mut() = UnsafePrograms::of(&self.layout, self.depth);
        self.deferred.iter().for_each(|moves| moves.borrow_mut().clear());
        self.collected.borrow_mut().clear();
    }
    /// The pages of a word line, and whether no program comes to it any more.
    fn line_of(&self, ppa: Ppa) -> (Range<u32>, bool) {
        let (line, block) = (self.layout.line_of(ppa), self.layout.block_of(ppa));
        let next = match self.states.of(block) {
            BlockState::Open => self.layout.first_page(block).0 + self.next_in(block),
            _ => line.end,
        };
        let is_closed = next >= line.end;
        (line, is_closed)
    }
    fn next_in(&self, block: BlockIndex) -> u32 {
        self.open.find(block).map_or(0, |(_, next)| next.into())
    }

    // ---- programs ----

    /// A program begins that `by` makes; where it copies, `copies` says of each slot what, and from where.
    #[inline]
    pub(crate) fn program_begins(&self, ppa: Ppa, by: Stream, copies: &[(Lpn, Upa)]) {
        self.programs.borrow_mut().begin(self.layout.lun_of_page(ppa), ppa, by, copies);
    }
    /// The program has ended.
    #[inline]
    pub(crate) fn program_ends(&self, ppa: Ppa) {
        self.programs.borrow_mut().end(self.layout.lun_of_page(ppa), ppa);
    }
    /// The logical page `lpn` has come from `from` to `to`, whose program has ended. What it was before stays
    /// valid until that can't be undone.
    #[inline]
    pub(crate) fn moved(&self, change: Change) {
        debug_assert!(change.to.is_some() && change.to != change.from, "a unit moves to another place");
        self.valid.set(change.to);
        self.programs.borrow_mut().changed(change);
    }
    /// A logical unit of a LUN, which was at `from`, is unmapped by the command with this sequence number.
    pub(crate) fn unmapped(&self, lun: LunIndex, lpn: Lpn, from: Upa, sequence: u64) {
        self.programs.borrow_mut().unmapped(from);
        self.valid.clear(from);
        self.forget_deferred(lun, lpn);
        self.outbox.push(LogEntry::Trim { first: lpn, count: 1, sequence });
    }
    /// A program of the word line of `ppa` has ended. When no loss of power can undo the line's pages any
    /// more, what they replace becomes stale, and the changes are journaled. True then.
    #[inline]
    pub(crate) fn line_durable(&self, ppa: Ppa) -> bool {
        let lun = self.layout.lun_of_page(ppa);
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
            if is_new {
                self.forget_deferred(lun, change.lpn);
                self.outbox.push(LogEntry::Map { lpn: change.lpn, at: change.to });
            } else {
                self.deferred[lun.index()].borrow_mut().push(DeferredMove { change, at });
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

    /// Whether a unit is to be copied before its block is erased: it is valid, and not only for the case that
    /// what replaces it is undone.
    #[inline]
    pub(crate) fn counts(&self, at: Upa) -> bool {
        self.valid.is_valid(at) && !self.programs.borrow().is_replaced(at)
    }
    /// Whether any unit of a page is.
    pub(crate) fn counts_in(&self, page: Ppa) -> bool {
        let shape = self.layout.shape();
        (0..shape.per_page()).any(|slot| self.counts(shape.at(page, slot)))
    }
    /// The page of a block with the most units that still count, the first of several, of those that are not
    /// `taken`.
    ///
    /// Whoever programs it alone leaves as many slots empty as it has stale units, so that completing a word
    /// line costs no more than a page's share of what the next victim gains.
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

    /// A logical page has moved on, or was unmapped: where garbage collection has copied it to needn't be
    /// journaled.
    fn forget_deferred(&self, lun: LunIndex, lpn: Lpn) {
        let mut deferred = self.deferred[lun.index()].borrow_mut();
        if let Some(at) = deferred.iter().position(|deferred| deferred.change.lpn == lpn) {
            deferred.swap_remove(at);
        }
    }
    /// A block has been collected: only now the moves of its pages are journaled. A loss of power before
    /// finds all of them where they were, and the copies stale. So there is always a block that can be erased
    /// to copy to.
    pub(crate) fn journal_moves(&self, block: BlockIndex) {
        let lun = self.layout.lun_of(block);
        if !self.deferred[lun.index()].borrow().is_empty() {
            self.journal_deferred(lun);
            let mut collected = self.collected.borrow_mut();
            debug_assert!(collected.iter().all(|&(of, _)| of != block), "{block:?} is emptied once");
            collected.push((block, self.outbox.last()));
        }
    }
    /// Journals the deferred moves of garbage collection.
    pub(crate) fn journal_deferred(&self, lun: LunIndex) {
        for DeferredMove { change, .. } in self.deferred[lun.index()].borrow_mut().drain(..) {
            self.outbox.push(LogEntry::Map { lpn: change.lpn, at: change.to });
        }
    }
    /// Blocks that were collected and not erased since, as long as not all of their moves are in the log.
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

    // ---- what a log page, or a stored map, says of them ----

    /// The changes of logical units in `units` that aren't journaled, of any LUN, latest first. Undone in
    /// this order they lead to what the log says.
    pub(crate) fn to_undo(&self, units: Range<u32>) -> Vec<(Lpn, Upa)> {
        let programs = self.programs.borrow();
        let mut changes = Vec::with_capacity(self.deferred_moves() + programs.units());
        for (lun, deferred) in (0..).map(LunIndex).zip(&self.deferred) {
            let deferred = deferred.borrow();
            let deferred = deferred.iter().map(|moved| (moved.at, moved.change.lpn, moved.change.from));
            let all = deferred.chain(programs.unjournaled(lun));
            changes.extend(all.filter(|(_, lpn, _)| units.contains(&lpn.0)));
        }
        changes.sort_unstable_by_key(|&(at, ..)| core::cmp::Reverse(at));
        changes.into_iter().map(|(_, lpn, from)| (lpn, from)).collect()
    }
    fn deferred_moves(&self) -> usize {
        self.deferred.iter().map(|moves| moves.borrow().len()).sum()
    }
    /// Runs of units in `ranges`, from `first` on, that hold nothing which counts, and won't: what was
    /// unmapped or replaced, and copies in work of it. `mapped` says where a logical page is. Recovery, which
    /// finds them, could not know: the map that is being stored has what the log said of them.
    ///
    /// Recovery passes over them for whatever the log says up to this page, so one may be listed only if
    /// nobody misses it there: an earlier page has said that the logical page lies on it, or never will.
    /// Where the entry that says so is still to be written, the logical page may have been flushed on it and
    /// trimmed since, and the trim be written later yet, or not before the power goes: the map has the
    /// version before then. Such a page need not be listed either, as what voids it comes after its entry,
    /// and recovery replays that.
    pub(crate) fn stale_runs(
        &self,
        ranges: &[(BlockIndex, u32)],
        first: Upa,
        mapped: impl Fn(Lpn) -> Upa,
    ) -> Vec<(Upa, u32)> {
        let programs = self.programs.borrow();
        let mut live = Vec::with_capacity(self.deferred_moves() + programs.units());
        let mut stale = Vec::with_capacity(programs.units());
        for (lun, deferred) in (0..).map(LunIndex).zip(&self.deferred) {
            // What the log still has as the place of a page, and what may become it.
            live.extend(deferred.borrow().iter().map(|deferred| deferred.change.from));
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
    /// The blocks with pages that no log entry has, and the first such page of each: open blocks, blocks with
    /// unsafe pages, and blocks of the entries in `unlogged`.
    pub(crate) fn ranges<'a>(&self, unlogged: impl Iterator<Item = &'a LogEntry>) -> Vec<(BlockIndex, u32)> {
        let mut ranges: BTreeMap<u32, u32> = BTreeMap::new();
        let mut note = |block: BlockIndex, page: u32| {
            // Entries about a block that was erased since are superseded. A log page lists free blocks apart.
            if self.states.of(block) == BlockState::Free {
                return;
            }
            let first = ranges.entry(block.0).or_insert(page);
            *first = page.min(*first);
        };
        let layout = &self.layout;
        let programs = self.programs.borrow();
        for (lun, deferred) in (0..).map(LunIndex).zip(&self.deferred) {
            for open in self.open.of_lun(lun) {
                let line = layout.pages_per_line();
                note(open.block, u32::from(open.next) / line * line);
            }
            for ppa in programs.pages(lun) {
                note(layout.block_of(ppa), layout.page_in_block(Ppa(layout.line_of(ppa).start)));
            }
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
                // Nothing of a stored map counts before a log page names the map.
                LogEntry::Opened(block) if self.states.of(block) == BlockState::Map => {}
                LogEntry::Opened(block) => note(block, 0),
                LogEntry::Trim { .. } | LogEntry::Erased { .. } | LogEntry::Retired(_) => {}
            }
        }
        ranges.into_iter().map(|(block, page)| (BlockIndex(block), page)).collect()
    }
    /// Programs of a LUN that are not safe yet.
    #[cfg(test)]
    pub(crate) fn unsafe_pages(&self, lun: LunIndex) -> Vec<Ppa> {
        self.programs.borrow().pages(lun).collect()
    }
}
