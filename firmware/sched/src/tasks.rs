//! Our task schedulers (B17).

use aster_parties::{FlashTask, Running, TaskScheduler};
use aster_ports::flash::FlashOp;
use aster_units::LunIndex;
use core::cell::Cell;

/// The task schedulers that a profile can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Requests go in order of arrival.
    #[default]
    Fifo,
    /// Reads go before programs and erases; otherwise requests go in order of arrival. Programs and erases
    /// never overtake each other, since the pages of a block must be programmed in order.
    ReadsFirst,
}

impl Policy {
    /// The index of the request to serve, among phases given oldest first.
    pub fn choose(self, mut waiting: &mut dyn Iterator<Item = FlashOp>) -> usize {
        match self {
            Policy::Fifo => 0,
            Policy::ReadsFirst => {
                // A read must not overtake the erase or program of what it reads: the FTL reads only pages
                // whose program has ended and erases only blocks that aren't being read, so any read may go
                // first.
                Iterator::position(&mut waiting, |phase| {
                    matches!(phase, FlashOp::Read | FlashOp::Trigger | FlashOp::Transfer)
                })
                .unwrap_or(0)
            }
        }
    }
}

/// Reads in a row that may overtake a waiting program or erase; then the oldest request goes.
pub const OVERTAKES_MAX: u32 = 32;

impl TaskScheduler for Policy {
    fn choose(&mut self, _: LunIndex, waiting: &mut dyn Iterator<Item = FlashOp>) -> usize {
        Policy::choose(*self, waiting)
    }
}

/// Limits how many operations run in a package at once, for example to save power; chooses as `inner` does.
#[derive(Clone, Copy, Debug)]
pub struct PackageLimit<S> {
    /// What chooses.
    pub inner: S,
    /// The most operations at once behind one chip enable, at least 1.
    pub operations_max: u32,
}

impl<S: TaskScheduler> TaskScheduler for PackageLimit<S> {
    fn choose(&mut self, lun: LunIndex, waiting: &mut dyn Iterator<Item = FlashOp>) -> usize {
        self.inner.choose(lun, waiting)
    }
    fn admits(&mut self, task: &FlashTask, running: Running) -> bool {
        running.package < self.operations_max && self.inner.admits(task, running)
    }
}

/// Lets a choice overtake older requests, but only a bounded number of times.
pub(crate) fn bounded(overtakes: &Cell<u32>, choice: usize) -> usize {
    if choice == 0 || overtakes.get() == OVERTAKES_MAX {
        overtakes.set(0);
        return 0;
    }
    overtakes.set(overtakes.get() + 1);
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_overtake_programs_but_programs_and_erases_keep_their_order() {
        let waiting = [FlashOp::Program, FlashOp::Erase, FlashOp::Read];
        assert_eq!(Policy::Fifo.choose(&mut waiting.iter().copied()), 0);
        assert_eq!(Policy::ReadsFirst.choose(&mut waiting.iter().copied()), 2);
        assert_eq!(Policy::ReadsFirst.choose(&mut waiting[..2].iter().copied()), 0);
    }

    #[test]
    fn a_program_is_not_overtaken_for_ever() {
        let overtakes = Cell::new(0);
        let choices: u32 = (0..OVERTAKES_MAX + 1).map(|_| bounded(&overtakes, 1) as u32).sum();
        assert_eq!(choices, OVERTAKES_MAX, "the last choice is the oldest request");
        assert_eq!(bounded(&overtakes, 1), 1, "and then reads may overtake again");
    }
}
