//! A reserve of room beside an image, for when its disk is full.

use super::change::PAGE_BYTES;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, fstatvfs, ftruncate, openat};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// The largest reserve, and its share of the image if that is less.
const RESERVE_MAX: u64 = 64 << 20;
const RESERVE_SHARE: u64 = 16;
/// The smallest useful share of that, on a disk without room for all of it.
const LEAST_SHARE: u64 = 16;
/// The most attempts to skip after a refusal, as a power of two.
const PATIENCE_LOG2_MAX: u32 = 6;

/// A file that takes room and has no content.
trait Filler {
    /// Bytes that are free for this user, apart from quotas; `None` if that isn't known.
    fn free(&self) -> Option<u64>;
    /// Allocates this much room.
    fn fill(&self, bytes: u64) -> Result<(), Errno>;
    /// Releases the room; returns false when that fails.
    fn empty(&self) -> bool;
}

impl Filler for File {
    fn free(&self) -> Option<u64> {
        let disk = fstatvfs(self).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    fn fill(&self, bytes: u64) -> Result<(), Errno> {
        loop {
            match fallocate(self, FallocateFlags::empty(), 0, bytes) {
                Err(Errno::INTR) => {}
                filled => return filled,
            }
        }
    }
    fn empty(&self) -> bool {
        ftruncate(self, 0).is_ok()
    }
}

/// A file without a name beside the image. Its room is released when the disk is full: the drive can then
/// store commands in progress, flush, shut down, and erase what its host trims, which makes room.
pub(super) struct Reserve {
    /// `None` if the file system doesn't support such files.
    file: Option<Box<dyn Filler>>,
    /// The size if there is plenty of room.
    most: u64,
    /// Its current or last size.
    bytes: u64,
    taken: bool,
    /// How often in a row the file system had room but refused it.
    refusals: u32,
    /// How many attempts to skip.
    patience: u32,
}

impl fmt::Debug for Reserve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve")
            .field("bytes", &self.bytes)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

/// A file system's answer to a request for room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Taken,
    /// Refused by a quota, or by a file system whose free space is misleading.
    Refused,
    /// The file system doesn't support this.
    Unable,
}

impl Reserve {
    /// Allocates the reserve for an image of `bytes` bytes in `folder`. If it doesn't fit, the reserve is
    /// smaller and leaves at least as much free; if even a small one doesn't fit, there is none.
    pub(super) fn beside(folder: &Path, bytes: u64) -> Self {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR).ok();
        let file = file.map(|file| Box::new(File::from(file)) as Box<dyn Filler>);
        Reserve::of(file, (bytes / RESERVE_SHARE).clamp(PAGE_BYTES, RESERVE_MAX))
    }
    fn of(file: Option<Box<dyn Filler>>, most: u64) -> Self {
        let mut reserve = Reserve { file, most, bytes: most, taken: false, refusals: 0, patience: 0 };
        let free = reserve.free();
        if free.is_none_or(|free| free >= most) && reserve.ask(most) != Answer::Refused {
            return reserve;
        }
        let sizes = (1..).map(|halvings| most >> halvings);
        for size in sizes.take_while(|&size| size >= PAGE_BYTES.max(most / LEAST_SHARE)) {
            if free.is_none_or(|free| free / 2 >= size) && reserve.ask(size) != Answer::Refused {
                break;
            }
        }
        reserve
    }
    /// An empty reserve that never grows.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Reserve { file: None, most: 0, bytes: 0, taken: false, refusals: 0, patience: 0 }
    }
    /// Bytes that are free for this user, apart from quotas.
    pub(super) fn free(&self) -> Option<u64> {
        self.file.as_ref()?.free()
    }
    /// Bytes that it is short of.
    pub(super) fn missing(&self) -> u64 {
        if self.taken || self.file.is_none() { 0 } else { self.bytes }
    }
    /// Allocates the room again, as much as was released, or all of it if there is plenty; returns false when
    /// there isn't enough.
    pub(super) fn take(&mut self) -> bool {
        if self.taken || self.file.is_none() {
            return true;
        }
        // Don't take a disk's last room only to release it again; only whether a quota allows it must be
        // tried.
        let free = self.free().unwrap_or(u64::MAX);
        if free < self.bytes {
            return false;
        }
        if self.patience > 0 {
            self.patience -= 1;
            return false;
        }
        let plenty = free / 2 >= self.most && self.ask(self.most) != Answer::Refused;
        // An error other than lack of room must not keep the drive waiting: this time it continues without a
        // reserve.
        let goes_on = plenty || self.ask(self.bytes) != Answer::Refused;
        self.refusals = if goes_on { 0 } else { (self.refusals + 1).min(PATIENCE_LOG2_MAX) };
        self.patience = (1 << self.refusals) - 1;
        goes_on
    }
    /// Tries to allocate `bytes` of room.
    fn ask(&mut self, bytes: u64) -> Answer {
        let Some(file) = &self.file else { return Answer::Unable };
        let Err(errno) = file.fill(bytes) else {
            (self.bytes, self.taken) = (bytes, true);
            return Answer::Taken;
        };
        // Some file systems keep what they had allocated before the error.
        file.empty();
        if errno == Errno::OPNOTSUPP {
            // This file system doesn't support it.
            self.file = None;
        }
        match errno {
            Errno::NOSPC | Errno::DQUOT => Answer::Refused,
            _ => Answer::Unable,
        }
    }
    /// Releases the room; returns true when there was some.
    pub(super) fn give_up(&mut self) -> bool {
        let given = self.taken && self.file.as_ref().is_some_and(|file| file.empty());
        self.taken &= !given;
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    const MOST: u64 = 16 << 20;

    /// A disk with other users.
    struct Shared {
        free: Cell<u64>,
        /// Bytes of it that a quota allows.
        quota: Cell<u64>,
        taken: Cell<u64>,
        asked: Cell<u32>,
    }

    impl Shared {
        fn with(free: u64, quota: u64) -> Rc<Self> {
            let (free, quota) = (Cell::new(free), Cell::new(quota));
            Rc::new(Shared { free, quota, taken: Cell::default(), asked: Cell::default() })
        }
        fn reserve(self: &Rc<Self>) -> Reserve {
            Reserve::of(Some(Box::new(Rc::clone(self))), MOST)
        }
    }

    impl Filler for Rc<Shared> {
        fn free(&self) -> Option<u64> {
            Some(self.free.get())
        }
        fn fill(&self, bytes: u64) -> Result<(), Errno> {
            self.asked.set(self.asked.get() + 1);
            if bytes > self.quota.get() {
                return Err(Errno::DQUOT);
            }
            self.free.set(self.free.get().checked_sub(bytes).ok_or(Errno::NOSPC)?);
            self.taken.set(bytes);
            Ok(())
        }
        fn empty(&self) -> bool {
            self.free.set(self.free.get() + self.taken.take());
            true
        }
    }

    #[test]
    fn a_disk_without_room_for_all_of_it_has_a_smaller_one_that_leaves_others_as_much() {
        const MIB: u64 = 1 << 20;
        for (free, quota, taken) in [
            (100, 100, 16),
            (16, 100, 16),
            (15, 100, 4),
            (4, 100, 2),
            (2, 100, 1),
            (1, 100, 0),
            (0, 100, 0),
            (100, 15, 8),
            (100, 0, 0),
        ] {
            let disk = Shared::with(free * MIB, quota * MIB);
            let mut reserve = disk.reserve();
            assert_eq!(disk.taken.get() / MIB, taken, "{free} MiB free, a quota of {quota}");
            assert_eq!(reserve.give_up(), taken > 0);
            // A pause ends when it has as much room as before, or all of it if it had none.
            assert_eq!(reserve.missing() / MIB, if taken > 0 { taken } else { 16 });
            disk.free.set(reserve.missing() - 1);
            disk.quota.set(u64::MAX);
            assert!(!reserve.take(), "{free} MiB free, a quota of {quota}");
            disk.free.set(reserve.missing());
            assert!(reserve.take() && reserve.missing() == 0);
            reserve.give_up();
            disk.free.set(2 * MOST);
            assert!(reserve.take() && disk.taken.get() == MOST, "there is plenty: all of it");
        }
    }

    #[test]
    fn a_quota_is_tried_ever_more_seldom_and_a_full_disk_is_not_tried_at_all() {
        let disk = Shared::with(3 * MOST / 2, MOST);
        let mut reserve = disk.reserve();
        assert!(reserve.give_up());
        disk.quota.set(0);
        disk.asked.set(0);
        assert!((0..1000).all(|_| !reserve.take()));
        // The first time, after 2, 4, 8, 16, 32 and 64 more, and each 64th from then on.
        assert_eq!(disk.asked.get(), 7 + (1000 - 127) / 64);
        disk.quota.set(MOST);
        assert!((0..64).any(|_| reserve.take()), "at most 64 times without a look");
        reserve.give_up();
        disk.free.set(MOST - 1);
        disk.asked.set(0);
        assert!((0..1000).all(|_| !reserve.take()));
        assert_eq!(disk.asked.get(), 0);
        disk.free.set(MOST);
        assert!(reserve.take(), "at once");
    }

    #[test]
    fn a_file_of_no_name_takes_the_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::beside(folder.path(), 1 << 20);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nobody sees it");
        assert!(
            reserve.taken && reserve.missing() == 0,
            "a file system for temporary files has nameless ones"
        );
        assert!(reserve.give_up() && !reserve.give_up());
        assert_eq!(reserve.missing(), (1 << 20) / RESERVE_SHARE);
        reserve.bytes = 1 << 62;
        assert!(!reserve.take(), "no disk has so much");
    }

    #[test]
    fn a_file_that_takes_room_and_none_any_more_does_so_on_the_disk() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        let takes = || file.metadata().unwrap().blocks() * 512;
        file.fill(1 << 16).unwrap();
        assert_eq!(takes(), 1 << 16);
        assert!(Filler::empty(&file));
        assert_eq!(takes(), 0);
    }
}
