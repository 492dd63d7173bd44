//! Collection: the group that holds the least is emptied, and is free then (H21, H25).
//!
//! A copy gets the sequence number of its page when that page gets its place. It is left out if a newer
//! version of its sector has a place by then, and so the lower number; one without a place gets a higher
//! number.

use super::flash::{Records, SECTORS_MAX, Ticket};
use super::oob::{SectorKind, SectorRecord};
use super::place::{PagePlace, SectorPlace};
use super::shared::Ftl;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_parties::DriveState;
use aster_units::BufferId;
use aster_wire::array::{LANES_MAX, NO_BLOCK};

/// Pages of copies that are on their way at once.
const COPIES: usize = 16;
/// Page buffers of collection: a row of the victim, and copies.
pub(super) const BUFFERS: usize = LANES_MAX + COPIES;

/// Where a slot of a page of copies comes from.
type Sources = [Option<(u32, SectorPlace)>; SECTORS_MAX];

struct Copied {
    buffer: BufferId,
    sources: Sources,
    at: PagePlace,
    records: Records,
    ticket: Rc<Ticket>,
}

pub(super) struct Collector {
    ftl: Rc<Ftl>,
    rows: [BufferId; LANES_MAX],
    free: Vec<BufferId>,
    filling: Option<(BufferId, Sources, usize)>,
    on_their_way: VecDeque<Copied>,
}

impl Collector {
    /// With page buffers from `first` on.
    pub fn new(ftl: &Rc<Ftl>, first: u32) -> Self {
        let copies = first + LANES_MAX as u32;
        Collector {
            ftl: Rc::clone(ftl),
            rows: core::array::from_fn(|lane| BufferId(first + lane as u32)),
            free: (copies..copies + COPIES as u32).map(BufferId).collect(),
            filling: None,
            on_their_way: VecDeque::with_capacity(COPIES),
        }
    }
    pub async fn run(mut self) {
        let ftl = Rc::clone(&self.ftl);
        loop {
            let (channel, die, group) = ftl.work.wait(&ftl.exec, || self.victim()).await;
            let emptied = self.empty(channel, die, group).await;
            // A sector of which no copy was made has a newer version on its way.
            let mark = {
                let state = ftl.state.borrow();
                state.sent - state.due.len() as u64
            };
            let is_stored = || (ftl.state.borrow().stored >= mark || ftl.is_stopped()).then_some(());
            ftl.stored.wait(&ftl.exec, is_stored).await;
            {
                let state = &mut *ftl.state.borrow_mut();
                state.collecting = false;
                if state.groups.valid(channel, die, group) == 0 {
                    state.groups.release(channel, die, group);
                } else {
                    state.groups.stick(PagePlace { channel, die, group, page: 0, lane: 0 });
                }
            }
            ftl.count(|stats| stats.gc_runs += 1);
            if !emptied {
                return ftl.stop(DriveState::ReadOnly);
            }
            ftl.pump();
            ftl.gate.wake_all(&ftl.exec);
        }
    }
    /// The next victim, once free groups are few. The drive is read-only when pages wait for a place and no
    /// victim would free more than its copies take.
    fn victim(&self) -> Option<(u8, u8, u16)> {
        let ftl = &self.ftl;
        let found = {
            let state = &mut *ftl.state.borrow_mut();
            if state.closed || ftl.is_stopped() || state.groups.all_free() > ftl.reserve() + ftl.dies() {
                return None;
            }
            let sectors = u32::from(ftl.info.sectors);
            let most = u32::from(ftl.info.pages) * u32::from(ftl.info.lanes) * sectors;
            let victim = state.groups.emptiest();
            let victim = victim.filter(|&(.., valid)| valid + sectors * u32::from(ftl.info.lanes) <= most);
            if let Some((channel, die, group, _)) = victim {
                state.collecting = true;
                return Some((channel, die, group));
            }
            let waits = !state.due.is_empty() && state.in_flight.is_empty();
            waits && state.groups.all_free() <= ftl.reserve()
        };
        if found {
            ftl.stop(DriveState::ReadOnly);
        }
        None
    }

    /// Copies what a group holds. Returns whether there was room for all of it.
    async fn empty(&mut self, channel: u8, die: u8, group: u16) -> bool {
        let ftl = Rc::clone(&self.ftl);
        let members = ftl.state.borrow().groups.members(channel, die, group);
        for page in 0..ftl.info.pages {
            if ftl.state.borrow().groups.valid(channel, die, group) == 0 {
                break;
            }
            let row: Vec<(PagePlace, BufferId, Rc<Ticket>)> = (0u8..)
                .zip(members)
                .filter(|&(_, block)| block != NO_BLOCK)
                .map(|(lane, _)| {
                    let at = PagePlace { channel, die, group, page, lane };
                    let span = ftl.span(&ftl.state.borrow(), at, 0, ftl.info.sectors);
                    let buffer = self.rows[usize::from(lane)];
                    (at, buffer, ftl.flash.read(span, buffer, 0))
                })
                .collect();
            ftl.count(|stats| stats.flash_reads.gc += row.len() as u64);
            for (at, buffer, ticket) in row {
                let records = ticket.done(&ftl.exec).await.records;
                for (slot, record) in (0..).zip(records) {
                    let Some(SectorRecord { sector, kind: SectorKind::Data, .. }) = record else { continue };
                    let from = SectorPlace { page: at, slot };
                    if self.is_current(sector, from) && !self.copy(sector, from, buffer).await {
                        return false;
                    }
                }
            }
        }
        let rest = self.submit();
        while let Some(copied) = self.on_their_way.pop_front() {
            if !self.finish(copied).await {
                return false;
            }
        }
        rest
    }
    /// Whether a sector is still at this place.
    fn is_current(&self, sector: u32, from: SectorPlace) -> bool {
        let state = self.ftl.state.borrow();
        sector < state.map.sectors() && state.map.place_of(sector) == Some(from)
    }
    async fn copy(&mut self, sector: u32, from: SectorPlace, buffer: BufferId) -> bool {
        let ftl = Rc::clone(&self.ftl);
        if self.filling.is_none() {
            while self.free.is_empty() {
                let copied = self.on_their_way.pop_front().expect("a buffer is free or on its way");
                if !self.finish(copied).await {
                    return false;
                }
            }
            let into = self.free.pop().expect("a buffer is free");
            self.filling = Some((into, [None; SECTORS_MAX], 0));
        }
        let (into, sources, count) = self.filling.as_mut().expect("a buffer is being filled");
        let mut content = Vec::new();
        ftl.sector(buffer, from.slot.into(), |bytes| content.extend_from_slice(bytes));
        ftl.sector(*into, *count, |bytes| bytes.copy_from_slice(&content));
        sources[*count] = Some((sector, from));
        *count += 1;
        *count < usize::from(ftl.info.sectors) || self.submit()
    }
    /// Gives the page that is being filled a place; `false` without one.
    fn submit(&mut self) -> bool {
        let ftl = Rc::clone(&self.ftl);
        let Some((buffer, mut sources, _)) = self.filling.take() else { return true };
        let state = &mut *ftl.state.borrow_mut();
        let sequence = state.sequence;
        let mut records: Records = [None; SECTORS_MAX];
        for (source, record) in sources.iter_mut().zip(&mut records) {
            let counts = source.filter(|&(sector, from)| {
                let newer = state.gather.find(sector).is_some_and(|waiting| state.placed[waiting.buffer]);
                state.map.place_of(sector) == Some(from) && !newer
            });
            *source = counts;
            *record = counts.map(|(sector, _)| SectorRecord { sector, sequence, kind: SectorKind::Data });
        }
        if sources.iter().all(Option::is_none) {
            self.free.push(buffer);
            return true;
        }
        let Some((at, ticket)) = ftl.program(state, 0, buffer, records) else { return false };
        state.sequence += 1;
        self.on_their_way.push_back(Copied { buffer, sources, at, records, ticket });
        ftl.count(|stats| stats.flash_programs.gc += 1);
        true
    }
    /// Awaits a page of copies, and has the map lead there.
    async fn finish(&mut self, mut copied: Copied) -> bool {
        let ftl = Rc::clone(&self.ftl);
        loop {
            let done = copied.ticket.done(&ftl.exec).await;
            let state = &mut *ftl.state.borrow_mut();
            state.groups.end(copied.at);
            if done.is_good() {
                break;
            }
            ftl.failed(state, copied.at);
            let next = match done.code {
                Ok(_) => ftl.program(state, 0, copied.buffer, copied.records),
                Err(_) => None,
            };
            let Some((at, ticket)) = next else { return false };
            (copied.at, copied.ticket) = (at, ticket);
        }
        let state = &mut *ftl.state.borrow_mut();
        for (slot, source) in (0..).zip(copied.sources) {
            if let Some((sector, from)) = source
                && state.map.place_of(sector) == Some(from)
            {
                ftl.moved(state, sector, Some(SectorPlace { page: copied.at, slot }));
            }
        }
        self.free.push(copied.buffer);
        true
    }
}
