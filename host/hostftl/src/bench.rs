//! A host without an FTL that measures a drive's commands: those of one kind, to some of the drive's
//! channels, each of which has one command at a time. It measures while it boots, and is an empty drive
//! afterwards.

use crate::driver::{ArrayDriver, ArrayInfo, REGION_BYTES};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_events::Function;
use aster_exec::{Core, Exec, WaitQueue};
use aster_parties::{
    DriveState, MediaState, PieceError, Promises, TargetMemory, TargetNeeds, TargetPiece, TargetPorts,
    TargetView, TranslationStats, TranslationView,
};
use aster_ports::link::HostMemory;
use aster_units::{BufferId, Duration, Instant, Lpn, Ppa, SECTOR_BYTES};
use aster_wire::array::{
    Blocks, Command, CommandFlags, Destination, HostAddress, LANES_MAX, NO_BLOCK, Opcode, SectorSpan,
    StatusCode,
};
use core::cell::{Cell, RefCell};

/// What commands of a load do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandKind {
    /// Nothing.
    Nop,
    /// Read a sector of a page.
    ReadSector,
    /// Read the same page of all lanes.
    ReadRow,
    /// Write a page of a lane.
    WritePage,
    /// Write the same page of all lanes: a composite page (H22).
    WriteRow,
    /// Erase a block of each lane.
    EraseGroup,
    /// Copy a page to another block of its plane, in the package (H31).
    CopyBack,
    /// Copy a page to the lane's next die, through the drive's page buffers.
    CopyToDie,
    /// Read a page into the host's memory, and write it to another block.
    CopyByHost,
}

impl CommandKind {
    /// All of them.
    pub const ALL: [CommandKind; 9] = [
        CommandKind::ReadSector,
        CommandKind::WritePage,
        CommandKind::ReadRow,
        CommandKind::WriteRow,
        CommandKind::Nop,
        CommandKind::EraseGroup,
        CommandKind::CopyBack,
        CommandKind::CopyToDie,
        CommandKind::CopyByHost,
    ];
    /// Of the first command that it takes.
    const fn opcode(self) -> Opcode {
        match self {
            CommandKind::Nop => Opcode::Nop,
            CommandKind::ReadSector | CommandKind::ReadRow | CommandKind::CopyByHost => Opcode::Read,
            CommandKind::CopyBack | CommandKind::CopyToDie => Opcode::Copy,
            CommandKind::WritePage | CommandKind::WriteRow => Opcode::Write,
            CommandKind::EraseGroup => Opcode::Erase,
        }
    }
    const fn is_group(self) -> bool {
        matches!(self, CommandKind::ReadRow | CommandKind::WriteRow | CommandKind::EraseGroup)
    }
    const fn copies(self) -> bool {
        matches!(self, CommandKind::CopyBack | CommandKind::CopyToDie | CommandKind::CopyByHost)
    }
    /// Whether it reads what must have been written before.
    const fn reads(self) -> bool {
        self.copies() || matches!(self, CommandKind::ReadSector | CommandKind::ReadRow)
    }
    /// The first of the blocks that it writes, since pages of a block are written in order. What is read is
    /// in block 0.
    const fn first_block(self) -> u16 {
        match self {
            CommandKind::WritePage | CommandKind::WriteRow | CommandKind::EraseGroup => 1,
            _ => 0,
        }
    }
}

/// Commands of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandLoad {
    /// What they do.
    pub kind: CommandKind,
    /// How many of the drive's channels they go to, from the first on.
    pub channels: u8,
    /// How many each of these gets.
    pub each: u32,
}

/// Measures a load on a drive that is new. The result is the time from the first command to the end of the
/// last one, once the target has come up.
pub struct CommandBench {
    /// The load.
    pub load: CommandLoad,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Where the result goes.
    pub took: Rc<Cell<Option<Duration>>>,
}

const OOB: CommandFlags = CommandFlags(0).with_oob(true);
/// Bytes beside a sector.
const OOB_BYTES: usize = 16;
/// Bytes beside the pages of a group, of at most 8 sectors.
const RUN_BYTES: usize = LANES_MAX * 8 * OOB_BYTES;

impl TargetPiece for CommandBench {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds { data_buffers: LANES_MAX as u32, ..TargetNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        self.page_bytes.into()
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let TargetPorts { core, buffers, function, .. } = ports;
        let bytes = REGION_BYTES + RUN_BYTES;
        let memory = Rc::new(RefCell::new(TargetMemory::new(bytes, &buffers)));
        let driver = ArrayDriver::new(&core, function, Rc::clone(&memory), TargetMemory::BYTES_BASE);
        let running = Rc::new(Running {
            exec: core.exec().clone(),
            driver,
            memory,
            ended: Cell::new(0),
            all: WaitQueue::default(),
            measured: Cell::new(false),
            error: RefCell::new(None),
        });
        let (bench, its_core) = (Rc::clone(&running), core.clone());
        core.spawn(async move {
            match bench.measure(&its_core, self.load).await {
                Ok(took) => self.took.set(Some(took)),
                Err(error) => *bench.error.borrow_mut() = Some(error),
            }
            bench.measured.set(true);
        });
        Ok(running)
    }
}

struct Running {
    exec: Exec,
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
    /// Channels whose commands have all ended.
    ended: Cell<u8>,
    all: WaitQueue,
    measured: Cell<bool>,
    error: RefCell<Option<String>>,
}

impl Running {
    async fn measure(self: &Rc<Self>, core: &Core, load: CommandLoad) -> Result<Duration, String> {
        let info = self.driver.bring_up().await.map_err(|error| error.to_string())?;
        if load.channels == 0 || load.channels > info.channels {
            return Err(format!("a load of {} channels on a drive of {}", load.channels, info.channels));
        }
        if load.kind == CommandKind::CopyToDie && info.dies < 2 {
            return Err("a copy to another die on a drive with one".to_string());
        }
        if load.kind.reads() {
            // What it reads: the first block of each lane and die.
            let rows = u32::from(info.dies) * u32::from(info.pages);
            let fill = CommandLoad { kind: CommandKind::WriteRow, each: rows, ..load };
            self.carry_out(core, fill, 0, info).await?;
        }
        if load.kind.copies() {
            // The drive looks for the end of a block of which it knows nothing.
            let (rounds, planes) = (load.each.div_ceil(Running::pages(&info)), u32::from(info.planes));
            let each = u32::from(info.dies) * planes * rounds;
            let erase = CommandLoad { kind: CommandKind::EraseGroup, each, ..load };
            self.carry_out(core, erase, info.planes.into(), info).await?;
        }
        let begun = self.exec.now();
        let last = self.carry_out(core, load, load.kind.first_block(), info).await?;
        Ok(last.since(begun))
    }
    /// Sends each channel its commands, and waits for all ends.
    async fn carry_out(
        self: &Rc<Self>,
        core: &Core,
        load: CommandLoad,
        first_block: u16,
        info: ArrayInfo,
    ) -> Result<Instant, String> {
        self.ended.set(0);
        for channel in 0..load.channels {
            let worker = Rc::clone(self);
            core.spawn(async move { worker.work(load, channel, first_block, &info).await });
        }
        self.all.wait(&self.exec, || (self.ended.get() == load.channels).then_some(())).await;
        match self.error.borrow().clone() {
            Some(error) => Err(error),
            None => Ok(self.exec.now()),
        }
    }
    async fn work(&self, load: CommandLoad, channel: u8, first_block: u16, info: &ArrayInfo) {
        for n in 0..load.each {
            let first = self.command(load.kind, channel, first_block, n, info);
            let then =
                (load.kind == CommandKind::CopyByHost).then(|| Running::written_elsewhere(first, n, info));
            if let Err(error) = self.send(load.kind, n, [Some(first), then]).await {
                self.error.borrow_mut().get_or_insert(error);
                break;
            }
        }
        self.ended.set(self.ended.get() + 1);
        self.all.wake_all(&self.exec);
    }
    /// Sends commands one after the other.
    async fn send(&self, kind: CommandKind, n: u32, commands: [Option<Command>; 2]) -> Result<(), String> {
        for command in commands.into_iter().flatten() {
            let ended = self.driver.send(command).await.map_err(|gone| gone.to_string())?;
            if ended.code != StatusCode::Done {
                return Err(format!("command {n} of {kind:?}: {:?}", ended.code));
            }
        }
        Ok(())
    }
    /// Pages of a channel with one number of their blocks.
    fn pages(info: &ArrayInfo) -> u32 {
        u32::from(info.lanes) * u32::from(info.dies) * u32::from(info.pages)
    }
    /// The block of the same plane that the `n`-th page is copied to. All are copied from block 0.
    fn copied_to(n: u32, info: &ArrayInfo) -> u16 {
        let (round, planes) = (n / Running::pages(info), u32::from(info.planes));
        (planes * (1 + round % (info.blocks / planes - 1))) as u16
    }
    /// The `n`-th read as a write of the same page of the block that it is copied to.
    fn written_elsewhere(read: Command, n: u32, info: &ArrayInfo) -> Command {
        let Blocks::One { lane, .. } = read.blocks else { unreachable!("a page of a lane is copied") };
        let mut write = read;
        (write.opcode, write.blocks) =
            (Opcode::Write, Blocks::One { lane, block: Running::copied_to(n, info) });
        write
    }
    /// A channel's `n`-th command: lanes take turns, then dies, then pages, then blocks.
    fn command(&self, kind: CommandKind, channel: u8, first_block: u16, n: u32, info: &ArrayInfo) -> Command {
        let mut rest = n;
        let mut turn = |of: u32| {
            let now = rest % of;
            rest /= of;
            now
        };
        let lane = if kind.is_group() { 0 } else { turn(info.lanes.into()) as u8 };
        let die = turn(info.dies.into()) as u8;
        let page = if kind == CommandKind::EraseGroup { 0 } else { turn(info.pages.into()) as u16 };
        let blocks = info.blocks as u16 - first_block;
        // Reads go over the same block again and again.
        let block = if kind.reads() { 0 } else { rest % u32::from(blocks) } as u16;
        let block = first_block + block;
        let blocks = match kind.is_group() {
            true => Blocks::Group(core::array::from_fn(|lane| {
                if lane < usize::from(info.lanes) { block } else { NO_BLOCK }
            })),
            false => Blocks::One { lane, block },
        };
        let command = Command::new(kind.opcode(), 0, channel, die, blocks);
        if kind.opcode() == Opcode::Copy {
            let to_die = if kind == CommandKind::CopyToDie { (die + 1) % info.dies } else { die };
            let blocks = Blocks::One { lane, block: Running::copied_to(n, info) };
            let to = Destination { die: to_die, page, blocks };
            return command.at(page, SectorSpan::of(0, info.sectors)).to(to);
        }
        if !matches!(kind.opcode(), Opcode::Read | Opcode::Write) {
            return command;
        }
        let sectors = if kind == CommandKind::ReadSector { 1 } else { info.sectors };
        let first = if sectors == 1 { (n % u32::from(info.sectors)) as u8 } else { 0 };
        let pages = if kind.is_group() { u32::from(info.lanes) } else { 1 };
        let bytes = u32::from(sectors) * SECTOR_BYTES as u32;
        let memory = self.memory.borrow();
        let command = command.at(page, SectorSpan::of(first, sectors)).with_flags(OOB);
        let command = (0..pages).fold(command, |command, n| {
            command.with_host(HostAddress::of(memory.address_of(BufferId(n), 0), bytes))
        });
        let run = TargetMemory::BYTES_BASE + REGION_BYTES as u64;
        command.with_host(HostAddress::of(run, pages * u32::from(sectors) * OOB_BYTES as u32))
    }
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        match (self.boot_error(), self.measured.get()) {
            (Some(_), _) => DriveState::Failed,
            (None, true) => DriveState::Ready,
            (None, false) => DriveState::Booting,
        }
    }
    fn boot_error(&self) -> Option<String> {
        let of_drive = self.driver.fault().map(|fault| fault.to_string());
        of_drive.or_else(|| self.error.borrow().clone())
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.state(), ..TranslationStats::default() }
    }
    fn promises(&self) -> Promises {
        Promises { flush: true, fua: true, trim: false }
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Running {
    fn interrupt(&self, _address: u64, data: u32) {
        if let Some(stopped) = self.driver.interrupt(data) {
            self.driver.fail(stopped);
        }
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}
