//! Stacks of their own for the firmware's tasks (S13, S14).

use aster_exec::{BoxedTask, Carrier, PrivateStack, Resumed, RunningStack};
use corosensei::stack::{DefaultStack, Stack};
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
    /// The most that was in use of a stack while its task waited. Depends on the build.
    pub deepest_bytes: u64,
}

/// Makes a stack for each task.
pub struct Stacks {
    bytes: usize,
    stacks: Cell<u64>,
    counts: Rc<Counts>,
}

#[derive(Default)]
struct Counts {
    switches: Cell<u64>,
    deepest: Cell<usize>,
}

impl Stacks {
    /// Stacks of at least so many bytes, in whole pages.
    pub fn new(bytes: u32) -> Self {
        Stacks { bytes: bytes as usize, stacks: Cell::default(), counts: Rc::default() }
    }
    /// What they were used for.
    pub fn stats(&self) -> StackStats {
        StackStats {
            stacks: self.stacks.get(),
            bytes: self.bytes as u64,
            switches: self.counts.switches.get(),
            deepest_bytes: self.counts.deepest.get() as u64,
        }
    }
}

impl Carrier for Stacks {
    fn carry(&self, running: &Rc<RunningStack>, mut task: BoxedTask) -> BoxedTask {
        let (running, counts) = (Rc::clone(running), Rc::clone(&self.counts));
        let stack = DefaultStack::new(self.bytes).expect("no memory for a task's stack");
        let top = stack.base().get();
        let routine = Routine::with_stack(stack, move |yielder: &Yielder<Resumed, ()>, _| {
            running.run_on(&Entered { yielder, top, counts }, task.as_mut());
            task
        });
        self.stacks.set(self.stacks.get() + 1);
        Box::pin(Carried { routine, counts: Rc::clone(&self.counts) })
    }
}

struct Entered<'a> {
    yielder: &'a Yielder<Resumed, ()>,
    top: usize,
    counts: Rc<Counts>,
}

impl PrivateStack for Entered<'_> {
    fn suspend(&self) -> Resumed {
        let here = 0u8;
        let deep = self.top - (&raw const here).addr();
        self.counts.deepest.set(self.counts.deepest.get().max(deep));
        self.yielder.suspend(())
    }
}

/// Returns the task, so that what it holds is dropped on the executor's stack.
type Routine = Coroutine<Resumed, (), BoxedTask>;

/// A task on its stack.
struct Carried {
    routine: Routine,
    counts: Rc<Counts>,
}

impl Future for Carried {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.counts.switches.set(self.counts.switches.get() + 1);
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
