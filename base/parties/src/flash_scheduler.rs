//! Flash scheduler: what brings the translation's flash requests to the channels' controllers, with I3 on
//! either side.

use crate::bring_up::BringUpGate;
use crate::piece::PieceError;
use crate::tasks::Tasks;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_ports::resource::SharedBandwidth;
use aster_units::LunIndex;
use core::any::Any;

/// What a flash scheduler must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedulerNeeds {
    /// The most requests per LUN that it has below at once, if there is a port below.
    pub requests_per_lun: u16,
    /// If controllers are software, it takes them directly ([`Below::Luns`]). Otherwise it gets a port, for
    /// either kind of controller.
    pub takes_software: bool,
    /// Hardware controllers end an array operation when it has begun; the scheduler checks ready/busy bits
    /// and requests the status (C38). Their completions cross the control path's buses, since firmware polls
    /// for them.
    pub polls: bool,
    /// It polls the available ring above: a request raises no interrupt to its core (S16).
    pub polls_requests: bool,
    /// It repeats reads that can't be corrected itself (C39). Otherwise the workers do that, which are
    /// controllers in software below its port.
    pub repeats_reads: bool,
    /// It takes the host's commands on their way to the translation: [`SchedulerPorts::commands`]. Then it
    /// runs on the translation's core, and starts after it.
    pub commands: bool,
}

/// A LUN of the drive.
#[derive(Clone)]
pub struct LunPlace {
    /// Its number over the drive.
    pub lun: LunIndex,
    /// Its channel.
    pub channel: u16,
    /// Its chip enable, numbered over the drive.
    pub package: u32,
    /// The core that runs its flash software: that of its array controller, if each has one (G24).
    pub core: Core,
}

/// The layer below a scheduler. `C` is a LUN's controller in software, a type of the firmware: behind a port
/// each flash operation would cost one more task switch.
pub enum Below<C> {
    /// Software controllers, each on its LUN's core ([`LunPlace::core`]): one per LUN, to be requested once
    /// each.
    Luns(Box<dyn Fn(LunIndex) -> C>),
    /// A port, with room for [`SchedulerNeeds::requests_per_lun`] per LUN.
    Port(Rc<FlashPort>),
}

/// I5 cut in two: the scheduler passes commands from `front` to `translation`, and completions and DMA
/// requests the other way.
pub struct CommandSplice {
    /// The back side of the front end's port.
    pub front: Rc<CommandPort>,
    /// The front side of the translation's port, with the same bounds.
    pub translation: Rc<CommandPort>,
}

/// The buses of the control path that the core contends for with the channel controllers (C55). A bus that
/// only the core uses isn't included: it only adds latency.
#[derive(Clone)]
pub struct CoreBuses {
    /// To the host interface controller's registers: bus 10 behind 9.
    pub host: SharedBandwidth,
    /// To the channel controllers' registers: bus 11 behind 9.
    pub channels: SharedBandwidth,
    /// To uncached memory: bus 6 behind DRAM, bus 0.
    pub memory: SharedBandwidth,
}

/// What a scheduler is given when it starts.
pub struct SchedulerPorts<C> {
    /// The core that runs what it does for all LUNs, and that it charges for that time: the first one of
    /// flash software, or the translation's if it takes the host's commands. What it does for one LUN alone
    /// it may do on that LUN's core.
    pub core: Core,
    /// Above: the controller's side of I3.
    pub requests: Rc<FlashPort>,
    /// Below.
    pub below: Below<C>,
    /// All LUNs, channel by channel, in the order of the channel's slots.
    pub luns: Vec<LunPlace>,
    /// Chooses among a LUN's requests and admits them, for a scheduler that doesn't decide that itself.
    pub tasks: Rc<Tasks>,
    /// The host's commands, for a scheduler that asked for them.
    pub commands: Option<CommandSplice>,
    /// The buses over which the core reaches registers.
    pub buses: CoreBuses,
    /// Opens when the packages have been brought up. No request may go below before.
    pub up: Rc<BringUpGate>,
    /// Where events go.
    pub recorder: Recorder,
}

/// A flash scheduler before it runs.
///
/// A scheduler that has a port below it works with any `C`; one that takes controllers in software names
/// their type.
///
/// # Who calls, in what order
/// [`needs`](FlashScheduler::needs) first; it is constant. Then [`start`](FlashScheduler::start) is called
/// once. It spawns tasks, registers handlers and allocates all memory; it doesn't wait.
///
/// From then on it takes each request once, and answers each once. It keeps the programs and erases of a
/// block, and the programs of a LUN that one source asks for, in the order of their submission. A read may
/// overtake: the translation reads only pages whose program has ended, and erases only blocks that aren't
/// being read. Before it answers a request with `Error`, it notes a
/// fault at the port above. It passes the owner that a read expects down with the request, and the verdict
/// up.
///
/// # What is bounded
/// The port's depth bounds the requests above. At most [`SchedulerNeeds::requests_per_lun`] are below at
/// once.
///
/// # What survives a power cut
/// Nothing.
pub trait FlashScheduler<C> {
    /// What it must be given.
    fn needs(&self) -> SchedulerNeeds;
    /// Starts it.
    ///
    /// # Errors
    /// When it can't work with what it was given.
    fn start(self: Box<Self>, ports: SchedulerPorts<C>) -> Result<Rc<dyn SchedulerView>, PieceError>;
}

/// A running scheduler, as the rest of the drive sees it.
pub trait SchedulerView {
    /// The firmware functions that it charges its core for, without those of software controllers.
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
    /// Calls `each` with the name and the value of every counter that only this scheduler has.
    fn counters(&self, _each: &mut dyn FnMut(&'static str, u64)) {}
    /// Statistics that have a type of this scheduler's own, for readers who know it: the big loop's (C66).
    fn own_stats(&self) -> Option<Box<dyn Any>> {
        None
    }
}
