//! The state of commands that wait.

use crate::work::{ArrayWork, PageJob};
use alloc::vec::Vec;
use aster_units::Duration;

/// What a cache command starts once the array is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// 31h: shows the page that was read ahead, and reads the waiting pages.
    ReadAhead,
    /// 3Fh: shows the page that was read ahead.
    ShowAhead,
    /// 15h: programs the waiting pages while the LUN takes commands.
    ProgramBehind,
    /// 10h after 15h: programs the waiting pages while the LUN is busy.
    Program,
}

/// Work that a suspend command has stopped.
#[derive(Debug)]
pub(super) struct Suspended {
    pub(super) work: ArrayWork,
    pub(super) others: Vec<PageJob>,
    pub(super) left: Duration,
}
