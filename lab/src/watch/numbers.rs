//! The number of a command in the work: the same in events, in Perfetto's trace, and in `aster explain`.

use super::window::WorkWindow;
use crate::explain::in_work;
use aster_events::Event;
use std::collections::BTreeMap;

/// Numbers the commands of the work by the slots that they are in. Commands that were fetched before the work
/// began have no number.
pub(super) struct Numbers {
    work: WorkWindow,
    /// Commands of the work that were fetched so far.
    fetched: u64,
    by_slot: BTreeMap<u64, u64>,
}

impl Numbers {
    /// For the work during which `work` is open. None of its commands may have been fetched yet.
    pub(super) fn new(work: WorkWindow) -> Self {
        Numbers { work, fetched: 0, by_slot: BTreeMap::new() }
    }

    /// Takes the next event.
    pub(super) fn hear(&mut self, event: &Event) {
        // A parked write continues as if it had just been fetched.
        let (Event::CommandFetched { command, .. } | Event::CommandResumed { command, .. }) = *event else {
            return;
        };
        if self.work.ends().is_none() {
            self.by_slot.remove(&command.into());
            return;
        }
        self.by_slot.extend(in_work(self.fetched, 0).map(|number| (command.into(), number)));
        self.fetched += 1;
    }

    /// The number of the command in a slot.
    pub(super) fn of_slot(&self, slot: u64) -> Option<u64> {
        self.by_slot.get(&slot).copied()
    }

    /// The number of the command whose slot an event names.
    pub(super) fn of(&self, event: &Event) -> Option<u64> {
        let mut slot = None;
        event.for_each_field(|name, value| {
            if name == "command" {
                slot = Some(value);
            }
        });
        self.of_slot(slot?)
    }
}
