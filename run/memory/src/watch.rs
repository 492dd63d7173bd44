//! The table of watched addresses, which the handler can read at any moment, in any thread.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering, compiler_fence};

/// The most mappings in a process at a time: enough for two clients with as many as one client may pass.
const WATCHES_MAX: usize = 8192;

/// One mapping. Only the thread that owns it accesses its memory, so the handler runs in that thread and
/// ignores other threads' entries. The same thread wrote the entries that the handler uses, so it never sees
/// a half-written range.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The entry is in use.
    taken: AtomicBool,
    /// The thread that owns the mapping; 0 while nothing is watched. Written last by `start` and first by
    /// `stop`.
    owner: AtomicI32,
    begin: AtomicUsize,
    end: AtomicUsize,
    page_bytes: AtomicUsize,
    /// Pages were missing since this was last cleared: from the first of them on ...
    gone_begin: AtomicUsize,
    /// ... to the end of the last one; 0 if none was.
    gone_end: AtomicUsize,
}

static WATCHES: [Watch; WATCHES_MAX] = [const { Watch::new() }; WATCHES_MAX];
/// Entries from here on have never been taken.
static USED: AtomicUsize = AtomicUsize::new(0);

impl Watch {
    const fn new() -> Self {
        Watch {
            taken: AtomicBool::new(false),
            owner: AtomicI32::new(0),
            begin: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            page_bytes: AtomicUsize::new(0),
            gone_begin: AtomicUsize::new(0),
            gone_end: AtomicUsize::new(0),
        }
    }

    /// Watches `addresses`, which consist of pages of `page_bytes`; `None` when the table is full.
    pub(crate) fn start(addresses: Range<usize>, page_bytes: usize) -> Option<&'static Watch> {
        let free = |watch: &&Watch| {
            watch.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let (index, watch) = WATCHES.iter().enumerate().find(|(_, watch)| free(watch))?;
        watch.page_bytes.store(page_bytes, Ordering::Relaxed);
        watch.clear();
        watch.begin.store(addresses.start, Ordering::Relaxed);
        watch.end.store(addresses.end, Ordering::Relaxed);
        USED.fetch_max(index + 1, Ordering::Relaxed);
        // A signal may come between any two instructions of this thread.
        compiler_fence(Ordering::SeqCst);
        watch.owner.store(this_thread(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(watch)
    }
    /// Ends watching. The memory is still mapped.
    pub(crate) fn stop(&self) {
        self.owner.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.taken.store(false, Ordering::Release);
    }
    /// This thread's watch over `address`, and the page that contains the address.
    pub(crate) fn over(address: usize) -> Option<(&'static Watch, Range<usize>)> {
        let used = WATCHES.get(..USED.load(Ordering::Relaxed))?;
        let thread = this_thread();
        let watch = used.iter().find(|watch| {
            let range = || watch.begin.load(Ordering::Relaxed)..watch.end.load(Ordering::Relaxed);
            watch.owner.load(Ordering::Relaxed) == thread && range().contains(&address)
        })?;
        let page_bytes = watch.page_bytes.load(Ordering::Relaxed);
        let page = address & !(page_bytes - 1);
        Some((watch, page..page + page_bytes))
    }

    /// Whether `address` is in a mapping of this thread.
    #[cfg(test)]
    fn covers(address: usize) -> bool {
        Watch::over(address).is_some()
    }

    /// `page` was missing, and zeroes lie in its place.
    pub(crate) fn note_gone(&self, page: Range<usize>) {
        let all = match self.gone() {
            None => page,
            Some(gone) => gone.start.min(page.start)..gone.end.max(page.end),
        };
        self.gone_begin.store(all.start, Ordering::Relaxed);
        self.gone_end.store(all.end, Ordering::Relaxed);
    }
    /// The range that spans all missing pages, if any were missing.
    #[inline]
    pub(crate) fn gone(&self) -> Option<Range<usize>> {
        let end = self.gone_end.load(Ordering::Relaxed);
        (end != 0).then(|| self.gone_begin.load(Ordering::Relaxed)..end)
    }
    /// Clears the note, after the file was mapped there again.
    pub(crate) fn clear(&self) {
        self.gone_end.store(0, Ordering::Relaxed);
    }
}

/// The calling thread's id, by a system call that a handler may make.
fn this_thread() -> i32 {
    // SAFETY: it takes no argument, accesses no memory of ours and can't fail.
    unsafe { libc::gettid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_finds_no_mapping_but_its_own_whatever_others_start_and_stop() {
        // Each thread repeatedly watches the lower half of its own range, in parallel with the others.
        let base = 0xffff_9000_0000_0000_usize;
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                std::thread::spawn(move || {
                    let at = base + thread * 0x10_0000;
                    for _ in 0..20_000 {
                        let watch = Watch::start(at..at + 0x8000, 0x1000).unwrap();
                        assert!(Watch::covers(at + 0x7fff));
                        let others = (0..4).filter(|&other| other != thread);
                        assert!(others.into_iter().all(|other| !Watch::covers(base + other * 0x10_0000)));
                        watch.stop();
                        // Nearly all addresses would be inside a range whose beginning is 0.
                        assert!(!Watch::covers(at) && !Watch::covers(0x5000));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn an_address_belongs_to_the_mapping_and_the_page_that_it_is_in() {
        // Addresses above user space, where nothing is ever mapped.
        let base = 0xffff_8000_0000_0000;
        let small = Watch::start(base..base + 0x3000, 0x1000).unwrap();
        let huge = Watch::start(base + 0x20_0000..base + 0x60_0000, 0x20_0000).unwrap();
        let page = |at: usize| Watch::over(base + at).map(|(_, page)| page.start - base..page.end - base);
        assert_eq!(page(0x1234), Some(0x1000..0x2000));
        assert_eq!(page(0x3000), None);
        assert_eq!(page(0x5f_ffff), Some(0x40_0000..0x60_0000));
        assert_eq!(page(0x60_0000), None);
        assert_eq!(small.gone(), None);
        for (noted, all) in [(0x1000, 0x1000..0x2000), (0x2000, 0x1000..0x3000), (0, 0..0x3000)] {
            small.note_gone(base + noted..base + noted + 0x1000);
            assert_eq!(small.gone(), Some(base + all.start..base + all.end));
        }
        small.clear();
        assert_eq!((small.gone(), huge.gone()), (None, None));
        small.stop();
        assert_eq!(page(0x1234), None);
        huge.stop();
        assert_eq!(page(0x5f_ffff), None);
    }
}
