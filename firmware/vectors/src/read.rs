//! Vector reads.

use crate::chunks::chunk_of;
use crate::drive::{METADATA_BYTES as BYTES, metadata_at, metadata_of};
use crate::plan;
use crate::worker::{Ended, Worker};
use alloc::rc::Rc;
use aster_events::Function;
use aster_ports::flash::{Flags, FlashOp, FlashStatus, Outcome};
use aster_ports::host::{DmaDirection, DmaPart, HostCommand, HostStatus, VectorFault, VectorMode};
use aster_units::SECTOR_BYTES;
use aster_wire::ocssd::v2::ChunkFlags;

/// The sectors of a read that failed, by how.
#[derive(Clone, Copy, Default)]
struct Failed {
    lost: u64,
    empty: u64,
    marginal: u64,
    /// Those of `lost` whose LUN doesn't answer any more.
    dead: u64,
}

impl Worker {
    /// Reads what the addresses name. Data of addresses that failed are not moved.
    pub(crate) async fn read(&mut self, command: &HostCommand, mode: VectorMode) -> Ended {
        let drive = Rc::clone(&self.drive);
        let protected = self.protected();
        if protected != 0 {
            self.first().await;
            self.leave();
            return (HostStatus::Vector(VectorFault::BadBlock), protected);
        }
        plan::runs(&self.units, &mut self.runs);
        drive.spend(Function::NvmCommandManager, drive.config.costs.slice * self.runs.len() as u64);
        self.first().await;
        self.settled().await;
        if self.names_offline(&self.runs) {
            self.leave();
            return (HostStatus::Vector(VectorFault::Offline), 0);
        }
        self.take_buffers().await;
        self.sent.clear();
        let pages = self.runs.iter().zip(&self.buffers).map(|(run, buffer)| drive.page_of(run, *buffer));
        let flags = Flags { raw: false, slc: mode.slc, one_shot: false };
        drive.submit_all(FlashOp::Read, flags, pages, &mut self.sent);
        drive.count(|s| s.flash_reads.host += self.runs.len() as u64);
        self.leave();
        let (failed, moved) = self.deliver(command, mode).await;
        self.give_buffers();
        drive.count(|s| {
            s.host_bytes_read += command.length;
            s.uncorrectable_sectors += u64::from(failed.lost.count_ones());
        });
        let unreadable = failed.lost | failed.empty;
        match failed {
            _ if !moved => (HostStatus::DataTransfer, unreadable),
            Failed { lost: 1.., dead, .. } if failed.lost == dead => {
                (HostStatus::Vector(VectorFault::NoAnswer), unreadable)
            }
            Failed { lost: 1.., .. } => (HostStatus::UnrecoveredRead, unreadable),
            Failed { empty: 1.., .. } => (HostStatus::Vector(VectorFault::Empty), unreadable),
            Failed { marginal: 1.., .. } => (HostStatus::Vector(VectorFault::Marginal), failed.marginal),
            Failed { .. } => (HostStatus::Success, 0),
        }
    }

    /// Waits until no page of the runs is being written or erased.
    pub(crate) async fn settled(&self) {
        let drive = &self.drive;
        for run in &self.runs {
            let settled =
                || (!drive.table.borrow().get(run.lun, run.block).is_changing(run.page)).then_some(());
            drive.ended[run.lun.index()].wait(drive.exec(), settled).await;
        }
    }

    /// Whether an address is in a chunk that is offline.
    pub(crate) fn names_offline(&self, runs: &[plan::Run]) -> bool {
        let drive = &self.drive;
        let table = drive.table.borrow();
        let is_offline =
            |run: &plan::Run| chunk_of(run.lun, run.block, &table, &drive.shape).state == ChunkFlags::Offline;
        drive.config.chunks && runs.iter().any(is_offline)
    }

    /// Moves each run to the host as it comes from flash, and the metadata of all of them last. Returns
    /// what failed, and whether everything else could be moved.
    async fn deliver(&mut self, command: &HostCommand, mode: VectorMode) -> (Failed, bool) {
        let drive = Rc::clone(&self.drive);
        let side = drive.side_of(self.number);
        let (mut failed, mut moved) = (Failed::default(), true);
        if mode.metadata {
            drive.dram.borrow_mut().page_mut(side)[..BYTES * self.units.len()].fill(0);
        }
        self.transfers.clear();
        let mut bytes = 0;
        let mut pages = self.runs.iter().zip(&self.buffers);
        for sent in &self.sent {
            for (outcome, (run, buffer)) in drive.finished_all(*sent).await.zip(pages.by_ref()) {
                let zeroes = outcome.erased && mode.unwritten_is_zero;
                let bad = if zeroes { 0 } else { bad_sectors(&outcome, mode) };
                if zeroes {
                    let mut buffers = drive.dram.borrow_mut();
                    let (page, oob) = buffers.page_and_oob_mut(*buffer);
                    page.fill(0);
                    oob.fill(0);
                }
                let of = if outcome.erased { &mut failed.empty } else { &mut failed.lost };
                *of |= run.mask_of(bad);
                if outcome.status == FlashStatus::Dead {
                    failed.dead |= run.mask();
                }
                self.corrected = self.corrected.max(outcome.worst_chunk);
                let limit = drive.config.marginal;
                if bad == 0 && limit > 0 && outcome.worst_chunk >= limit {
                    failed.marginal |= run.mask();
                }
                let good = run.sectors.mask() & !bad;
                if mode.metadata {
                    // Whose data are lost is told where only they can't be corrected.
                    let stored = if has_oob(&outcome) { run.sectors.mask() } else { good };
                    let mut buffers = drive.dram.borrow_mut();
                    for sector in (0..16).filter(|sector| stored >> sector & 1 != 0) {
                        let index = usize::from(run.first) + sector - usize::from(run.sectors.first);
                        let one = metadata_of(buffers.oob(*buffer), sector);
                        metadata_at(buffers.page_mut(side), index).copy_from_slice(&one);
                    }
                }
                for (first, count) in stretches(good) {
                    let index = u32::from(run.first) + first - u32::from(run.sectors.first);
                    let at = (index * SECTOR_BYTES as u32, count * SECTOR_BYTES as u32);
                    let from = (*buffer, first * SECTOR_BYTES as u32);
                    bytes += at.1;
                    let request = drive.dma(command.id, DmaDirection::ToHost, DmaPart::Data, at, from);
                    match drive.commands.submit_dma(request) {
                        Some(tag) => self.transfers.push(tag),
                        None => moved &= drive.commands.dma(request).await.is_ok(),
                    }
                }
            }
        }
        // The transfers went along with the reads.
        if bytes > 0 {
            drive.transfer_begins(DmaDirection::ToHost, bytes, self.buffers[0]);
        }
        for tag in self.transfers.drain(..) {
            moved &= drive.commands.dma_finished(tag).await.is_ok();
        }
        if bytes > 0 {
            drive.transfer_ended(moved);
        }
        if mode.metadata && moved {
            let at = (0, (BYTES * self.units.len()) as u32);
            let request = drive.dma(command.id, DmaDirection::ToHost, DmaPart::Metadata, at, (side, 0));
            moved = drive.commands.dma(request).await.is_ok();
        }
        (failed, moved)
    }
}

/// The sectors that a read didn't bring, one bit each.
pub(crate) fn bad_sectors(outcome: &Outcome, mode: VectorMode) -> u16 {
    match outcome.status {
        _ if outcome.erased => u16::MAX,
        FlashStatus::Done => 0,
        // Without its OOB nothing says whose data a page holds.
        FlashStatus::Uncorrectable if outcome.oob_failed && mode.metadata => u16::MAX,
        FlashStatus::Uncorrectable => outcome.failed_sectors,
        _ => u16::MAX,
    }
}

/// Whether a read has brought what is stored beside all sectors of the page.
fn has_oob(outcome: &Outcome) -> bool {
    let is_read = matches!(outcome.status, FlashStatus::Done | FlashStatus::Uncorrectable);
    is_read && !outcome.erased && !outcome.oob_failed
}

/// The runs of set bits, as first bit and length.
fn stretches(mut bits: u16) -> impl Iterator<Item = (u32, u32)> {
    let mut at = 0;
    core::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let skip = bits.trailing_zeros();
        let count = (bits >> skip).trailing_ones();
        let first = at + skip;
        at = first + count;
        bits = u32::from(bits).checked_shr(skip + count).unwrap_or(0) as u16;
        Some((first, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn stretches_are_the_runs_of_set_bits() {
        let all = |bits| stretches(bits).collect::<Vec<_>>();
        assert_eq!(all(0), []);
        assert_eq!(all(0b1111), [(0, 4)]);
        assert_eq!(all(0b1011_0010), [(1, 1), (4, 2), (7, 1)]);
        assert_eq!(all(u16::MAX), [(0, 16)]);
        assert_eq!(all(0x8001), [(0, 1), (15, 1)]);
    }
}
