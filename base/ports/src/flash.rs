//! I3: FTL or scheduler on one side, a channel controller on the other (C41, O8, S17).
//!
//! Each LUN has a ring pair (I4): requests go into the LUN's available ring, and results come back in the
//! request's slot. Any controller that serves this port works with any scheduler and FTL.

use crate::cores::Interrupt;
use crate::dram::SharedDram;
use crate::page_check::PageChecker;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, HandlerId, WaitCell, WaitQueue};
use aster_units::{BufferId, Instant, LunIndex, RowAddr, SectorRange};
use core::cell::{Cell, OnceCell, RefCell};

pub use crate::outcome::{FlashError, FlashStatus, MAX_TARGETS, Outcome, Outcomes};
pub use crate::page_check::{CheckPage, PageCheck, PageOwner};
pub use crate::source::FlashSource;

/// The operation that a request asks for. Compound operations run to their end; the others are the steps that
/// a scheduler interleaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FlashOp {
    /// Array to page register, without transfer (C41 read-trigger).
    Trigger,
    /// Page register to buffer (C41 read-transfer).
    Transfer,
    /// Trigger, wait, transfer.
    Read,
    /// Transfer to the page register, program, wait, check.
    Program,
    /// Erase the blocks of the targets, wait, check.
    Erase,
    /// Ready and fail bits. A LUN that isn't ready gives [`FlashStatus::Busy`].
    Status,
    /// Reset the LUN's package and wait.
    Reset,
    /// Set a feature of the package behind the LUN's chip enable (ONFI 5.1 §5.30). READ RETRY chooses its
    /// level this way.
    SetFeatures,
    /// Read a feature of the package back (ONFI 5.1 §5.31).
    GetFeatures,
}

impl FlashOp {
    /// The number that events use: 0 for reads, 1 for programs, 2 for erases, 3 for anything else.
    pub const fn class(self) -> u8 {
        match self {
            FlashOp::Read | FlashOp::Trigger | FlashOp::Transfer => 0,
            FlashOp::Program => 1,
            FlashOp::Erase => 2,
            FlashOp::Status | FlashOp::Reset | FlashOp::SetFeatures | FlashOp::GetFeatures => 3,
        }
    }
    /// The name that errors use.
    pub const fn name(self) -> &'static str {
        match self {
            FlashOp::Trigger => "read trigger",
            FlashOp::Transfer => "read transfer",
            FlashOp::Read => "read",
            FlashOp::Program => "program",
            FlashOp::Erase => "erase",
            FlashOp::Status => "read status",
            FlashOp::Reset => "reset",
            FlashOp::SetFeatures => "set features",
            FlashOp::GetFeatures => "get features",
        }
    }
}

/// One page (or block) of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The row address behind the LUN's chip enable, as the package counts rows. A restricted drive
    /// numbers its pages differently (C31).
    pub row: RowAddr,
    /// The sectors to transfer.
    pub sectors: SectorRange,
    /// The sectors' buffer. The OOB bytes that belong to the buffer are transferred with it.
    pub buffer: BufferId,
}

/// Modifiers of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// Transfer raw bytes: no ECC, no scrambler. Reads deliver the first spare bytes after the page data.
    pub raw: bool,
    /// Use the block's cells as SLC.
    pub slc: bool,
    /// The targets of a program are the three pages of one TLC word line, LSB first, and go to the array in
    /// one shot (C83).
    pub one_shot: bool,
}

/// A feature of a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Feature {
    /// Its address. Requests may not set the data interface's address, which is set when packages are
    /// brought up.
    pub address: u8,
    /// P1 to P4, P1 lowest.
    pub value: u32,
}

/// A flash request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashRequest {
    /// What to do.
    pub phase: FlashOp,
    /// To which LUN.
    pub lun: LunIndex,
    /// Modifiers.
    pub flags: Flags,
    /// Who asks.
    pub source: FlashSource,
    /// The feature that [`FlashOp::SetFeatures`] sets or [`FlashOp::GetFeatures`] gets.
    pub feature: Feature,
    targets: [Target; MAX_TARGETS],
    count: u8,
    expects: PageOwner,
}

// Requests are copied on their way through the ports.
const _: () = assert!(size_of::<Option<FlashRequest>>() <= 72, "a flash request has grown");

impl FlashRequest {
    /// A request with one target.
    #[inline]
    pub const fn single(phase: FlashOp, lun: LunIndex, target: Target) -> Self {
        FlashRequest {
            phase,
            lun,
            flags: Flags { raw: false, slc: false, one_shot: false },
            source: FlashSource::User,
            feature: Feature { address: 0, value: 0 },
            targets: [target; MAX_TARGETS],
            count: 1,
            expects: PageOwner::NONE,
        }
    }
    /// A request that sets or gets a feature of `lun`'s package. `row` addresses the LUN behind its chip
    /// enable.
    pub const fn of_feature(phase: FlashOp, lun: LunIndex, row: RowAddr, feature: Feature) -> Self {
        let none = Target { row, sectors: SectorRange::whole(0), buffer: BufferId(0) };
        FlashRequest { feature, ..Self::single(phase, lun, none) }
    }
    /// A request with several targets: one per plane or, with [`Flags::one_shot`], the pages of a word
    /// line. `None` if there are none or too many.
    pub fn vector(phase: FlashOp, lun: LunIndex, targets: &[Target]) -> Option<Self> {
        let first = *targets.first()?;
        let mut request = Self::single(phase, lun, first);
        request.targets.get_mut(..targets.len())?.copy_from_slice(targets);
        request.count = targets.len() as u8;
        Some(request)
    }
    /// The same read, which expects a page that belongs to `owner`: [`Outcome::page`] says whether it
    /// does.
    #[inline]
    pub const fn expecting(self, owner: PageOwner) -> Self {
        FlashRequest { expects: owner, ..self }
    }
    /// The same request, asked for by `source`.
    #[inline]
    pub const fn asked_by(self, source: FlashSource) -> Self {
        FlashRequest { source, ..self }
    }
    /// Whether this reads one page through the stages. A LUN can start such a read in its array while the
    /// page before is still being transferred.
    #[inline]
    pub fn is_page_read(&self) -> bool {
        let Flags { raw, slc, .. } = self.flags;
        self.phase == FlashOp::Read && self.count == 1 && !raw && !slc
    }
    /// The targets.
    #[inline]
    pub fn targets(&self) -> &[Target] {
        &self.targets[..usize::from(self.count)]
    }
    /// The targets, to change.
    #[inline]
    pub fn targets_mut(&mut self) -> &mut [Target] {
        &mut self.targets[..usize::from(self.count)]
    }
}

/// Names a request in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(u16);

impl Tag {
    /// Its slot, below the port's depth.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a controller can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Takes whole operations ([`FlashOp::Read`] and so on), not only single phases.
    pub compound: bool,
    /// The most targets per request.
    pub targets: u8,
    /// Takes [`Flags::raw`].
    pub raw: bool,
    /// Takes [`Flags::slc`].
    pub slc: bool,
}

struct RequestSlot {
    request: Cell<Option<FlashRequest>>,
    outcomes: Cell<Option<Outcomes>>,
    waiter: WaitCell,
}

struct Lane {
    available: RefCell<VecDeque<Tag>>,
    worker: WaitCell,
    // The handler of a controller in hardware, and its token for the lane.
    hardware: Cell<Option<(HandlerId, u64)>>,
    // When the LUN's ready/busy bit says ready.
    ready_from: Cell<Instant>,
}

/// The port: a pool of request slots and a lane for each LUN.
pub struct FlashPort {
    exec: Exec,
    interrupt: Interrupt,
    slots: Box<[RequestSlot]>,
    free: RefCell<Vec<u16>>,
    free_waiters: WaitQueue,
    lanes: Box<[Lane]>,
    // Requests of all lanes, if one handler serves them all ([`FlashPort::collect`]).
    collected: RefCell<VecDeque<Tag>>,
    collector: Cell<Option<HandlerId>>,
    watcher: Cell<Option<HandlerId>>,
    faults: RefCell<VecDeque<(LunIndex, FlashError)>>,
    // Shared with the ports below ([`FlashPort::below`]).
    page_checker: Rc<OnceCell<PageChecker>>,
}

/// The most faults that a port keeps.
const FAULTS: usize = 16;

impl FlashPort {
    /// The executor of the device.
    pub fn exec(&self) -> &Exec {
        &self.exec
    }
    /// A port to `luns` LUNs with at most `depth` requests in flight. `interrupt` notifies both cores.
    pub fn new(exec: &Exec, luns: u32, depth: u16, interrupt: Interrupt) -> Rc<Self> {
        FlashPort::with_checker(exec, luns, depth, interrupt, Rc::default())
    }
    /// A port to the same LUNs below this one, with a flash scheduler between the two. Both ports use the
    /// same page check.
    pub fn below(&self, depth: u16, interrupt: Interrupt) -> Rc<Self> {
        let luns = self.lanes.len() as u32;
        FlashPort::with_checker(&self.exec, luns, depth, interrupt, Rc::clone(&self.page_checker))
    }
    fn with_checker(
        exec: &Exec,
        luns: u32,
        depth: u16,
        interrupt: Interrupt,
        page_checker: Rc<OnceCell<PageChecker>>,
    ) -> Rc<Self> {
        let slot = |_| RequestSlot {
            request: Cell::new(None),
            outcomes: Cell::new(None),
            waiter: WaitCell::default(),
        };
        let lane = |_| Lane {
            available: RefCell::new(VecDeque::with_capacity(usize::from(depth))),
            worker: WaitCell::default(),
            hardware: Cell::new(None),
            ready_from: Cell::default(),
        };
        Rc::new(FlashPort {
            exec: exec.clone(),
            interrupt,
            slots: (0..depth).map(slot).collect(),
            free: RefCell::new((0..depth).rev().collect()),
            free_waiters: WaitQueue::with_capacity(usize::from(depth)),
            lanes: (0..luns).map(lane).collect(),
            collected: RefCell::new(VecDeque::with_capacity(usize::from(depth))),
            collector: Cell::new(None),
            watcher: Cell::new(None),
            faults: RefCell::new(VecDeque::with_capacity(FAULTS)),
            page_checker,
        })
    }

    /// Sends a request if a slot is free. The result must be fetched with [`FlashPort::try_take`].
    #[inline]
    pub fn submit(&self, request: FlashRequest) -> Option<Tag> {
        let slot = self.free.borrow_mut().pop()?;
        let lane = &self.lanes[request.lun.index()];
        self.slots[usize::from(slot)].request.set(Some(request));
        if let Some(collector) = self.collector.get() {
            self.collected.borrow_mut().push_back(Tag(slot));
            self.exec.post(collector, COLLECTED);
            return Some(Tag(slot));
        }
        lane.available.borrow_mut().push_back(Tag(slot));
        match lane.hardware.get() {
            Some((handler, token)) => self.exec.post(handler, token),
            None => self.interrupt.raise(&self.exec, &lane.worker),
        }
        Some(Tag(slot))
    }
    /// The most requests in flight.
    pub fn depth(&self) -> usize {
        self.slots.len()
    }
    /// Requests that can be sent now.
    #[inline]
    pub fn room(&self) -> usize {
        self.free.borrow().len()
    }
    /// Takes a request's results if they are there, and frees its slot.
    #[inline]
    pub fn try_take(&self, tag: Tag) -> Option<Outcomes> {
        let outcomes = self.slots[usize::from(tag.0)].outcomes.take()?;
        self.free.borrow_mut().push(tag.0);
        self.free_waiters.wake_one(&self.exec);
        Some(outcomes)
    }
    /// Waits for a request's results.
    pub async fn finished(&self, tag: Tag) -> Outcomes {
        let slot = &self.slots[usize::from(tag.0)];
        slot.waiter.wait(&self.exec, || self.try_take(tag)).await
    }
    /// Sends a request and waits for its results. The caller must not drop the future before it
    /// completes: flash operations can't be cancelled.
    #[inline]
    pub async fn call(&self, request: FlashRequest) -> Outcomes {
        let tag = self.free_waiters.wait(&self.exec, || self.submit(request)).await;
        self.finished(tag).await
    }

    /// Requesting side, to be called once: `check` says whether a read that
    /// [expects](FlashRequest::expecting) an owner has read that owner's page into `pool`. It applies to
    /// this port and to those [below](FlashPort::below) it.
    pub fn check_pages(&self, pool: &SharedDram, check: CheckPage) {
        let first = self.page_checker.set(PageChecker::new(pool, check)).is_ok();
        assert!(first, "whose page it is, is told in one way");
    }
    /// Requesting side: connects `watcher`, which polls for results. The port posts [`WATCHED`] to it
    /// when there is a result and when a LUN becomes ready.
    pub fn watch(&self, watcher: HandlerId) {
        self.watcher.set(Some(watcher));
    }
    /// Requesting side: the LUN's bit in its channel controller's ready/busy register, at `at` (C24,
    /// C38). It says ready until the controller reports otherwise.
    #[inline]
    pub fn is_ready(&self, lun: LunIndex, at: Instant) -> bool {
        at >= self.lanes[lun.index()].ready_from.get()
    }
    /// Controller side: the LUN is busy until `until`.
    pub fn note_busy(&self, lun: LunIndex, until: Instant) {
        self.lanes[lun.index()].ready_from.set(until);
        if let Some(watcher) = self.watcher.get()
            && until < Instant::MAX
        {
            self.exec.schedule(until, watcher, WATCHED);
        }
    }
    /// Controller side: `handler` serves all lanes. The port posts [`COLLECTED`] to it for each request;
    /// it takes them with [`FlashPort::try_collect`].
    pub fn collect(&self, handler: HandlerId) {
        self.collector.set(Some(handler));
    }
    /// Controller side: the oldest request to any LUN.
    #[inline]
    pub fn try_collect(&self) -> Option<(Tag, FlashRequest)> {
        let tag = self.collected.borrow_mut().pop_front()?;
        Some((tag, self.request(tag)))
    }
    /// Controller side: hardware serves `lun`. The port posts `token` to its `handler` for each request.
    pub fn give_lane(&self, lun: LunIndex, handler: HandlerId, token: u64) {
        self.lanes[lun.index()].hardware.set(Some((handler, token)));
    }
    /// Controller side: takes a request to `lun`. If several wait, `choose` gets the phases of the oldest
    /// [`CHOICE`], oldest first, and returns the index of one.
    #[inline]
    pub fn try_next(
        &self,
        lun: LunIndex,
        choose: impl FnOnce(&mut dyn Iterator<Item = FlashOp>) -> usize,
    ) -> Option<(Tag, FlashRequest)> {
        let mut available = self.lanes[lun.index()].available.borrow_mut();
        let index = match available.len() {
            0 => return None,
            1 => 0,
            _ => choose(&mut available.iter().take(CHOICE).map(|&tag| self.request(tag).phase)),
        };
        let tag = available.remove(index)?;
        Some((tag, self.request(tag)))
    }
    /// Controller side: whether requests to `lun` wait and each of those that could be chosen is a page
    /// read ([`FlashRequest::is_page_read`]).
    #[inline]
    pub fn only_page_reads_wait(&self, lun: LunIndex) -> bool {
        let available = self.lanes[lun.index()].available.borrow();
        !available.is_empty() && available.iter().take(CHOICE).all(|&tag| self.request(tag).is_page_read())
    }
    /// Controller side: waits for a request to `lun` and takes the one that `choose` picks.
    pub async fn next(
        &self,
        lun: LunIndex,
        choose: impl Fn(&mut dyn Iterator<Item = FlashOp>) -> usize,
    ) -> (Tag, FlashRequest) {
        self.lanes[lun.index()].worker.wait(&self.exec, || self.try_next(lun, &choose)).await
    }
    /// Controller side: delivers a request's results. If the request expects an owner, the page is
    /// checked here, unless the port below has checked it already.
    #[inline]
    pub fn complete(&self, tag: Tag, mut outcomes: Outcomes) {
        let slot = &self.slots[usize::from(tag.0)];
        if let Some(request) = slot.request.take() {
            let may_be_busy = request.phase == FlashOp::Status;
            assert!(
                may_be_busy || outcomes[0].status != FlashStatus::Busy,
                "an operation ends when it is over"
            );
            if request.expects != PageOwner::NONE {
                self.look_at_page(&request, &mut outcomes[0]);
            }
        }
        slot.outcomes.set(Some(outcomes));
        self.interrupt.raise(&self.exec, &slot.waiter);
        if let Some(watcher) = self.watcher.get() {
            self.exec.schedule(self.exec.now() + self.interrupt.latency, watcher, WATCHED);
        }
    }
    fn look_at_page(&self, request: &FlashRequest, outcome: &mut Outcome) {
        let reads = matches!(request.phase, FlashOp::Read | FlashOp::Transfer);
        if !reads || outcome.page != PageCheck::NotAsked {
            return;
        }
        outcome.page = match self.page_checker.get() {
            Some(checker) if outcome.is_whole() => checker.look(request.expects, request.targets()[0].buffer),
            Some(_) => PageCheck::Other,
            None => PageCheck::NotAsked,
        };
    }
    /// Controller side: says why a target ended in [`FlashStatus::Error`].
    pub fn note_fault(&self, lun: LunIndex, error: FlashError) {
        let mut faults = self.faults.borrow_mut();
        if faults.len() == FAULTS {
            faults.pop_front();
        }
        faults.push_back((lun, error));
    }
    /// The latest errors of operations, oldest first.
    pub fn faults(&self) -> Vec<(LunIndex, FlashError)> {
        self.faults.borrow().iter().cloned().collect()
    }
    /// Takes the oldest error of `lun` that the port still has.
    pub fn take_fault(&self, lun: LunIndex) -> Option<FlashError> {
        let mut faults = self.faults.borrow_mut();
        let at = faults.iter().position(|(of, _)| *of == lun)?;
        faults.remove(at).map(|(_, error)| error)
    }
    /// Requests waiting for `lun`.
    pub fn queued(&self, lun: LunIndex) -> usize {
        self.lanes[lun.index()].available.borrow().len()
    }

    fn request(&self, tag: Tag) -> FlashRequest {
        self.slots[usize::from(tag.0)].request.get().expect("a queued tag has a request")
    }
}

/// The token of [`FlashPort::collect`].
pub const COLLECTED: u64 = u64::MAX - 2;
/// The token of [`FlashPort::watch`].
pub const WATCHED: u64 = u64::MAX - 3;

/// The most waiting requests that `choose` gets to choose from ([`FlashPort::try_next`]).
pub const CHOICE: usize = 16;
