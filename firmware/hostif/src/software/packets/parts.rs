//! A transfer as requests: packets of the size that the host allows, none across 4 KiB.

use aster_ports::link::{Local, Segment};
use aster_wire::pcie::tlp::{RequestPart, Requests};

/// A request, and where its data are in the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) request: RequestPart,
    pub(super) place: Local,
}

/// What of a transfer has not been asked for.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    segments: &'a [Segment],
    /// Bytes of the first segment that have been asked for.
    within: u32,
    place: Local,
}

impl<'a> Rest<'a> {
    /// All of `segments`, one behind the other from `place` on in the drive.
    pub(super) fn new(segments: &'a [Segment], place: Local) -> Self {
        Rest { segments, within: 0, place }
    }
    /// The next request, with at most `most` bytes. The host may change that between two of them.
    pub(super) fn next(&mut self, most: u32) -> Option<Part> {
        loop {
            let (first, rest) = self.segments.split_first()?;
            let (address, left) =
                (first.address.wrapping_add(self.within.into()), first.length - self.within);
            let Some(request) = Requests::new(address, left.into(), most).next() else {
                (self.segments, self.within) = (rest, 0);
                continue;
            };
            let place = self.place;
            self.within += request.bytes;
            self.place = place.plus(request.bytes);
            return Some(Part { request, place });
        }
    }
    /// How many requests are left, if they are fewer than `enough`; otherwise `enough`.
    pub(super) fn count(mut self, most: u32, enough: u64) -> u64 {
        let mut count = 0;
        while count < enough && self.next(most).is_some() {
            count += 1;
        }
        count
    }
    /// Whether nothing is left.
    pub(super) fn is_over(&self) -> bool {
        let Some((first, rest)) = self.segments.split_first() else { return true };
        first.length == self.within && rest.iter().all(|segment| segment.length == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn all(segments: &[Segment], most: u32) -> Vec<(u64, u32, Local)> {
        let mut rest = Rest::new(segments, Local::Sram { offset: 100 });
        let mut parts = Vec::new();
        while let Some(Part { request, place }) = rest.next(most) {
            assert_eq!(rest.is_over(), rest.count(most, 1) == 0);
            parts.push((request.address, request.bytes, place));
        }
        assert!(rest.is_over());
        parts
    }

    /// Typed by hand: the first segment ends at a page, the second begins at an odd byte, the third is empty.
    #[test]
    fn a_transfer_is_cut_at_pages_segments_and_the_largest_packet() {
        let segment = |address, length| Segment { address, length };
        let at = |offset| Local::Sram { offset };
        let segments = [segment(0x1f00, 0x180), segment(0x5003, 130), segment(0x9000, 0), segment(0xa000, 4)];
        let expected = [
            (0x1f00, 128, at(100)),
            (0x1f80, 128, at(228)),
            (0x2000, 128, at(356)),
            // One byte more would need a double word more than 32.
            (0x5003, 125, at(484)),
            (0x5080, 5, at(609)),
            (0xa000, 4, at(614)),
        ];
        assert_eq!(all(&segments, 128), expected);
        assert_eq!(all(&[segment(0x1000, 0)], 256), []);
        assert_eq!(Rest::new(&segments, at(0)).count(128, 4), 4);
        assert_eq!(Rest::new(&segments, at(0)).count(128, 16), 6);
    }
}
