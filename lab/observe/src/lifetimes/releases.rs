//! The tasks that had the data buffer entries that others waited for.

use alloc::vec::Vec;
use aster_units::Instant;

/// A task that released a data buffer entry, or wrote it to flash, while another waited for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Firmware task.
    pub task: u32,
    /// When it had started its slice; time zero for a task without a slice.
    pub since: Instant,
    /// The slice's logical page, and whether the slice changes data.
    pub slice: Option<(u32, bool)>,
}

/// The number in events for any data buffer entry.
pub(super) const ANY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Release {
    at: Instant,
    holder: Holder,
}

/// The most entries that are followed: as many as a drive's DRAM could have.
const ENTRIES_MAX: usize = 1 << 20;

/// The last release of each data buffer entry that a task waited for.
#[derive(Default)]
pub(super) struct Releases {
    of: Vec<Option<Release>>,
    last: Option<Release>,
}

impl Releases {
    pub(super) fn told(&mut self, at: Instant, buffer: u32, holder: Holder) {
        let (place, release) = (buffer as usize, Some(Release { at, holder }));
        self.last = release;
        if place >= ENTRIES_MAX {
            return;
        }
        if place >= self.of.len() {
            self.of.resize(place + 1, None);
        }
        self.of[place] = release;
    }
    /// The task that released what `task` has waited for since `from`: the entry that it `got`, else the
    /// entry that it waited for, else the entry released last.
    pub(super) fn behind(
        &self,
        task: u32,
        from: Instant,
        waited_for: u32,
        got: Option<u32>,
    ) -> Option<Holder> {
        let of = |buffer: u32| *self.of.get(buffer as usize)?;
        let last = self.last.filter(|_| waited_for == ANY);
        let all = [got.and_then(of), of(waited_for), last];
        let behind = all.into_iter().flatten().find(|r| r.at >= from && r.holder.task != task)?;
        Some(behind.holder)
    }
}
