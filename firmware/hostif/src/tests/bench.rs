//! A test bench: host memory, link, FTL, and the few driver habits that the tests need.

use crate::config::{BlockSize, Fetching};
use crate::software::{HostWay, PacketConfig, PacketCosts, SoftwareCosts, SoftwareFrontEnd, with_workers};
use crate::{HostIfConfig, Nvm, NvmeFrontEnd};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_board::{TlpLink, TlpLinkConfig, WireConfig};
use aster_events::Recorder;
use aster_exec::{Core, Exec, Handler};
use aster_parties::{CommandSet, History};
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::host::{
    CommandPort, Completion, DmaDirection, DmaPart, DmaRequest, HostCommand, HostOp, HostStatus, VectorMode,
};
use aster_ports::link::{BadAddress, HostMemory, LinkOp, LinkPort, carry_out};
use aster_ports::resource::Bandwidth;
use aster_ports::tlp::{TlpPort, TlpSettings};
use aster_units::{BufferId, Content, Duration, Frequency, Instant};
use aster_wire::nvme::admin::{
    AdminCommand, CreateCqDword11, CreateIoCq, CreateIoSq, CreateSqDword11, QueueDword10,
};
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cc, Csts, Doorbell, DoorbellKind, Register};
use aster_wire::nvme::{Cqe, Sqe, Status};
use core::cell::{Cell, RefCell};
use core::marker::PhantomData;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of host memory, from address 0.
pub const HOST_BYTES: usize = 8 << 20;
/// Bytes of the namespace.
pub const NAMESPACE_BYTES: u64 = 4 << 20;
/// Bytes of a page buffer.
const BUFFER_BYTES: u64 = 16 << 10;
/// Page buffers, taken in turn.
const BUFFERS: u32 = 64;
/// Where queues lie in host memory: 64 KiB each, with submission queue `q` at index `2 q`.
const QUEUES_AT: u64 = 0x1_0000;
/// A link of packets without latency.
const PACKET_LINK: TlpLinkConfig = TlpLinkConfig {
    wire: WireConfig { bytes_per_second: 0, latency: Duration::ZERO, framing: 0 },
    max_payload: 256,
    completion_boundary: 64,
};
/// What the host has set for them.
const PACKET_SETTINGS: TlpSettings =
    TlpSettings { max_payload: 256, max_read_request: 512, extended_tags: true };
/// Where data may lie without overlapping the queues of tests that use few.
pub const DATA: u64 = 0x20_0000;

pub fn config() -> HostIfConfig {
    HostIfConfig {
        queue_pairs: 4,
        queue_entries: 1024,
        slots: 32,
        dma_requests: 64,
        transfer_pages_log2: 8,
        serial: "S0".into(),
        model: "Bench".into(),
        firmware_revision: "1.0".into(),
        vendor_id: 0x1234,
        subsystem_vendor_id: 0x5678,
        ieee_oui: [1, 2, 3],
        namespace_bytes: NAMESPACE_BYTES,
        preferred_writes: None,
        offers_512: true,
        block_size: BlockSize::Bytes512,
        volatile_write_cache: true,
        weighted_round_robin: false,
        arbitration_burst_log2: 7,
        fetch_batch: 8,
        fetching: Fetching::Arbiter,
        vectors: 5,
        fetch_latency: Duration::ZERO,
        completion_latency: Duration::ZERO,
        transfer_latency: Duration::ZERO,
        auto_completion: false,
        media_errors_max: 2,
        warning_kelvins: 343,
        critical_kelvins: 353,
        history: History::default(),
    }
}

pub struct Memory(pub Vec<u8>);

impl Memory {
    fn range(&self, address: u64, bytes: usize) -> Result<core::ops::Range<usize>, BadAddress> {
        let start = usize::try_from(address).map_err(|_| BadAddress(address))?;
        let end = start.checked_add(bytes).filter(|&end| end <= self.0.len());
        end.map(|end| start..end).ok_or(BadAddress(address))
    }
}

impl HostMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        into.copy_from_slice(&self.0[self.range(address, into.len())?]);
        Ok(())
    }
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let range = self.range(address, from.len())?;
        self.0[range].copy_from_slice(from);
        Ok(())
    }
}

/// A link without latency: every request can be carried out at once.
struct Link(Rc<LinkPort>);

impl Handler for Link {
    fn fire(&self, _token: u64) {
        self.0.pass_requested();
    }
}

/// An FTL over a byte vector. Commands wait while it is paused.
pub struct Ftl {
    exec: Exec,
    pub port: Rc<CommandPort>,
    dram: SharedDram,
    pub disk: RefCell<Vec<u8>>,
    pub seen: RefCell<Vec<HostCommand>>,
    pub outcome: Cell<HostStatus>,
    pub failed_at: Cell<Option<u64>>,
    pub paused: Cell<bool>,
    /// Time from the end of a command's work to its completion.
    pub lingers: Cell<Duration>,
    /// Offset of the lost byte of a read's data.
    pub lost: Cell<Option<u64>>,
    next_buffer: Cell<u32>,
    /// Metadata written with each unit.
    pub metadata: RefCell<BTreeMap<u64, Vec<u8>>>,
    /// State of each unit as vectors report it.
    pub states: RefCell<BTreeMap<u64, u8>>,
    /// The unit at which vectors fail.
    pub broken: Cell<Option<u64>>,
}

/// Metadata bytes per unit in the tests' vectors.
pub const METADATA_BYTES: u32 = 16;

impl Ftl {
    async fn serve(self: Rc<Self>) {
        loop {
            let command = self.port.next_command().await;
            while self.paused.get() {
                self.exec.sleep(Duration::from_micros(1)).await;
            }
            self.seen.borrow_mut().push(command);
            let (status, result) = match self.outcome.get() {
                HostStatus::Success if command.op.has_addresses() => self.vector(command).await,
                HostStatus::Success => (self.execute(command).await, 0),
                other => (other, 0),
            };
            if !self.lingers.get().is_zero() {
                self.exec.sleep(self.lingers.get()).await;
            }
            let failed_at = self.failed_at.get();
            self.port.complete(Completion { result, failed_at, ..Completion::new(command.id, status) });
        }
    }

    async fn execute(&self, command: HostCommand) -> HostStatus {
        let span = |offset: u64, length: u64| offset as usize..(offset + length) as usize;
        match command.op {
            HostOp::Read | HostOp::Write | HostOp::Compare => return self.transfer(command).await,
            HostOp::WriteZeroes { .. } => {
                self.disk.borrow_mut()[span(command.offset, command.length)].fill(0);
            }
            HostOp::Deallocate => {
                let ranges = (0..).map_while(|index| self.port.range(command.id, index));
                for range in ranges {
                    self.disk.borrow_mut()[span(range.offset, range.length)].fill(0);
                }
            }
            HostOp::Format { .. } => self.disk.borrow_mut().fill(0),
            HostOp::Flush | HostOp::Shutdown => {}
            _ => unreachable!("a vector"),
        }
        HostStatus::Success
    }

    /// Carries out a command that lists its units. Returns the status and a bit for each unit that failed.
    async fn vector(&self, command: HostCommand) -> (HostStatus, u64) {
        let addresses: Vec<_> = (0..).map_while(|n| self.port.address(command.id, n)).map(|a| a.0).collect();
        assert_eq!(addresses.len(), self.port.address_count(command.id));
        match command.op {
            HostOp::Report(_) => {
                let from = addresses[0] + command.offset;
                let bytes = {
                    let states = self.states.borrow();
                    let state = |n| states.get(&n).copied().unwrap_or_default();
                    (from..from + command.length).map(state).collect::<Vec<_>>()
                };
                self.dram.borrow_mut().page_mut(BufferId(0))[..bytes.len()].copy_from_slice(&bytes);
                let moved = self.move_part(&command, DmaPart::Data, 0, bytes.len() as u32).await;
                return (if moved { HostStatus::Success } else { HostStatus::DataTransfer }, 0);
            }
            HostOp::SetBlockState(state) => {
                self.states.borrow_mut().extend(addresses.iter().map(|&unit| (unit, state as u8)));
                return (HostStatus::Success, 0);
            }
            HostOp::VectorCopy => {
                let (from, to) = addresses.split_at(addresses.len() / 2);
                let mut metadata = self.metadata.borrow_mut();
                for (from, to) in from.iter().zip(to) {
                    let copied = metadata.get(from).cloned().unwrap_or_default();
                    metadata.insert(*to, copied);
                }
                return (HostStatus::Success, 0);
            }
            _ => {}
        }
        let mut failed = 0;
        for (n, &unit) in addresses.iter().enumerate() {
            if self.broken.get() == Some(unit) {
                failed |= 1 << n;
                continue;
            }
            if command.op == HostOp::VectorErase(VectorMode::default()) {
                self.metadata.borrow_mut().remove(&unit);
            } else if !self.move_unit(&command, n as u32, unit, addresses.len() as u32).await {
                return (HostStatus::DataTransfer, failed);
            }
        }
        (if failed == 0 { HostStatus::Success } else { HostStatus::UnrecoveredRead }, failed)
    }
    /// Moves data and metadata of a unit through buffer 0.
    async fn move_unit(&self, command: &HostCommand, n: u32, unit: u64, units: u32) -> bool {
        let bytes = command.length as u32 / units;
        let at = unit as usize * bytes as usize..(unit as usize + 1) * bytes as usize;
        let reads = matches!(command.op, HostOp::VectorRead(_));
        if reads {
            let disk = self.disk.borrow();
            self.dram.borrow_mut().page_mut(BufferId(0))[..bytes as usize].copy_from_slice(&disk[at.clone()]);
        }
        if !self.move_part(command, DmaPart::Data, n * bytes, bytes).await {
            return false;
        }
        if reads {
            let beside = self.metadata.borrow().get(&unit).cloned().unwrap_or_default();
            self.dram.borrow_mut().page_mut(BufferId(0))[..beside.len()].copy_from_slice(&beside);
        } else {
            let dram = self.dram.borrow();
            self.disk.borrow_mut()[at].copy_from_slice(&dram.page(BufferId(0))[..bytes as usize]);
        }
        if !self.move_part(command, DmaPart::Metadata, n * METADATA_BYTES, METADATA_BYTES).await {
            return false;
        }
        if !reads {
            let beside = self.dram.borrow().page(BufferId(0))[..METADATA_BYTES as usize].to_vec();
            self.metadata.borrow_mut().insert(unit, beside);
        }
        true
    }
    async fn move_part(&self, command: &HostCommand, part: DmaPart, offset: u32, length: u32) -> bool {
        let to_host = matches!(command.op, HostOp::VectorRead(_) | HostOp::Report(_));
        let direction = if to_host { DmaDirection::ToHost } else { DmaDirection::FromHost };
        let buffer = BufferId(0);
        let request = DmaRequest {
            command: command.id,
            direction,
            part,
            offset,
            buffer,
            buffer_offset: 0,
            length,
            after: None,
        };
        self.port.dma(request).await.is_ok()
    }

    async fn transfer(&self, command: HostCommand) -> HostStatus {
        let mut done = 0;
        while done < command.length {
            // Parts end at mapping units, as a real FTL's do. So page buffers may begin anywhere.
            let at = command.offset + done;
            let within = at % BUFFER_BYTES;
            let length = (BUFFER_BYTES - within).min(command.length - done);
            let buffer = BufferId(self.next_buffer.get());
            self.next_buffer.set((buffer.0 + 1) % BUFFERS);
            let piece = at as usize..(at + length) as usize;
            let inside = within as usize..(within + length) as usize;
            let reads = command.op == HostOp::Read;
            if reads && self.lost.get().is_some_and(|lost| (done..done + length).contains(&lost)) {
                return HostStatus::UnrecoveredRead;
            }
            if reads {
                let disk = self.disk.borrow();
                self.dram.borrow_mut().page_mut(buffer)[inside.clone()].copy_from_slice(&disk[piece.clone()]);
            }
            let request = DmaRequest {
                command: command.id,
                direction: if reads { DmaDirection::ToHost } else { DmaDirection::FromHost },
                part: DmaPart::Data,
                offset: done as u32,
                buffer,
                buffer_offset: within as u32,
                length: length as u32,
                after: None,
            };
            match self.port.dma(request).await {
                Ok(()) => {}
                Err(aster_ports::host::DmaError::Aborted | aster_ports::host::DmaError::Abandoned) => {
                    return HostStatus::Aborted;
                }
                Err(aster_ports::host::DmaError::Address) => return HostStatus::DataTransfer,
            }
            let dram = self.dram.borrow();
            let bytes = &dram.page(buffer)[inside];
            let mut disk = self.disk.borrow_mut();
            match command.op {
                HostOp::Write => disk[piece].copy_from_slice(bytes),
                HostOp::Compare if &disk[piece.clone()] != bytes => return HostStatus::CompareFailure,
                _ => {}
            }
            done += length;
        }
        HostStatus::Success
    }
}

/// One queue pair as a driver sees it.
#[derive(Clone, Copy)]
struct Pair {
    entries: u32,
    tail: u32,
    head: u32,
    phase: bool,
}

/// What is between the controller and the host.
pub trait Way {
    /// Firmware sends packets, and the board moves the data of completions if this says so.
    const PACKETS: Option<bool>;
}

/// Operations of the link.
pub struct Operations;
impl Way for Operations {
    const PACKETS: Option<bool> = None;
}

/// A controller behind operations of the link.
pub type Bench = BenchOver<Operations>;

/// A controller with everything around it.
pub struct BenchOver<W: Way> {
    pub exec: Exec,
    pub front: Rc<NvmeFrontEnd>,
    /// The workers before the controller, if they fetch.
    pub software: Option<Rc<SoftwareFrontEnd>>,
    pub ftl: Rc<Ftl>,
    pub memory: Memory,
    pub dram: SharedDram,
    pub recorder: Recorder,
    pub interrupts: Vec<u16>,
    /// While set, link operations stay in the outbox.
    pub hold_link: bool,
    link: Rc<LinkPort>,
    aside: Vec<LinkOp>,
    pairs: Vec<Pair>,
    next_cid: u16,
    /// Entries taken from completion queues that no test has asked for yet.
    taken: VecDeque<Cqe>,
    way: PhantomData<W>,
}

impl<W: Way> BenchOver<W> {
    /// Whether the drive hears that a write has not reached memory. Packets that write are posted.
    pub fn writes_are_answered() -> bool {
        W::PACKETS.is_none()
    }
    /// A drive after its first power-on.
    pub fn new(config: HostIfConfig) -> Self {
        Self::with_set(config, Box::new(Nvm::default()))
    }
    /// A drive after its first power-on, with another command set.
    pub fn with_set(config: HostIfConfig, set: Box<dyn CommandSet>) -> Self {
        let exec = Exec::new();
        let link = LinkPort::new(&exec, 2 * config.link_operations() + 65 * 64);
        let port = config.command_port(&exec);
        let buffers_at = config.sram_bytes().next_multiple_of(8);
        let sram_bytes = buffers_at + TlpLink::sram_bytes(&PACKET_LINK);
        let dram = Dram::new(Content::Full, 4, 0, BUFFERS, 0, sram_bytes);
        let namespace_bytes = config.namespace_bytes as usize;
        let recorder = Recorder::default();
        let packets = W::PACKETS.map(|_| {
            let packets = TlpPort::new(&exec, &link, PACKET_SETTINGS);
            let (ports, buffers) = ((&packets, &link), (&dram, buffers_at));
            TlpLink::start(&exec, ports, PACKET_LINK, buffers, Bandwidth::new(0), &recorder);
            packets
        });
        if packets.is_none() {
            link.attach_link(exec.register(Rc::new(Link(link.clone()))));
        }
        let (start, settings) = (&exec, config.clone());
        let controller =
            |link: &Rc<LinkPort>| NvmeFrontEnd::start(start, config, set, link, &port, &dram, &recorder);
        let (front, software) = match settings.fetching {
            Fetching::Arbiter => (controller(&link).unwrap(), None),
            Fetching::ByWorkers => {
                let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).expect("not zero"));
                let costs = SoftwareCosts::default();
                let way = match (&packets, W::PACKETS) {
                    (Some(port), Some(offload)) => {
                        let config =
                            PacketConfig { offload, registers: false, costs: PacketCosts::default() };
                        HostWay::Packets { port, memory: &dram, config }
                    }
                    _ => HostWay::Operations(&link),
                };
                let software = with_workers(&settings, costs, &core, way, &recorder, controller).unwrap();
                (software.front.clone(), Some(software))
            }
        };
        let ftl = Rc::new(Ftl {
            exec: exec.clone(),
            port,
            dram: dram.clone(),
            disk: RefCell::new(vec![0; namespace_bytes]),
            seen: RefCell::default(),
            outcome: Cell::new(HostStatus::Success),
            failed_at: Cell::new(None),
            paused: Cell::new(false),
            lingers: Cell::new(Duration::ZERO),
            lost: Cell::new(None),
            next_buffer: Cell::new(0),
            metadata: RefCell::default(),
            states: RefCell::default(),
            broken: Cell::new(None),
        });
        for _ in 0..8 {
            exec.spawn(ftl.clone().serve());
        }
        let pair = Pair { entries: 0, tail: 0, head: 0, phase: true };
        BenchOver {
            exec,
            front,
            software,
            ftl,
            memory: Memory(vec![0; HOST_BYTES]),
            dram,
            recorder,
            interrupts: Vec::new(),
            hold_link: false,
            link,
            aside: Vec::new(),
            pairs: vec![pair; 65],
            next_cid: 0,
            taken: VecDeque::new(),
            way: PhantomData,
        }
    }
    /// A controller that is enabled, with I/O queue pair 1 of 64 entries.
    pub fn ready(config: HostIfConfig) -> Self {
        let mut bench = Self::new(config);
        bench.enable();
        bench.create_pair(1, 64);
        bench
    }

    // ---- registers ----

    pub fn read(&self, register: Register) -> u64 {
        self.front.mmio_read(register.offset() as u32, register.bytes() as u8)
    }
    pub fn write(&mut self, register: Register, value: u64) {
        self.front.mmio_write(register.offset() as u32, register.bytes() as u8, value);
        self.run();
    }
    pub fn csts(&self) -> Csts {
        Csts(self.read(Register::Status) as u32)
    }
    pub fn cc(&self) -> Cc {
        Cc(0).with_en(true).with_iosqes(6).with_iocqes(4)
    }
    pub fn submission_at(queue: u16) -> u64 {
        QUEUES_AT + 2 * u64::from(queue) * 0x2000
    }
    pub fn completion_at(queue: u16) -> u64 {
        Self::submission_at(queue) + 0x2000
    }
    pub fn set_admin_queues(&mut self, entries: u16) {
        self.write(Register::AdminQueueAttributes, Aqa::of(entries, entries).0.into());
        self.write(Register::AdminSubmissionQueue, AdminQueueBase(Self::submission_at(0)).0);
        self.write(Register::AdminCompletionQueue, AdminQueueBase(Self::completion_at(0)).0);
        self.forget_pair(0, entries.into());
    }
    pub fn enable(&mut self) {
        self.set_admin_queues(32);
        self.write(Register::Configuration, self.cc().0.into());
        assert!(self.csts().rdy(), "{:?}", self.csts());
    }
    pub fn disable(&mut self) {
        self.write(Register::Configuration, self.cc().with_en(false).0.into());
    }
    pub fn doorbell(&mut self, queue: u16, kind: DoorbellKind, value: u32) {
        self.front.mmio_write(Doorbell { queue, kind }.offset(0) as u32, 4, value.into());
    }

    // ---- time ----

    /// Lets 100 µs pass.
    pub fn run(&mut self) {
        self.run_for(Duration::from_micros(100));
    }
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.exec.now() + duration;
        while self.exec.next_deadline().is_some_and(|at| at <= end) {
            let at = self.exec.next_deadline().unwrap_or(Instant::ZERO);
            self.exec.advance_to(at);
            self.carry_out_all();
        }
        self.exec.advance_to(end);
    }
    fn carry_out_all(&mut self) {
        while !self.hold_link && self.carry_out_one() {}
    }
    /// Carries out the next link operation, whether or not the link is held.
    pub fn carry_out_one(&mut self) -> bool {
        let next = self.link.next_out();
        next.iter().for_each(|op| self.carry_out(op));
        next.is_some()
    }
    fn carry_out(&mut self, op: &LinkOp) {
        if let LinkOp::Interrupt { vector } = op {
            self.interrupts.push(*vector);
        }
        let result = carry_out(op, &mut self.memory, &self.dram);
        self.link.done(op, result);
    }
    /// Sets the next link operation aside, so that later ones overtake it.
    pub fn set_one_aside(&mut self) {
        self.aside.extend(self.link.next_out());
    }
    /// Carries out the link operations held back and holds none from now on.
    pub fn release_link(&mut self) {
        self.hold_link = false;
        for op in core::mem::take(&mut self.aside) {
            self.carry_out(&op);
        }
        self.carry_out_all();
        self.run();
    }

    // ---- queues ----

    pub fn forget_pair(&mut self, queue: u16, entries: u32) {
        self.pairs[usize::from(queue)] = Pair { entries, tail: 0, head: 0, phase: true };
        let at = Self::completion_at(queue) as usize;
        self.memory.0[at..at + entries as usize * 16].fill(0);
    }
    /// Writes an entry without ringing the doorbell.
    pub fn push(&mut self, queue: u16, sqe: Sqe) -> u16 {
        self.next_cid = self.next_cid.wrapping_add(1);
        let pair = &mut self.pairs[usize::from(queue)];
        let at = Self::submission_at(queue) as usize + pair.tail as usize * 64;
        self.memory.0[at..at + 64].copy_from_slice(sqe.with_cid(self.next_cid).as_bytes());
        pair.tail = (pair.tail + 1) % pair.entries;
        self.next_cid
    }
    /// Sets the next command's identifier.
    pub fn next_identifier(&mut self, cid: u16) {
        self.next_cid = cid.wrapping_sub(1);
    }
    pub fn ring(&mut self, queue: u16) {
        let tail = self.pairs[usize::from(queue)].tail;
        self.doorbell(queue, DoorbellKind::SubmissionTail, tail);
    }
    /// Takes new completion entries of a queue; rings its doorbell if asked.
    pub fn reap(&mut self, queue: u16, ring: bool) -> usize {
        let mut count = 0;
        loop {
            let pair = &mut self.pairs[usize::from(queue)];
            let at = Self::completion_at(queue) as usize + pair.head as usize * 16;
            let entry = Cqe::read_from_bytes(&self.memory.0[at..at + 16]).unwrap();
            if entry.phase() != pair.phase {
                break;
            }
            pair.head += 1;
            if pair.head == pair.entries {
                (pair.head, pair.phase) = (0, !pair.phase);
            }
            self.taken.push_back(entry);
            count += 1;
        }
        if ring && count > 0 {
            let head = self.pairs[usize::from(queue)].head;
            self.doorbell(queue, DoorbellKind::CompletionHead, head);
            self.run();
        }
        count
    }
    /// The completion of a command, if it has come.
    pub fn completion(&mut self, queue: u16, cid: u16) -> Option<Cqe> {
        self.reap(queue, true);
        let index = self.taken.iter().position(|e| e.cid.get() == cid && e.sq_id.get() == queue)?;
        self.taken.remove(index)
    }
    /// Sends a command and waits for its completion.
    pub fn send(&mut self, queue: u16, sqe: Sqe) -> Cqe {
        let cid = self.push(queue, sqe);
        self.ring(queue);
        self.run();
        self.completion(queue, cid).expect("a completion")
    }
    pub fn status(&mut self, queue: u16, sqe: Sqe) -> Status {
        self.send(queue, sqe).status()
    }
    pub fn create_cq(queue: u16, entries: u32, vector: u16) -> Sqe {
        let control = CreateCqDword11(0)
            .with_contiguous(true)
            .with_interrupts_enabled(true)
            .with_interrupt_vector(vector);
        let queue_field = QueueDword10::of(queue, entries);
        AdminCommand::CreateIoCq(CreateIoCq { queue: queue_field, control }).to_sqe(
            0,
            0,
            Self::completion_at(queue),
            0,
        )
    }
    pub fn create_sq(queue: u16, entries: u32, completion: u16) -> Sqe {
        let control = CreateSqDword11(0).with_contiguous(true).with_completion_queue_id(completion);
        let queue_field = QueueDword10::of(queue, entries);
        AdminCommand::CreateIoSq(CreateIoSq { queue: queue_field, control, nvm_set: 0 }).to_sqe(
            0,
            0,
            Self::submission_at(queue),
            0,
        )
    }
    pub fn create_pair(&mut self, queue: u16, entries: u32) {
        self.forget_pair(queue, entries);
        assert!(self.status(0, Self::create_cq(queue, entries, queue)).is_success());
        assert!(self.status(0, Self::create_sq(queue, entries, queue)).is_success());
    }

    // ---- admin data ----

    /// The 4 KiB that the last admin command brought.
    pub fn page(&self) -> &[u8] {
        &self.memory.0[DATA as usize..DATA as usize + 4096]
    }
    /// Clears the page, sends the command, expects success.
    pub fn fetch_page(&mut self, sqe: Sqe) -> &[u8] {
        self.memory.0[DATA as usize..DATA as usize + 4096].fill(0xee);
        let status = self.status(0, sqe);
        assert!(status.is_success(), "{status}");
        self.page()
    }
}

impl<W: Way> Drop for BenchOver<W> {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}
