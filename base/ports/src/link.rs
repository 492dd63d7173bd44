//! The level of BARs and DMA below I6: what a front end asks of the host link, and what a run mode carries
//! out.
//!
//! The front end pushes operations; the board's link model takes them, charges the time they need and puts
//! them into the outbox at the simulated time at which they happen. The run mode empties the outbox (a memory
//! copy in the guest, R2T over TCP) and answers with [`LinkPort::done`], which the front end sees.

use crate::dram::Dram;
use crate::host::DmaDirection;
pub use crate::local::{Local, TAG_BYTES};
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, Fifo, HandlerId};
use aster_units::{Content, SECTOR_BYTES};
use core::cell::{Cell, Ref, RefCell};

/// The most segments of host memory in one operation: a 16 KiB page at any offset touches five 4 KiB host
/// pages.
pub const MAX_SEGMENTS: usize = 5;

/// A run of host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Host (bus) address.
    pub address: u64,
    /// Bytes.
    pub length: u32,
}

/// An operation on the host link. Operations of one direction happen in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkOp {
    /// Move bytes.
    Dma {
        /// Which way.
        direction: DmaDirection,
        /// The device's end.
        local: Local,
        /// The host's end.
        segments: [Segment; MAX_SEGMENTS],
        /// How many segments count.
        count: u8,
        /// The number by which the front end identifies it.
        token: u32,
        /// The port's epoch when the front end asked for the DMA ([`LinkPort::epoch`]). If the epoch has
        /// advanced since, the DMA isn't carried out.
        epoch: u32,
    },
    /// Send an MSI or MSI-X message. It follows the completion entry that it announces.
    Interrupt {
        /// The vector.
        vector: u16,
    },
}

impl LinkOp {
    /// Bytes on the link, without headers. An interrupt is a four-byte memory write.
    #[inline]
    pub fn bytes(&self) -> u32 {
        match self {
            LinkOp::Dma { segments: [first, ..], count: 1, .. } => first.length,
            LinkOp::Dma { segments, count, .. } => {
                segments[..usize::from(*count)].iter().map(|s| s.length).sum()
            }
            LinkOp::Interrupt { .. } => 4,
        }
    }
    /// Which way the bytes go.
    #[inline]
    pub fn direction(&self) -> DmaDirection {
        match self {
            LinkOp::Dma { direction, .. } => *direction,
            LinkOp::Interrupt { .. } => DmaDirection::ToHost,
        }
    }
}

/// A host address that can't be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadAddress(pub u64);

/// The host's memory, as the device's DMA accesses it.
pub trait HostMemory {
    /// Reads bytes.
    ///
    /// # Errors
    /// When part of the range is not memory.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress>;
    /// Writes bytes.
    ///
    /// # Errors
    /// When part of the range is not memory.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress>;
    /// Reads the tags of whole 4 KiB blocks (eight bytes each). Memory that keeps bytes has no tags, and
    /// refuses.
    ///
    /// # Errors
    /// When the memory keeps bytes.
    fn read_tags(&self, address: u64, _into: &mut [u8]) -> Result<(), BadAddress> {
        Err(BadAddress(address))
    }
    /// Writes the tags of whole 4 KiB blocks (eight bytes each).
    ///
    /// # Errors
    /// When the memory keeps bytes.
    fn write_tags(&mut self, address: u64, _from: &[u8]) -> Result<(), BadAddress> {
        Err(BadAddress(address))
    }
}

/// Carries out the DMA of `op` between `memory` and `dram`.
///
/// # Errors
/// If host memory can't be reached. Bytes before the bad address may have been moved.
#[inline]
pub fn carry_out(op: &LinkOp, memory: &mut dyn HostMemory, dram: &Dram) -> Result<(), BadAddress> {
    let LinkOp::Dma { direction, local, segments, count, .. } = op else { return Ok(()) };
    let mut dram = dram.borrow_mut();
    let (mut at, scale) = match *local {
        Local::Buffer { buffer, offset } => (offset as usize, dram.content_of(buffer)),
        Local::Sram { offset } => (offset as usize, Content::Full),
        Local::Tag { offset } => (offset as usize / TAG_BYTES * SECTOR_BYTES, Content::Fingerprint),
    };
    for segment in &segments[..usize::from(*count)] {
        let length = segment.length as usize;
        if scale == Content::Fingerprint
            && !(at.is_multiple_of(SECTOR_BYTES)
                && length.is_multiple_of(SECTOR_BYTES)
                && segment.address.is_multiple_of(SECTOR_BYTES as u64))
        {
            return Err(BadAddress(segment.address));
        }
        let ratio = SECTOR_BYTES / scale.sector_len();
        let (start, end) = (at / ratio, (at + length) / ratio);
        let bytes = match *local {
            Local::Buffer { buffer, .. } => &mut dram.page_mut(buffer)[start..end],
            Local::Sram { .. } | Local::Tag { .. } => &mut dram.sram_mut()[start..end],
        };
        match (direction, scale) {
            (DmaDirection::ToHost, Content::Full) => memory.write(segment.address, bytes)?,
            (DmaDirection::FromHost, Content::Full) => memory.read(segment.address, bytes)?,
            (DmaDirection::ToHost, Content::Fingerprint) => memory.write_tags(segment.address, bytes)?,
            (DmaDirection::FromHost, Content::Fingerprint) => memory.read_tags(segment.address, bytes)?,
        }
        at += length;
    }
    Ok(())
}

type Answer = (u32, u32, Result<(), BadAddress>);

/// Names an operation that the port holds, from [`LinkPort::push`] to [`LinkPort::next_out`]. An
/// operation is two cache lines long, so it stays in place and only this ticket is passed on.
#[derive(PartialEq, Eq, Debug)]
pub struct LinkTicket(u32);

/// The operations in flight, one place each. The place freed last is used first, so that few places are
/// ever touched.
struct Places {
    ops: Vec<LinkOp>,
    free: Vec<u32>,
    /// Those that the link model hasn't taken yet, in their order.
    requested: Fifo<LinkTicket>,
    /// The most DMA operations, and the most interrupts.
    bound: usize,
    /// Places that interrupts occupy.
    interrupts: usize,
    /// Vectors whose interrupt found no place, each once. Each one is sent when another interrupt has
    /// left.
    late: Vec<u16>,
}

impl Places {
    fn new(bound: usize) -> Self {
        let room = 2 * bound;
        assert!(u32::try_from(room).is_ok(), "a link port of {bound} operations");
        let (ops, free) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let requested = Fifo::with_capacity(room);
        Places { ops, free, requested, bound, interrupts: 0, late: Vec::new() }
    }
    /// Puts an operation into a place; `None` for an interrupt that has to wait for one.
    #[inline(always)]
    fn put(&mut self, op: LinkOp) -> Option<LinkTicket> {
        if let LinkOp::Interrupt { vector } = op {
            if self.interrupts >= self.bound {
                self.put_late(vector);
                return None;
            }
            self.interrupts += 1;
        }
        Some(match self.free.pop() {
            Some(place) => {
                self.ops[place as usize] = op;
                LinkTicket(place)
            }
            None => self.add(op),
        })
    }
    /// Adds a place: more operations are in flight than ever before.
    #[cold]
    fn add(&mut self, op: LinkOp) -> LinkTicket {
        let place = self.ops.len();
        self.ops.push(op);
        let (dma, bound) = (self.ops.len() - self.interrupts, self.bound);
        assert!(dma <= bound, "a front end has more DMA on the link than the {bound} that it asked for");
        LinkTicket(place as u32)
    }
    #[cold]
    fn put_late(&mut self, vector: u16) {
        if !self.late.contains(&vector) {
            self.late.push(vector);
        }
    }
    /// Frees the ticket's place. The operation there stays valid until the next one is put.
    #[inline]
    fn take(&mut self, ticket: LinkTicket) -> &LinkOp {
        self.free.push(ticket.0);
        &self.ops[ticket.0 as usize]
    }
    /// Notes that an interrupt has left. Returns the vector that has waited longest, to be sent next.
    fn interrupt_left(&mut self) -> Option<u16> {
        self.interrupts -= 1;
        (!self.late.is_empty()).then(|| self.late.remove(0))
    }
}

/// The token that the link model's handler gets when operations were pushed.
pub const LINK_KICK: u64 = u64::MAX;

/// The port between front end, link model and run mode.
pub struct LinkPort {
    exec: Exec,
    places: RefCell<Places>,
    outbox: RefCell<Fifo<LinkTicket>>,
    answers: RefCell<Fifo<Answer>>,
    link: Cell<Option<HandlerId>>,
    front: Cell<Option<HandlerId>>,
    epoch: Cell<u32>,
}

/// The token that the front end's handler gets when a DMA was answered.
pub const FRONT_ANSWER: u64 = u64::MAX - 1;

impl LinkPort {
    /// A port with room for `bound` DMA and as many interrupts ([`LinkPort::push`]).
    pub fn new(exec: &Exec, bound: usize) -> Rc<Self> {
        Rc::new(LinkPort {
            exec: exec.clone(),
            places: RefCell::new(Places::new(bound)),
            outbox: RefCell::new(Fifo::with_capacity(2 * bound)),
            answers: RefCell::new(Fifo::with_capacity(bound)),
            link: Cell::new(None),
            front: Cell::new(None),
            epoch: Cell::new(0),
        })
    }
    /// Connects the link model. The port posts [`LINK_KICK`] to it when operations were pushed.
    pub fn attach_link(&self, link: HandlerId) {
        self.link.set(Some(link));
    }
    /// Connects the front end. The port posts [`FRONT_ANSWER`] to it when operations were answered.
    pub fn attach_front(&self, front: HandlerId) {
        self.front.set(Some(front));
    }

    /// Front end: asks for an operation.
    ///
    /// More DMA operations than the port's bound are a bug of the front end; the port asserts this where
    /// it would need more memory. An interrupt finds no place if the run mode has left as many untaken as
    /// there may be. It is then sent once when another has left, however often the front end asks for it
    /// in the meantime, like a message that is pending behind a mask.
    ///
    /// It is part of whoever calls it, so that an operation is put together in its place, not copied there.
    #[inline(always)]
    pub fn push(&self, op: LinkOp) {
        let mut places = self.places.borrow_mut();
        let Some(ticket) = places.put(op) else { return };
        places.requested.push_back(ticket);
        if places.requested.len() == 1 {
            self.exec.post(self.link.get().expect("a link is attached when the device is built"), LINK_KICK);
        }
    }
    /// Front end: the next answer as (token, epoch, result).
    #[inline]
    pub fn next_answer(&self) -> Option<Answer> {
        self.answers.borrow_mut().pop_front()
    }

    /// Front end: the number of resets that have taken host memory from the drive. A DMA carries the
    /// epoch in which the front end asked for it.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch.get()
    }
    /// Front end: the drive may no longer access host memory. The port answers all DMA of epochs up to
    /// now without carrying it out.
    pub fn raise_epoch(&self) {
        self.epoch.set(self.epoch.get().wrapping_add(1));
    }

    /// Link model: the next operation asked for.
    #[inline]
    pub fn next_requested(&self) -> Option<LinkTicket> {
        self.places.borrow_mut().requested.pop_front()
    }
    /// Link model: takes all operations asked for. `accept` must not use the port but for [`LinkPort::emit`]:
    /// it is borrowed meanwhile.
    #[inline]
    pub fn take_requested(&self, mut accept: impl FnMut(LinkTicket, &LinkOp)) {
        let Places { ops, requested, .. } = &mut *self.places.borrow_mut();
        while let Some(ticket) = requested.pop_front() {
            let op = &ops[ticket.0 as usize];
            accept(ticket, op);
        }
    }
    /// Link model: the operation that a ticket names.
    #[inline]
    pub fn op(&self, ticket: &LinkTicket) -> Ref<'_, LinkOp> {
        Ref::map(self.places.borrow(), |places| &places.ops[ticket.0 as usize])
    }
    /// Link model: the operation happens now.
    #[inline]
    pub fn emit(&self, ticket: LinkTicket) {
        self.outbox.borrow_mut().push_back(ticket);
    }

    /// Run mode: whether there is an operation to carry out.
    #[inline]
    pub fn has_out(&self) -> bool {
        !self.outbox.borrow().is_empty()
    }
    /// Run mode: the next operation to carry out. A DMA from before the last reset must not touch host
    /// memory any more, so the port answers it here.
    #[inline]
    pub fn next_out(&self) -> Option<LinkOp> {
        if self.has_out() { self.take_out() } else { None }
    }
    fn take_out(&self) -> Option<LinkOp> {
        loop {
            let ticket = self.outbox.borrow_mut().pop_front()?;
            let mut places = self.places.borrow_mut();
            let op = places.take(ticket);
            if let LinkOp::Interrupt { .. } = op {
                let interrupt = *op;
                let late = places.interrupt_left();
                drop(places);
                late.into_iter().for_each(|vector| self.push(LinkOp::Interrupt { vector }));
                return Some(interrupt);
            }
            if !self.is_stale(op) {
                return Some(*op);
            }
            self.done(op, Err(BadAddress(0)));
        }
    }
    /// Run mode: has `carry` carry out the DMA that is to happen now, and answers it with what `carry`
    /// returns. DMA from before the last reset is answered without it. An interrupt stays, and so does what
    /// comes behind it: returns `false` then. `carry` must not use the port, which is borrowed meanwhile.
    #[inline]
    pub fn carry_dma(&self, carry: impl FnMut(&LinkOp) -> Result<(), BadAddress>) -> bool {
        !self.has_out() || self.carry_first(carry)
    }
    #[inline]
    fn carry_first(&self, mut carry: impl FnMut(&LinkOp) -> Result<(), BadAddress>) -> bool {
        let mut outbox = self.outbox.borrow_mut();
        let mut places = self.places.borrow_mut();
        loop {
            let is_dma = |ticket: &LinkTicket| matches!(places.ops[ticket.0 as usize], LinkOp::Dma { .. });
            let Some(ticket) = outbox.pop_front_if(is_dma) else { return outbox.is_empty() };
            let op = places.take(ticket);
            let result = if self.is_stale(op) { Err(BadAddress(0)) } else { carry(op) };
            self.done(op, result);
        }
    }
    #[inline]
    fn is_stale(&self, op: &LinkOp) -> bool {
        matches!(op, LinkOp::Dma { epoch, .. } if *epoch != self.epoch.get())
    }
    /// Run mode: a DMA was carried out.
    #[inline]
    pub fn done(&self, op: &LinkOp, result: Result<(), BadAddress>) {
        if let LinkOp::Dma { token, epoch, .. } = op {
            let mut answers = self.answers.borrow_mut();
            answers.push_back((*token, *epoch, result));
            if answers.len() == 1 {
                self.exec.post(
                    self.front.get().expect("a front end is attached when the device is built"),
                    FRONT_ANSWER,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_exec::Handler;
    use aster_units::Rng;

    struct Nobody;
    impl Handler for Nobody {
        fn fire(&self, _: u64) {}
    }

    fn dma(token: u32, epoch: u32) -> LinkOp {
        let segments = [Segment::default(); MAX_SEGMENTS];
        let local = Local::Sram { offset: 0 };
        LinkOp::Dma { direction: DmaDirection::ToHost, local, segments, count: 1, token, epoch }
    }

    #[test]
    fn dma_that_a_reset_has_overtaken_is_answered_by_the_port_and_interrupts_are_not() {
        let exec = Exec::new();
        let port = LinkPort::new(&exec, 4);
        let nobody = exec.register(Rc::new(Nobody));
        port.attach_link(nobody);
        port.attach_front(nobody);
        let stale = port.epoch();
        port.push(dma(1, stale));
        port.push(LinkOp::Interrupt { vector: 7 });
        port.raise_epoch();
        port.push(dma(2, port.epoch()));
        while let Some(ticket) = port.next_requested() {
            port.emit(ticket);
        }
        assert_eq!(port.next_out(), Some(LinkOp::Interrupt { vector: 7 }));
        assert_eq!(port.next_answer(), Some((1, stale, Err(BadAddress(0)))));
        assert_eq!(port.next_out(), Some(dma(2, port.epoch())));
        assert_eq!((port.next_out(), port.next_answer()), (None, None));
        exec.shut_down();
    }

    /// The slow twin is what a run mode does operation by operation, up to the first interrupt.
    #[test]
    fn dma_that_is_carried_in_place_is_answered_as_what_is_taken_out() {
        for seed in 0..200 {
            let exec = Exec::new();
            let nobody = exec.register(Rc::new(Nobody));
            let [fast, slow] = [(); 2].map(|()| LinkPort::new(&exec, 8));
            for port in [&fast, &slow] {
                port.attach_link(nobody);
                port.attach_front(nobody);
            }
            let mut rng = Rng::new(seed);
            for _ in 0..40 {
                let pushed: Vec<u64> = (0..rng.below(6)).map(|_| rng.below(4)).collect();
                let is_reset = rng.below(5) == 0;
                for port in [&fast, &slow] {
                    for (token, kind) in pushed.iter().enumerate() {
                        match kind {
                            0 => port.push(LinkOp::Interrupt { vector: token as u16 }),
                            _ => port.push(dma(token as u32, port.epoch())),
                        }
                    }
                    if is_reset {
                        port.raise_epoch();
                    }
                    while let Some(ticket) = port.next_requested() {
                        port.emit(ticket);
                    }
                }
                let result = |op: &LinkOp| match op {
                    LinkOp::Dma { token: 3, .. } => Err(BadAddress(3)),
                    _ => Ok(()),
                };
                let mut carried = Vec::new();
                let has_ended = fast.carry_dma(|op| {
                    carried.push(*op);
                    result(op)
                });
                let mut taken = Vec::new();
                let mut interrupt = None;
                while interrupt.is_none()
                    && let Some(op) = slow.next_out()
                {
                    match op {
                        LinkOp::Interrupt { .. } => interrupt = Some(op),
                        LinkOp::Dma { .. } => {
                            taken.push(op);
                            slow.done(&op, result(&op));
                        }
                    }
                }
                assert_eq!((carried, has_ended), (taken, interrupt.is_none()), "seed {seed}");
                let rest =
                    |port: &LinkPort| -> Vec<LinkOp> { core::iter::from_fn(|| port.next_out()).collect() };
                let (mut left, ahead) = (rest(&fast), rest(&slow));
                assert_eq!(interrupt, (!has_ended).then(|| left.remove(0)), "seed {seed}");
                assert_eq!(left, ahead, "seed {seed}");
                let answers =
                    |port: &LinkPort| -> Vec<Answer> { core::iter::from_fn(|| port.next_answer()).collect() };
                assert_eq!(answers(&fast), answers(&slow), "seed {seed}");
            }
            exec.shut_down();
        }
    }
}
