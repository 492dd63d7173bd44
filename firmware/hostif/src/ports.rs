//! What the controller gets at each call: its output ports, the clock, its memory.

use aster_events::{Event, Recorder};
use aster_exec::{Exec, HandlerId};
use aster_ports::host::CommandPort;
use aster_ports::link::LinkPort;
use aster_units::Instant;

/// The controller's environment for the duration of one call.
pub(crate) struct ControllerPorts<'a> {
    pub exec: &'a Exec,
    pub handler: HandlerId,
    pub link: &'a LinkPort,
    pub commands: &'a CommandPort,
    pub sram: &'a mut [u8],
    pub recorder: &'a Recorder,
}

impl ControllerPorts<'_> {
    pub fn now(&self) -> Instant {
        self.exec.now()
    }
    #[inline]
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        self.recorder.emit(self.exec.now(), event);
    }
    /// Has the controller called with `timer` at `at`.
    #[inline]
    pub fn wake_at(&self, at: Instant, timer: Timer) {
        self.exec.schedule(at, self.handler, timer.to_token());
    }
}

/// What a timed event of the front end stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// The oldest fetched commands can be decoded.
    Fetched,
    /// The oldest finished commands may be completed.
    Finished,
    /// The oldest DMA requests of the FTL may begin.
    Transfer,
    /// The Keep Alive Timer is to be looked at.
    KeepAlive,
    /// The aggregation time of a vector is over.
    Coalescing(u16),
}

impl Timer {
    fn to_token(self) -> u64 {
        match self {
            Timer::Fetched => 0,
            Timer::Finished => 1,
            Timer::Transfer => 2,
            Timer::KeepAlive => 3,
            Timer::Coalescing(vector) => 4 + u64::from(vector),
        }
    }
    pub fn from_token(token: u64) -> Self {
        match token {
            0 => Timer::Fetched,
            1 => Timer::Finished,
            2 => Timer::Transfer,
            3 => Timer::KeepAlive,
            vector => Timer::Coalescing((vector - 4) as u16),
        }
    }
}

/// The front end's name for a DMA on the link: what to do with the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DmaPurpose {
    /// Entries of this submission queue.
    Fetch(u16),
    /// A PRP list page of this slot.
    List(u16),
    /// Scratch memory of this slot: admin data, or the ranges of Dataset Management.
    Scratch(u16),
    /// Part of this DMA request of the FTL.
    Data(u16),
    /// The completion entry of this slot.
    Completion(u16),
}

impl DmaPurpose {
    #[inline]
    pub fn to_wire(self) -> u32 {
        let (kind, index) = match self {
            DmaPurpose::Fetch(queue) => (0, queue),
            DmaPurpose::List(slot) => (1, slot),
            DmaPurpose::Scratch(slot) => (2, slot),
            DmaPurpose::Data(tag) => (3, tag),
            DmaPurpose::Completion(slot) => (4, slot),
        };
        kind << 16 | u32::from(index)
    }
    #[inline]
    pub fn from_wire(token: u32) -> Self {
        let index = token as u16;
        match token >> 16 {
            0 => DmaPurpose::Fetch(index),
            1 => DmaPurpose::List(index),
            2 => DmaPurpose::Scratch(index),
            3 => DmaPurpose::Data(index),
            4 => DmaPurpose::Completion(index),
            kind => panic!("an answer of kind {kind} to a DMA that the front end never asked for"),
        }
    }
}
