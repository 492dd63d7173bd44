//! The log of a LUN: pages are programmed one after the other, whoever they are for, and the newest
//! version of a logical page counts.
//!
//! Why no loss of power takes back what was promised: there is one open block, and each program is waited
//! for. So what a loss of power takes, the program that it cuts off and the pages of that word line, is
//! always the end of the log; what is found again is the log up to some page. A flush completes the word
//! line with padding, so that no later program can take what was written along. A block is erased only
//! when the open one is full: nothing can be taken then, and all that the erased block holds is out of date.

use super::shared::{NOWHERE, Part, Plan, Shared};
use aster_device::{plug::*, units::*};
use std::{cell::Cell, rc::Rc};

/// Free blocks that garbage collection leaves: a victim's pages need two, and program failures more.
const RESERVE: u32 = 3;
type Done = Result<(), HostStatus>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A logical page.
    Data = 1,
    /// It completes a word line, or says that the drive is no new one.
    Padding,
    /// The last page before a clean shutdown.
    Clean,
}

/// What stands in the OOB of each page: what it is, its number on the LUN, and how many programs there
/// were before.
type Oob = (Kind, u32, u64);

/// Its first three bytes.
const NAME: u32 = u32::from_le_bytes(*b"OWN\0");

fn encode((kind, page, sequence): Oob, into: &mut [u8]) {
    let name = NAME | (kind as u32) << 24;
    let record = u128::from(sequence) << 64 | u128::from(page) << 32 | u128::from(name);
    into[..16].copy_from_slice(&record.to_le_bytes());
}

fn decode(from: &[u8]) -> Option<Oob> {
    let record = u128::from_le_bytes(from[..16].try_into().ok()?);
    let mut kinds = [Kind::Data, Kind::Padding, Kind::Clean].into_iter();
    let kind = kinds.find(|&kind| record as u32 == NAME | (kind as u32) << 24)?;
    Some((kind, (record >> 32) as u32, (record >> 64) as u64))
}

#[derive(Clone, Copy, Default)]
struct Block {
    /// Pages that the map names.
    valid: u32,
    /// From the factory, or since it failed: never opened again before the next power-on.
    bad: bool,
    /// The number of its first page in the log; 0 when nothing that can be read is in it.
    since: u64,
}

/// A LUN.
pub struct Log {
    shared: Rc<Shared>,
    plan: Plan,
    lun: LunIndex,
    /// Holds a page of the host's.
    host_buffer: BufferId,
    /// Holds a page that is copied.
    copy_buffer: BufferId,
    /// By logical page: where it is. The block's number times its pages, plus the page's number in it.
    map: Rc<[Cell<u32>]>,
    blocks: Vec<Block>,
    block_pages: u32,
    /// The next page of the block that is being written.
    open: Option<u32>,
    /// The block that was opened last: the next free one behind it comes next, so that all wear.
    opened: u32,
    /// Programs so far.
    sequence: u64,
}

impl Log {
    pub fn new(shared: &Rc<Shared>, lun: LunIndex, map: &Rc<[Cell<u32>]>) -> Self {
        let (shared, map, plan) = (Rc::clone(shared), Rc::clone(map), shared.plan);
        let (host_buffer, copy_buffer) = (BufferId(2 * lun.0), BufferId(2 * lun.0 + 1));
        let blocks = vec![Block::default(); plan.geometry.blocks_per_lun as usize];
        let (block_pages, open, opened, sequence) = (plan.geometry.pages_per_block.into(), None, 0, 0);
        Log { shared, plan, lun, host_buffer, copy_buffer, map, blocks, block_pages, open, opened, sequence }
    }
    fn block(&mut self, at: u32) -> &mut Block {
        &mut self.blocks[(at / self.block_pages) as usize]
    }

    // ---- what the host asks for ----

    pub async fn serve(&mut self, command: &HostCommand, part: &Part) -> Done {
        let (id, shared) = (command.id, Rc::clone(&self.shared));
        let end = if command.op == HostOp::Shutdown { Kind::Clean } else { Kind::Padding };
        match command.op {
            // What isn't this FTL's stays as it is.
            _ if shared.state() == DriveState::Failed => return Err(HostStatus::Refused),
            HostOp::Read => {
                self.fetch(part.page).await?;
                self.dma(id, part, DmaDirection::ToHost).await?;
                shared.stats.borrow_mut().host_bytes_read += u64::from(part.length);
            }
            HostOp::Write => {
                self.write(Some(id), part).await?;
                shared.stats.borrow_mut().host_bytes_written += u64::from(part.length);
            }
            HostOp::WriteZeroes { .. } => self.write(None, part).await?,
            HostOp::Deallocate => {
                let ranges = (0..).map_while(|n| shared.ports.commands.range(id, n));
                let (parts, lun) = (ranges.flat_map(|range| shared.plan.parts(range)), self.lun);
                for (_, part) in parts.filter(|(of, _)| *of == lun) {
                    // Whole pages are taken out of the map, which is forgotten with the power.
                    match part.length == self.plan.geometry.page_bytes {
                        true => self.forget(part.page),
                        false => self.write(None, &part).await?,
                    }
                }
            }
            HostOp::Flush => {}
            HostOp::Format { .. } => self.format().await?,
            HostOp::Shutdown => self.append(end, NOWHERE, self.copy_buffer).await?,
            // Compares, and what other command sets ask of flash by its addresses.
            _ => return Err(HostStatus::Refused),
        }
        let completes = command.fua || matches!(command.op, HostOp::Flush | HostOp::Shutdown);
        if completes { self.fill_line(end).await } else { Ok(()) }
    }
    async fn dma(&self, command: CommandId, of: &Part, direction: DmaDirection) -> Done {
        let &Part { start: buffer_offset, length, data_offset: offset, .. } = of;
        let (buffer, part, after) = (self.host_buffer, DmaPart::Data, None);
        let request = DmaRequest { command, direction, part, offset, buffer, buffer_offset, length, after };
        self.shared.ports.core.settle().await;
        self.shared.ports.commands.dma(request).await.map_err(|_| HostStatus::DataTransfer)
    }
    /// Writes a part of a page with what a command brings, or with zeroes.
    async fn write(&mut self, command: Option<CommandId>, part: &Part) -> Done {
        if part.length < self.plan.geometry.page_bytes {
            self.fetch(part.page).await?;
        }
        if let Some(command) = command {
            self.dma(command, part, DmaDirection::FromHost).await?;
        } else {
            // In bytes of the buffer, where a sector may be kept as a fingerprint.
            let mut buffers = self.shared.ports.buffers.borrow_mut();
            let sector = buffers.content().sector_len();
            let scaled = |bytes: u32| bytes as usize * sector / SECTOR_BYTES;
            let bytes = scaled(part.start)..scaled(part.start + part.length);
            buffers.page_mut(self.host_buffer)[bytes].fill(0);
        }
        self.make_room().await?;
        self.append(Kind::Data, part.page, self.host_buffer).await
    }
    /// Erases all blocks, the oldest first: of no page an older version can come back, wherever the power
    /// goes. Before the last one goes, another one says that the drive is no new one.
    async fn format(&mut self) -> Done {
        (0..self.plan.pages).for_each(|page| self.forget(page));
        self.open = None;
        let written = (0..).zip(&self.blocks).filter(|(_, block)| !block.bad || block.since > 0);
        let mut in_order: Vec<(u64, u32)> = written.map(|(number, block)| (block.since, number)).collect();
        in_order.sort_unstable();
        let (_, newest) = in_order.pop().ok_or(HostStatus::WriteFault)?;
        for (_, block) in in_order {
            self.erase(block).await?;
        }
        self.opened = newest;
        self.shared.ports.buffers.borrow_mut().page_mut(self.copy_buffer).fill(0);
        self.append(Kind::Padding, NOWHERE, self.copy_buffer).await?;
        self.fill_line(Kind::Padding).await?;
        self.erase(newest).await
    }

    // ---- the log ----

    fn forget(&mut self, page: u32) {
        let before = self.map[page as usize].replace(NOWHERE);
        if before != NOWHERE {
            self.block(before).valid -= 1;
        }
    }
    /// Completes the word line that has begun, which a later program could take along.
    async fn fill_line(&mut self, with: Kind) -> Done {
        while self.open.is_some_and(|at| !(at % self.block_pages).is_multiple_of(self.plan.lost_together)) {
            self.append(with, NOWHERE, self.copy_buffer).await?;
        }
        Ok(())
    }
    /// Programs a buffer as the next page of the log.
    async fn append(&mut self, kind: Kind, page: u32, from: BufferId) -> Done {
        loop {
            let at = if let Some(next) = self.open { next } else { self.open_block().await? };
            self.sequence += 1;
            encode((kind, page, self.sequence), self.shared.ports.buffers.borrow_mut().oob_mut(from));
            let outcome = self.flash(FlashOp::Program, at, from).await;
            let mut stats = self.shared.stats.borrow_mut();
            stats.flash_bytes_written += u64::from(self.plan.geometry.page_bytes);
            stats.flash_programs.padding += u64::from(page == NOWHERE);
            stats.flash_programs.host += u64::from(from == self.host_buffer);
            stats.flash_programs.gc += u64::from(page != NOWHERE && from == self.copy_buffer);
            drop(stats);
            if outcome.status != FlashStatus::Done {
                // What the block holds can be read, but it takes nothing more.
                self.open = None;
                self.goes_bad(at / self.block_pages);
                continue;
            }
            self.open = Some(at + 1).filter(|next| next % self.block_pages > 0);
            if page != NOWHERE {
                self.forget(page);
                self.map[page as usize].set(at);
                self.block(at).valid += 1;
            }
            return Ok(());
        }
    }
    fn goes_bad(&mut self, block: u32) {
        self.blocks[block as usize].bad = true;
        self.shared.stats.borrow_mut().grown_bad_blocks += 1;
        self.shared.tell_media();
    }
    /// How many blocks are free, and the next one to open.
    fn free_blocks(&self) -> (u32, Option<u32>) {
        let all = self.plan.geometry.blocks_per_lun;
        let free = (1..=all).map(|n| (self.opened + n) % all).filter(|&block| {
            let Block { valid, bad, .. } = self.blocks[block as usize];
            valid == 0 && !bad && self.open.is_none_or(|next| next / self.block_pages != block)
        });
        (free.clone().count() as u32, free.clone().next())
    }
    /// Opens a block of which nothing counts any more, erased now: so it doesn't matter what a cut-off
    /// erase has left of it.
    async fn open_block(&mut self) -> Result<u32, HostStatus> {
        while let (_, Some(block)) = self.free_blocks() {
            self.opened = block;
            if self.erase(block).await.is_ok() {
                self.blocks[block as usize].since = self.sequence + 1;
                return Ok(block * self.block_pages);
            }
        }
        self.shared.stats.borrow_mut().state = DriveState::ReadOnly;
        self.shared.tell_media();
        Err(HostStatus::ReadOnly)
    }
    async fn erase(&mut self, block: u32) -> Done {
        let outcome = self.flash(FlashOp::Erase, block * self.block_pages, self.copy_buffer).await;
        self.shared.stats.borrow_mut().flash_erases.gc += 1;
        if outcome.status != FlashStatus::Done {
            self.goes_bad(block);
            return Err(HostStatus::WriteFault);
        }
        self.blocks[block as usize].since = 0;
        self.shared.tell_media();
        Ok(())
    }
    /// Collects garbage when the next page needs a new block and few are free, or fewer than those after
    /// losses of power: from the block with the fewest pages that count.
    async fn make_room(&mut self) -> Done {
        while self.free_blocks().0 + u32::from(self.open.is_some()) <= RESERVE {
            let is_open = |block| self.open.is_some_and(|next| next / self.block_pages == block);
            let has_garbage = |block: &Block| !block.bad && (1..self.block_pages).contains(&block.valid);
            let closed = (0..).zip(&self.blocks).filter(|(n, block)| !is_open(*n) && has_garbage(block));
            let Some((victim, _)) = closed.min_by_key(|(_, block)| block.valid) else { break };
            self.shared.stats.borrow_mut().gc_runs += 1;
            let (map, pages) =
                (Rc::clone(&self.map), victim * self.block_pages..(victim + 1) * self.block_pages);
            for (page, at) in (0..).zip(map.iter().map(Cell::get)).filter(|(_, at)| pages.contains(at)) {
                self.shared.stats.borrow_mut().flash_reads.gc += 1;
                if self.read(page, at, self.copy_buffer).await {
                    self.append(Kind::Data, page, self.copy_buffer).await?;
                } else {
                    // It stays where it is, and so does its block: no older version may take its place.
                    self.blocks[victim as usize].bad = true;
                }
            }
        }
        Ok(())
    }

    // ---- flash ----

    async fn flash(&self, phase: FlashOp, at: u32, buffer: BufferId) -> Outcome {
        let (block, page) = (BlockAddr(at / self.block_pages), PageInBlock((at % self.block_pages) as u16));
        let behind_ce = self.plan.geometry.lun_addr(self.lun).lun;
        self.flash_at(phase, self.plan.restriction.row(behind_ce, block, page), false, buffer).await
    }
    async fn flash_at(&self, phase: FlashOp, row: RowAddr, raw: bool, buffer: BufferId) -> Outcome {
        let sectors = SectorRange::whole(self.plan.geometry.sectors_per_page());
        let mut request = FlashRequest::single(phase, self.lun, Target { row, sectors, buffer });
        request.flags.raw = raw;
        self.shared.ports.core.settle().await;
        self.shared.ports.flash.call(request).await[0]
    }
    /// Reads a logical page. False when not all of it could be read.
    async fn read(&self, page: u32, at: u32, buffer: BufferId) -> bool {
        let outcome = self.flash(FlashOp::Read, at, buffer).await;
        let oob = decode(self.shared.ports.buffers.borrow().oob(buffer));
        let is_its = oob.is_some_and(|(kind, of, _)| (kind, of) == (Kind::Data, page));
        outcome.status == FlashStatus::Done && !outcome.erased && is_its
    }
    /// Brings a logical page into the host's buffer.
    async fn fetch(&mut self, page: u32) -> Done {
        let at = self.map[page as usize].get();
        if at == NOWHERE {
            self.shared.ports.buffers.borrow_mut().page_mut(self.host_buffer).fill(0);
            return Ok(());
        }
        self.shared.stats.borrow_mut().flash_reads.host += 1;
        self.read(page, at, self.host_buffer).await.then_some(()).ok_or(HostStatus::UnrecoveredRead)
    }

    // ---- power-on ----

    /// Looks at every page. Writes nothing but the first pages of a LUN from the factory, so that it may be
    /// cut off at any time.
    pub async fn power_on(&mut self) -> Result<Boot, String> {
        // Of each logical page, when the version in the map was programmed; and what was programmed last.
        let (mut newest, mut last, buffer) = (vec![0; self.map.len()], Kind::Padding, self.host_buffer);
        let all_sectors = SectorRange::whole(self.plan.geometry.sectors_per_page()).mask();
        for block in 0..self.plan.geometry.blocks_per_lun {
            if self.is_marked(block).await {
                self.blocks[block as usize].bad = true;
                self.shared.stats.borrow_mut().factory_bad_blocks += 1;
                continue;
            }
            for at in block * self.block_pages..(block + 1) * self.block_pages {
                let outcome = self.flash(FlashOp::Read, at, buffer).await;
                self.shared.stats.borrow_mut().flash_reads.metadata += 1;
                if outcome.erased {
                    break;
                }
                // Of a page that was being programmed when the power went no sector can be read.
                if outcome.oob_failed || outcome.failed_sectors & all_sectors == all_sectors {
                    continue;
                }
                let oob = decode(self.shared.ports.buffers.borrow().oob(buffer));
                let read = outcome.status != FlashStatus::Error;
                let oob = oob.filter(|(_, page, _)| read && (*page == NOWHERE || *page < self.plan.pages));
                let Some((kind, page, sequence)) = oob else {
                    return Err(format!("LUN {}, block {block}: not written by this FTL", self.lun.0));
                };
                let Block { since, .. } = self.block(at);
                *since = if *since == 0 { sequence } else { *since };
                if sequence > self.sequence {
                    (self.sequence, last, self.opened) = (sequence, kind, block);
                }
                if page != NOWHERE && sequence > newest[page as usize] {
                    newest[page as usize] = sequence;
                    self.map[page as usize].set(at);
                }
            }
        }
        for at in Rc::clone(&self.map).iter().map(Cell::get).filter(|&at| at != NOWHERE) {
            self.block(at).valid += 1;
        }
        if self.sequence > 0 {
            return Ok(if last == Kind::Clean { Boot::Clean } else { Boot::Recovered });
        }
        // From now on it is no new one.
        let begun = self.append(Kind::Padding, NOWHERE, self.copy_buffer).await;
        let begun = begun.and(self.fill_line(Kind::Padding).await);
        begun.map(|()| Boot::Fresh).map_err(|_| format!("LUN {} has no good block", self.lun.0))
    }
    /// Whether the maker marked a block as bad: the first spare byte of its first or last page, read as it
    /// is, is 0. That is looked at once, before anything is programmed there, and saved in NVRAM:
    /// "g" for good, "b" for bad.
    async fn is_marked(&self, block: u32) -> bool {
        let TranslationPorts { nvram, buffers, .. } = &self.shared.ports;
        let in_nvram = (self.lun.0 * self.plan.geometry.blocks_per_lun + block) as usize;
        let mut known = [0];
        nvram.read(in_nvram, &mut known);
        if known == [0] {
            known = *b"g";
            let behind_ce = self.plan.geometry.lun_addr(self.lun).lun;
            let buffer = buffers.borrow().metadata_buffer(self.lun.0);
            for last in [false, true] {
                let row = self.plan.restriction.mark_row(behind_ce, BlockAddr(block), last);
                self.flash_at(FlashOp::Read, row, true, buffer).await;
                self.shared.stats.borrow_mut().flash_reads.metadata += 1;
                if buffers.borrow().oob(buffer)[0] == 0 {
                    known = *b"b";
                }
            }
            nvram.write(in_nvram, &known);
            nvram.save();
        }
        known == *b"b"
    }
}
