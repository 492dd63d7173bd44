//! The writer: takes sectors out of the write buffer, in order, and gives them addresses.

use crate::ftl::{Ftl, Job, Next, Open, State, count};
use crate::media;
use crate::ring::Position;
use crate::shape::{LineId, SectorAddr};
use crate::told::Operation;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_openchannel::ADDRESSES_MAX;

/// Writes as long as there is something to write.
pub(crate) async fn run(ftl: Rc<Ftl>) {
    // The job of the data that is written next: whoever waits for that waits for what is done before it.
    let mut job = ftl.next_job();
    loop {
        ftl.work.wait(&ftl.exec, || ftl.has_work().then_some(())).await;
        if ftl.is_failed() {
            return;
        }
        if ftl.state.borrow().failed_from.is_some() {
            ftl.write_anew().await;
        } else if ftl.state.borrow().open.is_none() {
            ftl.open_line(job).await;
        } else if !ftl.state.borrow().pads.is_empty() {
            ftl.pad_open_line().await;
        } else {
            job = ftl.write_some(job).await;
        }
    }
}

impl Ftl {
    fn has_work(&self) -> bool {
        let state = self.state.borrow();
        let (waiting, _) = state.ring.waiting();
        let enough = waiting >= self.config.per_write(&self.shape) as usize;
        let flushed = waiting > 0 && state.flush_to > state.ring.taken();
        state.failed_from.is_some() || enough || flushed || self.is_failed()
    }

    /// Lets everything that was in flight when a write failed end, and has what was behind it written anew,
    /// in the same order: on another line if a chunk was lost, or else behind what is on the open one.
    async fn write_anew(&self) {
        self.work.wait(&self.exec, || (self.state.borrow().writes == 0).then_some(())).await;
        let mut closed = None;
        let line = {
            let state = &mut *self.state.borrow_mut();
            state.is_void = false;
            state.pads.clear();
            let State { ring, lines, .. } = state;
            // What came before the first sector in the buffer is on flash. A write that failed may have been
            // no sector's of the buffer.
            let from = state.failed_from.expect("a write failed").max(ring.sync());
            let before = ring.taken();
            ring.rewind(from, |sector| lines.let_go(self.shape.line_of(sector)));
            count(&self.counters.rewritten, before - from);
            let line = state.open.take().map(|open| open.line);
            let ends_here = core::mem::take(&mut state.chunk_failed);
            line.filter(|&line| {
                if ends_here {
                    lines.urge(line);
                    lines.close(line);
                    closed = Some(line);
                }
                !ends_here
            })
        };
        if closed.is_some_and(|line| !self.release_empty(line)) {
            return self.fail_full();
        }
        if let Some(line) = line {
            match self.scan_open(line).await {
                Ok(scan) => self.resume_open(line, &scan),
                Err(why) => return self.fail(&why),
            }
        }
        {
            // If the drive has lost its power once more, it is looked up anew.
            let state = &mut *self.state.borrow_mut();
            if !state.is_void {
                state.failed_from = None;
            }
        }
        self.choose_next();
        self.collect.wake_all(&self.exec);
    }

    /// A line of which nothing counts is free at once. Collection would come to it only after the line that
    /// it is moving, and what it moves may have no other line to go to. Returns `false` if there is no room
    /// to note its bad chunks.
    fn release_empty(&self, line: LineId) -> bool {
        let state = &mut *self.state.borrow_mut();
        let is_empty = state.lines.valid_count(line) == 0 && state.lines.is_idle(line);
        !is_empty || state.release(line, self.shape.luns())
    }
    /// Opens the next line: all of its chunks are erased, and then its head is written.
    async fn open_line(&self, job: u32) {
        let line = self.job_waits(job, Wait::Room, self.next_line()).await;
        if self.is_failed() {
            return;
        }
        self.job_waits(job, Wait::Erase, self.erase_next(job, line)).await;
        if self.is_failed() {
            return;
        }
        let sequence = {
            let state = &mut *self.state.borrow_mut();
            state.next = None;
            if state.lines.data_sectors(line) == 0 {
                // Too many of its blocks couldn't be erased.
                let noted = state.release(line, self.shape.luns());
                if !noted {
                    self.fail_full();
                }
                return;
            }
            let sequence = state.sequence;
            state.sequence += 1;
            state.lines.open(line, sequence);
            let left = state.lines.data_sectors(line) / self.shape.unit_sectors();
            let blocks = Vec::with_capacity(self.shape.line_sectors() as usize);
            state.open = Some(Open { line, unit: 0, left, blocks, has_head: false });
            sequence
        };
        let head = {
            let state = self.state.borrow();
            media::head(&self.shape, &state.lines, line, sequence)
        };
        self.write_meta(job, head.into(), true).await;
        let is_there = || {
            let state = self.state.borrow();
            let written = state.open.as_ref().is_some_and(|open| open.has_head);
            (written || state.failed_from.is_some() || self.is_failed()).then_some(())
        };
        self.work.wait(&self.exec, is_there).await;
        self.choose_next();
    }
    /// Erases what hasn't been erased of the next line, and waits for the end of all its erases.
    async fn erase_next(&self, job: u32, line: LineId) {
        for lun in 0..self.shape.luns() {
            self.erase_ahead(job, lun, line).await;
        }
        let is_erased = || {
            let state = self.state.borrow();
            let next = state.next.as_ref().expect("it was chosen");
            (next.in_flight == 0 || self.is_failed()).then_some(())
        };
        self.work.wait(&self.exec, is_erased).await;
    }
    /// Before the open line's last units are given away, the next line is erased in whole, also where the
    /// open line has no chunk whose writes would bring the erase along. If the power went between
    /// the two, the
    /// media could hold no erased sector: deallocated blocks are back on lines that were free.
    async fn prepare_end(&self, job: u32) {
        let is_near = {
            let state = self.state.borrow();
            let open = state.open.as_ref().expect("a line is open");
            open.left <= self.shape.luns() && state.next.is_some()
        };
        if is_near {
            let line = self.job_waits(job, Wait::Room, self.next_line()).await;
            if !self.is_failed() {
                self.job_waits(job, Wait::Erase, self.erase_next(job, line)).await;
            }
        }
    }
    /// Waits until there is a line to write next.
    async fn next_line(&self) -> LineId {
        let chosen = || {
            self.choose_next();
            let state = self.state.borrow();
            let idle = |next: &Next| state.lines.is_idle(next.line).then_some(next.line);
            let line = state.next.as_ref().and_then(idle);
            // Collection waits for the copies in the buffer, and they for a line.
            let starves = state.next.is_none() && state.moving;
            drop(state);
            if starves {
                self.state.borrow_mut().starved = true;
                self.be_read_only();
                self.wake_all();
            }
            line.or(self.is_failed().then_some(LineId(0)))
        };
        self.work.wait(&self.exec, chosen).await
    }
    pub(crate) fn choose_next(&self) {
        let state = &mut *self.state.borrow_mut();
        if state.next.is_none()
            && let Some(line) = state.lines.choose_next()
        {
            let begun = vec![false; self.shape.luns() as usize];
            state.next = Some(Next { line, begun, in_flight: 0 });
        }
    }
    /// Erases a LUN's chunk of the next line before `job`, if that hasn't begun.
    async fn erase_ahead(&self, job: u32, lun: u32, line: LineId) {
        if !self.begin_erase(lun, line) {
            return;
        }
        self.take_lun(job, Operation::Erase, self.shape.unit(line, 0, lun)).await;
        self.jobs.push(&self.exec, Job::Erase { line, lun }).await;
    }
    /// Notes that a LUN's chunk of the next line is erased from now on. `false` if there is nothing to do.
    pub(crate) fn begin_erase(&self, lun: u32, line: LineId) -> bool {
        let state = &mut *self.state.borrow_mut();
        if state.lines.is_bad(line, lun) || !state.lines.is_idle(line) {
            return false;
        }
        let Some(next) = state.next.as_mut().filter(|next| next.line == line) else { return false };
        let begins = !core::mem::replace(&mut next.begun[lun as usize], true);
        next.in_flight += u32::from(begins);
        begins
    }

    /// Waits until a page's LUN has no write and no erase in flight, and counts one (C90).
    pub(crate) async fn take_lun(&self, task: u32, operation: Operation, page: SectorAddr) {
        self.queued(task, operation, page);
        let lun = self.shape.lun_of(page);
        let is_free = || {
            let mut state = self.state.borrow_mut();
            let busy = &mut state.busy[lun as usize];
            let free = *busy == 0 || !self.config.one_write_per_lun;
            *busy += u32::from(free);
            free.then_some(())
        };
        if is_free().is_none() {
            count(&self.counters.lun_waits, 1);
            self.work.wait(&self.exec, is_free).await;
        }
    }

    /// The next unit of the open line. `None` behind its end, which comes too early if a chunk was lost
    /// meanwhile.
    fn next_unit(&self) -> Option<SectorAddr> {
        let state = &mut *self.state.borrow_mut();
        let open = state.open.as_mut().expect("a line is open");
        loop {
            let (page, lun) = (open.unit / self.shape.luns(), open.unit % self.shape.luns());
            if page >= self.shape.pages() {
                return None;
            }
            open.unit += 1;
            if !state.lines.is_bad(open.line, lun) {
                return Some(self.shape.unit(open.line, page, lun));
            }
        }
    }
    /// The unit that was taken last is taken again next.
    fn give_unit_back(&self, unit: SectorAddr) {
        let state = &mut *self.state.borrow_mut();
        let open = state.open.as_mut().expect("a line is open");
        open.unit -= 1;
        assert_eq!(open.unit % self.shape.luns(), self.shape.lun_of(unit), "it is the last one");
    }
    /// Writes units of a head or tail.
    async fn write_meta(&self, job: u32, bytes: Rc<[u8]>, is_head: bool) {
        let of_unit = self.shape.unit_sectors() as usize * media::SECTOR_BYTES;
        for from in (0..bytes.len()).step_by(of_unit) {
            let Some(unit) = self.next_unit() else { return };
            self.take_lun(job, Operation::Program, unit).await;
            {
                let mut state = self.state.borrow_mut();
                state.lines.hold(self.shape.line_of(unit));
                state.writes += 1;
            }
            let bytes = Rc::clone(&bytes);
            self.jobs.push(&self.exec, Job::Meta { unit, bytes, from, is_head }).await;
        }
    }

    /// Sends one write command, `job`, with what waits in the buffer. Returns the next one.
    async fn write_some(&self, job: u32) -> u32 {
        self.prepare_end(job).await;
        let unit_sectors = self.shape.unit_sectors();
        let units = {
            let state = self.state.borrow();
            let (waiting, _) = state.ring.waiting();
            let open = state.open.as_ref().expect("a line is open");
            let most = (self.config.per_write(&self.shape) / unit_sectors).min(open.left);
            (waiting as u32).div_ceil(unit_sectors).min(most)
        };
        let (mut sectors, mut count_all) = ([SectorAddr(0); ADDRESSES_MAX], 0);
        for _ in 0..units {
            let Some(first) = self.next_unit() else { break };
            let lun_of = |sector: &SectorAddr| self.shape.lun_of(*sector);
            let is_taken =
                sectors[..count_all as usize].iter().any(|sector| lun_of(sector) == lun_of(&first));
            if self.config.one_write_per_lun && is_taken {
                // It would wait for itself: the line has fewer LUNs than the vector could have units.
                self.give_unit_back(first);
                break;
            }
            self.take_lun(job, Operation::Program, first).await;
            for n in 0..unit_sectors {
                sectors[(count_all + n) as usize] = SectorAddr(first.0 + n);
            }
            count_all += unit_sectors;
        }
        if count_all == 0 {
            self.close_line(job).await;
            return job;
        }
        let (first, entries) = self.give_addresses(&sectors[..count_all as usize]);
        self.room.wake_all(&self.exec);
        let job = Job::Data { job, first, entries, sectors, count: count_all as u8 };
        self.jobs.push(&self.exec, job).await;
        let next = self.next_job();
        let is_full = self.state.borrow().open.as_ref().is_some_and(|open| open.left == 0);
        if is_full {
            self.close_line(next).await;
        }
        next
    }
    /// Gives the sectors that wait their addresses. Returns the first one's place in the buffer, and how many
    /// of the addresses it takes: what is left is padding.
    fn give_addresses(&self, sectors: &[SectorAddr]) -> (Position, u8) {
        let state = &mut *self.state.borrow_mut();
        let (waiting, _) = state.ring.waiting();
        let (first, entries) = (state.ring.taken(), waiting.min(sectors.len()));
        let open = state.open.as_mut().expect("a line is open");
        for &sector in &sectors[..entries] {
            let (block, _) = state.ring.take(sector);
            open.blocks.push(block);
            state.lines.hold(open.line);
        }
        open.blocks.resize(open.blocks.len() + sectors.len() - entries, media::NO_BLOCK);
        open.left -= sectors.len() as u32 / self.shape.unit_sectors();
        state.writes += 1;
        count(&self.counters.padded, (sectors.len() - entries) as u64);
        (first, entries as u8)
    }
    /// Writes the open line's tail. Nothing comes behind it. A line of which a write has failed gets none:
    /// what is on it is looked up by the metadata of its sectors.
    async fn close_line(&self, job: u32) {
        if !self.config.one_write_per_lun {
            // Of several units in flight on a LUN the last may end well although one before it has failed,
            // and the tail would be believed.
            let ended = || (self.state.borrow().writes == 0 || self.is_failed()).then_some(());
            self.work.wait(&self.exec, ended).await;
        }
        if self.state.borrow().failed_from.is_some() {
            return self.end_line();
        }
        let tail = {
            let state = self.state.borrow();
            let open = state.open.as_ref().expect("a line is open");
            media::tail(&self.shape, &state.lines, open.line, &open.blocks)
        };
        self.write_meta(job, tail.into(), false).await;
        self.end_line();
    }
    fn end_line(&self) {
        let state = &mut *self.state.borrow_mut();
        if let Some(open) = state.open.take() {
            state.lines.close(open.line);
        }
        self.collect.wake_all(&self.exec);
    }
}
