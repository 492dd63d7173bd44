//! The host's commands.

use crate::cache::{Cache, count};
use crate::discard::touched;
use crate::lower::{Ended, RUN};
use crate::pages::Room;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{DataMover, DataPart, data_parts};
use aster_ports::host::{Completion, DmaDirection, HostCommand, HostOp, HostStatus};
use aster_units::{BufferId, SECTOR_BYTES};
use core::ops::Range;

/// Serves one command after the other, with page buffer `id`.
pub(crate) async fn run(cache: Rc<Cache>, id: u32) {
    let data = vec![0; RUN as usize * cache.content.sector_len()];
    let mut work = Worker { buffer: BufferId(id), data };
    loop {
        let command = cache.commands.next_command().await;
        cache.began(&command);
        cache.core.charge(cache.command_cycles);
        cache.core.settle().await;
        let ended = cache.serve(&command, &mut work).await;
        let (status, failed_at) = match ended {
            Ok(()) => (HostStatus::Success, None),
            Err(failed) => failed,
        };
        cache.ended(&command);
        cache.commands.complete(Completion { failed_at, ..Completion::new(command.id, status) });
    }
}

/// Reads the runs that sequential readers will want.
pub(crate) async fn read_ahead(cache: Rc<Cache>) {
    loop {
        let mut blocks = cache.ahead.pop(&cache.exec).await;
        while let Some(run) = cache.begin_run(blocks.clone()) {
            blocks.start = run.end;
            count(&cache.counters.read_ahead, (run.end - run.start).into());
            // Who wants a block that could not be read ahead reads it, and is told.
            let _ = cache.read_run(run).await;
        }
    }
}

struct Worker {
    buffer: BufferId,
    /// Up to 32 sectors of a command.
    data: Vec<u8>,
}

/// The parts of a range of bytes.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = DataPart> {
    data_parts(offset, length, RUN)
}

impl Cache {
    async fn serve(&self, command: &HostCommand, work: &mut Worker) -> Ended {
        if let HostOp::Format { .. } = command.op {
            return self.format(command.op).await;
        }
        let enter = || {
            let gate = &mut *self.gate.borrow_mut();
            gate.inside += u32::from(!gate.closed);
            (!gate.closed).then_some(())
        };
        self.gates.wait(&self.exec, enter).await;
        let ended = self.carry_out(command, work).await;
        self.gate.borrow_mut().inside -= 1;
        self.gates.wake_all(&self.exec);
        ended
    }

    async fn carry_out(&self, command: &HostCommand, work: &mut Worker) -> Ended {
        let HostCommand { op, offset, length, fua, .. } = *command;
        match op {
            HostOp::Read => {
                self.look_ahead(offset, length);
                for part in parts(offset, length) {
                    self.load(part, work).await?;
                    self.transfer(command, part, DmaDirection::ToHost, work).await?;
                }
                Ok(())
            }
            HostOp::Compare => {
                for part in parts(offset, length) {
                    self.load(part, work).await?;
                    self.compare(command, part, work).await?;
                }
                Ok(())
            }
            HostOp::Write => {
                for part in parts(offset, length) {
                    self.transfer(command, part, DmaDirection::FromHost, work).await?;
                    self.put(part, work).await?;
                }
                self.settle(offset, length, fua).await
            }
            HostOp::WriteZeroes { .. } => {
                self.write_zeroes(op, (offset, length), fua).await?;
                self.settle(offset, length, fua).await
            }
            HostOp::Deallocate => {
                let ranges: Vec<_> = (0..).map_while(|n| self.commands.range(command.id, n)).collect();
                self.deallocate(&ranges).await
            }
            HostOp::Flush => self.waiting(self.flush()).await,
            HostOp::Shutdown => {
                // Whatever can't be written back, the drive is shut down.
                let cleaned = self.clean().await;
                cleaned.and(self.lower.carry_out(HostOp::Shutdown, 0, 0, false).await)
            }
            _ => Err((HostStatus::Refused, None)),
        }
    }

    /// Waits until a range is on flash, if it must be.
    async fn settle(&self, offset: u64, length: u64, fua: bool) -> Ended {
        if !fua || length == 0 {
            return Ok(());
        }
        let settled = async {
            self.clean_range(touched(offset, length)).await?;
            self.lower.carry_out(HostOp::Flush, 0, 0, false).await
        };
        self.waiting(settled).await
    }

    /// Has the blocks read that a sequential reader will want next.
    fn look_ahead(&self, offset: u64, length: u64) {
        let blocks = touched(offset, length);
        let ahead = self.readers.borrow_mut().read(blocks.start, blocks.end, self.blocks);
        if !ahead.is_empty() {
            // With so much to do already, it isn't done.
            let _ = self.ahead.try_push(&self.exec, ahead);
        }
    }

    /// Brings the sectors of a part into `work.data`.
    async fn load(&self, part: DataPart, work: &mut Worker) -> Ended {
        let mut first = true;
        let len = self.content.sector_len();
        loop {
            let lacking = {
                let mut pages = self.pages.borrow_mut();
                let mut lacking = 0;
                for (block, into) in part.sectors().zip(work.data.chunks_exact_mut(len)) {
                    match pages.read(block) {
                        Some(data) => into.copy_from_slice(data),
                        None => lacking += 1,
                    }
                }
                lacking
            };
            if core::mem::take(&mut first) {
                count(&self.counters.hits, u64::from(part.count) - lacking);
                count(&self.counters.misses, lacking);
            }
            if lacking == 0 {
                return Ok(());
            }
            self.waiting(self.read_lacking(part.sectors())).await?;
        }
    }
    /// Reads the blocks of a range that the cache lacks, and waits for those that others read.
    pub(crate) async fn read_lacking(&self, blocks: Range<u32>) -> Ended {
        let mut runs: [Option<Range<u32>>; RUN as usize] = [const { None }; RUN as usize];
        let mut from = blocks.start;
        let mut count = 0;
        while let Some(run) = self.begin_run(from..blocks.end) {
            from = run.end;
            runs[count] = Some(run);
            count += 1;
        }
        // All that was begun is read, whatever fails: others wait for it.
        let mut ended = Ok(());
        for run in runs.into_iter().flatten() {
            if self.read_run(run.clone()).await.is_err() {
                // Which of them it was is found one by one.
                for block in run {
                    if let Some(block) = self.begin_run(block..block + 1) {
                        ended = ended.and(self.read_run(block).await);
                    }
                }
            }
        }
        ended?;
        let read = || {
            let pages = self.pages.borrow();
            let others = blocks.clone().any(|block| pages.is_reading(block));
            let has_room = count > 0 || blocks.clone().all(|block| pages.knows(block)) || pages.has_room();
            (!others && has_room).then_some(())
        };
        self.changed.wait(&self.exec, read).await;
        Ok(())
    }

    /// Puts the sectors of a part into the cache. Parts go in one after the other, in the order in which
    /// they came here.
    async fn put(&self, part: DataPart, work: &Worker) -> Ended {
        let turn = self.turns.0.replace(self.turns.0.get() + 1);
        let is_up = || (self.turns.1.get() == turn).then_some(());
        if is_up().is_none() {
            self.wait_on(&self.changed, is_up).await;
        }
        let ended = self.put_in_turn(part, work).await;
        self.turns.1.set(turn + 1);
        self.changed.wake_all(&self.exec);
        self.dirtied();
        ended
    }
    async fn put_in_turn(&self, part: DataPart, work: &Worker) -> Ended {
        let len = self.content.sector_len();
        let ratio = SECTOR_BYTES / len;
        for (block, data) in part.sectors().zip(work.data.chunks_exact(len)) {
            let within = part.of_sector(block);
            let within = within.start / ratio..within.end.div_ceil(ratio);
            loop {
                self.await_room(block).await?;
                let now = self.exec.now();
                let room = {
                    let mut pages = self.pages.borrow_mut();
                    match within.len() == len {
                        true => pages.write(block, data, now),
                        false if pages.write_part(block, within.start, &data[within.clone()], now) => {
                            Room::Valid
                        }
                        false => Room::None,
                    }
                };
                match room {
                    Room::Valid | Room::Taken => break,
                    Room::None if within.len() < len => {
                        self.waiting(self.read_lacking(block..block + 1)).await?;
                    }
                    Room::Reading | Room::None => {
                        let ready = || {
                            let pages = self.pages.borrow();
                            (!pages.is_reading(block) && (pages.knows(block) || pages.has_room()))
                                .then_some(())
                        };
                        self.wait_on(&self.changed, ready).await;
                    }
                }
            }
        }
        Ok(())
    }
    /// Waits until one more page may be dirty.
    async fn await_room(&self, block: u32) -> Ended {
        let ready = || {
            if let Err(failed) = self.writable() {
                return Some(Err(failed));
            }
            let pages = self.pages.borrow();
            let has_room = pages.unclean() < self.limit || pages.is_dirty(block);
            (has_room && !self.is_locked(block)).then_some(Ok(()))
        };
        if let Some(now) = ready() {
            return now;
        }
        count(&self.counters.throttled, 1);
        self.dirtied();
        self.wait_on(&self.changed, ready).await
    }

    /// Forgets everything, and has the target forget it.
    async fn format(&self, op: HostOp) -> Ended {
        let alone = || {
            let gate = &mut *self.gate.borrow_mut();
            let first = !gate.closed;
            gate.closed |= first;
            first.then_some(())
        };
        self.gates.wait(&self.exec, alone).await;
        let quiet = || (self.gate.borrow().inside == 0).then_some(());
        self.gates.wait(&self.exec, quiet).await;
        let all = 0..self.blocks;
        let ended = self.change(core::slice::from_ref(&all), self.lower.carry_out(op, 0, 0, false)).await;
        if ended.is_ok() {
            // What could not be written is no loss.
            self.forgive();
        }
        self.gate.borrow_mut().closed = false;
        self.gates.wake_all(&self.exec);
        ended
    }

    fn mover(&self) -> DataMover<'_> {
        let Cache { exec, commands, buffers, recorder, .. } = self;
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
}
