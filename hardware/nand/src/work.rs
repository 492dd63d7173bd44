//! The work that a LUN's array can do.

use aster_units::{BlockAddr, PageInBlock};

/// A page of a LUN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageAddr {
    pub block: BlockAddr,
    pub page: PageInBlock,
    pub plane: u8,
    /// Addressed with the prefix for using the cells as SLC.
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
    /// The register that data in and data out access: ONFI's cache register.
    Cache,
    /// The register behind it, on which the array works while the other is in use: ONFI's page register.
    Array,
    /// The first page of a word line that waits for one-shot programming.
    Lsb,
    /// The second.
    Csb,
}

/// A page with its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageJob {
    pub at: PageAddr,
    pub bank: Bank,
}

/// What the array is doing, or will do next. Other planes are in a separate list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArrayWork {
    /// Nothing.
    Idle,
    /// Reads a page into its plane's register.
    Read(PageJob),
    /// Programs a page from its plane's register.
    Program(PageJob),
    /// Erases a block.
    Erase(PageAddr),
    /// Reset, features, parameter page: work that doesn't touch cells.
    Other,
}

impl ArrayWork {
    /// The same for another plane.
    #[inline]
    pub const fn on(self, job: PageJob) -> Self {
        match self {
            ArrayWork::Read(_) => ArrayWork::Read(job),
            ArrayWork::Program(_) => ArrayWork::Program(job),
            ArrayWork::Erase(_) => ArrayWork::Erase(job.at),
            ArrayWork::Idle | ArrayWork::Other => self,
        }
    }
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
