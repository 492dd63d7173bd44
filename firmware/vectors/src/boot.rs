//! Power-on: the bad-block table from NVRAM, or from the factory's marks.

use crate::config::WORKERS;
use crate::drive::Found;
use crate::wear::wear_of;
use crate::worker::Worker;
use crate::write::is_blank;
use alloc::rc::Rc;
use aster_parties::{Boot, DriveState};
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Target};
use aster_ports::host::BlockState;
use aster_units::{BlockAddr, BufferId, Instant, LunIndex, PageInBlock};

/// The least number of cleared bits that make a spare byte a factory mark: fewer may be bit errors (P4).
const MARK_ZEROES: u32 = 4;

impl Worker {
    /// Reads the marks of this worker's LUNs, or a page of each if the table was kept: a drive serves once
    /// its packages are up. The last worker to finish lets it.
    pub(crate) async fn boot(&mut self) {
        let drive = Rc::clone(&self.drive);
        let marked = drive.stats.borrow().boot == Boot::Fresh;
        let luns = drive.config.geometry.total_luns();
        for lun in (self.number.into()..luns).step_by(WORKERS.into()).map(LunIndex) {
            if marked {
                self.read_marks(lun).await;
            }
            if drive.config.chunks {
                self.find_all_pointers(lun).await;
            } else if !marked {
                self.read_any(lun).await;
            }
        }
        drive.booting.set(drive.booting.get() - 1);
        if drive.booting.get() > 0 {
            drive.ready.wait(drive.exec(), || (drive.state() != DriveState::Booting).then_some(())).await;
            return;
        }
        for lun in (0..drive.config.geometry.total_luns()).map(LunIndex) {
            let own = (0..drive.config.geometry.planes.into()).map(BlockAddr);
            own.filter(|block| drive.config.is_protected(*block))
                .for_each(|block| drive.table.borrow_mut().get_mut(lun, block).state = BlockState::Device);
        }
        if drive.config.chunks {
            let kept = drive.kept.borrow();
            drive.table.borrow_mut().estimate_erases(drive.config.geometry.planes, |lun| kept.erases(lun));
        }
        let bad = drive.table.borrow().all().filter(|(_, _, b)| b.state == BlockState::FactoryBad).count();
        drive.count(|s| {
            s.state =
                if drive.kept.borrow().is_overfull() { DriveState::ReadOnly } else { DriveState::Ready };
            s.factory_bad_blocks = bad as u64;
            s.boot_nanos = drive.core.now().since(Instant::ZERO).as_nanos();
        });
        if marked {
            drive.save_table();
        }
        drive.tell_media();
        drive.ready.wake_all(drive.exec());
    }
    async fn read_marks(&self, lun: LunIndex) {
        let drive = &self.drive;
        for block in (0..drive.config.geometry.blocks_per_lun).map(BlockAddr) {
            if self.is_marked(lun, block, false).await || self.is_marked(lun, block, true).await {
                drive.table.borrow_mut().get_mut(lun, block).state = BlockState::FactoryBad;
            }
        }
    }
    /// Reads some page of a LUN, which is answered once its package is up.
    async fn read_any(&mut self, lun: LunIndex) {
        let buffer = self.look_buffer().await;
        self.look(lun, BlockAddr(0), PageInBlock(0), buffer).await;
        self.drive.count(|s| s.boot_reads += 1);
        self.give_look_buffer();
    }
    /// Finds how far each usable block of a LUN is written (P29: write pointers outlast losses of power).
    async fn find_all_pointers(&mut self, lun: LunIndex) {
        let drive = Rc::clone(&self.drive);
        let buffer = self.look_buffer().await;
        for block in (0..drive.config.geometry.blocks_per_lun).map(BlockAddr) {
            let usable = drive.table.borrow().get(lun, block).is_usable();
            if usable && !drive.config.is_protected(block) {
                let (written, erases) = self.find_written(lun, block, buffer).await;
                let mut table = drive.table.borrow_mut();
                table.found(lun, block, written);
                table.get_mut(lun, block).erases = erases;
            }
        }
        self.give_look_buffer();
    }
    /// As [`Worker::search_pointer`], with fewer reads where most blocks are empty or full, and how often the
    /// block was erased, if its first page can be read.
    async fn find_written(&self, lun: LunIndex, block: BlockAddr, buffer: BufferId) -> (u16, Option<u32>) {
        let pages = self.drive.config.geometry.pages_per_block;
        let first = self.look(lun, block, PageInBlock(0), buffer).await;
        let erases = (first.status == FlashStatus::Done && !first.erased)
            .then(|| wear_of(self.drive.dram.borrow().oob(buffer)));
        if is_blank(&first) {
            return (0, None);
        }
        let written = match self.found(lun, block, PageInBlock(pages - 1), buffer).await {
            Found::Nothing => self.search_pointer(lun, block, buffer).await.unwrap_or(pages),
            Found::Page | Found::Unknown => pages,
        };
        (written, erases)
    }
    /// Whether a spare byte of the block's first or last page says that the factory found it bad. A LUN that
    /// doesn't answer says so of all its blocks: none of them can be used.
    async fn is_marked(&self, lun: LunIndex, block: BlockAddr, last: bool) -> bool {
        let (drive, side) = (&self.drive, self.drive.side_of(self.number));
        let row = drive.shape.mark_row(lun, block, last);
        let target = Target { row, sectors: drive.whole(), buffer: side };
        let mut request = FlashRequest::single(FlashOp::Read, lun, target);
        request.flags.raw = true;
        let [outcome, ..] = drive.flash.call(request).await;
        drive.count(|s| {
            s.flash_reads.metadata += 1;
            s.boot_reads += 1;
        });
        outcome.status == FlashStatus::Dead || drive.dram.borrow().oob(side)[0].count_zeros() >= MARK_ZEROES
    }
}
