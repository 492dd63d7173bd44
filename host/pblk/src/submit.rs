//! Sends write and erase commands, each in a task of its own.

use crate::attach::is_lost;
use crate::ftl::{Ftl, Job, count};
use crate::media;
use crate::ring::Position;
use crate::shape::{LineId, SectorAddr};
use alloc::rc::Rc;
use alloc::vec;
use aster_openchannel::{ADDRESSES_MAX, METADATA_BYTES, VectorError};

/// Bytes of a sector's metadata.
pub(crate) const OOB: usize = METADATA_BYTES as usize;

/// Carries out one job after the other.
pub(crate) async fn run(ftl: Rc<Ftl>) {
    let most = (ftl.config.per_write(&ftl.shape)).max(ftl.shape.unit_sectors()) as usize;
    let mut data = vec![0; most * ftl.config.content.sector_len()];
    let mut oob = vec![0; most * OOB];
    loop {
        match ftl.jobs.pop(&ftl.exec).await {
            Job::Data { job, first, entries, sectors, count } => {
                let sectors = &sectors[..usize::from(count)];
                if ftl.send_data(first, entries, sectors, &mut data, &mut oob).await {
                    ftl.retire(job);
                }
                ftl.give_back(sectors).await;
            }
            Job::Meta { unit, bytes, from, is_head } => {
                ftl.send_meta(unit, &bytes[from..], is_head, &mut data, &mut oob).await;
            }
            Job::Pad { first } => ftl.send_pad(first, &mut data, &mut oob).await,
            Job::Erase { line, lun } => ftl.send_erase(line, lun).await,
        }
    }
}

impl Ftl {
    /// Sends sectors of the write buffer. Returns whether they have been written.
    async fn send_data(
        &self,
        first: Position,
        entries: u8,
        sectors: &[SectorAddr],
        data: &mut [u8],
        oob: &mut [u8],
    ) -> bool {
        let len = self.config.content.sector_len();
        let (data, oob) = (&mut data[..sectors.len() * len], &mut oob[..sectors.len() * OOB]);
        let line = self.shape.line_of(sectors[0]);
        let users = self.gather(first, entries, line, data, oob);
        count(&self.counters.vectors, 1);
        let ended = self.write(sectors, data, oob).await;
        match &ended {
            Ok(()) => {
                let mut state = self.state.borrow_mut();
                (first..first + u64::from(entries)).for_each(|at| state.ring.written(at));
            }
            Err(_) => {
                self.state.borrow_mut().fail_from(first);
            }
        }
        self.write_ended(sectors, &ended);
        if ended.is_ok() {
            let page = u64::from(self.shape.unit_sectors());
            let pages = sectors.len() as u64 / page * u64::from(self.shape.planes());
            let of_users = if entries == 0 { 0 } else { pages * u64::from(users) / u64::from(entries) };
            self.count(|stats| {
                stats.flash_programs.host += of_users;
                stats.flash_programs.gc += pages - of_users;
                stats.flash_bytes_written += (sectors.len() * media::SECTOR_BYTES) as u64;
            });
        }
        ended.is_ok()
    }
    /// Copies sectors of the write buffer, with what their metadata say. Returns how many are the host's.
    fn gather(&self, first: Position, entries: u8, line: LineId, data: &mut [u8], oob: &mut [u8]) -> u8 {
        let state = self.state.borrow();
        let (len, sequence) = (self.config.content.sector_len(), state.lines.sequence(line));
        let mut users = 0;
        data.fill(0);
        for (n, oob) in oob.as_chunks_mut::<OOB>().0.iter_mut().enumerate() {
            *oob = media::oob(sequence, None);
            if n < usize::from(entries) {
                let (block, is_user, bytes) = state.ring.at(first + n as u64);
                data[n * len..][..len].copy_from_slice(bytes);
                *oob = media::oob(sequence, Some(block));
                users += u8::from(is_user);
            }
        }
        users
    }
    async fn send_meta(
        &self,
        unit: SectorAddr,
        bytes: &[u8],
        is_head: bool,
        data: &mut [u8],
        oob: &mut [u8],
    ) {
        let sectors = self.sectors_of(unit);
        let sectors = &sectors[..self.shape.unit_sectors() as usize];
        let len = self.config.content.sector_len();
        let (data, oob) = (&mut data[..sectors.len() * len], &mut oob[..sectors.len() * OOB]);
        media::kept(self.config.content, bytes, data);
        let line = self.shape.line_of(unit);
        let sequence = self.state.borrow().lines.sequence(line);
        oob.as_chunks_mut::<OOB>().0.fill(media::oob(sequence, None));
        let ended = self.write(sectors, data, oob).await;
        {
            let state = &mut *self.state.borrow_mut();
            state.lines.let_go(line);
            match (&ended, &mut state.open) {
                (Ok(()), Some(open)) if is_head => open.has_head = true,
                // Without a head the line is of no use. Nothing else is on it yet.
                (Err(_), _) if is_head => {
                    state.fail_from(state.ring.taken());
                }
                _ => {}
            }
        }
        self.write_ended(sectors, &ended);
        if ended.is_ok() {
            self.count(|stats| {
                stats.flash_programs.metadata += u64::from(self.shape.planes());
                stats.flash_bytes_written += (sectors.len() * media::SECTOR_BYTES) as u64;
            });
        }
        self.give_back(sectors).await;
    }
    async fn send_pad(&self, first: SectorAddr, data: &mut [u8], oob: &mut [u8]) {
        let sectors = self.sectors_of(first);
        let sectors = &sectors[..self.shape.page_sectors() as usize];
        let len = self.config.content.sector_len();
        let (data, oob) = (&mut data[..sectors.len() * len], &mut oob[..sectors.len() * OOB]);
        let line = self.shape.line_of(first);
        data.fill(0);
        oob.as_chunks_mut::<OOB>().0.fill(media::oob(self.state.borrow().lines.sequence(line), None));
        let ended = self.write(sectors, data, oob).await;
        {
            let state = &mut *self.state.borrow_mut();
            state.lines.let_go(line);
            if ended.is_err() {
                // The line ends here.
                state.fail_from(state.ring.taken());
            }
        }
        self.write_ended(sectors, &ended);
        if ended.is_ok() {
            self.count(|stats| {
                stats.flash_programs.metadata += 1;
                stats.flash_bytes_written += (sectors.len() * media::SECTOR_BYTES) as u64;
            });
        }
        self.give_back(sectors).await;
    }
    fn sectors_of(&self, unit: SectorAddr) -> [SectorAddr; ADDRESSES_MAX] {
        let mut sectors = [unit; ADDRESSES_MAX];
        sectors.iter_mut().zip(unit.0..).for_each(|(to, n)| *to = SectorAddr(n));
        sectors
    }
    /// A write is no longer in flight. Chunks whose sectors couldn't be written are lost.
    fn write_ended(&self, sectors: &[SectorAddr], ended: &Result<(), VectorError>) {
        {
            let mut state = self.state.borrow_mut();
            state.writes -= 1;
            state.chunk_failed |= ended.as_ref().is_err_and(|error| !is_lost(error));
        }
        match ended {
            Ok(()) => {}
            Err(VectorError::Failed { failed, .. }) if *failed != 0 => {
                for (n, &sector) in sectors.iter().enumerate() {
                    if failed >> n & 1 != 0 {
                        self.lose(self.shape.line_of(sector), self.shape.lun_of(sector));
                    }
                }
            }
            Err(error) if error.is_block_refused() => self.note_refused(sectors),
            Err(error) if is_lost(error) => {}
            Err(error) => self.fail(error),
        }
        self.work.wake_all(&self.exec);
        self.collect.wake_all(&self.exec);
    }
    /// A write was refused for one of its blocks. Usually the block was lost while the write waited for its
    /// LUN; otherwise the drive knows more than this FTL, and none of these chunks can be used.
    fn note_refused(&self, sectors: &[SectorAddr]) {
        let chunk = |sector: &SectorAddr| (self.shape.line_of(*sector), self.shape.lun_of(*sector));
        let is_known = {
            let state = self.state.borrow();
            sectors.iter().map(chunk).any(|(line, lun)| state.lines.is_bad(line, lun))
        };
        if !is_known {
            sectors.iter().map(chunk).for_each(|(line, lun)| self.lose(line, lun));
        }
    }

    /// Gives LUNs back after a write. Each first erases its chunk of the next line (O11).
    async fn give_back(&self, sectors: &[SectorAddr]) {
        for unit in sectors.chunks(self.shape.unit_sectors() as usize) {
            let lun = self.shape.lun_of(unit[0]);
            let next = self.state.borrow().next.as_ref().map(|next| next.line);
            match next.filter(|&line| self.begin_erase(lun, line)) {
                Some(line) => {
                    count(&self.counters.erased_ahead, 1);
                    self.send_erase(line, lun).await;
                }
                None => self.free_lun(lun),
            }
        }
    }
    fn free_lun(&self, lun: u32) {
        self.state.borrow_mut().busy[lun as usize] -= 1;
        self.work.wake_all(&self.exec);
    }

    /// Erases a chunk of the next line, whose LUN has been taken.
    async fn send_erase(&self, line: LineId, lun: u32) {
        let ended = self.erase(line, lun).await;
        let mut full = false;
        match ended {
            Ok(()) => self.count(|stats| stats.flash_erases.gc += u64::from(self.shape.planes())),
            Err(VectorError::Failed { .. }) => {
                self.lose(line, lun);
                // It may hold what it held before.
                let state = &mut *self.state.borrow_mut();
                let noted = state.spent.add(state.lines.chunk(line, lun));
                full = !noted;
            }
            Err(error) => self.fail(&error),
        }
        if full {
            self.fail_full();
        }
        if let Some(next) = self.state.borrow_mut().next.as_mut().filter(|next| next.line == line) {
            next.in_flight -= 1;
        }
        self.free_lun(lun);
    }
}
