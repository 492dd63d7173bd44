//! Who asks for a transfer, and how the answer comes.

use aster_exec::{Exec, WaitCell};
use aster_ports::link::{BadAddress, LinkOp};
use core::cell::Cell;

/// A read that a task waits for.
#[derive(Default)]
pub(super) struct Reader {
    result: Cell<Option<Result<(), BadAddress>>>,
    wait: WaitCell,
}

impl Reader {
    /// The task's answer has come.
    pub(super) fn answer(&self, exec: &Exec, result: Result<(), BadAddress>) {
        self.result.set(Some(result));
        self.wait.wake(exec);
    }
    /// Waits for it.
    pub(super) async fn wait(&self, exec: &Exec) -> Result<(), BadAddress> {
        self.wait.wait(exec, || self.result.take()).await
    }
}

/// Who gets the answer to a transfer.
#[derive(Clone, Copy)]
pub(super) enum Asker {
    /// The controller asked for it.
    Controller(LinkOp),
    /// The task with this number reads for itself.
    Task(u32),
}

/// An operation that has ended.
pub(super) struct Ended {
    /// The operation, as the controller asked for it.
    pub(super) op: LinkOp,
    pub(super) result: Result<(), BadAddress>,
}
