//! Cutting transfers into requests, and answers into completions.

use super::REQUEST_BOUNDARY;

/// A part of a transfer that is one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestPart {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
}

/// Cuts a transfer into requests: none crosses a multiple of 4 KiB (PCIe 4.0 §2.2.7), and none has more
/// double words than the host allows (Max_Payload_Size for writes, Max_Read_Request_Size for reads). Bytes of
/// the first double word that aren't asked for count, too (§2.2.2).
#[derive(Clone, Debug)]
pub struct Requests {
    address: u64,
    left: u64,
    most: u32,
}

impl Requests {
    /// The requests for `bytes` bytes from `address` on, each at most `most`. Asserts that `most` is a power
    /// of two from 128 to 4,096.
    pub fn new(address: u64, bytes: u64, most: u32) -> Self {
        assert!(most.is_power_of_two() && (128..=4096).contains(&most), "requests of {most} bytes");
        Requests { address, left: bytes, most }
    }
}

impl Iterator for Requests {
    type Item = RequestPart;
    fn next(&mut self) -> Option<RequestPart> {
        if self.left == 0 {
            return None;
        }
        let address = self.address;
        let room = (REQUEST_BOUNDARY - address % REQUEST_BOUNDARY).min(u64::from(self.most) - address % 4);
        let bytes = room.min(self.left);
        self.address = address.wrapping_add(bytes);
        self.left -= bytes;
        Some(RequestPart { address, bytes: bytes as u32 })
    }
}

/// A part of the answer to a read that is one completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletionPart {
    /// Bytes of the read before this part.
    pub offset: u32,
    /// Bytes of this part.
    pub bytes: u32,
    /// Bytes that remain, these included.
    pub byte_count: u16,
    /// Low bits of the address of its first byte.
    pub lower_address: u8,
    /// Double words of data.
    pub dwords: u16,
}

/// Cuts the answer to a read of memory into completions: each but the last ends at a multiple of the read
/// completion boundary, and none has more data than `most` (PCIe 4.0 §2.3.1.1).
#[derive(Clone, Debug)]
pub struct Completions {
    address: u64,
    bytes: u32,
    done: u32,
    boundary: u32,
    most: u32,
}

impl Completions {
    /// The completions of a read of `bytes` bytes, 1 to 4,096, from `address` on. `boundary` is 64 or 128;
    /// `most` is Max_Payload_Size.
    pub fn new(address: u64, bytes: u32, boundary: u32, most: u32) -> Self {
        assert!((1..=4096).contains(&bytes) && matches!(boundary, 64 | 128), "{bytes} by {boundary}");
        assert!(most.is_power_of_two() && (128..=4096).contains(&most), "completions of {most} bytes");
        Completions { address, bytes, done: 0, boundary, most }
    }
}

impl Iterator for Completions {
    type Item = CompletionPart;
    fn next(&mut self) -> Option<CompletionPart> {
        let left = self.bytes - self.done;
        if left == 0 {
            return None;
        }
        let at = self.address + u64::from(self.done);
        // As much as fits, down to the last boundary in it.
        let past = (at % u64::from(self.boundary)) as u32;
        let room = (past + self.most) / self.boundary * self.boundary - past;
        let bytes = left.min(room);
        let part = CompletionPart {
            offset: self.done,
            bytes,
            byte_count: left as u16,
            lower_address: (at % 128) as u8,
            dwords: ((at % 4) as u32 + bytes).div_ceil(4) as u16,
        };
        self.done += bytes;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    /// The oracle goes byte by byte: a new request begins at a multiple of 4 KiB, or when one more byte would
    /// need one more double word than there may be.
    #[test]
    fn requests_are_as_large_as_may_be_and_cross_no_page() {
        for most in [128u32, 256, 512, 4096] {
            for address in [0u64, 1, 3, 100, 3_900, 4_095, 4_096, 0xffff_f000, 0xffff_fff0] {
                for bytes in [1u64, 4, 63, 64, 65, 512, 4_096, 16_384, 20_000] {
                    let mut expected: Vec<RequestPart> = Vec::new();
                    for at in address..address + bytes {
                        match expected.last_mut() {
                            Some(last)
                                if at % 4096 != 0 && at / 4 - last.address / 4 < u64::from(most) / 4 =>
                            {
                                last.bytes += 1
                            }
                            _ => expected.push(RequestPart { address: at, bytes: 1 }),
                        }
                    }
                    let found: Vec<_> = Requests::new(address, bytes, most).collect();
                    assert_eq!(found, expected, "{bytes} at {address:#x} by {most}");
                }
            }
        }
    }

    /// Every offset in a boundary and many lengths. The byte count is computed from the end, and the
    /// address from the part's own bytes.
    #[test]
    fn completions_end_at_boundaries_and_their_counts_run_down_to_the_end() {
        for (boundary, most) in [(64, 128), (64, 256), (64, 512), (128, 128), (128, 256), (128, 4096)] {
            for within in 0..128u64 {
                for bytes in (1..300).chain([512, 1_000, 2_048, 3_968]) {
                    let address = 0x5000 + within;
                    let parts: Vec<_> = Completions::new(address, bytes, boundary, most).collect();
                    let ends = address + u64::from(bytes);
                    let mut at = address;
                    for (nth, part) in parts.iter().enumerate() {
                        let what = (boundary, most, within, bytes, part);
                        assert_eq!(u64::from(part.byte_count), ends - at, "{what:?}");
                        assert_eq!(
                            (u64::from(part.offset), u64::from(part.lower_address)),
                            (at - address, at & 127)
                        );
                        at += u64::from(part.bytes);
                        assert!(part.bytes > 0 && u32::from(part.dwords) * 4 <= most, "{what:?}");
                        let last = nth + 1 == parts.len();
                        assert!(last || at % u64::from(boundary) == 0, "{what:?}");
                    }
                    assert_eq!(at, ends);
                }
            }
        }
    }
}
