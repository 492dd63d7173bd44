//! What power-on does with the log: forgets it, lays it out, and continues it from what was found.

use crate::journal::log_page::Header;
use crate::journal::log_state::LogState;
use crate::journal::root::LogPlace;
use crate::journal::slots::{Log, LogSlot};
use crate::terms::block::{BlockIndex, BlockState};
use crate::terms::sizes::{BLOCK_BYTES, HEADER_BYTES, SLOTS_MAX};
use alloc::vec::Vec;
use aster_units::{BlockAddr, LunIndex};

/// A slot of the log that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotRead {
    pub(crate) slot: usize,
    /// The number of its last page.
    pub(crate) last: u64,
    /// Its first erased line.
    pub(crate) erased: u32,
}

impl LogState {
    /// Resets to an unknown log in the blocks set aside for it, all assumed good.
    pub(crate) fn forget(&self) {
        self.state.replace(Log::default());
        self.lay_out_log(|_| true);
    }
    // Lays the log out in the blocks set aside for it, in the order in which they are used.
    fn lay_out_log(&self, is_good: impl Fn(BlockIndex) -> bool) {
        let luns = self.runtime.geometry.total_luns();
        let blocks = self.blocks.table();
        let slot = |n: u32| {
            let block = blocks.layout.block_index(LunIndex(n % luns), BlockAddr(n / luns));
            LogSlot { block, last: 0, good: is_good(block) }
        };
        let slots = (luns * self.runtime.config.areas().log_blocks_per_lun() as u32).min(SLOTS_MAX as u32);
        let mut log = self.state.borrow_mut();
        log.slots = (0..slots).map(slot).collect();
        log.turn = log.slots.len() - 1;
        log.lines_per_slot = u32::from(self.runtime.geometry.pages_per_block) / self.own.log_copies();
        log.page.lists_bytes =
            HEADER_BYTES + BLOCK_BYTES * luns as usize * self.runtime.config.areas().free_list_max();
    }

    // ---- looking for it ----

    /// The blocks of the log's slots, in the order in which they are used.
    pub(crate) fn slot_blocks(&self) -> Vec<BlockIndex> {
        self.state.borrow().slots.iter().map(|slot| slot.block).collect()
    }
    /// The block of a slot.
    pub(crate) fn slot_block(&self, slot: usize) -> BlockIndex {
        self.state.borrow().slots[slot].block
    }
    /// The number of slots.
    pub(crate) fn slot_count(&self) -> usize {
        self.state.borrow().slots.len()
    }

    // ---- continuing it ----

    /// Continues the log where a shutdown left it. The block table says which slots are good.
    pub(crate) fn resume(&self, place: &LogPlace) {
        {
            let blocks = self.blocks.table();
            self.lay_out_log(|block| blocks.states.of(block) == BlockState::Log);
        }
        let mut log = self.state.borrow_mut();
        (log.number, log.map.commit, log.map.replay_from) = (place.number, place.commit, place.replay_from);
        log.ended = place.ended;
        let is_there = |(slot, line): &(usize, u32)| *slot < log.slots.len() && *line <= log.lines_per_slot;
        log.at = place.at.map(|(slot, line)| (slot as usize, line)).filter(is_there);
        log.turn = log.at.map_or(log.turn, |(slot, _)| slot);
        for (slot, &last) in log.slots.iter_mut().zip(&place.slots) {
            slot.last = last;
        }
        if log.ended {
            self.blocks.table().free.end();
        }
    }
    /// Continues the log after its last page, in another slot, since this one may have a torn line. `slots`
    /// are those that were read, starting with the newest page's.
    pub(crate) fn take_over(&self, last: &Header, slots: &[SlotRead]) {
        let mut log = self.state.borrow_mut();
        (log.number, log.map.commit, log.map.replay_from) = (last.number, last.commit, last.replay_from);
        (log.at, log.map.renew) = (None, true);
        for slot in &mut log.slots {
            slot.last = 0;
        }
        for read in slots {
            log.slots[read.slot].last = read.last;
        }
        if let Some(&SlotRead { slot, erased, .. }) = slots.first() {
            (log.turn, log.rest) = (slot, Some((slot, erased)));
        }
    }
    /// Begins a new log after pages up to `number`, in the good slot with the oldest of them. `newest_in`
    /// gives the number of the newest page in a block. If the old log's newer pages were erased first, the
    /// older ones could pass for a complete log after another loss of power.
    pub(crate) fn begin_new(&self, number: u64, newest_in: impl Fn(BlockIndex) -> u64) {
        let mut log = self.state.borrow_mut();
        log.number = number;
        let count = log.slots.len();
        let newest = |&slot: &usize| newest_in(log.slots[slot].block);
        let oldest = (0..count).filter(|&slot| log.slots[slot].good).min_by_key(newest);
        log.turn = (oldest.unwrap_or(0) + count - 1) % count;
    }
    /// Says of each slot whether its block is good.
    pub(crate) fn judge_slots(&self, is_good: impl Fn(BlockIndex) -> bool) {
        for slot in &mut self.state.borrow_mut().slots {
            slot.good = is_good(slot.block);
        }
    }
    /// Boot has found out the state of all slots.
    pub(crate) fn end_boot(&self) {
        self.state.borrow_mut().note_slots();
    }

    // ---- a drive that takes no more writes ----

    /// Whether the drive was read-only when its power went.
    pub(crate) fn was_read_only(&self) -> bool {
        self.was_read_only.get()
    }
    /// Records what NVRAM says about that.
    pub(crate) fn set_was_read_only(&self, was: bool) {
        self.was_read_only.set(was);
    }
    /// Records what flash says about that. One record is enough.
    pub(crate) fn note_read_only(&self, was: bool) {
        self.was_read_only.set(self.was_read_only.get() || was);
    }
}
