//! Raw vectors: pages as they are in the array, without ECC and scrambler (O1, G14).
//!
//! Beside each sector the host has its share of the page's spare area in place of metadata
//! ([`raw_spare_of_sector`]). A raw vector does one page after the other, with a buffer for the data area and
//! the worker's own for the spare area.

use crate::drive::{Found, is_done};
use crate::plan::{self, Run};
use crate::worker::{Ended, Worker};
use alloc::rc::Rc;
use aster_events::Function;
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus};
use aster_ports::host::{DmaDirection, DmaPart, HostCommand, HostStatus, VectorFault, VectorMode};
use aster_units::{BufferId, Content, Geometry, SECTOR_BYTES};

/// Bytes of the spare area that a raw vector moves beside each sector. What the sectors of a page don't share
/// is written as FFh.
pub const fn raw_spare_of_sector(geometry: &Geometry) -> u32 {
    geometry.spare_bytes as u32 / geometry.sectors_per_page() as u32
}

impl Worker {
    /// Reads what the addresses name.
    pub(crate) async fn read_raw(&mut self, command: &HostCommand, mode: VectorMode) -> Ended {
        let drive = Rc::clone(&self.drive);
        if let Err(refused) = self.begin_raw().await {
            return refused;
        }
        self.settled().await;
        self.take_one_buffer().await;
        let (mut lost, mut moved) = (0, true);
        for n in 0..self.runs.len() {
            let run = self.runs[n];
            let request = self.raw_request(FlashOp::Read, &run);
            let outcome = drive.finished(drive.submit(request)).await;
            drive.count(|s| s.flash_reads.host += 1);
            match outcome.status == FlashStatus::Done {
                true => moved &= self.move_raw(command, &run, DmaDirection::ToHost, mode).await,
                false => lost |= run.mask(),
            }
        }
        self.leave();
        self.give_buffers();
        drive.count(|s| s.host_bytes_read += command.length);
        match lost {
            _ if !moved => (HostStatus::DataTransfer, 0),
            0 => (HostStatus::Success, 0),
            lost => (HostStatus::UnrecoveredRead, lost),
        }
    }

    /// Programs what the addresses name, by the rules of any other write. When a page can't be had from the
    /// host or can't be programmed, those before it are written, and the result names the others.
    pub(crate) async fn write_raw(&mut self, command: &HostCommand, mode: VectorMode) -> Ended {
        let drive = Rc::clone(&self.drive);
        if let Err(refused) = self.begin_raw().await {
            return refused;
        }
        if let Err(refused) = self.admit().await {
            self.leave();
            return refused;
        }
        self.take_one_buffer().await;
        let (mut status, mut failed) = (HostStatus::Success, 0);
        for n in 0..self.runs.len() {
            let run = self.runs[n];
            let usable = drive.table.borrow().get(run.lun, run.block).is_usable();
            if status != HostStatus::DataTransfer
                && !self.move_raw(command, &run, DmaDirection::FromHost, mode).await
            {
                status = HostStatus::DataTransfer;
            }
            if status == HostStatus::DataTransfer || !usable {
                failed |= run.mask();
                continue;
            }
            drive.table.borrow_mut().begin_program(run.lun, run.block);
            let request = self.raw_request(FlashOp::Program, &run);
            let outcome = drive.finished(drive.submit(request)).await;
            drive.table.borrow_mut().end_program(run.lun, run.block);
            drive.count(|s| {
                s.flash_programs.host += 1;
                s.flash_bytes_written += u64::from(drive.config.geometry.page_bytes);
                s.host_bytes_written += u64::from(drive.config.geometry.page_bytes);
            });
            if !is_done(&outcome) {
                failed |= run.mask();
                status = drive.program_failed(run.lun, run.block, Found::Unknown);
            }
            drive.block_ended(run.lun);
        }
        self.leave();
        self.give_buffers();
        (status, failed)
    }

    /// Plans a raw vector, and waits for its turn.
    async fn begin_raw(&mut self) -> Result<(), Ended> {
        let drive = Rc::clone(&self.drive);
        plan::runs(&self.units, &mut self.runs);
        drive.spend(Function::NvmCommandManager, drive.config.costs.slice * self.runs.len() as u64);
        self.first().await;
        // A drive that keeps fingerprints has no bytes to show.
        let refused = match drive.dram.borrow().content() {
            Content::Full => match self.protected() {
                0 => None,
                named => Some((HostStatus::Vector(VectorFault::BadBlock), named)),
            },
            Content::Fingerprint => Some((HostStatus::Refused, 0)),
        };
        match refused {
            Some(refused) => {
                self.leave();
                Err(refused)
            }
            None => Ok(()),
        }
    }
    async fn take_one_buffer(&mut self) {
        let drive = Rc::clone(&self.drive);
        drive.buffers.take(drive.exec(), self.number, 1, &mut self.buffers).await;
    }
    fn raw_request(&self, phase: FlashOp, run: &Run) -> FlashRequest {
        let row = self.drive.shape.row(run.lun, run.block, run.page);
        let (data, spare) = self.raw_buffers();
        FlashRequest::raw_page(phase, run.lun, row, run.sectors, data, spare)
    }
    /// Where the data area goes, and the spare area.
    fn raw_buffers(&self) -> (BufferId, BufferId) {
        (self.buffers[0], self.drive.side_of(self.number))
    }
    /// Moves the sectors of a run, and with a metadata pointer their share of the spare area.
    async fn move_raw(
        &self,
        command: &HostCommand,
        run: &Run,
        direction: DmaDirection,
        mode: VectorMode,
    ) -> bool {
        let drive = &self.drive;
        let (data, spare) = self.raw_buffers();
        let (first, sectors) = (u32::from(run.first), run.sectors);
        let part = |bytes: u32| {
            let count = u32::from(sectors.count) * bytes;
            ((first * bytes, count), u32::from(sectors.first) * bytes)
        };
        if direction == DmaDirection::FromHost {
            drive.dram.borrow_mut().page_mut(spare).fill(0xff);
        }
        let (at, from) = part(SECTOR_BYTES as u32);
        let request = drive.dma(command.id, direction, DmaPart::Data, at, (data, from));
        drive.transfer_begins(direction, at.1, data);
        let mut moved = drive.commands.dma(request).await.is_ok();
        drive.transfer_ended(moved);
        if mode.metadata {
            let (at, from) = part(raw_spare_of_sector(&drive.config.geometry));
            let request = drive.dma(command.id, direction, DmaPart::Metadata, at, (spare, from));
            moved &= drive.commands.dma(request).await.is_ok();
        }
        moved
    }
}
