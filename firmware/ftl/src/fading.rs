//! Reads that keep their block from being erased, and what they find and do to it.

use crate::drive::Drive;
use aster_parties::DriveState;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::Ppa;

impl Drive {
    /// A read that kept its block from being erased has ended.
    pub(crate) fn read_over(&self, ppa: Ppa) {
        let (last, lun) = {
            let mut blocks = self.blocks.borrow_mut();
            let block = blocks.block_of(ppa);
            (blocks.read_ends(ppa), blocks.lun_of(block))
        };
        if last {
            self.read_waiters[lun.index()].wake(self.exec());
        }
    }
    /// Has a block's data moved if a read of it found too many wrong bits.
    pub(crate) fn look_for_fading(&self, ppa: Ppa, outcome: &Outcome) {
        let bits = match outcome.status {
            FlashStatus::Done => outcome.worst_chunk,
            FlashStatus::Uncorrectable => u8::MAX,
            FlashStatus::Failed | FlashStatus::Error => return,
        };
        let fades = self.blocks.borrow_mut().found_wrong_bits(ppa, bits);
        if fades {
            self.begin_refresh(ppa);
        }
    }
    /// Counts a read, and has the block's data moved after too many.
    #[inline]
    pub(crate) fn count_disturbance(&self, ppa: Ppa) {
        let disturbed = self.blocks.borrow_mut().count_read(ppa);
        if disturbed {
            self.begin_refresh(ppa);
        }
    }
    #[cold]
    fn begin_refresh(&self, ppa: Ppa) {
        if self.state() != DriveState::Ready {
            return;
        }
        // A drive that has only been read since power-on has let garbage collection rest so far.
        if self.rests_since_boot.get() {
            self.release_gc();
        }
        let (lun, ..) = self.geometry.split_ppa(ppa);
        self.gc_waiters[lun.index()].wake(self.exec());
    }
    pub(crate) fn release_gc(&self) {
        self.gc_held.set(false);
        self.rests_since_boot.set(false);
        for cell in &self.gc_waiters {
            cell.wake(self.exec());
        }
    }
}
