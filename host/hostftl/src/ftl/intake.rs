//! The host's commands (H19, H21): a write is acknowledged once its sectors are in memory.

use super::flash::{Records, RowSpan, Span, Ticket};
use super::gather::Gathered;
use super::groups::GroupState;
use super::oob::{SectorKind, SectorRecord};
use super::place::SectorPlace;
use super::root::Root;
use super::shared::{Ftl, State};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, Wait};
use aster_ports::host::{Completion, DmaDirection, DmaPart, DmaRequest, HostCommand, HostOp, HostStatus};
use aster_units::{BufferId, SECTOR_BYTES};
use aster_wire::array::{LANES_MAX, NO_BLOCK};

/// Pages of a command that are worked at side by side.
const WINDOW: u32 = 8;
/// Page buffers of a worker: those of the window, and one beside.
pub(super) const BUFFERS: u32 = WINDOW + 1;

/// How a command ended: with a place on the drive if sectors could not be read.
type Ended = Result<(), (HostStatus, Option<u64>)>;

/// Sectors of one page: the first one's number in the window, its place, and how many.
type Run = (u32, SectorPlace, u8);

/// A run that is being read.
struct PageRead {
    n: u32,
    span: Span,
    ticket: Rc<Ticket>,
    /// Which page of a row's command it is.
    of_row: Option<usize>,
}

/// Part of a command: whole sectors, or bytes of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    sector: u32,
    count: u32,
    /// Bytes before it in its first sector.
    skip: u32,
    bytes: u32,
    /// Bytes of the command before it.
    done: u64,
}

impl Part {
    fn is_whole(&self) -> bool {
        u64::from(self.bytes) == u64::from(self.count) * SECTOR_BYTES as u64
    }
}

/// The parts of a range of bytes: each is within one sector, or whole sectors up to the next multiple of
/// `most`.
fn parts(offset: u64, length: u64, most: u64) -> impl Iterator<Item = Part> {
    let (end, bytes_of) = (offset + length, SECTOR_BYTES as u64);
    let mut at = offset;
    core::iter::from_fn(move || {
        let (sector, skip) = (at / bytes_of, at % bytes_of);
        let window_end = (sector / most + 1) * most * bytes_of;
        let bytes = match end - at {
            rest if skip != 0 || rest < bytes_of => rest.min(bytes_of - skip),
            rest => rest.min(window_end - at) / bytes_of * bytes_of,
        };
        let (sector, skip) = (sector as u32, skip as u32);
        let count = bytes.div_ceil(bytes_of) as u32;
        let part = Part { sector, count, skip, bytes: bytes as u32, done: at - offset };
        at += bytes;
        (bytes > 0).then_some(part)
    })
}

/// Serves one command after the other, with page buffers from `first` on.
pub(super) async fn run(ftl: Rc<Ftl>, first: u32) {
    let worker = Worker { first, side: BufferId(first + WINDOW), ftl: Rc::clone(&ftl) };
    loop {
        let command = ftl.commands.next_command().await;
        ftl.told.began(&command);
        ftl.core.charge(ftl.command_cycles);
        ftl.core.settle().await;
        let (status, failed_at) = match worker.serve(&command).await {
            Ok(()) => (HostStatus::Success, None),
            Err(failed) => failed,
        };
        ftl.told.ended(&command);
        ftl.count(|stats| stats.commands += 1);
        ftl.commands.complete(Completion { failed_at, ..Completion::new(command.id, status) });
    }
}

struct Worker {
    ftl: Rc<Ftl>,
    first: u32,
    side: BufferId,
}

impl Worker {
    async fn serve(&self, command: &HostCommand) -> Ended {
        let ftl = &self.ftl;
        if let HostOp::Format { erase } = command.op {
            return self.format(erase).await;
        }
        let enter = || {
            let state = &mut *ftl.state.borrow_mut();
            let open = !state.closed;
            state.commands += u32::from(open);
            open.then_some(())
        };
        ftl.gate.wait(&ftl.exec, enter).await;
        let ended = self.carry_out(command).await;
        ftl.state.borrow_mut().commands -= 1;
        ftl.gate.wake_all(&ftl.exec);
        ended
    }
    async fn carry_out(&self, command: &HostCommand) -> Ended {
        let HostCommand { op, offset, length, fua, .. } = *command;
        let ftl = &self.ftl;
        let sectors = length.div_ceil(SECTOR_BYTES as u64);
        let parts = parts(offset, length, u64::from(WINDOW) * u64::from(ftl.info.sectors));
        match op {
            HostOp::Read => {
                for part in parts {
                    self.load(part.sector, part.count).await?;
                    self.transfer(command, part, DmaDirection::ToHost, None).await?;
                }
                ftl.count(|stats| (stats.host_bytes_read += length, stats.host_pages_read += sectors).0);
                Ok(())
            }
            HostOp::Write => {
                self.may_write()?;
                let gathered = self.gathered(offset, length);
                for part in parts {
                    self.write(command, part, gathered).await?;
                }
                ftl.count(|s| (s.host_bytes_written += length, s.host_pages_written += sectors).0);
                self.settle(fua).await
            }
            HostOp::WriteZeroes { .. } => {
                self.may_write()?;
                let gathered = self.gathered(offset, length);
                for part in parts {
                    self.zero(part, gathered).await?;
                }
                self.settle(fua).await
            }
            HostOp::Compare => {
                for part in parts {
                    self.load(part.sector, part.count).await?;
                    self.compare(command, part).await?;
                }
                Ok(())
            }
            HostOp::Deallocate => {
                for range in (0..).map_while(|n| ftl.commands.range(command.id, n)) {
                    self.deallocate(range.offset, range.length);
                }
                Ok(())
            }
            HostOp::Flush => self.settle(true).await,
            HostOp::Shutdown => {
                self.settle(true).await?;
                ftl.keep_root(true);
                Ok(())
            }
            _ => Err((HostStatus::Refused, None)),
        }
    }
    fn may_write(&self) -> Ended {
        if self.ftl.is_stopped() {
            return Err((self.ftl.refusal(), None));
        }
        self.ftl.keep_root(false);
        Ok(())
    }
    /// Ends a write: waits until all that is in memory is on flash, if it must be.
    async fn settle(&self, durable: bool) -> Ended {
        if !self.ftl.config.gathers {
            self.ftl.send(true);
        }
        if !durable || self.ftl.flush().await { Ok(()) } else { Err((self.ftl.refusal(), None)) }
    }

    // ---- reads ----

    fn buffer_of(&self, n: u32) -> (BufferId, u8) {
        let sectors = u32::from(self.ftl.info.sectors);
        (BufferId(self.first + n / sectors), (n % sectors) as u8)
    }
    /// Brings sectors into the window's buffers: the n-th sector into their n-th.
    async fn load(&self, first: u32, count: u32) -> Ended {
        let ftl = &self.ftl;
        let mut reads: Vec<PageRead> = vec![];
        {
            let state = &mut *ftl.state.borrow_mut();
            let mut runs: Vec<Run> = vec![];
            for n in 0..count {
                let (buffer, slot) = self.buffer_of(n);
                if let Some(waiting) = state.gather.find(first + n) {
                    let mut content = vec![];
                    let from = BufferId(waiting.buffer as u32);
                    ftl.sector(from, waiting.slot.into(), |bytes| content.extend_from_slice(bytes));
                    ftl.sector(buffer, slot.into(), |bytes| bytes.copy_from_slice(&content));
                } else if let Some(place) = state.map.place_of(first + n) {
                    match runs.last_mut() {
                        Some((begin, at, count))
                            if slot > 0
                                && *begin + u32::from(*count) == n
                                && (at.page, at.slot + *count) == (place.page, place.slot) =>
                        {
                            *count += 1;
                        }
                        _ => runs.push((n, place, 1)),
                    }
                } else {
                    ftl.sector(buffer, slot.into(), |bytes| bytes.fill(0));
                    ftl.count(|stats| stats.host_pages_unmapped += 1);
                }
            }
            let mut rest = &runs[..];
            while let Some(&(n, place, count)) = rest.first() {
                let has_rows = ftl.config.composite.is_some() || ftl.config.raid.is_some();
                let row = if has_rows { self.row_of(rest) } else { 0 };
                if row > 1 {
                    let (pages, others) = rest.split_at(row);
                    rest = others;
                    self.read_row(state, pages, &mut reads);
                    continue;
                }
                rest = &rest[1..];
                let (span, (buffer, slot)) =
                    (ftl.span(state, place.page, place.slot, count), self.buffer_of(n));
                ftl.note_read(state, place.page);
                state.groups.accessed(place.page.group());
                let ticket = ftl.flash.read(span, buffer, slot);
                reads.push(PageRead { n, span, ticket, of_row: None });
            }
        }
        ftl.count(|stats| stats.flash_reads.host += reads.len() as u64);
        let mut missing = vec![];
        for read in reads {
            let (n, span) = (read.n, read.span);
            let records = self.records_of(read, first + n).await;
            for (slot, n) in (span.first..span.first + span.count).zip(n..) {
                let of = records[usize::from(slot)];
                let is_data = |record: SectorRecord| record.kind == SectorKind::Data;
                if !of.is_some_and(|record| is_data(record) && record.sector == first + n) {
                    let from = SectorPlace { page: span.page, slot };
                    missing.push((n, from, of.is_some_and(|record| record.kind == SectorKind::Lost)));
                }
            }
        }
        let mut lost = None;
        for (n, from, is_lost) in missing {
            if is_lost || !ftl.read_otherwise(first + n, from, self.buffer_of(n)).await {
                ftl.count(|stats| stats.uncorrectable_sectors += 1);
                lost = lost.or(Some(u64::from(first + n) * SECTOR_BYTES as u64));
            }
        }
        match lost {
            Some(at) => Err((HostStatus::UnrecoveredRead, Some(at))),
            None => Ok(()),
        }
    }
    /// How many of these runs, from the first on, are whole pages of one row, by lane, for page buffers of
    /// their own: one command reads them (H22).
    fn row_of(&self, runs: &[Run]) -> usize {
        let sectors = self.ftl.info.sectors;
        let is_whole = |&(n, place, count): &Run| (place.slot, count, self.buffer_of(n).1) == (0, sectors, 0);
        let follows = |pair: &[Run]| {
            let [before, after] = [pair[0].1.page, pair[1].1.page];
            is_whole(&pair[1])
                && before.lane < after.lane
                && (before.group(), before.page) == (after.group(), after.page)
        };
        match runs.first() {
            Some(first) if is_whole(first) => 1 + runs.windows(2).take_while(|pair| follows(pair)).count(),
            _ => 0,
        }
    }
    fn read_row(&self, state: &mut State, pages: &[Run], reads: &mut Vec<PageRead>) {
        let ftl = &self.ftl;
        let at = pages[0].1.page;
        let mut members = [NO_BLOCK; LANES_MAX];
        let spans: Vec<Span> =
            pages.iter().map(|&(_, place, count)| ftl.span(state, place.page, 0, count)).collect();
        for span in &spans {
            members[usize::from(span.page.lane)] = span.block;
            ftl.note_read(state, span.page);
            state.groups.accessed(span.page.group());
        }
        let ticket = ftl.flash.read_row(RowSpan {
            group: at.group(),
            page: at.page,
            members,
            buffers: pages.iter().map(|&(n, ..)| self.buffer_of(n).0).collect(),
            records: vec![],
            parity: None,
        });
        let of_page = |(index, (span, &(n, ..))): (usize, (Span, &Run))| PageRead {
            n,
            span,
            ticket: Rc::clone(&ticket),
            of_row: Some(index),
        };
        reads.extend(spans.into_iter().zip(pages).enumerate().map(of_page));
    }
    /// What a read from this sector on has found. A page that a row's command couldn't bring is read by
    /// itself, since the command doesn't say which of its sectors are lost.
    async fn records_of(&self, read: PageRead, sector: u32) -> Records {
        let PageRead { n, span, ticket, of_row } = read;
        let ftl = &self.ftl;
        let done = ticket.done(&ftl.exec).await;
        ftl.note_corrected(sector, SectorPlace { page: span.page, slot: span.first }, done.corrected);
        match of_row {
            None => done.records,
            Some(index) if done.is_good_on(span.page.lane) => ticket.of_row(index),
            Some(_) => {
                ftl.count(|stats| stats.flash_reads.host += 1);
                ftl.note_read(&mut ftl.state.borrow_mut(), span.page);
                ftl.flash.read(span, self.buffer_of(n).0, 0).done(&ftl.exec).await.records
            }
        }
    }
    /// Moves the bytes of a part between the window's buffers and the host, a page at a time, or those of a
    /// page into `aside`.
    async fn transfer(
        &self,
        command: &HostCommand,
        part: Part,
        direction: DmaDirection,
        aside: Option<BufferId>,
    ) -> Ended {
        let page = u32::from(self.ftl.info.sectors) * SECTOR_BYTES as u32;
        let mut at = 0;
        while at < part.bytes {
            let here = part.skip + at;
            let length = (part.bytes - at).min(page - here % page);
            let request = DmaRequest {
                command: command.id,
                direction,
                part: DmaPart::Data,
                offset: part.done as u32 + at,
                buffer: aside.unwrap_or(BufferId(self.first + here / page)),
                buffer_offset: here % page,
                length,
                after: None,
            };
            let (told, buffer) = (&self.ftl.told, request.buffer.0);
            let task = told.task();
            let (from_host, compare) = (direction == DmaDirection::FromHost, command.op == HostOp::Compare);
            let queued = || Event::TransferQueued { task, from_host, bytes: length, buffer, compare };
            told.emit(queued);
            let moved = self.ftl.commands.dma(request).await;
            let ended = || Event::TransferEnded { task, failed: moved.is_err() };
            told.emit(ended);
            moved.map_err(|_| (HostStatus::DataTransfer, None))?;
            at += length;
        }
        Ok(())
    }
    async fn compare(&self, command: &HostCommand, part: Part) -> Ended {
        let sectors = u32::from(self.ftl.info.sectors);
        let page = sectors * SECTOR_BYTES as u32;
        let ratio = SECTOR_BYTES / self.ftl.config.content.sector_len();
        let (mut at, end) = (part.skip, part.skip + part.bytes);
        while at < end {
            let bytes = (end - at).min(page - at % page);
            let of_page =
                Part { skip: at % page, bytes, done: part.done + u64::from(at - part.skip), ..part };
            self.transfer(command, of_page, DmaDirection::FromHost, Some(self.side)).await?;
            let range = (at % page) as usize / ratio..(at % page + bytes) as usize / ratio;
            let buffers = self.ftl.buffers.borrow();
            let stored = &buffers.page(BufferId(self.first + at / page))[range.clone()];
            if stored != &buffers.page(self.side)[range] {
                return Err((HostStatus::CompareFailure, None));
            }
            at += bytes;
        }
        Ok(())
    }

    // ---- writes ----

    /// Whether a write becomes composite pages: it is large, and nothing of it was written lately (H22).
    fn gathered(&self, offset: u64, length: u64) -> Gathered {
        let Some(composite) = self.ftl.config.composite.filter(|_| self.ftl.config.raid.is_none()) else {
            return Gathered::Page;
        };
        let (first, end) = (offset / SECTOR_BYTES as u64, (offset + length).div_ceil(SECTOR_BYTES as u64));
        let (first, count) = (first as u32, (end - first) as u32);
        let recent = &mut self.ftl.state.borrow_mut().recent;
        let is_cold = length >= u64::from(composite.bytes) && recent.has_none_of(first, count);
        recent.note(first, count);
        if is_cold { Gathered::Row } else { Gathered::Page }
    }
    async fn write(&self, command: &HostCommand, part: Part, gathered: Gathered) -> Ended {
        if !part.is_whole() {
            self.transfer(command, part, DmaDirection::FromHost, Some(self.side)).await?;
            return self.merge(part, false).await;
        }
        self.transfer(command, part, DmaDirection::FromHost, None).await?;
        for n in 0..part.count {
            let (buffer, slot) = self.buffer_of(n);
            let mut content = vec![];
            self.ftl.sector(buffer, slot.into(), |bytes| content.extend_from_slice(bytes));
            self.put(part.sector + n, gathered, &content).await?;
        }
        Ok(())
    }
    async fn zero(&self, part: Part, gathered: Gathered) -> Ended {
        if !part.is_whole() {
            return self.merge(part, true).await;
        }
        let content = vec![0; self.ftl.config.content.sector_len()];
        for n in 0..part.count {
            self.put(part.sector + n, gathered, &content).await?;
        }
        Ok(())
    }
    async fn put(&self, sector: u32, gathered: Gathered, content: &[u8]) -> Ended {
        let ftl = &self.ftl;
        let put = || {
            if ftl.is_stopped() {
                return Some(Err((ftl.refusal(), None)));
            }
            ftl.try_put(sector, gathered, |bytes| bytes.copy_from_slice(content)).then_some(Ok(()))
        };
        ftl.told.wait_on(&ftl.room, Wait::WriteBuffer, put).await
    }
    /// Puts a sector of which some bytes are new, from the side buffer or zeroes. If it is written meanwhile,
    /// its other bytes come from that version.
    async fn merge(&self, part: Part, zeroes: bool) -> Ended {
        let ftl = &self.ftl;
        ftl.merge.push(&ftl.exec, ()).await;
        let ended = self.merge_alone(part, zeroes).await;
        ftl.merge.try_pop(&ftl.exec);
        ended
    }
    async fn merge_alone(&self, part: Part, zeroes: bool) -> Ended {
        let ftl = &self.ftl;
        let ratio = SECTOR_BYTES / ftl.config.content.sector_len();
        let range = part.skip as usize / ratio..(part.skip + part.bytes) as usize / ratio;
        let mut new = vec![0; range.len()];
        if !zeroes {
            ftl.sector(self.side, 0, |bytes| new.copy_from_slice(&bytes[range.clone()]));
        }
        let place = || {
            let state = ftl.state.borrow();
            (state.gather.find(part.sector), state.map.place_of(part.sector))
        };
        loop {
            let before = place();
            self.load(part.sector, 1).await?;
            let mut content = vec![];
            ftl.sector(BufferId(self.first), 0, |bytes| content.extend_from_slice(bytes));
            content[range.clone()].copy_from_slice(&new);
            let put = || {
                if ftl.is_stopped() {
                    return Some(Err((ftl.refusal(), None)));
                }
                let (in_memory, on_flash) = place();
                match in_memory {
                    // It may have been written over where it lies.
                    Some(waiting) => {
                        let from = BufferId(waiting.buffer as u32);
                        ftl.sector(from, waiting.slot.into(), |bytes| content.copy_from_slice(bytes));
                        content[range.clone()].copy_from_slice(&new);
                    }
                    None if (in_memory, on_flash) != before => return Some(Ok(false)),
                    None => {}
                }
                let put = ftl.try_put(part.sector, Gathered::Page, |bytes| bytes.copy_from_slice(&content));
                put.then_some(Ok(true))
            };
            if ftl.told.wait_on(&ftl.room, Wait::WriteBuffer, put).await? {
                return Ok(());
            }
        }
    }

    /// Forgets the sectors that a range covers in whole. On the media they stay.
    fn deallocate(&self, offset: u64, length: u64) {
        let ftl = &self.ftl;
        let bytes_of = SECTOR_BYTES as u64;
        let state = &mut *ftl.state.borrow_mut();
        for sector in offset.div_ceil(bytes_of)..(offset + length) / bytes_of {
            state.gather.forget(sector as u32);
            ftl.moved(state, sector as u32, None);
        }
        ftl.work.wake_all(&ftl.exec);
    }

    // ---- format ----

    /// Forgets everything: pages up to the present sequence number don't count any more. Groups are erased
    /// when they are opened, or now if the host asks for it.
    async fn format(&self, erase: bool) -> Ended {
        let ftl = &self.ftl;
        let alone = || {
            let state = &mut *ftl.state.borrow_mut();
            let first = !state.closed;
            state.closed = true;
            first.then_some(())
        };
        ftl.gate.wait(&ftl.exec, alone).await;
        // What is in memory may need room that only collection makes.
        let ended = || (ftl.state.borrow().commands == 0 || ftl.is_stopped()).then_some(());
        ftl.gate.wait(&ftl.exec, ended).await;
        let stored = ftl.flush().await;
        ftl.state.borrow_mut().quiet = true;
        let quiet = || {
            let state = ftl.state.borrow();
            let stores = state.keeping.as_ref().is_some_and(|keeping| keeping.stores);
            (!state.collecting && !stores || ftl.is_stopped()).then_some(())
        };
        ftl.gate.wait(&ftl.exec, quiet).await;
        let formatted = stored && !ftl.is_stopped();
        if formatted {
            {
                let state = &mut *ftl.state.borrow_mut();
                state.root = Root { clean: false, floor: state.sequence };
                state.sequence += 1;
                state.root.write(&ftl.nvram);
                state.map.clear();
                state.frontier.reset();
                state.groups.forget_all();
            }
        }
        let formatted = formatted && (!erase || self.erase_all().await);
        {
            let state = &mut *ftl.state.borrow_mut();
            (state.closed, state.quiet) = (false, false);
        }
        ftl.wake_all();
        if formatted { Ok(()) } else { Err((ftl.refusal(), None)) }
    }
    /// Erases all groups, those of a number on all dies at a time. Returns whether nothing is left: a block
    /// that went bad in use can't be erased.
    async fn erase_all(&self) -> bool {
        let ftl = &self.ftl;
        let groups = ftl.state.borrow().groups.all();
        let mut erased = !ftl.state.borrow().groups.has_lost();
        for some in groups.chunks(ftl.dies()) {
            let mut tickets = vec![];
            for &at in some {
                let state = &mut *ftl.state.borrow_mut();
                if state.groups.state(at) == GroupState::Free {
                    tickets.push((at, ftl.erase(state, at)));
                }
            }
            for (at, ticket) in tickets {
                let done = ticket.done(&ftl.exec).await;
                let done = if done.lost { ftl.erase_surely(at).await } else { done };
                let failed = done.failed;
                erased &= failed == 0 && done.code.is_ok();
                let state = &mut *ftl.state.borrow_mut();
                for lane in (0..LANES_MAX as u8).filter(|lane| failed >> lane & 1 != 0) {
                    ftl.failed(state, at.page(0, lane));
                }
            }
        }
        ftl.tell_wear();
        erased
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_bytes_of_a_sector_or_whole_sectors_up_to_the_next_window() {
        let all = |offset, length| parts(offset, length, 8).collect::<Vec<_>>();
        let part = |sector, count, skip, bytes, done| Part { sector, count, skip, bytes, done };
        assert_eq!(all(4096, 4096), [part(1, 1, 0, 4096, 0)]);
        assert_eq!(all(512, 1024), [part(0, 1, 512, 1024, 0)]);
        assert_eq!(
            all(7 * 4096 - 512, 2 * 4096 + 1024),
            [
                part(6, 1, 3584, 512, 0),
                part(7, 1, 0, 4096, 512),
                part(8, 1, 0, 4096, 4608),
                part(9, 1, 0, 512, 8704)
            ]
        );
        assert_eq!(all(0, 0), []);
    }
}
