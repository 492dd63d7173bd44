//! The block pool: the block table, the tasks that wait for it to change, and the reads and programs that
//! change it.
//!
//! The pool doesn't call the rooms above it. Garbage collection waits with [`Collection::wait`] for
//! something to do, and writers wait with [`RoomQueues::wait_room`].

use crate::blocks::collection::Collection;
use crate::blocks::pacing::Pacing;
use crate::blocks::programmed::Programmed;
use crate::blocks::room_queues::RoomQueues;
use crate::blocks::sequence::Sequence;
use crate::blocks::table::Blocks;
use crate::media::requests::Media;
use crate::terms::block::{BlockIndex, PoolIndex};
use crate::terms::cause::Cause;
use crate::terms::runtime::Runtime;
use crate::terms::units::Frame;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Wait;
use aster_exec::WaitQueue;
use aster_parties::{DriveState, StreamPolicy, VictimPolicy};
use aster_ports::flash::{FlashStatus, Outcome, Tag};
use aster_units::{BufferId, Lpn, LunIndex, Ppa, SectorRange, Upa};

/// The blocks of a drive.
pub(crate) struct BlockPool {
    runtime: Rc<Runtime>,
    media: Rc<Media>,
    table: Rc<Blocks>,
    // Which LUN a page belongs to: page n to entry n modulo the length.
    lun_order: Box<[LunIndex]>,
    // Per pool: tasks that wait for programs to be safe from a loss of power.
    durable_waiters: Box<[WaitQueue]>,
    // Per pool: collectors that wait for the last read of the block that they have emptied.
    read_waiters: Box<[WaitQueue]>,
    /// Sequence numbers of writes.
    pub(crate) sequence: Sequence,
    /// What writers and garbage collection wait for when collection is paced.
    pub(crate) pacing: Rc<Pacing>,
    /// Who waits for room.
    pub(crate) queues: RoomQueues,
    /// When garbage collection looks for something to do.
    pub(crate) collection: Collection,
}

impl BlockPool {
    /// A pool in which all blocks are unused and in no list. `victims` chooses what is collected, and
    /// `streams` the streams of what the host writes. Page n lies in the LUN at entry n of `lun_order`,
    /// modulo its length.
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        media: &Rc<Media>,
        victims: Box<dyn VictimPolicy>,
        streams: Box<dyn StreamPolicy>,
        lun_order: Box<[LunIndex]>,
    ) -> Self {
        let config = &runtime.config;
        let depth = usize::from(config.host.slice_workers).min(64);
        let table = Rc::new(Blocks::of(config, victims, streams, lun_order.clone()));
        let (pools, collectors) = (table.layout.total_pools(), config.luns_per_pool() as usize);
        let pacing = Rc::new(Pacing::new(runtime, pools, collectors, depth));
        BlockPool {
            runtime: Rc::clone(runtime),
            media: Rc::clone(media),
            lun_order,
            durable_waiters: (0..pools).map(|_| WaitQueue::with_capacity(depth)).collect(),
            read_waiters: (0..pools).map(|_| WaitQueue::with_capacity(collectors)).collect(),
            sequence: Sequence::default(),
            queues: RoomQueues::new(runtime, &pacing, pools, depth),
            pacing,
            collection: Collection::new(runtime, pools, collectors),
            table,
        }
    }
    /// Forgets everything about the blocks.
    pub(crate) fn clear(&self) {
        self.table.forget();
    }
    /// The block table.
    #[inline]
    pub(crate) fn table(&self) -> &Blocks {
        &self.table
    }
    /// The LUNs in the order in which pages are placed on them.
    pub(crate) fn lun_order(&self) -> &[LunIndex] {
        &self.lun_order
    }
    /// The pool that a frame's units belong to.
    #[inline]
    pub(crate) fn pool_of(&self, frame: Frame) -> PoolIndex {
        self.table.layout.pool_of(self.lun_order[frame.0 as usize % self.lun_order.len()])
    }

    // ---- programs that a loss of power could undo ----

    /// Waits until other programs of the pool may be safe; the caller looks again.
    pub(crate) async fn wait_durable(&self, pool: PoolIndex) {
        self.runtime.wait_once(&self.durable_waiters[pool.at()], Wait::WordLine).await;
    }
    /// Wakes the tasks that wait for programs of the pool to be safe.
    pub(crate) fn durable_changed(&self, pool: PoolIndex) {
        self.durable_waiters[pool.at()].wake_all(self.runtime.exec());
    }
    /// Whether someone waits in [`BlockPool::wait_durable`].
    #[cfg(test)]
    pub(crate) fn is_durable_wanted(&self, pool: PoolIndex) -> bool {
        !self.durable_waiters[pool.at()].is_empty()
    }
    /// All changes that a program makes have been recorded. Wakes the tasks that wait for its word line, even
    /// if the line isn't complete: one of them may have to complete it now.
    pub(crate) fn line_durable(&self, programmed: Programmed) {
        let page = programmed.spend();
        self.table.durability.line_durable(page);
        self.durable_changed(self.table.layout.pool_of(self.table.layout.lun_of_page(page)));
    }
    /// A program goes to `ppa`, the next page of an open block. For each slot `copies` has the
    /// logical page that it copies and the place that it comes from. Wakes garbage collection if this closes
    /// the block.
    pub(crate) fn take_page(&self, ppa: Ppa, copies: &[(Lpn, Upa)]) {
        let closed = self.table.take_page(ppa, copies);
        if closed {
            self.collection.ask(self.table.layout.pool_of(self.table.layout.lun_of_page(ppa)));
        }
    }

    // ---- reads ----

    /// Begins to read sectors of a page. Reads disturb the block, so its data moves after too many of them.
    pub(crate) async fn begin_read(
        &self,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
    ) -> Tag {
        self.count_disturbance(ppa);
        self.media.begin_read(ppa, sectors, into, cause).await
    }
    /// As [`BlockPool::begin_read`] if there is room for the request now.
    pub(crate) fn try_read(
        &self,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
    ) -> Option<Tag> {
        let tag = self.media.try_read(ppa, sectors, into, cause)?;
        self.count_disturbance(ppa);
        Some(tag)
    }
    /// Reads sectors of a page.
    pub(crate) async fn read(&self, ppa: Ppa, sectors: SectorRange, into: BufferId, cause: Cause) -> Outcome {
        let tag = self.begin_read(ppa, sectors, into, cause).await;
        self.media.done(tag).await
    }
    /// Waits until no read keeps a block from being erased.
    pub(crate) async fn wait_unread(&self, block: BlockIndex) {
        let unread = || (!self.table.in_flight.is_read(block)).then_some(());
        self.read_waiters[self.table.layout.pool_of_block(block).at()]
            .wait(self.runtime.exec(), unread)
            .await;
    }
    /// A read that kept its block from being erased has ended.
    pub(crate) fn read_over(&self, ppa: Ppa) {
        if self.table.in_flight.read_ends(ppa) {
            let pool = self.table.layout.pool_of(self.table.layout.lun_of_page(ppa));
            self.read_waiters[pool.at()].wake_all(self.runtime.exec());
        }
    }

    /// Has a block's data moved if a read found too many wrong bits in it, or had to be repeated. `is_own`
    /// says that the page belongs to the map itself.
    pub(crate) fn check_retention(&self, ppa: Ppa, outcome: &Outcome, is_own: bool) {
        let bits = match outcome.status {
            FlashStatus::Done if outcome.repeated == 0 => outcome.worst_chunk,
            FlashStatus::Done | FlashStatus::Uncorrectable => u8::MAX,
            FlashStatus::Failed | FlashStatus::Error | FlashStatus::Busy | FlashStatus::Dead => return,
        };
        let fades = self.table.refreshing.found_wrong_bits(ppa, bits);
        let fails = outcome.status == FlashStatus::Uncorrectable && self.table.suspect(ppa, is_own);
        if fades || fails {
            self.begin_refresh(ppa);
        }
    }
    /// Counts a read, and has the block's data moved after too many.
    #[inline]
    pub(crate) fn count_disturbance(&self, ppa: Ppa) {
        let disturbed = self.table.refreshing.count_read(ppa);
        if disturbed {
            self.begin_refresh(ppa);
        }
    }
    #[cold]
    fn begin_refresh(&self, ppa: Ppa) {
        if self.runtime.state() != DriveState::Ready {
            return;
        }
        // If the drive has only been read since power-on, garbage collection is still paused.
        if self.collection.rests_since_boot() {
            self.collection.resume();
        }
        self.collection.ask(self.table.layout.pool_of(self.table.layout.lun_of_page(ppa)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;
    use crate::terms::block::{BlockEntry, BlockState, Stream};
    use crate::terms::config::FtlConfig;
    use crate::tests::bench::config;
    use crate::tests::parts::LowerParts;
    use aster_units::Content;
    use core::cell::Cell;

    const LUN: LunIndex = LunIndex(1);
    const POOL: PoolIndex = PoolIndex(1);

    fn pool(config: FtlConfig) -> (LowerParts, Rc<BlockPool>) {
        let parts = LowerParts::new(config, 8);
        let Setup { victims, streams, lun_order, .. } = Setup::from(config);
        let pool = Rc::new(BlockPool::new(&parts.runtime, &parts.media, victims, streams, lun_order));
        (parts, pool)
    }
    /// Has the LUN's first block closed.
    fn close_block(pool: &BlockPool, lun: LunIndex) -> BlockIndex {
        let block = BlockIndex(lun.0 * pool.runtime.geometry.blocks_per_lun);
        let entry = BlockEntry {
            state: BlockState::Closed,
            stream: Stream::Host(0),
            next: 0,
            erases: 0,
            unverified: false,
        };
        pool.table().adopt(block, entry).unwrap();
        block
    }

    /// The third read of a block is one too many. It wakes the LUN's garbage collection, which has been
    /// paused since power-on, and no other.
    #[test]
    fn reads_that_disturb_a_block_ask_for_its_collection() {
        let mut config = config(Content::Fingerprint);
        config.care.refresh.reads = 3;
        let (parts, pool) = pool(config);
        let block = close_block(&pool, LUN);
        let page = pool.table().layout.first_page(block);
        let asked: Rc<Cell<Option<BlockIndex>>> = Rc::default();
        let (collecting, found) = (Rc::clone(&pool), Rc::clone(&asked));
        parts.exec.spawn(async move {
            let take = || {
                if collecting.collection.is_paused() {
                    None
                } else {
                    collecting.table().take_for_refresh(POOL, false)
                }
            };
            found.set(Some(collecting.collection.wait(POOL, take).await));
        });
        // Without free blocks garbage collection works ahead for nobody.
        for free in 1..config.geometry.blocks_per_lun {
            let entry = BlockEntry {
                state: BlockState::Free,
                stream: Stream::Host(0),
                next: 0,
                erases: 0,
                unverified: false,
            };
            pool.table().adopt(BlockIndex(block.0 + free), entry).unwrap();
        }
        for read in 1..=3 {
            assert_eq!((asked.get(), pool.collection.is_paused()), (None, true), "before read {read}");
            let reading = Rc::clone(&pool);
            parts.exec.spawn(async move {
                let whole = SectorRange::whole(reading.runtime.geometry.sectors_per_page());
                reading.begin_read(page, whole, BufferId(0), Cause::Host).await;
            });
            parts.run();
        }
        assert_eq!((asked.get(), pool.collection.is_paused()), (Some(block), false));
        assert!(!pool.collection.is_shut_down());
    }

    #[test]
    fn a_block_is_not_erased_before_its_last_read_has_ended() {
        let (parts, pool) = pool(config(Content::Fingerprint));
        let block = close_block(&pool, LUN);
        let page = pool.table().layout.first_page(block);
        pool.table().in_flight.read_begins(page);
        pool.table().in_flight.read_begins(Ppa(page.0 + 1));
        let unread: Rc<Cell<bool>> = Rc::default();
        let (waiting, done) = (Rc::clone(&pool), Rc::clone(&unread));
        parts.exec.spawn(async move {
            waiting.wait_unread(block).await;
            done.set(true);
        });
        parts.run();
        pool.read_over(page);
        parts.run();
        assert!(!unread.get());
        pool.read_over(Ppa(page.0 + 1));
        parts.run();
        assert!(unread.get());
    }

    #[test]
    fn a_pause_ends_for_a_refresh_only_if_nothing_but_power_on_began_it() {
        let (_parts, pool) = pool(config(Content::Fingerprint));
        let block = close_block(&pool, LUN);
        let page = pool.table().layout.first_page(block);
        assert!(pool.collection.is_paused() && !pool.collection.is_shut_down());
        pool.collection.pause();
        assert!(pool.collection.is_shut_down());
        pool.begin_refresh(page);
        assert!(pool.collection.is_paused());
        pool.collection.resume();
        assert!(!pool.collection.is_paused() && !pool.collection.is_shut_down());
    }
}
