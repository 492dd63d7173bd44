//! Front end: what the host sees on PCIe, and what turns that into commands (I5).

use crate::bar_read::{BarRead, ReadTag};
use crate::function::FunctionSpec;
use crate::nvme::{DoorbellBuffer, History, HostTrouble, QueueDoorbell};
use crate::operations::Operations;
use crate::piece::PieceError;
use crate::saved::{DamagedRecord, NvramSlice};
use crate::state::MediaHealth;
use crate::translation::PreferredWrites;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::{Core, Exec};
use aster_ports::dram::SharedDram;
use aster_ports::host::CommandPort;
use aster_ports::link::LinkPort;
use aster_ports::medium::SharedBacklog;
use aster_ports::tlp::TlpPort;
use aster_units::Content;

/// What a front end must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrontEndNeeds {
    /// Bytes of SRAM, which link operations reach as `Local::Sram`.
    pub sram_bytes: usize,
    /// The most commands in the translation at a time: identifiers are below this.
    pub command_slots: u16,
    /// DMA requests that the translation may have in flight.
    pub dma_requests: u16,
    /// The most DMA operations on the link at a time, which [`LinkPort::push`] asserts. There is room for
    /// as many interrupts; beyond that, one per vector waits.
    pub link_operations: usize,
    /// The operations that it may send to the translation. A drive is refused if its translation doesn't
    /// offer all of them.
    pub operations: Operations,
    /// Whether it is firmware, at least in part, and runs on a core.
    pub core: bool,
    /// Whether it sends packets itself (I6) instead of asking the link for operations.
    pub packets: bool,
}

/// What the constructor of a front end gets to know of the drive, besides the profile.
pub struct FrontEndFacts {
    /// The drive's name: what an NVMe controller shows as its model.
    pub name: String,
    /// A serial number that distinguishes this drive from others of its profile.
    pub serial: Option<String>,
    /// How page content is kept: a sector is 4096 bytes or 8.
    pub content: Content,
    /// Bytes of the namespace.
    pub capacity_bytes: u64,
    /// The writes that suit the translation best, if it tells.
    pub preferred_writes: Option<PreferredWrites>,
}

/// What a front end works with: its side of each port, and memory of its own.
pub struct FrontEndPorts {
    /// The drive's clock and events. What a front end does in hardware is a handler of events.
    pub exec: Exec,
    /// The translation's core, if [`FrontEndNeeds::core`] asks for one. What a front end does in firmware is
    /// tasks on it, which charge it for their work.
    pub core: Option<Core>,
    /// The host link. A front end that sends packets leaves it alone.
    pub link: Rc<LinkPort>,
    /// The port of packets, if [`FrontEndNeeds::packets`] asks for one.
    pub packets: Option<Rc<TlpPort>>,
    /// I5, its front side.
    pub commands: Rc<CommandPort>,
    /// The drive's memory. The front end owns the SRAM; the translation says which page buffer a DMA
    /// fills or reads.
    pub memory: SharedDram,
    /// Its part of the NVRAM, for what must survive a loss of power.
    pub saved: NvramSlice,
    /// The disk under the drive's media, if it can be full for a while. What needs room then waits, and
    /// the front end doesn't report anything as durable that isn't.
    pub backlog: Option<SharedBacklog>,
    /// Where events go.
    pub recorder: Recorder,
}

/// A front end before it runs: it describes what it needs and which PCIe function it is, and then starts.
///
/// # Who calls, in what order
/// The drive first calls [`needs`](FrontEndPiece::needs), [`function`](FrontEndPiece::function) and
/// [`completes_early`](FrontEndPiece::completes_early), any number of times; all are constant. The board
/// builds the function, with configuration space, masks and pending bits. The drive builds link, ports
/// and memory of those sizes. Then it calls [`start`](FrontEndPiece::start) once, before the
/// translation's. `start` registers a handler, attaches it to both ports and doesn't wait. It allocates
/// all memory.
///
/// From then on, each access of the host comes as one call, when it has crossed the link; or as a packet, if
/// the front end [asks for that](aster_ports::tlp::HostRequests::take_over) as it starts. The link's
/// answers and the translation's requests come through the handler. The front end carries out each DMA
/// request of the commands that it has pushed, and frees a command's slot when the translation has
/// completed it. It can't take back a command that is with the translation: once the command's host is
/// gone, the front end answers its DMA requests with
/// [`DmaError::Aborted`](aster_ports::host::DmaError::Aborted).
///
/// # What is bounded
/// [`FrontEndNeeds`] bounds commands, DMA requests and link operations.
///
/// # What survives a power cut
/// Every byte that was written to [`FrontEndPorts::saved`]. A command's completion promises the host what
/// the translation's contract says, and no more.
pub trait FrontEndPiece {
    /// What it must be given.
    fn needs(&self) -> FrontEndNeeds;
    /// The PCIe function that it is.
    fn function(&self) -> FunctionSpec;
    /// Whether it completes a read, or a write without force unit access, as soon as the last byte has
    /// been moved (P13). The translation needs to know this.
    fn completes_early(&self) -> bool {
        false
    }
    /// The damaged records in `saved`, its part of the NVRAM, that the drive can do without. A record
    /// that was never written is not damaged. Changes nothing.
    fn damaged_records(&self, _saved: &NvramSlice) -> Vec<DamagedRecord> {
        Vec::new()
    }
    /// Starts it.
    ///
    /// # Errors
    /// If it can't work with what it was given.
    fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError>;
}

/// Register writes that a host has under way at most: it has credits for no more, and whoever writes waits
/// (PCIe 4.0 §2.6.1).
pub const POSTED_WRITES: usize = 64;

/// A running front end, as the rest of the drive and the run mode see it.
pub trait FrontEnd {
    /// Reads `size` bytes (1, 2, 4 or 8) of a BAR as of now. The BAR has these bytes, and they are not
    /// part of an MSI-X structure. Hardware answers now. Firmware may need time: it answers by
    /// [`FrontEnd::take_read`], and no write that arrives later has an effect on what was read.
    fn read(&self, bar: u8, offset: u32, size: u8) -> BarRead;
    /// Takes the answer of a read that was to be answered later: `None` while there is none, and all ones for
    /// a tag that isn't known, or whose read has met a reset. A front end that answers each read now knows no
    /// tags.
    fn take_read(&self, _tag: ReadTag) -> Option<u64> {
        Some(u64::MAX)
    }
    /// A write of `size` bytes (1, 2, 4 or 8), the low bytes of `value`, arrives at a BAR now.
    fn write(&self, bar: u8, offset: u32, size: u8, value: u64);
    /// Writes that have arrived and have had no effect yet. Firmware that needs time for each of them says
    /// so, and run modes let their host wait while there are many.
    fn writes_waiting(&self) -> usize {
        0
    }
    /// Function-level reset (PCIe 4.0 §6.6.2): sets the registers to their values after power-on. The
    /// drive may not touch host memory any more, so the front end raises the link's epoch
    /// ([`LinkPort::raise_epoch`]). The board resets configuration space.
    fn function_reset(&self);
    /// Commands that have been completed towards the host since power-on.
    fn completed(&self) -> u64;
    /// Commands in the drive, including those whose host is gone and those that have been completed
    /// early.
    fn commands_in_flight(&self) -> usize;
    /// How many of these have been completed to the host while the translation still works on them (P13).
    fn commands_completed_early(&self) -> usize {
        0
    }
    /// The functions of the firmware for which it charges its core.
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
    /// The media's state has changed.
    fn media_changed(&self, media: MediaHealth);
    /// The disk under the media has become full, or has room again ([`FrontEndPorts::backlog`]).
    fn room_changed(&self) {}
    /// From now on nothing waits for room: there is no host any more to which durability must be reported
    /// truthfully.
    fn hold_nothing_back(&self) {}
    /// The drive loses power. The front end may still save its counters, as a real drive does on its
    /// capacitor.
    fn power_off(&self) {}
    /// The view of an NVMe controller; `None` for any other front end.
    fn nvme(&self) -> Option<&dyn NvmeView> {
        None
    }
}

/// An NVMe controller, as a run mode and reports see it.
pub trait NvmeView {
    /// From now on the run mode watches doorbells in host memory, so the controller offers Doorbell
    /// Buffer Config to the host.
    fn offer_doorbell_buffer(&self);
    /// Where the host keeps the doorbells of its I/O queues, if it does.
    fn doorbell_buffer(&self) -> Option<DoorbellBuffer>;
    /// A number that changes when a queue or the doorbell buffer is created or deleted.
    fn doorbell_generation(&self) -> u32;
    /// The doorbells that exist now.
    fn doorbells(&self) -> Vec<QueueDoorbell>;
    /// The drive's life up to now.
    fn history(&self) -> History;
    /// The operation monitor's latest sample, which hosts fetch by Get Log Page C0h.
    fn set_statistics(&self, sample: &[u8]);
    /// Takes what ails the host and hasn't been told yet.
    fn take_trouble(&self) -> Option<HostTrouble> {
        None
    }
    /// The drive stood still, and could not hear the host: a timer of the host's silence doesn't count that
    /// time.
    fn excuse_host(&self) {}
}
