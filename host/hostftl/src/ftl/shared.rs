//! What all tasks of the FTL share: sectors in memory, on their way, and on flash.

use super::config::{HostFtlConfig, RESERVE};
use super::flash::{Flash, Records, Span, Ticket};
use super::frontier::{Frontier, Stream};
use super::gather::Gather;
use super::groups::{GroupPlace, Groups};
use super::map::Map;
use super::oob::{BEHIND_MAX, SectorRecord};
use super::place::{PagePlace, SectorPlace};
use super::retired::Retired;
use super::root::Root;
use super::spare::Spare;
use crate::driver::ArrayInfo;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use aster_exec::{Core, Exec, WaitQueue};
use aster_parties::{DriveState, MediaState, NvramSlice, TranslationStats};
use aster_ports::dram::SharedDram;
use aster_ports::host::{CommandPort, HostStatus};
use aster_units::BufferId;
use aster_wire::array::NO_BLOCK;
use core::cell::{Cell, RefCell};

/// A page of the host's that is on its way.
#[derive(Clone)]
pub(super) struct InFlight {
    pub buffer: usize,
    pub at: PagePlace,
    pub records: Records,
    pub ticket: Rc<Ticket>,
}

pub(super) struct State {
    pub map: Map,
    pub groups: Groups,
    pub frontier: Frontier,
    pub gather: Gather,
    /// The sequence number of the next page.
    pub sequence: u64,
    /// Buffers whose pages wait for a place, and pages on their way, both in the order of their sending.
    pub due: VecDeque<usize>,
    pub in_flight: VecDeque<InFlight>,
    /// The oldest page on its way could not be programmed, and waits for another place.
    pub homeless: Option<(usize, Records)>,
    /// Collection waits for what is in memory, and leaves its reserve to the host for that.
    pub urgent: bool,
    /// Pages that were sent, and those of them that are on flash.
    pub sent: u64,
    pub stored: u64,
    /// Sectors of the host's pages that were programmed without data.
    pub padded: u64,
    pub root: Root,
    pub retired: Retired,
    /// Commands that are being carried out, and whether no more may begin: a format waits or is at work.
    pub commands: u32,
    pub closed: bool,
    pub collecting: bool,
}

impl State {
    /// Whether pages wait for a place, and none is on its way to the flash.
    pub fn waits_in_vain(&self) -> bool {
        self.homeless.is_some() || !self.due.is_empty() && self.in_flight.is_empty()
    }
}

/// Calls whoever watches the media.
pub(super) type Watcher = Box<dyn Fn(MediaState)>;

pub(super) struct Ftl {
    pub exec: Exec,
    pub core: Core,
    pub commands: Rc<CommandPort>,
    pub command_cycles: u64,
    pub buffers: SharedDram,
    pub nvram: NvramSlice,
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
    /// The last spare block is gone, and nobody was told yet.
    pub worn_out: Cell<bool>,
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
    /// No page can be written any more. Those that have no place stay in memory.
    pub fn stop(&self, condition: DriveState) {
        if !self.is_stopped() {
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
        usize::from(self.info.channels) * usize::from(self.info.dies)
    }
    /// Collection begins when no more groups are free: the host can then open one of each die beside the
    /// reserve.
    pub fn few(&self) -> usize {
        RESERVE + self.dies()
    }
    pub fn span(&self, state: &State, page: PagePlace, first: u8, count: u8) -> Span {
        let members = state.groups.members(page.group());
        Span { page, block: members[usize::from(page.lane)], first, count }
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
    pub fn try_put(&self, sector: u32, content: impl FnOnce(&mut [u8])) -> bool {
        {
            let state = &mut *self.state.borrow_mut();
            let Some(waiting) = state.gather.put(sector) else { return false };
            self.sector(BufferId(waiting.buffer as u32), waiting.slot.into(), content);
        }
        self.send(false);
        true
    }
    /// Sends the page that is full, or with `flush` also one that isn't. Returns how many were sent so far.
    pub fn send(&self, flush: bool) -> u64 {
        let sent = {
            let state = &mut *self.state.borrow_mut();
            if let Some(buffer) = state.gather.send(flush) {
                state.due.push_back(buffer);
                state.sent += 1;
            }
            state.sent
        };
        self.pump();
        sent
    }
    /// Groups that the host leaves to collection now. What was acknowledged is stored even if nothing more is
    /// taken, and collection may wait for it.
    fn reserve(&self, state: &State) -> usize {
        if self.is_stopped() || state.urgent { 0 } else { RESERVE }
    }
    /// Gives pages that wait a place, as far as there is room beside the reserve of collection.
    pub fn pump(&self) {
        let state = &mut *self.state.borrow_mut();
        let reserve = self.reserve(state);
        while let Some(&buffer) = state.due.front() {
            let sequence = state.sequence;
            let mut records: Records = [None; super::flash::SECTORS_MAX];
            for (record, &sector) in records.iter_mut().zip(state.gather.sectors(buffer)) {
                *record = Some(SectorRecord::data(sector, sequence));
            }
            let to = (Stream::Host, reserve);
            let Some((at, ticket)) = self.program(state, to, BufferId(buffer as u32), records) else {
                break;
            };
            state.sequence += 1;
            state.due.pop_front();
            state.padded += (usize::from(self.info.sectors) - state.gather.sectors(buffer).len()) as u64;
            state.in_flight.push_back(InFlight { buffer, at, records, ticket });
            self.count(|stats| stats.flash_programs.host += 1);
        }
        self.work.wake_all(&self.exec);
    }
    /// Programs a page at the next place of a stream, beside a reserve of groups; `None` without one.
    pub fn program(
        &self,
        state: &mut State,
        (stream, reserve): (Stream, usize),
        buffer: BufferId,
        mut records: Records,
    ) -> Option<(PagePlace, Rc<Ticket>)> {
        let next = state.frontier.next(&mut state.groups, stream, reserve)?;
        let group = next.at.group();
        if next.opens && state.groups.must_be_erased(group) {
            // A block that can't be erased refuses its pages, which then go elsewhere.
            drop(self.erase(state, group));
        }
        let behind = state.groups.begin(next.at).min(BEHIND_MAX);
        records.iter_mut().flatten().for_each(|record| record.behind = behind);
        let page_bytes = u64::from(self.config.geometry.page_bytes);
        self.count(|stats| stats.flash_bytes_written += page_bytes);
        let span = self.span(state, next.at, 0, self.info.sectors);
        Some((next.at, self.flash.program(span, buffer, records)))
    }
    /// Erases the blocks of a group that can be written.
    pub fn erase(&self, state: &mut State, at: GroupPlace) -> Rc<Ticket> {
        let alive = state.groups.alive(at);
        state.groups.erased(at);
        let blocks = alive.iter().filter(|&&block| block != NO_BLOCK).count() as u64;
        self.count(|stats| stats.flash_erases.gc += blocks);
        self.flash.erase(at.channel, at.die, alive)
    }
    /// A block can't be written any more.
    pub fn failed(&self, state: &mut State, at: PagePlace) {
        if state.groups.kill(at) {
            self.count(|stats| stats.grown_bad_blocks += 1);
        }
        if self.spare.of(&state.groups) == 0 && !self.is_stopped() {
            self.condition.set(DriveState::ReadOnly);
            self.worn_out.set(true);
        }
    }
    /// Tells of what [`failed`](Ftl::failed) has found.
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
    }

    /// Awaits the pages on their way, in their order: the map then never goes back to an older version.
    pub async fn store(self: Rc<Self>) {
        loop {
            self.tell_wear();
            let first = || self.state.borrow().in_flight.front().cloned();
            let InFlight { buffer, at, records, ticket } = self.work.wait(&self.exec, first).await;
            let done = ticket.done(&self.exec).await;
            self.state.borrow_mut().groups.end(at);
            if !done.is_good() {
                self.failed(&mut self.state.borrow_mut(), at);
                if done.code.is_err() {
                    self.condition.set(DriveState::Failed);
                    self.wake_all();
                    return;
                }
                self.state.borrow_mut().homeless = Some((buffer, records));
                self.find_home().await;
                continue;
            }
            let state = &mut *self.state.borrow_mut();
            state.in_flight.pop_front();
            state.stored += 1;
            let mut slots = vec![];
            state.gather.programmed(buffer, |slot, sector| slots.push((slot, sector)));
            for (slot, sector) in slots {
                self.moved(state, sector, Some(SectorPlace { page: at, slot }));
            }
            self.room.wake_all(&self.exec);
            self.stored.wake_all(&self.exec);
            self.work.wake_all(&self.exec);
        }
    }
    /// Programs the oldest page on its way once more, elsewhere. It keeps its number: pages behind it may
    /// hold newer versions.
    async fn find_home(&self) {
        let again = || {
            let state = &mut *self.state.borrow_mut();
            let (buffer, records) = state.homeless.expect("a page has failed");
            let to = (Stream::Host, self.reserve(state));
            let (at, ticket) = self.program(state, to, BufferId(buffer as u32), records)?;
            state.in_flight[0] = InFlight { buffer, at, records, ticket };
            state.homeless = None;
            Some(())
        };
        self.tell_wear();
        self.work.wait(&self.exec, again).await;
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
        self.stored.wait(&self.exec, is_stored).await
    }
}
