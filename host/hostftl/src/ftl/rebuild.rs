//! Pages that can't be read, from the other pages of their row (H33, G25).

use super::flash::Records;
use super::oob::{SectorKind, SectorRecord};
use super::others::Others;
use super::place::{PagePlace, SectorPlace};
use super::shared::{Ftl, State};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::BufferId;
use aster_wire::array::NO_BLOCK;

/// A page that was rebuilt: the records of the sectors that could be had, and the content of all.
pub(super) type Rebuilt = (Records, Vec<u8>);

impl Ftl {
    /// The group of a page that had to be rebuilt is emptied.
    fn harm(&self, at: PagePlace) {
        self.state.borrow_mut().groups.harm(at.group());
        self.work.wake_all(&self.exec);
    }
    /// Brings a sector that its page didn't into a page buffer: from the other pages of the row, or from
    /// where it is by now. Returns false if it is lost.
    pub async fn read_otherwise(
        &self,
        sector: u32,
        mut from: SectorPlace,
        (buffer, slot): (BufferId, u8),
    ) -> bool {
        let is_it = |record: Option<SectorRecord>| {
            record.is_some_and(|record| record.kind == SectorKind::Data && record.sector == sector)
        };
        loop {
            let is_there = |state: &State| state.map.place_of(sector) == Some(from);
            if let Some((records, content)) = self.rebuild(from.page, is_there).await
                && is_it(records[usize::from(from.slot)])
            {
                let len = self.config.content.sector_len();
                let content = &content[usize::from(from.slot) * len..][..len];
                self.sector(buffer, slot.into(), |bytes| bytes.copy_from_slice(content));
                self.harm(from.page);
                return true;
            }
            let ticket = {
                let state = &mut *self.state.borrow_mut();
                let place = state.map.place_of(sector);
                match place {
                    // It was written over or deallocated since: what was asked for is any version.
                    None => {
                        self.sector(buffer, slot.into(), |bytes| bytes.fill(0));
                        return true;
                    }
                    Some(place) if place == from => return false,
                    Some(place) => {
                        from = place;
                        self.note_read(state, place.page);
                        self.flash.read(self.span(state, place.page, place.slot, 1), buffer, slot)
                    }
                }
            };
            self.count(|stats| stats.flash_reads.host += 1);
            if is_it(ticket.done(&self.exec).await.records[usize::from(from.slot)]) {
                return true;
            }
        }
    }
    /// Rebuilds a page, if `still` says that it is wanted by then; `None` if it isn't, or there is no parity.
    pub async fn rebuild(&self, at: PagePlace, still: impl Fn(&State) -> bool) -> Option<Rebuilt> {
        let rebuilder = self.rebuilder.as_ref()?;
        rebuilder.alone.push(&self.exec, ()).await;
        let rebuilt = self.rebuild_alone(at, still, rebuilder.first).await;
        rebuilder.alone.try_pop(&self.exec);
        rebuilt
    }
    async fn rebuild_alone(
        &self,
        at: PagePlace,
        still: impl Fn(&State) -> bool,
        first: u32,
    ) -> Option<Rebuilt> {
        let others = {
            let state = &mut *self.state.borrow_mut();
            if !still(state) {
                return None;
            }
            let of = at.group();
            let is_read = |&(lane, block): &(u8, u16)| {
                block != NO_BLOCK && !state.retired.has((of.channel, of.die, lane, block))
            };
            let blocks: Vec<(u8, u16)> = (0..).zip(state.groups.members(of)).filter(is_read).collect();
            for &(lane, _) in blocks.iter().filter(|&&(lane, _)| lane != at.lane) {
                self.note_read(state, of.page(at.page, lane));
            }
            Others::read(&self.flash, at, blocks.into_iter(), first)
        };
        let mut content = vec![0; self.config.content.sector_len() * usize::from(self.info.sectors)];
        let records = others.records(&self.exec, &self.flash, |buffer| {
            let buffers = self.buffers.borrow();
            content.iter_mut().zip(buffers.page(buffer)).for_each(|(sum, byte)| *sum ^= byte);
        });
        let records = records.await;
        self.count(|stats| stats.flash_reads.host += others.reads.len() as u64);
        let state = &mut *self.state.borrow_mut();
        state.rebuilt += u64::from(records.iter().any(Option::is_some));
        Some((records, content))
    }
}
