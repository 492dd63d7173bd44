//! I2: flash operations on one side, a channel's engine (timed model or RTL) on the other.
//!
//! Each LUN of the channel has one slot that holds its transaction while it waits for and owns the channel.
//! The engine takes slots in the order they were issued; a transaction runs to its end without interruption
//! (B3).

use crate::order::Waiting;
use crate::package::{Interface, ProtocolError};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, Fifo, HandlerId, WaitCell};
use aster_txn::{Txn, WordError};
use aster_units::{ChannelId, Duration, Instant, SECTORS_PER_PAGE_MAX};
use core::cell::{Cell, RefCell, RefMut};
use core::fmt;

/// Why a transaction failed. The channel stays usable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxnError {
    /// The word stream is illegal.
    Word(WordError),
    /// The transaction has more words or descriptors than fit.
    TooLong,
    /// The stream begins without BEGIN, ends without END, or continues after END.
    Unframed,
    /// A burst names a descriptor that isn't there or points the other way.
    Descriptor,
    /// A burst is longer than page and spare.
    Length {
        /// Bytes asked for.
        bytes: u32,
    },
    /// A burst through the stages doesn't match the page layout.
    Frame,
    /// Chip Control names a chip that isn't there.
    Chip,
    /// The package objected.
    Protocol(ProtocolError),
    /// The channel's hardware broke its own rules (RTL only).
    Hardware {
        /// Which rule.
        what: &'static str,
    },
}

impl From<ProtocolError> for TxnError {
    #[inline]
    fn from(error: ProtocolError) -> Self {
        TxnError::Protocol(error)
    }
}

impl fmt::Display for TxnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TxnError::Word(e) => e.fmt(f),
            TxnError::TooLong => f.write_str("the transaction is too long"),
            TxnError::Unframed => f.write_str("the transaction is not framed by BEGIN and END"),
            TxnError::Descriptor => f.write_str("a burst has no descriptor, or one of the other direction"),
            TxnError::Length { bytes } => write!(f, "a burst of {bytes} bytes is longer than page and spare"),
            TxnError::Frame => f.write_str("a burst through the stages does not match the page layout"),
            TxnError::Chip => f.write_str("Chip Control names a chip that is not there"),
            TxnError::Protocol(e) => e.fmt(f),
            TxnError::Hardware { what } => write!(f, "the channel's hardware: {what}"),
        }
    }
}

/// A failed transaction by name and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxnFault {
    /// The transaction's name.
    pub name: &'static str,
    /// The bus cycle at which it went wrong.
    pub at: Instant,
    /// What went wrong.
    pub error: TxnError,
}

impl fmt::Display for TxnFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction '{}' at {}: {}", self.name, self.at, self.error)
    }
}

/// For each sector of a page, its 512-byte parts, one bit each.
pub type SectorParts = [u8; SECTORS_PER_PAGE_MAX];

/// What the stream stages found in the sectors of a page-path read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameReport {
    /// Sectors that could not be corrected, one bit each.
    pub failed_sectors: u16,
    /// The 512-byte parts of each failed sector that could not be corrected, one bit each.
    pub failed_parts: SectorParts,
    /// The OOB record could not be corrected.
    pub oob_failed: bool,
    /// The page was erased: data and OOB read as FFh.
    pub erased: bool,
    /// Corrected bits in the worst chunk.
    pub worst_chunk: u8,
    /// Corrected bits in all.
    pub corrected: u16,
    /// Frames with wrong bits that software must correct: the stages only detected them. The buffer's code
    /// area says which they are ([`CodeArea`](crate::codes::CodeArea)).
    pub flagged: bool,
}

impl FrameReport {
    /// Records that a chunk in these parts of the sector could not be corrected.
    pub fn fail(&mut self, sector: u8, parts: u8) {
        self.failed_sectors |= 1 << sector;
        self.failed_parts[usize::from(sector)] |= parts;
    }
}

/// A finished transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxnResult {
    /// When its last bus cycle was over and the channel went on to the next.
    pub over: Instant,
    /// When all its effects were complete: bus cycles done, data through the stages and in memory.
    pub finished: Instant,
    /// Mailbox bytes, first byte lowest.
    pub mailbox: u64,
    /// What the stages found.
    pub frame: FrameReport,
}

struct TransactionSlot {
    txn: RefCell<Box<Txn>>,
    issued: Cell<Instant>,
    linger: Cell<Duration>,
    result: Cell<Option<Result<TxnResult, Box<TxnFault>>>>,
    waiter: WaitCell,
    // The handler of the hardware that issues in this slot, and its token for the slot.
    issuer: Cell<Option<(HandlerId, u64)>>,
    passed_over: Cell<u32>,
}

/// Chooses which of several waiting transactions owns the channel next, and returns its index. The slots are
/// in the order in which they were issued, and at least one.
pub type Chooser = Box<dyn FnMut(&ChannelPort, &[u16]) -> usize>;

/// One channel's port. Firmware holds it to issue, the engine to execute.
pub struct ChannelPort {
    exec: Exec,
    id: ChannelId,
    slots: Box<[TransactionSlot]>,
    // In the order of issue; few at a time, so that one in the middle is taken out without much ado.
    pending: RefCell<Fifo<u16>>,
    chooser: RefCell<Option<Chooser>>,
    // Those that the chooser chooses among.
    due: RefCell<Vec<u16>>,
    has_chooser: Cell<bool>,
    engine: Cell<Option<HandlerId>>,
    // Whether to post the engine when a transaction may start at once. A post clears it.
    listens: Cell<bool>,
    hardware: Cell<bool>,
    interfaces: Box<[Cell<Interface>]>,
    ready_from: Box<[Cell<Instant>]>,
    // By slot: the LUN is not asked any more.
    given_up: Box<[Cell<bool>]>,
}

/// The token that the engine's handler gets when a transaction was issued.
pub const ENGINE_KICK: u64 = u64::MAX;

impl ChannelPort {
    /// A port to `ways` chip enables with one slot for each of `luns` LUNs.
    pub fn new(exec: &Exec, id: ChannelId, ways: usize, luns: usize) -> Rc<Self> {
        let slot = |_| TransactionSlot {
            txn: RefCell::default(),
            issued: Cell::default(),
            linger: Cell::default(),
            result: Cell::new(None),
            waiter: WaitCell::default(),
            issuer: Cell::new(None),
            passed_over: Cell::default(),
        };
        Rc::new(ChannelPort {
            exec: exec.clone(),
            id,
            slots: (0..luns).map(slot).collect(),
            pending: RefCell::new(Fifo::with_capacity(luns)),
            chooser: RefCell::new(None),
            due: RefCell::new(Vec::with_capacity(luns)),
            has_chooser: Cell::new(false),
            engine: Cell::new(None),
            listens: Cell::new(true),
            hardware: Cell::new(false),
            interfaces: (0..ways).map(|_| Cell::new(Interface::POWER_ON)).collect(),
            ready_from: (0..ways).map(|_| Cell::default()).collect(),
            given_up: (0..luns).map(|_| Cell::default()).collect(),
        })
    }

    /// The LUN of this slot doesn't answer: whoever drives it gives it up for good.
    pub fn give_up(&self, slot: usize) {
        self.given_up[slot].set(true);
    }
    /// Whether the LUN of this slot has been given up.
    #[inline]
    pub fn is_given_up(&self, slot: usize) -> bool {
        self.given_up[slot].get()
    }

    /// The channel.
    pub fn id(&self) -> ChannelId {
        self.id
    }
    /// The executor of the device.
    pub fn exec(&self) -> &Exec {
        &self.exec
    }
    /// Slots: one per LUN.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
    /// Connects the engine. The port posts [`ENGINE_KICK`] to it when a transaction is issued.
    pub fn attach(&self, engine: HandlerId) {
        self.engine.set(Some(engine));
    }

    /// Lets `chooser` choose which waiting transaction is next, instead of the one issued first.
    pub fn set_chooser(&self, chooser: Chooser) {
        *self.chooser.borrow_mut() = Some(chooser);
        self.has_chooser.set(true);
    }
    /// Gives `slot` to hardware, which issues in it from now on. The port posts `token` to `handler` when
    /// a result can be taken. The hardware sees when the bus is free but not when the stages have
    /// finished: what they found is valid from [`TxnResult::finished`] on.
    pub fn give_slot(&self, slot: usize, handler: HandlerId, token: u64) {
        self.slots[slot].issuer.set(Some((handler, token)));
        self.hardware.set(true);
    }
    /// Engine side: whether hardware issues here. Hardware reacts to the end of a transaction before the
    /// next one is chosen.
    #[inline]
    pub fn is_driven_by_hardware(&self) -> bool {
        self.hardware.get()
    }

    /// The data interface that the engine drives towards a way. Like the package, it is in SDR after
    /// power-on (B12).
    #[inline]
    pub fn interface(&self, way: usize) -> Interface {
        self.interfaces[way].get()
    }
    /// Sets the data interface towards a way. The firmware does so right after SET FEATURES has changed
    /// the package's.
    pub fn set_interface(&self, way: usize, interface: Interface) {
        self.interfaces[way].set(interface);
    }

    /// When the way's R/B# pin goes high, as of the last transaction to it.
    #[inline]
    pub fn ready_from(&self, way: usize) -> Instant {
        self.ready_from[way].get()
    }
    /// Engine side: the way's R/B# pin is high from `at` on.
    #[inline]
    pub fn set_ready_from(&self, way: usize, at: Instant) {
        self.ready_from[way].set(at);
    }
    /// The slot's transaction, for building the next one in place. The slot must not be in flight.
    #[inline]
    pub fn txn(&self, slot: usize) -> RefMut<'_, Box<Txn>> {
        self.slots[slot].txn.borrow_mut()
    }

    /// Issues the slot's transaction as of `at` (the issuing core's local time). The waiting task is
    /// woken `linger` after the transaction's end, or at once if the transaction failed. An operation
    /// that knows how long the array takes therefore needs no timer.
    #[inline]
    pub fn issue(&self, slot: usize, at: Instant, linger: Duration) {
        let s = &self.slots[slot];
        s.issued.set(at);
        s.linger.set(linger);
        s.result.set(None);
        let mut pending = self.pending.borrow_mut();
        // A core whose local time is ahead issues for a later time. Other transactions may come before
        // that one.
        let earlier = |other: &u16| self.slots[usize::from(*other)].issued.get() <= at;
        if pending.back().is_none_or(earlier) {
            pending.push_back(slot as u16);
        } else {
            pending.insert_behind(slot as u16, earlier);
        }
        drop(pending);
        let engine = self.engine.get().expect("an engine is attached when the device is built");
        if at > self.exec.now() {
            self.exec.schedule(at, engine, ENGINE_KICK);
        } else if self.listens.replace(false) {
            self.exec.post(engine, ENGINE_KICK);
        }
    }

    /// Waits for the slot's transaction.
    #[inline]
    pub fn finished(&self, slot: usize) -> impl Future<Output = Result<TxnResult, Box<TxnFault>>> {
        let s = &self.slots[slot];
        s.waiter.wait(&self.exec, || s.result.take())
    }

    /// Takes the slot's result. For the hardware that was given the slot ([`ChannelPort::give_slot`]).
    #[inline]
    pub fn take_result(&self, slot: usize) -> Option<Result<TxnResult, Box<TxnFault>>> {
        self.slots[slot].result.take()
    }

    /// Engine side: whether the next transaction is chosen while the one before it still owns the
    /// channel. A controller whose queue holds both does this. Without a chooser, transactions go in the
    /// order of issue, so that the time of the choice doesn't matter.
    #[inline]
    pub fn chooses_ahead(&self) -> bool {
        self.has_chooser.get() && !self.is_driven_by_hardware()
    }

    /// Engine side: whether to post [`ENGINE_KICK`] when a transaction may start at once. One post is enough
    /// for any number of them, and a busy engine needs none. A transaction issued for later always schedules
    /// an event for the engine.
    #[inline]
    pub fn listen(&self, listens: bool) {
        self.listens.set(listens);
    }
    /// Engine side: the next transaction issued by `now`: the one that is chosen, or the one issued first.
    #[inline]
    pub fn next_pending(&self, now: Instant) -> Option<usize> {
        if self.has_chooser.get() {
            return self.chosen(now);
        }
        let mut pending = self.pending.borrow_mut();
        let first = *pending.front()?;
        if self.slots[usize::from(first)].issued.get() > now {
            return None;
        }
        pending.pop_front();
        Some(usize::from(first))
    }
    fn chosen(&self, now: Instant) -> Option<usize> {
        let (mut chooser, mut pending) = (self.chooser.borrow_mut(), self.pending.borrow_mut());
        let mut due = self.due.borrow_mut();
        let is_due = |slot: &u16| self.slots[usize::from(*slot)].issued.get() <= now;
        due.clear();
        due.extend(pending.iter().copied().take_while(is_due));
        let passed_over = |slot: u16| &self.slots[usize::from(slot)].passed_over;
        let index = match &due[..] {
            [] => return None,
            some => chooser.as_mut()?(self, some),
        };
        due[..index].iter().for_each(|&slot| passed_over(slot).set(passed_over(slot).get() + 1));
        let slot = pending.remove(index)?;
        passed_over(slot).set(0);
        Some(usize::from(slot))
    }
    /// The transaction that waits in a slot, as a chooser sees it.
    pub fn waiting(&self, slot: u16) -> Waiting<'_> {
        let s = &self.slots[usize::from(slot)];
        Waiting { issued: s.issued.get(), passed_over: s.passed_over.get(), txn: s.txn.borrow() }
    }
    /// Engine side: the slot's transaction, to read.
    #[inline]
    pub fn in_flight(&self, slot: usize) -> core::cell::Ref<'_, Box<Txn>> {
        self.slots[slot].txn.borrow()
    }
    /// Engine side: delivers a result, which the issuer sees at `visible`, or later by the linger that it
    /// asked for.
    #[inline]
    pub fn complete(&self, slot: usize, result: Result<TxnResult, Box<TxnFault>>, visible: Instant) {
        let s = &self.slots[slot];
        let seen = if s.issuer.get().is_some() { self.exec.now() } else { visible };
        let visible = if result.is_ok() { seen + s.linger.get() } else { visible };
        s.result.set(Some(result));
        let later = visible > self.exec.now();
        match s.issuer.get() {
            Some((handler, token)) if later => self.exec.schedule(visible, handler, token),
            Some((handler, token)) => self.exec.post(handler, token),
            None if later => s.waiter.wake_at(&self.exec, visible),
            None => s.waiter.wake(&self.exec),
        }
    }
}

/// The view that a waveform viewer or a checker has of a channel: the activity on its pins, as it
/// happens.
pub trait BusTap {
    /// A transaction begins.
    fn transaction(&mut self, start: Instant, end: Instant, name: &'static str);
    /// The chip enables of `chips` are asserted, all others are not.
    fn chips(&mut self, at: Instant, chips: u32);
    /// A latch cycle from `from` to its edge at `edge`.
    fn latch(&mut self, from: Instant, edge: Instant, latch: aster_txn::Latch);
    /// A burst of bytes; `out` when the package drives them.
    fn burst(&mut self, timing: crate::package::BurstTiming, out: bool, bytes: &[u8]);
    /// A way's R/B# pin changes at `at`.
    fn ready(&mut self, at: Instant, way: usize, ready: bool);
}
