//! Sectors that wait in memory for their page (H21), or for their composite page (H22). A write is
//! acknowledged from here, and a read of a sector that is here comes from here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Where a sector lies in memory: a page buffer of its own, and the sector of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The page buffer.
    pub buffer: usize,
    /// The sector of the page.
    pub slot: u8,
}

/// What a sector waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathered {
    /// A page.
    Page,
    /// A composite page: a page of each lane.
    Row,
}

/// Buffers whose pages are on their way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Due {
    /// A page.
    Page(usize),
    /// A composite page, by lane.
    Row(Vec<usize>),
}

impl Due {
    /// The buffers of its pages.
    pub fn into_pages(self) -> Vec<usize> {
        match self {
            Due::Page(buffer) => vec![buffer],
            Due::Row(buffers) => buffers,
        }
    }
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
    /// The logical sector in each slot that is used; `None` if it was forgotten before its page was sent.
    sectors: Vec<Option<u32>>,
}

/// The page buffers of sectors that wait.
pub struct Gather {
    buffers: Box<[GatherBuffer]>,
    free: Vec<usize>,
    sectors_per_page: usize,
    filling: Option<usize>,
    /// The buffers of the composite page that is filled: all but the last one are full.
    row: Vec<usize>,
    pages_per_row: usize,
    /// The newest version of each logical sector that is in memory.
    newest: BTreeMap<u32, Waiting>,
}

impl Gather {
    /// So many page buffers, all free.
    pub fn new(buffers: usize, sectors_per_page: u8, lanes: u8) -> Self {
        let buffer = || GatherBuffer {
            state: BufferState::Free,
            sectors: Vec::with_capacity(sectors_per_page.into()),
        };
        Gather {
            buffers: (0..buffers).map(|_| buffer()).collect(),
            free: (0..buffers).rev().collect(),
            sectors_per_page: sectors_per_page.into(),
            filling: None,
            row: vec![],
            pages_per_row: lanes.into(),
            newest: BTreeMap::new(),
        }
    }
    /// Where the newest version of a sector lies, if it is in memory.
    pub fn find(&self, sector: u32) -> Option<Waiting> {
        self.newest.get(&sector).copied()
    }
    /// A place for a new version of a sector; `None` while no buffer is free. A version that hasn't been sent
    /// to the flash is written over, whatever it waits for.
    pub fn put(&mut self, sector: u32, gathered: Gathered) -> Option<Waiting> {
        if let Some(before) = self.find(sector)
            && self.buffers[before.buffer].state == BufferState::Filling
        {
            return Some(before);
        }
        let begun = match gathered {
            Gathered::Page => self.filling,
            Gathered::Row => self.row.last().copied().filter(|&buffer| !self.is_full(buffer)),
        };
        let buffer = match begun {
            Some(buffer) => buffer,
            None => {
                let buffer = self.free.pop()?;
                match gathered {
                    Gathered::Page => self.filling = Some(buffer),
                    Gathered::Row => self.row.push(buffer),
                }
                self.buffers[buffer].state = BufferState::Filling;
                buffer
            }
        };
        assert!(!self.is_full(buffer), "a full page is sent before more is gathered");
        assert!(self.row.len() <= self.pages_per_row, "a full row is sent before more is gathered");
        let of = &mut self.buffers[buffer];
        let waiting = Waiting { buffer, slot: of.sectors.len() as u8 };
        of.sectors.push(Some(sector));
        self.newest.insert(sector, waiting);
        Some(waiting)
    }
    fn is_full(&self, buffer: usize) -> bool {
        self.buffers[buffer].sectors.len() == self.sectors_per_page
    }
    /// Calls `each` with what is full, and with `flush` also with what isn't: its pages are on their way
    /// from now on. Slots without a sector are padding. A composite page that isn't full becomes pages.
    pub fn send(&mut self, flush: bool, mut each: impl FnMut(Due)) {
        if let Some(buffer) = self.filling
            && (flush || self.is_full(buffer))
        {
            self.filling = None;
            self.buffers[buffer].state = BufferState::Programming;
            each(Due::Page(buffer));
        }
        let is_full =
            self.row.len() == self.pages_per_row && self.row.last().is_some_and(|&b| self.is_full(b));
        if is_full || flush {
            let row = core::mem::take(&mut self.row);
            row.iter().for_each(|&buffer| self.buffers[buffer].state = BufferState::Programming);
            match is_full {
                true => each(Due::Row(row)),
                false => row.into_iter().map(Due::Page).for_each(each),
            }
        }
    }
    /// The logical sectors of a buffer, by slot, as far as slots are used.
    pub fn sectors(&self, buffer: usize) -> &[Option<u32>] {
        &self.buffers[buffer].sectors
    }
    /// A page has been programmed, after all that were sent before it. Calls `each` with the slots of sectors
    /// that haven't been forgotten, and frees the buffer. A sector with a newer version in memory is among
    /// them: until that is on flash as well, this is the version that a flush has promised.
    pub fn programmed(&mut self, buffer: usize, mut each: impl FnMut(u8, u32)) {
        let of = &mut self.buffers[buffer];
        assert_eq!(of.state, BufferState::Programming, "a page ends that was sent");
        let used = (0..).zip(&of.sectors).filter_map(|(slot, sector)| Some((slot, (*sector)?)));
        for (slot, sector) in used {
            let Some(&newest) = self.newest.get(&sector) else { continue };
            if newest == (Waiting { buffer, slot }) {
                self.newest.remove(&sector);
            }
            each(slot, sector);
        }
        of.sectors.clear();
        of.state = BufferState::Free;
        self.free.push(buffer);
    }
    /// A sector has no content any more: what is in memory of it isn't its newest version. If its page hasn't
    /// been sent, it is padding there: a version that is written from now on may be sent before that page.
    pub fn forget(&mut self, sector: u32) {
        let Some(Waiting { buffer, slot }) = self.newest.remove(&sector) else { return };
        let of = &mut self.buffers[buffer];
        if of.state == BufferState::Filling {
            of.sectors[usize::from(slot)] = None;
        }
    }
}
