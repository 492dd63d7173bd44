//! The message unit with host memory around it and a translation behind it that keeps sectors by address.

use crate::message::{ArrayShape, McuCosts, MessageUnitPiece};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec, Handler};
use aster_parties::{BarRead, FrontEnd, FrontEndPiece, FrontEndPorts, MediaHealth, NvramSlice, PciIds};
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::host::{
    CommandPort, Completion, DmaDirection, DmaPart, DmaRequest, HostCommand, HostOp, HostStatus, ReportKind,
    VectorFault,
};
use aster_ports::link::{LinkOp, LinkPort, carry_out};
use aster_ports::medium::Nvram;
use aster_units::{BufferId, Content, Duration, Frequency, Geometry, Instant, Rng, SECTOR_BYTES};
use aster_wire::array::registers::{self, Control, Shape, StatusConfig, UnitStatus};
use aster_wire::array::{
    Blocks, Command, CommandFlags, Destination, FrameAddress, FrameBuilder, HostAddress, LANES_MAX, NO_BLOCK,
    Opcode, STATUS_FRAME_BYTES, STATUS_FRAMES, SectorSpan, StatusCode, StatusEntry,
};
use core::cell::{Cell, RefCell};
use zerocopy::FromBytes;

use super::bench::Memory;

mod mcu;

const SECTOR: u32 = SECTOR_BYTES as u32;
const METADATA: u32 = 16;
/// The host's status buffer, its frames, and its data.
const STATUSES: u64 = 0x1000;
const FRAMES_AT: u64 = 0x2000;
const DATA: u64 = 0x10_0000;
const DATA_BYTES: u64 = 3 << 20;

fn geometry() -> Geometry {
    Geometry {
        channels: 16,
        ways: 1,
        luns: 2,
        planes: 2,
        blocks_per_lun: 6,
        pages_per_block: 4,
        page_bytes: 4 * SECTOR,
        spare_bytes: 512,
    }
}

struct Link(Rc<LinkPort>);

impl Handler for Link {
    fn fire(&self, _token: u64) {
        self.0.pass_requested();
    }
}

/// A sector's data and metadata.
type Sector = (Vec<u8>, Vec<u8>);

/// What is behind the unit: sectors by their address, each with its metadata.
struct Sectors {
    exec: Exec,
    port: Rc<CommandPort>,
    dram: SharedDram,
    kept: RefCell<BTreeMap<u64, Sector>>,
    /// Commands take so long.
    lingers: Cell<Duration>,
    outcome: Cell<HostStatus>,
    corrected: Cell<u8>,
    served: Cell<u32>,
    most: Cell<u32>,
    now: Cell<u32>,
}

impl Sectors {
    async fn serve(self: Rc<Self>, buffer: BufferId) {
        loop {
            let command = self.port.next_command().await;
            self.now.set(self.now.get() + 1);
            self.most.set(self.most.get().max(self.now.get()));
            if !self.lingers.get().is_zero() {
                self.exec.sleep(self.lingers.get()).await;
            }
            let (status, result) = match self.outcome.get() {
                HostStatus::Success => self.carry_out(&command, buffer).await,
                other => (other, 0b10),
            };
            self.served.set(self.served.get() + 1);
            self.now.set(self.now.get() - 1);
            let corrected = self.corrected.get();
            self.port.complete(Completion { result, corrected, ..Completion::new(command.id, status) });
        }
    }
    async fn carry_out(&self, command: &HostCommand, buffer: BufferId) -> (HostStatus, u64) {
        let addresses: Vec<u64> =
            (0..).map_while(|n| self.port.address(command.id, n)).map(|address| address.0).collect();
        let (mode, write) = match command.op {
            HostOp::VectorRead(mode) => (mode, false),
            HostOp::VectorWrite(mode) => (mode, true),
            HostOp::VectorErase(_) => {
                for block in &addresses {
                    let is_other = |at: &u64, _: &mut _| at >> 4 != block >> 4;
                    self.kept.borrow_mut().retain(is_other);
                }
                return (HostStatus::Success, 0);
            }
            HostOp::VectorCopy => {
                let (from, to) = addresses.split_at(addresses.len() / 2);
                for (from, to) in from.iter().zip(to) {
                    let copied = self.kept.borrow().get(from).cloned();
                    self.kept.borrow_mut().extend(copied.map(|sector| (*to, sector)));
                }
                return (HostStatus::Success, 0);
            }
            HostOp::Report(kind) => {
                let bytes = command.length as u32;
                match kind {
                    ReportKind::Status => assert_eq!(addresses.len(), bytes as usize, "a byte for each LUN"),
                    _ => assert_eq!(addresses.len(), 1),
                }
                self.dram.borrow_mut().page_mut(buffer)[..bytes as usize].fill(0xe0);
                let moved = self.move_part(command, DmaPart::Data, (0, bytes), buffer, false).await;
                return (if moved { HostStatus::Success } else { HostStatus::DataTransfer }, 0);
            }
            _ => return (HostStatus::Success, 0),
        };
        let mut failed = 0;
        for (n, address) in (0..).zip(&addresses) {
            let (data, metadata) = ((n * SECTOR, SECTOR), (n * METADATA, METADATA));
            if !write {
                let Some((sector, beside)) = self.kept.borrow().get(address).cloned() else {
                    failed |= 1 << n;
                    continue;
                };
                let mut dram = self.dram.borrow_mut();
                dram.page_mut(buffer)[..sector.len()].copy_from_slice(&sector);
                dram.page_mut(buffer)[sector.len()..][..beside.len()].copy_from_slice(&beside);
            }
            let mut moved = self.move_part(command, DmaPart::Data, data, buffer, write).await;
            if moved && mode.metadata {
                moved = self.move_part(command, DmaPart::Metadata, metadata, buffer, write).await;
            }
            if !moved {
                return (HostStatus::DataTransfer, failed);
            }
            if write {
                let dram = self.dram.borrow();
                let (sector, beside) =
                    dram.page(buffer)[..(SECTOR + METADATA) as usize].split_at(SECTOR_BYTES);
                let beside = if mode.metadata { beside.to_vec() } else { vec![0; METADATA as usize] };
                self.kept.borrow_mut().insert(*address, (sector.to_vec(), beside));
            }
        }
        let empty = HostStatus::Vector(VectorFault::Empty);
        (if failed == 0 { HostStatus::Success } else { empty }, failed)
    }
    async fn move_part(
        &self,
        command: &HostCommand,
        part: DmaPart,
        (offset, length): (u32, u32),
        buffer: BufferId,
        write: bool,
    ) -> bool {
        let direction = if write { DmaDirection::FromHost } else { DmaDirection::ToHost };
        let buffer_offset = if part == DmaPart::Metadata { SECTOR } else { 0 };
        let command = command.id;
        let request =
            DmaRequest { command, direction, part, offset, buffer, buffer_offset, length, after: None };
        self.port.dma(request).await.is_ok()
    }
}

/// A unit, its drive and a host.
struct Bench {
    exec: Exec,
    link: Rc<LinkPort>,
    dram: SharedDram,
    unit: Rc<dyn FrontEnd>,
    sectors: Rc<Sectors>,
    memory: Memory,
    messages: Vec<u16>,
    /// When the last of them came.
    told: Instant,
    /// Frames that the host has sent, and the number of the next status entry.
    sent: u64,
    sequence: u16,
    taken: u32,
    /// Link operations stay in the outbox.
    hold_link: bool,
}

impl Bench {
    fn new() -> Self {
        Bench::with_costs(McuCosts::default())
    }
    fn with_costs(costs: McuCosts) -> Self {
        let exec = Exec::new();
        let shape = ArrayShape::new(geometry(), 8).expect("two channels of eight lanes");
        let ids = PciIds { vendor: 1, device: 2, subsystem_vendor: 1, subsystem: 2, revision: 0 };
        let piece = Box::new(MessageUnitPiece::new(shape, ids, costs));
        let needs = piece.needs();
        assert_eq!(piece.function().check(), Ok(()));
        let link = LinkPort::new(&exec, needs.link_operations);
        let commands = CommandPort::new(&exec, needs.command_slots, needs.dma_requests);
        let dram = Dram::new(Content::Full, 4, 64, 80, 0, needs.sram_bytes);
        link.attach_link(exec.register(Rc::new(Link(link.clone()))));
        let nvram = Nvram::volatile(128);
        let ports = FrontEndPorts {
            exec: exec.clone(),
            core: Some(Core::new(&exec, Frequency::from_hertz(120_000_000).expect("120 MHz"))),
            link: link.clone(),
            packets: None,
            commands: commands.clone(),
            memory: dram.clone(),
            saved: NvramSlice::new(&nvram, 0, 128),
            backlog: None,
            recorder: Recorder::default(),
        };
        let unit = piece.start(ports).expect("it starts");
        let sectors = Rc::new(Sectors {
            exec: exec.clone(),
            port: commands,
            dram: dram.clone(),
            kept: RefCell::default(),
            lingers: Cell::new(Duration::ZERO),
            outcome: Cell::new(HostStatus::Success),
            corrected: Cell::new(0),
            served: Cell::new(0),
            most: Cell::new(0),
            now: Cell::new(0),
        });
        for n in 0..70 {
            exec.spawn(sectors.clone().serve(BufferId(n)));
        }
        let memory = Memory(vec![0; 4 << 20]);
        let (messages, told, hold_link) = (Vec::new(), Instant::ZERO, false);
        let (sent, sequence, taken) = (0, 1, 0);
        let mut bench = Bench {
            exec,
            link,
            dram,
            unit,
            sectors,
            memory,
            messages,
            told,
            sent,
            sequence,
            taken,
            hold_link,
        };
        bench.run();
        bench.enable();
        bench
    }
    fn enable(&mut self) {
        self.unit.write(0, registers::STATUS_BUFFER, 8, STATUSES);
        self.unit.write(0, registers::CONTROL, 4, Control(0).with_enable(true).0.into());
        (self.sequence, self.taken) = (1, 0);
        self.memory.0[STATUSES as usize..][..STATUS_FRAMES * STATUS_FRAME_BYTES].fill(0);
        self.run();
    }
    /// `size` bytes of the registers, which the unit answers now.
    fn register(&self, offset: u32, size: u8) -> u64 {
        match self.unit.read(0, offset, size) {
            BarRead::Now(value) => value,
            BarRead::Later(tag) => panic!("a read of hardware is answered later: {tag:?}"),
        }
    }
    fn status(&self) -> UnitStatus {
        UnitStatus(self.register(registers::STATUS, 4) as u32)
    }
    fn run(&mut self) {
        loop {
            while !self.hold_link
                && let Some(op) = self.link.next_out()
            {
                match op {
                    LinkOp::Interrupt { vector } => {
                        self.messages.push(vector);
                        self.told = self.exec.now();
                    }
                    dma => {
                        let moved = carry_out(&dma, &mut self.memory, &self.dram);
                        self.link.done(&dma, moved);
                    }
                }
            }
            match self.exec.next_deadline() {
                Some(at) => self.exec.advance_to(at),
                None => return,
            }
        }
    }
    /// Writes a frame into host memory and hands it over.
    fn send_frame(&mut self, bytes: &[u8]) {
        let at = FRAMES_AT + self.sent % 64 * 512;
        self.sent += 1;
        self.memory.0[at as usize..][..bytes.len()].copy_from_slice(bytes);
        self.unit.write(0, registers::FRAME_ADDRESS, 8, FrameAddress::of(at, bytes.len()).0);
    }
    fn send(&mut self, commands: &[Command]) {
        let mut frame = FrameBuilder::default();
        assert!(commands.iter().all(|command| frame.push(command)), "the commands fit into a frame");
        let bytes = frame.bytes().to_vec();
        self.send_frame(&bytes);
    }
    /// Status entries that have come, in order.
    fn statuses(&mut self) -> Vec<StatusEntry> {
        let mut entries = Vec::new();
        loop {
            let frame = u64::from(self.taken) % STATUS_FRAMES as u64;
            let at = (STATUSES as usize) + frame as usize * STATUS_FRAME_BYTES;
            let bytes = &self.memory.0[at..at + STATUS_FRAME_BYTES];
            let before = entries.len();
            for entry in bytes.chunks(8).map(|bytes| StatusEntry::read_from_bytes(bytes).expect("8 bytes")) {
                if entry.sequence.get() != self.sequence {
                    break;
                }
                self.sequence = self.sequence.wrapping_add(1);
                entries.push(entry);
            }
            if entries.len() == before {
                return entries;
            }
            self.taken += 1;
            self.unit.write(0, registers::STATUS_HEAD, 4, self.taken.into());
            self.run();
        }
    }
    /// Sends one command and returns its status entry.
    fn ask(&mut self, command: &Command) -> StatusEntry {
        self.send(core::slice::from_ref(command));
        self.run();
        let entries = self.statuses();
        assert_eq!(entries.len(), 1, "one command has one status");
        assert_eq!(entries[0].id.get(), command.id);
        entries[0]
    }
    fn code(&mut self, command: &Command) -> StatusCode {
        self.ask(command).status().expect("a code that is defined")
    }
}

const OOB: CommandFlags = CommandFlags(2);

/// A read or a write of a whole page of one lane, with its OOB bytes. `at` is where its data are.
fn page(opcode: Opcode, id: u16, lane: u8, page: u16, at: u64) -> Command {
    Command::new(opcode, id, 1, 1, Blocks::One { lane, block: 3 })
        .at(page, SectorSpan::of(0, 4))
        .with_flags(OOB)
        .with_host(HostAddress::of(at, 4 * SECTOR))
        .with_host(HostAddress::of(at + u64::from(4 * SECTOR), 4 * METADATA))
}

#[test]
fn a_drive_says_what_it_is_and_is_ready_once_the_translation_serves() {
    let bench = Bench::new();
    let read = |offset, size| bench.register(offset, size);
    assert_eq!(read(registers::ID, 4), u64::from(registers::ID_AND_VERSION));
    let shape = Shape(0).with_channels(2).with_lanes(8).with_dies(2).with_planes(2);
    assert_eq!(Shape(read(registers::SHAPE, 4) as u32), shape);
    assert_eq!((read(registers::BLOCKS, 4), read(registers::PAGES, 4)), (6, 4 << 16 | 4));
    // Eight bytes are two registers.
    assert_eq!(read(registers::STATUS_BUFFER, 8), STATUSES);
    assert_eq!(read(registers::ID, 8) >> 32, u64::from(shape.0));
    assert!(bench.status().ready());
}

#[test]
fn data_and_metadata_come_back_by_the_runs_that_a_command_names() {
    let mut bench = Bench::new();
    let bytes = (4 * (SECTOR + METADATA)) as usize;
    let mut random = Rng::new(1);
    let written: Vec<u8> = (0..bytes).map(|_| random.next_u64() as u8).collect();
    bench.memory.0[DATA as usize..][..bytes].copy_from_slice(&written);
    assert_eq!(bench.code(&page(Opcode::Write, 1, 5, 2, DATA)), StatusCode::Done);
    // Three sectors, in runs that end anywhere but in units of 16 bytes.
    let to = DATA + 0x8000;
    let mut read = Command::new(Opcode::Read, 2, 1, 1, Blocks::One { lane: 5, block: 3 })
        .at(2, SectorSpan::of(1, 3))
        .with_flags(OOB);
    let runs = [16, 4096, 48, 1008, 2032, 1040, 16, 2000, 16, 16, 32];
    let mut at = to;
    let mut left = 3 * SECTOR;
    for run in runs {
        read = read.with_host(HostAddress::of(at, run));
        (at, left) = (at + u64::from(run), left - run);
    }
    read = read.with_host(HostAddress::of(at, left)).with_host(HostAddress::of(at + u64::from(left), 48));
    assert_eq!(bench.code(&read), StatusCode::Done);
    let got = &bench.memory.0[to as usize..][..3 * (SECTOR + METADATA) as usize];
    let (sector, oob) = (SECTOR_BYTES, METADATA as usize);
    assert!(got[..3 * sector] == written[sector..4 * sector]);
    assert_eq!(got[3 * sector..], written[4 * sector + oob..]);
    // Every status frame is announced by a message.
    assert_eq!(bench.messages, [registers::VECTOR_STATUS; 2]);
}

#[test]
fn a_group_is_the_pages_of_its_lanes_and_a_status_names_those_that_failed() {
    let mut bench = Bench::new();
    let blocks = Blocks::Group([0, 1, 2, 3, NO_BLOCK, 5, 0, 1]);
    let group = |opcode, id, at: u64| {
        Command::new(opcode, id, 0, 0, blocks)
            .at(1, SectorSpan::of(0, 4))
            .with_flags(OOB)
            .with_host(HostAddress::of(at, 7 * 4 * SECTOR))
            .with_host(HostAddress::of(at + 7 * 4 * u64::from(SECTOR), 7 * 4 * METADATA))
    };
    let bytes = (7 * 4 * (SECTOR + METADATA)) as usize;
    let mut random = Rng::new(2);
    bench.memory.0[DATA as usize..][..bytes].fill_with(|| random.next_u64() as u8);
    assert_eq!(bench.code(&group(Opcode::Write, 1, DATA)), StatusCode::Done);
    assert_eq!(bench.sectors.kept.borrow().len(), 28);
    let to = DATA + 0x10_0000;
    assert_eq!(bench.code(&group(Opcode::Read, 2, to)), StatusCode::Done);
    let (from, to_bytes) = (DATA as usize, to as usize);
    assert!(bench.memory.0[from..from + bytes] == bench.memory.0[to_bytes..to_bytes + bytes]);
    // A copy takes all lanes along; the group's own place is read again after an erase of lane 5.
    let copy = Command::new(Opcode::Copy, 3, 0, 0, blocks).at(1, SectorSpan::of(0, 4)).to(Destination {
        page: 2,
        die: 1,
        blocks,
    });
    assert_eq!(bench.code(&copy), StatusCode::Done);
    assert_eq!(bench.sectors.kept.borrow().len(), 56);
    let erase = Command::new(Opcode::Erase, 4, 0, 0, Blocks::One { lane: 5, block: 5 });
    assert_eq!(bench.code(&erase), StatusCode::Done);
    let entry = bench.ask(&group(Opcode::Read, 5, to));
    assert_eq!((entry.status(), entry.failed), (Some(StatusCode::Erased), 1 << 5));
}

#[test]
fn a_command_without_memory_or_place_is_refused_and_the_translation_never_sees_it() {
    let mut bench = Bench::new();
    let served = bench.sectors.served.get();
    let good = page(Opcode::Write, 1, 0, 0, DATA);
    let with = |change: fn(&mut Command)| {
        let mut command = good;
        change(&mut command);
        command
    };
    let one = |lane, block| Blocks::One { lane, block };
    let short = Command::new(Opcode::Write, 1, 0, 0, one(0, 0))
        .at(0, SectorSpan::of(0, 4))
        .with_host(HostAddress::of(DATA, 3 * SECTOR));
    let mut blocks = [0; LANES_MAX];
    blocks[3..].fill(NO_BLOCK);
    let group = Blocks::Group(blocks);
    let parity = |opcode, lane, lanes: u32| {
        Command::new(opcode, 1, 0, 0, group)
            .at(0, SectorSpan::of(0, 4))
            .with_host(HostAddress::of(DATA, lanes * 4 * SECTOR))
            .with_parity_on(lane)
    };
    let group_report = Command::new(Opcode::Report, 1, 0, 0, Blocks::Group([0; LANES_MAX]))
        .with_host(HostAddress::of(DATA, 64));
    for bad in [
        with(|c| c.channel = 2),
        with(|c| c.die = 2),
        with(|c| c.blocks = Blocks::One { lane: 0, block: 6 }),
        with(|c| c.page = 4),
        with(|c| c.sectors = SectorSpan::of(1, 4)),
        with(|c| c.flags = CommandFlags(0)),
        with(|c| *c = c.with_parity_on(0)),
        with(|c| *c = c.with_parity_on(1)),
        // Lane 4 isn't one of the group, which has the memory for its lanes but one.
        parity(Opcode::Write, 4, 2),
        parity(Opcode::Write, 2, 3),
        parity(Opcode::Read, 2, 1),
        Command::new(Opcode::Erase, 1, 0, 0, group).with_parity_on(2),
        short,
        group_report,
        Command::new(Opcode::Erase, 1, 0, 0, Blocks::Group([NO_BLOCK; LANES_MAX])),
        Command::new(Opcode::Status, 1, 0, 2, one(0, 0)).with_host(HostAddress::of(DATA, 16)),
        Command::new(Opcode::Status, 1, 0, 0, one(0, 0)).with_flags(OOB).with_host(HostAddress::of(DATA, 16)),
    ] {
        assert_eq!(bench.code(&bad), StatusCode::Refused, "{bad:?}");
    }
    assert_eq!(bench.sectors.served.get(), served);
    assert_eq!(bench.code(&good), StatusCode::Done);
}

#[test]
fn sixty_four_commands_are_in_the_drive_and_the_next_one_waits_in_its_buffer() {
    let mut bench = Bench::new();
    bench.sectors.lingers.set(Duration::from_micros(100));
    let nops = |from: u16, count| -> Vec<Command> {
        (from..from + count)
            .map(|id| Command::new(Opcode::Nop, id, 0, 0, Blocks::One { lane: 0, block: 0 }))
            .collect()
    };
    for frame in 0..5 {
        bench.send(&nops(16 * frame, 16));
    }
    bench.run();
    let ids: Vec<u16> = bench.statuses().iter().map(|entry| entry.id.get()).collect();
    assert_eq!(ids.len(), 80);
    assert_eq!(bench.sectors.most.get(), 64);
    // 80 commands of 16 bytes, 12.8 ns for each 4 of them; the 65th takes the slot of the first.
    assert!(bench.exec.now() >= Instant::ZERO + Duration::from_micros(200));
}

#[test]
fn every_way_to_end_has_its_code() {
    let mut bench = Bench::new();
    let read = page(Opcode::Read, 1, 0, 0, DATA);
    let erase = Command::new(Opcode::Erase, 1, 0, 0, Blocks::One { lane: 0, block: 0 });
    for (command, outcome, code, failed, corrected) in [
        (read, HostStatus::UnrecoveredRead, StatusCode::Uncorrectable, 2, 16),
        (read, HostStatus::Vector(VectorFault::Marginal), StatusCode::Done, 2, 13),
        (page(Opcode::Write, 1, 0, 0, DATA), HostStatus::WriteFault, StatusCode::ProgramFailed, 2, 0),
        (erase, HostStatus::WriteFault, StatusCode::EraseFailed, 0, 0),
        (erase, HostStatus::Vector(VectorFault::BadBlock), StatusCode::Refused, 0, 0),
        (read, HostStatus::DataTransfer, StatusCode::HostMemory, 2, 0),
    ] {
        bench.sectors.outcome.set(outcome);
        // H32: the host decides by the number of bits.
        bench.sectors.corrected.set(corrected);
        let entry = bench.ask(&command);
        assert_eq!(entry.status(), Some(code));
        assert_eq!((entry.failed, entry.corrected, entry.channel), (failed, corrected, command.channel));
    }
    bench.sectors.outcome.set(HostStatus::Success);
    let beyond = page(Opcode::Write, 1, 0, 0, 1 << 40);
    assert_eq!(bench.code(&beyond), StatusCode::HostMemory);
    let report = Command::new(Opcode::Report, 2, 1, 1, Blocks::One { lane: 7, block: 0 })
        .with_host(HostAddress::of(DATA, 80));
    assert_eq!(bench.code(&report), StatusCode::Done);
    // 64 bytes of header and six blocks: the last ten bytes aren't written.
    let reported = &bench.memory.0[DATA as usize..][..80];
    assert!(reported[70..].iter().all(|&byte| byte == 0));
}

/// STATUS: a byte for each lane of a group, or for one lane.
#[test]
fn a_status_has_a_byte_for_each_lane_that_it_is_of() {
    let mut bench = Bench::new();
    let status = |blocks| {
        let command = Command::new(Opcode::Status, 1, 1, 1, blocks);
        command.with_host(HostAddress::of(DATA, 16))
    };
    let mut of = |blocks| {
        bench.memory.0[DATA as usize..][..16].fill(7);
        let entry = bench.ask(&status(blocks));
        (entry.status(), entry.failed, bench.memory.0[DATA as usize..][..16].to_vec())
    };
    let bytes = |count| [vec![0xe0; count], vec![7; 16 - count]].concat();
    let done = Some(StatusCode::Done);
    assert_eq!(of(Blocks::One { lane: 7, block: 0 }), (done, 0, bytes(1)));
    assert_eq!(of(Blocks::Group([0; LANES_MAX])), (done, 0, bytes(8)));
    bench.sectors.outcome.set(HostStatus::Vector(VectorFault::NoAnswer));
    let entry = bench.ask(&status(Blocks::Group([0; LANES_MAX])));
    assert_eq!((entry.status(), entry.failed), (Some(StatusCode::LaneDead), 2));
}

/// What stops the unit, how a host does it, and whether the status shows it.
type Stop = (&'static str, fn(&mut Bench), fn(UnitStatus) -> bool);

/// H10: the unit stops, and only a reset goes on.
#[test]
fn an_error_stops_the_unit_until_it_is_reset() {
    let stops: [Stop; 5] = [
        (
            "a frame of no bytes",
            |b| b.unit.write(0, registers::FRAME_ADDRESS, 8, 0x1000),
            |s| s.frame_error(),
        ),
        (
            "a frame that isn't in memory",
            |b| b.unit.write(0, registers::FRAME_ADDRESS, 8, FrameAddress::of(1 << 40, 16).0),
            |s| s.frame_error(),
        ),
        ("a malformed command", |b| b.send_frame(&[3; 24]), |s| s.frame_error()),
        (
            "more frames than the FIFO holds",
            |b| {
                b.hold_link = true;
                (0..19).for_each(|_| b.send_frame(&[0; 8]));
                b.hold_link = false;
            },
            |s| s.overflow(),
        ),
        (
            "a status buffer that isn't in memory",
            |b| {
                b.unit.write(0, registers::STATUS_BUFFER, 8, 1 << 40);
                b.send(&[Command::new(Opcode::Nop, 1, 0, 0, Blocks::One { lane: 0, block: 0 })]);
            },
            |s| s.status_error(),
        ),
    ];
    for (what, stop, shows) in stops {
        let mut bench = Bench::new();
        let nop = Command::new(Opcode::Nop, 9, 0, 0, Blocks::One { lane: 0, block: 0 });
        stop(&mut bench);
        bench.run();
        assert!(shows(bench.status()), "{what}");
        assert_eq!(bench.messages.last(), Some(&registers::VECTOR_FATAL), "{what}");
        bench.unit.write(0, registers::CONTROL, 4, Control(0).with_enable(true).0.into());
        bench.send(&[nop]);
        bench.run();
        assert!(bench.statuses().is_empty(), "{what}: it goes on without a reset");
        bench.unit.write(0, registers::CONTROL, 4, Control(0).with_reset(true).0.into());
        assert_eq!(bench.status(), UnitStatus(0).with_ready(true), "{what}");
        bench.enable();
        assert_eq!(bench.code(&nop), StatusCode::Done, "{what}");
    }
}

#[test]
fn a_reset_frees_the_host_from_commands_that_the_translation_still_has() {
    let mut bench = Bench::new();
    bench.sectors.lingers.set(Duration::from_micros(50));
    let write = page(Opcode::Write, 1, 0, 0, DATA);
    let read = page(Opcode::Read, 2, 0, 0, DATA + 0x8000);
    bench.send(&[write, read]);
    bench.exec.advance_to(Instant::ZERO + Duration::from_micros(10));
    while let Some(op) = bench.link.next_out() {
        let moved = carry_out(&op, &mut bench.memory, &bench.dram);
        bench.link.done(&op, moved);
    }
    bench.exec.advance_to(Instant::ZERO + Duration::from_micros(20));
    assert_eq!(bench.unit.commands_in_flight(), 2);
    bench.unit.function_reset();
    bench.memory.0[DATA as usize..].fill(7);
    bench.run();
    assert_eq!((bench.unit.commands_in_flight(), bench.unit.completed()), (0, 0));
    assert!(bench.memory.0[DATA as usize..].iter().all(|&byte| byte == 7), "DMA of a host that is gone");
    bench.enable();
    assert_eq!(bench.code(&write), StatusCode::Done);
    assert_eq!(bench.code(&read), StatusCode::Done);
}

#[test]
fn statuses_are_gathered_up_to_a_threshold_or_a_time() {
    let mut bench = Bench::new();
    let nop = |id| Command::new(Opcode::Nop, id, 0, 0, Blocks::One { lane: 0, block: 0 });
    let config = StatusConfig(0).with_entries(3).with_timeout_us(50);
    bench.unit.write(0, registers::STATUS_CONFIG, 4, config.0.into());
    let before = bench.messages.len();
    let begun = bench.exec.now();
    bench.send(&[nop(1), nop(2), nop(3), nop(4)]);
    bench.run();
    // Three together, and the fourth after its time.
    assert_eq!(bench.messages.len() - before, 2);
    assert!(bench.exec.now() >= begun + Duration::from_micros(50));
    let ids: Vec<u16> = bench.statuses().iter().map(|entry| entry.id.get()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
}

/// H9, H11: random commands in random frames, 64 of them in the drive at most. Each one gets one status, and
/// the data are those of a model.
#[test]
fn random_commands_in_random_frames_are_those_of_a_model() {
    let mut bench = Bench::new();
    let mut random = Rng::new(11);
    // Each command in flight has a place in host memory and a page of its own.
    const FLIGHT: usize = 60;
    const PLACE: u64 = 0x5000;
    let mut model: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let mut ready: VecDeque<usize> = (0..FLIGHT).collect();
    let mut expected: BTreeMap<usize, (Opcode, Vec<u8>)> = BTreeMap::new();
    let (mut done, mut begun) = (0, 0);
    let whole = (4 * (SECTOR + METADATA)) as usize;
    assert!(FLIGHT as u64 * PLACE <= DATA_BYTES);
    while done < 10_000 {
        let lingers = Duration::from_micros(random.below(30));
        bench.sectors.lingers.set(lingers);
        for _ in 0..random.below(5) {
            let mut frame = FrameBuilder::default();
            for _ in 0..1 + random.below(8) {
                let Some(place) = ready.pop_front() else { break };
                let at = DATA + place as u64 * PLACE;
                let host = at as usize..at as usize + whole;
                let opcode = if random.below(2) == 0 { Opcode::Read } else { Opcode::Write };
                let mut command = page(opcode, place as u16, (place % 8) as u8, (place / 8 % 4) as u16, at);
                command.die = (place / 32) as u8;
                if !frame.push(&command) {
                    ready.push_front(place);
                    break;
                }
                begun += 1;
                if opcode == Opcode::Write {
                    bench.memory.0[host.clone()].fill_with(|| random.next_u64() as u8);
                    model.insert(place, bench.memory.0[host].to_vec());
                    expected.insert(place, (opcode, Vec::new()));
                } else {
                    let data = model.get(&place).cloned().unwrap_or_default();
                    expected.insert(place, (opcode, data));
                }
            }
            if !frame.is_empty() {
                let bytes = frame.bytes().to_vec();
                bench.send_frame(&bytes);
            }
        }
        bench.run();
        for entry in bench.statuses() {
            let place = usize::from(entry.id.get());
            let (opcode, data) = expected.remove(&place).expect("a status for a command in flight");
            let code =
                if opcode == Opcode::Read && data.is_empty() { StatusCode::Erased } else { StatusCode::Done };
            assert_eq!(entry.status(), Some(code));
            let at = (DATA + place as u64 * PLACE) as usize;
            assert!(data.is_empty() || bench.memory.0[at..at + whole] == data[..], "page {place}");
            ready.push_back(place);
            done += 1;
        }
    }
    assert_eq!((begun - done, expected.len()), (0, 0));
    assert_eq!(bench.unit.completed(), done);
}

/// H4: a message at each crossing of the threshold, and none at a reset.
#[test]
fn the_host_is_told_once_that_the_drive_is_hot() {
    let mut bench = Bench::new();
    let warm = |bench: &mut Bench, kelvins| {
        bench.unit.media_changed(MediaHealth { temperature_kelvins: kelvins, ..MediaHealth::default() });
        bench.run();
        let told = bench.messages.drain(..).filter(|&vector| vector == registers::VECTOR_TEMPERATURE).count();
        (bench.register(registers::TEMPERATURE, 4), bench.status().hot(), told)
    };
    assert_eq!(warm(&mut bench, 400), (400, false, 0), "no threshold, no alarm");
    bench.unit.write(0, registers::ALARM, 4, 350);
    assert_eq!(bench.register(0x44, 4), 350);
    assert_eq!(warm(&mut bench, 400), (400, true, 1), "it is hot already");
    assert_eq!(warm(&mut bench, 349), (349, true, 0));
    assert_eq!(warm(&mut bench, 348), (348, false, 0));
    assert_eq!(warm(&mut bench, 350), (350, true, 1));
    bench.unit.write(0, registers::CONTROL, 4, Control(0).with_reset(true).0.into());
    assert_eq!(bench.register(registers::ALARM, 4), 0, "the threshold of power-on");
    assert_eq!(warm(&mut bench, 360), (360, false, 0));
}
