//! Room: who may take how many of a pool's free blocks.

use crate::space::evacuation::Evacuation;
use crate::space::free::FreeLists;
use crate::space::in_flight::InFlight;
use crate::space::in_work::VictimsInWork;
use crate::space::layout::BlockLayout;
use crate::space::open::{Open, OpenBlocks};
use crate::space::valid::ValidUnits;
use crate::space::wear::Wear;
use crate::terms::bits::cells;
use crate::terms::block::{PoolIndex, Stream};
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::cell::Cell;

/// Which part of the free blocks each stream leaves to others.
pub(crate) struct Room {
    layout: BlockLayout,
    // Free blocks that garbage collection keeps.
    reserve: usize,
    // Further free blocks, which translation pages may take and the host may not.
    for_mapping: usize,
    free: Rc<FreeLists>,
    open: Rc<OpenBlocks>,
    in_flight: Rc<InFlight>,
    in_work: Rc<VictimsInWork>,
    evacuation: Rc<Evacuation>,
    valid: Rc<ValidUnits>,
    wear: Rc<Wear>,
    // Pools in which collection gains no more room, and their number.
    full: Box<[Cell<bool>]>,
    // Pools in which the host's streams share open blocks, until a block is erased.
    shared: Box<[Cell<bool>]>,
    full_pools: Cell<u32>,
}

/// The parts that room is computed from.
pub(crate) struct Parts<'a> {
    pub(crate) free: &'a Rc<FreeLists>,
    pub(crate) open: &'a Rc<OpenBlocks>,
    pub(crate) in_flight: &'a Rc<InFlight>,
    pub(crate) in_work: &'a Rc<VictimsInWork>,
    pub(crate) evacuation: &'a Rc<Evacuation>,
    pub(crate) valid: &'a Rc<ValidUnits>,
    pub(crate) wear: &'a Rc<Wear>,
}

impl Room {
    pub(crate) fn new(layout: BlockLayout, reserve: usize, for_mapping: usize, of: Parts<'_>) -> Self {
        Room {
            layout,
            reserve,
            for_mapping,
            free: Rc::clone(of.free),
            open: Rc::clone(of.open),
            in_flight: Rc::clone(of.in_flight),
            in_work: Rc::clone(of.in_work),
            evacuation: Rc::clone(of.evacuation),
            valid: Rc::clone(of.valid),
            wear: Rc::clone(of.wear),
            full: cells(layout.total_pools(), false),
            full_pools: Cell::new(0),
            shared: cells(layout.total_pools(), false),
        }
    }
    pub(crate) fn forget(&self) {
        self.full.iter().chain(&self.shared).for_each(|mark| mark.set(false));
        self.full_pools.set(0);
    }

    // ---- what is kept ----

    /// Free blocks of a pool that a stream leaves alone.
    pub(crate) fn kept_from(&self, stream: Stream) -> usize {
        match stream {
            Stream::Host(_) => self.reserve + self.for_mapping,
            Stream::Gc if self.evacuation.is_on() => 0,
            Stream::Gc | Stream::Mapping => self.reserve,
        }
    }
    /// As [`Room::kept_from`], in the present state of a pool. Translation pages may share garbage
    /// collection's open block. If there is none, one block of the reserve is kept for the next victim.
    fn kept_in(&self, pool: PoolIndex, stream: Stream) -> usize {
        match stream {
            // While several victims are in work, one free block stays erased: a loss of power would leave no
            // other block to copy to.
            Stream::Gc if self.in_work.count(pool) > 1 => self.kept_from(stream).max(1),
            Stream::Mapping if self.open.in_pool(pool, Stream::Gc).next().is_none() => 1,
            stream => self.kept_from(stream),
        }
    }
    /// Whether a stream may open another block of the pool.
    pub(crate) fn may_open(&self, pool: PoolIndex, stream: Stream) -> bool {
        self.may_open_beside(pool, stream, 0)
    }
    /// As [`Room::may_open`], if `left` more free blocks are to be left alone.
    pub(crate) fn may_open_beside(&self, pool: PoolIndex, stream: Stream, left: usize) -> bool {
        let free = self.free.in_pool(pool);
        free > self.kept_in(pool, stream) + left && !(stream.is_host() && self.is_promised(pool, free))
    }
    /// Whether the next of the `free` blocks of a pool is needed by victims in work. A single one does with
    /// the reserve.
    fn is_promised(&self, pool: PoolIndex, free: usize) -> bool {
        self.in_work.count(pool) > 1 && self.pages_for_copies(pool, free - 1) < self.pages_to_copy(pool)
    }
    /// Whether another victim may be begun beside those in work. It must find room for its copies, and leave
    /// a block erased.
    pub(crate) fn may_begin_victim(&self, pool: PoolIndex) -> bool {
        if self.in_work.count(pool) == 0 {
            return true;
        }
        let more = u64::from(self.layout.pages_per_block() + self.layout.pages_per_line());
        let free = self.free.in_pool(pool);
        free > 0 && self.pages_for_copies(pool, free) >= self.pages_to_copy(pool) + more
    }
    /// Pages that copies can go to in a pool with so many free blocks, of which one at least is kept. A
    /// read-only drive keeps its reserve.
    fn pages_for_copies(&self, pool: PoolIndex, free: usize) -> u64 {
        let pages = self.layout.pages_per_block();
        let kept = self.kept_from(Stream::Gc).max(1);
        let open = self.open.in_pool(pool, Stream::Gc).map(|open| u64::from(pages - u32::from(open.next)));
        open.sum::<u64>() + free.saturating_sub(kept) as u64 * u64::from(pages)
    }
    /// Pages that the copies of the victims in work still take at most, with the word lines that they end in.
    fn pages_to_copy(&self, pool: PoolIndex) -> u64 {
        let (per_page, line) = (self.layout.shape().per_page(), self.layout.pages_per_line());
        let of_victim = |block| u64::from(self.valid.in_block(block).div_ceil(per_page) + line);
        self.in_work.sum(pool, of_victim)
    }
    /// The open block of another stream in which a stream may continue if it may not open one.
    pub(crate) fn lent_to(&self, pool: PoolIndex, stream: Stream) -> Option<Open> {
        match stream {
            Stream::Host(_) if !self.shared[pool.at()].get() => None,
            // If garbage collection has lost its reserve to failures, it continues in a block of the host.
            Stream::Host(_) | Stream::Gc => self.open.of_host_in(pool).next(),
            Stream::Mapping => self.lent_by_collector(pool),
        }
    }
    /// Garbage collection's open block, if a translation page may go there: the rest of it and the free
    /// blocks must have more room than any victim needs. Collecting a victim frees at least one page more
    /// than it takes, so a translation page finds room sooner or later, no matter what else is waiting.
    fn lent_by_collector(&self, pool: PoolIndex) -> Option<Open> {
        let open = self.open.in_pool(pool, Stream::Gc).next()?;
        let pages = self.layout.pages_per_block();
        let left = pages - u32::from(open.next) + self.free.in_pool(pool) as u32 * pages;
        (left >= pages + self.layout.pages_per_line()).then_some(open)
    }

    // ---- what there is ----

    /// Pages that the host can program in a pool without any further garbage collection.
    pub(crate) fn host_pages_left(&self, pool: PoolIndex) -> u64 {
        let pages = self.layout.pages_per_block();
        let open: u64 = self.open.of_host_in(pool).map(|open| u64::from(pages - u32::from(open.next))).sum();
        let free = self.free.in_pool(pool).saturating_sub(self.kept_from(Stream::Host(0))) as u64;
        free * u64::from(pages) + open
    }
    /// Whether garbage collection may open another block.
    pub(crate) fn has_room_for_copies(&self, pool: PoolIndex) -> bool {
        self.free.in_pool(pool) > self.kept_in(pool, Stream::Gc)
    }
    /// Whether a translation page may be programmed in the pool.
    pub(crate) fn has_room_for_mapping(&self, pool: PoolIndex) -> bool {
        let may_open = self.may_open(pool, Stream::Mapping);
        self.open.in_pool(pool, Stream::Mapping).next().is_some()
            || may_open && (self.free.listed_in(pool) > 0 || self.free.is_logged())
            || !may_open && self.lent_by_collector(pool).is_some()
    }
    /// Whether neither waiting nor collecting can make room for the host: nothing is in flight, and there is
    /// nothing to gain.
    pub(crate) fn is_stuck(&self, pool: PoolIndex) -> bool {
        let may_write = self.open.of_host_in(pool).next().is_some() || self.may_open(pool, Stream::Host(0));
        let is_at_rest = self.in_flight.is_at_rest(pool) && self.in_work.count(pool) == 0;
        is_at_rest && !self.evacuation.has_any(pool) && !may_write
    }
    /// Whether a block may be emptied without a gain of room. This must never use blocks that garbage
    /// collection depends on, and while the pool is short of room it may happen only now and then.
    pub(crate) fn may_work_ahead(&self, pool: PoolIndex, scarce: bool) -> bool {
        self.evacuation.is_on()
            && self.free.in_pool(pool) > self.reserve
            && (!scarce || self.wear.background_is_due(pool))
    }

    // ---- pools that are full, or nearly ----

    /// Neither waiting nor collecting can make room for the host any more.
    pub(crate) fn set_full(&self, pool: PoolIndex) {
        self.mark(pool, true);
    }
    /// A stream of the host waits for room, and collecting gains none. If other streams have blocks open, all
    /// of them write there until a block is erased. Returns true if that is news.
    pub(crate) fn share_open(&self, pool: PoolIndex) -> bool {
        let shares = self.open.of_host_in(pool).next().is_some() && !self.may_open(pool, Stream::Host(0));
        shares && !self.shared[pool.at()].replace(true)
    }
    /// A block of the pool was erased.
    pub(crate) fn gains_block(&self, pool: PoolIndex) {
        self.shared[pool.at()].set(false);
        self.mark(pool, false);
    }
    fn mark(&self, pool: PoolIndex, full: bool) {
        let before = self.full[pool.at()].replace(full);
        self.full_pools.set(self.full_pools.get() + u32::from(full) - u32::from(before));
    }
    pub(crate) fn is_full(&self, pool: PoolIndex) -> bool {
        self.full[pool.at()].get()
    }
    pub(crate) fn any_full(&self) -> bool {
        self.full_pools.get() > 0
    }
}
