//! Where a command's data are in host memory.

use crate::config::PAGE_BYTES;
use alloc::boxed::Box;
use alloc::vec;
use aster_ports::link::{MAX_SEGMENTS, Segment};
use aster_wire::nvme::Status;
use aster_wire::nvme::prp::{PageSize, PrpStep, PrpWalk};

/// Runs of host memory, as one link operation takes them, and their number.
pub(crate) type HostRuns = ([Segment; MAX_SEGMENTS], usize);

/// A walk over the PRPs of a slot's command.
#[derive(Clone, Debug, Default)]
struct Walk {
    prps: Option<PrpWalk>,
    /// Pages that it has found.
    pages: u32,
    /// It has found all pages, and each but the first begins where the one before it ends.
    is_one_run: bool,
}

/// The host pages of each slot's data, in order. The first begins at PRP1's offset, the others at the
/// page's beginning.
#[derive(Debug)]
pub(crate) struct PageTable {
    addresses: Box<[u64]>,
    stride: usize,
    walks: Box<[Walk]>,
}

impl PageTable {
    /// Makes room for `slots` transfers of `2^pages_log2` pages. A transfer that begins inside a page has
    /// one more page.
    pub fn new(slots: usize, pages_log2: u8) -> Self {
        let stride = (1 << pages_log2) + 1;
        PageTable {
            addresses: vec![0; slots * stride].into_boxed_slice(),
            stride,
            walks: vec![Walk::default(); slots].into_boxed_slice(),
        }
    }
    /// Takes a slot's data that lie in one page, which PRP1 alone names. Returns `false`, and changes
    /// nothing, if they don't, or if PRP1 is bad: then [`PageTable::begin`] walks.
    #[inline]
    pub fn take_one_page(&mut self, slot: u16, prp1: u64, bytes: u64) -> bool {
        let within = PageSize::FOUR_KIB.bytes() - prp1 % PAGE_BYTES;
        let is_in_one_page = bytes > 0 && bytes <= within && prp1.is_multiple_of(4);
        if is_in_one_page {
            self.addresses[usize::from(slot) * self.stride] = prp1;
            self.walks[usize::from(slot)] = Walk { prps: None, pages: 1, is_one_run: true };
        }
        is_in_one_page
    }
    /// Begins to walk a slot's PRPs over `bytes` bytes. [`PageTable::walk`] goes on.
    #[inline]
    pub fn begin(&mut self, slot: u16, (prp1, prp2): (u64, u64), bytes: u64) -> Result<(), Status> {
        debug_assert!(bytes <= PAGE_BYTES * (self.stride as u64 - 1), "{bytes} bytes have too many pages");
        let prps = PrpWalk::new(prp1, prp2, bytes, PageSize::FOUR_KIB).ok();
        let is_begun = prps.is_some();
        self.walks[usize::from(slot)] = Walk { prps, ..Walk::default() };
        if is_begun { Ok(()) } else { Err(BAD_PRP) }
    }
    /// Walks on, with the list page if one was fetched.
    #[inline]
    pub fn walk(&mut self, slot: u16, list: &[u8]) -> Result<Walked, Status> {
        let Walk { prps, pages, is_one_run } = &mut self.walks[usize::from(slot)];
        let prps = prps.as_mut().expect("a walk was begun");
        let addresses = &mut self.addresses[usize::from(slot) * self.stride..][..self.stride];
        loop {
            *pages += prps.take_whole_pages(list, &mut addresses[*pages as usize..]) as u32;
            match prps.step(list).map_err(|_| BAD_PRP)? {
                PrpStep::Segment(segment) => {
                    addresses[*pages as usize] = segment.address;
                    *pages += 1;
                }
                PrpStep::Done => {
                    *is_one_run = are_one_run(&addresses[..*pages as usize]);
                    return Ok(Walked::All);
                }
                PrpStep::NeedList { address, entries } => return Ok(Walked::NeedsList { address, entries }),
            }
        }
    }
    /// Where byte `offset` of a slot's data is in host memory, and how many bytes follow in that page.
    #[inline]
    fn locate(&self, slot: u16, offset: u64) -> (u64, u64) {
        let pages = &self.addresses[usize::from(slot) * self.stride..][..self.stride];
        let first = PAGE_BYTES - pages[0] % PAGE_BYTES;
        if offset < first {
            return (pages[0] + offset, first - offset);
        }
        let past = offset - first;
        let within = past % PAGE_BYTES;
        (pages[1 + (past / PAGE_BYTES) as usize] + within, PAGE_BYTES - within)
    }
    /// As many runs of host memory as one link operation takes, from `offset` on. Returns the segments,
    /// their count and their bytes.
    #[inline]
    pub fn segments(&self, slot: u16, offset: u64, length: u64) -> ([Segment; MAX_SEGMENTS], usize, u64) {
        if let Some(address) = self.run(slot, offset) {
            let (segments, count) = one_segment(address, length as u32);
            return (segments, count, length);
        }
        self.segments_by_page(slot, offset, length)
    }
    /// Where a slot's data are from `offset` on, if they are one run of host memory.
    #[inline]
    pub fn run(&self, slot: u16, offset: u64) -> Option<u64> {
        let is_one_run = self.walks[usize::from(slot)].is_one_run;
        is_one_run.then(|| self.addresses[usize::from(slot) * self.stride] + offset)
    }
    /// As [`PageTable::segments`], page by page.
    fn segments_by_page(&self, slot: u16, offset: u64, length: u64) -> ([Segment; MAX_SEGMENTS], usize, u64) {
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        let (mut count, mut done) = (0, 0);
        while done < length {
            let (address, run) = self.locate(slot, offset + done);
            let run = run.min(length - done);
            let last = &mut segments[count.max(1) - 1];
            // No page follows the one at the end of the address space.
            if count > 0 && last.address.checked_add(last.length.into()) == Some(address) {
                last.length += run as u32;
            } else if count == MAX_SEGMENTS {
                break;
            } else {
                segments[count] = Segment { address, length: run as u32 };
                count += 1;
            }
            done += run;
        }
        (segments, count, done)
    }
}

/// Whether host pages are one run of memory. The first may begin anywhere in its page, the others begin at
/// theirs. No page follows the one at the end of the address space.
#[inline]
fn are_one_run(addresses: &[u64]) -> bool {
    let [first, others @ ..] = addresses else { return false };
    let base = first - first % PAGE_BYTES;
    let expected = (1..).map(|number: u64| base.wrapping_add(number * PAGE_BYTES));
    // All are compared, also after one that differs: so the loop needs no branch.
    let differ =
        others.iter().zip(expected).fold(0, |differ, (address, expected)| differ | (address ^ expected));
    differ == 0 && others.last().is_none_or(|last| *last > base)
}

/// The host side of a DMA that is one contiguous run of memory.
#[inline]
pub(crate) fn one_segment(address: u64, length: u32) -> HostRuns {
    let mut segments = [Segment::default(); MAX_SEGMENTS];
    segments[0] = Segment { address, length };
    (segments, 1)
}

/// Result of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walked {
    /// Every page is in the table.
    All,
    /// A list page is needed.
    NeedsList { address: u64, entries: u32 },
}

/// The PRPs are bad, and repeating the command won't change that.
const BAD_PRP: Status = Status::PRP_OFFSET_INVALID.with_dnr(true);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_pages_merge_into_one_segment_and_others_fill_several() {
        let mut table = PageTable::new(2, 3);
        for (index, address) in [0x1e00, 0x2000, 0x3000, 0x9000, 0xb000].into_iter().enumerate() {
            table.addresses[9 + index] = address;
        }
        let (segments, count, bytes) = table.segments(1, 0, 0x200 + 4 * 0x1000);
        assert_eq!((count, bytes), (3, 0x4200));
        assert_eq!(segments[0], Segment { address: 0x1e00, length: 0x2200 });
        assert_eq!(segments[2], Segment { address: 0xb000, length: 0x1000 });
        let (segments, count, bytes) = table.segments(1, 0x2100, 0x300);
        assert_eq!((count, bytes), (2, 0x300));
        assert_eq!(segments[0], Segment { address: 0x3f00, length: 0x100 });
        assert_eq!(segments[1], Segment { address: 0x9000, length: 0x200 });
    }

    /// The slow twin looks at each page.
    #[test]
    fn one_run_is_one_segment_and_what_is_found_page_by_page() {
        let mut rng = aster_units::Rng::new(5);
        let mut runs = 0;
        for _ in 0..3000 {
            let mut table = PageTable::new(2, 3);
            let offset = rng.below(1024) * 4;
            let bytes = 1 + rng.below(8 * PAGE_BYTES);
            // Some lie at the end of the address space, where the page at 0 doesn't follow.
            let mut at = [0x1_0000, 0xffff_ffff_ffff_c000][rng.below(2) as usize];
            let mut list = [0; 16 * 8];
            for entry in list.chunks_exact_mut(8) {
                at = if rng.below(20) == 0 { rng.below(1 << 20) << 12 } else { PAGE_BYTES.wrapping_add(at) };
                entry.copy_from_slice(&at.to_le_bytes());
            }
            let entry = |index: usize| u64::from_le_bytes(list[index * 8..][..8].try_into().unwrap());
            let pages = (offset + bytes).div_ceil(PAGE_BYTES);
            let prp2 = if pages == 2 { entry(1) } else { 0x8000 };
            table.begin(1, (entry(0) + offset, prp2), bytes).unwrap();
            if let Walked::NeedsList { entries, .. } = table.walk(1, &[]).unwrap() {
                assert_eq!(table.walk(1, &list[8..][..entries as usize * 8]), Ok(Walked::All));
            }
            runs += u32::from(table.walks[1].is_one_run);
            let mut from = 0;
            while from < bytes {
                let length = 1 + rng.below(bytes - from);
                let found = table.segments(1, from, length);
                assert_eq!(found, table.segments_by_page(1, from, length));
                from += found.2;
            }
        }
        assert!((1000..2500).contains(&runs), "{runs} of 3000 are one run");
    }

    /// The slow twin walks.
    #[test]
    fn data_in_one_page_are_taken_as_a_walk_takes_them() {
        let mut rng = aster_units::Rng::new(6);
        let mut taken = 0;
        for _ in 0..3000 {
            let [mut fast, mut slow] = [(); 2].map(|()| PageTable::new(2, 3));
            let page = [0x1_0000, 0xffff_ffff_ffff_f000][rng.below(2) as usize];
            let prp1 = page + [0, rng.below(PAGE_BYTES)][rng.below(2) as usize];
            let bytes = [0, rng.below(3 * PAGE_BYTES), 512, PAGE_BYTES][rng.below(4) as usize];
            let walked = slow.begin(1, (prp1, 0), bytes).and_then(|()| slow.walk(1, &[]));
            if !fast.take_one_page(1, prp1, bytes) {
                assert!(walked != Ok(Walked::All) || slow.walks[1].pages != 1);
                assert!(fast.walks[1].pages == 0 && !fast.walks[1].is_one_run);
                continue;
            }
            taken += 1;
            assert_eq!((walked, &fast.addresses), (Ok(Walked::All), &slow.addresses));
            assert!(fast.walks[1].is_one_run && slow.walks[1].is_one_run);
            let from = rng.below(bytes);
            assert_eq!(fast.segments(1, from, bytes - from), slow.segments_by_page(1, from, bytes - from));
        }
        assert!((500..2500).contains(&taken), "{taken} of 3000 are in one page");
    }

    #[test]
    fn scattered_pages_stop_at_the_segments_of_one_operation() {
        let mut table = PageTable::new(1, 4);
        (0..8).for_each(|index| table.addresses[index] = index as u64 * 0x2000);
        let (_, count, bytes) = table.segments(0, 0, 8 * 0x1000);
        assert_eq!((count, bytes), (MAX_SEGMENTS, MAX_SEGMENTS as u64 * 0x1000));
    }
}
