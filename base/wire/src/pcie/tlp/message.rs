//! Messages (PCIe 4.0 §2.2.8).

use super::header::{Attributes, FirstDword, FunctionId, Tag, TlpError};

/// Upper two bits of the type of messages; the rest is how they are routed.
pub(super) const MESSAGE: u8 = 0b10;

wire_enum! {
    /// Codes of messages (PCIe 4.0 §2.2.8).
    pub enum MessageCode(u8) {
        PowerManagementEvent = 0x18, "PM_PME";
        TurnOff = 0x19, "PME_Turn_Off";
        CorrectableError = 0x30, "ERR_COR";
        NonFatalError = 0x31, "ERR_NONFATAL";
        FatalError = 0x33, "ERR_FATAL";
        SlotPowerLimit = 0x50, "Set_Slot_Power_Limit";
        VendorType0 = 0x7e, "Vendor_Defined Type 0";
        VendorType1 = 0x7f, "Vendor_Defined Type 1";
    }
}

bit_fields! {
    /// Second double word of a message.
    pub struct MessageDword(u32) {
        /// See [`MessageCode`].
        code, with_code: 0, 8 => u8;
        /// Low bits of the tag.
        tag, with_tag: 8, 8 => u8;
        /// Who asks.
        requester, with_requester: 16, 16 => u16;
    }
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// How it is routed, 0 to 5: to the root complex, by address, by id, from the root complex to all, no
    /// further than the link, gathered to the root complex.
    pub routing: u8,
    /// What it says.
    pub code: MessageCode,
    /// Who sends it.
    pub requester: FunctionId,
    /// Of no meaning for most.
    pub tag: Tag,
    /// Bytes 8 to 15: of the code's meaning.
    pub rest: u64,
    /// Double words of data, 0 to 1,024.
    pub dwords: u16,
    /// The rest.
    pub attributes: Attributes,
}

impl Message {
    pub(super) fn parse(first: FirstDword, words: [u32; 3]) -> Result<Self, TlpError> {
        let second = MessageDword(words[0]);
        let routing = first.kind() & 7;
        let known = MessageCode::from_raw(second.code()).filter(|_| routing <= 5 && first.long());
        let code = known.ok_or(TlpError::Type((first.0 >> 24) as u8))?;
        if !first.data() && first.length() != 0 {
            return Err(TlpError::Reserved);
        }
        Ok(Message {
            routing,
            code,
            requester: FunctionId(second.requester()),
            tag: Tag::of(first, second.tag()),
            rest: u64::from(words[1]) << 32 | u64::from(words[2]),
            dwords: if first.data() { first.dwords() } else { 0 },
            attributes: first.attributes(),
        })
    }
    pub(super) fn encode(&self) -> ([u32; 4], usize) {
        assert!(self.routing <= 5, "{self:?}");
        let mut first =
            FirstDword::new(MESSAGE << 3 | self.routing, self.attributes, self.tag).with_long(true);
        if self.dwords > 0 {
            first = first.with_data(true).with_dwords(self.dwords);
        }
        let second = MessageDword(0)
            .with_code(self.code.raw())
            .with_tag(self.tag.low())
            .with_requester(self.requester.0);
        ([first.0, second.0, (self.rest >> 32) as u32, self.rest as u32], 4)
    }
}
