//! What a LUN's array can be told to do.

use aster_units::{BlockAddr, PageInBlock};

/// A page of a LUN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageAddr {
    pub block: BlockAddr,
    pub page: PageInBlock,
    pub plane: u8,
    /// Addressed behind the prefix that uses the cells as SLC.
    pub slc: bool,
}

#[cfg(test)]
impl PageAddr {
    /// A page of plane 0.
    pub const fn new(block: BlockAddr, page: PageInBlock) -> Self {
        PageAddr { block, page, plane: 0, slc: false }
    }
}

/// Which of a plane's registers a page goes to or comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bank {
    /// The one that data in and out reach: ONFI's cache register.
    Cache,
    /// The one behind it, which the array works on while the other is in use: ONFI's page register.
    Array,
    /// The first page of a word line that waits for one-shot programming.
    Lsb,
    /// The second.
    Csb,
}

/// A page with the register that it goes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageJob {
    pub at: PageAddr,
    pub bank: Bank,
}

/// What the array is doing, or is to do next. Further planes are in a list beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArrayWork {
    /// Nothing.
    Idle,
    /// A page goes to its plane's register.
    Read(PageJob),
    /// Its plane's register goes to a page.
    Program(PageJob),
    /// A block is being erased.
    Erase(PageAddr),
    /// Reset, features, parameter page: nothing that touches cells.
    Other,
}

impl ArrayWork {
    /// The kind as the event `ArrayBusy` counts it.
    pub const fn kind(self) -> u8 {
        match self {
            ArrayWork::Read(_) => 0,
            ArrayWork::Program(_) => 1,
            ArrayWork::Erase(_) => 2,
            ArrayWork::Idle | ArrayWork::Other => 3,
        }
    }
}

/// What a multi-plane command collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gathers {
    /// 32h.
    Reads,
    /// 11h.
    Programs,
    /// D1h.
    Erases,
}

/// What can be suspended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suspends {
    /// A program.
    Program,
    /// An erase.
    Erase,
}
