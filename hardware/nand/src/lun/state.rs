//! What a LUN keeps of commands that wait.

use crate::work::{ArrayWork, PageJob};
use alloc::vec::Vec;
use aster_units::Duration;

/// What a cache command starts once the array is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// 31h: what was read ahead is shown, the array reads the pages waiting.
    ReadAhead,
    /// 3Fh: what was read ahead is shown.
    ShowAhead,
    /// 15h: the pages waiting are programmed behind the host's back.
    ProgramBehind,
    /// 10h after 15h: the pages waiting are programmed, the host waits.
    Program,
}

/// Work that a suspend command has stopped.
#[derive(Debug)]
pub(super) struct Suspended {
    pub(super) work: ArrayWork,
    pub(super) others: Vec<PageJob>,
    pub(super) left: Duration,
}
