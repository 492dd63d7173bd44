//! The identifiers of an executor's tasks and handlers.

/// A task of one executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskId(pub(crate) u32);

impl TaskId {
    /// No task: waking it does nothing.
    pub const NONE: TaskId = TaskId(u32::MAX);

    /// The task's number among those of its executor, to tell tasks apart in printed text.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A registered event handler of one executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerId(pub(crate) u32);
