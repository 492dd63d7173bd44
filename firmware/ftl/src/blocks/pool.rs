//! The block pool: the block table with those who wait for a change of it, and the reads and programs that
//! change it.
//!
//! The pool doesn't call the rooms above it. Garbage collection waits with [`BlockPool::wait_collector`] for
//! something to do, and writers wait with [`BlockPool::wait_room`].

use crate::blocks::pace::Pace;
use crate::blocks::table::Blocks;
use crate::blocks::turns::{Turn, Turns};
use crate::media::requests::Media;
use crate::terms::block::BlockIndex;
use crate::terms::cause::Cause;
use crate::terms::runtime::Runtime;
use crate::terms::units::Frame;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_exec::{WaitCell, WaitQueue};
use aster_parties::{DriveState, VictimPolicy};
use aster_ports::flash::{FlashStatus, Outcome, Tag};
use aster_units::{BufferId, Lpn, LunIndex, Ppa, SectorRange, Upa};
use core::cell::{Cell, RefCell};

type FullWatcher = Box<dyn Fn()>;

/// The blocks of a drive.
pub(crate) struct BlockPool {
    runtime: Rc<Runtime>,
    media: Rc<Media>,
    table: Blocks,
    // Which LUN a page belongs to: page n to entry n modulo the length.
    lun_order: Box<[LunIndex]>,
    // The last sequence number given out.
    sequence: Cell<u64>,
    // Per LUN: writers that wait for a block.
    room_waiters: Box<[WaitQueue]>,
    // Per LUN: writers in the order in which they are given pages, where collection is paced.
    room_turns: Box<[Turns]>,
    // Per LUN: what its writers have paid for copies, where collection is paced.
    paces: Box<[Pace]>,
    // Per LUN: those that wait for programs to be safe from a loss of power.
    durable_waiters: Box<[WaitQueue]>,
    // Per LUN: garbage collection that waits for the last read of the block it has emptied.
    read_waiters: Box<[WaitCell]>,
    // Per LUN: garbage collection that waits for something to do.
    collectors: Box<[WaitCell]>,
    // Who writes translation pages, of a map that is on flash.
    flush_waiters: WaitQueue,
    full_watchers: RefCell<Vec<FullWatcher>>,
    // No victim is begun while the map is stored, and none after that or boot until the host changes
    // something: a drive at rest stays as its root record says.
    gc_paused: Cell<bool>,
    // That pause has lasted since power-on, and there is no other reason for it.
    paused_since_boot: Cell<bool>,
}

impl BlockPool {
    /// All blocks unused and in no list. `victims` chooses what is collected, and page n lies in the LUN of
    /// entry n, modulo its length, of `lun_order`.
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        media: &Rc<Media>,
        victims: Box<dyn VictimPolicy>,
        lun_order: Box<[LunIndex]>,
    ) -> Self {
        let (config, geometry) = (&runtime.config, &runtime.geometry);
        let luns = geometry.total_luns();
        let depth = usize::from(config.slice_workers).min(64);
        let queues = || (0..luns).map(|_| WaitQueue::with_capacity(depth)).collect();
        let cells = || (0..luns).map(|_| WaitCell::default()).collect();
        BlockPool {
            runtime: Rc::clone(runtime),
            media: Rc::clone(media),
            table: Blocks::of(config, victims),
            lun_order,
            sequence: Cell::new(0),
            room_waiters: queues(),
            paces: (0..luns).map(|_| Pace::default()).collect(),
            room_turns: (0..luns).map(|_| Turns::with_capacity(depth)).collect(),
            durable_waiters: queues(),
            read_waiters: cells(),
            collectors: cells(),
            flush_waiters: WaitQueue::with_capacity(config.flush_buffers() as usize),
            full_watchers: RefCell::default(),
            gc_paused: Cell::new(true),
            paused_since_boot: Cell::new(true),
        }
    }
    /// Forgets all that is known of the blocks.
    pub(crate) fn clear(&self) {
        self.table.forget();
    }
    /// The block table.
    #[inline]
    pub(crate) fn table(&self) -> &Blocks {
        &self.table
    }
    /// The LUN that a frame's units belong to.
    #[inline]
    pub(crate) fn lun_of(&self, frame: Frame) -> LunIndex {
        self.lun_order[frame.0 as usize % self.lun_order.len()]
    }

    // ---- sequence numbers ----

    /// Takes the next sequence number.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }
    /// The last sequence number given out.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.sequence.get()
    }
    /// Numbers go on behind this one.
    pub(crate) fn set_sequence(&self, last: u64) {
        self.sequence.set(last);
    }

    // ---- room ----

    /// Waits until the LUN may have room; the caller looks again.
    pub(crate) async fn wait_room(&self, lun: LunIndex) {
        self.runtime.wait_once(&self.room_waiters[lun.index()], Wait::Room).await;
    }
    /// The host programs pages in the LUN, and pays for the copies that this causes.
    pub(crate) fn host_pays(&self, lun: LunIndex, pages: usize) {
        let config = &self.runtime.config;
        if config.is_paced() {
            // As many as there are when collection begins: its free blocks, and an open one.
            let blocks = u64::from(config.collects_at() - config.gc_reserve_blocks + 1);
            let band = blocks * u64::from(config.geometry.pages_per_block);
            self.paces[lun.index()].pay(pages as u64, self.table.room.host_pages_left(lun), band);
        }
    }
    /// A victim is begun of which `valid` of `units` count.
    pub(crate) fn begin_paying(&self, lun: LunIndex, valid: u64, units: u64) {
        self.paces[lun.index()].begin(valid, units - valid);
    }
    /// Spends the price of so many copies, if that much has been paid.
    pub(crate) fn spend_paid(&self, lun: LunIndex, copies: u32) -> bool {
        self.paces[lun.index()].spend(copies.into())
    }
    /// Where collection is paced, waits until the writers that came before have their pages. What it returns
    /// goes to [`BlockPool::end_turn`] when the caller has its own, or has given up.
    pub(crate) async fn take_turn(&self, lun: LunIndex) -> Option<Turn> {
        if !self.runtime.config.is_paced() {
            return None;
        }
        let turns = &self.room_turns[lun.index()];
        let turn = turns.join();
        self.runtime.waiting(Wait::Room, turns.wait_first(self.runtime.exec(), turn)).await;
        Some(turn)
    }
    /// The next writer may ask for its pages.
    pub(crate) fn end_turn(&self, lun: LunIndex, turn: Option<Turn>) {
        if let Some(turn) = turn {
            self.room_turns[lun.index()].leave(self.runtime.exec(), turn);
        }
    }
    /// Whether a writer waits for room.
    pub(crate) fn is_room_wanted(&self, lun: LunIndex) -> bool {
        !self.room_waiters[lun.index()].is_empty()
    }
    /// Writers that wait for room in the LUN look again.
    pub(crate) fn room_changed(&self, lun: LunIndex) {
        self.room_waiters[lun.index()].wake_all(self.runtime.exec());
        self.ask_flush();
    }
    /// Calls `watcher` when a LUN is full, or no further block will be opened in any: those that wait for
    /// room above learn that there will be none.
    pub(crate) fn when_full(&self, watcher: FullWatcher) {
        self.full_watchers.borrow_mut().push(watcher);
    }
    /// A LUN is full, or no further block will be opened.
    pub(crate) fn told_full(&self) {
        self.full_watchers.borrow().iter().for_each(|watcher| watcher());
    }
    /// Waits until `begin` finds something to write of a map that is on flash.
    pub(crate) async fn wait_flush<T>(&self, begin: impl FnMut() -> Option<T>) -> T {
        self.flush_waiters.wait(self.runtime.exec(), begin).await
    }
    /// What writes the map looks for something to do.
    pub(crate) fn ask_flush(&self) {
        self.flush_waiters.wake_all(self.runtime.exec());
    }

    // ---- programs that a loss of power could undo ----

    /// Waits until other programs of the LUN may be safe; the caller looks again.
    pub(crate) async fn wait_durable(&self, lun: LunIndex) {
        self.runtime.wait_once(&self.durable_waiters[lun.index()], Wait::WordLine).await;
    }
    /// Those that wait for programs of the LUN to be safe look again.
    pub(crate) fn durable_changed(&self, lun: LunIndex) {
        self.durable_waiters[lun.index()].wake_all(self.runtime.exec());
    }
    /// Whether someone waits in [`BlockPool::wait_durable`].
    #[cfg(test)]
    pub(crate) fn is_durable_wanted(&self, lun: LunIndex) -> bool {
        !self.durable_waiters[lun.index()].is_empty()
    }
    /// A program of the word line of `ppa` has ended. Whoever waits looks again, also when the line is not
    /// complete: it may be theirs to complete now.
    pub(crate) fn line_durable(&self, ppa: Ppa) {
        self.table.durability.line_durable(ppa);
        self.durable_changed(self.table.layout.lun_of_page(ppa));
    }
    /// A program goes to `ppa`, the next page of an open block of the LUN; `copies` says of each slot what it
    /// copies, and from where. Garbage collection looks again when that closed the block.
    pub(crate) fn take_page(&self, lun: LunIndex, ppa: Ppa, copies: &[(Lpn, Upa)]) {
        let closed = self.table.take_page(ppa, copies);
        if closed {
            self.ask_collector(lun);
        }
    }

    // ---- reads ----

    /// Begins to read sectors of a page. That disturbs its block, whose data moves after too many reads.
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
    pub(crate) async fn wait_unread(&self, lun: LunIndex, block: BlockIndex) {
        let unread = || (!self.table.in_flight.is_read(block)).then_some(());
        self.read_waiters[lun.index()].wait(self.runtime.exec(), unread).await;
    }
    /// A read that kept its block from being erased has ended.
    pub(crate) fn read_over(&self, ppa: Ppa) {
        if self.table.in_flight.read_ends(ppa) {
            let lun = self.table.layout.lun_of_page(ppa);
            self.read_waiters[lun.index()].wake(self.runtime.exec());
        }
    }

    /// Has a block's data moved if a read of it found too many wrong bits. `is_own` says that the page is one
    /// of the map's own.
    pub(crate) fn check_retention(&self, ppa: Ppa, outcome: &Outcome, is_own: bool) {
        let bits = match outcome.status {
            FlashStatus::Done => outcome.worst_chunk,
            FlashStatus::Uncorrectable => u8::MAX,
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
        // A drive that has only been read since power-on has let garbage collection rest so far.
        if self.paused_since_boot.get() {
            self.resume_gc();
        }
        let (lun, ..) = self.runtime.geometry.split_ppa(ppa);
        self.ask_collector(lun);
    }

    // ---- garbage collection ----

    /// Waits until `begin` finds something to do for the LUN's garbage collection.
    pub(crate) async fn wait_collector<T>(&self, lun: LunIndex, begin: impl FnMut() -> Option<T>) -> T {
        self.collectors[lun.index()].wait(self.runtime.exec(), begin).await
    }
    /// The LUN's garbage collection looks for something to do.
    pub(crate) fn ask_collector(&self, lun: LunIndex) {
        self.collectors[lun.index()].wake(self.runtime.exec());
    }
    /// No victim may be begun.
    pub(crate) fn is_gc_paused(&self) -> bool {
        self.gc_paused.get()
    }
    /// Lets no victim begin.
    pub(crate) fn pause_gc(&self) {
        self.gc_paused.set(true);
        self.paused_since_boot.set(false);
    }
    /// Lets victims begin again.
    pub(crate) fn resume_gc(&self) {
        self.gc_paused.set(false);
        self.paused_since_boot.set(false);
        for cell in &self.collectors {
            cell.wake(self.runtime.exec());
        }
    }
    /// A shutdown has been through, and nothing has changed since.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.gc_paused.get() && !self.paused_since_boot.get()
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

    const LUN: LunIndex = LunIndex(1);

    fn pool(config: FtlConfig) -> (LowerParts, Rc<BlockPool>) {
        let parts = LowerParts::new(config, 8);
        let Setup { victims, lun_order, .. } = Setup::from(config);
        let pool = Rc::new(BlockPool::new(&parts.runtime, &parts.media, victims, lun_order));
        (parts, pool)
    }
    /// Has the LUN's first block closed.
    fn close_block(pool: &BlockPool, lun: LunIndex) -> BlockIndex {
        let block = BlockIndex(lun.0 * pool.runtime.geometry.blocks_per_lun);
        let entry = BlockEntry {
            state: BlockState::Closed,
            stream: Stream::Host,
            next: 0,
            erases: 0,
            unverified: false,
        };
        pool.table().adopt(block, entry).unwrap();
        block
    }

    /// The third read of a block is one too many: its LUN's garbage collection, which has rested since
    /// power-on, is asked, and no other.
    #[test]
    fn reads_that_disturb_a_block_ask_for_its_collection() {
        let mut config = config(Content::Fingerprint);
        config.refresh.reads = 3;
        let (parts, pool) = pool(config);
        let block = close_block(&pool, LUN);
        let page = pool.table().layout.first_page(block);
        let asked: Rc<Cell<Option<BlockIndex>>> = Rc::default();
        let (collecting, found) = (Rc::clone(&pool), Rc::clone(&asked));
        parts.exec.spawn(async move {
            let take = || {
                if collecting.is_gc_paused() { None } else { collecting.table().take_for_refresh(LUN, false) }
            };
            found.set(Some(collecting.wait_collector(LUN, take).await));
        });
        // Without free blocks garbage collection works ahead for nobody.
        for free in 1..config.geometry.blocks_per_lun {
            let entry = BlockEntry {
                state: BlockState::Free,
                stream: Stream::Host,
                next: 0,
                erases: 0,
                unverified: false,
            };
            pool.table().adopt(BlockIndex(block.0 + free), entry).unwrap();
        }
        for read in 1..=3 {
            assert_eq!((asked.get(), pool.is_gc_paused()), (None, true), "before read {read}");
            let reading = Rc::clone(&pool);
            parts.exec.spawn(async move {
                let whole = SectorRange::whole(reading.runtime.geometry.sectors_per_page());
                reading.begin_read(page, whole, BufferId(0), Cause::Host).await;
            });
            parts.run();
        }
        assert_eq!((asked.get(), pool.is_gc_paused()), (Some(block), false));
        assert!(!pool.is_shut_down());
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
            waiting.wait_unread(LUN, block).await;
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
        assert!(pool.is_gc_paused() && !pool.is_shut_down());
        pool.pause_gc();
        assert!(pool.is_shut_down());
        pool.begin_refresh(page);
        assert!(pool.is_gc_paused());
        pool.resume_gc();
        assert!(!pool.is_gc_paused() && !pool.is_shut_down());
    }
}
