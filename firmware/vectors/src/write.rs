//! Vector writes.

use crate::chunks;
use crate::drive::{Found, METADATA_BYTES as BYTES, Page, is_done, metadata_at, metadata_of};
use crate::worker::{Ended, Worker};
use crate::{plan, wear};
use alloc::rc::Rc;
use aster_events::Function;
use aster_ports::flash::{Flags, FlashOp, FlashStatus, Outcome};
use aster_ports::host::{DmaDirection, DmaPart, HostCommand, HostStatus, VectorFault, VectorMode};
use aster_units::{BlockAddr, BufferId, LunIndex, PageInBlock, SECTOR_BYTES, SectorRange};
use core::iter::repeat;

impl Worker {
    /// Programs what the addresses name: whole pages, each the next one of its block.
    pub(crate) async fn write(&mut self, command: &HostCommand, mode: VectorMode) -> Ended {
        let drive = Rc::clone(&self.drive);
        plan::runs(&self.units, &mut self.runs);
        drive.spend(Function::NvmCommandManager, drive.config.costs.slice * self.runs.len() as u64);
        self.first().await;
        if let Err(refused) = self.admit().await {
            self.leave();
            return refused;
        }
        self.take_buffers().await;
        let moved = self.fetch(command, mode).await;
        if mode.parity {
            self.add_up();
        }
        // A program that was in flight may have failed meanwhile, and made its block a bad one.
        let begun = match moved {
            false => Err((HostStatus::DataTransfer, 0)),
            true => self.check().map_err(|fault| self.refusal(fault)),
        };
        if let Err(ended) = begun {
            self.leave();
            self.give_buffers();
            return ended;
        }
        self.begin_programs(mode);
        drive.count(|s| s.host_bytes_written += command.length);
        self.leave();
        self.end_programs().await
    }
    /// Programs the pages of the runs from their buffers.
    pub(crate) fn begin_programs(&mut self, mode: VectorMode) {
        let drive = Rc::clone(&self.drive);
        if drive.config.chunks {
            let mut buffers = drive.dram.borrow_mut();
            wear::note(&self.runs, &self.buffers, &drive.table.borrow(), &mut buffers);
        }
        self.sent.clear();
        for run in &self.runs {
            drive.table.borrow_mut().begin_program(run.lun, run.block);
        }
        let page = |(run, buffer): (&plan::Run, &BufferId)| Page {
            lun: run.lun,
            block: run.block,
            page: run.page,
            sectors: drive.whole(),
            buffer: *buffer,
        };
        let flags = Flags { raw: false, slc: mode.slc, one_shot: false };
        let pages = self.runs.iter().zip(&self.buffers).map(page);
        drive.submit_all(FlashOp::Program, flags, pages, &mut self.sent);
        let page_bytes = u64::from(drive.config.geometry.page_bytes);
        drive.count(|s| {
            s.flash_programs.host += self.runs.len() as u64;
            s.flash_bytes_written += page_bytes * self.runs.len() as u64;
        });
    }
    /// Waits until all pages are programmed, and gives the buffers back.
    pub(crate) async fn end_programs(&mut self) -> Ended {
        let drive = Rc::clone(&self.drive);
        let (mut status, mut failed, mut dead) = (HostStatus::Success, 0, 0);
        // Pages that packages copy have no buffers, and only drives of chunks look at those that failed.
        let mut runs = self.runs.iter().zip(self.buffers.iter().copied().chain(repeat(BufferId(0))));
        for sent in &self.sent {
            for (outcome, (run, buffer)) in drive.finished_all(*sent).await.zip(runs.by_ref()) {
                drive.table.borrow_mut().end_program(run.lun, run.block);
                if !is_done(&outcome) {
                    failed |= run.mask();
                    dead |= if outcome.status == FlashStatus::Dead { run.mask() } else { 0 };
                    let found = match drive.config.chunks {
                        true => self.found(run.lun, run.block, run.page, buffer).await,
                        false => Found::Unknown,
                    };
                    let now = drive.program_failed(run.lun, run.block, found);
                    // That a chunk is closed counts for more than that another one goes on.
                    let closed = HostStatus::Vector(VectorFault::ClosedEarly);
                    status = if status == closed { closed } else { now };
                }
                drive.block_ended(run.lun);
            }
        }
        self.give_buffers();
        match failed != 0 && failed == dead {
            true => (HostStatus::Vector(VectorFault::NoAnswer), failed),
            false => (status, failed),
        }
    }

    pub(crate) fn check(&self) -> Result<(), VectorFault> {
        let (drive, table) = (&self.drive, self.drive.table.borrow());
        match drive.config.chunks {
            true => chunks::check_write(&self.runs, &table, &drive.shape).and_then(|()| {
                chunks::check_open(&self.runs, &table, &drive.shape, drive.config.open_chunks_max)
            }),
            false => plan::check_write(&self.runs, &table, drive.config.geometry.sectors_per_page()),
        }
    }

    /// Checks that the runs can be written, once their blocks' write pointers are known.
    pub(crate) async fn admit(&mut self) -> Result<(), Ended> {
        match self.find_pointers().await {
            // A chunk of a LUN that doesn't answer is offline.
            silent if silent != 0 && !self.drive.config.chunks => {
                Err((HostStatus::Vector(VectorFault::NoAnswer), silent))
            }
            _ => self.check().map_err(|fault| self.refusal(fault)),
        }
    }
    /// The end of a vector that is refused: of one that names bad blocks, with the addresses that do.
    pub(crate) fn refusal(&self, fault: VectorFault) -> Ended {
        let table = self.drive.table.borrow();
        let is_bad =
            |run: &&plan::Run| fault == VectorFault::BadBlock && !table.get(run.lun, run.block).is_usable();
        let named = self.runs.iter().filter(is_bad).fold(0, |bits, run| bits | run.mask());
        (HostStatus::Vector(fault), named)
    }
    /// Runs with data of the host's: all but that of their sum.
    fn with_data(&self, mode: VectorMode) -> usize {
        self.runs.len() - usize::from(mode.parity)
    }
    /// The last run's page gets the sum of the others, and its OOB that of theirs (H33). The XOR stands in
    /// the path of the DMA and takes no time of its own.
    fn add_up(&mut self) {
        let buffers = &mut *self.drive.dram.borrow_mut();
        let Some((&sum, others)) = self.buffers.split_last() else { return };
        let (page, oob) = buffers.page_and_oob_mut(sum);
        page.fill(0);
        oob.fill(0);
        others.iter().for_each(|&buffer| buffers.xor_into(buffer, sum));
    }
    /// Brings the data into the buffers of the runs, and the metadata into their OOB.
    async fn fetch(&mut self, command: &HostCommand, mode: VectorMode) -> bool {
        let drive = Rc::clone(&self.drive);
        let side = drive.side_of(self.number);
        let mut moved = true;
        self.transfers.clear();
        let count = self.with_data(mode);
        let data_runs = || self.runs[..count].iter().zip(&self.buffers);
        let page_bytes = drive.config.geometry.page_bytes;
        drive.transfer_begins(DmaDirection::FromHost, count as u32 * page_bytes, self.buffers[0]);
        for (run, buffer) in data_runs() {
            let at = (u32::from(run.first) * SECTOR_BYTES as u32, page_bytes);
            let request = drive.dma(command.id, DmaDirection::FromHost, DmaPart::Data, at, (*buffer, 0));
            match drive.commands.submit_dma(request) {
                Some(tag) => self.transfers.push(tag),
                None => moved &= drive.commands.dma(request).await.is_ok(),
            }
        }
        if mode.metadata {
            let sectors: usize = data_runs().map(|(run, _)| usize::from(run.sectors.count)).sum();
            let at = (0, (BYTES * sectors) as u32);
            let request = drive.dma(command.id, DmaDirection::FromHost, DmaPart::Metadata, at, (side, 0));
            moved &= drive.commands.dma(request).await.is_ok();
        }
        for tag in self.transfers.drain(..) {
            moved &= drive.commands.dma_finished(tag).await.is_ok();
        }
        drive.transfer_ended(moved);
        let mut buffers = drive.dram.borrow_mut();
        for (run, buffer) in self.runs[..count].iter().zip(&self.buffers) {
            for sector in 0..usize::from(run.sectors.count) {
                let index = usize::from(run.first) + sector;
                let one = if mode.metadata { metadata_of(buffers.page(side), index) } else { [0; BYTES] };
                metadata_at(buffers.oob_mut(*buffer), sector).copy_from_slice(&one);
            }
        }
        moved
    }

    /// Finds the write pointers of the runs' blocks that nobody has looked for since power-on, once what is
    /// in flight to them has settled. Returns the addresses whose LUN didn't answer.
    pub(crate) async fn find_pointers(&mut self) -> u64 {
        let mut silent = 0;
        let drive = Rc::clone(&self.drive);
        for n in 0..self.runs.len() {
            let (lun, block) = (self.runs[n].lun, self.runs[n].block);
            let settled = || {
                let table = drive.table.borrow();
                let is_erasing = |block: BlockAddr| table.get(lun, block).erasing;
                let erasing = match drive.config.chunks {
                    true => drive.shape.all_planes(block).any(is_erasing),
                    false => is_erasing(block),
                };
                (!erasing).then_some(())
            };
            drive.ended[lun.index()].wait(drive.exec(), settled).await;
            let looked = {
                let table = drive.table.borrow();
                let block = table.get(lun, block);
                block.written().is_some() || !block.is_usable()
            };
            if !looked {
                let buffer = self.look_buffer().await;
                let written = self.search_pointer(lun, block, buffer).await;
                self.give_look_buffer();
                match written {
                    Some(written) => drive.table.borrow_mut().found(lun, block, written),
                    // Nobody can write it.
                    None => {
                        drive.grow_bad(lun, block);
                        silent |= self.runs[n].mask();
                    }
                }
            }
        }
        silent
    }
    /// The pages that are written: those before the first erased one. A page whose program was cut off by a
    /// loss of power reads as uncorrectable, so it counts as written. `None` if the LUN doesn't answer.
    pub(crate) async fn search_pointer(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        buffer: BufferId,
    ) -> Option<u16> {
        let (mut low, mut high) = (0, self.drive.config.geometry.pages_per_block);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.found(lun, block, PageInBlock(middle), buffer).await {
                Found::Nothing => high = middle,
                Found::Page => low = middle + 1,
                Found::Unknown => return None,
            }
        }
        Some(low)
    }
    pub(crate) async fn found(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        buffer: BufferId,
    ) -> Found {
        let outcome = self.look(lun, block, page, buffer).await;
        match outcome.status {
            _ if is_blank(&outcome) => Found::Nothing,
            FlashStatus::Done | FlashStatus::Uncorrectable => Found::Page,
            FlashStatus::Failed | FlashStatus::Error | FlashStatus::Busy | FlashStatus::Dead => {
                Found::Unknown
            }
        }
    }
    /// Reads the first sector of a page, and what is beside the page.
    pub(crate) async fn look(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        buffer: BufferId,
    ) -> Outcome {
        let drive = &self.drive;
        let one = SectorRange { first: 0, count: 1 };
        let sector = if drive.config.partial_reads { one } else { drive.whole() };
        let outcome = drive
            .finished(drive.submit(drive.request(FlashOp::Read, lun, block, page, sector, buffer)))
            .await;
        drive.count(|s| s.flash_reads.metadata += 1);
        outcome
    }
}

/// Whether a page that was read is erased.
pub(crate) fn is_blank(outcome: &Outcome) -> bool {
    outcome.status == FlashStatus::Done && outcome.erased
}
