//! Configuration requests (PCIe 4.0 §2.2.7).

use super::header::{Attributes, FirstDword, FunctionId, RequestDword, Tag, TlpError};

/// Type of configuration requests for the device on the link.
pub(super) const CONFIG_0: u8 = 0b0_0100;
/// Type of configuration requests that a bridge passes on.
pub(super) const CONFIG_1: u8 = 0b0_0101;

bit_fields! {
    /// Third double word of a configuration request.
    pub struct TargetDword(u32) {
        /// Reserved.
        reserved_0, with_reserved_0: 0, 2 => u8;
        /// Extended register number and register number: the double word.
        register, with_register: 2, 10 => u16;
        /// Reserved.
        reserved_12, with_reserved_12: 12, 4 => u8;
        /// Whose configuration space it is.
        target, with_target: 16, 16 => u16;
    }
}

/// A read or write of a double word of configuration space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigRequest {
    /// Data come along; otherwise they are asked for.
    pub write: bool,
    /// A bridge passes it on.
    pub forwarded: bool,
    /// Who asks.
    pub requester: FunctionId,
    /// The number under which it is answered.
    pub tag: Tag,
    /// Whose configuration space it is.
    pub target: FunctionId,
    /// The double word, 0 to 1,023.
    pub register: u16,
    /// Which of its bytes are meant, the lowest address in bit 0.
    pub enables: u8,
    /// Its data are known to be wrong.
    pub poisoned: bool,
}

impl ConfigRequest {
    /// Bytes of data that come along.
    pub fn payload_bytes(&self) -> usize {
        if self.write { 4 } else { 0 }
    }
    pub(super) fn parse(first: FirstDword, words: [u32; 3]) -> Result<Self, TlpError> {
        let (second, third) = (RequestDword(words[0]), TargetDword(words[1]));
        let attributes = first.attributes();
        let plain = Attributes { poisoned: attributes.poisoned, ..Attributes::default() };
        if third.reserved_0() != 0 || third.reserved_12() != 0 || attributes != plain {
            return Err(TlpError::Reserved);
        }
        if first.dwords() != 1 || second.last_enables() != 0 {
            return Err(TlpError::OneDword);
        }
        Ok(ConfigRequest {
            write: first.data(),
            forwarded: first.kind() == CONFIG_1,
            requester: FunctionId(second.requester()),
            tag: Tag::of(first, second.tag()),
            target: FunctionId(third.target()),
            register: third.register(),
            enables: second.first_enables(),
            poisoned: attributes.poisoned,
        })
    }
    pub(super) fn encode(&self) -> ([u32; 4], usize) {
        let kind = if self.forwarded { CONFIG_1 } else { CONFIG_0 };
        let attributes = Attributes { poisoned: self.poisoned, ..Attributes::default() };
        let first = FirstDword::new(kind, attributes, self.tag).with_dwords(1).with_data(self.write);
        let second = RequestDword(0)
            .with_first_enables(self.enables)
            .with_tag(self.tag.low())
            .with_requester(self.requester.0);
        let third = TargetDword(0).with_register(self.register).with_target(self.target.0);
        ([first.0, second.0, third.0, 0], 3)
    }
}
