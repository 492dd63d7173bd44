//! A client can't use up the areas that the system allows a process: without a free one the guard could not
//! replace a missing page.

use aster_run_memory::{Gone, Shared};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use std::fs::{File, read_to_string};
use std::sync::Arc;

const HUGE: u64 = 2 << 20;
/// Far more than the system's default.
const MOST: u64 = 1_000_000;

fn number(path: &str) -> Option<u64> {
    read_to_string(path).ok()?.trim().parse().ok()
}

#[test]
fn a_file_of_holes_takes_few_areas_however_many_of_them_are_met() {
    let limit = number("/proc/sys/vm/max_map_count").unwrap();
    // Parts of mappings of huge pages never merge: each part that is mapped again is an area of its own.
    let free = number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
    let file = match (free, memfd_create("areas", flags)) {
        (None, _) | (_, Err(Errno::NOSYS | Errno::INVAL | Errno::NODEV)) => {
            return println!("this system has no huge pages of 2 MiB");
        }
        (Some(free), _) if free > 1024 || limit > MOST => {
            return println!("{free} huge pages are free, {limit} areas allowed: using them up would hurt");
        }
        (_, made) => made.unwrap(),
    };
    let pages = free.unwrap() + limit + 1000;
    ftruncate(&file, pages * HUGE).unwrap();
    let shared = Shared::new(Arc::new(File::from(file)), 0, pages * HUGE, HUGE as usize, true).unwrap();
    let gone = (0..pages).filter(|page| shared.read(page * HUGE, &mut [0]) == Err(Gone)).count() as u64;
    let areas = read_to_string("/proc/self/maps").unwrap().lines().count() as u64;
    println!("{gone} of {pages} pages were missing; {areas} areas of {limit} are left");
    assert!(gone >= limit && areas < 32_000);
}
