//! Stacks of their own for the firmware's tasks (S13, S14).

use aster_exec::{BoxedTask, Carrier, PrivateStack, Resumed, RunningStack};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// What the stacks of a drive's tasks were used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackStats {
    /// Stacks made: one per task.
    pub stacks: u64,
    /// Bytes of each, without its guard page.
    pub bytes: u64,
    /// Switches to a task's stack and back.
    pub switches: u64,
}

/// Makes a stack for each task.
pub(crate) struct Stacks {
    bytes: usize,
    stacks: Cell<u64>,
    switches: Rc<Cell<u64>>,
}

impl Stacks {
    pub(crate) fn new(bytes: u32) -> Self {
        Stacks { bytes: bytes as usize, stacks: Cell::default(), switches: Rc::default() }
    }
    pub(crate) fn stats(&self) -> StackStats {
        let (stacks, bytes, switches) = (self.stacks.get(), self.bytes as u64, self.switches.get());
        StackStats { stacks, bytes, switches }
    }
}

impl Carrier for Stacks {
    fn carry(&self, running: &Rc<RunningStack>, mut task: BoxedTask) -> BoxedTask {
        let running = Rc::clone(running);
        let stack = DefaultStack::new(self.bytes).expect("no memory for a task's stack");
        let routine = Routine::with_stack(stack, move |yielder: &Yielder<Resumed, ()>, _| {
            running.run_on(&Entered(yielder), task.as_mut());
            task
        });
        self.stacks.set(self.stacks.get() + 1);
        Box::pin(Carried { routine, switches: Rc::clone(&self.switches) })
    }
}

struct Entered<'a>(&'a Yielder<Resumed, ()>);

impl PrivateStack for Entered<'_> {
    fn suspend(&self) -> Resumed {
        self.0.suspend(())
    }
}

/// Returns the task, so that what it holds is dropped on the executor's stack.
type Routine = Coroutine<Resumed, (), BoxedTask>;

/// A task on its stack.
struct Carried {
    routine: Routine,
    switches: Rc<Cell<u64>>,
}

impl Future for Carried {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.switches.set(self.switches.get() + 1);
        match self.routine.resume(Resumed::Woken) {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(_) => Poll::Ready(()),
        }
    }
}

impl Drop for Carried {
    /// The stack is never unwound: a task that waits is resumed once more, and its calls return.
    fn drop(&mut self) {
        if self.routine.started() && !self.routine.done() {
            let ended = self.routine.resume(Resumed::Ending);
            assert!(matches!(ended, CoroutineResult::Return(_)), "a task waits again at its end");
        }
    }
}

#[cfg(test)]
mod tests;
