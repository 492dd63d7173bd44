//! What keeps a client out, said as soon as it is met: each once a client, so that what goes wrong a thousand
//! times a second fills no screen.

use std::cell::{Cell, RefCell};

/// What may stand between a client and the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    /// The client keeps memory to itself that the drive was to reach.
    KeptMemory,
    /// It handed over a file, and cut it short or has a hole in it that can't be filled.
    GoneMemory,
    /// It handed over nothing at that address.
    NoMemory,
    /// It handed it over for the other direction alone.
    Direction,
    /// The function may not reach memory at all.
    BusMaster,
    /// BARs don't answer in D3hot.
    Asleep,
    /// A message was refused, by its command's number.
    Refused(u16),
    /// Another client waits for its turn.
    Waiting,
    /// A region is longer than its file.
    ShortFile,
}

impl Obstacle {
    /// The bit that notes that it was said.
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
            Obstacle::Refused(command) => 8 + command.min(55),
        }
    }
}

/// Those that a client has met.
#[derive(Default)]
pub(crate) struct Obstacles {
    met: Cell<u64>,
    /// Not said yet.
    words: RefCell<Vec<String>>,
    waiting: Cell<bool>,
}

impl Obstacles {
    /// One is met; `words` say what it is and what to do about it.
    #[cold]
    pub(crate) fn meet(&self, obstacle: Obstacle, words: impl FnOnce() -> String) {
        if self.met.get() & obstacle.bit() == 0 {
            self.met.set(self.met.get() | obstacle.bit());
            self.words.borrow_mut().push(words());
            self.waiting.set(true);
        }
    }
    /// What is to be said now.
    #[inline]
    pub(crate) fn take(&self) -> Vec<String> {
        if self.waiting.replace(false) { self.words.take() } else { Vec::new() }
    }
    /// It may be met anew.
    pub(crate) fn forget(&self, obstacle: Obstacle) {
        self.met.set(self.met.get() & !obstacle.bit());
    }
    /// The client has gone: the next one meets its own. What wasn't said yet still is.
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
