//! What a full disk has not taken yet, in memory and in order, and the room that is kept for when it is full.

use super::change::{Change, change, failed, in_words, is_out_of_room};
use aster_ports::medium::MediumError;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, fstatvfs, ftruncate, openat};
use rustix::io::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are kept together of what is behind.
const PAGE_BYTES: u64 = 4096;

/// Room that is kept at most, and which share of the image it is where that is less.
const RESERVE_MAX: u64 = 64 << 20;
const RESERVE_SHARE: u64 = 16;

/// A file without a name beside the image that takes room and holds nothing. What it has taken is given up when the disk is full: a
/// drive can then write down what it has in work, flush, shut down, and erase what its host trims, which makes room.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Nothing where the file system can't have such a file.
    file: Option<File>,
    bytes: u64,
    taken: bool,
}

impl Reserve {
    /// Takes the room for an image of `bytes` bytes that lies in `folder`, if there is any.
    pub(super) fn beside(folder: &Path, bytes: u64) -> Self {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from);
        let bytes = (bytes / RESERVE_SHARE).clamp(PAGE_BYTES, RESERVE_MAX);
        let mut reserve = Reserve { file, bytes, taken: false };
        reserve.take();
        reserve
    }
    /// Takes the room again; false when there isn't enough of it.
    fn take(&mut self) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| !self.taken) else { return true };
        // A disk's last room is not taken from others only to be given back: a quota alone is found out by trying.
        if fstatvfs(file).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < self.bytes) {
            return false;
        }
        let taken = loop {
            match fallocate(file, FallocateFlags::empty(), 0, self.bytes) {
                Err(Errno::INTR) => {}
                taken => break taken,
            }
        };
        match taken {
            Ok(()) => self.taken = true,
            // This file system never will.
            Err(Errno::OPNOTSUPP) => self.file = None,
            Err(errno) => {
                // Some file systems keep what they had found until then.
                let _ = ftruncate(file, 0);
                // What is no want of room must not keep the drive waiting: it goes on without, this time.
                return !matches!(errno, Errno::NOSPC | Errno::DQUOT);
            }
        }
        true
    }
    /// Gives the room up; true when there was some.
    fn give_up(&mut self) -> bool {
        let given = self.taken && self.file.as_ref().is_some_and(|file| ftruncate(file, 0).is_ok());
        self.taken &= !given;
        given
    }
}

#[derive(Debug)]
enum Owed {
    Bytes(Box<[u8]>),
    Hole(u64),
}

impl Owed {
    fn change(&self) -> Change<'_> {
        match self {
            Owed::Bytes(bytes) => Change::Bytes(bytes),
            Owed::Hole(length) => Change::Hole(*length),
        }
    }
}

/// What takes changes at once, or says that there is no room.
pub(super) trait Takes {
    fn change(&self, at: u64, what: &Change<'_>) -> io::Result<()>;
    /// Reads; what lies behind the end is zeroes.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Takes for File {
    fn change(&self, at: u64, what: &Change<'_>) -> io::Result<()> {
        change(self, at, what)
    }
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            match self.read_at(&mut into[filled..], at + filled as u64) {
                Ok(0) => {
                    into[filled..].fill(0);
                    break;
                }
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a file is behind.
#[derive(Debug)]
pub(super) struct Behind {
    reserve: Reserve,
    /// Changes that the file has not seen, the first first.
    owed: VecDeque<(u64, Owed)>,
    pub(super) owed_bytes: u64,
    /// Pages of the file as they will be, by number; nothing for zeroes.
    pages: BTreeMap<u64, Option<Box<[u8; PAGE_BYTES as usize]>>>,
    pub(super) full: bool,
    pub(super) no_room: Option<MediumError>,
    pub(super) fault: Option<MediumError>,
}

impl Behind {
    pub(super) fn new(reserve: Reserve) -> Self {
        Behind {
            reserve,
            owed: VecDeque::new(),
            owed_bytes: 0,
            pages: BTreeMap::new(),
            full: false,
            no_room: None,
            fault: None,
        }
    }

    /// Changes the file, now if it can be, else when there is room.
    pub(super) fn change(&mut self, file: &dyn Takes, at: u64, what: &Change<'_>) -> Result<(), MediumError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.owed.is_empty() && self.try_change(file, at, what)? {
            return Ok(());
        }
        self.owe(file, at, what)
    }

    /// False when there is no room.
    fn try_change(&mut self, file: &dyn Takes, at: u64, what: &Change<'_>) -> Result<bool, MediumError> {
        loop {
            let Err(error) = file.change(at, what) else { return Ok(true) };
            let told = failed(at, &in_words(&error));
            if !is_out_of_room(&error) {
                self.fault = Some(told.clone());
                return Err(told);
            }
            self.full = true;
            self.no_room = Some(told);
            if !self.reserve.give_up() {
                return Ok(false);
            }
        }
    }

    fn owe(&mut self, file: &dyn Takes, at: u64, what: &Change<'_>) -> Result<(), MediumError> {
        let (length, bytes) = match what {
            Change::Bytes(bytes) => (bytes.len() as u64, Some(*bytes)),
            Change::Hole(length) => (*length, None),
        };
        let mut done = 0;
        while done < length {
            let (page, inside) = ((at + done) / PAGE_BYTES, ((at + done) % PAGE_BYTES) as usize);
            let n = (PAGE_BYTES as usize - inside).min((length - done) as usize);
            if bytes.is_none() && n == PAGE_BYTES as usize {
                self.pages.insert(page, None);
            } else {
                let content = self.page(file, page)?;
                match bytes {
                    Some(bytes) => content[inside..inside + n].copy_from_slice(&bytes[done as usize..][..n]),
                    None => content[inside..inside + n].fill(0),
                }
            }
            done += n as u64;
        }
        let owed = bytes.map_or(Owed::Hole(length), |bytes| Owed::Bytes(bytes.into()));
        self.owed.push_back((at, owed));
        // A hole takes nothing, but is no less owed.
        self.owed_bytes += bytes.map_or(PAGE_BYTES, |bytes| bytes.len() as u64);
        Ok(())
    }

    /// A page of the file as it will be, to be changed.
    fn page(&mut self, file: &dyn Takes, number: u64) -> Result<&mut [u8; PAGE_BYTES as usize], MediumError> {
        use std::collections::btree_map::Entry;
        let page = match self.pages.entry(number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let mut content = Box::new([0; PAGE_BYTES as usize]);
                let at = number * PAGE_BYTES;
                if let Err(error) = file.read(at, &mut *content) {
                    // The change may be half in the pages by now: nothing may follow it.
                    let told = failed(at, &in_words(&error));
                    self.fault = Some(told.clone());
                    return Err(told);
                }
                entry.insert(Some(content))
            }
        };
        Ok(page.get_or_insert_with(|| Box::new([0; PAGE_BYTES as usize])))
    }

    /// Puts what is owed over what was read from the file at `at`.
    pub(super) fn lay_over(&self, at: u64, into: &mut [u8]) {
        if self.pages.is_empty() {
            return;
        }
        let end = at + into.len() as u64;
        for (&number, content) in self.pages.range(at / PAGE_BYTES..end.div_ceil(PAGE_BYTES)) {
            let begins = number * PAGE_BYTES;
            let (from, to) = (begins.max(at), (begins + PAGE_BYTES).min(end));
            let part = &mut into[(from - at) as usize..(to - at) as usize];
            match content {
                Some(content) => {
                    part.copy_from_slice(&content[(from - begins) as usize..(to - begins) as usize]);
                }
                None => part.fill(0),
            }
        }
    }

    pub(super) fn retry(&mut self, file: &dyn Takes) {
        while self.fault.is_none()
            && let Some((at, owed)) = self.owed.pop_front()
        {
            // One that fails for good is told by `fault`, and the rest stays where it is.
            if !matches!(self.try_change(file, at, &owed.change()), Ok(true)) {
                self.owed.push_front((at, owed));
                return;
            }
            let written = match &owed {
                Owed::Bytes(bytes) => bytes.len() as u64,
                Owed::Hole(_) => PAGE_BYTES,
            };
            self.owed_bytes -= written;
        }
        if self.fault.is_none() {
            self.pages.clear();
            // As much room as was given up: less would be used up at once.
            if self.reserve.take() {
                (self.full, self.no_room) = (false, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;
    use std::cell::{Cell, RefCell};

    const BYTES: u64 = 16 * PAGE_BYTES;

    /// A disk with room for so many more changes.
    struct Short {
        bytes: RefCell<Vec<u8>>,
        room: Cell<u32>,
        errno: Cell<Errno>,
        /// A page that can't be read.
        unreadable: Cell<Option<u64>>,
    }

    impl Short {
        fn new(room: u32) -> Self {
            let bytes = RefCell::new(vec![0; BYTES as usize]);
            let (errno, unreadable) = (Cell::new(Errno::NOSPC), Cell::new(None));
            Short { bytes, room: Cell::new(room), errno, unreadable }
        }
    }

    fn apply(bytes: &mut [u8], at: u64, what: &Change<'_>) {
        let at = at as usize;
        match *what {
            Change::Bytes(from) => bytes[at..at + from.len()].copy_from_slice(from),
            Change::Hole(length) => bytes[at..at + length as usize].fill(0),
        }
    }

    impl Takes for Short {
        fn change(&self, at: u64, what: &Change<'_>) -> io::Result<()> {
            let left = self.room.get().checked_sub(1).ok_or(io::Error::from(self.errno.get()))?;
            self.room.set(left);
            apply(&mut self.bytes.borrow_mut(), at, what);
            Ok(())
        }
        fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
            if self.unreadable.get() == Some(at) {
                return Err(Errno::IO.into());
            }
            into.copy_from_slice(&self.bytes.borrow()[at as usize..][..into.len()]);
            Ok(())
        }
    }

    fn without_reserve() -> Behind {
        Behind::new(Reserve { file: None, bytes: 0, taken: false })
    }

    #[test]
    fn what_is_read_is_what_was_written_and_the_file_holds_what_it_was_at_one_moment() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let (disk, mut behind) = (Short::new(0), without_reserve());
            let mut states = vec![vec![0; BYTES as usize]];
            let mut reached = 0;
            for nth in 0..60u8 {
                let at = rng.below(BYTES - 1);
                let length = (1 + rng.below(3 * PAGE_BYTES)).min(BYTES - at);
                let bytes = vec![nth + 1; length as usize];
                let what = if rng.below(4) == 0 { Change::Hole(length) } else { Change::Bytes(&bytes) };
                let mut now = states.last().unwrap().clone();
                apply(&mut now, at, &what);
                states.push(now);
                behind.change(&disk, at, &what).unwrap();
                if rng.below(6) == 0 {
                    disk.room.set(rng.below(12) as u32);
                    behind.retry(&disk);
                }
                let mut read = disk.bytes.borrow().clone();
                behind.lay_over(0, &mut read);
                assert!(read == *states.last().unwrap(), "seed {seed}, change {nth}");
                let (from, to) = (rng.below(BYTES), rng.below(BYTES));
                let (from, to) = (from.min(to) as usize, from.max(to) as usize);
                let mut part = disk.bytes.borrow()[from..to].to_vec();
                behind.lay_over(from as u64, &mut part);
                assert!(part == read[from..to], "seed {seed}, change {nth}");
                let file = disk.bytes.borrow();
                let found = (reached..states.len()).find(|&n| states[n] == *file);
                reached = found.unwrap_or_else(|| panic!("seed {seed}: the file is as it never was"));
                assert_eq!(behind.owed_bytes == 0, behind.owed.is_empty());
                assert!(behind.full || behind.owed.is_empty());
            }
            disk.room.set(u32::MAX);
            behind.retry(&disk);
            assert!(*disk.bytes.borrow() == *states.last().unwrap() && !behind.full, "seed {seed}");
            assert!(behind.owed_bytes == 0 && behind.pages.is_empty());
        }
    }

    #[test]
    fn an_error_that_is_no_want_of_room_is_told_and_not_tried_again() {
        let (disk, mut behind) = (Short::new(1), without_reserve());
        behind.change(&disk, 0, &Change::Bytes(&[1])).unwrap();
        behind.change(&disk, 1, &Change::Bytes(&[2])).unwrap();
        disk.errno.set(Errno::IO);
        behind.retry(&disk);
        let fault = behind.fault.clone().unwrap();
        assert_eq!((fault.offset, &*fault.reason), (1, "the disk failed (input/output error)"));
        disk.room.set(9);
        behind.retry(&disk);
        assert_eq!((behind.owed.len(), behind.full), (1, true));
        assert_eq!(behind.change(&disk, 0, &Change::Bytes(&[3])), Err(fault));
    }

    #[test]
    fn a_change_that_fails_half_way_is_the_last() {
        let (disk, mut behind) = (Short::new(0), without_reserve());
        disk.unreadable.set(Some(PAGE_BYTES));
        let bytes = [7; 2 * PAGE_BYTES as usize];
        let error = behind.change(&disk, 100, &Change::Bytes(&bytes)).unwrap_err();
        assert_eq!((error.offset, &behind.fault), (PAGE_BYTES, &Some(error.clone())));
        disk.room.set(9);
        disk.unreadable.set(None);
        assert_eq!(behind.change(&disk, 0, &Change::Bytes(&[3])), Err(error));
        behind.retry(&disk);
        assert!(disk.bytes.borrow().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_reserve_that_does_not_fit_takes_nothing_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::beside(folder.path(), 1 << 20);
        assert!(reserve.give_up() && !reserve.give_up());
        reserve.bytes = 1 << 62;
        assert!(!reserve.take() && !reserve.taken && reserve.file.is_some());
        reserve.bytes = PAGE_BYTES;
        assert!(reserve.take() && reserve.taken);
    }

    #[test]
    fn the_reserve_is_given_up_for_what_comes_first_and_taken_again_before_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::beside(folder.path(), 1 << 20);
        assert!(reserve.taken, "a file system for temporary files has nameless ones");
        let blocks = |behind: &Behind| {
            use std::os::unix::fs::MetadataExt;
            behind.reserve.file.as_ref().unwrap().metadata().unwrap().blocks() * 512
        };
        let (disk, mut behind) = (Short::new(0), Behind::new(reserve));
        assert_eq!(blocks(&behind), (1 << 20) / RESERVE_SHARE);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nobody sees it");
        behind.change(&disk, 0, &Change::Bytes(&[1])).unwrap();
        assert!(behind.full && blocks(&behind) == 0);
        disk.room.set(1);
        behind.retry(&disk);
        assert!(!behind.full && blocks(&behind) > 0);
    }
}
