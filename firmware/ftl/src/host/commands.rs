//! The commands in progress: how many slices each has left, and how it ends.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::WaitCell;
use aster_ports::host::{CommandId, Completion, HostStatus};

#[derive(Clone, Copy)]
struct Active {
    // Slices that aren't done, plus one for the intake while it is cutting the command.
    left: u32,
    // The front end may complete it before the firmware is done with it.
    ahead: bool,
    status: HostStatus,
    // The first byte that its slices could not read; `u64::MAX` if there is none.
    failed_at: u64,
}

const NOTHING_FAILED: Active =
    Active { left: 0, ahead: false, status: HostStatus::Success, failed_at: u64::MAX };

/// The commands in progress.
pub(crate) struct Commands {
    slots: Vec<Active>,
    // The number of writes that the front end may complete before the firmware is done with them.
    pub(super) early_writes: u32,
    pub(super) idle: Rc<WaitCell>,
}

impl Commands {
    pub(crate) fn new(slots: u16) -> Self {
        Commands { slots: vec![NOTHING_FAILED; usize::from(slots)], early_writes: 0, idle: Rc::default() }
    }
    #[inline]
    pub(super) fn begin(&mut self, id: CommandId, ahead: bool) {
        let slot =
            self.slots.get_mut(usize::from(id.0)).expect("command identifiers are below command_slots");
        assert_eq!(slot.left, 0, "a command slot was used twice");
        *slot = Active { left: 1, ahead, ..NOTHING_FAILED };
        self.early_writes += u32::from(ahead);
    }
    #[inline]
    pub(super) fn add(&mut self, id: CommandId) {
        let slot = &mut self.slots[usize::from(id.0)];
        assert!(slot.left > 0, "a command gets a slice that has ended");
        slot.left += 1;
    }
    /// Records that a part of a command could not read the drive's data at this byte. Keeps the lowest byte.
    pub(crate) fn failed_at(&mut self, id: CommandId, byte: u64) {
        let slot = &mut self.slots[usize::from(id.0)];
        slot.failed_at = slot.failed_at.min(byte);
    }
    /// True if one part of the command is left: a slice, or the intake, which counts as a part until it
    /// has cut the whole command.
    pub(super) fn is_last_part(&self, id: CommandId) -> bool {
        self.slots[usize::from(id.0)].left == 1
    }
    /// The status of a command so far.
    pub(super) fn status(&self, id: CommandId) -> HostStatus {
        self.slots[usize::from(id.0)].status
    }
    /// Ends one part of a command and keeps the first error. Returns the completion if it was the last
    /// part.
    #[inline]
    pub(super) fn end(&mut self, id: CommandId, status: HostStatus) -> Option<Completion> {
        let slot = &mut self.slots[usize::from(id.0)];
        if slot.status == HostStatus::Success {
            slot.status = status;
        }
        assert!(slot.left > 0, "a command ends more often than it has parts");
        slot.left -= 1;
        if slot.left == 0 {
            debug_assert!(self.early_writes >= u32::from(slot.ahead), "it was counted as it began");
            self.early_writes -= u32::from(slot.ahead);
        }
        let failed_at = (slot.failed_at < u64::MAX).then_some(slot.failed_at);
        (slot.left == 0).then_some(Completion { failed_at, ..Completion::new(id, slot.status) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_its_last_part_and_as_the_first_one_that_failed() {
        let mut commands = Commands::new(2);
        let id = CommandId(1);
        commands.begin(id, true);
        (0..3).for_each(|_| commands.add(id));
        assert_eq!(commands.early_writes, 1);
        assert_eq!(commands.end(id, HostStatus::Success), None);
        commands.failed_at(id, 8192);
        commands.failed_at(id, 512);
        assert_eq!(commands.end(id, HostStatus::UnrecoveredRead), None);
        assert_eq!(commands.end(id, HostStatus::Aborted), None);
        assert!(commands.is_last_part(id));
        let ended = Completion { failed_at: Some(512), ..Completion::new(id, HostStatus::UnrecoveredRead) };
        assert_eq!(commands.end(id, HostStatus::Success), Some(ended));
        assert_eq!(commands.early_writes, 0);
        // Nothing of the first command is left in the slot.
        commands.begin(id, false);
        let ended = Completion::new(id, HostStatus::Success);
        assert_eq!(commands.end(id, HostStatus::Success), Some(ended));
    }

    #[test]
    #[should_panic(expected = "used twice")]
    fn a_slot_holds_one_command() {
        let mut commands = Commands::new(2);
        commands.begin(CommandId(0), false);
        commands.begin(CommandId(0), false);
    }
}
