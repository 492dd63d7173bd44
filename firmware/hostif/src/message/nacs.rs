//! What the MCU exchanges with the NAND array controllers: FIFOs of the slots whose commands have been
//! scattered (H11), and FIFOs of status entries (H16).

use super::slots::SLOTS;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use aster_ports::host::CommandId;
use aster_wire::array::StatusEntry;

/// Status entries that the FIFO of a controller holds (H16).
const STATUS_FIFO: usize = 12;

/// The FIFOs of one controller.
struct Nac {
    commands: VecDeque<CommandId>,
    /// Statuses in the order in which commands ended. Those behind the twelfth are of commands that were with
    /// the controller when the FIFO became full: they wait there.
    statuses: VecDeque<(CommandId, StatusEntry)>,
}

/// The FIFOs of all controllers.
pub(super) struct Nacs {
    all: Box<[Nac]>,
    /// The controller whose commands are looked at first.
    next: usize,
}

impl Nacs {
    pub fn new(controllers: u16) -> Self {
        let slots = usize::from(SLOTS);
        let nac =
            |_| Nac { commands: VecDeque::with_capacity(slots), statuses: VecDeque::with_capacity(slots) };
        Nacs { all: (0..controllers.max(1)).map(nac).collect(), next: 0 }
    }
    pub const fn len(&self) -> usize {
        self.all.len()
    }
    /// The controller of a command. One that names a controller that isn't there is refused, and the first
    /// one's FIFOs carry it.
    fn of(&mut self, channel: u8) -> &mut Nac {
        let index = Some(usize::from(channel)).filter(|&n| n < self.all.len());
        &mut self.all[index.unwrap_or(0)]
    }
    /// A command has been scattered to a slot.
    pub fn scattered(&mut self, channel: u8, slot: CommandId) {
        self.of(channel).commands.push_back(slot);
    }
    /// The next command, and the number of its controller. Controllers take turns. One whose status FIFO is
    /// full is held: it gets no more.
    pub fn next_command(&self) -> Option<(usize, CommandId)> {
        let count = self.all.len();
        let mut turns = (0..count).map(|n| (self.next + n) % count);
        turns.find_map(|n| {
            let nac = &self.all[n];
            let first = nac.commands.front().filter(|_| nac.statuses.len() < STATUS_FIFO);
            Some((n, *first?))
        })
    }
    /// The controller has got its command.
    pub fn take_command(&mut self, nac: usize) -> Option<CommandId> {
        self.next = (nac + 1) % self.all.len();
        self.all[nac].commands.pop_front()
    }
    /// A command has ended.
    pub fn ended(&mut self, slot: CommandId, entry: StatusEntry) {
        self.of(entry.channel).statuses.push_back((slot, entry));
    }
    /// Entries in the status FIFO of a controller.
    pub fn statuses(&self, nac: usize) -> usize {
        self.all[nac].statuses.len().min(STATUS_FIFO)
    }
    pub fn take_status(&mut self, nac: usize) -> Option<(CommandId, StatusEntry)> {
        self.all[nac].statuses.pop_front()
    }
    /// The host has reset the unit: nobody waits for any of it. Returns the slots whose commands had ended.
    pub fn reset(&mut self) -> impl Iterator<Item = CommandId> + '_ {
        self.all.iter_mut().for_each(|nac| nac.commands.clear());
        self.all.iter_mut().flat_map(|nac| nac.statuses.drain(..)).map(|(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn entry(channel: u8) -> StatusEntry {
        StatusEntry { channel, ..StatusEntry::default() }
    }

    #[test]
    fn controllers_take_turns_with_their_commands() {
        let mut nacs = Nacs::new(3);
        for (channel, slot) in [(1, 10), (1, 11), (2, 20), (1, 12), (9, 90)] {
            nacs.scattered(channel, CommandId(slot));
        }
        let mut order = Vec::new();
        while let Some((nac, slot)) = nacs.next_command() {
            assert_eq!(nacs.take_command(nac), Some(slot));
            order.push(slot.0);
        }
        assert_eq!(order, [90, 10, 20, 11, 12]);
    }

    #[test]
    fn a_status_fifo_shows_twelve_entries_and_the_rest_follow() {
        let mut nacs = Nacs::new(2);
        (0..20).for_each(|slot| nacs.ended(CommandId(slot), entry(1)));
        assert_eq!((nacs.statuses(0), nacs.statuses(1)), (0, STATUS_FIFO));
        (0..9).for_each(|slot| assert_eq!(nacs.take_status(1).map(|(id, _)| id), Some(CommandId(slot))));
        assert_eq!(nacs.statuses(1), 11);
        (9..11).for_each(|slot| assert_eq!(nacs.take_status(1).map(|(id, _)| id), Some(CommandId(slot))));
        assert_eq!(nacs.statuses(1), 9);
        (20..22).for_each(|slot| nacs.ended(CommandId(slot), entry(1)));
        nacs.scattered(1, CommandId(31));
        assert_eq!(nacs.next_command(), Some((1, CommandId(31))));
        nacs.ended(CommandId(22), entry(1));
        assert_eq!(nacs.next_command(), None, "its status FIFO is full");
        nacs.scattered(0, CommandId(30));
        assert_eq!(nacs.next_command(), Some((0, CommandId(30))));
        assert_eq!(nacs.reset().count(), STATUS_FIFO);
        assert_eq!((nacs.next_command(), nacs.statuses(1)), (None, 0));
    }
}
