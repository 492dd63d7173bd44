use crate::tests::bench::MadeForTests;
use crate::{Mapping, MappingFault, MappingPorts, NoMapRoom};
use aster_exec::{Exec, WaitQueue};
use aster_units::{Duration, Lpn, LunIndex, Upa};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// Logical pages per page of the map: few, so that even a small drive's map has many pages.
pub const ENTRIES: usize = 4;
const READ: Duration = Duration::from_micros(20);
const WRITE: Duration = Duration::from_micros(60);

/// A map whose pages lie on a slow store, with a cache in front that evicts by the clock algorithm and writes
/// dirty pages back. The cache has a frame for each pin that there may be, and none more.
pub struct PagedMap(Rc<Cached>);

struct Cached {
    exec: Exec,
    pages: u32,
    // Complemented, as in the stored map.
    store: RefCell<Vec<[u32; ENTRIES]>>,
    frames: RefCell<Vec<Frame>>,
    hand: Cell<usize>,
    waiting: WaitQueue,
    counts: Cell<Counts>,
    /// Reads of the store that fail from now on.
    failing: Cell<bool>,
}

/// What a map has done since power-on.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub misses: u64,
    pub written_back: u64,
    /// Pins on a page that another task was reading.
    pub joined: u64,
    pub pinned_at_once: usize,
}

#[derive(Clone, Copy, Default)]
struct Frame {
    page: Option<usize>,
    entries: [u32; ENTRIES],
    pins: u32,
    // Being written back or read.
    busy: bool,
    dirty: bool,
    used: bool,
}

/// Holds its frame.
pub struct PagePin {
    map: Rc<Cached>,
    page: Lpn,
    frame: usize,
}

impl Drop for PagePin {
    fn drop(&mut self) {
        self.map.frames.borrow_mut()[self.frame].pins -= 1;
    }
}

impl Cached {
    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
    /// The frame that holds a page, or is about to.
    fn frame_of(&self, page: usize) -> Option<usize> {
        self.frames.borrow().iter().position(|frame| frame.page == Some(page))
    }
    /// The next frame that nobody holds and that wasn't used since the hand was here last.
    fn victim(&self) -> usize {
        let mut frames = self.frames.borrow_mut();
        let count = frames.len();
        for _ in 0..2 * count {
            let at = self.hand.get();
            self.hand.set((at + 1) % count);
            let frame = &mut frames[at];
            if frame.pins == 0 && !frame.busy && !std::mem::take(&mut frame.used) {
                return at;
            }
        }
        panic!("pins stand for more pages than the FTL has said")
    }
    /// Brings a page into a frame that nobody holds.
    async fn bring(&self, page: usize) -> bool {
        let at = self.victim();
        let evicted = {
            let mut frames = self.frames.borrow_mut();
            let evicted = frames[at];
            frames[at] = Frame { page: Some(page), busy: true, ..Frame::default() };
            evicted
        };
        self.count(|c| c.misses += 1);
        if let Some(before) = evicted.page
            && evicted.dirty
        {
            // From here on the store has it for whoever reads the page next.
            self.store.borrow_mut()[before] = evicted.entries;
            self.count(|c| c.written_back += 1);
            self.exec.sleep(WRITE).await;
        }
        self.exec.sleep(READ).await;
        let failed = self.failing.get();
        let entries = self.store.borrow()[page];
        {
            let frame = &mut self.frames.borrow_mut()[at];
            *frame = if failed { Frame::default() } else { Frame { entries, busy: false, ..*frame } };
        }
        self.waiting.wake_all(&self.exec);
        !failed
    }
    fn entry(&self, page: usize) -> u32 {
        let cached = self.frame_of(page / ENTRIES).filter(|&at| !self.frames.borrow()[at].busy);
        match cached {
            Some(at) => self.frames.borrow()[at].entries[page % ENTRIES],
            None => self.store.borrow()[page / ENTRIES][page % ENTRIES],
        }
    }
}

impl PagedMap {
    pub fn counts(&self) -> Counts {
        self.0.counts.get()
    }
    /// Pins that there are now.
    pub fn pinned(&self) -> u32 {
        self.0.frames.borrow().iter().map(|frame| frame.pins).sum()
    }
    pub fn frames(&self) -> usize {
        self.0.frames.borrow().len()
    }
    pub fn stored_pages(&self) -> usize {
        self.0.store.borrow().len()
    }
    /// From now on no page of the map can be read from the store.
    pub fn fail_reads(&self) {
        self.0.failing.set(true);
    }
}

impl MadeForTests for PagedMap {
    fn make(ports: MappingPorts<'_>) -> Self {
        let stored = (ports.pages as usize).div_ceil(ENTRIES);
        PagedMap(Rc::new(Cached {
            exec: ports.core.exec().clone(),
            pages: ports.pages,
            store: RefCell::new(vec![[0; ENTRIES]; stored]),
            frames: RefCell::new(vec![Frame::default(); ports.pins as usize]),
            hand: Cell::new(0),
            waiting: WaitQueue::with_capacity(ports.pins as usize),
            counts: Cell::default(),
            failing: Cell::new(false),
        }))
    }
}

impl Mapping for PagedMap {
    type Pin = PagePin;
    type Room = ();
    const STORES_UNITS: bool = true;

    fn pages(&self) -> u32 {
        self.0.pages
    }
    fn try_pin(&self, page: Lpn) -> Option<PagePin> {
        let at = self.0.frame_of(page.index() / ENTRIES)?;
        let mut frames = self.0.frames.borrow_mut();
        if frames[at].busy {
            return None;
        }
        frames[at].used = true;
        frames[at].pins += 1;
        let pinned = frames.iter().filter(|frame| frame.pins > 0).count();
        self.0.count(|c| c.pinned_at_once = c.pinned_at_once.max(pinned));
        Some(PagePin { map: Rc::clone(&self.0), page, frame: at })
    }
    async fn pin(&self, page: Lpn) -> Result<PagePin, MappingFault> {
        loop {
            if let Some(pin) = self.try_pin(page) {
                return Ok(pin);
            }
            let of_map = page.index() / ENTRIES;
            if self.0.frame_of(of_map).is_some() {
                self.0.count(|c| c.joined += 1);
                let mut woken = false;
                let once = || std::mem::replace(&mut woken, true).then_some(());
                self.0.waiting.wait(&self.0.exec, once).await;
            } else if !self.0.bring(of_map).await {
                return Err(MappingFault { page });
            }
        }
    }
    fn page(&self, pin: &PagePin) -> Lpn {
        pin.page
    }
    fn get(&self, pin: &PagePin) -> Upa {
        Upa(!self.0.frames.borrow()[pin.frame].entries[pin.page.index() % ENTRIES])
    }
    fn set(&self, (): &(), pin: &PagePin, to: Upa) -> Upa {
        let frame = &mut self.0.frames.borrow_mut()[pin.frame];
        frame.dirty = true;
        Upa(!std::mem::replace(&mut frame.entries[pin.page.index() % ENTRIES], !to.0))
    }
    async fn find(&self, at: Upa) -> Option<Lpn> {
        let pages = self.stored_pages() as u64;
        self.0.exec.sleep(READ * pages).await;
        (0..self.0.pages).find(|&page| self.0.entry(page as usize) == !at.0).map(Lpn)
    }
    fn try_room(&self, _: u32) -> Option<()> {
        Some(())
    }
    async fn room(&self, _: u32) -> Result<(), NoMapRoom> {
        Ok(())
    }
    async fn room_to_collect(&self, _: LunIndex, _: u32) -> Result<(), NoMapRoom> {
        Ok(())
    }
    fn is_own(&self, _: Upa) -> bool {
        false
    }
    fn start(&self) {}
    async fn idle(&self) {}
    async fn settled(&self) {}
    fn counters(&self, _: &mut dyn FnMut(&'static str, u64)) {}
    async fn restore(&self, page: Lpn, to: Upa, _: bool) -> Result<(), MappingFault> {
        let pin = self.pin(page).await?;
        self.set(&(), &pin, to);
        Ok(())
    }
    async fn only_restored(&self) {}
    async fn walk(&self, mut each: impl FnMut(Lpn, Upa) -> bool) -> Result<(), MappingFault> {
        for page in (0..self.0.pages).map(Lpn) {
            let at = self.get(&self.pin(page).await?);
            if at.is_some() && !each(page, at) {
                break;
            }
        }
        Ok(())
    }
    fn booted(&self) {}
    fn give_up_own(&self) {}
    fn is_storable(&self) -> bool {
        true
    }
    fn clear(&self) {
        self.0.store.borrow_mut().fill([0; ENTRIES]);
        self.0.frames.borrow_mut().fill(Frame::default());
    }
    fn is_empty(&self, first: Lpn, count: u32) -> bool {
        let end = (first.0 + count).min(self.0.pages);
        (first.0..end).all(|page| self.0.entry(page as usize) == 0)
    }
    async fn encode(&self, first: Lpn, into: &mut [u8]) {
        self.0.exec.sleep(READ).await;
        for (page, bytes) in (first.0..).zip(into.chunks_exact_mut(4)) {
            let entry = if page < self.0.pages { self.0.entry(page as usize) } else { 0 };
            bytes.copy_from_slice(&entry.to_le_bytes());
        }
    }
    async fn load(&self, first: Lpn, from: &[u8]) {
        self.0.exec.sleep(WRITE).await;
        assert!(self.pinned() == 0, "boot loads a map that nobody uses yet");
        self.0.frames.borrow_mut().fill(Frame::default());
        let mut store = self.0.store.borrow_mut();
        for (page, bytes) in (first.index()..self.0.pages as usize).zip(from.chunks_exact(4)) {
            store[page / ENTRIES][page % ENTRIES] = u32::from_le_bytes(bytes.try_into().unwrap());
        }
    }
}
