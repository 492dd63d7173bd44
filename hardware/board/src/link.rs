//! The PCIe link at the level of BARs and DMA: it charges the time that packets take and keeps the order of
//! each direction.

use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler, HandlerId};
use aster_ports::host::DmaDirection;
use aster_ports::link::{LINK_KICK, LinkOp, LinkPort, Local};
use aster_ports::resource::SharedBandwidth;
use aster_units::{Duration, Instant};
use core::cell::Cell;

/// The cost of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkConfig {
    /// Payload bytes per second in each direction, 0 for unlimited.
    pub bytes_per_second: u64,
    /// One way through the link and root complex.
    pub latency: Duration,
    /// Header, framing and acknowledgement bytes per packet.
    pub packet_overhead: u32,
    /// The most payload bytes per packet (max payload size).
    pub packet_payload: u32,
}

impl LinkConfig {
    /// How long `bytes` bytes of payload occupy one direction, headers included.
    pub fn occupies(&self, bytes: u32) -> Duration {
        if self.bytes_per_second == 0 {
            return Duration::ZERO;
        }
        let packets = u64::from(bytes.div_ceil(self.packet_payload.max(1)).max(1));
        Duration::of_transfer(
            u64::from(bytes) + packets * u64::from(self.packet_overhead),
            self.bytes_per_second,
        )
    }
}

/// What a link has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// DMA operations.
    pub transfers: u64,
    /// Bytes to the host.
    pub to_host: u64,
    /// Bytes from the host.
    pub from_host: u64,
    /// Interrupt messages.
    pub interrupts: u64,
}

/// What stands in events for no page buffer at the device's end.
const NO_BUFFER: u32 = u32::MAX;

/// [`LinkStats`] while they are counted.
#[derive(Default)]
struct Carried {
    transfers: Cell<u64>,
    // By direction.
    bytes: [Cell<u64>; 2],
    interrupts: Cell<u64>,
}

impl Carried {
    #[inline]
    fn count(&self, dma: bool, lane: usize, bytes: u32) {
        let add = |counter: &Cell<u64>, more: u64| counter.set(counter.get() + more);
        if dma {
            add(&self.transfers, 1);
            add(&self.bytes[lane], bytes.into());
        } else {
            add(&self.interrupts, 1);
        }
    }
    fn stats(&self) -> LinkStats {
        LinkStats {
            transfers: self.transfers.get(),
            to_host: self.bytes[DmaDirection::ToHost as usize].get(),
            from_host: self.bytes[DmaDirection::FromHost as usize].get(),
            interrupts: self.interrupts.get(),
        }
    }
}

/// Sizes of operations that are told apart.
const SIZES: usize = 32;

/// One direction of the link.
struct Lane {
    free_at: Cell<Instant>,
    /// When the operation that was accepted last happens. It is on its way, or its time is past.
    last_at: Cell<Instant>,
    /// How long bytes occupy the lane that came before: mostly the next are as many. Data, entries and
    /// messages have sizes far apart, which have a place each, by their highest bit.
    known: [Cell<(u32, Duration)>; SIZES],
}

impl Lane {
    fn new(config: &LinkConfig) -> Self {
        let known = core::array::from_fn(|_| Cell::new((0, config.occupies(0))));
        Lane { free_at: Cell::new(Instant::ZERO), last_at: Cell::new(Instant::ZERO), known }
    }
    #[inline]
    fn occupied_by(&self, bytes: u32, config: &LinkConfig) -> Duration {
        let known = &self.known[bytes.leading_zeros() as usize % SIZES];
        let (of, occupies) = known.get();
        if of == bytes {
            return occupies;
        }
        Self::work_out(known, bytes, config)
    }
    #[cold]
    fn work_out(known: &Cell<(u32, Duration)>, bytes: u32, config: &LinkConfig) -> Duration {
        let occupies = config.occupies(bytes);
        known.set((bytes, occupies));
        occupies
    }
}

/// The link model. Memory is charged for every DMA, so that host and flash traffic contend for it.
pub struct Link {
    exec: Exec,
    port: Rc<LinkPort>,
    config: LinkConfig,
    memory: SharedBandwidth,
    recorder: Recorder,
    // By direction.
    lanes: [Lane; 2],
    carried: Carried,
    id: Cell<Option<HandlerId>>,
}

impl Link {
    /// Builds the link behind `port` and connects it.
    pub fn start(
        exec: &Exec,
        port: &Rc<LinkPort>,
        config: LinkConfig,
        memory: SharedBandwidth,
        recorder: &Recorder,
    ) -> Rc<Self> {
        let link = Rc::new(Link {
            exec: exec.clone(),
            port: Rc::clone(port),
            config,
            memory,
            recorder: recorder.clone(),
            lanes: [Lane::new(&config), Lane::new(&config)],
            carried: Carried::default(),
            id: Cell::new(None),
        });
        let id = exec.register(link.clone());
        link.id.set(Some(id));
        port.attach_link(id);
        link
    }

    /// What the link has carried.
    pub fn stats(&self) -> LinkStats {
        self.carried.stats()
    }
    /// One way through the link: how long a host's register access takes to arrive.
    pub fn latency(&self) -> Duration {
        self.config.latency
    }

    /// Charges an operation that begins its way now, and returns when it happens. `is_first` says that no
    /// other is on its way in its direction.
    #[inline]
    fn accept(&self, now: Instant, op: &LinkOp, is_first: bool) -> Instant {
        let (dma, direction) = match op {
            LinkOp::Dma { direction, .. } => (true, *direction),
            LinkOp::Interrupt { .. } => (false, DmaDirection::ToHost),
        };
        let (from_host, bytes) = (direction == DmaDirection::FromHost, op.bytes());
        let lane = &self.lanes[direction as usize];
        // A read's request travels up before its data comes down; a posted write only travels up.
        let ready = if from_host { now + self.config.latency } else { now };
        let begins = lane.free_at.get().max(ready);
        let sent = begins + lane.occupied_by(bytes, &self.config);
        lane.free_at.set(sent);
        let in_memory = self.memory.reserve(now, u64::from(bytes));
        let arrives = (sent + self.config.latency).max(in_memory);
        self.carried.count(dma, direction as usize, bytes);
        if dma {
            let waits = || begins.since(ready).as_picos();
            let buffer = || match *op {
                LinkOp::Dma { local: Local::Buffer { buffer, .. }, .. } => buffer.0,
                _ => NO_BUFFER,
            };
            let started = || Event::DmaStarted { from_host, bytes, buffer: buffer(), waits: waits() };
            self.recorder.emit(now, started);
        }
        let at = arrives.max(lane.last_at.get());
        lane.last_at.set(at);
        if !is_first {
            return at;
        }
        // An operation before it has happened by now.
        if at <= now {
            self.happens(now, op);
        } else {
            self.arm(at, direction);
        }
        at
    }

    #[inline]
    fn arm(&self, at: Instant, direction: DmaDirection) {
        self.exec.schedule(at, self.id.get().expect("registered in start"), direction as u64);
    }

    /// What was asked for begins its way.
    #[inline(never)]
    fn begin(&self) {
        let now = self.exec.now();
        self.port.send_requested(now, |op, is_first| self.accept(now, op, is_first));
    }
    #[inline(never)]
    fn deliver(&self, direction: DmaDirection) {
        let now = self.exec.now();
        if let Some(next) = self.port.deliver(direction, now, |op| self.happens(now, op)) {
            self.arm(next, direction);
        }
    }

    #[inline]
    fn happens(&self, now: Instant, op: &LinkOp) {
        if let LinkOp::Dma { direction, .. } = op {
            let from_host = *direction == DmaDirection::FromHost;
            self.recorder.emit(now, || Event::DmaFinished { from_host, bytes: op.bytes() });
        }
    }
}

impl Handler for Link {
    fn fire(&self, token: u64) {
        if token == LINK_KICK {
            self.begin();
        } else {
            let is_read = token == DmaDirection::FromHost as u64;
            self.deliver(if is_read { DmaDirection::FromHost } else { DmaDirection::ToHost });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use aster_ports::link::{MAX_SEGMENTS, Segment};
    use aster_ports::resource::Bandwidth;

    fn dma(direction: DmaDirection, bytes: u32, token: u32) -> LinkOp {
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        segments[0] = Segment { address: 0, length: bytes };
        LinkOp::Dma { direction, local: Local::Sram { offset: 0 }, segments, count: 1, token, epoch: 0 }
    }

    fn link(config: LinkConfig) -> (Exec, Rc<LinkPort>, Rc<Link>) {
        let exec = Exec::new();
        let port = LinkPort::new(&exec, 8);
        let link = Link::start(&exec, &port, config, Bandwidth::new(0), &Recorder::default());
        (exec, port, link)
    }

    #[test]
    fn an_unlimited_link_takes_no_time_and_no_event() {
        let (exec, port, _link) = link(LinkConfig::default());
        port.push(dma(DmaDirection::ToHost, 4096, 1));
        exec.advance_to(exec.now());
        assert!(port.next_out().is_some());
        assert_eq!(exec.counts().events, 0);
        exec.shut_down();
    }

    #[test]
    fn a_transfer_takes_latency_payload_and_headers_and_an_interrupt_follows_it() {
        let config = LinkConfig {
            bytes_per_second: 1_000_000_000,
            latency: Duration::from_nanos(300),
            packet_overhead: 24,
            packet_payload: 256,
        };
        let (exec, port, _link) = link(config);
        port.push(dma(DmaDirection::ToHost, 4096, 1));
        port.push(LinkOp::Interrupt { vector: 3 });
        // 4096 + 16 · 24 bytes at 1 GB/s, then the way up. The interrupt's 4 + 24 bytes queue behind
        // them.
        let data = Instant::ZERO + Duration::from_nanos(4096 + 16 * 24 + 300);
        exec.advance_to(data - Duration::from_picos(1));
        assert!(port.next_out().is_none());
        exec.advance_to(data);
        assert!(matches!(port.next_out(), Some(LinkOp::Dma { .. })));
        assert!(port.next_out().is_none());
        exec.advance_to(data + Duration::from_nanos(28));
        assert!(matches!(port.next_out(), Some(LinkOp::Interrupt { vector: 3 })));
        exec.shut_down();
    }

    #[test]
    fn interrupts_that_find_no_room_wait_one_per_vector_and_dma_has_room_all_the_same() {
        let (exec, port, _link) = link(LinkConfig::default());
        for _ in 0..3 {
            (0..9).for_each(|vector| port.push(LinkOp::Interrupt { vector }));
        }
        (0..8).for_each(|token| port.push(dma(DmaDirection::ToHost, 4096, token)));
        let (mut vectors, mut tokens) = (Vec::new(), Vec::new());
        exec.advance_to(exec.now());
        while let Some(op) = port.next_out() {
            match op {
                LinkOp::Interrupt { vector } => vectors.push(vector),
                LinkOp::Dma { token, .. } => tokens.push(token),
            }
            exec.advance_to(exec.now());
        }
        assert_eq!(vectors[..8], [0, 1, 2, 3, 4, 5, 6, 7], "there is room for eight");
        assert_eq!(
            vectors[8..],
            [8, 0, 1, 2, 3, 4, 5, 6, 7],
            "each once more, however often it was asked for"
        );
        assert_eq!(tokens, [0, 1, 2, 3, 4, 5, 6, 7]);
        exec.shut_down();
    }

    #[test]
    #[should_panic(expected = "more DMA on the link than the 8")]
    fn a_front_end_with_more_dma_than_it_asked_for_is_a_bug_that_shows() {
        let (_exec, port, _link) = link(LinkConfig::default());
        (0..9).for_each(|token| port.push(dma(DmaDirection::ToHost, 4096, token)));
    }

    /// The slow twin works out for each operation how long it occupies its lane.
    #[test]
    fn a_lane_is_occupied_as_long_as_when_each_time_is_worked_out() {
        let mut rng = aster_units::Rng::new(3);
        for _ in 0..50 {
            let config = LinkConfig {
                bytes_per_second: rng.below(3) * (1 + rng.below(8_000_000_000)),
                latency: Duration::ZERO,
                packet_overhead: rng.below(30) as u32,
                packet_payload: 1 << rng.below(12),
            };
            let lane = Lane::new(&config);
            for _ in 0..200 {
                let bytes = [0, 4, 16, 64, 4096, rng.below(20_000) as u32][rng.below(6) as usize];
                assert_eq!(lane.occupied_by(bytes, &config), config.occupies(bytes));
            }
        }
    }

    #[test]
    fn a_read_pays_the_round_trip() {
        let config =
            LinkConfig { bytes_per_second: 0, latency: Duration::from_nanos(300), ..Default::default() };
        let (exec, port, _link) = link(config);
        port.push(dma(DmaDirection::FromHost, 64, 1));
        exec.advance_to(Instant::ZERO + Duration::from_nanos(599));
        assert!(port.next_out().is_none());
        exec.advance_to(Instant::ZERO + Duration::from_nanos(600));
        assert!(port.next_out().is_some());
        exec.shut_down();
    }
}
