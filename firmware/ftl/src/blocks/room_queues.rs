//! Who waits for room: writers for pages of a LUN, and what writes a map that is on flash.

use crate::blocks::pace::Pace;
use crate::blocks::table::Blocks;
use crate::blocks::turns::{Turn, Turns};
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_exec::WaitQueue;
use aster_units::LunIndex;
use core::cell::RefCell;

type FullWatcher = Box<dyn Fn()>;

/// The queues for room, of all LUNs.
pub(crate) struct RoomQueues {
    runtime: Rc<Runtime>,
    blocks: Rc<Blocks>,
    // Per LUN: writers that wait for a block.
    waiters: Box<[WaitQueue]>,
    // Per LUN: writers in the order in which they are given pages, where collection is paced.
    turns: Box<[Turns]>,
    // Per LUN: what its writers have paid for copies, where collection is paced.
    paces: Box<[Pace]>,
    // Who writes translation pages, of a map that is on flash.
    flush_waiters: WaitQueue,
    full_watchers: RefCell<Vec<FullWatcher>>,
}

impl RoomQueues {
    /// With room for `depth` writers of each LUN.
    pub(crate) fn new(runtime: &Rc<Runtime>, blocks: &Rc<Blocks>, depth: usize) -> Self {
        let luns = runtime.geometry.total_luns();
        RoomQueues {
            runtime: Rc::clone(runtime),
            blocks: Rc::clone(blocks),
            waiters: (0..luns).map(|_| WaitQueue::with_capacity(depth)).collect(),
            turns: (0..luns).map(|_| Turns::with_capacity(depth)).collect(),
            paces: (0..luns).map(|_| Pace::default()).collect(),
            flush_waiters: WaitQueue::with_capacity(runtime.config.buffers().flushes() as usize),
            full_watchers: RefCell::default(),
        }
    }
    /// Waits until the LUN may have room; the caller looks again.
    pub(crate) async fn wait_room(&self, lun: LunIndex) {
        self.runtime.wait_once(&self.waiters[lun.index()], Wait::Room).await;
    }
    /// The host programs pages in the LUN, and pays for the copies that this causes.
    pub(crate) fn host_pays(&self, lun: LunIndex, pages: usize) {
        let config = &self.runtime.config;
        if config.gc.is_paced() {
            // As many as there are when collection begins: its free blocks, and an open one.
            let blocks = u64::from(config.collects_at() - config.gc.reserve_blocks + 1);
            let band = blocks * u64::from(config.geometry.pages_per_block);
            self.paces[lun.index()].pay(pages as u64, self.blocks.room.host_pages_left(lun), band);
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
    /// goes to [`RoomQueues::end_turn`] when the caller has its own, or has given up.
    pub(crate) async fn take_turn(&self, lun: LunIndex) -> Option<Turn> {
        if !self.runtime.config.gc.is_paced() {
            return None;
        }
        let turns = &self.turns[lun.index()];
        let turn = turns.join();
        self.runtime.waiting(Wait::Room, turns.wait_first(self.runtime.exec(), turn)).await;
        Some(turn)
    }
    /// The next writer may ask for its pages.
    pub(crate) fn end_turn(&self, lun: LunIndex, turn: Option<Turn>) {
        if let Some(turn) = turn {
            self.turns[lun.index()].leave(self.runtime.exec(), turn);
        }
    }
    /// Whether a writer waits for room.
    pub(crate) fn is_room_wanted(&self, lun: LunIndex) -> bool {
        !self.waiters[lun.index()].is_empty()
    }
    /// Writers that wait for room in the LUN look again.
    pub(crate) fn room_changed(&self, lun: LunIndex) {
        self.waiters[lun.index()].wake_all(self.runtime.exec());
        self.ask_flush();
    }
    /// Calls `watcher` when a LUN is full, or no further block will be opened in any: those that wait for
    /// room above learn that there will be none.
    pub(crate) fn when_full(&self, watcher: FullWatcher) {
        self.full_watchers.borrow_mut().push(watcher);
    }
    /// A LUN is full, or no further block will be opened.
    pub(crate) fn tell_full(&self) {
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
}
