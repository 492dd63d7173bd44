//! A drive with a front end that carries DMA out in host memory.

use super::flash::{Cells, SharedCells, serve};
use crate::checkpoint::directory_copies::bytes_of;
use crate::{
    Assigner, Capacity, CareConfig, Collection, DriveState, FirstAccess, Ftl, FtlConfig, FtlCosts, FtlHandle,
    GcConfig, Greedy, HostConfig, LineConfig, MapKind, Mapping, MappingPorts, NVRAM_BYTES, Pools, Refresh,
    ResidentMap, Setup, UpdateDistance, WearLevelling,
};
use aster_board::{EmmcCard, EmmcCells, EmmcTimes, SharedEmmcCells};
use aster_events::Recorder;
use aster_exec::{Core, Exec, Handler, HandlerId};
use aster_parties::{NvramSlice, StreamPolicy, TranslationView, VictimPolicy};
use aster_ports::cores::Interrupt;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::emmc::{EMMC_BLOCK_BYTES, EmmcPort};
use aster_ports::flash::FlashPort;
use aster_ports::host::{
    ByteRange, CommandId, CommandPort, Completion, DmaDirection, DmaError, DmaRequest, DmaTag, FRONT_KICK,
    HostCommand, HostOp, HostStatus,
};
use aster_ports::medium::{Nvram, SharedNvram};
use aster_units::{Content, Duration, Frequency, Geometry, Rng, SECTOR_BYTES};
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

pub fn geometry() -> Geometry {
    Geometry {
        channels: 2,
        ways: 1,
        luns: 2,
        planes: 1,
        blocks_per_lun: 72,
        pages_per_block: 4,
        page_bytes: 8192,
        spare_bytes: 512,
    }
}

pub fn config(content: Content) -> FtlConfig {
    FtlConfig {
        geometry: geometry(),
        planes_apart: 1,
        restriction: None,
        content,
        mapping_unit_bytes: 0,
        map: MapKind::Resident,
        pools: Pools::PerLun,
        capacity: Capacity::OverProvisioning(7.0),
        host: HostConfig {
            buffer_entries: 12,
            slice_workers: 8,
            command_slots: 16,
            auto_completion: false,
            partial_reads: true,
            first_access: FirstAccess::Zeroes,
        },
        gc: GcConfig { reserve_blocks: 1, free_blocks: 2, collection: Collection::OnDemand, depth: 2 },
        streams: 1,
        lines: LineConfig { pages: 1, whole: false },
        checkpoint_pages: 0,
        care: CareConfig {
            wear_levelling: WearLevelling::Static { spread: 20 },
            refresh: Refresh { corrected: 0, correctable: 40, reads: 0 },
            retire_uncorrectable: false,
            scan_interval: Duration::ZERO,
            background_gap: Duration::from_micros(200),
        },
        costs: FtlCosts::default(),
    }
}

struct Front {
    exec: Exec,
    port: Rc<CommandPort>,
    dram: SharedDram,
    content: Content,
    id: Cell<Option<HandlerId>>,
    memory: RefCell<Vec<Vec<u8>>>,
    moving: RefCell<VecDeque<(DmaTag, DmaRequest)>>,
    done: RefCell<VecDeque<Completion>>,
    auto_completion: bool,
    /// By slot: the command, and what has been moved of it.
    commands: RefCell<Vec<Option<(HostCommand, u64)>>>,
    /// Moves that the FTL has not been told of, and how long it waits for that.
    unreported: RefCell<VecDeque<(DmaTag, Result<(), DmaError>)>>,
    telling: Cell<Duration>,
    /// By slot: whether the host has yet to take its end, and the FTL to give it back; and slots of which
    /// neither is so.
    held: RefCell<Vec<(bool, bool)>>,
    free: RefCell<Vec<u16>>,
    fail_next_dma: Cell<bool>,
    lose_next_dma: Cell<bool>,
    rng: RefCell<Rng>,
}

const MOVE: u64 = 1;
const TELL: u64 = 2;

impl Handler for Front {
    fn fire(&self, token: u64) {
        if token == MOVE {
            let (tag, request) = self.moving.borrow_mut().pop_front().expect("a move is due");
            return self.carry_out(tag, &request);
        }
        if token == TELL {
            let (tag, result) = self.unreported.borrow_mut().pop_front().expect("something is to be told");
            return self.port.dma_done(tag, result);
        }
        assert_eq!(token, FRONT_KICK);
        self.port.acknowledge();
        while let Some(dma) = self.port.next_dma() {
            if self.lose_next_dma.replace(false) {
                continue;
            }
            self.moving.borrow_mut().push_back(dma);
            let delay = Duration::from_nanos(500 + self.rng.borrow_mut().below(4000));
            self.exec.schedule(self.exec.now() + delay, self.id.get().unwrap(), MOVE);
        }
        while let Some(completion) = self.port.next_completion() {
            let id = completion.id.0;
            // The host knows already where the front end has completed it.
            match self.commands.borrow_mut()[usize::from(id)].take() {
                Some(_) => self.done.borrow_mut().push_back(completion),
                None => assert_eq!(completion.status, HostStatus::Success),
            }
            self.let_go(id, |(host, _)| (host, false));
        }
    }
}

impl Front {
    fn scaled(&self, bytes: u32) -> usize {
        bytes as usize / SECTOR_BYTES * self.content.sector_len()
            + if self.content == Content::Full { bytes as usize % SECTOR_BYTES } else { 0 }
    }
    fn carry_out(&self, tag: DmaTag, r: &DmaRequest) {
        let (offset, at, len) = (self.scaled(r.offset), self.scaled(r.buffer_offset), self.scaled(r.length));
        // One that fails has moved a part, which ends in the middle of a block.
        let result = if self.fail_next_dma.replace(false) { Err(DmaError::Address) } else { Ok(()) };
        let len = if result.is_err() { len * 3 / 5 } else { len };
        let mut memory = self.memory.borrow_mut();
        let host = &mut memory[usize::from(r.command.0)][offset..offset + len];
        let mut dram = self.dram.borrow_mut();
        let page = &mut dram.page_mut(r.buffer)[at..at + len];
        match r.direction {
            DmaDirection::ToHost => host.copy_from_slice(page),
            DmaDirection::FromHost => page.copy_from_slice(host),
        }
        if !self.auto_completion {
            return self.port.dma_done(tag, result);
        }
        self.moved(r.command, if result.is_ok() { r.length } else { 0 });
        self.unreported.borrow_mut().push_back((tag, result));
        self.exec.schedule(self.exec.now() + self.telling.get(), self.id.get().unwrap(), TELL);
    }
    fn let_go(&self, slot: u16, by: impl FnOnce((bool, bool)) -> (bool, bool)) {
        let held = &mut self.held.borrow_mut()[usize::from(slot)];
        *held = by(*held);
        if *held == (false, false) {
            self.free.borrow_mut().push(slot);
        }
    }
    /// Completes a command with the last byte of its data.
    fn moved(&self, id: CommandId, bytes: u32) {
        let slot = &mut self.commands.borrow_mut()[usize::from(id.0)];
        let (command, moved) = slot.as_mut().expect("no data are moved once all have been");
        *moved += u64::from(bytes);
        let automatic = command.op == HostOp::Read || command.op == HostOp::Write && !command.fua;
        if automatic && *moved == command.length {
            *slot = None;
            self.done.borrow_mut().push_back(Completion::new(id, HostStatus::Success));
        }
    }
}

/// Who decides for a drive.
#[derive(Clone, Copy)]
pub struct Decisions {
    pub victims: fn() -> Box<dyn VictimPolicy>,
    pub streams: fn() -> Box<dyn StreamPolicy>,
    pub assigner: Assigner,
}

impl Default for Decisions {
    fn default() -> Self {
        Decisions {
            victims: || Box::new(Greedy),
            streams: || Box::new(UpdateDistance::default()),
            assigner: Assigner::default(),
        }
    }
}

impl Decisions {
    fn of(self, config: FtlConfig) -> Setup {
        Setup::new(config, (self.victims)(), &self.assigner).unwrap().with_streams((self.streams)())
    }
}

/// A mapping that a bench can make.
pub trait MadeForTests: Mapping {
    fn make(ports: MappingPorts<'_>) -> Self;
    /// A configuration that it can do with, for one of a test that knows nothing of it.
    fn fit(config: FtlConfig) -> FtlConfig {
        config
    }
}

impl MadeForTests for ResidentMap {
    fn make(ports: MappingPorts<'_>) -> Self {
        ResidentMap::new(ports.pages)
    }
}

/// A drive under power, with the map that drives have.
pub type Bench = AnyBench<ResidentMap>;

/// The board's eMMC.
const EMMC_BYTES: u64 = 64 << 10;
const EMMC_TIMES: EmmcTimes =
    EmmcTimes { read: Duration::from_micros(150), write: Duration::from_micros(400) };

/// The FTL's part of the NVRAM.
pub fn part(nvram: &SharedNvram) -> NvramSlice {
    NvramSlice::new(nvram, 0, NVRAM_BYTES)
}

/// A drive under power.
pub struct AnyBench<M: Mapping> {
    pub exec: Exec,
    pub config: FtlConfig,
    pub cells: SharedCells,
    pub nvram: SharedNvram,
    pub dram: SharedDram,
    pub flash: Rc<FlashPort>,
    /// What a drive with a map on flash has in its eMMC.
    pub emmc: SharedEmmcCells,
    pub card: Rc<EmmcCard>,
    pub emmc_port: Rc<EmmcPort>,
    pub ftl: FtlHandle<M>,
    pub recorder: Recorder,
    decisions: Decisions,
    front: Rc<Front>,
}

impl<M: MadeForTests> AnyBench<M> {
    /// As of [`MadeForTests::fit`].
    pub fn fit(config: FtlConfig) -> FtlConfig {
        M::fit(config)
    }
    pub fn fresh(config: FtlConfig) -> Self {
        Self::deciding(Decisions::default(), config)
    }
    pub fn deciding(by: Decisions, config: FtlConfig) -> Self {
        Self::powered(by, config, Cells::new(config.planes().lun_geometry(), 1), Nvram::volatile(NVRAM_BYTES))
    }
    pub fn power_on(config: FtlConfig, cells: SharedCells, nvram: SharedNvram) -> Self {
        Self::powered(Decisions::default(), config, cells, nvram)
    }
    pub fn powered(decisions: Decisions, config: FtlConfig, cells: SharedCells, nvram: SharedNvram) -> Self {
        Self::with_emmc(decisions, config, cells, nvram, EmmcCells::in_memory(EMMC_BYTES))
    }
    pub fn with_emmc(
        decisions: Decisions,
        config: FtlConfig,
        cells: SharedCells,
        nvram: SharedNvram,
        emmc: SharedEmmcCells,
    ) -> Self {
        let config = M::fit(config);
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let dram = Dram::new(
            config.content,
            config.geometry.sectors_per_page(),
            config.oob_bytes() as u8,
            config.buffers().data(),
            config.buffers().metadata(),
            0,
        );
        let host = CommandPort::new(&exec, config.host.command_slots, 2 * config.host.command_slots);
        // As few as there may be, so that waiting for one is part of most tests.
        let depth = config.flash_requests_min() as u16;
        let flash =
            FlashPort::new(&exec, config.planes().lun_geometry().total_luns(), depth, Interrupt::default());
        nvram.keep_only_saved(NVRAM_BYTES);
        serve(&core, &cells, &flash, &dram);
        let front = Rc::new(Front {
            exec: exec.clone(),
            port: host.clone(),
            dram: dram.clone(),
            content: config.content,
            id: Cell::new(None),
            memory: RefCell::new(vec![Vec::new(); usize::from(config.host.command_slots)]),
            moving: RefCell::default(),
            done: RefCell::default(),
            auto_completion: config.host.auto_completion,
            commands: RefCell::new(vec![None; usize::from(config.host.command_slots)]),
            unreported: RefCell::default(),
            telling: Cell::new(Duration::from_micros(3)),
            held: RefCell::new(vec![(false, false); usize::from(config.host.command_slots)]),
            free: RefCell::new((0..config.host.command_slots).rev().collect()),
            fail_next_dma: Cell::new(false),
            lose_next_dma: Cell::new(false),
            rng: RefCell::new(Rng::new(5)),
        });
        let id = exec.register(front.clone());
        front.id.set(Some(id));
        host.attach(id);
        let recorder = Recorder::default();
        let emmc_port = EmmcPort::new(&exec);
        let card = EmmcCard::start(&exec, &emmc_port, Rc::clone(&emmc), EMMC_TIMES);
        let setup = decisions.of(config).with_emmc(Rc::clone(&emmc_port));
        let (nvram_part, into) = (part(&nvram), recorder.clone());
        let (memory, below) = (dram.clone(), Rc::clone(&flash));
        let ftl = Ftl::start_with(&core, setup, memory, host, below, nvram_part, into, M::make).unwrap();
        AnyBench {
            exec,
            config,
            cells,
            nvram,
            dram,
            flash,
            emmc,
            card,
            emmc_port,
            ftl,
            recorder,
            decisions,
            front,
        }
    }
    /// Cuts the power, whatever is going on, and switches it on again.
    pub fn restart(self) -> Self {
        let config = self.config;
        self.restart_as(config)
    }
    /// As [`AnyBench::restart`], with another configuration.
    pub fn restart_as(self, config: FtlConfig) -> Self {
        let by = self.decisions;
        let (cells, nvram, emmc) = self.cut();
        Self::with_emmc(by, config, cells, nvram, emmc)
    }
    /// Cuts the power, and gives what is kept without it.
    pub fn cut(self) -> (SharedCells, SharedNvram, SharedEmmcCells) {
        let (config, cells) = (self.config, Rc::clone(&self.cells));
        let (nvram, emmc) = (Rc::clone(&self.nvram), Rc::clone(&self.emmc));
        self.card.power_off(self.exec.now());
        drop(self);
        cells.borrow_mut().cut_off(config.lines.pages);
        nvram.power_off();
        (cells, nvram, emmc)
    }
    /// Blocks of a copy of the directory.
    pub fn copy_blocks(&self) -> u32 {
        (bytes_of(&self.config) / EMMC_BLOCK_BYTES) as u32 / 2
    }
    /// Now and then deletes a copy of the directory, or damages it, on a drive that has some.
    pub fn spoil_copies(&self, rng: &mut Rng) {
        let blocks = self.copy_blocks();
        if blocks == 0 || rng.below(2) == 0 {
            return;
        }
        let first = rng.below(2) as u32 * blocks;
        if rng.below(2) == 0 {
            (first..first + blocks).for_each(|block| self.emmc.set_block(block, &[0; EMMC_BLOCK_BYTES]));
        } else {
            let block = first + rng.below(blocks.into()) as u32;
            let mut content = self.emmc.block(block);
            content[rng.below(EMMC_BLOCK_BYTES as u64) as usize] ^= 1 << rng.below(8);
            self.emmc.set_block(block, &content);
        }
    }
    pub fn capacity(&self) -> u64 {
        u64::from(self.ftl.logical_pages()) * u64::from(self.config.geometry.page_bytes)
    }
    /// Under auto completion: how long the FTL waits to be told that data have been moved, of which the host
    /// knows at once.
    pub fn tell_after(&self, delay: Duration) {
        self.front.telling.set(delay);
    }
    pub fn fail_next_dma(&self) {
        self.front.fail_next_dma.set(true);
    }
    /// The next transfer never ends.
    pub fn lose_next_dma(&self) {
        self.front.lose_next_dma.set(true);
    }

    // ---- commands ----

    /// Whether another command may be sent; waits for slots that are the FTL's alone.
    pub fn has_slot(&self) -> bool {
        let is_coming = || self.front.held.borrow().contains(&(false, true));
        while self.front.free.borrow().is_empty() && is_coming() {
            self.exec.advance_to(self.exec.next_deadline().expect("the FTL gives its slots back"));
        }
        !self.front.free.borrow().is_empty()
    }
    /// Sends a command; `data` is what the host writes or room for what it reads, in the content's scale.
    pub fn send(&self, op: HostOp, offset: u64, length: u64, fua: bool, data: Vec<u8>) -> CommandId {
        let id = CommandId(self.front.free.borrow_mut().pop().expect("a free slot"));
        self.front.memory.borrow_mut()[usize::from(id.0)] = data;
        let command = HostCommand { id, op, offset, length, fua };
        self.front.commands.borrow_mut()[usize::from(id.0)] = Some((command, 0));
        self.front.held.borrow_mut()[usize::from(id.0)] = (true, true);
        self.front.port.push_command(command);
        id
    }
    /// Sends a read of a whole page of full content.
    pub fn send_read(&self, page: u64) -> CommandId {
        let bytes = u64::from(self.config.geometry.page_bytes);
        self.send(HostOp::Read, page * bytes, bytes, false, vec![0; bytes as usize])
    }
    pub fn send_deallocate(&self, ranges: &[ByteRange]) -> CommandId {
        let next = CommandId(*self.front.free.borrow().last().expect("a free slot"));
        self.front.port.set_ranges(next, ranges.iter().copied());
        self.send(HostOp::Deallocate, 0, 0, false, Vec::new())
    }
    /// True when a finished command waits to be taken.
    pub fn has_completion(&self) -> bool {
        !self.front.done.borrow().is_empty()
    }
    /// The next finished command with its host memory. Panics when the drive makes no progress.
    pub fn wait(&self) -> (Completion, Vec<u8>) {
        loop {
            if let Some(completion) = self.front.done.borrow_mut().pop_front() {
                self.front.let_go(completion.id.0, |(_, ftl)| (false, ftl));
                let data = std::mem::take(&mut self.front.memory.borrow_mut()[usize::from(completion.id.0)]);
                return (completion, data);
            }
            let Some(deadline) = self.exec.next_deadline() else { panic!("no progress: {}", self.dump()) };
            self.exec.advance_to(deadline);
        }
    }
    /// Runs one command alone.
    pub fn run(&self, op: HostOp, offset: u64, length: u64, data: Vec<u8>) -> (HostStatus, Vec<u8>) {
        self.send(op, offset, length, false, data);
        let (completion, data) = self.wait();
        (completion.status, data)
    }
    /// Waits until the drive has booted, or could not.
    pub fn wait_booted(&self) {
        while self.ftl.state() == DriveState::Booting {
            self.exec.advance_to(self.exec.next_deadline().expect("power-on ends"));
        }
    }
    pub fn shut_down(&self) -> HostStatus {
        self.run(HostOp::Shutdown, 0, 0, Vec::new()).0
    }
    /// Lets everything come to rest.
    pub fn rest(&self) {
        while let Some(deadline) = self.exec.next_deadline() {
            self.exec.advance_to(deadline);
        }
    }
    /// A counter that only this mapping has.
    pub fn counter(&self, name: &str) -> u64 {
        let view: &dyn TranslationView = &self.ftl;
        view.counter(name).unwrap_or_else(|| panic!("it has no counter {name}"))
    }
}

impl<M: Mapping> Drop for AnyBench<M> {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}
