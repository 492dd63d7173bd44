//! Power-on: how the drive learns its state.
//!
//! | NVRAM says | NAND holds | the drive |
//! |---|---|---|
//! | shut down | a stored map | reads it |
//! | anything else | a log | recovers (see `recover`) |
//! | | no whole log, but data | looks at every page (see `rebuild`) |
//! | | nothing | is from the factory: finds its bad blocks and stores an empty map |

use crate::blocks::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::drive::Drive;
use crate::log::Log;
use crate::map::Map;
use crate::oob::{COUNT_SPENT, OobRecord};
use crate::recover::NoRecovery;
use crate::root::{Root, Stored};
use alloc::rc::Rc;
use aster_parties::{Boot, DriveState};
use aster_ports::flash::FlashError;
use aster_units::{BlockAddr, BufferId, Instant, LunIndex};
use core::fmt;

/// Why a drive can't serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BootError {
    /// What is stored belongs to a drive of another shape.
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
            BootError::OtherDrive => f.write_str(
                "the image belongs to a drive of another geometry, capacity, placement or content",
            ),
            BootError::MapUnreadable { page } => write!(f, "page {page} of the stored map can't be read"),
            BootError::MapInvalid { why } => {
                write!(
                    f,
                    "the stored map contradicts itself ({why}): the image is damaged; use a copy of it, or a new image"
                )
            }
            BootError::TooFewBlocks { lun, good, needed } => write!(
                f,
                "LUN {lun} has {good} good blocks, but the capacity needs {needed} (its logical pages, metadata and \
                 garbage collection). A new drive of this profile needs more over-provisioning; one that has worked before \
                 has lost blocks that failed or can't be read"
            ),
            BootError::Scan { lun, block, error } => {
                write!(f, "LUN {lun}, block {block}: no bad-block mark can be read")?;
                error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
        }
    }
}
impl core::error::Error for BootError {}

/// Begins to boot.
pub(crate) fn start(drive: &Rc<Drive>) {
    let booting = Rc::clone(drive);
    drive.core.spawn(async move {
        let result = booting.boot().await;
        booting.finish_boot(result);
    });
}

impl Drive {
    async fn boot(&self) -> Result<Boot, BootError> {
        self.forget_everything();
        let root = match Root::load(&self.nvram) {
            Stored::Root(root) => Some(root),
            Stored::Empty | Stored::Damaged => None,
        };
        if let Some(root) = root.as_ref().filter(|root| root.shape == self.shape()) {
            self.was_read_only.set(root.log.read_only || root.log.dead);
        }
        if let Some(root) = root.as_ref().filter(|root| root.clean) {
            match self.load_clean(root).await {
                Err(BootError::MapUnreadable { .. }) => self.forget_everything(),
                loaded => return loaded.map(|()| Boot::Clean),
            }
        }
        let is_hint = |root: &&Root| !root.clean && !root.log.dead && root.shape == self.shape();
        let hint = root.as_ref().filter(is_hint).map(|root| &root.log);
        // A hint that leads nowhere is no reason to give up.
        for hint in [hint, None].into_iter().skip(usize::from(hint.is_none())) {
            match self.recover(hint).await {
                Ok(()) => {
                    self.mark_dirty();
                    self.note_counted_out();
                    // One that takes no more writes needs no further page of it.
                    if self.log_is_half_full() && !self.was_read_only.get() {
                        self.store_map(false).await;
                    }
                    return Ok(Boot::Recovered);
                }
                Err(NoRecovery::Other(error)) => return Err(error),
                Err(NoRecovery::NoLog | NoRecovery::Unreadable) => self.forget_everything(),
            }
        }
        let boot = self.scan().await?;
        self.mark_dirty();
        self.note_counted_out();
        if boot == Boot::Fresh {
            // Said now, since a drive whose bad blocks leave too few others stores nothing.
            self.check_good_blocks(boot)?;
        }
        if self.store_map(true).await && boot == Boot::Fresh {
            self.store_root(true);
            self.nvram.save();
            self.marked_dirty.set(false);
        }
        Ok(boot)
    }
    /// As before any boot: what an attempt that failed has left is gone.
    fn forget_everything(&self) {
        self.map.replace(Map::new(self.logical_pages));
        self.blocks.borrow_mut().forget(&self.config);
        self.log.replace(Log::default());
        self.lay_out_log(|_| true);
        OobRecord::padding().encode(self.dram.borrow_mut().oob_mut(BufferId(self.config.padding_buffer())));
    }
    /// Takes over the state that a shutdown has left.
    async fn load_clean(&self, root: &Root) -> Result<(), BootError> {
        if root.shape != self.shape() {
            return Err(BootError::OtherDrive);
        }
        self.sequence.set(root.sequence);
        let table = self.load_map(&root.stored).await?;
        self.adopt_table(&table)?;
        self.count_valid_pages()?;
        self.stored.replace(root.stored.clone());
        let blocks = self.blocks.borrow();
        self.lay_out_log(|block| blocks.state(block) == BlockState::Log);
        drop(blocks);
        let mut log = self.log.borrow_mut();
        let place = &root.log;
        (log.number, log.commit, log.replay_from) = (place.number, place.commit, place.replay_from);
        log.dead = place.dead;
        let is_there = |(slot, line): &(usize, u32)| *slot < log.slots.len() && *line <= log.lines_per_slot;
        log.at = place.at.map(|(slot, line)| (slot as usize, line)).filter(is_there);
        log.turn = log.at.map_or(log.turn, |(slot, _)| slot);
        for (slot, &last) in log.slots.iter_mut().zip(&place.slots) {
            slot.last = last;
        }
        if log.dead {
            self.blocks.borrow_mut().name_no_more();
        }
        Ok(())
    }

    fn finish_boot(&self, result: Result<Boot, BootError>) {
        let result = result.and_then(|boot| Ok((boot, self.check_good_blocks(boot)?)));
        for lun in (0..self.geometry.total_luns()).map(LunIndex) {
            self.blocks.borrow_mut().keep_for_map(lun);
        }
        self.log.borrow_mut().note_slots();
        let boot_nanos = self.core.now().since(Instant::ZERO).as_nanos();
        self.count(|s| (s.boot_nanos, s.boot_reads) = (boot_nanos, s.flash_reads.total()));
        match result {
            Ok((boot, state)) => {
                self.count(|s| s.boot = boot);
                self.note_counted_out();
                let read_only = self.log.borrow().dead || self.was_read_only.get();
                self.set_state(if read_only { DriveState::ReadOnly } else { state });
                // Before other pages are lost as well.
                if self.state() == DriveState::Ready && self.stats.borrow().map_pages_restored > 0 {
                    self.renew_map();
                }
            }
            Err(error) => {
                *self.boot_error.borrow_mut() = Some(error);
                self.set_state(DriveState::Failed);
            }
        }
        self.boot_waiters.wake_all(self.exec());
    }
    /// A drive whose numbers have been given out takes no more writes, and needs no page that says so: each
    /// power-on finds it out.
    fn note_counted_out(&self) {
        self.was_read_only.set(self.was_read_only.get() || self.has_counted_out());
    }
    pub(crate) fn has_counted_out(&self) -> bool {
        let counts = [self.sequence.get(), self.log.borrow().number, self.stored.borrow().generation];
        counts.iter().any(|&count| count > COUNT_SPENT)
    }
    /// A fresh drive must have its blocks; a worn one goes on read-only, also when too many are about to go
    /// bad.
    fn check_good_blocks(&self, boot: Boot) -> Result<DriveState, BootError> {
        let needed = self.config.blocks_needed_per_lun();
        let blocks = self.blocks.borrow();
        for lun in (0..self.geometry.total_luns()).map(LunIndex) {
            let good = blocks.lasting(lun);
            if u64::from(good) < needed {
                let error = BootError::TooFewBlocks { lun, good, needed };
                return if boot == Boot::Fresh { Err(error) } else { Ok(DriveState::ReadOnly) };
            }
        }
        Ok(DriveState::Ready)
    }
    /// An entry of a block of which only the state is known.
    pub(crate) fn adopt_as(&self, block: BlockIndex, state: BlockState) {
        let entry = BlockEntry { state, stream: Stream::Host, next: 0, erases: 0, suspect: false };
        self.blocks.borrow_mut().adopt(block, entry).expect("a state alone contradicts nothing");
    }
}
