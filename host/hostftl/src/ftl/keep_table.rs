//! The block group table on flash (H25): it is stored in a group of its own, and NVRAM says where.
//!
//! A copy is programmed into each block of an area. When all of them have ended, and one of them is whole,
//! NVRAM gets its place, twice. The table counts from then on. Copies of an area lie one behind the other;
//! when it is full, and after each power-on, the other area is erased and written. So the copy that counts is
//! never touched, and a store that is cut off leaves it valid. If wear is levelled, a table whose group lags
//! behind moves to a group that is more worn.

use super::config::RESERVE;
use super::flash::{Records, SECTORS_MAX, Span};
use super::groups::{Exchange, GroupPlace};
use super::oob::{SEQUENCE_MAX, SectorRecord};
use super::shared::{Ftl, State};
use super::table_place::{TablePlace, lanes_of};
use super::{block_table::BlockTable, table_pages};
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_wire::array::NO_BLOCK;

/// How often a store is begun anew when pages fail or the drive loses its power.
const TRIES: u32 = 4;

impl Ftl {
    /// Stores the table whenever it is to change. Groups whose blocks are exchanged are held until it counts.
    pub async fn keep_table(self: Rc<Self>) {
        loop {
            let (table, exchange) = self.work.wait(&self.exec, || self.next_table()).await;
            let losses = self.flash.losses();
            let stored = self.store_table(&table).await;
            {
                let State { keeping, groups, .. } = &mut *self.state.borrow_mut();
                if let Some(keeping) = keeping {
                    keeping.stores = false;
                    keeping.stored += u64::from(stored);
                    keeping.anew &= !stored;
                    if !stored && self.flash.losses() == losses {
                        keeping.store_failed(groups);
                    }
                }
                if let Some(exchange) = &exchange {
                    if stored {
                        groups.carry_out(exchange);
                    }
                    exchange.groups().into_iter().for_each(|at| groups.give_back(at));
                }
                if let Some(keeping) = keeping {
                    keeping.end_move(groups, stored);
                }
            }
            self.tell_wear();
            self.pump();
            self.gate.wake_all(&self.exec);
        }
    }
    /// A table that is to be stored, and the exchange that changes it.
    fn next_table(&self) -> Option<(BlockTable, Option<Exchange>)> {
        let state = &mut *self.state.borrow_mut();
        let few = self.few(state);
        let is_at_work = !state.quiet && !self.is_stopped() && self.flash.is_attached();
        if is_at_work {
            self.plan_repair(state);
        }
        let State { keeping, groups, .. } = state;
        let keeping = keeping.as_mut()?;
        // A format waits for an exchange that has begun.
        if let Some(exchange) = keeping.pending.take() {
            return Some((groups.table_after(&exchange), Some(exchange)));
        }
        if !is_at_work || keeping.given_up {
            return None;
        }
        if keeping.place.is_some() && keeping.anew {
            keeping.stores = true;
            return Some((groups.table().clone(), None));
        }
        if keeping.place.is_some() {
            let window = self.config.wear_window.filter(|_| groups.all_free() > RESERVE)?;
            let to = groups.more_worn_free(keeping.group?, window.div_ceil(2).max(1))?;
            groups.hold(to);
            (keeping.moves_to, keeping.stores) = (Some(to), true);
            return Some((groups.table().clone(), None));
        }
        if keeping.group.is_none() && groups.all_free() > few {
            // The first start, or no table could be stored before.
            let at = groups.fullest_free(0, 0, keeping.refused)?;
            groups.hold(at);
            keeping.group = Some(at);
        }
        keeping.group?;
        keeping.stores = true;
        Some((groups.table().clone(), None))
    }
    /// Groups that hold nothing may have become fit to be made whole: they are held before anybody opens
    /// them. The reserve is left to collection meanwhile.
    pub fn plan_repair(&self, state: &mut State) {
        let State { keeping, groups, retired, quiet, .. } = state;
        let Some(keeping) = keeping.as_mut().filter(|keeping| keeping.can_store() && !*quiet) else {
            return;
        };
        let room = groups.all_free().saturating_sub(RESERVE);
        let Some(exchange) = groups.exchange(room) else { return };
        // A block that leaves its group isn't read any more.
        retired.retire(&self.nvram, groups, exchange.to);
        exchange.groups().into_iter().for_each(|at| groups.hold(at));
        (keeping.pending, keeping.stores) = (Some(exchange), true);
    }
    /// Stores a table. Returns whether it counts now.
    async fn store_table(&self, table: &BlockTable) -> bool {
        let page_bytes = self.config.geometry.page_bytes as usize;
        let pages = table_pages::pages(table.entries().len() as u64, page_bytes) as u16;
        for _ in 0..TRIES {
            let Some((at, generation, area, page)) = self.begin_store(pages).await else { continue };
            let whole = self.program_table(table, generation, (at, area, page), pages).await;
            {
                let state = &mut *self.state.borrow_mut();
                let State { keeping: Some(keeping), groups, .. } = state else { return false };
                // Behind a page that failed, or that a loss of power has cut off, nothing is programmed.
                keeping.next = whole.then_some((area, page + pages));
                if whole {
                    let (blocks, newest) = (groups.members(at), keeping.newest);
                    let place = TablePlace { generation, newest, blocks, area, page };
                    place.write(&self.table_nvram);
                    keeping.place = Some(place);
                    return true;
                }
            }
            if self.is_stopped() {
                return false;
            }
            self.tell_wear();
        }
        false
    }
    /// Where the next copy goes, with its generation. The other area is erased if the copy begins it; `None`
    /// if it could not be erased on any lane, and is to be tried again, or if the generations have run out.
    async fn begin_store(&self, pages: u16) -> Option<(GroupPlace, u64, u8, u16)> {
        let (at, generation, area, erases) = {
            let State { keeping, groups, .. } = &mut *self.state.borrow_mut();
            let keeping = keeping.as_mut()?;
            let at = keeping.moves_to.or(keeping.group)?;
            if keeping.newest == SEQUENCE_MAX {
                return None;
            }
            keeping.newest += 1;
            // What is on flash by now may be newer than what counts.
            if let Some(place) = &mut keeping.place {
                place.newest = keeping.newest;
                place.write(&self.table_nvram);
            }
            let generation = keeping.newest;
            if keeping.moves_to.is_none()
                && let Some((area, page)) = keeping.next
                && page + pages <= self.info.pages
            {
                return Some((at, generation, area, page));
            }
            let area = match keeping.place {
                Some(place) if keeping.moves_to.is_none() => 1 - place.area,
                _ => 0,
            };
            let lanes = lanes_of(area, self.info.lanes);
            let mut blocks = groups.alive(at);
            let others = (0..).zip(blocks.iter_mut()).filter(|(lane, _)| !lanes.contains(lane));
            others.for_each(|(_, block)| *block = NO_BLOCK);
            let count = blocks.iter().filter(|&&block| block != NO_BLOCK).count() as u64;
            if count == 0 {
                return None;
            }
            groups.erased(at);
            self.count(|stats| stats.flash_erases.metadata += count);
            (at, generation, area, self.flash.erase(at.channel, at.die, blocks))
        };
        let done = erases.done(&self.exec).await;
        let state = &mut *self.state.borrow_mut();
        for lane in (0..self.info.lanes).filter(|lane| done.failed >> lane & 1 != 0) {
            self.failed(state, at.page(0, lane));
        }
        (!done.lost && done.code.is_ok()).then_some((at, generation, area, 0))
    }
    /// Programs a copy into each block of an area. Returns whether one of them is whole, and nothing was
    /// lost.
    async fn program_table(
        &self,
        table: &BlockTable,
        generation: u64,
        (at, area, first): (GroupPlace, u8, u16),
        pages: u16,
    ) -> bool {
        for page in 0..pages {
            let tickets: Vec<_> = {
                let state = &mut *self.state.borrow_mut();
                let Some(keeping) = &state.keeping else { return false };
                let mut records: Records = [None; SECTORS_MAX];
                records[..usize::from(self.info.sectors)]
                    .fill(Some(SectorRecord::of_table(page.into(), generation)));
                let lanes = lanes_of(area, self.info.lanes);
                let alive: Vec<u8> = lanes.filter(|&lane| state.groups.is_alive(at, lane)).collect();
                let buffer = keeping.buffer;
                table_pages::put(table, generation, page.into(), self.buffers.borrow_mut().page_mut(buffer));
                let program = |lane| {
                    let to = at.page(first + page, lane);
                    let block = state.groups.members(at)[usize::from(lane)];
                    let span = Span { page: to, block, first: 0, count: self.info.sectors };
                    (lane, self.flash.program(span, buffer, records))
                };
                alive.into_iter().map(program).collect()
            };
            let programs = tickets.len() as u64;
            self.count(|stats| {
                stats.flash_programs.metadata += programs;
                stats.flash_bytes_written += programs * u64::from(self.config.geometry.page_bytes);
            });
            let (mut good, mut lost) = (false, false);
            for (lane, ticket) in tickets {
                let done = ticket.done(&self.exec).await;
                lost |= done.lost || done.code.is_err();
                good |= done.is_good();
                if !done.is_good() && !done.lost {
                    // Its block gets no more.
                    self.failed(&mut self.state.borrow_mut(), at.page(0, lane));
                }
            }
            if lost || !good {
                return false;
            }
        }
        true
    }
}
