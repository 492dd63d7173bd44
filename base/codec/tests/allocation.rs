//! Coding allocates nothing once the code and its scratch have been created.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use aster_codec::{Backend, Bch, BchScratch};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator unchanged; counting touches a constant-initialised cell
// only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract; `pointer` came from the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn coding_allocates_nothing_after_set_up() {
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        let code = Bch::with_backend(12, 14, 13, 256, backend).unwrap();
        let mut scratch = BchScratch::new(&code);
        let (mut data, mut parity) = (vec![0x5Au8; 256], vec![0u8; 21]);
        let before = ALLOCATIONS.get();
        assert!(before > 0, "the counter counts");
        code.encode(&data, &mut parity);
        for errors in [0, 1, 2, 13, 20] {
            for error in 0..errors {
                data[error * 9] ^= 1 << (error % 8);
            }
            assert_eq!(code.detect(&data, &parity), errors == 0);
            let verdict = code.decode(&mut data, &mut parity, &mut scratch);
            assert_eq!(verdict.is_ok(), errors <= 13);
        }
        assert_eq!(ALLOCATIONS.get(), before, "{backend:?}");
    }
}
