//! A deterministic single-thread executor that owns simulated time (design §2).
//!
//! One [`Exec`] is one clock. It holds timed events (for hardware models and timers) ordered by (time,
//! sequence), and tasks (for firmware) that are made when the device is built. It never sleeps: a run
//! mode asks for [`Exec::next_deadline`] and calls [`Exec::advance_to`]. The same input always gives the
//! same order of everything.
//!
//! Tasks are woken by index. A leaf future stores [`Exec::current`], and the code that completes the future
//! calls [`Exec::wake`] with it. The `Context`'s waker does nothing, so combinators that make wakers of their
//! own don't work here. A task may be polled without cause: every leaf future checks its condition again.
#![no_std]
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

extern crate alloc;

mod core_state;
mod cpu;
mod exec;
mod fifo;
mod heap;
mod ids;
mod ready;
#[allow(unsafe_code, reason = "the pointer to the stack that runs")]
mod stack;
mod sync;
mod timers;
mod wheel;

pub use core_state::CoreStats;
pub use cpu::Core;
pub use exec::{Counts, Exec, Handler, Roster};
pub use fifo::Fifo;
pub use ids::{HandlerId, TaskId};
pub use stack::{BoxedTask, Carrier, PrivateStack, Resumed, RunningStack};
pub use sync::{Ring, WaitCell, WaitQueue};

#[cfg(test)]
mod tests;
