//! Looking at every block: of a drive from the factory for its bad blocks, of one whose log is lost for
//! everything.
//!
//! Without a log nothing tells of trims: what was trimmed before the power went may be there again.

use crate::checkpoint::error::BootError;
use crate::recovery::probe::Probe;
use crate::recovery::state::Recovery;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::terms::cause::Cause;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::Boot;
use aster_ports::flash::{FlashStatus, Tag};
use aster_units::{BlockAddr, LunIndex};

/// The first spare byte of a block's first or last page marks it (P4, ONFI 5.1 §3.3); FFh in both is good.
/// A byte with so many zero bits is a mark, or was programmed: fewer come from bit errors, since it is read
/// without correction.
const BAD_MARK_ZEROES: u32 = 4;

/// What the spare bytes of a block's first and last page say, as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Spare {
    /// Something in the first page's is not as in an erased block.
    written: bool,
    /// A first byte is no FFh.
    marked: bool,
    /// A first byte is 00h, as makers mark.
    zero: bool,
}

/// A raw read on its way: the first or the last page of a block.
struct MarkRead {
    lun: LunIndex,
    block: BlockAddr,
    last: bool,
    tag: Tag,
}

impl Recovery {
    /// Looks at all blocks. Takes over what it finds: nothing but bad blocks, or a drive without a log.
    pub(crate) async fn scan(&self) -> Result<Boot, BootError> {
        let spares = self.read_spares().await?;
        let to_check = |(_, spare): &(u32, &Spare)| spare.written || spare.marked;
        let to_check: Vec<_> = (0..).zip(&spares).filter(to_check).map(|(b, _)| (BlockIndex(b), 0)).collect();
        let probe = self.probe(&to_check).await;
        let fresh = !probe.any_readable();
        self.settle_found(&probe);
        self.journal.was_read_only.set(self.journal.was_read_only.get() || probe.log_end());
        let slots: Vec<BlockIndex> = self.journal.log.borrow().slots.iter().map(|slot| slot.block).collect();
        for (block, spare) in (0..).map(BlockIndex).zip(&spares) {
            let readable = probe.is_readable(block);
            let bad = !readable && if fresh { spare.marked || spare.written } else { spare.zero };
            let state = match () {
                () if bad => BlockState::Bad,
                () if slots.contains(&block) => BlockState::Log,
                () if probe.is_used(block) => BlockState::Closed,
                () => BlockState::Free,
            };
            self.adopt_as(block, state);
            self.journal.count(|s| s.factory_bad_blocks += u64::from(bad));
            for slot in self.journal.log.borrow_mut().slots.iter_mut().filter(|slot| slot.block == block) {
                slot.good = !bad;
            }
        }
        self.begin_log_at_oldest(&probe);
        self.count_valid_pages()?;
        // A map alone is what a drive from the factory was storing when it lost its power for the first time.
        let unused = probe.versions().is_empty() && probe.log_number() == 0 && !probe.log_end();
        Ok(if unused { Boot::Fresh } else { Boot::Rebuilt })
    }
    /// The new log takes the slot with the oldest pages first. Whatever made the old one unreadable stays
    /// where it is until the new one begins, since what is left of a log without its newest pages could pass
    /// for a whole one.
    fn begin_log_at_oldest(&self, probe: &Probe) {
        let mut log = self.journal.log.borrow_mut();
        let count = log.slots.len();
        let newest = |&slot: &usize| probe.log_number_in(log.slots[slot].block);
        let oldest = (0..count).filter(|&slot| log.slots[slot].good).min_by_key(newest);
        log.turn = (oldest.unwrap_or(0) + count - 1) % count;
    }
    /// The newest version of each logical page is the one that counts; numbers go on behind all that were
    /// met.
    fn settle_found(&self, probe: &Probe) {
        let mut versions = probe.versions().to_vec();
        versions.sort_unstable();
        versions.iter().for_each(|version| {
            self.mapping.restore(version.lpn, version.ppa);
        });
        self.journal.blocks.set_sequence(probe.sequence());
        self.checkpoint.generation().set(probe.generation());
        self.journal.log.borrow_mut().number = probe.log_number();
    }
    async fn read_spares(&self) -> Result<Vec<Spare>, BootError> {
        let mut spares = vec![Spare::default(); self.journal.blocks.borrow().total() as usize];
        let luns = self.journal.geometry.total_luns();
        let mut in_flight = VecDeque::with_capacity(luns as usize);
        for lun in (0..luns).map(LunIndex) {
            in_flight.push_back(self.begin_step(lun, BlockAddr(0), false).await);
        }
        while let Some(MarkRead { lun, block, last, tag }) = in_flight.pop_front() {
            let outcome = self.journal.media.done(tag).await;
            let index = self.journal.blocks.borrow().block_index(lun, block);
            let spare = &mut spares[index.0 as usize];
            if outcome.status == FlashStatus::Error {
                // A page whose bytes can't be shown as they are may be read all the same.
                let first = self.journal.blocks.borrow().first_page(index);
                let read = self
                    .journal
                    .blocks
                    .read(first, self.journal.pages.whole(), self.data_buffer(lun.index()), Cause::Metadata)
                    .await;
                let other = self
                    .journal
                    .blocks
                    .read(first, self.journal.pages.whole(), self.probe_buffer(lun.index()), Cause::Metadata)
                    .await;
                if read.status == FlashStatus::Error && other.status == FlashStatus::Error {
                    return Err(BootError::Scan { lun, block, error: self.journal.media.last_fault(lun) });
                }
                spare.written = true;
            } else {
                self.note_spare(spare, lun, last);
            }
            let next = if last { BlockAddr(block.0 + 1) } else { block };
            if next.0 < self.journal.geometry.blocks_per_lun {
                in_flight.push_back(self.begin_step(lun, next, !last).await);
            }
        }
        Ok(spares)
    }
    async fn begin_step(&self, lun: LunIndex, block: BlockAddr, last: bool) -> MarkRead {
        // Which of the two a maker uses is in its data sheet; ONFI has hosts look at both.
        let tag = self.journal.media.begin_read_mark(lun, block, last, self.probe_buffer(lun.index())).await;
        MarkRead { lun, block, last, tag }
    }
    fn note_spare(&self, spare: &mut Spare, lun: LunIndex, last: bool) {
        let dram = self.journal.pages.dram().borrow();
        let bytes = dram.oob(self.probe_buffer(lun.index()));
        spare.marked |= bytes[0].count_zeros() >= BAD_MARK_ZEROES;
        spare.zero |= bytes[0] == 0;
        spare.written |= !last && bytes.iter().any(|byte| byte.count_zeros() >= BAD_MARK_ZEROES);
    }
    /// An entry of a block of which only the state is known.
    pub(crate) fn adopt_as(&self, block: BlockIndex, state: BlockState) {
        let entry = BlockEntry { state, stream: Stream::Host, next: 0, erases: 0, suspect: false };
        self.journal.blocks.borrow_mut().adopt(block, entry).expect("a state alone contradicts nothing");
    }
}
