//! Vector erases, formats, and states that the host sets.

use crate::chunks;
use crate::drive::{Page, is_done};
use crate::plan::{self, ErasedBlock};
use crate::shape::Unit;
use crate::worker::{Ended, Worker};
use alloc::rc::Rc;
use aster_ports::flash::{Flags, FlashOp, FlashStatus};
use aster_ports::host::{
    BlockState, DmaDirection, DmaPart, HostCommand, HostStatus, VectorFault, VectorMode,
};
use aster_units::{BlockAddr, BufferId, LunIndex, PageInBlock};
use aster_wire::ocssd::v2::ChunkDescriptor;
use zerocopy::IntoBytes;

const DESCRIPTOR_BYTES: usize = size_of::<ChunkDescriptor>();

/// What has come of erases, a bit for each address. The blocks of both kinds are bad now.
#[derive(Clone, Copy, Default)]
struct Erased {
    /// Those that failed.
    failed: u64,
    /// Those of them whose LUN doesn't answer any more.
    dead: u64,
    /// Those of chunks that had been closed early.
    retired: u64,
}

impl Worker {
    /// Erases the blocks that the addresses name.
    pub(crate) async fn erase(&mut self, command: &HostCommand, mode: VectorMode) -> Ended {
        let drive = Rc::clone(&self.drive);
        self.first().await;
        plan::erases(&self.units, mode.all_planes, &drive.shape, &mut self.erases);
        // The state of a chunk is known once nothing of it is in flight.
        self.wait_for_blocks().await;
        let bad = if mode.skips_bad { self.leave_out_bad() } else { 0 };
        let refused = {
            let (table, blocks) = (drive.table.borrow(), self.erases.iter().map(|one| (one.lun, one.block)));
            match drive.config.chunks {
                true => chunks::check_reset(blocks, &table, &drive.shape),
                false => plan::check_erase(blocks, &table),
            }
        };
        if let Err(fault) = refused {
            let table = drive.table.borrow();
            let is_bad = |one: &&ErasedBlock| {
                fault == VectorFault::BadBlock && !table.get(one.lun, one.block).is_usable()
            };
            let named = self.erases.iter().filter(is_bad).fold(0, |bits, one| bits | one.mask);
            self.leave();
            return (HostStatus::Vector(fault), named);
        }
        self.begin_erases(mode.slc);
        self.leave();
        let Erased { failed, dead, retired } = self.end_erases().await;
        if mode.metadata && !self.describe(command).await {
            return (HostStatus::DataTransfer, failed | retired);
        }
        match failed | retired | bad {
            0 => (HostStatus::Success, 0),
            bits if drive.config.chunks => (HostStatus::Vector(VectorFault::Offline), bits),
            bits if bits == dead => (HostStatus::Vector(VectorFault::NoAnswer), bits),
            bits => (HostStatus::WriteFault, bits),
        }
    }
    /// Leaves out the blocks that are bad, unless all are. Returns the addresses that name
    /// them, one bit each.
    fn leave_out_bad(&mut self) -> u64 {
        let table = self.drive.table.borrow();
        let is_good = |one: &ErasedBlock| table.get(one.lun, one.block).is_usable();
        if !self.erases.iter().any(is_good) {
            return 0;
        }
        let bad = self.erases.iter().filter(|one| !is_good(one)).fold(0, |bits, one| bits | one.mask);
        self.erases.retain(is_good);
        bad
    }
    /// Sends the descriptors of the chunks that were reset, in the order of the addresses. Returns whether
    /// the host's memory could be reached.
    async fn describe(&mut self, command: &HostCommand) -> bool {
        let drive = Rc::clone(&self.drive);
        let side = drive.side_of(self.number);
        let mut bytes = 0;
        {
            let (table, mut buffers) = (drive.table.borrow(), drive.dram.borrow_mut());
            for (unit, into) in self.units.iter().zip(buffers.page_mut(side).chunks_mut(DESCRIPTOR_BYTES)) {
                let index = drive.shape.chunk_index(unit.lun, unit.block);
                into.copy_from_slice(
                    chunks::descriptor(index, &table, &drive.shape, drive.config.endurance).as_bytes(),
                );
                bytes += DESCRIPTOR_BYTES as u32;
            }
        }
        let request = drive.dma(command.id, DmaDirection::ToHost, DmaPart::Metadata, (0, bytes), (side, 0));
        drive.commands.dma(request).await.is_ok()
    }
    /// Waits until no program and no erase of the blocks is in flight.
    async fn wait_for_blocks(&self) {
        let drive = &self.drive;
        for ErasedBlock { lun, block, .. } in &self.erases {
            let settled = || (!drive.table.borrow().get(*lun, *block).is_busy()).then_some(());
            drive.ended[lun.index()].wait(drive.exec(), settled).await;
        }
    }
    fn begin_erases(&mut self, slc: bool) {
        let drive = Rc::clone(&self.drive);
        self.sent.clear();
        for ErasedBlock { lun, block, .. } in &self.erases {
            drive.table.borrow_mut().begin_erase(*lun, *block);
        }
        let page = |&ErasedBlock { lun, block, .. }: &ErasedBlock| Page {
            lun,
            block,
            page: PageInBlock(0),
            sectors: drive.whole(),
            buffer: BufferId(0),
        };
        let (flags, pages) = (Flags { slc, ..Flags::default() }, self.erases.iter().map(page));
        drive.submit_all(FlashOp::Erase, flags, pages, &mut self.sent);
        drive.count(|s| s.flash_erases.host += self.erases.len() as u64);
    }
    /// Waits for the erases.
    async fn end_erases(&mut self) -> Erased {
        let drive = Rc::clone(&self.drive);
        let mut ended = Erased::default();
        let mut blocks = self.erases.iter();
        for sent in &self.sent {
            for (outcome, of) in drive.finished_all(*sent).await.zip(blocks.by_ref()) {
                let ErasedBlock { lun, block, mask } = *of;
                let done = is_done(&outcome);
                let before = *drive.table.borrow().get(lun, block);
                drive.table.borrow_mut().end_erase(lun, block, done);
                ended.failed |= if done { 0 } else { mask };
                ended.dead |= if outcome.status == FlashStatus::Dead { mask } else { 0 };
                ended.retired |= if before.closed { mask } else { 0 };
                if !done || before.closed {
                    drive.grow_bad(lun, block);
                } else if before.failures > 0 {
                    drive.save_table();
                }
                drive.block_ended(lun);
            }
        }
        if drive.config.chunks {
            drive.kept.borrow_mut().count_erases(self.erases.iter().map(|one| one.lun));
        }
        drive.tell_media();
        ended
    }

    /// Erases every block that the host may use.
    pub(crate) async fn format(&mut self) -> Ended {
        let drive = Rc::clone(&self.drive);
        self.first().await;
        let g = drive.config.geometry;
        let mut failed = false;
        // One block of each LUN at a time: all LUNs work, and no more is in flight than there is room for.
        for block in (0..g.blocks_per_lun).map(BlockAddr) {
            let mut luns = (0..g.total_luns()).map(LunIndex);
            loop {
                self.erases.clear();
                let usable = |lun: &LunIndex| drive.table.borrow().get(*lun, block).is_usable();
                let room = drive.config.erases_max();
                self.erases.extend(luns.by_ref().filter(usable).take(room).map(|lun| ErasedBlock {
                    lun,
                    block,
                    mask: 1,
                }));
                if self.erases.is_empty() {
                    break;
                }
                self.wait_for_blocks().await;
                self.begin_erases(false);
                failed |= self.end_erases().await.failed != 0;
            }
        }
        self.leave();
        // A block that can't be erased is bad from now on, so nobody reads what it holds by a map.
        (if failed { HostStatus::WriteFault } else { HostStatus::Success }, 0)
    }

    /// Puts the blocks that the addresses name into a state, and keeps it (P26).
    pub(crate) async fn set_state(&mut self, state: BlockState) -> Ended {
        let drive = Rc::clone(&self.drive);
        self.first().await;
        if self.protected() != 0 {
            self.leave();
            return (HostStatus::Vector(VectorFault::BadBlock), 0);
        }
        if !drive.kept.borrow().has_room(&drive.table.borrow(), self.new_exceptions(state)) {
            self.leave();
            return (HostStatus::ReadOnly, 0);
        }
        for unit in &self.units {
            drive.table.borrow_mut().get_mut(unit.lun, unit.block).state = state;
        }
        drive.save_table();
        self.leave();
        drive.tell_media();
        (HostStatus::Success, 0)
    }
    /// Blocks of which nothing is kept yet, and will be if the blocks that the addresses name get this state.
    fn new_exceptions(&self, state: BlockState) -> usize {
        let table = self.drive.table.borrow();
        let is_new = |(n, unit): &(usize, &Unit)| {
            !table.get(unit.lun, unit.block).is_exception() && !self.units[..*n].contains(unit)
        };
        match state {
            BlockState::Free => 0,
            _ => self.units.iter().enumerate().filter(is_new).count(),
        }
    }
}
