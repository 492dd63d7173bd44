//! Translation pages that are being written, and those that were written but aren't safe yet.

use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::WaitQueue;
use aster_units::Ppa;
use core::cell::{Cell, RefCell};

/// The pages that are being written, and the tasks that wait until none is.
pub(super) struct Flushes {
    runtime: Rc<Runtime>,
    // Per translation page: it is being written, or it was written but isn't safe yet.
    busy: RefCell<Vec<bool>>,
    // Per translation page: it can't be read any more.
    lost: RefCell<Vec<bool>>,
    // Written pages that a loss of power could still undo.
    written: RefCell<Vec<(u32, Ppa)>>,
    // Pages in which nothing is mapped any more, each with the number of the log entry that says so.
    unmapped: RefCell<Vec<(u32, u64)>>,
    // The number of tasks that are writing.
    active: Cell<u32>,
    idle_waiters: WaitQueue,
}

impl Flushes {
    pub(super) fn new(runtime: &Rc<Runtime>, pages: u32) -> Self {
        let pages = pages as usize;
        Flushes {
            runtime: Rc::clone(runtime),
            busy: RefCell::new(vec![false; pages]),
            lost: RefCell::new(vec![false; pages]),
            written: RefCell::new(Vec::with_capacity(pages)),
            unmapped: RefCell::new(Vec::with_capacity(pages)),
            active: Cell::new(0),
            idle_waiters: WaitQueue::with_capacity(1),
        }
    }

    // ---- pages ----

    /// Whether a page may be written: it can be read and isn't being written already.
    pub(super) fn may_begin(&self, page: u32) -> bool {
        !self.busy.borrow()[page as usize] && !self.is_lost(page)
    }
    /// A page is being written from now on.
    pub(super) fn begin(&self, page: u32) {
        debug_assert!(self.may_begin(page), "a page is written once at a time");
        self.busy.borrow_mut()[page as usize] = true;
    }
    /// A page may be written again.
    pub(super) fn end(&self, page: u32) {
        let was = core::mem::replace(&mut self.busy.borrow_mut()[page as usize], false);
        debug_assert!(was, "it was being written");
    }
    /// A page can't be read any more.
    pub(super) fn lose(&self, page: u32) {
        self.lost.borrow_mut()[page as usize] = true;
    }
    pub(super) fn is_lost(&self, page: u32) -> bool {
        self.lost.borrow()[page as usize]
    }

    // ---- what isn't safe yet ----

    /// A page was written, and a loss of power could still undo it.
    pub(super) fn written(&self, page: u32, at: Ppa) {
        self.written.borrow_mut().push((page, at));
    }
    /// Nothing is mapped in a page any more, as this log entry says.
    pub(super) fn unmapped(&self, page: u32, entry: u64) {
        self.unmapped.borrow_mut().push((page, entry));
    }
    /// The place of the page that has been unsafe for the longest time.
    pub(super) fn oldest_unsafe(&self) -> Option<Ppa> {
        self.written.borrow().first().map(|&(_, at)| at)
    }
    /// Whether pages wait for the log to say that they don't exist any more.
    pub(super) fn wants_log(&self) -> bool {
        !self.unmapped.borrow().is_empty()
    }
    /// Removes the pages that have become safe, and calls `ended` with each.
    pub(super) fn take_safe(
        &self,
        is_safe: impl Fn(Ppa) -> bool,
        is_logged: impl Fn(u64) -> bool,
        mut ended: impl FnMut(u32),
    ) {
        self.written.borrow_mut().retain(|&(page, at)| {
            let is_over = is_safe(at);
            if is_over {
                ended(page);
            }
            !is_over
        });
        self.unmapped.borrow_mut().retain(|&(page, entry)| {
            let is_over = is_logged(entry);
            if is_over {
                ended(page);
            }
            !is_over
        });
    }

    // ---- tasks ----

    /// A task begins to write.
    pub(super) fn task_begins(&self) {
        self.active.set(self.active.get() + 1);
    }
    /// A task has ended writing.
    pub(super) fn task_ends(&self) {
        assert!(self.active.get() > 0, "it had begun");
        self.active.set(self.active.get() - 1);
    }
    /// Whether any task is writing.
    pub(super) fn is_active(&self) -> bool {
        self.active.get() > 0
    }
    /// Wakes the tasks that wait until none is writing.
    pub(super) fn look_idle(&self) {
        self.idle_waiters.wake_all(self.runtime.exec());
    }
    /// Waits until no task is writing.
    pub(super) async fn idle(&self) {
        self.idle_waiters.wait(self.runtime.exec(), || (!self.is_active()).then_some(())).await;
    }
}
