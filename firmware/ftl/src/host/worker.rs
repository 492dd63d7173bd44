//! The workers, which carry out slices.

use crate::host::slices::SliceWork;
use crate::host::state::Host;
use crate::mapping::Mapping;
use alloc::rc::Rc;
use aster_events::{Event, Function};
use aster_ports::host::HostStatus;

/// Carries out one slice after the other. Never ends.
pub(crate) async fn run<M: Mapping>(host: Rc<Host<M>>, worker: u16) {
    loop {
        let slice = host.slices.next(host.runtime.exec(), worker).await;
        host.runtime.spend(Function::NvmCommandManager, host.runtime.config.costs.slice);
        host.runtime.emit(|| Event::SliceStarted {
            command: slice.command.0,
            lpn: slice.frame.0,
            write: !matches!(slice.work, SliceWork::Read { .. } | SliceWork::Compare { .. }),
            task: host.runtime.task(),
        });
        let result = match slice.work {
            SliceWork::Read { fua } => host.read_slice(&slice, fua).await,
            SliceWork::Write { fua } => host.write_slice(&slice, fua).await,
            SliceWork::Compare { fua } => host.compare_slice(&slice, fua).await,
            SliceWork::Zero { fua } => host.zero_slice(&slice, fua).await,
            SliceWork::Unmap { pages, fua } => host.unmap_slice(&slice, pages, fua).await,
            SliceWork::Evict { entry } => host.cache.flush_entry(entry, slice.frame).await,
            SliceWork::MakeDurable => host.make_durable(slice.command).await,
        };
        host.runtime.emit(|| Event::SliceEnded { task: host.runtime.task() });
        if let Some(completion) = host.end_part(slice.command, result.err().unwrap_or(HostStatus::Success)) {
            // As `complete` does. The task waits here, where it is polled.
            host.spend_completion();
            host.runtime.core.settle().await;
            host.completed(completion);
        }
        host.slices.ended.wake(host.runtime.exec());
    }
}
