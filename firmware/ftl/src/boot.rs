//! Power-on: what the root record says decides how the drive learns its state.
//!
//! | root record | step |
//! |---|---|
//! | none | each LUN is scanned for factory bad blocks, all other blocks are free |
//! | clean | the stored map and block table are read |
//! | not clean | refused: only a clean shutdown can be continued |

use crate::blocks::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::drive::Drive;
use crate::root::{Root, Stored};
use crate::stats::DriveState;
use alloc::rc::Rc;
use aster_ports::flash::{FlashError, FlashStatus};
use aster_units::{BlockAddr, LunIndex, Ppa};
use core::fmt;

/// The first spare byte of a block's first or last page marks it (P4, ONFI 5.1 §3.3); FFh in both is good.
/// A byte with so many zero bits is a mark: fewer come from bit errors, since it is read without correction.
const BAD_MARK_ZEROES: u32 = 4;

/// Why a drive can't serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BootError {
    /// The drive was not shut down.
    Unclean,
    /// Both copies of the root record are damaged.
    RootDamaged,
    /// The root record belongs to a drive of another shape.
    OtherDrive,
    /// A page of the stored map can't be read.
    MapUnreadable {
        /// Which.
        page: u32,
    },
    /// The stored map contradicts itself.
    MapInvalid {
        /// How.
        why: &'static str,
    },
    /// A LUN has too many bad blocks.
    TooFewBlocks {
        /// The LUN.
        lun: LunIndex,
        /// Its good blocks.
        good: u32,
        /// The blocks that the capacity needs.
        needed: u64,
    },
    /// The scan for bad blocks could not read a block.
    Scan {
        /// The LUN.
        lun: LunIndex,
        /// The block.
        block: BlockAddr,
        /// Why, if the channel controller said so.
        error: Option<FlashError>,
    },
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootError::Unclean => f.write_str(
                "the drive was not shut down: its map was not stored, and recovery from a sudden loss of power is not there yet",
            ),
            BootError::RootDamaged => f.write_str("both copies of the root record in NVRAM are damaged"),
            BootError::OtherDrive => {
                f.write_str("the image belongs to a drive of another geometry, capacity, assigner or content")
            }
            BootError::MapUnreadable { page } => write!(f, "page {page} of the stored map can't be read"),
            BootError::MapInvalid { why } => {
                write!(f, "the stored map contradicts itself ({why}): the image is damaged; use a copy of it, or a new image")
            }
            BootError::TooFewBlocks { lun, good, needed } => write!(
                f,
                "LUN {lun} has {good} good blocks, but the capacity needs {needed} (its logical pages, metadata and \
                 garbage collection); raise the over-provisioning"
            ),
            BootError::Scan { lun, block, error } => {
                write!(f, "LUN {lun}, block {block}: no bad-block mark can be read")?;
                error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
        }
    }
}
impl core::error::Error for BootError {}

/// Decides how to boot and begins; a fresh drive is scanned by the LUNs' own workers.
pub(crate) fn start(drive: &Rc<Drive>) {
    match Root::load(&drive.nvram) {
        Stored::Fresh => drive.fresh.set(true),
        Stored::Damaged => drive.finish_boot(Err(BootError::RootDamaged)),
        Stored::Root(root) if !root.clean => drive.finish_boot(Err(BootError::Unclean)),
        Stored::Root(root) => {
            let booting = Rc::clone(drive);
            drive.core.spawn(async move {
                let loaded = booting.load_checkpoint(&root).await;
                booting.finish_boot(loaded);
            });
        }
    }
}

impl Drive {
    fn finish_boot(&self, result: Result<(), BootError>) {
        let result = result.and_then(|()| self.check_good_blocks());
        for lun in (0..self.geometry.total_luns()).map(LunIndex) {
            self.blocks.borrow_mut().keep_for_map(lun);
        }
        match result {
            Ok(state) => self.set_state(state),
            Err(error) => {
                *self.boot_error.borrow_mut() = Some(error);
                self.set_state(DriveState::Failed);
            }
        }
        self.boot_waiters.wake_all(self.exec());
    }
    /// A fresh drive must have its blocks; a worn one goes on read-only, also when too many are about to go bad.
    fn check_good_blocks(&self) -> Result<DriveState, BootError> {
        let needed = self.config.blocks_needed_per_lun();
        let blocks = self.blocks.borrow();
        for lun in (0..self.geometry.total_luns()).map(LunIndex) {
            let good = blocks.lasting(lun);
            if u64::from(good) < needed {
                let error = BootError::TooFewBlocks { lun, good, needed };
                return if self.fresh.get() { Err(error) } else { Ok(DriveState::ReadOnly) };
            }
        }
        Ok(DriveState::Ready)
    }

    /// Looks for factory bad blocks of a fresh drive's LUN. The last LUN's worker ends the boot.
    pub(crate) async fn scan_if_fresh(&self, lun: LunIndex) {
        if !self.fresh.get() {
            return;
        }
        let result = self.scan(lun).await;
        if let Err(error) = result {
            *self.boot_error.borrow_mut() = Some(error);
        }
        self.luns_to_scan.set(self.luns_to_scan.get() - 1);
        if self.luns_to_scan.get() == 0 {
            let found = self.boot_error.take();
            self.finish_boot(found.map_or(Ok(()), Err));
        }
    }
    async fn scan(&self, lun: LunIndex) -> Result<(), BootError> {
        let buffer = self.dram.borrow().metadata_buffer(lun.0);
        for block in (0..self.geometry.blocks_per_lun).map(BlockAddr) {
            let (index, first) = {
                let blocks = self.blocks.borrow();
                let index = blocks.block_index(lun, block);
                (index, blocks.first_page(index))
            };
            // Which of the two a maker uses is in its data sheet; ONFI has hosts look at both.
            let last = Ppa(first.0 + u32::from(self.geometry.pages_per_block) - 1);
            let bad = self.has_mark(lun, block, first, buffer).await?
                || self.has_mark(lun, block, last, buffer).await?;
            self.adopt_fresh(index, !bad);
        }
        Ok(())
    }
    async fn has_mark(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        page: Ppa,
        buffer: aster_units::BufferId,
    ) -> Result<bool, BootError> {
        let outcome = self.read_raw(page, buffer).await;
        match outcome.status {
            FlashStatus::Error => Err(BootError::Scan { lun, block, error: self.last_fault(lun) }),
            _ => Ok(self.dram.borrow().oob(buffer)[0].count_zeros() >= BAD_MARK_ZEROES),
        }
    }
    fn adopt_fresh(&self, block: BlockIndex, good: bool) {
        let state = if good { BlockState::Free } else { BlockState::Bad };
        self.count(|s| s.factory_bad_blocks += u64::from(!good));
        let entry = BlockEntry { state, stream: Stream::Host, next: 0, erases: 0 };
        self.blocks.borrow_mut().adopt(block, entry).expect("a fresh block contradicts none");
    }
}
