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
    /// Begins to walk a slot's PRPs over `bytes` bytes. [`PageTable::walk`] goes on.
    #[inline]
    pub fn begin(&mut self, slot: u16, (prp1, prp2): (u64, u64), bytes: u64) -> Result<(), Status> {
        debug_assert!(bytes <= PAGE_BYTES * (self.stride as u64 - 1), "{bytes} bytes have too many pages");
        let prps = PrpWalk::new(prp1, prp2, bytes, PageSize::FOUR_KIB).map_err(|_| BAD_PRP)?;
        self.walks[usize::from(slot)] = Walk { prps: Some(prps), pages: 0 };
        Ok(())
    }
    /// Walks on, with the list page if one was fetched.
    #[inline]
    pub fn walk(&mut self, slot: u16, list: &[u8]) -> Result<Walked, Status> {
        let Walk { prps, pages } = &mut self.walks[usize::from(slot)];
        let prps = prps.as_mut().expect("a walk was begun");
        let addresses = &mut self.addresses[usize::from(slot) * self.stride..][..self.stride];
        loop {
            match prps.step(list).map_err(|_| BAD_PRP)? {
                PrpStep::Segment(segment) => {
                    addresses[*pages as usize] = segment.address;
                    *pages += 1;
                }
                PrpStep::Done => return Ok(Walked::All),
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

    #[test]
    fn scattered_pages_stop_at_the_segments_of_one_operation() {
        let mut table = PageTable::new(1, 4);
        (0..8).for_each(|index| table.addresses[index] = index as u64 * 0x2000);
        let (_, count, bytes) = table.segments(0, 0, 8 * 0x1000);
        assert_eq!((count, bytes), (MAX_SEGMENTS, MAX_SEGMENTS as u64 * 0x1000));
    }
}
