//! A whole drive and its host's memory, without a socket or threads, so that equal inputs give equal runs.

use super::input::Input;
use crate::front_ends::NVME;
use crate::profile;
use aster_device::plug::BarRead;
use aster_device::{Device, Media, Profile, READ_WITHIN};
use aster_events::Recorder;
use aster_ports::link::{BadAddress, HostMemory, LinkOp, carry_out};
use aster_units::{Content, Duration, Instant};
use aster_wire::nvme::admin::{
    AdminCommand, CreateCqDword11, CreateIoCq, CreateIoSq, CreateSqDword11, QueueDword10,
};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cc, Csts, Doorbell, DoorbellKind, Register};
use aster_wire::nvme::{Cqe, Sqe};
use std::cell::Cell;
use std::ops::Range;
use zerocopy::{FromBytes, IntoBytes};

/// Configuration space: command register, device control of PCI Express, MSI-X control.
const COMMAND: u16 = 0x04;
const DEVICE_CONTROL: u16 = 0x58;
const MSIX_CONTROL: u16 = 0x92;
/// Entries of each queue.
pub(super) const ENTRIES: u32 = 16;
/// Queue pairs, the admin queue among them.
pub(super) const QUEUES: u16 = 3;
/// The first identifier of commands whose completion the test waits for.
const SENT: u16 = 0x8000;
/// The block with which [`Function::must_work_after_a_reset`] checks the drive.
const PROBED: u64 = 900;
/// Simulated time within which everything that has begun must end.
const PATIENCE: Duration = Duration::from_millis(2_000);

/// The host's memory: a contiguous range of pages.
pub struct Memory {
    bytes: Vec<u8>,
    /// What the host has unmapped.
    absent: Range<u64>,
    /// Accesses of the drive so far.
    accesses: Cell<u64>,
}

impl Memory {
    /// Its bus address.
    pub const AT: u64 = 0x10_0000;
    /// Its bytes: queues, then room for data.
    pub const BYTES: u64 = 64 * 4096;

    /// The offset of an access by the drive.
    fn range(&self, address: u64, length: usize) -> Result<Range<usize>, BadAddress> {
        self.accesses.set(self.accesses.get() + 1);
        let bad = BadAddress(address);
        let start = address.checked_sub(Self::AT).ok_or(bad)?;
        let end = start.checked_add(length as u64).filter(|&end| end <= Self::BYTES).ok_or(bad)?;
        if start < self.absent.end && self.absent.start < end {
            return Err(bad);
        }
        Ok(start as usize..end as usize)
    }
    /// Unmaps the memory from address `at` to the end. Memory that was unmapped before is mapped again.
    pub fn take_away(&mut self, at: u64) {
        self.absent = at - Self::AT..Self::BYTES;
    }
    /// Maps all memory again.
    pub fn give_back(&mut self) {
        self.absent = 0..0;
    }
    /// Accesses of the drive so far, also those that found no memory.
    pub fn accesses(&self) -> u64 {
        self.accesses.get()
    }
    /// The bytes from address `at` on.
    pub fn at(&mut self, at: u64, length: usize) -> &mut [u8] {
        let start = (at - Self::AT) as usize;
        &mut self.bytes[start..start + length]
    }
    /// All bytes.
    pub fn all(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl HostMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        into.copy_from_slice(&self.bytes[self.range(address, into.len())?]);
        Ok(())
    }
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let range = self.range(address, from.len())?;
        self.bytes[range].copy_from_slice(from);
        Ok(())
    }
}

#[derive(Clone, Copy, Default)]
struct Ends {
    tail: u32,
    head: u32,
    wrapped: bool,
}

/// The drive as a PCI function, and its host.
pub struct Function {
    /// The drive.
    pub device: Device,
    /// The host's memory.
    pub memory: Memory,
    profile: Profile,
    ends: [Ends; QUEUES as usize],
    next_cid: u16,
    /// By vector, those that the pairs signal: messages since somebody asked.
    messages: [u64; QUEUES as usize],
}

/// A small drive with all features, and a data buffer so small that most commands need flash.
fn small() -> Profile {
    profile("tiny", |p| {
        (p.geometry.channels, p.geometry.ways, p.geometry.luns) = (1, 1, 2);
        p.ftl.buffer_entries = 8;
    })
}

impl Function {
    /// A drive whose host has found it on the bus and done nothing else.
    pub fn new() -> Self {
        Function::of(small())
    }
    /// As [`Function::new`], with one of the [NVMe controllers](crate::front_ends::NVME).
    pub(super) fn drawn(input: &mut Input) -> Self {
        Function::with(NVME[usize::from(input.u8()) % NVME.len()].1)
    }
    /// As [`Function::new`], with a change of its profile.
    pub fn with(change: impl FnOnce(&mut Profile)) -> Self {
        let mut profile = small();
        change(&mut profile);
        Function::of(profile)
    }
    /// As [`Function::new`], a drive of this profile.
    pub fn of(profile: Profile) -> Self {
        Function::on(profile, Media::fresh())
    }
    /// Cycles the power: the drive begins to boot, and its host has found it again.
    #[must_use]
    pub fn lose_power(self) -> Self {
        Function::on(self.profile, self.device.power_off())
    }
    fn on(profile: Profile, media: Media) -> Self {
        let device = Device::power_on("fuzz", &profile, Some(Content::Full), media, &Recorder::default())
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        let memory = Memory { bytes: vec![0; Memory::BYTES as usize], absent: 0..0, accesses: Cell::new(0) };
        let ends = [Ends::default(); QUEUES as usize];
        let messages = [0; QUEUES as usize];
        let function = Function { device, memory, profile, ends, next_cid: SENT, messages };
        function.enable_function();
        function
    }
    /// Memory Space, Bus Master, MSI-X.
    pub fn enable_function(&self) {
        self.device.config_write(COMMAND, 2, 0x0006);
        self.device.config_write(MSIX_CONTROL, 2, 0x8000);
    }
    /// Function-level reset.
    pub fn reset_function(&mut self) {
        self.device.config_write(DEVICE_CONTROL, 2, 0x8000);
    }

    // ---- time ----

    /// Carries out the drive's requests of this instant.
    fn carry_out(&mut self) {
        while let Some(op) = self.device.next_out() {
            match op {
                LinkOp::Dma { .. } => {
                    let result = match self.device.is_bus_master() {
                        true => carry_out(&op, &mut self.memory, self.device.dram()),
                        false => Err(BadAddress(0)),
                    };
                    self.device.done(&op, result);
                }
                LinkOp::Interrupt { vector } => {
                    let sent = self.device.message(vector).is_some();
                    if let Some(messages) = self.messages.get_mut(usize::from(vector)) {
                        *messages += u64::from(sent);
                    }
                }
            }
        }
    }
    /// Runs the drive's next event, if there is one by `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        let Some(at) = self.device.next_deadline().filter(|&at| at <= until) else { return false };
        self.device.advance_to(at);
        self.carry_out();
        true
    }
    /// Runs all events within `duration`.
    pub fn run_for(&mut self, duration: Duration) {
        let until = self.device.now() + duration;
        self.device.advance_to(self.device.now());
        self.carry_out();
        while self.step(until) {}
        self.device.catch_up(until);
    }
    /// Runs until `done`; panics if that never happens.
    pub fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let until = self.device.now() + PATIENCE;
        while !done(self) {
            assert!(self.step(until), "{what}: not within {PATIENCE:?}");
        }
    }

    // ---- registers and queues ----

    /// Reads a register. The answer may come behind the drive's writes to memory, which are carried out.
    pub fn register(&mut self, register: Register) -> u64 {
        let tag = match self.device.begin_bar_read(0, register.offset() as u32, register.bytes() as u8) {
            BarRead::Now(value) => return value,
            BarRead::Later(tag) => tag,
        };
        self.carry_out();
        let until = self.device.now() + READ_WITHIN;
        loop {
            if let Some(value) = self.device.take_bar_read(tag) {
                return value;
            }
            if !self.step(until) {
                return u64::MAX;
            }
        }
    }
    /// Writes a register.
    pub fn set_register(&self, register: Register, value: u64) {
        self.device.bar_write(0, register.offset() as u32, register.bytes() as u8, value);
    }
    fn status(&mut self) -> Csts {
        Csts(self.register(Register::Status) as u32)
    }
    /// Where a queue's entries are.
    fn submission(queue: u16) -> u64 {
        Memory::AT + 2 * 4096 * u64::from(queue)
    }
    /// Where a queue's completions are; they take a page.
    pub fn completion(queue: u16) -> u64 {
        Self::submission(queue) + 4096
    }
    /// Where memory for data begins.
    pub fn data() -> u64 {
        Self::submission(QUEUES)
    }
    /// Clears CC.EN and waits until RDY is clear: the controller then doesn't access memory any more.
    pub fn disable(&mut self) {
        self.set_register(Register::Configuration, 0);
        self.run_until("CSTS.RDY falls", |f| !f.status().rdy());
    }
    /// Sets up the admin queue and enables the controller, which was disabled.
    pub fn enable(&mut self) {
        self.forget(0);
        self.set_register(Register::AdminQueueAttributes, Aqa::of(ENTRIES as u16, ENTRIES as u16).0.into());
        self.set_register(Register::AdminSubmissionQueue, AdminQueueBase(Self::submission(0)).0);
        self.set_register(Register::AdminCompletionQueue, AdminQueueBase(Self::completion(0)).0);
        let cc = Cc(0).with_en(true).with_iosqes(6).with_iocqes(4);
        self.set_register(Register::Configuration, cc.0.into());
        self.run_until("CSTS.RDY rises", |f| f.status().rdy());
    }
    fn forget(&mut self, queue: u16) {
        self.ends[usize::from(queue)] = Ends::default();
        self.memory.at(Self::completion(queue), 4096).fill(0);
    }
    /// Creates I/O queue pair `id`. Panics when the drive doesn't.
    pub fn create_pair(&mut self, id: u16) {
        self.forget(id);
        let size = QueueDword10::of(id, ENTRIES);
        let control =
            CreateCqDword11(0).with_contiguous(true).with_interrupts_enabled(true).with_interrupt_vector(id);
        let completion = AdminCommand::CreateIoCq(CreateIoCq { queue: size, control });
        self.admin(completion.to_sqe(0, 0, Self::completion(id), 0));
        let control = CreateSqDword11(0).with_contiguous(true).with_completion_queue_id(id);
        let submission = AdminCommand::CreateIoSq(CreateIoSq { queue: size, control, nvm_set: 0 });
        self.admin(submission.to_sqe(0, 0, Self::submission(id), 0));
    }
    /// Puts an entry into a queue without ringing the doorbell.
    pub fn push(&mut self, queue: u16, sqe: Sqe) {
        let ends = &mut self.ends[usize::from(queue)];
        let at = Self::submission(queue) + 64 * u64::from(ends.tail);
        ends.tail = (ends.tail + 1) % ENTRIES;
        self.memory.at(at, 64).copy_from_slice(sqe.as_bytes());
    }
    /// Rings a queue's tail doorbell.
    pub fn ring(&self, queue: u16) {
        self.doorbell(queue, DoorbellKind::SubmissionTail, self.ends[usize::from(queue)].tail);
    }
    /// The same for a host that waits for credits; false if it gets none.
    pub fn ring_with_credits(&mut self, queue: u16) -> bool {
        let until = self.device.now() + READ_WITHIN;
        while !self.device.takes_register_writes() {
            if !self.step(until) {
                return false;
            }
        }
        self.ring(queue);
        true
    }
    /// How many messages a vector of a queue pair has sent since the last call.
    pub fn signals(&mut self, vector: u16) -> u64 {
        std::mem::take(&mut self.messages[usize::from(vector)])
    }
    /// Writes a doorbell.
    pub fn doorbell(&self, queue: u16, kind: DoorbellKind, value: u32) {
        self.device.bar_write(0, Doorbell { queue, kind }.offset(0) as u32, 4, value.into());
    }
    /// Takes the next completion of a queue and rings its doorbell.
    pub fn reap(&mut self, queue: u16) -> Option<Cqe> {
        let ends = &mut self.ends[usize::from(queue)];
        let at = Self::completion(queue) + 16 * u64::from(ends.head);
        let cqe = Cqe::read_from_bytes(self.memory.at(at, 16)).expect("16 bytes");
        if cqe.phase() == ends.wrapped {
            return None;
        }
        ends.head += 1;
        if ends.head == ENTRIES {
            (ends.head, ends.wrapped) = (0, !ends.wrapped);
        }
        let head = ends.head;
        self.doorbell(queue, DoorbellKind::CompletionHead, head);
        Some(cqe)
    }
    /// Sends a command to a queue that is otherwise empty and waits for its completion. Panics when another
    /// comes.
    pub fn send(&mut self, queue: u16, sqe: Sqe) -> Cqe {
        self.next_cid = self.next_cid.wrapping_add(1).max(SENT);
        self.push(queue, sqe.with_cid(self.next_cid));
        self.ring(queue);
        let mut found = None;
        self.run_until("a completion", |f| {
            found = f.reap(queue);
            found.is_some()
        });
        let cqe = found.expect("waited for");
        assert_eq!(cqe.cid.get(), self.next_cid, "a completion of another command");
        cqe
    }
    /// Sends an admin command; panics unless it succeeds.
    pub fn admin(&mut self, sqe: Sqe) {
        let status = self.send(0, sqe).status();
        assert!(status.is_success(), "{status}");
    }

    // ---- what must hold whatever came before ----

    /// After a reset of the function the host must find a working drive, without transfers of earlier
    /// commands.
    pub fn must_work_after_a_reset(&mut self) {
        self.must_come_up_after_a_reset();
        // Whatever was formatted: a block of 4 KiB is eight of 512 bytes or one.
        let (data, content) = (Self::data(), [0xc3; 512]);
        self.memory.at(data, 512).copy_from_slice(&content);
        let range = BlockRange::new(PROBED, 1);
        let status = self.send(1, IoCommand::Write(range).to_sqe(1, 0, data, data + 4096)).status();
        assert!(status.is_success(), "{status}");
        self.memory.at(data, 512).fill(0);
        let status = self.send(1, IoCommand::Read(range).to_sqe(1, 0, data, data + 4096)).status();
        assert!(status.is_success(), "{status}");
        assert_eq!(self.memory.at(data, 512), content, "what was written is read");
    }
    /// After a reset of the function the host must bring the controller up, with one I/O queue pair, and
    /// nothing of earlier commands may be transferred.
    pub fn must_come_up_after_a_reset(&mut self) {
        assert_eq!(self.device.fault(), None);
        self.reset_function();
        self.memory.give_back();
        self.memory.bytes.fill(0x5a);
        self.enable_function();
        self.run_until("CSTS.RDY falls", |f| !f.status().rdy());
        // The drive must finish its remaining work without this memory.
        let before = self.memory.accesses();
        self.run_for(Duration::from_millis(20));
        assert_eq!(self.memory.accesses(), before, "memory was used after the reset");
        self.enable();
        self.create_pair(1);
    }
}

impl Default for Function {
    fn default() -> Self {
        Function::new()
    }
}
