//! What waits for one worker.

use alloc::collections::VecDeque;
use aster_exec::{Exec, WaitCell};
use aster_ports::link::LinkOp;
use core::cell::{Cell, RefCell};

/// Something to carry to the host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// A DMA. `entry` is the number of the completion entry that it is, if it is one.
    Dma { op: LinkOp, entry: Option<u64> },
    /// A message.
    Message { vector: u16 },
}

/// A worker's work, and whether the command that it has is no longer its own.
#[derive(Default)]
pub(super) struct Mailbox {
    work: RefCell<VecDeque<Work>>,
    released: Cell<bool>,
    wait: WaitCell,
}

impl Mailbox {
    /// A mailbox with room for `work`.
    pub(super) fn with_capacity(work: usize) -> Self {
        Mailbox { work: RefCell::new(VecDeque::with_capacity(work)), ..Default::default() }
    }
    pub(super) fn put(&self, exec: &Exec, work: Work) {
        self.work.borrow_mut().push_back(work);
        self.wait.wake(exec);
    }
    /// The worker's command is no longer its own.
    pub(super) fn release(&self, exec: &Exec) {
        self.released.set(true);
        self.wait.wake(exec);
    }
    /// Waits for work; `None` once there is none and the command is no longer the worker's.
    pub(super) async fn next(&self, exec: &Exec) -> Option<Work> {
        self.wait
            .wait(exec, || match self.work.borrow_mut().pop_front() {
                Some(work) => Some(Some(work)),
                None => self.released.replace(false).then_some(None),
            })
            .await
    }
}
