//! Memory and I/O requests (PCIe 4.0 §2.2.7).

use super::header::{Attributes, FirstDword, FunctionId, RequestDword, Tag, TlpError};
use super::{DWORD_BYTES, REQUEST_BOUNDARY};

/// Type of memory requests.
pub(super) const MEMORY: u8 = 0b0_0000;
/// Type of I/O requests.
pub(super) const IO: u8 = 0b0_0010;

/// What an address is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressSpace {
    /// Memory.
    Memory,
    /// I/O ports. Requests are for one double word.
    Io,
}

/// Which bytes of the first and of the last double word are meant, the lowest address in bit 0 (PCIe 4.0
/// §2.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteEnables {
    /// Of the first double word.
    pub first: u8,
    /// Of the last one; 0 if there is one only.
    pub last: u8,
}

impl ByteEnables {
    /// The enables of `bytes` bytes from `address` on; 0 bytes are a request for nothing.
    pub fn of(address: u64, bytes: u32) -> Self {
        let within = (address % DWORD_BYTES as u64) as u32;
        let end = within + bytes;
        let upto = |count: u32| ((1u16 << count.min(4)) - 1) as u8;
        let from = 0xf & !upto(within);
        if end <= 4 {
            return ByteEnables { first: from & upto(end), last: 0 };
        }
        ByteEnables { first: from, last: upto(end - (end - 1) / 4 * 4) }
    }
    /// Whether a request for `dwords` double words from `address` on may have them.
    fn is_good(self, address: u64, dwords: u16) -> bool {
        if dwords == 1 {
            return self.last == 0;
        }
        let (first, last) = (self.first, self.last);
        if first == 0 || last == 0 {
            return false;
        }
        // Gaps are allowed in a quad word alone.
        let quad_word = dwords == 2 && address.is_multiple_of(8);
        quad_word || matches!(first, 0xf | 0xe | 0xc | 0x8) && matches!(last, 0xf | 0x7 | 0x3 | 0x1)
    }
}

/// A read or write of memory or of an I/O port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryRequest {
    /// What the address is in.
    pub space: AddressSpace,
    /// Data come along; otherwise they are asked for.
    pub write: bool,
    /// Who asks.
    pub requester: FunctionId,
    /// Of a read: the number under which it is answered.
    pub tag: Tag,
    /// Of the first double word: a multiple of 4.
    pub address: u64,
    /// Double words, 1 to 1,024.
    pub dwords: u16,
    /// Which bytes are meant.
    pub enables: ByteEnables,
    /// The rest.
    pub attributes: Attributes,
}

impl MemoryRequest {
    /// A request for `bytes` bytes of memory from `address` on. Asserts that they lie within 4 KiB.
    pub fn of_memory(write: bool, requester: FunctionId, tag: Tag, address: u64, bytes: u32) -> Self {
        let within = address % REQUEST_BOUNDARY;
        assert!(within + u64::from(bytes) <= REQUEST_BOUNDARY, "{bytes} bytes at {address:#x}");
        // Within the page, since the last page of the address space has no end.
        let dword = DWORD_BYTES as u64;
        let begin = within / dword * dword;
        let end = (within + u64::from(bytes)).next_multiple_of(dword);
        MemoryRequest {
            space: AddressSpace::Memory,
            write,
            requester,
            tag,
            address: address - within % dword,
            dwords: ((end - begin) / dword).max(1) as u16,
            enables: ByteEnables::of(address, bytes),
            attributes: Attributes::default(),
        }
    }
    /// The first byte that is meant, and how many there are from it to the last one.
    pub fn span(&self) -> (u64, u32) {
        let ByteEnables { first, last } = self.enables;
        if first == 0 {
            return (self.address, 0);
        }
        let skipped = first.trailing_zeros();
        let unused = if last == 0 { 4 - (8 - first.leading_zeros()) } else { 4 - (8 - last.leading_zeros()) };
        let bytes = u32::from(self.dwords) * 4 - skipped - unused;
        (self.address + u64::from(skipped), bytes)
    }
    /// Bytes of data that come along, disabled ones included.
    pub fn payload_bytes(&self) -> usize {
        if self.write { usize::from(self.dwords) * DWORD_BYTES } else { 0 }
    }
    /// Whether the header has four double words.
    pub fn is_long(&self) -> bool {
        self.address > u64::from(u32::MAX)
    }

    pub(super) fn parse(first: FirstDword, words: [u32; 3]) -> Result<Self, TlpError> {
        let space = if first.kind() == IO { AddressSpace::Io } else { AddressSpace::Memory };
        let second = RequestDword(words[0]);
        let long = first.long();
        let raw = if long { u64::from(words[1]) << 32 | u64::from(words[2]) } else { u64::from(words[1]) };
        if raw & 3 != 0 {
            return Err(TlpError::Reserved);
        }
        let request = MemoryRequest {
            space,
            write: first.data(),
            requester: FunctionId(second.requester()),
            tag: Tag::of(first, second.tag()),
            address: raw,
            dwords: first.dwords(),
            enables: ByteEnables { first: second.first_enables(), last: second.last_enables() },
            attributes: first.attributes(),
        };
        if long != request.is_long() {
            return Err(TlpError::LongAddress);
        }
        request.check()?;
        Ok(request)
    }
    fn check(&self) -> Result<(), TlpError> {
        if self.space == AddressSpace::Io
            && (self.dwords != 1 || self.is_long() || self.attributes.traffic_class != 0)
        {
            return Err(TlpError::OneDword);
        }
        if !self.enables.is_good(self.address, self.dwords) {
            return Err(TlpError::ByteEnables);
        }
        let bytes = u64::from(self.dwords) * DWORD_BYTES as u64;
        if self.address % REQUEST_BOUNDARY + bytes > REQUEST_BOUNDARY {
            return Err(TlpError::Boundary);
        }
        Ok(())
    }
    /// The double words of the header, and how many they are. Asserts what `parse` checks.
    pub(super) fn encode(&self) -> ([u32; 4], usize) {
        assert!(self.check().is_ok() && self.address.is_multiple_of(4), "a request that can't be: {self:?}");
        let kind = if self.space == AddressSpace::Io { IO } else { MEMORY };
        let first = FirstDword::new(kind, self.attributes, self.tag)
            .with_dwords(self.dwords)
            .with_data(self.write)
            .with_long(self.is_long());
        let second = RequestDword(0)
            .with_first_enables(self.enables.first)
            .with_last_enables(self.enables.last)
            .with_tag(self.tag.low())
            .with_requester(self.requester.0);
        let (high, low) = ((self.address >> 32) as u32, self.address as u32);
        match self.is_long() {
            true => ([first.0, second.0, high, low], 4),
            false => ([first.0, second.0, low, 0], 3),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// The bytes of a request by the enables of each double word, against the bytes asked for.
    #[test]
    fn byte_enables_name_the_bytes_asked_for_and_span_finds_them_again() {
        for address in 0x1000..0x1010u64 {
            for bytes in 1..40u32 {
                let request = MemoryRequest::of_memory(false, FunctionId(0), Tag::new(0), address, bytes);
                let mut named = std::vec::Vec::new();
                for dword in 0..request.dwords {
                    let enables = match dword {
                        0 => request.enables.first,
                        last if last == request.dwords - 1 => request.enables.last,
                        _ => 0xf,
                    };
                    let at = request.address + u64::from(dword) * 4;
                    named.extend((0..4).filter(|bit| enables >> bit & 1 == 1).map(|bit| at + bit));
                }
                let asked: std::vec::Vec<u64> = (address..address + u64::from(bytes)).collect();
                assert_eq!(named, asked, "{bytes} at {address:#x}");
                assert_eq!(request.span(), (address, bytes));
                assert_eq!(request.check(), Ok(()));
            }
        }
    }

    #[test]
    fn the_last_page_of_the_address_space_can_be_asked_for() {
        let at = 0xffff_ffff_ffff_f000;
        let last = MemoryRequest::of_memory(false, FunctionId(1), Tag::new(2), at + 1, 4095);
        assert_eq!((last.address, last.dwords, last.span()), (at, 1024, (at + 1, 4095)));
    }

    #[test]
    fn a_request_for_nothing_has_no_byte_and_one_double_word() {
        let nothing = MemoryRequest::of_memory(false, FunctionId(1), Tag::new(2), 0x2000, 0);
        assert_eq!((nothing.dwords, nothing.enables), (1, ByteEnables { first: 0, last: 0 }));
        assert_eq!(nothing.span(), (0x2000, 0));
    }
}
