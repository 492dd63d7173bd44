//! The flash scheduler as a party of the drive.

use crate::cosmos::LoopStats;
use crate::gate::BringUpGate;
use crate::tasks::Tasks;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_flash::Controller;
use aster_parties::PieceError;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_ports::resource::SharedBandwidth;
use aster_units::LunIndex;

/// What a flash scheduler must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedulerNeeds {
    /// Requests per LUN that it has below at most, where there is a port below.
    pub requests_per_lun: u16,
    /// Where controllers are software it takes them as they are ([`Below::Luns`]); otherwise it gets a port
    /// whatever they are.
    pub takes_software: bool,
    /// Controllers in hardware end an array operation when it has begun, and the scheduler looks at
    /// ready/busy bits and asks for the status (C38). Their completions pass the control path's buses, since
    /// firmware polls for them.
    pub polls: bool,
    /// It takes the host's commands on their way to the translation: [`SchedulerPorts::commands`]. Then it
    /// runs on the translation's core, and starts after it.
    pub commands: bool,
}

/// A LUN of the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LunPlace {
    /// Its number over the drive.
    pub lun: LunIndex,
    /// Its channel.
    pub channel: u16,
    /// Which chip enable of the drive it lies behind.
    pub package: u32,
}

/// What a scheduler has below it.
pub enum Below {
    /// Controllers that are flash operations in software, on the scheduler's core: one per LUN, to be asked
    /// for once each.
    Luns(Box<dyn Fn(LunIndex) -> Controller>),
    /// A port, with room for [`SchedulerNeeds::requests_per_lun`] per LUN.
    Port(Rc<FlashPort>),
}

/// I5, taken apart: commands come in at `front` and go on at `translation`, answers and DMA requests the
/// other way.
pub struct CommandSplice {
    /// The back side of what the front end has.
    pub front: Rc<CommandPort>,
    /// The front side of what the translation has; of the same bounds.
    pub translation: Rc<CommandPort>,
}

/// The buses of the control path that the core contends for with the channel controllers (C55). A bus that
/// only the core uses is in none: what it takes is time alone.
#[derive(Clone)]
pub struct CoreBuses {
    /// To the host interface controller's registers: bus 10 behind 9.
    pub host: SharedBandwidth,
    /// To the channel controllers' registers: bus 11 behind 9.
    pub channels: SharedBandwidth,
    /// To memory that the caches leave out: bus 6 behind DRAM, bus 0.
    pub memory: SharedBandwidth,
}

/// What a scheduler works with.
pub struct SchedulerPorts {
    /// What its tasks run on, and what it charges its time to.
    pub core: Core,
    /// Above: the controller's side of I3.
    pub requests: Rc<FlashPort>,
    /// Below.
    pub below: Below,
    /// All LUNs, channel by channel, in the order of the channel's slots.
    pub luns: Vec<LunPlace>,
    /// What chooses among a LUN's requests and admits them, for one that leaves that open.
    pub tasks: Rc<Tasks>,
    /// The host's commands, for one that asked for them.
    pub commands: Option<CommandSplice>,
    /// What the core reaches registers over.
    pub buses: CoreBuses,
    /// Opens when the packages have been brought up. No request may go below before.
    pub up: Rc<BringUpGate>,
    /// Where events go.
    pub recorder: Recorder,
}

/// A flash scheduler before it runs.
///
/// It stands here and not with the other parties, since [`Below::Luns`] hands it controllers of `aster_flash`
/// as they are: behind a port each flash operation would cost one more switch of tasks.
///
/// # Who calls, in what order
/// [`needs`](FlashScheduler::needs) first; it is constant. Then [`start`](FlashScheduler::start) is called
/// once. It spawns tasks and registers handlers, and doesn't wait; all memory is taken in it.
///
/// From then on it takes each request once, keeps programs and erases of a LUN in the order of their
/// submission, and answers each once. A read may overtake: the translation reads only pages whose program has
/// ended, and erases only blocks that nobody reads. A request that ends in an `Error` has a fault noted above
/// before it is answered. The owner that a read expects goes down with it, and the verdict up.
///
/// # What is bounded
/// Requests above by their port's depth. At most [`SchedulerNeeds::requests_per_lun`] are below at once.
///
/// # What survives a power cut
/// Nothing.
pub trait FlashScheduler {
    /// What it must be given.
    fn needs(&self) -> SchedulerNeeds;
    /// Starts it.
    ///
    /// # Errors
    /// When what it was given will not do.
    fn start(self: Box<Self>, ports: SchedulerPorts) -> Result<Rc<dyn SchedulerView>, PieceError>;
}

/// A running scheduler, as the rest of the drive sees it.
pub trait SchedulerView {
    /// The functions of the firmware that it charges its core for, controllers in software left out.
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
    /// Its counters, if it is one big loop (C66).
    fn loop_stats(&self) -> Option<LoopStats> {
        None
    }
}
