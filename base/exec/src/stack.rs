//! Tasks on stacks of their own (S13, S14).
//!
//! A wait inside of a task that has a [`PrivateStack`] leaves that stack as it is and goes on there after the
//! wake: the task's poll doesn't return until the task has ended, its locals and nested calls stay where they
//! are, and a switch saves registers. The same `async fn` without such a stack returns [`Poll::Pending`]
//! through all its callers instead. Both look at their conditions at the same times and in the same order.
//!
//! A task that polls several futures in turn waits for the first of them only. Our firmware has none.

use alloc::boxed::Box;
use alloc::rc::Rc;
use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};

/// A task as the executor keeps it.
pub type BoxedTask = Pin<Box<dyn Future<Output = ()>>>;

/// Why a task is on its stack again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumed {
    /// It was woken: what it waits for may be there.
    Woken,
    /// It will never be woken again. All its calls return now, so that the stack can be given back.
    Ending,
}

/// The stack on which a task runs, as seen from it.
pub trait PrivateStack {
    /// Goes on with whoever resumed the task last, and comes back when somebody resumes it again.
    fn suspend(&self) -> Resumed;
}

/// Decides on what a core's tasks run ([`Core::carry_by`](crate::Core::carry_by)).
pub trait Carrier {
    /// The task to poll in place of `task`, which it carries out by [`RunningStack::run_on`] of `running`.
    fn carry(&self, running: &Rc<RunningStack>, task: BoxedTask) -> BoxedTask;
}

/// The stack on which the task of an executor that runs now is, if it has one.
#[derive(Default)]
pub struct RunningStack(Cell<Option<NonNull<dyn PrivateStack>>>);

impl RunningStack {
    /// Runs `task` on `stack`, on which the caller already is, until the task has ended or the stack is
    /// resumed as [`Resumed::Ending`].
    ///
    /// # Panics
    /// When the caller is inside of another call of this function for the same executor.
    pub fn run_on(&self, stack: &dyn PrivateStack, mut task: Pin<&mut dyn Future<Output = ()>>) {
        struct Entered<'a>(&'a RunningStack);
        impl Drop for Entered<'_> {
            fn drop(&mut self) {
                self.0.0.set(None);
            }
        }
        assert!(self.0.get().is_none(), "a task's stack on another one");
        let stack = NonNull::from(stack);
        // SAFETY: only the lifetime changes. The pointer is in the cell only until `entered` is dropped, and
        // that is before `stack` ends, also when this frame is unwound.
        let stack: NonNull<dyn PrivateStack> = unsafe { core::mem::transmute(stack) };
        self.0.set(Some(stack));
        let entered = Entered(self);
        let mut context = Context::from_waker(Waker::noop());
        // A wait that isn't one of this crate's returns here.
        while task.as_mut().poll(&mut context).is_pending() && self.suspend() {}
        drop(entered);
    }

    /// Suspends the stack of the task that runs, if it has one. True when the task goes on; false when it has
    /// to return [`Poll::Pending`].
    #[inline]
    pub(crate) fn suspend(&self) -> bool {
        match self.0.get() {
            None => false,
            Some(stack) => self.leave(stack),
        }
    }

    #[inline(never)]
    fn leave(&self, stack: NonNull<dyn PrivateStack>) -> bool {
        // Until this task is resumed, others run: some without a stack, some on their own.
        self.0.set(None);
        // SAFETY: the pointer was in the cell, so that the `run_on` which put it there hasn't returned. Its
        // frame is below this one on the stack that is left here, and stays there while it is suspended.
        let resumed = unsafe { stack.as_ref() }.suspend();
        let goes_on = resumed == Resumed::Woken;
        self.0.set(goes_on.then_some(stack));
        goes_on
    }

    /// As [`Exec::before_waiting`](crate::Exec::before_waiting).
    #[inline]
    pub(crate) fn before_waiting<T, F: Future<Output = T> + ?Sized>(
        &self,
        mut future: Pin<&mut F>,
        mut tell: impl FnMut(),
    ) -> impl Future<Output = T> {
        let mut told = false;
        poll_fn(move |context| {
            if !told && let Some(stack) = self.0.get() {
                // The first wait returns to here.
                self.0.set(None);
                let polled = future.as_mut().poll(context);
                self.0.set(Some(stack));
                if polled.is_ready() {
                    return polled;
                }
                told = true;
                tell();
                if !self.suspend() {
                    return polled;
                }
            }
            let polled = future.as_mut().poll(context);
            if polled.is_pending() && !core::mem::replace(&mut told, true) {
                tell();
            }
            polled
        })
    }
}

/// Calls `ready` at once and after each wake, until it returns a value. Every wait of this crate ends here.
/// `wait` sees to it that the task is woken, suspends its stack if it has one, and says whether it did.
pub(crate) fn pend<T>(
    ready: impl FnMut() -> Option<T>,
    wait: impl FnMut() -> bool,
) -> impl Future<Output = T> {
    Pend { ready, wait }
}

/// What [`pend`] returns. Unlike the standard library's `poll_fn` it is polled where it is awaited, without a
/// call: most waits are over at their first look.
struct Pend<R, W> {
    ready: R,
    wait: W,
}

// Neither closure is ever pinned.
impl<R, W> Unpin for Pend<R, W> {}

impl<T, R: FnMut() -> Option<T>, W: FnMut() -> bool> Future for Pend<R, W> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        loop {
            if let Some(value) = (self.ready)() {
                return Poll::Ready(value);
            }
            if !(self.wait)() {
                return Poll::Pending;
            }
        }
    }
}
