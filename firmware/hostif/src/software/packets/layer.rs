//! Transfers on their way: what is sent, and what becomes of it.

use super::super::asker::{Asker, Ended, Reader};
use super::super::time::CoreTime;
use super::config::PacketConfig;
use super::parts::{Part, Rest};
use super::reads::{EndedRead, Free, Mover, Read, Reads};
use super::transfers::Transfers;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use aster_events::Function;
use aster_exec::{Exec, HandlerId, WaitCell, WaitQueue};
use aster_ports::dram::SharedDram;
use aster_ports::host::DmaDirection;
use aster_ports::link::{BadAddress, FRONT_ANSWER, LinkOp, Local, Segment};
use aster_ports::tlp::{
    BufferDescriptor, COMPLETION_TIMEOUT, Gathered, Outgoing, TlpDescriptor, TlpPort, receive_places,
};
use aster_units::{Content, Instant, SECTOR_BYTES};
use aster_wire::pcie::tlp::{FunctionId, MemoryRequest, TLP_HEADER_MAX, Tag, TlpHeader};
use core::cell::{Cell, OnceCell, RefCell};

/// The drive's function: the first one of the bus below the root port.
pub(super) const DRIVE: FunctionId = FunctionId(0x0100);
/// Headers that firmware builds before it tells the DMA controller of them.
const HEADERS_AT_ONCE: u64 = 16;
/// Stands for no page buffer in events.
const NO_BUFFER: u32 = u32::MAX;

/// The transport over packets.
pub(in super::super) struct Packets {
    exec: Exec,
    time: CoreTime,
    pub(super) port: Rc<TlpPort>,
    pub(super) memory: SharedDram,
    pub(super) config: PacketConfig,
    pub(super) reads: RefCell<Reads>,
    /// Tasks that wait until it is their turn to send the reads of a transfer.
    turns: WaitQueue,
    /// The numbers of the next task that comes, and of the one whose turn it is.
    turn: Cell<(u64, u64)>,
    /// The task whose turn it is waits for a tag, or for places of the receive buffer.
    room: WaitCell,
    pub(super) transfers: RefCell<Transfers>,
    /// By number of the task.
    readers: Box<[Reader]>,
    ended: RefCell<VecDeque<Ended>>,
    /// Who is told of what has ended, and by which token of what is overdue.
    handler: OnceCell<(HandlerId, u64)>,
    /// The timer for overdue reads runs.
    watched: Cell<bool>,
}

impl Packets {
    /// `operations` transfers at a time over `port`, for `tasks` tasks.
    pub(in super::super) fn new(
        exec: &Exec,
        time: CoreTime,
        (port, memory): (&Rc<TlpPort>, &SharedDram),
        config: PacketConfig,
        operations: usize,
        tasks: usize,
    ) -> Self {
        Packets {
            exec: exec.clone(),
            time,
            port: Rc::clone(port),
            memory: Rc::clone(memory),
            config,
            reads: RefCell::new(Reads::new()),
            turns: WaitQueue::with_capacity(tasks),
            turn: Cell::default(),
            room: WaitCell::default(),
            transfers: RefCell::new(Transfers::new(operations)),
            readers: (0..tasks).map(|_| Reader::default()).collect(),
            ended: RefCell::new(VecDeque::with_capacity(operations)),
            handler: OnceCell::new(),
            watched: Cell::new(false),
        }
    }
    /// Says who is told of what has ended, and by which token to call [`Packets::watch`].
    pub(in super::super) fn attach(&self, handler: HandlerId, watch: u64) {
        assert!(self.handler.set((handler, watch)).is_ok(), "packets have one handler");
        self.port.attach_firmware(handler);
    }
    fn handler(&self) -> (HandlerId, u64) {
        *self.handler.get().expect("attached before any task runs")
    }
    /// How packets are sent.
    pub(in super::super) fn config(&self) -> PacketConfig {
        self.config
    }
    pub(super) async fn spend(&self, cycles: u64) {
        self.time.spend(Function::TransactionLayer, cycles).await;
    }

    /// See [`Transport::begin`](super::super::transport::Transport::begin).
    pub(in super::super) async fn begin(&self, op: LinkOp) {
        let LinkOp::Dma { direction, local, segments, count, .. } = op else {
            unreachable!("a message is no DMA")
        };
        let segments = &segments[..usize::from(count)];
        self.transfer(Asker::Controller(op), direction, local, segments).await;
    }
    /// See [`Transport::read`](super::super::transport::Transport::read).
    pub(in super::super) async fn read(
        &self,
        task: u32,
        from: Segment,
        local: Local,
    ) -> Result<(), BadAddress> {
        self.transfer(Asker::Task(task), DmaDirection::FromHost, local, &[from]).await;
        self.readers[task as usize].wait(&self.exec).await
    }
    /// See [`Transport::message`](super::super::transport::Transport::message). It is a write of what the
    /// host has configured, which the board knows.
    pub(in super::super) async fn message(&self, vector: u16) {
        self.spend(self.config.costs.build).await;
        self.port.send(Outgoing::Message { vector }).await;
    }

    /// Sends all packets of a transfer.
    async fn transfer(&self, asker: Asker, direction: DmaDirection, local: Local, segments: &[Segment]) {
        let transfer = self.transfers.borrow_mut().begin(asker, self.port.epoch());
        let content = self.content_of(local);
        let good = is_whole(content, local, segments)
            && match direction {
                DmaDirection::ToHost => self.send_writes(transfer, content, local, segments).await,
                DmaDirection::FromHost => self.send_reads(transfer, content, local, segments).await,
            };
        self.close(transfer, good);
    }
    fn content_of(&self, local: Local) -> Content {
        match local {
            Local::Buffer { buffer, .. } => self.memory.borrow().content_of(buffer),
            Local::Sram { .. } | Local::Tag { .. } => Content::Full,
        }
    }
    async fn send_writes(&self, transfer: u32, content: Content, local: Local, segments: &[Segment]) -> bool {
        let (mut rest, epoch) = (Rest::new(segments, local), self.transfers.borrow_mut().epoch(transfer));
        while !rest.is_over() {
            let headers = rest.count(self.port.settings().max_payload, HEADERS_AT_ONCE);
            self.spend(headers * self.config.costs.build).await;
            for _ in 0..headers {
                let Some(part) = rest.next(self.port.settings().max_payload) else { break };
                let notice = rest.is_over().then_some(transfer);
                if notice.is_some() {
                    self.transfers.borrow_mut().open(transfer);
                }
                let skip = (part.request.address % 4) as u8;
                let data = Gathered { from: part.place, bytes: part.request.bytes, skip };
                let packet =
                    TlpDescriptor { notice, data: Some(data), ..request(0, part, content, epoch, true) };
                self.port.send(Outgoing::Request(packet)).await;
            }
        }
        true
    }
    /// Transfers ask for tags in the order in which they come, one after the other. Otherwise whoever is at
    /// work when several tags become free would take them all, and another transfer wait for many.
    async fn send_reads(&self, transfer: u32, content: Content, local: Local, segments: &[Segment]) -> bool {
        let (mine, now) = self.turn.get();
        self.turn.set((mine + 1, now));
        self.turns.wait(&self.exec, || (self.turn.get().1 == mine).then_some(())).await;
        let good = self.send_reads_in_turn(transfer, content, local, segments).await;
        let (next, now) = self.turn.get();
        self.turn.set((next, now + 1));
        self.turns.wake_one(&self.exec);
        good
    }
    async fn send_reads_in_turn(
        &self,
        transfer: u32,
        content: Content,
        local: Local,
        segments: &[Segment],
    ) -> bool {
        let (mut rest, epoch) = (Rest::new(segments, local), self.transfers.borrow_mut().epoch(transfer));
        let costs = &self.config.costs;
        let each = costs.build + if self.config.offload { costs.describe } else { 0 };
        while !rest.is_over() {
            let headers = rest.count(self.port.settings().max_read_request, HEADERS_AT_ONCE);
            self.spend(headers * each).await;
            for _ in 0..headers {
                let Some(part) = rest.next(self.port.settings().max_read_request) else { break };
                let Some(tag) = self.take_tag(transfer, part).await else { return false };
                let packet = request(tag, part, content, epoch, false);
                self.port.send(Outgoing::Request(packet)).await;
                self.reads.borrow_mut().sent(tag, self.exec.now());
            }
        }
        true
    }
    /// Waits for a tag and room for the answer, and begins a read with them. The task that waits holds tags
    /// only of reads that have been sent, which end without it, so it doesn't wait for ever. `None` once the
    /// host's memory is no longer the drive's, or no read will end.
    async fn take_tag(&self, transfer: u32, part: Part) -> Option<u16> {
        let Part { request, place } = part;
        let places = receive_places(request.address, request.bytes);
        let epoch = self.transfers.borrow_mut().epoch(transfer);
        let free = || match self.reads.borrow().free(self.port.settings().tags(), places) {
            _ if epoch != self.port.epoch() => Some(None),
            Free::Tag(tag) => Some(Some(tag)),
            Free::Later => None,
            Free::Never => Some(None),
        };
        let tag = self.room.wait(&self.exec, free).await?;
        let mover = if self.config.offload { Mover::Board } else { Mover::Firmware };
        let (address, bytes, since) = (request.address, request.bytes, self.exec.now());
        let read = Read { transfer, place, address, bytes, places, since, mover };
        self.reads.borrow_mut().begin(tag, read);
        self.transfers.borrow_mut().open(transfer);
        if mover == Mover::Board {
            self.port.describe(tag, BufferDescriptor { base: place, bytes, offset: 0 });
        }
        self.watch_from(since);
        Some(tag)
    }

    /// The core has sent packets.
    pub(in super::super) fn take_sent(&self) {
        while let Some(transfer) = self.port.next_sent() {
            self.close(transfer, true);
        }
    }
    /// A packet of a transfer has ended.
    fn close(&self, transfer: u32, good: bool) {
        let Some((asker, good, epoch)) = self.transfers.borrow_mut().close(transfer, good) else { return };
        let good = good && epoch == self.port.epoch();
        let result = if good { Ok(()) } else { Err(BadAddress(0)) };
        match asker {
            Asker::Task(task) => self.readers[task as usize].answer(&self.exec, result),
            Asker::Controller(op) => {
                let mut ended = self.ended.borrow_mut();
                ended.push_back(Ended { op, result });
                if ended.len() == 1 {
                    self.exec.post(self.handler().0, FRONT_ANSWER);
                }
            }
        }
    }
    /// See [`Transport::next_ended`](super::super::transport::Transport::next_ended).
    pub(in super::super) fn next_ended(&self) -> Option<Ended> {
        self.ended.borrow_mut().pop_front()
    }
    /// A read has ended, and its tag is free.
    pub(super) fn end_read(&self, ended: EndedRead) {
        self.room.wake(&self.exec);
        if !ended.good && !ended.lost {
            self.port.count(|stats| stats.failed += 1);
        }
        if !ended.lost {
            self.close(ended.transfer, ended.good);
        }
    }

    /// Takes the descriptor of a read back, if the board hasn't moved all its data yet.
    pub(super) fn take_over(&self, tag: u16) -> bool {
        let Some(descriptor) = self.port.take_descriptor(tag) else { return false };
        self.reads.borrow_mut().take_over(tag, descriptor.offset);
        true
    }
    /// See [`Transport::forget_host`](super::super::transport::Transport::forget_host).
    pub(in super::super) fn forget_host(&self) {
        self.port.raise_epoch();
        let tags = self.reads.borrow().of_board();
        for tag in tags {
            self.take_over(tag);
        }
    }

    /// Runs the timer for overdue reads, if it doesn't run.
    fn watch_from(&self, since: Instant) {
        if !self.watched.replace(true) {
            let (handler, token) = self.handler();
            self.exec.schedule(since + COMPLETION_TIMEOUT, handler, token);
        }
    }
    /// Gives up reads that are overdue.
    pub(in super::super) fn watch(&self) {
        let now = self.exec.now();
        self.watched.set(false);
        loop {
            let late = self.reads.borrow().overdue(now);
            let Some(tag) = late else { break };
            let of_board = self.reads.borrow().get(tag).is_some_and(|read| read.mover == Mover::Board);
            if of_board && !self.take_over(tag) {
                // All data are there, and the notice is on its way.
                self.reads.borrow_mut().sent(tag, now);
                continue;
            }
            let transfer = self.reads.borrow_mut().give_up(tag);
            self.port.count(|stats| stats.timed_out += 1);
            self.close(transfer, false);
            // Whoever waits finds out that there may never be a tag.
            self.room.wake(&self.exec);
        }
        let next = self.reads.borrow().next_overdue();
        if let Some(at) = next {
            self.watched.set(true);
            let (handler, token) = self.handler();
            self.exec.schedule(at.max(now), handler, token);
        }
    }
}

/// Whether a transfer is of whole sectors where only their fingerprints are kept.
fn is_whole(content: Content, local: Local, segments: &[Segment]) -> bool {
    let whole = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES as u64);
    let at = match local {
        Local::Buffer { offset, .. } | Local::Sram { offset } | Local::Tag { offset } => offset,
    };
    let all = || segments.iter().all(|segment| whole(segment.address) && whole(segment.length.into()));
    content == Content::Full || whole(at.into()) && all()
}

/// The header of a request, as the DMA controller gets it.
fn request(tag: u16, part: Part, content: Content, epoch: u32, write: bool) -> TlpDescriptor {
    let Part { request, place } = part;
    let memory = MemoryRequest::of_memory(write, DRIVE, Tag::new(tag), request.address, request.bytes);
    let mut header = [0; TLP_HEADER_MAX];
    let header_bytes = TlpHeader::Memory(memory).encode(&mut header) as u8;
    let buffer = match place {
        Local::Buffer { buffer, .. } => buffer.0,
        Local::Sram { .. } | Local::Tag { .. } => NO_BUFFER,
    };
    TlpDescriptor { header, header_bytes, data: None, buffer, content, epoch, notice: None }
}
