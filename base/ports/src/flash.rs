//! I3: FTL or scheduler on one side, a channel controller on the other (C41, O8, S17).
//!
//! Each LUN has a ring pair (I4): requests go into the LUN's available ring, and results come back in the
//! request's slot. Any controller that serves this port works with any scheduler and FTL.

use crate::admission::Admission;
use crate::cores::{Interrupt, Notice, RingCounts};
use crate::dram::SharedDram;
use crate::page_check::PageChecker;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, Fifo, HandlerId, WaitCell, WaitQueue};
use aster_units::{Instant, LunIndex};
use core::cell::{Cell, OnceCell, RefCell};

mod together;

pub use crate::admission::DieGroups;
pub use crate::outcome::{FlashError, FlashStatus, MAX_TARGETS, Outcome, Outcomes};
pub use crate::page_check::{CheckPage, PageCheck, PageOwner};
pub use crate::request::{Feature, Flags, FlashOp, FlashRequest, Target};
pub use crate::source::FlashSource;
pub use together::{TOGETHER_MAX, Together};

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
    // Its phase, and whether it is a page read: a choice looks at no more, and requests are large.
    choice: Cell<(FlashOp, bool)>,
    // The next one of the requests that it belongs together with ([`FlashPort::submit_together`]).
    companion: Cell<Option<Tag>>,
    // Whether the results may be taken, which are looked for far more often than they are there.
    ended: Cell<bool>,
    outcomes: RefCell<Outcomes>,
    waiter: WaitCell,
}

impl RequestSlot {
    fn hold(&self, request: FlashRequest) {
        self.request.set(Some(request));
        self.choice.set((request.phase, request.is_page_read()));
    }
}

struct Lane {
    available: RefCell<Fifo<Tag>>,
    worker: WaitCell,
    // The handler of a controller in hardware, and its token for the lane.
    hardware: Cell<Option<(HandlerId, u64)>>,
    // When the LUN's ready/busy bit says ready.
    ready_from: Cell<Instant>,
}

// What [`RingCounts`] are made of. Results that nobody waits for raise an interrupt as well.
#[derive(Default)]
struct RingCells {
    entries: Cell<u64>,
    completed: Cell<u64>,
    // The least number of free slots so far.
    least_room: Cell<u16>,
}

// Programs whose pages software encodes, and the task that does.
struct Encoded {
    programs: RefCell<Fifo<Tag>>,
    taker: WaitCell,
}

// Results with flagged frames, and the task that passes these frames on.
struct Diverted {
    results: RefCell<Fifo<(Tag, Outcomes)>>,
    taker: WaitCell,
}

/// The port: a pool of request slots and a lane for each LUN.
pub struct FlashPort {
    exec: Exec,
    notice: Notice,
    counts: RingCells,
    slots: Box<[RequestSlot]>,
    free: RefCell<Vec<u16>>,
    free_waiters: WaitQueue,
    lanes: Box<[Lane]>,
    // Requests of all lanes, if one handler serves them all ([`FlashPort::collect`]).
    collected: RefCell<Fifo<Tag>>,
    collector: Cell<Option<HandlerId>>,
    watcher: Cell<Option<HandlerId>>,
    faults: RefCell<VecDeque<(LunIndex, FlashError)>>,
    // Results that wait for correction in software ([`FlashPort::divert_flagged`]).
    diverted: OnceCell<Diverted>,
    // Programs that wait for their code bits ([`FlashPort::divert_programs`]).
    encoded: OnceCell<Encoded>,
    // Which requests may begin, on a drive that slows itself down ([`FlashPort::admit_by_die`]).
    admission: OnceCell<Admission<Tag>>,
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
    /// A port to `luns` LUNs with at most `depth` requests in flight. `notice` says how its two sides
    /// notify each other.
    pub fn new(exec: &Exec, luns: u32, depth: u16, notice: impl Into<Notice>) -> Rc<Self> {
        FlashPort::with_checker(exec, luns, depth, notice.into(), Rc::default())
    }
    /// A port to the same LUNs below this one, with a flash scheduler between the two. Both ports use the
    /// same page check.
    pub fn below(&self, depth: u16, notice: impl Into<Notice>) -> Rc<Self> {
        let luns = self.lanes.len() as u32;
        FlashPort::with_checker(&self.exec, luns, depth, notice.into(), Rc::clone(&self.page_checker))
    }
    fn with_checker(
        exec: &Exec,
        luns: u32,
        depth: u16,
        notice: Notice,
        page_checker: Rc<OnceCell<PageChecker>>,
    ) -> Rc<Self> {
        let slot = |_| RequestSlot {
            request: Cell::new(None),
            choice: Cell::new((FlashOp::Reset, false)),
            companion: Cell::new(None),
            ended: Cell::new(false),
            outcomes: Default::default(),
            waiter: WaitCell::default(),
        };
        let lane = |_| Lane {
            available: RefCell::new(Fifo::with_capacity(usize::from(depth))),
            worker: WaitCell::default(),
            hardware: Cell::new(None),
            ready_from: Cell::default(),
        };
        Rc::new(FlashPort {
            exec: exec.clone(),
            notice,
            counts: RingCells { least_room: Cell::new(depth), ..RingCells::default() },
            slots: (0..depth).map(slot).collect(),
            free: RefCell::new((0..depth).rev().collect()),
            free_waiters: WaitQueue::with_capacity(usize::from(depth)),
            lanes: (0..luns).map(lane).collect(),
            collected: RefCell::new(Fifo::with_capacity(usize::from(depth))),
            collector: Cell::new(None),
            watcher: Cell::new(None),
            faults: RefCell::new(VecDeque::with_capacity(FAULTS)),
            diverted: OnceCell::new(),
            encoded: OnceCell::new(),
            admission: OnceCell::new(),
            page_checker,
        })
    }

    /// Sends a request if a slot is free. The result must be fetched with [`FlashPort::try_take`].
    #[inline]
    pub fn submit(&self, request: FlashRequest) -> Option<Tag> {
        let tag = Tag(self.take_slot()?);
        self.slots[tag.index()].hold(request);
        if let Some(encoded) = self.encoded.get()
            && request.phase == FlashOp::Program
        {
            encoded.programs.borrow_mut().push_back(tag);
            encoded.taker.wake(&self.exec);
            return Some(tag);
        }
        self.enter(tag, request.lun);
        Some(tag)
    }
    /// A request goes into its LUN's ring, unless it is held back.
    #[inline]
    fn enter(&self, tag: Tag, lun: LunIndex) {
        if let Some(admission) = self.admission.get()
            && !admission.enter(tag, lun, self.exec.now())
        {
            return;
        }
        self.begin(tag, lun);
    }
    #[inline]
    fn begin(&self, tag: Tag, lun: LunIndex) {
        if let Some(collector) = self.collector.get() {
            self.collected.borrow_mut().push_back(tag);
            return self.exec.post(collector, COLLECTED);
        }
        let lane = &self.lanes[lun.index()];
        lane.available.borrow_mut().push_back(tag);
        match (lane.hardware.get(), self.notice.on_submit) {
            (Some((handler, token)), _) => self.exec.post(handler, token),
            (None, Some(interrupt)) => interrupt.raise(&self.exec, &lane.worker),
            (None, None) => {}
        }
    }
    #[inline]
    fn take_slot(&self) -> Option<u16> {
        let mut free = self.free.borrow_mut();
        let slot = free.pop()?;
        self.counts.entries.set(self.counts.entries.get() + 1);
        self.counts.least_room.set(self.counts.least_room.get().min(free.len() as u16));
        Some(slot)
    }
    /// What the port has carried so far. Where a handler serves the requests, there are no interrupts to it.
    pub fn counts(&self) -> RingCounts {
        let RingCells { entries, completed, least_room } = &self.counts;
        let in_hardware = |lane: &Lane| lane.hardware.get().is_some();
        let served = self.collector.get().is_some() || self.lanes.iter().any(in_hardware);
        RingCounts {
            entries: entries.get(),
            highest: self.slots.len() as u16 - least_room.get(),
            submit_interrupts: if served || self.notice.on_submit.is_none() { 0 } else { entries.get() },
            complete_interrupts: completed.get(),
        }
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
        self.take_as(tag, |outcomes| *outcomes)
    }
    /// As [`FlashPort::try_take`], but no more than the first target's result.
    #[inline]
    pub fn try_take_first(&self, tag: Tag) -> Option<Outcome> {
        self.take_as(tag, |outcomes| outcomes[0])
    }
    #[inline]
    fn take_as<T>(&self, tag: Tag, of: impl FnOnce(&Outcomes) -> T) -> Option<T> {
        if self.slots[usize::from(tag.0)].ended.get() { Some(self.take_ended(tag, of)) } else { None }
    }
    fn take_ended<T>(&self, tag: Tag, of: impl FnOnce(&Outcomes) -> T) -> T {
        let slot = &self.slots[usize::from(tag.0)];
        slot.ended.set(false);
        let taken = of(&slot.outcomes.borrow());
        self.free.borrow_mut().push(tag.0);
        self.free_waiters.wake_one(&self.exec);
        taken
    }
    /// Waits for a request's results.
    #[inline]
    pub fn finished(&self, tag: Tag) -> impl Future<Output = Outcomes> {
        self.finished_as(tag, |outcomes| *outcomes)
    }
    /// Waits for a request's results and returns what `of` makes of them.
    #[inline]
    pub fn finished_as<T>(&self, tag: Tag, of: impl Fn(&Outcomes) -> T) -> impl Future<Output = T> {
        let slot = &self.slots[usize::from(tag.0)];
        slot.waiter.wait(&self.exec, move || self.take_as(tag, &of))
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
    #[inline]
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
    /// [`CHOICE`], oldest first, and returns the index of one. Requests that belong together with others
    /// ([`FlashPort::submit_together`]) keep their order among themselves.
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
            _ => {
                let chosen = choose(
                    &mut available.iter().take(CHOICE).map(|&tag| self.slots[tag.index()].choice.get().0),
                );
                self.in_order_of_groups(&available, chosen)
            }
        };
        let tag = available.remove(index)?;
        Some((tag, self.request(tag)))
    }
    /// Controller side: whether requests to `lun` wait and each of those that could be chosen is a page
    /// read ([`FlashRequest::is_page_read`]) that belongs together with no other request.
    #[inline]
    pub fn only_page_reads_wait(&self, lun: LunIndex) -> bool {
        let available = self.lanes[lun.index()].available.borrow();
        let alone = |tag: Tag| self.slots[tag.index()].choice.get().1 && !self.is_together(tag);
        !available.is_empty() && available.iter().take(CHOICE).all(|&tag| alone(tag))
    }
    /// Controller side: takes the oldest page read to `lun` ([`FlashRequest::is_page_read`]) that `may` go
    /// before the requests which came earlier. It isn't one that belongs together with others.
    pub fn try_next_page_read(
        &self,
        lun: LunIndex,
        may: impl Fn(&FlashRequest) -> bool,
    ) -> Option<(Tag, FlashRequest)> {
        let mut available = self.lanes[lun.index()].available.borrow_mut();
        let goes = |&tag: &Tag| {
            self.slots[tag.index()].choice.get().1 && !self.is_together(tag) && may(&self.request(tag))
        };
        let index = available.iter().take(CHOICE).position(goes)?;
        let tag = available.remove(index)?;
        Some((tag, self.request(tag)))
    }
    /// Controller side: waits until `take` gives something, which is asked at once and for each request to
    /// `lun`, or until the clock shows `until`.
    pub async fn next_until<T>(
        &self,
        lun: LunIndex,
        until: Instant,
        mut take: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let mut armed = false;
        let ready = || match take() {
            Some(taken) => Some(Some(taken)),
            None if self.exec.now() >= until => Some(None),
            None => {
                if !armed {
                    armed = true;
                    self.exec.wake_at(until, self.exec.current());
                }
                None
            }
        };
        self.lanes[lun.index()].worker.wait(&self.exec, ready).await
    }
    /// Controller side: waits for a request to `lun` and takes the one that `choose` picks.
    #[inline]
    pub fn next(
        &self,
        lun: LunIndex,
        choose: impl Fn(&mut dyn Iterator<Item = FlashOp>) -> usize,
    ) -> impl Future<Output = (Tag, FlashRequest)> {
        self.lanes[lun.index()].worker.wait(&self.exec, move || self.try_next(lun, &choose))
    }
    /// Requesting side, to be called once: programs no longer go to their LUNs, but to
    /// [`FlashPort::next_program`], until [`FlashPort::encoded`] is called for them. Who takes them polls for
    /// them, and keeps their order.
    pub fn divert_programs(&self) {
        let programs = RefCell::new(Fifo::with_capacity(self.depth()));
        let first = self.encoded.set(Encoded { programs, taker: WaitCell::default() }).is_ok();
        assert!(first, "one part encodes");
    }
    /// Requesting side: waits for a program whose pages have no code bits yet.
    pub async fn next_program(&self) -> (Tag, FlashRequest) {
        let encoded = self.encoded.get().expect("programs are diverted");
        let next = || encoded.programs.borrow_mut().pop_front();
        let tag = encoded.taker.wait(&self.exec, next).await;
        (tag, self.request(tag))
    }
    /// Requesting side: a program of [`FlashPort::next_program`] has its code bits.
    pub fn encoded(&self, tag: Tag) {
        self.enter(tag, self.request(tag).lun);
    }
    /// To be called once, before the first request: counts the requests of each die, so that
    /// [`FlashPort::limit_dies`] can hold some back.
    pub fn admit_by_die(&self, groups: DieGroups) {
        let first = self.admission.set(Admission::new(groups, self.depth())).is_ok();
        assert!(first, "one part says which requests may begin");
    }
    /// From now on at most `dies` of each controller work at a time, at least one; `None`: all that have
    /// requests. What has begun goes on. Asserts [`FlashPort::admit_by_die`].
    pub fn limit_dies(&self, dies: Option<u16>) {
        let admission = self.admission.get().expect("requests are counted by die");
        admission.set_limit(dies, self.exec.now(), |tag| self.begin(tag, self.request(tag).lun));
    }
    /// Requesting side, to be called once: results with flagged frames no longer go to who asked, but to
    /// [`FlashPort::next_flagged`], until [`FlashPort::deliver`] is called for them.
    pub fn divert_flagged(&self) {
        let results = RefCell::new(Fifo::with_capacity(self.depth()));
        let first = self.diverted.set(Diverted { results, taker: WaitCell::default() }).is_ok();
        assert!(first, "one part corrects");
    }
    /// Requesting side: waits for a result with flagged frames.
    pub async fn next_flagged(&self) -> (Tag, FlashRequest, Outcomes) {
        let diverted = self.diverted.get().expect("flagged results are diverted");
        let next = || diverted.results.borrow_mut().pop_front();
        let (tag, outcomes) = diverted.taker.wait(&self.exec, next).await;
        (tag, self.request(tag), outcomes)
    }
    /// Controller side: delivers a request's results. If the request expects an owner, the page is
    /// checked here, unless the port below has checked it already.
    #[inline]
    pub fn complete(&self, tag: Tag, outcomes: Outcomes) {
        self.note(tag, &outcomes);
        self.complete_noted(tag);
    }
    /// Controller side: a request's results, which [`FlashPort::complete_noted`] delivers.
    #[inline]
    pub fn note(&self, tag: Tag, outcomes: &Outcomes) {
        *self.slots[usize::from(tag.0)].outcomes.borrow_mut() = *outcomes;
    }
    /// Controller side: as [`FlashPort::complete`], with the results that were noted last.
    #[inline]
    pub fn complete_noted(&self, tag: Tag) {
        if let Some(diverted) = self.diverted.get() {
            let outcomes = *self.slots[usize::from(tag.0)].outcomes.borrow();
            if outcomes.iter().any(|outcome| outcome.flagged) {
                diverted.results.borrow_mut().push_back((tag, outcomes));
                return self.notice.on_complete.raise(&self.exec, &diverted.taker);
            }
        }
        self.deliver_noted(tag, self.notice.on_complete);
    }
    /// Delivers a request's results to who asked, whom `interrupt` notifies.
    #[inline]
    pub fn deliver(&self, tag: Tag, outcomes: Outcomes, interrupt: Interrupt) {
        self.note(tag, &outcomes);
        self.deliver_noted(tag, interrupt);
    }
    #[inline]
    fn deliver_noted(&self, tag: Tag, interrupt: Interrupt) {
        let slot = &self.slots[usize::from(tag.0)];
        slot.companion.set(None);
        let mut lun = None;
        if let Some(request) = slot.request.take() {
            lun = Some(request.lun);
            let may_be_busy = request.phase == FlashOp::Status;
            let first = &mut slot.outcomes.borrow_mut()[0];
            assert!(may_be_busy || first.status != FlashStatus::Busy, "an operation ends when it is over");
            if request.expects != PageOwner::NONE {
                self.look_at_page(&request, first);
            }
        }
        slot.ended.set(true);
        self.counts.completed.set(self.counts.completed.get() + 1);
        interrupt.raise(&self.exec, &slot.waiter);
        if let Some(watcher) = self.watcher.get() {
            self.exec.schedule(self.exec.now() + interrupt.latency, watcher, WATCHED);
        }
        if let (Some(admission), Some(lun)) = (self.admission.get(), lun) {
            admission.leave(lun, self.exec.now(), |tag| self.begin(tag, self.request(tag).lun));
        }
    }
    #[inline]
    fn look_at_page(&self, request: &FlashRequest, outcome: &mut Outcome) {
        let reads = matches!(request.phase, FlashOp::Read | FlashOp::Transfer);
        // A page with flagged frames is checked once it has been corrected.
        if !reads || outcome.page != PageCheck::NotAsked || outcome.flagged {
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

    #[inline]
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
