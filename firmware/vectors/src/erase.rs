//! Vector erases, formats, and states that the host sets.

use crate::drive::is_done;
use crate::plan::{self, ErasedBlock};
use crate::worker::{Ended, Worker};
use alloc::rc::Rc;
use aster_ports::flash::FlashOp;
use aster_ports::host::{BlockState, HostStatus, VectorFault, VectorMode};
use aster_units::{BlockAddr, BufferId, LunIndex, PageInBlock};

impl Worker {
    /// Erases the blocks that the addresses name.
    pub(crate) async fn erase(&mut self, mode: VectorMode) -> Ended {
        let drive = Rc::clone(&self.drive);
        self.first().await;
        let planned =
            plan::erases(&self.units, mode.all_planes, &drive.shape, &drive.table.borrow(), &mut self.erases);
        if let Err(fault) = planned {
            self.leave();
            return (HostStatus::Vector(fault), 0);
        }
        self.wait_for_blocks().await;
        self.begin_erases(mode.slc);
        self.leave();
        let failed = self.end_erases().await;
        (if failed == 0 { HostStatus::Success } else { HostStatus::WriteFault }, failed)
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
        self.tags.clear();
        for ErasedBlock { lun, block, .. } in &self.erases {
            let page = PageInBlock(0);
            let mut request = drive.request(FlashOp::Erase, *lun, *block, page, drive.whole(), BufferId(0));
            request.flags.slc = slc;
            drive.table.borrow_mut().begin_erase(*lun, *block);
            self.tags.push(drive.submit(request));
        }
        drive.count(|s| s.flash_erases.host += self.erases.len() as u64);
    }
    /// Waits for the erases. Returns the addresses of those that failed, whose blocks are bad now.
    async fn end_erases(&mut self) -> u64 {
        let drive = Rc::clone(&self.drive);
        let mut failed = 0;
        for (tag, ErasedBlock { lun, block, mask }) in self.tags.iter().zip(&self.erases) {
            let done = is_done(&drive.finished(*tag).await);
            drive.table.borrow_mut().end_erase(*lun, *block, done);
            if !done {
                failed |= mask;
                drive.grow_bad(*lun, *block);
            }
            drive.block_ended(*lun);
        }
        drive.tell_media();
        failed
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
                failed |= self.end_erases().await != 0;
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
        if self.names_protected() {
            self.leave();
            return (HostStatus::Vector(VectorFault::BadBlock), 0);
        }
        for unit in &self.units {
            drive.table.borrow_mut().get_mut(unit.lun, unit.block).state = state;
        }
        drive.save_table();
        self.leave();
        drive.tell_media();
        (HostStatus::Success, 0)
    }
}
