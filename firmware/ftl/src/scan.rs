//! Looking for data that fades: by what every read finds, and by a scan that reads what nobody else does.
//!
//! The scan takes a page of each LUN in turn, at an interval that the configuration gives, and reads those
//! that count. What has too many wrong bits is written anew by garbage collection, while it can still be
//! corrected. Once it is through, it reads the stored map and the log behind that (`scan_metadata`).

use crate::drive::Drive;
use crate::terms::cause::Cause;
use alloc::rc::Rc;
use aster_parties::DriveState;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::{BufferId, Duration, LunIndex, Ppa};

/// Pages that hold nothing which one turn of the scan passes over at most.
const PASSED_OVER_MAX: u32 = 4096;

/// A drive with commands in work in which nothing else has happened for so long stands still: no operation
/// takes a second. The scan waits then as well, so that whoever runs the drive finds it out.
const STANDSTILL: Duration = Duration::from_millis(1000);

/// Scans for ever.
pub(crate) async fn run(drive: Rc<Drive>) {
    let interval = drive.config.scan_interval;
    if interval == Duration::ZERO {
        return;
    }
    drive.boot_waiters.wait(drive.exec(), || (drive.state() != DriveState::Booting).then_some(())).await;
    let (mut done, mut since) = (0, drive.exec().now());
    loop {
        drive.exec().sleep(interval).await;
        let now = drive.exec().now();
        if drive.commands.borrow().in_work == 0 || drive.work_done() != done {
            (done, since) = (drive.work_done(), now);
        } else if now.since(since) >= STANDSTILL {
            drive.scan_waiter.wait(drive.exec(), || (drive.work_done() != done).then_some(())).await;
            continue;
        }
        // A drive that takes no writes can't help what it finds, and one that was shut down stays as it is.
        if drive.state() == DriveState::Ready && !drive.is_shut_down() {
            match drive.next_metadata_to_scan() {
                Some(page) => drive.scan_metadata(page).await,
                None => drive.scan_one().await,
            }
        }
    }
}

impl Drive {
    /// Grows with whatever the drive does but for the scan.
    fn work_done(&self) -> u64 {
        let s = self.stats.borrow();
        let operations = s.flash_reads.total() - s.flash_reads.scan + s.flash_programs.total();
        let taken = self.commands.borrow().taken;
        operations + s.flash_erases.total() + s.host_bytes_read + s.commands + taken
    }
    async fn scan_one(&self) {
        let Some(ppa) = self.next_to_scan() else { return };
        self.blocks.borrow_mut().read_begins(ppa);
        let outcome = self.read(ppa, self.whole(), BufferId(self.config.scan_buffer()), Cause::Scan).await;
        self.read_over(ppa);
        self.look_for_fading(ppa, &outcome);
    }
    /// The next page that counts.
    fn next_to_scan(&self) -> Option<Ppa> {
        let (luns, blocks) = (self.geometry.total_luns(), self.blocks.borrow());
        let pages = self.geometry.blocks_per_lun * u32::from(self.geometry.pages_per_block);
        for _ in 0..PASSED_OVER_MAX.min(luns * pages) {
            let at = self.scan_at.get();
            self.scan_at.set((at + 1) % (luns * pages));
            if self.scan_at.get() == 0 {
                self.metadata_round.borrow_mut().begin();
            }
            let ppa = Ppa(at % luns * pages + at / luns);
            if blocks.is_valid(ppa) && !blocks.is_replaced(ppa) {
                return Some(ppa);
            }
        }
        None
    }
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
    /// Lets the host have its turn between two pages that nobody waits for.
    pub(crate) async fn pause_between_moves(&self, lun: LunIndex) {
        let gap = self.config.background_gap;
        let is_pressed = self.gc_held.get()
            || self.storing.get()
            || self.state() != DriveState::Ready
            || self.blocks.borrow().free(lun) <= self.gc_free_blocks.get() as usize;
        if gap > Duration::ZERO && !is_pressed {
            self.exec().sleep(gap).await;
        }
    }
}
