//! What the cache tells of its work, by events: commands and what they wait for.

use crate::cache::Cache;
use aster_events::{Event, EventSink, Recorder, Wait};
use aster_exec::WaitQueue;
use aster_parties::{tell_began, tell_ended};
use aster_ports::host::HostCommand;
use aster_units::Instant;

/// No buffer in particular.
const ANY: u32 = u32::MAX;

impl Cache {
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        self.recorder.emit(self.exec.now(), event);
    }
    /// The task that runs.
    pub(crate) fn task(&self) -> u32 {
        self.exec.current().number()
    }
    /// A command begins, and its only slice.
    pub(crate) fn began(&self, command: &HostCommand) {
        tell_began(&self.recorder, &self.exec, command);
    }
    /// It has ended.
    pub(crate) fn ended(&self, command: &HostCommand) {
        tell_ended(&self.recorder, &self.exec, command);
    }
    /// Waits on a queue, and tells that a page of the cache is waited for.
    pub(crate) async fn wait_on<T>(&self, queue: &WaitQueue, ready: impl FnMut() -> Option<T>) -> T {
        self.waiting(queue.wait(&self.exec, ready)).await
    }
    /// Tells that a page of the cache is waited for while `work` goes on.
    pub(crate) async fn waiting<T>(&self, work: impl Future<Output = T>) -> T {
        let task = self.task();
        let reason = Wait::PageCache.number();
        self.emit(|| Event::WaitStarted { task, reason, buffer: ANY });
        let done = work.await;
        self.emit(|| Event::WaitEnded { task });
        done
    }
}

/// Passes the events of the target below on, but for those of its commands: they are the cache's, and have
/// numbers of their own.
pub(crate) struct Below(pub(crate) Recorder);

impl EventSink for Below {
    fn event(&mut self, at: Instant, event: &Event) {
        let is_of_commands = matches!(
            event,
            Event::CommandStarted { .. }
                | Event::CommandFinished { .. }
                | Event::SliceStarted { .. }
                | Event::SliceEnded { .. }
                | Event::TransferQueued { .. }
                | Event::TransferEnded { .. }
                | Event::WaitStarted { .. }
                | Event::WaitEnded { .. }
        );
        if !is_of_commands {
            self.0.emit(at, || *event);
        }
    }
}
