//! What all tasks of the FTL share: sectors in memory, on their way, and on flash.

use super::config::{HostFtlConfig, RESERVE};
use super::flash::{DeadLane, Flash, Records, RowSpan, Span, Ticket};
use super::frontier::{Frontier, NextPage, NextRow, NoPlace, Stream, SummedRow};
use super::gather::{Due, Gather, Gathered};
use super::groups::{GroupPlace, Groups};
use super::keeping::Keeping;
use super::map::Map;
use super::oob::{BEHIND_MAX, SEQUENCE_MAX, SectorRecord, Wear};
use super::others::Rebuilder;
use super::place::{PagePlace, SectorPlace};
use super::recent::RecentWrites;
use super::retired::Retired;
use super::root::Root;
use super::spare::Spare;
use super::told::Told;
use crate::driver::ArrayInfo;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_exec::{Core, Exec, WaitQueue};
use aster_parties::{DriveState, MediaState, NvramSlice, TranslationStats};
use aster_ports::dram::SharedDram;
use aster_ports::host::{CommandPort, HostStatus};
use aster_units::BufferId;
use aster_wire::array::{LANES_MAX, NO_BLOCK};
use core::cell::{Cell, RefCell};

/// Sequence numbers that the host's pages get. Those above are for what is in memory when they have run out,
/// and for collection.
pub(super) const SEQUENCES: u64 = SEQUENCE_MAX - (1 << 24);

/// A page of the host's that is on its way.
pub(super) struct SentPage {
    pub buffer: usize,
    pub at: PagePlace,
    pub records: Records,
}

/// A row that is on its way, with the places of the pages of data that it took.
pub(super) struct SentRow {
    pub row: SummedRow,
    pub at: Vec<PagePlace>,
    pub ticket: Rc<Ticket>,
    /// The erase of its group that came before it.
    pub erase: Option<Rc<Ticket>>,
}

/// A page, or the pages of a composite page by lane, that are on their way by one command.
pub(super) struct InFlight {
    pub pages: Vec<SentPage>,
    pub ticket: Rc<Ticket>,
    pub is_row: bool,
    /// The erase of the composite page's group that came before it.
    pub erase: Option<Rc<Ticket>>,
    /// The row, if it has parity.
    pub summed: Option<SentRow>,
    /// Its pages keep no group from being emptied any more.
    pub settled: Cell<bool>,
}

impl InFlight {
    /// The places of its pages, that of the sum included.
    pub fn places(&self) -> Vec<PagePlace> {
        match &self.summed {
            Some(SentRow { row, .. }) => {
                let lanes = (0..LANES_MAX as u8).filter(|lane| row.lanes() >> lane & 1 != 0);
                lanes.map(|lane| row.of.page(row.page, lane)).collect()
            }
            None => self.pages.iter().map(|page| page.at).collect(),
        }
    }
}

/// What became of pages that wait for a place.
enum Sent {
    /// They are on their way.
    On(InFlight),
    /// They wait for a group.
    Wait,
    /// They wait for programs of open groups to end.
    Busy,
    /// There is no group for a composite page: each of its pages waits for a place of its own.
    AsPages,
}

pub(super) struct State {
    pub map: Map,
    pub groups: Groups,
    pub frontier: Frontier,
    pub gather: Gather,
    /// The sequence number of the next page.
    pub sequence: u64,
    /// What was written lately.
    pub recent: RecentWrites,
    /// Buffers whose pages wait for a place, and pages on their way, both in the order of their sending.
    pub due: VecDeque<Due>,
    pub in_flight: VecDeque<Rc<InFlight>>,
    /// A page of the oldest on their way could not be programmed, and waits for another place.
    pub homeless: bool,
    /// Pages wait for a place that there isn't.
    pub waits_for_place: bool,
    /// Pages wait for programs of open groups to end.
    pub waits_for_program: bool,
    /// Pages that have got a place in a row, and up to which number they must get one now.
    pub placed: u64,
    pub close_to: u64,
    /// Collection waits for what is in memory, and leaves its reserve to the host for that.
    pub urgent: bool,
    /// Pages that were sent, and those of them that are on flash.
    pub sent: u64,
    pub stored: u64,
    /// Sectors of the host's pages that were programmed without data.
    pub padded: u64,
    /// Composite pages that were sent.
    pub composite: u64,
    /// Pages that were made of the others of their row.
    pub rebuilt: u64,
    /// Groups whose hot data have left their region.
    pub left_regions: u64,
    pub root: Root,
    pub retired: Retired,
    /// The stored block group table; `None` if none is stored.
    pub keeping: Option<Keeping>,
    /// Commands that are being carried out, and whether no more may begin: a format waits or is at work.
    pub commands: u32,
    pub closed: bool,
    /// Neither collection nor a store of the table may begin: a format is about to forget everything.
    pub quiet: bool,
    pub collecting: bool,
}

impl State {
    /// Whether pages wait for a place, and none is on its way to the flash.
    pub fn waits_in_vain(&self) -> bool {
        self.homeless || self.waits_for_place && self.in_flight.is_empty()
    }
    /// Whether pages wait in vain is found out once more: they may use what was left to collection.
    fn place_anew(&mut self) {
        (self.homeless, self.waits_for_place) = (false, false);
    }
    /// Free groups that the host leaves to collection: the reserve, and one for each die without an open one
    /// for copies. Copies that find room on few dies wait for each other, and for the reads of the victim.
    pub fn left_to_collection(&self) -> usize {
        RESERVE + self.frontier.without_copies(&self.groups)
    }
}

/// Calls whoever watches the media.
pub(super) type Watcher = Box<dyn Fn(MediaState)>;

pub(super) struct Ftl {
    pub exec: Exec,
    pub core: Core,
    pub commands: Rc<CommandPort>,
    pub command_cycles: u64,
    pub told: Rc<Told>,
    pub buffers: SharedDram,
    pub nvram: NvramSlice,
    /// What of the NVRAM says where the block group table is.
    pub table_nvram: NvramSlice,
    pub flash: Rc<Flash>,
    pub config: HostFtlConfig,
    pub info: ArrayInfo,
    pub state: RefCell<State>,
    pub condition: Cell<DriveState>,
    pub stats: Cell<TranslationStats>,
    /// Who waits for a free page buffer, for pages to be stored, for a change of groups, and for commands
    /// to end.
    pub room: WaitQueue,
    pub stored: WaitQueue,
    pub work: WaitQueue,
    pub gate: WaitQueue,
    /// Partial writes come one after the other.
    pub merge: aster_exec::Ring<()>,
    pub watcher: RefCell<Option<Watcher>>,
    pub spare: Spare,
    /// The last spare block is gone, or the last number, and nobody was told yet.
    pub worn_out: Cell<bool>,
    /// A page buffer of zeroes.
    pub padding: BufferId,
    /// What makes pages that can't be read, if there is parity.
    pub rebuilder: Option<Rebuilder>,
}

impl Ftl {
    pub fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }
    pub fn is_stopped(&self) -> bool {
        matches!(self.condition.get(), DriveState::ReadOnly | DriveState::Failed)
    }
    /// How a write ends that can't be carried out.
    pub fn refusal(&self) -> HostStatus {
        match self.condition.get() {
            DriveState::ReadOnly => HostStatus::ReadOnly,
            _ => HostStatus::WriteFault,
        }
    }
    /// No page can be written any more. Those that have no place stay in memory: what is left of the free
    /// groups is needed by collection after the next power-on.
    pub fn stop(&self, condition: DriveState) {
        if !self.is_stopped() || condition == DriveState::Failed {
            self.condition.set(condition);
            self.tell_media();
        }
        self.wake_all();
    }
    pub fn wake_all(&self) {
        [&self.room, &self.stored, &self.work, &self.gate]
            .iter()
            .for_each(|queue| queue.wake_all(&self.exec));
    }
    /// Dies of all channels.
    pub fn dies(&self) -> usize {
        self.info.all_dies()
    }
    /// Collection begins when no more groups are free: the host can then open one of each die beside those
    /// that are left to collection.
    pub fn few(&self, state: &State) -> usize {
        state.left_to_collection() + self.dies()
    }
    pub fn span(&self, state: &State, page: PagePlace, first: u8, count: u8) -> Span {
        let members = state.groups.members(page.group());
        Span { page, block: members[usize::from(page.lane)], first, count }
    }
    /// A page is being read, which disturbs its block (H32).
    pub fn note_read(&self, state: &mut State, page: PagePlace) {
        if state.groups.count_read(page) {
            self.work.wake_all(&self.exec);
        }
    }
    /// A read of a sector at this place has corrected so many bits in a chunk (H32). It says nothing of the
    /// group if the sector is elsewhere by now: the group may have been erased.
    pub fn note_corrected(&self, sector: u32, from: SectorPlace, bits: u8) {
        if !self.config.refresh.is_faded(bits) {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        if state.map.place_of(sector) == Some(from) && state.groups.corrected(from.page.group(), bits) {
            self.work.wake_all(&self.exec);
        }
    }
    /// Marks the root as in use before the first write, or as clean by a shutdown.
    pub fn keep_root(&self, clean: bool) {
        let state = &mut *self.state.borrow_mut();
        if state.root.clean != clean {
            state.root.clean = clean;
            state.root.write(&self.nvram);
        }
    }
    pub fn media(&self) -> MediaState {
        let stats = self.stats.get();
        let spare = self.spare.of(&self.state.borrow().groups);
        MediaState {
            available_spare: spare,
            read_only: self.is_stopped(),
            rebuilt: false,
            erases: stats.flash_erases.total(),
        }
    }
    pub fn tell_media(&self) {
        if let Some(watcher) = &*self.watcher.borrow() {
            watcher(self.media());
        }
    }

    // ---- memory ----

    /// A sector of a page buffer.
    pub fn sector(&self, buffer: BufferId, slot: usize, each: impl FnOnce(&mut [u8])) {
        let len = self.config.content.sector_len();
        each(&mut self.buffers.borrow_mut().page_mut(buffer)[slot * len..][..len]);
    }
    /// Puts a new version of a sector into memory, which `content` writes there. `false` while no buffer is
    /// free.
    pub fn try_put(&self, sector: u32, gathered: Gathered, content: impl FnOnce(&mut [u8])) -> bool {
        {
            let state = &mut *self.state.borrow_mut();
            let Some(waiting) = state.gather.put(sector, gathered) else { return false };
            self.sector(BufferId(waiting.buffer as u32), waiting.slot.into(), content);
        }
        self.send(false);
        true
    }
    /// Sends what is full, or with `flush` also what isn't. Returns how many pages were sent so far.
    pub fn send(&self, flush: bool) -> u64 {
        let sent = {
            let State { gather, due, sent, close_to, .. } = &mut *self.state.borrow_mut();
            gather.send(flush, |of| {
                *sent += if let Due::Row(buffers) = &of { buffers.len() as u64 } else { 1 };
                due.push_back(of);
            });
            if flush {
                *close_to = *sent;
            }
            *sent
        };
        self.pump();
        sent
    }
    /// Groups that the host leaves to collection now. What was acknowledged is stored even if nothing more is
    /// taken, and collection may wait for it.
    pub fn reserve(&self, state: &State) -> usize {
        if self.is_stopped() || state.urgent { 0 } else { state.left_to_collection() }
    }
    /// Gives pages that wait a place, as far as there is room beside the reserve of collection.
    pub fn pump(&self) {
        let state = &mut *self.state.borrow_mut();
        if state.sequence > SEQUENCES {
            self.used_up(state);
        }
        if self.flash.is_read_only() {
            state.waits_for_place = !state.due.is_empty();
            return self.work.wake_all(&self.exec);
        }
        let reserve = self.reserve(state);
        let is_few = state.groups.all_free() <= self.few(state);
        state.frontier.pace(is_few);
        self.told.placing(|| {
            match self.config.raid.is_some() {
                true => self.pump_rows(state, reserve),
                false => self.pump_pages(state, reserve),
            }
            state.waits_for_place
        });
        self.work.wake_all(&self.exec);
    }
    fn pump_pages(&self, state: &mut State, reserve: usize) {
        (state.waits_for_place, state.waits_for_program) = (false, false);
        while let Some(due) = state.due.pop_front() {
            let sent = match &due {
                Due::Page(buffer) => self.send_page(state, *buffer, reserve),
                Due::Row(buffers) => self.send_row(state, buffers, reserve),
            };
            match (sent, due) {
                (Sent::On(in_flight), _) => {
                    self.count(|stats| stats.flash_programs.host += in_flight.pages.len() as u64);
                    state.in_flight.push_back(Rc::new(in_flight));
                }
                (Sent::AsPages, Due::Row(buffers)) => {
                    buffers.into_iter().rev().for_each(|buffer| state.due.push_front(Due::Page(buffer)));
                }
                (sent, due) => {
                    state.due.push_front(due);
                    let is_busy = matches!(sent, Sent::Busy);
                    (state.waits_for_place, state.waits_for_program) = (!is_busy, is_busy);
                    break;
                }
            }
        }
    }
    /// The records of a buffer's sectors, if they are sent now: a page is newer than all that were sent
    /// before it.
    pub fn records(&self, state: &mut State, buffer: usize) -> Records {
        let mut records: Records = [None; super::flash::SECTORS_MAX];
        for (record, sector) in records.iter_mut().zip(state.gather.sectors(buffer)) {
            *record = sector.map(|sector| SectorRecord::data(sector, state.sequence));
        }
        state.sequence += 1;
        let sectors = usize::from(self.info.sectors);
        state.padded += records[..sectors].iter().filter(|record| record.is_none()).count() as u64;
        records
    }
    fn send_page(&self, state: &mut State, buffer: usize, reserve: usize) -> Sent {
        let to = (Stream::Host, reserve);
        let next = match state.frontier.next_paced(&mut state.groups, to.0, to.1) {
            Ok(next) => next,
            Err(NoPlace::Group) => return Sent::Wait,
            Err(NoPlace::Busy) => return Sent::Busy,
        };
        let records = self.records(state, buffer);
        let ticket = self.program_at(state, next, BufferId(buffer as u32), records);
        let pages = vec![SentPage { buffer, at: next.at, records }];
        Sent::On(InFlight {
            pages,
            ticket,
            is_row: false,
            erase: None,
            summed: None,
            settled: Cell::new(false),
        })
    }
    /// Programs a composite page by one command (H22). If there is no group for it and none will be, it is
    /// made of pages.
    fn send_row(&self, state: &mut State, buffers: &[usize], reserve: usize) -> Sent {
        let (of, page, opens) = match state.frontier.next_row(&mut state.groups, reserve) {
            NextRow::At { of, page, opens } => (of, page, opens),
            NextRow::Busy => return Sent::Busy,
            NextRow::Wait if reserve > 0 => return Sent::Wait,
            NextRow::Wait | NextRow::NotWhole => return Sent::AsPages,
        };
        let erase = (opens && state.groups.must_be_erased(of)).then(|| self.erase(state, of));
        let (mut pages, mut row) = (vec![], vec![]);
        for (lane, &buffer) in (0..).zip(buffers) {
            let at = of.page(page, lane);
            let records = self.records(state, buffer);
            row.push(self.begin(state, at, records));
            pages.push(SentPage { buffer, at, records });
        }
        state.composite += 1;
        let ticket = self.flash.program_row(RowSpan {
            group: of,
            page,
            members: state.groups.members(of),
            buffers: buffers.iter().map(|&buffer| BufferId(buffer as u32)).collect(),
            records: row,
            parity: None,
        });
        Sent::On(InFlight { pages, ticket, is_row: true, erase, summed: None, settled: Cell::new(false) })
    }
    /// Programs a page at the next place of a stream, beside a reserve of groups; `None` without one.
    pub fn program(
        &self,
        state: &mut State,
        (stream, reserve): (Stream, usize),
        buffer: BufferId,
        records: Records,
    ) -> Option<(PagePlace, Rc<Ticket>)> {
        let next = state.frontier.next(&mut state.groups, stream, reserve)?;
        Some((next.at, self.program_at(state, next, buffer, records)))
    }
    fn program_at(
        &self,
        state: &mut State,
        next: NextPage,
        buffer: BufferId,
        records: Records,
    ) -> Rc<Ticket> {
        let group = next.at.group();
        if next.opens && state.groups.must_be_erased(group) {
            // A block that can't be erased refuses its pages, which then go elsewhere.
            drop(self.erase(state, group));
        }
        let records = self.begin(state, next.at, records);
        let span = self.span(state, next.at, 0, self.info.sectors);
        self.flash.program(span, buffer, records)
    }
    /// A page is on its way. Returns its records for that place.
    pub fn begin(&self, state: &mut State, at: PagePlace, mut records: Records) -> Records {
        let behind = state.groups.begin(at).min(BEHIND_MAX);
        let erases = state.groups.erases(at.group());
        for (slot, record) in (0..).zip(records.iter_mut()) {
            let Some(record) = record else { continue };
            (record.behind, record.wear) = (behind, Wear::part(erases, at.page, self.info.sectors, slot));
        }
        let page_bytes = u64::from(self.config.geometry.page_bytes);
        self.count(|stats| stats.flash_bytes_written += page_bytes);
        records
    }
    /// Erases the blocks of a group that can be written.
    pub fn erase(&self, state: &mut State, at: GroupPlace) -> Rc<Ticket> {
        let alive = state.groups.alive(at);
        state.groups.erased(at);
        let blocks = alive.iter().filter(|&&block| block != NO_BLOCK).count() as u64;
        self.count(|stats| stats.flash_erases.gc += blocks);
        self.flash.erase(at.channel, at.die, alive)
    }
    /// A block can't be written any more, unless the drive refuses all writes.
    pub fn failed(&self, state: &mut State, at: PagePlace) {
        if self.flash.is_read_only() {
            return;
        }
        let lost = state.groups.kill(at);
        self.blocks_lost(state, lost.into());
    }
    /// A die of a lane doesn't answer any more. What it held is read from the others of its rows. Groups that
    /// are being written are closed, so that their rows get their redundancy back like those of others.
    pub fn lane_died(&self, (channel, die, lane): DeadLane) {
        let state = &mut *self.state.borrow_mut();
        if self.config.raid.is_some() {
            state.frontier.abandon_die(&mut state.groups, channel, die);
        }
        let lost = state.groups.kill_lane(channel, die, lane);
        self.blocks_lost(state, lost);
    }
    /// Hears of lanes that don't answer any more.
    pub async fn hear_of_lanes(self: Rc<Self>, heard: usize) {
        for n in heard.. {
            let lane = self.flash.next_dead(n).await;
            self.lane_died(lane);
            self.tell_media();
            self.tell_wear();
            self.work.wake_all(&self.exec);
        }
    }
    /// So many blocks can't be written any more.
    fn blocks_lost(&self, state: &mut State, lost: u64) {
        self.count(|stats| stats.grown_bad_blocks += lost);
        if self.spare.of(&state.groups) == 0 {
            self.used_up(state);
        }
    }
    /// The drive takes no more writes; [`tell_wear`](Ftl::tell_wear) tells.
    fn used_up(&self, state: &mut State) {
        if !self.is_stopped() {
            self.condition.set(DriveState::ReadOnly);
            state.place_anew();
            self.worn_out.set(true);
        }
    }
    /// Tells of what [`failed`](Ftl::failed) has found, and of numbers that have run out.
    pub fn tell_wear(&self) {
        if self.worn_out.take() {
            self.tell_media();
            self.pump();
            self.wake_all();
        }
    }
    /// The map leads to this place for a sector.
    pub fn moved(&self, state: &mut State, sector: u32, to: Option<SectorPlace>) {
        if let Some(before) = state.map.moved(sector, to) {
            state.groups.lost(before.page);
        }
        if let Some(to) = to {
            state.groups.gained(to.page);
        }
        self.told.mapped(sector, to.map(|at| (self.span(state, at.page, 0, 0).block, at)));
    }

    /// Awaits the pages on their way, in their order: the map then never goes back to an older version.
    pub async fn store(self: Rc<Self>) {
        loop {
            self.tell_wear();
            let first = || self.state.borrow().in_flight.front().cloned();
            let in_flight = self.work.wait(&self.exec, first).await;
            if !self.store_pages(&in_flight).await {
                self.condition.set(DriveState::Failed);
                self.wake_all();
                return;
            }
            let goes_on = {
                let state = &mut *self.state.borrow_mut();
                state.in_flight.pop_front();
                state.waits_for_program
            };
            if goes_on {
                self.pump();
            }
            self.tell_homeless();
        }
    }
    /// Awaits the oldest pages on their way. Pages that fail go elsewhere one by one. Returns false if the
    /// drive is gone.
    async fn store_pages(&self, in_flight: &InFlight) -> bool {
        if let Some(row) = &in_flight.summed {
            return self.store_row(in_flight, row).await;
        }
        let done = in_flight.ticket.done(&self.exec).await;
        let (is_row, mut job) = (in_flight.is_row, in_flight.ticket.job());
        if done.lost {
            self.settle(in_flight);
        }
        let is_settled = in_flight.settled.replace(true);
        if is_row && !done.is_good() {
            let lanes = in_flight.pages.iter().fold(0, |lanes, page| lanes | 1 << page.at.lane);
            let of = in_flight.pages[0].at.group();
            self.row_failed((of, lanes), in_flight.erase.as_deref(), &done).await;
        }
        for page in &in_flight.pages {
            let (mut at, mut done) = (page.at, done);
            let mut is_good = if is_row { done.is_good_on(at.lane) } else { done.is_good() };
            // Not before: collection must not take the group while the map doesn't lead to its good pages.
            if !is_settled {
                self.state.borrow_mut().groups.end(at);
            }
            while !is_good {
                if done.code.is_err() {
                    return false;
                }
                if !done.lost && (!is_row || at != page.at) {
                    self.failed(&mut self.state.borrow_mut(), at);
                }
                let (next, ticket) = self.find_home(page).await;
                job = ticket.job();
                done = ticket.done(&self.exec).await;
                (at, is_good) = (next, done.is_good());
                self.state.borrow_mut().groups.end(at);
            }
            let state = &mut *self.state.borrow_mut();
            state.stored += 1;
            let mut slots = vec![];
            state.gather.programmed(page.buffer, |slot, sector| slots.push((slot, sector)));
            for (slot, sector) in slots {
                self.moved(state, sector, Some(SectorPlace { page: at, slot }));
            }
            state.groups.accessed(at.group());
            self.told.made_room(job);
            self.room.wake_all(&self.exec);
            self.stored.wake_all(&self.exec);
        }
        true
    }
    /// Programs a page of the oldest on their way once more, elsewhere. It keeps its number: pages behind it
    /// may hold newer versions.
    async fn find_home(&self, page: &SentPage) -> (PagePlace, Rc<Ticket>) {
        let again = || {
            let state = &mut *self.state.borrow_mut();
            let to = (Stream::Host, self.reserve(state));
            let placed = match self.flash.is_read_only() {
                true => None,
                false => self.program(state, to, BufferId(page.buffer as u32), page.records),
            };
            self.has_home(state, placed.is_some());
            placed
        };
        self.tell_wear();
        if let Some(placed) = again() {
            return placed;
        }
        self.tell_homeless();
        self.work.wait(&self.exec, again).await
    }
    /// A page of the oldest on their way has found a place, or none.
    pub fn has_home(&self, state: &mut State, found: bool) {
        state.homeless = !found;
        if !found && self.is_stopped() {
            self.stored.wake_all(&self.exec);
        }
    }
    /// Pages may wait for a place in vain: collection finds out whether anything helps. Once it has stopped,
    /// who waits for them to be stored learns that they never will.
    pub fn tell_homeless(&self) {
        self.work.wake_all(&self.exec);
        if self.is_stopped() {
            self.stored.wake_all(&self.exec);
            self.room.wake_all(&self.exec);
        }
    }
    /// Writes all that is in memory to flash. Returns whether it is there.
    pub async fn flush(&self) -> bool {
        let mark = self.send(true);
        let is_stored = || {
            let state = self.state.borrow();
            let stored = state.stored >= mark;
            let never = match self.condition.get() {
                DriveState::Failed => true,
                DriveState::ReadOnly => state.waits_in_vain(),
                _ => false,
            };
            (stored || never).then_some(stored)
        };
        self.told.wait_on(&self.stored, Wait::Flush, is_stored).await
    }
}
