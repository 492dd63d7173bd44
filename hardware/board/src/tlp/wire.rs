//! One direction of a link: packets wait for credits, occupy it one after the other, and arrive.

use super::order::{Class, Waiting};
use alloc::collections::VecDeque;
use aster_ports::credits::Credit;
use aster_units::{Duration, Instant};

/// What packets cost on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireConfig {
    /// Bytes per second, 0 for unlimited.
    pub bytes_per_second: u64,
    /// From the last byte sent to its arrival.
    pub latency: Duration,
    /// Framing, sequence number, checksum and the share of acknowledgements, beside header and data.
    pub framing: u32,
}

/// A packet as the wire needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WirePacket<T> {
    /// How it is ordered, and whose credits it takes.
    pub class: Class,
    /// Bytes of its header.
    pub header: u32,
    /// Bytes of its data.
    pub data: u32,
    /// What it is to its owner.
    pub what: T,
}

impl<T> WirePacket<T> {
    /// The credits that it needs.
    pub fn needs(&self) -> Credit {
        Credit::of_packet(self.data)
    }
}

/// A packet that has left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When its first byte begins to occupy the wire.
    pub begins: Instant,
    /// When its last byte has left.
    pub ends: Instant,
}

/// A wire and the transmitter before it. Time is an argument: the owner says what time it is, and is told
/// when to come back ([`TlpWire::next_arrival`]).
pub struct TlpWire<T> {
    config: WireConfig,
    waiting: Waiting<WirePacket<T>>,
    free_at: Instant,
    arriving: VecDeque<(Instant, WirePacket<T>)>,
}

impl<T> TlpWire<T> {
    /// A wire whose receiver has granted `initial`, by class.
    pub fn new(config: WireConfig, initial: [Credit; 3]) -> Self {
        let waiting = Waiting::new(initial);
        TlpWire { config, waiting, free_at: Instant::ZERO, arriving: VecDeque::new() }
    }
    /// A packet to send.
    pub fn push(&mut self, packet: WirePacket<T>) {
        self.waiting.push(packet.class, packet.needs(), packet);
    }
    /// Sends the packet that goes next, if there are credits for it: takes the wire for it, as soon as the
    /// wire is free. `send` may say that it arrives later than the wire brings it.
    pub fn send(&mut self, now: Instant, send: impl FnOnce(&mut WirePacket<T>, Sent) -> Instant) -> bool {
        let Some(mut packet) = self.waiting.pop() else { return false };
        let begins = self.free_at.max(now);
        let bytes = u64::from(packet.header) + u64::from(packet.data) + u64::from(self.config.framing);
        let ends = begins + self.occupied_by(bytes);
        self.free_at = ends;
        let later = send(&mut packet, Sent { begins, ends });
        self.arriving.push_back((later.max(ends + self.config.latency), packet));
        true
    }
    fn occupied_by(&self, bytes: u64) -> Duration {
        match self.config.bytes_per_second {
            0 => Duration::ZERO,
            rate => Duration::of_transfer(bytes, rate),
        }
    }
    /// When the next packet arrives.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.arriving.front().map(|first| first.0)
    }
    /// Takes a packet that has arrived by `now`. None arrives before one that was sent earlier.
    pub fn arrived(&mut self, now: Instant) -> Option<WirePacket<T>> {
        self.arriving.pop_front_if(|first| first.0 <= now).map(|(_, packet)| packet)
    }
    /// The receiver has made room for `more`.
    pub fn grant(&mut self, class: Class, more: Credit) {
        self.waiting.grant(class, more);
    }
    /// Packets of a class that wait for credits.
    pub(super) fn waiting_of(&self, class: Class) -> usize {
        self.waiting.of_class(class)
    }
    /// Packets that wait for credits.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests;
