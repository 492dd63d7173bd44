//! Which blocks log pages list, for recovery to look into.

use super::{Blocks, LISTED_MIN, Open};
use crate::blocks::outbox::LogEntry;
use crate::terms::block::{BlockIndex, BlockState, Stream};
use crate::terms::config::WearLevelling;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use aster_units::LunIndex;

impl Blocks {
    /// The blocks with pages that no log entry has, and the first such page of each: open blocks, blocks with
    /// unsafe pages, and blocks of the entries in `unlogged`.
    pub(crate) fn ranges<'a>(&self, unlogged: impl Iterator<Item = &'a LogEntry>) -> Vec<(BlockIndex, u32)> {
        let mut ranges: BTreeMap<u32, u32> = BTreeMap::new();
        let mut note = |block: BlockIndex, page: u32| {
            // Entries about a block that was erased since are superseded. A log page lists free blocks apart.
            if self.states[block.at()] == BlockState::Free {
                return;
            }
            let first = ranges.entry(block.0).or_insert(page);
            *first = page.min(*first);
        };
        for lun in (0..self.luns.len() as u32).map(LunIndex) {
            for open in self.luns[lun.index()].open.iter().flatten() {
                note(open.block, u32::from(open.next) / self.pages_per_line * self.pages_per_line);
            }
            for ppa in self.unsafe_programs.pages(lun) {
                let (line, _) = self.line_of(ppa);
                note(self.block_of(ppa), line.start % self.pages_per_block);
            }
            for deferred in &self.luns[lun.index()].deferred {
                let page = self.shape.page_of(deferred.change.to);
                note(self.block_of(page), page.0 % self.pages_per_block);
            }
        }
        for entry in unlogged {
            match *entry {
                LogEntry::Map { at, .. } => {
                    let page = self.shape.page_of(at);
                    note(self.block_of(page), page.0 % self.pages_per_block);
                }
                // Nothing of a stored map counts before a log page names the map.
                LogEntry::Opened(block) if self.states[block.at()] == BlockState::Map => {}
                LogEntry::Opened(block) => note(block, 0),
                LogEntry::Trim { .. } | LogEntry::Erased { .. } | LogEntry::Retired(_) => {}
            }
        }
        ranges.into_iter().map(|(block, page)| (BlockIndex(block), page)).collect()
    }
    /// Orders the LUN's first `most` free blocks before a log page lists them. Of those that it lists anew,
    /// all but one are the least worn, for the host. One is the most worn, for garbage collection's copies,
    /// unless such a block is listed already.
    pub(crate) fn choose_free_to_list(&mut self, lun: LunIndex, most: usize) {
        let erases = &self.erases;
        let lun = &mut self.luns[lun.index()];
        let named = lun.journaled_free.max(lun.journaling_free);
        let wear = |block: &BlockIndex| erases[block.at()];
        let (Some(least), Some(most_worn)) = (lun.free.get(named).map(wear), lun.free.back().map(wear))
        else {
            return;
        };
        let is_worn = |block: &BlockIndex| wear(block) > least.midpoint(most_worn);
        let (begin, end) = (named, lun.free.len().min(most));
        let waits = lun.free.iter().take(end).any(is_worn);
        if self.levelling == WearLevelling::None || waits || most_worn <= least || end < begin + 2 {
            return;
        }
        if let Some(block) = lun.free.pop_back() {
            lun.free.insert(end - 1, block);
        }
    }
    /// The LUN's first `most` free blocks, for a log page to list. Recovery goes by the last page alone. So a
    /// block that the page before lists and this one doesn't may not be used from now on, since this page may
    /// become the last one at any time.
    pub(crate) fn list_free(&mut self, lun: LunIndex, most: usize) -> impl Iterator<Item = BlockIndex> {
        let lun = &mut self.luns[lun.index()];
        lun.journaling_free = lun.free.len().min(most);
        lun.journaled_free = lun.journaled_free.min(lun.journaling_free);
        lun.free.iter().copied().take(most)
    }
    /// The last log page that recovery has found lists these blocks, and nothing is in them yet. Until
    /// another log page is written, the next recovery will look into them again.
    pub(crate) fn listed_at_power_on(&mut self, blocks: impl Iterator<Item = BlockIndex>) {
        self.listed_at_power_on = blocks.collect();
    }
    /// Opens a block for the host that the last log page before the loss of power lists, in a LUN for which
    /// the log has listed none since power-on. A log page that was begun since, and failed, may be whole all
    /// the same: it must list the block as well.
    #[cold]
    pub(crate) fn open_listed_at_power_on(&mut self, lun: LunIndex) {
        let at = &mut self.luns[lun.index()];
        if at.open[Stream::Host as usize].is_some() || at.journaled_free > 0 {
            return;
        }
        let named = &self.listed_at_power_on;
        let Some(place) = at.free.iter().take(at.journaling_free).position(|block| named.contains(block))
        else {
            return;
        };
        let Some(block) = at.free.remove(place) else { return };
        at.journaling_free -= 1;
        at.open[Stream::Host as usize] = Some(Open { block, next: 0 });
        self.pending.push(LogEntry::Opened(block));
        self.states[block.at()] = BlockState::Open;
    }
    /// The log page that lists what [`Blocks::list_free`] gave is written.
    pub(crate) fn free_listed(&mut self) {
        self.listed_at_power_on.clear();
        for lun in &mut self.luns {
            lun.journaled_free = lun.journaling_free;
        }
    }
    /// True when the LUN is about to run out of listed free blocks and has others.
    pub(crate) fn wants_free_list(&self, lun: LunIndex) -> bool {
        let lun = &self.luns[lun.index()];
        self.is_logged && lun.journaled_free < LISTED_MIN && lun.free.len() > lun.journaled_free
    }
    /// True when half of the blocks have been opened that may be before a log page has the first of them. The
    /// log should be written now, so that no writer has to wait for it.
    pub(crate) fn opens_fast(&self) -> bool {
        self.pending.opened() >= self.opened_max / 2
    }
    /// The log has ended and lists no further blocks: those that it has listed are the last to be written.
    pub(crate) fn end_free_list(&mut self) {
        self.is_logged = false;
    }
    /// Marks a free block of which it isn't known since the last loss of power whether it is erased.
    pub(crate) fn set_unverified(&mut self, block: BlockIndex) {
        self.unverified[block.at() / 64] |= 1 << (block.at() % 64);
    }
    /// An unverified block among the LUN's first `most` free ones.
    pub(crate) fn first_unverified(&self, lun: LunIndex, most: usize) -> Option<BlockIndex> {
        self.luns[lun.index()].free.iter().copied().take(most).find(|&block| self.is_unverified(block))
    }
    pub(super) fn is_unverified(&self, block: BlockIndex) -> bool {
        self.unverified[block.at() / 64] >> (block.at() % 64) & 1 == 1
    }
    /// A block has been verified. If it isn't erased, it is collected like any block without valid pages.
    pub(crate) fn clear_unverified(&mut self, block: BlockIndex, erased: bool) {
        self.unverified[block.at() / 64] &= !(1 << (block.at() % 64));
        if erased {
            return;
        }
        let lun = self.lun_of(block).index();
        let lun = &mut self.luns[lun];
        if let Some(at) = lun.free.iter().position(|&free| free == block) {
            lun.free.remove(at);
            (lun.journaled_free, lun.journaling_free) =
                (lun.journaled_free.min(at), lun.journaling_free.min(at));
            self.close(block, BlockState::Closed);
            self.offer(block);
        }
    }
}
