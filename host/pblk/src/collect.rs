//! Collection: what is valid on a line goes through the write buffer to another one (G15, P30).

use crate::ftl::Ftl;
use crate::media::parse_oob;
use crate::ring::Kind;
use crate::shape::{LineId, SectorAddr};
use crate::submit::OOB;
use alloc::rc::Rc;
use alloc::vec;
use aster_openchannel::{ADDRESSES_MAX, VectorError};
use aster_parties::DriveState;

/// Collects lines as long as there are too few free ones.
pub(crate) async fn run(ftl: Rc<Ftl>) {
    let mut data = vec![0; ADDRESSES_MAX * ftl.config.content.sector_len()];
    let mut oob = vec![0; ADDRESSES_MAX * OOB];
    loop {
        let victim = ftl.collect.wait(&ftl.exec, || ftl.next_victim()).await;
        if ftl.is_failed() {
            return;
        }
        ftl.chosen(victim);
        ftl.empty(victim, &mut data, &mut oob).await;
        ftl.end_collection(victim);
        ftl.work.wake_all(&ftl.exec);
        ftl.room.wake_all(&ftl.exec);
        ftl.gate.wake_all(&ftl.exec);
    }
}

impl Ftl {
    /// The line to collect now, if one is to be collected.
    fn next_victim(&self) -> Option<LineId> {
        if self.is_failed() {
            return Some(LineId(0));
        }
        let state = &mut *self.state.borrow_mut();
        let available = self.available(state);
        if state.closed || state.starved || available >= self.collect_below() {
            return None;
        }
        let Some(victim) = state.lines.victim(available.clamp(0, u32::MAX.into()) as u32) else {
            // What waits for more to come stays in the buffer: it has its room.
            let is_settled = state.failed_from.is_none() && state.writes == 0;
            if available <= self.reserve() && is_settled && self.condition.get() == DriveState::Ready {
                self.be_read_only();
            }
            return None;
        };
        state.collecting = true;
        Some(victim)
    }

    fn end_collection(&self, victim: LineId) {
        let noted = {
            let state = &mut *self.state.borrow_mut();
            (state.collecting, state.moving) = (false, false);
            let is_empty = state.lines.valid_count(victim) == 0 && state.lines.is_idle(victim);
            self.count(|stats| stats.gc_runs += u64::from(is_empty));
            !is_empty || state.release(victim, self.shape.luns())
        };
        if !noted {
            return self.fail_full();
        }
        // A line is erased while the one before it is written, so that one that was opened always has an
        // erased one beside it, whenever the power goes.
        if self.state.borrow().open.is_some() {
            self.choose_next();
        }
    }

    /// Copies what is valid on a line, and waits until nothing is, and nobody works with the line.
    async fn empty(&self, victim: LineId, data: &mut [u8], oob: &mut [u8]) {
        let mut index = 0;
        let mut is_stuck = false;
        while let Some((sectors, count)) = self.valid_from(victim, &mut index) {
            let sectors = &sectors[..count];
            let lost = self.read_valid(sectors, data, oob).await;
            if self.is_failed() {
                return;
            }
            is_stuck |= lost != 0;
            for (n, &sector) in sectors.iter().enumerate().filter(|(n, _)| lost >> n & 1 == 0) {
                let (_, block) = parse_oob(oob.as_chunks::<OOB>().0[n..][..1].first().expect("one each"));
                let len = self.config.content.sector_len();
                is_stuck |= !self.move_sector(sector, block, &data[n * len..][..len]).await;
            }
        }
        if is_stuck {
            self.state.borrow_mut().lines.stick(victim);
        }
        let (end, moving) = {
            let state = self.state.borrow();
            (state.ring.head(), state.moving)
        };
        // Without a copy nothing waits for the writer, which may wait for this line.
        if moving {
            self.flush_to(end).await;
        }
        let is_done = || {
            let state = self.state.borrow();
            let idle = state.lines.is_idle(victim);
            let empty = state.lines.valid_count(victim) == 0 || is_stuck;
            (idle && empty || self.is_failed() || state.starved).then_some(())
        };
        self.collect.wait(&self.exec, is_done).await;
    }
    fn valid_from(&self, line: LineId, index: &mut u32) -> Option<([SectorAddr; ADDRESSES_MAX], usize)> {
        let state = self.state.borrow();
        let (mut sectors, mut count) = ([SectorAddr(0); ADDRESSES_MAX], 0);
        while count < ADDRESSES_MAX
            && let Some(sector) = state.lines.next_valid(line, *index)
        {
            sectors[count] = sector;
            count += 1;
            *index = self.shape.index_of(sector) + 1;
        }
        (count > 0).then_some((sectors, count))
    }
    /// Reads sectors of a victim. Returns a bit for each that can't be read.
    async fn read_valid(&self, sectors: &[SectorAddr], data: &mut [u8], oob: &mut [u8]) -> u64 {
        let len = self.config.content.sector_len();
        let (data, oob) = (&mut data[..sectors.len() * len], &mut oob[..sectors.len() * OOB]);
        let ended = self.read(sectors, data, oob).await;
        self.count(|stats| stats.flash_reads.gc += sectors.len() as u64);
        match ended {
            Ok(()) => 0,
            Err(error) if error.is_high_ecc() => 0,
            Err(VectorError::Failed { failed, .. }) if failed != 0 => failed,
            Err(error) => {
                self.fail(&error);
                u64::MAX
            }
        }
    }
    /// Puts a sector of a victim into the write buffer, unless there is a newer version of its block. Returns
    /// `false` if its metadata name another block than its line's tail: nobody knows what it holds, and the
    /// block that the map has there can't be read.
    async fn move_sector(&self, from: SectorAddr, block: Option<u32>, data: &[u8]) -> bool {
        let moved = || {
            let state = &mut *self.state.borrow_mut();
            let here = |block: &u32| *block < state.map.blocks() && state.map.get(*block) == Some(from);
            let Some(block) = block.filter(here) else { return Some(!state.lines.is_valid(from)) };
            // A version in the buffer is newer, and comes before this copy: it would look older.
            if state.ring.holds(block) {
                state.moving = true;
                return Some(true);
            }
            if state.ring.room() == 0 {
                return (self.is_failed() || state.starved).then_some(true);
            }
            state.moving = true;
            state.ring.push(block, Kind::Moved { from }, data);
            self.work.wake_all(&self.exec);
            Some(true)
        };
        self.room.wait(&self.exec, moved).await
    }
}
