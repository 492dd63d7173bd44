//! Tasks that await commands: waking, time limits, polling.

use crate::bar::Bar;
use crate::config::CompletionMode;
use crate::driver::Driver;
use crate::error::{CommandName, DriverError};
use crate::ids::{QueueId, SlotId};
use crate::queue::{Completion, SlotState};
use alloc::rc::{Rc, Weak};
use aster_exec::Handler;
use core::future::poll_fn;
use core::task::Poll;

/// Delivers the driver's timed events. It holds only a weak reference, because the executor outlives the
/// driver.
pub(crate) struct Watch<B: Bar>(pub(crate) Weak<Driver<B>>);

/// Checks for commands that take too long.
const WATCHDOG: u64 = 0;
/// Polls the polled queues.
const POLL: u64 = 1;

impl<B: Bar + 'static> Handler for Watch<B> {
    fn fire(&self, token: u64) {
        let Some(driver) = self.0.upgrade() else { return };
        if token == WATCHDOG { driver.bark() } else { driver.poll() }
    }
}

impl<B: Bar + 'static> Driver<B> {
    /// Waits for a free slot.
    pub(crate) async fn await_slot(&self, queue: QueueId) -> SlotId {
        let waiters = Rc::clone(&self.pairs.borrow()[queue.index()].waiters);
        waiters.wait(&self.exec, || self.take_slot(queue)).await
    }

    /// Waits until an awaited command has completed. On success the slot stays taken; after an error it
    /// belongs to the driver.
    ///
    /// # Errors
    /// The time limit passed, or the controller was reset or broke the protocol.
    pub(crate) async fn await_completion(
        &self,
        queue: QueueId,
        slot: SlotId,
    ) -> Result<Completion, DriverError> {
        self.arm_watchdog();
        self.arm_poll(queue);
        poll_fn(|_| {
            let mut pairs = self.pairs.borrow_mut();
            let pair = &mut pairs[queue.index()];
            let state = pair.slots[slot.index()].state;
            let ended = match state {
                SlotState::Done(completion) => return Poll::Ready(Ok(completion)),
                SlotState::Lost => {
                    pair.release(slot, &self.exec);
                    return Poll::Ready(Err(DriverError::Reset));
                }
                SlotState::InFlight => {
                    let s = &mut pair.slots[slot.index()];
                    s.task = self.exec.current();
                    let age = self.exec.now().since(s.submitted);
                    if let Some(violation) = self.violation.get() {
                        Some(DriverError::Protocol(violation))
                    } else if !s.endless && age >= self.config.command_timeout {
                        Some(DriverError::TimedOut(pair.overdue(slot, age)))
                    } else {
                        None
                    }
                }
                SlotState::Free | SlotState::Taken => unreachable!("an awaited command was submitted"),
            };
            match ended {
                Some(error) => {
                    pair.slots[slot.index()].abandoned = true;
                    Poll::Ready(Err(error))
                }
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Awaits a command and turns a failure into an error. On success the slot is still taken.
    pub(crate) async fn await_success(&self, queue: QueueId, slot: SlotId) -> Result<u64, DriverError> {
        let completion = self.await_completion(queue, slot).await?;
        if completion.status.is_success() {
            return Ok(completion.result);
        }
        let (opcode, slba) = {
            let s = &self.pairs.borrow()[queue.index()].slots[slot.index()];
            (s.opcode, s.slba)
        };
        self.release_slot(queue, slot);
        let command = CommandName { queue, opcode };
        Err(DriverError::Command { command, slba, status: completion.status })
    }

    fn arm_watchdog(&self) {
        if !self.watchdog_armed.replace(true) {
            self.exec.schedule(self.exec.now() + self.config.command_timeout, self.watch, WATCHDOG);
        }
    }

    /// Wakes the tasks whose commands are overdue, and sets the watchdog for the oldest of the others.
    fn bark(&self) {
        self.watchdog_armed.set(false);
        let now = self.exec.now();
        let mut oldest = None;
        for pair in self.pairs.borrow().iter() {
            for s in pair.slots.iter() {
                let watched = s.state == SlotState::InFlight && s.awaited && !s.abandoned && !s.endless;
                if !watched {
                    continue;
                }
                if now.since(s.submitted) >= self.config.command_timeout {
                    self.exec.wake(s.task);
                } else {
                    oldest = Some(oldest.map_or(s.submitted, |o: aster_units::Instant| o.min(s.submitted)));
                }
            }
        }
        if let Some(submitted) = oldest {
            self.watchdog_armed.set(true);
            self.exec.schedule(submitted + self.config.command_timeout, self.watch, WATCHDOG);
        }
    }

    fn arm_poll(&self, queue: QueueId) {
        if let CompletionMode::Polled { period } = self.config.completion
            && queue != QueueId::ADMIN
            && !self.poll_armed.replace(true)
        {
            self.exec.schedule(self.exec.now() + period, self.watch, POLL);
        }
    }

    fn poll(&self) {
        self.poll_armed.set(false);
        for queue in self.queues() {
            self.look(queue);
            if self.pairs.borrow()[queue.index()].oldest(|s| s.awaited).is_some() {
                self.arm_poll(queue);
            }
        }
    }

    pub(crate) fn wake_all_waiting(&self) {
        for pair in self.pairs.borrow().iter() {
            for s in pair.slots.iter().filter(|s| s.awaited && s.state == SlotState::InFlight) {
                self.exec.wake(s.task);
            }
        }
    }
}
