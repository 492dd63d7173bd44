//! MSI-X messages, their masks and their coalescing (NVMe 1.4 §7.5, §5.21.1.8).

use crate::ports::{ControllerPorts, Timer};
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_units::Duration;
use aster_wire::nvme::features::InterruptCoalescing;

#[derive(Clone, Copy, Default, Debug)]
struct Vector {
    coalescing_disabled: bool,
    /// Entries since the last message.
    entries: u32,
    /// The aggregation time is running.
    timed: bool,
    /// In the list of vectors to send.
    due: bool,
}

/// The state of every vector.
#[derive(Debug)]
pub(crate) struct Interrupts {
    vectors: Box<[Vector]>,
    due: Vec<u16>,
    /// INTMS and INTMC: vectors 0 to 31. With MSI-X a host leaves them alone.
    masked: u32,
    pending: u32,
}

impl Interrupts {
    /// `vectors` vectors; at most `queues` completion queues use them.
    pub fn new(vectors: u16, queues: usize) -> Self {
        let vectors = (0..vectors).map(|_| Vector::default()).collect();
        Interrupts { vectors, due: Vec::with_capacity(queues), masked: 0, pending: 0 }
    }
    /// Controller reset. A timer that is still running will find nothing to send.
    pub fn reset(&mut self) {
        self.due.clear();
        (self.masked, self.pending) = (0, 0);
        for vector in &mut self.vectors {
            *vector = Vector { timed: vector.timed, ..Default::default() };
        }
    }
    pub fn coalescing_disabled(&self, vector: u16) -> Option<bool> {
        self.vectors.get(usize::from(vector)).map(|v| v.coalescing_disabled)
    }
    /// Returns false if there is no such vector.
    pub fn disable_coalescing(&mut self, vector: u16, disabled: bool) -> bool {
        let found = self.vectors.get_mut(usize::from(vector));
        let exists = found.is_some();
        if let Some(vector) = found {
            vector.coalescing_disabled = disabled;
        }
        exists
    }
    /// Counts a completion entry that was sent to a queue with this vector. Entries of the admin queue and
    /// of vectors with coalescing disabled are not coalesced (NVMe 1.4 §5.21.1.8). A time of 0 means no
    /// delay.
    #[inline]
    pub fn raise(&mut self, ports: &ControllerPorts, number: u16, admin: bool, feature: InterruptCoalescing) {
        let vector = &mut self.vectors[usize::from(number)];
        vector.entries += 1;
        let coalesced = !admin && !vector.coalescing_disabled && feature.time_100us() > 0;
        if coalesced && vector.entries <= u32::from(feature.threshold_zero_based()) {
            if !vector.timed {
                vector.timed = true;
                let time = Duration::from_micros(100) * u64::from(feature.time_100us());
                ports.wake_at(ports.now() + time, Timer::Coalescing(number));
            }
            return;
        }
        self.make_due(number);
    }
    /// The aggregation time of a vector is over.
    pub fn time_is_over(&mut self, number: u16) {
        let vector = &mut self.vectors[usize::from(number)];
        vector.timed = false;
        if vector.entries > 0 {
            self.make_due(number);
        }
    }
    #[inline]
    fn make_due(&mut self, number: u16) {
        let vector = &mut self.vectors[usize::from(number)];
        vector.entries = 0;
        if !vector.due {
            vector.due = true;
            self.due.push(number);
        }
    }
    /// Whether a message is due, masked or not.
    #[inline]
    pub fn is_any_due(&self) -> bool {
        !self.due.is_empty()
    }
    /// Takes a message that is due. A masked message waits until its vector is unmasked.
    #[inline]
    pub fn next_message(&mut self) -> Option<u16> {
        while let Some(vector) = self.due.pop() {
            self.vectors[usize::from(vector)].due = false;
            let bit = 1u32.checked_shl(vector.into()).unwrap_or(0);
            if self.masked & bit == 0 {
                return Some(vector);
            }
            self.pending |= bit;
        }
        None
    }
    /// INTMS and INTMC as the host reads them.
    pub fn masked(&self) -> u32 {
        self.masked
    }
    /// Handles INTMS.
    pub fn mask(&mut self, bits: u32) {
        self.masked |= bits;
    }
    /// Handles INTMC: messages that the mask held back are due now.
    pub fn unmask(&mut self, bits: u32) {
        self.masked &= !bits;
        let released = self.pending & !self.masked;
        self.pending &= self.masked;
        for number in (0..u32::BITS as u16).filter(|number| released >> number & 1 == 1) {
            self.make_due(number);
        }
    }
}
