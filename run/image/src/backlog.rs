//! Changes that a full disk has not taken yet, in memory and in order.

use super::change::{Change, PAGE_BYTES, change, failed, in_words, is_out_of_room};
use super::reserve::Reserve;
use aster_ports::medium::MediumError;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of memory for a page's number and place. The map's nodes are two thirds full on average.
const PAGE_ENTRY_BYTES: usize = 24;

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

/// A file that takes changes at once, or reports that there is no room.
pub(super) trait Takes {
    fn change(&self, at: u64, what: &Change<'_>) -> io::Result<()>;
    /// Reads; bytes after the end are zeroes.
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

/// The changes that a file has not taken yet.
#[derive(Debug)]
pub(super) struct Behind {
    reserve: Reserve,
    /// Changes that the file has not taken, in order.
    owed: VecDeque<(u64, Owed)>,
    pub(super) owed_bytes: u64,
    /// Bytes of these changes in memory: holes have none.
    owed_data: u64,
    /// Pages of the file with all changes applied, by number; `None` for zeroes.
    pages: BTreeMap<u64, Option<Box<[u8; PAGE_BYTES as usize]>>>,
    /// Pages that aren't `None`.
    filled: u64,
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
            owed_data: 0,
            pages: BTreeMap::new(),
            filled: 0,
            full: false,
            no_room: None,
            fault: None,
        }
    }

    /// Bytes of memory that the backlog takes.
    pub(super) fn memory(&self) -> u64 {
        let owed = self.owed.len() * size_of::<(u64, Owed)>();
        let pages = self.pages.len() * PAGE_ENTRY_BYTES;
        self.owed_data + self.filled * PAGE_BYTES + (owed + pages) as u64
    }
    /// While the disk is full: bytes that must be free to apply all changes.
    pub(super) fn needed(&self) -> u64 {
        if self.full { self.owed_bytes.next_multiple_of(PAGE_BYTES) + self.reserve.missing() } else { 0 }
    }
    /// How many of these bytes aren't free. If the file system has room, a quota or a limit is the cause,
    /// and then all of them count as missing.
    pub(super) fn missing(&self) -> u64 {
        let (needed, free) = (self.needed(), self.reserve.free().unwrap_or(0));
        if free < needed { needed - free } else { needed }
    }

    /// Changes the file, now if possible, else when there is room.
    pub(super) fn change(&mut self, file: &dyn Takes, at: u64, what: &Change<'_>) -> Result<(), MediumError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.owed.is_empty() && self.try_change(file, at, what)? {
            return Ok(());
        }
        self.owe(file, at, what)
    }

    /// Returns false when there is no room.
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
                self.filled -= u64::from(self.pages.insert(page, None).flatten().is_some());
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
        self.owed_data += bytes.map_or(0, |bytes| bytes.len() as u64);
        // A hole takes no room, but it must be applied, too.
        self.owed_bytes += bytes.map_or(PAGE_BYTES, |bytes| bytes.len() as u64);
        Ok(())
    }

    /// A page of the file with all changes applied, mutable.
    fn page(&mut self, file: &dyn Takes, number: u64) -> Result<&mut [u8; PAGE_BYTES as usize], MediumError> {
        use std::collections::btree_map::Entry;
        let mut is_new = false;
        let page = match self.pages.entry(number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let mut content = Box::new([0; PAGE_BYTES as usize]);
                let at = number * PAGE_BYTES;
                if let Err(error) = file.read(at, &mut *content) {
                    // The change may have been applied to some of the pages: no other may follow it.
                    let told = failed(at, &in_words(&error));
                    self.fault = Some(told.clone());
                    return Err(told);
                }
                is_new = true;
                entry.insert(Some(content))
            }
        };
        self.filled += u64::from(is_new || page.is_none());
        Ok(page.get_or_insert_with(|| Box::new([0; PAGE_BYTES as usize])))
    }

    /// Applies the pending changes to bytes that were read from the file at `at`.
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
            // A change that fails permanently is reported by `fault`, and the rest stays pending.
            if !matches!(self.try_change(file, at, &owed.change()), Ok(true)) {
                self.owed.push_front((at, owed));
                return;
            }
            match &owed {
                Owed::Bytes(bytes) => {
                    self.owed_bytes -= bytes.len() as u64;
                    self.owed_data -= bytes.len() as u64;
                }
                Owed::Hole(_) => self.owed_bytes -= PAGE_BYTES,
            }
        }
        if self.fault.is_none() {
            self.pages.clear();
            self.filled = 0;
            // Ask for as much room as was released. With less, the drive would run out of room again at
            // once.
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
    use rustix::io::Errno;
    use std::cell::{Cell, RefCell};

    const BYTES: u64 = 16 * PAGE_BYTES;

    /// A disk with room for a given number of further changes.
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
        Behind::new(Reserve::none())
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
                assert_eq!(behind.filled, behind.pages.values().flatten().count() as u64);
                let data = behind.owed.iter().map(|(_, owed)| match owed {
                    Owed::Bytes(bytes) => bytes.len() as u64,
                    Owed::Hole(_) => 0,
                });
                assert_eq!(behind.owed_data, data.sum::<u64>(), "seed {seed}, change {nth}");
                assert!(behind.full || behind.owed.is_empty());
            }
            disk.room.set(u32::MAX);
            behind.retry(&disk);
            assert!(*disk.bytes.borrow() == *states.last().unwrap() && !behind.full, "seed {seed}");
            assert!(behind.owed_bytes == 0 && behind.pages.is_empty());
        }
    }

    #[test]
    fn memory_is_what_changes_and_pages_take() {
        let (disk, mut behind) = (Short::new(0), without_reserve());
        assert_eq!(behind.memory(), 0);
        behind.change(&disk, 100, &Change::Bytes(&[1; 50])).unwrap();
        let entry = size_of::<(u64, Owed)>() as u64;
        let one = PAGE_BYTES + 50 + entry + PAGE_ENTRY_BYTES as u64;
        assert_eq!(behind.memory(), one, "the page that it lies in is kept whole");
        behind.change(&disk, 200, &Change::Bytes(&[1; 50])).unwrap();
        assert_eq!(behind.memory(), one + 50 + entry);
        // A hole stores no bytes, but an entry for each of its pages.
        behind.change(&disk, 0, &Change::Hole(8 * PAGE_BYTES)).unwrap();
        assert_eq!(behind.memory(), 100 + 3 * entry + 8 * PAGE_ENTRY_BYTES as u64);
        assert_eq!(behind.owed_bytes, 100 + PAGE_BYTES);
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
    fn the_reserve_is_given_up_for_what_comes_first_and_taken_again_before_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut behind = Behind::new(Reserve::beside(folder.path(), 1 << 20));
        let disk = Short::new(0);
        behind.change(&disk, 0, &Change::Bytes(&[1])).unwrap();
        assert!(behind.full && behind.reserve.missing() == 1 << 16);
        assert_eq!((behind.needed(), behind.missing()), ((1 << 16) + PAGE_BYTES, (1 << 16) + PAGE_BYTES));
        disk.room.set(1);
        behind.retry(&disk);
        assert!(!behind.full && behind.reserve.missing() == 0);
        assert_eq!((behind.needed(), behind.missing(), behind.memory()), (0, 0, 0));
    }
}
