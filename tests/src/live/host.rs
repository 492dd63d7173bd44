//! The host: memory that it shares, the function's registers, queues.

use aster_wire::nvme::admin::{
    AdminCommand, CreateCqDword11, CreateIoCq, CreateIoSq, CreateSqDword11, QueueDword10,
};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cc, Csts, Doorbell, DoorbellKind, Register};
use aster_wire::nvme::{Cqe, Sqe};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};
use vfio_user::Client;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};
use zerocopy::{FromBytes, IntoBytes};

/// Where the host's memory begins on the bus.
pub const MEMORY_AT: u64 = 0x4000_0000;
/// No wait may take longer.
const PATIENCE: Duration = Duration::from_secs(60);
const BAR0: u32 = 0;
const CONFIG: u32 = 7;
const MSIX: u32 = 2;
/// Entries of the admin queues.
const ADMIN_ENTRIES: u16 = 32;
/// `VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER`.
const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
/// Configuration space of the function: command register, PCI Express device control, MSI-X control.
const COMMAND: u64 = 0x04;
const DEVICE_CONTROL: u64 = 0x58;
const MSIX_CONTROL: u64 = 0x92;

/// How doorbells are rung.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ring {
    /// By one message per ring.
    Messages,
    /// By a write to the mapped page of BAR0.
    Mapped,
    /// By shadow doorbells, and by messages if the drive asks for them.
    Shadow,
}

/// The kind of file that holds a host's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Sealed against shrinking, as QEMU's is.
    Sealed,
    /// A file that can be sealed but isn't.
    Unsealed,
    /// A file that can't be sealed, as DPDK's without huge pages.
    Unsealable,
    /// Huge pages, not sealed, as DPDK's by default.
    Huge,
}

impl Memory {
    /// A file of `bytes`, all of them there; `None` where the system can't give them: huge pages are few, or
    /// none.
    pub fn file(self, bytes: u64) -> Option<OwnedFd> {
        let kind = match self {
            Memory::Sealed | Memory::Unsealed => MemfdFlags::ALLOW_SEALING,
            Memory::Unsealable => MemfdFlags::empty(),
            Memory::Huge => MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
        };
        let file = match memfd_create("host", kind | MemfdFlags::CLOEXEC) {
            Err(Errno::NOSYS | Errno::INVAL | Errno::NODEV) if self == Memory::Huge => return None,
            made => made.expect("a memfd"),
        };
        ftruncate(&file, bytes).expect("its size");
        match self {
            Memory::Sealed => fcntl_add_seals(&file, SealFlags::SHRINK).expect("its seal"),
            Memory::Huge => {
                // Allocates the pages now, or fails if there are not enough.
                rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes).ok()?;
            }
            Memory::Unsealed | Memory::Unsealable => {}
        }
        Some(file)
    }
}

/// A queue pair.
#[derive(Clone, Copy)]
pub struct Queue {
    id: u16,
    entries: u32,
    submission: u64,
    completion: u64,
    tail: u32,
    head: u32,
    phase: bool,
}

/// Vectors that a host listens to.
const VECTORS_MAX: u32 = 64;

/// A host that has one drive.
pub struct Host {
    client: Client,
    ring: Ring,
    memory: MmapRegion,
    file: OwnedFd,
    used: u64,
    doorbells: Option<MmapRegion>,
    /// Shadow doorbells and event indexes.
    buffers: Option<(u64, u64)>,
    vectors: Vec<OwnedFd>,
    admin: Option<Queue>,
    next_cid: u16,
}

impl Host {
    /// Connects, shares `bytes` of memory and enables the function, not the controller.
    pub fn connect(socket: &Path, ring: Ring, bytes: u64) -> Self {
        Self::connect_with(socket, ring, bytes, Memory::Sealed)
    }
    /// As [`Host::connect`], with memory of another kind. Panics where there is none of it.
    pub fn connect_with(socket: &Path, ring: Ring, bytes: u64, memory: Memory) -> Self {
        let file = memory.file(bytes).expect("memory of that kind");
        let mut host = Host::share(socket, ring, bytes, file);
        let count = host.client.get_irq_info(MSIX).expect("MSI-X").count;
        // More than tests look at would take the process's descriptors.
        host.vectors = (0..count.min(VECTORS_MAX))
            .map(|_| eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd"))
            .collect();
        // As many as a message carries for this client.
        for (vector, fd) in (0..).zip(&host.vectors) {
            host.client
                .set_irqs(MSIX, EVENTFD_TRIGGER, vector, 1, &[fd.as_raw_fd()])
                .expect("eventfds are taken");
        }
        host.enable_function();
        host
    }
    /// Connects as SPDK's initiator does: maps the doorbells, shares its memory, enables bus mastering and
    /// disables INTx. It doesn't enable Memory Space and uses no interrupts. Returns `None` if there is no
    /// memory of that kind.
    pub fn connect_as_spdk(socket: &Path, bytes: u64, memory: Memory) -> Option<Self> {
        let file = memory.file(bytes)?;
        let mut host = Host::share(socket, Ring::Mapped, bytes, file);
        let mut command = [0; 2];
        host.read_config(COMMAND, &mut command);
        host.write_config(COMMAND, u16::from_le_bytes(command) | 0x0404);
        host.register(Register::Capabilities);
        Some(host)
    }
    fn share(socket: &Path, ring: Ring, bytes: u64, file: OwnedFd) -> Self {
        let client = Client::new(socket).expect("the server answers");
        let map = |file: &OwnedFd, at, bytes| {
            let file = File::from(file.try_clone().expect("another descriptor"));
            MmapRegion::from_file(FileOffset::new(file, at), bytes).expect("a mapping")
        };
        let memory = map(&file, 0, bytes as usize);
        let doorbells = (ring == Ring::Mapped).then(|| {
            let region = client.region(BAR0).expect("BAR0");
            let file = region.file_offset.as_ref().expect("BAR0 can be mapped");
            let area = region.sparse_areas.first().expect("a part of it");
            assert_eq!((area.offset, area.size), (0x1000, 0x1000), "the doorbells and nothing else");
            map(
                &file.file().as_fd().try_clone_to_owned().expect("another descriptor"),
                area.offset,
                area.size as usize,
            )
        });
        let mut host = Host {
            client,
            ring,
            memory,
            file,
            used: 0,
            doorbells,
            buffers: None,
            vectors: Vec::new(),
            admin: None,
            next_cid: 0,
        };
        host.client.dma_map(0, MEMORY_AT, bytes, host.file.as_raw_fd()).expect("memory is taken");
        host
    }

    /// Memory Space, Bus Master, MSI-X: what a function-level reset takes away.
    pub fn enable_function(&mut self) {
        self.write_config(COMMAND, 0x0006);
        self.write_config(MSIX_CONTROL, 0x8000);
    }
    /// Writes a word of configuration space.
    pub fn write_config(&mut self, offset: u64, value: u16) {
        self.client.region_write(CONFIG, offset, &value.to_le_bytes()).expect("configuration space");
    }
    /// Reads configuration space.
    pub fn read_config(&mut self, offset: u64, into: &mut [u8]) {
        self.client.region_read(CONFIG, offset, into).expect("configuration space");
    }
    /// Function-level reset by the function's own register.
    pub fn reset_function(&mut self) {
        self.write_config(DEVICE_CONTROL, 0x8000);
        self.forget();
    }
    /// VFIO_USER_DEVICE_RESET.
    pub fn reset_device(&mut self) {
        self.client.reset().expect("a reset");
        self.forget();
    }
    fn forget(&mut self) {
        self.admin = None;
        self.buffers = None;
    }
    /// Unmaps the memory from bus address `at` on; the whole region if that is [`MEMORY_AT`].
    pub fn unmap(&mut self, at: u64, bytes: u64) {
        self.client.dma_unmap(at, bytes).expect("an answer");
    }
    /// Maps `bytes` of the memory's file, from `offset` on, at bus address `at`.
    pub fn map(&mut self, at: u64, offset: u64, bytes: u64) {
        self.client.dma_map(offset, at, bytes, self.file.as_raw_fd()).expect("an answer");
    }
    /// Maps all of another file at bus address `at`.
    pub fn map_file(&mut self, at: u64, file: &OwnedFd, bytes: u64) {
        self.client.dma_map(0, at, bytes, file.as_raw_fd()).expect("an answer");
    }
    /// Truncates the memory's file.
    pub fn shrink(&mut self, bytes: u64) -> rustix::io::Result<()> {
        ftruncate(&self.file, bytes)
    }

    // ---- memory ----

    /// Allocates whole pages and returns their bus address.
    pub fn alloc(&mut self, bytes: u64) -> u64 {
        let at = self.used;
        self.used += bytes.next_multiple_of(4096);
        assert!(self.used <= self.memory.size() as u64, "the host has too little memory");
        MEMORY_AT + at
    }
    /// Frees all memory; the controller must be off.
    pub fn free_all(&mut self) {
        self.used = 0;
    }
    /// Reads memory.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        self.memory.get_slice((at - MEMORY_AT) as usize, into.len()).expect("in memory").copy_to(into);
    }
    /// Writes memory.
    pub fn write(&self, at: u64, from: &[u8]) {
        self.memory.get_slice((at - MEMORY_AT) as usize, from.len()).expect("in memory").copy_from(from);
    }
    fn word(&self, at: u64) -> &AtomicU32 {
        self.memory.get_atomic_ref((at - MEMORY_AT) as usize).expect("in memory")
    }

    // ---- registers ----

    /// Reads a register.
    pub fn register(&mut self, register: Register) -> u64 {
        let mut bytes = [0; 8];
        let size = register.bytes() as usize;
        self.client.region_read(BAR0, register.offset(), &mut bytes[..size]).expect("BAR0");
        u64::from_le_bytes(bytes)
    }
    /// Writes a register.
    pub fn set_register(&mut self, register: Register, value: u64) {
        let bytes = &value.to_le_bytes()[..register.bytes() as usize];
        self.client.region_write(BAR0, register.offset(), bytes).expect("BAR0");
    }
    /// Waits until the controller is ready, or isn't ready any more.
    pub fn wait_ready(&mut self, ready: bool) {
        let until = Instant::now() + PATIENCE;
        while Csts(self.register(Register::Status) as u32).rdy() != ready {
            assert!(Instant::now() < until, "CSTS.RDY does not become {ready}");
        }
    }
    /// Sets up the admin queue and enables the controller; with [`Ring::Shadow`] also the doorbell
    /// buffers.
    pub fn enable(&mut self) {
        let admin = self.new_queue(0, ADMIN_ENTRIES.into());
        self.set_register(Register::AdminQueueAttributes, Aqa::of(ADMIN_ENTRIES, ADMIN_ENTRIES).0.into());
        self.set_register(Register::AdminSubmissionQueue, AdminQueueBase(admin.submission).0);
        self.set_register(Register::AdminCompletionQueue, AdminQueueBase(admin.completion).0);
        let cc = Cc(0).with_en(true).with_iosqes(6).with_iocqes(4);
        self.set_register(Register::Configuration, cc.0.into());
        self.wait_ready(true);
        self.admin = Some(admin);
        if self.ring == Ring::Shadow {
            let (shadow, event_index) = (self.alloc(8192), self.alloc(8192));
            for at in [shadow, event_index] {
                self.write(at, &[0; 8192]);
            }
            let configure = AdminCommand::DoorbellBufferConfig.to_sqe(0, 0, shadow, event_index);
            assert!(self.admin(configure).status().is_success(), "shadow doorbells are offered");
            self.buffers = Some((shadow, event_index));
        }
    }
    /// Controller reset: CC.EN falls, and RDY after it.
    pub fn disable(&mut self) {
        self.set_register(Register::Configuration, 0);
        self.wait_ready(false);
        self.forget();
    }

    // ---- queues ----

    fn new_queue(&mut self, id: u16, entries: u32) -> Queue {
        let (submission, completion) =
            (self.alloc(64 * u64::from(entries)), self.alloc(16 * u64::from(entries)));
        self.write(completion, &vec![0; 16 * entries as usize]);
        Queue { id, entries, submission, completion, tail: 0, head: 0, phase: true }
    }
    /// Creates I/O queue pair `id`, which signals vector `id`.
    pub fn create_queue(&mut self, id: u16, entries: u32) -> Queue {
        self.create_queue_that(id, entries, true)
    }
    /// Creates I/O queue pair `id` without interrupts; its host polls.
    pub fn create_silent_queue(&mut self, id: u16, entries: u32) -> Queue {
        self.create_queue_that(id, entries, false)
    }
    fn create_queue_that(&mut self, id: u16, entries: u32, signals: bool) -> Queue {
        let queue = self.new_queue(id, entries);
        // The drive looks there as soon as there is a queue.
        if let Some((shadow, event_index)) = self.buffers {
            for at in [shadow, event_index] {
                self.write(at + 8 * u64::from(id), &[0; 8]);
            }
        }
        for creation in Self::creations(&queue, signals) {
            assert!(self.admin(creation).status().is_success());
        }
        queue
    }
    /// Deletes I/O queue pair `id` and creates another one with the same number, with a single ring.
    pub fn replace_queue(&mut self, id: u16, entries: u32) -> Queue {
        let queue = self.new_queue(id, entries);
        let commands = [AdminCommand::DeleteIoSq(id).encode(0), AdminCommand::DeleteIoCq(id).encode(0)];
        let creations = Self::creations(&queue, true);
        let mut admin = self.admin.expect("the controller is enabled");
        for sqe in commands.into_iter().chain(creations) {
            self.push(&mut admin, sqe);
        }
        self.ring(&admin);
        for _ in 0..4 {
            assert!(self.wait(&mut admin).status().is_success());
        }
        self.admin = Some(admin);
        queue
    }
    /// The commands that create a queue pair.
    fn creations(queue: &Queue, signals: bool) -> [Sqe; 2] {
        let (id, size) = (queue.id, QueueDword10::of(queue.id, queue.entries));
        let control = CreateCqDword11(0)
            .with_contiguous(true)
            .with_interrupts_enabled(signals)
            .with_interrupt_vector(if signals { id } else { 0 });
        let completion = AdminCommand::CreateIoCq(CreateIoCq { queue: size, control });
        let control = CreateSqDword11(0).with_contiguous(true).with_completion_queue_id(id);
        let submission = AdminCommand::CreateIoSq(CreateIoSq { queue: size, control, nvm_set: 0 });
        [completion.to_sqe(0, 0, queue.completion, 0), submission.to_sqe(0, 0, queue.submission, 0)]
    }
    /// Puts a command into a queue without ringing, and returns its identifier.
    pub fn push(&mut self, queue: &mut Queue, sqe: Sqe) -> u16 {
        self.next_cid = self.next_cid.wrapping_add(1);
        self.write(queue.submission + 64 * u64::from(queue.tail), sqe.with_cid(self.next_cid).as_bytes());
        queue.tail = (queue.tail + 1) % queue.entries;
        self.next_cid
    }
    /// Rings the tail doorbell.
    pub fn ring(&mut self, queue: &Queue) {
        self.ring_doorbell(
            Doorbell { queue: queue.id, kind: DoorbellKind::SubmissionTail },
            queue.tail,
            queue.entries,
        );
    }
    /// Rings the admin queue's tail doorbell, whatever the entries contain.
    pub fn ring_admin(&mut self, tail: u32) {
        self.ring_doorbell(
            Doorbell { queue: 0, kind: DoorbellKind::SubmissionTail },
            tail,
            ADMIN_ENTRIES.into(),
        );
    }
    /// Adds a command of zeroes and rings, as a host that has lost its memory and continues.
    pub fn ring_once_more(&mut self, mut queue: Queue) -> Queue {
        queue.tail = (queue.tail + 1) % queue.entries;
        self.ring(&queue);
        queue
    }
    fn ring_doorbell(&mut self, doorbell: Doorbell, value: u32, entries: u32) {
        let offset = doorbell.offset(0);
        let place = offset - 0x1000;
        if let Some(page) = self.doorbells.as_ref().filter(|page| place < page.size() as u64) {
            let word: &AtomicU32 = page.get_atomic_ref(place as usize).expect("in the page");
            return word.store(value, Ordering::Release);
        }
        if let (Some((shadow, event_index)), true) = (self.buffers, doorbell.queue > 0) {
            let old = self.word(shadow + place).swap(value, Ordering::Release);
            // The drive writes its event index and then reads our shadow doorbell.
            fence(Ordering::SeqCst);
            let event = self.word(event_index + place).load(Ordering::Acquire);
            // Has the value passed the index, modulo the queue's size?
            let past = |from: u32, to: u32| (to + entries - from) % entries;
            if past(old, event) >= past(old, value) {
                return;
            }
        }
        self.client.region_write(BAR0, offset, &value.to_le_bytes()).expect("a doorbell");
    }
    /// The next completion, if there is one.
    pub fn poll(&mut self, queue: &mut Queue) -> Option<Cqe> {
        let at = queue.completion + 16 * u64::from(queue.head);
        // The last word has the phase tag. Once it is there, the whole entry is.
        let last = self.word(at + 12).load(Ordering::Acquire);
        if (last >> 16 & 1 == 1) != queue.phase {
            return None;
        }
        let mut bytes = [0; 16];
        self.read(at, &mut bytes);
        queue.head += 1;
        if queue.head == queue.entries {
            (queue.head, queue.phase) = (0, !queue.phase);
        }
        Some(Cqe::read_from_bytes(&bytes).expect("16 bytes"))
    }
    /// Rings the head doorbell for the completions that were taken.
    pub fn ring_head(&mut self, queue: &Queue) {
        self.ring_doorbell(
            Doorbell { queue: queue.id, kind: DoorbellKind::CompletionHead },
            queue.head,
            queue.entries,
        );
    }
    /// Waits for a completion.
    pub fn wait(&mut self, queue: &mut Queue) -> Cqe {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(cqe) = self.poll(queue) {
                self.ring_head(queue);
                return cqe;
            }
            assert!(Instant::now() < until, "no completion in queue {}", queue.id);
            std::thread::yield_now();
        }
    }
    /// Sends a command and waits for it.
    pub fn send(&mut self, queue: &mut Queue, sqe: Sqe) -> Cqe {
        let cid = self.push(queue, sqe);
        self.ring(queue);
        let cqe = self.wait(queue);
        assert_eq!(cqe.cid.get(), cid, "one command, one completion");
        cqe
    }
    /// Sends an admin command and waits for it.
    pub fn admin(&mut self, sqe: Sqe) -> Cqe {
        let mut queue = self.admin.expect("the controller is enabled");
        let cqe = self.send(&mut queue, sqe);
        self.admin = Some(queue);
        cqe
    }
    /// Sends an admin command that isn't waited for.
    pub fn push_admin(&mut self, sqe: Sqe) {
        let mut queue = self.admin.expect("the controller is enabled");
        self.push(&mut queue, sqe);
        self.ring(&queue);
        self.admin = Some(queue);
    }
    /// Waits for the completion of an admin command that was pushed.
    pub fn wait_admin(&mut self) -> Cqe {
        let mut queue = self.admin.expect("the controller is enabled");
        let cqe = self.wait(&mut queue);
        self.admin = Some(queue);
        cqe
    }
    /// How often a vector was signalled since the last call.
    pub fn signals(&self, vector: u16) -> u64 {
        let mut count = [0; 8];
        match rustix::io::read(&self.vectors[usize::from(vector)], &mut count) {
            Ok(_) => u64::from_ne_bytes(count),
            Err(_) => 0,
        }
    }
    /// Vectors of the function.
    pub fn vectors(&self) -> usize {
        self.vectors.len()
    }
}

/// A read or write of `blocks` blocks, at most two pages, at a page of host memory.
pub fn transfer(write: bool, slba: u64, blocks: u32, at: u64) -> Sqe {
    let range = BlockRange::new(slba, blocks);
    let command = if write { IoCommand::Write(range) } else { IoCommand::Read(range) };
    command.to_sqe(1, 0, at, at.wrapping_add(4096))
}
