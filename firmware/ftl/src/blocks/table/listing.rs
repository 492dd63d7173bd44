//! Which blocks the log names, for recovery to look into.

use super::{Blocks, LISTED_MIN, Open};
use crate::blocks::outbox::Entry;
use crate::terms::block::{BlockIndex, BlockState, Stream};
use crate::terms::config::WearLevelling;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use aster_units::LunIndex;

impl Blocks {
    /// The blocks with pages that no entry tells of, and their first such page: open ones, those with unsafe
    /// pages, and those of the entries in `unlogged`.
    pub(crate) fn ranges<'a>(&self, unlogged: impl Iterator<Item = &'a Entry>) -> Vec<(BlockIndex, u32)> {
        let mut ranges: BTreeMap<u32, u32> = BTreeMap::new();
        let mut note = |block: BlockIndex, page: u32| {
            // What entries say of a block that was erased since is void; those in front of it are named by
            // themselves.
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
            for ppa in self.unsettled.pages(lun) {
                let (line, _) = self.line_of(ppa);
                note(self.block_of(ppa), line.start % self.pages_per_block);
            }
            for held in &self.luns[lun.index()].held {
                let at = held.change.to;
                note(self.block_of(at), at.0 % self.pages_per_block);
            }
        }
        for entry in unlogged {
            match *entry {
                Entry::Map { ppa, .. } => note(self.block_of(ppa), ppa.0 % self.pages_per_block),
                // Of a stored map that is not named yet nothing counts.
                Entry::Opened(block) if self.states[block.at()] == BlockState::Map => {}
                Entry::Opened(block) => note(block, 0),
                Entry::Trim { .. } | Entry::Erased { .. } | Entry::Retired(_) => {}
            }
        }
        ranges.into_iter().map(|(block, page)| (BlockIndex(block), page)).collect()
    }
    /// Before a log page names the LUN's first `most` free blocks: all but one of those that it names anew
    /// are the least worn, for the host. One is the most worn, for what garbage collection copies, unless a
    /// block of that kind waits yet.
    pub(crate) fn choose_to_name(&mut self, lun: LunIndex, most: usize) {
        let erases = &self.erases;
        let lun = &mut self.luns[lun.index()];
        let named = lun.listed.max(lun.naming);
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
    /// The LUN's first `most` free blocks, for a log page to name. Recovery goes by the last page alone: what
    /// the one before has named and this one doesn't is not for use from now on, since this one may be whole
    /// at any time.
    pub(crate) fn name_free(&mut self, lun: LunIndex, most: usize) -> impl Iterator<Item = BlockIndex> {
        let lun = &mut self.luns[lun.index()];
        lun.naming = lun.free.len().min(most);
        lun.listed = lun.listed.min(lun.naming);
        lun.free.iter().copied().take(most)
    }
    /// The last page of the log, as recovery found it, names these blocks, and nothing is in them yet: until
    /// another page is written, recovery will look into them again.
    pub(crate) fn named_at_power_on(&mut self, blocks: impl Iterator<Item = BlockIndex>) {
        self.named_at_power_on = blocks.collect();
    }
    /// Opens a block for the host that the last page of the log named before the power went, in a LUN where
    /// the log of this session has named none. A page that was begun since, and failed, may be whole all the
    /// same: it must name the block as well.
    #[cold]
    pub(crate) fn open_named_at_power_on(&mut self, lun: LunIndex) {
        let at = &mut self.luns[lun.index()];
        if at.open[Stream::Host as usize].is_some() || at.listed > 0 {
            return;
        }
        let named = &self.named_at_power_on;
        let Some(place) = at.free.iter().take(at.naming).position(|block| named.contains(block)) else {
            return;
        };
        let Some(block) = at.free.remove(place) else { return };
        at.naming -= 1;
        at.open[Stream::Host as usize] = Some(Open { block, next: 0 });
        self.pending.push(Entry::Opened(block));
        self.states[block.at()] = BlockState::Open;
    }
    /// The log page that names what [`Blocks::name_free`] gave is written.
    pub(crate) fn listed(&mut self) {
        self.named_at_power_on.clear();
        for lun in &mut self.luns {
            lun.listed = lun.naming;
        }
    }
    /// True when the LUN will soon write blocks that no log page names, and has them.
    pub(crate) fn wants_listing(&self, lun: LunIndex) -> bool {
        let lun = &self.luns[lun.index()];
        self.is_logged && lun.listed < LISTED_MIN && lun.free.len() > lun.listed
    }
    /// Half of the blocks have been opened that may be before the log tells of the first: it should now, so
    /// that nobody has to wait.
    pub(crate) fn opens_fast(&self) -> bool {
        self.pending.opened() >= self.opened_max / 2
    }
    /// The log names no blocks any more: those that it has named are the last to be written.
    pub(crate) fn name_no_more(&mut self) {
        self.is_logged = false;
    }
    /// Says that a free block's pages have not been looked at since power was lost.
    pub(crate) fn suspect(&mut self, block: BlockIndex) {
        self.suspects[block.at() / 64] |= 1 << (block.at() % 64);
    }
    /// A suspect among the LUN's first `most` free blocks.
    pub(crate) fn first_suspect(&self, lun: LunIndex, most: usize) -> Option<BlockIndex> {
        self.luns[lun.index()].free.iter().copied().take(most).find(|&block| self.is_suspect(block))
    }
    pub(super) fn is_suspect(&self, block: BlockIndex) -> bool {
        self.suspects[block.at() / 64] >> (block.at() % 64) & 1 == 1
    }
    /// A suspect has been looked at. One that is not erased is to be collected like any block without valid
    /// pages.
    pub(crate) fn clear_suspect(&mut self, block: BlockIndex, erased: bool) {
        self.suspects[block.at() / 64] &= !(1 << (block.at() % 64));
        if erased {
            return;
        }
        let lun = self.lun_of(block).index();
        let lun = &mut self.luns[lun];
        if let Some(at) = lun.free.iter().position(|&free| free == block) {
            lun.free.remove(at);
            (lun.listed, lun.naming) = (lun.listed.min(at), lun.naming.min(at));
            self.close(block, BlockState::Closed);
            self.settle(block);
        }
    }
}
