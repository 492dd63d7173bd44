//! Collection: a group is emptied and erased, and is free then (H21, H25).
//!
//! A copy keeps the sequence number of what it is a copy of. While the victim has not been erased, power-on
//! finds its sectors there and not at their copies, so a loss of power gives back the groups into which they
//! were being copied. For this reason the victim is erased at once, and no other is emptied before.
//!
//! When the drive alone loses its power, copies that were on their way are lost, and the groups that they
//! went to are closed. What was copied of the victim is taken back, so that these groups are empty: any
//! number of losses leaves as much room as there was. The same is done when programs fail until no group is
//! left for copies.

use super::config::RESERVE;
use super::flash::{Records, SECTORS_MAX, Ticket};
use super::frontier::Stream;
use super::groups::{GroupPlace, GroupState};
use super::keeping::Keeping;
use super::oob::{SectorKind, SectorRecord};
use super::place::{PagePlace, SectorPlace};
use super::rows::DataPage;
use super::shared::{Ftl, SentRow, State};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{DriveState, VictimPolicy};
use aster_units::BufferId;
use aster_wire::array::{LANES_MAX, NO_BLOCK, StatusCode};

/// Pages of copies that are on their way at once: a program takes as long as five rows of reads, and a row
/// may give eight pages. The other half of the unit's slots is left to the host.
const COPIES: usize = 32;
/// Rows of the victim that are read at once. A row is there when the slowest of its lanes is, which may have
/// waited for a program, so the lanes read ahead of each other.
const ROWS: usize = 4;
/// How often a victim is begun anew when programs have failed in all groups for copies: those that were
/// copied to are empty then.
const RETRIES: u32 = 3;
/// One in so many erases at most is for wear levelling: 1.25 %. What it adds by the way, since data that were
/// moved lie elsewhere when their groups are collected, takes up to another 0.7 % of H26's 2 %.
const LEVELLED_IN: u64 = 80;
/// While free groups are few, so many victims that make room come before each one whose data fade, or whose
/// rows lack a page.
const FOR_ROOM: u32 = 7;
/// Page buffers of collection: rows of the victim, and copies.
pub(super) const BUFFERS: usize = ROWS * LANES_MAX + COPIES;

/// Where a slot of a page of copies comes from.
type Sources = [Option<(SectorRecord, SectorPlace)>; SECTORS_MAX];

/// A page of the victim that is being read.
struct RowRead {
    at: PagePlace,
    buffer: BufferId,
    ticket: Rc<Ticket>,
}

struct Copied {
    buffer: BufferId,
    sources: Sources,
    at: PagePlace,
    records: Records,
    ticket: Rc<Ticket>,
}

/// A page of copies that waits for its row, or is on its way in one.
struct CopiedPage {
    buffer: BufferId,
    sources: Sources,
    records: Records,
}

/// No page can be written for lack of a group.
struct NoRoom;

/// Why a group is emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// It gives room, or a page of it can't be read.
    Room,
    /// It was erased less often than others.
    Wear,
    /// Its data fade (H32).
    Fading,
    /// Its data are hot, and its region wears more than the others (H30).
    Region,
    /// A group that lacks members and it make each other whole (H25).
    Repair,
}

impl Reason {
    /// Whether it levels wear, within a region or between regions.
    fn is_wear(self) -> bool {
        matches!(self, Reason::Wear | Reason::Region)
    }
}

pub(super) struct Collector {
    ftl: Rc<Ftl>,
    victims: Box<dyn VictimPolicy>,
    read: [BufferId; ROWS * LANES_MAX],
    free: Vec<BufferId>,
    filling: Option<(BufferId, Sources, usize)>,
    on_their_way: VecDeque<Copied>,
    /// With parity: pages that wait for their row, and rows on their way.
    waiting: Vec<CopiedPage>,
    rows: VecDeque<(SentRow, Vec<CopiedPage>)>,
    /// How often no group was left for copies since a victim was emptied.
    retries: u32,
    /// Why the victim is emptied.
    reason: Reason,
    /// The group that is held for a repair, while the one that it goes with is emptied.
    partner: Option<GroupPlace>,
    /// A group that was emptied for a repair, and is held until the one that it goes with is chosen.
    emptied: Option<GroupPlace>,
    /// Victims for room since the last one whose data faded.
    for_room: u32,
    /// Groups that were since power-on.
    levelled: u64,
    /// Erases of groups when nothing could be emptied for its wear: until one more nothing is looked for.
    even_at: Option<u64>,
    /// Reads of the victim.
    reads: Vec<Rc<Ticket>>,
    /// What was copied of the victim: the sector, from where, and to where.
    moves: Vec<(u32, SectorPlace, SectorPlace)>,
    /// How often the copies will have been moved for their wrong bits.
    moved: u8,
}

impl Collector {
    /// With page buffers from `first` on.
    pub fn new(ftl: &Rc<Ftl>, first: u32, victims: Box<dyn VictimPolicy>) -> Self {
        let copies = first + (ROWS * LANES_MAX) as u32;
        Collector {
            ftl: Rc::clone(ftl),
            victims,
            read: core::array::from_fn(|lane| BufferId(first + lane as u32)),
            free: (copies..copies + COPIES as u32).map(BufferId).collect(),
            filling: None,
            on_their_way: VecDeque::with_capacity(COPIES),
            waiting: Vec::with_capacity(LANES_MAX),
            rows: VecDeque::with_capacity(COPIES),
            retries: 0,
            reason: Reason::Room,
            partner: None,
            emptied: None,
            for_room: 0,
            levelled: 0,
            even_at: None,
            reads: vec![],
            moves: vec![],
            moved: 0,
        }
    }
    pub async fn run(mut self) {
        let ftl = Rc::clone(&self.ftl);
        loop {
            let victim = ftl.work.wait(&ftl.exec, || self.victim()).await;
            ftl.told.chosen(victim, ftl.state.borrow().groups.valid(victim));
            let losses = ftl.flash.losses();
            self.moves.clear();
            self.reads.clear();
            let emptied = self.empty(victim).await;
            if ftl.flash.is_gone() {
                return ftl.stop(DriveState::Failed);
            }
            let is_lost = ftl.flash.losses() != losses;
            let for_room = self.reason == Reason::Room;
            let mut is_taken_back = false;
            if emptied.is_err() && (is_lost || !for_room || self.retries < RETRIES) {
                self.retries += u32::from(!is_lost && for_room);
                let has_copied = self.has_copied();
                self.take_back().await;
                let state = &mut *ftl.state.borrow_mut();
                state.collecting = false;
                self.part(state);
                if self.reason == Reason::Repair && !is_lost {
                    state.groups.leave_split();
                }
                if self.reason == Reason::Fading && !is_lost {
                    state.groups.leave(victim);
                }
                // The host has taken the free groups first: nothing has been erased for it.
                if self.reason.is_wear() && !has_copied {
                    self.levelled -= 1;
                    self.even_at = Some(state.groups.all_erases());
                }
                ftl.gate.wake_all(&ftl.exec);
                is_taken_back = true;
            }
            if is_taken_back {
                ftl.tell_wear();
                continue;
            }
            if emptied.is_ok() && self.wait_until_stale(victim).await {
                self.retries = 0;
                ftl.state.borrow_mut().left_regions += u64::from(self.reason == Reason::Region);
                self.erase(victim).await;
            }
            {
                let state = &mut *ftl.state.borrow_mut();
                state.collecting = false;
                let is_alone = self.reason == Reason::Repair && self.partner.is_none();
                if is_alone && state.groups.state(victim) == GroupState::Free {
                    state.groups.hold(victim);
                    self.emptied = Some(victim);
                }
                self.part(state);
                ftl.plan_repair(state);
            }
            ftl.count(|stats| {
                stats.gc_runs += 1;
                stats.levelled += u64::from(self.reason.is_wear());
                stats.refreshed += u64::from(self.reason == Reason::Fading);
            });
            ftl.tell_wear();
            if emptied.is_err() {
                return ftl.stop(DriveState::ReadOnly);
            }
            ftl.pump();
            ftl.gate.wake_all(&ftl.exec);
        }
    }
    /// Whether a copy of something in the victim was sent.
    fn has_copied(&self) -> bool {
        !(self.moves.is_empty() && self.on_their_way.is_empty() && self.rows.is_empty())
    }
    /// The group that was held for a repair is free again.
    fn part(&mut self, state: &mut State) {
        if let Some(partner) = self.partner.take() {
            state.groups.give_back(partner);
        }
    }
    /// The next victim: a group that holds nothing, at once. Then, when free groups are few, one that makes
    /// room: one that isn't full, for example since a loss of power has closed it, before others. Else one
    /// of which a page can't be read, or one whose data fade. The drive is read-only when pages wait for a
    /// place and no victim would free more than its copies take.
    fn victim(&mut self) -> Option<GroupPlace> {
        let ftl = Rc::clone(&self.ftl);
        let nothing_helps = {
            let state = &mut *ftl.state.borrow_mut();
            if let Some(victim) = self.for_emptied(state) {
                return Some(victim);
            }
            if state.quiet || state.collecting || ftl.is_stopped() || !ftl.flash.is_attached() {
                return None;
            }
            let few = state.groups.all_free() <= ftl.few(state);
            // A victim for wear levelling comes first, or it would never come while others hold nothing; but
            // never two of them.
            state.frontier.confine(None);
            let before = core::mem::replace(&mut self.reason, Reason::Room);
            let mut victim =
                if !before.is_wear() && self.may_level(state) { self.for_wear(state) } else { None };
            victim = victim.or_else(|| state.groups.empty());
            if victim.is_none() && few && self.for_room >= FOR_ROOM {
                victim = if state.groups.all_free() > RESERVE { state.groups.harmed() } else { None };
                self.for_room = if victim.is_some() { 0 } else { self.for_room };
                victim = victim.or_else(|| self.fading(state)).or_else(|| self.for_repair(state));
            }
            if victim.is_none() && few {
                victim = state.groups.emptiest_short();
                // Copies need room as well, such as those of rows that a loss of power has cut off.
                let is_short = state.groups.all_free() <= state.left_to_collection();
                let all = state.homeless || state.waits_for_place || is_short;
                victim = victim.or_else(|| state.groups.chosen(&mut *self.victims, all));
                self.for_room += u32::from(victim.is_some() && self.for_room < FOR_ROOM);
            }
            victim = victim.or_else(|| state.groups.harmed()).or_else(|| self.fading(state));
            victim = victim.or_else(|| self.for_repair(state));
            if victim.is_some() {
                state.collecting = true;
                return victim;
            }
            // Groups that are being repaired come back.
            let repairs = state.keeping.as_ref().is_some_and(|keeping| keeping.stores);
            few && !repairs && state.waits_in_vain() && state.groups.all_free() <= state.left_to_collection()
        };
        if nothing_helps {
            ftl.stop(DriveState::ReadOnly);
        }
        None
    }
    /// A group that is emptied for its wear, and where its data go (H30): a cold one, to another group of its
    /// region, or a hot one, to the region that wears least.
    fn for_wear(&mut self, state: &mut State) -> Option<GroupPlace> {
        let State { groups, frontier, .. } = state;
        let (at, reason, to) = match groups.coldest(self.begins_at()) {
            Some(at) => (at, Reason::Wear, (Stream::Cold, (at.channel, at.die))),
            None => {
                let Some((at, to)) = groups.leaves_region() else {
                    self.even_at = Some(groups.all_erases());
                    return None;
                };
                (at, Reason::Region, (Stream::Copies, to))
            }
        };
        self.levelled += 1;
        self.reason = reason;
        frontier.confine(Some(to));
        Some(at)
    }
    /// Whether a group may be emptied for wear levelling: for each of those [`LEVELLED_IN`] others have been
    /// erased (H26), and there is room for its copies beside the reserve. All groups are looked at
    /// then, so that is done once between two erases.
    fn may_level(&self, state: &State) -> bool {
        self.ftl.config.wear_window.is_some()
            && (self.levelled + 1) * LEVELLED_IN <= state.groups.all_erases()
            && self.even_at != Some(state.groups.all_erases())
            && state.groups.all_free() > RESERVE
    }
    /// The next group whose data fade, if there is room for its copies beside the reserve. One that is being
    /// written is closed, and is emptied once its pages have ended.
    fn fading(&mut self, state: &mut State) -> Option<GroupPlace> {
        let State { groups, frontier, .. } = state;
        if groups.all_free() <= RESERVE {
            return None;
        }
        let mut victim = groups.fading();
        if victim.is_none()
            && let Some(open) = groups.fading_open()
        {
            frontier.abandon(groups, open);
            victim = groups.fading();
        }
        if victim.is_some() {
            (self.reason, self.for_room) = (Reason::Fading, 0);
        }
        victim
    }
    /// The group that goes with the one that waits for it, if there is room. The one that waits is free
    /// again otherwise.
    fn for_emptied(&mut self, state: &mut State) -> Option<GroupPlace> {
        let waiting = self.emptied.take()?;
        let goes_on = !state.quiet && !self.ftl.is_stopped() && self.ftl.flash.is_attached();
        if goes_on
            && state.groups.all_free() > RESERVE
            && let Some(victim) = state.groups.completing(waiting)
        {
            (self.partner, self.reason, state.collecting) = (Some(waiting), Reason::Repair, true);
            return Some(victim);
        }
        state.groups.give_back(waiting);
        None
    }
    /// A group that lacks members, if a free one and it can make each other whole, and there is room for its
    /// copies beside the reserve. The free one is held.
    fn for_repair(&mut self, state: &mut State) -> Option<GroupPlace> {
        let can_store = state.keeping.as_ref().is_some_and(Keeping::can_store);
        if !can_store || state.groups.all_free() <= RESERVE + 1 {
            return None;
        }
        let (victim, partner) = state.groups.next_split()?;
        partner.into_iter().for_each(|partner| state.groups.hold(partner));
        (self.partner, self.reason, self.for_room) = (partner, Reason::Repair, 0);
        Some(victim)
    }
    /// Where copies go: those of a group that is emptied for its wear to groups of their own.
    fn stream(&self) -> Stream {
        if self.reason == Reason::Wear { Stream::Cold } else { Stream::Copies }
    }
    /// The difference of erases at which levelling begins: two fifths of the window, so that the window holds
    /// while cold groups take their turns.
    fn begins_at(&self) -> u32 {
        (self.ftl.config.wear_window.unwrap_or(0) * 2).div_ceil(5).max(1)
    }
    /// Waits until nothing in a victim counts. What was not copied has a newer version in memory, which is
    /// sent. Returns false if that can't be stored.
    async fn wait_until_stale(&self, victim: GroupPlace) -> bool {
        let ftl = &self.ftl;
        let is_stale = || ftl.state.borrow().groups.valid(victim) == 0;
        if !is_stale() {
            ftl.state.borrow_mut().urgent = true;
            ftl.send(true);
            ftl.stored.wait(&ftl.exec, || (is_stale() || ftl.is_stopped()).then_some(())).await;
            ftl.state.borrow_mut().urgent = false;
        }
        is_stale()
    }
    /// Erases a group that holds nothing, and frees it.
    async fn erase(&self, victim: GroupPlace) {
        let ftl = &self.ftl;
        let done = ftl.erase_surely(victim).await;
        if done.code.is_err() {
            return ftl.stop(DriveState::Failed);
        }
        let state = &mut *ftl.state.borrow_mut();
        for lane in (0..LANES_MAX as u8).filter(|lane| done.failed >> lane & 1 != 0) {
            ftl.failed(state, victim.page(0, lane));
        }
        state.retired.retire(&ftl.nvram, &state.groups, victim);
        state.groups.release(victim);
    }

    /// Copies what a group holds.
    async fn empty(&mut self, victim: GroupPlace) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        self.moved = ftl.state.borrow().groups.moves_out(victim);
        let mut ahead: VecDeque<Vec<RowRead>> = VecDeque::with_capacity(ROWS);
        let mut next = 0;
        loop {
            let is_needed = ftl.state.borrow().groups.valid(victim) > 0;
            while is_needed && next < ftl.info.pages && ahead.len() < ROWS {
                let row = self.read_row(victim, next);
                self.reads.extend(row.iter().map(|read| Rc::clone(&read.ticket)));
                ahead.push_back(row);
                next += 1;
            }
            let Some(row) = ahead.pop_front() else { break };
            for RowRead { at, buffer, ticket } in row {
                let done = ticket.done(&ftl.exec).await;
                let mut records = done.records;
                if !done.is_good() && done.code != Ok(StatusCode::Erased) {
                    self.rebuild(at, buffer, &mut records).await;
                }
                for (slot, record) in (0..).zip(records) {
                    let Some(record) = record.filter(SectorRecord::is_mapped) else { continue };
                    let from = SectorPlace { page: at, slot };
                    if self.is_current(record.sector, from) {
                        self.copy(record.copied(record.kind), from, Some(buffer)).await?;
                    }
                }
            }
        }
        self.settle().await?;
        self.mark_lost(victim).await
    }
    /// Completes a page of the victim by the others of its row.
    async fn rebuild(&self, at: PagePlace, buffer: BufferId, records: &mut Records) {
        let ftl = &self.ftl;
        let Some((rebuilt, content)) = ftl.rebuild(at, |_| true).await else { return };
        let sectors = content.chunks_exact(ftl.config.content.sector_len());
        for (slot, ((record, rebuilt), sector)) in records.iter_mut().zip(rebuilt).zip(sectors).enumerate() {
            if record.is_none() && rebuilt.is_some() {
                ftl.sector(buffer, slot, |bytes| bytes.copy_from_slice(sector));
                *record = rebuilt;
            }
        }
    }
    /// Begins to read a row of the victim.
    fn read_row(&self, victim: GroupPlace, page: u16) -> Vec<RowRead> {
        let ftl = &self.ftl;
        let state = &mut *ftl.state.borrow_mut();
        let buffers = &self.read[usize::from(page) % ROWS * LANES_MAX..][..LANES_MAX];
        let members = state.groups.members(victim);
        let of_lane = |(lane, (&block, &buffer)): (u8, (&u16, &BufferId))| {
            (block != NO_BLOCK).then(|| {
                let at = victim.page(page, lane);
                ftl.note_read(state, at);
                let ticket = ftl.flash.read(ftl.span(state, at, 0, ftl.info.sectors), buffer, 0);
                RowRead { at, buffer, ticket }
            })
        };
        let row: Vec<RowRead> = (0u8..).zip(members.iter().zip(buffers)).filter_map(of_lane).collect();
        ftl.count(|stats| stats.flash_reads.gc += row.len() as u64);
        row
    }
    /// What could not be read is lost. Says so where the map leads to from now on, unless a newer version
    /// is in memory: the group could never be erased otherwise.
    async fn mark_lost(&mut self, victim: GroupPlace) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        if ftl.state.borrow().groups.valid(victim) == 0 {
            return Ok(());
        }
        let lost: Vec<(u32, SectorPlace)> = {
            let state = ftl.state.borrow();
            let places = (0..state.map.sectors()).filter_map(|n| Some((n, state.map.place_of(n)?)));
            places.filter(|(_, place)| place.page.group() == victim).collect()
        };
        for (sector, from) in lost {
            let is_newest = self.is_current(sector, from) && ftl.state.borrow().gather.find(sector).is_none();
            if is_newest {
                // Every later write of this sector gets a higher number, since it isn't in memory yet.
                let sequence = {
                    let state = &mut *ftl.state.borrow_mut();
                    state.sequence += 1;
                    state.sequence - 1
                };
                let record = SectorRecord { kind: SectorKind::Lost, ..SectorRecord::data(sector, sequence) };
                self.copy(record, from, None).await?;
            }
        }
        self.settle().await
    }
    /// Whether a sector is still at this place.
    fn is_current(&self, sector: u32, from: SectorPlace) -> bool {
        let state = self.ftl.state.borrow();
        sector < state.map.sectors() && state.map.place_of(sector) == Some(from)
    }
    async fn copy(
        &mut self,
        record: SectorRecord,
        from: SectorPlace,
        buffer: Option<BufferId>,
    ) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        if self.filling.is_none() {
            while self.free.is_empty() {
                self.finish_one().await?.expect("a buffer is free or on its way");
            }
            let into = self.free.pop().expect("a buffer is free");
            self.filling = Some((into, [None; SECTORS_MAX], 0));
        }
        let (into, sources, count) = self.filling.as_mut().expect("a buffer is being filled");
        let mut content = Vec::new();
        if let Some(buffer) = buffer {
            ftl.sector(buffer, from.slot.into(), |bytes| content.extend_from_slice(bytes));
        }
        ftl.sector(*into, *count, |bytes| match buffer {
            Some(_) => bytes.copy_from_slice(&content),
            None => bytes.fill(0),
        });
        sources[*count] = Some((record, from));
        *count += 1;
        if *count == usize::from(ftl.info.sectors) { self.submit() } else { Ok(()) }
    }
    /// Gives the page that is being filled a place.
    fn submit(&mut self) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        let Some((buffer, mut sources, _)) = self.filling.take() else { return Ok(()) };
        let state = &mut *ftl.state.borrow_mut();
        let mut records: Records = [None; SECTORS_MAX];
        for (source, record) in sources.iter_mut().zip(&mut records) {
            *source = source.filter(|&(of, from)| state.map.place_of(of.sector) == Some(from));
            *record = source.map(|(record, _)| record);
        }
        if sources.iter().all(Option::is_none) {
            self.free.push(buffer);
            return Ok(());
        }
        if ftl.config.raid.is_some() {
            self.waiting.push(CopiedPage { buffer, sources, records });
            return self.submit_rows(state, false);
        }
        // One group is always opened; more are for speed, and are left to the host when few are free.
        let placed = self.program(state, RESERVE, buffer, records);
        let placed = placed.or_else(|NoRoom| self.program(state, 0, buffer, records));
        let (at, ticket) = placed.inspect_err(|_| self.free.push(buffer))?;
        self.on_their_way.push_back(Copied { buffer, sources, at, records, ticket });
        ftl.count(|stats| stats.flash_programs.gc += 1);
        Ok(())
    }
    /// Gives rows of the pages that wait a place: those that are full, or with `all` the last one as well.
    fn submit_rows(&mut self, state: &mut State, all: bool) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        if ftl.flash.is_read_only() {
            return Err(NoRoom);
        }
        while !self.waiting.is_empty() {
            let next = ftl.next_row(state, (self.stream(), RESERVE));
            let Some(row) = next.or_else(|| ftl.next_row(state, (self.stream(), 0))) else {
                let is_due = all || self.waiting.len() + 1 >= usize::from(ftl.info.lanes);
                return if is_due { Err(NoRoom) } else { Ok(()) };
            };
            if !all && self.waiting.len() < row.room() {
                break;
            }
            let count = row.room().min(self.waiting.len());
            let pages: Vec<CopiedPage> = self.waiting.drain(..count).collect();
            let sent = ftl.program_row(state, (self.stream(), row), &data_of(&pages));
            ftl.count(|stats| stats.flash_programs.gc += row.room() as u64 + 1);
            self.rows.push_back((sent, pages));
        }
        Ok(())
    }
    /// Awaits a row of copies, and has the map lead there.
    async fn finish_row(&mut self, sent: SentRow, pages: Vec<CopiedPage>) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        let (stream, times, moves) = (self.stream(), self.moved, &mut self.moves);
        let moved = |state: &mut State, n: usize, at: PagePlace| {
            state.groups.moved_in(at.group(), times);
            ftl.take_copies(state, &pages[n].sources, at, moves);
        };
        let is_there = ftl.end_row(stream, (&sent, None), &data_of(&pages), moved).await;
        self.free.extend(pages.iter().map(|page| page.buffer));
        if is_there { Ok(()) } else { Err(NoRoom) }
    }
    fn program(
        &self,
        state: &mut State,
        reserve: usize,
        buffer: BufferId,
        records: Records,
    ) -> Result<(PagePlace, Rc<Ticket>), NoRoom> {
        if self.ftl.flash.is_read_only() {
            return Err(NoRoom);
        }
        self.ftl.program(state, (self.stream(), reserve), buffer, records).ok_or(NoRoom)
    }
    /// Stores what has been copied.
    async fn settle(&mut self) -> Result<(), NoRoom> {
        self.submit()?;
        self.submit_rows(&mut Rc::clone(&self.ftl).state.borrow_mut(), true)?;
        while self.finish_one().await?.is_some() {}
        Ok(())
    }
    /// Ends a collection that could not be completed: the map leads to the victim again.
    async fn take_back(&mut self) {
        let ftl = Rc::clone(&self.ftl);
        self.free.extend(self.waiting.drain(..).map(|page| page.buffer));
        self.free.extend(self.filling.take().map(|(buffer, ..)| buffer));
        while self.finish_one().await.map_or(true, |copies| copies.is_some()) {}
        for read in self.reads.drain(..) {
            read.done(&ftl.exec).await;
        }
        let state = &mut *ftl.state.borrow_mut();
        for (sector, from, to) in self.moves.drain(..) {
            if state.map.place_of(sector) == Some(to) {
                ftl.moved(state, sector, Some(from));
            }
        }
    }
    /// Awaits the first copies on their way; `None` if none is.
    async fn finish_one(&mut self) -> Result<Option<()>, NoRoom> {
        if let Some((sent, pages)) = self.rows.pop_front() {
            self.finish_row(sent, pages).await?;
        } else if let Some(copied) = self.on_their_way.pop_front() {
            self.finish(copied).await?;
        } else {
            return Ok(None);
        }
        Ok(Some(()))
    }
    /// Awaits a page of copies, and has the map lead there.
    async fn finish(&mut self, mut copied: Copied) -> Result<(), NoRoom> {
        let ftl = Rc::clone(&self.ftl);
        loop {
            let done = copied.ticket.done(&ftl.exec).await;
            let state = &mut *ftl.state.borrow_mut();
            state.groups.end(copied.at);
            if done.is_good() {
                break;
            }
            if done.lost || done.code.is_err() {
                self.free.push(copied.buffer);
                return Err(NoRoom);
            }
            ftl.failed(state, copied.at);
            let placed = self.program(state, 0, copied.buffer, copied.records);
            (copied.at, copied.ticket) = placed.inspect_err(|_| self.free.push(copied.buffer))?;
        }
        let state = &mut *ftl.state.borrow_mut();
        state.groups.moved_in(copied.at.group(), self.moved);
        ftl.take_copies(state, &copied.sources, copied.at, &mut self.moves);
        self.free.push(copied.buffer);
        Ok(())
    }
}

fn data_of(pages: &[CopiedPage]) -> Vec<DataPage> {
    pages.iter().map(|page| (page.buffer, page.records)).collect()
}

impl Ftl {
    /// The map leads to a page of copies, for sectors that have no newer version.
    fn take_copies(
        &self,
        state: &mut State,
        sources: &Sources,
        page: PagePlace,
        moves: &mut Vec<(u32, SectorPlace, SectorPlace)>,
    ) {
        for (slot, source) in (0..).zip(sources) {
            if let &Some((record, from)) = source
                && state.map.place_of(record.sector) == Some(from)
            {
                let to = SectorPlace { page, slot };
                self.moved(state, record.sector, Some(to));
                self.told.moved(record.sector, self.span(state, page, 0, 0).block, to);
                moves.push((record.sector, from, to));
            }
        }
    }
}
