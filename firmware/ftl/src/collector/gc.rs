//! Garbage collection: on demand, as many collectors as LUNs, copies within the pool (P5, G12).

use crate::blocks::ages::Age;
use crate::blocks::table::Destination;
use crate::collector::moves::{Move, MoveResult, MoveStage, MovedUnit, Moves, Packing, Ready};
use crate::collector::state::{Collector, Post};
use crate::mapping::{Mapping, MappingFault, NoMapRoom, pin};
use crate::page::buffers::Granules;
use crate::terms::block::{BlockIndex, PoolIndex, Stream};
use crate::terms::cause::Cause;
use crate::terms::oob::{COPIES, OobRecord, PageKind, UnitRecord};
use crate::terms::sizes::{PAGES_PER_WORD_LINE_MAX, PROGRAM_ATTEMPTS};
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Function};
use aster_parties::DriveState;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::{BufferId, Lpn, LunIndex, Ppa, Upa};

/// Why a block is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    /// The pool needs free blocks, or the block is failing.
    Room,
    /// Wear levelling: other blocks are more worn.
    Wear,
    /// Refresh: its data must be written again before they become unreadable.
    Refresh,
}

/// A block that is being collected.
#[derive(Clone, Copy)]
struct Victim {
    block: BlockIndex,
    reason: Reason,
    // Its valid units when it was begun, and its age.
    valid: u32,
    age: Age,
}

impl Victim {
    fn of(block: BlockIndex, reason: Reason) -> Self {
        Victim { block, reason, valid: 0, age: Age::default() }
    }
}

/// The pool has no free page for a copy.
struct NoRoom;

/// Collects garbage as the collector with this number, which is as good as any other of its pool. Never ends.
pub(crate) async fn run<M: Mapping>(collector: Rc<Collector<M>>, number: LunIndex) {
    let of = Post { number, pool: collector.blocks.table().layout.pool_of(number) };
    let depth = collector.runtime.buffers.gc_of_a_lun();
    let per_page = collector.runtime.units.per_page() as usize;
    let mut moves = Moves {
        in_flight: VecDeque::with_capacity(depth as usize),
        ready: VecDeque::with_capacity(depth as usize),
        packing: None,
        padding: VecDeque::with_capacity(PAGES_PER_WORD_LINE_MAX),
        buffers: (0..depth).map(|slot| BufferId(collector.runtime.buffers.gc(number, slot))).collect(),
        kept: collector.runtime.buffers.gc_kept_for_packing() as usize,
        own: collector.own_buffer(number),
        room: None,
        age: Age::default(),
        lists: (0..=depth).map(|_| Vec::with_capacity(per_page)).collect(),
        copies: Vec::with_capacity(PAGES_PER_WORD_LINE_MAX * per_page),
    };
    collector.runtime.booted().await;
    loop {
        let victim = collector.blocks.collection.wait(of.pool, || collector.begin_victim(of)).await;
        let Victim { block: victim, reason, valid, age } = victim;
        moves.age = age;
        let emptied = match collector.room_for(number, victim).await {
            Ok(room) => {
                moves.room = Some(room);
                collector.empty(of, victim, reason, &mut moves).await
            }
            Err(NoMapRoom) => Err(NoRoom),
        };
        match emptied {
            Ok(()) => {
                collector.release_sources(of, victim, &mut moves).await;
                collector.blocks.table().durability.journal_moves(victim);
                collector.runtime.count(|s| {
                    s.levelled += u64::from(reason == Reason::Wear);
                    s.refreshed += u64::from(reason == Reason::Refresh);
                });
                collector.reuse(number, victim, moves.own).await;
            }
            Err(NoRoom) => {
                // There may still be room: a block may have lost its last valid page in the meantime, and an
                // erase may have ended.
                let hope = {
                    let blocks = collector.blocks.table();
                    blocks.offer(victim);
                    // The moves made so far are journaled, although the victim is not empty yet.
                    blocks.durability.journal_deferred(of.pool);
                    let others = blocks.in_work.count(of.pool) > 1;
                    let soon = blocks.candidates.has_empty(of.pool) || blocks.in_flight.is_erasing(of.pool);
                    soon || others || blocks.room.has_room_for_copies(of.pool) || reason != Reason::Room
                };
                if !hope {
                    collector.end_writes(of.pool);
                }
            }
        }
        collector.end_victim(of, victim, valid);
        moves.room = None;
        assert!(collector.gc_active.get() > 0, "a victim ends that has not begun");
        debug_assert!(moves.is_at_rest(), "a victim ends with copies in flight");
        collector.gc_active.set(collector.gc_active.get() - 1);
        collector.idle.wake(collector.runtime.exec());
        collector.look_for_empty(of.pool);
        // Others may have waited for the room that this one was promised.
        collector.blocks.collection.ask(of.pool);
    }
}

impl<M: Mapping> Collector<M> {
    /// Chooses a victim for a collector if its pool needs one.
    fn begin_victim(&self, of: Post) -> Option<Victim> {
        let pool = of.pool;
        // No block can be erased without a log, which must record the erase.
        if self.blocks.collection.is_paused()
            || self.runtime.state() == DriveState::Failed
            || self.journal.log.has_ended()
        {
            return None;
        }
        let blocks = self.blocks.table();
        let scarce = blocks.free.in_pool(pool) <= self.gc_free_blocks.get() as usize;
        // The only block that will be free is still being erased. A victim chosen now would find no room.
        let soon = blocks.free.in_pool(pool) == 0
            && blocks.in_flight.is_erasing(pool)
            && !blocks.candidates.has_empty(pool);
        if blocks.room.is_full(pool) || soon {
            return None;
        }
        // One that is empty needs no room.
        let may_copy = blocks.room.may_begin_victim(pool);
        let ahead = || {
            if blocks.evacuation.has_any(pool) || !may_copy {
                return None;
            }
            let refresh =
                blocks.take_for_refresh(pool, scarce).map(|block| Victim::of(block, Reason::Refresh));
            let wear = || blocks.take_cold(pool, scarce).map(|block| Victim::of(block, Reason::Wear));
            refresh.or_else(wear)
        };
        let victim = match ahead() {
            None if !scarce && !blocks.evacuation.has_any(pool) => {
                if !self.erases_ahead[pool.at()].take() {
                    return None;
                }
                Some(Victim::of(blocks.candidates.take_empty_of(pool)?, Reason::Room))
            }
            None if !may_copy => {
                blocks.candidates.take_empty_of(pool).map(|block| Victim::of(block, Reason::Room))
            }
            None => {
                let next = self.take_begun(of).or_else(|| blocks.take_victim(pool));
                next.map(|block| Victim::of(block, Reason::Room))
            }
            ahead => ahead,
        };
        let Some(mut victim) = victim else {
            if self.blocks.queues.is_room_wanted(pool) {
                if blocks.room.is_stuck(pool) {
                    self.end_writes(pool);
                } else if blocks.room.share_open(pool) {
                    self.blocks.queues.room_changed(pool);
                }
            }
            return None;
        };
        let (block, valid) = (blocks.layout.block_addr(victim.block), blocks.valid.in_block(victim.block));
        if victim.reason != Reason::Room {
            blocks.wear.works_ahead(pool);
        }
        victim.valid = valid;
        if valid > 0 {
            victim.age = blocks.age_of_victim(pool, victim.block);
        }
        blocks.in_work.begin(victim.block);
        blocks.refreshing.copies_out_of(victim.block);
        let lun = blocks.layout.lun_of(victim.block);
        self.blocks.pacing.begin(pool, valid.into(), blocks.layout.units_per_block().into());
        self.gc_active.set(self.gc_active.get() + 1);
        self.runtime.count(|s| s.gc_runs += 1);
        self.runtime.emit(|| {
            let config = &self.runtime.config;
            let block = config.planes().block_in_lun(lun, block).0;
            Event::VictimChosen { lun: config.planes().lun_and_plane(lun).0.0, block, valid }
        });
        // There may be work for another one.
        self.blocks.collection.ask(pool);
        Some(victim)
    }
    /// The block whose units have completed the collector's last victim, if nothing is more urgent.
    fn take_begun(&self, of: Post) -> Option<BlockIndex> {
        let (blocks, next) = (self.blocks.table(), self.begun[of.number.index()].take()?);
        let is_urgent = blocks.candidates.has_empty(of.pool) || blocks.evacuation.has_any(of.pool);
        (!is_urgent && blocks.candidates.take(next)).then_some(next)
    }
    /// A block is not being emptied any more.
    fn end_victim(&self, of: Post, victim: BlockIndex, valid: u32) {
        let blocks = self.blocks.table();
        blocks.in_work.end(victim);
        if let Some(next) = self.next_victims[of.number.index()].take() {
            blocks.offer(next);
            self.begun[of.number.index()].set(Some(next));
        }
        self.blocks.pacing.end(of.pool, valid.into(), blocks.layout.units_per_block().into());
    }
    /// The pool can't take another write: makes the drive read-only, and wakes everyone who waits for room.
    #[cold]
    fn end_writes(&self, pool: PoolIndex) {
        self.blocks.table().room.set_full(pool);
        self.journal.health.set_state(DriveState::ReadOnly);
        self.blocks.queues.room_changed(pool);
        self.blocks.queues.tell_full();
        self.blocks.queues.ask_flush();
    }
    /// Moves all valid pages out of a block. Reads run ahead of programs.
    async fn empty(
        &self,
        of: Post,
        victim: BlockIndex,
        reason: Reason,
        moves: &mut Moves<M::Pin, M::Room>,
    ) -> Result<(), NoRoom> {
        let first = self.blocks.table().layout.first_page(victim);
        let mut next = first.0;
        let end = first.0 + u32::from(self.runtime.geometry.pages_per_block);
        let mut result = Ok(());
        // The victim has been read completely: pages that are read from now on belong to the next victim.
        let mut completes = false;
        let mut portion = 0;
        loop {
            if moves.ready.len() >= self.runtime.config.lines.at_once() as usize {
                result = result.and(self.program_ready(of.pool, moves).await);
            }
            // Levelling and refresh are not urgent: they move one page at a time, with pauses for the host.
            if reason != Reason::Room && next < end && moves.in_flight.is_empty() {
                self.pause_between_moves(of.pool).await;
            }
            if reason == Reason::Room && next < end && portion == 0 && moves.in_flight.is_empty() {
                portion = self.next_portion(of.pool, next..end).await;
            }
            while next < end
                && result.is_ok()
                && (reason == Reason::Room || moves.in_flight.is_empty())
                && (reason != Reason::Room || portion > 0)
                && let Some(buffer) = self.buffer_to_read(moves, Ppa(next))
            {
                let from = Ppa(next);
                next += 1;
                if self.is_wanted(from) {
                    moves.take(buffer);
                    portion = portion.saturating_sub(1);
                    let whole = self.pages.whole();
                    let tag = self.blocks.begin_read(from, whole, buffer, Cause::Gc).await;
                    moves.in_flight.push_back(Move { buffer, from, tag, stage: MoveStage::Reading });
                }
            }
            if result.is_err() {
                self.stop_packing(moves);
            }
            if moves.in_flight.is_empty() && !(moves.ready.is_empty() && moves.packing.is_none()) {
                // Pages of the next victim complete the page and the word line. If there is none, slots stay
                // empty, and padding completes the line.
                completes = true;
                if result.is_err() || !self.begin_one_more(of, moves).await {
                    self.end_packing(moves);
                    result = result.and(self.program_ready(of.pool, moves).await);
                }
                continue;
            }
            let Some(oldest) = moves.in_flight.pop_front() else { break };
            let buffer = oldest.buffer;
            let was_read = matches!(oldest.stage, MoveStage::Reading);
            match self.advance(of.pool, oldest, moves).await {
                Ok(MoveResult::Over) => moves.give(buffer, self.data_buffers()),
                Ok(MoveResult::Program { units, .. }) if was_read && completes && moves.packing.is_some() => {
                    self.pack(moves, buffer, units, 0, completes);
                }
                Ok(MoveResult::Program { units, attempt }) => {
                    moves.ready.push_back(Ready { buffer, units, attempt });
                }
                Ok(MoveResult::Pack { units, lost }) => self.pack(moves, buffer, units, lost, completes),
                Err(NoRoom) => {
                    moves.give(buffer, self.data_buffers());
                    result = Err(NoRoom);
                }
            }
            if !was_read {
                self.journal.writer.padded(moves.padding.drain(..)).await;
            }
        }
        result
    }
    /// Begins to read a page of the block that will be collected next. Returns false if there is none.
    async fn begin_one_more(&self, of: Post, moves: &mut Moves<M::Pin, M::Room>) -> bool {
        let taken = |ppa| {
            let packed = moves.packing.iter().flat_map(|packing| &packing.units);
            let mut units = moves.ready.iter().flat_map(|ready| &ready.units).chain(packed);
            units.any(|unit| self.runtime.units.page_of(unit.from) == ppa)
        };
        let Some(from) = self.page_to_copy(of, taken) else { return false };
        let Some(buffer) = self.buffer_to_read(moves, from) else { return false };
        moves.take(buffer);
        let tag = self.blocks.begin_read(from, self.pages.whole(), buffer, Cause::Gc).await;
        moves.in_flight.push_back(Move { buffer, from, tag, stage: MoveStage::Reading });
        true
    }
    /// Begins to program as many of the pages that have been read as are programmed together.
    async fn program_ready(&self, pool: PoolIndex, moves: &mut Moves<M::Pin, M::Room>) -> Result<(), NoRoom> {
        let count = moves.ready.len().min(self.runtime.config.lines.at_once() as usize);
        let mut buffers = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        for (buffer, ready) in buffers.iter_mut().zip(&moves.ready) {
            *buffer = ready.buffer;
        }
        let mut copies = core::mem::take(&mut moves.copies);
        self.note_copies(&mut copies, moves.ready.iter().take(count).map(|ready| &ready.units[..]));
        let from = &buffers[..count];
        let begun = self
            .journal
            .writer
            .begin_programs(
                Destination::Copies(pool, moves.age),
                Stream::Gc,
                from,
                &copies,
                |lpn, from| self.mapping.place_of_pinned(lpn) == from,
                Cause::Gc,
            )
            .await;
        moves.copies = copies;
        let Some(programs) = begun else {
            for _ in 0..count {
                let Some(Ready { buffer, units, .. }) = moves.ready.pop_front() else { break };
                moves.give(buffer, self.data_buffers());
                moves.keep(units);
            }
            return Err(NoRoom);
        };
        let going = moves.ready.drain(..count);
        for (Ready { buffer, units, attempt }, (to, tag)) in going.zip(programs.data()) {
            let from = units.first().map_or(Ppa::NONE, |unit| self.runtime.units.page_of(unit.from));
            let stage = MoveStage::Programming { units, to, attempt };
            moves.in_flight.push_back(Move { buffer, from, tag, stage });
        }
        moves.padding.extend(programs.padding());
        Ok(())
    }
    /// What each slot of these pages copies, and from where; [`Upa::NONE`] for an empty slot.
    fn note_copies<'u>(
        &self,
        copies: &mut Vec<(Lpn, Upa)>,
        pages: impl Iterator<Item = &'u [MovedUnit<M::Pin>]>,
    ) where
        M::Pin: 'u,
    {
        let per_page = self.runtime.units.per_page() as usize;
        copies.clear();
        for units in pages {
            let first = copies.len();
            copies.resize(first + per_page, (Lpn(0), Upa::NONE));
            for unit in units {
                copies[first + unit.slot as usize] = (self.mapping.page(&unit.pin), unit.from);
            }
        }
    }
    /// Waits for the operation of a move's stage. The result says what comes next.
    async fn advance(
        &self,
        pool: PoolIndex,
        at: Move<M::Pin>,
        moves: &mut Moves<M::Pin, M::Room>,
    ) -> Result<MoveResult<M::Pin>, NoRoom> {
        match at.stage {
            MoveStage::Reading => {
                let outcome = self.media.done(at.tag).await;
                if outcome.status == FlashStatus::Uncorrectable {
                    let is_own = at.buffer.0 >= self.data_buffers();
                    self.blocks.table().suspect(at.from, is_own);
                }
                self.runtime.spend(Function::GarbageCollector, self.runtime.config.costs.move_page);
                let whole = self.pages.whole();
                let (lost, record) = self.media.judge(&outcome, whole, at.buffer);
                let mut units = moves.list();
                let looked_up = self.units_to_move(at.from, at.buffer, record, &mut units).await;
                if looked_up.is_err() || units.is_empty() {
                    moves.keep(units);
                    // The map can't say whether a unit is needed, so its block must stay as it is.
                    if looked_up.is_err() {
                        self.end_writes(pool);
                        return Err(NoRoom);
                    }
                    return Ok(MoveResult::Over);
                }
                Ok(match self.runtime.units.per_page() {
                    1 => self.page_to_move(&at, &outcome, lost, record, units),
                    _ => self.page_to_pack(&at, &outcome, lost, record, units),
                })
            }
            MoveStage::Programming { units, to, attempt } => {
                // If the host has written or unmapped a unit in the meantime, its copy is garbage.
                let counts = |unit: &&MovedUnit<M::Pin>| self.mapping.get(&unit.pin) == unit.from;
                if let Some(programmed) = self.journal.writer.program_done(to, at.tag).await {
                    let moved = units.iter().filter(counts);
                    let room = moves.room.as_ref().expect("a victim is begun with room for its changes");
                    self.mapping.moved(room, programmed, moved.map(|unit| (unit.slot, &unit.pin)));
                    for unit in &units {
                        let (lpn, to) = (self.mapping.page(&unit.pin), self.runtime.units.at(to, unit.slot));
                        if self.mapping.get(&unit.pin) == to {
                            self.runtime
                                .emit(|| Event::PageMoved { lpn: lpn.0, ppa: self.runtime.told(to).0 });
                        }
                    }
                    moves.keep(units);
                    return Ok(MoveResult::Over);
                }
                let result = match attempt + 1 {
                    _ if !units.iter().any(|unit| counts(&unit)) => Ok(MoveResult::Over),
                    PROGRAM_ATTEMPTS => Err(NoRoom),
                    attempt => return Ok(MoveResult::Program { units, attempt }),
                };
                moves.keep(units);
                result
            }
        }
    }
    /// The units that must be copied out of a page that was read, with the records of their copies.
    async fn units_to_move(
        &self,
        page: Ppa,
        buffer: BufferId,
        record: Option<OobRecord>,
        units: &mut Vec<MovedUnit<M::Pin>>,
    ) -> Result<(), MappingFault> {
        let is_data = record.is_some_and(|record| record.kind == PageKind::Data);
        for slot in 0..self.runtime.units.per_page() {
            let from = self.runtime.units.at(page, slot);
            if !self.counts(from) {
                continue;
            }
            let mut named = if is_data { self.pages.unit_record(buffer, slot) } else { None };
            let mut owner = match &named {
                Some(unit) => self.named_owner(unit.lpn, from).await?,
                None => None,
            };
            if !self.counts(from) {
                continue;
            }
            // On a damaged medium a record may name another logical unit than the map does. Then the data is
            // lost. This is rare enough to search the whole map.
            if owner.is_none() {
                (named, owner) = (None, self.owner_by_map(from).await?);
            }
            let Some(pin) = owner else { continue };
            let unknown = UnitRecord { lpn: self.mapping.page(&pin), sequence: 0, copy: 0 };
            let is_known = named.is_some();
            let record = named.unwrap_or(unknown);
            let record = UnitRecord { copy: (record.copy + 1) % COPIES, ..record };
            units.push(MovedUnit { pin, from, slot, is_known, record });
        }
        Ok(())
    }
    /// A page of one unit is programmed from the buffer that it was read into. Its record notes lost sectors,
    /// so that the damage stays visible.
    fn page_to_move(
        &self,
        at: &Move<M::Pin>,
        outcome: &Outcome,
        lost: u16,
        record: Option<OobRecord>,
        units: Vec<MovedUnit<M::Pin>>,
    ) -> MoveResult<M::Pin> {
        let pages = &self.pages;
        let named = record.filter(|_| units.iter().all(|unit| unit.is_known));
        let lost = if named.is_some() { lost } else { pages.whole().mask() };
        pages.put_units(at.buffer, lost, units.iter().map(|unit| (unit.slot, unit.record)));
        // Sectors that were lost after the page had been written are not noted in its record yet.
        match named {
            Some(record) if outcome.failed_sectors != 0 => {
                let again = record.lost_sectors & outcome.failed_sectors;
                let lost = pages.take_notes(at.buffer, again, pages.failed_granules(outcome));
                pages.note_lost(at.buffer, lost);
            }
            Some(_) => {}
            None => pages.note_lost(at.buffer, pages.whole_page()),
        }
        MoveResult::Program { units, attempt: 0 }
    }
    /// A page of several units. If none of them is stale or lost, it is programmed from the buffer that it
    /// was read into. Otherwise its units are packed.
    fn page_to_pack(
        &self,
        at: &Move<M::Pin>,
        outcome: &Outcome,
        lost: u16,
        record: Option<OobRecord>,
        units: Vec<MovedUnit<M::Pin>>,
    ) -> MoveResult<M::Pin> {
        let pages = &self.pages;
        let is_whole = units.len() == self.runtime.units.per_page() as usize;
        let is_known = units.iter().all(|unit| unit.is_known);
        if is_whole && is_known && lost == 0 {
            pages.put_units(at.buffer, 0, units.iter().map(|unit| (unit.slot, unit.record)));
            return MoveResult::Program { units, attempt: 0 };
        }
        let mut lost = match record {
            Some(record) if lost != 0 => {
                let failed = pages.failed_granules(outcome) & pages.granules_of(lost);
                pages.take_notes(at.buffer, lost & record.lost_sectors, failed)
            }
            _ => pages.granules_of(lost),
        };
        for unit in units.iter().filter(|unit| !unit.is_known) {
            lost |= pages.granules_of_units(1 << unit.slot);
        }
        MoveResult::Pack { units, lost }
    }
    /// Copies units of a page that was read into the page that is being packed, and begins another page
    /// whenever that one is full. If a word line is only to be completed, it begins none beyond that line.
    fn pack(
        &self,
        moves: &mut Moves<M::Pin, M::Room>,
        from: BufferId,
        mut units: Vec<MovedUnit<M::Pin>>,
        lost: Granules,
        completes: bool,
    ) {
        let (pages, per_page) = (&self.pages, self.runtime.units.per_page());
        let at_once = self.runtime.config.lines.at_once() as usize;
        let only_this = completes && moves.packing.is_some();
        for mut unit in units.drain(..) {
            let Moves { packing, buffers, lists, .. } = moves;
            let packing = packing.get_or_insert_with(|| Packing {
                buffer: buffers.pop_front().expect("a buffer is left for packing where one is read into"),
                units: lists.pop().unwrap_or_default(),
                lost: 0,
            });
            let to = packing.units.len() as u32;
            pages.copy_unit((from, unit.slot), (packing.buffer, to), Granules::MAX & !lost);
            packing.lost |= pages.granules_moved(lost, unit.slot, to);
            unit.slot = to;
            packing.units.push(unit);
            if to + 1 == per_page {
                self.end_packing(moves);
                // Units that would begin another word line stay where they are.
                if only_this && moves.ready.len() >= at_once {
                    break;
                }
            }
        }
        moves.give(from, self.data_buffers());
        moves.keep(units);
    }
    /// Hands over the packed page to be programmed.
    fn end_packing(&self, moves: &mut Moves<M::Pin, M::Room>) {
        if let Some(Packing { buffer, units, lost }) = moves.packing.take() {
            self.put_packed(buffer, &units, lost);
            moves.ready.push_back(Ready { buffer, units, attempt: 0 });
        }
    }
    /// Drops the packed page: its units stay where they were.
    fn stop_packing(&self, moves: &mut Moves<M::Pin, M::Room>) {
        if let Some(Packing { buffer, units, .. }) = moves.packing.take() {
            moves.give(buffer, self.data_buffers());
            moves.keep(units);
        }
    }
    fn put_packed(&self, buffer: BufferId, units: &[MovedUnit<M::Pin>], lost: Granules) {
        let pages = &self.pages;
        pages.note_lost(buffer, lost);
        let records = units.iter().map(|unit| (unit.slot, unit.record));
        pages.put_units(buffer, pages.sectors_of(lost), records);
    }
    /// The buffer for pages of the map itself, which are kept as bytes no matter how data is kept.
    fn own_buffer(&self, collector: LunIndex) -> Option<BufferId> {
        let buffer = self.runtime.buffers.own_gc(collector)?;
        Some(self.pages.dram().borrow().metadata_buffer(buffer))
    }
    fn data_buffers(&self) -> u32 {
        self.pages.dram().borrow().data_buffers()
    }
    /// Room in the map for the units of a victim, and for pages of other blocks that complete its word lines.
    async fn room_for(&self, collector: LunIndex, victim: BlockIndex) -> Result<M::Room, NoMapRoom> {
        let valid = self.blocks.table().valid.in_block(victim);
        let others = (self.runtime.units.per_page() + 1) * PAGES_PER_WORD_LINE_MAX as u32;
        self.mapping.room_to_collect(collector, valid + others).await
    }
    /// The buffer that a page is read into. If pages are packed, leaves one buffer for that.
    fn buffer_to_read(&self, moves: &Moves<M::Pin, M::Room>, page: Ppa) -> Option<BufferId> {
        if self.mapping.is_own(page) {
            return moves.own;
        }
        moves.buffers.front().copied().filter(|_| moves.buffers.len() > moves.kept)
    }
    /// A pin on the logical unit that a record names, if the map has it at `from`.
    async fn named_owner(&self, lpn: Lpn, from: Upa) -> Result<Option<M::Pin>, MappingFault> {
        if lpn.0 >= self.mapping.pages() {
            return Ok(None);
        }
        let pin = pin!(self.mapping, lpn)?;
        Ok((self.mapping.get(&pin) == from).then_some(pin))
    }
    /// A pin on the logical unit that the map has at `from`.
    #[cold]
    async fn owner_by_map(&self, from: Upa) -> Result<Option<M::Pin>, MappingFault> {
        let Some(lpn) = self.mapping.find(from).await else { return Ok(None) };
        let pin = pin!(self.mapping, lpn)?;
        // The host may have written or unmapped the unit in the meantime.
        Ok((self.mapping.get(&pin) == from).then_some(pin))
    }
    fn counts(&self, from: Upa) -> bool {
        self.blocks.table().durability.counts(from)
    }
    /// Whether a page of a victim must be copied: it is neither stale nor replaced.
    pub(super) fn is_wanted(&self, from: Ppa) -> bool {
        self.blocks.table().durability.counts_in(from)
    }
    /// Waits until no loss of power can undo the programs that have replaced pages of a block. If garbage
    /// collection has begun a word line itself, a page of the next victim or padding completes it.
    async fn release_sources(&self, of: Post, victim: BlockIndex, moves: &mut Moves<M::Pin, M::Room>) {
        if !self.blocks.table().layout.has_one_lun() {
            return self.release_sources_in(of, victim, moves).await;
        }
        let (lun, pool) = (of.number, of.pool);
        while self.blocks.table().valid.in_block(victim) > 0 {
            let begun = self.is_line_begun(lun, Stream::Gc);
            // A stream of the host that waits for room doesn't complete the line of another one.
            let is_awaited = self.collects_ahead.get() || self.blocks.queues.is_room_wanted(pool);
            if !begun && is_awaited && self.blocks.table().open.is_host_line_begun(lun) {
                self.journal.writer.pad_host_lines(lun).await;
            } else if !begun && self.is_line_begun(lun, Stream::Mapping) {
                // There may never be another translation page.
                self.journal.writer.pad_line(lun, Stream::Mapping).await;
            } else if !begun {
                self.blocks.wait_durable(pool).await;
            } else if !self.copy_one(of, lun, moves).await {
                self.journal.writer.pad_line(lun, Stream::Gc).await;
            }
        }
    }
    /// As [`Collector::release_sources`] in a pool of several LUNs, where what has replaced a unit may lie on
    /// any of them.
    async fn release_sources_in(&self, of: Post, victim: BlockIndex, moves: &mut Moves<M::Pin, M::Room>) {
        while self.blocks.table().valid.in_block(victim) > 0 {
            let open = self.blocks.table().durability.open_line_replacing(victim);
            let is_awaited = self.collects_ahead.get() || self.blocks.queues.is_room_wanted(of.pool);
            match open {
                Some((lun, Stream::Gc)) => {
                    if !self.copy_one(of, lun, moves).await {
                        self.journal.writer.pad_line(lun, Stream::Gc).await;
                    }
                }
                Some((lun, Stream::Mapping)) => self.journal.writer.pad_line(lun, Stream::Mapping).await,
                Some((lun, Stream::Host(_))) if is_awaited => self.journal.writer.pad_host_lines(lun).await,
                Some((_, Stream::Host(_))) | None => self.blocks.wait_durable(of.pool).await,
            }
        }
    }
    /// A page to copy out of the block that will be collected next. In a pool of several LUNs the collector
    /// takes that block for itself until its victim is empty: another one could choose it and copy the same
    /// page.
    fn page_to_copy(&self, of: Post, taken: impl Fn(Ppa) -> bool) -> Option<Ppa> {
        let blocks = self.blocks.table();
        if blocks.layout.has_one_lun() {
            return blocks.page_to_copy(of.pool, taken);
        }
        let next = &self.next_victims[of.number.index()];
        if next.get().is_none() {
            next.set(blocks.candidates.take_best(of.pool));
        }
        blocks.durability.fullest_page(next.get()?, taken)
    }
    /// Moves one page out of the block that will be collected next to a line that was begun in a LUN. Returns
    /// false if no page can be moved.
    async fn copy_one(&self, of: Post, lun: LunIndex, moves: &mut Moves<M::Pin, M::Room>) -> bool {
        let from = self.page_to_copy(of, |_| false);
        let buffer = from.and_then(|from| match self.mapping.is_own(from) {
            true => moves.own,
            false => moves.buffers.front().copied(),
        });
        let Some((from, buffer)) = from.zip(buffer) else { return false };
        let whole = self.pages.whole();
        let tag = self.blocks.begin_read(from, whole, buffer, Cause::Gc).await;
        let mut at = Move { buffer, from, tag, stage: MoveStage::Reading };
        let mut copied = false;
        loop {
            match self.advance(of.pool, at, moves).await {
                Ok(result) => {
                    // One page alone: its units stay in their slots.
                    let (units, attempt) = match result {
                        MoveResult::Pack { units, lost } => {
                            self.put_packed(buffer, &units, lost);
                            (units, 0)
                        }
                        MoveResult::Program { units, attempt } => (units, attempt),
                        MoveResult::Over => return copied,
                    };
                    let mut copies = core::mem::take(&mut moves.copies);
                    self.note_copies(&mut copies, [&units[..]].into_iter());
                    let begun = self
                        .journal
                        .writer
                        .begin_programs(
                            Destination::Lun(lun),
                            Stream::Gc,
                            &[buffer],
                            &copies,
                            |lpn, from| self.mapping.place_of_pinned(lpn) == from,
                            Cause::Gc,
                        )
                        .await;
                    moves.copies = copies;
                    // Pages of a line that was begun are programmed one by one, so there is no padding.
                    let Some(programs) = begun else {
                        moves.keep(units);
                        return false;
                    };
                    let (to, tag) = programs.first();
                    let stage = MoveStage::Programming { units, to, attempt };
                    (at, copied) = (Move { buffer, from, tag, stage }, true);
                }
                Err(NoRoom) => return false,
            }
        }
    }
    /// Collects until each pool has more than `free` free blocks per LUN, or until collecting gains nothing.
    /// Nothing else may be in progress.
    pub(crate) async fn collect_ahead(&self, free: u32) {
        let free = free * self.runtime.config.luns_per_pool();
        self.gc_free_blocks.set(free.max(self.runtime.config.collects_at()));
        // Garbage collection that waits for a word line of the host has to complete it now.
        self.collects_ahead.set(true);
        self.blocks.pacing.look_all();
        let layout = &self.blocks.table().layout;
        layout.all_pools().for_each(|pool| self.blocks.durable_changed(pool));
        for pool in layout.all_pools() {
            loop {
                let (enough, gain) = {
                    let blocks = self.blocks.table();
                    let gain = blocks.has_victim(pool) && !blocks.room.is_full(pool);
                    (blocks.free.in_pool(pool) > free as usize, gain && !self.journal.log.has_ended())
                };
                let active = self.gc_active.get();
                if enough || (!gain && active == 0) {
                    break;
                }
                self.blocks.collection.ask(pool);
                let mut waited = false;
                self.collection_ended(|| core::mem::replace(&mut waited, true).then_some(())).await;
            }
        }
        self.collects_ahead.set(false);
        self.gc_free_blocks.set(self.runtime.config.collects_at());
    }
    /// Whether a stream has begun a word line of a LUN and not completed it.
    fn is_line_begun(&self, lun: LunIndex, stream: Stream) -> bool {
        self.blocks.table().open.next_of_line(lun, stream).is_some()
    }
    /// Keeps new victims from being chosen, and waits until none is being collected.
    pub(crate) async fn pause_gc(&self) {
        self.blocks.collection.pause();
        self.blocks.pacing.look_all();
        // A collector may wait for an open word line that no one else will complete.
        self.journal.writer.pad_lines().await;
        self.collection_ended(|| (self.gc_active.get() == 0).then_some(())).await;
        self.journal.writer.pad_lines().await;
        self.mapping.map().idle().await;
        self.journal.writer.pad_lines().await;
        // Journals the moves out of victims that could not be emptied.
        let blocks = self.blocks.table();
        blocks.layout.all_pools().for_each(|pool| blocks.durability.journal_deferred(pool));
    }
}
