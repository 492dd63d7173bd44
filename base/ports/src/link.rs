//! The level of BARs and DMA below I6: what a front end asks of the host link, and what a run mode carries
//! out.
//!
//! The front end pushes operations; the board's link model takes them, charges the time they need and puts
//! them into the outbox at the simulated time at which they happen. The run mode empties the outbox (a memory
//! copy in the guest, R2T over TCP) and answers with [`LinkPort::done`], which the front end sees.

mod op;
mod places;

use crate::dram::Dram;
use crate::host::DmaDirection;
pub use crate::local::{Local, TAG_BYTES};
use alloc::rc::Rc;
use aster_exec::{Exec, Fifo, HandlerId};
use aster_units::{Content, Instant, SECTOR_BYTES};
use core::cell::{Cell, RefCell};
pub use op::{LinkOp, MAX_SEGMENTS, Segment};
use places::Places;

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
    let dram = &mut *dram.borrow_mut();
    let (device, mut at, scale) = match *local {
        Local::Buffer { buffer, offset } => {
            let content = dram.content_of(buffer);
            (dram.page_mut(buffer), offset as usize, content)
        }
        Local::Sram { offset } => (dram.sram_mut(), offset as usize, Content::Full),
        Local::Tag { offset } => {
            (dram.sram_mut(), offset as usize / TAG_BYTES * SECTOR_BYTES, Content::Fingerprint)
        }
    };
    for &Segment { address, length } in &segments[..usize::from(*count)] {
        let length = length as usize;
        match scale {
            Content::Full => {
                let bytes = &mut device[at..at + length];
                match direction {
                    DmaDirection::ToHost => memory.write(address, bytes)?,
                    DmaDirection::FromHost => memory.read(address, bytes)?,
                }
            }
            Content::Fingerprint => {
                let is_whole = |at: usize| at.is_multiple_of(SECTOR_BYTES);
                if !(is_whole(at) && is_whole(length) && is_whole(address as usize)) {
                    return Err(BadAddress(address));
                }
                let tags =
                    &mut device[at / SECTOR_BYTES * TAG_BYTES..(at + length) / SECTOR_BYTES * TAG_BYTES];
                match direction {
                    DmaDirection::ToHost => memory.write_tags(address, tags)?,
                    DmaDirection::FromHost => memory.read_tags(address, tags)?,
                }
            }
        }
        at += length;
    }
    Ok(())
}

type Answer = (u32, u32, Result<(), BadAddress>);

/// The token that the link model's handler gets when operations were pushed.
pub const LINK_KICK: u64 = u64::MAX;

/// The port between front end, link model and run mode.
pub struct LinkPort {
    exec: Exec,
    places: RefCell<Places>,
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
        if self.places.borrow_mut().request(op) {
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

    /// Link model that takes no time: all operations asked for happen now.
    pub fn pass_requested(&self) {
        self.places.borrow_mut().pass();
    }
    /// Link model: takes all operations asked for. `when` gets each one, and whether no other is on its way
    /// in its direction, and says when it happens. One that happens by `now`, with no other before it, can be
    /// carried out at once. All others wait for [`LinkPort::deliver`]. `when` must not use the port, which is
    /// borrowed meanwhile.
    #[inline]
    pub fn send_requested(&self, now: Instant, when: impl FnMut(&LinkOp, bool) -> Instant) {
        self.places.borrow_mut().send(now, when);
    }
    /// Link model: what is on its way in `direction` and happens by `now` can be carried out. `told` gets
    /// each of these operations; it must not use the port. Returns when the next one happens.
    #[inline]
    pub fn deliver(
        &self,
        direction: DmaDirection,
        now: Instant,
        told: impl FnMut(&LinkOp),
    ) -> Option<Instant> {
        self.places.borrow_mut().deliver(direction as usize, now, told)
    }

    /// Run mode: whether there is an operation to carry out.
    #[inline]
    pub fn has_out(&self) -> bool {
        self.places.borrow().has_out()
    }
    /// Run mode: the next operation to carry out. A DMA from before the last reset must not touch host
    /// memory any more, so the port answers it here.
    #[inline]
    pub fn next_out(&self) -> Option<LinkOp> {
        if self.has_out() { self.take_out() } else { None }
    }
    fn take_out(&self) -> Option<LinkOp> {
        let mut places = self.places.borrow_mut();
        while let Some(&op) = places.first_out() {
            places.free_first_out();
            if let LinkOp::Interrupt { .. } = op {
                let late = places.interrupt_left();
                drop(places);
                self.push_late(late);
                return Some(op);
            }
            if !self.is_stale(&op) {
                return Some(op);
            }
            self.done(&op, Err(BadAddress(0)));
        }
        None
    }
    /// Run mode: has `carry` carry out the DMA that is to happen now, and answers it with what `carry`
    /// returns. DMA from before the last reset is answered without it. An interrupt stays, and so does what
    /// comes behind it: returns `false` then. `carry` must not use the port, which is borrowed meanwhile.
    #[inline]
    pub fn carry_dma(&self, mut carry: impl FnMut(&LinkOp) -> Result<(), BadAddress>) -> bool {
        let mut places = self.places.borrow_mut();
        while let Some(op) = places.first_out() {
            if let LinkOp::Interrupt { .. } = op {
                return false;
            }
            let result = if self.is_stale(op) { Err(BadAddress(0)) } else { carry(op) };
            self.done(op, result);
            places.free_first_out();
        }
        true
    }
    /// Run mode: as [`LinkPort::carry_dma`], but takes the interrupt, and returns its vector. Returns `None`
    /// when nothing is left.
    #[inline]
    pub fn next_interrupt(&self, carry: impl FnMut(&LinkOp) -> Result<(), BadAddress>) -> Option<u16> {
        if self.carry_dma(carry) {
            return None;
        }
        let mut places = self.places.borrow_mut();
        let Some(&LinkOp::Interrupt { vector }) = places.first_out() else { return None };
        places.free_first_out();
        let late = places.interrupt_left();
        drop(places);
        self.push_late(late);
        Some(vector)
    }
    /// Sends an interrupt that has waited for a place.
    #[inline]
    fn push_late(&self, late: Option<u16>) {
        if let Some(vector) = late {
            self.push(LinkOp::Interrupt { vector });
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
    use alloc::vec::Vec;
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
        port.pass_requested();
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
                    port.pass_requested();
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
                let left: RefCell<Vec<LinkOp>> = RefCell::default();
                let note = |op: LinkOp| left.borrow_mut().push(op);
                while let Some(vector) = fast.next_interrupt(|op| {
                    note(*op);
                    result(op)
                }) {
                    note(LinkOp::Interrupt { vector });
                }
                let rest = core::iter::from_fn(|| slow.next_out());
                let ahead: Vec<LinkOp> = rest.inspect(|op| slow.done(op, result(op))).collect();
                let mut left = left.into_inner();
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
