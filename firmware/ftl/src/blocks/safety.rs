//! What a loss of power could undo, and when it no longer can.

use super::{BlockIndex, BlockState, Blocks};
use crate::log_page::Entry;
use crate::unsettled::{Change, Safety};
use aster_units::{Lpn, LunIndex, Ppa};

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
    /// The logical page `lpn` has come from `from` to `to`, whose program has ended. What it was before stays valid until
    /// that can't be undone.
    #[inline]
    pub(crate) fn moved(&mut self, change: Change) {
        self.set_valid(change.to);
        let lun = self.lun_of(self.block_of(change.to));
        self.unsettled.changed(lun, change);
    }
    /// A program of the word line of `ppa` has ended. When nothing can undo its pages any more, what they replace is let go
    /// of, and the log is told. True then.
    #[inline]
    pub(crate) fn settle_line(&mut self, ppa: Ppa) -> bool {
        let lun = self.lun_of(self.block_of(ppa));
        let (line, closed) = self.line_of(ppa);
        let mut settled = false;
        while let Some(change) = self.unsettled.settle(lun, line.clone(), closed) {
            settled = true;
            let Some((change, told, is_host)) = change else { continue };
            if change.from.is_some() {
                self.clear_valid(change.from);
            }
            if !told {
                continue;
            }
            if is_host {
                self.pending.push(Entry::Map { lpn: change.lpn, ppa: change.to });
            } else {
                self.luns[lun.index()].held.push((change.lpn, change.to));
            }
        }
        settled
    }
    /// As [`Blocks::settle_line`] for all word lines of a block that takes no more programs.
    #[cold]
    pub(crate) fn settle_block(&mut self, block: BlockIndex) -> bool {
        let first = block.0 * self.pages_per_block;
        let lines = (first..first + self.pages_per_block).step_by(self.pages_per_line as usize);
        lines.fold(false, |any, page| self.settle_line(Ppa(page)) | any)
    }
    /// A block has been emptied: only now the log is told where its pages are. A loss of power before finds all of them where
    /// they were, and the copies void: so there is always a block that can be erased to copy to.
    pub(crate) fn tell_moves(&mut self, lun: LunIndex) {
        let mut held = core::mem::take(&mut self.luns[lun.index()].held);
        for (lpn, ppa) in held.drain(..) {
            // What is not valid any more has moved on, and the log knows that already.
            if self.is_valid(ppa) {
                self.pending.push(Entry::Map { lpn, ppa });
            }
        }
        self.luns[lun.index()].held = held;
    }
    /// How safe a page is that was programmed.
    pub(crate) fn safety(&self, ppa: Ppa) -> Safety {
        let (line, closed) = self.line_of(ppa);
        self.unsettled.safety(self.lun_of(self.block_of(ppa)), ppa, line, closed)
    }
    /// True when `ppa` is valid only for the case that what replaces it is undone.
    pub(crate) fn is_replaced(&self, ppa: Ppa) -> bool {
        self.unsettled.is_replaced(self.lun_of(self.block_of(ppa)), ppa)
    }
    /// Logical pages from `first` on are unmapped, by the command with this sequence number.
    pub(crate) fn trimmed(&mut self, first: Lpn, count: u32, sequence: u64) {
        self.pending.push(Entry::Trim { first, count, sequence });
    }
}
