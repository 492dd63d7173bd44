//! Whole packets.

use super::completion::{COMPLETION, Completion};
use super::config::{CONFIG_0, CONFIG_1, ConfigRequest};
use super::header::{FirstDword, TlpError};
use super::message::{MESSAGE, Message};
use super::request::{IO, MEMORY, MemoryRequest};
use super::{DWORD_BYTES, TLP_HEADER_MAX};
use zerocopy::big_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlpHeader {
    /// A read or write of memory or of an I/O port.
    Memory(MemoryRequest),
    /// A read or write of configuration space.
    Config(ConfigRequest),
    /// An answer.
    Completion(Completion),
    /// A message.
    Message(Message),
}

impl TlpHeader {
    /// Bytes of data behind it.
    pub fn payload_bytes(&self) -> usize {
        match self {
            TlpHeader::Memory(request) => request.payload_bytes(),
            TlpHeader::Config(request) => request.payload_bytes(),
            TlpHeader::Completion(completion) => usize::from(completion.dwords) * DWORD_BYTES,
            TlpHeader::Message(message) => usize::from(message.dwords) * DWORD_BYTES,
        }
    }
    /// Bytes of the header: 12 or 16.
    pub fn bytes(&self) -> usize {
        self.words().1 * DWORD_BYTES
    }
    fn words(&self) -> ([u32; 4], usize) {
        match self {
            TlpHeader::Memory(request) => request.encode(),
            TlpHeader::Config(request) => request.encode(),
            TlpHeader::Completion(completion) => completion.encode(),
            TlpHeader::Message(message) => message.encode(),
        }
    }
    /// Writes the header and returns its bytes. Asserts that its fields fit together.
    pub fn encode(&self, into: &mut [u8; TLP_HEADER_MAX]) -> usize {
        let (words, count) = self.words();
        for (bytes, word) in into.chunks_exact_mut(DWORD_BYTES).zip(&words[..count]) {
            bytes.copy_from_slice(U32::new(*word).as_bytes());
        }
        count * DWORD_BYTES
    }

    /// Reads the header that `bytes` begin with, and says how many bytes it has.
    ///
    /// # Errors
    /// When it is no header that can be dealt with.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), TlpError> {
        let word =
            |n: usize| U32::read_from_prefix(bytes.get(4 * n..).unwrap_or(&[])).ok().map(|(w, _)| w.get());
        let short = |expected| TlpError::Length { bytes: bytes.len(), expected };
        let first = FirstDword(word(0).ok_or_else(|| short(12))?);
        let header_bytes = if first.long() { 16 } else { 12 };
        if bytes.len() < header_bytes {
            return Err(short(header_bytes));
        }
        if first.prefix() {
            return Err(TlpError::Type((first.0 >> 24) as u8));
        }
        let enabled = first.digest() || first.hints() || first.notification() || first.translation() != 0;
        if enabled {
            return Err(TlpError::NotEnabled);
        }
        let words = [word(1).unwrap_or(0), word(2).unwrap_or(0), word(3).unwrap_or(0)];
        let header = match (first.kind(), first.long()) {
            (MEMORY, _) | (IO, false) => TlpHeader::Memory(MemoryRequest::parse(first, words)?),
            (CONFIG_0 | CONFIG_1, false) => TlpHeader::Config(ConfigRequest::parse(first, words)?),
            (COMPLETION, false) => TlpHeader::Completion(Completion::parse(first, words)?),
            (kind, true) if kind >> 3 == MESSAGE => TlpHeader::Message(Message::parse(first, words)?),
            _ => return Err(TlpError::Type((first.0 >> 24) as u8)),
        };
        Ok((header, header_bytes))
    }
}

/// A packet: the checked view of received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tlp<'a> {
    /// What it is.
    pub header: TlpHeader,
    /// Its data, in the order of addresses, with the bytes that aren't enabled.
    pub payload: &'a [u8],
}

impl<'a> Tlp<'a> {
    /// Views received bytes, which are one packet.
    ///
    /// # Errors
    /// When they are no packet that can be dealt with.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, TlpError> {
        let (header, at) = TlpHeader::parse(bytes)?;
        let expected = at + header.payload_bytes();
        if bytes.len() != expected {
            return Err(TlpError::Length { bytes: bytes.len(), expected });
        }
        Ok(Tlp { header, payload: &bytes[at..] })
    }
    /// Writes the packet to the beginning of `into` and returns its bytes. Asserts that there is room and
    /// that the data are as long as the header says.
    pub fn encode(&self, into: &mut [u8]) -> usize {
        assert_eq!(self.payload.len(), self.header.payload_bytes(), "data of {:?}", self.header);
        let mut header = [0; TLP_HEADER_MAX];
        let at = self.header.encode(&mut header);
        into[..at].copy_from_slice(&header[..at]);
        into[at..at + self.payload.len()].copy_from_slice(self.payload);
        at + self.payload.len()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::super::{Attributes, ByteEnables, CompletionStatus, FunctionId, MessageCode, Tag};
    use super::*;
    use proptest::prelude::*;

    fn bytes(words: &[u32]) -> std::vec::Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }
    /// Parses `words` as `header`, and writes them back.
    #[track_caller]
    fn golden(words: &[u32], header: TlpHeader) {
        let bytes = bytes(words);
        let tlp = Tlp::parse(&bytes).unwrap();
        assert_eq!(tlp.header, header);
        let mut back = [0; 64];
        let length = tlp.encode(&mut back);
        assert_eq!(back[..length], bytes);
    }

    /// The packets of "Down to the TLP" (Xillybus), double word by double word.
    #[test]
    fn a_write_a_read_and_its_completion_are_the_bytes_of_a_real_link() {
        let request = |write, first| MemoryRequest {
            space: super::super::AddressSpace::Memory,
            write,
            requester: FunctionId(0),
            tag: Tag::new(if write { 0 } else { 0x0c }),
            address: 0xfdaf_f040,
            dwords: 1,
            enables: ByteEnables { first, last: 0 },
            attributes: Attributes::default(),
        };
        golden(&[0x4000_0001, 0x0000_000f, 0xfdaf_f040, 0x1234_5678], TlpHeader::Memory(request(true, 0xf)));
        golden(&[0x0000_0001, 0x0000_0c0f, 0xfdaf_f040], TlpHeader::Memory(request(false, 0xf)));
        golden(
            &[0x4a00_0001, 0x0100_0004, 0x0000_0c40, 0x1234_5678],
            TlpHeader::Completion(Completion {
                completer: FunctionId(0x0100),
                status: CompletionStatus::Success,
                byte_count: 4,
                requester: FunctionId(0),
                tag: Tag::new(0x0c),
                lower_address: 0x40,
                dwords: 1,
                attributes: Attributes::default(),
            }),
        );
    }

    /// A length of 0 is 1,024 double words, and a byte count of 0 is 4,096 (PCIe 4.0 §2.2.2, §2.2.9).
    #[test]
    fn the_largest_packets_have_a_length_of_zero() {
        let data = [0xa5; 4096];
        let write = MemoryRequest::of_memory(true, FunctionId(8), Tag::new(0), 0x1_0000_0000, 4096);
        let mut into = [0; 16 + 4096];
        let length = Tlp { header: TlpHeader::Memory(write), payload: &data }.encode(&mut into);
        assert_eq!(length, into.len());
        assert_eq!(into[..16], bytes(&[0x6000_0000, 0x0008_00ff, 1, 0]));
        let read = MemoryRequest::of_memory(false, FunctionId(8), Tag::new(0x3ff), 0x1000, 4096);
        let length = Tlp { header: TlpHeader::Memory(read), payload: &[] }.encode(&mut into);
        assert_eq!(into[..length], bytes(&[0x0088_0000, 0x0008_ffff, 0x1000]), "tag bits 8 and 9 are apart");
        let answer = Completion {
            byte_count: 4096,
            dwords: 1024,
            ..Completion::without_data(
                FunctionId(1),
                CompletionStatus::Success,
                FunctionId(8),
                Tag::new(0x3ff),
            )
        };
        let length = Tlp { header: TlpHeader::Completion(answer), payload: &data }.encode(&mut into);
        assert_eq!(into[..12], bytes(&[0x4a88_0000, 0x0001_0000, 0x0008_ff00]));
        assert_eq!(Tlp::parse(&into[..length]).unwrap().header, TlpHeader::Completion(answer));
    }

    #[test]
    fn configuration_requests_and_messages_have_their_fields_where_the_standard_has_them() {
        golden(
            &[0x4400_0001, 0x0008_210f, 0x0100_0010, 0xffff_ffff],
            TlpHeader::Config(ConfigRequest {
                write: true,
                forwarded: false,
                requester: FunctionId(8),
                tag: Tag::new(0x21),
                target: FunctionId(0x0100),
                register: 4,
                enables: 0xf,
                poisoned: false,
            }),
        );
        golden(
            &[0x3000_0000, 0x0100_0033, 0, 0],
            TlpHeader::Message(Message {
                routing: 0,
                code: MessageCode::FatalError,
                requester: FunctionId(0x0100),
                tag: Tag::new(0),
                rest: 0,
                dwords: 0,
                attributes: Attributes::default(),
            }),
        );
    }

    #[test]
    fn what_the_standard_forbids_is_refused_by_its_clause() {
        let refused = |words: &[u32]| Tlp::parse(&bytes(words)).unwrap_err();
        assert_eq!(refused(&[0x4000_0001]), TlpError::Length { bytes: 4, expected: 12 });
        assert_eq!(refused(&[0x4000_0001, 0xf, 0x1000]), TlpError::Length { bytes: 12, expected: 16 });
        assert_eq!(refused(&[0x8000_0001, 0xf, 0x1000]), TlpError::Type(0x80), "a prefix");
        assert_eq!(refused(&[0x0100_0001, 0xf, 0x1000]), TlpError::Type(0x01), "a locked read");
        assert_eq!(refused(&[0x0000_8001, 0xf, 0x1000]), TlpError::NotEnabled, "a digest");
        assert_eq!(refused(&[0x0000_0001, 0xf, 0x1001]), TlpError::Reserved, "low address bits");
        assert_eq!(refused(&[0x0000_0001, 0xff, 0x1000]), TlpError::ByteEnables, "last of one");
        assert_eq!(refused(&[0x0000_0002, 0x0f, 0x1000]), TlpError::ByteEnables, "no last of two");
        assert_eq!(refused(&[0x0000_0003, 0xf5, 0x1000]), TlpError::ByteEnables, "a gap");
        assert_eq!(refused(&[0x0000_0002, 0xff, 0x1ffc]), TlpError::Boundary);
        assert_eq!(refused(&[0x2000_0001, 0x0f, 0, 0x1000]), TlpError::LongAddress);
        assert_eq!(refused(&[0x0200_0002, 0xff, 0x1000]), TlpError::OneDword, "two double words of I/O");
        assert_eq!(refused(&[0x0a00_0000, 0x0100_6004, 0]), TlpError::Completion, "status 3 is reserved");
        assert_eq!(refused(&[0x4a00_0002, 0x0100_0004, 0, 0, 0]), TlpError::Completion, "4 bytes, 2 words");
    }

    proptest! {
        /// Whatever bytes arrive, the view doesn't panic, and what it accepts is written back bit for bit.
        #[test]
        fn what_is_accepted_is_written_back_bit_for_bit(
            first in any::<u32>(), words in prop::array::uniform3(any::<u32>()), known in any::<bool>()
        ) {
            // Half of the first double words are of known types, short, with none of what isn't enabled.
            let first = if known { first & 0x4af0_7003 } else { first };
            let mut packet = bytes(&[first, words[0], words[1], words[2]]);
            packet.resize(16 + 4096, 0x77);
            for length in [12, 16, 20, 24, 28] {
                let Ok(tlp) = Tlp::parse(&packet[..length]) else { continue };
                let mut back = [0; 64];
                let written = tlp.encode(&mut back);
                prop_assert_eq!(&back[..written], &packet[..length]);
            }
        }
    }
}
