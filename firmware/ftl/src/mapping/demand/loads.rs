//! Translation pages that are being read, and the buffers that they are read into.

use crate::blocks::buffer_pool::Pool;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::WaitQueue;
use aster_units::BufferId;
use core::cell::RefCell;

/// A translation page that is being read.
struct Loading {
    page: u32,
    // The page was written since the read began: the read returns its old content.
    is_stale: bool,
}

/// The pages that are being read, and the tasks that wait for them.
pub(super) struct Loads {
    runtime: Rc<Runtime>,
    loading: RefCell<Vec<Loading>>,
    waiters: WaitQueue,
    /// The buffers that pages are read into.
    pub(super) buffers: Pool,
}

impl Loads {
    pub(super) fn new(runtime: &Rc<Runtime>, buffers: impl Iterator<Item = BufferId>, bound: usize) -> Self {
        Loads {
            runtime: Rc::clone(runtime),
            loading: RefCell::new(Vec::with_capacity(bound)),
            waiters: WaitQueue::with_capacity(bound),
            buffers: Pool::new(runtime, buffers, bound),
        }
    }
    /// Whether a page is being read.
    pub(super) fn has(&self, page: u32) -> bool {
        self.loading.borrow().iter().any(|loading| loading.page == page)
    }
    /// A page is being read from now on.
    pub(super) fn begin(&self, page: u32) {
        debug_assert!(!self.has(page), "a page is read once at a time");
        self.loading.borrow_mut().push(Loading { page, is_stale: false });
    }
    /// A page has been read: wakes the tasks that wait for one.
    pub(super) fn end(&self, page: u32) {
        debug_assert!(self.has(page), "it was being read");
        self.loading.borrow_mut().retain(|loading| loading.page != page);
        self.waiters.wake_all(self.runtime.exec());
    }
    /// Waits until some page has been read. `MapMissed` has already reported the wait.
    pub(super) async fn wait(&self) {
        self.runtime.woken(&self.waiters).await;
    }
    /// Sets whether the content that is being read of a page is out of date.
    pub(super) fn note_stale(&self, page: u32, is_stale: bool) {
        for loading in self.loading.borrow_mut().iter_mut().filter(|loading| loading.page == page) {
            loading.is_stale = is_stale;
        }
    }
    /// Whether the content that is being read of a page is out of date.
    pub(super) fn is_stale(&self, page: u32) -> bool {
        self.loading.borrow().iter().any(|of| of.page == page && of.is_stale)
    }
}
