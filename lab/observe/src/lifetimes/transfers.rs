//! The owners of the bytes that the link moves.

use super::owner::Owner;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_units::{Duration, Instant};

/// A transfer of which a part has not reached the link yet.
#[derive(Clone, Copy)]
struct Open {
    from_host: bool,
    buffer: u32,
    left: u32,
    owner: Owner,
}

/// What the link has been asked to move.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) at: Instant,
    pub(super) waits: Duration,
    pub(super) owner: Owner,
}

/// The most transfers that are followed, and the most on the link at once: as many as a drive could have
/// in progress.
const TRANSFERS_MAX: usize = 4096;

/// Transfers on their way to the link, and those on the link in each direction, in order.
#[derive(Default)]
pub(super) struct Transfers {
    open: Vec<Open>,
    link: [VecDeque<Asked>; 2],
}

impl Transfers {
    pub(super) fn asked(&mut self, from_host: bool, buffer: u32, bytes: u32, owner: Owner) {
        if self.open.len() < TRANSFERS_MAX {
            self.open.push(Open { from_host, buffer, left: bytes, owner });
        }
    }
    /// The task's transfer is over.
    pub(super) fn over(&mut self, task: u32) {
        self.open.retain(|open| open.owner.task != Some(task));
    }
    /// The link is asked to move bytes. They belong to the oldest transfer of that buffer.
    pub(super) fn on_link(
        &mut self,
        at: Instant,
        from_host: bool,
        buffer: u32,
        (bytes, waits): (u32, Duration),
    ) {
        let is = |open: &&mut Open| (open.from_host, open.buffer) == (from_host, buffer) && open.left > 0;
        let owner = self.open.iter_mut().find(is).map_or(Owner::default(), |open| {
            open.left = open.left.saturating_sub(bytes);
            open.owner
        });
        self.link[usize::from(from_host)].push_back(Asked { at, waits, owner });
    }
    pub(super) fn off_link(&mut self, from_host: bool) -> Option<Asked> {
        self.link[usize::from(from_host)].pop_front()
    }
}
