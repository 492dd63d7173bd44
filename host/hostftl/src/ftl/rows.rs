//! Rows with parity (H33, G25): a page of each lane of a group, of which one has the sum of the others. One
//! command writes a row, and the drive sums it up. Of a row of which a page failed nothing counts.

use super::flash::{Done, Records, RowSpan, Ticket};
use super::frontier::{NoPlace, Stream, SummedRow};
use super::groups::GroupPlace;
use super::place::{PagePlace, SectorPlace};
use super::shared::{Ftl, InFlight, SentPage, SentRow, State};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::BufferId;
use aster_wire::array::{LANES_MAX, NO_BLOCK};
use core::cell::Cell;

/// A page of data.
pub(super) type DataPage = (BufferId, Records);

fn lanes_of(bits: u8) -> impl Iterator<Item = u8> {
    (0..LANES_MAX as u8).filter(move |lane| bits >> lane & 1 != 0)
}

impl Ftl {
    /// The next row of a stream, beside a reserve of groups.
    pub fn next_row(&self, state: &mut State, to: (Stream, usize)) -> Option<SummedRow> {
        state.frontier.next_summed(&mut state.groups, to, self.config.raid?)
    }
    /// Programs the first of these pages, as many as the row takes, and padding.
    pub fn program_row(
        &self,
        state: &mut State,
        (stream, row): (Stream, SummedRow),
        pages: &[DataPage],
    ) -> SentRow {
        let of = row.of;
        state.frontier.take_summed(&mut state.groups, stream, &row);
        if row.opens {
            // It holds nothing: what a block has that can't be written is no part of its rows.
            state.retired.retire(&self.nvram, &state.groups, of);
        }
        let erase = (row.opens && state.groups.must_be_erased(of)).then(|| self.erase(state, of));
        let members = state.groups.members(of);
        let padding = (self.padding, Records::default());
        let (mut at, mut buffers, mut records) = (vec![], vec![], vec![]);
        for (n, lane) in lanes_of(row.data).enumerate() {
            let place = of.page(row.page, lane);
            let &(buffer, of_page) = pages.get(n).unwrap_or(&padding);
            buffers.push(buffer);
            records.push(self.begin(state, place, of_page));
            if n < pages.len() {
                at.push(place);
            } else {
                state.padded += u64::from(self.info.sectors);
            }
        }
        self.begin(state, of.page(row.page, row.parity), Records::default());
        state.composite += 1;
        let has = |lane: usize| row.lanes() >> lane & 1 != 0;
        let ticket = self.flash.program_row(RowSpan {
            group: of,
            page: row.page,
            members: core::array::from_fn(|lane| if has(lane) { members[lane] } else { NO_BLOCK }),
            buffers,
            records,
            parity: Some(row.parity),
        });
        SentRow { row, at, ticket, erase }
    }
    /// Sends rows of the pages that wait, as long as they fill one or must be stored now.
    pub fn pump_rows(&self, state: &mut State, reserve: usize) {
        (state.waits_for_place, state.waits_for_program) = (false, false);
        let Some(parity) = self.config.raid else { return };
        while !state.due.is_empty() {
            let must_go = state.placed < state.close_to;
            let to = (Stream::Host, reserve);
            let row = match state.frontier.next_summed_paced(&mut state.groups, to, parity) {
                Ok(row) => row,
                Err(NoPlace::Busy) => {
                    state.waits_for_program = true;
                    break;
                }
                Err(NoPlace::Group) => {
                    state.waits_for_place = must_go || state.due.len() + 1 >= usize::from(self.info.lanes);
                    break;
                }
            };
            if !must_go && state.due.len() < row.room() {
                break;
            }
            let count = row.room().min(state.due.len());
            let buffers: Vec<usize> = state.due.drain(..count).flat_map(|due| due.into_pages()).collect();
            state.placed += count as u64;
            let of_page = |state: &mut State, buffer| (BufferId(buffer as u32), self.records(state, buffer));
            let pages: Vec<DataPage> = buffers.iter().map(|&buffer| of_page(state, buffer)).collect();
            let row = self.program_row(state, (Stream::Host, row), &pages);
            let of_page = |(buffer, (&at, (_, records)))| SentPage { buffer, at, records };
            let sent = buffers.into_iter().zip(row.at.iter().zip(pages)).map(of_page).collect();
            self.count(|stats| stats.flash_programs.host += row.row.room() as u64 + 1);
            let ticket = Rc::clone(&row.ticket);
            let in_flight = InFlight {
                pages: sent,
                ticket,
                is_row: true,
                erase: None,
                summed: Some(row),
                settled: Cell::new(false),
            };
            state.in_flight.push_back(Rc::new(in_flight));
        }
    }
    /// Awaits a row, and has `each` take the place of each page, by number. Pages of a row that fails go
    /// elsewhere, all of them, with the records that they had. Returns false if they can't.
    pub async fn end_row(
        &self,
        stream: Stream,
        (first, settled): (&SentRow, Option<&Cell<bool>>),
        mut pages: &[DataPage],
        mut each: impl FnMut(&mut State, usize, PagePlace),
    ) -> bool {
        let (mut again, mut n): (Option<SentRow>, usize) = (None, 0);
        loop {
            let sent = again.as_ref().unwrap_or(first);
            let done = sent.ticket.done(&self.exec).await;
            if !done.is_good() {
                self.row_failed((sent.row.of, sent.row.lanes()), sent.erase.as_deref(), &done).await;
            }
            {
                let state = &mut *self.state.borrow_mut();
                let is_settled = again.is_none() && settled.is_some_and(|settled| settled.replace(true));
                for lane in lanes_of(sent.row.lanes()).filter(|_| !is_settled) {
                    state.groups.end(sent.row.of.page(sent.row.page, lane));
                }
                if done.is_good() {
                    for &at in &sent.at {
                        each(state, n, at);
                        n += 1;
                    }
                    pages = &pages[sent.at.len()..];
                }
            }
            if pages.is_empty() {
                return true;
            }
            if done.code.is_err() || done.lost && stream.is_of_copies() {
                return false;
            }
            let Some(next) = self.row_home(stream, pages).await else { return false };
            again = Some(next);
        }
    }
    /// Programs pages of a row that failed in another one.
    async fn row_home(&self, stream: Stream, pages: &[DataPage]) -> Option<SentRow> {
        let again = |reserve: Option<usize>| {
            let state = &mut *self.state.borrow_mut();
            let reserve = reserve.unwrap_or_else(|| self.reserve(state));
            let row = match self.flash.is_read_only() {
                true => None,
                false => self.next_row(state, (stream, reserve)),
            };
            if stream == Stream::Host {
                self.has_home(state, row.is_some());
            }
            Some(self.program_row(state, (stream, row?), pages))
        };
        self.tell_wear();
        if stream.is_of_copies() {
            return again(Some(0));
        }
        if let Some(sent) = again(None) {
            return Some(sent);
        }
        self.tell_homeless();
        Some(self.work.wait(&self.exec, || again(None)).await)
    }
    /// Awaits the oldest row of the host's. Returns false if the drive is gone.
    pub async fn store_row(&self, in_flight: &InFlight, sent: &SentRow) -> bool {
        let of_page = |page: &SentPage| (BufferId(page.buffer as u32), page.records);
        let pages: Vec<DataPage> = in_flight.pages.iter().map(of_page).collect();
        let stored = |state: &mut State, n: usize, at: PagePlace| {
            state.stored += 1;
            let mut slots = vec![];
            state.gather.programmed(in_flight.pages[n].buffer, |slot, sector| slots.push((slot, sector)));
            for (slot, sector) in slots {
                self.moved(state, sector, Some(SectorPlace { page: at, slot }));
            }
            state.groups.accessed(at.group());
            self.told.made_room(sent.ticket.job());
        };
        let is_stored = self.end_row(Stream::Host, (sent, Some(&in_flight.settled)), &pages, stored).await;
        self.room.wake_all(&self.exec);
        self.stored.wake_all(&self.exec);
        is_stored
    }
    /// A row was not programmed, or not on all lanes: its group gets no more. The drive refuses all of it if
    /// one block is bad, and tells the lanes, or if a row before was not programmed; if it is neither, nobody
    /// knows which one.
    pub async fn row_failed(&self, (of, lanes): (GroupPlace, u8), erase: Option<&Ticket>, done: &Done) {
        if done.lost {
            return;
        }
        let erased = match erase {
            Some(erase) => erase.done(&self.exec).await.failed,
            None => 0,
        };
        let failed = erased | done.failed;
        let state = &mut *self.state.borrow_mut();
        let are_alive = lanes_of(lanes).all(|lane| state.groups.is_alive(of, lane));
        let unknown = done.code.is_ok() && failed == 0 && are_alive && state.groups.is_alone(of);
        for lane in lanes_of(lanes).filter(|lane| unknown || failed >> lane & 1 != 0) {
            self.failed(state, of.page(0, lane));
        }
        state.frontier.abandon(&mut state.groups, of);
    }
}
