//! Problems that keep a client from using the drive. Each is reported at once, and once per client, so that
//! an error that occurs a thousand times per second doesn't flood the terminal.

use aster_device::HostTrouble;
use std::cell::{Cell, RefCell};

/// A reason why a client can't use the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    /// The drive should access memory that the client doesn't share.
    KeptMemory,
    /// The client truncated a shared file, or it has a hole that can't be filled.
    GoneMemory,
    /// The client shares no memory at that address.
    NoMemory,
    /// The client shares the memory for the other direction only.
    Direction,
    /// Bus Master Enable is off, so the function may not access memory.
    BusMaster,
    /// BARs don't answer in D3hot.
    Asleep,
    /// A message was refused, by its command's number.
    Refused(u16),
    /// Another client waits for its turn.
    Waiting,
    /// A region is longer than its file.
    ShortFile,
    /// The drive takes no register writes any more.
    Deaf,
    /// The client wants more I/O queues than the drive has.
    Queues,
    /// The controller has given the client up, since it sent nothing.
    Silent,
}

impl Obstacle {
    /// The bit that records that it was reported.
    fn bit(self) -> u64 {
        1 << match self {
            Obstacle::KeptMemory => 0,
            Obstacle::GoneMemory => 1,
            Obstacle::NoMemory => 2,
            Obstacle::Direction => 3,
            Obstacle::BusMaster => 4,
            Obstacle::Asleep => 5,
            Obstacle::Waiting => 6,
            Obstacle::ShortFile => 7,
            Obstacle::Deaf => 8,
            Obstacle::Queues => 9,
            Obstacle::Silent => 10,
            Obstacle::Refused(command) => 11 + command.min(52),
        }
    }
}

/// The obstacles of the current client.
#[derive(Default)]
pub(crate) struct Obstacles {
    met: Cell<u64>,
    /// Messages that haven't been reported yet.
    words: RefCell<Vec<String>>,
    waiting: Cell<bool>,
}

impl Obstacles {
    /// Records an obstacle; `words` say what it is and what to do about it.
    #[cold]
    pub(crate) fn meet(&self, obstacle: Obstacle, words: impl FnOnce() -> String) {
        if self.met.get() & obstacle.bit() == 0 {
            self.met.set(self.met.get() | obstacle.bit());
            self.words.borrow_mut().push(words());
            self.waiting.set(true);
        }
    }
    /// Records what ails the client by the drive's own account.
    pub(crate) fn meet_trouble(&self, trouble: HostTrouble) {
        match trouble {
            HostTrouble::Queues { asked, offered } => self.meet(Obstacle::Queues, || {
                format!(
                    "the client asks for {asked} I/O queues, and this drive has {offered}: a client that \
                     needs more of them at a time fails for want of queues; --set host.queue_pairs={asked} \
                     serves a drive with as many"
                )
            }),
            HostTrouble::Silent { timeout_ms } => self.meet(Obstacle::Silent, || {
                format!(
                    "no command came from the client for {timeout_ms} ms, the Keep Alive Timeout that it has \
                     set: the controller has given it up (CSTS.CFS) and does nothing until a reset"
                )
            }),
        }
    }
    /// Takes the messages to report now.
    #[inline]
    pub(crate) fn take(&self) -> Vec<String> {
        if self.waiting.replace(false) { self.words.take() } else { Vec::new() }
    }
    /// Lets an obstacle be reported again.
    pub(crate) fn forget(&self, obstacle: Obstacle) {
        self.met.set(self.met.get() & !obstacle.bit());
    }
    /// The client has gone: the next one starts with no obstacles. Unreported messages are kept.
    pub(crate) fn next_client(&self) {
        let waiting = self.met.get() & Obstacle::Waiting.bit();
        self.met.set(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_said_once_a_client() {
        let obstacles = Obstacles::default();
        for round in 0..3 {
            obstacles.meet(Obstacle::BusMaster, || format!("no bus master {round}"));
            obstacles.meet(Obstacle::Refused(2), || format!("no map {round}"));
            obstacles.meet(Obstacle::Refused(u16::MAX), || format!("nothing {round}"));
        }
        assert_eq!(obstacles.take(), ["no bus master 0", "no map 0", "nothing 0"]);
        assert!(obstacles.take().is_empty());
        obstacles.next_client();
        obstacles.meet(Obstacle::BusMaster, || "again".to_owned());
        assert_eq!(obstacles.take(), ["again"]);
    }
}
