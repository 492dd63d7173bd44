//! Room for changes, and those that wait for it.

use crate::blocks::pool::BlockPool;
use crate::mapping::demand::budget::{Budget, Whose};
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Wait;
use aster_exec::WaitQueue;
use aster_units::LunIndex;
use core::cell::{Cell, RefCell};

/// Rows that may become dirty, and who waits for some.
pub(super) struct RowRoom {
    runtime: Rc<Runtime>,
    blocks: Rc<BlockPool>,
    budget: RefCell<Budget>,
    waiters: WaitQueue,
    // Per LUN: whether garbage collection waits.
    collector_waits: Box<[Cell<bool>]>,
    // There will never be room again.
    is_hopeless: Cell<bool>,
}

impl RowRoom {
    pub(super) fn new(runtime: &Rc<Runtime>, blocks: &Rc<BlockPool>, budget: Budget, bound: usize) -> Self {
        let luns = runtime.geometry.total_luns();
        RowRoom {
            runtime: Rc::clone(runtime),
            blocks: Rc::clone(blocks),
            budget: RefCell::new(budget),
            waiters: WaitQueue::with_capacity(bound),
            collector_waits: (0..luns).map(|_| Cell::new(false)).collect(),
            is_hopeless: Cell::new(false),
        }
    }
    /// Boot has found `dirty` dirty rows.
    pub(super) fn begin(&self, dirty: u32) {
        self.budget.borrow_mut().begin(dirty);
    }
    /// Whether somebody waits.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiters.is_empty()
    }
    /// Whether garbage collection of a LUN waits.
    pub(super) fn is_awaited_by(&self, lun: LunIndex) -> bool {
        self.collector_waits[lun.index()].get()
    }
    /// Takes room for changes. Returns whose share it comes from.
    pub(super) fn take(&self, whose: Whose, changes: u32) -> Option<Whose> {
        self.budget.borrow_mut().take(whose, changes)
    }
    /// Waits for room, and returns whose share it comes from. `None` if there will never be any.
    pub(super) async fn wait(&self, whose: Whose, changes: u32) -> Option<Whose> {
        let waits = |is: bool| {
            if let Whose::Collector(lun) = whose {
                self.collector_waits[lun.index()].set(is);
            }
            self.blocks.pacing.waits_for_map(is);
        };
        waits(true);
        let taken = self.waiters.wait(self.runtime.exec(), || {
            let taken = self.take(whose, changes);
            if taken.is_none() {
                // Asked each time: the writing tasks may have looked for work while nobody was waiting, since
                // all waiters had been woken to check for room.
                self.blocks.queues.ask_flush();
            }
            if taken.is_some() { Some(taken) } else { self.is_hopeless.get().then_some(None) }
        });
        let taken = self.runtime.waiting(Wait::MapRoom, taken).await;
        waits(false);
        taken
    }
    /// A row has become dirty, whether it was promised or not.
    pub(super) fn spend(&self, whose: Whose, was_promised: bool) {
        let mut budget = self.budget.borrow_mut();
        match was_promised {
            true => budget.spend(whose),
            false => budget.spend_beyond(whose),
        }
    }
    /// Room that was taken isn't needed.
    pub(super) fn give_back(&self, whose: Whose, changes: u32) {
        self.budget.borrow_mut().give_back(whose, changes);
        self.waiters.wake_all(self.runtime.exec());
    }
    /// Rows have become clean.
    pub(super) fn cleaned(&self, rows: u32) {
        if rows > 0 {
            self.budget.borrow_mut().cleaned(rows, |lun| self.is_awaited_by(lun));
            self.is_hopeless.set(false);
            self.waiters.wake_all(self.runtime.exec());
        }
    }
    /// There will be no more room unless rows become clean.
    pub(super) fn give_up(&self) {
        if !self.is_hopeless.replace(true) {
            self.waiters.wake_all(self.runtime.exec());
        }
    }
    /// Whether rows are wanted: somebody waits for some, or soon will.
    pub(super) fn is_wanted(&self) -> bool {
        let budget = self.budget.borrow();
        let is_short = budget.host_left() < budget.host_most() / 8;
        let is_paused = self.blocks.collection.is_paused();
        self.is_awaited() || budget.is_overdrawn() || (is_short && !is_paused)
    }
    /// Waits until the host's share is no longer overdrawn, or until it is clear that it always will be.
    pub(super) async fn settled(&self) {
        let is_settled = || {
            let is_over = self.is_hopeless.get() || !self.budget.borrow().is_overdrawn();
            is_over.then_some(())
        };
        self.waiters.wait(self.runtime.exec(), is_settled).await;
    }
}
