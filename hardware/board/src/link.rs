//! The PCIe link at the level of BARs and DMA: it charges the time that packets take and keeps the order of
//! each direction.

use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Fifo, Handler, HandlerId};
use aster_ports::host::DmaDirection;
use aster_ports::link::{LINK_KICK, LinkOp, LinkPort, LinkTicket, Local};
use aster_ports::resource::SharedBandwidth;
use aster_units::{Duration, Instant};
use core::cell::{Cell, RefCell};

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

/// An operation on its way, with what is told of it when it happens.
struct Due {
    at: Instant,
    ticket: LinkTicket,
    bytes: u32,
    dma: bool,
}

/// The properties of an operation that the link uses.
#[derive(Clone, Copy)]
struct What {
    dma: bool,
    from_host: bool,
    bytes: u32,
    /// The page buffer at the device's end.
    buffer: u32,
}

/// Stands for no page buffer at the device's end.
const NO_BUFFER: u32 = u32::MAX;

/// [`LinkStats`] while they are counted.
#[derive(Default)]
struct Carried {
    transfers: Cell<u64>,
    // By lane.
    bytes: [Cell<u64>; 2],
    interrupts: Cell<u64>,
}

impl Carried {
    #[inline]
    fn count(&self, What { dma, from_host, bytes, .. }: What) {
        let add = |counter: &Cell<u64>, more: u64| counter.set(counter.get() + more);
        if dma {
            add(&self.transfers, 1);
            add(&self.bytes[if from_host { FROM_HOST } else { TO_HOST }], bytes.into());
        } else {
            add(&self.interrupts, 1);
        }
    }
    fn stats(&self) -> LinkStats {
        LinkStats {
            transfers: self.transfers.get(),
            to_host: self.bytes[TO_HOST].get(),
            from_host: self.bytes[FROM_HOST].get(),
            interrupts: self.interrupts.get(),
        }
    }
}

#[derive(Default)]
struct Lane {
    free_at: Cell<Instant>,
    /// When the operation that was accepted last happens. It is in `due`, or its time is past.
    last_at: Cell<Instant>,
    due: RefCell<Fifo<Due>>,
}

/// The link model. Memory is charged for every DMA, so that host and flash traffic contend for it.
pub struct Link {
    exec: Exec,
    port: Rc<LinkPort>,
    config: LinkConfig,
    memory: SharedBandwidth,
    recorder: Recorder,
    lanes: [Lane; 2],
    carried: Carried,
    id: Cell<Option<HandlerId>>,
}

const TO_HOST: usize = 0;
const FROM_HOST: usize = 1;

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
            lanes: Default::default(),
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

    fn accept(&self, ticket: LinkTicket) {
        let now = self.exec.now();
        let what = {
            let op = self.port.op(&ticket);
            What {
                dma: matches!(*op, LinkOp::Dma { .. }),
                from_host: op.direction() == DmaDirection::FromHost,
                bytes: op.bytes(),
                buffer: match *op {
                    LinkOp::Dma { local: Local::Buffer { buffer, .. }, .. } => buffer.0,
                    _ => NO_BUFFER,
                },
            }
        };
        let What { dma, from_host, bytes, buffer } = what;
        let lane = &self.lanes[if from_host { FROM_HOST } else { TO_HOST }];
        // A read's request travels up before its data comes down; a posted write only travels up.
        let ready = if from_host { now + self.config.latency } else { now };
        let begins = lane.free_at.get().max(ready);
        let sent = begins + self.config.occupies(bytes);
        lane.free_at.set(sent);
        let in_memory = self.memory.reserve(now, u64::from(bytes));
        let arrives = (sent + self.config.latency).max(in_memory);
        self.carried.count(what);
        if dma {
            let waits = || begins.since(ready).as_picos();
            self.recorder.emit(now, || Event::DmaStarted { from_host, bytes, buffer, waits: waits() });
        }
        let mut due = lane.due.borrow_mut();
        if arrives <= now && due.is_empty() {
            drop(due);
            return self.emit(ticket, from_host, dma, bytes);
        }
        let at = arrives.max(lane.last_at.get());
        lane.last_at.set(at);
        debug_assert_eq!(
            at,
            due.back().map_or(arrives, |last| arrives.max(last.at)),
            "operations keep order"
        );
        if due.is_empty() {
            self.arm(at, from_host);
        }
        due.push_back(Due { at, ticket, bytes, dma });
    }

    #[inline]
    fn arm(&self, at: Instant, from_host: bool) {
        let lane = if from_host { FROM_HOST } else { TO_HOST };
        self.exec.schedule(at, self.id.get().expect("registered in start"), lane as u64);
    }

    fn deliver(&self, lane: usize) {
        let now = self.exec.now();
        let mut due = self.lanes[lane].due.borrow_mut();
        while let Some(next) = due.pop_front_if(|next| next.at <= now) {
            self.emit(next.ticket, lane == FROM_HOST, next.dma, next.bytes);
        }
        if let Some(next) = due.front() {
            self.arm(next.at, lane == FROM_HOST);
        }
    }

    #[inline]
    fn emit(&self, ticket: LinkTicket, from_host: bool, dma: bool, bytes: u32) {
        if dma {
            self.recorder.emit(self.exec.now(), || Event::DmaFinished { from_host, bytes });
        }
        self.port.emit(ticket);
    }
}

impl Handler for Link {
    fn fire(&self, token: u64) {
        if token == LINK_KICK {
            while let Some(ticket) = self.port.next_requested() {
                self.accept(ticket);
            }
        } else {
            self.deliver(token as usize);
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
