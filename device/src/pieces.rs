//! What a reader brings of their own: a drive or bench is built with it where one of ours would stand.

use crate::channels::ChannelHardware;
use aster_exec::Core;
use aster_ports::host::CommandPort;
use aster_ports::order::Arbiter;
use aster_sched::TaskScheduler;
use aster_units::ChannelId;
use std::rc::Rc;

/// Makes the arbiter of a channel of so many slots, one a LUN.
pub type MakeArbiter = Box<dyn Fn(ChannelId, usize) -> Box<dyn Arbiter>>;

/// Starts what serves the host's commands: its tasks go on that core, which is the FTL's.
pub type ServeCommands = Box<dyn FnOnce(&Core, Rc<CommandPort>)>;

/// Pieces to build with. What is absent comes from the profile.
#[derive(Default)]
pub struct Pieces {
    /// What the channels are.
    pub hardware: ChannelHardware,
    /// What chooses and admits the LUNs' operations (B17); of no use where nobody but a bench sends them.
    pub tasks: Option<Box<dyn TaskScheduler>>,
    /// What chooses among transactions that wait for a channel (B18); of no use under a controller that is hardware and has an
    /// arbiter of its own.
    pub arbiter: Option<MakeArbiter>,
    /// What serves the host's commands (I5); of no use on a bench. The drive's own FTL boots and is asked nothing: counters and
    /// faults stay its own.
    pub commands: Option<ServeCommands>,
}

impl From<ChannelHardware> for Pieces {
    fn from(hardware: ChannelHardware) -> Self {
        Pieces { hardware, ..Pieces::default() }
    }
}
