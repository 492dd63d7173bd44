//! Sectors that wait in memory for their page (H21). A write is acknowledged from here, and a read of a
//! sector that is here comes from here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Where a sector lies in memory: a page buffer of its own, and the sector of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The page buffer.
    pub buffer: usize,
    /// The sector of the page.
    pub slot: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BufferState {
    Free,
    /// Sectors go into it.
    Filling,
    /// Its page is on the way to the flash.
    Programming,
}

struct GatherBuffer {
    state: BufferState,
    /// The logical sector in each slot that is used.
    sectors: Vec<u32>,
}

/// The page buffers of sectors that wait.
pub struct Gather {
    buffers: Box<[GatherBuffer]>,
    sectors_per_page: usize,
    filling: Option<usize>,
    /// The newest version of each logical sector that is in memory.
    newest: BTreeMap<u32, Waiting>,
}

impl Gather {
    /// So many page buffers, all free.
    pub fn new(buffers: usize, sectors_per_page: u8) -> Self {
        let buffer = || GatherBuffer {
            state: BufferState::Free,
            sectors: Vec::with_capacity(sectors_per_page.into()),
        };
        Gather {
            buffers: (0..buffers).map(|_| buffer()).collect(),
            sectors_per_page: sectors_per_page.into(),
            filling: None,
            newest: BTreeMap::new(),
        }
    }
    /// Where the newest version of a sector lies, if it is in memory.
    pub fn find(&self, sector: u32) -> Option<Waiting> {
        self.newest.get(&sector).copied()
    }
    /// A place for a new version of a sector; `None` while no buffer is free. A version that hasn't been sent
    /// to the flash is written over.
    pub fn put(&mut self, sector: u32) -> Option<Waiting> {
        if let Some(before) = self.find(sector)
            && self.buffers[before.buffer].state == BufferState::Filling
        {
            return Some(before);
        }
        let buffer = match self.filling {
            Some(buffer) => buffer,
            None => self.buffers.iter().position(|buffer| buffer.state == BufferState::Free)?,
        };
        let of = &mut self.buffers[buffer];
        assert!(of.sectors.len() < self.sectors_per_page, "a full page is sent before more is gathered");
        (of.state, self.filling) = (BufferState::Filling, Some(buffer));
        let waiting = Waiting { buffer, slot: of.sectors.len() as u8 };
        of.sectors.push(sector);
        self.newest.insert(sector, waiting);
        Some(waiting)
    }
    /// The page that is full, or with `flush` also one that isn't: its buffer, whose page is on its way from
    /// now on. Slots without a sector are padding.
    pub fn send(&mut self, flush: bool) -> Option<usize> {
        let buffer = self.filling?;
        let is_full = self.buffers[buffer].sectors.len() == self.sectors_per_page;
        if !(is_full || flush) {
            return None;
        }
        self.filling = None;
        self.buffers[buffer].state = BufferState::Programming;
        Some(buffer)
    }
    /// The logical sectors of a buffer, by slot.
    pub fn sectors(&self, buffer: usize) -> &[u32] {
        &self.buffers[buffer].sectors
    }
    /// A page has been programmed, after all that were sent before it. Calls `each` with the slots of sectors
    /// that haven't been forgotten, and frees the buffer. A sector with a newer version in memory is among
    /// them: until that is on flash as well, this is the version that a flush has promised.
    pub fn programmed(&mut self, buffer: usize, mut each: impl FnMut(u8, u32)) {
        let of = &mut self.buffers[buffer];
        assert_eq!(of.state, BufferState::Programming, "a page ends that was sent");
        for (slot, &sector) in (0..).zip(&of.sectors) {
            let Some(&newest) = self.newest.get(&sector) else { continue };
            if newest == (Waiting { buffer, slot }) {
                self.newest.remove(&sector);
            }
            each(slot, sector);
        }
        of.sectors.clear();
        of.state = BufferState::Free;
    }
    /// A sector has no content any more: what is in memory of it isn't its newest version.
    pub fn forget(&mut self, sector: u32) {
        self.newest.remove(&sector);
    }
}
