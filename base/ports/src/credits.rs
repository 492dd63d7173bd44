//! Flow control credits of a PCIe link (PCIe 4.0 §2.6).
//!
//! A transmitter may send a packet while it has a credit for its header and credits for its data. Both sides
//! count in modulo arithmetic and never subtract: the transmitter what it has consumed, the receiver what it
//! has granted, and only the latter's counter crosses the link.

/// Bytes of data that one credit stands for (PCIe 4.0 §2.6.1).
pub const CREDIT_BYTES: u32 = 16;

/// Width of a counter of headers, in bits.
const HEADER_BITS: u32 = 8;
/// Width of a counter of data, in bits.
const DATA_BITS: u32 = 12;

/// What a packet needs, what a receiver grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Credit {
    /// Headers.
    pub headers: u16,
    /// Units of [`CREDIT_BYTES`].
    pub data: u16,
}

impl Credit {
    /// What a packet with `payload` bytes of data needs.
    pub const fn of_packet(payload: u32) -> Self {
        Credit { headers: 1, data: payload.div_ceil(CREDIT_BYTES) as u16 }
    }
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Credit { headers: self.headers + other.headers, data: self.data + other.data }
    }
}

/// A counter modulo two to the power of its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counter<const BITS: u32>(u16);

impl<const BITS: u32> Counter<BITS> {
    const MASK: u16 = (1 << BITS) - 1;

    fn plus(self, more: u16) -> Self {
        Counter(self.0.wrapping_add(more) & Self::MASK)
    }
    /// Whether this counter of consumed credits is not beyond `limit` (PCIe 4.0 §2.6.1.2): at most half of
    /// the range may be granted at a time, so that more is the other way round.
    fn is_within(self, limit: Self) -> bool {
        limit.0.wrapping_sub(self.0) & Self::MASK <= 1 << (BITS - 1)
    }
}

/// The credits of one kind of packet (posted, non-posted, completion), as its transmitter keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credits {
    consumed: (Counter<HEADER_BITS>, Counter<DATA_BITS>),
    limit: (Counter<HEADER_BITS>, Counter<DATA_BITS>),
    /// Nothing is counted (PCIe 4.0 §2.6.1): an initial grant of 0.
    infinite: (bool, bool),
}

impl Credits {
    /// Credits after initialisation, in which the receiver has granted `initial`. A grant of 0 is infinite.
    /// Asserts that it is at most half of a counter's range: 128 headers, 2,048 units of data.
    pub fn new(initial: Credit) -> Self {
        let Credit { headers, data } = initial;
        let fits = headers <= 1 << (HEADER_BITS - 1) && data <= 1 << (DATA_BITS - 1);
        assert!(fits, "a receiver grants at most half of a counter's range, not {initial:?}");
        Credits {
            consumed: (Counter(0), Counter(0)),
            limit: (Counter(headers), Counter(data)),
            infinite: (headers == 0, data == 0),
        }
    }
    /// Whether there are credits for a packet.
    pub fn may_send(&self, packet: Credit) -> bool {
        let (headers, data) = self.consumed;
        (self.infinite.0 || headers.plus(packet.headers).is_within(self.limit.0))
            && (self.infinite.1 || data.plus(packet.data).is_within(self.limit.1))
    }
    /// A packet was sent. Asserts that there were credits for it.
    pub fn consume(&mut self, packet: Credit) {
        assert!(self.may_send(packet), "a packet without credits: {packet:?} of {self:?}");
        let (headers, data) = self.consumed;
        self.consumed = (headers.plus(packet.headers), data.plus(packet.data));
    }
    /// The receiver has made room again, and says so by UpdateFC. What is infinite needs no update.
    pub fn grant(&mut self, more: Credit) {
        let (headers, data) = self.limit;
        self.limit = (headers.plus(more.headers), data.plus(more.data));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::mix64;

    /// 10⁵ random steps against integers that never wrap: the counters go round many times.
    #[test]
    fn modulo_counters_allow_what_unbounded_ones_allow() {
        for (seed, initial) in [(1, (1, 16)), (2, (8, 64)), (3, (128, 2048)), (4, (0, 32)), (5, (4, 0))] {
            let initial = Credit { headers: initial.0, data: initial.1 };
            let mut credits = Credits::new(initial);
            let (mut free, mut held) = ((u64::from(initial.headers), u64::from(initial.data)), (0u64, 0u64));
            let (mut sent, mut refused) = (0u32, 0u32);
            for step in 0..100_000u64 {
                let dice = mix64(seed << 32 | step);
                // The more there are, the rarer they are granted again, so that they run out.
                if !(dice & 0xff).is_multiple_of(u64::from(initial.headers / 2).max(2)) {
                    let packet = Credit::of_packet((dice >> 8) as u32 % 257);
                    let fits = (initial.headers == 0 || u64::from(packet.headers) <= free.0)
                        && (initial.data == 0 || u64::from(packet.data) <= free.1);
                    assert_eq!(credits.may_send(packet), fits, "step {step}: {packet:?}, {free:?}");
                    if !fits {
                        refused += 1;
                        continue;
                    }
                    credits.consume(packet);
                    sent += 1;
                    let (headers, data) = (u64::from(packet.headers), u64::from(packet.data));
                    free = (free.0.saturating_sub(headers), free.1.saturating_sub(data));
                    held = (held.0 + headers, held.1 + data);
                } else {
                    // The receiver gives a part of what it holds back. What is infinite needs no update.
                    let of =
                        |held: u64, dice: u64, infinite: bool| if infinite { 0 } else { dice % (held + 1) };
                    let headers = of(held.0, dice >> 8, initial.headers == 0);
                    let data = of(held.1, dice >> 24, initial.data == 0);
                    credits.grant(Credit { headers: headers as u16, data: data as u16 });
                    (free, held) = ((free.0 + headers, free.1 + data), (held.0 - headers, held.1 - data));
                }
            }
            assert!(sent > 1_000 && refused > 100, "{initial:?}: {sent} sent, {refused} refused");
        }
    }

    #[test]
    fn a_packet_needs_a_header_and_a_unit_for_each_sixteen_bytes() {
        let needs = |payload| Credit::of_packet(payload).data;
        assert_eq!([0, 1, 16, 17, 256, 4096].map(needs), [0, 1, 1, 2, 16, 256]);
    }

    #[test]
    #[should_panic(expected = "a packet without credits")]
    fn sending_without_credits_is_a_bug() {
        let mut credits = Credits::new(Credit { headers: 1, data: 1 });
        credits.consume(Credit::of_packet(64));
    }
}
