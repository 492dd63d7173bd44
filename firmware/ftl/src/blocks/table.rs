//! The block table: passes on what happens to a block to each part that must know.

use crate::blocks::ages::{Age, Ages, VictimAges};
use crate::blocks::pool_luns::PoolLuns;
use crate::blocks::striping::{Placed, Striping};
use crate::durability::lines::{self, Durability};
use crate::durability::outbox::{LogEntry, Outbox};
use crate::space::candidates::Candidates;
use crate::space::evacuation::Evacuation;
use crate::space::free::FreeLists;
use crate::space::in_flight::InFlight;
use crate::space::in_work::VictimsInWork;
use crate::space::layout::BlockLayout;
use crate::space::map_blocks::MapBlocks;
use crate::space::open::{Open, OpenBlocks};
use crate::space::refresh::Refreshing;
use crate::space::room::{self, Room};
use crate::space::states::States;
use crate::space::streams::HostStreams;
use crate::space::valid::ValidUnits;
use crate::space::wear::{ERASES_MAX, Wear};
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, PoolIndex, Stream};
use crate::terms::config::{FtlConfig, WearLevelling};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_parties::{StreamPolicy, VictimPolicy};
use aster_units::{Lpn, LunIndex, Ppa, Upa};

/// Where a program is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// Anywhere in this pool.
    Pool(PoolIndex),
    /// Anywhere in this pool, beside copies of victims of this age.
    Copies(PoolIndex, Age),
    /// To this LUN, for instance since a word line has been begun there.
    Lun(LunIndex),
}

/// Where a stream's next program goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// This page.
    Page(Ppa),
    /// A block that the log must list first.
    NotFreeListed,
    /// The stream has no room.
    None,
}

/// The parts that know the blocks, and the changes that concern several of them.
pub(crate) struct Blocks {
    pub(crate) layout: BlockLayout,
    pub(crate) states: Rc<States>,
    pub(crate) wear: Rc<Wear>,
    pub(crate) free: Rc<FreeLists>,
    pub(crate) open: Rc<OpenBlocks>,
    pub(crate) room: Room,
    pub(crate) map: MapBlocks,
    pub(crate) in_flight: Rc<InFlight>,
    pub(crate) in_work: Rc<VictimsInWork>,
    pub(crate) evacuation: Rc<Evacuation>,
    pub(crate) candidates: Rc<Candidates>,
    pub(crate) valid: Rc<ValidUnits>,
    pub(crate) refreshing: Refreshing,
    pub(crate) durability: Durability,
    pub(crate) outbox: Rc<Outbox>,
    pub(crate) streams: HostStreams,
    // In a pool of several LUNs: which of them a page goes to.
    striping: Striping,
    // And which copies lie together.
    ages: Ages,
}

impl Blocks {
    /// A table in which all blocks are unused and in no list; [`Blocks::adopt`] puts each where it belongs.
    /// `policy` chooses victims, and `streams` the streams of what the host writes. Pages of a pool go to its
    /// LUNs in this `order`.
    pub(crate) fn of(
        config: &FtlConfig,
        policy: Box<dyn VictimPolicy>,
        streams: Box<dyn StreamPolicy>,
        order: Box<[LunIndex]>,
    ) -> Self {
        let layout = BlockLayout::of(config);
        let reserve = config.pool_reserve_blocks() as usize;
        let states = Rc::new(States::new(layout));
        let wear = Rc::new(Wear::new(layout, config.care.wear_levelling));
        let free = Rc::new(FreeLists::new(layout, &wear));
        let open = Rc::new(OpenBlocks::new(layout, config.streams));
        let ages = Ages::new(layout, &open);
        let in_flight = Rc::new(InFlight::new(layout));
        let in_work = Rc::new(VictimsInWork::new(layout));
        let evacuation = Rc::new(Evacuation::new(layout, &states));
        let candidates = Rc::new(Candidates::new(layout, &wear, policy));
        let valid = Rc::new(ValidUnits::new(layout, &candidates));
        let outbox = Rc::new(Outbox::new(layout.units_per_lun(), config.geometry.page_bytes));
        let for_mapping = config.mapping_reserve_blocks() as usize;
        let of = room::Parts {
            free: &free,
            open: &open,
            in_flight: &in_flight,
            in_work: &in_work,
            evacuation: &evacuation,
            valid: &valid,
            wear: &wear,
        };
        let retires = config.care.retire_uncorrectable;
        let changed =
            lines::Parts { states: &states, free: &free, open: &open, valid: &valid, outbox: &outbox };
        Blocks {
            layout,
            room: Room::new(layout, reserve, for_mapping, of),
            map: MapBlocks::new(
                layout,
                (config.areas().metadata_blocks_per_lun() as usize, reserve),
                &free,
                &candidates,
            ),
            refreshing: Refreshing::new(layout, config.care.refresh, retires, &states, &candidates),
            durability: Durability::new(layout, usize::from(config.host.slice_workers), changed),
            streams: HostStreams::new(
                config.streams,
                layout.total(),
                u32::try_from(config.logical_pages()).unwrap_or(u32::MAX),
                streams,
            ),
            states,
            wear,
            free,
            open,
            in_flight,
            in_work,
            evacuation,
            candidates,
            valid,
            outbox,
            striping: Striping::new(order),
            ages,
        }
    }
    /// Returns to the state of a new table.
    pub(crate) fn forget(&self) {
        self.states.forget();
        self.wear.forget();
        self.free.forget();
        self.open.forget();
        self.room.forget();
        self.map.forget();
        self.in_flight.forget();
        self.in_work.forget();
        self.evacuation.forget();
        self.candidates.forget();
        self.valid.forget();
        self.refreshing.forget();
        self.durability.forget();
        self.outbox.forget();
        self.streams.forget();
        self.ages.forget();
    }

    // ---- blocks as they are stored ----

    /// Puts a block where its entry says. [`ValidUnits::set`] says which of its units are valid.
    ///
    /// # Errors
    /// Says how the entry contradicts another, or why it is impossible.
    pub(crate) fn adopt(&self, block: BlockIndex, mut entry: BlockEntry) -> Result<(), &'static str> {
        if entry.state == BlockState::Open && !self.open.has(entry.stream) {
            // The drive had more streams when it was shut down. Nobody fills the rest of the block.
            entry.state = BlockState::Closed;
        }
        if entry.erases > ERASES_MAX {
            return Err("a block was erased more often than any can be");
        }
        if entry.state == BlockState::Open {
            if self.open.of(self.layout.lun_of(block), entry.stream).is_some() {
                return Err("two blocks of a LUN are open for the same");
            }
            if u32::from(entry.next) >= self.layout.pages_per_block() {
                return Err("a full block is open");
            }
        }
        let levelled = !matches!(entry.state, BlockState::Bad | BlockState::Retired | BlockState::Log);
        self.wear.adopt(block, entry.erases, levelled);
        self.states.adopt(block, entry.state);
        match entry.state {
            BlockState::Free => {
                self.free.put(block);
                if entry.unverified {
                    self.free.set_unverified(block);
                }
            }
            BlockState::Open => self.open.open(entry.stream, Open { block, next: entry.next }),
            BlockState::Closed | BlockState::Failing => {
                self.candidates.closed(block);
                self.offer(block);
            }
            BlockState::Map => self.map.adopt(block),
            BlockState::Bad | BlockState::Retired | BlockState::Log => {}
        }
        Ok(())
    }
    /// The ages of a pool's last victims, as they were.
    pub(crate) fn adopt_ages(&self, pool: PoolIndex, victims: VictimAges) {
        self.ages.adopt(pool, victims);
    }
    /// The entry to be stored for a block.
    pub(crate) fn entry(&self, block: BlockIndex) -> BlockEntry {
        let (stream, next) = self.open.find(block).unwrap_or((Stream::Host(0), 0));
        BlockEntry {
            state: self.states.of(block),
            stream,
            next,
            erases: self.wear.of(block),
            unverified: self.free.is_unverified(block),
        }
    }
    /// Whether a page can hold data: according to the block table it has been programmed since its block was
    /// erased.
    pub(crate) fn may_hold_data(&self, ppa: Ppa) -> bool {
        let block = self.layout.block_of(ppa);
        match self.states.of(block) {
            BlockState::Open => self.layout.page_in_block(ppa) < u32::from(self.entry(block).next),
            BlockState::Closed | BlockState::Failing => true,
            BlockState::Free | BlockState::Bad | BlockState::Retired | BlockState::Map | BlockState::Log => {
                false
            }
        }
    }

    // ---- programs ----

    /// The page that the stream's next program goes to. It stays the same until [`Blocks::take_page`]. The
    /// host may not use the reserve.
    #[inline]
    pub(crate) fn next_page(&self, to: Destination, stream: Stream) -> Next {
        let (pool, age) = match to {
            Destination::Lun(lun) => return self.next_page_in(lun, stream),
            Destination::Pool(pool) => (pool, None),
            Destination::Copies(pool, age) => (pool, Some(age)),
        };
        if self.layout.has_one_lun() {
            return self.next_page_in(self.layout.first_lun(pool), stream);
        }
        self.next_page_of(pool, stream, age)
    }
    /// The page that the stream's next program goes to in a pool of several LUNs.
    fn next_page_of(&self, pool: PoolIndex, stream: Stream, age: Option<Age>) -> Next {
        let may_open = || self.room.may_open(pool, stream);
        if self.outbox.is_behind() && self.free.is_logged() && may_open() {
            return Next::NotFreeListed;
        }
        let placed = self.striping.choose(stream, &self.luns_for(pool, stream, age));
        match placed {
            Placed::On(lun) => {
                let next = self.next_page_in(lun, stream);
                if let Some(age) = age {
                    self.ages.copies(age, lun);
                }
                next
            }
            Placed::NotListed if self.free.is_logged() => Next::NotFreeListed,
            Placed::NotListed | Placed::Nowhere => {
                let lent = self.room.lent_to(pool, stream).filter(|_| !may_open());
                lent.map_or(Next::None, |open| Next::Page(self.open.page_of(open)))
            }
        }
    }
    fn luns_for(&self, pool: PoolIndex, stream: Stream, age: Option<Age>) -> PoolLuns<'_> {
        let Blocks { ages, open, free, in_flight, room, .. } = self;
        PoolLuns { pool, stream, age, ages, open, free, in_flight, room }
    }
    /// The age of a victim of a pool, which has just been chosen and has units to copy.
    pub(crate) fn age_of_victim(&self, pool: PoolIndex, victim: BlockIndex) -> Age {
        if self.layout.has_one_lun() {
            return Age::default();
        }
        self.ages.of_victim(pool, self.candidates.closings_since(victim))
    }
    #[inline]
    fn next_page_in(&self, lun: LunIndex, stream: Stream) -> Next {
        match self.open.of(lun, stream) {
            Some(open) => Next::Page(self.open.page_of(open)),
            None => self.open_block(lun, stream),
        }
    }
    #[cold]
    fn open_block(&self, lun: LunIndex, stream: Stream) -> Next {
        let pool = self.layout.pool_of(lun);
        if !self.room.may_open(pool, stream) {
            let lent = self.room.lent_to(pool, stream);
            return lent.map_or(Next::None, |open| Next::Page(self.open.page_of(open)));
        }
        if self.free.listed(lun) == 0 || self.outbox.is_behind() {
            return match (self.free.is_logged(), stream) {
                (true, _) => Next::NotFreeListed,
                // No block will be opened any more: the host's streams fill what is open.
                (false, Stream::Host(_)) => self
                    .open
                    .of_host(lun)
                    .next()
                    .map_or(Next::None, |open| Next::Page(self.open.page_of(open))),
                (false, _) => Next::None,
            };
        }
        let Some(block) = self.free.take(lun, stream) else { return Next::None };
        Next::Page(self.open.page_of(self.fill(block, stream)))
    }
    /// A stream begins to fill a free block.
    fn fill(&self, block: BlockIndex, stream: Stream) -> Open {
        let open = Open { block, next: 0 };
        self.outbox.push(LogEntry::Opened(block));
        self.states.set(block, BlockState::Open);
        self.open.open(stream, open);
        if stream == Stream::Gc {
            self.ages.opened(self.layout.lun_of(block));
        }
        self.streams.opened(block, stream);
        open
    }
    /// Opens a block for the host: one that the last log page before the loss of power listed, in a LUN for
    /// which the log has listed none since power-on.
    #[cold]
    pub(crate) fn open_listed_at_power_on(&self, lun: LunIndex) {
        if self.open.of(lun, Stream::Host(0)).is_none()
            && let Some(block) = self.free.take_listed_at_power_on(lun)
        {
            self.fill(block, Stream::Host(0));
        }
    }
    /// The program of `ppa`, which [`Blocks::next_page`] returned, has been submitted. For each slot `copies`
    /// has the logical page that it copies and the place that it comes from. Returns true if this closes the
    /// block.
    #[inline]
    pub(crate) fn take_page(&self, ppa: Ppa, copies: &[(Lpn, Upa)]) -> bool {
        let block = self.layout.block_of(ppa);
        self.in_flight.program_begins(block);
        // A program that is neither a copy nor the host's is a translation page or padding.
        let by = match self.open.find(block) {
            Some((host @ Stream::Host(_), _)) => host,
            _ if copies.is_empty() => Stream::Mapping,
            _ => Stream::Gc,
        };
        self.durability.program_begins(ppa, by, copies);
        if by == Stream::Gc {
            let from = |&(_, from): &(Lpn, Upa)| from.is_some().then(|| self.layout.block_of_unit(from));
            self.refreshing.copied_into(block, copies.iter().filter_map(from));
        }
        if !self.layout.has_one_lun() {
            self.striping.placed(by, self.layout.lun_of(block));
        }
        let is_full = self.open.take_page(ppa);
        if is_full {
            self.close(block, BlockState::Closed);
        }
        is_full
    }
    fn close(&self, block: BlockIndex, state: BlockState) {
        self.states.set(block, state);
        self.candidates.closed(block);
    }
    /// The program of `ppa` has ended. After a failure the block takes no more pages. Returns true if garbage
    /// collection may take the block now.
    #[inline]
    pub(crate) fn program_ended(&self, ppa: Ppa, failed: bool) -> bool {
        let block = self.layout.block_of(ppa);
        let was_last = self.in_flight.program_ends(block);
        self.durability.program_ends(ppa);
        if failed {
            self.open.close(block);
            self.close(block, BlockState::Failing);
        }
        if !was_last || self.states.of(block) == BlockState::Open {
            return false;
        }
        self.offer(block);
        true
    }

    // ---- collection ----

    /// Offers a block for collection: it has no programs in flight any more, or an attempt to empty it
    /// failed.
    pub(crate) fn offer(&self, block: BlockIndex) {
        match self.states.of(block) {
            BlockState::Closed => {
                self.candidates.offer(block, self.valid.in_block(block));
                self.refreshing.queue(block);
            }
            BlockState::Failing => self.evacuation.fails(block),
            _ => {}
        }
    }
    /// Takes the next block to collect: an empty one, else one that is going bad, else the closed block that
    /// the victim policy chooses. `None` if collecting would gain nothing.
    pub(crate) fn take_victim(&self, pool: PoolIndex) -> Option<BlockIndex> {
        // Blocks that can be erased at once come first: evacuation may take a free block.
        if let Some(empty) = self.candidates.take_empty_of(pool) {
            return Some(empty);
        }
        if self.evacuation.is_on() {
            if let Some(block) = self.evacuation.take_failing(pool) {
                return Some(block);
            }
            while let Some(block) = self.evacuation.take_torn(pool) {
                if self.candidates.take(block) {
                    return Some(block);
                }
            }
        }
        self.candidates.take_best(pool)
    }
    /// Whether [`Blocks::take_victim`] would find one.
    pub(crate) fn has_victim(&self, pool: PoolIndex) -> bool {
        self.evacuation.has_any(pool) || self.candidates.has_stale(pool)
    }
    /// Whether there is a page that a copy could go to, or a block that can be erased without one. A victim
    /// that takes the last free block leaves it empty until it is empty itself, also to a loss of power.
    pub(crate) fn may_collect(&self, pool: PoolIndex) -> bool {
        let is_open = || self.layout.luns_of(pool).any(|lun| self.open.of_lun(lun).next().is_some());
        self.free.in_pool(pool) > 0 || self.candidates.has_empty(pool) || is_open()
    }
    /// Takes a block whose data fades, if garbage collection has room for it.
    pub(crate) fn take_for_refresh(&self, pool: PoolIndex, scarce: bool) -> Option<BlockIndex> {
        if !self.room.may_work_ahead(pool, scarce) {
            return None;
        }
        self.refreshing.take(pool)
    }
    /// Takes a closed block whose erase count is further behind the pool's highest than the spread allows, if
    /// there is one and garbage collection has room for its data.
    pub(crate) fn take_cold(&self, pool: PoolIndex, scarce: bool) -> Option<BlockIndex> {
        let WearLevelling::Static { spread } = self.wear.levelling() else { return None };
        if !self.room.may_work_ahead(pool, scarce) {
            return None;
        }
        self.candidates.take_cold(pool, spread)
    }
    /// A page to copy out of the blocks that would be collected next: it has units that still count and is
    /// not `taken` yet. Blocks without such a page are skipped.
    pub(crate) fn page_to_copy(&self, pool: PoolIndex, taken: impl Fn(Ppa) -> bool) -> Option<Ppa> {
        self.candidates.find_page(pool, |block| self.durability.fullest_page(block, &taken))
    }
    /// A page could not be corrected. Returns true if the data of its block must move for that and didn't
    /// have to before.
    ///
    /// A page that doesn't count, such as one torn by a loss of power, says nothing about its block.
    #[cold]
    pub(crate) fn suspect(&self, page: Ppa, is_own: bool) -> bool {
        self.durability.counts_in(page) && self.refreshing.suspect(page, is_own)
    }

    // ---- erases ----

    /// A block has been erased.
    pub(crate) fn erased(&self, block: BlockIndex) {
        assert_eq!(self.valid.in_block(block), 0, "an erased block had valid units");
        self.count_erase(block, true);
        self.refreshing.erased(block);
        self.durability.erased(block);
        self.streams.erased(block);
        self.map.erased(block);
        self.states.set(block, BlockState::Free);
        let lun = self.layout.lun_of(block);
        self.free.put(block);
        self.map.set_aside(lun);
        let pool = self.layout.pool_of(lun);
        self.room.gains_block(pool);
        if !self.layout.has_one_lun() {
            // Moves wait for their block to be empty only while the pool has no free block.
            self.durability.journal_deferred(pool);
        }
    }
    /// A block of the log has been erased.
    pub(crate) fn log_erased(&self, block: BlockIndex) {
        self.count_erase(block, false);
    }
    /// Counts an erase and logs the count, so that a loss of power can't undo it.
    fn count_erase(&self, block: BlockIndex, levelled: bool) {
        let erases = self.wear.count(block, levelled);
        self.outbox.push(LogEntry::Erased { block, erases });
    }
    /// A block has gone bad.
    pub(crate) fn retire(&self, block: BlockIndex) {
        assert_eq!(self.valid.in_block(block), 0, "a retired block had valid units");
        self.states.retire(block);
        self.outbox.push(LogEntry::Retired(block));
    }
    /// Takes a used block without valid pages out of all lists. The caller erases it at once.
    pub(crate) fn take_used(&self, block: BlockIndex) {
        self.candidates.withdraw(block);
        self.evacuation.leave_out(block);
        self.open.close(block);
    }
    /// A free block has been verified. If it turned out not to be erased, it is collected like any block
    /// without valid pages.
    pub(crate) fn verified(&self, block: BlockIndex, erased: bool) {
        if self.free.verified(block, erased) {
            self.close(block, BlockState::Closed);
            self.offer(block);
        }
    }

    // ---- blocks of a stored map ----

    /// Takes a free block for the stored map, and leaves one to garbage collection while it needs one. With
    /// `within_share` the LUN gives no more than its share.
    pub(crate) fn take_for_map(&self, lun: LunIndex, within_share: bool) -> Option<BlockIndex> {
        let block = self.map.take(lun, within_share, self.evacuation.is_on())?;
        self.outbox.push(LogEntry::Opened(block));
        self.states.set(block, BlockState::Map);
        Some(block)
    }
    /// Releases a block of a map that is no longer needed. It is erased like any block without valid pages.
    pub(crate) fn release_from_map(&self, block: BlockIndex) {
        self.leave_map(block, BlockState::Closed);
        self.map.keep_old(block);
    }
    /// A program of the stored map failed in this block.
    pub(crate) fn fail_map_block(&self, block: BlockIndex) {
        self.leave_map(block, BlockState::Failing);
    }
    fn leave_map(&self, block: BlockIndex, state: BlockState) {
        self.map.leave(block);
        self.close(block, state);
        self.offer(block);
    }
}
