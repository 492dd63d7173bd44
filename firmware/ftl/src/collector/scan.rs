//! Looking for data that fades: every read is checked, and a scan reads what nobody else does.
//!
//! The scan visits a page of each LUN in turn, at a configured interval, and reads those that hold valid
//! data. Garbage collection rewrites pages with too many wrong bits while they can still be corrected. After
//! the data the scan reads the stored map and the log (`scan_metadata`).

use crate::collector::state::Collector;
use crate::mapping::Mapping;
use crate::terms::block::PoolIndex;
use crate::terms::cause::Cause;
use alloc::rc::Rc;
use aster_parties::DriveState;
use aster_units::{BufferId, Duration, Ppa};

/// The most pages without valid data that one turn of the scan skips.
const PASSED_OVER_MAX: u32 = 4096;

/// A drive with commands in progress is stuck if nothing but the scan has happened for this long: no
/// operation takes a second. The scan then stops too, so that whoever runs the drive notices.
const STANDSTILL: Duration = Duration::from_millis(1000);

/// Scans. Never ends.
pub(crate) async fn run<M: Mapping>(collector: Rc<Collector<M>>) {
    let interval = collector.runtime.config.care.scan_interval;
    if interval == Duration::ZERO {
        return;
    }
    collector.runtime.booted().await;
    let (mut done, mut since) = (0, collector.runtime.exec().now());
    loop {
        collector.runtime.exec().sleep(interval).await;
        let now = collector.runtime.exec().now();
        if collector.commands_in_work() == 0 || collector.work_done() != done {
            (done, since) = (collector.work_done(), now);
        } else if now.since(since) >= STANDSTILL {
            collector
                .scan
                .waiter
                .wait(collector.runtime.exec(), || (collector.work_done() != done).then_some(()))
                .await;
            continue;
        }
        // A read-only drive can't repair what it finds, and one that was shut down must stay as it is.
        if collector.runtime.state() == DriveState::Ready && !collector.blocks.collection.is_shut_down() {
            match collector.next_metadata_to_scan() {
                Some(page) => collector.scan_metadata(page).await,
                None => collector.scan_one().await,
            }
        }
    }
}

impl<M: Mapping> Collector<M> {
    /// A count that grows with everything the drive does, except the scan.
    fn work_done(&self) -> u64 {
        let s = self.runtime.stats();
        let operations = s.flash_reads.total() - s.flash_reads.scan + s.flash_programs.total();
        let taken = self.host_activity.taken.get();
        operations + s.flash_erases.total() + s.host_bytes_read + s.commands + taken
    }
    async fn scan_one(&self) {
        let Some(ppa) = self.next_to_scan() else { return };
        self.blocks.table().in_flight.read_begins(ppa);
        let is_own = self.mapping.is_own(ppa);
        let buffer = match is_own {
            true => {
                let of_metadata = self.runtime.buffers.metadata_scan();
                self.pages.dram().borrow().metadata_buffer(of_metadata)
            }
            false => BufferId(self.runtime.buffers.scan()),
        };
        let whole = self.pages.whole();
        let outcome = self.blocks.read(ppa, whole, buffer, Cause::Scan).await;
        self.blocks.read_over(ppa);
        self.blocks.check_retention(ppa, &outcome, is_own);
    }
    /// The next page that counts.
    fn next_to_scan(&self) -> Option<Ppa> {
        let (luns, blocks) = (self.runtime.geometry.total_luns(), self.blocks.table());
        let pages = self.runtime.geometry.blocks_per_lun * u32::from(self.runtime.geometry.pages_per_block);
        for _ in 0..PASSED_OVER_MAX.min(luns * pages) {
            let at = self.scan.at.get();
            self.scan.at.set((at + 1) % (luns * pages));
            if self.scan.at.get() == 0 {
                self.scan.metadata.borrow_mut().begin();
            }
            let ppa = Ppa(at % luns * pages + at / luns);
            if blocks.durability.counts_in(ppa) {
                return Some(ppa);
            }
        }
        None
    }
    /// Lets the host have its turn between two pages that nobody waits for.
    pub(crate) async fn pause_between_moves(&self, pool: PoolIndex) {
        let gap = self.runtime.config.care.background_gap;
        let is_pressed = self.blocks.collection.is_paused()
            || self.journal.due.is_storing()
            || self.runtime.state() != DriveState::Ready
            || self.blocks.table().free.in_pool(pool) <= self.gc_free_blocks.get() as usize;
        if gap > Duration::ZERO && !is_pressed {
            self.runtime.exec().sleep(gap).await;
        }
    }
}
