//! Room: who may take how many of a LUN's free blocks.

use crate::space::evacuation::Evacuation;
use crate::space::free::FreeLists;
use crate::space::in_flight::InFlight;
use crate::space::layout::BlockLayout;
use crate::space::open::{Open, OpenBlocks};
use crate::space::wear::Wear;
use crate::terms::bits::cells;
use crate::terms::block::Stream;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_units::LunIndex;
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
    evacuation: Rc<Evacuation>,
    wear: Rc<Wear>,
    // LUNs in which collection gains no more room, and their number.
    full: Box<[Cell<bool>]>,
    // LUNs in which the host's streams share open blocks, until a block is erased.
    shared: Box<[Cell<bool>]>,
    full_luns: Cell<u32>,
}

/// The parts that room is computed from.
pub(crate) struct Parts<'a> {
    pub(crate) free: &'a Rc<FreeLists>,
    pub(crate) open: &'a Rc<OpenBlocks>,
    pub(crate) in_flight: &'a Rc<InFlight>,
    pub(crate) evacuation: &'a Rc<Evacuation>,
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
            evacuation: Rc::clone(of.evacuation),
            wear: Rc::clone(of.wear),
            full: cells(layout.total_luns(), false),
            full_luns: Cell::new(0),
            shared: cells(layout.total_luns(), false),
        }
    }
    pub(crate) fn forget(&self) {
        self.full.iter().chain(&self.shared).for_each(|mark| mark.set(false));
        self.full_luns.set(0);
    }

    // ---- what is kept ----

    /// Free blocks of a LUN that a stream leaves alone.
    pub(crate) fn kept_from(&self, stream: Stream) -> usize {
        match stream {
            Stream::Host(_) => self.reserve + self.for_mapping,
            Stream::Gc if self.evacuation.is_on() => 0,
            Stream::Gc | Stream::Mapping => self.reserve,
        }
    }
    /// As [`Room::kept_from`], in the present state of a LUN. Translation pages may share garbage
    /// collection's open block. If there is none, one block of the reserve is kept for the next victim.
    fn kept_in(&self, lun: LunIndex, stream: Stream) -> usize {
        match stream {
            Stream::Mapping if self.open.of(lun, Stream::Gc).is_none() => 1,
            stream => self.kept_from(stream),
        }
    }
    /// Whether a stream may open another block of the LUN.
    pub(crate) fn may_open(&self, lun: LunIndex, stream: Stream) -> bool {
        self.free.len(lun) > self.kept_in(lun, stream)
    }
    /// The open block of another stream in which a stream may continue if it may not open one.
    pub(crate) fn lent_to(&self, lun: LunIndex, stream: Stream) -> Option<Open> {
        match stream {
            Stream::Host(_) if !self.shared[lun.index()].get() => None,
            // If garbage collection has lost its reserve to failures, it continues in a block of the host.
            Stream::Host(_) | Stream::Gc => self.open.of_host(lun).next(),
            Stream::Mapping => self.lent_by_collector(lun),
        }
    }
    /// Garbage collection's open block, if a translation page may go there: the rest of it and the free
    /// blocks must have more room than any victim needs. Collecting a victim frees at least one page more
    /// than it takes, so a translation page finds room sooner or later, no matter what else is waiting.
    fn lent_by_collector(&self, lun: LunIndex) -> Option<Open> {
        let open = self.open.of(lun, Stream::Gc)?;
        let pages = self.layout.pages_per_block();
        let left = pages - u32::from(open.next) + self.free.len(lun) as u32 * pages;
        (left >= pages + self.layout.pages_per_line()).then_some(open)
    }

    // ---- what there is ----

    /// Pages that the host can program in a LUN without any further garbage collection.
    pub(crate) fn host_pages_left(&self, lun: LunIndex) -> u64 {
        let pages = self.layout.pages_per_block();
        let open: u64 = self.open.of_host(lun).map(|open| u64::from(pages - u32::from(open.next))).sum();
        let free = self.free.len(lun).saturating_sub(self.kept_from(Stream::Host(0))) as u64;
        free * u64::from(pages) + open
    }
    /// Whether garbage collection may open another block.
    pub(crate) fn has_room_for_copies(&self, lun: LunIndex) -> bool {
        self.free.len(lun) > self.kept_from(Stream::Gc)
    }
    /// Whether a translation page may be programmed in the LUN.
    pub(crate) fn has_room_for_mapping(&self, lun: LunIndex) -> bool {
        let may_open = self.may_open(lun, Stream::Mapping);
        self.open.of(lun, Stream::Mapping).is_some()
            || may_open && (self.free.listed(lun) > 0 || self.free.is_logged())
            || !may_open && self.lent_by_collector(lun).is_some()
    }
    /// Whether neither waiting nor collecting can make room for the host: nothing is in flight, and there is
    /// nothing to gain.
    pub(crate) fn is_stuck(&self, lun: LunIndex) -> bool {
        let may_write = self.open.of_host(lun).next().is_some() || self.may_open(lun, Stream::Host(0));
        self.in_flight.is_at_rest(lun) && !self.evacuation.has_any(lun) && !may_write
    }
    /// Whether a block may be emptied without a gain of room. This must never use blocks that garbage
    /// collection depends on, and while the LUN is short of room it may happen only now and then.
    pub(crate) fn may_work_ahead(&self, lun: LunIndex, scarce: bool) -> bool {
        self.evacuation.is_on()
            && self.free.len(lun) > self.reserve
            && (!scarce || self.wear.background_is_due(lun))
    }

    // ---- LUNs that are full, or nearly ----

    /// Neither waiting nor collecting can make room for the host any more.
    pub(crate) fn set_full(&self, lun: LunIndex) {
        self.mark(lun, true);
    }
    /// A stream of the host waits for room, and collecting gains none. If other streams have blocks open, all
    /// of them write there until a block is erased. Returns true if that is news.
    pub(crate) fn share_open(&self, lun: LunIndex) -> bool {
        let shares = self.open.of_host(lun).next().is_some() && !self.may_open(lun, Stream::Host(0));
        shares && !self.shared[lun.index()].replace(true)
    }
    /// A block of the LUN was erased.
    pub(crate) fn gains_block(&self, lun: LunIndex) {
        self.shared[lun.index()].set(false);
        self.mark(lun, false);
    }
    fn mark(&self, lun: LunIndex, full: bool) {
        let before = self.full[lun.index()].replace(full);
        self.full_luns.set(self.full_luns.get() + u32::from(full) - u32::from(before));
    }
    pub(crate) fn is_full(&self, lun: LunIndex) -> bool {
        self.full[lun.index()].get()
    }
    pub(crate) fn any_full(&self) -> bool {
        self.full_luns.get() > 0
    }
}
