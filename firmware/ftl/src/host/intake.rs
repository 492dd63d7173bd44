//! Takes commands and cuts them into slices (C28).

use crate::cache::entries::Held;
use crate::host::slices::{Slice, SliceWork};
use crate::host::state::Host;
use crate::mapping::Mapping;
use crate::terms::config::FirstAccess;
use crate::terms::units::Frame;
use alloc::rc::Rc;
use aster_events::{Event, Function};
use aster_parties::DriveState;
use aster_ports::host::{CommandId, Completion, HostCommand, HostOp, HostStatus};

/// The most pages that one slice unmaps. It bounds how long a deallocation occupies a worker.
const UNMAP_RUN: u32 = 256;

/// Takes commands. Never ends.
pub(crate) async fn run<M: Mapping>(host: Rc<Host<M>>) {
    host.runtime.booted().await;
    host.mapping.map().settled().await;
    loop {
        let command = host.port.command().await;
        if let Some(core) = host.port.pays_for_access() {
            core.settle().await;
        }
        host.runtime.spend(Function::NvmeManager, host.runtime.config.costs.command);
        host.runtime.emit(|| Event::CommandStarted {
            command: command.id.0,
            offset: command.offset,
            length: command.length,
        });
        let ahead = host.runtime.config.host.auto_completion
            && command.op == HostOp::Write
            && command.ends_with_data();
        host.commands.borrow_mut().begin(command.id, ahead);
        host.collector.command_begins();
        let status = match refusal(host.runtime.state(), command.op) {
            Some(status) => status,
            None => {
                let assigns =
                    host.runtime.config.host.first_access == FirstAccess::Assigns && reads(command.op);
                if (changes(command.op) || assigns) && host.blocks.collection.is_paused() {
                    host.blocks.collection.resume();
                }
                match host.cut_one_page(&command) {
                    true => HostStatus::Success,
                    false => host.cut(&command).await,
                }
            }
        };
        if let Some(completion) = host.end_part(command.id, status) {
            host.complete(completion).await;
        }
    }
}

fn changes(op: HostOp) -> bool {
    matches!(op, HostOp::Write | HostOp::WriteZeroes { .. } | HostOp::Deallocate | HostOp::Format { .. })
}

fn reads(op: HostOp) -> bool {
    matches!(op, HostOp::Read | HostOp::Compare)
}

/// The status of a command that the drive can't serve in its state.
fn refusal(state: DriveState, op: HostOp) -> Option<HostStatus> {
    match state {
        DriveState::Ready => None,
        DriveState::ReadOnly => changes(op).then_some(HostStatus::ReadOnly),
        DriveState::Failed | DriveState::Booting => Some(match op {
            HostOp::Read | HostOp::Compare => HostStatus::UnrecoveredRead,
            HostOp::Flush | HostOp::Shutdown => HostStatus::Success,
            _ => HostStatus::ReadOnly,
        }),
    }
}

impl<M: Mapping> Host<M> {
    /// Ends a part of a command. If it was the last part, [`Host::complete`] is due.
    #[inline]
    pub(crate) fn end_part(&self, id: CommandId, status: HostStatus) -> Option<Completion> {
        let ended = self.commands.borrow_mut().end(id, status);
        self.flush_waiters.wake_all(self.runtime.exec());
        ended
    }
    /// Completes a command whose last part has ended.
    pub(crate) async fn complete(&self, completion: Completion) {
        self.spend_completion();
        self.runtime.core.settle().await;
        self.completed(completion);
    }
    #[inline]
    pub(crate) fn spend_completion(&self) {
        self.runtime.spend(Function::NvmeManager, self.runtime.config.costs.complete);
    }
    /// The time that the completion takes is over.
    #[inline]
    pub(crate) fn completed(&self, completion: Completion) {
        self.runtime.emit(|| Event::CommandFinished { command: completion.id.0 });
        self.runtime.count(|s| s.commands += 1);
        self.port.complete(completion);
        self.collector.command_ends(|| self.commands.borrow().idle.wake(self.runtime.exec()));
    }
    /// Sends a plain read within one page, if a worker is idle: what [`Host::cut`] does in most cases,
    /// without a wait. Returns `false`, and does nothing, for any other command.
    #[inline]
    fn cut_one_page(&self, command: &HostCommand) -> bool {
        let HostCommand { id, op: HostOp::Read, offset, length, fua } = *command else { return false };
        let page_bytes = u64::from(self.runtime.geometry.page_bytes);
        let start = offset % page_bytes;
        let is_in_page = length > 0 && length <= page_bytes - start;
        if !is_in_page || self.goes_in_steps(fua) || !self.slices.has_idle() {
            return false;
        }
        self.check_range(offset, length);
        let slice = Slice {
            command: id,
            work: SliceWork::Read { fua },
            frame: Frame((offset / page_bytes) as u32),
            start: start as u32,
            bytes: length as u32,
            data_offset: 0,
        };
        let is_given = self.send_now(&slice);
        debug_assert!(is_given, "a worker was idle");
        true
    }
    async fn cut(&self, command: &HostCommand) -> HostStatus {
        let HostCommand { id, op, offset, length, fua } = *command;
        match op {
            HostOp::Read => self.cut_range(id, SliceWork::Read { fua }, offset, length).await,
            HostOp::Write => self.cut_range(id, SliceWork::Write { fua }, offset, length).await,
            HostOp::Compare => self.cut_range(id, SliceWork::Compare { fua }, offset, length).await,
            // Deallocated pages read as zeroes, so Write Zeroes deallocates whether DEAC is set or not
            // (NVMe 1.4 §6.17: set, the controller should deallocate; cleared, it may).
            HostOp::WriteZeroes { deallocate: _ } => self.cut_zeroes(id, offset, length, fua).await,
            HostOp::Deallocate => {
                let mut index = 0;
                while let Some(range) = self.port.range(id, index) {
                    self.cut_zeroes(id, range.offset, range.length, false).await;
                    index += 1;
                }
            }
            HostOp::Format { erase } => {
                // An earlier write may still be in progress. It must not write to a page after the format has
                // unmapped it.
                self.wait_until_alone().await;
                let bytes =
                    u64::from(self.journal.own.logical_pages()) * u64::from(self.runtime.geometry.page_bytes);
                self.cut_zeroes(id, 0, bytes, false).await;
                self.wait_for_slices(id).await;
                // After the format no power cut may bring the old data back.
                let logged = self.journal.due.log_trims().await;
                if erase || logged.is_err() {
                    return match logged {
                        Ok(()) => self.checkpoint.erase_user_data().await,
                        Err(status) => status,
                    };
                }
            }
            HostOp::Flush => self.cut_flush(id).await,
            HostOp::Shutdown => return self.shut_down(id).await,
            // This translation alone decides where a page lies.
            HostOp::VectorRead(_)
            | HostOp::VectorWrite(_)
            | HostOp::VectorErase(_)
            | HostOp::VectorCopy
            | HostOp::Report(_)
            | HostOp::SetBlockState(_) => return HostStatus::Refused,
        }
        HostStatus::Success
    }
    async fn send(&self, slice: Slice) {
        if !self.send_now(&slice) {
            self.slices.push(self.runtime.exec(), slice).await;
        }
    }
    /// Counts a slice as a part of its command, and hands it to an idle worker if there is one.
    #[inline]
    fn send_now(&self, slice: &Slice) -> bool {
        self.commands.borrow_mut().add(slice.command);
        self.slices.give(self.runtime.exec(), slice)
    }
    #[inline]
    fn check_range(&self, offset: u64, length: u64) {
        let granule = u64::from(self.pages.granule_bytes());
        let end = u64::from(self.journal.own.logical_pages()) * u64::from(self.runtime.geometry.page_bytes);
        assert!(offset.is_multiple_of(granule) && length.is_multiple_of(granule), "a command cuts a granule");
        assert!(offset <= end && length <= end - offset, "a command beyond the capacity");
    }
    /// Sends one slice for each page of the range.
    async fn cut_range(&self, command: CommandId, work: SliceWork, offset: u64, length: u64) {
        self.check_range(offset, length);
        let page_bytes = u64::from(self.runtime.geometry.page_bytes);
        let mut done = 0;
        while done < length {
            let at = offset + done;
            let start = at % page_bytes;
            let bytes = (page_bytes - start).min(length - done);
            let slice = Slice {
                command,
                work,
                frame: Frame((at / page_bytes) as u32),
                start: start as u32,
                bytes: bytes as u32,
                data_offset: done as u32,
            };
            if !self.send_now(&slice) {
                self.slices.push(self.runtime.exec(), slice).await;
            }
            done += bytes;
        }
    }
    /// Unmaps the range's whole units, and writes zeroes to the partial units at its ends.
    async fn cut_zeroes(&self, command: CommandId, offset: u64, length: u64, fua: bool) {
        self.check_range(offset, length);
        let page_bytes = u64::from(self.runtime.geometry.page_bytes);
        let (end, whole_from) = (offset + length, offset.next_multiple_of(page_bytes));
        let whole_to = end / page_bytes * page_bytes;
        if whole_from >= whole_to {
            let first_end = whole_from.min(end);
            self.cut_zeroes_in_frame(command, offset, first_end, fua).await;
            return self.cut_zeroes_in_frame(command, first_end, end, fua).await;
        }
        self.cut_zeroes_in_frame(command, offset, whole_from, fua).await;
        let last = (whole_to / page_bytes) as u32;
        let mut frame = (whole_from / page_bytes) as u32;
        while frame < last {
            let pages = (last - frame).min(UNMAP_RUN);
            let work = SliceWork::Unmap { pages, fua };
            self.send(Slice { command, work, frame: Frame(frame), start: 0, bytes: 0, data_offset: 0 }).await;
            frame += pages;
        }
        self.cut_zeroes_in_frame(command, whole_to, end, fua).await;
    }
    /// As [`Host::cut_zeroes`] for a part of a frame, from `offset` to before `end`.
    async fn cut_zeroes_in_frame(&self, command: CommandId, offset: u64, end: u64, fua: bool) {
        let (unit, page) =
            (u64::from(self.runtime.config.unit_bytes()), u64::from(self.runtime.geometry.page_bytes));
        let zero = SliceWork::Zero { fua };
        let (from, to) = (offset.next_multiple_of(unit), end / unit * unit);
        if from >= to {
            return self.cut_range(command, zero, offset, end - offset).await;
        }
        self.cut_range(command, zero, offset, from - offset).await;
        let (work, frame) = (SliceWork::Unmap { pages: 1, fua }, Frame((from / page) as u32));
        let (start, bytes) = ((from % page) as u32, (to - from) as u32);
        self.send(Slice { command, work, frame, start, bytes, data_offset: 0 }).await;
        self.cut_range(command, zero, to, end - to).await;
    }
    /// Sends a slice for each entry that is dirty when the loop reaches it, and one that makes all of them
    /// durable. An entry that was dirty when the command arrived is by then still dirty, being evicted, or on
    /// flash.
    ///
    /// The front end completes some writes before their entries are dirty. The flush must include them, so
    /// the intake first waits for those that it has taken. It takes no command meanwhile. The wait can't
    /// be endless: these writes have been cut into slices, and no worker waits for the intake.
    async fn cut_flush(&self, command: CommandId) {
        let told = || (self.commands.borrow().early_writes == 0).then_some(());
        self.flush_waiters.wait(self.runtime.exec(), told).await;
        self.cut_evictions(command).await;
        let work = SliceWork::MakeDurable;
        self.send(Slice { command, work, frame: Frame(0), start: 0, bytes: 0, data_offset: 0 }).await;
    }
    async fn cut_evictions(&self, command: CommandId) {
        for entry in self.cache.entries.all() {
            let Held { frame, is_dirty, .. } = self.cache.entries.held(entry);
            if is_dirty {
                let work = SliceWork::Evict { entry };
                self.send(Slice { command, work, frame, start: 0, bytes: 0, data_offset: 0 }).await;
            }
        }
    }
    /// True if one part of the command is left: a slice, or the intake if it is still cutting the command.
    pub(crate) fn is_last_slice(&self, command: CommandId) -> bool {
        self.commands.borrow().is_last_part(command)
    }
    /// Flushes, waits until nothing is in progress, and stores the map. No command is taken meanwhile.
    async fn shut_down(&self, command: CommandId) -> HostStatus {
        self.wait_until_alone().await;
        self.cut_evictions(command).await;
        self.wait_for_slices(command).await;
        let flushed = self.commands.borrow().status(command);
        // Data that could not be flushed is lost, and the status says so. The map is stored in any case, so
        // that the data on flash can be found again.
        let stored = self.checkpoint.store_checkpoint().await;
        if flushed == HostStatus::Success { stored } else { flushed }
    }
    async fn wait_until_alone(&self) {
        let idle = Rc::clone(&self.commands.borrow().idle);
        idle.wait(self.runtime.exec(), || (self.collector.commands_in_work() == 1).then_some(())).await;
    }
    async fn wait_for_slices(&self, command: CommandId) {
        let alone = || self.is_last_slice(command).then_some(());
        self.slices.drained(self.runtime.exec(), alone).await;
    }
}
