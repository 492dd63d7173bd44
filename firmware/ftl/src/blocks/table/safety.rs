//! What a loss of power could undo, and when it no longer can.

use super::Blocks;
use super::DeferredMove;
use crate::blocks::outbox::{LogEntry, PendingEntries};
use crate::blocks::unsafe_programs::{Change, DurableChange, Safety};
use crate::terms::block::{BlockIndex, BlockState};
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex, Ppa, Upa};

/// Units of a run of stale ones at most: a log page has 16 bits for their number.
const STALE_RUN_MAX: u32 = u16::MAX as u32;

impl Blocks {
    /// The pages of a word line, and whether no program comes to it any more.
    pub(super) fn line_of(&self, ppa: Ppa) -> (core::ops::Range<u32>, bool) {
        let block = self.block_of(ppa);
        let first = block.0 * self.pages_per_block;
        let begin = ppa.0 - (ppa.0 - first) % self.pages_per_line;
        let end = (begin + self.pages_per_line).min(first + self.pages_per_block);
        let next = match self.states[block.at()] {
            BlockState::Open => first + u32::from(self.entry(block).next),
            _ => end,
        };
        (begin..end, next >= end)
    }
    /// The logical page `lpn` has come from `from` to `to`, whose program has ended. What it was before stays
    /// valid until that can't be undone.
    #[inline]
    pub(crate) fn moved(&mut self, change: Change) {
        self.set_valid(change.to);
        self.unsafe_programs.changed(change);
    }
    /// A program of the word line of `ppa` has ended. When no loss of power can undo the line's pages any
    /// more, what they replace becomes stale, and the changes are journaled. True then.
    #[inline]
    pub(crate) fn line_durable(&mut self, ppa: Ppa) -> bool {
        let lun = self.lun_of(self.block_of(ppa));
        let (line, closed) = self.line_of(ppa);
        let mut durable = core::mem::take(&mut self.durable);
        let any = self.unsafe_programs.take_durable(lun, line, closed, &mut durable);
        for DurableChange { change, journals, is_new, at } in durable.drain(..) {
            if change.from.is_some() {
                self.clear_valid(change.from);
            }
            if !journals {
                continue;
            }
            if is_new {
                self.forget_deferred(lun, change.lpn);
                self.pending.push(LogEntry::Map { lpn: change.lpn, at: change.to });
            } else {
                self.luns[lun.index()].deferred.push(DeferredMove { change, at });
            }
        }
        self.durable = durable;
        any
    }
    /// As [`Blocks::line_durable`] for all word lines of a block that takes no more programs.
    #[cold]
    pub(crate) fn block_durable(&mut self, block: BlockIndex) -> bool {
        let first = block.0 * self.pages_per_block;
        let lines = (first..first + self.pages_per_block).step_by(self.pages_per_line as usize);
        lines.fold(false, |any, page| self.line_durable(Ppa(page)) | any)
    }
    /// A logical page has moved on, or was unmapped: where garbage collection has copied it to needn't be
    /// journaled.
    fn forget_deferred(&mut self, lun: LunIndex, lpn: Lpn) {
        let deferred = &mut self.luns[lun.index()].deferred;
        if let Some(at) = deferred.iter().position(|deferred| deferred.change.lpn == lpn) {
            deferred.swap_remove(at);
        }
    }
    /// A block has been collected: only now the moves of its pages are journaled. A loss of power before
    /// finds all of them where they were, and the copies stale. So there is always a block that can be erased
    /// to copy to.
    pub(crate) fn journal_moves(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block);
        if !self.luns[lun.index()].deferred.is_empty() {
            self.journal_deferred(lun);
            self.collected.push((block, self.pending.last()));
        }
    }
    /// Journals the deferred moves of garbage collection.
    pub(crate) fn journal_deferred(&mut self, lun: LunIndex) {
        for DeferredMove { change, .. } in self.luns[lun.index()].deferred.drain(..) {
            self.pending.push(LogEntry::Map { lpn: change.lpn, at: change.to });
        }
    }
    /// Blocks that were collected and not erased since, as long as not all of their moves are in the log.
    pub(crate) fn collected(&self) -> impl Iterator<Item = BlockIndex> {
        self.collected.iter().map(|&(block, _)| block)
    }
    /// The log knows all entries up to the `logged`th.
    pub(crate) fn log_knows(&mut self, logged: u64) {
        self.collected.retain(|&(_, last)| last > logged);
    }
    /// A block was erased: its pages can't be found any more.
    pub(super) fn forget_collected(&mut self, block: BlockIndex) {
        self.collected.retain(|&(emptied, _)| emptied != block);
        self.of_old_maps.retain(|&of_map| of_map != block);
    }
    /// The changes of logical units in `units` that aren't journaled, of any LUN, latest first. Undone in
    /// this order they lead to what the log says.
    pub(crate) fn to_undo(&self, units: core::ops::Range<u32>) -> Vec<(Lpn, Upa)> {
        let all: usize = self.luns.iter().map(|lun| lun.deferred.len()).sum();
        let mut changes = Vec::with_capacity(all + self.unsafe_programs.units());
        for lun in (0..self.luns.len() as u32).map(LunIndex) {
            let deferred = self.luns[lun.index()].deferred.iter();
            let deferred = deferred.map(|deferred| (deferred.at, deferred.change.lpn, deferred.change.from));
            changes.extend(
                deferred
                    .chain(self.unsafe_programs.unjournaled(lun))
                    .filter(|(_, lpn, _)| units.contains(&lpn.0)),
            );
        }
        changes.sort_unstable_by_key(|&(at, ..)| core::cmp::Reverse(at));
        changes.into_iter().map(|(_, lpn, from)| (lpn, from)).collect()
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
        let deferred: usize = self.luns.iter().map(|lun| lun.deferred.len()).sum();
        let mut live = Vec::with_capacity(deferred + self.unsafe_programs.units());
        let mut stale = Vec::with_capacity(self.unsafe_programs.units());
        for lun in (0..self.luns.len() as u32).map(LunIndex) {
            // What the log still has as the place of a page, and what may become it.
            live.extend(self.luns[lun.index()].deferred.iter().map(|deferred| deferred.change.from));
            for (at, copy_of) in self.unsafe_programs.in_flight(lun) {
                let is_stale = copy_of.is_some_and(|(lpn, from)| mapped(lpn) != from);
                if is_stale { stale.push(at) } else { live.push(at) }
            }
            stale.extend(self.unsafe_programs.superseded_origins(lun));
        }
        let place = |entry: &LogEntry| match *entry {
            LogEntry::Map { at, .. } => Some(at),
            _ => None,
        };
        let mut unjournaled: Vec<Upa> = self.pending.entries().iter().filter_map(place).collect();
        for units in [&mut live, &mut stale, &mut unjournaled] {
            units.sort_unstable();
        }
        let has = |units: &[Upa], at: Upa| units.binary_search(&at).is_ok();
        let is_stale =
            |at: Upa| !has(&unjournaled, at) && (has(&stale, at) || !(self.is_valid(at) || has(&live, at)));
        let mut runs: Vec<(Upa, u32)> = Vec::with_capacity(64);
        for &(block, page) in ranges {
            let begin = self.first_page(block).0;
            let end = match self.states[block.at()] {
                BlockState::Open => begin + u32::from(self.entry(block).next),
                _ => begin + self.pages_per_block,
            };
            let unit = |page| self.shape.first_in(Ppa(page)).0;
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
    /// How safe a page is that was programmed.
    pub(crate) fn safety(&self, ppa: Ppa) -> Safety {
        let (line, closed) = self.line_of(ppa);
        self.unsafe_programs.safety(self.lun_of(self.block_of(ppa)), ppa, line, closed)
    }
    /// True when the unit at a place is valid only for the case that what replaces it is undone.
    #[inline]
    pub(crate) fn is_replaced(&self, at: Upa) -> bool {
        self.unsafe_programs.is_replaced(at)
    }
    /// A logical unit of a LUN, which was at `from`, is unmapped by the command with this sequence number.
    pub(crate) fn unmapped(&mut self, lun: LunIndex, lpn: Lpn, from: Upa, sequence: u64) {
        self.unsafe_programs.unmapped(from);
        self.clear_valid(from);
        self.forget_deferred(lun, lpn);
        self.pending.push(LogEntry::Trim { first: lpn, count: 1, sequence });
    }

    // ---- flush ----

    /// Programs begun so far.
    pub(crate) fn programs_begun(&self) -> u64 {
        self.unsafe_programs.begun()
    }
    /// Whether no loss of power can undo any of the host's first `programs` programs, as far as they went to
    /// this LUN.
    pub(crate) fn are_safe(&self, lun: LunIndex, programs: u64) -> bool {
        self.unsafe_programs.all_safe(lun, programs)
    }

    // ---- what the log does not say yet ----

    /// The changes that no log page has.
    pub(crate) fn pending(&self) -> &PendingEntries {
        &self.pending
    }
    /// The log must say this.
    pub(crate) fn must_log(&mut self, entry: LogEntry) {
        self.pending.push(entry);
    }
    /// A log page has the oldest `count` entries. Gives how many the log has since power-on.
    pub(crate) fn take_pending(&mut self, count: usize) -> u64 {
        self.pending.take(count)
    }
    /// Programs of a LUN that are not safe yet.
    #[cfg(test)]
    pub(crate) fn unsafe_pages(&self, lun: LunIndex) -> impl Iterator<Item = Ppa> {
        self.unsafe_programs.pages(lun)
    }
}
