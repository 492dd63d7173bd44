//! I6: packets between firmware that is the transaction layer and the board's PCIe core (S3, S5, S6).
//!
//! Firmware builds the header of a request in memory and has the core's DMA controller send it together with
//! data from where they are. What comes back, completions, lands in a receive buffer, from which firmware
//! takes one packet after the other. With the completion offload, the core looks into a table that firmware
//! fills before it sends a read, and moves the data of completions to their place itself.
//!
//! A PCIe endpoint grants infinite credits for completions (PCIe 4.0 §2.6.1), so it has to have room before
//! it asks: firmware counts [`RECEIVE_PLACES`].
//!
//! Firmware may also serve the host's accesses to the function by packets: [`HostRequests`] is the buffer in
//! which they land, and the completions that answer them are packets that firmware sends like any other.

mod requests;

pub use requests::{
    HostRequest, HostRequests, NON_POSTED_REQUESTS, POSTED_REQUESTS, Places, REQUEST_DATA, TLP_FREED,
};

use crate::link::{LinkPort, Local};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Exec, HandlerId, WaitCell, WaitQueue};
use aster_units::{Content, Duration};
use core::cell::{Cell, RefCell};

/// Reads that firmware may have outstanding (S6).
pub const TLP_TAGS: u16 = 64;
/// Of these, without Extended Tag Enable: a tag has five bits (PCIe 4.0 §2.2.6.2).
pub const SHORT_TAGS: u16 = 32;
/// Packets that wait for the DMA controller.
pub const DESCRIPTORS: usize = 64;
/// Places of the receive buffer, each for a completion with as many bytes as the smallest read completion
/// boundary. A host may split its answers at every boundary.
pub const RECEIVE_PLACES: u32 = 576;
/// The smallest read completion boundary (PCIe 4.0 §2.3.1.1).
pub const SMALLEST_BOUNDARY: u32 = 64;
/// How long firmware waits for the answer to a read. PCIe 4.0 §2.8 has 50 µs to 50 ms as the default range.
pub const COMPLETION_TIMEOUT: Duration = Duration::from_millis(50);
/// The handler token that says that packets have been sent ([`TlpPort::next_sent`]).
pub const TLP_SENT: u64 = u64::MAX - 2;
/// The handler token that says that firmware has packets to send.
pub const TLP_KICK: u64 = u64::MAX - 3;

/// The places that the answer to a read of `bytes` bytes from `address` on may need.
pub fn receive_places(address: u64, bytes: u32) -> u32 {
    let within = (address % u64::from(SMALLEST_BOUNDARY)) as u32;
    (within + bytes).div_ceil(SMALLEST_BOUNDARY)
}

/// What the host has set in Device Control (PCIe 4.0 §7.5.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpSettings {
    /// Max_Payload_Size in bytes.
    pub max_payload: u32,
    /// Max_Read_Request_Size in bytes.
    pub max_read_request: u32,
    /// Extended Tag Enable.
    pub extended_tags: bool,
}

impl TlpSettings {
    /// What a function has after a reset (PCIe 4.0 §7.5.3.4).
    pub const AFTER_RESET: TlpSettings =
        TlpSettings { max_payload: 128, max_read_request: 512, extended_tags: false };

    /// Reads that may be outstanding.
    pub fn tags(&self) -> u16 {
        if self.extended_tags { TLP_TAGS } else { SHORT_TAGS }
    }
}

/// Data that the DMA controller fetches and puts behind a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gathered {
    /// Where they are.
    pub from: Local,
    /// Bytes.
    pub bytes: u32,
    /// Bytes of the first double word before them, which aren't enabled.
    pub skip: u8,
}

impl Gathered {
    /// Bytes behind the header: whole double words.
    pub fn payload(&self) -> u32 {
        (u32::from(self.skip) + self.bytes).next_multiple_of(4)
    }
}

/// A request that the DMA controller sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpDescriptor {
    /// The header, in network byte order.
    pub header: [u8; 16],
    /// How many bytes of it count: 12 or 16.
    pub header_bytes: u8,
    /// The data of a write; `None` for a read.
    pub data: Option<Gathered>,
    /// The page buffer that the data are from or go to, for events; all ones for the front end's memory.
    pub buffer: u32,
    /// How that buffer keeps its content. Of sectors of which it keeps fingerprints, the packet with the
    /// sector's last byte carries that ([`Buffers::copy_to_sram`](crate::dram::Buffers::copy_to_sram)).
    pub content: Content,
    /// The epoch of the host's memory in which firmware built it ([`TlpPort::epoch`]).
    pub epoch: u32,
    /// What [`TlpPort::next_sent`] returns once it has been sent.
    pub notice: Option<u32>,
}

/// Bytes of a completion's header.
pub const COMPLETION_HEADER: usize = 12;

/// The answer to a read of the host, header and data, as it was built in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpCompletion {
    header: [u8; COMPLETION_HEADER],
    data: [u8; REQUEST_DATA],
    data_bytes: u8,
}

impl TlpCompletion {
    /// A completion of these bytes. Asserts that there is room.
    pub fn new(header: &[u8], data: &[u8]) -> Self {
        let mut all = TlpCompletion {
            header: [0; COMPLETION_HEADER],
            data: [0; REQUEST_DATA],
            data_bytes: data.len() as u8,
        };
        all.header.copy_from_slice(header);
        all.data[..data.len()].copy_from_slice(data);
        all
    }
    /// Its header and its data.
    pub fn parts(&self) -> (&[u8], &[u8]) {
        (&self.header, &self.data[..usize::from(self.data_bytes)])
    }
}

/// What firmware has the core send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outgoing {
    /// A request.
    Request(TlpDescriptor),
    /// The write of a vector's message. The core knows address and data.
    Message {
        /// The vector.
        vector: u16,
    },
    /// The answer to a read of the host.
    Completion(TlpCompletion),
}

/// An entry of the buffer descriptor table (S6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferDescriptor {
    /// Where the first byte of the read goes.
    pub base: Local,
    /// Bytes asked for.
    pub bytes: u32,
    /// Bytes that have been moved there.
    pub offset: u32,
}

/// What has become of the host's requests, where firmware serves them (S3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// Requests that firmware has looked at.
    pub handled: u64,
    /// Reads that it has answered by a completion, with data or without.
    pub answered: u64,
    /// Requests that it would not carry out: reads were answered by Completer Abort, writes dropped.
    pub refused: u64,
    /// Writes that were dropped because their data are known to be wrong.
    pub poisoned: u64,
}

/// What a port has carried since power-on, and what software had to do with it (S7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlpStats {
    /// Packets that firmware has built and the core has sent: requests, messages, completions.
    pub sent: u64,
    /// Packets that have come: completions.
    pub received: u64,
    /// Of these, how many firmware has looked at. The data mover has dealt with the others.
    pub handled: u64,
    /// Times that firmware has copied the data of a completion to their place.
    pub copies: u64,
    /// Bytes that it has copied.
    pub copied_bytes: u64,
    /// Bytes that the data mover has moved.
    pub moved_bytes: u64,
    /// Reads that were answered by Unsupported Request, Completer Abort or poisoned data.
    pub failed: u64,
    /// Reads that were not answered in time.
    pub timed_out: u64,
    /// Completions that belong to no read, or not to where one stands.
    pub unexpected: u64,
    /// The host's requests, if firmware serves them.
    pub requests: Option<RequestStats>,
}

impl TlpStats {
    /// Packets that firmware had in hand: those that it has built and those that it has looked at.
    pub fn touched(&self) -> u64 {
        self.sent + self.handled + self.requests.map_or(0, |requests| requests.handled)
    }
    /// Passes each counter with its name to `each`.
    pub fn each(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("tlp_sent", self.sent);
        each("tlp_received", self.received);
        each("tlp_touched", self.touched());
        each("tlp_copies", self.copies);
        each("tlp_copied_bytes", self.copied_bytes);
        each("tlp_moved_bytes", self.moved_bytes);
        each("tlp_failed_reads", self.failed);
        each("tlp_timed_out_reads", self.timed_out);
        each("tlp_unexpected", self.unexpected);
        if let Some(requests) = self.requests {
            each("tlp_register_requests", requests.handled);
            each("tlp_register_answers", requests.answered);
            each("tlp_register_refused", requests.refused);
            each("tlp_register_poisoned", requests.poisoned);
        }
    }
}

#[derive(Default)]
struct Received {
    order: VecDeque<Vec<u8>>,
    /// Packets' memory for the next ones.
    free: Vec<Vec<u8>>,
}

/// The port between firmware and the PCIe core.
pub struct TlpPort {
    exec: Exec,
    host: Rc<LinkPort>,
    settings: Cell<TlpSettings>,
    outgoing: RefCell<VecDeque<Outgoing>>,
    room: WaitQueue,
    sent: RefCell<VecDeque<u32>>,
    received: RefCell<Received>,
    received_wait: WaitCell,
    table: RefCell<Box<[Option<BufferDescriptor>]>>,
    /// Bit `n`: the read with tag `n` has all its data (S6).
    completed: Cell<u64>,
    completed_wait: WaitCell,
    requests: HostRequests,
    stats: Cell<TlpStats>,
    board: Cell<Option<HandlerId>>,
    firmware: Cell<Option<HandlerId>>,
}

impl TlpPort {
    /// A port to the host whose memory `host` leads to.
    pub fn new(exec: &Exec, host: &Rc<LinkPort>, settings: TlpSettings) -> Rc<Self> {
        Rc::new(TlpPort {
            exec: exec.clone(),
            host: Rc::clone(host),
            settings: Cell::new(settings),
            outgoing: RefCell::new(VecDeque::with_capacity(DESCRIPTORS)),
            room: WaitQueue::default(),
            sent: RefCell::default(),
            received: RefCell::default(),
            received_wait: WaitCell::default(),
            table: RefCell::new(vec![None; usize::from(TLP_TAGS)].into_boxed_slice()),
            completed: Cell::new(0),
            completed_wait: WaitCell::default(),
            requests: HostRequests::new(exec),
            stats: Cell::default(),
            board: Cell::new(None),
            firmware: Cell::new(None),
        })
    }
    /// Connects the PCIe core. The port posts [`TLP_KICK`] to it.
    pub fn attach_board(&self, board: HandlerId) {
        self.board.set(Some(board));
        self.requests.attach_board(board);
    }
    /// Connects firmware's interrupt handler. The port posts [`TLP_SENT`] to it.
    pub fn attach_firmware(&self, firmware: HandlerId) {
        self.firmware.set(Some(firmware));
    }

    /// Firmware: what the host has set. It may change between any two packets.
    pub fn settings(&self) -> TlpSettings {
        self.settings.get()
    }
    /// Firmware: the number of resets that have taken host memory from the drive.
    pub fn epoch(&self) -> u32 {
        self.host.epoch()
    }
    /// Firmware: the drive may no longer access host memory. Packets of epochs up to now have no effect.
    pub fn raise_epoch(&self) {
        self.host.raise_epoch();
    }
    /// Firmware: hands a packet to the DMA controller, and waits for room among its descriptors.
    pub async fn send(&self, packet: Outgoing) {
        self.room.wait(&self.exec, || (self.outgoing.borrow().len() < DESCRIPTORS).then_some(())).await;
        let mut outgoing = self.outgoing.borrow_mut();
        outgoing.push_back(packet);
        if outgoing.len() == 1 {
            self.exec.post(self.board.get().expect("a core is attached when the device is built"), TLP_KICK);
        }
    }
    /// Firmware: the notice of the next packet that has been sent.
    pub fn next_sent(&self) -> Option<u32> {
        self.sent.borrow_mut().pop_front()
    }
    /// Firmware: waits for a packet in the receive buffer.
    pub async fn wait_received(&self) {
        self.received_wait
            .wait(&self.exec, || (!self.received.borrow().order.is_empty()).then_some(()))
            .await;
    }
    /// Firmware: looks at the oldest packet of the receive buffer.
    pub fn with_received<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.received.borrow().order.front().map(|packet| look(packet))
    }
    /// Firmware: frees the place of the oldest packet.
    pub fn drop_received(&self) {
        let mut received = self.received.borrow_mut();
        if let Some(mut packet) = received.order.pop_front() {
            packet.clear();
            received.free.push(packet);
        }
    }
    /// Firmware: says where the data of a read go, before it sends the read.
    pub fn describe(&self, tag: u16, descriptor: BufferDescriptor) {
        let before = self.table.borrow_mut()[usize::from(tag)].replace(descriptor);
        assert_eq!(before, None, "tag {tag} is in use");
    }
    /// Firmware: takes a read's descriptor back. What comes for it from now on lands in the receive buffer.
    pub fn take_descriptor(&self, tag: u16) -> Option<BufferDescriptor> {
        self.table.borrow_mut()[usize::from(tag)].take()
    }
    /// Firmware: waits until the completion bitmap has a bit.
    pub async fn wait_completed(&self) {
        self.completed_wait.wait(&self.exec, || (self.completed.get() != 0).then_some(())).await;
    }
    /// Firmware: reads the completion bitmap and clears it.
    pub fn take_completed(&self) -> u64 {
        self.completed.take()
    }
    /// The host's requests to the function.
    pub fn requests(&self) -> &HostRequests {
        &self.requests
    }
    /// Firmware: counts what it does with the host's requests.
    pub fn count_request(&self, change: impl FnOnce(&mut RequestStats)) {
        self.count(|stats| change(stats.requests.get_or_insert_default()));
    }
    /// What it has carried.
    pub fn stats(&self) -> TlpStats {
        self.stats.get()
    }
    /// Firmware: counts what it does.
    pub fn count(&self, change: impl FnOnce(&mut TlpStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }

    /// Board: the host has written Device Control.
    pub fn set(&self, settings: TlpSettings) {
        self.settings.set(settings);
    }
    /// Board: the next packet to send.
    pub fn next_outgoing(&self) -> Option<Outgoing> {
        let next = self.outgoing.borrow_mut().pop_front()?;
        self.room.wake_one(&self.exec);
        self.count(|stats| stats.sent += 1);
        Some(next)
    }
    /// Board: a packet has been sent.
    pub fn note_sent(&self, notice: u32) {
        let mut sent = self.sent.borrow_mut();
        sent.push_back(notice);
        if sent.len() == 1 {
            let firmware = self.firmware.get().expect("firmware is attached when the device is built");
            self.exec.post(firmware, TLP_SENT);
        }
    }
    /// Board: a packet has arrived, header and data. Asserts that there is room: firmware asks for no more
    /// than it has.
    pub fn receive(&self, header: &[u8], data: &[u8]) {
        let mut received = self.received.borrow_mut();
        assert!(
            received.order.len() < RECEIVE_PLACES as usize,
            "firmware has asked for more than it has room"
        );
        let mut packet = received.free.pop().unwrap_or_default();
        packet.extend_from_slice(header);
        packet.extend_from_slice(data);
        received.order.push_back(packet);
        self.count(|stats| stats.received += 1);
        self.received_wait.wake(&self.exec);
    }
    /// Board: a read's descriptor.
    pub fn descriptor(&self, tag: u16) -> Option<BufferDescriptor> {
        self.table.borrow().get(usize::from(tag)).copied().flatten()
    }
    /// Board: so many more bytes of the read are in their place. With the last one, its descriptor is free,
    /// its bit is set and firmware is told.
    pub fn note_moved(&self, tag: u16, bytes: u32) {
        self.count(|stats| {
            stats.received += 1;
            stats.moved_bytes += u64::from(bytes);
        });
        let mut table = self.table.borrow_mut();
        let place = &mut table[usize::from(tag)];
        let descriptor = place.as_mut().expect("the mover has looked");
        descriptor.offset += bytes;
        if descriptor.offset == descriptor.bytes {
            *place = None;
            self.completed.set(self.completed.get() | 1 << tag);
            self.completed_wait.wake(&self.exec);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_for_the_host_that_splits_most() {
        let places = |address, bytes| receive_places(address, bytes);
        assert_eq!(
            [places(0, 512), places(1, 512), places(63, 2), places(64, 64), places(0, 1)],
            [8, 9, 2, 1, 1]
        );
        let all = u32::from(TLP_TAGS) * receive_places(60, 512);
        assert!(all <= RECEIVE_PLACES, "64 reads of 512 bytes anywhere have room at a time: {all}");
    }
    #[test]
    fn without_extended_tags_there_are_as_many_as_five_bits_count() {
        let with = TlpSettings { max_payload: 128, max_read_request: 512, extended_tags: true };
        assert_eq!((with.tags(), TlpSettings { extended_tags: false, ..with }.tags()), (64, 32));
    }
}
