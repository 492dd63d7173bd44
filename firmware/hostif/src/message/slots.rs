//! Command slots: where scattered commands stay until they have ended (H11).

use super::array::Plan;
use aster_ports::host::CommandId;
use aster_wire::array::Command;

/// Command slots (H11).
pub(super) const SLOTS: u16 = 64;

/// A command in the drive.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub command: Command,
    /// What I5 has of it; `None` until it is with the translation.
    pub plan: Option<Plan>,
    /// The host has reset the unit: nobody waits for the command any more.
    pub orphan: bool,
}

/// The slots and the FIFO of those that are empty.
pub(super) struct Slots {
    all: [Option<Slot>; SLOTS as usize],
    empty: [u8; SLOTS as usize],
    free: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Slots { all: [None; SLOTS as usize], empty: core::array::from_fn(|n| n as u8), free: SLOTS.into() }
    }
}

impl Slots {
    /// Puts a command into an empty slot, if there is one.
    pub fn take(&mut self, command: Command) -> Option<CommandId> {
        self.free = self.free.checked_sub(1)?;
        let slot = self.empty[self.free];
        self.all[usize::from(slot)] = Some(Slot { command, plan: None, orphan: false });
        Some(CommandId(slot.into()))
    }
    pub fn get(&self, id: CommandId) -> &Slot {
        self.all[usize::from(id.0)].as_ref().expect("the command is in its slot")
    }
    pub fn get_mut(&mut self, id: CommandId) -> &mut Slot {
        self.all[usize::from(id.0)].as_mut().expect("the command is in its slot")
    }
    /// Empties a slot.
    pub fn release(&mut self, id: CommandId) -> Slot {
        let slot = self.all[usize::from(id.0)].take().expect("the command is in its slot");
        self.empty[self.free] = id.0 as u8;
        self.free += 1;
        slot
    }
    /// Slots that aren't empty.
    pub fn taken(&self) -> usize {
        usize::from(SLOTS) - self.free
    }
    /// The host has reset the unit. What is with the translation stays until it has ended; the rest goes.
    pub fn reset(&mut self) {
        for id in (0..SLOTS).map(CommandId) {
            match &mut self.all[usize::from(id.0)] {
                Some(slot) if slot.plan.is_some() => slot.orphan = true,
                Some(_) => drop(self.release(id)),
                None => {}
            }
        }
    }
}
