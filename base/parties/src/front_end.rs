//! Front end: what the host sees on PCIe, and what turns that into commands (I5).

use crate::command_set::CommandSet;
use crate::function::FunctionSpec;
use crate::nvme::{DoorbellBuffer, History, QueueDoorbell};
use crate::operations::Operations;
use crate::piece::PieceError;
use crate::saved::{DamagedRecord, NvramSlice};
use crate::state::MediaHealth;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::Exec;
use aster_ports::dram::SharedDram;
use aster_ports::host::CommandPort;
use aster_ports::link::LinkPort;
use aster_ports::medium::SharedBacklog;
use aster_units::Content;

/// What a front end must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrontEndNeeds {
    /// Bytes of SRAM, which link operations reach as `Local::Sram`.
    pub sram_bytes: usize,
    /// Commands in the translation at a time: identifiers are below this.
    pub command_slots: u16,
    /// DMA requests that the translation may have in flight.
    pub dma_requests: u16,
    /// DMA on the link at a time, which [`LinkPort::push`] asserts. As many interrupts find room; beyond, one
    /// per vector waits.
    pub link_operations: usize,
    /// What it asks of the translation: a drive whose translation doesn't offer all of it is refused.
    pub operations: Operations,
}

/// What a maker of front ends may know of the drive, beside the profile.
pub struct FrontEndFacts {
    /// The drive's name: what an NVMe controller shows as its model.
    pub name: String,
    /// A serial number that this drive has and others of its profile have not.
    pub serial: Option<String>,
    /// How page content is kept: a sector is 4096 bytes or 8.
    pub content: Content,
    /// Bytes of the namespace.
    pub capacity_bytes: u64,
    /// What `host.command_set` names, for a front end that is an NVMe controller.
    pub command_set: Box<dyn CommandSet>,
}

/// What a front end works with: its side of each port, and memory that is nobody else's.
pub struct FrontEndPorts {
    /// The drive's clock and events: a front end is hardware, a handler of events.
    pub exec: Exec,
    /// The host link.
    pub link: Rc<LinkPort>,
    /// I5, its front side.
    pub commands: Rc<CommandPort>,
    /// The drive's memory: the front end has the SRAM, and the translation says which page buffers a DMA
    /// fills.
    pub memory: SharedDram,
    /// Its part of the NVRAM, in which it keeps what outlasts power.
    pub saved: NvramSlice,
    /// The disk under the drive's media, where that may be full for a while: what needs room then waits, and
    /// nothing is called durable that isn't.
    pub backlog: Option<SharedBacklog>,
    /// Where events go.
    pub recorder: Recorder,
}

/// A front end before it runs: a description of what it needs and of the function that it is, then its start.
///
/// # Who calls, in what order
/// [`needs`](FrontEndPiece::needs), [`function`](FrontEndPiece::function) and
/// [`completes_early`](FrontEndPiece::completes_early) first and as often as anybody likes; all are constant.
/// The board builds the function, with configuration space, masks and pending bits; link, ports and memory of
/// those sizes are built; then [`start`](FrontEndPiece::start) is called once, before the translation's. It
/// registers a handler, attaches it to both ports and doesn't wait. All memory is taken in it.
///
/// From then on the host's accesses come, each by one call, when they have crossed the link; the link's
/// answers and the translation's requests by the handler. For each command that it pushes the front end
/// carries out each DMA request, and frees the command's slot when the translation has completed it. A
/// command that is with the translation can't be called back: its DMA requests are answered with
/// [`DmaError::Aborted`](aster_ports::host::DmaError::Aborted) once its host has gone.
///
/// # What is bounded
/// Commands, DMA requests and link operations by [`FrontEndNeeds`].
///
/// # What survives a power cut
/// What was written to [`FrontEndPorts::saved`], to the last byte. What has been completed towards the host
/// promises what the translation's contract says, and no more.
pub trait FrontEndPiece {
    /// What it must be given.
    fn needs(&self) -> FrontEndNeeds;
    /// The PCIe function that it is.
    fn function(&self) -> FunctionSpec;
    /// Whether it tells the host that a read, or a write without force unit access, is done as soon as its
    /// last byte has been moved (P13): the translation must know.
    fn completes_early(&self) -> bool {
        false
    }
    /// Which of its records in `saved`, its part of the NVRAM, are damaged while the drive would do without
    /// them; those that were never written are not. Changes nothing.
    fn damaged_records(&self, _saved: &NvramSlice) -> Vec<DamagedRecord> {
        Vec::new()
    }
    /// Starts it.
    ///
    /// # Errors
    /// When what it was given will not do.
    fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError>;
}

/// A running front end, as the rest of the drive and the run mode see it.
pub trait FrontEnd {
    /// Reads `size` bytes (1, 2, 4 or 8) of a BAR as of now. The bytes are there, and no MSI-X structure is.
    fn read(&self, bar: u8, offset: u32, size: u8) -> u64;
    /// A write of `size` bytes (1, 2, 4 or 8) to a BAR arrives now: the low bytes of `value`.
    fn write(&self, bar: u8, offset: u32, size: u8, value: u64);
    /// Function-level reset (PCIe 4.0 §6.6.2): registers are as after power-on, and host memory isn't the
    /// drive's to touch any more: it raises the link's epoch ([`LinkPort::raise_epoch`]). Configuration space
    /// is not its business.
    fn function_reset(&self);
    /// Commands that have been completed towards the host since power-on.
    fn completed(&self) -> u64;
    /// Commands in the drive, those included that have lost their host or have been completed early.
    fn commands_in_flight(&self) -> usize;
    /// Of these the ones that the host knows done and the translation isn't done with (P13).
    fn commands_completed_early(&self) -> usize {
        0
    }
    /// The media's state has changed.
    fn media_changed(&self, media: MediaHealth);
    /// The disk under the media has run full, or has room again ([`FrontEndPorts::backlog`]).
    fn room_changed(&self) {}
    /// No host is served any more that must be told the truth about what is durable: nothing waits for room
    /// from now on.
    fn hold_nothing_back(&self) {}
    /// The power goes. What it counts may still be saved: in a real drive that is a capacitor's last work.
    fn power_off(&self) {}
    /// What only an NVMe controller has.
    fn nvme(&self) -> Option<&dyn NvmeView> {
        None
    }
}

/// An NVMe controller, as a run mode and reports see it.
pub trait NvmeView {
    /// The run mode looks at doorbells in host memory from now on: the host is offered Doorbell Buffer
    /// Config.
    fn offer_doorbell_buffer(&self);
    /// Where the host keeps the doorbells of its I/O queues, if it does.
    fn doorbell_buffer(&self) -> Option<DoorbellBuffer>;
    /// Another number whenever a queue has come or gone, or the doorbell buffer.
    fn doorbell_generation(&self) -> u32;
    /// The doorbells that there are.
    fn doorbells(&self) -> Vec<QueueDoorbell>;
    /// The drive's life up to now.
    fn history(&self) -> History;
    /// The operation monitor's latest sample, which hosts fetch by Get Log Page C0h.
    fn set_statistics(&self, sample: &[u8]);
}
