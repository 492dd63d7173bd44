//! The link of a drive whose transaction layer is firmware: PCIe core, wires of both directions, root
//! complex.

use super::accesses::Access;
use super::function::{Served, credits};
use super::offload;
use super::order::Class;
use super::root::{Asked, Root, RootStats};
use super::wire::{TlpWire, WireConfig, WirePacket};
use crate::LinkStats;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler, HandlerId};
use aster_ports::credits::Credit;
use aster_ports::dram::SharedDram;
use aster_ports::link::{FRONT_ANSWER, LINK_KICK, LinkOp, LinkPort, TAG_BYTES};
use aster_ports::resource::SharedBandwidth;
use aster_ports::tlp::{
    Gathered, Outgoing, TLP_FREED, TLP_KICK, TlpCompletion, TlpDescriptor, TlpPort, TlpSettings, TlpStats,
};
use aster_units::{Duration, Instant};
use aster_wire::pcie::tlp::TlpHeader;
use core::cell::{Cell, OnceCell, RefCell};

/// The cost and the limits of a link of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlpLinkConfig {
    /// What packets cost in each direction.
    pub wire: WireConfig,
    /// Max_Payload_Size Supported of the function, in bytes.
    pub max_payload: u32,
    /// The root complex's read completion boundary: 64 or 128 (PCIe 4.0 §2.3.1.1).
    pub completion_boundary: u32,
}

/// What travels up.
enum Up {
    Request { descriptor: TlpDescriptor, place: Option<u16> },
    Message { vector: u16 },
    Completion(TlpCompletion),
}

/// What travels down.
enum Down {
    Completion(Part),
    Access(Access),
}

/// A completion that travels down.
struct Part {
    header: [u8; 16],
    header_bytes: u8,
    /// Its data in the SRAM: where, and bytes.
    data: (u32, u32),
    /// The read of which it is the last one.
    ends: Option<u16>,
}

// The tokens of the link's own timers.
const UP: u64 = 0;
const DOWN: u64 = 1;
const CREDITS: u64 = 2;
const SENT: u64 = 3;
const CORE_CREDITS: u64 = 4;
const OVERDUE: u64 = 5;

/// Bytes of a message: one double word.
const MESSAGE_BYTES: u32 = 4;
/// Bytes of a header without a long address.
const SHORT_HEADER: u32 = 12;

/// The write of a vector's message.
fn message(vector: u16) -> WirePacket<Up> {
    let what = Up::Message { vector };
    WirePacket { class: Class::Posted, header: SHORT_HEADER, data: MESSAGE_BYTES, what }
}

/// Bytes that a read asks for.
fn asked_bytes(header: &[u8]) -> u32 {
    match TlpHeader::parse(header) {
        Ok((TlpHeader::Memory(request), _)) => request.span().1,
        _ => 0,
    }
}

/// Time at which each timer is due.
#[derive(Default)]
struct Armed([Cell<Option<Instant>>; 6]);

/// Room that a receiver has made, by class, and the UpdateFC that tells of it. One is on its way at a time.
#[derive(Default)]
struct Updates {
    /// Since the last UpdateFC.
    freed: Cell<[Credit; 3]>,
    under_way: Cell<Option<[Credit; 3]>>,
}

impl Updates {
    /// Adds room. Returns whether an UpdateFC may be sent now.
    fn add(&self, class: Class, more: Credit) -> bool {
        let mut freed = self.freed.get();
        freed[class.index()] = freed[class.index()].and(more);
        self.freed.set(freed);
        self.under_way.get().is_none()
    }
    fn send(&self) {
        self.under_way.set(Some(self.freed.take()));
    }
    /// The UpdateFC has arrived.
    fn take(&self) -> [Credit; 3] {
        self.under_way.take().unwrap_or_default()
    }
    /// Whether there is more room than it has told of.
    fn is_due(&self) -> bool {
        self.freed.get() != [Credit::default(); 3]
    }
}

/// The link of packets behind a [`TlpPort`], to the host behind a [`LinkPort`], which carries each operation
/// at once: all time is spent here. The memory is charged for the data of every packet.
pub struct TlpLink {
    exec: Exec,
    port: Rc<TlpPort>,
    host: Rc<LinkPort>,
    dram: SharedDram,
    memory: SharedBandwidth,
    recorder: Recorder,
    config: TlpLinkConfig,
    up: RefCell<TlpWire<Up>>,
    down: RefCell<TlpWire<Down>>,
    root: RefCell<Root>,
    /// Notices of packets that are being sent, and when they will have been.
    sending: RefCell<VecDeque<(Instant, u32)>>,
    /// Room that the root complex has made.
    room_of_root: Updates,
    /// Room that the function's core has made.
    room_of_core: Updates,
    /// The function, if the host reaches it by packets.
    side: OnceCell<Served>,
    stats: Cell<LinkStats>,
    armed: Armed,
    id: Cell<Option<HandlerId>>,
}

impl TlpLink {
    /// Bytes of SRAM that the root complex's buffers take.
    pub fn sram_bytes(config: &TlpLinkConfig) -> usize {
        Root::sram_bytes(config.max_payload)
    }
    /// Operations in host memory that the root complex has at a time.
    pub const OPERATIONS: usize = Root::OPERATIONS;

    /// Builds the link between `port` and `host`, and connects it to both. Its buffers begin at `sram_at`.
    pub fn start(
        exec: &Exec,
        (port, host): (&Rc<TlpPort>, &Rc<LinkPort>),
        config: TlpLinkConfig,
        (dram, sram_at): (&SharedDram, usize),
        memory: SharedBandwidth,
        recorder: &Recorder,
    ) -> Rc<Self> {
        assert!(sram_at.is_multiple_of(TAG_BYTES), "buffers at {sram_at:#x}");
        let link = Rc::new(TlpLink {
            exec: exec.clone(),
            port: Rc::clone(port),
            host: Rc::clone(host),
            dram: SharedDram::clone(dram),
            memory,
            recorder: recorder.clone(),
            config,
            up: RefCell::new(TlpWire::new(config.wire, Root::credits(config.max_payload))),
            down: RefCell::new(TlpWire::new(config.wire, credits())),
            root: RefCell::new(Root::new(sram_at, config.max_payload)),
            sending: RefCell::default(),
            room_of_root: Updates::default(),
            room_of_core: Updates::default(),
            side: OnceCell::new(),
            stats: Cell::default(),
            armed: Armed::default(),
            id: Cell::new(None),
        });
        let id = exec.register(link.clone());
        link.id.set(Some(id));
        port.attach_board(id);
        host.attach_link(id);
        host.attach_front(id);
        link
    }
    /// What the link has carried: a transfer is a request of the drive.
    pub fn stats(&self) -> LinkStats {
        self.stats.get()
    }
    /// One way through the wire: how long a host's register access takes to arrive.
    pub fn latency(&self) -> Duration {
        self.config.wire.latency
    }
    /// What its port has carried.
    pub fn packets(&self) -> TlpStats {
        self.port.stats()
    }
    /// The root complex's read completion boundary, in bytes.
    pub fn completion_boundary(&self) -> u32 {
        self.config.completion_boundary
    }
    /// The credits that the root complex grants at first: for posted requests, for non-posted ones, and for
    /// completions, of which none come.
    pub fn credits(&self) -> [Credit; 3] {
        Root::credits(self.config.max_payload)
    }
    /// And those that the function's core grants the host for its accesses to registers.
    pub fn credits_of_core(&self) -> [Credit; 3] {
        credits()
    }
    /// What the root complex could not do.
    pub fn root_stats(&self) -> RootStats {
        self.root.borrow().stats()
    }
    /// The host has written Device Control.
    pub fn set(&self, settings: TlpSettings) {
        self.port.set(settings);
    }
    /// Sends a message that was pending behind a mask.
    pub fn message(&self, vector: u16) {
        self.up.borrow_mut().push(message(vector));
        self.send_up();
    }

    fn count(&self, change: impl FnOnce(&mut LinkStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }
    /// Comes back at `at` with `token`.
    fn arm(&self, at: Instant, token: u64) {
        let armed = &self.armed.0[token as usize];
        if armed.get().is_none_or(|before| before > at) {
            armed.set(Some(at));
            self.exec.schedule(at, self.id.get().expect("registered in start"), token);
        }
    }

    fn take_outgoing(&self) {
        while let Some(packet) = self.port.next_outgoing() {
            let packet = match packet {
                Outgoing::Message { vector } => message(vector),
                Outgoing::Completion(completion) => {
                    self.push_completion(completion);
                    continue;
                }
                Outgoing::Request(descriptor) => WirePacket {
                    class: if descriptor.data.is_some() { Class::Posted } else { Class::NonPosted },
                    header: descriptor.header_bytes.into(),
                    data: descriptor.data.map_or(0, |data| data.payload()),
                    what: Up::Request { descriptor, place: None },
                },
            };
            self.up.borrow_mut().push(packet);
        }
        self.send_up();
    }
    fn send_up(&self) {
        let now = self.exec.now();
        let mut up = self.up.borrow_mut();
        while up.send(now, |packet, sent| {
            let needs = packet.needs();
            let fetched = match &mut packet.what {
                Up::Message { .. } | Up::Completion(_) => now,
                Up::Request { descriptor, place } => self.fetch(descriptor, place, needs, sent.begins),
            };
            if let Up::Request { descriptor: TlpDescriptor { notice: Some(notice), .. }, .. } = packet.what {
                let at = sent.ends.max(fetched);
                self.sending.borrow_mut().push_back((at, notice));
                self.arm(at, SENT);
            }
            fetched
        }) {}
        if let Some(at) = up.next_arrival() {
            self.arm(at, UP);
        }
    }
    /// The DMA controller fetches the data of a packet. Returns when they have passed the memory's bus.
    fn fetch(
        &self,
        descriptor: &TlpDescriptor,
        place: &mut Option<u16>,
        needs: Credit,
        begins: Instant,
    ) -> Instant {
        let now = self.exec.now();
        let waits = begins.since(now).as_picos();
        let buffer = descriptor.buffer;
        let Some(Gathered { from, bytes, skip }) = descriptor.data else {
            let bytes = || asked_bytes(&descriptor.header);
            self.recorder.emit(now, || Event::DmaStarted { from_host: true, bytes: bytes(), buffer, waits });
            return now;
        };
        let (number, at) = self.root.borrow_mut().take_place(needs);
        *place = Some(number);
        self.dram.borrow_mut().copy_to_sram(from, at + usize::from(skip), bytes as usize);
        self.recorder.emit(now, || Event::DmaStarted { from_host: false, bytes, buffer, waits });
        self.memory.reserve(now, bytes.into())
    }

    fn arrive_up(&self) {
        let now = self.exec.now();
        loop {
            let Some(packet) = self.up.borrow_mut().arrived(now) else { break };
            let needs = packet.needs();
            match packet.what {
                Up::Message { vector } => {
                    self.count(|stats| stats.interrupts += 1);
                    self.host.push(LinkOp::Interrupt { vector });
                    self.free(Class::Posted, needs);
                }
                Up::Request { descriptor, place } => self.request(&descriptor, place, needs),
                Up::Completion(completion) => self.completion_arrived(&completion),
            }
        }
        if let Some(at) = self.up.borrow().next_arrival() {
            self.arm(at, UP);
        }
    }
    fn request(&self, descriptor: &TlpDescriptor, place: Option<u16>, needs: Credit) {
        let header = &descriptor.header[..usize::from(descriptor.header_bytes)];
        let max_payload = self.port.settings().max_payload;
        let kind = (descriptor.epoch, descriptor.content);
        let asked = self.root.borrow_mut().request(header, place, max_payload, kind);
        if let Some(Gathered { bytes, .. }) = descriptor.data {
            self.recorder.emit(self.exec.now(), || Event::DmaFinished { from_host: false, bytes });
            self.count(|stats| stats.to_host += u64::from(bytes));
        }
        match asked {
            Asked::Memory(op) => {
                self.count(|stats| stats.transfers += 1);
                self.host.push(op);
            }
            Asked::Answer(slot) => {
                self.count(|stats| stats.transfers += 1);
                self.answer(slot, true);
                self.send_down();
            }
            Asked::Nothing => {
                let place = place.map(|place| self.root.borrow_mut().free_place(place));
                self.free(if place.is_some() { Class::Posted } else { Class::NonPosted }, needs);
            }
        }
    }
    /// Host memory has carried operations out.
    fn take_answers(&self) {
        while let Some((token, _, result)) = self.host.next_answer() {
            match Root::of_token(token) {
                Ok(place) => {
                    let needs = self.root.borrow_mut().written(place, result.is_ok());
                    self.free(Class::Posted, needs);
                }
                Err(slot) => self.answer(slot, result.is_ok()),
            }
        }
        self.send_down();
    }
    fn answer(&self, slot: u16, good: bool) {
        let (boundary, most) = (self.config.completion_boundary, self.port.settings().max_payload);
        let mut down = self.down.borrow_mut();
        self.root.borrow_mut().answer(slot, good, boundary, most, |answer| {
            down.push(WirePacket {
                class: Class::Completion,
                header: answer.header_bytes.into(),
                data: answer.data.1,
                what: Down::Completion(Part {
                    header: answer.header,
                    header_bytes: answer.header_bytes,
                    data: answer.data,
                    ends: answer.last.then_some(slot),
                }),
            });
        });
    }
    fn send_down(&self) {
        let now = self.exec.now();
        let mut down = self.down.borrow_mut();
        while down.send(now, |packet, _| match packet.what {
            Down::Completion(_) => self.memory.reserve(now, packet.data.into()),
            // The core keeps requests in a buffer of its own.
            Down::Access(_) => now,
        }) {}
        if let Some(at) = down.next_arrival() {
            self.arm(at, DOWN);
        }
    }
    fn arrive_down(&self) {
        let now = self.exec.now();
        loop {
            let Some(packet) = self.down.borrow_mut().arrived(now) else { break };
            let Part { header, header_bytes, data: (at, bytes), ends } = match packet.what {
                Down::Completion(part) => part,
                Down::Access(access) => {
                    self.access_arrived(access);
                    continue;
                }
            };
            let header = &header[..usize::from(header_bytes)];
            if !offload::moves(&self.port, &self.dram, header, at) {
                let dram = self.dram.borrow();
                self.port.receive(header, &dram.sram()[at as usize..(at + bytes) as usize]);
            }
            if let Some(slot) = ends {
                let bytes = self.root.borrow_mut().end_read(slot);
                self.recorder.emit(now, || Event::DmaFinished { from_host: true, bytes });
                self.count(|stats| stats.from_host += u64::from(bytes));
                self.free(Class::NonPosted, Credit::of_packet(0));
            }
        }
        if let Some(at) = self.down.borrow().next_arrival() {
            self.arm(at, DOWN);
        }
    }

    /// The root complex has room again, and says so by UpdateFC. One is on its way at a time.
    fn free(&self, class: Class, more: Credit) {
        if self.room_of_root.add(class, more) {
            self.send_update();
        }
    }
    fn send_update(&self) {
        self.room_of_root.send();
        if self.config.wire.latency == Duration::ZERO {
            return self.take_update();
        }
        self.arm(self.exec.now() + self.config.wire.latency, CREDITS);
    }
    fn take_update(&self) {
        let update = self.room_of_root.take();
        {
            let mut up = self.up.borrow_mut();
            Class::ALL.into_iter().for_each(|class| up.grant(class, update[class.index()]));
        }
        if self.room_of_root.is_due() {
            self.send_update();
        }
        self.send_up();
    }
    fn note_sent(&self) {
        let now = self.exec.now();
        loop {
            let next = self.sending.borrow_mut().pop_front_if(|(at, _)| *at <= now);
            let Some((_, notice)) = next else { break };
            self.port.note_sent(notice);
        }
        if let Some(&(at, _)) = self.sending.borrow().front() {
            self.arm(at, SENT);
        }
    }
}

impl Handler for TlpLink {
    fn fire(&self, token: u64) {
        match token {
            TLP_KICK => return self.take_outgoing(),
            FRONT_ANSWER => return self.take_answers(),
            TLP_FREED => return self.take_freed(),
            LINK_KICK => {
                self.host.pass_requested();
                return;
            }
            _ => {}
        }
        // An earlier timer of this kind may have been armed after a later one.
        if self.armed.0[token as usize].get().is_some_and(|at| at > self.exec.now()) {
            return;
        }
        self.armed.0[token as usize].set(None);
        match token {
            UP => self.arrive_up(),
            DOWN => self.arrive_down(),
            CREDITS => self.take_update(),
            SENT => self.note_sent(),
            CORE_CREDITS => self.take_core_update(),
            OVERDUE => self.give_accesses_up(),
            token => unreachable!("a link of packets has no timer {token}"),
        }
    }
}

mod bars;

#[cfg(test)]
mod tests;
