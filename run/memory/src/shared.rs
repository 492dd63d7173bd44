//! A mapping that survives truncation of its file by the owner.

use crate::handler;
use crate::watch::Watch;
use libc::{
    MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED, PROT_READ, PROT_WRITE,
    c_int, c_void, off_t,
};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, compiler_fence};
use vm_memory::mmap::MmapRegionError;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

/// The requested memory is missing: its owner has truncated it, or there is no free huge page. A read gives
/// zeroes from there on; a write there is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

/// A part of a file, mapped and shared, that other processes change at any time and may take away.
///
/// It stays on the thread that made it: the handler relies on no other thread accessing the memory. A forked
/// process has no guard on it.
pub struct Shared {
    region: ManuallyDrop<MmapRegion>,
    /// The addresses may belong to another mapping by now: a remap failed half way.
    lost: Cell<bool>,
    file: Arc<File>,
    /// Where in the file the mapping begins: a multiple of the file's page size.
    file_offset: u64,
    /// Offset of the requested range in the mapping.
    shift: usize,
    length: usize,
    protection: i32,
    watch: &'static Watch,
    /// How many parts were mapped again since the whole was mapped.
    parts: Cell<usize>,
    of_one_thread: PhantomData<*const ()>,
}

/// How many parts all mappings together may map again before a mapping is mapped again as a whole. A part can
/// add two areas to those that the system counts, because areas of huge pages and of some file systems are
/// never merged. A process may have 65,530 areas; at the limit the handler's own mapping would fail and end
/// the process.
const PARTS_MAX: usize = 8192;
static PARTS: AtomicUsize = AtomicUsize::new(0);

/// Offsets were checked when they came from outside.
const INSIDE: &str = "inside the mapping";

impl Shared {
    /// Maps `length` bytes of `file` from `offset` on. `page_bytes` is the file's page size, a power of two
    /// and at least the system's: a huge page is present or missing as a whole.
    ///
    /// # Errors
    /// When the system refuses: too little memory, or a file that isn't writable.
    pub fn new(
        file: Arc<File>,
        offset: u64,
        length: u64,
        page_bytes: usize,
        writable: bool,
    ) -> io::Result<Self> {
        assert!(page_bytes.is_power_of_two(), "pages are powers of two");
        let page_bytes = page_bytes.max(system_page_bytes());
        handler::install()?;
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let file_offset = offset & !(page_bytes as u64 - 1);
        let shift = (offset - file_offset) as usize;
        let length = usize::try_from(length).map_err(|_| too_much())?;
        let mapped = length.checked_add(shift).and_then(|n| n.checked_next_multiple_of(page_bytes));
        let mapped = mapped.ok_or_else(too_much)?;
        let protection = if writable { PROT_READ | PROT_WRITE } else { PROT_READ };
        let place = FileOffset::from_arc(Arc::clone(&file), file_offset);
        let region = MmapRegion::build(Some(place), mapped, protection, MAP_SHARED | MAP_NORESERVE);
        let region = region.map_err(|error| match error {
            MmapRegionError::Mmap(error) => error,
            other => io::Error::other(other.to_string()),
        })?;
        let begin = region.as_ptr().addr();
        let watch = Watch::start(begin..begin + mapped, page_bytes).ok_or_else(too_much)?;
        Ok(Shared {
            region: ManuallyDrop::new(region),
            lost: Cell::new(false),
            file,
            file_offset,
            shift,
            length,
            protection,
            watch,
            parts: Cell::new(0),
            of_one_thread: PhantomData,
        })
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`Gone`].
    #[inline]
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Gone> {
        let at = self.place(offset, into.len())?;
        self.region.get_slice(at, into.len()).expect(INSIDE).copy_to(into);
        self.check()
    }
    /// Copies bytes in.
    ///
    /// # Panics
    /// When the mapping isn't writable: callers must check.
    ///
    /// # Errors
    /// [`Gone`].
    #[inline]
    pub fn write(&self, offset: u64, from: &[u8]) -> Result<(), Gone> {
        assert!(self.protection & PROT_WRITE != 0, "a mapping that is only read isn't written to");
        let at = self.place(offset, from.len())?;
        self.region.get_slice(at, from.len()).expect(INSIDE).copy_from(from);
        self.check()
    }
    /// The little-endian word at `offset`, a multiple of 4, read atomically with acquire ordering: what the
    /// other side wrote before it is visible afterwards.
    ///
    /// # Errors
    /// [`Gone`].
    #[inline]
    pub fn load(&self, offset: u64) -> Result<u32, Gone> {
        let at = self.place(offset, size_of::<u32>())?;
        let word: &AtomicU32 = self.region.get_atomic_ref(at).expect(INSIDE);
        let value = u32::from_le(word.load(Ordering::Acquire));
        self.check().map(|()| value)
    }

    #[inline]
    fn place(&self, offset: u64, length: usize) -> Result<usize, Gone> {
        let offset = offset as usize;
        assert!(offset <= self.length && length <= self.length - offset, "{INSIDE}");
        if self.lost.get() { Err(Gone) } else { Ok(self.shift + offset) }
    }

    /// The result of the access before this call.
    #[inline]
    fn check(&self) -> Result<(), Gone> {
        // The handler runs in this thread, so a compiler fence suffices to order the access before this.
        compiler_fence(Ordering::SeqCst);
        match self.watch.gone() {
            None => Ok(()),
            Some(gone) => self.recover(gone),
        }
    }

    /// Maps the file again where pages are `gone`, in the same place: the missing memory may be there next
    /// time. If the system can't, zeroes are mapped there and the pages stay gone. If it can't do that
    /// either, the addresses are given up permanently.
    #[cold]
    fn recover(&self, gone: Range<usize>) -> Result<(), Gone> {
        let of_file = MAP_SHARED | MAP_NORESERVE;
        let zeroes = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        let begin = self.region.as_ptr().addr();
        let in_parts = PARTS.load(Ordering::Relaxed) < PARTS_MAX;
        let part = if in_parts { gone.start - begin..gone.end - begin } else { 0..self.region.size() };
        let place = (self.file_offset + part.start as u64) as off_t;
        if self.map_over(&part, self.protection, of_file, self.file.as_raw_fd(), place) {
            self.watch.clear();
            if in_parts {
                PARTS.fetch_add(1, Ordering::Relaxed);
                self.parts.set(self.parts.get() + 1);
            } else {
                self.forget_parts();
            }
        } else if self.map_over(&part, PROT_READ | PROT_WRITE, zeroes, -1, 0) {
            // The part may be larger than what was gone.
            self.watch.note_gone(begin + part.start..begin + part.end);
        } else {
            self.give_up();
        }
        Err(Gone)
    }

    /// Replaces `part` of the mapping by another one. Returns false if the system can't; then the part may be
    /// unmapped.
    fn map_over(&self, part: &Range<usize>, protection: c_int, flags: c_int, file: c_int, at: off_t) -> bool {
        assert!(part.start < part.end && part.end <= self.region.size(), "{INSIDE}");
        let address = self.region.as_ptr().wrapping_add(part.start).cast::<c_void>();
        // SAFETY: only `recover` calls this, and not after the addresses were given up: they belong to the
        // mapping that this owns, and no reference to it exists.
        unsafe { libc::mmap(address, part.len(), protection, flags | MAP_FIXED, file, at) != MAP_FAILED }
    }

    /// Another mapping may get the addresses from now on: this one never touches them again.
    fn give_up(&self) {
        self.watch.stop();
        self.lost.set(true);
    }

    /// The parts of this mapping no longer count as areas.
    fn forget_parts(&self) {
        PARTS.fetch_sub(self.parts.take(), Ordering::Relaxed);
    }
}

/// The system's page size, which is the granularity of the handler's mappings.
fn system_page_bytes() -> usize {
    // SAFETY: it takes a number and returns one.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("a system has pages")
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.lost.get() {
            return;
        }
        self.watch.stop();
        // SAFETY: the region isn't used after this, and its addresses still belong to this mapping.
        unsafe { ManuallyDrop::drop(&mut self.region) };
        self.forget_parts();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{
        FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
    };
    use rustix::io::Errno;
    use std::os::unix::fs::FileExt;

    const PAGE: usize = 4096;
    const HUGE: usize = 2 << 20;

    fn memory(bytes: u64) -> Arc<File> {
        // As DPDK makes it without huge pages: it can't be sealed.
        let file = memfd_create("memory", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, bytes).unwrap();
        Arc::new(file.into())
    }

    #[test]
    fn bytes_go_to_the_files_own_place_and_come_from_there() {
        let file = memory(0x4000);
        let shared = Shared::new(Arc::clone(&file), 0x1000, 0x2000, PAGE, true).unwrap();
        shared.write(0xffe, &[1, 2, 3, 4]).unwrap();
        let mut back = [0; 4];
        file.read_exact_at(&mut back, 0x1ffe).unwrap();
        assert_eq!(back, [1, 2, 3, 4]);
        file.write_all_at(&[5, 6, 7, 8], 0x2ffc).unwrap();
        assert_eq!(shared.load(0x1ffc), Ok(0x0807_0605));
    }

    #[test]
    fn what_is_cut_off_is_gone_and_comes_back_with_the_file() {
        let file = memory(0x4000);
        let shared = Shared::new(Arc::clone(&file), 0, 0x4000, PAGE, true).unwrap();
        shared.write(0x0, &[7; 0x4000]).unwrap();
        ftruncate(&*file, 0x1800).unwrap();
        for _ in 0..3 {
            assert_eq!(shared.read(0x2000, &mut [0; 16]), Err(Gone));
            assert_eq!(shared.write(0xff0, &[9; 0x2000]), Err(Gone), "part of it is");
            assert_eq!(shared.load(0x3000), Err(Gone));
        }
        let mut page = [0; PAGE];
        assert_eq!(shared.read(0, &mut page), Ok(()));
        assert!(page[..0xff0].iter().all(|&b| b == 7) && page[0xff0..].iter().all(|&b| b == 9));
        assert_eq!(file.metadata().unwrap().len(), 0x1800, "it was not made longer again");
        ftruncate(&*file, 0x4000).unwrap();
        assert_eq!(shared.write(0x2000, &[3; 16]), Ok(()));
        let mut back = [0; 16];
        file.read_exact_at(&mut back, 0x2000).unwrap();
        assert_eq!(back, [3; 16], "it is the file again, no page of our own");
    }

    #[test]
    fn mappings_are_told_apart_and_one_that_is_gone_spoils_no_other() {
        let (cut, whole) = (memory(0x2000), memory(0x2000));
        let pair = [&cut, &whole].map(|f| Shared::new(Arc::clone(f), 0, 0x2000, PAGE, true).unwrap());
        ftruncate(&*cut, 0).unwrap();
        assert_eq!(pair[0].read(0, &mut [0; 8]), Err(Gone));
        assert_eq!(pair[1].read(0, &mut [0; 8]), Ok(()));
        drop(pair);
        let again = Shared::new(Arc::clone(&whole), 0, 0x2000, PAGE, true).unwrap();
        assert_eq!(again.write(0, &[1]), Ok(()));
    }

    #[test]
    fn threads_find_what_is_gone_each_in_its_own_mapping() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    for round in 0..50 {
                        let file = memory(0x3000);
                        let shared = Shared::new(Arc::clone(&file), 0, 0x3000, PAGE, true).unwrap();
                        assert_eq!(shared.write(0x2000, &[round]), Ok(()));
                        ftruncate(&*file, 0x2000).unwrap();
                        assert_eq!(shared.write(0x2000, &[round]), Err(Gone));
                        assert_eq!(shared.write(0x1000, &[round]), Ok(()));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn mappings_that_come_and_go_beside_threads_that_fault_leave_other_memory_alone() {
        const PATTERN: u8 = 0xa5;
        let coming_and_going = |round: usize| {
            let file = memory(0x4000);
            let shared = Shared::new(Arc::clone(&file), 0, 0x4000, PAGE, true).unwrap();
            ftruncate(&*file, 0x2000).unwrap();
            assert_eq!(shared.read(0x2000, &mut [0; 0x2000]), Err(Gone), "round {round}");
            drop(shared);
            // The system usually maps it at the addresses that have just become free.
            let foreign = vec![PATTERN; 0x4_0000];
            std::thread::yield_now();
            assert!(foreign.iter().all(|&b| b == PATTERN), "round {round}");
        };
        let faulting = |round: usize, file: &File, shared: &Shared| {
            assert_eq!(shared.write(0x1000, &[1; 0x2000]), Err(Gone), "round {round}");
            assert_eq!(shared.load(0), Ok(0x0707_0707));
            assert_eq!(file.metadata().unwrap().len(), 0x1000);
        };
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| (0..400).for_each(coming_and_going));
                threads.spawn(|| {
                    let file = memory(0x3000);
                    let shared = Shared::new(Arc::clone(&file), 0, 0x3000, PAGE, true).unwrap();
                    shared.write(0, &[7; 4]).unwrap();
                    ftruncate(&*file, 0x1000).unwrap();
                    (0..400).for_each(|round| faulting(round, &file, &shared));
                });
            }
        });
    }

    /// Pages of a mapping that this process holds in memory, as the system counts them.
    fn resident(shared: &Shared) -> usize {
        let wanted = format!("{:x}-", shared.region.as_ptr().addr());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.lines().skip_while(|line| !line.starts_with(&wanted));
        let line = own.into_iter().find(|line| line.starts_with("Rss:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024 / PAGE
    }

    #[test]
    fn what_is_there_stays_mapped_where_other_pages_are_gone() {
        let bytes = 64 * PAGE as u64;
        let file = memory(bytes);
        let shared = Shared::new(Arc::clone(&file), 0, bytes, PAGE, true).unwrap();
        shared.write(0, &[7; 64 * PAGE]).unwrap();
        ftruncate(&*file, bytes - 2 * PAGE as u64).unwrap();
        for round in 0..3 {
            assert_eq!(shared.read(bytes - PAGE as u64, &mut [0]), Err(Gone));
            assert_eq!(resident(&shared), 62, "round {round}: an access would have to find them again");
        }
    }

    #[test]
    fn a_file_that_cannot_be_mapped_again_stays_gone_and_ends_nothing() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = Arc::new(File::from(memfd_create("memory", flags).unwrap()));
        ftruncate(&*file, 0x4000).unwrap();
        let shared = Shared::new(Arc::clone(&file), 0, 0x4000, PAGE, true).unwrap();
        assert_eq!(shared.write(0, &[7; 0x4000]), Ok(()));
        // Existing mappings stay writable, and new writable ones are refused.
        fcntl_add_seals(&*file, SealFlags::FUTURE_WRITE).unwrap();
        ftruncate(&*file, 0x2000).unwrap();
        let refused = Shared::new(Arc::clone(&file), 0, 0x2000, PAGE, true).map(drop).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        for at in [0x3000, 0x2000, 0x3000, 0] {
            assert_eq!(shared.read(at, &mut [0; 0x1000]), Err(Gone));
            assert_eq!(shared.write(at, &[9; 0x1000]), Err(Gone));
            assert_eq!(shared.load(at), Err(Gone));
        }
    }

    #[test]
    fn addresses_that_are_given_up_are_somebody_elses() {
        let shared = Shared::new(memory(0x2000), 0, 0x2000, PAGE, true).unwrap();
        let at = shared.region.as_ptr();
        shared.give_up();
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        // SAFETY: a mapping that was given up no longer touches its addresses: they belong to this test.
        let foreign = unsafe { libc::mmap(at.cast(), 0x2000, PROT_READ | PROT_WRITE, flags, -1, 0) };
        assert_eq!(foreign.cast(), at);
        // SAFETY: it has just been mapped, and so it is below.
        unsafe { at.write_bytes(0xa5, 0x2000) };
        assert_eq!(shared.write(0, &[1; 0x2000]), Err(Gone));
        let mut back = [3; 16];
        assert_eq!((shared.read(0, &mut back), shared.load(0x1000)), (Err(Gone), Err(Gone)));
        assert_eq!(back, [3; 16], "nothing was copied");
        assert!(Watch::over(at.addr()).is_none());
        drop(shared);
        for offset in 0..0x2000 {
            // SAFETY: as above; if it isn't mapped any more, this ends the test.
            assert_eq!(unsafe { at.add(offset).read_volatile() }, 0xa5);
        }
        // SAFETY: it belongs to this test.
        assert_eq!(unsafe { libc::munmap(foreign, 0x2000) }, 0);
    }

    #[test]
    #[should_panic(expected = "only read")]
    fn writing_to_what_is_only_read_is_a_bug() {
        let shared = Shared::new(memory(0x1000), 0, 0x1000, PAGE, false).unwrap();
        let _ = shared.write(0, &[1]);
    }

    /// Files of huge pages, of each size that this system has, with more pages than their pool: making them
    /// takes no page, accessing them does. A pool that is too large to empty is left alone.
    fn files_larger_than_their_pool() -> Vec<(usize, u64, Arc<File>)> {
        let sizes = [(HUGE, MemfdFlags::HUGE_2MB), (1 << 30, MemfdFlags::HUGE_1GB)];
        let mut files = Vec::new();
        for (page_bytes, size) in sizes {
            let pool = format!("/sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages", page_bytes >> 10);
            let Ok(text) = std::fs::read_to_string(pool) else { continue };
            let free: u64 = text.trim().parse().unwrap();
            if free > 1024 {
                continue;
            }
            match memfd_create("huge", MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | size) {
                Err(Errno::NOSYS | Errno::INVAL | Errno::NODEV) => {}
                made => {
                    let (file, pages) = (made.unwrap(), free + 4);
                    ftruncate(&file, pages * page_bytes as u64).unwrap();
                    files.push((page_bytes, pages, Arc::new(file.into())));
                }
            }
        }
        files
    }

    #[test]
    fn a_hole_that_the_pool_of_huge_pages_cannot_fill_is_gone() {
        for (page_bytes, pages, file) in files_larger_than_their_pool() {
            let huge = page_bytes as u64;
            // From the middle of a huge page on, as a client may pass it.
            let length = (pages - 1) * huge;
            let shared = Shared::new(Arc::clone(&file), huge / 2, length, page_bytes, true).unwrap();
            let places = (0..pages - 1).map(|page| page * huge + 17);
            let there: Vec<_> =
                places.clone().filter(|&at| shared.write(at, &[at as u8 | 1]).is_ok()).collect();
            println!("pages of {page_bytes} bytes: {} of {} are there", there.len(), pages - 1);
            assert!(there.len() + 3 <= places.count(), "more pages than the pool has");
            for &at in &there {
                let mut back = [0];
                assert_eq!(shared.read(at, &mut back), Ok(()));
                assert_eq!(back, [at as u8 | 1], "what is there is kept where other pages are missing");
            }
            let hole = (0..pages - 1).map(|page| page * huge + 17).find(|at| !there.contains(at)).unwrap();
            assert_eq!(shared.read(hole, &mut [0]), Err(Gone));
            assert_eq!(shared.load(hole + 3), Err(Gone));
            // A page that its owner frees can fill a hole.
            if let Some(&first) = there.first() {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&*file, flags, (first + huge / 2) / huge * huge, huge).unwrap();
                assert_eq!(shared.write(hole, &[5]), Ok(()));
            }
        }
    }

    #[test]
    fn a_file_that_may_not_be_written_to_is_refused_by_its_name() {
        let file = memory(0x1000);
        let read_only = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let refused = Shared::new(Arc::new(read_only), 0, 0x1000, PAGE, true).map(drop).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EACCES));
    }

    #[test]
    #[should_panic(expected = "inside the mapping")]
    fn places_behind_what_was_asked_for_are_a_bug() {
        let shared = Shared::new(memory(0x2000), 0, 0x1000, PAGE, true).unwrap();
        let _ = shared.read(0x1000, &mut [0]);
    }
}
