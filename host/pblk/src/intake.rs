//! The host's commands.

use crate::ftl::Ftl;
use crate::media::{SECTOR_BYTES, parse_oob};
use crate::record::Left;
use crate::shape::{LineId, SectorAddr};
use crate::submit::OOB;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_openchannel::{ADDRESSES_MAX, VectorError};
use aster_parties::{DataMover, DataPart, DriveState, data_parts};
use aster_ports::host::{Completion, DmaDirection, HostCommand, HostOp, HostStatus};
use aster_units::BufferId;

/// How a command ended: with a place on the drive if blocks could not be read.
type Ended = Result<(), (HostStatus, Option<u64>)>;

/// Serves one command after the other, with page buffer `id`.
pub(crate) async fn run(ftl: Rc<Ftl>, id: u32) {
    let mut work = Worker {
        buffer: BufferId(id),
        data: vec![0; ADDRESSES_MAX * ftl.config.content.sector_len()],
        part: vec![0; ADDRESSES_MAX * ftl.config.content.sector_len()],
        read: vec![0; ADDRESSES_MAX * ftl.config.content.sector_len()],
        oob: vec![0; ADDRESSES_MAX * OOB],
    };
    loop {
        let command = ftl.commands.next_command().await;
        ftl.began(&command);
        ftl.core.charge(ftl.command_cycles);
        ftl.core.settle().await;
        let ended = ftl.serve(&command, &mut work).await;
        let (status, failed_at) = match ended {
            Ok(()) => (HostStatus::Success, None),
            Err(failed) => failed,
        };
        ftl.ended(&command);
        ftl.count(|stats| stats.commands += 1);
        ftl.commands.complete(Completion { failed_at, ..Completion::new(command.id, status) });
    }
}

struct Worker {
    buffer: BufferId,
    /// Up to 64 sectors of a command.
    data: Vec<u8>,
    /// What the host writes of sectors that it doesn't write in whole.
    part: Vec<u8>,
    /// Sectors that are read from flash for it, and their metadata.
    read: Vec<u8>,
    oob: Vec<u8>,
}

/// The parts of a range of bytes.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = DataPart> {
    data_parts(offset, length, ADDRESSES_MAX as u32)
}

impl Ftl {
    async fn serve(&self, command: &HostCommand, work: &mut Worker) -> Ended {
        if let HostOp::Format { .. } = command.op {
            return self.format().await;
        }
        let enter = || {
            let mut state = self.state.borrow_mut();
            let open = !state.closed || self.is_failed();
            state.commands += u32::from(open);
            open.then_some(())
        };
        self.gate.wait(&self.exec, enter).await;
        let ended = self.carry_out(command, work).await;
        self.state.borrow_mut().commands -= 1;
        self.gate.wake_all(&self.exec);
        ended
    }
    async fn carry_out(&self, command: &HostCommand, work: &mut Worker) -> Ended {
        let HostCommand { op, offset, length, fua, .. } = *command;
        match op {
            HostOp::Read => {
                for part in parts(offset, length) {
                    self.load(part, work).await?;
                    self.transfer(command, part, DmaDirection::ToHost, work).await?;
                }
                self.count(|stats| {
                    stats.host_bytes_read += length;
                    stats.host_pages_read += length / SECTOR_BYTES as u64;
                });
                Ok(())
            }
            HostOp::Write => {
                for part in parts(offset, length) {
                    self.write_part(command, part, work).await?;
                }
                self.count(|stats| {
                    stats.host_bytes_written += length;
                    stats.host_pages_written += length / SECTOR_BYTES as u64;
                });
                self.settle(fua).await
            }
            HostOp::WriteZeroes { .. } => {
                for part in parts(offset, length) {
                    self.zero_part(part, work).await?;
                }
                self.settle(fua).await
            }
            HostOp::Compare => {
                for part in parts(offset, length) {
                    self.load(part, work).await?;
                    self.compare(command, part, work).await?;
                }
                Ok(())
            }
            HostOp::Deallocate => {
                for range in (0..).map_while(|n| self.commands.range(command.id, n)) {
                    self.deallocate(range.offset, range.length);
                }
                Ok(())
            }
            HostOp::Flush => self.settle(true).await,
            HostOp::Shutdown => {
                self.settle(true).await?;
                self.keep_record(Left::Clean);
                Ok(())
            }
            _ => Err((HostStatus::Refused, None)),
        }
    }

    /// Waits until all that the host has written is on flash, if it must be.
    async fn settle(&self, durable: bool) -> Ended {
        if durable {
            let end = self.state.borrow().ring.user_end();
            self.flush_to(end).await;
            let state = self.state.borrow();
            if state.ring.sync() < end {
                // Without a line to write to, the drive has become read-only meanwhile.
                let status = if state.starved { HostStatus::ReadOnly } else { HostStatus::WriteFault };
                return Err((status, None));
            }
        }
        if self.is_failed() { Err((HostStatus::WriteFault, None)) } else { Ok(()) }
    }

    /// Brings the sectors of a part into `work.data`.
    async fn load(&self, part: DataPart, work: &mut Worker) -> Ended {
        let len = self.config.content.sector_len();
        let (mut sectors, mut wanted, mut count) = ([SectorAddr(0); ADDRESSES_MAX], [0; ADDRESSES_MAX], 0);
        {
            let state = &mut *self.state.borrow_mut();
            for n in 0..part.count as usize {
                let (block, into) = (part.first + n as u32, &mut work.data[n * len..][..len]);
                match (state.ring.find(block), state.map.get(block)) {
                    (Some(data), _) => into.copy_from_slice(data),
                    (None, Some(sector)) if !state.ring.holds(block) => {
                        state.lines.hold(self.shape.line_of(sector));
                        (sectors[count], wanted[count]) = (sector, n);
                        count += 1;
                    }
                    _ => into.fill(0),
                }
            }
        }
        if count == 0 {
            return Ok(());
        }
        let (sectors, wanted) = (&sectors[..count], &wanted[..count]);
        let (read, oob) = (&mut work.read[..count * len], &mut work.oob[..count * OOB]);
        let ended = self.read(sectors, read, oob).await;
        self.count(|stats| stats.flash_reads.host += count as u64);
        self.let_go(sectors, ended.as_ref().is_err_and(VectorError::is_high_ecc));
        let failed = match &ended {
            Ok(()) => 0,
            Err(error) if error.is_high_ecc() => 0,
            Err(VectorError::Failed { failed, .. }) if *failed != 0 => *failed,
            Err(error) => {
                self.fail(error);
                u64::MAX
            }
        };
        for (n, &at) in wanted.iter().enumerate() {
            let block = part.first + at as u32;
            let is_its = parse_oob(&work.oob.as_chunks::<OOB>().0[n]).1 == Some(block);
            if failed >> n & 1 != 0 || !is_its {
                self.count(|stats| stats.uncorrectable_sectors += 1);
                let place = u64::from(block) * SECTOR_BYTES as u64;
                return Err((HostStatus::UnrecoveredRead, Some(place)));
            }
            work.data[at * len..][..len].copy_from_slice(&work.read[n * len..][..len]);
        }
        Ok(())
    }
    /// Reads of these sectors have ended.
    fn let_go(&self, sectors: &[SectorAddr], fades: bool) {
        let state = &mut *self.state.borrow_mut();
        for &sector in sectors {
            let line = self.shape.line_of(sector);
            state.lines.let_go(line);
            if fades {
                state.lines.urge(line);
            }
        }
        self.work.wake_all(&self.exec);
        self.collect.wake_all(&self.exec);
    }

    fn mover(&self) -> DataMover<'_> {
        let Ftl { exec, commands, buffers, recorder, .. } = self;
        DataMover { exec, commands, buffers, recorder }
    }
    /// Moves the bytes of a part between `work.data` and the host.
    async fn transfer(
        &self,
        command: &HostCommand,
        part: DataPart,
        direction: DmaDirection,
        work: &mut Worker,
    ) -> Ended {
        let moved = self.mover().transfer(command, &part, direction, work.buffer, &mut work.data).await;
        moved.map_err(|_| (HostStatus::DataTransfer, None))
    }
    async fn compare(&self, command: &HostCommand, part: DataPart, work: &mut Worker) -> Ended {
        match self.mover().compare(command, &part, work.buffer, &mut work.data).await {
            Ok(true) => Ok(()),
            Ok(false) => Err((HostStatus::CompareFailure, None)),
            Err(_) => Err((HostStatus::DataTransfer, None)),
        }
    }

    async fn write_part(&self, command: &HostCommand, part: DataPart, work: &mut Worker) -> Ended {
        if part.is_whole() {
            self.transfer(command, part, DmaDirection::FromHost, work).await?;
            return self.put(part, work).await;
        }
        self.transfer(command, part, DmaDirection::FromHost, work).await?;
        let within = part.skip / self.ratio()..(part.skip + part.bytes) / self.ratio();
        work.part[..within.len()].copy_from_slice(&work.data[within]);
        self.merge(part, false, work).await
    }
    async fn zero_part(&self, part: DataPart, work: &mut Worker) -> Ended {
        if part.is_whole() {
            work.data[..part.bytes / self.ratio()].fill(0);
            return self.put(part, work).await;
        }
        self.merge(part, true, work).await
    }
    /// Bytes of a sector for each byte that is kept of it.
    fn ratio(&self) -> usize {
        SECTOR_BYTES / self.config.content.sector_len()
    }
    /// Puts a part that doesn't cover its sectors in whole: zeroes, or what is in `work.part`. What else is
    /// in them is read when its turn is up: another command may have written it meanwhile.
    async fn merge(&self, part: DataPart, zeroes: bool, work: &mut Worker) -> Ended {
        self.await_turn().await;
        let ended = async {
            self.load(part, work).await?;
            let within = part.skip / self.ratio()..(part.skip + part.bytes) / self.ratio();
            let (into, length) = (&mut work.data[within.clone()], within.len());
            match zeroes {
                true => into.fill(0),
                false => into.copy_from_slice(&work.part[..length]),
            }
            self.put_in_turn(part, work).await
        }
        .await;
        self.end_turn();
        ended
    }
    /// Puts the sectors of a part into the write buffer as it has room. Parts go in one after the other, in
    /// the order in which they came here, so that none waits for ever while others pass it.
    async fn put(&self, part: DataPart, work: &Worker) -> Ended {
        self.await_turn().await;
        let ended = self.put_in_turn(part, work).await;
        self.end_turn();
        ended
    }
    async fn await_turn(&self) {
        self.keep_record(Left::InUse);
        let turn = self.turns.take();
        self.wait_for(&self.room, || self.turns.is_up(turn).then_some(()).ok_or(Wait::WriteBuffer)).await;
    }
    fn end_turn(&self) {
        self.turns.end();
        self.room.wake_all(&self.exec);
    }
    async fn put_in_turn(&self, part: DataPart, work: &Worker) -> Ended {
        let len = self.config.content.sector_len();
        for n in 0..part.count as usize {
            let data = &work.data[n * len..][..len];
            let put = || match self.condition.get() {
                DriveState::ReadOnly => Ok(Err((HostStatus::ReadOnly, None))),
                DriveState::Failed => Ok(Err((HostStatus::WriteFault, None))),
                _ => self.try_put(part.first + n as u32, data).map(Ok),
            };
            self.wait_for(&self.room, put).await?;
        }
        Ok(())
    }

    /// Forgets the sectors that a range covers in whole. On the media they stay.
    fn deallocate(&self, offset: u64, length: u64) {
        let sector = SECTOR_BYTES as u64;
        let (first, end) = (offset.div_ceil(sector), (offset + length) / sector);
        let state = &mut *self.state.borrow_mut();
        for block in first..end {
            state.ring.forget(block as u32);
            if let Some(before) = state.map.set(block as u32, None) {
                state.lines.invalidate(before);
                self.mapped(block as u32, None);
            }
        }
        self.collect.wake_all(&self.exec);
    }

    /// Forgets everything, and erases it.
    async fn format(&self) -> Ended {
        let alone = || {
            let mut state = self.state.borrow_mut();
            let first = !state.closed;
            state.closed |= first;
            first.then_some(())
        };
        self.gate.wait(&self.exec, alone).await;
        let quiet = || {
            let state = self.state.borrow();
            let quiet = state.commands == 0 && (!state.collecting || state.starved);
            (quiet || self.is_failed()).then_some(())
        };
        self.gate.wait(&self.exec, quiet).await;
        let (end, starved) = {
            let state = self.state.borrow();
            (state.ring.head(), state.starved)
        };
        // Of a drive that has no line left to write to, what is in the buffer goes with the rest.
        if !starved {
            self.flush_to(end).await;
            if self.state.borrow().ring.sync() < end && !self.state.borrow().starved {
                self.state.borrow_mut().closed = false;
                self.wake_all();
                return Err((HostStatus::WriteFault, None));
            }
        }
        let idle = || {
            let state = self.state.borrow();
            let at_rest = state.writes == 0 && state.busy.iter().all(|&busy| busy == 0);
            (at_rest && state.failed_from.is_none() || self.is_failed()).then_some(())
        };
        self.work.wait(&self.exec, idle).await;
        if !self.is_failed() {
            self.begin_format();
            self.forget_all();
            self.erase_all().await;
            self.keep_record(Left::InUse);
        }
        self.state.borrow_mut().closed = false;
        self.wake_all();
        if self.is_failed() { Err((HostStatus::WriteFault, None)) } else { Ok(()) }
    }
    fn forget_all(&self) {
        let state = &mut *self.state.borrow_mut();
        let crate::ftl::State { ring, lines, .. } = state;
        ring.clear(|sector| lines.let_go(self.shape.line_of(sector)));
        state.map.clear();
        state.pads.clear();
        state.starved = false;
        state.lines.invalidate_all();
        let mut full = false;
        let next = state.next.take().map(|next| next.line);
        let open = state.open.take().map(|open| open.line);
        for line in (0..self.shape.lines()).map(LineId) {
            let is_written = state.lines.state(line) == crate::lines::LineState::Closed;
            if is_written || next == Some(line) || open == Some(line) {
                full |= !state.release(line, self.shape.luns());
            }
        }
        if full {
            return self.fail_full();
        }
        if self.condition.get() == DriveState::ReadOnly {
            self.condition.set(DriveState::Ready);
        }
    }
}
