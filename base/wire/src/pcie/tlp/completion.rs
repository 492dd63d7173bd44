//! Completions (PCIe 4.0 §2.2.9).

use super::header::{Attributes, FirstDword, FunctionId, Tag, TlpError};
use super::request::MemoryRequest;

/// Type of completions.
pub(super) const COMPLETION: u8 = 0b0_1010;

wire_enum! {
    /// Completion status (PCIe 4.0 §2.2.9, table 2-32).
    pub enum CompletionStatus(u8) {
        Success = 0, "Successful Completion";
        Unsupported = 1, "Unsupported Request";
        Retry = 2, "Configuration Request Retry Status";
        Abort = 4, "Completer Abort";
    }
}

bit_fields! {
    /// Second double word of a completion.
    pub struct CompleterDword(u32) {
        /// Bytes that remain; 0 for 4,096.
        byte_count, with_byte_count: 0, 12 => u16;
        /// BCM, for bridges to PCI-X.
        modified, with_modified: 12, 1 => bool;
        /// See [`CompletionStatus`].
        status, with_status: 13, 3 => u8;
        /// Who answers.
        completer, with_completer: 16, 16 => u16;
    }
}
bit_fields! {
    /// Third double word of a completion.
    pub struct RequesterDword(u32) {
        /// Low bits of the first byte's address.
        lower_address, with_lower_address: 0, 7 => u8;
        /// Reserved.
        reserved, with_reserved: 7, 1 => bool;
        /// Low bits of the tag.
        tag, with_tag: 8, 8 => u8;
        /// Who asks.
        requester, with_requester: 16, 16 => u16;
    }
}

/// The answer to a request, or a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Who answers.
    pub completer: FunctionId,
    /// How the request ended.
    pub status: CompletionStatus,
    /// Bytes that remain for this read, these included: 1 to 4,096. 4 for whatever is no read of memory.
    pub byte_count: u16,
    /// Who asked.
    pub requester: FunctionId,
    /// The request's number.
    pub tag: Tag,
    /// Low bits of the address of the first byte that is meant.
    pub lower_address: u8,
    /// Double words of data, 0 to 1,024.
    pub dwords: u16,
    /// The rest.
    pub attributes: Attributes,
}

impl Completion {
    /// An answer without data.
    pub fn without_data(
        completer: FunctionId,
        status: CompletionStatus,
        requester: FunctionId,
        tag: Tag,
    ) -> Self {
        let attributes = Attributes::default();
        Completion {
            completer,
            status,
            byte_count: 4,
            requester,
            tag,
            lower_address: 0,
            dwords: 0,
            attributes,
        }
    }
    /// The whole answer to a read, in one packet. To a read of no bytes it is a double word that nobody wants
    /// (PCIe 4.0 §2.2.9, tables 2-33 and 2-34).
    pub fn of_read(completer: FunctionId, read: &MemoryRequest) -> Self {
        let (address, bytes) = read.span();
        Completion {
            byte_count: bytes.max(1) as u16,
            lower_address: (address % 128) as u8,
            dwords: read.dwords,
            attributes: Attributes { poisoned: false, ..read.attributes },
            ..Completion::without_data(completer, CompletionStatus::Success, read.requester, read.tag)
        }
    }
    /// Bytes of data that are meant: those that remain, or as many as these double words have.
    pub fn bytes(&self) -> u32 {
        let room = u32::from(self.dwords) * 4;
        room.saturating_sub(u32::from(self.lower_address & 3)).min(self.byte_count.into())
    }

    fn check(&self) -> Result<(), TlpError> {
        let remain = u32::from(self.lower_address & 3) + u32::from(self.byte_count);
        let fits = u32::from(self.dwords) <= remain.div_ceil(4);
        let good = self.dwords == 0 || self.status == CompletionStatus::Success && fits;
        if good && (1..=4096).contains(&self.byte_count) { Ok(()) } else { Err(TlpError::Completion) }
    }
    pub(super) fn parse(first: FirstDword, words: [u32; 3]) -> Result<Self, TlpError> {
        let (second, third) = (CompleterDword(words[0]), RequesterDword(words[1]));
        // Without data the length is reserved. BCM is for PCI-X bridges.
        if third.reserved() || second.modified() || !first.data() && first.length() != 0 {
            return Err(TlpError::Reserved);
        }
        let status = CompletionStatus::from_raw(second.status()).ok_or(TlpError::Completion)?;
        let completion = Completion {
            completer: FunctionId(second.completer()),
            status,
            byte_count: if second.byte_count() == 0 { 4096 } else { second.byte_count() },
            requester: FunctionId(third.requester()),
            tag: Tag::of(first, third.tag()),
            lower_address: third.lower_address(),
            dwords: if first.data() { first.dwords() } else { 0 },
            attributes: first.attributes(),
        };
        completion.check()?;
        Ok(completion)
    }
    pub(super) fn encode(&self) -> ([u32; 4], usize) {
        assert!(self.check().is_ok(), "a completion that can't be: {self:?}");
        let mut first = FirstDword::new(COMPLETION, self.attributes, self.tag);
        if self.dwords > 0 {
            first = first.with_data(true).with_dwords(self.dwords);
        }
        let second = CompleterDword(0)
            .with_byte_count(self.byte_count & 0xfff)
            .with_status(self.status.raw())
            .with_completer(self.completer.0);
        let third = RequesterDword(0)
            .with_lower_address(self.lower_address)
            .with_tag(self.tag.low())
            .with_requester(self.requester.0);
        ([first.0, second.0, third.0, 0], 3)
    }
}
