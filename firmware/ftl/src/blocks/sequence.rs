//! Sequence numbers, which tell the versions of a logical page apart.

use core::cell::Cell;

/// The last number given out.
#[derive(Default)]
pub(crate) struct Sequence {
    last: Cell<u64>,
}

impl Sequence {
    /// Takes the next number.
    pub(crate) fn next(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }
    /// The last number given out.
    pub(crate) fn last(&self) -> u64 {
        self.last.get()
    }
    /// Continues after this number.
    pub(crate) fn set(&self, last: u64) {
        self.last.set(last);
    }
}
