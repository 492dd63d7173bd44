//! The memory of a page cache: which blocks of 4 KiB it holds, which of them are dirty, and which one is
//! replaced next. A plain value that knows nothing of time but the age of dirty pages.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::Instant;
use core::ops::Range;

/// Pages for which memory is taken at a time.
const CHUNK: usize = 256;

/// The place of a page in the cache.
type Place = u32;

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing.
    Free,
    /// It is being read.
    Reading,
    /// Its block.
    Valid,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    block: u32,
    state: State,
    /// When it became dirty, as a number that grows with each page that does; `None` if it is clean.
    dirty: Option<u64>,
    /// The same of the version that is being written back.
    writing: Option<u64>,
    /// It was used since the hand passed it.
    used: bool,
}

impl Page {
    const FREE: Page = Page { block: 0, state: State::Free, dirty: None, writing: None, used: false };

    fn is_replaceable(&self) -> bool {
        self.state == State::Valid && self.dirty.is_none() && self.writing.is_none()
    }
}

/// Room for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// The cache holds it already.
    Valid,
    /// It is being read.
    Reading,
    /// It has a page now.
    Taken,
    /// All pages are dirty, are being written back or are being read.
    None,
}

/// The pages of a cache.
pub struct Pages {
    capacity: usize,
    len: usize,
    pages: Vec<Page>,
    data: Vec<Box<[u8]>>,
    places: BTreeMap<u32, Place>,
    /// Dirty pages that aren't being written back, by block.
    dirty: BTreeMap<u32, Place>,
    /// Versions that aren't written back, or are being, by number, with their blocks and the time at which
    /// they became dirty.
    ages: BTreeMap<u64, (u32, Instant)>,
    numbered: u64,
    /// Pages that are being read.
    reading: usize,
    hand: usize,
    /// Where write-back goes on.
    cursor: u32,
    /// Pages that have nothing any more.
    free: Vec<Place>,
}

impl Pages {
    /// Room for `capacity` pages of `len` bytes each.
    pub fn new(capacity: usize, len: usize) -> Self {
        Pages {
            capacity,
            len,
            pages: Vec::new(),
            data: Vec::new(),
            places: BTreeMap::new(),
            dirty: BTreeMap::new(),
            ages: BTreeMap::new(),
            numbered: 0,
            reading: 0,
            hand: 0,
            cursor: 0,
            free: Vec::new(),
        }
    }
    /// Pages that are not written back, those that are being written back among them.
    pub fn unclean(&self) -> usize {
        self.ages.len()
    }
    /// Dirty pages that nobody writes back.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }
    /// The number of the version that became dirty last.
    pub fn newest(&self) -> u64 {
        self.numbered
    }
    /// The oldest version that is not written back: its number, and when it became dirty.
    pub fn oldest(&self) -> Option<(u64, Instant)> {
        self.ages.first_key_value().map(|(&number, &(_, at))| (number, at))
    }
    fn page(&self, block: u32) -> Option<&Page> {
        self.places.get(&block).map(|&place| &self.pages[place as usize])
    }
    fn bytes(&self, place: Place) -> &[u8] {
        let at = place as usize % CHUNK * self.len;
        &self.data[place as usize / CHUNK][at..at + self.len]
    }
    fn bytes_mut(&mut self, place: Place) -> &mut [u8] {
        let at = place as usize % CHUNK * self.len;
        &mut self.data[place as usize / CHUNK][at..at + self.len]
    }

    /// What the cache holds of a block.
    pub fn read(&mut self, block: u32) -> Option<&[u8]> {
        let place = *self.places.get(&block)?;
        let page = &mut self.pages[place as usize];
        if page.state != State::Valid {
            return None;
        }
        page.used = true;
        Some(self.bytes(place))
    }
    /// Whether the cache holds a block, or is about to.
    pub fn knows(&self, block: u32) -> bool {
        self.places.contains_key(&block)
    }
    /// Whether its block is dirty, and not only being written back.
    pub fn is_dirty(&self, block: u32) -> bool {
        self.page(block).is_some_and(|page| page.dirty.is_some())
    }
    /// Whether a block that the cache lacks would find a page. A page that is written while it is being
    /// written back counts twice here.
    pub fn has_room(&self) -> bool {
        let held = self.reading + self.ages.len();
        !self.free.is_empty() || self.pages.len() < self.capacity || self.places.len() > held
    }
    /// Whether the block is being read.
    pub fn is_reading(&self, block: u32) -> bool {
        self.page(block).is_some_and(|page| page.state == State::Reading)
    }
    /// Gives a block that the cache doesn't hold a page, into which it is read from now on.
    pub fn begin_read(&mut self, block: u32) -> Room {
        match self.page(block).map(|page| page.state) {
            Some(State::Reading) => Room::Reading,
            Some(_) => Room::Valid,
            None => match self.take(block, State::Reading) {
                Some(_) => {
                    self.reading += 1;
                    Room::Taken
                }
                None => Room::None,
            },
        }
    }
    /// The block has been read.
    pub fn end_read(&mut self, block: u32, data: &[u8]) {
        let place = self.places[&block];
        let page = &mut self.pages[place as usize];
        assert!(page.state == State::Reading, "only a page that is being read");
        page.state = State::Valid;
        self.reading -= 1;
        self.bytes_mut(place).copy_from_slice(data);
    }
    /// It could not be read.
    pub fn fail_read(&mut self, block: u32) {
        assert!(self.is_reading(block), "only a page that is being read");
        self.reading -= 1;
        self.drop_page(block);
    }
    /// Writes a whole block. [`Room::Reading`] and [`Room::None`] have changed nothing.
    pub fn write(&mut self, block: u32, data: &[u8], at: Instant) -> Room {
        let (place, room) = match self.places.get(&block) {
            Some(&place) if self.pages[place as usize].state == State::Reading => return Room::Reading,
            Some(&place) => (place, Room::Valid),
            None => match self.take(block, State::Valid) {
                Some(place) => (place, Room::Taken),
                None => return Room::None,
            },
        };
        self.bytes_mut(place).copy_from_slice(data);
        self.make_dirty(place, at);
        room
    }
    /// Writes part of a block that the cache holds; `false` if it doesn't.
    pub fn write_part(&mut self, block: u32, from: usize, data: &[u8], at: Instant) -> bool {
        match self.places.get(&block) {
            Some(&place) if self.pages[place as usize].state == State::Valid => {
                self.bytes_mut(place)[from..from + data.len()].copy_from_slice(data);
                self.make_dirty(place, at);
                true
            }
            _ => false,
        }
    }
    fn make_dirty(&mut self, place: Place, at: Instant) {
        let page = &mut self.pages[place as usize];
        page.used = true;
        if page.dirty.is_none() {
            self.numbered += 1;
            page.dirty = Some(self.numbered);
            let (block, is_writing) = (page.block, page.writing.is_some());
            self.ages.insert(self.numbered, (block, at));
            if !is_writing {
                self.dirty.insert(block, place);
            }
        }
    }

    /// The next run of adjacent dirty pages, of `most` at most: that of the first dirty block behind the last
    /// run, and around at the drive's end.
    pub fn next_run(&mut self, most: u32) -> Option<Range<u32>> {
        let behind = self.dirty.range(self.cursor..).next();
        let (&first, _) = behind.or_else(|| self.dirty.first_key_value())?;
        let run = self.run_from(first, most, u32::MAX);
        self.cursor = run.end;
        Some(run)
    }
    /// The run of adjacent dirty pages, of `most` at most, that begins with the one that became dirty first,
    /// of those whose number is `up_to` at most.
    pub fn oldest_run(&self, up_to: u64, most: u32) -> Option<Range<u32>> {
        let mut blocks = self.ages.range(..=up_to).map(|(_, &(block, _))| block);
        let first = blocks.find(|block| self.dirty.contains_key(block))?;
        Some(self.run_from(first, most, u32::MAX))
    }
    /// The first run of adjacent dirty pages of a range, of `most` at most.
    pub fn run_in(&self, blocks: Range<u32>, most: u32) -> Option<Range<u32>> {
        let (&first, _) = self.dirty.range(blocks.clone()).next()?;
        Some(self.run_from(first, most, blocks.end))
    }
    fn run_from(&self, first: u32, most: u32, end: u32) -> Range<u32> {
        let most = first.saturating_add(most).min(end);
        let run = self.dirty.range(first..most).zip(first..).take_while(|((block, _), n)| *block == n);
        first..first + run.count() as u32
    }
    /// Begins to write a run back: gives what its pages hold. They may be written meanwhile.
    pub fn begin_write(&mut self, run: Range<u32>, into: &mut [u8]) {
        for (block, into) in run.zip(into.chunks_exact_mut(self.len)) {
            let place = self.dirty.remove(&block).expect("only dirty pages are written back");
            let page = &mut self.pages[place as usize];
            page.writing = page.dirty.take();
            into.copy_from_slice(self.bytes(place));
        }
    }
    /// A run has been written back. If that `failed`, its pages are dirty as before, but for those that were
    /// written meanwhile, which are so anyway.
    pub fn end_write(&mut self, run: Range<u32>, failed: bool) {
        for block in run {
            let place = self.places[&block];
            let page = &mut self.pages[place as usize];
            let written = page.writing.take().expect("only pages that are being written back");
            match page.dirty {
                // The newer version takes the age of the one that it replaces.
                Some(newer) if failed => {
                    page.dirty = Some(written);
                    self.ages.remove(&newer);
                }
                None if failed => page.dirty = Some(written),
                _ => {
                    self.ages.remove(&written);
                }
            }
            if page.dirty.is_some() {
                self.dirty.insert(block, place);
            }
        }
    }
    /// Whether versions up to this number, of blocks of a range, are not written back.
    pub fn is_unclean(&self, blocks: Range<u32>, up_to: u64) -> bool {
        self.places.range(blocks).any(|(_, &place)| {
            let page = &self.pages[place as usize];
            page.dirty.or(page.writing).min(page.writing.or(page.dirty)).is_some_and(|oldest| oldest <= up_to)
        })
    }
    /// Whether a block is being read or written back.
    pub fn is_busy(&self, block: u32) -> bool {
        self.page(block).is_some_and(|page| page.state == State::Reading || page.writing.is_some())
    }
    /// The blocks of a range that are being read.
    pub fn reading_in(&self, blocks: Range<u32>) -> Vec<u32> {
        let known = self.places.range(blocks).map(|(&block, _)| block);
        known.filter(|&block| self.is_reading(block)).collect()
    }
    /// Forgets the pages of a range that nobody reads or writes back; with `dirty` the dirty ones as well.
    pub fn forget(&mut self, blocks: Range<u32>, dirty: bool) {
        let known: Vec<u32> = self.places.range(blocks).map(|(&block, _)| block).collect();
        for block in known {
            let page = *self.page(block).expect("the block is known");
            if page.is_replaceable() {
                self.drop_page(block);
            } else if let (true, None, State::Valid, Some(number)) =
                (dirty, page.writing, page.state, page.dirty)
            {
                self.ages.remove(&number);
                self.dirty.remove(&block);
                self.drop_page(block);
            }
        }
    }
    /// Keeps the dirty pages of a range from being written back, until they are forgotten or
    /// [let go](Pages::let_go). Nobody may write them meanwhile. Returns whether none of them is being
    /// written back still: one whose writing fails is dirty again.
    pub fn hold(&mut self, blocks: Range<u32>) -> bool {
        let held: Vec<u32> = self.dirty.range(blocks.clone()).map(|(&block, _)| block).collect();
        for block in held {
            self.dirty.remove(&block);
        }
        !self.places.range(blocks).any(|(_, &place)| self.pages[place as usize].writing.is_some())
    }
    /// Dirty pages of a range that were held may be written back again.
    pub fn let_go(&mut self, blocks: Range<u32>) {
        for (&block, &place) in self.places.range(blocks) {
            let page = &self.pages[place as usize];
            if page.dirty.is_some() && page.writing.is_none() {
                self.dirty.insert(block, place);
            }
        }
    }
    fn drop_page(&mut self, block: u32) {
        let place = self.places.remove(&block).expect("the block is known");
        self.pages[place as usize] = Page::FREE;
        self.free.push(place);
    }

    /// A page for a block, if there is one to be had.
    fn take(&mut self, block: u32, state: State) -> Option<Place> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.pages.len() < self.capacity => self.grow(),
            None if self.has_room() => self.replace()?,
            None => return None,
        };
        self.pages[place as usize] = Page { block, state, used: true, ..Page::FREE };
        self.places.insert(block, place);
        Some(place)
    }
    fn grow(&mut self) -> Place {
        let place = self.pages.len();
        if place.is_multiple_of(CHUNK) {
            self.data.push(vec![0; CHUNK * self.len].into_boxed_slice());
        }
        self.pages.push(Page::FREE);
        place as Place
    }
    /// The next page that was not used since the hand passed it last, which loses its block.
    fn replace(&mut self) -> Option<Place> {
        for _ in 0..2 * self.pages.len() {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.pages.len();
            let page = &mut self.pages[place];
            if page.is_replaceable() && !core::mem::take(&mut page.used) {
                self.places.remove(&page.block);
                return Some(place as Place);
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
