//! How the drive and its media are.

use crate::journal::state::Journal;
use crate::terms::block::BlockIndex;
use crate::terms::oob::COUNT_SPENT;
use aster_events::Event;
use aster_parties::{Boot, DriveState, MediaState};
use aster_units::LunIndex;

impl Journal {
    /// The drive is read-only, or will be once it is up: it was when its power went.
    pub(crate) fn takes_no_writes(&self) -> bool {
        self.was_read_only.get() || self.state() == DriveState::ReadOnly
    }
    pub(crate) fn set_state(&self, state: DriveState) {
        self.count(|s| s.state = state);
        if state == DriveState::ReadOnly {
            self.blocks.table_mut().stop_evacuating();
            // That must be known after a loss of power, too, and which blocks have gone bad. A drive that was
            // so before has said so.
            if !self.was_read_only.get() {
                self.ask_for_log();
            }
        }
        self.media_changed();
    }
    /// Tells the watcher how the media are.
    pub(crate) fn media_changed(&self) {
        if let Some(watcher) = self.media_watcher.borrow().as_ref() {
            let needed = self.config.blocks_needed_per_lun() as u32;
            let blocks = self.blocks.table();
            // Of what the factory left, which is nothing on some LUNs: all of that is there until one more
            // block goes bad.
            let spare_percent = |lun| match blocks.factory_good(lun).saturating_sub(needed) {
                0 => 100 * u32::from(blocks.good(lun) == blocks.factory_good(lun)),
                spare => blocks.good(lun).saturating_sub(needed) * 100 / spare,
            };
            let available_spare =
                (0..self.geometry.total_luns()).map(|lun| spare_percent(LunIndex(lun))).min().unwrap_or(0);
            drop(blocks);
            watcher(MediaState {
                available_spare: available_spare.min(100) as u8,
                read_only: self.state() == DriveState::ReadOnly,
                rebuilt: self.stats().boot == Boot::Rebuilt,
                erases: self.stats().flash_erases.total(),
            });
        }
    }
    /// Takes a bad block out of use; without enough good ones left the drive becomes read-only. As at
    /// power-on and in SMART, blocks that are about to go bad are none.
    pub(crate) fn retire(&self, lun: LunIndex, block: BlockIndex) {
        let (addr, good) = {
            let mut blocks = self.blocks.table_mut();
            blocks.retire(block);
            (blocks.block_addr(block), blocks.good(lun))
        };
        self.count(|s| s.grown_bad_blocks += 1);
        self.emit(|| Event::BlockRetired { lun: lun.0, block: addr.0 });
        if u64::from(good) < self.config.blocks_needed_per_lun() && self.state() == DriveState::Ready {
            self.set_state(DriveState::ReadOnly);
        } else {
            self.media_changed();
        }
    }
    /// A drive whose numbers have been given out takes no more writes, and needs no page that says so: each
    /// power-on finds it out.
    pub(crate) fn note_counters(&self) {
        self.was_read_only.set(self.was_read_only.get() || self.counters_exhausted());
    }
    pub(crate) fn counters_exhausted(&self) -> bool {
        let counts = [self.blocks.last_sequence(), self.log.borrow().number, self.stored.borrow().generation];
        counts.iter().any(|&count| count > COUNT_SPENT)
    }
}
