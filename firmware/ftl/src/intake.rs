//! Takes commands and cuts them into slices (C28).

use crate::buffer::EntryId;
use crate::drive::Drive;
use crate::slice::{Slice, Work};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, Function};
use aster_exec::WaitCell;
use aster_parties::DriveState;
use aster_ports::host::{CommandId, Completion, HostCommand, HostOp, HostStatus};
use aster_units::Lpn;

/// Whole pages that one slice unmaps: bounds how long a deallocation keeps a worker.
const UNMAP_RUN: u32 = 256;

#[derive(Clone, Copy)]
struct Active {
    // Slices not yet done, and one for the intake while it is cutting.
    left: u32,
    // The host may know it done before it is.
    ahead: bool,
    status: HostStatus,
    // The first byte of what its slices could not read; beyond all drives while there is none.
    failed_at: u64,
}

const NOTHING_FAILED: Active =
    Active { left: 0, ahead: false, status: HostStatus::Success, failed_at: u64::MAX };

/// The commands in work.
pub(crate) struct Commands {
    slots: Vec<Active>,
    pub(crate) in_work: u32,
    /// Since power-on.
    pub(crate) taken: u64,
    // Writes among them that the host may know done before they are.
    writes_ahead: u32,
    idle: Rc<WaitCell>,
}

impl Commands {
    pub(crate) fn new(slots: u16) -> Self {
        Commands {
            slots: vec![NOTHING_FAILED; usize::from(slots)],
            in_work: 0,
            taken: 0,
            writes_ahead: 0,
            idle: Rc::default(),
        }
    }
    fn begin(&mut self, id: CommandId, ahead: bool) {
        let slot =
            self.slots.get_mut(usize::from(id.0)).expect("command identifiers are below command_slots");
        assert_eq!(slot.left, 0, "a command slot was used twice");
        *slot = Active { left: 1, ahead, ..NOTHING_FAILED };
        self.in_work += 1;
        self.taken += 1;
        self.writes_ahead += u32::from(ahead);
    }
    fn add(&mut self, id: CommandId) {
        self.slots[usize::from(id.0)].left += 1;
    }
    /// A part of a command can't read what stands from this byte on.
    pub(crate) fn failed_at(&mut self, id: CommandId, byte: u64) {
        let slot = &mut self.slots[usize::from(id.0)];
        slot.failed_at = slot.failed_at.min(byte);
    }
    /// One part of a command has ended; the first error is kept. The completion when it was the last.
    fn end(&mut self, id: CommandId, status: HostStatus) -> Option<Completion> {
        let slot = &mut self.slots[usize::from(id.0)];
        if slot.status == HostStatus::Success {
            slot.status = status;
        }
        slot.left -= 1;
        if slot.left == 0 {
            self.writes_ahead -= u32::from(slot.ahead);
        }
        let failed_at = (slot.failed_at < u64::MAX).then_some(slot.failed_at);
        (slot.left == 0).then_some(Completion { id, status: slot.status, result: 0, failed_at })
    }
}

/// Takes commands for ever.
pub(crate) async fn run(drive: Rc<Drive>) {
    drive.boot_waiters.wait(drive.exec(), || (drive.state() != DriveState::Booting).then_some(())).await;
    loop {
        let command = drive.host.next_command().await;
        drive.spend(Function::NvmeManager, drive.config.costs.command);
        drive.emit(|| Event::CommandStarted {
            command: command.id.0,
            offset: command.offset,
            length: command.length,
        });
        let ahead = drive.config.auto_completion && command.op == HostOp::Write && command.ends_with_data();
        drive.commands.borrow_mut().begin(command.id, ahead);
        drive.scan_waiter.wake(drive.exec());
        let status = match refusal(drive.state(), command.op) {
            Some(status) => status,
            None => {
                if changes(command.op) && drive.gc_held.get() {
                    drive.release_gc();
                }
                drive.cut(&command).await
            }
        };
        drive.part_ended(command.id, status).await;
    }
}

fn changes(op: HostOp) -> bool {
    matches!(op, HostOp::Write | HostOp::WriteZeroes { .. } | HostOp::Deallocate | HostOp::Format { .. })
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

impl Drive {
    /// A part of a command has ended; with the last the command completes.
    pub(crate) async fn part_ended(&self, id: CommandId, status: HostStatus) {
        let ended = self.commands.borrow_mut().end(id, status);
        self.flush_waiters.wake_all(self.exec());
        if let Some(completion) = ended {
            self.spend(Function::NvmeManager, self.config.costs.complete);
            self.core.settle().await;
            self.emit(|| Event::CommandFinished { command: id.0 });
            self.count(|s| s.commands += 1);
            self.host.complete(completion);
            let (idle, left) = {
                let mut commands = self.commands.borrow_mut();
                commands.in_work -= 1;
                (Rc::clone(&commands.idle), commands.in_work)
            };
            idle.wake(self.exec());
            if left == 0 {
                self.rest_waiter.wake(self.exec());
            }
        }
    }

    async fn cut(&self, command: &HostCommand) -> HostStatus {
        let HostCommand { id, op, offset, length, fua } = *command;
        match op {
            HostOp::Read => self.cut_range(id, Work::Read { fua }, offset, length).await,
            HostOp::Write => self.cut_range(id, Work::Write { fua }, offset, length).await,
            HostOp::Compare => self.cut_range(id, Work::Compare { fua }, offset, length).await,
            // Deallocated pages read as zeroes, so that DEAC's wish is done for all (NVMe 1.4 §6.17: set, the
            // controller should deallocate; cleared, it may).
            HostOp::WriteZeroes { deallocate: _ } => self.cut_zeroes(id, offset, length, fua).await,
            HostOp::Deallocate => {
                let mut index = 0;
                while let Some(range) = self.host.range(id, index) {
                    self.cut_zeroes(id, range.offset, range.length, false).await;
                    index += 1;
                }
            }
            HostOp::Format { erase } => {
                // A write that came before may still be in work; it must not land behind the unmapping.
                self.wait_until_alone().await;
                let bytes = u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes);
                self.cut_zeroes(id, 0, bytes, false).await;
                self.wait_for_slices(id).await;
                // No loss of power may bring back what a format has taken away.
                let logged = self.log_trims().await;
                if erase || logged.is_err() {
                    return match logged {
                        Ok(()) => self.erase_user_data().await,
                        Err(status) => status,
                    };
                }
            }
            HostOp::Flush => self.cut_flush(id).await,
            HostOp::Shutdown => return self.shut_down(id).await,
            // Where a page lies is this translation's own business.
            HostOp::VectorRead
            | HostOp::VectorWrite
            | HostOp::VectorErase
            | HostOp::VectorCopy
            | HostOp::Report(_)
            | HostOp::SetBlockState(_) => return HostStatus::Refused,
        }
        HostStatus::Success
    }

    async fn send(&self, slice: Slice) {
        self.commands.borrow_mut().add(slice.command);
        self.slices.push(self.exec(), slice).await;
    }

    fn check_range(&self, offset: u64, length: u64) {
        let granule = u64::from(self.granule_bytes());
        let end = u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes);
        assert!(offset.is_multiple_of(granule) && length.is_multiple_of(granule), "a command cuts a granule");
        assert!(offset <= end && length <= end - offset, "a command beyond the capacity");
    }

    /// One slice for each page of the range.
    async fn cut_range(&self, command: CommandId, work: Work, offset: u64, length: u64) {
        self.check_range(offset, length);
        let page_bytes = u64::from(self.geometry.page_bytes);
        let mut done = 0;
        while done < length {
            let at = offset + done;
            let start = at % page_bytes;
            let bytes = (page_bytes - start).min(length - done);
            let slice = Slice {
                command,
                work,
                lpn: Lpn((at / page_bytes) as u32),
                start: start as u32,
                bytes: bytes as u32,
                data_offset: done as u32,
            };
            self.send(slice).await;
            done += bytes;
        }
    }

    /// Whole pages are unmapped, the ends of the range written with zeroes.
    async fn cut_zeroes(&self, command: CommandId, offset: u64, length: u64, fua: bool) {
        self.check_range(offset, length);
        let page_bytes = u64::from(self.geometry.page_bytes);
        let (end, whole_from) = (offset + length, offset.next_multiple_of(page_bytes));
        let whole_to = end / page_bytes * page_bytes;
        let zero = Work::Zero { fua };
        if whole_from >= whole_to {
            return self.cut_range(command, zero, offset, length).await;
        }
        self.cut_range(command, zero, offset, whole_from - offset).await;
        let last = (whole_to / page_bytes) as u32;
        let mut lpn = (whole_from / page_bytes) as u32;
        while lpn < last {
            let pages = (last - lpn).min(UNMAP_RUN);
            let work = Work::Unmap { pages, fua };
            self.send(Slice { command, work, lpn: Lpn(lpn), start: 0, bytes: 0, data_offset: 0 }).await;
            lpn += pages;
        }
        self.cut_range(command, zero, whole_to, end - whole_to).await;
    }

    /// A slice for each entry that is dirty now or by the time its turn comes: what was dirty when the
    /// command came either still is, or is being evicted, or is on flash.
    ///
    /// Of a write that the front end completes by itself the host knows before its entry is dirty, so the
    /// writes that were taken before are waited for. None is taken meanwhile. They are cut to their ends, and
    /// no worker waits for the intake: so this ends.
    async fn cut_flush(&self, command: CommandId) {
        let told = || (self.commands.borrow().writes_ahead == 0).then_some(());
        self.flush_waiters.wait(self.exec(), told).await;
        self.cut_evictions(command).await;
        let work = Work::Settle;
        self.send(Slice { command, work, lpn: Lpn(0), start: 0, bytes: 0, data_offset: 0 }).await;
    }
    async fn cut_evictions(&self, command: CommandId) {
        let entries = self.buffer.borrow().len();
        for entry in (0..entries).map(EntryId) {
            let (dirty, lpn) = {
                let buffer = self.buffer.borrow();
                (buffer.is_dirty(entry), buffer.lpn(entry))
            };
            if dirty {
                let work = Work::Evict { entry };
                self.send(Slice { command, work, lpn, start: 0, bytes: 0, data_offset: 0 }).await;
            }
        }
    }
    /// True when a command's slices have ended but for one, and it has been cut to its end.
    pub(crate) fn is_last_slice(&self, command: CommandId) -> bool {
        self.commands.borrow().slots[usize::from(command.0)].left == 1
    }

    /// Flushes, waits until nothing is in work, and stores the map. No command is taken meanwhile.
    async fn shut_down(&self, command: CommandId) -> HostStatus {
        self.wait_until_alone().await;
        self.cut_evictions(command).await;
        self.wait_for_slices(command).await;
        let flushed = self.commands.borrow().slots[usize::from(command.0)].status;
        // What could not be flushed is lost and told; what is on flash must be found again.
        let stored = self.store_checkpoint().await;
        if flushed == HostStatus::Success { stored } else { flushed }
    }
    async fn wait_until_alone(&self) {
        let idle = Rc::clone(&self.commands.borrow().idle);
        idle.wait(self.exec(), || (self.commands.borrow().in_work == 1).then_some(())).await;
    }
    async fn wait_for_slices(&self, command: CommandId) {
        let alone = || {
            let commands = self.commands.borrow();
            (commands.slots[usize::from(command.0)].left == 1).then_some(())
        };
        self.slices.drained(self.exec(), alone).await;
    }
}
