//! Large memory in large pages.
//!
//! A drive in memory is read at random over its whole size, so that with pages of 4 KiB each read misses the
//! TLB. A program with `#[global_allocator] static MEMORY: LargePages = LargePages;` keeps allocations of
//! 2 MiB and more in pages of 2 MiB if the system provides them on request
//! (`/sys/kernel/mm/transparent_hugepage/enabled` is `madvise` or `always`). Smaller allocations go to the
//! system's own allocator.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{copy_nonoverlapping, null_mut};

/// Bytes of a large page, and the smallest allocation that uses large pages.
const LARGE_BYTES: usize = 2 << 20;
/// Bytes of the system's pages.
const PAGE_BYTES: usize = 4096;

/// The allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct LargePages;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES && layout.align() <= LARGE_BYTES
}

/// Rounds up to the system's pages and not to large pages, so that a partial last large page takes small
/// ones.
fn whole_pages(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(PAGE_BYTES)
}

/// Maps zeroes aligned to a large page; null when the system has no memory.
fn map(bytes: usize) -> *mut u8 {
    let Some(length) = whole_pages(bytes) else { return null_mut() };
    let Some(all) = length.checked_add(LARGE_BYTES) else { return null_mut() };
    // SAFETY: without a given address, a new mapping overlaps nothing else.
    let mapped =
        unsafe { mmap_anonymous(null_mut(), all, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
    let Ok(first) = mapped.map(|at| at.cast::<u8>()) else { return null_mut() };
    let before = first.addr().next_multiple_of(LARGE_BYTES) - first.addr();
    // SAFETY: `before` is less than LARGE_BYTES, so that `length` bytes from there on lie in the mapping,
    // which has LARGE_BYTES more. The mapping isn't in use yet, and only whole pages before and after the
    // range are unmapped.
    unsafe {
        let start = first.add(before);
        if before > 0 {
            let _ = munmap(first.cast(), before);
        }
        let _ = munmap(start.add(length).cast(), LARGE_BYTES - before);
        // Without large pages the memory is still valid.
        let _ = madvise(start.cast(), length, Advice::LinuxHugepage);
        start
    }
}

// SAFETY: `is_large` decides by the layout alone where memory comes from and where it is returned; the
// system's allocator keeps the contract for the rest. `map` returns at least `size` bytes of unshared zeroes,
// aligned to LARGE_BYTES, which `is_large` checks to be sufficient.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match whole_pages(layout.size()).filter(|_| is_large(layout)) {
            // SAFETY: `map` returned that many bytes there for this layout, and the caller no longer uses
            // them.
            Some(length) => drop(unsafe { munmap(at.cast(), length) }),
            // SAFETY: the system's allocator gave it for this layout.
            None => unsafe { System.dealloc(at, layout) },
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(new) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: the system's allocator returned it for this layout, and will own the result.
            return unsafe { System.realloc(at, layout, size) };
        }
        // SAFETY: `new` has a size that isn't zero, as the caller promises. Old and new memory are each at
        // least as long as the copy and don't overlap. The old one is freed once.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                copy_nonoverlapping(at, moved, layout.size().min(size));
                self.dealloc(at, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: LargePages = LargePages;

    #[test]
    fn large_memory_begins_at_a_large_page_and_is_zero() {
        for bytes in [LARGE_BYTES, LARGE_BYTES + 1, 3 * LARGE_BYTES + 4097] {
            let memory = vec![0u8; bytes];
            assert!(memory.as_ptr().addr().is_multiple_of(LARGE_BYTES));
            assert!(memory.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn what_grows_and_shrinks_over_the_bound_keeps_its_content() {
        let mut memory: Vec<u32> = Vec::new();
        for value in 0..2_000_000 {
            memory.push(value);
        }
        memory.truncate(100_000);
        memory.shrink_to_fit();
        assert!(memory.iter().copied().eq(0..100_000));
        memory.reserve_exact(1_000_000);
        assert!(memory.iter().copied().eq(0..100_000));
    }

    #[test]
    fn memory_comes_back_when_it_is_given_back() {
        // What the process has mapped, in pages.
        let mapped = || -> usize {
            let all = std::fs::read_to_string("/proc/self/statm").expect("the system tells");
            all.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number")
        };
        let before = mapped();
        for round in 0..100u8 {
            let mut memory = Vec::<u8>::with_capacity(64 << 20);
            memory.push(round);
            memory.reserve_exact(65 << 20);
            assert_eq!(memory, [round]);
        }
        // The limit allows for mappings of other tests.
        assert!(mapped() < before + (2 << 30) / PAGE_BYTES, "{before}, {}", mapped());
    }
}
