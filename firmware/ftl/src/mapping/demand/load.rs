//! Reading translation pages.

use crate::blocks::buffer_pool::HeldBuffer;
use crate::mapping::MappingFault;
use crate::mapping::demand::state::Demand;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::flash::Tag;
use aster_units::{Lpn, Upa};

/// The most translation pages that are looked up ahead, including those in memory.
const AHEAD_MAX: usize = 64;

/// A translation page that is read ahead; without a read where memory has it, or it is nowhere.
struct Ahead<'a> {
    page: u32,
    read: Option<(HeldBuffer<'a>, Upa, Tag)>,
}

impl Demand {
    /// Reads a page into the cache unless it doesn't exist. No other task may be reading it. Returns false if
    /// it can't be read.
    pub(super) async fn load(&self, page: u32) -> bool {
        self.loads.begin(page);
        let held = self.loads.buffers.take_one().await;
        let buffer = held.id();
        let is_there = loop {
            let at = self.directory.borrow().get(page);
            if !at.is_some() {
                break true;
            }
            self.loads.note_stale(page, false);
            self.count(|counts| counts.page_reads += 1);
            let is_whole = self.store.read(self.shape.unit_of(page), at, buffer).await;
            if self.loads.is_stale(page) {
                continue;
            }
            if is_whole {
                self.copy_entries(buffer, self.clean.borrow_mut().insert(page));
            }
            break is_whole;
        };
        drop(held);
        self.loads.end(page);
        is_there
    }
    /// Calls `each` with all mapped units and their places until it returns false. During boot, drops rows
    /// that agree with their page.
    pub(super) async fn walk_all(&self, mut each: impl FnMut(Lpn, Upa) -> bool) -> Result<(), MappingFault> {
        for page in 0..self.shape.pages {
            let at = self.directory.borrow().get(page);
            if at.is_some() && !each(self.shape.unit_of(page), at) {
                return Ok(());
            }
        }
        let is_booting = self.is_booting.get();
        let walked = self.walk_pages(|page, entries, is_whole| {
            if !is_whole {
                return false;
            }
            if is_booting {
                self.rows.borrow_mut().drop_known(page, |entry| Upa(!entries[entry as usize]));
            }
            self.rows.borrow().each_of(page, |entry, at| entries[entry as usize] = !at.0);
            let first = page * self.shape.entries;
            let mut mapped =
                (first..self.shape.host_units).zip(entries.iter()).filter(|(_, entry)| **entry != 0);
            mapped.all(|(unit, &entry)| each(Lpn(unit), Upa(!entry)))
        });
        let walked = walked.await;
        if is_booting {
            self.rows.borrow_mut().close_up();
        }
        walked
    }
    /// Whether a page need not be read: it is in memory, or nothing is mapped in it.
    fn is_here(&self, page: u32) -> bool {
        !self.directory.borrow().get(page).is_some() || self.clean.borrow().page(page).is_some()
    }
    /// Calls `each` with all translation pages as they are on flash, one after the other, until it returns
    /// false. Its arguments are the page, its entries, and whether it could be read. Reads run ahead as far
    /// as there are buffers. A page that was written or moved in the meantime is read again.
    pub(super) async fn walk_pages(
        &self,
        mut each: impl FnMut(u32, &mut [u32], bool) -> bool,
    ) -> Result<(), MappingFault> {
        let mut buffers = Vec::from([self.loads.buffers.take_one().await]);
        // A drive that serves has others that need them.
        if self.is_booting.get() {
            let free: Vec<_> = self.loads.buffers.take_free().collect();
            buffers.extend(free.into_iter().rev());
        }
        let mut entries = vec![0; self.shape.entries as usize];
        let (mut ahead, mut again) = (VecDeque::new(), VecDeque::new());
        let mut next = 0;
        let mut result = Ok(true);
        loop {
            while result == Ok(true) && ahead.len() < AHEAD_MAX {
                let more = (next < self.shape.pages).then_some(next);
                let Some(page) = again.front().copied().or(more) else { break };
                let at = self.directory.borrow().get(page);
                let read = match self.is_here(page) {
                    true => None,
                    false => {
                        let Some(buffer) = buffers.pop() else { break };
                        self.count(|counts| counts.page_reads += 1);
                        let tag = self.store.begin_read(at, buffer.id()).await;
                        Some((buffer, at, tag))
                    }
                };
                ahead.push_back(Ahead { page, read });
                if again.pop_front().is_none() {
                    next += 1;
                }
            }
            let Some(Ahead { page, read }) = ahead.pop_front() else { break };
            let mut is_whole = true;
            entries.fill(0);
            let is_current = match read {
                Some((buffer, at, tag)) => {
                    is_whole = self.store.end_read(self.shape.unit_of(page), at, buffer.id(), tag).await;
                    self.copy_entries(buffer.id(), &mut entries);
                    buffers.push(buffer);
                    self.directory.borrow().get(page) == at
                }
                None => {
                    if let Some(here) = self.clean.borrow().page(page) {
                        entries.copy_from_slice(here);
                    }
                    self.is_here(page)
                }
            };
            if !is_current {
                again.push_back(page);
            } else if result == Ok(true) {
                if !is_whole {
                    entries.fill(0);
                }
                let goes_on = each(page, &mut entries, is_whole);
                result = match is_whole || goes_on {
                    true => Ok(goes_on),
                    false => Err(MappingFault { page: Lpn(page * self.shape.entries) }),
                };
            }
        }
        result.map(|_| ())
    }
    /// Only restored units are mapped: forgets all others, which are in translation pages from before. A page
    /// that can't be read is dropped.
    pub(super) async fn forget_others(&self) {
        let walked = self.walk_pages(|page, entries, is_whole| {
            if !is_whole {
                self.directory.borrow_mut().set(page, Upa::NONE);
                return true;
            }
            let mut rows = self.rows.borrow_mut();
            rows.each_of(page, |entry, _| entries[entry as usize] = 0);
            for (entry, _) in (0..).zip(entries.iter()).filter(|(_, entry)| **entry != 0) {
                rows.restore(Lpn(page * self.shape.entries + entry), Upa::NONE, true);
            }
            true
        });
        assert_eq!(walked.await, Ok(()), "pages that can't be read are passed over");
    }
}
