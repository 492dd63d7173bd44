//! Garbage collection: on demand, one worker per LUN, copies within the LUN (P5, G12).

use crate::collector::state::Collector;
use crate::mapping::{Mapping, MappingFault, pin};
use crate::terms::block::{BlockIndex, BlockState, Stream};
use crate::terms::cause::Cause;
use crate::terms::oob::{COPIES, OobRecord, PageKind};
use crate::terms::sizes::{PAGES_PER_WORD_LINE_MAX, PROGRAM_ATTEMPTS};
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use aster_events::{Event, Function};
use aster_parties::DriveState;
use aster_ports::flash::{FlashStatus, Tag};
use aster_units::{BufferId, Lpn, LunIndex, Ppa, Upa};

/// Erases between two reports of wear.
const ERASES_A_REPORT: u64 = 1024;

/// A page on its way out of a victim.
struct Move<P> {
    buffer: BufferId,
    from: Ppa,
    tag: Tag,
    stage: MoveStage<P>,
}

/// A page stays pinned from the moment in which it has been read until the map has its new place.
enum MoveStage<P> {
    Reading,
    Programming { pin: P, to: Ppa, attempt: u32 },
}

/// The result of one stage of a move.
enum MoveResult<P> {
    /// The move has ended: the page is stale, or stands in its new place.
    Over,
    /// The page has been read and is to be programmed; `attempt` counts the programs that have failed.
    Program { pin: P, attempt: u32 },
}

/// A page that has been read and waits for others to be programmed with it.
struct Ready<P> {
    buffer: BufferId,
    from: Ppa,
    pin: P,
    attempt: u32,
}

/// The pages that a LUN is moving, oldest first, and the free buffers.
struct Moves<P> {
    in_flight: VecDeque<Move<P>>,
    ready: VecDeque<Ready<P>>,
    // Programs that complete the word lines of those in flight.
    padding: VecDeque<(Ppa, Tag)>,
    buffers: VecDeque<BufferId>,
}

/// Why a block is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    /// The LUN needs free blocks, or the block is failing.
    Room,
    /// Wear levelling: other blocks are worn more.
    Wear,
    /// Refresh: its data must be written again before they become unreadable.
    Refresh,
}

/// A block that is being collected.
#[derive(Clone, Copy)]
struct Victim {
    block: BlockIndex,
    reason: Reason,
}

/// The LUN has no free page for a copy.
struct NoRoom;

/// Collects the garbage of one LUN, for ever.
pub(crate) async fn run<M: Mapping>(collector: Rc<Collector<M>>, lun: LunIndex) {
    let depth = u32::from(collector.journal.config.gc_depth);
    let mut moves = Moves {
        in_flight: VecDeque::with_capacity(depth as usize),
        ready: VecDeque::with_capacity(depth as usize),
        padding: VecDeque::with_capacity(PAGES_PER_WORD_LINE_MAX),
        buffers: (0..depth).map(|slot| BufferId(collector.journal.config.gc_buffer(lun.0, slot))).collect(),
    };
    collector.journal.booted().await;
    loop {
        let victim = collector.journal.blocks().wait_collector(lun, || collector.begin_victim(lun)).await;
        let Victim { block: victim, reason } = victim;
        let emptied = collector.empty(lun, victim, reason, &mut moves).await;
        match emptied {
            Ok(()) => {
                collector.release_sources(lun, victim, &mut moves).await;
                collector.journal.blocks().table_mut().journal_moves(victim);
                collector.journal.count(|s| {
                    s.levelled += u64::from(reason == Reason::Wear);
                    s.refreshed += u64::from(reason == Reason::Refresh);
                });
                collector.reuse(lun, victim).await;
            }
            Err(NoRoom) => {
                // There may still be room: a block may have lost its last valid page in the meantime, and an
                // erase may have ended.
                let hope = {
                    let mut blocks = collector.journal.blocks().table_mut();
                    blocks.return_victim(victim);
                    // The moves made so far are journaled, although the victim is not empty yet.
                    blocks.journal_deferred(lun);
                    let soon = blocks.has_empty(lun) || blocks.is_erasing(lun);
                    soon || blocks.has_room_for_copies(lun) || reason != Reason::Room
                };
                if !hope {
                    collector.end_writes(lun);
                }
            }
        }
        collector.gc_active.set(collector.gc_active.get() - 1);
        collector.journal.end_collection();
        collector.look_for_empty(lun);
    }
}

impl<M: Mapping> Collector<M> {
    /// Chooses a victim if the LUN needs one.
    fn begin_victim(&self, lun: LunIndex) -> Option<Victim> {
        // No block can be erased without a log, which must record the erase.
        if self.journal.blocks().is_gc_paused()
            || self.journal.state() == DriveState::Failed
            || self.journal.log_has_ended()
        {
            return None;
        }
        let mut blocks = self.journal.blocks().table_mut();
        let scarce = blocks.free(lun) <= self.gc_free_blocks.get() as usize;
        // The only block that will be free is still being erased. A victim chosen now would find no room.
        let soon = blocks.is_erasing(lun) && blocks.free(lun) == 0 && !blocks.has_empty(lun);
        if blocks.is_full(lun) || soon {
            return None;
        }
        let mut ahead = || {
            if blocks.has_failing(lun) {
                return None;
            }
            let refresh =
                blocks.take_for_refresh(lun, scarce).map(|block| Victim { block, reason: Reason::Refresh });
            let wear = || blocks.take_cold(lun, scarce).map(|block| Victim { block, reason: Reason::Wear });
            refresh.or_else(wear)
        };
        let victim = match ahead() {
            None if !scarce && !blocks.has_failing(lun) => {
                if !self.erases_ahead[lun.index()].take() {
                    return None;
                }
                Some(Victim { block: blocks.take_empty_of(lun)?, reason: Reason::Room })
            }
            None => blocks.take_victim(lun).map(|block| Victim { block, reason: Reason::Room }),
            ahead => ahead,
        };
        let Some(victim) = victim else {
            let stuck = blocks.is_stuck(lun) && self.journal.blocks().is_room_wanted(lun);
            drop(blocks);
            if stuck {
                self.end_writes(lun);
            }
            return None;
        };
        let (block, valid) = (blocks.block_addr(victim.block), blocks.valid(victim.block));
        if victim.reason != Reason::Room {
            blocks.works_ahead(lun);
        }
        blocks.copies_out_of(victim.block);
        drop(blocks);
        self.gc_active.set(self.gc_active.get() + 1);
        self.journal.count(|s| s.gc_runs += 1);
        self.journal.emit(|| Event::VictimChosen { lun: lun.0, block: block.0, valid });
        Some(victim)
    }
    /// The LUN can't take another write: makes the drive read-only, and wakes everyone who waits for room.
    #[cold]
    fn end_writes(&self, lun: LunIndex) {
        self.journal.blocks().table_mut().set_full(lun);
        self.journal.set_state(DriveState::ReadOnly);
        self.journal.blocks().room_changed(lun);
        self.journal.any_entry_waiters().wake_all(self.journal.exec());
    }
    /// Moves all valid pages out of a block. Reads run ahead of programs.
    async fn empty(
        &self,
        lun: LunIndex,
        victim: BlockIndex,
        reason: Reason,
        moves: &mut Moves<M::Pin>,
    ) -> Result<(), NoRoom> {
        let first = self.journal.blocks().table().first_page(victim);
        let mut next = first.0;
        let end = first.0 + u32::from(self.journal.geometry.pages_per_block);
        let mut result = Ok(());
        loop {
            if moves.ready.len() >= self.journal.config.pages_at_once() as usize {
                result = result.and(self.program_ready(lun, moves).await);
            }
            // Levelling and refresh are not urgent: they move one page at a time, with pauses for the host.
            if reason != Reason::Room && next < end && moves.in_flight.is_empty() {
                self.pause_between_moves(lun).await;
            }
            while next < end
                && result.is_ok()
                && (reason == Reason::Room || moves.in_flight.is_empty())
                && let Some(&buffer) = moves.buffers.front()
            {
                let from = Ppa(next);
                next += 1;
                if self.is_wanted(from) {
                    moves.buffers.pop_front();
                    let whole = self.journal.pages().whole();
                    let tag = self.journal.blocks().begin_read(from, whole, buffer, Cause::Gc).await;
                    moves.in_flight.push_back(Move { buffer, from, tag, stage: MoveStage::Reading });
                }
            }
            if moves.in_flight.is_empty() && !moves.ready.is_empty() {
                // The word line is completed by a page of the next victim, or by padding if there is none.
                if result.is_err() || !self.begin_one_more(lun, moves).await {
                    result = result.and(self.program_ready(lun, moves).await);
                }
                continue;
            }
            let Some(oldest) = moves.in_flight.pop_front() else { break };
            let (buffer, from) = (oldest.buffer, oldest.from);
            let was_read = matches!(oldest.stage, MoveStage::Reading);
            match self.advance(lun, oldest).await {
                Ok(MoveResult::Over) => moves.buffers.push_back(buffer),
                Ok(MoveResult::Program { pin, attempt }) => {
                    moves.ready.push_back(Ready { buffer, from, pin, attempt });
                }
                Err(NoRoom) => {
                    moves.buffers.push_back(buffer);
                    result = Err(NoRoom);
                }
            }
            if !was_read {
                self.journal.padded(moves.padding.drain(..)).await;
            }
        }
        result
    }
    /// Begins to read a page of the block that will be collected next. False if there is none.
    async fn begin_one_more(&self, lun: LunIndex, moves: &mut Moves<M::Pin>) -> bool {
        let taken = |ppa| moves.ready.iter().any(|ready| ready.from == ppa);
        let from = self.journal.blocks().table_mut().page_to_copy(lun, taken);
        let Some(from) = from else { return false };
        let Some(buffer) = moves.buffers.pop_front() else { return false };
        let tag =
            self.journal.blocks().begin_read(from, self.journal.pages().whole(), buffer, Cause::Gc).await;
        moves.in_flight.push_back(Move { buffer, from, tag, stage: MoveStage::Reading });
        true
    }
    /// Begins to program pages that have been read, as many as are programmed together.
    async fn program_ready(&self, lun: LunIndex, moves: &mut Moves<M::Pin>) -> Result<(), NoRoom> {
        let count = moves.ready.len().min(self.journal.config.pages_at_once() as usize);
        let mut buffers = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        let mut copies = [(Lpn(0), Upa::NONE); PAGES_PER_WORD_LINE_MAX];
        for (at, ready) in moves.ready.iter().take(count).enumerate() {
            (buffers[at], copies[at]) =
                (ready.buffer, (self.mapping.page(&ready.pin), self.journal.units.first_in(ready.from)));
        }
        let (from, copies) = (&buffers[..count], &copies[..count]);
        let begun = self
            .journal
            .begin_programs(
                lun,
                Stream::Gc,
                from,
                copies,
                |lpn, from| self.mapping.place_of_pinned(lpn) == from,
                Cause::Gc,
            )
            .await;
        let going = moves.ready.drain(..count);
        let Some(programs) = begun else {
            moves.buffers.extend(going.map(|ready| ready.buffer));
            return Err(NoRoom);
        };
        for (Ready { buffer, from, pin, attempt }, (to, tag)) in going.zip(programs.data()) {
            let stage = MoveStage::Programming { pin, to, attempt };
            moves.in_flight.push_back(Move { buffer, from, tag, stage });
        }
        moves.padding.extend(programs.padding());
        Ok(())
    }
    /// Waits for the operation of a move's stage. The result says what comes next.
    async fn advance(&self, lun: LunIndex, at: Move<M::Pin>) -> Result<MoveResult<M::Pin>, NoRoom> {
        match at.stage {
            MoveStage::Reading => {
                let outcome = self.journal.media().done(at.tag).await;
                self.journal.spend(Function::GarbageCollector, self.journal.config.costs.move_page);
                let whole = self.journal.pages().whole();
                let (mut lost, mut record) = self.journal.media().judge(&outcome, whole, at.buffer);
                let owner = match &record {
                    Some(record) => self.named_owner(record, at.from).await,
                    None => Ok(None),
                };
                if !self.is_wanted(at.from) {
                    return Ok(MoveResult::Over);
                }
                let owner = match owner {
                    // On a damaged medium a page's record may name another logical page than the map does.
                    // Then its data are lost. This is rare enough to search the whole map.
                    Ok(None) => {
                        if record.take().is_some() {
                            lost = whole.mask();
                        }
                        self.owner_by_map(at.from).await
                    }
                    owner => owner,
                };
                let pin = match owner {
                    Ok(Some(pin)) => pin,
                    Ok(None) => return Ok(MoveResult::Over),
                    // The map can't say whether the page is needed, so its block must stay as it is.
                    Err(MappingFault { .. }) => {
                        self.end_writes(lun);
                        return Err(NoRoom);
                    }
                };
                self.note_copy(self.mapping.page(&pin), record, lost, at.buffer);
                // Sectors that were lost after the page had been written are not noted in its record yet.
                match record {
                    Some(record) if outcome.failed_sectors != 0 => {
                        let again = record.lost_sectors & outcome.failed_sectors;
                        let lost = self.journal.pages().take_notes(
                            at.buffer,
                            again,
                            self.journal.pages().failed_granules(&outcome),
                        );
                        self.journal.pages().note_lost(at.buffer, lost);
                    }
                    Some(_) => {}
                    None => self.journal.pages().note_lost(at.buffer, self.journal.pages().whole_page()),
                }
                Ok(MoveResult::Program { pin, attempt: 0 })
            }
            MoveStage::Programming { pin, to, attempt } => {
                if self.journal.program_done(to, at.tag).await {
                    // If the host has written or unmapped the page in the meantime, the copy is garbage.
                    if self.mapping.get(&pin) != self.journal.units.first_in(at.from) {
                        self.journal.blocks().line_durable(to);
                    } else {
                        self.mapping.moved(&pin, self.journal.units.first_in(to));
                        let lpn = self.mapping.page(&pin);
                        self.journal.emit(|| Event::PageMoved { lpn: lpn.0, ppa: to.0 });
                    }
                    return Ok(MoveResult::Over);
                }
                match attempt + 1 {
                    _ if self.mapping.get(&pin) != self.journal.units.first_in(at.from) => {
                        Ok(MoveResult::Over)
                    }
                    PROGRAM_ATTEMPTS => Err(NoRoom),
                    attempt => Ok(MoveResult::Program { pin, attempt }),
                }
            }
        }
    }
    /// A pin on the logical page that a record names, if the map has it at `from`.
    async fn named_owner(&self, record: &OobRecord, from: Ppa) -> Result<Option<M::Pin>, MappingFault> {
        if record.kind != PageKind::Data || record.lpn >= self.mapping.pages() {
            return Ok(None);
        }
        let pin = pin!(self.mapping, Lpn(record.lpn))?;
        Ok((self.mapping.get(&pin) == self.journal.units.first_in(from)).then_some(pin))
    }
    /// A pin on the logical page that the map has at `from`.
    #[cold]
    async fn owner_by_map(&self, from: Ppa) -> Result<Option<M::Pin>, MappingFault> {
        let Some(lpn) = self.mapping.find(self.journal.units.first_in(from)).await else { return Ok(None) };
        let pin = pin!(self.mapping, lpn)?;
        // The host may have written or unmapped the page in the meantime.
        Ok((self.mapping.get(&pin) == self.journal.units.first_in(from)).then_some(pin))
    }
    /// Whether a page of a victim must be copied: it is neither stale nor replaced.
    fn is_wanted(&self, from: Ppa) -> bool {
        self.journal.blocks().table().counts_in(from)
    }
    /// Turns the record in the buffer of a page read from a victim into that of a copy. It notes lost
    /// sectors, so that the damage stays visible.
    fn note_copy(&self, lpn: Lpn, record: Option<OobRecord>, lost: u16, buffer: BufferId) {
        let unknown = OobRecord { kind: PageKind::Data, lpn: lpn.0, sequence: 0, lost_sectors: 0, copy: 0 };
        let record = record.unwrap_or(unknown);
        let copy = (record.copy + 1) % COPIES;
        OobRecord { lost_sectors: lost, copy, ..record }
            .encode(self.journal.pages().dram().borrow_mut().oob_mut(buffer));
    }
    /// Waits until no loss of power can undo the programs that have replaced pages of a block. A page of the
    /// next victim, or padding, completes a word line that garbage collection itself has begun.
    async fn release_sources(&self, lun: LunIndex, victim: BlockIndex, moves: &mut Moves<M::Pin>) {
        while self.journal.blocks().table().valid(victim) > 0 {
            let begun = self.is_line_begun(lun, Stream::Gc);
            if !begun && self.collects_ahead.get() && self.is_line_begun(lun, Stream::Host) {
                self.journal.pad_line(lun, Stream::Host).await;
            } else if !begun {
                self.journal.blocks().wait_durable(lun).await;
            } else if !self.copy_one(lun, moves).await {
                self.journal.pad_line(lun, Stream::Gc).await;
            }
        }
    }
    /// Moves one page out of the block that will be collected next. False if no page can be moved.
    async fn copy_one(&self, lun: LunIndex, moves: &mut Moves<M::Pin>) -> bool {
        let from = self.journal.blocks().table_mut().page_to_copy(lun, |_| false);
        let Some((from, buffer)) = from.zip(moves.buffers.front().copied()) else { return false };
        let whole = self.journal.pages().whole();
        let tag = self.journal.blocks().begin_read(from, whole, buffer, Cause::Gc).await;
        let mut at = Move { buffer, from, tag, stage: MoveStage::Reading };
        let mut copied = false;
        loop {
            match self.advance(lun, at).await {
                Ok(MoveResult::Over) => return copied,
                Ok(MoveResult::Program { pin, attempt }) => {
                    let copies = [(self.mapping.page(&pin), self.journal.units.first_in(from))];
                    let begun = self
                        .journal
                        .begin_programs(
                            lun,
                            Stream::Gc,
                            &[buffer],
                            &copies,
                            |lpn, from| self.mapping.place_of_pinned(lpn) == from,
                            Cause::Gc,
                        )
                        .await;
                    // Pages of a line that was begun are programmed one by one, so there is no padding.
                    let Some(programs) = begun else { return false };
                    let (to, tag) = programs.first();
                    let stage = MoveStage::Programming { pin, to, attempt };
                    (at, copied) = (Move { buffer, from, tag, stage }, true);
                }
                Err(NoRoom) => return false,
            }
        }
    }
    /// Erases a block that holds no valid page, or retires it.
    async fn reuse(&self, lun: LunIndex, block: BlockIndex) {
        self.journal.blocks().wait_unread(lun, block).await;
        let (state, addr) = {
            let blocks = self.journal.blocks().table();
            (blocks.state(block), blocks.block_addr(block))
        };
        // Trims are journaled before the erase. Otherwise a loss of power could leave a map that has trimmed
        // pages in the erased block.
        if self.journal.log_trims().await.is_err() {
            return self.journal.blocks().table_mut().return_victim(block);
        }
        let erased = state == BlockState::Closed && {
            let buffer = BufferId(self.journal.config.gc_buffer(lun.0, 0));
            self.journal.erase(lun, addr, buffer).await.status == FlashStatus::Done
        };
        if erased {
            self.journal.blocks().table_mut().erased(block);
            if self.journal.stats().flash_erases.total().is_multiple_of(ERASES_A_REPORT) {
                self.journal.media_changed();
            }
        } else {
            self.journal.retire(lun, block);
        }
        self.journal.blocks().room_changed(lun);
        self.journal.room_for_map_changed();
    }
    /// Collects until each LUN has more than `free` free blocks, or until collecting gains nothing. Nothing
    /// else may be in work.
    pub(crate) async fn collect_ahead(&self, free: u32) {
        self.gc_free_blocks.set(free.max(self.journal.config.gc_free_blocks));
        // Garbage collection that waits for a word line of the host has to complete it now.
        self.collects_ahead.set(true);
        for lun in (0..self.journal.geometry.total_luns()).map(LunIndex) {
            self.journal.blocks().durable_changed(lun);
        }
        for lun in (0..self.journal.geometry.total_luns()).map(LunIndex) {
            loop {
                let (enough, gain) = {
                    let blocks = self.journal.blocks().table();
                    let gain = blocks.has_victim(lun) && !blocks.is_full(lun);
                    (blocks.free(lun) > free as usize, gain && !self.journal.log_has_ended())
                };
                let active = self.gc_active.get();
                if enough || (!gain && active == 0) {
                    break;
                }
                self.journal.blocks().ask_collector(lun);
                let mut waited = false;
                self.journal.collection_ended(|| core::mem::replace(&mut waited, true).then_some(())).await;
            }
        }
        self.collects_ahead.set(false);
        self.gc_free_blocks.set(self.journal.config.gc_free_blocks);
    }
    /// Whether a stream has begun a word line of a LUN and not completed it.
    fn is_line_begun(&self, lun: LunIndex, stream: Stream) -> bool {
        self.journal.blocks().table().next_of_line(lun, stream).is_some()
    }
    /// Keeps new victims from being chosen, and waits until none is being collected.
    pub(crate) async fn pause_gc(&self) {
        self.journal.blocks().pause_gc();
        // A collector may wait for an open word line that no one else will complete.
        self.journal.pad_lines().await;
        self.journal.collection_ended(|| (self.gc_active.get() == 0).then_some(())).await;
        self.journal.pad_lines().await;
        // Journals the moves out of victims that could not be emptied.
        for lun in (0..self.journal.geometry.total_luns()).map(LunIndex) {
            self.journal.blocks().table_mut().journal_deferred(lun);
        }
    }
}
