//! Reading every block: on a drive from the factory, to find its bad blocks; on a drive that has lost its
//! log, to find everything.
//!
//! Only the log records trims. Without it, data that was trimmed before the loss of power may come back.

use crate::checkpoint::error::BootError;
use crate::mapping::Mapping;
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

/// The first spare byte of a block's first or last page marks it as bad (P4, ONFI 5.1 §3.3); FFh in both
/// means that it is good. A byte with this many zero bits is a mark or was programmed. Fewer zero bits may be
/// bit errors, since the byte is read without correction.
const BAD_MARK_ZEROES: u32 = 4;

/// What the raw spare bytes of a block's first and last page say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Spare {
    /// A byte of the first page is not as in an erased block.
    written: bool,
    /// The first byte of either page is not FFh.
    marked: bool,
    /// The first byte of either page is 00h, which is how makers mark.
    zero: bool,
}

/// A raw read in flight, of the first or the last page of a block.
struct MarkRead {
    lun: LunIndex,
    block: BlockAddr,
    last: bool,
    tag: Tag,
}

impl<M: Mapping> Recovery<M> {
    /// Reads all blocks and adopts what it finds: a fresh drive's bad blocks, or a drive without a log.
    pub(crate) async fn scan(&self) -> Result<Boot, BootError> {
        let spares = self.read_spares().await?;
        let to_check = |(_, spare): &(u32, &Spare)| spare.written || spare.marked;
        let to_check: Vec<_> = (0..).zip(&spares).filter(to_check).map(|(b, _)| (BlockIndex(b), 0)).collect();
        let probe = self.probe(&to_check).await;
        let fresh = !probe.any_readable();
        self.map_newest(&probe).await?;
        self.journal.log.note_read_only(probe.log_end());
        let slots = self.journal.log.slot_blocks();
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
            self.runtime.count(|s| s.factory_bad_blocks += u64::from(bad));
        }
        {
            let blocks = self.blocks.table();
            self.journal.log.judge_slots(|block| blocks.states.of(block) != BlockState::Bad);
        }
        self.journal.log.begin_new(probe.log_number(), |block| probe.log_number_in(block));
        self.count_valid_units().await?;
        // A fresh drive that loses power while it stores its first map has pages of a map and nothing else.
        let unused = probe.versions().is_empty() && probe.log_number() == 0 && !probe.log_end();
        Ok(if unused { Boot::Fresh } else { Boot::Rebuilt })
    }
    /// Maps the newest version of each logical page. Sequence numbers and generations of maps continue after
    /// the highest ones found.
    async fn map_newest(&self, probe: &Probe) -> Result<(), BootError> {
        let mut versions = probe.versions().to_vec();
        versions.sort_unstable();
        for version in versions {
            let restored = self.mapping.restore(version.lpn, version.at, true).await;
            restored.map_err(|_| BootError::MapInvalid {
                why: "an entry that was just put into it can't be read",
            })?;
        }
        self.mapping.map().only_restored().await;
        self.blocks.sequence.set(probe.sequence());
        self.checkpoint.generation().set(probe.generation());
        Ok(())
    }
    async fn read_spares(&self) -> Result<Vec<Spare>, BootError> {
        let mut spares = vec![Spare::default(); self.blocks.table().layout.total() as usize];
        let luns = self.runtime.geometry.total_luns();
        let mut in_flight = VecDeque::with_capacity(luns as usize);
        for lun in (0..luns).map(LunIndex) {
            in_flight.push_back(self.begin_step(lun, BlockAddr(0), false).await);
        }
        while let Some(MarkRead { lun, block, last, tag }) = in_flight.pop_front() {
            let outcome = self.media.done(tag).await;
            let index = self.blocks.table().layout.block_index(lun, block);
            let spare = &mut spares[index.0 as usize];
            if outcome.status == FlashStatus::Error {
                // A page that can't be read raw may still be readable with correction.
                let first = self.blocks.table().layout.first_page(index);
                let read = self
                    .blocks
                    .read(first, self.pages.whole(), self.data_buffer(lun.index()), Cause::Metadata)
                    .await;
                let other = self
                    .blocks
                    .read(first, self.pages.whole(), self.probe_buffer(lun.index()), Cause::Metadata)
                    .await;
                if read.status == FlashStatus::Error && other.status == FlashStatus::Error {
                    return Err(BootError::Scan { lun, block, error: self.media.last_fault(lun) });
                }
                spare.written = true;
            } else {
                self.note_spare(spare, lun, last);
            }
            let next = if last { BlockAddr(block.0 + 1) } else { block };
            if next.0 < self.runtime.geometry.blocks_per_lun {
                in_flight.push_back(self.begin_step(lun, next, !last).await);
            }
        }
        Ok(spares)
    }
    async fn begin_step(&self, lun: LunIndex, block: BlockAddr, last: bool) -> MarkRead {
        // A maker marks one of the two pages. ONFI asks hosts to check both.
        let tag = self.media.begin_read_mark(lun, block, last, self.probe_buffer(lun.index())).await;
        MarkRead { lun, block, last, tag }
    }
    fn note_spare(&self, spare: &mut Spare, lun: LunIndex, last: bool) {
        let dram = self.pages.dram().borrow();
        let bytes = dram.oob(self.probe_buffer(lun.index()));
        spare.marked |= bytes[0].count_zeros() >= BAD_MARK_ZEROES;
        spare.zero |= bytes[0] == 0;
        spare.written |= !last && bytes.iter().any(|byte| byte.count_zeros() >= BAD_MARK_ZEROES);
    }
    /// Adopts a block about which only the state is known.
    pub(crate) fn adopt_as(&self, block: BlockIndex, state: BlockState) {
        let entry = BlockEntry { state, stream: Stream::Host(0), next: 0, erases: 0, unverified: false };
        self.blocks.table().adopt(block, entry).expect("a state alone contradicts nothing");
    }
}
