//! The commands that the firmware has taken and not answered.

use alloc::vec;
use alloc::vec::Vec;
use aster_ports::host::CommandId;
use aster_units::Instant;

/// A command that the firmware has taken.
#[derive(Clone, Copy)]
pub(super) struct TakenCommand {
    /// The controller completes it with the last unit of its data (P13).
    pub automatic: bool,
    /// When the firmware had read the command from the controller, minus the time that the command waited
    /// there for a pass to take it.
    pub since: Instant,
    /// When the status checker last saw that some of its data had been moved.
    pub moved: Option<Instant>,
}

/// The commands, by the controller's slot.
pub(super) struct TakenCommands {
    slots: Vec<TakenCommand>,
}

impl TakenCommands {
    /// Room for `commands` commands: as many as the controller has slots.
    pub fn new(commands: u16) -> Self {
        let free = TakenCommand { automatic: false, since: Instant::ZERO, moved: None };
        TakenCommands { slots: vec![free; usize::from(commands)] }
    }
    pub fn of(&self, command: CommandId) -> TakenCommand {
        self.slots[usize::from(command.0)]
    }
    /// The firmware has read the command.
    pub fn take(&mut self, command: CommandId, automatic: bool, since: Instant) {
        self.slots[usize::from(command.0)] = TakenCommand { automatic, since, moved: None };
    }
    /// Some of the command's data has been moved. The status checker saw this at `sensed`.
    pub fn data_moved(&mut self, command: CommandId, sensed: Instant) {
        self.slots[usize::from(command.0)].moved = Some(sensed);
    }
}
