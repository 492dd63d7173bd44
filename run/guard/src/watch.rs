//! Which addresses are watched: a table that the handler can read at any moment, in any thread.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings that a process can have at a time: those of two clients with as many as a client may hand over.
const WATCHES_MAX: usize = 8192;

/// One mapping. Its owner's thread alone touches its memory, so that the handler runs in that thread.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Somebody owns it.
    taken: AtomicBool,
    begin: AtomicUsize,
    /// `begin` while nothing is watched.
    end: AtomicUsize,
    page_bytes: AtomicUsize,
    /// A page was missing since this was last cleared.
    gone: AtomicBool,
}

static WATCHES: [Watch; WATCHES_MAX] = [const { Watch::new() }; WATCHES_MAX];
/// Those behind have never been taken.
static USED: AtomicUsize = AtomicUsize::new(0);

impl Watch {
    const fn new() -> Self {
        Watch {
            taken: AtomicBool::new(false),
            begin: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            page_bytes: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
        }
    }

    /// Watches `addresses`, which consist of pages of `page_bytes`; `None` when there are too many mappings
    /// already.
    pub(crate) fn start(addresses: Range<usize>, page_bytes: usize) -> Option<&'static Watch> {
        let free = |watch: &&Watch| {
            watch.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let (index, watch) = WATCHES.iter().enumerate().find(|(_, watch)| free(watch))?;
        watch.page_bytes.store(page_bytes, Ordering::Relaxed);
        watch.gone.store(false, Ordering::Relaxed);
        watch.begin.store(addresses.start, Ordering::Relaxed);
        watch.end.store(addresses.end, Ordering::Release);
        USED.fetch_max(index + 1, Ordering::Release);
        Some(watch)
    }
    /// Nothing is watched any more. The memory is still mapped.
    pub(crate) fn stop(&self) {
        self.end.store(0, Ordering::Relaxed);
        self.begin.store(0, Ordering::Relaxed);
        self.taken.store(false, Ordering::Release);
    }
    /// The watch over `address`, and the whole page that this is in.
    pub(crate) fn over(address: usize) -> Option<(&'static Watch, Range<usize>)> {
        let used = WATCHES.get(..USED.load(Ordering::Acquire))?;
        let watch = used.iter().find(|watch| {
            let end = watch.end.load(Ordering::Acquire);
            (watch.begin.load(Ordering::Relaxed)..end).contains(&address)
        })?;
        let page_bytes = watch.page_bytes.load(Ordering::Relaxed);
        let page = address & !(page_bytes - 1);
        Some((watch, page..page + page_bytes))
    }

    /// A page was missing, and zeroes lie in its place.
    pub(crate) fn note_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
    /// Whether a page was missing.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
    /// The file is mapped anew.
    pub(crate) fn clear(&self) {
        self.gone.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_mapping_and_the_page_that_it_is_in() {
        // Addresses where nothing is ever mapped: above those of user space.
        let base = 0xffff_8000_0000_0000;
        let small = Watch::start(base..base + 0x3000, 0x1000).unwrap();
        let huge = Watch::start(base + 0x20_0000..base + 0x60_0000, 0x20_0000).unwrap();
        let page = |at: usize| Watch::over(base + at).map(|(_, page)| page.start - base..page.end - base);
        assert_eq!(page(0x1234), Some(0x1000..0x2000));
        assert_eq!(page(0x3000), None);
        assert_eq!(page(0x5f_ffff), Some(0x40_0000..0x60_0000));
        assert_eq!(page(0x60_0000), None);
        small.stop();
        assert_eq!(page(0x1234), None);
        huge.stop();
        assert_eq!(page(0x5f_ffff), None);
    }
}
