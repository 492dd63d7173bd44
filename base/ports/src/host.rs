//! I5: a front end (hardware NVMe, software NVMe, Fabrics) on one side, the FTL on the other.
//!
//! Offsets and lengths are in bytes of the namespace, so the FTL doesn't know block formats. The FTL moves
//! data by DMA requests relative to a command's data; the front end knows where that is in host memory.

use crate::flash::Tag;
use crate::lists::Lists;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Core, Exec, Fifo, HandlerId, Ring, WaitCell, WaitQueue};
use aster_units::{BufferId, Instant};
use core::cell::{Cell, OnceCell, RefCell};

/// A command slot of the front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct CommandId(pub u16);

/// What the host asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostOp {
    /// Device to host.
    Read,
    /// Host to device.
    Write,
    /// Compare host data with stored data.
    Compare,
    /// Write zeroes without data.
    WriteZeroes {
        /// DEAC: the host asks to have the blocks deallocated. The drive may deallocate them without it,
        /// too (NVMe 1.4 §6.17).
        deallocate: bool,
    },
    /// Deallocate the command's ranges ([`CommandPort::range`]).
    Deallocate,
    /// When this completes, everything written before it is on NAND.
    Flush,
    /// Discard all data: afterwards, all blocks read as zeroes.
    Format {
        /// User Data Erase (NVMe 1.4 §5.23): everything that the host ever wrote must be erased from the
        /// media, too.
        erase: bool,
    },
    /// Flush, write the mapping to NAND, mark the drive clean.
    Shutdown,
    /// Device to host: reads the units that the command's addresses name ([`CommandPort::address`]).
    VectorRead(VectorMode),
    /// Host to device: writes the units that the addresses name.
    VectorWrite(VectorMode),
    /// Erases the units that the addresses name. No data.
    VectorErase(VectorMode),
    /// Copies within the device. The addresses are the sources, followed by as many destinations. No
    /// data.
    VectorCopy,
    /// Device to host: the translation's report on the unit that the command's address names, from
    /// [`HostCommand::offset`] on.
    Report(ReportKind),
    /// Puts the blocks that the command's addresses name into this state. No data.
    SetBlockState(BlockState),
}

/// Which report on the flash the host asks for. The standard that the command set implements defines the
/// report's layout. The command set and the translation must agree on it, as they do on addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportKind {
    /// The state of each block of a LUN: a bad-block table.
    BlockStates,
    /// State, wear and write pointer of each chunk.
    Chunks,
    /// The ready and fail bits of each LUN that the command's addresses name: a status register for each
    /// (ONFI 5.1 §5.12), 0 for one that doesn't answer.
    Status,
}

/// Who may use a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockState {
    /// The host.
    Free,
    /// No one: the manufacturer has marked it as bad.
    FactoryBad,
    /// No one: it went bad in use.
    GrownBad,
    /// The device, for itself.
    Device,
    /// The host, which has reserved it.
    Host,
}

/// How a vector command is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VectorMode {
    /// The command has metadata ([`DmaPart::Metadata`]). Without, a read moves none, and a write stores
    /// zeroes.
    pub metadata: bool,
    /// An erase means the named block of each plane of the LUN, whichever plane its address names.
    pub all_planes: bool,
    /// The cells are used as SLC.
    pub slc: bool,
    /// Raw bytes: no ECC and no scrambler.
    pub raw: bool,
    /// A read of units that were never written gets zeroes, instead of failing.
    pub unwritten_is_zero: bool,
    /// An erase that names bad blocks erases the others, and names those as failed. Without, nothing is
    /// erased.
    pub skips_bad: bool,
    /// The last page that a write names gets the sum of the others, of their metadata as well; neither has
    /// data of the host's (H33).
    pub parity: bool,
}

/// The address of one unit of flash in a vector command. The command set defines its fields; only the
/// command set and the translation interpret them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VectorAddress(pub u64);

impl HostOp {
    /// Whether the command names each of its units of flash by an address ([`CommandPort::address`]).
    #[inline]
    pub const fn has_addresses(self) -> bool {
        matches!(
            self,
            HostOp::VectorRead(_)
                | HostOp::VectorWrite(_)
                | HostOp::VectorErase(_)
                | HostOp::VectorCopy
                | HostOp::Report(_)
                | HostOp::SetBlockState(_)
        )
    }
}

/// A command for the FTL, already checked against the namespace's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCommand {
    /// The front end's slot; names the command in DMA requests and completions.
    pub id: CommandId,
    /// What to do.
    pub op: HostOp,
    /// First byte in the namespace, or in the report; 0 for a vector command.
    pub offset: u64,
    /// Bytes. A vector command's data are those of its units, in the order of the addresses.
    pub length: u64,
    /// Force unit access: the data must be on NAND before the command completes.
    pub fua: bool,
}

impl HostCommand {
    /// Whether the command is done once its data have been moved. A front end that is able to may then
    /// complete it by itself, with the last byte (P13).
    pub const fn ends_with_data(&self) -> bool {
        match self.op {
            HostOp::Read => true,
            HostOp::Write => !self.fua,
            _ => false,
        }
    }
}

/// A byte range of the namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteRange {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// Which way a host DMA goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaDirection {
    /// Device memory to host memory (the paper's TxDMA).
    ToHost,
    /// Host memory to device memory (RxDMA).
    FromHost,
}

/// One of the two runs of host memory that a command has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DmaPart {
    /// The run that its data pointer names.
    #[default]
    Data,
    /// The run that its metadata pointer names.
    Metadata,
}

/// Moves part of a command's data or metadata. Each byte of a read or a write is moved exactly once,
/// since the front end may complete the command with the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DmaRequest {
    /// The command.
    pub command: CommandId,
    /// Which way.
    pub direction: DmaDirection,
    /// Whether it moves data or metadata.
    pub part: DmaPart,
    /// Offset into that part.
    pub offset: u32,
    /// The page buffer.
    pub buffer: BufferId,
    /// Byte offset into the buffer. It counts host bytes, even on a drive that keeps fingerprints.
    pub buffer_offset: u32,
    /// Bytes.
    pub length: u32,
    /// The flash request that this DMA follows, as the last step of an operation set (Fig 10). Only for a
    /// port whose lower side chains DMA ([`CommandPort::chains_dma`]).
    pub after: Option<Tag>,
}

/// Why a DMA did not happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaError {
    /// The host address can't be reached.
    Address,
    /// The controller was reset or the queue was deleted, so that no host waits for the command any more.
    Aborted,
    /// The DMA was never started, because the flash request that it follows failed or read another page.
    Abandoned,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostStatus {
    /// Done.
    Success,
    /// Stored data could not be read back correctly.
    UnrecoveredRead,
    /// Data could not be stored.
    WriteFault,
    /// [`HostOp::Compare`] found a difference.
    CompareFailure,
    /// Host memory could not be reached.
    DataTransfer,
    /// The drive has become read-only.
    ReadOnly,
    /// The command names something that the translation doesn't have or can't do. Nothing was done.
    Refused,
    /// Aborted by reset, queue deletion or Abort.
    Aborted,
    /// A vector failed in a way that only command sets with vectors have a status for.
    Vector(VectorFault),
}

/// How a vector command fails other than by data that can't be read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorFault {
    /// A read named a unit that was never written since its block was erased.
    Empty,
    /// All was read, but some units had so many wrong bits that the host should move them.
    Marginal,
    /// A write or erase named a bad block, or one that is the drive's. Nothing was done.
    BadBlock,
    /// A write named units other than the next ones of their blocks. Nothing was done.
    OutOfOrder,
    /// The chunk is offline.
    Offline,
    /// The chunk can't be reset in its state.
    NotResettable,
    /// The chunk was closed before all of it was written.
    ClosedEarly,
    /// The unit could not be written; the host goes on with the next one.
    NextUnit,
    /// The LUNs of the units that failed have been given up: they don't answer any more.
    NoAnswer,
}

/// A finished command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The command.
    pub id: CommandId,
    /// How it ended.
    pub status: HostStatus,
    /// The 64-bit result. A vector command has one bit per address, the first one lowest, which is set if
    /// that address failed.
    pub result: u64,
    /// If the command failed because blocks could not be read: where the first of them begins on the
    /// drive, in bytes.
    pub failed_at: Option<u64>,
    /// The most bits that were corrected in a chunk of what a vector command read; 0 if nothing tells. Only
    /// front ends whose host decides about refresh pass it on.
    pub corrected: u8,
}

impl Completion {
    /// A command that ended so, and of which there is nothing more to say.
    pub const fn new(id: CommandId, status: HostStatus) -> Self {
        Completion { id, status, result: 0, failed_at: None, corrected: 0 }
    }
}

/// Names a DMA request in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DmaTag(pub u16);

struct DmaSlot {
    request: Cell<Option<DmaRequest>>,
    result: Cell<Option<Result<(), DmaError>>>,
    waiter: WaitCell,
}

/// Deallocation ranges that a command may have (NVMe 1.4 §6.7).
pub const MAX_RANGES: usize = 256;
/// The most units that a vector command may name: the result has one bit for each.
pub const VECTOR_MAX: usize = 64;
/// The most addresses of a command: a copy has two for each unit.
const MAX_ADDRESSES: usize = 2 * VECTOR_MAX;

/// The addresses of each slot's vector.
struct Addresses {
    all: Vec<u64>,
    count: Vec<u8>,
}

impl Addresses {
    fn new(slots: usize) -> Self {
        Addresses { all: vec![0; slots * MAX_ADDRESSES], count: vec![0; slots] }
    }
    fn of(&self, command: CommandId) -> &[u64] {
        let slot = usize::from(command.0);
        &self.all[slot * MAX_ADDRESSES..][..usize::from(self.count[slot])]
    }
    fn add(&mut self, command: CommandId, address: VectorAddress) {
        let slot = usize::from(command.0);
        let count = usize::from(self.count[slot]);
        assert!(count < MAX_ADDRESSES, "a command with more than {MAX_ADDRESSES} addresses");
        self.all[slot * MAX_ADDRESSES + count] = address.0;
        self.count[slot] += 1;
    }
}

/// What firmware pays for commands that it reaches by registers ([`CommandPort::behind_registers`]).
struct Registers {
    core: Core,
    access: Box<dyn Fn()>,
}

/// The port.
pub struct CommandPort {
    exec: Exec,
    commands: Ring<HostCommand>,
    // When each slot's command was pushed.
    pushed: Box<[Cell<Instant>]>,
    ranges: RefCell<Box<[Vec<ByteRange>]>>,
    addresses: RefCell<Addresses>,
    // The stream that each slot's write names; 0 for none.
    streams: Box<[Cell<u8>]>,
    dma: Box<[DmaSlot]>,
    dma_free: RefCell<Vec<u16>>,
    dma_waiters: WaitQueue,
    dma_requested: RefCell<Fifo<DmaTag>>,
    // Each with when it arrives at the front end.
    completions: RefCell<Fifo<(Instant, Completion)>>,
    registers: OnceCell<Registers>,
    front: Cell<Option<HandlerId>>,
    back: Cell<Option<HandlerId>>,
    rung: Cell<bool>,
    dma_chained: Cell<bool>,
    lists: Lists,
}

/// The token that the front end's handler gets when the FTL has requested DMA or completed a command.
pub const FRONT_KICK: u64 = u64::MAX;
/// The token that polling firmware gets when there is something new for it
/// ([`CommandPort::attach_back`]).
pub const BACK_KICK: u64 = u64::MAX - 1;

impl CommandPort {
    /// A port for at most `commands` commands and `dma` DMA requests in flight.
    pub fn new(exec: &Exec, commands: u16, dma: u16) -> Rc<Self> {
        let slot =
            |_| DmaSlot { request: Cell::new(None), result: Cell::new(None), waiter: WaitCell::default() };
        Rc::new(CommandPort {
            exec: exec.clone(),
            commands: Ring::new(usize::from(commands)),
            pushed: (0..commands).map(|_| Cell::new(Instant::ZERO)).collect(),
            // All memory is allocated here, so that a slot's first Deallocate doesn't allocate.
            ranges: RefCell::new((0..commands).map(|_| Vec::with_capacity(MAX_RANGES)).collect()),
            addresses: RefCell::new(Addresses::new(usize::from(commands))),
            streams: (0..commands).map(|_| Cell::new(0)).collect(),
            dma: (0..dma).map(slot).collect(),
            dma_free: RefCell::new((0..dma).rev().collect()),
            dma_waiters: WaitQueue::with_capacity(usize::from(dma)),
            dma_requested: RefCell::new(Fifo::with_capacity(usize::from(dma))),
            completions: RefCell::new(Fifo::with_capacity(usize::from(commands))),
            registers: OnceCell::new(),
            front: Cell::new(None),
            back: Cell::new(None),
            rung: Cell::new(false),
            dma_chained: Cell::new(false),
            lists: Lists::new(commands),
        })
    }

    // ---- the FTL's side ----

    /// Waits for a command.
    pub async fn next_command(&self) -> HostCommand {
        let command = self.command().await;
        if let Some(core) = self.pays_for_access() {
            core.settle().await;
        }
        command
    }
    /// As [`CommandPort::next_command`], without the time that an access takes on the core of
    /// [`CommandPort::pays_for_access`].
    #[inline]
    pub fn command(&self) -> impl Future<Output = HostCommand> {
        self.commands.pop_by(&self.exec, || self.try_next_command())
    }
    /// The core that pays for accesses to the command FIFO, if commands [wait in
    /// one](CommandPort::behind_registers).
    #[inline]
    pub fn pays_for_access(&self) -> Option<&Core> {
        self.registers.get().map(|registers| &registers.core)
    }
    /// Takes a command, if one is there.
    #[inline]
    pub fn try_next_command(&self) -> Option<HostCommand> {
        let command = self.commands.try_pop(&self.exec)?;
        self.lists.taken();
        if let Some(registers) = self.registers.get() {
            (registers.access)();
        }
        Some(command)
    }
    /// When the front end handed the command to the firmware.
    pub fn pushed_at(&self, command: CommandId) -> Instant {
        self.pushed[usize::from(command.0)].get()
    }
    /// Connects firmware that polls the port instead of waiting on it. The port posts [`BACK_KICK`] to
    /// `back` for each new command and each finished DMA, so that the firmware knows when polling is
    /// worth it.
    pub fn attach_back(&self, back: HandlerId) {
        self.back.set(Some(back));
    }
    /// The most commands and DMA requests that the port holds.
    pub fn bounds(&self) -> (u16, u16) {
        (self.ranges.borrow().len() as u16, self.dma.len() as u16)
    }
    /// The ranges of a [`HostOp::Deallocate`] command, by index; `None` after the last.
    pub fn range(&self, command: CommandId, index: usize) -> Option<ByteRange> {
        self.ranges.borrow()[usize::from(command.0)].get(index).copied()
    }
    /// The addresses of a command that [has some](HostOp::has_addresses), by index; `None` after the last.
    pub fn address(&self, command: CommandId, index: usize) -> Option<VectorAddress> {
        self.addresses.borrow().of(command).get(index).copied().map(VectorAddress)
    }
    /// How many addresses a command that [has some](HostOp::has_addresses) names.
    pub fn address_count(&self, command: CommandId) -> usize {
        self.addresses.borrow().of(command).len()
    }
    /// The stream that the host has named for a [`HostOp::Write`]; 0 for none.
    pub fn stream(&self, command: CommandId) -> u8 {
        self.streams[usize::from(command.0)].get()
    }
    /// Sends a DMA request if a slot is free.
    #[inline]
    pub fn submit_dma(&self, request: DmaRequest) -> Option<DmaTag> {
        let slot = self.dma_free.borrow_mut().pop()?;
        self.dma[usize::from(slot)].request.set(Some(request));
        self.dma_requested.borrow_mut().push_back(DmaTag(slot));
        self.ring();
        Some(DmaTag(slot))
    }
    /// DMA requests that can be sent now.
    #[inline]
    pub fn dma_room(&self) -> u16 {
        self.dma_free.borrow().len() as u16
    }
    /// Takes the result of a DMA request if it is there, and frees the request's slot.
    #[inline]
    pub fn try_take_dma(&self, tag: DmaTag) -> Option<Result<(), DmaError>> {
        let result = self.dma[usize::from(tag.0)].result.take()?;
        self.dma_free.borrow_mut().push(tag.0);
        self.dma_waiters.wake_one(&self.exec);
        Some(result)
    }
    /// Moves part of a command's data and waits until it has arrived.
    ///
    /// # Errors
    /// If host memory can't be reached or the host is gone.
    #[inline]
    pub async fn dma(&self, request: DmaRequest) -> Result<(), DmaError> {
        let tag = self.begin_dma(request).await;
        self.dma_finished(tag).await
    }
    /// Sends a DMA request as soon as a slot is free.
    #[inline]
    pub fn begin_dma(&self, request: DmaRequest) -> impl Future<Output = DmaTag> {
        self.dma_waiters.wait(&self.exec, move || self.submit_dma(request))
    }
    /// Waits for the end of a DMA request.
    ///
    /// # Errors
    /// As [`CommandPort::dma`], and [`DmaError::Abandoned`].
    #[inline]
    pub fn dma_finished(&self, tag: DmaTag) -> impl Future<Output = Result<(), DmaError>> {
        let slot = &self.dma[usize::from(tag.0)];
        slot.waiter.wait(&self.exec, move || self.try_take_dma(tag))
    }
    /// Has commands with [lists](CommandPort::next_list) come to the firmware before their lists are fetched
    /// (C86).
    pub fn manage_lists(&self) {
        self.lists.manage();
    }
    /// Takes a command whose list has to be fetched before it can be decoded further, if none without came
    /// before it. The firmware must then call [`CommandPort::fetch_list`].
    pub fn next_list(&self) -> Option<CommandId> {
        self.lists.pop().map(CommandId)
    }
    /// Asks the front end for the DMA of the command's list. The firmware asks for one list at a time.
    pub fn fetch_list(&self, command: CommandId) {
        self.lists.ask(command.0);
        self.ring();
    }
    /// Whether the list that was asked for last has arrived, or never will.
    pub fn list_ended(&self) -> bool {
        self.lists.has_ended()
    }
    /// Whether the firmware has had the command before, for its list.
    pub fn is_known(&self, command: CommandId) -> bool {
        self.lists.is_known(command.0)
    }
    /// Whether the lower side chains DMA: it takes a DMA request together with the flash request that it
    /// follows, both submitted in one go. It starts the DMA by itself as soon as the flash request has
    /// read the page that it expects ([`crate::flash::FlashRequest::expecting`]).
    pub fn chains_dma(&self) -> bool {
        self.dma_chained.get()
    }
    /// Ends a command.
    #[inline]
    pub fn complete(&self, completion: Completion) {
        let mut arrives = self.exec.now();
        if let Some(Registers { core, access }) = self.registers.get() {
            access();
            arrives = core.now();
        }
        self.completions.borrow_mut().push_back((arrives, completion));
        match self.front.get() {
            Some(front) if arrives > self.exec.now() => self.exec.schedule(arrives, front, FRONT_KICK),
            _ => self.ring(),
        }
    }
    #[inline]
    fn ring(&self) {
        if let (Some(front), false) = (self.front.get(), self.rung.replace(true)) {
            self.exec.post(front, FRONT_KICK);
        }
    }

    // ---- the side of the front end, or of a party between it and the FTL ----

    /// Allows DMA requests that follow flash requests ([`CommandPort::chains_dma`]).
    pub fn chain_dma(&self) {
        self.dma_chained.set(true);
    }

    /// From now on commands wait in a memory-mapped FIFO of the front end's hardware (S35). Called once.
    /// Taking a command is a read of a register, and completing one a write. `access` spends the time of one
    /// such access on `core`, which must be that of the firmware. What the firmware does next comes after it,
    /// and a completion arrives when the access is over.
    pub fn behind_registers(&self, core: Core, access: impl Fn() + 'static) {
        let registers = Registers { core, access: Box::new(access) };
        assert!(self.registers.set(registers).is_ok(), "one FIFO for the commands of a port");
    }

    /// Whether [`CommandPort::behind_registers`] was called.
    pub fn is_behind_registers(&self) -> bool {
        self.registers.get().is_some()
    }

    /// Connects the front end. The port posts [`FRONT_KICK`] to it once for any number of requests and
    /// completions.
    pub fn attach(&self, front: HandlerId) {
        self.front.set(Some(front));
    }
    /// Acknowledges the kick. Call it before draining.
    pub fn acknowledge(&self) {
        self.rung.set(false);
    }
    /// Whether lists are fetched when the firmware asks for them ([`CommandPort::manage_lists`]).
    #[inline]
    pub fn manages_lists(&self) -> bool {
        self.lists.are_managed()
    }
    /// Hands over a command whose list has to be fetched. Each command has one list at a time.
    pub fn push_list(&self, command: CommandId) {
        self.pushed[usize::from(command.0)].set(self.exec.now());
        self.lists.push(command.0);
        self.kick_back();
    }
    /// Takes the command whose list the firmware asks for.
    pub fn next_list_request(&self) -> Option<CommandId> {
        self.lists.take_asked().map(CommandId)
    }
    /// Answers [`CommandPort::fetch_list`]: the list is there, or the command has ended without.
    pub fn list_done(&self) {
        self.lists.end();
        self.kick_back();
    }
    /// Hands over a command that the firmware has had before, for its list. As
    /// [`CommandPort::push_command`].
    pub fn push_known(&self, command: HostCommand) {
        self.hand_over(command, true);
    }
    /// Hands a command to the FTL. There is always room: the bound is the number of command slots.
    #[inline]
    pub fn push_command(&self, command: HostCommand) {
        self.hand_over(command, false);
    }
    #[inline]
    fn hand_over(&self, command: HostCommand, known: bool) {
        self.lists.handed_over(command.id.0, known);
        self.pushed[usize::from(command.id.0)].set(self.exec.now());
        assert!(self.commands.try_push(&self.exec, command).is_ok(), "more commands than command slots");
        self.kick_back();
    }
    #[inline]
    fn kick_back(&self) {
        if let Some(back) = self.back.get() {
            self.exec.post(back, BACK_KICK);
        }
    }
    /// Sets the stream that the host names for a write before it is pushed; 0 for none. A set that offers no
    /// streams never calls it.
    pub fn set_stream(&self, command: CommandId, stream: u8) {
        self.streams[usize::from(command.0)].set(stream);
    }
    /// Sets the ranges of a [`HostOp::Deallocate`] command before it is pushed, [`MAX_RANGES`] at most.
    pub fn set_ranges(&self, command: CommandId, ranges: impl Iterator<Item = ByteRange>) {
        let all = &mut self.ranges.borrow_mut()[usize::from(command.0)];
        all.clear();
        all.extend(ranges.take(MAX_RANGES));
    }
    /// Sets the addresses of a command that [has some](HostOp::has_addresses) before it is pushed: at
    /// most [`VECTOR_MAX`], and twice as many for a [`HostOp::VectorCopy`]. Asserts that they fit: the
    /// command set must check how many addresses the host names.
    pub fn set_addresses(&self, command: CommandId, addresses: impl Iterator<Item = VectorAddress>) {
        let mut all = self.addresses.borrow_mut();
        all.count[usize::from(command.0)] = 0;
        addresses.for_each(|address| all.add(command, address));
    }
    /// The next DMA request.
    #[inline]
    pub fn next_dma(&self) -> Option<(DmaTag, DmaRequest)> {
        let tag = self.dma_requested.borrow_mut().pop_front()?;
        let request = self.dma[usize::from(tag.0)].request.take().expect("a requested tag has a request");
        Some((tag, request))
    }
    /// Answers a DMA request.
    #[inline]
    pub fn dma_done(&self, tag: DmaTag, result: Result<(), DmaError>) {
        let slot = &self.dma[usize::from(tag.0)];
        slot.result.set(Some(result));
        slot.waiter.wake(&self.exec);
        self.kick_back();
    }
    /// The next finished command that has arrived.
    #[inline]
    pub fn next_completion(&self) -> Option<Completion> {
        let mut completions = self.completions.borrow_mut();
        if completions.front()?.0 > self.exec.now() {
            return None;
        }
        completions.pop_front().map(|(_, completion)| completion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_exec::Handler;
    use aster_units::{Duration, Frequency};

    /// A front end that notes what it finds, and when.
    struct Front {
        port: Rc<CommandPort>,
        found: Rc<RefCell<Vec<(Instant, CommandId)>>>,
    }
    impl Handler for Front {
        fn fire(&self, _: u64) {
            self.port.acknowledge();
            while let Some(completion) = self.port.next_completion() {
                self.found.borrow_mut().push((self.port.exec.now(), completion.id));
            }
        }
    }

    fn at(nanos: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(nanos)
    }

    /// S35: each access keeps the core, and a completion is there once its access is over, however often the
    /// front end looks.
    #[test]
    fn commands_behind_registers_take_an_access_to_come_and_one_to_go() {
        let exec = Exec::new();
        let port = CommandPort::new(&exec, 2, 1);
        let found = Rc::new(RefCell::new(Vec::new()));
        let front = exec.register(Rc::new(Front { port: Rc::clone(&port), found: Rc::clone(&found) }));
        port.attach(front);
        let core = Core::new(&exec, Frequency::from_hertz(100_000_000).unwrap());
        let on = core.clone();
        port.behind_registers(core.clone(), move || on.stall(Duration::from_nanos(150)));
        let (taken, firmware) = (Rc::new(RefCell::new(Vec::new())), Rc::clone(&port));
        let (times, on) = (Rc::clone(&taken), core.clone());
        core.spawn(async move {
            loop {
                let command = firmware.next_command().await;
                times.borrow_mut().push((on.exec().now(), command.id));
                firmware.complete(Completion::new(command.id, HostStatus::Success));
            }
        });
        let flush =
            |id| HostCommand { id: CommandId(id), op: HostOp::Flush, offset: 0, length: 0, fua: false };
        port.push_command(flush(0));
        port.push_command(flush(1));
        for nanos in [299, 301, 599] {
            exec.schedule(at(nanos), front, FRONT_KICK);
        }
        exec.advance_to(at(10_000));
        assert_eq!(*taken.borrow(), [(at(150), CommandId(0)), (at(450), CommandId(1))]);
        assert_eq!(*found.borrow(), [(at(300), CommandId(0)), (at(600), CommandId(1))]);
        assert_eq!(core.stats().stalled, Duration::from_nanos(600));
        exec.shut_down();
    }
}
