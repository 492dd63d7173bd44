//! Reports on the flash.

use crate::chunks;
use crate::drive::Sent;
use crate::kept::flags_of;
use crate::worker::{Ended, Worker};
use alloc::rc::Rc;
use aster_ports::flash::{FlashOp, FlashStatus};
use aster_ports::host::{DmaDirection, DmaPart, HostCommand, HostStatus, ReportKind, VectorFault};
use aster_units::{BufferId, LunIndex, PageInBlock, SectorRange};
use aster_wire::ocssd::TableHeader;
use aster_wire::ocssd::v2::ChunkDescriptor;
use aster_wire::onfi::Status;
use zerocopy::IntoBytes;

const DESCRIPTOR_BYTES: usize = size_of::<ChunkDescriptor>();

impl Worker {
    /// Sends a report on the flash.
    pub(crate) async fn report(&mut self, command: &HostCommand, kind: ReportKind) -> Ended {
        self.first().await;
        let lun = self.luns[0];
        match kind {
            ReportKind::Status => self.report_status(command).await,
            ReportKind::BlockStates => {
                self.leave();
                let states = self.drive.table.borrow().of_lun(lun).len();
                let all = size_of::<TableHeader>() + states;
                self.send_part(command, all, |offset, length| self.fill_table(lun, offset, length)).await
            }
            ReportKind::Chunks => {
                self.leave();
                let all = self.drive.shape.chunks.all_chunks() as usize * DESCRIPTOR_BYTES;
                self.send_part(command, all, |offset, length| self.fill_chunks(offset, length)).await
            }
        }
    }
    /// Sends the part of a report of `all` bytes that the command asks for, a page buffer at a time.
    async fn send_part(&self, command: &HostCommand, all: usize, fill: impl Fn(u64, u64)) -> Ended {
        let drive = &self.drive;
        if command.offset.checked_add(command.length).is_none_or(|end| end > all as u64) {
            return (HostStatus::Refused, 0);
        }
        let side = drive.side_of(self.number);
        let piece = u64::from(drive.config.geometry.page_bytes);
        let mut done = 0;
        while done < command.length {
            let length = piece.min(command.length - done);
            fill(command.offset + done, length);
            let at = (done as u32, length as u32);
            let request = drive.dma(command.id, DmaDirection::ToHost, DmaPart::Data, at, (side, 0));
            if drive.commands.dma(request).await.is_err() {
                return (HostStatus::DataTransfer, 0);
            }
            done += length;
        }
        (HostStatus::Success, 0)
    }

    /// Sends the status of each LUN that the addresses name. It is that behind what the LUN was asked for
    /// before.
    async fn report_status(&mut self, command: &HostCommand) -> Ended {
        let drive = Rc::clone(&self.drive);
        if (command.offset, command.length) != (0, self.units.len() as u64) {
            self.leave();
            return (HostStatus::Refused, 0);
        }
        self.sent.clear();
        for unit in &self.units {
            let (block, page) = (unit.block, PageInBlock(0));
            let request =
                drive.request(FlashOp::Status, unit.lun, block, page, SectorRange::whole(1), BufferId(0));
            self.sent.push(Sent { tag: drive.submit(request), targets: 1 });
        }
        self.leave();
        let side = drive.side_of(self.number);
        let (mut dead, mut refused) = (0, false);
        for (n, sent) in self.sent.iter().enumerate() {
            let register = match drive.finished(sent.tag).await.status {
                FlashStatus::Done => Status::IDLE,
                FlashStatus::Failed => Status::IDLE.with_fail(true),
                FlashStatus::Busy => Status::BUSY,
                FlashStatus::Dead => {
                    dead |= 1 << n;
                    Status(0)
                }
                // The flash scheduler can't ask for it.
                _ => {
                    refused = true;
                    Status(0)
                }
            };
            drive.dram.borrow_mut().page_mut(side)[n] = register.0;
        }
        if refused {
            return (HostStatus::Refused, 0);
        }
        let at = (0, command.length as u32);
        let request = drive.dma(command.id, DmaDirection::ToHost, DmaPart::Data, at, (side, 0));
        match drive.commands.dma(request).await {
            Err(_) => (HostStatus::DataTransfer, 0),
            Ok(()) if dead != 0 => (HostStatus::Vector(VectorFault::NoAnswer), dead),
            Ok(()) => (HostStatus::Success, 0),
        }
    }

    /// Puts `length` bytes of the descriptors of all chunks, from `offset` on, into the worker's buffer
    /// (P29).
    fn fill_chunks(&self, offset: u64, length: u64) {
        let drive = &self.drive;
        let table = drive.table.borrow();
        let first = (offset / DESCRIPTOR_BYTES as u64) as u32;
        let descriptors = (first..drive.shape.chunks.all_chunks())
            .map(|index| chunks::descriptor(index, &table, &drive.shape, drive.config.endurance));
        let bytes = descriptors.flat_map(|one| {
            let bytes: [u8; DESCRIPTOR_BYTES] = zerocopy::transmute!(one);
            bytes
        });
        let side = drive.side_of(self.number);
        let mut buffers = drive.dram.borrow_mut();
        let into = &mut buffers.page_mut(side)[..length as usize];
        let skipped = (offset % DESCRIPTOR_BYTES as u64) as usize;
        into.iter_mut().zip(bytes.skip(skipped)).for_each(|(to, from)| *to = from);
    }
    /// Puts `length` bytes of a LUN's bad-block table, from `offset` on, into the worker's buffer (P26).
    fn fill_table(&self, lun: LunIndex, offset: u64, length: u64) {
        let drive = &self.drive;
        let table = drive.table.borrow();
        let states = table.of_lun(lun).iter().map(|block| flags_of(block.state));
        let header = TableHeader::of(states.clone());
        let bytes = header.as_bytes().iter().copied().chain(states.map(|state| state.raw()));
        let side = drive.side_of(self.number);
        let mut buffers = drive.dram.borrow_mut();
        let into = &mut buffers.page_mut(side)[..length as usize];
        into.iter_mut().zip(bytes.skip(offset as usize)).for_each(|(to, from)| *to = from);
    }
}
