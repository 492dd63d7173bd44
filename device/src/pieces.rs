//! What a reader brings of their own: a drive or bench is built with it where one of ours would stand.

use crate::channels::ChannelHardware;
use aster_ports::order::Arbiter;
use aster_sched::TaskScheduler;
use aster_units::ChannelId;

/// Makes the arbiter of a channel of so many slots, one a LUN.
pub type MakeArbiter = Box<dyn Fn(ChannelId, usize) -> Box<dyn Arbiter>>;

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
}

impl From<ChannelHardware> for Pieces {
    fn from(hardware: ChannelHardware) -> Self {
        Pieces { hardware, ..Pieces::default() }
    }
}
